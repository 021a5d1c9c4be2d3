"""What has changed between two versions of the catalog: the feeds to compile again, and what they are defined with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from feedweir.catalog import Catalog, Change, Definition, FeedRecord

MOST_CHANGED = 5_000
"""Feeds from which on everything is compiled instead."""


@dataclass(frozen=True, slots=True)
class Changed:
    """Feeds that mean something else since a version, by id, and all definitions that the new meanings need."""

    version: int
    keys: frozenset[int]
    """Of all feeds concerned, dropped ones too."""
    definitions: tuple[Definition, ...]
    """Of those that are still there."""
    context: tuple[Definition, ...]
    """Those, and what they read, at any depth."""


def changes_of(catalog: Catalog, since: int, version: int) -> Changed | None:
    """What changed; None when everything should be compiled: too much has changed, or nothing that was defined."""
    if version < since:
        return None
    changes = [change for change in catalog.feeds.changes_since(since) if change.version <= version]
    if {change.version for change in changes} != set(range(since + 1, version + 1)):
        return None  # a version without a change asks for everything to be compiled anew
    feeds = [change for change in changes if change.kind != "subscription"]
    if len(feeds) > MOST_CHANGED:
        return None
    concerned = _concerned(catalog, feeds)
    context = _with_what_they_read(catalog, concerned.values()) if concerned is not None else None
    if concerned is None or context is None or catalog.feeds.version() != version:
        return None
    return Changed(
        version,
        frozenset({change.id for change in feeds} | {record.id for record in concerned.values()}),
        tuple(_definition(record) for record in concerned.values()),
        tuple(_definition(record) for record in context.values()),
    )


def _concerned(catalog: Catalog, changes: Iterable[Change]) -> dict[str, FeedRecord] | None:
    """The feeds that changed and are there, and the readers of changed virtual feeds, at any depth."""
    found: dict[str, FeedRecord] = {}
    waiting = []
    for change in changes:
        record = catalog.feeds.with_id(change.id)
        if record is not None and record.name not in found:
            found[record.name] = record
            waiting += [record.name] if record.kind == "virtual" else []
    while waiting:
        for reader in catalog.feeds.readers(waiting.pop()):
            if reader not in found:
                found[reader] = catalog.feeds.named(reader)
                waiting.append(reader)
        if len(found) > MOST_CHANGED:
            return None
    return dict(sorted(found.items()))


def _with_what_they_read(catalog: Catalog, records: Iterable[FeedRecord]) -> dict[str, FeedRecord] | None:
    found = {record.name: record for record in records}
    waiting = [name for record in found.values() for name in record.reads]
    while waiting:
        name = waiting.pop()
        if name not in found:
            record = catalog.feeds.find(name)
            if record is None:
                return None
            found[name] = record
            waiting += record.reads
    return found


def _definition(record: FeedRecord) -> Definition:
    return Definition(record.id, record.name, record.kind, record.statement)
