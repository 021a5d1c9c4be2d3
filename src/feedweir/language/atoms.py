"""The atoms of predicates: an attribute, or the whole item, and what is asked of it."""

from __future__ import annotations

from feedweir.language.link_atoms import extends, references, shares_link
from feedweir.language.predicates import Not, Predicate
from feedweir.language.subjects import Subject, fail_operator, subject
from feedweir.language.tokens import Cursor
from feedweir.language.value_atoms import COMPARISONS, between, compare, exists, one_of
from feedweir.language.word_atoms import contains, similar


def atom(c: Cursor) -> Predicate:
    """An attribute and its condition."""
    about = subject(c)
    return condition_on(c, about)


def condition_on(c: Cursor, about: Subject) -> Predicate:
    """What is asked of an attribute: the operator that is next and its operand."""
    word = c.words[c.at]
    op = COMPARISONS.get(word)
    if op is not None:
        return compare(c, about, op)
    read = _OPERATORS.get(word)
    if read is None:
        if word == "not" and c.words[c.at + 1] in _OPERATORS:
            c.at += 1
            return Not(condition_on(c, about))
        fail_operator(c, about)
    c.at += 1
    return read(c, about)


_OPERATORS = {
    "contains": contains,
    "similar": similar,
    "references": references,
    "extends": extends,
    "shares-link": shares_link,
    "in": one_of,
    "between": between,
    "exists": exists,
}
