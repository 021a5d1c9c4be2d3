"""The names of an installation as the language wants to know them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from feedweir.catalog import Definition
from feedweir.items.owners import EVERYONE
from feedweir.language import Query, parse
from feedweir.language.statements import CreateFeed, RegisterFeed
from feedweir.plan import build
from feedweir.plan.nodes import Node


class DefinedNames:
    """Definitions by name; statements of a script add to them as it goes on."""

    def __init__(self, definitions: Iterable[Definition]) -> None:
        self._definitions = {definition.name: definition for definition in definitions}
        self._statements: dict[str, CreateFeed] = {}

    def kind_of(self, name: str) -> Literal["source", "virtual"] | None:
        definition = self._definitions.get(name)
        return definition.kind if definition else None

    def all_names(self) -> Iterable[str]:
        return self._definitions

    def query_of(self, name: str) -> Query | None:
        if self.kind_of(name) != "virtual":
            return None
        return self._statement(name).query

    def owner_of(self, name: str) -> str:
        """Whose a feed is, as its statement says."""
        if self.kind_of(name) == "virtual":
            return self._statement(name).owner
        text = self._definitions[name].statement
        if " for " not in text:
            return EVERYONE  # without reading the statements of all sources
        (statement,) = parse(text)
        return statement.owner if isinstance(statement, RegisterFeed) else EVERYONE

    def plan_of(self, name: str) -> Node | None:
        """The plan of a virtual feed as it was written."""
        query = self.query_of(name)
        return None if query is None else build(query, self, feed=name)

    def _statement(self, name: str) -> CreateFeed:
        if name not in self._statements:
            (statement,) = parse(self._definitions[name].statement)
            assert isinstance(statement, CreateFeed), (
                "a virtual feed is kept as the statement that creates it"
            )
            self._statements[name] = statement
        return self._statements[name]

    def put(self, definition: Definition) -> None:
        self._definitions[definition.name] = definition
        self._statements.pop(definition.name, None)

    def remove(self, name: str) -> None:
        self._definitions.pop(name, None)
        self._statements.pop(name, None)
