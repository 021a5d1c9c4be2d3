"""The queries of a compiled set as they were given: what explanations, residual checks and merges read.

Matching does not touch this file; it lies compressed on disk, in batches that are read one at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa

from feedweir.match.wire import predicate_from_json, predicate_to_json
from feedweir.plan.query import Query

FILE = "queries.arrow"
SCHEMA = pa.schema(
    [
        ("key", pa.int64()),
        ("owner", pa.string()),
        ("sources", pa.list_(pa.string())),
        ("predicate", pa.string()),
    ]
)
_ROWS_PER_BATCH = 4096


def write_queries(directory: Path, queries: Iterable[Query]) -> int:
    """Write queries in the order given; how many there were."""
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    count = 0
    rest = iter(queries)
    with (
        pa.OSFile(str(directory / FILE), "wb") as sink,
        pa.ipc.new_file(sink, SCHEMA, options=options) as writer,
    ):
        while rows := [_row(query) for query in islice(rest, _ROWS_PER_BATCH)]:
            writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=SCHEMA))
            count += len(rows)
    return count


def read_queries(directory: Path) -> Iterator[Query]:
    with pa.memory_map(str(directory / FILE)) as source:
        reader = pa.ipc.open_file(source)
        for number in range(reader.num_record_batches):
            for row in reader.get_batch(number).to_pylist():
                yield Query(
                    row["key"], tuple(row["sources"]), predicate_from_json(row["predicate"]), row["owner"]
                )


def _row(query: Query) -> dict[str, object]:
    return {
        "key": query.key,
        "owner": query.owner,
        "sources": list(query.sources),
        "predicate": predicate_to_json(query.predicate),
    }
