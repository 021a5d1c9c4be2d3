"""Invented graphs and graph patterns, small enough that patterns are often there."""

from __future__ import annotations

from hypothesis import strategies as st

from feedweir.items.namespaces import NAMESPACES
from feedweir.items.triples import Node, Statement
from feedweir.plan.predicates import (
    AllConstraints,
    AnyConstraint,
    Constant,
    Constraint,
    GraphConstraint,
    GraphPattern,
    GraphTerm,
    Iri,
    RdfLiteral,
    Triple,
    Variable,
)

EX = "http://e.org/"
XSD = NAMESPACES["xsd"]
NAMES = "abc"


def iri(name: str) -> Node:
    return Node("iri", EX + name)


def text(value: str, datatype: str = "", language: str = "") -> Node:
    return Node("literal", value, XSD + datatype if datatype else "", language)


LITERALS = (
    *map(text, ("a", "7", "7.0", "2026-01-01", "2026")),
    text("a", language="en"),
    text("a", language="en-gb"),
    text("7", "int"),
    text("07.50", "decimal"),
    text("abc", "int"),
    text("NaN", "double"),
    text("1e400", "double"),
    text("1_0"),
    text("2026-01-01T00:30:00+02:00", "dateTime"),
    text("2026", "gYear"),
    text("10000-01-01", "date"),
    text("true", "boolean"),
    text("1", "boolean"),
)
names = st.sampled_from(NAMES)
nodes = st.one_of(
    names.map(iri), names.map(lambda name: Node("blank", name)), st.sampled_from(LITERALS), names.map(iri)
)
subjects = st.one_of(names.map(iri), names.map(iri), names.map(lambda name: Node("blank", name)))
facts = st.lists(st.builds(Statement, subjects, names.map(iri), nodes), max_size=8, unique=True)

variables = st.sampled_from("xyz")
typed_literals = st.sampled_from(
    [
        RdfLiteral("a", f"{XSD}string"),
        RdfLiteral("a", "", "en"),
        RdfLiteral("7", f"{XSD}int"),
        RdfLiteral("abc", f"{XSD}int"),
        RdfLiteral("2026-01-01", f"{XSD}date"),
        RdfLiteral("2025-12-31T22:30:00Z", f"{XSD}dateTime"),
        RdfLiteral("2026", f"{XSD}gYear"),
        RdfLiteral("true", f"{XSD}boolean"),
        RdfLiteral("a", "urn:own:type"),
    ]
)
constants: st.SearchStrategy[GraphTerm] = st.one_of(
    st.sampled_from("abc7").map(Constant),
    st.just(Constant(7.0)),
    names.map(lambda name: Iri(EX + name)),
    typed_literals,
)
graph_terms = st.one_of(variables.map(Variable), variables.map(Variable), constants)
triples = st.builds(
    Triple, graph_terms, st.one_of(variables.map(Variable), names.map(lambda n: Iri(EX + n))), graph_terms
)
comparisons = st.sampled_from(("=", "!=", "<", "<=", ">", ">="))
texts = st.sampled_from(("a", "7", "", "http://e.org/", "en", "2026-01-01"))


def constraints_on(bound: st.SearchStrategy[str]) -> st.SearchStrategy[GraphConstraint]:
    """One constraint about these variables, of any kind."""
    negated = st.booleans()
    compared: st.SearchStrategy[object] = st.one_of(
        st.sampled_from(("a", 7.0, 7.5, "2026-01-01", "2026")),
        typed_literals,
        names.map(lambda name: Iri(EX + name)),
        bound.map(Variable),
    )
    text_tests = st.sampled_from(("contains", "starts", "ends"))
    single = st.one_of(
        st.builds(Constraint, bound, comparisons, compared),
        st.builds(Constraint, bound, st.just("is"), constants, st.just(""), negated),
        st.builds(Constraint, bound, text_tests, texts, st.sampled_from(("", "text")), negated),
        st.builds(Constraint, bound, comparisons, texts, st.sampled_from(("text", "language"))),
        st.builds(
            Constraint, bound, st.just("speaks"), st.sampled_from(("en", "*")), st.just("language"), negated
        ),
        st.builds(
            Constraint,
            bound,
            st.sampled_from(("=", "!=")),
            st.sampled_from((Iri(f"{XSD}int"), Iri(f"{XSD}string"))),
            st.just("datatype"),
        ),
        st.builds(
            Constraint,
            bound,
            st.just("kind"),
            st.sampled_from(("iri", "blank", "literal", "number")),
            st.just(""),
            negated,
        ),
    )
    both = st.lists(single, min_size=2, max_size=2).map(tuple).map(AllConstraints)
    either = st.lists(st.one_of(single, both), max_size=3).map(tuple).map(AnyConstraint)
    return st.one_of(single, single, either)


@st.composite
def graph_patterns(draw: st.DrawFn, around: tuple[str, ...] = (), depth: int = 1) -> GraphPattern:
    """A pattern; `around` are the variables that it may share with one around it."""
    chosen = tuple(draw(st.lists(triples, min_size=1, max_size=4 if depth else 2)))
    own = {term.name for each in chosen for term in each_term(each) if isinstance(term, Variable)}
    known = sorted(own.union(around))
    if not known:
        return GraphPattern(chosen)
    kept = draw(st.lists(constraints_on(st.sampled_from(known)), max_size=2))
    absent = draw(st.lists(graph_patterns(tuple(known), depth - 1), max_size=1)) if depth else []
    return GraphPattern(chosen, tuple(kept), tuple(absent))


def each_term(triple: Triple) -> tuple[GraphTerm, GraphTerm, GraphTerm]:
    return triple.subject, triple.predicate, triple.object
