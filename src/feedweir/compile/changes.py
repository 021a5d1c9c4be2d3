"""Changes between two versions of the catalog: the feeds to compile again, and all definitions they need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from feedweir.catalog import Catalog, Change, Definition, FeedRecord
from feedweir.language.defined_names import says_something
from feedweir.plan.vocabularies import VOCABULARY

MOST_CHANGED = 5_000
"""With more changed feeds than this, everything is compiled."""
MOST_READ = 4 * MOST_CHANGED
"""The most changes that are read, including those of subscriptions."""


@dataclass(frozen=True, slots=True)
class ChangedFeeds:
    """Feeds whose meaning changed since a version, by id, and all definitions that the new meanings need."""

    version: int
    keys: frozenset[int]
    """Of all feeds concerned, dropped ones too."""
    definitions: tuple[Definition, ...]
    """Of those that are still there."""
    context: tuple[Definition, ...]
    """Those, and what they read, at any depth; and the vocabularies."""


def changes_of(catalog: Catalog, since: int, version: int) -> ChangedFeeds | None:
    """What changed; None when everything should be compiled: too much has changed, or nothing that was defined."""
    with catalog.snapshot():
        return _changes_of(catalog, since, version)


def with_what_it_reads(catalog: Catalog, feed: str) -> tuple[FeedRecord, ...]:
    """A virtual feed and the virtual feeds that it reads at any depth, itself first; none if there is no such feed."""
    found: dict[str, FeedRecord] = {}
    reads = {feed} if feed else set()
    while reads:
        records = (one for one in catalog.feeds.several(reads) if one.kind == "virtual")
        new = {one.name: one for one in records}
        found |= new
        reads = {name for one in new.values() for name in one.reads} - found.keys()
    return tuple(found.values())


def _changes_of(catalog: Catalog, since: int, version: int) -> ChangedFeeds | None:
    if version < since or catalog.feeds.version() != version:
        return None
    found = catalog.feeds.changes_since(since, MOST_READ)
    changes = [change for change in found if change.version <= version]
    if len(found) == MOST_READ or {change.version for change in changes} != set(
        range(since + 1, version + 1)
    ):
        return None  # a version without a change asks for everything to be compiled anew
    feeds = [change for change in changes if change.kind != "subscription"]
    if len(feeds) > MOST_CHANGED or _has_new_meanings(catalog, feeds, since):
        return None
    concerned = _concerned(catalog, feeds)
    context = _with_what_they_read(catalog, concerned.values()) if concerned is not None else None
    if concerned is None or context is None:
        return None
    return ChangedFeeds(
        version,
        frozenset({change.id for change in feeds} | {record.id for record in concerned.values()}),
        tuple(_definition(record) for record in concerned.values()),
        tuple(_definition(record) for record in context.values())
        + tuple(one for one in catalog.feeds.beginning(VOCABULARY) if one.name not in context),
    )


def _has_new_meanings(catalog: Catalog, changes: Sequence[Change], since: int) -> bool:
    """Whether what a vocabulary says came, changed or went: any pattern may mean something else then."""
    sources = [change for change in changes if change.kind == "source"]
    if any(says_something(change.statement) for change in sources):
        return True
    before = {change.name for change in sources if change.action != "create"}
    return any(says_something(one.statement) for one in catalog.feeds.several_as_of(since, before))


def _concerned(catalog: Catalog, changes: Sequence[Change]) -> dict[str, FeedRecord] | None:
    """The feeds that changed and are there, and the readers of changed virtual feeds, at any depth."""
    created = {change.id for change in changes if change.action == "create"}
    latest = catalog.feeds.with_ids(change.id for change in changes)
    found = {record.name: record for record in latest}
    while latest:
        # The readers of a new feed are new themselves.
        changed = [record.id for record in latest if record.kind == "virtual" and record.id not in created]
        readers = catalog.feeds.reading(changed) if changed else ()
        latest = tuple(record for record in readers if record.name not in found)
        found |= {record.name: record for record in latest}
        if len(found) > MOST_CHANGED:
            return None
    return dict(sorted(found.items()))


def _with_what_they_read(catalog: Catalog, records: Iterable[FeedRecord]) -> dict[str, FeedRecord] | None:
    found = {record.name: record for record in records}
    while missing := {name for record in found.values() for name in record.reads} - found.keys():
        read = catalog.feeds.several(missing)
        if len(read) < len(missing):
            return None
        found |= {record.name: record for record in read}
    return found


def _definition(record: FeedRecord) -> Definition:
    return Definition(record.id, record.name, record.kind, record.statement)
