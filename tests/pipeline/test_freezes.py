"""A machine stops in the middle of something and goes on a day later, when another has done its work."""

from __future__ import annotations

import errno
import fcntl
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from feedweir.acquire.parse.document_budget import DEFAULT_ALLOWANCE
from feedweir.acquire.parse.parse_process import parse_process
from feedweir.errors import DisplacedError
from feedweir.logs.batches import Assignment, Receipt
from feedweir.pipeline.batch_tasks import WholeTask
from feedweir.pipeline.charge import in_charge
from feedweir.pipeline.compaction import compact, tidy
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.pipeline.worker import Worker
from feedweir.service.installation import Weir
from feedweir.storage import disk
from tests.engines import Feeds, land, open_weir, published
from tests.join.stories import Shown

STATEMENTS = """
register feed http://example.org/post as Post;
register feed http://example.org/crier as Crier;
create feed Water from Post as $r where $r[title contains 'river'];
create feed Echo from Post as $p join last 10 days on Crier as $c with $p[title similar window.title];
"""
BATCHES = 4


class Freeze:
    """Stops one thread before the so-many-th file it writes appears, until it is told to go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, writes: int) -> None:
        self._left = writes
        self._thread: threading.Thread | None = None
        self._thaw = threading.Event()
        self.frozen = threading.Event()
        monkeypatch.setattr(Path, "replace", self._around(Path.replace))
        monkeypatch.setattr(disk.os, "link", self._around(disk.os.link))

    def _around(self, appear: Callable[..., Any]) -> Callable[..., Any]:
        def appearing(*arguments: Any) -> Any:
            if threading.current_thread() is self._thread:
                self._left -= 1
                if self._left < 0 and not self.frozen.is_set():
                    self.frozen.set()
                    assert self._thaw.wait(60)
            return appear(*arguments)

        return appearing

    def run(self, work: Callable[[], object]) -> None:
        """Start it, and return when it has stopped, or ended."""

        def whole() -> None:
            try:
                work()
            except (DisplacedError, FileNotFoundError) as error:  # or what it wanted to merge was merged
                self.error = error
            finally:
                self.frozen.set()

        self.error: Exception | None = None
        self._thread = threading.Thread(target=whole)
        self._thread.start()
        assert self.frozen.wait(60)

    def thaw(self) -> None:
        self._thaw.set()
        assert self._thread
        self._thread.join(60)


@pytest.fixture(autouse=True)
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on storage that several machines share: nothing tells a second process that there is a first."""

    def refused(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    flock = fcntl.flock
    monkeypatch.setattr(
        "feedweir.pipeline.charge.fcntl.flock",
        lambda descriptor, how: (
            refused() if how & fcntl.LOCK_EX and how & fcntl.LOCK_NB else flock(descriptor, how)
        ),
    )


def landed(directory: Path) -> None:
    with open_weir(directory, STATEMENTS) as weir:
        for guid in range(BATCHES):
            shown = ((guid, f"river otter {guid}"), (guid // 2, f"river {guid}"))
            land(weir, [Shown("Post", shown), Shown("Crier", shown)])
        weir.refresh_set()


def run_all(directory: Path, batches: int = BATCHES, tasks: int = 1) -> None:
    with Weir.open(directory) as weir, in_charge(directory) as charge:
        runner = LocalRunner(weir.directory, weir.commit, max_segments=1, charge=charge, tasks=tasks)
        for _ in range(batches):
            runner.run_batch()


def shown_in(directory: Path) -> Feeds:
    with Weir.open(directory) as weir:
        assert weir.damages() == {}
        return published(weir)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Feeds:
    directory = tmp_path_factory.mktemp("undisturbed")
    landed(directory)
    with Weir.open(directory) as weir:
        runner = LocalRunner(weir.directory, weir.commit, max_segments=1)
        assert runner.run_available() == BATCHES
        return published(weir)


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("writes", range(0, 24, 3))
def test_a_driver_that_slept_while_another_went_on_changes_nothing_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Feeds, writes: int, tasks: int
) -> None:
    landed(tmp_path)
    freeze = Freeze(monkeypatch, writes)
    freeze.run(lambda: run_all(tmp_path, tasks=tasks))
    run_all(tmp_path, tasks=tasks)
    before = shown_in(tmp_path)
    assert before == expected
    freeze.thaw()
    assert shown_in(tmp_path) == expected
    if isinstance(freeze.error, DisplacedError):
        assert "\n" not in str(freeze.error)
        assert "has taken charge" in str(freeze.error)
    run_all(tmp_path)
    assert shown_in(tmp_path) == expected


def test_the_second_of_two_drivers_goes_on_and_the_first_ends_with_one_sentence(tmp_path: Path) -> None:
    landed(tmp_path)
    with Weir.open(tmp_path) as weir, in_charge(tmp_path) as first:
        runner = LocalRunner(weir.directory, weir.commit, max_segments=1, charge=first)
        assert runner.run_batch()
        with in_charge(tmp_path) as second:
            assert second.epoch == first.epoch + 1
            with pytest.raises(DisplacedError, match=r"^process \d+ on \S+ has taken charge of "):
                runner.run_batch()
            other = LocalRunner(weir.directory, weir.commit, max_segments=1, charge=second)
            newest = other.run_batch()
            assert newest
            assert newest.epoch == second.epoch
        assert weir.store.latest() == 2


def test_a_compaction_that_slept_does_not_undo_what_was_merged_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feedweir.pipeline.compaction.FAN_IN", 2)
    landed(tmp_path)
    with open_weir(tmp_path, "") as weir:
        LocalRunner(weir.directory, weir.commit, max_segments=1).run_available()
        expected = published(weir)
        for writes in range(6):
            freeze = Freeze(monkeypatch, writes)
            freeze.run(lambda: compact(weir.store))
            with Weir.open(tmp_path) as other:
                tidy(other.directory, other.store)
            freeze.thaw()
            with Weir.open(tmp_path) as other:
                assert published(other) == expected
                assert other.damages() == {}


def test_what_no_manifest_names_is_removed_a_day_later(tmp_path: Path) -> None:
    landed(tmp_path)
    with Weir.open(tmp_path) as weir:
        runner = LocalRunner(weir.directory, weir.commit, max_segments=1)
        runner.run_batch()
        worker = Worker(weir.directory, parse_process(DEFAULT_ALLOWANCE))
        lost = worker.run(WholeTask(Assignment(1, 2, weir.version_in_force())))
        assert isinstance(lost, Receipt)
        manifest = runner.run_batch()
        assert manifest
        path = weir.directory.root / "items" / lost.items_file
        assert lost.items_file not in manifest.item_files
        tidy(weir.directory, weir.store, now=datetime.now(UTC))
        assert path.exists()
        tidy(weir.directory, weir.store, now=datetime.now(UTC) + timedelta(days=2))
        assert not path.exists()
        assert weir.damages() == {}


def test_two_attempts_at_one_task_write_two_sets_of_files(tmp_path: Path) -> None:
    landed(tmp_path)
    with Weir.open(tmp_path) as weir:
        worker = Worker(weir.directory, parse_process(DEFAULT_ALLOWANCE))
        task = WholeTask(Assignment(0, BATCHES, weir.version_in_force()))
        first, second = worker.run(task), worker.run(task)
        assert isinstance(first, Receipt)
        assert isinstance(second, Receipt)
        assert not {first.items_file, *first.element_files} & {second.items_file, *second.element_files}
