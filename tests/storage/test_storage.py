"""Places do what is asked of them, on a disk and in a store of objects; a store is probed before it is used."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from feedweir.errors import DamagedFileError, SettingsError, StorageError
from feedweir.logs.files import open_arrow, replace_arrow
from feedweir.logs.landing import Landed, LandingLog
from feedweir.service.archive import Archive, now_utc
from feedweir.storage import (
    ObjectPath,
    Place,
    below,
    listed,
    local,
    on_disk,
    place_of,
    places_in,
    put_absent,
    remove_tree,
    replacing,
)
from feedweir.storage.fetched import FetchedFiles
from feedweir.storage.folders import fetch_folder, put_folder
from tests.object_servers import ObjectServer, running_moto, running_rclone


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectServer]:
    with running_moto() as running:
        yield running


def at(server: ObjectServer, cache: Path, folder: str) -> ObjectPath:
    options = tuple(sorted(server.options.items()))
    place = place_of(f"{server.place}/{folder}", options=options, cache=str(cache))
    assert isinstance(place, ObjectPath)
    return place


@pytest.fixture(params=["disk", "objects"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "disk":
        return tmp_path / "disk"
    return at(request.getfixturevalue("server"), tmp_path / "cache", tmp_path.name)


def put(place: Place, data: bytes) -> None:
    with replacing(place) as file:
        file.write(data)


def test_what_is_put_is_there_and_of_several_writers_one_succeeds(place: Place) -> None:
    put(place / "batches" / "1", b"one")
    put(place / "batches" / "1", b"two")
    assert (place / "batches" / "1").read_bytes() == b"two"
    put(place / "items" / "1", b"x" * 100_000)
    assert local(place / "items" / "1").read_bytes() == b"x" * 100_000
    with ThreadPoolExecutor(8) as threads:
        texts = [f"writer {number}".encode() for number in range(8)]
        wrote = list(threads.map(lambda text: put_absent(place / "epochs" / "7", text), texts))
    assert wrote.count(True) == 1
    assert (place / "epochs" / "7").read_bytes() == texts[wrote.index(True)]
    (place / "epochs" / "7").unlink(missing_ok=True)
    (place / "epochs" / "7").unlink(missing_ok=True)
    assert not (place / "epochs" / "7").exists()
    with pytest.raises(FileNotFoundError):
        (place / "epochs" / "7").read_bytes()
    with pytest.raises(FileNotFoundError):
        local(place / "epochs" / "7").read_bytes()


def test_what_was_not_finished_is_not_there(place: Place) -> None:
    with pytest.raises(TypeError), replacing(place / "items" / "1") as file:
        file.writelines([b"half", None])  # type: ignore[list-item]
    assert places_in(place / "items", "[0-9]*") == []


def test_folders_are_listed_by_name_with_what_is_below_them(place: Place) -> None:
    for name in ["joins/3/state-1.json", "joins/3/main/1.arrow", "joins/12/state-2.json", "joint/1.json"]:
        put(place / name, name.encode())
    joins = place / "joins"
    assert [below(place, one) for one in places_in(joins, "[0-9]*")] == ["joins/12", "joins/3"]
    assert [below(joins, one) for one in places_in(joins, "*/state-*.json")] == [
        "12/state-2.json",
        "3/state-1.json",
    ]
    assert [one.name for one in places_in(joins, "**/*.arrow")] == ["1.arrow"]
    assert [(one.name, state.st_size) for one, state in listed(joins / "3", "*.json")] == [
        ("state-1.json", 20)
    ]
    assert abs(next(state.st_mtime for _, state in listed(joins / "3", "*.json")) - time.time()) < 600
    remove_tree(joins / "3")
    assert [below(place, one) for one in places_in(place, "**/*.json")] == [
        "joins/12/state-2.json",
        "joint/1.json",
    ]
    assert list((place / "nothing").glob("*")) == []


def test_a_place_travels_to_other_processes_and_keeps_its_secrets(
    server: ObjectServer, tmp_path: Path
) -> None:
    place = at(server, tmp_path, "travels")
    put(place / "a" / "b", b"c")
    assert pickle.loads(pickle.dumps(place / "a" / "b")).read_bytes() == b"c"
    assert "secret" not in repr(place)
    assert str(place / "a") == f"{server.place}/travels/a"


def test_a_file_is_fetched_once_and_again_when_what_was_fetched_is_damaged(
    server: ObjectServer, tmp_path: Path
) -> None:
    table = pa.table({"n": [1, 2, 3]})
    replace_arrow(at(server, tmp_path / "one", "fetched") / "seen" / "1.arrow", table)
    other = at(server, tmp_path / "two", "fetched") / "seen" / "1.arrow"
    assert open_arrow(other).equals(table)
    at_hand = local(other)
    inode = at_hand.stat().st_ino
    assert local(other).stat().st_ino == inode
    data = bytearray(at_hand.read_bytes())
    data[len(data) // 2] ^= 255
    at_hand.unlink()
    at_hand.write_bytes(data)
    with pytest.raises(DamagedFileError):
        open_arrow(other)
    assert open_arrow(other).equals(table)


def test_what_was_used_longest_ago_goes_first_and_nothing_that_was_just_used(tmp_path: Path) -> None:
    files = FetchedFiles(tmp_path, most_bytes=250)
    for number in range(4):
        with files.drafted(f"items/{number}") as file:
            file.write(b"x" * 100)
    for number, used in enumerate((30, 10, 20, 40)):
        path = files.path(f"items/{number}")
        os.utime(path, (used, used))
    files.shrink(before=35)
    assert sorted(path.name for path in (tmp_path / "items").iterdir()) == ["0", "3"]
    files.shrink(before=0)
    assert len(list((tmp_path / "items").iterdir())) == 2


def test_a_cache_that_cannot_be_written_is_told_in_one_sentence(server: ObjectServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    place = at(server, tmp_path / "file", "unwritable")
    with pytest.raises(StorageError, match="cannot keep what is fetched") as error:
        put(place / "a", b"b")
    assert "`cache`" in error.value.hint


def test_folders_are_archives_that_are_unpacked_when_they_changed(
    server: ObjectServer, tmp_path: Path
) -> None:
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "a").write_bytes(b"one")
    place = at(server, tmp_path / "cache", "folders") / "sets" / "1.tar"
    assert not fetch_folder(place, tmp_path / "other")
    put_folder(place, folder)
    assert fetch_folder(place, tmp_path / "other")
    assert (tmp_path / "other" / "a").read_bytes() == b"one"
    (folder / "a").write_bytes(b"another")
    put_folder(place, folder)
    assert fetch_folder(place, tmp_path / "other")
    assert (tmp_path / "other" / "a").read_bytes() == b"another"


def test_two_logs_without_locks_leave_no_number_out_and_use_none_twice(
    server: ObjectServer, tmp_path: Path
) -> None:
    logs = [LandingLog(at(server, tmp_path / name, "landing") / "landing") for name in "ab"]

    def land(number: int) -> int:
        return logs[number % 2].append([Landed(source="s", arrived=now_utc(), body=b"%d" % number)])

    with ThreadPoolExecutor(2) as threads:
        segments = list(threads.map(land, range(8)))
    last = max(segments)
    bodies = [row["body"] for one in range(1, last + 1) for row in logs[0].read(one).to_pylist()]
    assert sorted(bodies) == [b"%d" % number for number in range(8)]
    assert logs[1].latest() == last
    fresh = LandingLog(at(server, tmp_path / "c", "landing") / "landing")
    assert fresh.latest() == last
    assert [segment for segment, _, _ in fresh.pieces()] == list(range(1, last + 1))


# What a store must be


def test_a_store_that_overwrites_what_is_there_is_refused(tmp_path: Path) -> None:
    with running_rclone(tmp_path / "rclone") as server:
        place = at(server, tmp_path / "cache", "probe")
        with pytest.raises(StorageError, match="takes 'put if absent' and overwrites all the same"):
            place.probe()


def test_with_a_store_the_catalog_is_in_postgresql(server: ObjectServer, tmp_path: Path) -> None:
    at(server, tmp_path, "probe").probe()
    with pytest.raises(SettingsError, match="must be in PostgreSQL"):
        Archive.open(at(server, tmp_path, "catalog"))


def test_a_store_that_is_away_is_told_in_one_sentence_and_served_again_when_it_is_back(
    tmp_path: Path,
) -> None:
    with running_moto() as server:
        place = at(server, tmp_path, "away")
        put(place / "a", b"b")
    with pytest.raises(StorageError, match="does not answer") as error:
        (place / "a").read_bytes()
    assert "\n" not in error.value.message
    assert "nothing is lost" in error.value.hint
    port = int(server.url.rpartition(":")[2])
    with running_moto(port):
        assert put_absent(place / "b", b"c")
        assert (place / "b").read_bytes() == b"c"


def test_a_place_that_no_store_has_is_told_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be opened"):
        place_of("ftp://bucket/place", cache=str(tmp_path)).read_bytes()  # type: ignore[union-attr]
    with pytest.raises(StorageError, match="is not a directory"):
        on_disk(place_of("s3://bucket/place"))
