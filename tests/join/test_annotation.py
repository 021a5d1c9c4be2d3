from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from feedweir.errors import CompiledSetError
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.join.ragged import Ragged
from feedweir.join.window_bounds import JoinBounds, microseconds
from feedweir.join.windows.annotation_batch import AnnotationBatch
from feedweir.join.windows.annotation_logic import AnnotationLogic
from feedweir.join.windows.annotation_set import AnnotationQuery, AnnotationSet, compile_annotations
from feedweir.join.windows.features import Feature, compared_of
from feedweir.join.windows.relations import finders
from feedweir.join.windows.window_state import WindowState
from feedweir.join.windows.window_store import WindowStore
from feedweir.plan.nodes import AnnotationJoin, LastItems, Source, TimeSpan, Window
from feedweir.plan.predicates import (
    Compare,
    Contains,
    JoinAnd,
    JoinNot,
    JoinOr,
    JoinPredicate,
    Not,
    OfItem,
    OfWindow,
    Relates,
    SharesLink,
    Term,
)
from tests.naive import elements_of

EPOCH = datetime(2020, 1, 1, tzinfo=UTC)
TITLES = ("red river", "red river flows", "Blue  sea", "blue sea", "")
STREAMS = {-7: "a", -3: "b"}
LINKS = ("http://a.org/x", "https://www.a.org/x/", "http://b.org", "http://a.org")

atoms = st.sampled_from(
    (
        Relates("title", "=", "title"),
        Relates("title", "!=", "title"),
        Relates("title", "similar", "title", 0.6),
        Relates("title", "similar", "summary", 0.3),
        Relates(None, "similar", None, 0.5),
        Relates(None, "shares-link", None),
        Relates("category", "=", "category"),
        Relates("published", "<", "published"),
        Relates("published", ">=", "published"),
        Relates("title", "<=", "title"),
        Relates("published", "=", "published"),
        Relates("title", "contains", "summary"),
        Relates(None, "contains", "category"),
        Relates("title", "contained in", "title"),
        Relates("links", "extends", "links"),
        Relates(None, "extended by", "link"),
        OfItem(Contains("title", (Term("red"),), 1)),
        OfWindow(Compare("category", "=", "x")),
        OfWindow(Not(SharesLink(None, LINKS[:1]))),
    )
)
predicates: st.SearchStrategy[JoinPredicate] = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: JoinAnd(tuple(parts))),
        st.lists(inner, max_size=3).map(lambda parts: JoinOr(tuple(parts))),
        inner.map(JoinNot),
    ),
    max_leaves=4,
)
windows = st.one_of(
    st.sampled_from((1, 3, 100)).map(lambda hours: TimeSpan(timedelta(hours=hours))),
    st.sampled_from((1, 2, 5)).map(LastItems),
)


@st.composite
def queries(draw: st.DrawFn) -> list[AnnotationQuery]:
    source = st.sampled_from(sorted(STREAMS))
    chosen = draw(st.lists(predicates, min_size=1, max_size=2))
    return [
        AnnotationQuery(number, draw(source), draw(source), draw(windows), draw(st.sampled_from(chosen)))
        for number in range(draw(st.integers(1, 4)))
    ]


@st.composite
def streams(draw: st.DrawFn) -> list[Item]:
    items = []
    for place in range(draw(st.integers(1, 12))):
        hours = draw(st.sampled_from((place, place, max(place - 4, 0), None)))
        items.append(
            Item(
                source=draw(st.sampled_from(("a", "b"))),
                identity=str(place),
                seq=1000 + 3 * place,
                title=draw(st.sampled_from(TITLES)),
                summary=draw(st.sampled_from(("<b>red</b>", "sea blue", ""))),
                links=tuple(draw(st.lists(st.sampled_from(LINKS), max_size=2, unique=True))),
                categories=tuple(draw(st.lists(st.sampled_from(("X", "y", "x")), max_size=2))),
                published=None if hours is None else EPOCH + timedelta(hours=hours),
                arrived=EPOCH + timedelta(hours=place),
            )
        )
    return items


def obvious(chosen: list[AnnotationQuery], items: list[Item]) -> set[tuple[int, int, int]]:
    """What the naive evaluator of the whole language says."""
    return {
        (query.key, element.item.seq, partner)
        for query in chosen
        for element in elements_of(as_plan(query), items)
        for _, partners in element.annotation
        for partner in partners
    }


def as_plan(query: AnnotationQuery) -> AnnotationJoin:
    window = Window(Source(STREAMS[query.window]), query.spec)
    return AnnotationJoin("j", Source(STREAMS[query.primary]), window, query.predicate)


def documents_of(items: list[Item], joins: AnnotationSet, clock: int) -> AnnotationBatch:
    times = np.array([_us(one.time) for one in items], np.int64)
    rows = {
        key: np.array([row for row, one in enumerate(items) if one.source == name], np.int64)
        for key, name in STREAMS.items()
    }
    return AnnotationBatch(
        np.array([one.seq for one in items], np.int64),
        times,
        np.array([_us(one.arrived) for one in items], np.int64),
        np.maximum(np.maximum.accumulate(times), clock),
        np.zeros(len(items), np.bool_),
        {feature: compared_of(feature, batch_of(items)) for feature in joins.features},
        rows,
    )


def _us(moment: datetime) -> int:
    return microseconds(moment - datetime(1970, 1, 1, tzinfo=UTC))


def nothing_to_add(seqs: object, features: tuple[Feature, ...]) -> dict[Feature, Ragged]:
    raise AssertionError(f"nothing is missing, but {features} of {seqs} was asked for")


def found(
    chosen: list[AnnotationQuery], items: list[Item], cut: int, lateness: timedelta, restart: bool
) -> list[tuple[int, int, int]]:
    joins = compile_annotations(chosen, bounds=JoinBounds(lateness=lateness))
    assert not joins.failures
    logic = AnnotationLogic(joins)
    state = WindowState()
    rows: list[tuple[int, int, int]] = []
    with TemporaryDirectory() as directory:
        store = WindowStore(Path(directory))
        for start in range(0, len(items), cut):
            batch = documents_of(items[start : start + cut], joins, state.clock)
            logic.resume(state, nothing_to_add)
            annotations = logic.stage(0, batch).annotations
            state = logic.after(batch, int(batch.clock_us[-1]))
            columns = (annotations.key, batch.seq[annotations.row], annotations.partner)
            rows += list(zip(*(column.tolist() for column in columns), strict=True))
            if restart:
                store.save(start, state, before=start - cut)
                logic, state = AnnotationLogic(joins), store.load(start + 1)
    return rows


@settings(max_examples=150, deadline=None)
@given(queries(), streams(), st.sampled_from((timedelta(0), timedelta(hours=2))), st.booleans())
def test_annotation_joins_find_what_the_obvious_meaning_says_however_the_stream_is_cut(
    chosen: list[AnnotationQuery], items: list[Item], lateness: timedelta, restart: bool
) -> None:
    expected = obvious(chosen, items)
    for cut in (1, 7, 1000):
        rows = found(chosen, items, cut, lateness, restart)
        assert set(rows) == expected
        assert len(rows) == len(set(rows))


def test_a_conjunction_is_found_by_equality_rather_than_similarity() -> None:
    similar, equal = Relates("title", "similar", "title", 0.5), Relates("category", "=", "category")
    assert finders(JoinAnd((similar, equal))) == (equal,)
    assert finders(JoinOr((similar, equal))) == (similar, equal)
    assert finders(JoinNot(JoinOr((JoinNot(similar), equal)))) == (similar,)
    assert finders(JoinNot(equal)) is None


@pytest.mark.parametrize(
    ("atom", "message"),
    [
        (Relates("nothing", "=", "title"), "no attribute nothing"),
        (Relates(None, "=", "title"), "needs an attribute"),
        (Relates("title", "shares-link", "links"), "title is not a link"),
        (Relates("title", "similar", "title", 0.0), "0.0 is not a similarity"),
    ],
)
def test_a_join_that_cannot_be_used_is_a_failure_of_its_own(atom: Relates, message: str) -> None:
    good = AnnotationQuery(1, -7, -3, LastItems(3), Relates("title", "=", "title"))
    bad = AnnotationQuery(2, -7, -3, LastItems(3), atom)
    joins = compile_annotations([bad, good])
    assert message in str(joins.failures[2])
    assert [group.keys.tolist() for group in joins.stages[0]] == [[1]]


def test_an_annotation_join_without_a_window_is_refused() -> None:
    query = AnnotationQuery(1, -7, -3, None, Relates("title", "=", "title"))  # type: ignore[arg-type]
    assert "needs a window" in str(compile_annotations([query]).failures[1])


def hourly(numbers: range, source: str = "a") -> list[Item]:
    return [
        Item(
            source=source,
            identity=str(n),
            seq=n,
            title="t",
            published=EPOCH + timedelta(hours=n),
            arrived=EPOCH + timedelta(hours=n),
        )
        for n in numbers
    ]


def test_state_is_bounded_by_the_longest_window_over_each_stream() -> None:
    equal = Relates("title", "=", "title")
    chosen = [
        AnnotationQuery(1, -7, -7, TimeSpan(timedelta(hours=2)), equal),
        AnnotationQuery(2, -7, -3, LastItems(1), equal),
    ]
    joins = compile_annotations(chosen, bounds=JoinBounds(lateness=timedelta(0)))
    logic, clock = AnnotationLogic(joins), -(1 << 62)
    for place in range(0, 400, 10):
        # The only item of the second stream is never too old, and yet keeps no other one.
        items = hourly(range(place, place + 10), "a") if place else hourly(range(1), "b")
        batch = documents_of(items, joins, clock)
        clock = int(batch.clock_us[-1])
        annotations = logic.stage(0, batch).annotations
        state = logic.after(batch, clock)
        assert state.items <= 24
    assert annotations.partner[annotations.key == 1].tolist() == [n - 1 for n in range(390, 400)]
    assert annotations.partner[annotations.key == 2].tolist() == [0] * 10


def test_no_window_reaches_further_back_than_the_bound_on_items() -> None:
    ages = AnnotationQuery(1, -7, -7, TimeSpan(timedelta(days=9_000)), Relates("title", "=", "title"))
    joins = compile_annotations([ages], bounds=JoinBounds(max_documents=5))
    logic, clock, counts = AnnotationLogic(joins), -(1 << 62), []
    for size in (1, 7, 30, 2):
        first = sum(counts)
        batch = documents_of(hourly(range(first, first + size)), joins, clock)
        clock = int(batch.clock_us[-1])
        annotations = logic.stage(0, batch).annotations
        state = logic.after(batch, clock)
        partners = np.bincount(annotations.row, minlength=size).tolist()
        assert partners == [min(number, 4) for number in range(first, first + size)]
        counts.append(size)
    assert state.items < 40
    assert logic.cut() == {-7: _us(EPOCH + timedelta(hours=35))}


def test_a_join_that_finds_too_much_finds_nothing_and_the_others_go_on() -> None:
    equal, unequal = Relates("title", "=", "title"), Relates("guid", "!=", "guid")
    span = TimeSpan(timedelta(days=9))
    chosen = [
        AnnotationQuery(1, -7, -7, LastItems(2), equal),
        AnnotationQuery(2, -7, -7, span, equal),
        AnnotationQuery(3, -7, -7, LastItems(3), unequal),
        AnnotationQuery(4, -7, -7, span, unequal),
    ]
    items = hourly(range(60))
    for cut in (60, 30):
        joins = compile_annotations(chosen, bounds=JoinBounds(max_found=400))
        logic, clock = AnnotationLogic(joins), -(1 << 62)
        for start in range(0, 60, cut):
            batch = documents_of(items[start : start + cut], joins, clock)
            clock = int(batch.clock_us[-1])
            results = logic.stage(0, batch)
            logic.after(batch, clock)
            assert results.dropped == (2, 4)
            counts = np.bincount(results.annotations.key, minlength=5).tolist()
            assert counts == [0, cut - (not start), 0, 2 * cut - (3 if not start else 0), 0]


def test_what_an_edited_join_compares_is_read_again_of_what_is_remembered() -> None:
    items = hourly(range(20))
    title = Relates("title", "=", "title")
    span = TimeSpan(timedelta(days=1))
    first = compile_annotations([AnnotationQuery(1, -7, -7, span, title)])
    logic = AnnotationLogic(first)
    batch = documents_of(items, first, 0)
    state = logic.after(batch, int(batch.clock_us[-1]))
    edited = compile_annotations([AnnotationQuery(1, -7, -7, span, JoinAnd((title, WORDS)))])
    logic = AnnotationLogic(edited)
    asked: list[tuple[list[int], tuple[Feature, ...]]] = []

    def complete(seqs: NDArray[np.int64], features: tuple[Feature, ...]) -> dict[Feature, Ragged]:
        asked.append((seqs.tolist(), features))
        return {feature: compared_of(feature, batch_of([items[seq] for seq in seqs])) for feature in features}

    logic.resume(state, complete)
    annotations = logic.stage(0, documents_of(hourly(range(20, 21)), edited, state.clock)).annotations
    assert annotations.partner.tolist() == list(range(20))
    assert asked == [(list(range(20)), (Feature("words", "title"),))]


WORDS = Relates("title", "similar", "title", 0.5)


def test_damaged_windows_are_refused_by_name(tmp_path: Path) -> None:
    store = WindowStore(tmp_path)
    store.save(3, WindowState(), before=2)
    (tmp_path / "state-000000000003.json").write_text("{")
    with pytest.raises(CompiledSetError, match="state-000000000003"):
        store.load(4)
