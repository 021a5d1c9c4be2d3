"""Statements about subscriptions: `subscribe`, `alter subscription`, `drop subscription`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from feedweir.channel_kinds import CHANNEL_KINDS, WRITTEN_CHANNELS
from feedweir.items.owners import EVERYONE
from feedweir.language.literals import format_name, name
from feedweir.language.name_checks import Names, check_known
from feedweir.language.queries import Place
from feedweir.language.schedule_clauses import CLAUSES, format_schedule, schedule, without
from feedweir.language.shared_clauses import (
    Changes,
    StatementKind,
    accept_if_exists,
    address,
    changes,
    format_changed_owner,
    format_owner,
    format_pause,
    format_stylesheet,
    owner,
    pause,
    rename,
    stylesheet,
)
from feedweir.language.tokens import Cursor, quoted
from feedweir.schedules import AT_ONCE, PARTS, Schedule


@dataclass(frozen=True, slots=True)
class Subscribe:
    """`name` is for `alter` and `drop`; empty lets the catalog choose one. A stream has no `target`: it is fetched."""

    feed: str
    channel: str
    """One of `channel_kinds.WRITTEN_CHANNELS`."""
    target: str
    apply: str = ""
    schedule: Schedule = AT_ONCE
    name: str = ""
    secret: str = field(default="", repr=False)
    """What a webhook is signed with; empty lets the service make one."""
    owner: str = EVERYONE
    with_backlog: bool = False
    """Whether it also gets what was published before a source was registered."""
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AlterSubscription:
    """What is not None changes (`apply` empty: none); of the schedule, the parts that it has, after `without` (words
    of `schedules.REMOVABLE`) was taken away."""

    name: str
    rename: str | None = None
    apply: str | None = None
    channel: str | None = None
    target: str | None = None
    schedule: Schedule = AT_ONCE
    without: tuple[str, ...] = ()
    is_paused: bool | None = None
    secret: str | None = field(default=None, repr=False)
    owner: str | None = None
    with_backlog: bool | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DropSubscription:
    name: str
    if_exists: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)


# Reading


def subscribe(c: Cursor, place: Place) -> Subscribe:
    """`subscribe to N [as S] [for ann] [apply 'T.xsl'] output mail 'a@b.c' [every 3 hours] … [with backlog]`."""
    c.expect("to")
    feed = name(c)
    label = name(c, "a name for the subscription") if c.accept("as") else ""
    whose = owner(c)
    apply = stylesheet(c)
    c.expect("output", hint="subscribe to FEED output mail 'you@example.org' every 3 hours")
    start = c.at
    channel, target, secret = output(c)
    plan = schedule(c)
    if not CHANNEL_KINDS[channel].is_sent and plan != AT_ONCE:
        raise c.error("a stream delivers items as they arrive", at=start, hint="leave out the schedule")
    return Subscribe(feed, channel, target, apply, plan, label, secret, whose, backlog(c), place)


def backlog(c: Cursor) -> bool:
    """`with backlog`, if it is there."""
    if not c.accept("with"):
        return False
    c.expect("backlog")
    return True


def output(c: Cursor) -> tuple[str, str, str]:
    """A channel, where it leads, and the secret that signs what goes there."""
    word = c.words[c.at]
    if word not in WRITTEN_CHANNELS:
        raise c.unknown("a channel", WRITTEN_CHANNELS)
    c.at += 1
    kind = CHANNEL_KINDS[word]
    target = address(c) or c.string(kind.target) if kind.target else ""
    is_signed = kind.has_secret and c.accept("secret")
    return word, target, c.string("a secret, as in 'whsec_…'") if is_signed else ""


def alter_subscription(c: Cursor, place: Place) -> AlterSubscription:
    """`alter subscription S output mail 'a@b.c', every 3 hours, no quiet, pause`."""
    label = name(c, "the name of a subscription")
    found = changes(c, _SUBSCRIPTION_CLAUSES)
    parts = {part: found.pop(part) for part in PARTS if part in found}
    return AlterSubscription(label, **found, schedule=Schedule(**parts), place=place)


def drop_subscription(c: Cursor, place: Place) -> DropSubscription:
    """`drop subscription [if exists] S`."""
    if_exists = accept_if_exists(c)
    return DropSubscription(name(c, "the name of a subscription"), if_exists, place)


def _output_clause(c: Cursor) -> dict[str, Any]:
    c.at += 1
    channel, target, secret = output(c)
    return {"channel": channel, "target": target, **({"secret": secret} if secret else {})}


def _without(c: Cursor) -> dict[str, Any]:
    found = _BESIDE_SCHEDULES.get(c.words[c.at + 1])
    if found is None:
        return {"without": (without(c, tuple(_BESIDE_SCHEDULES)),)}
    c.at += 2
    return dict([found])


_BESIDE_SCHEDULES: dict[str, tuple[str, Any]] = {"apply": ("apply", ""), "backlog": ("with_backlog", False)}
"""What may stand after `no` in a change of a subscription beside the parts of its schedule."""


_SUBSCRIPTION_CLAUSES: Changes = {
    "rename": rename,
    "apply": lambda c: {"apply": stylesheet(c)},
    "output": _output_clause,
    **CLAUSES,
    "no": _without,
    "with": lambda c: {"with_backlog": backlog(c)},
    "for": lambda c: {"owner": owner(c)},
    "pause": lambda c: pause(c, True),
    "resume": lambda c: pause(c, False),
}


# Printing


def _subscribe(statement: Subscribe) -> str:
    name = f" as {format_name(statement.name)}" if statement.name else ""
    whose, apply = format_owner(statement.owner), format_stylesheet(statement.apply)
    head = f"subscribe to {format_name(statement.feed)}{name}{whose}{apply}"
    output = _output(statement.channel, statement.target, statement.secret)
    backlog = ["with backlog"] if statement.with_backlog else []
    return " ".join((head, output, *format_schedule(statement.schedule), *backlog))


def _output(channel: str, target: str, secret: str) -> str:
    where = f" {quoted(target)}" if CHANNEL_KINDS[channel].target else ""
    return f"output {channel}{where}{f' secret {quoted(secret)}' if secret else ''}"


def _subscription_changes(statement: AlterSubscription) -> list[str]:
    changes = [f"rename to {format_name(statement.rename)}"] if statement.rename is not None else []
    if statement.apply is not None:
        changes.append(f"apply {quoted(statement.apply)}" if statement.apply else "no apply")
    if statement.channel is not None:
        changes.append(_output(statement.channel, statement.target or "", statement.secret or ""))
    changes += [f"no {word}" for word in statement.without] + format_schedule(statement.schedule)
    if statement.with_backlog is not None:
        changes.append("with backlog" if statement.with_backlog else "no backlog")
    return changes + format_changed_owner(statement.owner) + format_pause(statement.is_paused)


def _alter(statement: AlterSubscription) -> str:
    return f"alter subscription {format_name(statement.name)} {', '.join(_subscription_changes(statement))}"


def _drop(statement: DropSubscription) -> str:
    return f"drop subscription {'if exists ' if statement.if_exists else ''}{format_name(statement.name)}"


def _check_feed(statement: Subscribe, names: Names) -> None:
    check_known(statement.feed, names, statement.place)


SUBSCRIPTION_STATEMENTS: dict[type, StatementKind] = {
    Subscribe: StatementKind(_subscribe, _check_feed),
    AlterSubscription: StatementKind(_alter),
    DropSubscription: StatementKind(_drop),
}
