"""What the join step adds to a batch, as the tables that are published.

Pairs of items come by the hundred thousand and are handled as columns, never one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.join.batch_documents import BatchDocuments, Elements, no_notes
from feedweir.join.patterns.rounds import PatternState
from feedweir.join.ragged import Ragged, ranges, to_arrow
from feedweir.join.streams import JoinSet, StreamPath, paths_to
from feedweir.join.windows.annotation_stages import LatePartner
from feedweir.join.windows.window_state import WindowState
from feedweir.logs.joined_log import ANNOTATION_SCHEMA, MADE_SCHEMA
from feedweir.logs.store import ELEMENT_SCHEMA
from feedweir.match.meaning.item_meaning import holds
from feedweir.plan.nodes import AnnotationJoin, Block, Filter, Node, Union

Longs = NDArray[np.int64]


def pairs_of_feeds(pairs: Longs, roots: Sequence[tuple[int, int]]) -> Longs:
    """(feed, left, right) by feed, from (key of a stream, left, right); what has one key lies together, in order."""
    if not len(pairs):
        return pairs
    starts = np.flatnonzero(np.append(True, pairs[1:, 0] != pairs[:-1, 0])).astype(np.int64)
    stops = np.append(starts[1:], len(pairs))
    place = {key: number for number, key in enumerate(pairs[starts, 0].tolist())}
    held = [(feed, place[key]) for feed, key in sorted(roots) if key in place]
    feeds, chosen = (np.array(column, np.int64) for column in zip(*held, strict=True))
    rows = pairs[ranges(starts[chosen], stops[chosen])]
    rows[:, 0] = np.repeat(feeds, stops[chosen] - starts[chosen])
    return rows


def pair_elements(pairs: Longs) -> pa.Table:
    """An element for each feed and last item, from pairs in that order."""
    return group_elements(pairs[:, 0], np.maximum(pairs[:, 1], pairs[:, 2]))


def group_elements(feed: Longs, seq: Longs) -> pa.Table:
    """An element for each feed and item, which come in that order."""
    rows = np.column_stack([feed, seq])
    rows = rows[np.append(True, (rows[1:] != rows[:-1]).any(axis=1))[: len(rows)]]
    return pa.table([pa.array(rows[:, 0]), pa.array(rows[:, 1])], schema=ELEMENT_SCHEMA)


def pair_documents(pairs: Longs) -> pa.Table:
    """The documents that elements stand for."""
    items = Ragged(np.arange(0, 2 * len(pairs) + 2, 2), np.ascontiguousarray(pairs[:, 1:]).ravel())
    return group_documents(pairs[:, 0], np.maximum(pairs[:, 1], pairs[:, 2]), items)


def group_documents(feed: Longs, seq: Longs, items: Ragged) -> pa.Table:
    """Documents of items side by side."""
    count = len(feed)
    columns = [
        pa.array(feed),
        pa.array(seq),
        to_arrow(items),
        pa.repeat(pa.scalar("", pa.string()), count),
        pa.repeat(pa.scalar(False), count),
    ]
    return pa.table(columns, schema=MADE_SCHEMA)


_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class JoinState:
    """What joins remember between batches: a value."""

    patterns: PatternState
    windows: WindowState


@dataclass(frozen=True, slots=True)
class Joined:
    """What the join step adds to a batch."""

    elements: pa.Table
    annotations: pa.Table
    made: pa.Table
    state: JoinState
    failures: tuple[tuple[int, str], ...] = ()
    """(feed, reason) of those that could not be joined, or not as far back as they ask; the others go on."""
    observed: tuple[JoinObservation, ...] = ()


@dataclass(frozen=True, slots=True)
class JoinObservation:
    """What was counted of one join in a batch, for a feed that has it."""

    feed: int
    name: str
    tried: int
    """Items that were compared with the window."""
    kept: int
    """Those that had a partner."""
    pairs: int


def element_table(feeds: Mapping[int, Elements], documents: BatchDocuments) -> pa.Table:
    """(feed, seq), each once, by feed and number; `feeds` ascend."""
    feed = np.repeat(np.array(list(feeds), np.int64), [len(elements) for elements in feeds.values()])
    seq = documents.seqs(np.concatenate([_NONE, *(elements.rows for elements in feeds.values())]))
    differs = np.append(True, (seq[1:] != seq[:-1]) | (feed[1:] != feed[:-1]))[: len(seq)]
    return pa.table([pa.array(feed[differs]), pa.array(seq[differs])], schema=ELEMENT_SCHEMA)


def annotation_table(
    feeds: Mapping[int, Elements],
    late: Iterable[LateAnnotation],
    documents: BatchDocuments,
    names: Sequence[str],
) -> pa.Table:
    """(feed, seq, item, join, partner), each once, by all of these."""
    place = {name: number for number, name in enumerate(names)}
    more = [
        (note.feed, note.late.seq, note.late.item, place[note.late.identifier], note.late.partner)
        for note in _of_shown_elements(list(late), documents)
    ]
    noted = {feed: elements.notes for feed, elements in feeds.items() if len(elements.notes)}
    feed = np.repeat(np.array(list(noted), np.int64), [len(notes) for notes in noted.values()])
    notes = np.concatenate([no_notes(), *noted.values()])
    seq, item = documents.seqs(notes[:, 0]), documents.identities(notes[:, 0])
    own = np.column_stack([feed, seq, item, notes[:, 1], notes[:, 2]])
    rows = np.concatenate([np.array(more, np.int64).reshape(-1, 5), own])
    rows = rows[np.lexsort(rows.T[::-1])]
    rows = rows[np.append(True, (rows[1:] != rows[:-1]).any(axis=1))[: len(rows)]]
    numbers = [pa.array(np.ascontiguousarray(column)) for column in rows.T]
    joins = pa.DictionaryArray.from_arrays(numbers[3].cast(pa.int32()), pa.array(names, pa.string()))
    return pa.table([*numbers[:3], joins.cast(pa.string()), numbers[4]], schema=ANNOTATION_SCHEMA)


def made_table(feeds: Mapping[int, Elements], documents: BatchDocuments) -> pa.Table:
    """The documents that elements stand for; an item that is shown beside a document of its own gets a row, too."""
    rows: list[tuple[Any, ...]] = []
    for feed, elements in feeds.items():
        is_made = documents.is_made(elements.rows)
        if not is_made.any():
            continue
        seqs = documents.seqs(elements.rows)
        shown = frozenset(seqs[is_made].tolist())
        for row, seq, made in zip(elements.rows.tolist(), seqs.tolist(), is_made.tolist(), strict=True):
            if made:
                one = documents.construction(row)
                rows.append((feed, seq, list(one.made_of), one.xml, one.is_selected))
            elif seq in shown:
                rows.append((feed, seq, [], "", False))
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(MADE_SCHEMA)
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, MADE_SCHEMA, strict=True)],
        schema=MADE_SCHEMA,
    )


@dataclass(frozen=True, slots=True)
class LateAnnotation:
    """A late partner, for a feed that may show the element."""

    feed: int
    late: LatePartner
    paths: tuple[StreamPath, ...]
    """Those by which the element may have come from the story to the feed."""


def late_rows(joins: JoinSet, late: Sequence[LatePartner]) -> Iterable[LateAnnotation]:
    """Late partners by feed."""
    streams = sorted({one.stream for one in late})
    for feed, root in joins.roots if streams else ():
        paths = {key: found for key in streams if (found := paths_to(joins, root, key))}
        yield from (LateAnnotation(feed, one, paths[one.stream]) for one in late if one.stream in paths)


def _of_shown_elements(notes: list[LateAnnotation], documents: BatchDocuments) -> list[LateAnnotation]:
    """Those whose elements came from their stories into the feed."""
    feeds = np.array([note.feed for note in notes], np.int64)
    is_in = documents.were_in(feeds, np.array([note.late.seq for note in notes], np.int64))
    return [
        note
        for note, is_here in zip(notes, is_in.tolist(), strict=True)
        if is_here and _came_by_path(note, documents)
    ]


def _came_by_path(note: LateAnnotation, documents: BatchDocuments) -> bool:
    """Whether the element came by one of these paths: below a union, it may have come by another."""
    if not any(isinstance(stream.node, Union) for path in note.paths for stream in path):
        return True
    return any(all(_passed(stream.node, note, documents) for stream in path) for path in note.paths)


def _passed(node: Node, note: LateAnnotation, documents: BatchDocuments) -> bool:
    match node:
        case Filter(_, predicate) | Block(_, predicate, ""):
            return holds(predicate, documents.older(note.late.seq))
        case AnnotationJoin(identifier=name):
            return name in documents.noted(note.feed, note.late.seq)
    return True


def in_order(*tables: pa.Table) -> pa.Table:
    """All rows, by feed and number."""
    filled = [table for table in tables if table.num_rows] or tables[:1]
    if len(filled) == 1:
        return filled[0]
    return pa.concat_tables(filled).sort_by([("feed", "ascending"), ("seq", "ascending")])
