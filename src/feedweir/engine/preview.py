"""What a query would have brought: over the newest items, or over everything that is stored, without activating it.

The same matcher and the same join step as in the pipeline run over the item log, batch by batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.engine.batches import Manifest
from feedweir.engine.constructed import PATTERN, items_shown, parts_of
from feedweir.engine.join_plans import JoinFeed, JoinSet, compile_plan
from feedweir.engine.joined import Joined
from feedweir.engine.joined_log import Annotations, Made, annotations_in, made_in
from feedweir.engine.replaying import Replay
from feedweir.engine.stage import match_items
from feedweir.engine.store import Store
from feedweir.items.model import Item
from feedweir.items.numbering import segment_of
from feedweir.items.schema import items_of
from feedweir.match import CompiledSet
from feedweir.match.compiled import compiled_in_memory
from feedweir.match.store import table_of
from feedweir.plan.nodes import Distinct, Node
from feedweir.plan.walk import postorder

_THIS = 0
"""The key of the feed that is tried out."""


@dataclass(frozen=True, slots=True)
class SampleMatch:
    """An item that the query wants, and by join identifier the numbers of its partners."""

    item: Item
    annotation: tuple[tuple[str, tuple[int, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Trial:
    """What a query brought when it was tried out."""

    searched: int
    """Items that it was asked about."""
    hits: int
    per_day: tuple[tuple[date, int], ...]
    """Hits by the day they were published, or arrived if they do not say; days without any are left out."""
    samples: tuple[SampleMatch, ...]
    """The newest, the newest first."""

    @property
    def hits_per_day(self) -> float:
        """On average, from the first day that brought one to the last."""
        if not self.per_day:
            return 0.0
        return self.hits / ((self.per_day[-1][0] - self.per_day[0][0]).days + 1)


def backtest(plan: Node, store: Store, *, samples: int = 20) -> Trial:
    """Try an expanded plan out on everything that is stored."""
    return _trial(_found(plan, list(reversed(store.manifests())), store, after=None), samples, store)


def preview(plan: Node, store: Store, *, items: int = 1_000, samples: int = 20) -> Trial:
    """Try an expanded plan out on the newest items. Joins look at older ones too, as partners."""
    manifests, after = _newest(store, items)
    compiled = compile_plan(_THIS, plan)
    if isinstance(compiled, JoinFeed):
        manifests = store.manifests()
    return _trial(_found(plan, list(reversed(manifests)), store, after), samples, store)


def element_at(plan: Node, store: Store, seq: int) -> StoredElement | None:
    """The element of that number in an expanded plan, if it is there: what the live feed would have."""
    goes_on = any(isinstance(node, Distinct) for node in postorder(plan))
    manifests = [one for one in reversed(store.manifests()) if goes_on or one.after < segment_of(seq)]
    partners: dict[str, tuple[int, ...]] = {}
    shown: list[SampleMatch] = []
    for hits in _found(plan, manifests, store, after=None):
        partners = _both(partners, hits.annotations.get(seq, {})) | _parts(seq, hits.made)
        if seq in hits.seqs:
            shown = _samples(list(items_of(store.items([seq]))), hits, store)
    return StoredElement(partners, tuple(sample.item for sample in shown)) if shown else None


def first_teller(plan: Node, store: Store, seq: int) -> int | None:
    """The number of the element with which `distinct` lists an item as one that tells its story again."""
    for hits in _found(plan, list(reversed(store.manifests())), store, after=None):
        for first, annotation in sorted(hits.annotations.items()):
            if any(seq in later for later in annotation.values()):
                return first
    return None


@dataclass(frozen=True, slots=True)
class StoredElement:
    """By join identifier the numbers of its partners, and what it is shown as."""

    partners: dict[str, tuple[int, ...]]
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Hits:
    """What one batch brought."""

    searched: int
    items: pa.Table
    seqs: tuple[int, ...]
    annotations: Annotations = field(default_factory=dict)
    made: Made = field(default_factory=dict)


def _newest(store: Store, items: int) -> tuple[list[Manifest], int | None]:
    """The batches that the newest items are in, newest first, and the number before the first of those items."""
    chosen: list[Manifest] = []
    count = 0
    for manifest in store.manifests():
        chosen.append(manifest)
        count += manifest.item_count
        if count > items:
            seqs = np.sort(store.item_table(chosen).column("seq").to_numpy())
            return chosen, int(seqs[-items - 1])
    return chosen, None


def _found(plan: Node, manifests: list[Manifest], store: Store, after: int | None) -> Iterator[Hits]:
    """What each batch brings, oldest first; only items after a number are asked about."""
    tables = store.item_tables(manifests)
    batches = (batch for table in tables for batch in table.combine_chunks().to_batches())
    for hits in replay(plan, batches):
        yield hits if after is None else _later(hits, after)


def replay(plan: Node, batches: Iterable[pa.RecordBatch]) -> Iterator[Hits]:
    """An expanded plan over batches of items, as the pipeline would run it, with nothing before them."""
    compiled = compile_plan(_THIS, plan)
    if isinstance(compiled, JoinFeed):
        yield from _replay_joins(JoinSet([compiled]), batches)
        return
    matcher = compiled_in_memory(table_of(compiled))
    yield from (_plain_hits(matcher, batch) for batch in batches)


def _replay_joins(joins: JoinSet, batches: Iterable[pa.RecordBatch]) -> Iterator[Hits]:
    matcher, replay = compiled_in_memory(table_of(joins.queries())), Replay(joins)
    for batch in batches:
        elements = match_items(matcher, batch)
        keys, seqs = (elements.column(name).to_numpy() for name in ("feed", "seq"))
        yield _joined_hits(replay.step(batch, {key: seqs[keys == key] for key in joins.found}), batch)


def _plain_hits(matcher: CompiledSet, batch: pa.RecordBatch) -> Hits:
    seqs = match_items(matcher, batch).column("seq")
    return Hits(batch.num_rows, pa.Table.from_batches([batch]), tuple(seqs.to_pylist()))


def _joined_hits(joined: Joined, batch: pa.RecordBatch) -> Hits:
    own = joined.elements.filter(pc.equal(joined.elements.column("feed"), _THIS))
    annotations = annotations_in(joined.annotations)
    made = made_in(joined.made.filter(pc.equal(joined.made.column("feed"), _THIS)))
    items = pa.Table.from_batches([batch])
    return Hits(batch.num_rows, items, tuple(own.column("seq").to_pylist()), annotations, made)


def _later(hits: Hits, after: int) -> Hits:
    asked = pc.sum(pc.greater(hits.items.column("seq"), after)).as_py() or 0
    seqs = tuple(seq for seq in hits.seqs if seq > after)
    return Hits(asked, hits.items, seqs, hits.annotations, hits.made)


def _parts(number: int, made: Made) -> dict[str, tuple[int, ...]]:
    """What an element's documents are made of apart from itself, as partners of the pattern."""
    if number not in made:
        return {}
    return {PATTERN: tuple(seq for seq in parts_of({number: made[number]}) if seq != number)}


def _trial(found: Iterator[Hits], samples: int, store: Store) -> Trial:
    searched = hits = 0
    days: Counter[date] = Counter()
    newest: list[SampleMatch] = []
    for batch in found:
        searched += batch.searched
        hits += len(batch.seqs)
        matched = batch.items.filter(pc.is_in(batch.items.column("seq"), pa.array(batch.seqs, pa.int64())))
        told = pc.coalesce(matched.column("published"), matched.column("arrived"))
        days.update(told.cast(pa.date32()).to_pylist())
        last = matched.sort_by("seq").slice(max(matched.num_rows - samples, 0))
        newest = [*_told_again(newest, batch), *_samples(list(items_of(last)), batch, store)][-samples:]
    return Trial(searched, hits, tuple(sorted(days.items())), tuple(reversed(newest)))


def _told_again(samples: list[SampleMatch], later: Hits) -> list[SampleMatch]:
    """With what a later batch adds to their stories."""
    return [
        replace(
            sample,
            annotation=tuple(
                sorted(_both(dict(sample.annotation), later.annotations.get(sample.item.seq, {})).items())
            ),
        )
        for sample in samples
    ]


def _both(
    one: Mapping[str, tuple[int, ...]], other: Mapping[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    return {name: (*one.get(name, ()), *other.get(name, ())) for name in {**one, **other}}


def _samples(elements: list[Item], hits: Hits, store: Store) -> list[SampleMatch]:
    made = {item.seq: hits.made[item.seq] for item in elements if item.seq in hits.made}
    parts = {item.seq: item for item in items_of(store.items(parts_of(made)))} if made else {}
    return [
        SampleMatch(item, tuple(sorted(hits.annotations.get(item.seq, {}).items())))
        for item in items_shown(elements, made, parts)
    ]
