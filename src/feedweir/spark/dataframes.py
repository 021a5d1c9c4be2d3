"""The matcher as functions of Spark: for DataFrames, batch or stream, and in SQL. No installation is needed.

```python
from feedweir.spark import compile_queries, match

queries = compile_queries({"floods": "flood OR 'high water'", "rates": "intitle:'interest rate' -mortgage"})
match(articles, queries, title="headline", text="body")          # articles, with the ids of what wants each
match(articles, queries, title="headline", how="pairs")          # a row for each pair
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import SparkFiles
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]
from pyspark.sql.types import ArrayType, DataType, LongType, StringType, StructType

from feedweir.errors import FrameError, near
from feedweir.spark.query_files import CompiledQueries, compile_queries, opened

__all__ = ["CompiledQueries", "compile_queries", "match", "register"]

_SYNONYMS = {"text": "content"}
"""What people call an attribute of an item, besides what statements call it."""
_XML = "xml"
"""The column with what `path` and `graph` read, which is no attribute."""
_ROWS = 8192


Columns: TypeAlias = tuple[tuple[str, str], ...]
"""(column of `ITEM_SCHEMA`, column of the DataFrame)."""


class _Asked(NamedTuple):
    """What a worker needs: which queries, and which columns are what of an item."""

    name: str
    archive: str
    columns: Columns

    def matches(self, batch: pa.RecordBatch) -> tuple[Any, pa.Array]:
        """The rows of pairs, ascending, and the ids of their queries."""
        compiled, ids = opened(self.name, _archive(self.archive))
        found = compiled.match(_items(batch, dict(self.columns)))
        return found.rows, ids.take(pa.array(found.keys))


def match(
    frame: DataFrame,
    queries: CompiledQueries,
    *,
    how: Literal["rows", "pairs"] = "rows",
    into: str = "",
    keep: Sequence[str] | None = None,
    **columns: str,
) -> DataFrame:
    """Which queries want each row of a DataFrame, batch or streaming.

    `columns` say which column is what of an item: `title="headline", text="body", source="publisher"`. `how="rows"`
    gives every row once, with the ids of its queries as a list in `matches`; `how="pairs"` gives a row for each pair,
    with the id in `query`. `into` is another name for that column; of the others those in `keep` stay, all by default.
    """
    asked = _asked(frame.sparkSession, queries, columns, {one.name: one.dataType for one in frame.schema})
    kept = frame.columns if keep is None else list(keep)
    _check_columns(kept, frame.columns)
    result = into or ("matches" if how == "rows" else "query")
    if result in kept:
        raise FrameError(
            f"the DataFrame has a column {result} already",
            hint="name another one by `into`, or `keep` others",
        )
    id_type = LongType() if queries.id_type == "bigint" else StringType()
    needed = list(dict.fromkeys([*kept, *(one for _, one in asked.columns)]))
    schema = StructType(list(frame.select(*kept).schema))
    schema = schema.add(result, ArrayType(id_type, containsNull=False) if how == "rows" else id_type)
    step = with_lists if how == "rows" else with_pairs
    return frame.select(*needed).mapInArrow(_travelling(step, *asked, kept, result), schema)


def register(
    session: SparkSession,
    queries: CompiledQueries,
    name: str = "feedweir_match",
    parameters: Sequence[str] = ("title", "text"),
) -> None:
    """Have SQL know the queries as a function: `SELECT id, feedweir_match(headline, body) FROM articles`."""
    types = dict.fromkeys(parameters, StringType())
    asked = _asked(session, queries, {one: one for one in parameters}, types)
    id_type = LongType() if queries.id_type == "bigint" else StringType()
    ids_of = _travelling(lists_of, *asked, list(parameters))
    # Spark tells the kinds of such functions apart by their annotations.
    ids_of.__annotations__ = {"values": pa.Array, "return": pa.Array}
    session.udf.register(name, arrow_udf(ids_of, ArrayType(id_type, containsNull=False)))


# In a worker


def _travelling(step: Callable[..., Any], *given: object) -> Callable[..., Any]:
    """A function of this module that can be read without it, so that a machine without Feedweir says what it lacks."""
    name = step.__name__

    def run(*values: Any) -> Any:
        import sys

        try:
            from feedweir.spark import dataframes
        except ImportError:
            here = (
                f"Feedweir is not installed for {sys.executable}, which runs this executor's Python workers"
            )
            raise RuntimeError(
                f"{here}: install it there, or name another Python by PYSPARK_PYTHON"
            ) from None
        return getattr(dataframes, name)(*given, *values)

    return run


def lists_of(
    name: str, archive: str, columns: Columns, parameters: Sequence[str], *values: pa.Array
) -> pa.Array:
    asked = _Asked(name, archive, columns)
    batch = pa.RecordBatch.from_arrays(list(values), list(parameters))
    return pa.concat_arrays([_lists(asked, part) for part in _parts(batch)])


def with_lists(
    name: str,
    archive: str,
    columns: Columns,
    kept: Sequence[str],
    result: str,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    asked = _Asked(name, archive, columns)
    for batch in batches:
        for part in _parts(batch):
            yield _with_column(part.select(kept), result, _lists(asked, part))


def with_pairs(
    name: str,
    archive: str,
    columns: Columns,
    kept: Sequence[str],
    result: str,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    asked = _Asked(name, archive, columns)
    for batch in batches:
        for part in _parts(batch):
            rows, ids = asked.matches(part)
            yield _with_column(part.select(kept).take(pa.array(rows)), result, ids)


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A few thousand rows at a time: what the matcher holds in memory grows with them."""
    for first in range(0, max(batch.num_rows, 1), _ROWS):
        yield batch.slice(first, _ROWS)


def _lists(asked: _Asked, batch: pa.RecordBatch) -> pa.Array:
    rows, ids = asked.matches(batch)
    offsets = np.searchsorted(rows, np.arange(batch.num_rows + 1)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), ids)


def _with_column(batch: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*batch.columns, column], [*batch.schema.names, name])


def _archive(driver_path: str) -> str:
    """The archive as it came with the job; on the driver's machine it need not come."""
    try:
        return str(SparkFiles.get(driver_path.rpartition("/")[2]))
    except Exception:
        return driver_path


def _items(batch: pa.RecordBatch, columns: Mapping[str, str]) -> pa.RecordBatch:
    """The columns as items; what nobody gave is empty."""
    from feedweir.items.schema import ITEM_SCHEMA, empty_column

    found = []
    for field in ITEM_SCHEMA:
        if field.name in columns:
            found.append(_as(batch.column(columns[field.name]), field.type))
        else:
            found.append(empty_column(field.type, batch.num_rows))
    return pa.RecordBatch.from_arrays(found, schema=ITEM_SCHEMA)


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if not pa.types.is_list(kind):
        cast = column.cast(kind)
        return pc.fill_null(cast, "") if pa.types.is_string(kind) else cast
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return pc.fill_null(column.cast(kind), pa.scalar([], kind))
    offsets = np.concatenate([[0], np.cumsum(column.is_valid().to_numpy(zero_copy_only=False))])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), column.drop_null().cast(kind.value_type))


# On the driver


def _asked(
    session: SparkSession, queries: CompiledQueries, columns: Mapping[str, str], types: Mapping[str, DataType]
) -> _Asked:
    if queries.name_sources and "source" not in columns:
        hint = 'say which column has their names, such as source="publisher"'
        raise FrameError("some queries name sources", hint=hint)
    if not columns:
        raise FrameError("no column is named", hint='such as match(frame, queries, title="headline")')
    found = []
    for name, column in columns.items():
        _check_columns([column], list(types))
        found.append((_item_column(name), column))
        _check_type(name, column, types[column])
    _ship(session, queries)
    return _Asked(queries.name, str(queries.archive), tuple(found))


def _item_column(name: str) -> str:
    from feedweir.items.attributes import ATTRIBUTES, SYNONYMS, attribute_named

    if name == _XML:
        return "raw"
    known = attribute_named(_SYNONYMS.get(name, name))
    if known is None or known.column in ("extensions", "enclosures"):
        names = [_XML, *_SYNONYMS, *SYNONYMS, *(one.name for one in ATTRIBUTES)]
        raise FrameError(
            f"an item has no attribute {name}", hint=near(name, names) or ", ".join(sorted(names))
        )
    return known.column


def _check_type(name: str, column: str, kind: DataType) -> None:
    from feedweir.items.attributes import AttributeType, attribute_named

    known = attribute_named(_SYNONYMS.get(name, name))
    is_time = known is not None and known.type is AttributeType.TIME
    is_multiple = known is not None and known.is_multiple
    inner = kind.elementType if isinstance(kind, ArrayType) and is_multiple else kind
    if inner.typeName() not in (
        ("timestamp", "timestamp_ntz", "date") if is_time else ("string", "varchar", "char")
    ):
        wanted = "times" if is_time else "strings"
        raise FrameError(
            f"column {column} has {kind.simpleString()} where {name} has {wanted}", hint="cast it"
        )


def _check_columns(named: Sequence[str], there: Sequence[str]) -> None:
    for name in named:
        if name not in there:
            hint = near(name, there) or f"it has {', '.join(there)}"
            raise FrameError(f"the DataFrame has no column {name}", hint=hint)


_SENT: WeakKeyDictionary[SparkSession, set[str]] = WeakKeyDictionary()


def _ship(session: SparkSession, queries: CompiledQueries) -> None:
    """Send the file to the executors, once for each session."""
    sent = _SENT.setdefault(session, set())
    if queries.name not in sent:
        session.addArtifacts(str(queries.archive), file=True)
        sent.add(queries.name)
