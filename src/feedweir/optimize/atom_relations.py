"""What atoms have to do with each other: which implies or excludes which, without comparing every pair.

Only atoms of one kind are related. An atom is filed under keys; another can imply it only when it reaches one of these
keys: the words of a phrase and their openings, the URLs that a URL continues, the attribute of a comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from feedweir.items.links import canonical_url, domains_of, host_of, is_host, openings_of
from feedweir.optimize import tree_names
from feedweir.optimize.graph_names import names_reached, rarest_name
from feedweir.optimize.implication import (
    LinkAtom,
    bound_of,
    canonical,
    compare_implies,
    comparisons_exclude,
    contains_implies,
    graph_implies,
    is_in_whole_text,
    link_attribute,
    links_imply,
    similar_implies,
    sources_exclude,
    sources_imply,
)
from feedweir.optimize.tree_containment import tree_implies
from feedweir.plan.predicates import (
    Atom,
    Compare,
    Contains,
    Extends,
    FromFeeds,
    GraphPattern,
    Matches,
    References,
    SharesLink,
    Similar,
    TreePattern,
)
from feedweir.text.analyser import words

Key = tuple[Hashable, ...]

MAX_NEAR = 256
"""Atoms of a large family that one is compared with: an implication that is missed costs sharing only."""


def _no_keys(atom: Any) -> list[Key]:
    return []


def _never(one: Any, other: Any) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class AtomRelations:
    """What is known of the atoms of one kind, or of several that are related to each other."""

    implies: Callable[[Any, Any], bool] = _never
    """Whether every item that satisfies the first satisfies the second; both differ."""
    excludes: Callable[[Any, Any], bool] = _never
    """Whether no item satisfies both."""
    keys: Callable[[Any], list[Key]] = _no_keys
    """The keys under which an atom is found by those that may imply it."""
    reach: Callable[[Any], Iterable[Key]] | None = None
    """The keys of whatever an atom may imply, where these are not its own."""


# The keys of each kind


def _word_keys(atom: Contains) -> list[Key]:
    """Of one term; what asks for several is taken apart before."""
    if len(atom.terms) != 1 or atom.at_least != 1:
        return []
    (term,) = atom.terms
    found = words(term.text)
    kind = "opening" if term.is_prefix and len(found) == 1 else "word"
    return [(kind, canonical(atom.attribute), found[0])] if found else []


def _words_reached(atom: Contains) -> Iterable[Key]:
    if len(atom.terms) != 1 or atom.at_least != 1:
        return
    wide = (None,) if is_in_whole_text(atom.attribute) else ()
    for name in dict.fromkeys((canonical(atom.attribute), *wide)):
        for word in words(atom.terms[0].text):
            yield ("word", name, word)
            yield from (("opening", name, word[:end]) for end in range(1, len(word) + 1))


def _link_keys(atom: LinkAtom) -> list[Key]:
    return [_link_key(atom, url) for url in _urls_of(atom)]


def _links_reached(atom: LinkAtom) -> Iterable[Key]:
    for url in _urls_of(atom)[:1]:
        yield from (("page", link_attribute(atom), opening) for opening in openings_of(url))
        yield from (("host", link_attribute(atom), domain) for domain in domains_of(url))


def _urls_of(atom: LinkAtom) -> tuple[str, ...]:
    return atom.urls if isinstance(atom, SharesLink) else (atom.url,)


def _link_key(atom: LinkAtom, url: str) -> Key:
    if is_host(url) and not isinstance(atom, SharesLink):
        return ("host", link_attribute(atom), host_of(url))
    return ("page", link_attribute(atom), canonical_url(url))


def _comparison_keys(atom: Compare) -> list[Key]:
    return [("compare", canonical(atom.attribute), atom.part)]


def _similar_keys(atom: Similar) -> list[Key]:
    return [("similar", canonical(atom.attribute), frozenset(words(atom.text)))]


def _source_keys(atom: FromFeeds) -> list[Key]:
    return [("feeds",)]


def _graph_keys(atom: GraphPattern) -> list[Key]:
    """Of one of the constants that whatever implies it must have, too."""
    return [("graph", rarest_name(atom))]


def _graphs_reached(atom: GraphPattern) -> Iterable[Key]:
    yield ("graph", None)
    yield from (("graph", name) for name in names_reached(atom))


def _tree_keys(atom: TreePattern) -> list[Key]:
    """Of one of the names that whatever implies it must have, too."""
    return [("tree", tree_names.most_telling_name(atom))]


def _trees_reached(atom: TreePattern) -> Iterable[Key]:
    yield from (("tree", name) for name in tree_names.names_reached(atom))


_OF_LINKS = AtomRelations(links_imply, keys=_link_keys, reach=_links_reached)
ATOM_RELATIONS: dict[type, AtomRelations] = {
    Contains: AtomRelations(contains_implies, keys=_word_keys, reach=_words_reached),
    Compare: AtomRelations(compare_implies, comparisons_exclude, _comparison_keys),
    Similar: AtomRelations(similar_implies, keys=_similar_keys),
    References: _OF_LINKS,
    Extends: _OF_LINKS,
    SharesLink: _OF_LINKS,
    Matches: AtomRelations(),  # which expression implies which is not looked for
    FromFeeds: AtomRelations(sources_imply, sources_exclude, _source_keys),
    TreePattern: AtomRelations(tree_implies, keys=_tree_keys, reach=_trees_reached),
    GraphPattern: AtomRelations(graph_implies, keys=_graph_keys, reach=_graphs_reached),
}
"""Every kind of atom."""


def atom_implies(one: Atom, other: Atom) -> bool:
    """Whether every item that satisfies one atom satisfies the other."""
    if one == other:
        return True
    known = ATOM_RELATIONS[type(one)]
    return ATOM_RELATIONS[type(other)] is known and known.implies(one, other)


def atoms_exclude(one: Atom, other: Atom) -> bool:
    """Whether no item satisfies both."""
    known = ATOM_RELATIONS[type(one)]
    return ATOM_RELATIONS[type(other)] is known and known.excludes(one, other)


def keys_of(atom: Atom) -> list[Key]:
    """The keys under which an atom is found by those that may imply it."""
    return ATOM_RELATIONS[type(atom)].keys(atom)


def reach_of(atom: Atom) -> Iterable[Key]:
    """The keys of whatever an atom may imply."""
    known = ATOM_RELATIONS[type(atom)]
    return (known.reach or known.keys)(atom)


# All atoms of a set


@dataclass(frozen=True, slots=True)
class Relations:
    """For each atom by number, the other atoms it implies and those it excludes."""

    implied: tuple[frozenset[int], ...]
    excluded: tuple[frozenset[int], ...]


def relate(atoms: Sequence[Atom]) -> Relations:
    """What the atoms of a set have to do with each other."""
    filed: dict[Key, list[int]] = {}
    for number, atom in enumerate(atoms):
        for key in keys_of(atom):
            filed.setdefault(key, []).append(number)
    for family in filed.values():
        family.sort(key=lambda number: _order_of(atoms[number]))
    place = {(key, number): at for key, family in filed.items() for at, number in enumerate(family)}
    implied, excluded = [], []
    for number, atom in enumerate(atoms):
        near = {n for key in reach_of(atom) for n in _near(filed, place, key, number)} - {number}
        implied.append(frozenset(n for n in near if atom_implies(atom, atoms[n])))
        excluded.append(frozenset(n for n in near if atoms_exclude(atom, atoms[n])))
    return Relations(tuple(implied), tuple(excluded))


def _near(filed: dict[Key, list[int]], place: dict[tuple[Key, int], int], key: Key, number: int) -> list[int]:
    family = filed.get(key, [])
    if len(family) <= MAX_NEAR:
        return family
    start = max(0, place.get((key, number), 0) - MAX_NEAR // 2)
    return family[start : start + MAX_NEAR]


def _order_of(atom: Atom) -> tuple[str, float, str]:
    """Comparisons by their value, so that neighbours are the tightest implications; others by their text."""
    bound = bound_of(atom) if isinstance(atom, Compare) else None
    if bound is None or isinstance(bound[1], str):
        return ("", 0.0, repr(atom) if bound is None else str(bound[1]))
    return (bound[0], float(bound[1]), "")
