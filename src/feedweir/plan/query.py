"""What the matcher is given: queries that need one item at a time."""

from __future__ import annotations

from dataclasses import dataclass

from feedweir.plan.predicates import Predicate


@dataclass(frozen=True, slots=True)
class Query:
    """The items of `sources` (empty: of every source) that satisfy `predicate`.

    `key` is what a match reports; several queries may share one, and an item reports it once all the same.
    `owner` (a person or a group, as `items.owners` reads it) limits matching when the caller asks for it; empty belongs
    to everyone.
    """

    key: int
    sources: tuple[str, ...]
    predicate: Predicate
    owner: str = ""
