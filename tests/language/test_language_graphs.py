"""Graph patterns: what is read, and that `and` and `or` are multiplied out to what they mean."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.language import format_predicate, parse
from feedweir.language.graph_syntax.graph_patterns import braced_graph
from feedweir.language.graph_syntax.graph_terms import PREFIXES
from feedweir.language.graph_syntax.graph_ways import MOST_WAYS
from feedweir.language.statements import Ask, CreateFeed
from feedweir.plan.predicates import (
    Constant,
    Constraint,
    GraphPattern,
    Iri,
    Or,
    Triple,
    Variable,
)
from tests.language.refused import error_of, marked, whole

DC = "http://purl.org/dc/elements/1.1/"
S, P, X = Variable("s"), Constant("p"), Variable("x")


def graph(inside: str) -> GraphPattern | Or:
    return whole(braced_graph, f"graph {{ {inside} }}")


@pytest.mark.parametrize(
    ("part", "term"),
    [
        ("?x", Variable("x")),
        ("<http://x.org/a>", Iri("http://x.org/a")),
        ("<urn:a:b>", Iri("urn:a:b")),
        ("http://x.org/a", Iri("http://x.org/a")),
        ("dc:title", Iri(f"{DC}title")),
        ("rss:title", Iri("http://purl.org/rss/1.0/title")),
        ("title", Constant("title")),
        ("RSS Filter", Constant("RSS Filter")),
        ("'it''s'", Constant("it's")),
        ("'dc:title'", Constant("dc:title")),
        ("3", Constant(3.0)),
        ("-3.5", Constant(-3.5)),
        ("3 wishes", Constant("3 wishes")),
        ("'3'", Constant("3")),
        ("a:b#c", Constant("a:b#c")),
    ],
)
def test_a_part_of_a_triple_is_what_it_looks_like(part: str, term: object) -> None:
    assert graph(f"(?s, p, {part})") == GraphPattern((Triple(S, P, term),))  # type: ignore[arg-type]


@pytest.mark.parametrize("prefix", sorted(PREFIXES))
def test_a_known_prefix_needs_no_declaration(prefix: str) -> None:
    (triple,) = graph(f"(?s, {prefix}:x, ?o)").triples  # type: ignore[union-attr]
    assert triple.predicate == Iri(f"{PREFIXES[prefix]}x")


def test_a_prefix_may_be_declared_before_or_after_and_hides_a_known_one() -> None:
    before = graph("prefix dc: <urn:mine:> (?s, dc:x, ?o)")
    assert before == GraphPattern((Triple(S, Iri("urn:mine:x"), Variable("o")),))
    (asked,) = parse("SELECT * FROM A WHERE (?s, q:x, ?o) USING q FOR <urn:q:>, r FOR <urn:r:>")
    assert isinstance(asked, Ask)
    assert asked.query.where[0].predicate == GraphPattern((Triple(S, Iri("urn:q:x"), Variable("o")),))


@pytest.mark.parametrize("join", [" and ", ", ", " . ", " "])
def test_triples_may_stand_beside_each_other_in_many_ways(join: str) -> None:
    found = graph(f"(?s, p, ?o){join}(?s, q, ?x)")
    assert found == GraphPattern((Triple(S, P, Variable("o")), Triple(S, Constant("q"), X)))


COMPARED = [
    "(?s, p, ?x) such that (?x > 3)",
    "(?s, p, ?x) such that ?x > 3",
    "(?s, p, ?x) SUCHTHAT (?x > 3)",
    "(?s, p, ?x) and ?x > 3",
    "(?s, p, ?x) and (?x > 3)",
    "((?s, p, ?x) such that ?x > 3)",
]


@pytest.mark.parametrize("inside", COMPARED)
def test_a_comparison_may_be_written_in_many_ways(inside: str) -> None:
    assert graph(inside) == GraphPattern((Triple(S, P, X),), (Constraint("x", ">", 3.0),))


# A formula over triples and comparisons, and the ways to satisfy it, multiplied out by hand.

Ways = list[frozenset[str]]


@st.composite
def formulas(draw: st.DrawFn, depth: int = 2) -> tuple[str, Ways]:
    kind = draw(st.sampled_from(["triple", "and", "or"])) if depth else "triple"
    if kind == "triple":
        letter = draw(st.sampled_from("abc"))
        return f"(?s, {letter}, ?o)", [frozenset((letter,))]
    parts = [draw(formulas(depth - 1)) for _ in range(2)]
    text = f" {kind} ".join(f"({text})" if text.count("?s") > 1 else text for text, _ in parts)
    (_, one), (_, other) = parts
    return text, one + other if kind == "or" else [here | there for here, there in product(one, other)]


@given(formulas())
@settings(max_examples=150, deadline=None)
def test_or_is_multiplied_out_to_patterns_of_their_own(formula: tuple[str, Ways]) -> None:
    text, ways = formula
    found = graph(text)
    patterns = found.parts if isinstance(found, Or) else (found,)
    letters = {
        frozenset(triple.predicate.value for triple in pattern.triples)  # type: ignore[union-attr]
        for pattern in patterns
    }
    assert letters == set(ways)
    assert whole(braced_graph, format_predicate(patterns[0])) == patterns[0]


def test_and_binds_tighter_than_or() -> None:
    found = graph("(?s, a, ?o) or (?s, b, ?o) and (?s, c, ?o)")
    assert isinstance(found, Or)
    assert [len(part.triples) for part in found.parts] == [1, 2]  # type: ignore[union-attr]


def test_ways_that_are_the_same_are_one_pattern() -> None:
    assert isinstance(graph("(?s, a, ?o) or (?s, a, ?o)"), GraphPattern)


def test_as_many_ways_as_are_allowed_are_read_and_no_more() -> None:
    two = "((?s, a, ?x) or (?s, b, ?x))"
    assert MOST_WAYS == 64
    found = graph(" and ".join([two.replace("a", f"a{n}").replace("b", f"b{n}") for n in range(6)]))
    assert isinstance(found, Or)
    assert len(found.parts) == 64
    assert "ways" in error_of(braced_graph, f"graph {{ {' and '.join([two] * 7)} }}").message


@pytest.mark.parametrize(
    ("inside", "message", "left"),
    [
        ("", "a graph pattern needs at least one triple", "}"),
        ("?x > 3", "a graph pattern needs at least one triple", "?x > 3 }"),
        ("(?s, p)", "a triple has three parts, not 2", ") }"),
        ("(?s, p, ?o, ?x)", "a triple has three parts, not 4", ") }"),
        ("(?s, p, )", "`)` is not a part of a triple", ") }"),
        ("(?s, p, ?o", "`}` is not expected here", "}"),
        ("(?s, nope:x, ?o)", "unknown prefix `nope`", "nope:x, ?o) }"),
        ("(?s, p, ?x) such that ?y > 3", "`?y` does not occur in any triple", "?y > 3 }"),
        ("(?s, p, ?x) such that ?x > ?y", "`?y` does not occur in any triple", "?x > ?y }"),
        ("(?s, p, ?x) such that ?x > <urn:a>", "IRIs have no order", "<urn:a> }"),
        ("(?s, p, ?x) such that ?x starts 'a'", "`'a'` is not expected here", "'a' }"),
        ("(?s, p, ?x) such that ?x ~ 3", "`~` is not a comparison", "~ 3 }"),
        ("(?s, p, ?x) such that x > 3", "`x` is not a variable", "x > 3 }"),
        ("(?s, p, ?x) such 3", "`3` is not expected here", "3 }"),
        ("prefix q <urn:q:> (?s, p, ?o)", "`<urn:q:>` is not expected here", "<urn:q:> (?s, p, ?o) }"),
        ("prefix q: urn (?s, p, ?o)", "`urn` is not an IRI", "urn (?s, p, ?o) }"),
        ("a, b", "`a` is not a triple", "a, b }"),
    ],
)
def test_a_graph_with_a_mistake_is_refused_at_its_place(inside: str, message: str, left: str) -> None:
    text = f"graph {{ {inside} }}"
    assert error_of(braced_graph, text).message == message
    assert marked(braced_graph, text) == left


def test_who_names_a_variable_of_the_other_alternative_is_told_what_is_known() -> None:
    text = "graph { (?s, p, ?x) or ((?s, q, ?y) such that ?x > 3) }"
    assert error_of(braced_graph, text).hint == "known here: ?s, ?y"


def test_rdql_may_leave_out_its_source_and_be_published() -> None:
    (made,) = parse("SELECT ?s, ?o WHERE (?s, p, ?o) PUBLISH Linked")
    assert isinstance(made, CreateFeed)
    assert made.name == "Linked"
    assert made.query.source.name == "*"  # type: ignore[union-attr]
