"""SPARQL's form of graph patterns: it means what SPARQL means, and is refused where it is not supported."""

from __future__ import annotations

from collections.abc import Sequence

import pyoxigraph
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from feedweir.errors import LanguageError
from feedweir.items.triples import Node, Statement
from feedweir.language import format_predicate, parse
from feedweir.language.graph_syntax.graph_patterns import braced_graph
from feedweir.language.statements import CreateFeed
from feedweir.match.meaning.effort import Effort
from feedweir.match.meaning.graph_search import has_subgraph
from feedweir.plan.predicates import (
    FALSE,
    And,
    AnyConstraint,
    Constant,
    Constraint,
    GraphPattern,
    Iri,
    Not,
    Or,
    Predicate,
    RdfLiteral,
    Triple,
    Variable,
)
from tests import naive
from tests.language.refused import error_of, marked, whole
from tests.match.generated_graphs import EX, XSD, iri, text

S, O, P = Variable("s"), Variable("o"), Iri("urn:p")  # noqa: E741


def graph(inside: str) -> Predicate:
    return whole(braced_graph, f"graph {{ {inside} }}")


def basic(inside: str) -> GraphPattern:
    found = graph(inside)
    assert isinstance(found, GraphPattern)
    return found


# What is read


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("?x", Variable("x")),
        ("$x", Variable("x")),
        ("<urn:a>", Iri("urn:a")),
        ("doap:release", Iri("http://usefulinc.com/ns/doap#release")),
        ("doap:", Iri("http://usefulinc.com/ns/doap#")),
        ("'chat'", Constant("chat")),
        ("'chat'@fr", RdfLiteral("chat", "", "fr")),
        ('"chat"@FR-be', RdfLiteral("chat", "", "fr-be")),
        ("'5'^^xsd:int", RdfLiteral("5", f"{XSD}int")),
        ("'5'^^<urn:own>", RdfLiteral("5", "urn:own")),
        ("-5.5", Constant(-5.5)),
        ("true", RdfLiteral("true", f"{XSD}boolean")),
        ("_:a", Variable("_1")),
        ("[]", Variable("_1")),
    ],
)
def test_a_term_is_what_it_looks_like(term: str, expected: object) -> None:
    assert basic(f"?s <urn:p> {term}").triples == (Triple(S, P, expected),)  # type: ignore[arg-type]


def test_what_is_said_of_one_subject_is_written_in_one_go() -> None:
    found = basic("?s a schema:Event ; <urn:p> ?o , 'x' ; . <urn:a> <urn:p> [ <urn:p> ?o ]")
    kind = Iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    assert found.triples == (
        Triple(S, kind, Iri("http://schema.org/Event")),
        Triple(S, P, O),
        Triple(S, P, Constant("x")),
        Triple(Variable("_1"), P, O),
        Triple(Iri("urn:a"), P, Variable("_1")),
    )


def test_prefixes_are_declared_and_may_be_empty() -> None:
    found = basic("prefix : <urn:> prefix dc: <urn:mine:> ?s :p dc:x")
    assert found.triples == (Triple(S, P, Iri("urn:mine:x")),)


def test_the_example_of_the_manual() -> None:
    found = basic(
        "?p doap:category <urn:xml> ; doap:release ?r . ?r doap:created ?d ."
        ' FILTER(?d > "2024-01-01"^^xsd:date)'
    )
    assert len(found.triples) == 3
    assert found.constraints == (Constraint("d", ">", RdfLiteral("2024-01-01", f"{XSD}date")),)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("?o > 3", Constraint("o", ">", 3.0)),
        ("3 < ?o", Constraint("o", ">", 3.0)),
        ("!(?o > 3)", Constraint("o", "<=", 3.0)),
        ("?o != 'a'", Constraint("o", "!=", "a")),
        ("?o = '3'^^xsd:int", Constraint("o", "=", 3.0)),
        ("?o = <urn:a>", Constraint("o", "=", Iri("urn:a"))),
        ("?o < ?s", Constraint("o", "<", S)),
        ("?o in (1, 'a')", AnyConstraint((Constraint("o", "=", 1.0), Constraint("o", "=", "a")))),
        ("contains(?o, 'a')", Constraint("o", "contains", "a")),
        ("!STRSTARTS(STR(?o), 'a')", Constraint("o", "starts", "a", "text", is_negated=True)),
        ("strends(?o, 'a')", Constraint("o", "ends", "a")),
        ("LANG(?o) = 'FR'", Constraint("o", "=", "fr", "language")),
        ("langMatches(lang(?o), '*')", Constraint("o", "speaks", "*", "language")),
        ("DATATYPE(?o) != xsd:int", Constraint("o", "!=", Iri(f"{XSD}int"), "datatype")),
        ("sameTerm(?o, 'a'@en)", Constraint("o", "is", RdfLiteral("a", "", "en"))),
        ("!isIRI(?o)", Constraint("o", "kind", "iri", is_negated=True)),
        ("bound(?o) && ?o > 3", Constraint("o", ">", 3.0)),
        ("!bound(?o) || ?o > 3", Constraint("o", ">", 3.0)),
    ],
)
def test_a_filter_is_what_it_says(written: str, expected: object) -> None:
    found = basic(f"?s <urn:p> ?o FILTER({written})")
    assert found.constraints == (expected,)
    assert whole(braced_graph, format_predicate(found)) == found


@pytest.mark.parametrize(
    ("written", "triples"),
    [
        ("<urn:p>/<urn:q>", (Triple(S, P, Variable("_1")), Triple(Variable("_1"), Iri("urn:q"), O))),
        ("^<urn:p>", (Triple(O, P, S),)),
        ("^(<urn:p>/<urn:q>)", (Triple(O, P, Variable("_1")), Triple(Variable("_1"), Iri("urn:q"), S))),
    ],
)
def test_paths_are_triples(written: str, triples: tuple[Triple, ...]) -> None:
    assert basic(f"?s {written} ?o").triples == triples


def test_a_path_of_alternatives_is_one_triple_whose_property_is_one_of_them() -> None:
    found = basic("?s <urn:p>|<urn:q> ?o")
    either = AnyConstraint((Constraint("_1", "is", P), Constraint("_1", "is", Iri("urn:q"))))
    assert found == GraphPattern((Triple(S, Variable("_1"), O),), (either,))


def test_what_is_a_boolean_combination_becomes_one() -> None:
    either = graph("{ ?s <urn:p> ?o } UNION { ?s <urn:q> ?o }")
    assert isinstance(either, Or)
    assert all(isinstance(part, GraphPattern) for part in either.parts)
    apart = graph("?s <urn:p> ?o FILTER NOT EXISTS { ?x <urn:q> ?y }")
    assert apart == And((basic("?s <urn:p> ?o"), Not(basic("?x <urn:q> ?y"))))
    assert graph("?s <urn:p> ?o OPTIONAL { ?s <urn:q> ?x }") == basic("?s <urn:p> ?o")
    assert graph("?s <urn:p> ?o FILTER EXISTS { ?s <urn:q> ?x }") == basic("?s <urn:p> ?o . ?s <urn:q> ?x")
    assert graph("?s <urn:p> ?o MINUS { ?x <urn:q> ?y }") == basic("?s <urn:p> ?o")
    assert graph("?s <urn:p> ?o FILTER(!BOUND(?o))") == FALSE


def test_the_variables_that_select_names_are_kept() -> None:
    (made,) = parse(
        "PREFIX x: <urn:> SELECT DISTINCT ?s ?z FROM A WHERE { ?s x:p ?o OPTIONAL { ?s x:q ?z } } PUBLISH L"
    )
    assert isinstance(made, CreateFeed)
    predicate = made.query.where[0].predicate
    assert isinstance(predicate, Or)
    assert [part.selected for part in predicate.parts] == [("s", "z"), ("s",)]  # type: ignore[union-attr]
    (again,) = parse("create feed L from A where " + format_predicate(predicate))
    assert again.query.where[0].predicate == predicate  # type: ignore[union-attr]


REFUSED = [
    ("?s <urn:p>+ ?o", "`+` is not supported in paths", "+ ?o }"),
    ("?s !<urn:p> ?o", "`!` is not supported in paths", "!<urn:p> ?o }"),
    ("?s <p> ?o", "an IRI must be whole", "<p> ?o }"),
    ("?s nope:x ?o", "unknown prefix `nope`", "nope:x ?o }"),
    ("?s <urn:p> (1 2)", "lists are not supported", "(1 2) }"),
    ("?s <urn:p> << ?a ?b ?c >>", "triples about triples are not supported", "<< ?a ?b ?c >> }"),
    ("?s <urn:p> ?o BIND(?o AS ?x)", "`BIND` is not supported", "BIND(?o AS ?x) }"),
    ("GRAPH ?g { ?s ?p ?o }", "`GRAPH` is not supported", "GRAPH ?g { ?s ?p ?o } }"),
    ("{ SELECT ?s WHERE { ?s ?p ?o } }", "`SELECT` is not supported", "SELECT ?s WHERE { ?s ?p ?o } } }"),
    ("?s <urn:p> ?o FILTER(?x > 3)", "`?x` does not occur in any triple", "(?x > 3) }"),
    ("?s <urn:p> ?o FILTER(?o + 1 > 3)", "arithmetic is not supported", "+ 1 > 3) }"),
    ("?s <urn:p> ?o FILTER(regex(?o, 'a'))", "the function `regex` is not supported", "regex(?o, 'a')) }"),
    ("?s <urn:p> ?o FILTER(?o > <urn:a>)", "IRIs have no order", "<urn:a>) }"),
    ("?s <urn:p> ?o FILTER(?o > 'a'@en)", "literals of this type have no order", "'a'@en) }"),
    (
        "?s <urn:p> ?o FILTER(?o = 'abc'^^xsd:int)",
        f"`abc` is not a value of <{XSD}int>",
        "'abc'^^xsd:int) }",
    ),
    ("?s <urn:p> ?o FILTER(1 = 1)", "a comparison needs a variable", "1 = 1) }"),
    ("?s <urn:p> ?o FILTER(?o)", "`)` is not a comparison", ") }"),
    ("FILTER(?o > 3)", "`?o` does not occur in any triple", "(?o > 3) }"),
    ("VALUES ?x { 1 }", "`?x` does not occur in any triple", "?x { 1 } }"),
    ("?s <urn:p> ?o VALUES (?s ?o) { (1) }", "a row needs 2 values, not 1", "(1) } }"),
    ("?s <urn:p> ?o FILTER NOT EXISTS { }", "a graph pattern needs at least one triple", "?s <urn:p> ?o FILTER"),
    ("?s <urn:p> ?o FILTER ?o > 3", "`?o` is not a condition", "?o > 3 }"),
    ("?s <urn:p>", "`}` is not a part of a triple", "}"),
]  # fmt: skip


@pytest.mark.parametrize(("inside", "message", "left"), REFUSED)
def test_what_is_not_taken_is_refused_at_its_place(inside: str, message: str, left: str) -> None:
    written = f"graph {{ {inside} }}"
    error = error_of(braced_graph, written)
    assert error.message == message
    assert marked(braced_graph, written).startswith(left)


@pytest.mark.parametrize("after", ["ORDER BY ?s", "LIMIT 3", "GROUP BY ?s"])
def test_what_sparql_has_after_its_pattern_is_refused_with_a_hint(after: str) -> None:
    with pytest.raises(LanguageError, match="is not supported") as refused:
        parse(f"SELECT ?s WHERE {{ ?s ?p ?o }} {after}")
    assert refused.value.hint


def test_a_pattern_of_a_thousand_triples_is_searched_for_and_a_larger_one_is_refused() -> None:
    chain = [f"?v{n} <{EX}a> ?v{n + 1}" for n in range(1000)]
    found = basic(" . ".join(chain))
    loop = [Statement(iri("a"), iri("a"), iri("a"))]
    assert has_subgraph(found, loop, Effort())
    with pytest.raises(LanguageError, match="more than 1000 triples"):
        graph(" . ".join([*chain, "?s ?p ?o"]))


def test_ways_are_limited() -> None:
    two = "{ ?s <urn:p> ?o } UNION { ?s <urn:q> ?o }"
    assert len(graph(" ".join([two.replace("?o", f"?o{n}") for n in range(6)])).parts) == 64  # type: ignore[union-attr]
    with pytest.raises(LanguageError, match="ways"):
        graph(" ".join([two.replace("?o", f"?o{n}") for n in range(7)]))


# What it means: as SPARQL does. Data and filters are such that both compare the same kinds of terms.

LITERALS = (
    text("a"),
    text("b"),
    text("a", language="en"),
    text("a", language="en-gb"),
    text("7", "integer"),
    text("7.5", "decimal"),
    text("2026-01-01T00:30:00+02:00", "dateTime"),
    text("2025-12-31T22:30:00Z", "dateTime"),
)
names = st.sampled_from("abc")
subjects = st.one_of(names.map(iri), names.map(iri), names.map(lambda name: Node("blank", name)))
nodes = st.one_of(subjects, st.sampled_from(LITERALS))
facts = st.lists(st.builds(Statement, subjects, names.map(iri), nodes), max_size=7, unique=True)

VARIABLES = ("?x", "?y", "?z")
variables = st.sampled_from(VARIABLES)
iris = names.map(lambda name: f"<{EX}{name}>")
literals = st.sampled_from(
    [f"'a'^^<{XSD}string>", "'a'@en", f"'7'^^<{XSD}integer>", f"'2025-12-31T22:30:00Z'^^<{XSD}dateTime>"]
)
paths = st.one_of(
    iris,
    iris,
    variables,
    st.builds("{}/{}".format, iris, iris),
    st.builds("^{}".format, iris),
    st.builds("({}|{})".format, iris, iris),
    st.builds("({}|^{}/{})".format, iris, iris, iris),
)
triples = st.builds(
    "{} {} {} .".format, st.one_of(variables, iris), paths, st.one_of(variables, variables, iris, literals)
)
comparisons = st.sampled_from(("=", "!=", "<", "<=", ">", ">="))
tests = st.one_of(
    st.builds(
        "{} {} {}".format, variables, comparisons, st.sampled_from(("7", "7.5", f"'7'^^<{XSD}integer>"))
    ),
    st.builds("{} {} '2025-12-31T22:30:00Z'^^<{}dateTime>".format, variables, comparisons, st.just(XSD)),
    st.builds("{} {} {}".format, variables, st.sampled_from(("=", "!=")), st.one_of(iris, variables)),
    st.builds("sameTerm({}, {})".format, variables, st.one_of(literals, iris)),
    st.builds("BOUND({})".format, variables),
    st.builds("{}({})".format, st.sampled_from(("isIRI", "isBlank", "isLiteral", "isNumeric")), variables),
    st.builds("CONTAINS(STR({}), '{}')".format, variables, st.sampled_from(("a", "e.org"))),
    st.builds("STRSTARTS({}, 'a')".format, variables),
    st.builds("LANG({}) {} 'en'".format, variables, st.sampled_from(("=", "!="))),
    st.builds("LANGMATCHES(LANG({}), '{}')".format, variables, st.sampled_from(("en", "*"))),
    st.builds("DATATYPE({}) {} <{}integer>".format, variables, st.sampled_from(("=", "!=")), st.just(XSD)),
)


@st.composite
def groups(draw: st.DrawFn, depth: int) -> str:
    opening = draw(
        st.one_of(st.builds("?x {} ?y .".format, paths), st.builds("?x {0} ?y . ?y {0} ?z .".format, iris))
    )
    return " ".join((opening, *(element(draw, depth) for _ in range(draw(st.integers(0, 3))))))


def element(draw: st.DrawFn, depth: int) -> str:
    """Something that stands in a group beside its first triple."""
    kinds = ["triple", "filter"] + (["union", "optional", "minus", "values"] if depth else [])
    match draw(st.sampled_from(kinds)):
        case "triple":
            return draw(triples)
        case "filter":
            return f"FILTER({condition(draw, depth)})"
        case "union":
            return f"{{ {draw(groups(depth - 1))} }} UNION {{ {draw(groups(depth - 1))} }}"
        case "values":
            row = f"({draw(iris)} UNDEF) ({draw(iris)} {draw(literals)})"
            return f"VALUES (?x ?y) {{ {row} }}" if draw(st.booleans()) else f"VALUES ?x {{ {draw(iris)} }}"
        case kind:
            return f"{kind} {{ {draw(groups(depth - 1))} }}"


def condition(draw: st.DrawFn, depth: int) -> str:
    def simple() -> str:
        if depth and draw(st.integers(0, 2)) == 0:
            return f"{draw(st.sampled_from(('EXISTS', 'NOT EXISTS')))} {{ {draw(groups(depth - 1))} }}"
        return draw(tests)

    match draw(st.sampled_from(["plain", "not", "or", "and"])):
        case "plain":
            return simple()
        case "not":
            return f"!({simple()})"
        case "or":
            return f"({simple()} || {simple()})"
        case _:
            return f"!({simple()} && {simple()})"


def term_of(node: Node) -> pyoxigraph.NamedNode | pyoxigraph.BlankNode | pyoxigraph.Literal:
    if node.kind == "iri":
        return pyoxigraph.NamedNode(node.value)
    if node.kind == "blank":
        return pyoxigraph.BlankNode(node.value)
    if node.language:
        return pyoxigraph.Literal(node.value, language=node.language)
    datatype = pyoxigraph.NamedNode(node.datatype) if node.datatype else None
    return pyoxigraph.Literal(node.value, datatype=datatype)


Rows = set[tuple[str, ...]]


def by_sparql(inside: str, given_facts: Sequence[Statement]) -> Rows:
    store = pyoxigraph.Store()
    store.extend(pyoxigraph.Quad(*map(term_of, fact)) for fact in given_facts)  # type: ignore[arg-type]
    found = store.query(f"SELECT DISTINCT {' '.join(VARIABLES)} WHERE {{ {inside} }}")
    return {tuple(str(row[name[1:]]) for name in VARIABLES) for row in found}  # type: ignore[union-attr]


def rows_of(predicate: Predicate, given_facts: Sequence[Statement]) -> Rows:
    """What the ways of a pattern bind, by the obvious meaning; the search must find the same ways."""
    if isinstance(predicate, Or):
        return {row for part in predicate.parts for row in rows_of(part, given_facts)}
    if isinstance(predicate, And):
        pattern, *others = predicate.parts
        assert isinstance(pattern, GraphPattern)
        is_there = not any(rows_of(one.part, given_facts) for one in others)  # type: ignore[union-attr]
        return rows_of(pattern, given_facts) if is_there else set()
    assert isinstance(predicate, GraphPattern)
    plain = [(tuple(fact.subject), tuple(fact.predicate), tuple(fact.object)) for fact in given_facts]
    solutions = naive.solutions_of(predicate, plain, {})
    assert has_subgraph(predicate, given_facts, Effort()) == bool(solutions)
    return {
        tuple(
            str(term_of(Node(*way[name[1:]]))) if name[1:] in way else "None"  # type: ignore[arg-type]
            for name in VARIABLES
        )
        for way in solutions
    }


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(groups(2), facts)
def test_a_pattern_binds_what_sparql_binds(inside: str, given_facts: list[Statement]) -> None:
    try:
        found = graph(f"select {' '.join(VARIABLES)} where {{ {inside} }}")
    except LanguageError as error:
        assume("does not occur" not in error.message and "ways" not in error.message)
        raise
    assert rows_of(found, given_facts) == by_sparql(inside, given_facts)
    assert bool(rows_of(graph(inside), given_facts)) == bool(rows_of(found, given_facts)), "without SELECT"
    for part in found.parts if isinstance(found, Or) else (found,):
        assert whole(braced_graph, format_predicate(part)) == part if isinstance(part, GraphPattern) else True
