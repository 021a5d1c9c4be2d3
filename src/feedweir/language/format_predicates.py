"""Predicates to text: what `parse_predicate` reads back to the same tree."""

from __future__ import annotations

from datetime import datetime, timedelta

from feedweir.language.predicates import (
    And,
    AtLeast,
    Compare,
    Constant,
    Contains,
    Extends,
    FromFeeds,
    GraphPattern,
    GraphTerm,
    Iri,
    JoinAnd,
    JoinNot,
    JoinOr,
    JoinPredicate,
    Not,
    Now,
    Or,
    PatternNode,
    Predicate,
    References,
    Relates,
    SharesLink,
    Similar,
    Term,
    TreePattern,
    Value,
    Variable,
)
from feedweir.language.statements import EVERY_SOURCE
from feedweir.language.tokens import is_plain_name, quoted
from feedweir.language.values import RESERVED
from feedweir.language.windows import format_length
from feedweir.language.word_atoms import DEFAULT_THRESHOLD, terms_of


def format_predicate(predicate: Predicate) -> str:
    """A predicate as it would stand in `$r[…]`."""
    match predicate:
        case And(parts) if len(parts) > 1:
            return " and ".join(map(_factor, parts))
        case Or(parts) if len(parts) > 1:
            return " or ".join(
                _factor(part) if not _is_and(part) else format_predicate(part) for part in parts
            )
        case And(parts):
            return f"all of ({format_predicate(parts[0])})" if parts else "true"
        case Or(parts):
            return f"any of ({format_predicate(parts[0])})" if parts else "false"
        case Not(part):
            return f"not {_factor(part)}"
        case AtLeast(count, parts):
            return f"at least {count} of ({', '.join(map(format_predicate, parts))})"
        case _:
            return _atom(predicate)


def _is_and(part: Predicate) -> bool:
    return isinstance(part, And) and len(part.parts) > 1


def _factor(part: Predicate) -> str:
    text = format_predicate(part)
    return f"({text})" if isinstance(part, (And, Or)) and len(part.parts) > 1 else text


def _atom(atom: Predicate) -> str:
    match atom:
        case Contains():
            return _on(atom.attribute, f"contains {_terms(atom)}")
        case Compare(attribute, op, value, part):
            return f"{attribute}{'.' + part if part else ''} {op} {format_value(value, part)}"
        case Similar(attribute, text, threshold):
            return _on(attribute, f"similar {quoted(text)}{_threshold(threshold)}")
        case References(attribute, url):
            return _on(attribute, f"references {quoted(url)}")
        case Extends(attribute, url):
            return _on(attribute, f"extends {quoted(url)}")
        case SharesLink(attribute, urls):
            return _on(attribute, f"shares-link ({', '.join(map(quoted, urls))})")
        case FromFeeds(names):
            return f"from ({' | '.join(map(format_name, names))})"
        case TreePattern(root):
            return (
                f"path {format_path(root).replace('/*', '/ *', 1) if root.name == '*' else format_path(root)}"
            )
        case GraphPattern():
            return f"graph {{ {_graph(atom)} }}"
    raise TypeError(f"not a predicate: {atom!r}")


def _on(attribute: str | None, condition: str) -> str:
    return f"{attribute} {condition}" if attribute else condition


def _terms(contains: Contains) -> str:
    """The short form when reading it gives the same terms, else the list."""
    terms = contains.terms
    if contains.at_least == len(terms) and terms:
        short = " ".join(map(_short_term, terms))
        if tuple(terms_of(short)) == terms:
            return quoted(short)
    listed = f"({', '.join(quoted(_starred(term.text, term)) for term in terms)})"
    if contains.at_least == len(terms):
        return f"all of {listed}"
    return f"any of {listed}" if contains.at_least == 1 else f"at least {contains.at_least} of {listed}"


def _short_term(term: Term) -> str:
    is_word = not any(character.isspace() for character in term.text)
    return _starred(term.text if is_word else f'"{term.text}"', term)


def _starred(text: str, term: Term) -> str:
    return f"{text}*" if term.is_prefix else text


def _threshold(threshold: float) -> str:
    return "" if threshold == DEFAULT_THRESHOLD else f" at least {format_number(threshold)}"


def format_value(value: Value, part: str | None = None) -> str:
    """A literal."""
    match value:
        case str():
            return quoted(value)
        case datetime() if part == "date":
            return value.strftime("%Y-%m-%d").zfill(10)
        case datetime():
            return quoted(value.isoformat().replace("+00:00", "Z"))
        case Now(offset) if offset == timedelta():
            return "now"
        case Now(offset):
            return f"now {'-' if offset < timedelta() else '+'} {format_length(abs(offset))}"
        case _:
            return format_number(value)


def format_number(value: float) -> str:
    """Without a useless `.0`."""
    return (
        str(int(value))
        if float(value).is_integer() and abs(value) < 1e16
        else repr(float(value)).replace("e+", "e")
    )


def format_name(name: str) -> str:
    """A feed's name, between quotes when it needs them."""
    if name == EVERY_SOURCE:
        return name
    return name if is_plain_name(name) and name.lower() not in RESERVED else quoted(name)


# Patterns


def format_path(node: PatternNode) -> str:
    """A tree pattern: every branch in brackets, so that a step has nothing but brackets after it."""
    value = ""
    if node.op is not None and node.value is not None:
        literal = quoted(node.value) if isinstance(node.value, str) else format_number(node.value)
        value = f"[. {node.op} {literal}]"
    variable = f"->{node.variable}" if node.variable else ""
    branches = "".join(f"[.{format_path(child)}]" for child in node.children)
    return f"{node.axis}{node.name}{variable}{value}{branches}"


def _graph(pattern: GraphPattern) -> str:
    triples = " and ".join(
        f"({', '.join(map(_graph_term, (t.subject, t.predicate, t.object)))})" for t in pattern.triples
    )
    if not pattern.constraints:
        return triples
    constraints = " and ".join(f"?{c.variable} {c.op} {format_value(c.value)}" for c in pattern.constraints)
    return f"{triples} such that ({constraints})"


def _graph_term(term: GraphTerm) -> str:
    match term:
        case Variable(name):
            return f"?{name}"
        case Iri(iri):
            return f"<{iri}>"
        case Constant(value):
            return format_value(value)


# Join predicates


def format_join_predicate(predicate: JoinPredicate) -> str:
    """A join predicate as it would stand in `with $r[…]`."""
    match predicate:
        case JoinAnd(parts) if len(parts) > 1:
            return " and ".join(map(_join_factor, parts))
        case JoinOr(parts) if len(parts) > 1:
            return " or ".join(map(_join_factor, parts))
        case JoinAnd(parts) | JoinOr(parts):
            how = "all" if isinstance(predicate, JoinAnd) else "any"
            return f"{how} of ({', '.join(map(format_join_predicate, parts))})"
        case JoinNot(part):
            return f"not {_join_factor(part)}"
        case Relates():
            return _relates(predicate)


def _join_factor(part: JoinPredicate) -> str:
    text = format_join_predicate(part)
    return f"({text})" if isinstance(part, (JoinAnd, JoinOr)) and len(part.parts) > 1 else text


def _relates(atom: Relates) -> str:
    other = f"window.{atom.window_attribute}" if atom.window_attribute else "window"
    end = _threshold(atom.threshold) if atom.op == "similar" else ""
    return _on(atom.attribute, f"{atom.op} {other}{end}")
