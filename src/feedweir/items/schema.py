"""Items as Arrow columns, and back. Every room that moves items in bulk moves these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from feedweir.items.model import Enclosure, Item

_TIME = pa.timestamp("us", tz="UTC")

ITEM_SCHEMA = pa.schema(
    [
        ("seq", pa.int64()),
        ("source", pa.string()),
        ("identity", pa.string()),
        ("revision", pa.int32()),
        ("fingerprint", pa.int64()),
        ("title", pa.string()),
        ("summary", pa.string()),
        ("content", pa.string()),
        ("link", pa.string()),
        ("links", pa.list_(pa.string())),
        ("authors", pa.list_(pa.string())),
        ("categories", pa.list_(pa.string())),
        ("published", _TIME),
        ("updated", _TIME),
        ("arrived", _TIME),
        ("language", pa.string()),
        (
            "enclosures",
            pa.list_(pa.struct([("url", pa.string()), ("type", pa.string()), ("length", pa.int64())])),
        ),
        ("extensions", pa.list_(pa.struct([("name", pa.string()), ("value", pa.string())]))),
        ("raw", pa.string()),
    ]
)
"""`fingerprint` is a 64-bit hash of what a reader would see: it changes when, and only when, an item is edited."""

DOCUMENT_SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("source", pa.string()),
        ("url", pa.string()),
        ("media_type", pa.string()),
        ("arrived", _TIME),
        ("body", pa.binary()),
        ("id_path", pa.string()),
    ]
)
"""A log that an older version wrote lacks `id_path`, which is empty then."""


def items_of(batch: pa.RecordBatch | pa.Table) -> Iterator[Item]:
    """The rows of a batch as items: for doors and explanations, not for bulk work."""
    for row in batch.to_pylist():
        yield _item(row)


def batch_of(items: Iterable[Item]) -> pa.RecordBatch:
    """Items as one record batch; fingerprints are left for the parser, which knows what was read."""
    return pa.RecordBatch.from_pylist([_row(item) for item in items], schema=ITEM_SCHEMA)


def _item(row: dict[str, Any]) -> Item:
    return Item(
        seq=row["seq"],
        source=row["source"],
        identity=row["identity"],
        revision=row["revision"],
        title=row["title"],
        summary=row["summary"],
        content=row["content"],
        link=row["link"],
        links=tuple(row["links"]),
        authors=tuple(row["authors"]),
        categories=tuple(row["categories"]),
        published=row["published"],
        updated=row["updated"],
        arrived=row["arrived"],
        language=row["language"],
        enclosures=tuple(Enclosure(**enclosure) for enclosure in row["enclosures"]),
        extensions=tuple((pair["name"], pair["value"]) for pair in row["extensions"]),
        raw=row["raw"],
    )


def _row(item: Item) -> dict[str, Any]:
    row: dict[str, Any] = {name: getattr(item, name) for name in _PLAIN_COLUMNS}
    row["fingerprint"] = 0
    row["enclosures"] = [{"url": e.url, "type": e.type, "length": e.length} for e in item.enclosures]
    row["extensions"] = [{"name": name, "value": value} for name, value in item.extensions]
    return row


_PLAIN_COLUMNS = tuple(
    name for name in ITEM_SCHEMA.names if name not in {"fingerprint", "enclosures", "extensions"}
)
