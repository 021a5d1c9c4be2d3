"""Which rows concern an owner, as a condition for both databases."""

from __future__ import annotations

from sqlalchemy import Column, ColumnElement, func, or_

from feedweir.items.owners import EVERYONE, SEPARATOR, circle_of


def is_theirs(owner: Column[str], asker: str) -> ColumnElement[bool]:
    """As `items.owners.concerns` says; by a comparison of bytes, since `like` ignores case in one of the two."""
    is_in_circle = owner.in_(circle_of(asker))
    if asker == EVERYONE:
        return is_in_circle
    below = asker + SEPARATOR
    return or_(is_in_circle, func.substr(owner, 1, len(below)) == below)
