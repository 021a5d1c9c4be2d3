from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.attributes import values_of
from feedweir.items.links import canonical_url
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.items.text import fold, words
from feedweir.join.annotation import AnnotationLogic, AnnotationQuery, ItemBatch, compile_annotations
from feedweir.join.relations import finders
from feedweir.join.windows import JoinBounds, microseconds
from feedweir.plan.nodes import AnnotationJoin, LastItems, Source, TimeSpan, Window
from feedweir.plan.predicates import JoinAnd, JoinNot, JoinOr, JoinPredicate, Relates

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


def words_of(item: Item, attribute: str | None) -> set[str]:
    names = ("title", "summary", "content", "author", "category") if attribute is None else (attribute,)
    texts = [
        str(value).replace("<b>", " ").replace("</b>", " ")
        for name in names
        for value in values_of(item, name)
    ]
    return {word for text in texts for word in words(text)}


def relates(atom: Relates, item: Item, other: Item) -> bool:
    if atom.op == "similar":
        one, two = words_of(item, atom.attribute), words_of(other, atom.window_attribute)
        return bool(one | two) and len(one & two) / len(one | two) >= atom.threshold
    if atom.op == "shares-link":
        return bool(
            {canonical_url(link) for link in item.links} & {canonical_url(link) for link in other.links}
        )
    assert atom.attribute
    assert atom.window_attribute
    mine, theirs = (
        [fold(value) if isinstance(value, str) else value for value in values_of(one, name)]
        for one, name in ((item, atom.attribute), (other, atom.window_attribute))
    )
    pairs = [(a, b) for a in mine for b in theirs]
    equal = any(a == b for a, b in pairs)
    return {
        "=": equal,
        "!=": not equal,
        "<": any(a < b for a, b in pairs),  # type: ignore[operator]
        "<=": any(a <= b for a, b in pairs),  # type: ignore[operator]
        ">": any(a > b for a, b in pairs),  # type: ignore[operator]
        ">=": any(a >= b for a, b in pairs),  # type: ignore[operator]
    }[atom.op]


def satisfies(predicate: JoinPredicate, item: Item, other: Item) -> bool:
    match predicate:
        case JoinAnd(parts):
            return all(satisfies(part, item, other) for part in parts)
        case JoinOr(parts):
            return any(satisfies(part, item, other) for part in parts)
        case JoinNot(part):
            return not satisfies(part, item, other)
        case Relates():
            return relates(predicate, item, other)


def obvious(
    chosen: list[AnnotationQuery], items: list[Item], lateness: timedelta
) -> set[tuple[int, int, int]]:
    found = set()
    for query in chosen:
        window = query.join.window
        assert isinstance(query.join.primary, Source)
        assert isinstance(window.input, Source)
        for place, item in enumerate(items):
            before = [other for other in items[:place] if other.source == window.input.name]
            if item.source != query.join.primary.name:
                continue
            clock = max(one.time for one in items[: place + 1])
            if isinstance(window.spec, LastItems):
                before = before[-window.spec.count :]
            else:
                since = max(item.time - window.spec.length, clock - window.spec.length - lateness)
                before = [other for other in before if other.time > since]
            partners = [other for other in before if satisfies(query.join.predicate, item, other)]
            found |= {(query.key, item.seq, other.seq) for other in partners}
    return found


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
    expected = obvious(chosen, items, lateness)
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
