"""Which atoms of a large set imply which, without comparing every pair.

An atom is filed under keys; another atom can imply it only when it reaches one of these keys: the words of a
phrase and their openings, the URLs that a URL continues, the attribute of a comparison.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from feedweir.items.links import canonical_url, domains_of, host_of, is_host, openings_of
from feedweir.items.text import words
from feedweir.optimize.implication import (
    atom_implies,
    atoms_exclude,
    bound_of,
    canonical,
    is_in_whole_text,
    link_attribute,
)
from feedweir.plan.predicates import (
    Atom,
    Compare,
    Contains,
    Extends,
    FromFeeds,
    GraphPattern,
    References,
    SharesLink,
    Similar,
)

Key = tuple[Hashable, ...]

MAX_NEAR = 256
"""Of a larger family an atom is compared with this many neighbours: an implication that is missed costs
sharing only.
"""


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


def keys_of(atom: Atom) -> list[Key]:
    """The keys under which an atom is found by those that may imply it."""
    match atom:
        case Contains(attribute, (term,), 1):
            found = words(term.text)
            kind = "opening" if term.is_prefix and len(found) == 1 else "word"
            return [(kind, canonical(attribute), found[0])] if found else []
        case References() | Extends() | SharesLink():
            return [_link_key(atom, url) for url in _urls_of(atom)]
        case _:
            return _one_key(atom)


def reach_of(atom: Atom) -> Iterable[Key]:
    """The keys of whatever an atom may imply."""
    match atom:
        case Contains(attribute, (term,), 1):
            wide = (None,) if is_in_whole_text(attribute) else ()
            for name in dict.fromkeys((canonical(attribute), *wide)):
                for word in words(term.text):
                    yield ("word", name, word)
                    yield from (("opening", name, word[:end]) for end in range(1, len(word) + 1))
        case References() | Extends() | SharesLink():
            for url in _urls_of(atom)[:1]:
                yield from (("page", link_attribute(atom), opening) for opening in openings_of(url))
                yield from (("host", link_attribute(atom), domain) for domain in domains_of(url))
        case _:
            yield from _one_key(atom)


def _one_key(atom: Atom) -> list[Key]:
    """Atoms that only relate to their like."""
    match atom:
        case Compare(attribute, _, _, part):
            return [("compare", canonical(attribute), part)]
        case Similar(attribute, text):
            return [("similar", canonical(attribute), frozenset(words(text)))]
        case FromFeeds():
            return [("feeds",)]
        case GraphPattern():
            return [("graph",)]
        case _:
            return []


def _urls_of(atom: References | Extends | SharesLink) -> tuple[str, ...]:
    return atom.urls if isinstance(atom, SharesLink) else (atom.url,)


def _link_key(atom: References | Extends | SharesLink, url: str) -> Key:
    if is_host(url) and not isinstance(atom, SharesLink):
        return ("host", link_attribute(atom), host_of(url))
    return ("page", link_attribute(atom), canonical_url(url))
