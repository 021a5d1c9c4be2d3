"""Which subscriptions an item satisfies: all of them compiled into one set, run once per batch."""

from feedweir.match.compiled import CompiledSet, Explanation, Frequencies, compile_set, open_set
from feedweir.match.matches import Matches, Span

__all__ = ["CompiledSet", "Explanation", "Frequencies", "Matches", "Span", "compile_set", "open_set"]
