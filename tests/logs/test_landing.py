"""The landing log: whole segments or none, numbers without holes, one writer at a time."""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.errors import LandingError
from feedweir.items.numbering import document_number
from feedweir.items.schema import DOCUMENT_SCHEMA
from feedweir.logs import landing
from feedweir.logs.landing import Landed, LandingLog, chunks

START = datetime(2024, 5, 1, 12, tzinfo=UTC)


def a_document(place: int, size: int = 10) -> Landed:
    return Landed(
        source=f"source{place % 3}",
        url=f"http://example.org/{place}",
        media_type="application/rss+xml; charset=utf-8",
        arrived=START + timedelta(seconds=place),
        body=bytes([place % 256]) * size,
    )


def bodies(log: LandingLog) -> list[bytes]:
    return [body for n in log.segments(0, log.latest()) for body in log.read(n)["body"].to_pylist()]


def test_what_was_landed_is_read_back_under_its_number(tmp_path: Path) -> None:
    log = LandingLog(tmp_path / "landing")
    documents = [a_document(place) for place in range(5)]
    assert log.append(documents) == 1
    table = log.read(1)
    assert table.schema == DOCUMENT_SCHEMA
    assert table["number"].to_pylist() == [document_number(1, row) for row in range(5)]
    assert [Landed(**{k: row[k] for k in row if k != "number"}) for row in table.to_pylist()] == documents


def test_an_empty_log_has_no_latest_segment_and_landing_nothing_makes_none(tmp_path: Path) -> None:
    log = LandingLog(tmp_path / "landing")
    assert log.latest() == 0
    assert log.append([]) == 0
    assert list(log.segments(0, 100)) == []


def test_segments_are_those_after_and_up_to_that_exist(tmp_path: Path) -> None:
    log = LandingLog(tmp_path)
    for place in range(4):
        log.append([a_document(place)])
    assert list(log.segments(1, 3)) == [2, 3]
    assert list(log.segments(2, 99)) == [3, 4]


def test_too_much_for_one_segment_goes_into_several_in_order(tmp_path: Path) -> None:
    log = LandingLog(tmp_path, max_segment_bytes=100)
    documents = [a_document(place, size=40) for place in range(5)]
    assert log.append(documents) == 3
    assert bodies(log) == [document.body for document in documents]


def test_a_document_larger_than_the_bound_has_a_segment_to_itself(tmp_path: Path) -> None:
    log = LandingLog(tmp_path, max_segment_bytes=100)
    assert log.append([a_document(0), a_document(1, size=500), a_document(2)]) == 3


@given(st.lists(st.integers(0, 30)), st.integers(1, 50), st.integers(1, 5))
def test_chunks_keep_order_and_bounds_and_are_maximal(
    sizes: list[int], max_bytes: int, max_documents: int
) -> None:
    documents = [a_document(place, size) for place, size in enumerate(sizes)]
    parts = [list(part) for part in chunks(documents, max_bytes, max_documents)]
    assert [document for part in parts for document in part] == documents
    for part in parts:
        assert 0 < len(part) <= max_documents
        assert len(part) == 1 or sum(len(document.body) for document in part) <= max_bytes
    for part, following in itertools.pairwise(parts):
        grown = [*part, following[0]]
        assert len(grown) > max_documents or sum(len(document.body) for document in grown) > max_bytes


def test_another_reader_sees_new_segments_without_listing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, reader = LandingLog(tmp_path), LandingLog(tmp_path)
    writer.append([a_document(0)])
    assert reader.latest() == 1
    monkeypatch.setattr(landing, "_numbers", lambda directory: pytest.fail("a listing"))
    writer.append([a_document(1)])
    assert reader.latest() == 2
    assert LandingLog(tmp_path).latest() == 2


@pytest.mark.parametrize("hint", ["", "x", "99", "-1"])
def test_a_spoilt_hint_costs_a_listing_and_nothing_else(tmp_path: Path, hint: str) -> None:
    log = LandingLog(tmp_path)
    for place in range(3):
        log.append([a_document(place)])
    (tmp_path / "_latest").write_text(hint)
    assert LandingLog(tmp_path).latest() == 3
    (tmp_path / "_latest").unlink()
    assert LandingLog(tmp_path).append([a_document(3)]) == 4


def test_retired_segments_do_not_hide_later_ones(tmp_path: Path) -> None:
    log = LandingLog(tmp_path)
    for place in range(4):
        log.append([a_document(place)])
    log.path(1).unlink()
    (tmp_path / "_latest").unlink()
    assert LandingLog(tmp_path).latest() == 4


def test_a_half_written_segment_is_invisible_and_does_not_stop_the_next(tmp_path: Path) -> None:
    log = LandingLog(tmp_path)
    log.append([a_document(0)])
    (tmp_path / "_000000000002.tmp").write_bytes(b"PAR1 and then the power went")
    again = LandingLog(tmp_path)
    assert again.latest() == 1
    assert again.append([a_document(1)]) == 2
    assert sorted(path.name for path in tmp_path.glob("*.parquet")) == [
        "000000000001.parquet",
        "000000000002.parquet",
    ]


def test_a_missing_and_a_damaged_segment_say_what_is_wrong(tmp_path: Path) -> None:
    log = LandingLog(tmp_path)
    log.append([a_document(0)])
    with pytest.raises(LandingError, match=r"segment 7 does not exist .the latest segment is 1"):
        log.read(7)
    log.path(1).write_bytes(b"not parquet")
    with pytest.raises(LandingError, match="segment 1 is damaged"):
        log.read(1)


_WRITER = """
import sys
from datetime import datetime, timezone
from feedweir.logs.landing import Landed, LandingLog
log = LandingLog(sys.argv[1])
for place in range(int(sys.argv[3])):
    body = f"{sys.argv[2]} {place}".encode()
    log.append([Landed(source=sys.argv[2], arrived=datetime(2024, 5, 1, tzinfo=timezone.utc), body=body)] * 2)
    print(place, flush=True)
"""


def a_writer(directory: Path, name: str, appends: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _WRITER, str(directory), name, str(appends)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_processes_take_turns_and_lose_nothing(tmp_path: Path) -> None:
    writers = [a_writer(tmp_path, name, 20) for name in ("a", "b")]
    assert [writer.wait() for writer in writers] == [0, 0]
    for writer in writers:
        writer.communicate()
    log = LandingLog(tmp_path)
    assert log.latest() == 40
    for name in (b"a", b"b"):
        own = [body for body in bodies(log) if body.startswith(name)]
        assert own == [b"%s %d" % (name, place) for place in range(20) for _ in range(2)]


def test_what_threads_bring_while_the_disk_is_busy_is_landed_together(tmp_path: Path) -> None:
    log, pause = LandingLog(tmp_path), threading.Event()
    found: dict[int, int] = {}

    def bring(place: int) -> None:
        found[place] = log.append([a_document(place)])

    threads = [threading.Thread(target=bring, args=(place,)) for place in range(9)]
    with landing._exclusive(tmp_path / "_lock"):
        threads[0].start()
        while not log._writing.locked() or log._tickets:
            pause.wait(0.001)
        for thread in threads[1:]:
            thread.start()
        while len(log._tickets) < 8:
            pause.wait(0.001)
    for thread in threads:
        thread.join()
    assert found == {0: 1, **dict.fromkeys(range(1, 9), 2)}
    assert sorted(bodies(log)) == [a_document(place).body for place in range(9)]


def test_a_log_can_be_sent_to_another_process(tmp_path: Path) -> None:
    log = LandingLog(tmp_path, max_segment_bytes=15)
    log.append([a_document(1)])
    there: LandingLog = pickle.loads(pickle.dumps(log))
    assert there.append([a_document(2), a_document(3)]) == 3
    assert log.latest() == 3


def test_what_cannot_be_landed_is_an_error_for_everyone_who_brought_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    log = LandingLog(tmp_path / "file")
    for place in range(2):
        with pytest.raises(OSError, match="file"):
            log.append([a_document(place)])


def test_a_killed_writer_leaves_whole_segments_and_everything_it_was_told_is_safe(tmp_path: Path) -> None:
    writer = a_writer(tmp_path, "a", 1_000_000)
    assert writer.stdout is not None
    told = [writer.stdout.readline().strip() for _ in range(10)]
    os.kill(writer.pid, signal.SIGKILL)
    told += [line.strip() for line in writer.communicate()[0].splitlines()]
    log = LandingLog(tmp_path)
    landed = [body.decode().split()[1] for body in bodies(log)]
    complete = [line for line in told if line]
    assert landed[::2] == landed[1::2], "a segment is whole"
    assert landed[::2][: len(complete)] == complete
    assert log.append([a_document(0)]) == len(landed) // 2 + 1


def test_a_batch_reaches_as_far_as_its_bytes_and_at_least_one_segment(tmp_path: Path) -> None:
    log = LandingLog(tmp_path)
    for number in range(4):
        log.append([a_document(number)])
    sizes = [log.path(segment).stat().st_size for segment in range(1, 5)]
    assert log.reach(0, 0) == 1
    assert log.reach(1, sizes[1] + sizes[2]) == 3
    assert log.reach(1, sizes[1] + sizes[2] - 1) == 2
    assert log.reach(0, 1 << 40) == 4
    assert log.reach(4, 1 << 40) == 4


class PausedPath:
    """A path whose existence is seen, and told only after somebody else has looked, too."""

    def __init__(self, path: Path, then: threading.Barrier) -> None:
        self._path = path
        self._then = then

    def exists(self) -> bool:
        found = self._path.exists()
        if found:
            self._then.wait()
        return found


def test_readers_that_look_at_the_same_moment_do_not_make_the_writer_leave_a_number_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    LandingLog(tmp_path).append([a_document(0)])
    log = LandingLog(tmp_path)
    log.latest()
    LandingLog(tmp_path).append([a_document(1)])
    (tmp_path / "_latest").unlink()
    both = threading.Barrier(2)
    with monkeypatch.context() as patched:
        patched.setattr(log, "path", lambda segment: PausedPath(LandingLog.path(log, segment), both))
        threads = [threading.Thread(target=log.latest) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert log.append([a_document(2)]) == 3


def test_what_lies_behind_a_missing_segment_is_read_and_its_number_is_not_used_again(tmp_path: Path) -> None:
    log = LandingLog(tmp_path)
    for place in range(4):
        log.append([a_document(place)])
    log.path(3).unlink()
    for reader in (log, LandingLog(tmp_path)):
        assert reader.latest() == 4
        assert reader.reach(1, 1 << 40) == 4
    log.path(4).unlink()
    assert LandingLog(tmp_path).append([a_document(4)]) == 5, "segment 4 was told to somebody"


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_one_changed_byte_of_a_segment_is_noticed(tmp_path: Path, place: float) -> None:
    log = LandingLog(tmp_path)
    log.append([a_document(0, size=5_000)])
    data = bytearray(log.path(1).read_bytes())
    data[int(len(data) * place)] ^= 1
    log.path(1).write_bytes(data)
    with pytest.raises(LandingError, match="segment 1 is damaged"):
        log.read(1)


def test_a_segment_in_the_place_of_another_is_noticed(tmp_path: Path) -> None:
    log = LandingLog(tmp_path)
    for place in range(2):
        log.append([a_document(place)])
    log.path(2).write_bytes(log.path(1).read_bytes())
    with pytest.raises(LandingError, match="segment 2 is damaged: its checksum"):
        log.read(2)


def test_a_log_of_an_older_version_is_read(tmp_path: Path) -> None:
    log = LandingLog(tmp_path)
    segment = log.append(
        [Landed(source="A", arrived=datetime(2026, 1, 1, tzinfo=UTC), body=b"x", id_path="//n")]
    )
    table = log.read(segment)
    assert table.column("id_path").to_pylist() == ["//n"]
    pq.write_table(table.drop_columns(["id_path"]), log.path(segment))
    assert log.read(segment).column("id_path").to_pylist() == [""]
