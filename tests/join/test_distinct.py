"""`distinct`: one element for each story, with all that told it, and the same however the stream was cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from feedweir.ask.why import Clause
from feedweir.items.schema import items_of
from feedweir.language import format_statement, parse
from feedweir.language.defined_names import DefinedNames
from feedweir.logs.landing import Landed
from feedweir.pipeline.compaction import compact
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.plan.nodes import Node
from feedweir.service.installation import Weir
from tests.naive import as_read, elements_of

START = datetime(2026, 6, 1, tzinfo=UTC)
STATEMENTS = """
register feed http://example.org/post as Post;
register feed http://example.org/crier as Crier;
register feed http://example.org/notes as Notes;
create feed Once from distinct (Post | Crier | Notes);
create feed Brief from distinct last 5 hours (Post | Crier) as $s where $s[title contains 'river'];
create feed Few from distinct last 2 items (* as $a) where $a[not (title contains 'otter')];
create feed Alone from distinct Notes;
create feed Over from (Once | Brief) as $o where $o[title contains 'river' or title contains 'music'];
create feed Twice from distinct (Once | Notes);
create feed Joined from Once as $o join last 1 day on Brief as $b with $o[title similar window.title at least 0.2];
"""
FEEDS = ("Once", "Brief", "Few", "Alone", "Over", "Twice", "Joined")
SOURCES = ("Post", "Crier", "Notes")
WORDS = ("river", "flood", "music", "otter")

Feeds: TypeAlias = dict[str, list[tuple[int, dict[str, tuple[int, ...]]]]]


@dataclass(frozen=True)
class StoryPairs:
    """One item in a document of its own."""

    source: str
    guid: int
    title: str
    link: str
    hours: int
    published: int | None = None
    """So many hours after the start, as the item says."""

    def body(self) -> bytes:
        return (
            f"<rss version='2.0'><channel><title>t</title><item><guid>{self.guid}</guid>"
            f"<title>{self.title}</title><link>{self.link}</link>{self._date()}</item></channel></rss>"
        ).encode()

    def _date(self) -> str:
        if self.published is None:
            return ""
        return f"<pubDate>{format_datetime(START + timedelta(hours=self.published))}</pubDate>"


links = st.builds(
    "{}/{}{}".format,
    st.sampled_from(["http://a.example", "https://www.a.example"]),
    st.integers(0, 3),
    st.sampled_from(["", "/", "?utm_source=x", "#top"]),
)
titles = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
items = st.builds(
    StoryPairs,
    st.sampled_from(SOURCES),
    st.integers(0, 9),
    titles,
    links | st.integers(0, 99).map("http://b.example/{}".format),
    st.sampled_from([0, 0, 1, 4, -2, 30]),
    st.sampled_from([None, None, 0, 3, -600, -640, -2000]),
)


def run(weir: Weir, history: Sequence[StoryPairs], size: int, start: datetime = START) -> datetime:
    weir.refresh_set()
    runner = LocalRunner(weir.directory, weir.commit, tasks=2)
    now = start
    for first in range(0, len(history), size):
        landed = []
        for told in history[first : first + size]:
            now += timedelta(hours=told.hours)
            landed.append(Landed(source=told.source, arrived=now, body=told.body()))
        weir.log.append(landed)
        runner.run_available()
    return now


def published(weir: Weir) -> Feeds:
    feeds: Feeds = {}
    for name in FEEDS:
        id_ = weir.catalog.feeds.named(name).id
        seqs = sorted(weir.store.seqs(id_).tolist())
        annotations = weir.store.joined.annotations(id_, seqs)
        feeds[name] = [(seq, annotations.get(seq, {})) for seq in seqs]
    return feeds


def obvious(weir: Weir) -> Feeds:
    plans = plans_of(weir)
    stream = list(items_of(weir.store.item_table(weir.store.manifests())))
    return {
        name: [(e.item.seq, dict(e.annotation)) for e in elements_of(plans[name], stream, plans)]
        for name in FEEDS
    }


Read: TypeAlias = dict[str, list[tuple[int, dict[str, list[int]]]]]


def read(weir: Weir) -> Read:
    """Feeds as readers see them; in which order partners stand does not matter."""
    feeds: Read = {}
    for name in FEEDS:
        shown = weir.feed_views.feed(name, 1_000)
        assert shown is not None
        feeds[name] = [
            (entry.item.seq, {join: sorted(one.seq for one in found) for join, found in entry.annotation})
            for entry in shown.entries
        ]
    return feeds


def obviously_read(weir: Weir) -> Read:
    plans = plans_of(weir)
    stream = list(items_of(weir.store.item_table(weir.store.manifests())))
    return {
        name: [
            (e.item.seq, {join: sorted(seqs) for join, seqs in e.annotation})
            for e in as_read(elements_of(plans[name], stream, plans), stream)
        ]
        for name in FEEDS
    }


def plans_of(weir: Weir) -> dict[str, Node]:
    _, definitions = weir.catalog.feeds.definitions()
    names = DefinedNames(definitions)
    return {one.name: plan for one in definitions if (plan := names.plan_of(one.name)) is not None}


STORY = [
    StoryPairs("Post", 1, "river flood tonight", "http://a.example/1", 0),
    StoryPairs("Crier", 2, "the crier on floods", "https://www.a.example/1?utm_source=x", 1),
    StoryPairs("Notes", 3, "river flood tonight", "http://b.example/7", 1),
    StoryPairs("Post", 1, "river flood tonight updated", "http://a.example/1", 1),
    StoryPairs("Post", 4, "river flood tonight", "http://b.example/8", 1),
    StoryPairs("Crier", 5, "river flood tonight", "http://b.example/9", 200),
]
SERIES = [
    StoryPairs("Post", 1, "music on the river at noon", "http://a.example/1", 0),
    StoryPairs("Post", 2, "music on the river at dawn", "http://a.example/2", 1),
    StoryPairs("Post", 3, "music on the river at dusk", "http://a.example/3", 1),
    StoryPairs("Crier", 1, "music on the river at dawn", "http://b.example/1", 2),
    StoryPairs("Crier", 2, "music on the river at dusk", "http://b.example/2", 2),
    StoryPairs("Notes", 1, "music on the river at dusk", "http://a.example/1", 2),
]
"""Much alike, and yet three stories; the last names the first by its link."""


@settings(max_examples=6, deadline=None)
@given(st.lists(items, max_size=12))
@example(STORY)
@example(SERIES)
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_one_process_tells_each_story_once_as_the_obvious_meaning_says(
    size: int, history: list[StoryPairs]
) -> None:
    with TemporaryDirectory() as directory, Weir.open(directory, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        now = run(weir, history[:6], size)
        compact(weir.store)
        run(weir, history[6:], size, now)
        assert published(weir) == obvious(weir)
        assert read(weir) == obviously_read(weir)


def test_a_story_lists_all_its_sources_also_those_that_told_it_later(tmp_path: Path) -> None:
    with Weir.open(tmp_path, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        run(weir, [told for told in STORY if "updated" not in told.title], 1)
        shown = weir.feed_views.feed("Once", 10)
        assert shown is not None
        told = [
            (entry.item.source, entry.item.identity, sorted(item.source for item in entry.partners))
            for entry in shown.entries
        ]
    # The second of the Post is no story told again, but another item of the same source; the last came after a week.
    assert told == [("Crier", "5", []), ("Post", "4", []), ("Post", "1", ["Crier", "Notes"])]


@pytest.mark.parametrize("size", [1, 6])
def test_what_tells_a_story_again_is_listed_with_the_one_it_is_most_like(tmp_path: Path, size: int) -> None:
    with Weir.open(tmp_path, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        run(weir, SERIES, size)
        shown = weir.feed_views.feed("Once", 10)
        assert shown is not None
        told = [(e.item.identity, [(one.source, one.identity) for one in e.partners]) for e in shown.entries]
    assert told == [("3", [("Crier", "2")]), ("2", [("Crier", "1")]), ("1", [("Notes", "1")])]


def test_what_was_published_long_before_it_came_is_compared_by_its_date(tmp_path: Path) -> None:
    old = [
        StoryPairs("Post", 1, "river flood tonight", "http://a.example/1", 0, -900),
        StoryPairs("Crier", 2, "a river flood tonight", "http://b.example/2", 1, -890),
        StoryPairs("Notes", 3, "river flood tonight", "http://b.example/3", 1, -600),
    ]
    with Weir.open(tmp_path, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        run(weir, old, 1)
        shown = weir.feed_views.feed("Once", 10)
        assert shown is not None
        told = [(e.item.source, [one.source for one in e.partners]) for e in shown.entries]
    assert told == [("Notes", []), ("Post", ["Crier"])]


def test_a_threshold_says_how_much_of_a_story_must_be_alike(tmp_path: Path) -> None:
    with Weir.open(tmp_path, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        weir.execute("create feed Sure from distinct at least 95 % (Post | Crier | Notes);")
        reworded = StoryPairs("Crier", 2, "river floods old town tonight", "http://b.example/2", 1)
        run(
            weir, [StoryPairs("Post", 1, "river flood in town tonight", "http://a.example/1", 0), reworded], 1
        )
        counts = [len(weir.store.seqs(weir.catalog.feeds.named(name).id)) for name in ("Once", "Sure")]
    assert counts == [1, 2]


EDITED = [
    StoryPairs("Post", 1, "river flood tonight", "http://a.example/1", 0),
    StoryPairs("Crier", 2, "the crier on floods", "http://a.example/1", 1),
    StoryPairs("Post", 1, "river flood tonight (corrected)", "http://a.example/1", 200),
    StoryPairs("Notes", 3, "river flood", "http://a.example/1", 1),
    StoryPairs("Notes", 3, "river flood, a note", "http://a.example/1", 1),
    *(
        StoryPairs("Crier", 10 + number, f"otter {number}", f"http://b.example/{number}", 0)
        for number in range(30)
    ),
]
"""The first teller is edited after a week, when its first wording is out of the window; then a later one is."""


def test_an_edit_of_its_first_teller_takes_no_source_from_a_story(tmp_path: Path) -> None:
    with Weir.open(tmp_path, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        run(weir, EDITED, 1)
        compact(weir.store)
        shown = weir.feed_views.feed("Once", 100)
        once = weir.catalog.feeds.named("Once").id
        ((_, mine),) = [
            (seq, entries)
            for seq, entries in weir.feed_views.elements(once, weir.store.seqs(once).tolist()).items()
            if entries[0].item.title == "river flood tonight"
        ]
        assert shown is not None
        assert read(weir) == obviously_read(weir)
    (story,) = [entry for entry in shown.entries if entry.item.identity == "1"]
    assert story.item.title == "river flood tonight (corrected)"
    told = [(item.source, item.title) for item in story.partners]
    assert told == [("Crier", "the crier on floods"), ("Notes", "river flood, a note")]
    assert mine[0].partners == story.partners, "what was to be sent of the first wording has them, too"


def test_spark_tells_each_story_once(spark: SparkSession, tmp_path: Path) -> None:
    from feedweir.spark.pipeline import start_pipeline

    with Weir.open(tmp_path, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        weir.refresh_set()
        query = start_pipeline(spark, weir.directory, weir.commit, tasks=2)
        try:
            for first in range(0, len(STORY), 2):
                two = STORY[first : first + 2]
                weir.log.append([Landed(source=t.source, arrived=START, body=t.body()) for t in two])
                query.processAllAvailable()
        finally:
            query.stop()
        assert published(weir) == obvious(weir)


@pytest.mark.parametrize(
    "text",
    [
        "create feed N from distinct (A | B);",
        "create feed N from distinct (A);",
        "create feed N from distinct at least 60 % (A | B);",
        "create feed N from distinct at least 0.875 last 2 days A;",
        "create feed N from distinct last 3 days (A | B) as $x where $x[title contains 'x'];",
        "create feed N from distinct (A as $a | B) | C where $a[title contains 'x'];",
        "create feed N from (distinct (A)) as $x where $x[title contains 'x'];",
        "create feed N from distinct (distinct last 5 items (A) | B);",
        "create feed N from distinct;",
        "create feed N from distinct | A;",
    ],
)
def test_what_is_written_is_what_is_read(text: str) -> None:
    (statement,) = parse(text)
    (again,) = parse(format_statement(statement))
    assert again == statement


def test_one_feed_needs_no_brackets_and_a_feed_may_be_called_distinct() -> None:
    assert parse("create feed N from distinct A") == parse("create feed N from distinct (A)")
    (statement,) = parse("create feed N from distinct")
    assert format_statement(statement).split() == "create feed N from distinct;".rstrip(";").split()


def test_a_reason_names_the_item_that_told_the_story_first(tmp_path: Path) -> None:
    with Weir.open(tmp_path) as weir:
        weir.execute(STATEMENTS)
        link = "http://a.example/1"
        run(weir, [StoryPairs(source, 1, "river flood", link, 1) for source in ("Post", "Crier", "Notes")], 1)
        first, again, later = sorted(
            items_of(weir.store.item_table(weir.store.manifests())), key=lambda i: i.seq
        )
        assert weir.ask.why(first.seq, "Once").holds
        for repeat in (again, later):
            told = weir.ask.why(repeat.seq, "Once")
            assert not told.holds
            notes = [clause.note for clause in clauses(told) if clause.text.startswith("δ")]
            assert notes == [f"item {first.seq} of Post told the same story before: 'river flood'"]


def clauses(clause: Clause) -> Iterator[Clause]:
    yield clause
    for part in clause.parts:
        yield from clauses(part)
