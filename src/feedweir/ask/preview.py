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

from feedweir.items.model import Item
from feedweir.items.numbering import segment_of
from feedweir.items.schema import items_of
from feedweir.join.constructed import PATTERN, items_shown, parts_of
from feedweir.join.replay import Replay
from feedweir.join.result_tables import Joined
from feedweir.join.streams import JoinFeed, JoinSet, compile_plan, has_joins
from feedweir.logs.batches import Manifest
from feedweir.logs.joined_log import Annotations, Construction, Made, annotations_in, made_in
from feedweir.logs.store import Store
from feedweir.match import CompiledSet
from feedweir.match.sets.compiled_set import compiled_in_memory
from feedweir.match.sets.query_store import table_of
from feedweir.pipeline.stage import match_items
from feedweir.plan.nodes import AnnotationJoin, Block, Distinct, Filter, Node, Union
from feedweir.plan.predicates import And, Compare
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
    return _trial(_found(plan, list(reversed(store.manifests())), store), samples, store)


def preview(plan: Node, store: Store, *, items: int = 1_000, samples: int = 20) -> Trial:
    """Try an expanded plan out on the newest items. Joins look at older ones too, as partners."""
    manifests, after = _newest(store, items)
    if isinstance(compile_plan(_THIS, plan), JoinFeed):
        found = _found(plan, list(reversed(store.manifests())), store)
        newest = found if after is None else (_later(hits, after) for hits in found)
    else:
        newest = _found(plan, list(reversed(manifests)), store, after)
    return _trial(newest, samples, store)


def element_at(plan: Node, store: Store, item: Item) -> StoredElement | None:
    """The element of an item in an expanded plan, if it is there: what the live feed would have."""
    seq = item.seq
    goes_on = any(isinstance(node, Distinct) for node in postorder(plan))
    manifests = [one for one in reversed(store.manifests()) if goes_on or one.after < segment_of(seq)]
    annotations: dict[str, tuple[int, ...]] = {}
    last: Hits | None = None
    for hits in _found(narrowed(plan, item), manifests, store):
        annotations = _both(annotations, hits.annotations.get(seq, {}))
        last = hits if seq in hits.seqs else last
    return None if last is None else stored_element(item, annotations, last.made.get(seq, ()), store)


def stored_element(
    item: Item, annotations: Mapping[str, tuple[int, ...]], made: tuple[Construction, ...], store: Store
) -> StoredElement:
    """An element by what it was joined with and what was made of it."""
    constructed = {item.seq: made} if made else {}
    parts = {one.seq: one for one in items_of(store.items(parts_of(constructed)))} if made else {}
    partners = _both(annotations, _parts(item.seq, constructed))
    return StoredElement(partners, tuple(items_shown([item], constructed, parts)))


def narrowed(plan: Node, item: Item) -> Node:
    """The plan with only an item where what becomes of it does not depend on other items of the stream.

    What is annotated is asked one by one, whoever else may be in the stream; windows, stories and pattern joins need
    all of theirs.
    """
    if not has_joins(plan):
        about = (Compare("guid", "=", item.identity), Compare("source", "=", item.source))
        return Filter(plan, And(about))
    match plan:
        case AnnotationJoin(_, primary):
            return replace(plan, primary=narrowed(primary, item))
        case Filter(input) | Block(input, _, ""):
            return replace(plan, input=narrowed(input, item))
        case Union(inputs):
            return Union(tuple(narrowed(input, item) for input in inputs))
        case _:
            return plan


def first_teller(plan: Node, store: Store, seq: int) -> int | None:
    """The number of the element with which `distinct` lists an item as another one of its story."""
    for hits in _found(plan, list(reversed(store.manifests())), store):
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
            seqs = np.sort(store.item_table(chosen, ["seq"]).column("seq").to_numpy())
            return chosen, int(seqs[-items - 1])
    return chosen, None


def _found(plan: Node, manifests: list[Manifest], store: Store, after: int | None = None) -> Iterator[Hits]:
    """What each batch brings, oldest first, or what those of its items do that come after a number."""
    tables = store.item_tables(manifests, after)
    return replay(plan, (batch for table in tables for batch in table.combine_chunks().to_batches()))


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
        yield _joined_hits(replay.step(batch, {key: seqs[keys == key] for key in joins.matched}), batch)


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
        times = pc.coalesce(matched.column("published"), matched.column("arrived"))
        days.update(times.cast(pa.date32()).to_pylist())
        last = matched.sort_by("seq").slice(max(matched.num_rows - samples, 0))
        newest = [*_without_earlier(newest, batch), *_samples(list(items_of(last)), batch, store)][-samples:]
    return Trial(searched, hits, tuple(sorted(days.items())), tuple(reversed(newest)))


def _without_earlier(samples: list[SampleMatch], later: Hits) -> list[SampleMatch]:
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
