"""Clauses about words as formulas; the text of a query meets the analyser here."""

from __future__ import annotations

from math import ceil

from feedweir.items.attributes import SYNONYMS, AttributeType, attribute_named
from feedweir.match.atoms import Ask, Phrase, Prefix, Word
from feedweir.match.formula import NO, Formula, all_of, count_of
from feedweir.match.meaning.item_meaning import term_words
from feedweir.plan.predicates import Contains, Similar, Term
from feedweir.text.analyser import words


def contains_formula(predicate: Contains) -> Formula:
    scope = scope_of(predicate.attribute)
    return count_of(predicate.at_least, (_term(scope, term) for term in predicate.terms))


def similar_formula(predicate: Similar) -> Formula:
    """|A ∩ B| ≥ threshold · |A ∪ B| needs threshold · |B| of the words of B: a count, and then the real question."""
    wanted = sorted(set(words(predicate.text)))
    scope = scope_of(predicate.attribute)
    least = ceil(predicate.threshold * len(wanted) - 1e-9) if predicate.threshold > 0 else 0
    if least > 0 and not has_text(scope):
        return NO
    return all_of((count_of(least, (Word(scope, word) for word in wanted)), Ask(predicate)))


def scope_of(attribute: str | None) -> str | None:
    """The attribute, by its own name, whose words a clause is about; None for the whole text."""
    return None if attribute is None else SYNONYMS.get(attribute, attribute)


def has_text(scope: str | None) -> bool:
    """Whether there are words in it."""
    attribute = attribute_named(scope) if scope is not None else None
    return scope is None or (
        attribute is not None and attribute.type not in (AttributeType.TIME, AttributeType.NUMBER)
    )


def _term(scope: str | None, term: Term) -> Formula:
    wanted = term_words(term)
    if not wanted or not has_text(scope):
        return NO
    if len(wanted) > 1:
        return Phrase(scope, wanted, term.is_prefix)
    return Prefix(scope, wanted[0]) if term.is_prefix else Word(scope, wanted[0])
