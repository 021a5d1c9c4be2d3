"""Joins while times jump: dates to come, machines whose clocks were wrong for a while, in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from feedweir.ask.join_outcomes import in_window
from feedweir.items.model import Item
from feedweir.language.defined_names import DefinedNames
from feedweir.pipeline.compaction import compact
from feedweir.plan.nodes import LastItems, TimeSpan
from feedweir.service.installation import Weir
from tests.join.test_join_feeds import START, Entry, Feeds, cut, grouped, items_in, run, told
from tests.naive import elements_of, window_at

HOUR, DAY, MONTH, YEAR = 1, 24, 30 * 24, 365 * 24

STATEMENTS = """
register feed http://example.org/post as Post;
register feed http://example.org/notes as Notes;
create feed Followed from xscl {
    Post//item->x[.//title->a] FOLLOWED BY{a = b, 8 hours} Notes//item->y[.//title->b]
};
create feed Near from xscl { Post//item->x[.//author->a] JOIN{a = b, 2 days} Notes//item->y[.//author->b] };
create feed Long from xscl { Post//item->x[.//author->a] JOIN{a = b, 20 days} Notes//item->y[.//author->b] };
create feed Chain from xscl {
    Post//item->x[.//author->a] JOIN{a = b, 2 days} Notes//item->y[.//author->b]
    FOLLOWED BY{b = c, 3 days} Notes//item->z[.//author->c]
};
create feed Counted from xscl { Post//item->x[.//author->a] JOIN{a = b, 3 items} Notes//item->y[.//author->b] };
create feed Alike from Post as $p join last 2 days on Notes as $n with $p[author = window.author];
create feed Lately from Post as $p join last 3 items on Notes as $n with $p[author = window.author];
create feed Once from distinct last 1 day *;
"""
JOINED = ("Followed", "Near", "Long", "Chain", "Counted", "Alike", "Lately", "Once")


def published(weir: Weir) -> Feeds:
    feeds: Feeds = {}
    for name in JOINED:
        id_ = weir.catalog.feeds.named(name).id
        seqs = sorted(weir.store.seqs(id_).tolist())
        annotations = weir.store.joined.annotations(id_, seqs)
        shown = weir.feed_views.elements(id_, seqs)
        feeds[name] = [(seq, annotations.get(seq, {}), [entry.item for entry in shown[seq]]) for seq in seqs]
    return feeds


def obvious(weir: Weir, items: Sequence[Item]) -> Feeds:
    _, definitions = weir.catalog.feeds.definitions()
    names = DefinedNames(definitions)
    plans = {one.name: plan for one in definitions if (plan := names.plan_of(one.name)) is not None}
    return {name: grouped(elements_of(plans[name], items, plans)) for name in JOINED}


def entry(source: str, hours: int, age: int | None = 0, title: str = "river") -> Entry:
    return Entry(source, title, "ann", 1, hours, age)


entries = st.builds(
    Entry,
    st.sampled_from(["Post", "Notes"]),
    st.sampled_from(["river flood", "river", "music"]),
    st.sampled_from(["ann", "bob"]),
    st.integers(0, 3),
    st.sampled_from([0, HOUR, 5, DAY, 3 * DAY, -DAY, MONTH, -MONTH, -YEAR]),
    st.sampled_from([None, 0, 0, -HOUR, -MONTH, 9 * DAY, YEAR]),
)
histories: st.SearchStrategy[list[Entry]] = st.lists(entries, max_size=40)

DAILY = [entry(("Post", "Notes")[place % 2], DAY) for place in range(16)]
WRONG_FOR_AN_HOUR = [
    entry("Post", 0),
    entry("Notes", HOUR),
    *(entry("Notes", MONTH), entry("Post", HOUR)),
    entry("Notes", -MONTH),
    entry("Post", HOUR),
    entry("Notes", HOUR),
]
WRONG_FOR_WEEKS = [
    *DAILY[:4],
    entry("Post", MONTH),
    *DAILY,
    *DAILY[:8],
    entry("Notes", -MONTH - 3 * DAY),
    *DAILY[:8],
]
OUT_OF_ORDER = [entry("Post", 0), entry("Notes", 5), entry("Post", HOUR, 3)]
SET_BACK_A_YEAR = [*DAILY[:4], entry("Post", -YEAR), entry("Notes", HOUR), entry("Post", YEAR), *DAILY[:12]]


@settings(max_examples=6, deadline=None)
@given(histories)
@example(WRONG_FOR_AN_HOUR)
@example(WRONG_FOR_WEEKS)
@example(SET_BACK_A_YEAR)
@example(OUT_OF_ORDER)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_one_process_joins_what_the_obvious_meaning_says(size: int, history: list[Entry]) -> None:
    with TemporaryDirectory() as directory, Weir.open(directory, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        shown = told(history)
        run(weir, cut(shown[:20], size), is_restarted=size == 7)
        compact(weir.store)
        run(weir, cut(shown[20:], size))
        assert published(weir) == obvious(weir, items_in(weir))


@settings(max_examples=10, deadline=None)
@given(histories)
@example(WRONG_FOR_AN_HOUR)
@example(WRONG_FOR_WEEKS)
@example(SET_BACK_A_YEAR)
@example(OUT_OF_ORDER)
def test_the_logs_tell_what_an_item_met_in_a_window(history: list[Entry]) -> None:
    with TemporaryDirectory() as directory, Weir.open(directory, clock=lambda: START) as weir:
        weir.execute("register feed push://post as Post; register feed push://notes as Notes")
        run(weir, cut(told(history), 7))
        items, notes = items_in(weir), weir.catalog.feeds.named("Notes").id
        under = [item for item in items if item.source == "Notes"]
        for item in items:
            for spec in (TimeSpan(timedelta(days=2)), LastItems(3)):
                met = [other for other in window_at(item, under, spec, items) if other.seq != item.seq]
                assert in_window(weir.store, [notes], item, spec) == len(met)


def test_spark_joins_what_the_obvious_meaning_says(spark: SparkSession, tmp_path: Path) -> None:
    from feedweir.spark.pipeline import start_pipeline

    with Weir.open(tmp_path, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        weir.refresh_set()
        query = start_pipeline(spark, weir.directory, weir.commit, tasks=2)
        try:
            for batch in cut(told([*WRONG_FOR_AN_HOUR, *WRONG_FOR_WEEKS]), 9):
                weir.log.append([shown.landed() for shown in batch])
                query.processAllAvailable()
        finally:
            query.stop()
        assert published(weir) == obvious(weir, items_in(weir))


def pairs(weir: Weir, feed: str) -> list[tuple[str, ...]]:
    """The items of what a feed constructed, by their guids."""
    by_number = {item.seq: item.identity for item in items_in(weir)}
    made = [item.made_of for _, _, shown in published(weir)[feed] for item in shown]
    return [tuple(by_number[seq] for seq in seqs) for seqs in made]


@pytest.fixture
def weir(tmp_path: Path) -> Weir:
    weir = Weir.open(tmp_path, clock=lambda: START)
    weir.execute(STATEMENTS)
    return weir


@pytest.mark.parametrize("ahead", [HOUR, MONTH, 10 * YEAR])
def test_an_item_dated_ahead_ends_no_joins(weir: Weir, ahead: int) -> None:
    with weir:
        run(weir, cut(told([entry("Post", 0), entry("Notes", 0, -ahead), entry("Notes", 1)]), 1))
        assert ("0", "2") in pairs(weir, "Followed")


@pytest.mark.parametrize("ahead", [HOUR, MONTH, 10 * YEAR])
def test_a_machine_that_is_ahead_for_a_while_ends_no_joins(weir: Weir, ahead: int) -> None:
    wrong = [entry("Notes", ahead), *[entry("Notes", HOUR)] * 40, entry("Notes", -ahead - 39)]
    with weir:
        run(weir, cut(told([entry("Post", 0), *wrong, entry("Post", HOUR), entry("Notes", HOUR)]), 1))
        found = pairs(weir, "Followed")
        assert ("0", "42") in found, "what came before is remembered"
        assert ("43", "44") in found, "and what comes after joins"


def test_a_machine_that_was_ahead_for_weeks_joins_again_when_it_is_set_right(weir: Weir) -> None:
    wrong = [entry("Notes", MONTH), *[entry("Notes", DAY)] * 20, entry("Notes", -MONTH - 20 * DAY)]
    with weir:
        run(weir, cut(told([entry("Post", 0), *wrong, entry("Post", HOUR), entry("Notes", HOUR)]), 3))
        found = pairs(weir, "Followed")
        assert ("23", "24") in found
        assert ("0", "22") not in found, "what was forgotten stays so"


def reasons(weir: Weir, feed: str) -> list[str]:
    return [failure.reason for failure in weir.catalog.failures.of("feed", feed)]


def test_what_comes_too_late_for_a_pattern_join_is_told(weir: Weir) -> None:
    with weir:
        weir.execute("create feed Named from Near as $n where $n[title contains 'river']")
        prompt = [entry("Post", 0), entry("Notes", 0)]
        late = [entry("Notes", 0, 30 * DAY), entry("Post", 0, 30 * DAY)]
        run(weir, [told(prompt), told([*prompt, *late, entry("Notes", 0)])[2:]])
        assert pairs(weir, "Near") == [("0", "1"), ("0", "4")]
        assert reasons(weir, "Counted") == []
        for feed in ("Near", "Named"):
            (reason,) = reasons(weir, feed)
            assert reason.startswith("2 items came more than 7 days late")


def test_the_history_that_a_new_source_brings_is_not_late(weir: Weir) -> None:
    posts = [entry("Post", 0), entry("Post", 0, 30 * DAY), entry("Post", 0)]
    shown = told([*posts, entry("Notes", 0, 30 * DAY), entry("Notes", 0, 31 * DAY)])
    with weir:
        run(weir, [shown[:3], shown[3:4]])
        assert reasons(weir, "Near") == []
        run(weir, [shown[4:]])
        (reason,) = reasons(weir, "Near")
        assert reason.startswith("1 item came more than 7 days late")


def test_what_was_forgotten_while_arrivals_were_ahead_is_told_once(weir: Weir) -> None:
    with weir:
        run(weir, cut(told(WRONG_FOR_WEEKS), 3))
        for feed in ("Near", "Alike", "Once"):
            (reason,) = (one for one in reasons(weir, feed) if "arrival" in one)
            assert "went back by" in reason
        assert reasons(weir, "Lately") == []


def test_arrivals_that_go_back_before_anything_is_forgotten_are_nothing_to_tell(weir: Weir) -> None:
    with weir:
        run(weir, cut(told(WRONG_FOR_AN_HOUR), 1))
        assert not weir.catalog.failures.latest(kind="feed")
