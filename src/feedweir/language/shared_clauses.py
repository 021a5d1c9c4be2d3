"""What statements share: the form of their tables, and clauses about owners, addresses, stylesheets and changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from feedweir.items.owners import EVERYONE, is_owner
from feedweir.language.literals import format_name, name
from feedweir.language.name_checks import Names
from feedweir.language.tokens import Cursor, quoted


def _nothing_to_check(statement: Any, names: Names) -> None:
    """It names nothing, or what it names may be missing."""


@dataclass(frozen=True, slots=True)
class StatementKind:
    text: Callable[[Any], str]
    """The statement without its `;`."""
    check: Callable[[Any, Names], None] = _nothing_to_check
    """Refuses what names nothing that exists, or would make a feed depend on itself."""


# Clauses


def address(c: Cursor) -> str:
    """A URL, quoted or not; empty when something else is next."""
    token = c.tokens[c.at]
    if "://" not in token:
        return ""
    if c.is_string():
        return c.string().strip()
    c.at += 1
    return token


def stylesheet(c: Cursor) -> str:
    return c.string("the name of a stylesheet") if c.accept("apply") else ""


def owner(c: Cursor) -> str:
    """`for ann`, `for 'acme/ann'`, `for everyone`; everyone by default."""
    if not c.accept("for"):
        return EVERYONE
    start = c.at
    found = name(c, "the name of an owner")
    if not is_owner(found):
        raise c.error(f"`{found}` is not an owner", at=start, hint="a name, or groups and a name: 'acme/ann'")
    return EVERYONE if found == _EVERYONE else found


_EVERYONE = "everyone"


Changes = dict[str, Callable[[Cursor], dict[str, Any]]]


def changes(c: Cursor, clauses: Changes) -> dict[str, Any]:
    """What `alter` says, clause by clause."""
    found: dict[str, Any] = {}
    while True:
        _clause(c, clauses, found)
        if not c.accept(","):
            return found


def _clause(c: Cursor, clauses: Changes, changes: dict[str, Any]) -> None:
    read = clauses.get(c.words[c.at])
    if read is None:
        raise c.unknown("something that can be changed", tuple(clauses))
    start = c.at
    for key, value in read(c).items():
        if key == "without":
            value = changes.pop(key, ()) + value
        elif key in changes:
            raise c.error("this clause is given twice", at=start)
        changes[key] = value


def rename(c: Cursor) -> dict[str, Any]:
    c.at += 1
    c.expect("to")
    return {"rename": name(c, "a new name")}


def pause(c: Cursor, is_paused: bool) -> dict[str, Any]:
    c.at += 1
    return {"is_paused": is_paused}


def format_owner(owner: str) -> str:
    return f" for {format_name(owner)}" if owner else ""


def format_changed_owner(owner: str | None) -> list[str]:
    return [] if owner is None else [f"for {format_name(owner) if owner else 'everyone'}"]


def format_stylesheet(stylesheet: str | None) -> str:
    return f" apply {quoted(stylesheet)}" if stylesheet else ""


def format_pause(is_paused: bool | None) -> list[str]:
    return [] if is_paused is None else ["pause" if is_paused else "resume"]


def accept_if_exists(c: Cursor) -> bool:
    """`if exists`, if it is there; `if` alone may be a name."""
    is_there = c.words[c.at] == "if" and c.words[c.at + 1] == "exists"
    c.at += 2 if is_there else 0
    return is_there
