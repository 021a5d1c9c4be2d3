"""Which subscriptions an item satisfies: all of them compiled into one set, run once per batch."""

from feedweir.match.atom_shares import Frequencies
from feedweir.match.counters import Counters, Tally
from feedweir.match.index.query_formulas import Note
from feedweir.match.matches import Matches, Span, Work
from feedweir.match.meaning.explanations import Explanation
from feedweir.match.sets.compiled_set import CompiledSet, compile_set
from feedweir.match.sets.query_store import KeywordQueries
from feedweir.match.sets.segments import SegmentedSet
from feedweir.match.sets.set_changes import (
    PreparedMerge,
    apply_changes,
    is_worth_merging,
    prepare_merge,
    queries_of,
)
from feedweir.match.sets.set_versions import (
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
    "forget_merge",
    "is_worth_merging",
    "open_version",
    "prepare_merge",
    "prune",
    "queries_of",
    "verify_version",
    "versions_of",
    "write_version",
]
