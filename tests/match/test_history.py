"""What a subscription would have brought."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match.history import look_back
from feedweir.plan.predicates import Contains, Term
from feedweir.plan.query import Query

START = datetime(2026, 1, 1, tzinfo=UTC)
STORM = Query(1, (), Contains(None, (Term("storm"),), 1))


def stored(directory: Path, n_files: int = 3, per_file: int = 10) -> list[Path]:
    paths = []
    for number in range(n_files):
        first = number * per_file
        items = [
            Item(
                source="s",
                identity=str(seq),
                seq=seq,
                title=f"storm {seq}" if seq % 2 else "calm",
                arrived=START + timedelta(hours=seq),
            )
            for seq in range(first, first + per_file)
        ]
        paths.append(directory / f"{number}.parquet")
        pq.write_table(pa.Table.from_batches([batch_of(items)]), paths[-1], row_group_size=4)
    return paths


def test_the_newest_come_first_with_counts_of_all(tmp_path: Path) -> None:
    found = look_back(STORM, stored(tmp_path), limit=4)
    assert [item.seq for item in found.items] == [29, 27, 25, 23]
    assert (found.found, found.searched) == (15, 30)
    assert found.per_day == ((date(2026, 1, 1), 12), (date(2026, 1, 2), 3))


def test_what_is_taken_away_while_it_is_searched_is_searched_all_the_same(tmp_path: Path) -> None:
    class Fleeting(list[Path]):
        """Files that are gone as soon as all were opened."""

        def __reversed__(self) -> Iterator[Path]:
            yield from super().__reversed__()
            for path in self:
                path.unlink()

    found = look_back(STORM, Fleeting(stored(tmp_path)))
    assert (found.found, found.searched, found.skipped) == (15, 30, ())


def test_the_search_can_be_bounded(tmp_path: Path) -> None:
    found = look_back(STORM, stored(tmp_path), limit=50, max_searched=10)
    assert found.searched == 10
    assert [item.seq for item in found.items] == [29, 27, 25, 23, 21]


def test_a_damaged_file_is_named_and_the_rest_is_searched(tmp_path: Path) -> None:
    paths = stored(tmp_path)
    paths[1].write_bytes(b"PAR1 no more")
    found = look_back(STORM, paths)
    assert found.found == 10
    assert [text.partition(":")[0] for text in found.skipped] == ["1.parquet"]


def test_no_files_bring_nothing() -> None:
    assert look_back(STORM, []).found == 0
