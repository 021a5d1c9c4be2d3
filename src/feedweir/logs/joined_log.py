"""What joins found, as batches published it: with which items elements were joined, and what was made of items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from feedweir.items.numbering import segment_of
from feedweir.logs.batches import Manifest
from feedweir.logs.files import retry_when_compacted
from feedweir.logs.sorted_files import open_sorted, replace_sorted
from feedweir.storage import Place as StoredAt

Place: TypeAlias = tuple[int, tuple[int, ...], str]
"""Where an item or a constructed document stands in the stream (`Item.place`)."""

UNDER_A_ROOT = "result"
"""The root of documents that are shown side by side."""


@dataclass(frozen=True, slots=True)
class Construction:
    """What was made of which items. Without `xml` it is those items' own documents under a new root."""

    made_of: tuple[int, ...]
    """From left to right."""
    xml: str = ""
    is_selected: bool = False
    """Whether SELECT made it."""

    @property
    def place(self) -> Place:
        """That of its item."""
        return (max(self.made_of), self.made_of, self.identity) if self.made_of else (0, (), "")

    @property
    def identity(self) -> str:
        seqs = "+".join(map(str, self.made_of))
        if not self.xml:
            return f"{seqs}:{UNDER_A_ROOT}"
        digest = blake2b(self.xml.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        return f"{seqs}:{digest}{'' if self.is_selected else f':{UNDER_A_ROOT}'}"


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
NOTED_SCHEMA = ANNOTATION_SCHEMA.append(pa.field("batch", pa.int64()))
"""With the batch that noted it: a story goes on, so that is not always the batch of the element."""
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
        directory: StoredAt,
        manifests: Callable[[], list[Manifest]],
        identities: Callable[[Sequence[int]], Mapping[int, int]],
        opened: Callable[[StoredAt, Callable[[StoredAt], pa.Table], pa.Table], pa.Table],
    ) -> None:
        """`identities` gives the keys of items by number, for files that were written without them; `opened` reads a
        file, or gives nothing for one that is damaged."""
        self._opened = opened
        self._annotations = directory / "annotations"
        self._made = directory / "made"
        self._manifests = manifests
        self._identities = identities

    def write_annotations(self, name: str, annotations: pa.Table, batch: int = 0) -> None:
        """`batch` is what noted them, unless a column says so."""
        if "batch" not in annotations.column_names:
            batches = pa.repeat(pa.scalar(batch, pa.int64()), annotations.num_rows)
            annotations = annotations.append_column("batch", batches)
        replace_sorted(self._annotations / name, annotations)

    def write_made(self, name: str, made: pa.Table) -> None:
        replace_sorted(self._made / name, made)

    def annotation_table(self, manifests: Sequence[Manifest]) -> pa.Table:
        """All annotations of some batches, sorted by all of their columns, with the batch that noted each."""
        tables = (
            self._with_batch(self._opened(self._annotations / name, _whole, NOTED_SCHEMA.empty_table()), one)
            for one in manifests
            for name in one.annotation_files
        )
        return _in_order(tables, NOTED_SCHEMA, NOTED_SCHEMA.names)

    def _with_batch(self, annotations: pa.Table, manifest: Manifest) -> pa.Table:
        """Annotations in their form of today: older files do not tell which batch noted them."""
        batches = (
            annotations["batch"]
            if "batch" in annotations.column_names
            else pa.repeat(pa.scalar(manifest.upto, pa.int64()), annotations.num_rows)
        )
        return self._with_items(annotations).append_column("batch", batches).select(NOTED_SCHEMA.names)

    def made_table(self, manifests: Sequence[Manifest]) -> pa.Table:
        """All constructed documents of some batches, sorted by feed and seq."""
        names = [name for manifest in manifests for name in manifest.made_files]
        nothing = MADE_SCHEMA.empty_table()
        tables = (self._opened(self._made / name, _whole, nothing) for name in names)
        return _in_order(tables, MADE_SCHEMA, ["feed", "seq"])

    def annotations(self, feed: int, seqs: Sequence[int]) -> Annotations:
        """Of the elements with these numbers that have any: by join identifier the numbers of the partners."""
        return annotations_in(retry_when_compacted(lambda: self._noted(feed, "seq", seqs)))

    def notes(self, feed: int, items: Sequence[int]) -> pa.Table:
        """What all wordings of items, by their keys, were joined with in a feed, in the order of the stream."""
        return retry_when_compacted(lambda: self._noted(feed, "item", items))

    def made(self, feed: int, seqs: Sequence[int]) -> Made:
        """Of the elements with these numbers that stand for constructed documents: those, in order."""
        return made_in(retry_when_compacted(lambda: self._made_by(feed, seqs)))

    def tellers(self, feed: int, seq: int, join: str) -> tuple[int, ...]:
        """The elements of a feed that have an item as a partner under a join, in the order of the stream."""
        noted = retry_when_compacted(lambda: self._noted(feed, "partner", [seq]))
        return tuple(noted.filter(pc.equal(noted["join"], join))["seq"].to_pylist())

    def partners(self, feed: int, seq: int) -> tuple[int, ...]:
        """The items that an item was joined with in a feed, on whichever side it was."""
        return retry_when_compacted(lambda: self._partners(feed, seq))

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

    def _noted_for(self, path: StoredAt, feed: int) -> pa.Table:
        return self._opened(path, partial(_of_feed, feed=feed), ANNOTATION_SCHEMA.empty_table())

    def _made_for(self, path: StoredAt, feed: int) -> pa.Table:
        return self._opened(path, partial(_of_feed, feed=feed), MADE_SCHEMA.empty_table())

    def _with_items(self, annotations: pa.Table) -> pa.Table:
        """Annotations in their form of today: older files do not say which item an element is a wording of."""
        if "item" in annotations.column_names:
            return annotations.select(ANNOTATION_SCHEMA.names)
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


def _of_feed(path: StoredAt, feed: int) -> pa.Table:
    return open_sorted(path).of_feed(feed)


def _whole(path: StoredAt) -> pa.Table:
    return open_sorted(path).table()


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
