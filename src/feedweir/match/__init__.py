"""Which subscriptions an item satisfies: all of them compiled into one set, run once per batch."""

from feedweir.match.changes import (
    PreparedMerge,
    apply_changes,
    is_worth_merging,
    merge,
    prepare_merge,
)
from feedweir.match.compiled import CompiledSet, compile_set
from feedweir.match.counters import Counters, Tally
from feedweir.match.explain import Explanation
from feedweir.match.formulas import Note
from feedweir.match.matches import Matches, Span, Work
from feedweir.match.opening import open_set
from feedweir.match.segments import SegmentedSet
from feedweir.match.selectivity import Frequencies
from feedweir.match.store import KeywordQueries
from feedweir.match.versions import (
    create_segmented,
    forget_merge,
    open_version,
    prune,
    verify_version,
    versions_of,
    write_version,
)

__all__ = [
    "CompiledSet",
    "Counters",
    "Explanation",
    "Frequencies",
    "KeywordQueries",
    "Matches",
    "Note",
    "PreparedMerge",
    "SegmentedSet",
    "Span",
    "Tally",
    "Work",
    "apply_changes",
    "compile_set",
    "create_segmented",
    "forget_merge",
    "is_worth_merging",
    "merge",
    "open_set",
    "open_version",
    "prepare_merge",
    "prune",
    "verify_version",
    "versions_of",
    "write_version",
]
