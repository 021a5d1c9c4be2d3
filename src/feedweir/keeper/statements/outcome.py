"""What statements are carried out with, and what they answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from feedweir.catalog import Catalog, NewFeed
from feedweir.deliver.stylesheets import Stylesheets
from feedweir.keeper.names import DefinedNames
from feedweir.plan.nodes import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one statement did, or what it answers."""

    message: str
    name: str = ""
    """The feed or subscription it was about."""
    rows: tuple[dict[str, Any], ...] = ()
    """What a statement that asks was answered."""
    advice: tuple[str, ...] = ()
    """What a new feed has in common with others."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query to be tried out once the script is carried out; its virtual feeds are replaced by what they were then."""

    plan: Node


@dataclass(frozen=True, slots=True)
class PlanQuestion:
    """Asks for the plan in force of a source, or of all."""

    source: str


@dataclass(frozen=True, slots=True)
class Desk:
    """Where the statements of one script are carried out."""

    _catalog: Catalog
    names: DefinedNames
    now: datetime
    owner: str
    stylesheets: Stylesheets | None = None
    """What can be applied; None where that is not known."""
    _coming: list[NewFeed] = field(default_factory=list)

    @property
    def catalog(self) -> Catalog:
        """The catalog with all that the script has made so far."""
        self.settle()
        return self._catalog

    def add(self, feed: NewFeed) -> None:
        """A new feed, known by name from here on.

        It waits for those that follow it: together they cost the database a tenth of what they do one by one.
        """
        self._coming.append(feed)
        self.names.put(feed)

    def settle(self) -> None:
        """Write down what waits."""
        self._catalog.feeds.add(self._coming)
        self._coming.clear()
