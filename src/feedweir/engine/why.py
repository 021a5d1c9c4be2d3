"""Why an item is or is not in a feed: its plan from the top down, clause by clause, with the places of the words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from feedweir.engine.preview import StoredElement
from feedweir.items.attributes import values_of
from feedweir.items.model import Item
from feedweir.language import format_predicate
from feedweir.match.matches import Span
from feedweir.match.meaning import Reading, holds
from feedweir.match.spans import spans_of
from feedweir.plan.expand import Lookup, expand
from feedweir.plan.explain import label
from feedweir.plan.nodes import (
    AnnotationJoin,
    Block,
    Distinct,
    Feed,
    Filter,
    Node,
    PatternJoin,
    Source,
    Union,
)
from feedweir.plan.predicates import And, AtLeast, Contains, Not, Or, Predicate
from feedweir.plan.walk import inputs_of, postorder

JoinedAs: TypeAlias = Callable[[Node], StoredElement | None]
"""What an item is in a plan with joins; None when it is not in there."""
ToldBefore: TypeAlias = Callable[[Node], Item | None]
"""The item that told an item's story first, in a plan that ends with `distinct`."""

MAX_DEPTH = 200
"""Feeds of feeds that are explained one inside the other."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One part of the explanation: an operator of the plan or a clause of a predicate."""

    text: str
    holds: bool
    note: str = ""
    """What the text does not say: partners, a source's name."""
    spans: tuple[tuple[Span, str], ...] = ()
    """Where the wanted words stand, and how they are written there."""
    parts: tuple[Clause, ...] = ()

    def lines(self, depth: int = 0) -> Iterator[str]:
        """An indented tree: ✓ for what holds, ✗ for what does not."""
        found = "".join(f"  [{span.attribute}: {text!r}]" for span, text in self.spans)
        note = f"  ({self.note})" if self.note else ""
        yield f"{'  ' * depth}{'✓' if self.holds else '✗'} {self.text}{note}{found}"
        for part in self.parts:
            yield from part.lines(depth + 1)

    def to_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "holds": self.holds,
            "note": self.note,
            "spans": [
                {"attribute": s.attribute, "value": s.value, "start": s.start, "end": s.end, "text": text}
                for s, text in self.spans
            ],
            "parts": [part.to_json() for part in self.parts],
        }


def why(plan: Node, item: Item, lookup: Lookup, joined_as: JoinedAs, told_before: ToldBefore) -> Clause:
    """Explain a plan, whose virtual feeds are looked up, for one item."""
    return _Explainer(Reading(item), lookup, joined_as, told_before).node(plan, 0)


@dataclass(frozen=True, slots=True)
class _Explainer:
    reading: Reading
    lookup: Lookup
    joined_as: JoinedAs
    told_before: ToldBefore

    def node(self, node: Node, depth: int) -> Clause:
        if depth > MAX_DEPTH:
            return Clause("…", False, "too deep to be told")
        parts = tuple(self.node(input, depth + 1) for input in _told_inputs(node))
        match node:
            case Source(name):
                source = self.reading.item.source
                is_from = name in ("*", source)
                return Clause(label(node), is_from, "" if is_from else f"the item is from {source}")
            case Feed(name):
                return self._feed(name, depth)
            case Filter(_, predicate) | Block(_, predicate, ""):
                told = self._told(node, predicate)
                return Clause("σ", parts[0].holds and told.holds, parts=(told, *parts))
            case Union():
                return Clause(label(node), any(part.holds for part in parts), parts=parts)
            case AnnotationJoin() | Distinct() | PatternJoin() | Block():
                return self._joined(node, parts)
        return Clause(label(node), all(part.holds for part in parts), parts=parts)

    def _told(self, node: Filter | Block, predicate: Predicate) -> Clause:
        """The predicate on the item; where it is asked of documents that were made of it, on one that satisfies it."""
        if not self._makes_documents(node.input):
            return self.predicate(predicate)
        element = self.joined_as(node.input)
        readings = [Reading(item) for item in element.items] if element else [self.reading]
        chosen = next((one for one in readings if holds(predicate, one.rested())), readings[0])
        return replace(self, reading=chosen).predicate(predicate)

    def _makes_documents(self, node: Node) -> bool:
        kinds = postorder(expand(node, self.lookup))
        return any(isinstance(one, PatternJoin) or (isinstance(one, Block) and one.select) for one in kinds)

    def _feed(self, name: str, depth: int) -> Clause:
        definition = self.lookup(name)
        if definition is None:
            return Clause(f"feed {name}", False, "there is no such feed")
        inner = self.node(definition, depth + 1)
        return Clause(f"feed {name}", inner.holds, parts=(inner,))

    def _joined(self, node: Node, parts: tuple[Clause, ...]) -> Clause:
        element = self.joined_as(node)
        if element is None:
            reason = self._reason(node) if all(part.holds for part in parts) else ""
            return Clause(label(node), False, reason, parts=parts)
        told = "; ".join(
            f"{name}: items {', '.join(map(str, seqs))}" for name, seqs in sorted(element.partners.items())
        )
        return Clause(label(node), True, told, parts=parts)

    def _reason(self, node: Node) -> str:
        """Why an item that comes in does not come out."""
        if not isinstance(node, Distinct):
            return "no partner was there"
        first = self.told_before(node)
        if first is None:
            return "another item told the story before"
        return f"item {first.seq} of {first.source} told the story before: {first.title!r}"

    def predicate(self, predicate: Predicate) -> Clause:
        """A boolean clause with its parts; an atom with the places where it found its words."""
        is_true = holds(predicate, self.reading.rested())
        match predicate:
            case And(inner) | Or(inner) | AtLeast(_, inner):
                parts = tuple(map(self.predicate, inner))
                return Clause(_connective(predicate), is_true, parts=parts)
            case Not(part):
                return Clause("not", is_true, parts=(self.predicate(part),))
            case _:
                return Clause(format_predicate(predicate), is_true, spans=tuple(self._spans(predicate)))

    def _spans(self, predicate: Predicate) -> Iterator[tuple[Span, str]]:
        if not isinstance(predicate, Contains):
            return
        item = self.reading.item
        found = [span for term in predicate.terms for span in spans_of(term, predicate.attribute, item)]
        for span in dict.fromkeys(found):
            yield span, str(values_of(item, span.attribute)[span.value])[span.start : span.end]


def _told_inputs(node: Node) -> Iterable[Node]:
    """What of a node's inputs concerns the item itself: of a join the primary side, not the window."""
    match node:
        case AnnotationJoin(_, primary):
            return (primary,)
        case PatternJoin():
            return ()
        case _:
            return inputs_of(node)


def _connective(predicate: And | Or | AtLeast) -> str:
    match predicate:
        case And():
            return "all of"
        case Or():
            return "any of"
        case AtLeast(count):
            return f"at least {count} of"
