"""What annotation joins and stories remember on disk: bounded by windows, kept when edited, not missed when damaged."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from feedweir.items.string_keys import item_keys
from feedweir.join.window_bounds import JoinBounds
from feedweir.join.windows import annotation_stages as annotating
from feedweir.join.windows.annotation_set import compile_annotations
from feedweir.join.windows.window_state import WindowState
from feedweir.join.windows.window_store import WindowStore
from feedweir.logs.joined_log import NOTED_SCHEMA
from feedweir.logs.landing import Landed
from feedweir.logs.sorted_files import open_sorted, replace_sorted
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
STATEMENTS = """
register feed http://example.org/a as A;
register feed http://example.org/b as B;
create feed Near from A as $a join last 1 day on B as $b with $a[author = window.author];
"""


@pytest.fixture
def weir(tmp_path: Path) -> Iterator[Weir]:
    with Weir.open(tmp_path, clock=lambda: NOON) as weir:
        weir.execute(STATEMENTS)
        yield weir


def land(weir: Weir, source: str, guid: int, time: datetime = NOON, title: str = "t") -> None:
    body = (
        f"<rss version='2.0'><channel><title>t</title><item><guid>{guid}</guid><author>ann</author>"
        f"<title>{title}</title><pubDate>{format_datetime(time)}</pubDate></item></channel></rss>"
    )
    weir.log.append([Landed(source=source, arrived=time, body=body.encode())])


def run(weir: Weir) -> None:
    weir.refresh_set()
    LocalRunner(weir.directory, weir.commit).run_available()


def partners(weir: Weir, feed: str) -> list[list[str]]:
    shown = weir.feed_views.feed(feed, 50)
    assert shown is not None
    return [sorted(item.identity for item in entry.partners) for entry in shown.entries]


def windows(weir: Weir) -> WindowState:
    (directory,) = weir.directory.joins.glob("*/windows")
    return WindowStore(directory).load(1 << 40)


def test_windows_are_bounded_by_what_joins_can_reach(weir: Weir) -> None:
    weir.refresh_set()
    runner = LocalRunner(weir.directory, weir.commit)
    for day in range(30):
        land(weir, "B", day, NOON + timedelta(days=day))
        runner.run_available()
    assert windows(weir).items <= 18
    (directory,) = weir.directory.joins.glob("*/windows")
    assert len(list(directory.glob("segments/*.arrow"))) <= 12
    assert len(list(directory.glob("state-*.json"))) == 2


def test_windows_are_bounded_when_every_batch_is_run_by_another_process(weir: Weir) -> None:
    for day in range(30):
        land(weir, "B", day, NOON + timedelta(days=day))
        run(weir)
    assert windows(weir).items <= 18


OTHERS = {
    "nobody": "create feed Other from A where title contains 'x'",
    "a pattern join of the same shard": "B//item[author->a] JOIN{a=b, 1 day} A//item[author->b] PUBLISH Other",
}


@pytest.mark.parametrize("who", OTHERS)
def test_nothing_stays_of_windows_that_are_not_in_use_any_more(weir: Weir, who: str) -> None:
    weir.execute(OTHERS[who])
    land(weir, "B", 1)
    run(weir)
    assert windows(weir).items == 1
    weir.execute("drop feed Near")
    for guid in (2, 3):
        land(weir, "B", guid)
        run(weir)
    assert not list(weir.directory.joins.glob("*/windows/segments/*.arrow"))
    assert not list(weir.directory.joins.glob("*/windows/state-*.json"))


@pytest.mark.parametrize("who", OTHERS)
def test_a_feed_that_was_dropped_and_is_made_again_later_knows_nothing_of_before(
    weir: Weir, who: str
) -> None:
    """Of what came meanwhile nothing was remembered: half a window would be worse than none."""
    near = STATEMENTS.split(";")[2]
    weir.execute(OTHERS[who])
    land(weir, "B", 1)
    run(weir)
    weir.execute("drop feed Near")
    land(weir, "B", 2)
    run(weir)
    weir.execute(near)
    land(weir, "B", 3)
    land(weir, "A", 4)
    run(weir)
    assert partners(weir, "Near") == [["3"]]


def test_a_longer_window_and_another_condition_find_what_is_remembered(weir: Weir) -> None:
    land(weir, "B", 1, title="other")
    land(weir, "B", 2, title="same")
    run(weir)
    weir.execute(
        "create or replace feed Near from A as $a join last 3 days on B as $b with $a[title = window.title]"
    )
    land(weir, "A", 3, NOON + timedelta(days=2), title="same")
    run(weir)
    assert partners(weir, "Near") == [["2"]]


def test_a_condition_on_the_partner_that_is_asked_later_is_asked_of_what_is_remembered(weir: Weir) -> None:
    land(weir, "B", 1, title="other")
    land(weir, "B", 2, title="same")
    run(weir)
    weir.execute(
        """create or replace feed Near from A as $a join last 1 day on B as $b
        with $a[title = window.title or window.title contains 'same']"""
    )
    land(weir, "A", 3, title="t")
    run(weir)
    assert partners(weir, "Near") == [["2"]]


def test_another_feed_changes_nothing_of_what_is_remembered(weir: Weir) -> None:
    land(weir, "B", 1)
    run(weir)
    weir.execute("create feed Other from A as $a where $a[title contains 'x']")
    land(weir, "A", 2)
    run(weir)
    assert partners(weir, "Near") == [["1"]]


def test_a_window_is_found_again_by_a_feed_whose_other_window_is_another(weir: Weir) -> None:
    """Which shard looks after a feed follows from its first window."""
    weir.execute("register feed http://example.org/c as C")
    before, after = (
        f"""create or replace feed Both from A as $a join last 1 day on ({first} as $b) with $a[title = window.title]
            join last 2 items on C as $c with $a[author = window.author and title = window.title]"""
        for first in ("B", "A | B | C")
    )
    for statement in (before, after):
        weir.execute(statement)
        land(weir, "B", 1)
        land(weir, "C", 2)
        land(weir, "C", 3)
        run(weir)
    land(weir, "C", 4)
    land(weir, "A", 5)
    run(weir)
    assert len(list(weir.directory.joins.glob("*/windows"))) == 2
    assert partners(weir, "Both") == [["3", "4"]]


def bounded(monkeypatch: pytest.MonkeyPatch, bounds: JoinBounds) -> None:
    monkeypatch.setattr(
        annotating,
        "compile_annotations",
        lambda queries, **_: compile_annotations(queries, bounds=bounds),
    )


def failures(weir: Weir) -> dict[str, str]:
    return {one.resource: one.reason for one in weir.catalog.failures.latest(kind="feed")}


def test_a_feed_that_finds_too_much_is_named_and_the_others_go_on(
    weir: Weir, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounded(monkeypatch, JoinBounds(max_found=4))
    weir.execute(
        "create feed Newest from A as $a join last 1 items on B as $b with $a[author = window.author]"
    )
    for guid in range(6):
        land(weir, "B", guid)
    land(weir, "A", 7)
    run(weir)
    assert partners(weir, "Near") == []
    assert partners(weir, "Newest") == [["5"]]
    assert list(failures(weir)) == ["Near"]
    assert "too many partners" in failures(weir)["Near"]


def test_a_feed_whose_window_is_cut_is_told(weir: Weir, monkeypatch: pytest.MonkeyPatch) -> None:
    bounded(monkeypatch, JoinBounds(max_documents=3))
    weir.execute(
        "create feed Newest from A as $a join last 2 items on B as $b with $a[author = window.author]"
    )
    for guid in range(5):
        land(weir, "B", guid)
    run(weir)
    land(weir, "A", 7)
    run(weir)
    assert partners(weir, "Near") == [["2", "3", "4"]]
    assert failures(weir) == {"Near": "its window is cut to the last 3 items"}


def test_damaged_windows_stop_nothing(weir: Weir) -> None:
    land(weir, "B", 1)
    run(weir)
    (state,) = weir.directory.joins.glob("*/windows/state-*.json")
    state.write_text("[]")
    land(weir, "B", 2)
    land(weir, "A", 3)
    run(weir)
    assert partners(weir, "Near") == [["2"]]


def test_a_batch_that_is_cut_otherwise_after_a_crash_finds_the_same(weir: Weir) -> None:
    """A process died after its join step and before its batch was published; the next takes more into the batch."""
    weir.execute("create feed Once from distinct last 5 items (A | B)")
    land(weir, "B", 1)
    run(weir)
    land(weir, "B", 2)
    run(weir)
    (weir.directory.batches / f"{2:012d}.json").unlink()
    (weir.directory.batches / "NEWEST").unlink()
    land(weir, "A", 3)
    run(weir)
    assert partners(weir, "Near") == [["1", "2"]]
    assert len(weir.items("Once")) == 1 + 1, "two of one source, and what another tells again"


def test_a_machine_that_was_a_month_ahead_for_a_while_finds_the_same_however_it_is_cut(
    tmp_path: Path,
) -> None:
    found = []
    for size in (1, 4):
        with Weir.open(tmp_path / str(size), clock=lambda: NOON) as weir:
            weir.execute(STATEMENTS)
            weir.refresh_set()
            runner = LocalRunner(weir.directory, weir.commit, max_segments=size)
            land(weir, "B", 1, NOON)
            land(weir, "B", 2, NOON + timedelta(days=30))
            land(weir, "A", 3, NOON + timedelta(hours=1))
            land(weir, "A", 4, NOON + timedelta(days=30))
            runner.run_available()
            found.append(partners(weir, "Near"))
    assert found == [[["2"], ["1", "2"]]] * 2, "what came before it is remembered"


def test_annotations_that_were_written_without_the_keys_of_items_are_read_and_compacted(weir: Weir) -> None:
    land(weir, "B", 1)
    land(weir, "A", 2)
    run(weir)
    for path in weir.directory.root.glob("annotations/*.parquet"):
        replace_sorted(path, open_sorted(path).table().drop_columns(["item", "batch"]))
    assert partners(weir, "Near") == [["1"]]
    table = weir.store.joined.annotation_table(weir.store.manifests())
    assert table.schema == NOTED_SCHEMA
    assert table["item"].to_pylist() == item_keys([("A", "2")]).tolist()
