"""The obvious meaning of plans over a finite stream: every node gives a list of elements in the order of the stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from feedweir.items.attributes import values_of
from feedweir.items.model import Item
from feedweir.plan.nodes import (
    AnnotationJoin,
    Feed,
    Filter,
    LastItems,
    Node,
    Source,
    TimeSpan,
    Union,
    Window,
)
from feedweir.plan.predicates import JoinPredicate, Relates
from tests.naive import holds

Elements = dict[int, dict[str, frozenset[int]]]
"""By sequence number: the partners (their numbers) under each join."""
Lookup = Callable[[str], Node | None]


def run(node: Node, items: Sequence[Item], lookup: Lookup) -> Elements:
    """The elements that a plan gives for a stream."""
    by_seq = {item.seq: item for item in items}

    def elements(node: Node) -> Elements:
        match node:
            case Source(name):
                return {item.seq: {} for item in items if name in ("*", item.source)}
            case Feed(name):
                definition = lookup(name)
                assert definition is not None
                return elements(definition)
            case Filter(input, predicate):
                return {seq: notes for seq, notes in elements(input).items() if holds(predicate, by_seq[seq])}
            case Union(inputs):
                return united([elements(input) for input in inputs])
            case Window(input):
                last = items[-1]
                inside = contents(node, last.seq, last.arrived)
                return {seq: notes for seq, notes in elements(input).items() if seq in inside}
            case AnnotationJoin(identifier, primary, window, predicate):
                result = {}
                for seq, notes in elements(primary).items():
                    inside = contents(window, seq, by_seq[seq].arrived)
                    partners = frozenset(
                        s for s in inside if s != seq and relates(by_seq[seq], by_seq[s], predicate)
                    )
                    if partners:
                        result[seq] = merged(notes, {identifier: partners})
                return result
        raise NotImplementedError(type(node).__name__)

    def contents(window: Window, seq: int, time: datetime) -> list[int]:
        """What is in a window when the item of that number has just arrived; a join leaves that item out."""
        before = sorted(one for one in elements(window.input) if one <= seq)
        match window.spec:
            case LastItems(count):
                return before[-count:]
            case TimeSpan(length):
                return [one for one in before if by_seq[one].time > time - length]

    return elements(node)


def united(parts: list[Elements]) -> Elements:
    """An item that comes by two ways is there once, with the partners of both."""
    result: Elements = {}
    for part in parts:
        for seq, notes in part.items():
            result[seq] = merged(result.get(seq, {}), notes)
    return result


def merged(one: dict[str, frozenset[int]], other: dict[str, frozenset[int]]) -> dict[str, frozenset[int]]:
    return {name: one.get(name, frozenset()) | other.get(name, frozenset()) for name in {**one, **other}}


def relates(primary: Item, partner: Item, predicate: JoinPredicate) -> bool:
    assert isinstance(predicate, Relates)
    assert predicate.attribute is not None
    assert predicate.window_attribute is not None
    here, there = values_of(primary, predicate.attribute), values_of(partner, predicate.window_attribute)
    return not set(here).isdisjoint(there)
