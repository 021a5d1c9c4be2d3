"""Text to checked tree and back: RoSeS statements, search boxes, XSCL, graph patterns."""

from feedweir.language.check import Names, check, feeds_used
from feedweir.language.format import format_query, format_statement
from feedweir.language.format_predicates import format_predicate
from feedweir.language.parse import parse, parse_each, parse_predicate
from feedweir.language.search import parse_search
from feedweir.language.statements import Query, Statement

__all__ = [
    "Names",
    "Query",
    "Statement",
    "check",
    "feeds_used",
    "format_predicate",
    "format_query",
    "format_statement",
    "parse",
    "parse_each",
    "parse_predicate",
    "parse_search",
]
