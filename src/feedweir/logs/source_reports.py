"""What a batch learned of its sources: a table that its tasks write, some rows of which a manifest may hold itself.

A row is what one task learned of one source. A manifest holds those of tasks that met few sources, so that a small
batch needs no file for them; so a manifest grows with the files of its batch, and not with the sources.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from feedweir.logs.batches import SourceReport, reports_of

REPORT_SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("documents", pa.int64()),
        ("sightings", pa.int64()),
        ("items", pa.int64()),
        ("revisions", pa.int64()),
        ("failure", pa.string()),
        ("description", pa.string()),
        ("arrived", pa.string()),
        ("published", pa.list_(pa.int64())),
        ("is_new", pa.bool_()),
    ]
)
REPEATING = ("failure", "arrived")


def report_table(reports: Mapping[str, SourceReport]) -> pa.Table:
    """Reports as rows, a source each."""
    columns = {
        name: [getattr(one, name) for one in reports.values()]
        for name in REPORT_SCHEMA.names
        if name not in ("source", "description")
    }
    descriptions = [
        json.dumps(one.description) if one.description is not None else None for one in reports.values()
    ]
    return (
        pa.table({"source": list(reports), "description": descriptions, **columns})
        .select(REPORT_SCHEMA.names)
        .cast(REPORT_SCHEMA)
    )


@dataclass(frozen=True)
class SourceReports:
    """The rows of a batch: those in files, in the order of its tasks, and those in its manifest."""

    tables: tuple[pa.Table, ...]
    told: Mapping[str, SourceReport]

    @cached_property
    def names(self) -> list[str]:
        """All sources that had documents, sorted."""
        return sorted(self._named(None) | set(self.told))

    @property
    def documents(self) -> int:
        """How many documents there were."""
        own = sum(one.documents for one in self.told.values())
        return own + sum(pc.sum(table["documents"]).as_py() or 0 for table in self.tables)

    def failures(self) -> dict[str, str]:
        """By source, why its last document could not be read."""
        found: dict[str, str] = {}
        for table in self.tables:
            some = table.filter(pc.not_equal(table["failure"], ""))
            found |= dict(zip(some["source"].to_pylist(), some["failure"].to_pylist(), strict=True))
        found |= {name: one.failure for name, one in self.told.items() if one.failure}
        return dict(sorted(found.items()))

    def newcomers(self) -> list[str]:
        """The sources of which no item was seen before."""
        told = {name for name, one in self.told.items() if one.is_new}
        return sorted(told | self._named(lambda table: table["is_new"]))

    def having_news(self) -> list[str]:
        """The sources with new items or revisions."""
        told = {name for name, one in self.told.items() if one.items or one.revisions}
        return sorted(
            told | self._named(lambda table: pc.greater(pc.add(table["items"], table["revisions"]), 0))
        )

    def by_source(self) -> dict[str, SourceReport]:
        """All that was learned of each source."""
        return dict(sorted(reports_of([*map(_one_by_one, self.tables), self.told]).items()))

    def _named(self, wanted: Callable[[pa.Table], pa.ChunkedArray] | None) -> set[str]:
        some = (table.filter(wanted(table)) if wanted else table for table in self.tables)
        return set(chain.from_iterable(table["source"].to_pylist() for table in some))


def _one_by_one(table: pa.Table) -> dict[str, SourceReport]:
    names, *columns = (table[name].to_pylist() for name in REPORT_SCHEMA.names)
    at = REPORT_SCHEMA.names.index("description") - 1
    columns[at] = [json.loads(one) if one is not None else None for one in columns[at]]
    return {name: SourceReport(*cells) for name, *cells in zip(names, *columns, strict=True)}
