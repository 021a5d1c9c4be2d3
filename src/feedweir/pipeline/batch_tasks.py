"""The tasks of a batch, and what each hands back: frozen values, which travel to the executors and back as they are.

A small batch is one task, which does everything, and one that a few cores share is a task for some of the sources each,
if these can be shared evenly. Others have three rounds: shares of the documents are parsed, the
keys of the items are judged by parts of the key groups, and what is news is matched in slices of equal weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from feedweir.items.key_groups import ALL_GROUPS, GroupRange
from feedweir.logs.batches import Assignment, SourceReport
from feedweir.logs.landing import Piece


@dataclass(frozen=True, slots=True)
class WholeTask:
    """A batch, or all that it has of some sources."""

    assignment: Assignment
    groups: GroupRange = ALL_GROUPS
    """Of the sources."""


@dataclass(frozen=True, slots=True)
class ParseTask:
    """A share of the documents of a batch."""

    assignment: Assignment
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class JudgeTask:
    """Some parts of the key groups."""

    assignment: Assignment
    parts: tuple[int, ...]
    parsed: tuple[str, ...]
    """The attempts that parsed the batch, in the order of the stream."""


@dataclass(frozen=True, slots=True)
class MatchTask:
    """The news among the items `first <= seq < end`."""

    assignment: Assignment
    first: int
    end: int
    parsed: tuple[str, ...]
    """The attempts that parsed these items."""
    news: str
    """What says which of them are."""


Task: TypeAlias = WholeTask | ParseTask | JudgeTask | MatchTask


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a share of the documents said."""

    name: str
    first: int
    """The number of its first item; 0 if there is none."""
    last: int
    sources: dict[str, SourceReport] = field(default_factory=dict)
    source_files: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    spent_s: float = 0.0


@dataclass(frozen=True, slots=True)
class JudgedParts:
    """What was judged in some parts of the key groups."""

    name: str
    seen_file: str = ""
    spent_s: float = 0.0


RunTasks: TypeAlias = Callable[[Sequence[Any]], Sequence[Any]]
"""Runs the tasks of one round, in any order, anywhere; what they hand back, in the order of the tasks."""


def shares(pieces: Sequence[tuple[Piece, int]], tasks: int) -> list[tuple[Piece, ...]]:
    """Pieces in their order, in at most so many shares of about the same size."""
    total = sum(size for _, size in pieces) or 1
    found: list[list[Piece]] = [[] for _ in range(tasks)]
    before = 0
    for piece, size in pieces:
        # The share in which its middle lies.
        found[min((before + size // 2) * tasks // total, tasks - 1)].append(piece)
        before += size
    return [_joined(share) for share in found if share]


def _joined(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Row groups that follow each other in one piece."""
    found: list[Piece] = []
    for piece in pieces:
        last = found[-1] if found else None
        if last and not piece.is_whole and last.segment == piece.segment and last.end == piece.first:
            found[-1] = replace(last, end=piece.end)
        else:
            found.append(piece)
    return tuple(found)
