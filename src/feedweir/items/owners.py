"""Owners: a name, or a path of groups that ends with a name, as in `acme/editors/ann`.

What belongs to nobody in particular is everyone's. What belongs to a group is also its members', and who asks as a
group asks for all of its members. This is the one place that says so.
"""

from __future__ import annotations

EVERYONE = ""
SEPARATOR = "/"


def is_owner(text: str) -> bool:
    """Whether a text can be an owner: non-empty names between single slashes."""
    return all(name and name == name.strip() for name in text.split(SEPARATOR))


def circle_of(asker: str) -> tuple[str, ...]:
    """Everyone, the groups around an owner, from the largest on, and the owner."""
    names = asker.split(SEPARATOR) if asker else []
    return (EVERYONE, *(SEPARATOR.join(names[: count + 1]) for count in range(len(names))))


def concerns(owner: str, asker: str) -> bool:
    """Whether what belongs to `owner` concerns who asks; only what is everyone's concerns nobody in particular."""
    return owner in circle_of(asker) or (asker != EVERYONE and owner.startswith(asker + SEPARATOR))
