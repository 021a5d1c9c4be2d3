"""Whether statements make sense among the names that exist."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.errors import LanguageError
from feedweir.language import check, feeds_used, parse
from feedweir.language.queries import Group, Named, Query
from feedweir.language.statements import Ask, CreateFeed, RegisterFeed
from tests.plan.made import World


class Catalog(World):
    """Names, of which some sources are made from feeds."""

    def __init__(
        self, queries: dict[str, Query], sources: tuple[str, ...], made: dict[str, str] | None = None
    ) -> None:
        super().__init__(queries, sources)
        self.made = made or {}

    def made_from(self, name: str) -> str:
        return self.made.get(name, "")

    def made_sources(self) -> list[str]:
        return sorted(self.made)


def query_of(text: str) -> Query:
    (asked,) = parse(text)
    assert isinstance(asked, Ask)
    return asked.query


def catalog() -> Catalog:
    return Catalog({"V": query_of("from A"), "W": query_of("from V | B")}, ("A", "B", "Made"), {"Made": "V"})


SENSIBLE = [
    "from A",
    "from *",
    "create feed N from A | V | *",
    "create or replace feed V from B",
    "create feed N from A as $a join last 3 days on W as $w with $a[similar window] where $w[true] and $a[true]",
    "from xscl { A//a->x JOIN{x=y, 3 days} V//b->y }",
    "alter feed V from B",
    "alter feed A every hour, hub http://hub/",
    "alter feed A no every",
    "alter feed V rename to U, pause",
    "register feed http://x.y as N",
    "register feed W as N",
    "subscribe to W output mail 'a@b.c'",
    "describe V",
    "describe subscription nobody",
    "drop feed nobody",
    "show feeds",
    "explain from W",
    "explain create feed N from W",
    "explain plan",
    "explain plan A",
    "explain joins",
    "explain joins A",
]


@pytest.mark.parametrize("text", SENSIBLE)
def test_what_makes_sense_is_not_refused(text: str) -> None:
    check(parse(text)[0], catalog())


@pytest.mark.parametrize(
    ("text", "message", "marked"),
    [
        ("from Nobody", "there is no feed `Nobody`", "Nobody"),
        ("from A | (B | Nobody)", "there is no feed `Nobody`", "Nobody"),
        ("from 'No body'", "there is no feed `No body`", "'No body'"),
        ("from A join last 3 days on Nobody with [similar window]", "there is no feed `Nobody`", "Nobody"),
        ("from xscl { A//a->x JOIN{x=y, 3 days} Nobody//b->y }", "there is no feed `Nobody`", "Nobody"),
        ("create feed A from B", "`A` is already the name of a source", "A"),
        ("create or replace feed A from B", "`A` is already the name of a source", "A"),
        ("create feed V from V", "`V` would read itself: V → V", "V"),
        ("create or replace feed V from W", "`V` would read itself: V → W → V", "W"),
        ("create or replace feed V from *", "`V` would read itself: V → * → Made → V", "*"),
        ("alter feed V from W", "`V` would read itself: V → W → V", "W"),
        ("register feed Everything as X", "there is no feed `Everything`", "Everything"),
        ("subscribe to Nobody output stream", "there is no feed `Nobody`", "Nobody"),
        ("describe Nobody", "there is no feed `Nobody`", "Nobody"),
        ("alter feed Nobody pause", "there is no feed `Nobody`", "Nobody"),
        ("alter feed V every hour", "`V` is a virtual feed and is not fetched", "V"),
        ("alter feed V no id", "`V` is a virtual feed and is not fetched", "V"),
        ("alter feed A from B", "`A` is a source and has no query", "A"),
        ("explain from Nobody", "there is no feed `Nobody`", "Nobody"),
        ("explain plan Nobody", "there is no feed `Nobody`", "Nobody"),
        ("explain plan V", "`V` is a virtual feed; only sources have filter plans", "V"),
        ("from A as $a | B as $a", "`$a` is used twice", "$a"),
        ("from A where $a[true]", "`$a` is not a variable of this query", "$a"),
        ("from A as $a where $b[true]", "`$b` is not a variable of this query", "$b"),
        (
            "from A join last 3 days on B as $b with $b[similar window]",
            "`$b` is not a variable of this query",
            "$b",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_where_it_is_said(text: str, message: str, marked: str) -> None:
    with pytest.raises(LanguageError) as caught:
        check(parse(text)[0], catalog())
    assert caught.value.message == message
    assert text[caught.value.offset :].startswith(marked)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("from Mde", "did you mean `Made`?"),
        ("from Elsewhere", "register feed URL as Elsewhere"),
        ("from A as $main where $mian[true]", "did you mean `$main`?"),
        ("from A as $a where $z[true]", "known here: $a"),
        ("from A where $z[true]", "name a part of it with `as`"),
        ("alter feed V url http://x.y", "change its query: alter feed V from …"),
        ("explain plan V", "explain feed V"),
    ],
)
def test_a_refusal_says_what_to_do(text: str, hint: str) -> None:
    with pytest.raises(LanguageError) as caught:
        check(parse(text)[0], catalog())
    assert caught.value.hint == hint


def test_a_statement_that_was_not_written_is_refused_without_a_place() -> None:
    with pytest.raises(LanguageError) as caught:
        check(CreateFeed("N", Query(Named("Nobody"))), catalog())
    assert (caught.value.message, caught.value.text) == ("there is no feed `Nobody`", "")


def test_the_new_name_of_a_feed_is_not_marked_where_it_reads_another_of_that_name() -> None:
    text = "create feed Once from A; create feed Once from A | Once"
    with pytest.raises(LanguageError) as caught:
        check(parse(text)[1], Catalog({}, ("A",)))
    assert caught.value.offset == text.rindex("Once")


@st.composite
def worlds(draw: st.DrawFn) -> tuple[dict[str, list[str]], dict[str, str]]:
    """What feeds read, without cycles: each reads sources and feeds that come before it."""
    names = [f"F{number}" for number in range(draw(st.integers(1, 6)))]
    made: dict[str, str] = {}
    reads: dict[str, list[str]] = {}
    for number, name in enumerate(names):
        below = ["A", *names[:number], *made]
        reads[name] = draw(st.lists(st.sampled_from(below), min_size=1, max_size=3))
        if draw(st.booleans()):
            made[f"M{number}"] = name
    return reads, made


def reached(start: list[str], reads: dict[str, list[str]], made: dict[str, str]) -> set[str]:
    """Everything below some names: the whole closure, again and again."""
    found = set(start)
    while True:
        more = {below for name in found for below in reads.get(name, [])}
        more |= {made[name] for name in found if name in made}
        more |= set(made) if "*" in found else set()
        if more <= found:
            return found
        found |= more


def union(names: list[str]) -> Query:
    members = tuple(Named(name) for name in names)
    return Query(Group(members) if len(members) > 1 else members[0])


@given(worlds(), st.data())
@settings(max_examples=150, deadline=None)
def test_a_change_is_refused_exactly_when_a_feed_would_read_itself(
    world: tuple[dict[str, list[str]], dict[str, str]], data: st.DataObject
) -> None:
    reads, made = world
    known = Catalog({name: union(below) for name, below in reads.items()}, ("A", *made), made)
    name = data.draw(st.sampled_from(sorted(reads)))
    wanted = data.draw(st.lists(st.sampled_from(["A", "*", *reads, *made]), min_size=1, max_size=3))
    rest = {other: below for other, below in reads.items() if other != name}
    statement = CreateFeed(name, union(wanted), or_replace=True)
    if name in reached(wanted, rest, made):
        with pytest.raises(LanguageError, match="would read itself"):
            check(statement, known)
    else:
        check(statement, known)


@given(worlds(), st.data())
@settings(max_examples=80, deadline=None)
def test_a_source_made_from_a_feed_is_refused_when_the_feed_reads_every_source(
    world: tuple[dict[str, list[str]], dict[str, str]], data: st.DataObject
) -> None:
    reads, made = world
    reads["F0"] = [*reads["F0"], *data.draw(st.sampled_from([[], ["*"]]))]
    made = {source: feed for source, feed in made.items() if "F0" not in reached([feed], reads, {})}
    known = Catalog({name: union(below) for name, below in reads.items()}, ("A", *made), made)
    feed = data.draw(st.sampled_from(sorted(reads)))
    statement = RegisterFeed("New", feed=feed)
    if "*" in reached([feed], reads, made):
        with pytest.raises(LanguageError, match="`New` would read itself"):
            check(statement, known)
    else:
        check(statement, known)


def test_the_feeds_of_a_query_are_named_once_in_order() -> None:
    joins = "join last 3 days on C with [similar window] join last 1 day on B with [similar window]"
    text = f"from A | (B as $b | A) {joins}"
    assert feeds_used(query_of(text)) == ("A", "B", "C")
