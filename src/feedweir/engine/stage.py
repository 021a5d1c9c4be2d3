"""One task of a batch: documents in, new items and elements out; the same in one process and in Spark's workers."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.acquire.parse import ParsedBatch
from feedweir.engine.batches import SourceReport, part_of
from feedweir.engine.seen import NO_SIGHTINGS, Seen, Sightings, keys_of
from feedweir.items.model import FeedDescription
from feedweir.match import CompiledSet, Matches

_I64 = npt.NDArray[np.int64]
MAX_PUBLISHED = 32
"""Moments of publication that a report tells of a source."""


@dataclass(frozen=True, slots=True)
class News:
    """What a task found that was not there before."""

    items: pa.RecordBatch
    """New items and new revisions, in stream order."""
    sightings: dict[int, Sightings]
    """By part: what is to be remembered."""
    sources: dict[str, SourceReport]


def find_news(documents: pa.RecordBatch, parsed: ParsedBatch, seen: dict[int, Seen]) -> News:
    """Of what documents say the items that were not seen before or have changed since."""
    items = _in_order(parsed.items)
    named = items.column("source").dictionary_encode()
    places = named.indices.to_numpy(zero_copy_only=False)
    names = named.dictionary.to_pylist()
    parts = np.array([part_of(name) for name in names], np.int64)[places]
    keys = keys_of([names[place] for place in places.tolist()], items.column("identity").to_pylist())
    fingerprints = items.column("fingerprint").to_numpy()
    is_news = np.zeros(len(items), np.bool_)
    revisions = np.zeros(len(items), np.int32)
    sightings = dict.fromkeys(sorted(seen), NO_SIGHTINGS)
    for part, state in sorted(seen.items()):
        rows = np.flatnonzero(parts == part)
        verdict = state.judge(keys.rows(rows), fingerprints[rows])
        is_news[rows] = verdict.is_news
        revisions[rows] = verdict.revisions
        sightings[part] = verdict.sightings
    at = items.schema.get_field_index("revision")
    news = items.set_column(at, items.schema.field(at), pa.array(revisions))
    if not is_news.all():
        news = news.filter(pa.array(is_news))
    return News(news, sightings, _reports(documents, parsed, news))


def _in_order(items: pa.RecordBatch) -> pa.RecordBatch:
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
    """Pairs sorted by key, then by row: each as one number, which is sorted ten times as fast as an order is found."""
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


def _reports(documents: pa.RecordBatch, parsed: ParsedBatch, news: pa.RecordBatch) -> dict[str, SourceReport]:
    landed, sighted, fresh = (_counted(each) for each in (documents, parsed.items, news))
    edited = _counted(news.filter(pc.greater(news.column("revision"), 0)))
    reasons = {source: reason for _, source, reason in sorted(parsed.failures)}
    arrivals = dict(zip(*(documents.column(name).to_pylist() for name in ("source", "arrived")), strict=True))
    descriptions = dict(parsed.descriptions)
    published = _published(news)
    return {
        source: SourceReport(
            documents=landed[source],
            sightings=sighted[source],
            items=fresh[source] - edited[source],
            revisions=edited[source],
            failure=reasons.get(source, ""),
            description=_plain(descriptions[source]) if source in descriptions else None,
            arrived=arrivals[source].isoformat(),
            published=published.get(source, []),
        )
        for source in sorted(landed)
    }


def _counted(rows: pa.RecordBatch) -> Counter[str]:
    """How many rows are of each source."""
    return Counter({one["values"]: one["counts"] for one in rows.column("source").value_counts().to_pylist()})


def _published(news: pa.RecordBatch) -> dict[str, list[int]]:
    """By source when its new items were published, as far as they tell: what a refresh policy learns most from."""
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
