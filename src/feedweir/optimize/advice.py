"""Containment advice: what a new predicate has in common with those that are there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Relation: TypeAlias = Literal["never", "equal", "contained", "contains"]

_SENTENCES = {
    "never": "can never match",
    "equal": "equal to {name}",
    "contained": "contained in {name}",
    "contains": "contains {name}",
}


@dataclass(frozen=True, slots=True)
class Advice:
    """One observation; `name` says to what it relates, and is empty when it is about the predicate alone."""

    relation: Relation
    name: str = ""

    def __str__(self) -> str:
        return _SENTENCES[self.relation].format(name=self.name)
