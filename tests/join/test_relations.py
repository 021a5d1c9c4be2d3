"""Join predicates on pairs: what decides them, what they are found by, and how well they hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from feedweir.errors import LanguageError
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.join.ragged import Ragged
from feedweir.join.windows.features import Feature, compared_of
from feedweir.join.windows.relations import (
    atoms_of,
    conditions_of,
    decides,
    degrees,
    finders,
    finding_sides,
    holds,
    is_graded,
    sides_of,
)
from feedweir.plan.predicates import (
    Contains,
    JoinAnd,
    JoinNot,
    JoinOr,
    JoinPredicate,
    OfItem,
    OfWindow,
    Relates,
    Term,
)
from tests.join.test_annotation import atoms, predicates

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
ITEMS = [
    Item(
        source="a",
        identity=str(place),
        seq=place,
        title=title,
        summary=summary,
        categories=categories,
        links=links,
        link=links[0] if links else "",
        published=None if hours is None else EPOCH + timedelta(hours=hours),
        arrived=EPOCH + timedelta(days=9),
    )
    for place, (title, summary, categories, links, hours) in enumerate(
        [
            ("red river", "red", ("x",), ("http://a.org/x",), 1),
            ("Red river flows", "<b>river</b>", ("X", "y"), ("https://www.a.org/x/", "http://b.org"), 2),
            ("blue sea", "", (), (), None),
            ("", "red river", ("y",), ("http://a.org",), 1),
            ("red", "red red", ("sea blue",), ("http://a.org/x/deep",), 0),
        ]
    )
]
PAIRS = np.array(list(product(range(len(ITEMS)), repeat=2)), np.int64).T.copy()


def columns_for(predicate: JoinPredicate) -> dict[Feature, Ragged]:
    features = {side for atom in atoms_of(predicate) for side in (*sides_of(atom), *finding_sides(atom))}
    features.update(conditions_of(predicate))
    return {feature: compared_of(feature, batch_of(ITEMS)) for feature in features}


def of_pairs(predicate: JoinPredicate) -> list[bool]:
    columns = columns_for(predicate)
    return holds(predicate, *PAIRS, columns, columns).tolist()


@given(predicates)
def test_negation_conjunction_and_disjunction_mean_what_they_say(predicate: JoinPredicate) -> None:
    match predicate:
        case JoinNot(part):
            assert of_pairs(predicate) == [not one for one in of_pairs(part)]
        case JoinAnd(parts):
            each = [of_pairs(part) for part in parts]
            assert of_pairs(predicate) == [all(many[n] for many in each) for n in range(len(PAIRS[0]))]
        case JoinOr(parts):
            each = [of_pairs(part) for part in parts]
            assert of_pairs(predicate) == [any(many[n] for many in each) for n in range(len(PAIRS[0]))]


def is_found(atom: Relates, primary: int, partner: int, columns: dict[Feature, Ragged]) -> bool:
    """Whether the index for what an atom finds by would give this pair."""
    mine, theirs = finding_sides(atom)
    if is_graded(atom):
        return bool(holds(atom, np.array([primary]), np.array([partner]), columns, columns)[0])
    own, other = columns[mine], columns[theirs]
    keys = own.data[own.ptr[primary] : own.ptr[primary + 1]]
    return bool(np.isin(keys, other.data[other.ptr[partner] : other.ptr[partner + 1]]).any())


@settings(max_examples=200)
@given(predicates)
def test_every_pair_that_satisfies_a_predicate_is_found_by_one_of_its_finders(
    predicate: JoinPredicate,
) -> None:
    found_by = finders(predicate)
    if found_by is None:
        return
    columns = columns_for(predicate)
    for is_true, primary, partner in zip(of_pairs(predicate), *PAIRS.tolist(), strict=True):
        if is_true:
            assert any(is_found(_positive(atom), primary, partner, columns) for atom in found_by)


def _positive(atom: Relates) -> Relates:
    """What is found by `!=` of a negation is what is equal."""
    return Relates(atom.attribute, "=", atom.window_attribute) if atom.op == "!=" else atom


@given(atoms.filter(lambda atom: isinstance(atom, Relates)))
def test_an_atom_that_decides_finds_no_pair_that_does_not_satisfy_it(atom: Relates) -> None:
    if finders(atom) is None or not decides(atom):
        return
    columns = columns_for(atom)
    for is_true, primary, partner in zip(of_pairs(atom), *PAIRS.tolist(), strict=True):
        assert is_found(atom, primary, partner, columns) == is_true


@given(predicates)
def test_a_pair_has_a_degree_above_nothing_exactly_when_it_satisfies_the_predicate(
    predicate: JoinPredicate,
) -> None:
    if any(isinstance(part, (JoinAnd, JoinOr)) and not part.parts for part in parts_of(predicate)):
        return
    columns = columns_for(predicate)
    found = degrees(predicate, *PAIRS, columns, columns)
    assert (found > 0).tolist() == of_pairs(predicate)
    assert ((found >= 0) & (found <= 1)).all()


def parts_of(predicate: JoinPredicate) -> list[JoinPredicate]:
    match predicate:
        case JoinAnd(parts) | JoinOr(parts):
            return [predicate, *(one for part in parts for one in parts_of(part))]
        case JoinNot(part):
            return [predicate, *parts_of(part)]
    return [predicate]


def test_a_pair_is_as_alike_as_the_least_alike_of_all_that_is_asked_for() -> None:
    alike, equal = Relates("title", "similar", "title", 0.1), Relates("title", "=", "title")
    place = PAIRS.T.tolist().index([0, 1])
    columns = columns_for(JoinAnd((alike, equal)))
    found = {
        how(parts=(alike, equal)): degrees(how((alike, equal)), *PAIRS, columns, columns)[place]
        for how in (JoinAnd, JoinOr)
    }
    assert found == {JoinAnd((alike, equal)): 0.0, JoinOr((alike, equal)): pytest.approx(2 / 3)}


def test_a_condition_on_one_side_is_asked_of_that_side() -> None:
    red = Contains("title", (Term("red"),), 1)
    primary = [row for row, _ in PAIRS.T.tolist()]
    partner = [row for _, row in PAIRS.T.tolist()]
    is_red = [True, True, False, False, True]
    assert of_pairs(OfItem(red)) == [is_red[row] for row in primary]
    assert of_pairs(OfWindow(red)) == [is_red[row] for row in partner]
    assert finders(OfItem(red)) is None
    assert atoms_of(OfItem(red)) == []


@pytest.mark.parametrize(
    ("op", "expected"),
    [("<", [(3, 1), (0, 1), (4, 0), (4, 1), (4, 3)]), (">=", [(0, 0), (0, 3), (0, 4), (1, 0), (1, 1)])],
)
def test_values_in_order_compare_as_times_and_nothing_is_less_than_nothing(
    op: str, expected: list[tuple[int, int]]
) -> None:
    found = of_pairs(Relates("published", op, "published"))  # type: ignore[arg-type]
    pairs = [tuple(pair) for pair, is_true in zip(PAIRS.T.tolist(), found, strict=True) if is_true]
    assert set(expected) <= set(pairs)
    assert all(2 not in pair for pair in pairs), "an item without a date has no order"


def test_values_of_different_types_have_no_order() -> None:
    assert not any(of_pairs(Relates("published", "<", "title")))


def test_a_conjunction_is_found_by_the_cheapest_of_its_parts_and_a_disjunction_by_all() -> None:
    equal, similar = Relates("title", "=", "title"), Relates("title", "similar", "title", 0.5)
    worded, unequal = Relates("title", "contains", "category"), Relates("title", "!=", "title")
    assert finders(JoinAnd((similar, worded, equal))) == (equal,)
    assert finders(JoinAnd((unequal, similar))) == (similar,)
    assert finders(JoinOr((equal, equal, worded))) == (equal, worded)
    assert finders(JoinOr((equal, unequal))) is None
    assert finders(JoinNot(unequal)) == (unequal,)
    assert finders(JoinNot(JoinAnd((unequal, unequal)))) == (unequal,)
    assert finders(JoinAnd(())) is None


@pytest.mark.parametrize("threshold", [0.0, -0.5, 1.01])
@pytest.mark.parametrize("op", ["similar", "tells"])
def test_a_likeness_that_cannot_be_asked_for_is_refused_with_a_range(op: str, threshold: float) -> None:
    with pytest.raises(LanguageError, match="is not a similarity") as refused:
        sides_of(Relates("title" if op == "similar" else None, op, None, threshold))  # type: ignore[arg-type]
    assert "above 0 and up to 1" in str(refused.value.hint)
