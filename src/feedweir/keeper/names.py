"""The names of an installation as the language wants to know them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from feedweir.catalog import Definition
from feedweir.language import Query, parse
from feedweir.language.statements import CreateFeed
from feedweir.plan import build
from feedweir.plan.nodes import Node


class DefinedNames:
    """Definitions by name; statements of a script add to them as it goes on."""

    def __init__(self, definitions: Iterable[Definition]) -> None:
        self._definitions = {definition.name: definition for definition in definitions}
        self._queries: dict[str, Query] = {}

    def kind_of(self, name: str) -> Literal["source", "virtual"] | None:
        definition = self._definitions.get(name)
        return definition.kind if definition else None

    def all_names(self) -> Iterable[str]:
        return self._definitions

    def query_of(self, name: str) -> Query | None:
        if self.kind_of(name) != "virtual":
            return None
        if name not in self._queries:
            self._queries[name] = _query_in(self._definitions[name].statement)
        return self._queries[name]

    def plan_of(self, name: str) -> Node | None:
        """The plan of a virtual feed as it was written."""
        query = self.query_of(name)
        return None if query is None else build(query, self, feed=name)

    def put(self, definition: Definition) -> None:
        self._definitions[definition.name] = definition
        self._queries.pop(definition.name, None)

    def remove(self, name: str) -> None:
        self._definitions.pop(name, None)
        self._queries.pop(name, None)


def _query_in(text: str) -> Query:
    (statement,) = parse(text)
    assert isinstance(statement, CreateFeed), "a virtual feed is kept as the statement that creates it"
    return statement.query
