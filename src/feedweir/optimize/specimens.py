"""Items invented so that a query wants them and that they have little else: what contains the query wants them, too.

One is made for each way to satisfy the query, as far as their number is bounded. What wants all of them may contain the
query; whether it does, their few candidates are asked one by one. A way of which no item could be made is left out,
which finds more candidates and misses none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from html import escape
from itertools import chain, combinations, islice, product, zip_longest
from typing import Any

from lxml import etree

from feedweir.errors import WorkError
from feedweir.items.attributes import AttributeType, attribute_named
from feedweir.items.links import is_host
from feedweir.items.model import Enclosure, Item
from feedweir.match.meaning.item_meaning import holds
from feedweir.optimize.graph_specimens import triples_with
from feedweir.plan.predicates import (
    And,
    AtLeast,
    Atom,
    Compare,
    Contains,
    Extends,
    FromFeeds,
    GraphPattern,
    Matches,
    Not,
    Now,
    Or,
    PatternNode,
    Predicate,
    References,
    SharesLink,
    Similar,
    TreePattern,
)
from feedweir.plan.query import Query

_ANY = "any"


def document_with(patterns: Sequence[TreePattern]) -> str:
    """Patterns that begin at the root share it, the others hang below it; nothing when no XML can say that."""
    roots = [pattern.root for pattern in patterns]
    at_root = [root for root in roots if root.axis == "/"]
    name = next((root.name for root in at_root if root.name != "*"), "item")
    try:
        document = etree.Element(name)
        for root in roots:
            if root.axis == "/":
                _fill(document, root)
            else:
                _add(document, root)
        return etree.tostring(document, encoding="unicode")
    except (ValueError, TypeError):
        return ""


def _add(parent: etree._Element, node: PatternNode) -> None:
    if node.name.startswith("@"):
        parent.set(_ANY if node.name == "@*" else node.name[1:], _value(node))
    else:
        _fill(etree.SubElement(parent, _ANY if node.name == "*" else node.name), node)


def _fill(element: etree._Element, node: PatternNode) -> None:
    if node.op is not None:
        element.text = _value(node)
    for child in node.children:
        _add(element, child)


def _value(node: PatternNode) -> str:
    """A value that compares as the node asks."""
    value, beyond = node.value, node.op in (">", "!=")
    if value is None:
        return ""
    if isinstance(value, str):
        return value + "x" if beyond else value[:-1] if node.op == "<" else value
    return f"{value + beyond - (node.op == '<'):.17g}"


MOST_WAYS = 8
"""Items made for a feed: of a feed with more ways to be satisfied, these are the first."""
NOWHERE = "\x00"
"""A source that no feed reads by its name."""
_ARRIVED = datetime(2001, 1, 1, 12, 30, tzinfo=UTC)
_BETWEEN = " \u25c8x\u25c8 "
"""Between terms, so that those of one text are no neighbours."""
_ANYWHERE = "specimen:text"
_MOST_TRIED = 64

Literals = tuple[Predicate, ...]
"""Atoms and negated atoms that an item is to satisfy together."""


def specimens_of(queries: Sequence[Query]) -> list[Item]:
    """Items that a feed of these queries wants."""
    branches = ((source, query) for query in queries for source in query.sources or (NOWHERE,))
    each = [
        [(source, way) for way in ways_of(query.predicate)] for source, query in islice(branches, MOST_WAYS)
    ]
    # the first way of each branch before the second of any
    asked = (one for some in zip_longest(*each) for one in some if one is not None)
    made = (_specimen(source, way) for source, way in islice(asked, MOST_WAYS))
    return [item for item in made if item is not None]


# Ways to satisfy a predicate


def ways_of(predicate: Predicate) -> Iterator[Literals]:
    """The first ways in which it can hold, each a conjunction."""
    return islice(_ways(predicate), MOST_WAYS)


def _ways(predicate: Predicate) -> Iterator[Literals]:
    match predicate:
        case And(parts):
            each = [tuple(ways_of(part)) for part in parts]
            return (tuple(chain.from_iterable(chosen)) for chosen in product(*each))
        case Or(parts):
            return (way for part in parts for way in ways_of(part))
        case AtLeast(count, parts):
            return (way for some in combinations(parts, max(count, 0)) for way in ways_of(And(some)))
        case Contains(attribute, terms, at_least) if len(terms) != 1:
            return _ways(AtLeast(at_least, tuple(Contains(attribute, (term,), 1) for term in terms)))
        case SharesLink(attribute, urls) if len(urls) != 1:
            return _ways(Or(tuple(SharesLink(attribute, (url,)) for url in urls)))
        case FromFeeds(names) if len(names) != 1:
            return _ways(Or(tuple(FromFeeds((name,)) for name in names)))
        case Compare(attribute, "!=", value, part):
            return iter([(Not(Compare(attribute, "=", value, part)),)])
        case Not(part):
            return _ways_without(part)
        case _:
            return iter([(predicate,)])


def _ways_without(predicate: Predicate) -> Iterator[Literals]:
    match predicate:
        case And(parts):
            return _ways(Or(tuple(map(Not, parts))))
        case Or(parts):
            return _ways(And(tuple(map(Not, parts))))
        case AtLeast(count, parts):
            return _ways(AtLeast(len(parts) - count + 1, tuple(map(Not, parts))))
        case Not(part):
            return _ways(part)
        case Compare(attribute, "!=", value, part):
            return _ways(Compare(attribute, "=", value, part))
        case _:
            return iter([(Not(predicate),)])


# An item that satisfies a conjunction


def _specimen(source: str, literals: Literals) -> Item | None:
    """None when none could be made, be it that there is none."""
    wanted = [one for one in literals if not isinstance(one, Not)]
    parts = _Parts(source)
    for atom in wanted:
        parts.add(atom)  # type: ignore[arg-type]  # what is no atom was taken apart
    item = _with_values(parts.item(), wanted, literals)
    try:
        return item if holds(And(literals), item) else None
    except WorkError:
        return None


@dataclass(slots=True)
class _Parts:
    """What an item is put together from."""

    source: str
    texts: dict[str, list[str]] = field(default_factory=dict)
    links: dict[str, list[str]] = field(default_factory=dict)
    patterns: list[TreePattern] = field(default_factory=list)
    graphs: list[GraphPattern] = field(default_factory=list)

    def add(self, atom: Atom) -> None:
        SPECIMEN_PARTS[type(atom)](self, atom)

    def add_text(self, attribute: str | None, text: str) -> None:
        self.texts.setdefault(_own(attribute), []).append(text)

    def add_link(self, attribute: str | None, url: str) -> None:
        address = f"http://{url}/" if is_host(url) and "://" not in url else url
        self.links.setdefault(_own(attribute or "links"), []).append(address)

    def add_source(self, name: str) -> None:
        if self.source == NOWHERE:
            self.source = name

    def item(self) -> Item:
        known = {name: text for name, text in self.texts.items() if name != _ANYWHERE and ":" not in name}
        extensions = [
            (name, text) for name, texts in self.texts.items() for text in texts if name not in known
        ]
        item = Item(
            source=self.source,
            identity="specimen",
            arrived=_ARRIVED,
            extensions=tuple(extensions),
            raw=document_with(self.patterns) if self.patterns else triples_with(self.graphs),
        )
        for name, values in chain(known.items(), self.links.items()):
            item = _with_value(item, name, values)
        return item


def _add_nothing(parts: _Parts, atom: Any) -> None:
    """Comparisons get their values when the rest is there; text for an expression is not invented."""


SPECIMEN_PARTS: dict[type, Callable[[_Parts, Any], None]] = {
    Contains: lambda parts, atom: parts.add_text(atom.attribute, atom.terms[0].text),
    Compare: _add_nothing,
    Similar: lambda parts, atom: parts.add_text(atom.attribute, atom.text),
    References: lambda parts, atom: parts.add_link(atom.attribute, atom.url),
    Extends: lambda parts, atom: parts.add_link(atom.attribute, atom.url),
    SharesLink: lambda parts, atom: parts.add_link(atom.attribute, atom.urls[0]),
    Matches: _add_nothing,
    FromFeeds: lambda parts, atom: parts.add_source(atom.names[0]),
    TreePattern: lambda parts, atom: parts.patterns.append(atom),
    GraphPattern: lambda parts, atom: parts.graphs.append(atom),
}
"""By kind of atom, what an item needs to satisfy it; those with several terms, URLs or sources were taken apart."""


def _own(attribute: str | None) -> str:
    known = attribute_named(attribute) if attribute is not None else None
    return _ANYWHERE if known is None else known.name


def _with_value(item: Item, name: str, values: Sequence[object]) -> Item:
    """The item with these values of an attribute; texts of one that has a single value stand one after the other."""
    attribute = attribute_named(name)
    if attribute is None:
        return item
    if attribute.column == "extensions":
        return replace(item, extensions=(*item.extensions, *((attribute.name, str(one)) for one in values)))
    if attribute.column == "enclosures":
        return replace(item, enclosures=(*item.enclosures, *(Enclosure(url=str(one)) for one in values)))
    if attribute.is_multiple:
        several: dict[str, Any] = {attribute.column: (*getattr(item, attribute.column), *values)}
        return replace(item, **several)
    value = values[0]
    if attribute.type in (AttributeType.TEXT, AttributeType.HTML) and len(values) > 1:
        value = _BETWEEN.join(map(str, values))
    if attribute.type is AttributeType.HTML:
        value = escape(str(value))
    single: dict[str, Any] = {attribute.column: value}
    return replace(item, **single)


# Comparisons


def _with_values(item: Item, wanted: Iterable[Predicate], literals: Literals) -> Item:
    """The item with values that compare as asked; what cannot be found is left."""
    compared: dict[str, list[Compare]] = {}
    for atom in wanted:
        if isinstance(atom, Compare):
            compared.setdefault(_own(atom.attribute), []).append(atom)
    for name, atoms in compared.items():
        attribute = attribute_named(name)
        if attribute is None:
            continue
        about = [one for one in literals if _is_about(one, name)]
        groups = [[atom] for atom in atoms] if attribute.is_multiple else [atoms]
        for group in groups:
            asked = And((*group, *(one for one in about if isinstance(one, Not))))
            item = _first_fitting(item, name, _candidates(attribute.type, group, item), asked)
    return item


def _is_about(literal: Predicate, name: str) -> bool:
    inner = literal.part if isinstance(literal, Not) else literal
    return isinstance(inner, Compare) and _own(inner.attribute) == name


def _first_fitting(item: Item, name: str, values: Iterator[object], asked: Predicate) -> Item:
    tried = (_with_value(item, name, [value]) for value in islice(values, _MOST_TRIED))
    return next((one for one in tried if _is_so(asked, one)), item)


def _is_so(asked: Predicate, item: Item) -> bool:
    try:
        return holds(asked, item)
    except (TypeError, ValueError, OverflowError):
        return False


def _candidates(kind: AttributeType, atoms: Sequence[Compare], item: Item) -> Iterator[object]:
    if kind is AttributeType.TIME:
        return _moments(atoms, item.arrived)
    near = chain.from_iterable(_near(atom.value) for atom in atoms)
    if kind is AttributeType.NUMBER:
        return (int(value) for value in near if isinstance(value, (int, float)))
    return (value if isinstance(value, str) else f"{value:.17g}" for value in near)


def _near(value: object) -> Iterator[object]:
    """The value itself, and some on both sides of it."""
    if isinstance(value, str):
        return iter((value, value + "x", value[:-1], "0", "x"))
    if isinstance(value, (int, float)):
        return iter((value, value + 1, value - 1, value + 0.5, value - 0.5, value * 2, value / 2))
    return iter(())


def _moments(atoms: Sequence[Compare], arrived: datetime) -> Iterator[datetime]:
    """Moments that are set by one comparison after the other, whole ones first."""
    found: list[datetime] = [arrived]
    for atom in sorted(atoms, key=lambda one: one.part is not None):
        found = [moment for one in found for moment in _set(one, atom, arrived)][:_MOST_TRIED] or found
    return iter(found)


def _set(moment: datetime, atom: Compare, arrived: datetime) -> Iterator[datetime]:
    value = arrived + atom.value.offset if isinstance(atom.value, Now) else atom.value
    if isinstance(value, datetime):
        step = timedelta(days=1) if atom.part else timedelta(microseconds=1)
        yield from (value, value + step, value - step)
    elif isinstance(value, (int, float)) and atom.part == "weekday":
        yield from (moment + timedelta(days=value + more - moment.weekday()) for more in (0, 1, -1))
    elif isinstance(value, (int, float)) and atom.part in ("year", "month", "day", "hour", "minute"):
        for more in (0, 1, -1):
            try:
                yield moment.replace(**{atom.part: int(value) + more})  # type: ignore[arg-type]
            except (ValueError, OverflowError):
                continue
