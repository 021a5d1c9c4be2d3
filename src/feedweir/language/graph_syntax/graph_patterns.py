"""Graph patterns: `graph { (s, p, ?o) and (?o, year, ?x) such that (?x > 2003) }`, and RDQL's SELECT … WHERE; or
SPARQL's form of them, which `sparql_groups` reads.

`<…>` and URLs are IRIs, `?x` is a variable, `prefix:name` an IRI by a prefix; other words and quoted texts are
constants, which stand for a literal of that text or for an IRI that ends with it, unless they have a type or language.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from feedweir.errors import near
from feedweir.language.graph_syntax.graph_groups import Group, names_in_group
from feedweir.language.graph_syntax.graph_terms import PREFIXES, iri_named, literal_term
from feedweir.language.graph_syntax.graph_ways import (
    MOST_WAYS,
    TooManyWaysError,
    UnknownVariableError,
    fresh_name,
    ways_of,
)
from feedweir.language.graph_syntax.sparql_filters import Of, Operand, compared
from feedweir.language.graph_syntax.sparql_groups import (
    COMPARED,
    SparqlReader,
    begins_sparql,
    refuse_modifier,
)
from feedweir.language.literals import COMPARISONS, is_number, number
from feedweir.language.tokens import Cursor
from feedweir.plan.graph_variables import names_bound, names_in, variables_of
from feedweir.plan.predicates import (
    And,
    AnyConstraint,
    Constant,
    Constraint,
    GraphPattern,
    GraphTerm,
    Iri,
    Not,
    Or,
    Predicate,
    Triple,
    Variable,
    conjunction,
)

_MORE_TESTS = ("in", "contains", "starts")
MOST_TRIPLES = 1000


@dataclass(frozen=True, slots=True)
class _Short:
    """`prefix:name` at a token."""

    text: str
    at: int


_Part: TypeAlias = tuple["GraphTerm | _Short", ...] | tuple[Constraint | AnyConstraint, int]
"""A triple, of which names with a prefix wait for the prefixes, that may come last; or a constraint and its token."""
_Ways: TypeAlias = list[tuple[_Part, ...]]
"""The ways to satisfy what was read: the parts of any one of them, all together."""


def braced_graph(c: Cursor) -> Predicate:
    """`graph { … }` as a predicate, perhaps with the variables that are kept: `graph { select ?x where { … } }`.
    `graph exactly { … }` does without subclasses and subproperties."""
    c.at += 1
    is_exact = c.accept("exactly")
    c.expect("{")
    prefixes = read_prefixes(c)
    if c.accept("select"):
        found = selected_pattern(c, selected_names(c), prefixes)
    else:
        found = graph(c, "}", prefixes)
    c.expect("}")
    return _exactly(found) if is_exact else found


def _exactly(predicate: Predicate) -> Predicate:
    match predicate:
        case And(parts) | Or(parts):
            return type(predicate)(tuple(map(_exactly, parts)))
        case Not(part):
            return Not(_exactly(part))
        case GraphPattern(absent=absent):
            inner = tuple(_exactly(one) for one in absent)
            return replace(predicate, is_exact=True, absent=inner)  # type: ignore[arg-type]
        case _:
            return predicate


def graph(c: Cursor, end: str, prefixes: dict[str, str]) -> Predicate:
    """Triples and constraints up to `end`, or to what ends the statement. What `or` combines are patterns of their
    own: one of them is there exactly when the whole is."""
    if end == "}" and begins_sparql(c):
        return predicate_of(ways_to_satisfy(c, sparql_group(c, prefixes)))
    return predicate_of(_in_brackets(c, end, prefixes))


def selected_names(c: Cursor) -> list[tuple[str, int]]:
    """`?a, ?b` or `*` after SELECT, each with its token."""
    if c.words[c.at] in ("distinct", "reduced"):
        c.at += 1
    found: list[tuple[str, int]] = []
    if c.accept("*"):
        return found
    while c.tokens[c.at][:1] in ("?", "$") and len(c.tokens[c.at]) > 1:
        found.append((c.tokens[c.at][1:], c.at))
        c.at += 1
        c.accept(",")
    if not found:
        hint = "expressions are not taken" if c.tokens[c.at] == "(" else ""
        raise c.missing("a variable", expected=("a variable, as in `?x`", "`*`"), hint=hint)
    return found


def selected_pattern(c: Cursor, wanted: list[tuple[str, int]], prefixes: dict[str, str]) -> Predicate:
    """`WHERE { … }`, or RDQL's `WHERE (s, p, o), …`, with the variables that SELECT names."""
    if not c.accept("where") and c.words[c.at] != "{":
        raise c.unexpected(expected=("`where`",))
    names = tuple(dict.fromkeys(label for label, _ in wanted))
    if c.accept("{"):
        group = sparql_group(c, prefixes)
        c.expect("}")
        refuse_modifier(c)
        ways = ways_to_satisfy(c, group, names)
    else:
        ways = tuple(_in_brackets(c, "", prefixes))
    check_bound(c, ways, wanted)
    return predicate_of(
        tuple(
            replace(way, selected=tuple(name for name in names if name in names_bound(way))) for way in ways
        )
    )


def read_prefixes(c: Cursor) -> dict[str, str]:
    """`prefix dc: <http://…>`, and those that are known without."""
    known = dict(PREFIXES)
    while c.accept("prefix"):
        label = c.tokens[c.at] if c.tokens[c.at] != ":" else ""
        c.at += bool(label)
        c.expect(":")
        known[label] = _iri(c)
    return known


def _in_brackets(c: Cursor, end: str, prefixes: dict[str, str]) -> tuple[GraphPattern, ...]:
    start = c.at
    ends = (end, ";", "", "using", "publish")
    ways: _Ways = [()]
    if c.words[c.at] not in ends:
        ways = _any(c, ends)
    ways = _such_that(c, ways)
    while c.accept("using"):
        _using(c, prefixes)
    return tuple(dict.fromkeys(_pattern(c, way, prefixes, start) for way in ways))


def sparql_group(c: Cursor, prefixes: Mapping[str, str]) -> Group:
    """What stands between braces in SPARQL's form."""
    taken = {token[1:] for token in c.tokens if token[:1] in ("?", "$")}
    labels: dict[str, str] = {}

    def fresh(label: str) -> str:
        if label in labels:
            return labels[label]
        name = fresh_name(taken)
        taken.add(name)
        if label:
            labels[label] = name
        return name

    return SparqlReader(c, prefixes, fresh).group()


def ways_to_satisfy(c: Cursor, group: Group, wanted: Iterable[str] = ()) -> tuple[GraphPattern, ...]:
    """A group in its normal form."""
    try:
        found = ways_of(group, wanted)
    except TooManyWaysError:
        raise c.error(
            f"more than {MOST_WAYS} ways to satisfy one pattern",
            at=group.at,
            hint="use UNION and OPTIONAL less often",
        ) from None
    except UnknownVariableError as error:
        known = ", ".join(f"?{name}" for name in sorted(names_in_group(group)) if name != error.name)
        hint = f"known here: {known}" if known else ""
        raise c.error(f"`?{error.name}` does not occur in any triple", at=error.at, hint=hint) from None
    for pattern in found:
        check_size(c, pattern, group.at)
    return found


def check_size(c: Cursor, pattern: GraphPattern, start: int) -> None:
    """Refuse a pattern without triples, or with more than can be searched for."""
    if not pattern.triples or not all(absent.triples for absent in pattern.absent):
        raise c.error(
            "a graph pattern needs at least one triple", at=start, expected=("`(subject, property, object)`",)
        )
    if len(pattern.triples) > MOST_TRIPLES:
        raise c.error(f"a graph pattern of more than {MOST_TRIPLES} triples", at=start)
    for absent in pattern.absent:
        check_size(c, absent, start)


def predicate_of(ways: tuple[GraphPattern, ...]) -> Predicate:
    """One of the ways. What must be absent whatever is bound around it is a condition of its own."""
    found = tuple(dict.fromkeys(map(_condition, ways)))
    return found[0] if len(found) == 1 else Or(found)


def _condition(pattern: GraphPattern) -> Predicate:
    around = names_bound(pattern)
    apart = [absent for absent in pattern.absent if not around & names_in(absent)]
    if not apart:
        return pattern
    near = tuple(absent for absent in pattern.absent if absent not in apart)
    return conjunction((replace(pattern, absent=near), *(Not(_condition(absent)) for absent in apart)))


def _any(c: Cursor, ends: tuple[str, ...]) -> _Ways:
    """`… and … or …`, where `and` binds tighter and may be a comma, a dot or nothing."""
    ways = _all(c, ends)
    while c.accept("or") or c.accept("||"):
        ways = ways + _all(c, ends)
    return ways


def _all(c: Cursor, ends: tuple[str, ...]) -> _Ways:
    ways = _item(c)
    while c.accept("and") or c.accept(",") or c.accept(".") or c.words[c.at] == "(":
        if c.words[c.at] in ends:
            break
        ways = _both(c, ways, _item(c))
    return ways


def _both(c: Cursor, ways: _Ways, others: _Ways) -> _Ways:
    if len(ways) * len(others) > MOST_WAYS:
        raise c.error(f"more than {MOST_WAYS} ways to satisfy one pattern", hint="use `or` less often")
    return [way + other for way in ways for other in others]


def _item(c: Cursor) -> _Ways:
    """A triple, a constraint on its own (RDQL's AND ?x > 2003), or several in brackets with their SUCHTHAT."""
    if c.tokens[c.at][:1] == "?":
        return _constraint(c)
    if c.words[c.at] != "(":
        raise c.missing("a triple", expected=("`(subject, property, object)`",))
    if c.tokens[c.at + 1][:1] == "?" and c.words[c.at + 2] in COMPARED:
        return _constraints(c)
    c.at += 1
    if c.words[c.at] != "(":
        return _triple(c)
    c.enter()
    ways = _such_that(c, _any(c, (")", "such", "suchthat", "")))
    c.leave()
    c.expect(")")
    return ways


def _such_that(c: Cursor, ways: _Ways) -> _Ways:
    if c.accept("such"):
        c.expect("that")
    elif not c.accept("suchthat"):
        return ways
    return _both(c, ways, _constraints(c))


def _triple(c: Cursor) -> _Ways:
    parts = [_term(c)]
    while c.accept(","):
        parts.append(_term(c))
    if len(parts) != 3:
        raise c.error(
            f"a triple has three parts, not {len(parts)}", expected=("`(subject, property, object)`",)
        )
    c.expect(")")
    return [(tuple(parts),)]


def _term(c: Cursor) -> GraphTerm | _Short:
    token = c.tokens[c.at]
    if token[:1] == "?" and len(token) > 1:
        c.at += 1
        return Variable(token[1:])
    if token[:1] == "<" and len(token) > 2:
        c.at += 1
        return Iri(token[1:-1])
    if c.is_string():
        return literal_term(c, PREFIXES)
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
        raise c.missing("a part of a triple", expected=("?variable", "<IRI>", "a word or text"))
    words = c.tokens[start : c.at]
    if len(words) == 1 and ":" in words[0] and "#" not in words[0]:
        return _Short(words[0], start)
    return Constant(" ".join(words))


def _constraints(c: Cursor) -> _Ways:
    """`(?x > 2003 and ?x < 2010 or ?y = 1)`, or one without brackets."""
    if not c.accept("("):
        return _constraint(c)
    c.enter()
    ways = _constraints_together(c)
    while c.accept("or") or c.accept("||"):
        ways = ways + _constraints_together(c)
    c.leave()
    c.expect(")")
    return ways


def _constraints_together(c: Cursor) -> _Ways:
    ways = _constraints(c)
    while c.accept("and") or c.accept("&&") or c.accept(","):
        ways = _both(c, ways, _constraints(c))
    return ways


def _constraint(c: Cursor) -> _Ways:
    """`?x > 3`, `?x > ?y`, `?x in (1, 2)`, `?x contains 'a'`, `?x starts with 'a'`."""
    start, token = c.at, c.tokens[c.at]
    if token[:1] != "?" or len(token) < 2:
        raise c.missing("a variable", expected=("a variable, as in `?x`",))
    c.at += 1
    word = c.words[c.at]
    op = COMPARISONS.get(word)
    if op is None and word not in _MORE_TESTS:
        raise c.unknown("a comparison", (*COMPARISONS, *_MORE_TESTS))
    c.at += 1
    return [((_tested(c, token[1:], op or word), start),)]


def _tested(c: Cursor, label: str, op: str) -> Constraint | AnyConstraint:
    if op in ("contains", "starts"):
        if op == "starts":
            c.expect("with")
        return Constraint(label, "contains" if op == "contains" else "starts", c.string(), "text")
    if op != "in":
        return compared(c, Of(label), COMPARISONS[op], _operand(c), c.at - 1)
    c.expect("(")
    parts = [compared(c, Of(label), "=", _operand(c), c.at - 1)]
    while c.accept(","):
        parts.append(compared(c, Of(label), "=", _operand(c), c.at - 1))
    c.expect(")")
    return AnyConstraint(tuple(dict.fromkeys(parts)))


def _operand(c: Cursor) -> Operand:
    token = c.tokens[c.at]
    if token[:1] == "?" and len(token) > 1:
        c.at += 1
        return Of(token[1:])
    if c.is_string():
        return literal_term(c, PREFIXES)
    if token[:1] == "<" and len(token) > 2:
        return iri_named(c, PREFIXES)
    return Constant(number(c))


def _using(c: Cursor, prefixes: dict[str, str]) -> None:
    """RDQL's `USING dc FOR <http://…>, …`."""
    while True:
        label = c.tokens[c.at]
        c.at += 1
        c.expect("for")
        prefixes[label] = _iri(c)
        if not c.accept(","):
            return


def _iri(c: Cursor) -> str:
    token = c.tokens[c.at]
    if c.is_string() or ("://" not in token and not (token.startswith("<") and len(token) > 2)):
        raise c.missing("an IRI", expected=("an IRI, as in `<http://example.org/>`",))
    c.at += 1
    return token.strip("<>")


def _pattern(c: Cursor, way: tuple[_Part, ...], prefixes: dict[str, str], start: int) -> GraphPattern:
    triples = [part for part in way if not isinstance(part[0], Constraint | AnyConstraint)]
    constraints = [part for part in way if isinstance(part[0], Constraint | AnyConstraint)]
    if not triples:
        raise c.error(
            "a graph pattern needs at least one triple", at=start, expected=("`(subject, property, object)`",)
        )
    found = GraphPattern(
        tuple(Triple(*(_resolved(c, part, prefixes) for part in triple)) for triple in triples),
        tuple(constraint for constraint, _ in constraints),
    )
    check_bound(
        c, (found,), [(name, at) for one, at in constraints for name in sorted(variables_of(one), key=str)]
    )
    check_size(c, found, start)
    return found


def check_bound(c: Cursor, found: Iterable[GraphPattern], used: Iterable[tuple[str, int]]) -> None:
    """Refuse a variable, named at a token, that is in no triple of what was found."""
    known = sorted({label for pattern in found for label in names_bound(pattern)})
    for label, at in used:
        if label not in known:
            hint = f"known here: {', '.join(f'?{name}' for name in known)}" if known else ""
            raise c.error(f"`?{label}` does not occur in any triple", at=at, hint=hint)


def _resolved(c: Cursor, part: GraphTerm | _Short, prefixes: dict[str, str]) -> GraphTerm:
    if not isinstance(part, _Short):
        return part
    label, _, rest = part.text.partition(":")
    if label not in prefixes:
        hint = near(label, prefixes) or f"declare it by `prefix {label}: <http://…>`, or quote the text"
        raise c.error(f"unknown prefix `{label}`", at=part.at, hint=hint)
    return Iri(prefixes[label] + rest)
