"""Text to checked tree and back: RoSeS statements, search boxes, XSCL, graph patterns."""

from feedweir.language.conditions import format_predicate
from feedweir.language.name_checks import Names, feeds_used
from feedweir.language.queries import Query
from feedweir.language.query_clauses import format_query
from feedweir.language.search import parse_search
from feedweir.language.statements import Statement, check, format_statement, parse

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
    "parse_search",
]
