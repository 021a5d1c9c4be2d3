"""Files that say by their names what they cover: whatever was merged or repeated, each row counts once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.tables.range_log import RangeLog


def rows(log: RangeLog) -> list[int]:
    found = (log.read(one)["n"].to_pylist() for one in log.files())
    return [number for numbers in found for number in numbers]


@settings(max_examples=20, deadline=None)
@given(steps=st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=1, max_size=60))
def test_every_row_counts_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, bool]]
) -> None:
    root = tmp_path_factory.mktemp("range")
    log = RangeLog(root / "told")
    end = 0
    for width, merges in steps:
        log.append(end + width, pa.table({"n": range(end + 1, end + width + 1)}))
        end += width
        if merges:
            log.merge()
    assert log.end() == end
    assert rows(log) == list(range(1, end + 1))
    before = len(list((root / "told").iterdir()))
    log.remove_merged(datetime.now(UTC) - timedelta(hours=1))
    assert len(list((root / "told").iterdir())) == before, "somebody may be reading them"
    log.remove_merged(datetime.now(UTC) + timedelta(hours=1))
    assert rows(log) == list(range(1, end + 1))
    assert len(list((root / "told").iterdir())) == len(log.files())


def test_files_are_few_and_nothing_is_written_twice(tmp_path: Path) -> None:
    log = RangeLog(tmp_path / "told")
    for number in range(1, 200):
        log.append(number, pa.table({"n": [number]}))
        log.merge()
    assert len(log.files()) < 32
    first = log.files()[0]
    before = (tmp_path / "told" / first.name).read_bytes()
    RangeLog(tmp_path / "told")._put(first.after, first.upto, pa.table({"n": [7]}))
    assert (tmp_path / "told" / first.name).read_bytes() == before, "whoever comes second finds it done"


def test_old_files_are_left_out_but_the_newest(tmp_path: Path) -> None:
    log = RangeLog(tmp_path / "told")
    for number in (5, 9, 12):
        log.append(number, pa.table({"n": [number]}))
    log.forget(9)
    assert rows(log) == [12]
    log.forget(99)
    assert log.end() == 12
