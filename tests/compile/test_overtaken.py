"""Questions that are asked while another thread compacts the log: every file they read may be gone by then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from feedweir.ask.questions import Questions
from feedweir.compile.recent_frequencies import RecentFrequencies
from feedweir.logs.batches import Manifest
from feedweir.logs.store import Store
from feedweir.pipeline.compaction import FAN_IN, compact
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir
from tests.engines import land, open_weir
from tests.join.stories import Shown

BATCHES = FAN_IN + 2


class Overtaken(Store):
    """Whoever has looked at the manifests finds the log compacted right afterwards."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._other = Store(directory)

    def manifests(self) -> list[Manifest]:
        found = super().manifests()
        compact(self._other)
        return found


@pytest.fixture
def weir(tmp_path: Path) -> Iterator[Weir]:
    with open_weir(tmp_path, "register feed push://Post as Post") as opened:
        opened.refresh_set()
        for guid in range(BATCHES):
            land(opened, [Shown("Post", ((guid, f"river {guid}"),))])
            LocalRunner(opened.directory, opened.commit).run_available()
        assert len(opened.store.manifests()) == BATCHES
        yield opened


@pytest.fixture
def questions(weir: Weir) -> Questions:
    return Questions(weir.catalog, Overtaken(weir.directory.root), weir.directory, weir.clock)


def test_a_search_finds_everything(questions: Questions) -> None:
    found = questions.search("river", limit=50)
    assert (found.found, found.searched, found.skipped) == (BATCHES, BATCHES, ())


def test_a_preview_finds_everything(questions: Questions) -> None:
    asked = "from Post where title contains 'river'"
    assert questions.preview(asked, limit=100).hits == BATCHES


def test_a_backtest_finds_everything(questions: Questions) -> None:
    assert questions.backtest("from Post where title contains 'river'").hits == BATCHES


def test_files_that_are_taken_in_before_their_turn_are_read_all_the_same(weir: Weir) -> None:
    tables = weir.store.item_tables(weir.store.manifests())
    compact(Store(weir.directory.root))
    assert [table["title"].to_pylist() for table in tables] == [
        [f"river {n}"] for n in reversed(range(BATCHES))
    ]


def test_an_item_is_found_by_its_guid(questions: Questions) -> None:
    assert questions.item("0").title == "river 0"


def test_what_was_published_lately_is_observed(weir: Weir) -> None:
    assert RecentFrequencies(Overtaken(weir.directory.root)).known() is not None
