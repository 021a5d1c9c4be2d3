"""Prospective search as published, method by method, beside the one that replaced them all."""

from feedweir.published.prospective.choose import (
    METHODS,
    PUBLISHED,
    KeywordSet,
    best_of,
    keyword_set,
    matcher,
)
from feedweir.published.prospective.methods import Clustered, Found, Matcher, Ordered, Primitive, Shared
from feedweir.published.prospective.terms import TermSets, term_queries, term_sets

__all__ = [
    "METHODS",
    "PUBLISHED",
    "Clustered",
    "Found",
    "KeywordSet",
    "Matcher",
    "Ordered",
    "Primitive",
    "Shared",
    "TermSets",
    "best_of",
    "keyword_set",
    "matcher",
    "term_queries",
    "term_sets",
]
