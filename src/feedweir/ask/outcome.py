"""The context in which the statements of a script are executed, and their outcomes."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from feedweir.catalog import Catalog, NewFeed
from feedweir.deliver.transforms.stylesheets import Stylesheets
from feedweir.language.defined_names import DefinedNames
from feedweir.plan.nodes import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one statement did, or its answer."""

    message: str
    name: str = ""
    """The feed or subscription it was about."""
    rows: tuple[dict[str, Any], ...] = ()
    """The answer to a statement that asks."""
    advice: tuple[str, ...] = ()
    """What a new feed has in common with others."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query to be evaluated after the script; its virtual feeds are replaced by their definitions at that point."""

    plan: Node


@dataclass(frozen=True, slots=True)
class PlanQuestion:
    """Asks for the plan in force of a source, or of all."""

    source: str


@dataclass(frozen=True, slots=True)
class JoinQuestion:
    """Asks how joins are evaluated: those of a feed, or all."""

    feed: str


@dataclass(frozen=True, slots=True)
class ScriptContext:
    """What the statements of one script share."""

    _catalog: Catalog
    names: DefinedNames
    now: datetime
    owner: str
    stylesheets: Stylesheets | None = None
    """The stylesheets that can be applied; None if unknown."""
    made: dict[str, int] = field(default_factory=dict)
    """By name, the feeds that the script has created so far."""
    _coming: list[NewFeed] = field(default_factory=list)

    @property
    def catalog(self) -> Catalog:
        """The catalog, including what the script has created so far."""
        self.settle()
        return self._catalog

    def add(self, feed: NewFeed) -> None:
        """A new feed, known by name from here on.

        It is written together with those that follow: that takes a tenth of the time of one by one.
        """
        self._coming.append(feed)
        self.names.put(feed)

    def settle(self) -> None:
        """Write waiting feeds to the catalog."""
        ids = self._catalog.feeds.add(self._coming)
        self.made.update(zip((feed.name for feed in self._coming), ids, strict=True))
        self._coming.clear()
