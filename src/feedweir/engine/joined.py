"""What the join step adds to a batch, as the tables that are published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from feedweir.engine.annotating import Late
from feedweir.engine.documents import BatchDocuments
from feedweir.engine.elements import Elements, no_notes
from feedweir.engine.join_plans import JoinSet, Stream, ways_to
from feedweir.engine.joined_log import ANNOTATION_SCHEMA, MADE_SCHEMA
from feedweir.engine.patterns import PatternState
from feedweir.engine.store import ELEMENT_SCHEMA
from feedweir.join.annotation_state import WindowState
from feedweir.match.meaning import holds
from feedweir.plan.nodes import AnnotationJoin, Block, Filter, Node, Union

Longs = NDArray[np.int64]
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


def element_table(feeds: Mapping[int, Elements], documents: BatchDocuments) -> pa.Table:
    """(feed, seq), each once, by feed and number; `feeds` ascend."""
    feed = np.repeat(np.array(list(feeds), np.int64), [len(elements) for elements in feeds.values()])
    seq = documents.seqs(np.concatenate([_NONE, *(elements.rows for elements in feeds.values())]))
    differs = np.append(True, (seq[1:] != seq[:-1]) | (feed[1:] != feed[:-1]))[: len(seq)]
    return pa.table([pa.array(feed[differs]), pa.array(seq[differs])], schema=ELEMENT_SCHEMA)


def annotation_table(
    feeds: Mapping[int, Elements],
    late: Iterable[LateNote],
    documents: BatchDocuments,
    names: Sequence[str],
) -> pa.Table:
    """(feed, seq, item, join, partner), each once, by all of these."""
    place = {name: number for number, name in enumerate(names)}
    more = [
        (note.feed, note.late.seq, note.late.item, place[note.late.identifier], note.late.partner)
        for note in _of_elements(list(late), documents)
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
    """The documents that elements stand for; an item that is there beside one of its own is said to be there."""
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
class LateNote:
    """What an element of an earlier batch has found only now, for a feed that may show it."""

    feed: int
    late: Late
    ways: tuple[tuple[Stream, ...], ...]
    """On which it may have come from the story to the feed."""


def late_rows(joins: JoinSet, late: Sequence[Late]) -> Iterable[LateNote]:
    """By feed what elements of earlier batches have found only now."""
    streams = sorted({one.stream for one in late})
    for feed, root in joins.roots if streams else ():
        ways = {key: found for key in streams if (found := ways_to(joins, root, key))}
        yield from (LateNote(feed, one, ways[one.stream]) for one in late if one.stream in ways)


def _of_elements(notes: list[LateNote], documents: BatchDocuments) -> list[LateNote]:
    """Those of elements that came from their stories into the feed."""
    feeds = np.array([note.feed for note in notes], np.int64)
    is_in = documents.were_in(feeds, np.array([note.late.seq for note in notes], np.int64))
    return [
        note
        for note, is_here in zip(notes, is_in.tolist(), strict=True)
        if is_here and _came(note, documents)
    ]


def _came(note: LateNote, documents: BatchDocuments) -> bool:
    """Whether an element of a feed came on one of these ways: where ways meet, it may have come on another."""
    if not any(isinstance(stream.node, Union) for way in note.ways for stream in way):
        return True
    return any(all(_passed(stream.node, note, documents) for stream in way) for way in note.ways)


def _passed(node: Node, note: LateNote, documents: BatchDocuments) -> bool:
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
