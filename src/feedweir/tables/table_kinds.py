"""The tables: what each is called, where it lies, its columns, and by which of them its rows are in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from feedweir.items.schema import ITEM_SCHEMA
from feedweir.logs.batches import Manifest
from feedweir.logs.joined_log import MADE_SCHEMA, NOTED_SCHEMA
from feedweir.logs.store import ELEMENT_SCHEMA
from feedweir.storage import Place

_MOMENT = pa.timestamp("us", tz="UTC")


def _no_files(_: Manifest) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class TableKind:
    """One of the tables."""

    name: str
    schema: pa.Schema
    order: str
    """The column by which rows are appended: a number that says of which batch a row is."""
    is_by_seq: bool
    """Whether that is the number of an item, whose upper half is a landing segment; otherwise it is the segment."""
    told: tuple[str, ...]
    """The columns, never null, whose least and greatest values are told for each file, so that readers skip files."""
    files: Callable[[Manifest], tuple[str, ...]] = _no_files
    """The files that a manifest names; tables of which manifests name none are in `RangeLog`s."""
    is_emptied: Callable[[Manifest], bool] = lambda _: False
    """Whether a batch's files were deleted because they were old."""
    has_manifests: bool = True

    def place(self, root: Place) -> Place:
        """Where the table lies in a data directory."""
        return root / self.name if self.has_manifests else root / "tables" / self.name


ITEMS = TableKind(
    "items",
    ITEM_SCHEMA,
    order="seq",
    is_by_seq=True,
    told=("seq", "arrived"),
    files=lambda one: one.item_files,
    is_emptied=lambda one: one.is_emptied[0],
)
ELEMENTS = TableKind(
    "elements",
    ELEMENT_SCHEMA,
    order="seq",
    is_by_seq=True,
    told=("feed", "seq"),
    files=lambda one: one.element_files,
    is_emptied=lambda one: one.is_emptied[1],
)
ANNOTATIONS = TableKind(
    "annotations",
    NOTED_SCHEMA,
    order="batch",
    is_by_seq=False,
    told=("feed", "seq", "partner", "batch"),
    files=lambda one: one.annotation_files,
    is_emptied=lambda one: one.is_emptied[1],
)
MADE = TableKind(
    "made",
    MADE_SCHEMA,
    order="seq",
    is_by_seq=True,
    told=("feed", "seq"),
    files=lambda one: one.made_files,
    is_emptied=lambda one: one.is_emptied[1],
)
SOURCES = TableKind(
    "sources",
    pa.schema(
        [
            ("batch", pa.int64()),
            ("source", pa.string()),
            ("documents", pa.int64()),
            ("sightings", pa.int64()),
            ("items", pa.int64()),
            ("revisions", pa.int64()),
            ("failure", pa.string()),
            ("arrived", _MOMENT),
            ("is_new", pa.bool_()),
            ("title", pa.string()),
            ("link", pa.string()),
        ]
    ),
    order="batch",
    is_by_seq=False,
    told=("batch",),
    has_manifests=False,
)
BATCHES = TableKind(
    "batches",
    pa.schema(
        [
            ("batch", pa.int64()),
            ("after", pa.int64()),
            ("version", pa.int64()),
            ("committed", _MOMENT),
            ("documents", pa.int64()),
            ("items", pa.int64()),
            ("elements", pa.int64()),
            ("sources", pa.int64()),
            ("failures", pa.int64()),
            ("tasks", pa.int64()),
            ("epoch", pa.int64()),
            ("merged", pa.int64()),
            ("doubts", pa.list_(pa.string())),
        ]
    ),
    order="batch",
    is_by_seq=False,
    told=("batch",),
    has_manifests=False,
)
DELIVERIES = TableKind(
    "deliveries",
    pa.schema(
        [
            ("id", pa.int64()),
            ("subscription", pa.int64()),
            ("owner", pa.string()),
            ("channel", pa.string()),
            ("entry", pa.int64()),
            ("feed", pa.int64()),
            ("seq", pa.int64()),
            ("at", _MOMENT),
            ("outcome", pa.string()),
            ("attempt", pa.int64()),
            ("reason", pa.string()),
        ]
    ),
    order="id",
    is_by_seq=False,
    told=("id", "subscription", "at"),
    has_manifests=False,
)
FEEDS = TableKind(
    "feeds",
    pa.schema(
        [
            ("feed", pa.int64()),
            ("name", pa.string()),
            ("kind", pa.string()),
            ("statement", pa.string()),
            ("dropped", pa.bool_()),
        ]
    ),
    order="",
    is_by_seq=False,
    told=("feed",),
    has_manifests=False,
)
"""What the feeds of the other tables are called now. It is replaced whole, so it has no order and is no stream."""
TABLES = {one.name: one for one in (ITEMS, ELEMENTS, ANNOTATIONS, MADE, SOURCES, DELIVERIES, BATCHES, FEEDS)}
