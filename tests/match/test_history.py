"""What a subscription would have brought."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.match.lookback import look_back
from feedweir.plan.predicates import Contains, Predicate, Term
from feedweir.plan.query import Query
from tests import naive
from tests.match import generated
from tests.match.generated import predicates

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


def test_whole_items_come_back_though_a_query_reads_little(tmp_path: Path) -> None:
    item = Item(
        source="s", identity="1", seq=1, title="storm", arrived=START, raw="<item/>", categories=("sea",)
    )
    pq.write_table(pa.Table.from_batches([batch_of([item])]), tmp_path / "one.parquet")
    assert look_back(STORM, [tmp_path / "one.parquet"]).items == (item,)


@given(predicates, st.lists(generated.items(), max_size=6))
@settings(max_examples=60, deadline=None)
def test_a_search_finds_what_the_plain_meaning_of_its_query_finds(
    predicate: Predicate, some: list[Item]
) -> None:
    numbered = [replace(item, seq=seq) for seq, item in enumerate(some)]
    with TemporaryDirectory() as directory:
        path = Path(directory) / "one.parquet"
        pq.write_table(pa.Table.from_batches([batch_of(numbered)]), path, row_group_size=2)
        found = look_back(Query(1, (), predicate), [path], limit=2)
    wanted = [item for item in reversed(numbered) if naive.holds(predicate, item)]
    assert found.items == tuple(wanted[:2])
    assert (found.found, found.searched) == (len(wanted), len(numbered))
    assert found.per_day == tuple(sorted(Counter(item.arrived.date() for item in wanted).items()))


def test_a_damaged_file_is_named_and_the_rest_is_searched(tmp_path: Path) -> None:
    paths = stored(tmp_path)
    paths[1].write_bytes(b"PAR1 no more")
    found = look_back(STORM, paths)
    assert found.found == 10
    assert [text.partition(":")[0] for text in found.skipped] == ["1.parquet"]


def test_no_files_bring_nothing() -> None:
    assert look_back(STORM, []).found == 0
