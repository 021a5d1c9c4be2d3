"""What a constraint of a graph pattern says about an RDF term, and when a term is one that a pattern names."""

from __future__ import annotations

from collections.abc import Mapping
from operator import eq, ge, gt, le, lt
from typing import Any

from feedweir.items.rdf_values import (
    BOOLEAN,
    LANGUAGE_STRING,
    NUMBERS,
    STRING,
    TIMES,
    TRUTHS,
    moment_of,
    number_in,
    number_of,
)
from feedweir.items.triples import Node
from feedweir.plan.predicates import (
    AllConstraints,
    AnyConstraint,
    Constant,
    Constraint,
    GraphConstraint,
    GraphTerm,
    Iri,
    RdfLiteral,
    Variable,
)
from feedweir.text.dates import instant_of

_COMPARISONS = {"=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}


def is_term(term: GraphTerm, node: Node) -> bool:
    """Whether a term of a pattern that is no variable is this one."""
    match term:
        case Iri(iri):
            return node.kind == "iri" and node.value == iri
        case RdfLiteral(text, datatype, language):
            return (
                node.kind == "literal"
                and node.value == text
                and node.language == language
                and (bool(language) or (node.datatype or STRING) == datatype)
            )
        case Constant(str(text)):
            ends_so = node.value == text or node.value.endswith((f"/{text}", f"#{text}", f":{text}"))
            return node.value == text if node.kind == "literal" else node.kind == "iri" and ends_so
        case Constant(value):
            return number_of(node) == value
        case _:
            return False


def keeps(constraint: GraphConstraint, binding: Mapping[str, Node]) -> bool:
    """Whether a binding of all its variables keeps a constraint."""
    match constraint:
        case AllConstraints(parts):
            return all(keeps(part, binding) for part in parts)
        case AnyConstraint(parts):
            return any(keeps(part, binding) for part in parts)
        case _:
            return _passes(binding[constraint.variable], constraint, binding)


def _passes(node: Node, wanted: Constraint, binding: Mapping[str, Node]) -> bool:
    if wanted.part:
        return _part_passes(node, wanted)
    match wanted.op:
        case "is":
            return is_term(wanted.value, node) != wanted.is_negated  # type: ignore[arg-type]
        case "kind":
            is_so = number_of(node) is not None if wanted.value == "number" else node.kind == wanted.value
            return is_so != wanted.is_negated
        case "contains" | "starts" | "ends":
            return node.kind == "literal" and _text_passes(node.value, wanted)
        case "!=":
            return not _compares(node, "=", wanted.value, binding)
        case _:
            return _compares(node, wanted.op, wanted.value, binding)


def _compares(node: Node, op: str, value: Any, binding: Mapping[str, Node]) -> bool:
    """Numbers compare by value, times by the moment they name, other texts as text, and blank nodes with nothing."""
    match value:
        case Variable(name):
            return _terms_compare(node, op, binding[name])
        case Iri():
            return op == "=" and is_term(value, node)
        case RdfLiteral():
            return _typed_compares(node, op, value)
        case str():
            ours, theirs = moment_of(node), instant_of(value)
            if ours is not None and theirs is not None:
                return bool(_COMPARISONS[op](ours, theirs))
            return node.kind != "blank" and _COMPARISONS[op](node.value, value)
        case _:
            return _values_compare(number_of(node), op, value)


def _typed_compares(node: Node, op: str, value: RdfLiteral) -> bool:
    """As the type of the value compares; other types are equal to the same term and have no order."""
    number = number_in(value.text) if value.datatype in NUMBERS else None
    if number is not None:
        return _values_compare(number_of(node), op, number)
    moment = instant_of(value.text) if value.datatype in TIMES else None
    if moment is not None:
        return _values_compare(moment_of(node), op, moment)
    if value.datatype == BOOLEAN and value.text in TRUTHS:
        is_truth = node.kind == "literal" and node.datatype == value.datatype
        return _values_compare(TRUTHS.get(node.value) if is_truth else None, op, TRUTHS[value.text])
    if value.datatype == STRING:
        is_text = node.kind == "literal" and not node.datatype and not node.language
        return _values_compare(node.value if is_text else None, op, value.text)
    return op == "=" and is_term(value, node)


def _terms_compare(one: Node, op: str, other: Node) -> bool:
    """Two terms: equal terms are equal, blank nodes, too; texts of literals have an order, IRIs have none."""
    for value in (number_of, moment_of):
        ours, theirs = value(one), value(other)
        if ours is not None and theirs is not None:
            return _values_compare(ours, op, theirs)
    if op == "=":
        return one == other
    are_texts = one.kind == other.kind == "literal" and not (_has_value(one) or _has_value(other))
    return are_texts and _COMPARISONS[op](one.value, other.value)


def _has_value(node: Node) -> bool:
    return number_of(node) is not None or moment_of(node) is not None


def _values_compare(ours: Any, op: str, theirs: Any) -> bool:
    return ours is not None and bool(_COMPARISONS[op](ours, theirs))


def _part_passes(node: Node, wanted: Constraint) -> bool:
    match wanted.part:
        case "text":
            return node.kind != "blank" and _text_passes(node.value, wanted)
        case "language":
            return node.kind == "literal" and _text_passes(node.language, wanted)
        case _:
            plain = LANGUAGE_STRING if node.language else STRING
            is_so = wanted.value == Iri(node.datatype or plain)
            return node.kind == "literal" and is_so == (wanted.op == "=")


def _text_passes(text: str, wanted: Constraint) -> bool:
    value = str(wanted.value)
    match wanted.op:
        case "contains":
            return (value in text) != wanted.is_negated
        case "starts":
            return text.startswith(value) != wanted.is_negated
        case "ends":
            return text.endswith(value) != wanted.is_negated
        case "speaks":
            speaks = bool(text) if value == "*" else text == value or text.startswith(f"{value}-")
            return speaks != wanted.is_negated
        case "!=":
            return text != value
        case _:
            return bool(_COMPARISONS[wanted.op](text, value))
