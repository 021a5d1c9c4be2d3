"""Which subscriptions an item satisfies: all of them compiled into one set, run once per batch."""

from feedweir.match.build import Note
from feedweir.match.compiled import CompiledSet, compile_set
from feedweir.match.counters import Counters, Tally
from feedweir.match.explain import Explanation
from feedweir.match.matches import Matches, Span, Work
from feedweir.match.opening import open_set
from feedweir.match.segments import (
    SegmentedSet,
    apply_changes,
    create_segmented,
    merge,
    open_version,
    prune,
    versions_of,
)
from feedweir.match.selectivity import Frequencies
from feedweir.match.store import KeywordQueries

__all__ = [
    "CompiledSet",
    "Counters",
    "Explanation",
    "Frequencies",
    "KeywordQueries",
    "Matches",
    "Note",
    "SegmentedSet",
    "Span",
    "Tally",
    "Work",
    "apply_changes",
    "compile_set",
    "create_segmented",
    "merge",
    "open_set",
    "open_version",
    "prune",
    "versions_of",
]
