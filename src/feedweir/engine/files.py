"""Files that are whole or absent: written under a draft name, synced, renamed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

_PATIENCE = 3
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
    with draft.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def replace_arrow(path: Path, table: pa.Table) -> None:
    """Write an Arrow file that readers can map into memory."""
    with replacing(path) as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table.combine_chunks())


def open_arrow(path: Path) -> pa.Table:
    """An Arrow file, mapped; columns of one chunk come out without a copy."""
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).read_all()


def replace_parquet(path: Path, table: pa.Table, *, row_group_size: int, repeating: Sequence[str]) -> None:
    """Write a Parquet file, compressed, with statistics that let readers skip.

    `repeating` are the columns whose values come again and again; in the others nobody looks for repeats.
    """
    with replacing(path) as file:
        pq.write_table(
            table,
            file,
            compression="zstd",
            compression_level=1,
            row_group_size=row_group_size,
            use_dictionary=list(repeating),
        )


def replace_json(path: Path, value: dict[str, Any]) -> None:
    """Write a JSON file."""
    with replacing(path) as file:
        file.write(json.dumps(value, ensure_ascii=False).encode())
