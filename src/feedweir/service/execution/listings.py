"""Statements that list and describe."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from feedweir.acquire.websub import subscriber as websub
from feedweir.acquire.websub.leases import hub_by_hand, lease_of
from feedweir.ask.advice import notes_of
from feedweir.ask.outcome import Outcome, ScriptContext
from feedweir.catalog import FeedRecord, SubscriptionRecord
from feedweir.catalog.records import FailureKind
from feedweir.deliver.schedule_changes import schedule_text
from feedweir.language.statements import Describe, Show
from feedweir.service.execution.subscription_changes import find, name_of
from feedweir.text.redact import without_secrets

Row = dict[str, Any]


def show(script: ScriptContext, statement: Show) -> Outcome:
    listed = _LISTS[statement.what](script, statement.owner or None, statement.like, statement.limit)
    named = (row for row in listed if _is_like(str(row["name"]), statement.like))
    rows = list(islice(named, statement.limit))
    return Outcome(message=f"{len(rows)} {statement.what}", rows=tuple(map(_shown, rows)))


def _shown(row: Row) -> Row:
    """As a reader may see it: definitions, addresses and reasons of failures can hold secrets."""
    return {what: _value_shown(value) for what, value in row.items()}


def _value_shown(value: Any) -> Any:
    if isinstance(value, list):
        return [_value_shown(each) for each in value]
    return without_secrets(value) if isinstance(value, str) else value


def _is_like(name: str, like: str) -> bool:
    """A pattern with `*` is the whole name; one without is a part of it."""
    pattern = ".*".join(map(re.escape, like.casefold().split("*")))
    found = re.fullmatch if "*" in like else re.search
    return found(pattern, name.casefold(), re.DOTALL) is not None


def _sources(script: ScriptContext, owner: str | None, like: str, limit: int | None) -> Iterator[Row]:
    yield from _source_rows(
        script, script.catalog.feeds.all(kind="source", owner=owner, like=like, limit=limit)
    )


def _source_rows(script: ScriptContext, records: Sequence[FeedRecord]) -> Iterator[Row]:
    states = {
        source.name: source.state for source in script.catalog.sources.several([one.name for one in records])
    }
    for record in records:
        state = states.get(record.name)
        yield {
            "name": record.name,
            "owner": record.owner,
            "url": state.url if state else "",
            "status": state.status if state else "pushed",
            "next": state.next_check_at if state else None,
            "last": state.last_success_at if state else None,
            "failures": state.failures if state else 0,
        }


def _hub_facts(script: ScriptContext, name: str) -> Row:
    """What a hub does for a source that is fetched."""
    for record in script.catalog.sources.several([name]):
        lease, by_hand = lease_of(record), hub_by_hand(record)
        if lease:
            about = websub.status_text(lease, script.now)
            return {"hub": lease.hub.url, "push": about, "push_until": lease.expires_at}
        if by_hand:
            return {"hub": by_hand.url, "push": "requested after the next poll", "push_until": None}
    return {}


def _feeds(script: ScriptContext, owner: str | None, like: str, limit: int | None) -> Iterator[Row]:
    records = script.catalog.feeds.all(kind="virtual", owner=owner, like=like, limit=limit)
    counted = _counted(script, [record.id for record in records])
    for record in records:
        yield {
            "name": record.name,
            "owner": record.owner,
            "reads": ", ".join(record.reads),
            **counted(record.id),
            "definition": record.statement,
        }


def _counted(script: ScriptContext, feeds: Sequence[int] | None = None) -> Callable[[int], Row]:
    """What each feed brought and cost."""
    known = {one.feed_id: one for one in script.catalog.statistics.feeds(feeds)}

    def counters(feed: int) -> Row:
        one = known.get(feed)
        return {
            "hits": one.hits if one else 0,
            "candidates": one.candidates if one else 0,
            "last_hit": one.last_hit_at if one else None,
        }

    return counters


def _subscriptions(script: ScriptContext, owner: str | None, like: str, limit: int | None) -> Iterator[Row]:
    records = script.catalog.subscriptions.all(owner=owner)
    counted = _counted(script, sorted({record.feed_id for record in records}))
    for record in records:
        yield {**_subscription(script, record), **counted(record.feed_id)}


def _subscription(script: ScriptContext, record: SubscriptionRecord) -> Row:
    feed = script.catalog.feeds.with_id(record.feed_id)
    return {
        "name": name_of(record),
        "number": record.id,
        "owner": record.owner,
        "feed": feed.name if feed else "",
        "channel": record.channel,
        "target": record.target,
        "schedule": schedule_text(record.schedule),
        "status": record.status,
    }


def _statistics(script: ScriptContext, owner: str | None, like: str, limit: int | None) -> Iterator[Row]:
    records = script.catalog.feeds.all(owner=owner, like=like, limit=limit)
    ids = [record.id for record in records]
    counted = _counted(script, ids)
    recent = {one.feed_id: one.recent_hits for one in script.catalog.statistics.feeds(ids)}
    for record in records:
        recent_hits = round(recent.get(record.id, 0.0), 1)
        yield {"name": record.name, "kind": record.kind, **counted(record.id), "recent_hits": recent_hits}


def _failures(script: ScriptContext, owner: str | None, like: str, limit: int | None) -> Iterator[Row]:
    theirs = {record.name for record in script.catalog.feeds.all(owner=owner)} if owner is not None else None
    for failure in script.catalog.failures.latest(limit=1_000):
        if theirs is not None and failure.resource not in theirs:
            continue
        yield {"name": failure.resource, "kind": failure.kind, "at": failure.at, "reason": failure.reason}


_LISTS: dict[str, Callable[[ScriptContext, str | None, str, int | None], Iterator[Row]]] = {
    "sources": _sources,
    "feeds": _feeds,
    "subscriptions": _subscriptions,
    "statistics": _statistics,
    "failures": _failures,
}


def describe(script: ScriptContext, statement: Describe) -> Outcome:
    """Everything that is known of one thing, a row a fact."""
    facts = _subscription_facts if statement.kind == "subscription" else _feed_facts
    known = _shown(facts(script, statement.name))
    rows = tuple({"what": what, "value": value} for what, value in known.items())
    return Outcome(message="", name=statement.name, rows=rows)


def _subscription_facts(script: ScriptContext, name: str) -> Row:
    record = find(script, name)
    rhythm = script.catalog.subscriptions.rhythm(record.id)
    return {
        **_subscription(script, record),
        "statement": record.statement,
        "apply": record.options.get("apply", ""),
        "secret": record.options.get("secret", ""),
        "created": record.created_at,
        "last_sent": rhythm.last_sent_at,
        "next_due": rhythm.next_due_at,
        "failures": [
            failure.reason for failure in script.catalog.failures.of("subscription", str(record.id))
        ],
    }


def _feed_facts(script: ScriptContext, name: str) -> Row:
    record = script.catalog.feeds.named(name)
    source = next(_source_rows(script, [record]), {}) if record.kind == "source" else {}
    subscriptions = script.catalog.subscriptions.all(feed=name)
    kind: FailureKind = "source" if record.kind == "source" else "feed"
    return {
        "name": record.name,
        "kind": record.kind,
        "definition": record.statement,
        **source,
        **_hub_facts(script, name),
        "reads": list(record.reads),
        "read_by": list(script.catalog.feeds.readers(name)),
        "subscriptions": [name_of(subscription) for subscription in subscriptions],
        "owner": record.owner,
        "created": record.created_at,
        "version": record.version,
        **_counted(script, [record.id])(record.id),
        "notes": list(notes_of(name, script.names)),
        "problems": [failure.reason for failure in script.catalog.failures.of(kind, name)],
    }
