"""What an atom is about: an attribute, a part of a date, or the whole item; and which operators that has."""

from __future__ import annotations

from typing import NamedTuple, NoReturn

from feedweir.errors import near
from feedweir.items.attributes import ATTRIBUTES, SYNONYMS, WHOLE_TEXT, AttributeType
from feedweir.language.tokens import Cursor
from feedweir.plan.predicates import DatePart

PARTS: dict[DatePart, tuple[int, int]] = {
    "year": (1, 9999),
    "month": (1, 12),
    "day": (1, 31),
    "hour": (0, 23),
    "minute": (0, 59),
    "weekday": (0, 6),
    "date": (0, 0),
}
"""Every part with its least and greatest value."""
OPERATORS_OF = {
    AttributeType.TEXT: "contains, similar, matches, =, !=, <, <=, >, >=, in, exists",
    AttributeType.HTML: "contains, similar, matches, exists",
    AttributeType.STRING: "=, !=, <, <=, >, >=, in, contains, matches, exists",
    AttributeType.LINK: "references, extends, shares-link, contains, matches, =, !=, in, exists",
    AttributeType.TIME: "=, !=, <, <=, >, >=, between, in, exists, and .year, .month, .day, .hour, .date, .weekday",
    AttributeType.NUMBER: "=, !=, <, <=, >, >=, between, in",
}


class Subject(NamedTuple):
    """What an atom is about; `attribute` None is the whole item."""

    attribute: str | None
    type: AttributeType
    part: DatePart | None = None


WHOLE = Subject(None, AttributeType.TEXT)
_SUBJECTS: dict[str, Subject] = {a.name: Subject(a.name, a.type) for a in ATTRIBUTES}
_SUBJECTS |= {synonym: _SUBJECTS[name] for synonym, name in SYNONYMS.items()}
_SUBJECTS |= {
    f"{name}.{part}": Subject(subject.attribute, subject.type, part)
    for name, subject in tuple(_SUBJECTS.items())
    if subject.type is AttributeType.TIME
    for part in PARTS
}
_SUBJECTS["item"] = WHOLE


def subject(c: Cursor) -> Subject:
    """The attribute that is next, by its name or a synonym."""
    found = _SUBJECTS.get(c.words[c.at])
    if found is None:
        found = _extension(c)
    c.at += 1
    return found


def begins_subject(c: Cursor, at: int | None = None) -> bool:
    """Whether what is next, or at a place, is an attribute."""
    place = c.at if at is None else at
    return c.words[place] in _SUBJECTS or _is_extension(c.tokens[place])


def _is_extension(token: str) -> bool:
    return ":" in token and token[:1].isalpha() and "://" not in token


def _extension(c: Cursor) -> Subject:
    token = c.tokens[c.at]
    if _is_extension(token):
        return Subject(token, AttributeType.TEXT)
    head, dot, part = c.words[c.at].partition(".")
    if dot and head in _SUBJECTS:
        if _SUBJECTS[head].type is AttributeType.TIME:
            raise c.error(f"`{part}` is not a part of a date", expected=tuple(PARTS), hint=near(part, PARTS))
        raise c.error(
            f"`{head}` is {article(_SUBJECTS[head].type)} and has no parts", hint="only dates have parts"
        )
    names = (name for name in _SUBJECTS if "." not in name)
    raise c.unknown("an attribute", tuple(dict.fromkeys((*WHOLE_TEXT, *names))))


def fail_operator(c: Cursor, about: Subject) -> NoReturn:
    """Tell which operators the attribute has."""
    known = OPERATORS_OF[about.type] if about.attribute else "contains, similar, matches, references, …"
    what = "the item" if about.attribute is None else f"`{about.attribute}` is {article(about.type)} and"
    raise c.missing(
        f"an operator for {about.attribute or 'the whole item'}",
        expected=("an operator",),
        hint=near(c.words[c.at], known.split(", ")) or f"{what} supports {known}",
    )


def article(kind: AttributeType) -> str:
    return {"html": "HTML text", "text": "text", "time": "a time"}.get(kind.value, f"a {kind.value}")


def format_about(attribute: str | None, condition: str) -> str:
    """A condition behind its attribute; one on the whole item stands alone."""
    return f"{attribute} {condition}" if attribute else condition
