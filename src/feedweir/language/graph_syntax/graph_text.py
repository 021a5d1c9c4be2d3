"""Graph patterns as text: triples in brackets where those say all, else SPARQL's form."""

from __future__ import annotations

from feedweir.language.graph_syntax.graph_groups import terms_of
from feedweir.language.graph_syntax.graph_terms import format_term
from feedweir.language.literals import COMPARISONS, format_value
from feedweir.language.tokens import quoted
from feedweir.plan.predicates import (
    AllConstraints,
    AnyConstraint,
    Constant,
    Constraint,
    GraphConstraint,
    GraphPattern,
    Iri,
    RdfLiteral,
    Variable,
)

_KINDS = {"iri": "isIRI", "blank": "isBlank", "literal": "isLiteral", "number": "isNumeric"}
_TEXTS = {"contains": "CONTAINS", "starts": "STRSTARTS", "ends": "STRENDS"}
_PARTS = {"text": "STR", "language": "LANG", "datatype": "DATATYPE"}


def format_graph(pattern: GraphPattern) -> str:
    word = "graph exactly" if pattern.is_exact else "graph"
    if pattern.selected:
        names = " ".join(f"?{name}" for name in pattern.selected)
        return f"{word} {{ select {names} where {{ {format_group(pattern)} }} }}"
    plain = _in_brackets(pattern)
    return f"{word} {{ {format_group(pattern) if plain is None else plain} }}"


def format_group(pattern: GraphPattern) -> str:
    """A pattern in SPARQL's form, without its braces."""
    triples = [f"{' '.join(map(format_term, terms_of(triple)))} ." for triple in pattern.triples]
    kept = [f"FILTER({_constraint(one)})" for one in pattern.constraints]
    absent = [f"FILTER NOT EXISTS {{ {format_group(one)} }}" for one in pattern.absent]
    return " ".join((*triples, *kept, *absent))


def _in_brackets(pattern: GraphPattern) -> str | None:
    """RDQL's form; None if that cannot say all of it."""
    compared = [_compared(one) for one in pattern.constraints]
    if pattern.absent or None in compared:
        return None
    triples = " and ".join(f"({', '.join(map(format_term, terms_of(each)))})" for each in pattern.triples)
    return f"{triples} such that ({' and '.join(map(str, compared))})" if compared else triples


def _compared(constraint: GraphConstraint) -> str | None:
    if not isinstance(constraint, Constraint) or constraint.part or constraint.op not in COMPARISONS:
        return None
    if isinstance(constraint.value, Iri | RdfLiteral):
        return None
    return f"?{constraint.variable} {constraint.op} {_value(constraint)}"


def _constraint(constraint: GraphConstraint) -> str:
    match constraint:
        case AllConstraints(parts):
            return f"({' && '.join(map(_constraint, parts))})" if parts else "true"
        case AnyConstraint(parts):
            return f"({' || '.join(map(_constraint, parts))})" if parts else "false"
        case _:
            return f"{'!' if constraint.is_negated else ''}{_test(constraint)}"


def _test(constraint: Constraint) -> str:
    about = f"?{constraint.variable}"
    if constraint.part:
        about = f"{_PARTS[constraint.part]}({about})"
    match constraint.op:
        case "is":
            return f"sameTerm({about}, {_value(constraint)})"
        case "kind":
            return f"{_KINDS[str(constraint.value)]}({about})"
        case "speaks":
            return f"LANGMATCHES({about}, {_value(constraint)})"
        case "contains" | "starts" | "ends":
            return f"{_TEXTS[constraint.op]}({about}, {_value(constraint)})"
        case _:
            return f"{about} {constraint.op} {_value(constraint)}"


def _value(constraint: Constraint) -> str:
    value = constraint.value
    if isinstance(value, Iri | RdfLiteral | Constant | Variable):
        return format_term(value)
    return quoted(value) if isinstance(value, str) else format_value(value)
