"""On which side of which joins an item is, by the streams that it is in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from feedweir.join.streams import JoinSet, Stream
from feedweir.plan.nodes import AnnotationJoin, Distinct, PatternJoin

DIRECT = "as it is"
"""An input that a feed takes without a partner: the other part of a union."""


@dataclass(frozen=True, slots=True)
class Side:
    feed: int
    text: str
    """Of the join that reads it."""


def sides_of(joins: JoinSet, keys: Iterable[int]) -> dict[int, tuple[Side, ...]]:
    """By matched stream, of those asked for: the joins that read it."""
    found: dict[int, dict[Side, None]] = {key: {} for key in keys if key in joins.matched}
    known: dict[tuple[int, str], tuple[tuple[int, str], ...]] = {}

    def read_by(key: int, side: str) -> tuple[tuple[int, str], ...]:
        """(matched stream, side) for a stream that is read on a side of some join."""
        if (key, side) not in known:
            stream = joins.computed.get(key)
            below = (read_by(*one) for one in _inputs(stream, side)) if stream else ()
            known[key, side] = tuple(one for some in below for one in some) if stream else ((key, side),)
        return known[key, side]

    for feed, root in sorted(joins.roots):
        for key, side in read_by(root, DIRECT):
            if key in found:
                found[key][Side(feed, side)] = None
    return {key: tuple(sides) for key, sides in found.items()}


def _inputs(stream: Stream, side: str) -> Iterator[tuple[int, str]]:
    """What a stream reads and on which side; a stream that is no join passes its own side on."""
    match stream.node:
        case AnnotationJoin(identifier=name):
            texts = [f"{name}: the side that is annotated", f"{name}: the window"]
        case Distinct(identifier=name):
            texts = [f"{name}: stories"]
        case PatternJoin():
            texts = [f"block {place} of {len(stream.inputs)}" for place in range(1, len(stream.inputs) + 1)]
        case _:
            texts = [side] * len(stream.inputs)
    yield from zip(stream.inputs, texts, strict=True)


@dataclass(frozen=True, slots=True)
class JoinPart:
    """What a feed with joins does with an item."""

    feed: str
    side: str
    is_in: bool = False
    """Whether it is, or would be, an element of the feed."""
    partners: tuple[int, ...] = ()
    """The items that it was joined with, or would be, on either side."""
    note: str = ""
    """Why that is not known."""

    @property
    def text(self) -> str:
        return f"{self.feed} ({self.side}): {self._outcome}"

    @property
    def _outcome(self) -> str:
        if self.partners:
            return f"joined with {'items' if len(self.partners) > 1 else 'item'} {', '.join(map(str, self.partners))}"
        return self.note or ("in it without a partner" if self.is_in else "no partner found")

    def to_json(self) -> dict[str, object]:
        return {
            "feed": self.feed,
            "side": self.side,
            "in_feed": self.is_in,
            "partners": list(self.partners),
            "note": self.note,
        }
