"""Taxonomies: a pattern that asks for a class is satisfied by its subclasses, a property by its subproperties.

Those of RDF Schema and schema.org are in the package, others are registered (`vocabularies`). A pattern is rewritten
before it is searched for: where it names a class or a property that has narrower ones, it asks for one of them all.
Variables stay what they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.resources import files

from feedweir.items.namespaces import NAMESPACES
from feedweir.items.rdf_terms import is_iri
from feedweir.plan.graph_variables import names_in
from feedweir.plan.predicates import (
    AnyConstraint,
    Constraint,
    GraphPattern,
    GraphTerm,
    Iri,
    Triple,
    Variable,
)

_TYPE = Iri(NAMESPACES["rdf"] + "type")
_PACKAGED = ("rdfs", "schema")


@dataclass(frozen=True, slots=True, eq=False)
class Taxonomy:
    """By IRI of a class or property, those that are directly narrower."""

    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    properties: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def class_and_below(self, iri: str) -> tuple[str, ...]:
        return _and_below(iri, self.classes)

    def property_and_below(self, iri: str) -> tuple[str, ...]:
        return _and_below(iri, self.properties)


def _and_below(iri: str, narrower: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Itself and all that are narrower, each once, even if they are narrower than each other."""
    found = dict.fromkeys([iri])
    waiting = [iri]
    while waiting:
        for one in narrower.get(waiting.pop(), ()):
            if one not in found:
                found[one] = None
                waiting.append(one)
    return tuple(found)


def is_taxonomy_line(line: str) -> bool:
    """Whether a line says of a class or property, by absolute IRIs, what it is below."""
    kind, *names = line.split() or [""]
    return kind in ("class", "property") and len(names) > 1 and all(map(is_iri, names))


@lru_cache(maxsize=8)
def together(some: tuple[Taxonomy, ...]) -> Taxonomy:
    """What several taxonomies say, each thing once."""
    classes, properties = (
        {
            iri: tuple(dict.fromkeys(below for said in told for below in said.get(iri, ())))
            for iri in dict.fromkeys(iri for said in told for iri in said)
        }
        for told in ([one.classes for one in some], [one.properties for one in some])
    )
    return Taxonomy(classes, properties)


def taxonomy_of(lines: Iterable[str]) -> Taxonomy:
    """A taxonomy from its compact form: `class NAME BROADER …` and `property NAME BROADER …`, names without a scheme
    being in the `base`."""
    base = ""
    found: dict[str, dict[str, list[str]]] = {"class": {}, "property": {}}
    for kind, *names in (line.split() for line in lines if line.strip() and line[0] != "#"):
        if kind == "base":
            base = names[0]
            continue
        narrow, *broad = (name if ":" in name else base + name for name in names)
        for one in broad:
            found[kind].setdefault(one, []).append(narrow)
    classes, properties = ({key: tuple(value) for key, value in found[kind].items()} for kind in found)
    return Taxonomy(classes, properties)


@lru_cache(maxsize=1)
def packaged_taxonomy() -> Taxonomy:
    """What the package knows."""
    folder = files("feedweir.items") / "vocabularies"
    return together(
        tuple(taxonomy_of((folder / f"{name}.txt").read_text("utf-8").splitlines()) for name in _PACKAGED)
    )


@lru_cache(maxsize=4096)
def in_taxonomy(pattern: GraphPattern, taxonomy: Taxonomy | None = None) -> GraphPattern:
    """The pattern with subclasses and subproperties where it does not refuse them; itself if that changes nothing."""
    if pattern.is_exact:
        return pattern
    return _Rewriter(taxonomy or packaged_taxonomy(), set(names_in(pattern))).pattern(pattern)


@dataclass(slots=True)
class _Rewriter:
    taxonomy: Taxonomy
    names: set[str]

    def pattern(self, pattern: GraphPattern) -> GraphPattern:
        constraints: list[AnyConstraint] = []
        triples = tuple(self.triple(triple, constraints) for triple in pattern.triples)
        absent = tuple(map(self.pattern, pattern.absent))
        if triples == pattern.triples and absent == pattern.absent:
            return pattern
        return replace(
            pattern, triples=triples, constraints=(*pattern.constraints, *constraints), absent=absent
        )

    def triple(self, triple: Triple, constraints: list[AnyConstraint]) -> Triple:
        if triple.predicate == _TYPE and isinstance(triple.object, Iri):
            classes = self.taxonomy.class_and_below(triple.object.iri)
            return replace(triple, object=self.one_of(triple.object, classes, constraints))
        if isinstance(triple.predicate, Iri):
            properties = self.taxonomy.property_and_below(triple.predicate.iri)
            return replace(triple, predicate=self.one_of(triple.predicate, properties, constraints))
        return triple

    def one_of(self, term: Iri, iris: tuple[str, ...], constraints: list[AnyConstraint]) -> GraphTerm:
        """The term itself if it is the only one; else a variable that is one of them."""
        if len(iris) == 1:
            return term
        number = 1
        while f"_{number}" in self.names:
            number += 1
        name = f"_{number}"
        self.names.add(name)
        constraints.append(AnyConstraint(tuple(Constraint(name, "is", Iri(iri)) for iri in iris)))
        return Variable(name)
