from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.join.annotation import AnnotationLogic, AnnotationQuery, ItemBatch, compile_annotations
from feedweir.join.relations import finders
from feedweir.join.windows import JoinBounds, microseconds
from feedweir.plan.nodes import AnnotationJoin, LastItems, Source, TimeSpan, Window
from feedweir.plan.predicates import JoinAnd, JoinNot, JoinOr, JoinPredicate, Relates
from tests.naive import elements_of

EPOCH = datetime(2020, 1, 1, tzinfo=UTC)
TITLES = ("red river", "red river flows", "Blue  sea", "blue sea", "")
LINKS = ("http://a.org/x", "https://www.a.org/x/", "http://b.org")

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
    source = st.sampled_from(("a", "b")).map(Source)
    chosen = draw(st.lists(predicates, min_size=1, max_size=2))
    return [
        AnnotationQuery(
            number,
            AnnotationJoin(
                "j", draw(source), Window(draw(source), draw(windows)), draw(st.sampled_from(chosen))
            ),
        )
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
        for element in elements_of(query.join, items)
        for _, partners in element.annotation
        for partner in partners
    }


def item_batch(items: list[Item]) -> ItemBatch:
    members = {
        f"source {name}": np.array([row for row, one in enumerate(items) if one.source == name], np.int32)
        for name in sorted({one.source for one in items})
    }
    times = [microseconds(one.time - datetime(1970, 1, 1, tzinfo=UTC)) for one in items]
    seqs = np.array([one.seq for one in items], np.int64)
    return ItemBatch(batch_of(items), seqs, np.array(times, np.int64), members)


def found(
    chosen: list[AnnotationQuery], items: list[Item], cut: int, lateness: timedelta, restart: bool
) -> list[tuple[int, int, int]]:
    joins = compile_annotations(chosen, bounds=JoinBounds(lateness=lateness))
    assert not joins.failures
    logic = AnnotationLogic(joins)
    state = logic.start()
    rows: list[tuple[int, int, int]] = []
    for start in range(0, len(items), cut):
        annotations, state = logic.step(state, item_batch(items[start : start + cut]))
        columns = (annotations.key, annotations.item, annotations.partner)
        rows += list(zip(*(column.tolist() for column in columns), strict=True))
        if restart:
            logic = AnnotationLogic(joins)
    return rows


@settings(max_examples=250, deadline=None)
@given(queries(), streams(), st.sampled_from((timedelta(0), timedelta(hours=2))), st.booleans())
def test_annotation_joins_find_what_the_obvious_meaning_says_however_the_stream_is_cut(
    chosen: list[AnnotationQuery], items: list[Item], lateness: timedelta, restart: bool
) -> None:
    expected = obvious(chosen, items)
    for cut in (1, 7, 1000):
        rows = found(chosen, items, cut, lateness, restart)
        assert set(rows) == expected
        assert len(rows) == len(set(rows))
        assert all(one[1] <= other[1] for one, other in pairwise(rows))


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
        (Relates("title", "similar", "title", 0.0), "similarity of 0.0"),
    ],
)
def test_a_join_that_cannot_be_used_is_a_failure_of_its_own(atom: Relates, message: str) -> None:
    window = Window(Source("b"), LastItems(3))
    good = AnnotationQuery(1, AnnotationJoin("j", Source("a"), window, Relates("title", "=", "title")))
    bad = AnnotationQuery(2, AnnotationJoin("j", Source("a"), window, atom))
    joins = compile_annotations([bad, good])
    assert message in str(joins.failures[2])
    assert [group.keys.tolist() for group in joins.groups] == [[1]]


def test_an_annotation_join_without_a_window_is_refused() -> None:
    window = Window(Source("b"), None)  # type: ignore[arg-type]
    joins = compile_annotations(
        [AnnotationQuery(1, AnnotationJoin("j", Source("a"), window, Relates("title", "=", "title")))]
    )
    assert "needs a window" in str(joins.failures[1])


def test_state_is_bounded_by_the_longest_window() -> None:
    window = Window(Source("a"), TimeSpan(timedelta(hours=2)))
    join = AnnotationJoin("j", Source("a"), window, Relates("title", "=", "title"))
    joins = compile_annotations([AnnotationQuery(1, join)], bounds=JoinBounds(lateness=timedelta(0)))
    logic = AnnotationLogic(joins)
    state = logic.start()
    for place in range(0, 200, 10):
        items = [
            Item(
                source="a",
                identity=str(n),
                seq=n,
                title="t",
                published=EPOCH + timedelta(hours=n),
                arrived=EPOCH + timedelta(hours=n),
            )
            for n in range(place, place + 10)
        ]
        annotations, state = logic.step(state, item_batch(items))
        assert len(state.seq) <= 12
    assert annotations.partner.tolist() == [n - 1 for n in range(190, 200)]
