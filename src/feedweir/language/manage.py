"""What running a system needs: alter, drop, describe, show, define."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from feedweir.language.roses import address, backlog, hub, id_path, output, owner, query, stylesheet
from feedweir.language.schedules import CLAUSES, PARTS, Schedule, every, without
from feedweir.language.statements import (
    SHOWN,
    AlterFeed,
    AlterSubscription,
    DefineWindow,
    Describe,
    DropFeed,
    DropSubscription,
    Place,
    Show,
)
from feedweir.language.tokens import Cursor
from feedweir.language.values import name, window

_FEED = ("feed", "source")
_KINDS = ("feed", "subscription")


def drop(c: Cursor, place: Place) -> DropFeed | DropSubscription:
    """`drop feed [if exists] N`, `drop subscription [if exists] S`."""
    kind = _kind(c)
    if_exists = c.words[c.at] == "if" and c.words[c.at + 1] == "exists"
    if if_exists:
        c.at += 2
    if kind == "subscription":
        return DropSubscription(name(c, "the name of a subscription"), if_exists, place)
    return DropFeed(name(c), if_exists, place)


def describe(c: Cursor, place: Place) -> Describe:
    """`describe N`, `describe feed N`, `describe subscription S`."""
    if c.accept("subscription"):
        return Describe(name(c, "the name of a subscription"), "subscription", place)
    if c.words[c.at] in _FEED and c.words[c.at + 1] not in ("", ";"):
        c.at += 1
    return Describe(name(c), "feed", place)


def show(c: Cursor, place: Place) -> Show:
    """`show feeds [for ann] [like '*news*']`."""
    word = c.words[c.at]
    for what in SHOWN:
        if word == what:
            c.at += 1
            whose = owner(c)
            return Show(what, c.string("a part of the names") if c.accept("like") else "", whose, place)
    raise c.unknown("something to show", SHOWN)


def define(c: Cursor, place: Place) -> DefineWindow:
    """`define window T1 as 30 days`."""
    c.expect("window")
    label = name(c, "a name for the window")
    c.expect("as")
    found = window(c)
    c.windows[label] = found
    return DefineWindow(label, found, place)


def alter(c: Cursor, place: Place) -> AlterFeed | AlterSubscription:
    """`alter feed N rename to M, url http://…, every 1 hour, hub https://…, pause`; `alter subscription S …`."""
    kind = _kind(c)
    clauses = _SUBSCRIPTION_CLAUSES if kind == "subscription" else _FEED_CLAUSES
    label = name(c, f"the name of a {kind}")
    changes: dict[str, Any] = {}
    while True:
        _clause(c, clauses, changes)
        if not c.accept(","):
            break
    if kind == "feed":
        return AlterFeed(label, **changes, place=place)
    parts = {part: changes.pop(part) for part in PARTS if part in changes}
    return AlterSubscription(label, **changes, schedule=Schedule(**parts), place=place)


_Clauses = dict[str, Callable[[Cursor], dict[str, Any]]]


def _clause(c: Cursor, clauses: _Clauses, changes: dict[str, Any]) -> None:
    read = clauses.get(c.words[c.at])
    if read is None:
        raise c.unknown("a change", tuple(clauses))
    start = c.at
    for key, value in read(c).items():
        if key == "without":
            value = changes.pop(key, ()) + value
        elif key in changes:
            raise c.error("this is said twice", at=start)
        changes[key] = value


def _rename(c: Cursor) -> dict[str, Any]:
    c.at += 1
    c.expect("to")
    return {"rename": name(c, "a new name")}


def _url(c: Cursor) -> dict[str, Any]:
    c.at += 1
    url = address(c)
    if not url:
        raise c.error(f"{c.seen()} is not a URL", expected=("a URL",))
    return {"url": url}


def _none(c: Cursor) -> dict[str, Any]:
    c.at += 1
    if c.accept("hub"):
        return {"hub": ""}
    if c.accept("id"):
        return {"id_path": ""}
    raise c.unknown("something to take away", ("hub", "id"))


def _output(c: Cursor) -> dict[str, Any]:
    c.at += 1
    channel, target, secret = output(c)
    return {"channel": channel, "target": target, **({"secret": secret} if secret else {})}


def _without(c: Cursor) -> dict[str, Any]:
    if c.words[c.at + 1] == "backlog":
        c.at += 2
        return {"with_backlog": False}
    return {"without": (without(c),)}


_FEED_CLAUSES: _Clauses = {
    "rename": _rename,
    "url": _url,
    "every": lambda c: {"every": every(c)},
    "hub": lambda c: {"hub": hub(c)},
    "id": lambda c: {"id_path": id_path(c)},
    "no": lambda c: _none(c),
    "pause": lambda c: _paused(c, True),
    "resume": lambda c: _paused(c, False),
    "for": lambda c: {"owner": owner(c)},
    "from": lambda c: {"query": query(c)},
}
_SUBSCRIPTION_CLAUSES: _Clauses = {
    "rename": _rename,
    "apply": lambda c: {"apply": stylesheet(c)},
    "output": _output,
    **CLAUSES,
    "no": _without,
    "with": lambda c: {"with_backlog": backlog(c)},
    "for": lambda c: {"owner": owner(c)},
    "pause": lambda c: _paused(c, True),
    "resume": lambda c: _paused(c, False),
}


def _paused(c: Cursor, is_paused: bool) -> dict[str, Any]:
    c.at += 1
    return {"is_paused": is_paused}


def _kind(c: Cursor) -> str:
    word = c.words[c.at]
    if word in _FEED or word == "subscription":
        c.at += 1
        return "subscription" if word == "subscription" else "feed"
    raise c.unknown("a kind of thing", _KINDS)
