"""Files sorted by feed: whoever reads a part of one finds what lies there, and decodes little else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.errors import DamagedFileError
from feedweir.logs.files import replace_arrow
from feedweir.logs.sorted_files import ROWS_PER_GROUP, SortedFile, no_rows, open_sorted, replace_sorted
from feedweir.logs.store import ELEMENT_SCHEMA


def elements(pairs: list[tuple[int, int]]) -> pa.Table:
    feeds, seqs = np.array(sorted(pairs), np.int64).reshape(-1, 2).T
    return pa.table([feeds, seqs], schema=ELEMENT_SCHEMA)


def rows(table: pa.Table) -> list[tuple[int, int]]:
    return list(zip(table["feed"].to_pylist(), table["seq"].to_pylist(), strict=True))


pairs = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1 << 40)), unique=True, max_size=30)


@settings(max_examples=60, deadline=None)
@given(
    given_pairs=pairs,
    asked=st.lists(st.integers(-1, 7), max_size=4),
    ends=st.tuples(st.integers(0, 31), st.integers(0, 40)),
    rows_per_group=st.integers(1, 9),
    suffix=st.sampled_from([".parquet", ".arrow"]),
)
def test_every_way_to_read_finds_what_is_there(
    tmp_path_factory: pytest.TempPathFactory,
    given_pairs: list[tuple[int, int]],
    asked: list[int],
    ends: tuple[int, int],
    rows_per_group: int,
    suffix: str,
) -> None:
    path = tmp_path_factory.mktemp("sorted") / f"elements{suffix}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("feedweir.logs.sorted_files.ROWS_PER_GROUP", rows_per_group)
        (replace_arrow if suffix == ".arrow" else replace_sorted)(path, elements(given_pairs))
    file = open_sorted(path)
    held = sorted(given_pairs)
    assert len(file) == len(held)
    assert rows(file.table()) == held
    assert [pair for run in file.parts() for pair in zip(*map(list, run), strict=True)] == held
    assert list(zip(*map(list, file.part(*ends)), strict=True)) == held[slice(*ends)]
    for feed in range(-1, 8):
        assert file.seqs_of(feed).tolist() == [seq for own, seq in held if own == feed]
        assert rows(file.of_feed(feed)) == [pair for pair in held if pair[0] == feed]
    near = [
        pair for run in file.near(np.unique(np.array(asked, np.int64))) for pair in zip(*run, strict=True)
    ]
    assert {pair for pair in held if pair[0] in asked} <= set(near)
    assert len(near) == len(set(near))
    assert set(near) <= set(held)


def test_one_feed_costs_one_row_group_however_long_the_file_is(tmp_path: Path) -> None:
    path = tmp_path / "elements.parquet"
    replace_sorted(path, elements([(n // 10, n) for n in range(20 * ROWS_PER_GROUP)]))
    file = open_sorted(path)
    decoded: list[int] = []
    read = SortedFile.run

    def counted(self: SortedFile, groups: list[int]) -> object:
        decoded.extend(groups)
        return read(self, groups)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SortedFile, "run", counted)
        assert file.seqs_of(3).tolist() == list(range(30, 40))
        assert file.seqs_of(4).tolist() == list(range(40, 50))
        assert list(file.near(np.array([3]))) != []
    assert decoded == [0]
    assert path.stat().st_size < 5 * len(file)


def test_what_was_opened_can_be_read_when_it_was_deleted(tmp_path: Path) -> None:
    path = tmp_path / "elements.parquet"
    replace_sorted(path, elements([(1, 2), (3, 4)]))
    file = open_sorted(path)
    path.unlink()
    assert file.seqs_of(3).tolist() == [4]
    with pytest.raises(FileNotFoundError):
        open_sorted(path)


def test_a_damaged_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "elements.parquet"
    replace_sorted(path, elements([(1, 2), (3, 4)]))
    path.write_bytes(path.read_bytes()[:40] + b"x" + path.read_bytes()[41:])
    with pytest.raises(DamagedFileError, match="checksum"):
        open_sorted(path)
    assert no_rows(ELEMENT_SCHEMA).table().num_rows == 0
