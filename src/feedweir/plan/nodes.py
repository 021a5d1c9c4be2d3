"""The algebra as frozen nodes: sources, filters, unions, windows, annotation joins and pattern joins.

A node is a function from streams to a stream of elements; `docs/language.md` says what each means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from feedweir.plan.predicates import JoinPredicate, Predicate, TreePattern
from feedweir.plan.window_lengths import LastItems, TimeSpan, WindowSpec

EVERY_SOURCE = "*"
"""The name that stands for all sources together."""


@dataclass(frozen=True, slots=True)
class Source:
    """The stream of a registered source; `*` is that of all sources together."""

    name: str


@dataclass(frozen=True, slots=True)
class Feed:
    """The stream of a virtual feed, before `optimize` puts its definition in this place."""

    name: str


@dataclass(frozen=True, slots=True)
class Filter:
    input: Node
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Union:
    """Set semantics: an item that arrives by two ways is there once."""

    inputs: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Window:
    input: Node
    spec: WindowSpec


@dataclass(frozen=True, slots=True)
class AnnotationJoin:
    """The elements of `primary` with a partner in `window`; the partners are kept under `identifier`."""

    identifier: str
    primary: Node
    window: Window
    predicate: JoinPredicate


@dataclass(frozen=True, slots=True)
class Distinct:
    """The first element of each story; later ones are kept with it, under `identifier`, and do not come out.

    An item tells the story of an element that came out before it and is still in the window when the predicate holds
    of the two; the earliest such element is its first. A new revision of an element comes out like the element.
    """

    identifier: str
    input: Node
    spec: WindowSpec
    predicate: JoinPredicate


@dataclass(frozen=True, slots=True)
class Block:
    """An XPath query block of XSCL: the documents of a stream that have the pattern, with its bindings."""

    input: Node
    pattern: TreePattern
    select: str = ""
    """What is made of each binding, as for a pattern join; empty lets the documents through as they are."""


@dataclass(frozen=True, slots=True)
class PatternJoin:
    """XSCL's JOIN and FOLLOWED BY, in value-join normal form: pairs of variables with equal string values."""

    kind: Literal["join", "followed by"]
    left: Block | PatternJoin
    right: Block
    equalities: tuple[tuple[str, str], ...]
    window: WindowSpec
    select: str = ""
    """The construction of the output document as an XML template with `{$variable}` holes; empty puts the joined
    documents under a new root."""


Node: TypeAlias = Source | Feed | Filter | Union | Window | AnnotationJoin | Distinct | Block | PatternJoin

__all__ = [
    "EVERY_SOURCE",
    "AnnotationJoin",
    "Block",
    "Distinct",
    "Feed",
    "Filter",
    "LastItems",
    "Node",
    "PatternJoin",
    "Source",
    "TimeSpan",
    "Union",
    "Window",
    "WindowSpec",
]
