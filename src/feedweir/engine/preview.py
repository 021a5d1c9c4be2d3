"""What a query would have brought: over the newest items, or over everything that is stored, without activating it.

The same matcher and the same join step as in the pipeline run over the item log, batch by batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.engine.batches import Manifest
from feedweir.engine.join_plans import JoinFeed, JoinSet, compile_plan
from feedweir.engine.joining import join_batch
from feedweir.engine.stage import match_items
from feedweir.engine.store import Annotations, Store
from feedweir.engine.windows import MemoryHistory, readings_of
from feedweir.items.model import Item
from feedweir.items.numbering import segment_of
from feedweir.items.schema import items_of
from feedweir.match import CompiledSet
from feedweir.match.compiled import compiled_in_memory
from feedweir.match.store import table_of
from feedweir.plan.nodes import Node

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
    """Hits by the day they arrived; days without any are left out."""
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
    return _trial(_found(plan, list(reversed(store.manifests())), store, after=None), samples)


def preview(plan: Node, store: Store, *, items: int = 1_000, samples: int = 20) -> Trial:
    """Try an expanded plan out on the newest items. Joins look at older ones too, as partners."""
    manifests, after = _newest(store, items)
    compiled = compile_plan(_THIS, plan)
    if isinstance(compiled, JoinFeed):
        manifests = store.manifests()
    return _trial(_found(plan, list(reversed(manifests)), store, after), samples)


def elements_until(plan: Node, store: Store, seq: int) -> Annotations:
    """The elements of an expanded plan up to a number, with their partners: what the live feed would have."""
    manifests = [one for one in reversed(store.manifests()) if one.after < segment_of(seq)]
    found: Annotations = {}
    for hits in _found(plan, manifests, store, after=None):
        for number in hits.seqs:
            if number <= seq:
                found[number] = hits.annotations.get(number, {})
    return found


@dataclass(frozen=True, slots=True)
class Hits:
    """What one batch brought."""

    searched: int
    items: pa.Table
    seqs: tuple[int, ...]
    annotations: Annotations = field(default_factory=dict)


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
    batches = (
        batch
        for manifest in manifests
        for batch in store.item_table([manifest]).combine_chunks().to_batches()
    )
    for hits in replay(plan, batches):
        yield hits if after is None else _later(hits, after)


def replay(plan: Node, batches: Iterable[pa.RecordBatch]) -> Iterator[Hits]:
    """An expanded plan over batches of items, as the pipeline would run it, with nothing before them."""
    compiled = compile_plan(_THIS, plan)
    if isinstance(compiled, JoinFeed):
        joined = _Replay(compiled)
        matcher: CompiledSet = compiled_in_memory(table_of(joined.joins.queries()))
        yield from (joined.hits(matcher, batch) for batch in batches)
        return
    matcher = compiled_in_memory(table_of(compiled))
    yield from (_plain_hits(matcher, batch) for batch in batches)


def _plain_hits(matcher: CompiledSet, batch: pa.RecordBatch) -> Hits:
    seqs = match_items(matcher, batch).column("seq")
    return Hits(batch.num_rows, pa.Table.from_batches([batch]), tuple(seqs.to_pylist()))


class _Replay:
    """A feed with joins over the batches of the log, remembering what went before."""

    def __init__(self, feed: JoinFeed) -> None:
        self.joins = JoinSet([feed])
        self._history = MemoryHistory()

    def hits(self, matcher: CompiledSet, batch: pa.RecordBatch) -> Hits:
        elements = match_items(matcher, batch)
        found: dict[int, list[int]] = {key: [] for key in self.joins.found}
        for key, seq in zip(*(elements.column(name).to_pylist() for name in ("feed", "seq")), strict=True):
            found[key].append(seq)
        table = pa.Table.from_batches([batch])
        wanted = table.filter(pc.is_in(table.column("seq"), elements.column("seq").combine_chunks()))
        joined = join_batch(self.joins, found, readings_of(items_of(wanted)), self._history)
        self._history.learn(joined.members)
        own = joined.elements.filter(pc.equal(joined.elements.column("feed"), _THIS))
        annotations: Annotations = {}
        for row in joined.annotations.to_pylist():
            partners = annotations.setdefault(row["seq"], {})
            partners[row["join"]] = (*partners.get(row["join"], ()), row["partner"])
        return Hits(batch.num_rows, table, tuple(own.column("seq").to_pylist()), annotations)


def _later(hits: Hits, after: int) -> Hits:
    asked = pc.sum(pc.greater(hits.items.column("seq"), after)).as_py() or 0
    return Hits(asked, hits.items, tuple(seq for seq in hits.seqs if seq > after), hits.annotations)


def _trial(found: Iterator[Hits], samples: int) -> Trial:
    searched = hits = 0
    days: Counter[date] = Counter()
    newest: list[SampleMatch] = []
    for batch in found:
        searched += batch.searched
        hits += len(batch.seqs)
        matched = batch.items.filter(pc.is_in(batch.items.column("seq"), pa.array(batch.seqs, pa.int64())))
        days.update(matched.column("arrived").cast(pa.date32()).to_pylist())
        last = matched.sort_by("seq").slice(max(matched.num_rows - samples, 0))
        newest = [*newest, *(_sample(item, batch.annotations) for item in items_of(last))][-samples:]
    return Trial(searched, hits, tuple(sorted(days.items())), tuple(reversed(newest)))


def _sample(item: Item, annotations: Annotations) -> SampleMatch:
    return SampleMatch(item, tuple(sorted(annotations.get(item.seq, {}).items())))
