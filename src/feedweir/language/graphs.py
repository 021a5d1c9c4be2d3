"""Graph patterns: `graph { (s, p, ?o) and (?o, year, ?x) such that (?x > 2003) }`, and RDQL's SELECT … WHERE.

`<…>` and URLs are IRIs, `?x` is a variable, `prefix:name` an IRI by a prefix; other words and quoted texts are
constants, which stand for a literal of that text or for an IRI that ends with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from feedweir.items.namespaces import NAMESPACES
from feedweir.language.predicates import Constant, Constraint, GraphPattern, GraphTerm, Iri, Triple, Variable
from feedweir.language.suggest import near
from feedweir.language.tokens import Cursor, unquoted
from feedweir.language.value_atoms import COMPARISONS
from feedweir.language.values import is_number, number

PREFIXES = NAMESPACES | {
    "doap": "http://usefulinc.com/ns/doap#",
    "schema": "http://schema.org/",
    "sioc": "http://rdfs.org/sioc/ns#",
}
"""Known without being declared: those of feeds, and a few of what feeds link to."""


@dataclass(slots=True)
class _Reading:
    """What has been read of a pattern; names with a prefix wait for the prefixes, which may come last."""

    triples: list[tuple[GraphTerm | _Short, ...]] = field(default_factory=list)
    constraints: list[tuple[Constraint, int]] = field(default_factory=list)
    """Each with the token at which it begins."""
    prefixes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Short:
    """`prefix:name` at a token."""

    text: str
    at: int


def braced_graph(c: Cursor) -> GraphPattern:
    """`graph { … }` as a predicate."""
    c.at += 1
    c.expect("{")
    found = graph(c, "}")
    c.expect("}")
    return found


def graph(c: Cursor, end: str) -> GraphPattern:
    """Triples and constraints up to `end`, or to what ends the statement."""
    reading = _Reading()
    start = c.at
    while c.accept("prefix"):
        _prefix(c, reading)
    while c.words[c.at] not in (end, ";", "", "using", "publish"):
        _item(c, reading)
        if not (c.accept("and") or c.accept(",") or c.accept(".") or c.words[c.at] == "("):
            break
    if c.accept("such"):
        c.expect("that")
        _constraints(c, reading)
    elif c.accept("suchthat"):
        _constraints(c, reading)
    while c.accept("using"):
        _using(c, reading)
    return _finished(c, reading, start)


def _item(c: Cursor, reading: _Reading) -> None:
    """A triple, a constraint on its own (RDQL's AND ?x > 2003), or several in brackets with their SUCHTHAT."""
    if c.tokens[c.at][:1] == "?":
        _constraint(c, reading)
        return
    if c.words[c.at] != "(":
        raise c.error(f"{c.seen()} is not a triple", expected=("`(subject, property, object)`",))
    if c.tokens[c.at + 1][:1] == "?" and c.words[c.at + 2] in COMPARISONS:
        _constraints(c, reading)
        return
    c.at += 1
    if c.words[c.at] != "(":
        _triple(c, reading)
        return
    c.enter()
    while c.words[c.at] not in (")", "such", "suchthat", ""):
        _item(c, reading)
        if not (c.accept("and") or c.accept(",")):
            break
    if c.accept("suchthat") or (c.accept("such") and c.accept("that")):
        _constraints(c, reading)
    c.leave()
    c.expect(")")


def _triple(c: Cursor, reading: _Reading) -> None:
    parts = [_term(c)]
    while c.accept(","):
        parts.append(_term(c))
    if len(parts) != 3:
        raise c.error(
            f"a triple has three parts, not {len(parts)}", expected=("`(subject, property, object)`",)
        )
    c.expect(")")
    reading.triples.append(tuple(parts))


def _term(c: Cursor) -> GraphTerm | _Short:
    token = c.tokens[c.at]
    if token[:1] == "?" and len(token) > 1:
        c.at += 1
        return Variable(token[1:])
    if token[:1] == "<" and len(token) > 2:
        c.at += 1
        return Iri(token[1:-1])
    if c.is_string():
        c.at += 1
        return Constant(unquoted(token))
    if "://" in token:
        c.at += 1
        return Iri(token)
    if token == "-" or (is_number(token) and c.words[c.at + 1] in (",", ")")):
        return Constant(number(c))
    return _words(c)


def _words(c: Cursor) -> Constant | _Short:
    """Words without quotes, up to the comma or bracket: `RSS Filter` is one constant."""
    start = c.at
    while c.tokens[c.at][:1].isalnum() or c.tokens[c.at][:1] == "_":
        c.at += 1
    if c.at == start:
        raise c.error(
            f"{c.seen()} is not a part of a triple", expected=("?variable", "<IRI>", "a word or text")
        )
    words = c.tokens[start : c.at]
    if len(words) == 1 and ":" in words[0] and "#" not in words[0]:
        return _Short(words[0], start)
    return Constant(" ".join(words))


def _constraints(c: Cursor, reading: _Reading) -> None:
    """`(?x > 2003 and ?x < 2010)`, or one without brackets."""
    if not c.accept("("):
        _constraint(c, reading)
        return
    _constraint(c, reading)
    while c.accept("and") or c.accept("&&") or c.accept(","):
        _constraint(c, reading)
    c.expect(")")


def _constraint(c: Cursor, reading: _Reading) -> None:
    start, token = c.at, c.tokens[c.at]
    if token[:1] != "?" or len(token) < 2:
        raise c.error(f"{c.seen()} is not a variable", expected=("a variable, as in `?x`",))
    c.at += 1
    op = COMPARISONS.get(c.words[c.at])
    if op is None:
        raise c.unknown("a comparison", tuple(COMPARISONS))
    c.at += 1
    if c.tokens[c.at][:1] == "?":
        raise c.error("a variable is compared with a value", hint="two equal nodes have the same variable")
    value = c.string() if c.is_string() else number(c)
    reading.constraints.append((Constraint(token[1:], op, value), start))


def _prefix(c: Cursor, reading: _Reading) -> None:
    """`prefix dc: <http://…>`."""
    label = c.tokens[c.at]
    c.at += 1
    c.expect(":")
    reading.prefixes[label] = _iri(c)


def _using(c: Cursor, reading: _Reading) -> None:
    """RDQL's `USING dc FOR <http://…>, …`."""
    while True:
        label = c.tokens[c.at]
        c.at += 1
        c.expect("for")
        reading.prefixes[label] = _iri(c)
        if not c.accept(","):
            return


def _iri(c: Cursor) -> str:
    token = c.tokens[c.at]
    if c.is_string() or ("://" not in token and not (token.startswith("<") and len(token) > 2)):
        raise c.error(f"{c.seen()} is not an IRI", expected=("an IRI, as in `<http://example.org/>`",))
    c.at += 1
    return token.strip("<>")


def _finished(c: Cursor, reading: _Reading, start: int) -> GraphPattern:
    if not reading.triples:
        raise c.error("a graph pattern needs a triple", at=start, expected=("`(subject, property, object)`",))
    prefixes = {**PREFIXES, **reading.prefixes}
    triples = tuple(Triple(*(_resolved(c, part, prefixes) for part in triple)) for triple in reading.triples)
    found = GraphPattern(triples, tuple(constraint for constraint, _ in reading.constraints))
    check_bound(c, found, [(constraint.variable, at) for constraint, at in reading.constraints])
    return found


def check_bound(c: Cursor, pattern: GraphPattern, used: Iterable[tuple[str, int]]) -> None:
    """Refuse a variable, named at a token, that is in no triple of a pattern."""
    parts = [part for each in pattern.triples for part in (each.subject, each.predicate, each.object)]
    known = sorted({part.name for part in parts if isinstance(part, Variable)})
    for label, at in used:
        if label not in known:
            hint = f"known here: {', '.join(f'?{name}' for name in known)}" if known else ""
            raise c.error(f"`?{label}` is in no triple", at=at, hint=hint)


def _resolved(c: Cursor, part: GraphTerm | _Short, prefixes: dict[str, str]) -> GraphTerm:
    if not isinstance(part, _Short):
        return part
    label, _, rest = part.text.partition(":")
    if label not in prefixes:
        hint = near(label, prefixes) or f"prefix {label}: <http://…>, or quote it"
        raise c.error(f"the prefix `{label}` is not known", at=part.at, hint=hint)
    return Iri(prefixes[label] + rest)
