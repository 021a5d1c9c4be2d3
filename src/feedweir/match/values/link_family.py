"""Links as atoms: a page, everything that continues it, a host, a host and all below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from feedweir.items.attributes import AttributeType, attribute_named
from feedweir.items.links import canonical_url, domains_of, host_of, is_host, openings_of
from feedweir.match.arrays import Array
from feedweir.match.atoms import Ask, Atom
from feedweir.match.family import SeenShares
from feedweir.match.formula import NO, Formula, any_of
from feedweir.match.values.value_table import ValueTable, key_of, value_table
from feedweir.plan.predicates import Extends, References, SharesLink

_SHARES = {"url": 0.001, "opening": 0.005, "host": 0.01, "domain": 0.02}


@dataclass(frozen=True, slots=True)
class Link(Atom):
    """A link of the attribute: is this URL, continues it (`opening`), leads to this host, or to it or below it."""

    attribute: str
    kind: Literal["url", "opening", "host", "domain"]
    value: str


class LinkFamily:
    name = "links"
    predicates = (References, Extends, SharesLink)
    atoms = (Link,)

    def formula_of(self, predicate: References | Extends | SharesLink) -> Formula:
        attribute = attribute_named(predicate.attribute or "links")
        if attribute is None:
            return NO
        if attribute.type in (AttributeType.TIME, AttributeType.NUMBER):
            return Ask(predicate)
        match predicate:
            case References(_, url) if is_host(url):
                return Link(attribute.name, "host", host_of(url))
            case References(_, url):
                return Link(attribute.name, "url", canonical_url(url))
            case Extends(_, url) if is_host(url):
                return Link(attribute.name, "domain", host_of(url))
            case Extends(_, url):
                return Link(attribute.name, "opening", canonical_url(url))
            case SharesLink(_, urls):
                named = sorted({canonical_url(url) for url in urls})
                return any_of(Link(attribute.name, "url", url) for url in named)

    def share_of(self, atom: Link, seen: SeenShares) -> float:
        return _SHARES[atom.kind]

    def compiled(self, numbers: Mapping[Link, int], sources: Sequence[str] | None) -> ValueTable:
        keys = {atom: [key_of(atom.kind, atom.attribute, atom.value)] for atom in numbers}
        return value_table(keys, numbers, forms_of_link)

    def loaded(self, arrays: Mapping[str, Array], details: Any) -> ValueTable:
        return ValueTable.loaded(arrays, details, forms_of_link)


def forms_of_link(kind: str, value: str) -> tuple[str, ...]:
    """The forms in which an item's link is looked up."""
    match kind:
        case "url":
            return (canonical_url(value),)
        case "opening":
            return openings_of(value)
        case "host":
            return (host_of(value),)
        case _:
            return domains_of(value)
