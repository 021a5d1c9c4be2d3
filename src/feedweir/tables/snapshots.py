"""What one version of a table consists of, and reading it in shares: by row ranges, however its files were merged.

Rows are in the order of a column that says of which batch they are (`TableKind.order`). So what came between two
batches can be read at any later time, from whichever files have the rows by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from feedweir.errors import StorageError
from feedweir.items.numbering import document_number, first_seq
from feedweir.storage import Place, local, options_of
from feedweir.tables.delta_table import APP
from feedweir.tables.table_kinds import TableKind

SHARE_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Share:
    """Files that one task reads, and which of their rows it wants."""

    paths: tuple[Place, ...]
    after: int
    upto: int
    """Rows of the batches `after < batch <= upto`."""


@dataclass(frozen=True, slots=True)
class _File:
    path: Place
    size: int
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of a table at one time."""

    kind: TableKind
    upto: int
    """The newest batch that is in it."""
    files: tuple[_File, ...]

    def shares(self, after: int = 0, upto: int | None = None) -> list[Share]:
        """What came after one batch, up to another, cut for tasks."""
        last = self.upto if upto is None else upto
        low, high = bounds(self.kind, after, last)
        wanted = [
            file for file in self.files if low <= file.most and (file.least < high or not self.kind.order)
        ]
        shares: list[Share] = []
        paths: list[Place] = []
        size = 0
        for file in sorted(wanted, key=lambda one: (one.least, one.path.name)):
            if paths and size + file.size > SHARE_BYTES:
                shares.append(Share(tuple(paths), after, last))
                paths, size = [], 0
            paths.append(file.path)
            size += file.size
        return [*shares, Share(tuple(paths), after, last)] if paths else shares


def bounds(kind: TableKind, after: int, upto: int) -> tuple[int, int]:
    """The values `low <= value < high` of a table's order that rows of these batches have."""
    if kind.is_by_seq:
        low, high = (first_seq(document_number(one + 1, 0)) for one in (after, upto))
        return low, high
    return after + 1, upto + 1


def snapshot(kind: TableKind, root: Place) -> Snapshot | None:
    """The newest version of a table; None while nothing has been written to it."""
    place = kind.place(root)
    try:
        table = DeltaTable(str(place), storage_options=options_of(place))
    except TableNotFoundError:
        return None
    except (DeltaError, OSError) as error:
        reason = str(error).strip().split("\n", 1)[0]
        hint = "the process that runs batches makes its log anew within a minute"
        raise StorageError(f"table {kind.name} cannot be read: {reason}", hint=hint) from error
    told = pa.table(table.get_add_actions(flatten=True))
    least, most = (
        _values(told, f"{end}.{kind.order}") for end in ("min", "max")
    )  # of none all rows are wanted
    sizes, paths = (told.column(name).to_pylist() for name in ("size_bytes", "path"))
    files = (
        _File(place / path, size, 0 if low is None else low, (1 << 62) if high is None else high)
        for path, size, low, high in zip(paths, sizes, least, most, strict=True)
    )
    return Snapshot(kind, table.transaction_version(APP) or 0, tuple(files))


def _values(told: pa.Table, name: str) -> list[int | None]:
    values: list[int | None] = (
        told.column(name).to_pylist() if name in told.column_names else [None] * told.num_rows
    )
    return values


def read_share(
    kind: TableKind, share: Share, columns: Sequence[str], feed: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a share; a column that older files lack is empty. Row groups without any are not read."""
    low, high = bounds(kind, share.after, share.upto)
    wanted = pc.scalar(True)
    if kind.order:
        wanted = (pc.field(kind.order) >= low) & (pc.field(kind.order) < high)
    if feed is not None:
        wanted &= pc.field("feed") == feed
    schema = pa.schema([kind.schema.field(name) for name in columns])
    data = ds.dataset([str(local(path)) for path in share.paths], schema=kind.schema, format="parquet")
    for batch in data.to_batches(columns=list(columns), filter=wanted, use_threads=False):
        if batch.num_rows:
            yield batch.cast(schema)
