"""The obvious meaning of pattern joins: every document against every other, every embedding against every other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from lxml import etree

from feedweir.join.patterns.found import Match
from feedweir.join.patterns.variables import PatternQuery, preorder, stream_name
from feedweir.join.window_bounds import JoinBounds, microseconds
from feedweir.plan.construction import filled, holes_of
from feedweir.plan.nodes import Block, LastItems, PatternJoin, TimeSpan
from tests.match_trees import naive as trees

Ways = list[dict[str, str]]


@dataclass(frozen=True)
class Document:
    """An item, or what a join made of items: `order` is its place in the stream."""

    order: tuple[Any, ...]
    time: int
    items: tuple[int, ...]
    streams: frozenset[str]
    xml: str = ""
    bindings: tuple[tuple[str, str], ...] = ()


def item(seq: int, time: int, xml: str, *streams: str) -> Document:
    return Document((seq, 0), time, (seq,), frozenset(streams), xml)


class Meaning:
    """Queries over a whole stream."""

    def __init__(self, documents: Sequence[Document], bounds: JoinBounds) -> None:
        self.items = list(documents)
        self.bounds = bounds

    def matches(self, queries: Sequence[PatternQuery]) -> set[Match]:
        found: set[Match] = set()
        for query in queries:
            holes = holes_of(query.join.select)
            for result in self.results(query.join, holes):
                xml = filled(query.join.select, dict(result.bindings))
                found.add(Match(query.key, result.items, xml))
        return found

    def results(self, join: PatternJoin, wanted: Sequence[str]) -> list[Document]:
        needed = {name for pair in join.equalities for name in pair} | set(wanted)
        if isinstance(join.left, PatternJoin):
            lefts = self.results(join.left, sorted(needed))
            left_ways = {one: [dict(one.bindings)] for one in lefts}
        else:
            lefts, left_ways = self.block(join.left)
        rights, right_ways = self.block(join.right)
        found: set[Document] = set()
        for left, right in product(lefts, rights):
            if set(left.items) & set(right.items):
                continue
            if not self.in_window(join, left, right, lefts, rights):
                continue
            for one, other in product(left_ways[left], right_ways[right]):
                values = one | other
                if all(values[a] == values[b] for a, b in join.equalities):
                    kept = tuple(sorted((name, values[name]) for name in values if name in wanted))
                    last = max(left.order[:2], right.order[:2])
                    items = left.items + right.items
                    order = (last[0], last[1] + 1, items, kept)
                    found.add(Document(order, max(left.time, right.time), items, frozenset(), "", kept))
        return sorted(found, key=lambda one: one.order)

    def block(self, block: Block) -> tuple[list[Document], dict[Document, Ways]]:
        """The documents of a block's stream, and of each the values of its variables in every embedding."""
        members = [one for one in self.items if stream_name(block.input) in one.streams]
        names = [node.variable for node in preorder(block.pattern.root)]
        ways: dict[Document, Ways] = {}
        for one in members:
            nodes = trees.document(etree.fromstring(one.xml))
            ways[one] = [
                {names[place]: nodes[number].value for place, number in embedding.items() if names[place]}
                for embedding in trees.embeddings(block.pattern, nodes)
            ]
        return members, ways

    def in_window(
        self,
        join: PatternJoin,
        left: Document,
        right: Document,
        lefts: Sequence[Document],
        rights: Sequence[Document],
    ) -> bool:
        followed = join.kind == "followed by"
        earlier, later = sorted((left, right), key=lambda one: one.order)
        if isinstance(join.window, LastItems):
            stream = lefts if earlier == left else rights
            back = sum(earlier.order < one.order <= later.order for one in stream if one != later) + 1
            if earlier == left and isinstance(join.left, PatternJoin):
                completed = {one.order[0] for one in lefts}
                back = sum(earlier.order[0] < seq < later.order[0] for seq in completed) + 1
            return back <= join.window.count and not (followed and earlier != left)
        assert isinstance(join.window, TimeSpan)
        apart = right.time - left.time
        clock = max(one.time for one in self.items if one.order[0] <= later.order[0])
        span = microseconds(join.window.length)
        in_reach = earlier.time >= clock - span - self.bounds.lateness_us
        return abs(apart) <= span and in_reach and not (followed and apart <= 0)
