"""Statements that list and describe."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from feedweir.catalog import SubscriptionRecord
from feedweir.catalog.records import FailureKind
from feedweir.keeper.scheduling import schedule_text
from feedweir.keeper.statements.outcome import Desk, Outcome
from feedweir.keeper.statements.subscriptions import find, name_of
from feedweir.language.statements import Describe, Show

Row = dict[str, Any]


def show(desk: Desk, statement: Show) -> Outcome:
    rows = [row for row in _LISTS[statement.what](desk) if _is_like(str(row["name"]), statement.like)]
    return Outcome(message=f"{len(rows)} {statement.what}", rows=tuple(rows))


def _is_like(name: str, like: str) -> bool:
    """A pattern with `*` is the whole name; one without is a part of it."""
    pattern = ".*".join(map(re.escape, like.casefold().split("*")))
    found = re.fullmatch if "*" in like else re.search
    return found(pattern, name.casefold(), re.DOTALL) is not None


def _sources(desk: Desk) -> Iterator[Row]:
    states = {source.name: source.state for source in desk.catalog.sources.all()}
    for record in desk.catalog.feeds.all(kind="source"):
        state = states.get(record.name)
        yield {
            "name": record.name,
            "url": state.url if state else "",
            "status": state.status if state else "pushed",
            "next": state.next_check_at if state else None,
            "last": state.last_success_at if state else None,
            "failures": state.failures if state else 0,
        }


def _feeds(desk: Desk) -> Iterator[Row]:
    for record in desk.catalog.feeds.all(kind="virtual"):
        yield {"name": record.name, "reads": ", ".join(record.reads), "definition": record.statement}


def _subscriptions(desk: Desk) -> Iterator[Row]:
    for record in desk.catalog.subscriptions.all():
        yield _subscription(desk, record)


def _subscription(desk: Desk, record: SubscriptionRecord) -> Row:
    feed = desk.catalog.feeds.with_id(record.feed_id)
    return {
        "name": name_of(record),
        "number": record.id,
        "feed": feed.name if feed else "",
        "channel": record.channel,
        "target": record.target,
        "schedule": schedule_text(record.schedule),
        "status": record.status,
    }


def _statistics(desk: Desk) -> Iterator[Row]:
    known = {one.feed_id: one for one in desk.catalog.statistics.feeds()}
    for record in desk.catalog.feeds.all():
        counted = known.get(record.id)
        yield {
            "name": record.name,
            "kind": record.kind,
            "hits": counted.hits if counted else 0,
            "recent_hits": round(counted.recent_hits, 1) if counted else 0.0,
            "last_hit": counted.last_hit_at if counted else None,
            "candidates": counted.candidates if counted else 0,
        }


def _failures(desk: Desk) -> Iterator[Row]:
    for failure in desk.catalog.failures.latest(limit=1_000):
        yield {"name": failure.resource, "kind": failure.kind, "at": failure.at, "reason": failure.reason}


_LISTS: dict[str, Callable[[Desk], Iterator[Row]]] = {
    "sources": _sources,
    "feeds": _feeds,
    "subscriptions": _subscriptions,
    "statistics": _statistics,
    "failures": _failures,
}


def describe(desk: Desk, statement: Describe) -> Outcome:
    """Everything that is known of one thing, a row a fact."""
    facts = _subscription_facts if statement.kind == "subscription" else _feed_facts
    rows = tuple({"what": what, "value": value} for what, value in facts(desk, statement.name).items())
    return Outcome(message="", name=statement.name, rows=rows)


def _subscription_facts(desk: Desk, name: str) -> Row:
    record = find(desk, name)
    rhythm = desk.catalog.subscriptions.rhythm(record.id)
    return {
        **_subscription(desk, record),
        "statement": record.statement,
        "apply": record.options.get("apply", ""),
        "secret": record.options.get("secret", ""),
        "owner": record.owner,
        "created": record.created_at,
        "last_sent": rhythm.last_sent_at,
        "next_due": rhythm.next_due_at,
        "failures": [failure.reason for failure in desk.catalog.failures.of("subscription", str(record.id))],
    }


def _feed_facts(desk: Desk, name: str) -> Row:
    record = desk.catalog.feeds.named(name)
    source = next((row for row in _sources(desk) if row["name"] == name), {})
    counted = next(iter(desk.catalog.statistics.feeds([record.id])), None)
    subscriptions = desk.catalog.subscriptions.all(feed=name)
    kind: FailureKind = "source" if record.kind == "source" else "feed"
    return {
        "name": record.name,
        "kind": record.kind,
        "definition": record.statement,
        **source,
        "reads": list(record.reads),
        "read_by": list(desk.catalog.feeds.readers(name)),
        "subscriptions": [name_of(subscription) for subscription in subscriptions],
        "owner": record.owner,
        "created": record.created_at,
        "version": record.version,
        "hits": counted.hits if counted else 0,
        "last_hit": counted.last_hit_at if counted else None,
        "candidates": counted.candidates if counted else 0,
        "problems": [failure.reason for failure in desk.catalog.failures.of(kind, name)],
    }
