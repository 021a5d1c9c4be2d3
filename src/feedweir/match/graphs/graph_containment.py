"""Which graph patterns contain which: one whose variables are frozen is an item, and whoever matches it contains it.

A frozen variable is a term of its own, of which is known what its constraints say: between which bounds it lies. A
constant that may be several terms, as a plain text or a number may, is another term wherever it stands. Every answer
is proved by a mapping of variables; only where a variable of the contained pattern could lie on either side of a bound,
and each side had a mapping of its own, would a containment be missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from feedweir.items.rdf_values import STRING
from feedweir.items.triples import Node
from feedweir.match.arrays import Array, frozen, ranges_of
from feedweir.match.graphs.compared_values import places_among
from feedweir.match.graphs.graph_builder import compile_graphs
from feedweir.match.graphs.graph_forms import (
    about,
    compared_value,
    is_compared,
    is_said_by_parts,
    parts_of,
)
from feedweir.match.graphs.graph_set import (
    IRIS,
    LITERALS,
    NUMBERS,
    TEXTS,
    GraphSet,
    Hits,
    Places,
)
from feedweir.match.graphs.graph_wording import pattern_of
from feedweir.match.graphs.join_kernels import AT_LEAST, AT_MOST, EQUAL, LESS, MOMENT, MORE, NUMBER, TEXT
from feedweir.match.graphs.part_users import PartUsers
from feedweir.match.graphs.triple_batches import TripleBatch
from feedweir.match.graphs.triple_kernels import BLANK, IRI, LITERAL, Terms, constants_of_atoms
from feedweir.match.meaning.term_tests import keeps
from feedweir.match.words.dictionary import entries_of_strings, string_at
from feedweir.plan.predicates import (
    AllConstraints,
    AnyConstraint,
    Constraint,
    GraphConstraint,
    GraphPattern,
    Iri,
    RdfLiteral,
)
from feedweir.plan.taxonomies import in_taxonomy
from feedweir.text.dates import instant_of

_KINDS = {IRIS: IRI, TEXTS: BLANK, LITERALS: LITERAL, NUMBERS: BLANK}
"""Constants as terms: what may be several terms is like a blank node, of which only its own name is known."""


def contains(one: GraphPattern, other: GraphPattern) -> bool:
    """Whether every item that has the other pattern has this one."""
    return one == other or bool(len(_alone(one).containing(_alone(other))[0]))


@lru_cache(maxsize=1024)
def _alone(pattern: GraphPattern) -> PatternIndex:
    return PatternIndex([pattern])


class PatternIndex:
    """Patterns that contain others, and that are contained."""

    def __init__(self, asked: Sequence[GraphPattern]) -> None:
        patterns = list(map(in_taxonomy, asked))
        numbers: dict[GraphPattern, int] = {}
        self.parts = [[numbers.setdefault(p, len(numbers)) for p in parts_of(one)] for one in patterns]
        self.graphs: GraphSet = compile_graphs(list(numbers), is_ordered)
        can_contain = map(is_said_by_parts, patterns)
        users = [of if can else [] for of, can in zip(self.parts, can_contain, strict=True)]
        self.users = PartUsers.of(users, len(numbers))

    def __len__(self) -> int:
        return len(self.parts)

    def containing(self, others: PatternIndex) -> tuple[Array, Array]:
        """(numbers of the others, numbers of the patterns here that contain them), each pair once, in order.

        A pattern is also found to contain itself. What its parts do not say (an absent pattern, a constraint on two
        variables) makes a pattern be contained by others, but contain none.
        """
        ice = frozen_patterns(others)
        rows, parts = _parts_in(self.graphs, ice)
        return self.users.found(rows, parts)


# Frozen patterns


@dataclass(frozen=True, slots=True)
class FrozenPatterns:
    """Patterns as triples, and what each of their terms stands for: a constant, or a variable of a part."""

    graphs: GraphSet
    row_ptr: Array
    triples: Array
    constants: Array
    """By term its constant, -1 for a variable."""
    shapes: Array
    parts: Array
    variables: Array
    """By term the shape, the part and the variable that it stands for, if it is no constant."""


def frozen_patterns(index: PatternIndex) -> FrozenPatterns:
    """Each pattern of an index as a row of triples: those of all its parts."""
    graphs = index.graphs
    shapes, atoms = graphs.shapes, graphs.atoms
    place_of_part = np.empty(len(graphs.part_numbers), np.int64)
    place_of_part[graphs.part_numbers] = np.arange(len(graphs.part_numbers))
    parts = place_of_part[np.array([part for of in index.parts for part in of], np.int64)]
    of_part = np.searchsorted(shapes.parts, parts, side="right") - 1
    lengths = (shapes.starts[1:] - shapes.starts[:-1])[of_part].astype(np.int64)
    at = ranges_of(shapes.starts[of_part], lengths)
    row_parts = np.concatenate([[0], np.cumsum([len(of) for of in index.parts])]).astype(np.int64)
    row_ptr = np.concatenate([[0], np.cumsum(lengths)])[row_parts].astype(np.int64)
    # variables of each part follow all constants; what may be several terms is a new one wherever it stands
    counts = shapes.counts[of_part].astype(np.int64)
    n_constants = len(graphs.constants.kinds)
    first_variable = n_constants + np.concatenate([[0], np.cumsum(counts)])
    atom = shapes.atoms[at].astype(np.int64)
    is_condition = atom >= len(atoms.keys)
    if is_condition.any():
        bases = np.array([base for base, _ in graphs.conditions], np.int64)
        atom[is_condition] = bases[atom[is_condition] - len(atoms.keys)]
    owner = np.repeat(np.arange(len(parts)), lengths)
    variables = shapes.variables[at].astype(np.int64)
    constants = constants_of_atoms(atoms.keys[atom])
    triples = np.where(variables >= 0, first_variable[owner][:, None] + variables, constants)
    is_several = (variables < 0) & np.isin(np.append(graphs.constants.kinds, -1)[constants], (TEXTS, NUMBERS))
    own = constants[is_several]
    triples[is_several] = first_variable[-1] + np.arange(len(own))
    n_variables = int(first_variable[-1]) - n_constants
    return FrozenPatterns(
        graphs,
        frozen(row_ptr),
        frozen(triples.astype(np.int32)),
        np.concatenate([np.arange(n_constants), np.full(n_variables, -1), own]),
        np.repeat(of_part, counts),
        np.repeat(parts, counts),
        np.arange(n_variables) - np.repeat(first_variable[:-1] - n_constants, counts),
    )


def _parts_in(graphs: GraphSet, ice: FrozenPatterns) -> tuple[Array, Array]:
    """(rows, parts of a set that they have)."""
    batch = _batch(ice)
    hits = graphs.hits_of(batch, *_names(graphs, ice, batch))
    if graphs.conditions:
        hits = _with_conditions(graphs, ice, batch, hits)
    has = graphs.found(batch, hits, *_bounds(graphs, ice, batch, hits))
    return has.rows, has.parts


def _batch(ice: FrozenPatterns) -> TripleBatch:
    """The frozen patterns as a batch: constants as the terms that they are, where they are but one."""
    constants, dictionary = ice.graphs.constants, ice.graphs.dictionary
    entries, types = (np.append(of, -1)[ice.constants] for of in (constants.entries, constants.types))
    known_as = np.array([_KINDS[kind] for kind in range(4)])
    kinds = np.append(known_as[constants.kinds], BLANK)[ice.constants]
    is_fixed = kinds != BLANK
    starts, lengths = np.zeros(len(kinds), np.int64), np.zeros(len(kinds), np.int32)
    starts[is_fixed] = dictionary.starts[entries[is_fixed]]
    lengths[is_fixed] = dictionary.starts[entries[is_fixed] + 1] - starts[is_fixed]
    types = np.where(kinds == LITERAL, types, -1) + 1
    pairs = sorted(ice.graphs.literal_types, key=ice.graphs.literal_types.__getitem__)
    columns = [frozen(ice.triples[:, place].copy()) for place in range(3)]
    terms = Terms(
        dictionary.text,
        frozen(starts),
        frozen(lengths),
        frozen(kinds.astype(np.int8)),
        frozen(types.astype(np.int32)),
    )
    known = [("", "") if pair[0] == STRING and not pair[1] else pair for pair in pairs]
    return TripleBatch(terms, (("", ""), *known), ice.row_ptr, *columns)


def _names(graphs: GraphSet, ice: FrozenPatterns, batch: TripleBatch) -> tuple[Array, Array]:
    """The names of terms: of what may be several terms, only what it was called itself."""
    name_ptr, names = graphs.names_of(batch)
    constants = ice.graphs.constants
    several = np.flatnonzero((ice.constants >= 0) & (batch.terms.kinds == BLANK))
    several = several[several >= len(constants.kinds)]  # as they stand in triples
    kinds, entries = constants.kinds[ice.constants[several]], constants.entries[ice.constants[several]]
    found = np.full(len(several), -1, np.int64)
    is_text = kinds == TEXTS
    if is_text.any():
        distinct, places = np.unique(entries[is_text], return_inverse=True)
        texts = [
            string_at(ice.graphs.dictionary, int(entry)).encode("utf-8", "surrogatepass")
            for entry in distinct
        ]
        known = entries_of_strings(graphs.dictionary, texts)
        found[is_text] = np.where(known >= 0, np.append(graphs.names.texts, -1)[known], -1)[places]
    if not is_text.all():
        values = ice.graphs.number_names[entries[~is_text]]
        found[~is_text] = graphs.names_of_numbers(values)
    terms, own = several[found >= 0], found[found >= 0]
    more = np.zeros(len(name_ptr), np.int64)
    more[terms + 1] = 1
    joined = np.insert(names, name_ptr[terms], own.astype(np.int32))
    return frozen(name_ptr + np.cumsum(more)), frozen(joined.astype(np.int32))


def _with_conditions(graphs: GraphSet, ice: FrozenPatterns, batch: TripleBatch, hits: Hits) -> Hits:
    """Conditions hold of a fixed term if they do, and of a variable if its constraints imply them."""
    held: dict[int, list[GraphConstraint]] = {}

    def passes(test: GraphConstraint, term: int) -> bool:
        if batch.terms.kinds[term] != BLANK:
            return keeps(test, {"": batch.node(term)})
        if ice.constants[term] >= 0:
            return False
        if term not in held:
            variable = term - len(ice.graphs.constants.kinds)
            pattern = pattern_of(ice.graphs, int(ice.parts[variable]))
            name = str(ice.variables[variable])
            held[term] = [one for one in pattern.constraints if about(one, name) == one]
        return implied(test, held[term])

    return graphs.with_conditions(batch, hits, passes)


def _bounds(graphs: GraphSet, ice: FrozenPatterns, batch: TripleBatch, hits: Hits) -> tuple[Places, Places]:
    """The least and the greatest place that each term can have, -1 where it has no bound."""
    least = [array.copy() for array in graphs.places_of(batch, hits)]
    several = np.flatnonzero((ice.constants >= 0) & (batch.terms.kinds == BLANK))
    of_several = ice.constants[several]
    is_number = ice.graphs.constants.kinds[of_several] == NUMBERS
    values = ice.graphs.number_names[ice.graphs.constants.entries[of_several[is_number]]]
    least[NUMBER][several[is_number]] = places_among(graphs.axes.numbers, values)
    most = [array.copy() for array in least]
    first = len(ice.graphs.constants.kinds)
    for slot, terms, parts in _slots(ice):
        shapes = ice.graphs.shapes
        kind, op = int(shapes.slot_kinds[slot]), int(shapes.slot_ops[slot])
        column = int(shapes.slot_columns[slot])
        shape = int(np.searchsorted(shapes.slots, slot, side="right")) - 1
        own = shapes.places[column + parts - shapes.parts[shape]]
        places = _moved(kind, own // 2, ice.graphs, graphs)
        at = first + terms
        if op in (LESS, AT_MOST, EQUAL):
            bound = places - (op == LESS) * (places % 2)
            known = most[kind][at]
            most[kind][at] = np.where(known < 0, bound, np.minimum(known, bound))
        if op in (MORE, AT_LEAST, EQUAL):
            least[kind][at] = np.maximum(least[kind][at], places + (op == MORE) * (places % 2))
    return tuple(map(frozen, least)), tuple(map(frozen, most))  # type: ignore[return-value]


def _slots(ice: FrozenPatterns) -> Iterable[tuple[int, Array, Array]]:
    """(slot, variables that it bounds, the parts of these)."""
    shapes = ice.graphs.shapes
    order = np.argsort(ice.shapes, kind="stable")
    in_order = ice.shapes[order]
    for shape in np.flatnonzero(np.diff(shapes.slots)).tolist():
        low, high = np.searchsorted(in_order, (shape, shape + 1)).tolist()
        some = order[low:high]
        for slot in range(int(shapes.slots[shape]), int(shapes.slots[shape + 1])):
            terms = some[ice.variables[some] == shapes.slot_variables[slot]]
            yield slot, terms, ice.parts[terms]


def _moved(kind: int, numbers: Array, source: GraphSet, target: GraphSet) -> Array:
    """Values of one set as places among those of another."""
    if kind == NUMBER:
        return places_among(target.axes.numbers, source.axes.numbers[numbers])
    if kind == MOMENT:
        return places_among(target.axes.times, source.axes.times[numbers])
    assert kind == TEXT
    return target.places_of_strings(source.axes.text, source.axes.text_starts, numbers)


# What constraints imply


def is_ordered(constraint: GraphConstraint) -> bool:
    """Whether bounds tell if it is implied: what excludes single values, and times that may be texts, does so apart."""
    if not is_compared(constraint):
        return False
    assert isinstance(constraint, Constraint)
    value = compared_value(constraint.value)
    return constraint.op != "!=" and not (isinstance(value, str) and instant_of(value) is not None)


def implied(test: GraphConstraint, held: Iterable[GraphConstraint]) -> bool:
    """Whether a term that keeps all of these constraints, each on one variable, passes a test."""
    return _implied(about(test, ""), [about(one, "") for one in held])


def _implied(test: GraphConstraint, held: Sequence[GraphConstraint]) -> bool:
    match test:
        case AllConstraints(parts):
            return all(_implied(part, held) for part in parts)
        case AnyConstraint(parts) if test not in held:
            return any(_implied(part, held) for part in parts)
        case _:
            return any(_implies(one, test) for one in held)


def _implies(one: GraphConstraint, test: GraphConstraint) -> bool:
    match one:
        case _ if one == test:
            return True
        case AnyConstraint(parts):
            return bool(parts) and all(_implies(part, test) for part in parts)
        case AllConstraints(parts):
            return any(_implies(part, test) for part in parts)
        case Constraint() if is_compared(one) and is_compared(test):
            assert isinstance(test, Constraint)
            return _comparison_implies(one, test)
        case Constraint(_, "is", value, "", False) if isinstance(value, Iri | RdfLiteral):
            return keeps(test, {"": _node(value)})
        case _:
            return False


def _node(value: Iri | RdfLiteral) -> Node:
    if isinstance(value, Iri):
        return Node("iri", value.iri)
    return Node("literal", value.text, "" if value.datatype == STRING else value.datatype, value.language)


def _comparison_implies(one: Constraint, test: Constraint) -> bool:
    ours, theirs = compared_value(one.value), compared_value(test.value)
    if type(ours) is not type(theirs):
        return False
    if not isinstance(ours, str):
        return _order_implies(one.op, ours, test.op, theirs)
    assert isinstance(theirs, str)
    moments = instant_of(ours), instant_of(theirs)
    if moments == (None, None):
        return _order_implies(one.op, ours, test.op, theirs)
    # a term that names a moment is compared by it, any other as text
    return (
        None not in moments
        and _order_implies(one.op, ours, test.op, theirs)
        and _order_implies(one.op, moments[0], test.op, moments[1])
    )


def _order_implies(op: str, ours: object, wanted: str, theirs: object) -> bool:
    """Whether x op ours implies x wanted theirs, of values of one kind."""
    less, more = bool(ours < theirs), bool(ours > theirs)  # type: ignore[operator]
    equal = ours == theirs
    match op, wanted:
        case ("=", _):
            return {"=": equal, "!=": not equal, "<": less, "<=": not more, ">": more, ">=": not less}[wanted]
        case ("<", "<" | "<=") | ("<=", "<="):
            return not more
        case ("<=", "<") | ("<=", "!="):
            return less
        case ("<", "!="):
            return not more
        case (">", ">" | ">=") | (">=", ">="):
            return not less
        case (">=", ">") | (">=", "!="):
            return more
        case (">", "!="):
            return not less
        case _:
            return op == wanted and equal
