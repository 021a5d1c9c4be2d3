"""What one query may cost on one item is bounded by counted steps; the others are answered."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.errors import WorkError
from feedweir.items.model import Item
from feedweir.items.schema import batch_of
from feedweir.items.triples import triples_of
from feedweir.match import compile_set
from feedweir.match.meaning.effort import MAX_STEPS, Effort
from feedweir.match.meaning.graph_search import has_subgraph
from feedweir.match.meaning.item_meaning import Reading, holds
from feedweir.match.sets.compiled_set import compiled_in_memory, open_compiled
from feedweir.match.sets.query_store import table_of
from feedweir.plan.predicates import (
    And,
    Constant,
    Constraint,
    Contains,
    GraphPattern,
    Not,
    Or,
    Predicate,
    Term,
    Triple,
    Variable,
)
from feedweir.plan.query import Query
from tests import naive

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def clubs(parts: int, size: int) -> str:
    """An item in which everyone knows everyone but those of the own club: no more than `parts` all know each other."""
    everyone = [(club, member) for club in range(parts) for member in range(size)]
    known = {one: [other for other in everyone if other[0] != one[0]] for one in everyone}
    told = "".join(
        f'<rdf:Description rdf:about="urn:{one[0]}-{one[1]}">'
        + "".join(f'<e:knows rdf:resource="urn:{other[0]}-{other[1]}"/>' for other in known[one])
        + "</rdf:Description>"
        for one in everyone
    )
    return f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:e="http://e.org/">{told}</rdf:RDF>'


def friends(count: int) -> GraphPattern:
    """So many who all know each other."""
    everyone = [Variable(f"v{n}") for n in range(count)]
    pairs = ((a, b) for n, a in enumerate(everyone) for b in everyone[n + 1 :])
    return GraphPattern(tuple(Triple(a, Constant("knows"), b) for a, b in pairs), ())


HOSTILE = Item(source="s", identity="many", title="river", raw=clubs(7, 6), arrived=NOW)
PLAIN = Item(source="s", identity="few", title="river", raw=clubs(2, 2), arrived=NOW)


def title(word: str) -> Contains:
    return Contains("title", (Term(word),), 1)


def test_a_hostile_query_on_a_hostile_item_is_named_and_the_others_are_answered(tmp_path: Path) -> None:
    asked: list[Predicate] = [friends(8), title("river"), Not(friends(8)), And((title("river"), friends(7)))]
    compile_set([Query(key, (), predicate) for key, predicate in enumerate(asked)], tmp_path / "set")
    found = open_compiled(tmp_path / "set").match(batch_of([HOSTILE, PLAIN]))
    pairs = set(zip(found.rows.tolist(), found.keys.tolist(), strict=True))
    assert pairs == {(0, 1), (0, 3), (1, 1), (1, 2)}, (
        "what could not be judged is no match, nor is its opposite"
    )
    failures = dict(found.failures)
    assert sorted(failures) == [0, 2]
    assert failures[0].startswith(f"item many: it would take more than {MAX_STEPS:,} steps")


def test_what_others_asked_before_changes_no_answer() -> None:
    costly = friends(3)
    twice = And((costly, Or((Not(costly), costly))))
    alone, after = Reading(PLAIN), Reading(PLAIN)
    assert not holds(costly, after)
    for reading in (alone, after):
        assert not holds(twice, reading.for_next_query())
    assert alone.effort.spent == after.effort.spent > 0


def test_a_query_of_many_costly_parts_has_no_more_steps_than_any(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [Not(GraphPattern((*friends(3).triples, *friends(2).triples[:1] * n), ())) for n in range(1, 6)]
    reading = Reading(PLAIN)
    assert holds(parts[0], reading)
    monkeypatch.setattr("feedweir.match.meaning.item_meaning.Effort", lambda: Effort(3 * spent))
    spent = reading.effort.spent
    assert holds(parts[0], reading.for_next_query())
    with pytest.raises(WorkError, match="steps"):
        holds(And(tuple(parts)), reading.for_next_query())


def test_triples_that_share_no_variable_are_judged_apart() -> None:
    loose = tuple(Triple(Variable(f"a{n}"), Variable(f"p{n}"), Variable(f"b{n}")) for n in range(20))
    nothing = Constraint("b19", "=", "no such value")
    effort = Effort()
    assert not has_subgraph(GraphPattern(loose, (nothing,)), triples_of(HOSTILE), effort)
    assert has_subgraph(GraphPattern(loose[:1], ()), triples_of(HOSTILE), effort)
    assert effort.spent < MAX_STEPS // 2


def test_arms_of_one_thing_are_followed_by_value() -> None:
    """Many things that an item links to, and a triple between two of them that is not there."""
    links = tuple(f"http://e.org/{n}" for n in range(300))
    item = Item(source="s", identity="1", title="river", links=links, arrived=NOW)
    arms = (Triple(Variable("s"), Variable(f"p{n}"), Variable(f"b{n}")) for n in range(6))
    star = GraphPattern((*arms, Triple(Variable("b0"), Variable("q"), Variable("b5"))), ())
    effort = Effort()
    assert not has_subgraph(star, triples_of(item), effort)
    assert effort.spent < 100_000


def test_a_phrase_of_repeated_words_is_found_in_linear_time() -> None:
    item = Item(source="s", identity="1", title="na " * 100_000 + "batman", arrived=NOW)
    phrase = Contains("title", (Term("na " * 5_000 + "batman"),), 1)
    assert holds(phrase, item)
    longer = Contains("title", (Term("na " * 5_000 + "na robin"),), 1)
    assert not holds(longer, item)


REPEATED = st.lists(st.sampled_from(["na", "no", "nab"]), min_size=9, max_size=24).map(" ".join)


@settings(max_examples=200, deadline=None)
@given(st.lists(REPEATED, min_size=1, max_size=3), st.lists(REPEATED, min_size=1, max_size=4), st.booleans())
def test_long_phrases_of_few_words_stand_where_the_obvious_meaning_says(
    phrases: list[str], texts: list[str], is_prefix: bool
) -> None:
    wanted = [Contains(None, (Term(phrase, is_prefix),), 1) for phrase in phrases]
    told = [" ".join(texts), f"{texts[0]} {phrases[0]} x {texts[-1]}", phrases[-1][: len(phrases[-1]) // 2]]
    items = [Item(source="s", identity=str(n), title=text, arrived=NOW) for n, text in enumerate(told)]
    found = compiled_in_memory(table_of([Query(n, (), one) for n, one in enumerate(wanted)])).match(
        batch_of(items)
    )
    assert set(zip(found.rows.tolist(), found.keys.tolist(), strict=True)) == {
        (row, key)
        for row, item in enumerate(items)
        for key, one in enumerate(wanted)
        if naive.holds(one, item)
    }
