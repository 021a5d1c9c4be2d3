"""The syntax of atoms: by class, the words that its conditions begin with, their readers, and how it is printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from feedweir.language.graph_syntax.graph_patterns import braced_graph
from feedweir.language.graph_syntax.graph_text import format_graph
from feedweir.language.literals import COMPARISONS
from feedweir.language.subjects import WHOLE, Subject, fail_operator, subject
from feedweir.language.tokens import Cursor
from feedweir.language.tree_patterns import format_tree_pattern, path_condition
from feedweir.language.value_conditions import (
    between,
    compare,
    exists,
    extends,
    format_compare,
    format_extends,
    format_from_feeds,
    format_references,
    format_shares_link,
    from_feeds,
    one_of,
    references,
    shares_link,
)
from feedweir.language.word_conditions import (
    begins_regex,
    contains,
    format_contains,
    format_matches,
    format_similar,
    matches,
    similar,
)
from feedweir.plan.predicates import (
    Compare,
    Contains,
    Extends,
    FromFeeds,
    GraphPattern,
    Matches,
    Not,
    Predicate,
    References,
    SharesLink,
    Similar,
    TreePattern,
)

ReadOperator: TypeAlias = Callable[[Cursor, Subject], Predicate]
"""Reads what follows an operator; when the attribute has no such operator, the error is about the word before."""


@dataclass(frozen=True, slots=True)
class AtomSyntax:
    """How one kind of atom is written."""

    text: Callable[[Any], str]
    operators: Mapping[str, ReadOperator] = field(default_factory=dict)
    """By the word that follows an attribute."""
    needs_attribute: bool = False
    """Whether the operators cannot stand without an attribute, about the whole item."""
    openers: Mapping[str, Callable[[Cursor], Predicate]] = field(default_factory=dict)
    """By the word that begins a condition without any attribute; the reader begins with that word."""


ATOM_SYNTAX: dict[type, AtomSyntax] = {
    Contains: AtomSyntax(format_contains, {"contains": contains}),
    Compare: AtomSyntax(
        format_compare,
        {**dict.fromkeys(COMPARISONS, compare), "in": one_of, "between": between, "exists": exists},
        needs_attribute=True,
    ),
    Similar: AtomSyntax(format_similar, {"similar": similar}),
    References: AtomSyntax(format_references, {"references": references}),
    Extends: AtomSyntax(format_extends, {"extends": extends}),
    SharesLink: AtomSyntax(format_shares_link, {"shares-link": shares_link}),
    Matches: AtomSyntax(format_matches, {"matches": matches}),
    FromFeeds: AtomSyntax(format_from_feeds, openers={"from": from_feeds}),
    TreePattern: AtomSyntax(format_tree_pattern, openers={"path": path_condition}),
    GraphPattern: AtomSyntax(format_graph, openers={"graph": braced_graph}),
}
"""Every kind of atom. Their meaning is in `match`, which implies which in `optimize`."""


def atom(c: Cursor) -> Predicate:
    """An attribute and its condition."""
    about = WHOLE if begins_regex(c.words[c.at]) else subject(c)
    return condition_on(c, about)


def condition_on(c: Cursor, about: Subject) -> Predicate:
    """What is asked of an attribute: the operator that is next and its operand."""
    word = c.words[c.at]
    read = _OPERATORS.get(word) or (matches if begins_regex(word) else None)
    if read is None:
        if word != "not" or not _may_be_negated(c.words[c.at + 1]):
            fail_operator(c, about)
        c.at += 1
        return Not(condition_on(c, about))
    c.at += 1
    return read(c, about)


def _may_be_negated(word: str) -> bool:
    return (word in _OPERATORS and word not in COMPARISONS) or begins_regex(word)


def _on_whole_item(c: Cursor) -> Predicate:
    return condition_on(c, WHOLE)


_OPERATORS = {word: read for syntax in ATOM_SYNTAX.values() for word, read in syntax.operators.items()}
ATOM_OPENERS: dict[str, Callable[[Cursor], Predicate]] = {
    word: opener
    for syntax in ATOM_SYNTAX.values()
    for words in (
        {} if syntax.needs_attribute else dict.fromkeys(syntax.operators, _on_whole_item),
        syntax.openers,
    )
    for word, opener in words.items()
}
"""By the word that begins it, what reads a condition that names no attribute."""


def format_atom(atom: Predicate) -> str:
    syntax = ATOM_SYNTAX.get(type(atom))
    if syntax is None:
        raise TypeError(f"not a predicate: {atom!r}")
    return syntax.text(atom)
