"""Feeds with joins: what is published, with which partners, is what the obvious meaning says, however it was cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias
from xml.sax.saxutils import escape

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from feedweir.items.model import Item
from feedweir.items.schema import items_of
from feedweir.join.patterns.rounds import PatternRounds
from feedweir.language.defined_names import DefinedNames
from feedweir.logs.landing import Landed
from feedweir.pipeline.compaction import compact
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir
from tests.naive import Element, annotated, elements_of
from tests.pipeline.test_crashes import Countdown, Crash

START = datetime(2026, 6, 1, tzinfo=UTC)
SOURCES = ("Post", "Crier", "Notes")
WORDS = ("river", "flood", "music", "otter")

STATEMENTS = """
register feed http://example.org/post as Post;
register feed http://example.org/crier as Crier;
register feed http://example.org/notes as Notes;
create feed Alike from Post as $p join last 6 hours on (Crier | Notes) as $w
    with $p[title similar window.title at least 0.5];
create feed Same from (Post | Crier) as $p join last 2 days on Notes as $n with $p[title = window.title];
create feed Linked from * as $p join last 12 hours on * as $w with $p[shares-link window];
create feed Both from (Post | Crier) as $p
    join last 1 day on Notes as $n with $p[title similar window.title at least 0.3]
    join last 3 items on (Crier as $c) with $p[author = window.author or title = window.title]
    where $p[not (title contains 'otter')];
create feed Recent from Notes as $p join last 2 items on Notes as $w with $p[author != window.author];
create feed Wet from Alike as $a where $a[title contains 'river' or title contains 'flood'];
create feed Deeper from (Wet | Same) as $p join last 1 day on Both as $b
    with $p[title similar window.title at least 0.2];
create feed Followed from xscl {
    Post//item->x[.//author->a][.//title->t] FOLLOWED BY{a = b AND t = s, 8 hours}
    Crier//item->y[.//author->b][.//title->s]
};
create feed Near from xscl {
    Post//item->x[.//author->a] JOIN{a = b, 3 items}
    Wet//item->y[.//author->b] FOLLOWED BY{b = c, 2 items}
    Notes//item->z[.//author->c]
};
create feed Shaped from xscl { Notes//item->x[.//title->t] };
create feed Made from xscl {
    SELECT <item><title>{$t} by {$a}</title><by who="{$b}"/></item>
    FROM Post//item->x[.//author->a][.//title->t] JOIN{a = b, 1 day} Crier//item->y[.//author->b]
};
SELECT <note>{$t}</note> FROM Notes//item[.//title->t] PUBLISH Noted;
create feed OfMade from Made as $m where $m[title contains 'river' and path '/item/by'];
create feed AfterMade from xscl {
    SELECT <both>{$w} {$c}</both>
    FROM Made/item[by/@who->w] FOLLOWED BY{w = c, 2 items} Notes//item[author->c]
};
create feed Nested from xscl { Followed/result[item/title->t] JOIN{t = u, 3 days} Noted/note->u };
create feed Elsewhere from Notes as $n join last 2 items on Both as $b with $n[author = window.author];
create feed NearMade from Notes as $n join last 5 items on Made as $m
    with $n[title similar window.title at least 0.1];
create feed Mixed from (Followed | Near | Shaped as $s) as $all
    where $s[title contains 'music'] and $all[not (title contains 'otter')];
"""
JOINED = (
    *("Alike", "Same", "Linked", "Both", "Recent", "Wet", "Deeper", "Followed", "Near", "Shaped", "Mixed"),
    *("Made", "Noted", "OfMade", "AfterMade", "Nested", "Elsewhere", "NearMade"),
)

Partners: TypeAlias = dict[str, tuple[int, ...]]
Feeds: TypeAlias = dict[str, list[tuple[int, Partners, list[Item]]]]
"""By feed, in stream order: the number of every element, its partners, and what it is shown as."""


@dataclass(frozen=True)
class Entry:
    """One item in a document of its own."""

    source: str
    title: str
    author: str
    link: int
    hours: int
    """Since the one before it was landed."""
    age: int | None
    """Hours since it was published; none when it has no date."""


@dataclass(frozen=True)
class Shown:
    entry: Entry
    number: int
    arrived: datetime

    def landed(self) -> Landed:
        return Landed(source=self.entry.source, arrived=self.arrived, body=self.body())

    def body(self) -> bytes:
        entry = self.entry
        date = ""
        if entry.age is not None:
            date = f"<pubDate>{format_datetime(self.arrived - timedelta(hours=entry.age))}</pubDate>"
        return (
            f"<rss version='2.0'><channel><title>t</title><item><guid>{self.number}</guid>"
            f"<title>{escape(entry.title)}</title><author>{entry.author}</author>"
            f"<link>http://example.org/{entry.link}</link>{date}</item></channel></rss>"
        ).encode()


titles = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
entries = st.builds(
    Entry,
    st.sampled_from(SOURCES),
    titles,
    st.sampled_from(["ann", "bob"]),
    st.integers(0, 5),
    st.sampled_from([0, 0, 1, 6, -2, 30]),
    st.sampled_from([None, 0, 3, 20, -4]),
)
histories: st.SearchStrategy[list[Entry]] = st.lists(entries, max_size=20)


def told(history: Sequence[Entry]) -> list[Shown]:
    shown, now = [], START
    for number, entry in enumerate(history):
        now += timedelta(hours=entry.hours)
        shown.append(Shown(entry, number, now))
    return shown


def cut(shown: Sequence[Shown], size: int) -> list[Sequence[Shown]]:
    return [shown[first : first + size] for first in range(0, len(shown), size)]


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
    """What the naive evaluator says of the same items."""
    _, definitions = weir.catalog.feeds.definitions()
    names = DefinedNames(definitions)
    plans = {one.name: plan for one in definitions if (plan := names.plan_of(one.name)) is not None}
    return {name: grouped(elements_of(plans[name], items, plans)) for name in JOINED}


def grouped(elements: Sequence[Element]) -> list[tuple[int, Partners, list[Item]]]:
    """Documents that one item completed stand together, with the partners of all of them."""
    found = []
    for seq, group in groupby(elements, key=lambda element: element.item.seq):
        many = list(group)
        together = Element(many[0].item)
        for identifier, seqs in (pair for element in many for pair in element.annotation):
            together = annotated(together, identifier, seqs)
        found.append((seq, dict(together.annotation), [element.item for element in many]))
    return found


def items_in(weir: Weir) -> list[Item]:
    return list(items_of(weir.store.item_table(weir.store.manifests())))


def run(weir: Weir, batches: Sequence[Sequence[Shown]], *, is_restarted: bool = False) -> None:
    weir.refresh_set()
    runner = LocalRunner(weir.directory, weir.commit, tasks=3)
    for batch in batches:
        weir.log.append([shown.landed() for shown in batch])
        if is_restarted:
            runner = LocalRunner(weir.directory, weir.commit)
        runner.run_available()


FLOOD = [
    Entry("Crier", "river flood", "ann", 1, 0, 0),
    Entry("Notes", "river flood", "ann", 2, 1, 1),
    Entry("Post", "river flood", "ann", 1, 1, None),
    Entry("Crier", "river flood", "ann", 1, 1, 0),
    Entry("Post", "flood", "ann", 5, 0, 0),
    Entry("Post", "river music", "bob", 3, 0, 0),
    Entry("Notes", "music", "ann", 3, 1, 0),
    Entry("Notes", "river music", "bob", 4, 20, 0),
]


EDGES = [
    Entry("Notes", "river", "ann", 1, 0, 0),
    Entry("Post", "river", "ann", 1, 6, 0),
    Entry("Crier", "river", "ann", 1, 8, 0),
    Entry("Crier", "river", "ann", 1, 1, 0),
    Entry("Notes", "river", "bob", 1, -2, 20),
    Entry("Post", "river", "bob", 1, 6, 0),
    Entry("Crier", "river", "bob", 1, 0, 0),
]
"""Times that lie a window's length apart, equal times, a clock that went back."""


@settings(max_examples=4, deadline=None)
@given(histories)
@example(FLOOD)
@example(EDGES)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_one_process_joins_what_the_obvious_meaning_says(size: int, history: list[Entry]) -> None:
    with (
        TemporaryDirectory() as directory,
        Weir.open(directory, clock=lambda: START + timedelta(days=99)) as weir,
    ):
        weir.execute(STATEMENTS)
        run(weir, cut(told(history), size))
        assert published(weir) == obvious(weir, items_in(weir))


def test_every_kind_of_join_finds_partners_in_the_example(tmp_path: Path) -> None:
    with Weir.open(tmp_path, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        run(weir, cut(told(FLOOD), 2))
        feeds = published(weir)
        assert not [name for name in JOINED if not feeds[name]]
        shown = weir.feed_views.feed("Alike", 10)
        assert shown is not None
        partners = [(entry.item.title, [item.title for item in entry.partners]) for entry in shown.entries]
        assert partners == [
            ("flood", ["river flood", "river flood", "river flood"]),
            ("river flood", ["river flood", "river flood"]),
        ]


@settings(max_examples=3, deadline=None)
@given(histories)
@example(FLOOD)
def test_a_new_process_and_compaction_change_nothing(history: list[Entry]) -> None:
    with TemporaryDirectory() as directory, Weir.open(directory, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        shown = told(history)
        run(weir, cut(shown[:10], 1), is_restarted=True)
        compact(weir.store)
        run(weir, cut(shown[10:], 3))
        compact(weir.store)
        assert published(weir) == obvious(weir, items_in(weir))
        logged = weir.store.element_table(weir.store.manifests()).column("feed").to_pylist()
        assert all(feed >= 0 for feed in logged), "what only joins read is not for the log"
        assert not list(weir.directory.witnesses.glob("*.arrow"))


def test_a_window_keeps_what_it_has_when_the_query_around_it_is_edited(tmp_path: Path) -> None:
    with Weir.open(tmp_path, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        run(weir, cut(told(FLOOD[:2]), 1))
        weir.execute(
            "create or replace feed Same from Post as $p join last 2 days on Notes as $n"
            " with $p[title = window.title and author = window.author]"
        )
        run(weir, [told(FLOOD)[2:3]])
        assert [item.title for item in weir.items("Same")] == ["river flood"]


def test_spark_joins_what_the_obvious_meaning_says(spark: SparkSession, tmp_path: Path) -> None:
    from feedweir.spark.pipeline import start_pipeline

    with Weir.open(tmp_path, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        weir.refresh_set()
        query = start_pipeline(spark, weir.directory, weir.commit, tasks=2)
        try:
            for batch in cut(told(FLOOD + FLOOD), 5):
                weir.log.append([shown.landed() for shown in batch])
                query.processAllAvailable()
        finally:
            query.stop()
        assert published(weir) == obvious(weir, items_in(weir))


def test_a_crash_at_any_rename_joins_nothing_twice_and_forgets_nothing(tmp_path: Path) -> None:
    shown = told([*FLOOD, *EDGES])
    for left in (2, 11, 24, 37):
        directory = tmp_path / str(left)
        with Weir.open(directory, clock=lambda: START) as weir:
            weir.execute(STATEMENTS)
        with pytest.MonkeyPatch.context() as patch:
            countdown = Countdown(patch)
            countdown.left, countdown.happens_first = left, left % 2 == 0
            try:
                _run_from_files(directory, shown)
            except Crash:
                _run_from_files(directory, shown)
        with Weir.open(directory, clock=lambda: START) as weir:
            assert published(weir) == obvious(weir, items_in(weir))
            assert len(items_in(weir)) == len(shown)


def _run_from_files(directory: Path, shown: Sequence[Shown]) -> None:
    with Weir.open(directory, clock=lambda: START) as weir:
        weir.run()
        run(weir, cut(shown, 3)[weir.log.latest() :])
        compact(weir.store)


def test_a_join_that_fails_is_named_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> None:
        raise MemoryError("too many ways")

    monkeypatch.setattr(PatternRounds, "step", broken)
    monkeypatch.setattr(PatternRounds, "step_stored", broken)
    with Weir.open(tmp_path, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        run(weir, cut(told(FLOOD), 4))
        feeds = published(weir)
        assert feeds["Alike"]
        assert not feeds["Followed"]
        failing = {failure.resource for failure in weir.catalog.failures.latest(kind="feed")}
        assert failing == {"Followed", "Near", "Mixed", "Made", "OfMade", "AfterMade", "Nested", "NearMade"}


def other_bytes(whole: bytes) -> bytes:
    """Names are made up anew each time, so that no byte is in all of them."""
    return whole.replace(whole[len(whole) // 2 :][:1], b"~")


def test_damaged_joins_are_compiled_again(tmp_path: Path) -> None:
    with Weir.open(tmp_path, clock=lambda: START) as weir:
        weir.execute(STATEMENTS)
        weir.refresh_set()
        for pattern in ("*.joins/*.json", "joins/*/plans.arrow", "joins/*/*.arrays", "joins/*/manifest.json"):
            for damage in (lambda whole: whole[:-1], other_bytes, None):
                path = sorted(weir.directory.sets.glob(pattern))[0]
                path.unlink() if damage is None else path.write_bytes(damage(path.read_bytes()))
                assert weir.repair_set()
                assert not weir.repair_set()
