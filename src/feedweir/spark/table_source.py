"""The tables of an installation as a Spark source: `spark.read.format("feedweir").option("table", "items").load(PATH)`.

It needs no jar, reads batches and streams, and follows rows by their batch, so that a stream which rested for a month
goes on where it was, whatever was merged meanwhile. Filters are not pushed down: Spark 4.3 keeps those of a DataFrame's
first scan for its second one. The options `after`, `feed` and `columns` say the same and are safe.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from feedweir.errors import FrameError, near
from feedweir.storage import Place, place_of
from feedweir.tables.snapshots import Share, read_share, snapshot
from feedweir.tables.table_kinds import TABLES, TableKind

_OPTIONS = ("table", "path", "columns", "after", "feed")


@dataclass(frozen=True)
class SharePartition(InputPartition):
    """A share on its way to an executor."""

    share: Share


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the options say."""

    root: Place
    kind: TableKind
    columns: tuple[str, ...]
    after: int
    feed: int | None

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, SharePartition):  # of an empty table Spark reads a partition of its own
            yield from read_share(self.kind, partition.share, self.columns, self.feed)


class TableReader(DataSourceReader):
    """A batch read: the version that is the newest when it begins."""

    def __init__(self, table: str, options: dict[str, str]) -> None:
        self._asked = (table, options)

    def partitions(self) -> list[SharePartition]:
        asked = _asked(*self._asked)
        found = snapshot(asked.kind, asked.root)
        return [SharePartition(share) for share in found.shares(asked.after)] if found else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _asked(*self._asked).read(partition)


class TableStream(DataSourceStreamReader):
    """A stream of a table's rows; an offset is the newest batch that was read."""

    def __init__(self, table: str, options: dict[str, str]) -> None:
        self._asked = (table, options)

    def initialOffset(self) -> dict[str, int]:
        return {"batch": _asked(*self._asked).after}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        asked = _asked(*self._asked)
        found = snapshot(asked.kind, asked.root)
        return {"batch": found.upto} if found and found.upto > start["batch"] else start

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[SharePartition]:
        asked = _asked(*self._asked)
        found = snapshot(asked.kind, asked.root)
        shares = found.shares(start["batch"], end["batch"]) if found else []
        return [SharePartition(share) for share in shares]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _asked(*self._asked).read(partition)


class TableSource(DataSource):
    """`spark.read.format("feedweir").option("table", "elements").load("/srv/feedweir")`."""

    @classmethod
    def name(cls) -> str:
        return "feedweir"

    def schema(self) -> StructType:
        asked = _asked(*self._given())
        fields = [asked.kind.schema.field(name) for name in asked.columns]
        return from_arrow_schema(pa.schema(fields))

    def reader(self, schema: StructType) -> TableReader:
        return TableReader(*self._given())

    def streamReader(self, schema: StructType) -> TableStream:
        table, options = self._given()
        if not _asked(table, options).kind.order:
            raise FrameError(
                f"table {table} is no stream", hint="it is replaced whole: read it with spark.read"
            )
        return TableStream(table, options)

    def _given(self) -> tuple[str, dict[str, str]]:
        options = {name: value for name in _OPTIONS if (value := self.options.get(name)) is not None}
        return options.pop("table", "items"), options


def _asked(table: str, options: dict[str, str]) -> _Asked:
    kind = TABLES.get(table)
    if kind is None:
        hint = near(table, TABLES) or f"there are {', '.join(sorted(TABLES))}"
        raise FrameError(f"there is no table {table}", hint=hint)
    if "path" not in options:
        raise FrameError("no installation is named", hint='such as .load("/srv/feedweir")')
    place = options["path"]
    root = place_of(unquote(urlsplit(place).path) if place.startswith("file:") else place)
    if not (root / "landing").is_dir():
        raise FrameError(
            f"{root} is not an installation", hint="name the directory that the setting `data` names"
        )
    given = [name.strip() for name in options.get("columns", "").split(",") if name.strip()]
    for name in given:
        if name not in kind.schema.names:
            hint = near(name, kind.schema.names) or f"it has {', '.join(kind.schema.names)}"
            raise FrameError(f"table {table} has no column {name}", hint=hint)
    feed = _number("feed", options["feed"]) if "feed" in options else None
    if feed is not None and "feed" not in kind.schema.names:
        raise FrameError(f"table {table} has no column feed", hint="leave out the option `feed`")
    columns = tuple(given or kind.schema.names)
    return _Asked(root, kind, columns, _number("after", options.get("after", "0")), feed)


def _number(name: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise FrameError(
            f"option {name}: {value!r} is not a number", hint="the number of a batch or feed"
        ) from None
