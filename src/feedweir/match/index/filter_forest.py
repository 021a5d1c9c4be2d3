"""Filter trees in a compiled set: what the planner provides, and the arrays that the kernel walks.

The queries of a source that has a tree are not in the index for that source. A tree that cannot be read is left out,
and its queries are indexed like all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from feedweir.items.columns import Batch, sources_in
from feedweir.match.arrays import Array, frozen, starts_of
from feedweir.match.atoms import Atom, Leaf, Phrase, is_atom
from feedweir.match.families import reduced
from feedweir.match.formula import All, AnyOf, Formula, Without, leaves_of
from feedweir.match.index.programs import Programs
from feedweir.match.matching.forest_kernels import Forest, fill_slots
from feedweir.plan.predicates import Predicate
from feedweir.plan.query import Query

Probability = Callable[[Atom], float]
_HEADER = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTree:
    """The filters of one source: node n asks `asks[n]` when its parent holds; node 0 is every item and asks nothing.

    A parent has a lower number than its children. `queries[n]` are those that hold where node n does, as places among
    the queries sorted by key. `is_indexed` has the children of the root found by their rarest atom instead of asked.
    """

    source: str
    plan: str = ""
    """The name of the plan that it is from, which comes back with what is counted."""
    parents: tuple[int, ...]
    asks: tuple[Predicate, ...]
    queries: tuple[tuple[int, ...], ...]
    is_indexed: bool
    watched: tuple[Predicate, ...] = ()
    """Atoms that are counted on samples."""
    shares: tuple[float, ...] = ()
    """How often each of them is thought to hold; empty when nothing is known."""
    pairs: tuple[tuple[int, int], ...] = ()
    """Places in `watched` of atoms that are counted together."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What was counted on a sample of a source's items, by place in the lists of its tree; zeros are left out."""

    source: str
    plan: str
    sampled: int
    atoms: tuple[tuple[int, int], ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    nodes: tuple[tuple[int, int], ...] = ()
    """Items that held at a node which has children or several queries."""


@dataclass(slots=True)
class DraftTree:
    """A tree whose questions are formulas."""

    tree: SourceTree
    asks: list[Formula]
    watched: list[Formula]

    def leaves(self) -> Iterator[Leaf]:
        for formula in (*self.asks, *self.watched):
            yield from leaves_of(formula)

    def mapped(self, change: Callable[[Formula], Formula]) -> DraftTree:
        return DraftTree(self.tree, list(map(change, self.asks)), list(map(change, self.watched)))


def read_trees(trees: Iterable[SourceTree]) -> list[DraftTree]:
    """Trees with formulas for predicates, sorted by source, without those that cannot be read."""
    found = []
    for tree in sorted(trees, key=lambda tree: tree.source):
        try:
            asks = [reduced(ask) for ask in tree.asks]
            found.append(DraftTree(tree, asks, [reduced(atom) for atom in tree.watched]))
        except Exception:  # the index finds which of its queries is to blame
            continue
    return found


def sources_in_trees(drafts: Iterable[DraftTree]) -> dict[int, set[str]]:
    """By place of a query the sources for which a tree finds it."""
    found: dict[int, set[str]] = {}
    for draft in drafts:
        for places in draft.tree.queries:
            for place in places:
                found.setdefault(place, set()).add(draft.tree.source)
    return found


def left_to_index(query: Query, in_trees: set[str]) -> Query | None:
    """The query for the sources that no tree covers; None when there are none left."""
    if not in_trees or not query.sources:
        return query
    rest = tuple(source for source in query.sources if source not in in_trees)
    return replace(query, sources=rest) if rest else None


def forest_of(
    drafts: list[DraftTree], atom_id: Callable[[Atom], int], programs: Programs, usual: Probability
) -> Forest:
    """The arrays of all trees; `usual` is the probability of atoms that a tree has no share for."""
    writer = _Writer(atom_id, programs)
    for draft in drafts:
        writer.add(draft, _likely(draft, usual))
    return writer.forest()


def trees_of_rows(trees: tuple[tuple[str, str], ...], items: Batch) -> Array:
    """The tree of every item by its source, -1 where there is none."""
    number = {source: place for place, (source, _) in enumerate(trees)}
    names, indices = sources_in(items)
    found: Array = np.array([number.get(name, -1) for name in names] or [-1], np.int32)[indices]
    return found


def observed_in(
    trees: tuple[tuple[str, str], ...], forest: Forest, counted: tuple[Array, Array, Array, Array]
) -> tuple[Observed, ...]:
    """What the kernel counted, by (source, plan) of each tree."""
    sampled, atoms, pairs, nodes = counted
    return tuple(
        Observed(
            source,
            plan,
            int(sampled[tree]),
            _seen(atoms, forest.watch_starts, tree),
            _seen(pairs, forest.pair_starts, tree),
            _seen(nodes, forest.node_starts, tree),
        )
        for tree, (source, plan) in enumerate(trees)
        if sampled[tree]
    )


def trees_finding(forest: Forest, query: int) -> list[int]:
    """The trees that contain a query."""
    return [tree for tree in range(len(forest.roots)) if query in _queries_in(forest, tree)]


def _queries_in(forest: Forest, tree: int) -> set[int]:
    filed = forest.slots[forest.slot_starts[tree] : forest.slot_starts[tree + 1]]
    waiting = [int(forest.roots[tree]), *filed[filed[:, 0] >= 0, 1].tolist()]
    found: set[int] = set()
    while waiting:
        place = waiting.pop()
        n_queries, *n_children = forest.blocks[place + 1 : place + _HEADER].tolist()
        first = place + _HEADER + n_queries
        found.update(forest.blocks[place + _HEADER : first].tolist())
        targets = forest.blocks[first + sum(n_children) : first + 2 * sum(n_children)].tolist()
        found.update(target for target in targets if target >= 0)
        waiting += [~target for target in targets if target < 0]
    return found


def _seen(counts: Array, starts: Array, tree: int) -> tuple[tuple[int, int], ...]:
    own = counts[starts[tree] : starts[tree + 1]]
    places = np.flatnonzero(own)
    return tuple(zip(places.tolist(), own[places].tolist(), strict=True))


def _likely(draft: DraftTree, usual: Probability) -> Probability:
    """The shares of the source itself where they are known, else the usual ones."""
    known: Mapping[Formula, float] = dict(zip(draft.watched, draft.tree.shares, strict=False))
    return lambda atom: known[atom] if atom in known else usual(atom)


@dataclass(slots=True)
class _Writer:
    """Writes trees one after the other."""

    atom_id: Callable[[Atom], int]
    programs: Programs
    roots: list[int] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    slots: list[Array] = field(default_factory=list)
    node_counts: list[int] = field(default_factory=list)
    watched: list[list[int]] = field(default_factory=list)
    pairs: list[tuple[tuple[int, int], ...]] = field(default_factory=list)

    def add(self, draft: DraftTree, likely: Probability) -> None:
        tree = draft.tree
        steps = _Steps(sum(self.node_counts), tree)
        ends = [steps.end_of(node) for node in range(len(tree.parents))]
        filed: dict[int, list[tuple[int, int]]] = {}
        for node, parent in enumerate(tree.parents):
            keys = keys_of(draft.asks[node], likely) if tree.is_indexed and parent == 0 else []
            for atom, left in keys:
                child = steps.towards(ends[node], self._asks(left, likely))
                filed.setdefault(self.atom_id(atom), []).append(child)
            if parent >= 0 and not keys:
                child = steps.towards(ends[node], self._asks(draft.asks[node], likely))
                steps.children[ends[parent]].append(child)
        places = self._reserve(steps)
        for step, place in places.items():
            self._write(place, steps.numbers[step], steps.queries[step], steps.children[step], steps, places)
        self.roots.append(places[ends[0]])
        self.slots.append(self._file(filed, steps, places))
        self.node_counts.append(len(tree.parents))
        self.watched.append([self._one_ask(atom, likely) for atom in draft.watched])
        self.pairs.append(tree.pairs)

    def forest(self) -> Forest:
        n_slots = np.array([len(slots) for slots in self.slots], np.int64)
        pairs = [pair for each in self.pairs for pair in each]
        arrays = (
            np.array(self.roots, np.int32),
            starts_of(n_slots),
            np.concatenate([np.empty((0, 2), np.int32), *self.slots]),
            np.array(self.blocks or [0], np.int32),
            starts_of(np.array(self.node_counts, np.int64)),
            starts_of(np.array([len(each) for each in self.watched], np.int64)),
            np.array([ask for each in self.watched for ask in each], np.int32),
            starts_of(np.array([len(each) for each in self.pairs], np.int64)),
            np.array(pairs, np.int32).reshape(len(pairs), 2),
        )
        return Forest(*map(frozen, arrays))

    def _reserve(self, steps: _Steps) -> dict[int, int]:
        """Places of the blocks of steps that need one: parents lie near their children."""
        places: dict[int, int] = {}
        for step, below in enumerate(steps.children):
            if step == 0 or below or len(steps.queries[step]) != 1:
                places[step] = len(self.blocks)
                self.blocks += [0] * (_HEADER + len(steps.queries[step]) + 2 * len(below))
        return places

    def _write(
        self,
        place: int,
        number: int,
        queries: tuple[int, ...],
        children: list[tuple[int, int]],
        steps: _Steps,
        places: dict[int, int],
    ) -> None:
        asked = sorted(children, key=lambda child: child[1] < 0)
        n_plain = sum(ask >= 0 for _, ask in asked)
        targets = [~places[step] if step in places else steps.queries[step][0] for step, _ in asked]
        numbers = [number, len(queries), n_plain, len(asked) - n_plain, *queries]
        numbers += [ask for _, ask in asked] + targets
        self.blocks[place : place + len(numbers)] = numbers

    def _asks(self, formula: Formula, likely: Probability) -> list[int]:
        """What a node asks in turn: its atoms, the rarest first, and then ~program for everything else."""
        atoms = sorted((part for part in _parts(formula) if is_atom(part)), key=likely)
        rest = tuple(part for part in _parts(formula) if not is_atom(part))
        asks = [self.atom_id(atom) for atom in atoms]
        return [*asks, ~self.programs.add((), rest)] if rest or not asks else asks

    def _one_ask(self, formula: Formula, likely: Probability) -> int:
        """A whole formula as one atom or ~program."""
        asks = self._asks(formula, likely)
        return asks[0] if len(asks) == 1 else ~self.programs.add((), _parts(formula))

    def _file(self, filed: dict[int, list[tuple[int, int]]], steps: _Steps, places: dict[int, int]) -> Array:
        """The hash table of the children filed under atoms, at most half full."""
        if not filed:
            return np.empty((0, 2), np.int32)
        starts = []
        for children in filed.values():
            starts.append(len(self.blocks))
            self.blocks += [0] * (_HEADER + 2 * len(children))
            self._write(starts[-1], -1, (), children, steps, places)
        slots = np.full((1 << (2 * len(filed) - 1).bit_length(), 2), -1, np.int32)
        fill_slots(slots, np.array(list(filed), np.int32), np.array(starts, np.int32))
        return slots


class _Steps:
    """A tree whose nodes ask one thing each: a node that asks several things is several steps, its own the last."""

    def __init__(self, first_number: int, tree: SourceTree) -> None:
        self.numbers: list[int] = []
        self.queries: list[tuple[int, ...]] = []
        self.children: list[list[tuple[int, int]]] = []
        """(step, what it asks) below each step."""
        self._first_number = first_number
        self._tree = tree

    def end_of(self, node: int) -> int:
        """A new step for a node itself."""
        return self._add(self._first_number + node, self._tree.queries[node])

    def towards(self, end: int, asks: list[int]) -> tuple[int, int]:
        """The first of the steps that ask one after the other and lead to an end, and what it asks."""
        step = end
        for ask in reversed(asks[1:]):
            before = self._add(-1, ())
            self.children[before].append((step, ask))
            step = before
        return step, asks[0]

    def _add(self, number: int, queries: tuple[int, ...]) -> int:
        self.numbers.append(number)
        self.queries.append(queries)
        self.children.append([])
        return len(self.numbers) - 1


_MOST_KEYS = 128


def keys_of(formula: Formula, likely: Probability) -> list[tuple[Atom, Formula]]:
    """Atoms of which one holds whenever the formula does, each with the rest of the formula; none if it must be tried.

    Of several atoms the first that holds finds it, so that nothing is found twice: each is filed with all before it,
    which of very many would be too much.
    """
    options = [atoms for part in _parts(formula) if 0 < len(atoms := _finding(part, likely)) <= _MOST_KEYS]
    if not options:
        return []
    best = min(options, key=lambda atoms: sum(map(likely, atoms)))
    if len(best) == 1:
        return [(best[0], _without(formula, best[0]))]
    left = _left(formula, best)
    return [
        (atom, All((*(Without(earlier) for earlier in best[:place]), *left)) if place or left else atom)
        for place, atom in enumerate(best)
    ]


def _parts(formula: Formula) -> tuple[Formula, ...]:
    return formula.parts if isinstance(formula, All) else (formula,)


def _finding(part: Formula, likely: Probability) -> tuple[Atom, ...]:
    """Atoms of which one must hold for the part to hold."""
    match part:
        case Phrase():
            return (min(part.parts(), key=likely),)
        case AnyOf(parts):
            atoms = tuple(each for each in parts if is_atom(each))
            return atoms if len(atoms) == len(parts) else ()
        case _:
            return (part,) if is_atom(part) else ()


def _without(formula: Formula, atom: Atom) -> Formula:
    """What is left of a conjunction when one of its atoms holds; the atom itself when that was all."""
    rest = tuple(part for part in _parts(formula) if part != atom)
    return atom if not rest else rest[0] if len(rest) == 1 else All(rest)


def _left(formula: Formula, found: tuple[Atom, ...]) -> tuple[Formula, ...]:
    """The parts of a conjunction but the disjunction of the atoms that found it."""
    return tuple(part for part in _parts(formula) if part != AnyOf(found))
