"""Arrays in one file, and directories that notice when a byte of them changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.errors import CompiledSetError
from feedweir.match.arrays import continued, frozen, joined, load_arrays, save_arrays
from feedweir.match.sets.sealed import (
    MANIFEST,
    check_file,
    open_sealed,
    read_manifest,
    replace_directory,
    write_sealed,
)

DTYPES = (np.uint8, np.int32, np.int64, np.uint64, np.float64, np.bool_)

arrays = st.builds(
    lambda dtype, shape: (np.arange(int(np.prod(shape))) % 2).astype(dtype).reshape(shape),
    st.sampled_from(DTYPES),
    st.lists(st.integers(0, 5), min_size=1, max_size=2).map(tuple),
)


@settings(max_examples=60, deadline=None)
@given(named=st.dictionaries(st.sampled_from(("a", "b", "c.d", "ü")), arrays))
def test_arrays_come_back_as_they_were_and_cannot_be_written(
    tmp_path_factory: pytest.TempPathFactory, named: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("arrays") / "x.arrays"
    save_arrays(path, named)
    loaded = load_arrays(path)
    assert list(loaded) == list(named)
    for name, array in named.items():
        assert loaded[name].dtype == array.dtype
        assert loaded[name].shape == array.shape
        assert np.array_equal(loaded[name], array)
        assert not loaded[name].flags.writeable


def test_each_array_begins_on_a_line_of_the_cache(tmp_path: Path) -> None:
    save_arrays(tmp_path / "x", {"a": np.arange(3, dtype=np.uint8), "b": np.arange(9, dtype=np.int64)})
    loaded = load_arrays(tmp_path / "x")
    assert [array.ctypes.data % 64 for array in loaded.values()] == [0, 0]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x05\0\0\0\0\0\0\0{",
        b"\xff" * 16,
        (2).to_bytes(8, "little") + b"[]",
        (17).to_bytes(8, "little") + b'{"a":["<i4",[9]]}',
    ],
)
def test_a_file_that_holds_no_arrays_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.arrays").write_bytes(content)
    with pytest.raises(CompiledSetError, match=r"bad\.arrays cannot be read"):
        load_arrays(tmp_path / "bad.arrays")


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(CompiledSetError, match=r"none\.arrays cannot be read"):
        load_arrays(tmp_path / "none.arrays")


def test_a_frozen_array_is_read_only_and_the_array_itself_is_not() -> None:
    array = np.arange(4)
    view = frozen(array)
    array[0] = 9
    assert view[0] == 9
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    assert frozen(view) is view
    assert frozen(np.arange(8)[::2]).flags.c_contiguous


def test_offsets_of_several_parts_go_on_where_the_one_before_ends() -> None:
    parts = [np.array([0, 2, 3]), np.array([0]), np.array([0, 0, 4])]
    assert continued(parts).tolist() == [0, 2, 3, 3, 7]
    assert continued(parts[:1]) is parts[0]
    assert joined([parts[0]]) is parts[0]
    assert joined(parts).tolist() == [0, 2, 3, 0, 0, 0, 4]


# Sealed directories


def sealed(directory: Path, text: str = "x", **details: Any) -> None:
    def write(scratch: Path) -> dict[str, Any]:
        (scratch / "file").write_text(text, encoding="utf-8")
        return details

    write_sealed(directory, write)


def test_a_sealed_directory_gives_back_what_it_was_written_with(tmp_path: Path) -> None:
    sealed(tmp_path / "a" / "set", queries=3, names=["x"])
    assert open_sealed(tmp_path / "a" / "set") == {"queries": 3, "names": ["x"]}
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["set"]


def test_a_directory_that_is_written_again_is_replaced_whole(tmp_path: Path) -> None:
    sealed(tmp_path / "set", "one", turn=1)
    held = (tmp_path / "set" / "file").open()
    sealed(tmp_path / "set", "two", turn=2)
    assert open_sealed(tmp_path / "set") == {"turn": 2}
    assert (tmp_path / "set" / "file").read_text() == "two"
    assert held.read() == "one"
    held.close()
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_a_writer_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def write(scratch: Path) -> dict[str, Any]:
        (scratch / "file").write_text("half")
        raise RuntimeError("out of paper")

    with pytest.raises(RuntimeError, match="out of paper"):
        write_sealed(tmp_path / "set", write)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: (path / "file").write_text("y"), "file of set is damaged"),
        (lambda path: (path / "file").write_text("xx"), "file of set is damaged"),
        (lambda path: (path / "file").unlink(), "set lacks file"),
        (lambda path: (path / MANIFEST).unlink(), "set is not a compiled set"),
        (lambda path: (path / MANIFEST).write_text("[]"), "set is not a compiled set"),
        (lambda path: (path / MANIFEST).write_text("{"), "set is not a compiled set"),
    ],
)
def test_damage_is_named_with_the_way_out(tmp_path: Path, damage: Any, message: str) -> None:
    sealed(tmp_path / "set")
    damage(tmp_path / "set")
    with pytest.raises(CompiledSetError, match=message) as raised:
        open_sealed(tmp_path / "set")
    assert raised.value.hint == "it can be rebuilt from its queries"


def test_another_format_is_refused_by_its_number(tmp_path: Path) -> None:
    sealed(tmp_path / "set")
    manifest = json.loads((tmp_path / "set" / MANIFEST).read_text())
    (tmp_path / "set" / MANIFEST).write_text(json.dumps({**manifest, "format": 3}))
    with pytest.raises(CompiledSetError, match="set has format 3, not"):
        read_manifest(tmp_path / "set")


def test_details_that_were_changed_are_noticed(tmp_path: Path) -> None:
    sealed(tmp_path / "set", queries=3)
    text = (tmp_path / "set" / MANIFEST).read_text().replace('"queries": 3', '"queries": 4')
    (tmp_path / "set" / MANIFEST).write_text(text)
    with pytest.raises(CompiledSetError, match=r"manifest\.json of set is damaged"):
        open_sealed(tmp_path / "set")


def test_one_file_can_be_checked_alone(tmp_path: Path) -> None:
    sealed(tmp_path / "set")
    check_file(tmp_path / "set", "file")
    (tmp_path / "set" / "file").write_text("y")
    with pytest.raises(CompiledSetError, match="damaged"):
        check_file(tmp_path / "set", "file")


def test_a_directory_takes_the_place_of_another_or_of_none(tmp_path: Path) -> None:
    for name in ("new", "newer"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
        replace_directory(tmp_path / name, tmp_path / "set")
        assert (tmp_path / "set" / "file").read_text() == name
    assert [path.name for path in tmp_path.iterdir()] == ["set"]
