"""Imprecise indexing: subscriptions that are often matched together give way to what they have in common.

   E_M     p1 {edges} 12 times · p2 {edges} 5 times …   summaries of publications that are alike
   index   S7  S9  M1 …                                 M1 has the edges that S2, S4 and S5 share

A publication that matches a merger is then matched against its members: what none of them wants is a false positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from feedweir.items.triples import Statement
from feedweir.plan.predicates import GraphPattern
from feedweir.published.graphs.matchers import MatrixMatcher

Edges = frozenset[Statement]


@dataclass(slots=True)
class Summary:
    """An abstract publication: the edges that similar ones have in common, and how often they matched."""

    edges: Edges
    counter: int


def similarity(one: Edges, other: Edges) -> float:
    """|P1.edges ∩ P2.edges| / |P1.edges ∪ P2.edges|."""
    return len(one & other) / len(one | other) if one or other else 0.0


@dataclass(slots=True)
class PublicationMatrix:
    """E_M, the summaries of publications."""

    threshold: float
    summaries: list[Summary] = field(default_factory=list)

    def collect(self, edges: Edges, matched: int) -> None:
        """Algorithm statCollection. Its line 8 inserts p; as p_new of lines 5 and 6 is the same as p of the loop."""
        p = Summary(edges, matched)  # 1
        near = self._nearest(p)  # 2
        while near is not None:  # 3
            self.summaries.remove(near)
            p = Summary(p.edges & near.edges, p.counter + near.counter)  # 4, 5
            near = self._nearest(p)  # 6, 7
        self.summaries.append(p)  # 8

    def take(self) -> Summary | None:
        """The summary with the greatest access frequency, which is then forgotten."""
        if not self.summaries:
            return None
        most = max(self.summaries, key=lambda one: one.counter)
        self.summaries.remove(most)
        return most

    def _nearest(self, p: Summary) -> Summary | None:
        found = max(self.summaries, key=lambda one: similarity(p.edges, one.edges), default=None)
        return found if found is not None and similarity(p.edges, found.edges) > self.threshold else None


def merger_of(one: GraphPattern, other: GraphPattern) -> GraphPattern:
    """The edges that both have, as they are written, with the constraints that both have on them."""
    triples = tuple(triple for triple in dict.fromkeys(one.triples) if triple in other.triples)
    held = tuple(constraint for constraint in one.constraints if constraint in other.constraints)
    return GraphPattern(triples, held)


@dataclass(slots=True)
class MergingIndex:
    """An index that merges down to the lower of two thresholds when it passes the upper one (footnote 10)."""

    upper: int
    lower: int
    statistics: PublicationMatrix
    index: MatrixMatcher = field(default_factory=MatrixMatcher)
    written: dict[int, GraphPattern] = field(default_factory=dict)
    members: dict[int, list[int]] = field(default_factory=dict)
    """By merger the subscriptions that gave way to it; mergers have negative numbers."""
    merger: dict[int, int] = field(default_factory=dict)
    false_positives: int = 0
    merges: int = 0

    def add(self, subscription: int, pattern: GraphPattern) -> None:
        self.written[subscription] = pattern
        self.index.add(subscription, pattern)
        if len(self) > self.upper:
            self.merge()

    def remove(self, subscription: int) -> None:
        """Section 4.4: the merger of a member is taken apart, and the other members come back to the index."""
        del self.written[subscription]
        number = self.merger.pop(subscription, None)
        if number is None:
            self.index.remove(subscription)
            return
        self.index.remove(number)
        for member in self.members.pop(number):
            if member != subscription:
                del self.merger[member]
                self.index.add(member, self.written[member])

    def match(self, publication: Sequence[Statement]) -> set[int]:
        found: set[int] = set()
        for number in self.index.match(publication):
            if number >= 0:
                found.add(number)
                continue
            behind = MatrixMatcher()
            for member in self.members[number]:
                behind.add(member, self.written[member])
            wanted = behind.match(publication)
            self.false_positives += not wanted
            found |= wanted
        return found

    def collect(self, publication: Sequence[Statement]) -> None:
        """Statistics: done apart from matching, on a sample of the publications."""
        self.statistics.collect(frozenset(publication), len(self.match(publication)))

    def merge(self) -> None:
        """Merge what the most frequent summaries match, until the index has come down to the lower threshold."""
        while len(self) > self.lower:
            summary = self.statistics.take()
            if summary is None:
                return
            matched = [n for n in sorted(self.index.match(sorted(summary.edges))) if n >= 0]
            self._merge(matched)

    def _merge(self, subscriptions: Sequence[int]) -> None:
        """Take one after the other into a merger; what has nothing in common with it stays where it is."""
        taken: list[int] = []
        merged: GraphPattern | None = None
        for one in subscriptions:
            # the merger itself takes a place in the index
            if len(self) - len(taken) + 1 <= self.lower and len(taken) > 1:
                break
            candidate = self.written[one] if merged is None else merger_of(merged, self.written[one])
            if candidate.triples:
                merged = candidate
                taken.append(one)
        if len(taken) < 2 or merged is None:
            return
        self.merges += 1
        number = -self.merges
        for one in taken:
            self.index.remove(one)
            self.merger[one] = number
        self.members[number] = taken
        self.index.add(number, merged)

    def __len__(self) -> int:
        return len(self.index.matrix.written)
