"""Files that are whole or absent: written under a draft name, synced, renamed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from feedweir import seals
from feedweir.errors import DamagedFileError

_PATIENCE = 10
"""There may be several compactions in a row."""
T = TypeVar("T")


def again_if_gone(read: Callable[[], T]) -> T:
    """A compaction may take a file away between the look at its manifest and the look at it: the next look is good."""
    for _ in range(_PATIENCE):
        try:
            return read()
        except FileNotFoundError:
            continue
    return read()


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of `path` once it is complete and on disk.

    The draft's name is the process's own, so that two writers of the same file cannot mix their bytes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with draft.open("w+b") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def replace_arrow(path: Path, table: pa.Table) -> None:
    """Write an Arrow file that readers can map into memory, sealed."""
    with replacing(path) as file:
        with pa.ipc.new_file(file, table.schema, metadata=seals.METADATA) as writer:
            writer.write_table(table.combine_chunks())
        seals.seal(file, seals.name_of(path))


def open_arrow(path: Path) -> pa.Table:
    """An Arrow file, mapped; columns of one chunk come out without a copy. `DamagedFileError` when it is damaged."""
    return seals.opened_arrow(path)


def replace_parquet(path: Path, table: pa.Table, *, row_group_size: int, repeating: Sequence[str]) -> None:
    """Write a Parquet file, compressed, sealed, with statistics that let readers skip.

    `repeating` are the columns whose values come again and again; in the others nobody looks for repeats.
    """
    with replacing(path) as file:
        with pq.ParquetWriter(
            file, table.schema, compression="zstd", compression_level=1, use_dictionary=list(repeating)
        ) as writer:
            writer.write_table(table, row_group_size=row_group_size)
            writer.add_key_value_metadata(seals.METADATA)
        seals.seal(file, seals.name_of(path))


def read_parquet(
    path: Path, columns: Sequence[str] | None = None, filters: pc.Expression | None = None
) -> pa.Table:
    """Columns of a Parquet file, and the rows that a filter lets through; `DamagedFileError` when it is damaged."""
    seals.INSPECTOR.check(path)
    try:
        return pq.read_table(path, columns=columns, filters=filters)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise DamagedFileError(path, str(error)) from error


def read_held_parquet(path: Path, file: IO[bytes]) -> pa.Table:
    """A Parquet file that was opened before, and that a compaction may have taken in since."""
    with file:
        # Whoever takes a file in has looked at every byte of it.
        with suppress(FileNotFoundError):
            seals.INSPECTOR.check(path)
        try:
            return pq.ParquetFile(file).read()
        except (pa.ArrowException, OSError) as error:
            raise DamagedFileError(path, str(error)) from error


def replace_json(path: Path, value: dict[str, Any]) -> None:
    """Write a JSON file."""
    with replacing(path) as file:
        file.write(json.dumps(value, ensure_ascii=False).encode())


def replace_sealed_json(path: Path, value: dict[str, Any]) -> None:
    """Write a JSON file of a log."""
    with replacing(path) as file:
        file.write(seals.sealed_json(value, seals.name_of(path)))
