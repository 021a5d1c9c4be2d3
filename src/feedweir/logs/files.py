"""Files of logs: Arrow, Parquet and JSON, sealed, each complete or absent."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from feedweir.errors import DamagedFileError
from feedweir.logs import seals
from feedweir.storage import Place, local, put_absent, replacing

_PATIENCE = 10
"""Several compactions may happen in a row."""
T = TypeVar("T")


def retry_when_compacted(read: Callable[[], T]) -> T:
    """Try again if a compaction has deleted a file between reading its manifest and opening it."""
    for _ in range(_PATIENCE):
        try:
            return read()
        except FileNotFoundError:
            continue
    return read()


def replace_arrow(path: Place, table: pa.Table) -> None:
    """Write an Arrow file that readers can map into memory, sealed."""
    with replacing(path) as file:
        with pa.ipc.new_file(file, table.schema, metadata=seals.METADATA) as writer:
            writer.write_table(table.combine_chunks())
        seals.seal(file, seals.name_of(path))


def open_arrow(path: Place) -> pa.Table:
    """An Arrow file, mapped; columns of one chunk come out without a copy. `DamagedFileError` when it is damaged."""
    return seals.opened_arrow(path)


def replace_parquet(path: Place, table: pa.Table, *, row_group_size: int, repeating: Sequence[str]) -> None:
    """Write a Parquet file, compressed, sealed, with statistics that let readers skip.

    `repeating` are the columns whose values often repeat; only they are dictionary-encoded.
    """
    with replacing(path) as file:
        with pq.ParquetWriter(
            file, table.schema, compression="zstd", compression_level=1, use_dictionary=list(repeating)
        ) as writer:
            writer.write_table(table, row_group_size=row_group_size)
            writer.add_key_value_metadata(seals.METADATA)
        seals.seal(file, seals.name_of(path))


def read_parquet(
    path: Place, columns: Sequence[str] | None = None, filters: pc.Expression | None = None
) -> pa.Table:
    """Columns of a Parquet file, and the rows that a filter lets through; `DamagedFileError` when it is damaged."""
    seals.INSPECTOR.check(path)
    try:
        return pq.read_table(local(path), columns=columns, filters=filters)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise DamagedFileError(path, str(error)) from error


def read_held_parquet(path: Place, file: IO[bytes], filters: pc.Expression | None = None) -> pa.Table:
    """As `read_parquet`, of a file that was opened before, and that a compaction may have deleted since."""
    with file:
        # A compaction has checked every byte of the files that it deletes.
        with suppress(FileNotFoundError):
            seals.INSPECTOR.check(path)
        try:
            return pq.read_table(file, filters=filters)
        except (pa.ArrowException, OSError) as error:
            raise DamagedFileError(path, str(error)) from error


def replace_json(path: Place, value: dict[str, Any]) -> None:
    """Write a JSON file."""
    with replacing(path) as file:
        file.write(json.dumps(value, ensure_ascii=False).encode())


def replace_sealed_json(path: Place, value: dict[str, Any], *, is_synced: bool = True) -> None:
    """Write a JSON file of a log."""
    with replacing(path, is_synced=is_synced) as file:
        file.write(seals.sealed_json(value, seals.name_of(path)))


def put_absent_sealed_json(path: Place, value: dict[str, Any], *, is_synced: bool = True) -> bool:
    """Write a JSON file of a log unless there is one of this name; whether it was written."""
    return put_absent(path, seals.sealed_json(value, seals.name_of(path)), is_synced=is_synced)
