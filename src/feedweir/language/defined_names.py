"""The names of an installation as the language wants to know them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, Protocol, TypeVar

from feedweir.items.owners import EVERYONE
from feedweir.language import Query, parse
from feedweir.language.plan_builder import build
from feedweir.language.statements import CreateFeed, RegisterFeed
from feedweir.plan.nodes import Node
from feedweir.plan.taxonomies import Taxonomy, taxonomy_of, together
from feedweir.plan.vocabularies import VOCABULARY, in_vocabularies

T = TypeVar("T")


class Stated(Protocol):
    """A definition: what a name stands for, and the statement that says so."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> Literal["source", "virtual"]: ...
    @property
    def statement(self) -> str: ...


class Defined(Stated, Protocol):
    """A definition as the catalog keeps it."""

    @property
    def id(self) -> int: ...


class StoredFeeds(Protocol):
    """What is asked of the catalog."""

    def definition(self, name: str) -> Stated | None: ...
    def definitions(self) -> tuple[int, Sequence[Stated]]: ...
    def beginning(self, statement: str) -> Sequence[Stated]: ...
    def made_sources(self) -> Sequence[str]: ...


class DefinedNames:
    """Definitions by name; statements of a script add to them as it goes on."""

    def __init__(self, definitions: Iterable[Stated] = ()) -> None:
        self._definitions = {definition.name: definition for definition in definitions}
        self._statements: dict[str, CreateFeed] = {}
        self._made: dict[str, None] | None = None
        """The sources that are made from feeds, once somebody has asked for them."""
        self._taxonomy: Taxonomy | None = None
        """What the registered vocabularies say, once somebody has asked for it."""

    def find(self, name: str) -> Stated | None:
        return self._definitions.get(name)

    def kind_of(self, name: str) -> Literal["source", "virtual"] | None:
        definition = self.find(name)
        return definition.kind if definition else None

    def all_names(self) -> Iterable[str]:
        return self._definitions

    def query_of(self, name: str) -> Query | None:
        definition = self.find(name)
        if definition is None or definition.kind != "virtual":
            return None
        if name not in self._statements:
            self._statements[name] = created_by(definition)
        return self._statements[name].query

    def made_from(self, name: str) -> str:
        definition = self.find(name)
        return made_from(definition.statement)[0] if definition and definition.kind == "source" else ""

    def made_sources(self) -> Iterable[str]:
        if self._made is None:
            self._made = {one.name: None for one in self._definitions.values() if _is_made(one)}
        return self._made

    def statement_of(self, definition: Stated) -> CreateFeed:
        """The statement of a virtual feed; it is remembered only if another feed has asked for it."""
        return self._statements.get(definition.name) or created_by(definition)

    def plan_of(self, name: str) -> Node | None:
        """The plan of a virtual feed as it was written, in the vocabularies that are registered."""
        query = self.query_of(name)
        return None if query is None else self.understood(build(query, self, feed=name))

    def understood(self, asked: T) -> T:
        """A predicate or a plan in the vocabularies that are registered."""
        if self._taxonomy is None:
            self._taxonomy = taxonomy_said(
                tuple(one.statement for one in sorted(self._vocabularies(), key=lambda one: one.name))
            )
        return in_vocabularies(asked, self._taxonomy)

    def _vocabularies(self) -> Iterable[Stated]:
        return filter(_is_vocabulary, self._definitions.values())

    def put(self, definition: Stated) -> None:
        self._forget_vocabulary(definition.name, definition)
        self._definitions[definition.name] = definition
        self._statements.pop(definition.name, None)
        if self._made is not None:
            self._made.pop(definition.name, None)
            self._made |= {definition.name: None} if _is_made(definition) else {}

    def _forget_vocabulary(self, name: str, now: Stated | None = None) -> None:
        before = self._definitions.get(name)
        if any(one is not None and _is_vocabulary(one) for one in (before, now)):
            self._taxonomy = None

    def remove(self, name: str) -> None:
        self._forget_vocabulary(name)
        self._definitions.pop(name, None)
        self._statements.pop(name, None)
        if self._made is not None:
            self._made.pop(name, None)


class CatalogNames(DefinedNames):
    """Definitions that are looked up in the catalog when they are asked for: a statement costs what it names."""

    def __init__(self, feeds: StoredFeeds) -> None:
        super().__init__()
        self._feeds = feeds
        self._absent: set[str] = set()
        """Names that stand for nothing, be it that there never was such a feed or that it was dropped since."""

    def find(self, name: str) -> Stated | None:
        if name not in self._definitions and name not in self._absent:
            found = self._feeds.definition(name)
            if found is None:
                self._absent.add(name)
            else:
                super().put(found)
        return self._definitions.get(name)

    def all_names(self) -> Iterable[str]:
        _, definitions = self._feeds.definitions()
        stored = (one.name for one in definitions if one.name not in self._absent)
        return dict.fromkeys((*stored, *self._definitions))

    def made_sources(self) -> Iterable[str]:
        known = self._absent | self._definitions.keys()
        stored = (name for name in self._feeds.made_sources() if name not in known)
        return dict.fromkeys((*stored, *super().made_sources()))

    def _vocabularies(self) -> Iterable[Stated]:
        stored = {one.name: one for one in self._feeds.beginning(VOCABULARY) if one.name not in self._absent}
        return (stored | {one.name: one for one in super()._vocabularies()}).values()

    def put(self, definition: Stated) -> None:
        self._absent.discard(definition.name)
        super().put(definition)

    def remove(self, name: str) -> None:
        self._absent.add(name)
        super().remove(name)


def created_by(definition: Stated) -> CreateFeed:
    """The statement of a virtual feed, read."""
    (statement,) = parse(definition.statement)
    assert isinstance(statement, CreateFeed), "a virtual feed is kept as the statement that creates it"
    return statement


def _is_vocabulary(definition: Stated) -> bool:
    return definition.kind == "source" and definition.statement.startswith(VOCABULARY)


def says_something(statement: str) -> bool:
    """Whether a statement registers a vocabulary of which something is known."""
    return statement.startswith(VOCABULARY) and bool(registered_by(statement).saying)


def registered_by(statement: str) -> RegisterFeed:
    """The statement of a source, read."""
    (registered,) = parse(statement)
    assert isinstance(registered, RegisterFeed), "a source is kept as the statement that registers it"
    return registered


@lru_cache(maxsize=8)
def taxonomy_said(statements: tuple[str, ...]) -> Taxonomy:
    """What vocabularies say, by the statements that register them."""
    said = (registered_by(statement).saying.splitlines() for statement in statements)
    return together(tuple(map(taxonomy_of, said)))


def _is_made(definition: Stated) -> bool:
    return definition.kind == "source" and bool(made_from(definition.statement)[0])


_PUSHED = ("register feed 'push://", f"{VOCABULARY}push://")
FETCHED = ("register feed 'http://", "register feed 'https://", VOCABULARY, *_PUSHED)
"""How the statements of most sources begin, as they are kept; these need not be read."""


@lru_cache(maxsize=100_000)
def made_from(registration: str) -> tuple[str, str]:
    """The feed and the stylesheet that the statement of a source names, if it names any."""
    if registration.startswith(FETCHED):
        return "", ""
    (statement,) = parse(registration)
    return (statement.feed, statement.apply) if isinstance(statement, RegisterFeed) else ("", "")


def is_only_pushed(statement: str) -> bool:
    """Whether nobody is asked for the documents of a source, as the statement that registers it says."""
    return statement.startswith(_PUSHED)


def id_path_of_source(statement: str) -> str:
    """Where the items of a source name their ids, or how they are cut, as the statement that registers it says."""
    if " id " not in statement and " per " not in statement and not statement.startswith(VOCABULARY):
        return ""
    (registered,) = parse(statement)
    return registered.id_path if isinstance(registered, RegisterFeed) else ""


def owner_of_source(definition: Stated) -> str:
    """Whose a source is, as its statement says."""
    if " for " not in definition.statement:
        return EVERYONE  # without reading the statements of all sources
    (statement,) = parse(definition.statement)
    return statement.owner if isinstance(statement, RegisterFeed) else EVERYONE
