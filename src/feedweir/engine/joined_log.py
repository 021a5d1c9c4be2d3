"""What joins found, as batches published it: with which items elements were joined, and what was made of items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.engine.batches import Manifest
from feedweir.engine.constructed import Construction
from feedweir.engine.files import again_if_gone, open_arrow, replace_arrow
from feedweir.items.numbering import segment_of

Annotations: TypeAlias = dict[int, dict[str, tuple[int, ...]]]
"""By number of an element and join identifier the numbers of the partners."""

Made: TypeAlias = dict[int, tuple[Construction, ...]]
"""By number of an element the documents that it stands for."""

ANNOTATION_SCHEMA = pa.schema(
    [
        ("feed", pa.int64()),
        ("seq", pa.int64()),
        ("item", pa.int64()),
        ("join", pa.string()),
        ("partner", pa.int64()),
    ]
)
"""Of an element of a feed with joins: under which join it was joined with which item.

`item` is a key of the item that the element is a wording of (`join.features.IDENTITY`): the same for all its wordings.
"""
MADE_SCHEMA = pa.schema(
    [
        ("feed", pa.int64()),
        ("seq", pa.int64()),
        ("made_of", pa.list_(pa.int64())),
        ("xml", pa.string()),
        ("is_selected", pa.bool_()),
    ]
)
"""Documents that an element of a feed stands for; nothing to be made of says that the item itself is there, too."""


class JoinedLog:
    """Files that are sorted by feed, so that reading one feed touches little of them."""

    def __init__(
        self,
        directory: Path,
        manifests: Callable[[], list[Manifest]],
        identities: Callable[[Sequence[int]], Mapping[int, int]],
        opened: Callable[[Path, Callable[[Path], pa.Table], pa.Table], pa.Table],
    ) -> None:
        """`identities` gives the keys of items by number, for files that were written without them; `opened` reads a
        file, or gives nothing for one that is damaged."""
        self._opened = opened
        self._annotations = directory / "annotations"
        self._made = directory / "made"
        self._manifests = manifests
        self._identities = identities

    def write_annotations(self, name: str, annotations: pa.Table) -> None:
        replace_arrow(self._annotations / name, annotations)

    def write_made(self, name: str, made: pa.Table) -> None:
        replace_arrow(self._made / name, made)

    def forget(self, manifest: Manifest) -> None:
        """Remove the files of a batch that another one has taken in."""
        for name in manifest.annotation_files:
            (self._annotations / name).unlink(missing_ok=True)
        for name in manifest.made_files:
            (self._made / name).unlink(missing_ok=True)

    def annotation_table(self, manifests: Sequence[Manifest]) -> pa.Table:
        """All annotations of some batches, sorted by all of their columns."""
        names = [name for manifest in manifests for name in manifest.annotation_files]
        tables = (
            self._with_items(
                self._opened(self._annotations / name, open_arrow, ANNOTATION_SCHEMA.empty_table())
            )
            for name in names
        )
        return _in_order(tables, ANNOTATION_SCHEMA, ANNOTATION_SCHEMA.names)

    def made_table(self, manifests: Sequence[Manifest]) -> pa.Table:
        """All constructed documents of some batches, sorted by feed and seq."""
        names = [name for manifest in manifests for name in manifest.made_files]
        nothing = MADE_SCHEMA.empty_table()
        tables = (self._opened(self._made / name, open_arrow, nothing) for name in names)
        return _in_order(tables, MADE_SCHEMA, ["feed", "seq"])

    def annotations(self, feed: int, seqs: Sequence[int]) -> Annotations:
        """Of the elements with these numbers that have any: by join identifier the numbers of the partners."""
        return annotations_in(again_if_gone(lambda: self._noted(feed, "seq", seqs)))

    def notes(self, feed: int, items: Sequence[int]) -> pa.Table:
        """What all wordings of items, by their keys, were joined with in a feed, in the order of the stream."""
        return again_if_gone(lambda: self._noted(feed, "item", items))

    def made(self, feed: int, seqs: Sequence[int]) -> Made:
        """Of the elements with these numbers that stand for constructed documents: those, in order."""
        return made_in(again_if_gone(lambda: self._made_by(feed, seqs)))

    def partners(self, feed: int, seq: int) -> tuple[int, ...]:
        """The items that an item was joined with in a feed, on whichever side it was."""
        return again_if_gone(lambda: self._partners(feed, seq))

    def _partners(self, feed: int, seq: int) -> tuple[int, ...]:
        noted = [self._noted(feed, column, [seq]) for column in ("seq", "partner")]
        later = [one for one in self._manifests() if one.upto >= segment_of(seq)]
        made = (self._made_for(self._made / name, feed) for one in later for name in one.made_files)
        return partners_in(pa.concat_tables(noted), pa.concat_tables([MADE_SCHEMA.empty_table(), *made]), seq)

    def _noted(self, feed: int, column: str, values: Sequence[int]) -> pa.Table:
        """The annotations of a feed that have one of these values. Of any batch: a story goes on, and what tells it
        again is noted in the batch that brought it."""
        wanted = pa.array(sorted(set(values)), pa.int64())
        names = [name for manifest in self._manifests() for name in manifest.annotation_files]
        files = (self._annotations / name for name in (names if len(wanted) else ()))
        of_feed = (self._with_items(self._noted_for(path, feed)) for path in files)
        found = (table.filter(pc.is_in(table[column], wanted)) for table in of_feed)
        return _in_order(found, ANNOTATION_SCHEMA, ANNOTATION_SCHEMA.names)

    def _noted_for(self, path: Path, feed: int) -> pa.Table:
        return self._opened(path, partial(_of_feed, feed=feed), ANNOTATION_SCHEMA.empty_table())

    def _made_for(self, path: Path, feed: int) -> pa.Table:
        return self._opened(path, partial(_of_feed, feed=feed), MADE_SCHEMA.empty_table())

    def _with_items(self, annotations: pa.Table) -> pa.Table:
        """Annotations in their form of today: older files do not tell which item an element is a wording of."""
        if "item" in annotations.column_names:
            return annotations
        seqs = annotations["seq"].to_pylist()
        known = self._identities(sorted(set(seqs))) if seqs else {}
        items = pa.array([known.get(seq) for seq in seqs], pa.int64())
        return annotations.append_column("item", items).select(ANNOTATION_SCHEMA.names)

    def _made_by(self, feed: int, seqs: Sequence[int]) -> pa.Table:
        wanted = pa.array(sorted(set(seqs)), pa.int64())
        segments = {segment_of(seq) for seq in seqs}
        chosen = [
            one
            for one in self._manifests()
            if one.made_files and any(one.after < segment <= one.upto for segment in segments)
        ]
        of_feed = (self._made_for(self._made / name, feed) for one in chosen for name in one.made_files)
        return _in_order(
            (table.filter(pc.is_in(table["seq"], wanted)) for table in of_feed), MADE_SCHEMA, ["seq"]
        )


def _of_feed(path: Path, feed: int) -> pa.Table:
    table = open_arrow(path)
    low, high = np.searchsorted(table["feed"].to_numpy(), [feed, feed + 1]).tolist()
    return table.slice(low, high - low)


def _in_order(tables: Iterable[pa.Table], schema: pa.Schema, columns: Sequence[str]) -> pa.Table:
    return pa.concat_tables([schema.empty_table(), *tables]).sort_by(
        [(name, "ascending") for name in columns]
    )


def annotations_in(table: pa.Table) -> Annotations:
    """The annotations of one feed."""
    found: Annotations = {}
    for row in table.to_pylist():
        joined = found.setdefault(row["seq"], {})
        joined[row["join"]] = (*joined.get(row["join"], ()), row["partner"])
    return found


def made_in(table: pa.Table) -> Made:
    """The constructed documents of one feed, in order."""
    found: Made = {}
    for row in table.to_pylist():
        one = Construction(tuple(row["made_of"]), row["xml"], row["is_selected"])
        found[row["seq"]] = (*found.get(row["seq"], ()), one)
    # A stream that two shards want is made by both.
    return {seq: tuple(sorted(set(many), key=lambda one: one.place)) for seq, many in found.items()}


def partners_in(annotations: pa.Table, made: pa.Table, seq: int) -> tuple[int, ...]:
    """With which items an item stands in the annotations and constructed documents of one feed."""
    rows = zip(annotations["seq"].to_pylist(), annotations["partner"].to_pylist(), strict=True)
    found = {number for row in rows if seq in row for number in row}
    parts = made["made_of"].combine_chunks()
    holding = pc.list_parent_indices(parts).filter(pc.equal(pc.list_flatten(parts), seq))
    found.update(number for one in parts.take(holding).to_pylist() for number in one)
    return tuple(sorted(found - {seq}))
