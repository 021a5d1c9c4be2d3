"""One task of a batch: documents in, new items and elements out; the same in one process and in Spark's workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.acquire.parse.parser import ParsedBatch
from feedweir.items.model import FeedDescription
from feedweir.logs.batches import MAX_PUBLISHED, SourceReport, reports_of
from feedweir.match import CompiledSet, Matches
from feedweir.pipeline.seen import NO_SIGHTINGS, Keys, Seen, Sightings, keys_of, keys_of_sources

_I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NewItems:
    """New items and revisions that a task found."""

    items: pa.RecordBatch
    """New items and new revisions, in stream order."""
    sightings: dict[int, Sightings]
    """By part, what to add to the record of seen items."""
    sources: dict[str, SourceReport]


@dataclass(frozen=True, slots=True)
class Judged:
    """Which of some items are news, and of some sources which are new."""

    is_news: npt.NDArray[np.bool_]
    revisions: npt.NDArray[np.int32]
    sightings: dict[int, Sightings]
    """By part, what to add to the record of seen items."""


def judged(keys: Keys, fingerprints: _I64, seen: dict[int, Seen]) -> Judged:
    """Judge keys in the order of the stream, part by part; all are in the parts that are given."""
    is_news, revisions = np.zeros(len(keys), np.bool_), np.zeros(len(keys), np.int32)
    sightings = dict.fromkeys(sorted(seen), NO_SIGHTINGS)
    parts = keys.parts()
    for part in np.unique(parts).tolist():
        rows = np.flatnonzero(parts == part)
        verdict = seen[part].judge(keys.rows(rows), fingerprints[rows])
        is_news[rows], revisions[rows] = verdict.is_news, verdict.revisions
        sightings[part] = verdict.sightings
    return Judged(is_news, revisions, sightings)


def keyed(items: pa.RecordBatch) -> tuple[Keys, _I64, tuple[str, ...], _I64]:
    """The keys and fingerprints of items, followed by those of their sources; those, and where each first appears."""
    encoded = items.column("source").dictionary_encode()
    places = encoded.indices.to_numpy(zero_copy_only=False)
    names = encoded.dictionary.to_pylist()
    own = keys_of([names[place] for place in places.tolist()], items.column("identity").to_pylist())
    theirs = keys_of_sources(names)
    keys = Keys(np.concatenate([own.high, theirs.high]), np.concatenate([own.low, theirs.low]))
    prints = np.concatenate([items.column("fingerprint").to_numpy(), np.zeros(len(names), np.int64)])
    firsts = np.full(len(names), len(items), np.int64)
    np.minimum.at(firsts, places, np.arange(len(items)))
    return keys, prints, tuple(names), firsts


def find_new_items(documents: pa.RecordBatch, parsed: ParsedBatch, seen: dict[int, Seen]) -> NewItems:
    """The items of documents that were not seen before, or have changed since."""
    items = in_order(parsed.items)
    keys, prints, names, _ = keyed(items)
    verdict = judged(keys, prints, seen)
    is_new_source = verdict.is_news[len(items) :].tolist()
    newcomers = {name for name, is_new in zip(names, is_new_source, strict=True) if is_new}
    news = with_revisions(items, verdict.revisions[: len(items)], verdict.is_news[: len(items)])
    landed, found = reports_of_documents(documents, parsed), reports_of_items(news, newcomers)
    return NewItems(news, verdict.sightings, dict(sorted(reports_of([landed, found]).items())))


def with_revisions(
    items: pa.RecordBatch, revisions: npt.NDArray[np.int32], is_news: npt.NDArray[np.bool_]
) -> pa.RecordBatch:
    """The items that are news, each with its revision."""
    at = items.schema.get_field_index("revision")
    revised = items.set_column(at, items.schema.field(at), pa.array(revisions))
    return revised if is_news.all() else revised.filter(pa.array(is_news))


def in_order(items: pa.RecordBatch) -> pa.RecordBatch:
    """Items in the order of the stream."""
    seqs = items.column("seq").to_numpy()
    if bool(np.all(seqs[1:] > seqs[:-1])):
        return items
    return items.take(pc.sort_indices(items.column("seq")))


def elements_of(items: pa.RecordBatch, matches: Matches) -> pa.Table:
    """The pairs (feed, seq) of matched items, sorted by feed, then by seq."""
    feeds, rows = _sorted_pairs(matches.keys, matches.rows, len(items))
    seqs: npt.NDArray[np.int64] = items.column("seq").to_numpy()[rows]
    return pa.table({"feed": feeds, "seq": seqs})


def _sorted_pairs(keys: _I64, rows: npt.NDArray[np.integer[Any]], n_rows: int) -> tuple[_I64, _I64]:
    """Pairs sorted by key, then by row. Each is one number, since that sorts ten times as fast."""
    bits = n_rows.bit_length()
    most = 1 << (63 - bits)
    if len(keys) and not (-most <= keys.min() and keys.max() < most):
        order = np.lexsort((rows, keys))
        return keys[order], rows[order].astype(np.int64)
    pairs = np.sort((keys << bits) | rows.astype(np.int64))
    return pairs >> bits, pairs & ((1 << bits) - 1)


def match_items(compiled: CompiledSet, items: pa.RecordBatch) -> pa.Table:
    """The elements that a compiled set makes of items."""
    return elements_of(items, compiled.match(items))


def reports_of_documents(documents: pa.RecordBatch, parsed: ParsedBatch) -> dict[str, SourceReport]:
    """By source, what its documents said."""
    landed, sighted = _counted(documents), _counted(parsed.items)
    reasons = {source: reason for _, source, reason in sorted(parsed.failures)}
    arrivals = dict(zip(*(documents.column(name).to_pylist() for name in ("source", "arrived")), strict=True))
    descriptions = dict(parsed.descriptions)
    return {
        source: SourceReport(
            documents=landed[source],
            sightings=sighted[source],
            failure=reasons.get(source, ""),
            description=_plain(descriptions[source]) if source in descriptions else None,
            arrived=arrivals[source].isoformat(),
        )
        for source in sorted(landed)
    }


def reports_of_items(news: pa.RecordBatch, newcomers: Set[str]) -> dict[str, SourceReport]:
    """By source, what was new."""
    fresh = _counted(news)
    edited = _counted(news.filter(pc.greater(news.column("revision"), 0)))
    published = _published(news)
    return {
        source: SourceReport(
            items=fresh[source] - edited[source],
            revisions=edited[source],
            published=published.get(source, []),
            is_new=source in newcomers,
        )
        for source in sorted(fresh)
    }


def _counted(rows: pa.RecordBatch) -> Counter[str]:
    """How many rows are of each source."""
    return Counter({one["values"]: one["counts"] for one in rows.column("source").value_counts().to_pylist()})


def _published(news: pa.RecordBatch) -> dict[str, list[int]]:
    """By source, when its new items say they were published: refresh policies learn most from this."""
    first = news.filter(pc.and_(pc.equal(news.column("revision"), 0), pc.is_valid(news.column("published"))))
    moments = pc.cast(pc.floor_temporal(first.column("published"), unit="second"), pa.timestamp("s", "UTC"))
    found: dict[str, list[int]] = {}
    for source, moment in zip(
        first.column("source").to_pylist(), pc.cast(moments, pa.int64()).to_pylist(), strict=True
    ):
        found.setdefault(source, []).append(moment)
    return {source: sorted(times)[-MAX_PUBLISHED:] for source, times in found.items()}


def _plain(description: FeedDescription) -> dict[str, Any]:
    values = asdict(description)
    values["updated"] = description.updated.isoformat() if description.updated else None
    return values
