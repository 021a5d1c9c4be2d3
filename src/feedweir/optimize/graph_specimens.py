"""Triples invented so that a document of them has some graph patterns and little else.

A variable becomes an IRI of its own where its constraints let it, so that nothing else is known of it; else it becomes
a term made of what it is compared with. A constant that may be several terms becomes one of those.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import chain, islice

import pyoxigraph

from feedweir.items.namespaces import NAMESPACES
from feedweir.items.rdf_terms import Node, Statement, is_iri
from feedweir.items.rdf_values import NUMBERS, STRING, TIMES, number_in
from feedweir.match.meaning.term_tests import keeps
from feedweir.plan.graph_variables import names_bound, variables_of
from feedweir.plan.predicates import (
    Constant,
    Constraint,
    GraphConstraint,
    GraphPattern,
    GraphTerm,
    Iri,
    RdfLiteral,
    Variable,
)
from feedweir.text.dates import instant_of

_OWN = "urn:specimen:"
_DATE_TIME = NAMESPACES["xsd"] + "dateTime"
_MOST_TERMS = 64
_MOST_STEPS = 2000
"""Terms tried for one variable, and for all variables of a pattern together."""


def triples_with(patterns: Sequence[GraphPattern]) -> str:
    """A document of N-Triples; nothing when no terms were found that keep the constraints."""
    found: dict[Statement, None] = {}
    for number, pattern in enumerate(patterns):
        binding = _binding(pattern, f"{_OWN}{number}:")
        if binding is None:
            return ""
        for one in pattern.triples:
            subject, predicate, object_ = (
                _term(term, binding) for term in (one.subject, one.predicate, one.object)
            )
            found[Statement(subject, predicate, object_)] = None
    if not all(one.subject.kind != "literal" and one.predicate.kind == "iri" for one in found):
        return ""
    try:
        return "".join(map(_line, found))
    except ValueError:
        return ""


def _term(term: GraphTerm, binding: dict[str, Node]) -> Node:
    match term:
        case Variable(name):
            return binding[name]
        case Constant(str(text)):
            return Node("iri", _OWN + text) if is_iri(_OWN + text) else Node("literal", text)
        case Constant(value):
            return Node("literal", f"{value:.17g}")
        case _:
            return _fixed(term)


def _fixed(term: Iri | RdfLiteral) -> Node:
    if isinstance(term, Iri):
        return Node("iri", term.iri)
    return Node("literal", term.text, "" if term.datatype == STRING else term.datatype, term.language)


def _line(one: Statement) -> str:
    return f"{_written(one.subject)} {_written(one.predicate)} {_written(one.object)} .\n"


def _written(node: Node) -> pyoxigraph.NamedNode | pyoxigraph.BlankNode | pyoxigraph.Literal:
    if node.kind == "iri":
        return pyoxigraph.NamedNode(node.value)
    if node.kind == "blank":
        return pyoxigraph.BlankNode(node.value)
    if node.language:
        return pyoxigraph.Literal(node.value, language=node.language)
    return pyoxigraph.Literal(node.value, datatype=pyoxigraph.NamedNode(node.datatype or STRING))


# What variables become


def _binding(pattern: GraphPattern, own: str) -> dict[str, Node] | None:
    """Terms with which the constraints are kept, by backtracking; None when none were found."""
    names = sorted(names_bound(pattern))
    binding: dict[str, Node] = {}
    untried = [_candidates(pattern, name, own) for name in names[:1]]
    for _ in range(_MOST_STEPS):
        if len(binding) == len(names):
            return binding
        if not untried:
            return None
        name = names[len(untried) - 1]
        binding.pop(name, None)
        node = next(untried[-1], None)
        if node is None:
            untried.pop()
            continue
        binding[name] = node
        if not _is_kept(pattern, name, binding):
            del binding[name]
        elif len(untried) < len(names):
            untried.append(_candidates(pattern, names[len(untried)], own))
    return None


def _is_kept(pattern: GraphPattern, name: str, binding: dict[str, Node]) -> bool:
    """Whether a variable keeps its place among the triples and the constraints that can be asked now."""
    as_subject = any(one.subject == Variable(name) for one in pattern.triples)
    as_predicate = any(one.predicate == Variable(name) for one in pattern.triples)
    kind = binding[name].kind
    if (as_predicate and kind != "iri") or (as_subject and kind == "literal"):
        return False
    asked = (
        one for one in pattern.constraints if name in (about := variables_of(one)) and about <= set(binding)
    )
    return all(keeps(one, binding) for one in asked)


def _candidates(pattern: GraphPattern, name: str, own: str) -> Iterator[Node]:
    about = [one for one in pattern.constraints if name in variables_of(one)]
    leaves = list(chain.from_iterable(map(_leaves, about)))
    if any(isinstance(one.value, Variable) for one in leaves):
        leaves = list(chain.from_iterable(map(_leaves, pattern.constraints)))
    found = chain([Node("iri", own + name)], _invented(leaves, own + name) if leaves else ())
    return islice(dict.fromkeys(found), _MOST_TERMS)


def _leaves(constraint: GraphConstraint) -> Iterator[Constraint]:
    if isinstance(constraint, Constraint):
        yield constraint
    else:
        yield from chain.from_iterable(map(_leaves, constraint.parts))


def _invented(leaves: Sequence[Constraint], own: str) -> Iterator[Node]:
    texts = {op: [str(one.value) for one in leaves if one.op == op and not one.is_negated] for op in _PIECES}
    text = "".join(chain.from_iterable(texts.values()))
    values = [text, *(str(one.value) for one in leaves if one.part == "text" and one.op not in _PIECES)]
    tags = [str(one.value) for one in leaves if one.part == "language" or one.op == "speaks"]
    types = [one.value.iri for one in leaves if one.part == "datatype" and isinstance(one.value, Iri)]
    for one in leaves:
        if not one.part:
            yield from _near(one.value)
    for value in values:
        yield from (Node("literal", value, "", "en" if tag == "*" else tag.lower()) for tag in tags if tag)
        yield from (Node("literal", value, "" if of == STRING else of) for of in types)
        yield Node("literal", value)
        yield Node("iri", value if is_iri(value) else own)
    yield from (Node("literal", "1", of) for of in types)
    yield from (Node("literal", number) for number in ("1", "2"))
    yield Node("literal", "b")
    yield Node("blank", "specimen")


_PIECES = ("starts", "contains", "ends")


def _near(value: object) -> Iterable[Node]:
    """The value itself, and some on both sides of it."""
    match value:
        case Iri():
            return [_fixed(value)]
        case RdfLiteral(text, datatype):
            return [_fixed(value), *_near_literal(text, datatype)]
        case str(text):
            return [Node("literal", one) for one in (text, *_moments(text), text + "x", text[:-1])]
        case float() | int():
            return [Node("literal", f"{one:.17g}") for one in _numbers(float(value))]
        case _:
            return ()


def _near_literal(text: str, datatype: str) -> Iterable[Node]:
    number = number_in(text) if datatype in NUMBERS else None
    if number is not None:
        return [Node("literal", f"{one:.17g}") for one in _numbers(float(number))]
    if datatype in TIMES:
        return [Node("literal", one, _DATE_TIME) for one in _moments(text)]
    return [Node("literal", one) for one in (text, text + "x", text[:-1])] if datatype == STRING else ()


def _numbers(number: float) -> Iterable[float]:
    return number, number + 1, number - 1, number + 0.5, number - 0.5


def _moments(text: str) -> Iterator[str]:
    moment = instant_of(text)
    for step in (timedelta(days=1), timedelta(days=-1), timedelta(seconds=1), timedelta(seconds=-1)):
        if moment is not None:
            try:
                yield (moment + step).isoformat()
            except OverflowError:
                continue
