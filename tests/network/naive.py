"""The obvious meaning of views, embeddings and rewritings, to compare everything else with.

The result of a tree view over a document is the set of ways its pattern lies there: a node of the document for each
node of the pattern, and of returned nodes the value or the subtree.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

from lxml import etree

from feedweir.match.trees.tree_codes import comparison_of
from feedweir.network.views import LaidNode, TreeBranch, laid_out
from feedweir.optimize.tree_containment import condition_implies
from feedweir.plan.predicates import PatternNode
from tests.naive import string_value, written, xpath_compares

Id = tuple[int, ...]
"""A node of a document: the way to it from the document's root; attributes end with -1 and their rank."""


def ids_of(document: Any) -> dict[Id, tuple[str, Any]]:
    """Every node of a document with its name and what it is: an element, or an attribute's value."""
    found: dict[Id, tuple[str, Any]] = {}

    def walk(element: Any, where: Id) -> None:
        found[where] = (written(element, element.tag), element)
        for rank, (name, value) in enumerate(element.attrib.items()):
            found[(*where, -1, rank)] = ("@" + written(element, name), value)
        for rank, child in enumerate(element.iterchildren(etree.Element)):
            walk(child, (*where, rank))

    walk(document, (0,))
    return found


def is_above(one: Id, other: Id) -> bool:
    """Whether a node is an ancestor of another, or the owner of an attribute or above it: told from ids alone."""
    return len(one) < len(other) and other[: len(one)] == one


def is_parent(one: Id, other: Id) -> bool:
    return is_above(one, other) and len(other) - len(one) == (2 if other[-2:-1] == (-1,) else 1)


def accepts(node: PatternNode, name: str, value: Any) -> bool:
    is_named = node.name in (name, "@*" if name.startswith("@") else "*")
    if not is_named or node.op is None or node.value is None:
        return is_named
    return xpath_compares(string_value(value), node.op, node.value)


def result(root: PatternNode, document: Any) -> set[tuple[Id, ...]]:
    """Every way a pattern lies in a document, by trying all nodes for all nodes."""
    nodes, laid = ids_of(document), laid_out(root)
    fits = [[i for i, (name, value) in nodes.items() if accepts(one.node, name, value)] for one in laid]
    ways: list[tuple[Id, ...]] = [()]
    for one, candidates in zip(laid, fits, strict=True):
        ways = [(*way, i) for way in ways for i in candidates if stands(one, i, way)]
    return set(ways)


def stands(one: LaidNode, here: Id, way: tuple[Id, ...]) -> bool:
    if one.above < 0:
        return one.node.axis == "//" or here == (0,)
    return (is_parent if one.node.axis == "/" else is_above)(way[one.above], here)


# Embeddings


def embeddings_of(v: TreeBranch, q: TreeBranch) -> list[tuple[int, ...]]:
    """Every way of laying v's nodes onto q's."""
    if v.source != q.source:
        return []
    of_v, of_q = laid_out(v.root), laid_out(q.root)
    ways = product(range(len(of_q)), repeat=len(of_v))
    return [way for way in ways if is_embedding(way, of_v, of_q)]


def is_embedding(way: tuple[int, ...], of_v: tuple[LaidNode, ...], of_q: tuple[LaidNode, ...]) -> bool:
    for place, (one, onto) in enumerate(zip(of_v, way, strict=True)):
        target = of_q[onto]
        names = (target.node.name, "@*" if target.node.name.startswith("@") else "*")
        if one.node.name not in names:
            return False
        if not condition_implies(comparison_of(target.node), comparison_of(one.node)):
            return False
        if place == 0:
            if one.node.axis == "/" and (onto != 0 or target.node.axis != "/"):
                return False
        elif one.node.axis == "/":
            if target.above != way[one.above] or target.node.axis != "/":
                return False
        elif way[one.above] not in above_of(onto, of_q):
            return False
    return True


def above_of(place: int, laid: tuple[LaidNode, ...]) -> Iterator[int]:
    while (place := laid[place].above) >= 0:
        yield place


def covered(v: TreeBranch, q: TreeBranch) -> set[tuple[int, str]]:
    """What v covers of q: (node of q, what of it) over all embeddings."""
    of_v, of_q = laid_out(v.root), laid_out(q.root)
    gives = {(one.node, one.kind) for one in v.returned}
    found: set[tuple[int, str]] = set()
    for way in embeddings_of(v, q):
        for place, onto in enumerate(way):
            one, target = of_v[place].node, of_q[onto].node
            if one.name == target.name:
                found.add((onto, "node"))
            if condition_implies(comparison_of(one), comparison_of(target)):
                found.add((onto, "condition"))
            if {(place, "val"), (place, "cont")} & gives:
                found |= {(onto, "val"), (onto, "condition")}
            if (place, "cont") in gives:
                below = [n for n in range(len(of_q)) if n == onto or onto in above_of(n, of_q)]
                found |= {(n, what) for n in below for what in ("node", "condition", "val", "cont")}
    return {one for one in found if one in asked_of(q)}


def asked_of(q: TreeBranch) -> list[tuple[int, str]]:
    """What must be covered, in the order of the bits."""
    laid = laid_out(q.root)
    conts = {one.node for one in q.returned if one.kind == "cont"}
    vals = {one.node for one in q.returned if one.kind == "val"} - conts
    return [
        *((place, "node") for place in range(len(laid))),
        *((place, "condition") for place, one in enumerate(laid) if one.node.op is not None),
        *((place, "val") for place in sorted(vals)),
        *((place, "cont") for place in sorted(conts)),
    ]


# Rewritings, carried out on what views hold


def rewritten(q: TreeBranch, feeders: list[TreeBranch], document: Any) -> set[tuple[Id, ...]]:
    """The result of q computed from those of its feeders alone: their tuples are joined by id, and what the join
    does not say yet is tested by ids, names, values and subtrees that they hold."""
    of_q = laid_out(q.root)
    joined: list[dict[int, Held]] = [{}]
    for v in feeders:
        for way in embeddings_of(v, q):
            tuples = [held_by(v, way, row, document) for row in result(v.root, document)]
            joined = [m for one in joined for other in tuples if (m := merged(one, other)) is not None]
    found: set[tuple[Id, ...]] = set()
    for one in joined:
        found |= set(completed(of_q, one, document))
    return found


class Held:
    """What is known of one node: its id, its name if it is known, its value or subtree if some view returns it, the
    comparisons that it is known to satisfy."""

    def __init__(self, i: Id, name: str | None, value: str | None, tree: Any, known: frozenset[Any]) -> None:
        self.id, self.name, self.value, self.tree, self.known = i, name, value, tree, known


def held_by(
    v: TreeBranch, way: tuple[int, ...], row: tuple[Id, ...], document: Any
) -> dict[int, Held] | None:
    nodes, laid = ids_of(document), laid_out(v.root)
    gives = {(one.node, one.kind) for one in v.returned}
    found: dict[int, Held] = {}
    for place, (onto, i) in enumerate(zip(way, row, strict=True)):
        node = laid[place].node
        content = nodes[i][1]
        tree = content if (place, "cont") in gives else None
        value = string_value(content) if {(place, "val"), (place, "cont")} & gives else None
        name = nodes[i][0] if tree is not None else (None if "*" in node.name else node.name)
        known = frozenset([comparison_of(node)] if node.op is not None else [])
        here = Held(i, name, value, tree, known)
        more = merged({onto: here}, {onto: found[onto]}) if onto in found else {onto: here}
        if more is None:
            return None
        found |= more
    return found


def merged(one: dict[int, Held], other: dict[int, Held] | None) -> dict[int, Held] | None:
    if other is None:
        return None
    found = dict(one)
    for node, there in other.items():
        here = found.get(node)
        if here is None:
            found[node] = there
            continue
        if here.id != there.id:
            return None
        found[node] = Held(
            here.id,
            here.name or there.name,
            here.value if here.value is not None else there.value,
            here.tree if here.tree is not None else there.tree,
            here.known | there.known,
        )
    return found


def completed(of_q: tuple[LaidNode, ...], held: dict[int, Held], document: Any) -> Iterator[tuple[Id, ...]]:
    """Every way q lies in the document that agrees with what is held, told from that alone."""
    choices = []
    for place, one in enumerate(of_q):
        within = [
            held[a].id for a in (place, *above_of(place, of_q)) if a in held and held[a].tree is not None
        ]
        nodes = {i: node for i, node in ids_of(document).items() if any(i[: len(w)] == w for w in within)}
        inner = [i for i, (name, value) in nodes.items() if accepts(one.node, name, value)]
        if place not in held:
            choices.append(inner)
            continue
        h = held[place]
        if h.id in inner:
            choices.append([h.id])
            continue
        is_named = one.node.name in ("*", "@*") or h.name == one.node.name
        is_kept = one.node.op is None or (
            any(condition_implies(c, comparison_of(one.node)) for c in h.known)
            or (h.value is not None and xpath_compares(h.value, one.node.op, one.node.value or 0.0))
        )
        choices.append([h.id] if is_named and is_kept else [])
    for way in product(*choices):
        if all(stands(one, i, way) for one, i in zip(of_q, way, strict=True)):
            yield way


def minimal_covers(q: TreeBranch, views: list[TreeBranch], most: int = 4) -> list[tuple[int, ...]]:
    """Every set of views that covers q and of which none is superfluous."""
    wanted = set(asked_of(q))
    gives = [covered(v, q) for v in views]
    found: list[tuple[int, ...]] = []
    for size in range(1, most + 1):
        for chosen in combinations(range(len(views)), size):
            is_cover = wanted <= set().union(*(gives[v] for v in chosen))
            if is_cover and not any(set(known) <= set(chosen) for known in found):
                found.append(chosen)
    return found


def lies_in(v: TreeBranch, q: TreeBranch) -> bool:
    """Whether v embeds in q, node by node: for patterns that are too large for trying all ways."""
    of_v, of_q = laid_out(v.root), laid_out(q.root)
    ways: list[tuple[int, ...]] = [()] if v.source == q.source else []
    for place in range(len(of_v)):
        ways = [
            (*way, onto)
            for way in ways
            for onto in range(len(of_q))
            if is_embedding((*way, onto), of_v[: place + 1], of_q)
        ]
    return bool(ways)
