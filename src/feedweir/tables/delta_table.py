"""One Delta table that follows what batches published: which files it should consist of is decided elsewhere.

The table says as our application's transaction up to which batch it has come. Its log can be made anew at any time from
the files that are there: it is never asked what was published.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, CommitProperties, RemoveAction, Transaction

from feedweir.storage import ObjectPath, Place, local, options_of, remove_tree
from feedweir.tables.table_kinds import TableKind

_log = logging.getLogger(__name__)

APP = "feedweir"
CONFIGURATION = {
    # Reading the log costs as much as was written since the last checkpoint.
    "delta.checkpointInterval": "10",
    # What compaction replaced is deleted by us; checkpoints need not remember it.
    "delta.deletedFileRetentionDuration": "interval 1 hours",
    "delta.logRetentionDuration": "interval 1 days",
    "delta.enableExpiredLogCleanup": "true",
}
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """The files that a table should consist of."""

    files: Mapping[str, bool]
    """By name, whether the table had its rows before, in this file or in others."""
    gone: Callable[[str], bool]
    """Whether the rows of a file that is not wanted any more are gone, and not in another file."""
    upto: int
    """The newest batch among them."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit adds to a table, and takes from it."""

    added: tuple[str, ...]
    removed: tuple[str, ...]


class FollowingTable:
    """A table that is brought to what is wanted, a commit each time something changed."""

    def __init__(self, kind: TableKind, root: Place) -> None:
        self.kind = kind
        self.place = kind.place(root)
        self._table: DeltaTable | None = None
        self._files: set[str] = set()
        self._upto = 0  # asking the log would read it again

    def upto(self) -> int:
        """The batch up to which the table has come; 0 while there is none."""
        return self._upto if self._opened() else 0

    def follow(self, wanted: Callable[[int], Wanted]) -> Change:
        """Bring the table to what is wanted; `wanted` is told up to which batch the table has come.

        Nothing is committed where nothing changed. Whoever committed at the same time is looked at first.
        """
        for _ in range(_ATTEMPTS):
            target = wanted(self.upto())
            lacking = sorted(target.files.keys() - self._files)
            there = {path.name for path in self.place.glob("[0-9]*")} if lacking else set()
            added = tuple(name for name in lacking if name in there)  # others are damages
            removed = tuple(sorted(self._files - target.files.keys()))
            if not added and not removed:
                break
            try:
                self._commit(added, removed, target)
                return Change(added, removed)
            except CommitFailedError:  # another process was first
                self._table = None
        return Change((), ())

    def create(self) -> None:
        """Have an empty table where there is none, so that whoever asks for it need not know whether it has rows."""
        if self._opened() is None:
            self._created()

    def look(self) -> None:
        """See whether somebody else has written, or has taken the log away."""
        if self._table is None:
            return
        if not (self.place / "_delta_log").is_dir():
            self._table = None
            return
        known = self._table.version()
        try:
            self._table.update_incremental()
        except (DeltaError, OSError):
            self._table = None
            return
        if self._table.version() != known:
            self._read(self._table)

    def _commit(self, added: Sequence[str], removed: Sequence[str], target: Wanted) -> None:
        table = self._table or self._created()
        now = int(time.time() * 1000)
        actions: list[AddAction | RemoveAction] = [
            self._add(name, is_new=not target.files[name]) for name in added
        ]
        actions += [
            RemoveAction(name, data_change=target.gone(name), deletion_timestamp=now) for name in removed
        ]
        told = [Transaction(APP, target.upto, now)] if target.upto > self._upto else []
        table.create_write_transaction(
            actions, "append", self.kind.schema, commit_properties=CommitProperties(app_transactions=told)
        )
        before = table.version()
        table.update_incremental()
        if table.version() == before + 1:
            self._files = self._files.union(added).difference(removed)
            self._upto = max(self._upto, target.upto)
        else:  # somebody else wrote as well
            self._read(table)

    def _add(self, name: str, *, is_new: bool) -> AddAction:
        path = self.place / name
        state = path.stat()
        told = statistics_of(path, state.st_mtime_ns, self.kind.told)
        return AddAction(name, state.st_size, {}, int(state.st_mtime * 1000), is_new, told)

    def _opened(self) -> DeltaTable | None:
        if self._table is not None:
            return self._table
        if not (self.place / "_delta_log").is_dir():
            self._files, self._upto = set(), 0
            return None
        try:
            self._table = DeltaTable(str(self.place), storage_options=options_of(self.place))
            self._read(self._table)
            self._widen()
        except TableNotFoundError:
            self._table, self._files, self._upto = None, set(), 0
        except (DeltaError, ValueError, OSError) as error:
            self._set_aside(error)
        return self._table

    def _read(self, table: DeltaTable) -> None:
        self._files = set(pa.table(table.get_add_actions()).column("path").to_pylist())
        self._upto = table.transaction_version(APP) or 0

    def _created(self) -> DeltaTable:
        self.place.mkdir(parents=True, exist_ok=True)
        self._table = DeltaTable.create(
            str(self.place),
            storage_options=options_of(self.place),
            schema=self.kind.schema,
            name=self.kind.name,
            configuration={**CONFIGURATION, "delta.dataSkippingStatsColumns": ",".join(self.kind.told)},
            mode="ignore",
        )
        return self._table

    def _widen(self) -> None:
        """Add the columns that came with a newer version of ours."""
        table = self._table
        assert table is not None
        known = {field.name for field in table.schema().fields}
        fresh = [field for field in _fields(self.kind.schema) if field.name not in known]
        if fresh:
            table.alter.add_columns(fresh)
            table.update_incremental()

    def _set_aside(self, error: Exception) -> None:
        """A log that cannot be read is derived from files that are there: it is made anew beside the old one."""
        aside = _moved_aside(self.place / "_delta_log")
        reason = str(error).strip().split("\n", 1)[0]
        _log.error("the log of table %s cannot be read and is made anew%s: %s", self.kind.name, aside, reason)
        self._table, self._files, self._upto = None, set(), 0


def _moved_aside(log: Place) -> str:
    """Take a log away; where it can be moved, it is kept."""
    if isinstance(log, ObjectPath):
        remove_tree(log)
        return ""
    aside = log.with_name(f"{log.name}.damaged-{int(time.time())}")
    log.rename(aside)
    return f" ({aside})"


def _fields(schema: pa.Schema) -> list[Any]:
    return list(Schema.from_arrow(schema).fields)


@lru_cache(maxsize=10_000)
def statistics_of(path: Place, _changed: int, columns: tuple[str, ...]) -> str:
    """What Delta wants to know of a Parquet file, from the file's own statistics.

    Nothing may be left open of a column that the table says to have them for: readers take what is missing for null,
    and find no rows by any filter on it.
    """
    about = pq.read_metadata(local(path))
    names = [about.schema.column(place).path for place in range(about.num_columns)]
    least: dict[str, Any] = {}
    most: dict[str, Any] = {}
    for name in columns:
        at = names.index(name) if name in names else -1
        groups = [about.row_group(place) for place in range(about.num_row_groups)] if at >= 0 else []
        told = [group.column(at).statistics for group in groups]
        if told and all(one is not None and one.has_min_max for one in told):
            least[name] = _plain(min(one.min for one in told))
            most[name] = _plain(max(one.max for one in told))
    return json.dumps({"numRecords": about.num_rows, "minValues": least, "maxValues": most, "nullCount": {}})


def _plain(value: Any) -> Any:
    """As Delta writes it in JSON."""
    return (
        value.isoformat(timespec="microseconds").replace("+00:00", "Z")
        if hasattr(value, "isoformat")
        else value
    )
