"""Which subscriptions an item satisfies: all of them compiled into one set, run once per batch."""

from feedweir.match.build import Note
from feedweir.match.compiled import CompiledSet, compile_set
from feedweir.match.compiled import open_compiled as open_set
from feedweir.match.explain import Explanation
from feedweir.match.matches import Matches, Span, Work
from feedweir.match.selectivity import Frequencies
from feedweir.match.store import KeywordQueries

__all__ = [
    "CompiledSet",
    "Explanation",
    "Frequencies",
    "KeywordQueries",
    "Matches",
    "Note",
    "Span",
    "Work",
    "compile_set",
    "open_set",
]
