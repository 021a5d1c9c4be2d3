"""Why an item is or is not in a feed: its plan from the top down, clause by clause, with the places of the words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from feedweir.ask.preview import StoredElement
from feedweir.errors import CompiledSetError, FeedweirError
from feedweir.items.attributes import values_of
from feedweir.items.model import Item
from feedweir.items.rdf_terms import format_node
from feedweir.join.streams import JoinFeed, JoinSet, compile_plan
from feedweir.language import format_predicate
from feedweir.language.plan_text import label
from feedweir.match import CompiledSet, Explanation
from feedweir.match.matches import Span
from feedweir.match.meaning.graph_bindings import selected_bindings, selecting
from feedweir.match.meaning.item_meaning import Reading, holds
from feedweir.match.meaning.spans import spans_of
from feedweir.match.sets.compiled_set import compiled_in_memory
from feedweir.match.sets.query_store import table_of
from feedweir.plan.expansion import Lookup, expand
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
    Window,
)
from feedweir.plan.predicates import And, AtLeast, JoinAnd, Not, Or, Predicate
from feedweir.plan.query import Query
from feedweir.plan.walk import inputs_of, postorder

JoinedAs: TypeAlias = Callable[[Node, str], StoredElement | None]
"""What an item is in a plan with joins, which may be all of a feed's; None when it is not in there."""
InWindow: TypeAlias = Callable[[Window, str], int | None]
"""How many other items an item met in the window of a feed's only join; None when the logs do not have it."""
FirstOfStory: TypeAlias = Callable[[Distinct, str], Item | None]
"""The first item of an item's story, in a plan that ends with `distinct`, which may be all of a feed's."""

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


def why(
    plan: Node,
    item: Item,
    lookup: Lookup,
    joined_as: JoinedAs,
    in_window: InWindow,
    first_of_story: FirstOfStory,
) -> Clause:
    """Explain a plan, whose virtual feeds are looked up, for one item."""
    return _Explainer(Reading(item), lookup, joined_as, in_window, first_of_story).node(plan, 0)


@dataclass(frozen=True, slots=True)
class _Explainer:
    reading: Reading
    lookup: Lookup
    joined_as: JoinedAs
    in_window: InWindow
    first_of_story: FirstOfStory

    def node(self, node: Node, depth: int, feed: str = "") -> Clause:
        """Of a feed's whole plan `feed` is the name: its outcome is known from the logs."""
        if depth > MAX_DEPTH:
            return Clause("…", False, "too deep to be shown")
        parts = tuple(self.node(input, depth + 1) for input in _shown_inputs(node))
        match node:
            case Source(name):
                source = self.reading.item.source
                is_from = name in ("*", source)
                return Clause(label(node), is_from, "" if is_from else f"the item is from {source}")
            case Feed(name):
                return self._feed(name, depth)
            case Filter(_, predicate) | Block(_, predicate, ""):
                condition = self._condition(node, predicate)
                return Clause("σ", parts[0].holds and condition.holds, parts=(condition, *parts))
            case Union():
                return Clause(label(node), any(part.holds for part in parts), parts=parts)
            case AnnotationJoin() | Distinct() | PatternJoin() | Block():
                return self._joined(node, parts, feed)
        return Clause(label(node), all(part.holds for part in parts), parts=parts)

    def _condition(self, node: Filter | Block, predicate: Predicate) -> Clause:
        """The predicate on the item; where it is asked of documents that were made of it, on one that satisfies it."""
        if not self._makes_documents(node.input):
            return self.predicate(predicate)
        element = self.joined_as(node.input, "")
        readings = [Reading(item) for item in element.items] if element else [self.reading]
        chosen = next((one for one in readings if holds(predicate, one.for_next_query())), readings[0])
        return replace(self, reading=chosen).predicate(predicate)

    def _makes_documents(self, node: Node) -> bool:
        kinds = postorder(expand(node, self.lookup))
        return any(isinstance(one, PatternJoin) or (isinstance(one, Block) and one.select) for one in kinds)

    def _feed(self, name: str, depth: int) -> Clause:
        definition = self.lookup(name)
        if definition is None:
            return Clause(f"feed {name}", False, "there is no such feed")
        inner = self.node(definition, depth + 1, name)
        return Clause(f"feed {name}", inner.holds, parts=(inner,))

    def _joined(self, node: Node, parts: tuple[Clause, ...], feed: str) -> Clause:
        element = self.joined_as(node, feed)
        if element is None:
            reason = self._reason(node, feed) if all(part.holds for part in parts) else ""
            return Clause(label(node), False, reason, parts=parts)
        note = "; ".join(
            f"{name}: items {', '.join(map(str, seqs))}" for name, seqs in sorted(element.partners.items())
        )
        return Clause(label(node), True, note, parts=parts)

    def _reason(self, node: Node, feed: str) -> str:
        """Why an item that comes in does not come out."""
        match node:
            case Distinct():
                first = self.first_of_story(node, feed)
                if first is None:
                    return "another item told the same story before"
                return f"item {first.seq} of {first.source} told the same story before: {first.title!r}"
            case AnnotationJoin():
                return self._without_partner(node, feed)
        return "it has no partner"

    def _without_partner(self, node: AnnotationJoin, feed: str) -> str:
        """Whether the window had nothing to join with, or only what does not fit."""
        known = None if self._makes_documents(node.window.input) else self.in_window(node.window, feed)
        there = self._whoever_is_there(node) if known is None else known
        if not there:
            return "it has no partner: its window was empty"
        one = "the one item" if there == 1 else f"none of the {there} items"
        return f"it has no partner: {one} in its window {'does not fit' if there == 1 else 'fits'}"

    def _whoever_is_there(self, node: AnnotationJoin) -> int:
        """How many partners the item would have had if everything fitted."""
        whoever = self.joined_as(replace(node, predicate=JoinAnd(())), "")
        return len(whoever.partners.get(node.identifier, ())) if whoever else 0

    def predicate(self, predicate: Predicate) -> Clause:
        """A boolean clause with its parts; an atom with the places where it found its words."""
        is_true = holds(predicate, self.reading.for_next_query())
        match predicate:
            case And(inner) | Or(inner) | AtLeast(_, inner):
                parts = tuple(map(self.predicate, inner))
                return Clause(_connective(predicate), is_true, parts=parts)
            case Not(part):
                return Clause("not", is_true, parts=(self.predicate(part),))
            case _:
                text, spans = format_predicate(predicate), tuple(self._spans(predicate))
                return Clause(text, is_true, self._bindings(predicate) if is_true else "", spans)

    def _bindings(self, predicate: Predicate) -> str:
        """What the variables are bound to that SELECT names."""
        bindings = selected_bindings(selecting(predicate), self.reading.item)
        return "; ".join(
            ", ".join(f"?{name} = {format_node(node)}" for name, node in bound) for bound in bindings
        )

    def _spans(self, predicate: Predicate) -> Iterator[tuple[Span, str]]:
        item = self.reading.item
        for span in spans_of(predicate, item):
            yield span, str(values_of(item, span.attribute)[span.value])[span.start : span.end]


def _shown_inputs(node: Node) -> Iterable[Node]:
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


def candidacy(feed: int, plan: Node, item: Item, in_force: CompiledSet | None = None) -> tuple[Clause, ...]:
    """What the matcher reports about an expanded plan: one clause, or one for each stream that its joins read.

    The set in force explains it by the atoms that it really goes by; without it, or when it cannot be read or does not
    have the feed, the plan is compiled by itself.
    """
    try:
        compiled = compile_plan(feed, plan)
    except FeedweirError as error:
        return (Clause("matched", False, f"it cannot be compiled: {error}"),)
    if isinstance(compiled, JoinFeed):
        joins = JoinSet([compiled])
        queries, streams = joins.queries(), {key: label(node) for key, node in joins.matched.items()}
    else:
        queries, streams = compiled, {feed: ""}
    clauses = _clauses(in_force, streams, item) or _clauses(_alone(queries), streams, item)
    return tuple(clauses or ())


def _alone(queries: list[Query]) -> CompiledSet:
    return compiled_in_memory(table_of(queries))


def _clauses(compiled: CompiledSet | None, streams: dict[int, str], item: Item) -> list[Clause] | None:
    if compiled is None:
        return None
    try:
        return [_clause(stream, compiled.explain(item, key)) for key, stream in streams.items()]
    except CompiledSetError:
        return None


def _clause(stream: str, explanation: Explanation) -> Clause:
    text = f"matched as {stream}" if stream else "matched"
    return Clause(text, explanation.is_match, "; ".join(_notes(explanation)))


def _notes(explanation: Explanation) -> Iterator[str]:
    if explanation.candidate_by:
        yield f"a candidate by {explanation.candidate_by}"
    else:
        yield (
            f"not a candidate: it lacks {explanation.lacked}"
            if explanation.lacked
            else "not a candidate: nothing can find it"
        )
    if explanation.refused_by is not None:
        yield f"ruled out by {format_predicate(explanation.refused_by)}"
