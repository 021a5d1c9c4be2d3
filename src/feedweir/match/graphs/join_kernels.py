"""From the atoms that an item's triples satisfy to the parts of patterns that it has.

   shapes  s0          s1          …   in order of their rarest atoms: those of atom a are first[a] … first[a + 1]
    atoms  a  b  c     a  b  d     …   one for each triple of a shape, the rarest first; s1 shares two with s0
variables  x? ?y …                     what stands in the open places of each triple
    slots  x < ·       y = ·       …   what it compares with: parts that differ only there are one shape
    parts  p0 p1 p2    p3          …   those of each shape
   places  9  3  12                …   by slot what each part compares with, as places among all values of its kind
   orders  1  0  2                 …   by slot the parts in the order of those places

For each row all shapes whose atoms are there are joined once, and their parts found by what variables were bound to.
Most shapes leave nothing to choose: each triple has one fact that fits. Of the others, variables that hang together as
a tree are decided by semi-joins: each leaf tells its neighbour which of its values remain. Only what goes in circles,
and what compares several variables, is searched.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uintp

from feedweir.kernels import njit

NUMBER, TEXT, MOMENT, TIME = 0, 1, 2, 3
"""What terms are compared as; a time that is written as a text is a text to whatever is no time."""
EQUAL, UNEQUAL, LESS, AT_MOST, MORE, AT_LEAST = 0, 1, 2, 3, 4, 5
NO, YES, UNDECIDED = 0, 1, 2
MAX_STEPS = 200_000
"""What searching for one shape in one item may take; what it would take more is left undecided."""
_MOST_LEFT = 1 << 22
_FEW, _SMALL = 8, 8
"""Parts that are tried one by one; facts that are walked without being indexed."""


class Shapes(NamedTuple):
    first: Any
    shared: Any
    starts: Any
    atoms: Any
    variables: Any
    counts: Any
    slots: Any
    slot_variables: Any
    slot_ops: Any
    slot_kinds: Any
    slot_columns: Any
    parts: Any
    places: Any
    orders: Any
    largest: Any
    """Two numbers: the most variables and the most triples that a shape has."""


class Facts(NamedTuple):
    """The triples of a batch, with what they satisfy, and the places of terms among the values of each kind.

    What is known of a term by its bounds only lies between two places: from the first three arrays to the others.
    """

    row_ptr: Any
    subjects: Any
    predicates: Any
    objects: Any
    hit_ptr: Any
    hit_atoms: Any
    hit_triples: Any
    numbers: Any
    texts: Any
    times: Any
    most_numbers: Any
    most_texts: Any
    most_times: Any


class Room(NamedTuple):
    """What one row needs: by atom its first hit; by term its number in the row; by part the last row."""

    heads: Any
    local: Any
    last_row: Any


class Work(NamedTuple):
    """What joining needs, kept from shape to shape: what variables are bound to, and for trees of them all else."""

    left: Any
    asked: Any
    order: Any
    above: Any
    edges: Any
    values: Any
    bound: Any


class Row(NamedTuple):
    """The facts of one row, with its terms numbered from 0."""

    number: Any
    noted_as: Any
    triples: Any
    terms: Any
    n_terms: Any
    follows: Any


@njit(cache=True, nogil=True)
def find_parts(facts, shapes, room, first_row):  # type: ignore[no-untyped-def]
    """(rows, parts, how many shapes were tried): an undecided part is listed as ~part.

    Rows are noted as `first_row` and those after it, so that what was noted of other batches may stand.
    """
    rows, found = np.empty(256, np.int32), np.empty(256, np.int32)
    n = n_tried = 0
    n_rows = len(facts.row_ptr) - 1
    most = np.int64(1)
    for number in range(n_rows):
        most = max(most, facts.row_ptr[number + 1] - facts.row_ptr[number])
        most = max(most, facts.hit_ptr[number + 1] - facts.hit_ptr[number])
    work = _work(shapes.largest[0], shapes.largest[1], most)
    triples = np.empty((most, 3), np.int32)
    terms = np.empty(3 * most, np.int32)
    follows = np.empty(most, np.int32)
    waiting = np.empty(64, np.int32)
    for number in range(n_rows):
        # 1. hits by atom, in the order of the triples
        start, stop = facts.hit_ptr[number], facts.hit_ptr[number + 1]
        if start == stop:
            continue
        for h in range(stop - 1, start - 1, -1):
            a = facts.hit_atoms[h]
            follows[h - start] = room.heads[a]
            room.heads[a] = h - start
        # 2. terms numbered from 0
        n_terms = _renumbered(facts, number, room.local, triples, terms)
        row = Row(number, first_row + number, triples, terms, n_terms, follows)
        # 3. shapes by their rarest atoms
        n_waiting = 0
        for h in range(start, stop):
            a = facts.hit_atoms[h]
            if room.heads[a] != h - start:
                continue
            low, high = shapes.first[a], shapes.first[a + 1]
            known = np.int64(0)
            for shape in range(low, high):
                common = np.int64(shapes.shared[shape])
                if shape > low and common > known:
                    continue  # it needs the atom that the one before lacks
                at = shapes.starts[shape]
                length = shapes.starts[shape + 1] - at
                depth = np.int64(1)
                if shape > low:
                    depth = min(known, common)
                while depth < length and room.heads[shapes.atoms[at + depth]] >= 0:
                    depth += 1
                known = depth
                if depth < length:
                    continue
                n_tried += 1
                k = np.int64(shapes.counts[shape])
                is_single = shapes.slots[shape + 1] == shapes.slots[shape]
                decided = YES
                if is_single and k and length > 1:
                    decided = _forced(
                        at, length, k, shapes.atoms, shapes.variables, room.heads, follows, facts.hit_triples,
                        start, facts.row_ptr[number], triples, work.bound,
                    )  # fmt: skip
                if not is_single or decided == UNDECIDED:
                    if n_waiting == len(waiting):
                        waiting = _longer(waiting, 2 * n_waiting)
                    waiting[n_waiting] = shape
                    n_waiting += 1
                elif decided == YES:
                    if n == len(rows):
                        rows, found = _longer(rows, 2 * n), _longer(found, 2 * n)
                    n = _listed(shapes.parts[shape], row, room, rows, found, n)
        # 4. those that leave a choice: what they need is not even read where there is none
        for place in range(n_waiting):
            shape = waiting[place]
            size = n + 2 * (shapes.parts[shape + 1] - shapes.parts[shape])
            if size >= len(rows):
                rows, found = _longer(rows, 2 * size + 2), _longer(found, 2 * size + 2)
            n = _chosen(shape, facts, shapes, room, row, work, start, rows, found, n)
        # 5. room for the next row
        for h in range(start, stop):
            room.heads[facts.hit_atoms[h]] = -1
    return rows[:n].copy(), found[:n].copy(), n_tried


@njit(cache=True)
def _work(n_variables, n_triples, most):  # type: ignore[no-untyped-def]
    """Room for the largest shape on the largest row, unless that is very large."""
    size = min(n_variables * 3 * most, _MOST_LEFT)
    return Work(
        np.empty(size, np.int32),
        np.empty(n_variables, np.int32),
        np.empty(n_variables, np.int32),
        np.empty(n_variables, np.int32),
        np.empty((1 + 2 * n_triples, 3), np.int32),
        np.empty(3 * most, np.int32),
        np.empty(n_variables, np.int32),
    )


@njit(cache=True)
def _longer(array, size):  # type: ignore[no-untyped-def]
    longer = np.empty(size, array.dtype)
    longer[: len(array)] = array
    return longer


@njit(forceinline=True)
def _renumbered(facts, number, local, triples, terms):  # type: ignore[no-untyped-def]
    n_terms = 0
    first = facts.row_ptr[number]
    for k in range(first, facts.row_ptr[number + 1]):
        for position in range(3):
            t = _term(facts, k, position)
            if local[t] < 0:
                local[t] = n_terms
                terms[n_terms] = t
                n_terms += 1
            triples[k - first, position] = local[t]
    for x in range(n_terms):
        local[terms[x]] = -1
    return n_terms


@njit(inline="always")
def _term(facts, k, position):  # type: ignore[no-untyped-def]
    if position == 0:
        return facts.subjects[k]
    return facts.predicates[k] if position == 1 else facts.objects[k]


@njit(cache=True)
def _chosen(shape, facts, shapes, room, row, work, first_hit, rows, found, n):  # type: ignore[no-untyped-def]
    """Write the parts of a shape that the row has, all of whose atoms it satisfies, where there is a choice of facts,
    or of parts by what they compare with."""
    at = shapes.starts[shape]
    length = shapes.starts[shape + 1] - at
    k = np.int64(shapes.counts[shape])
    decided = _forced(
        at, length, k, shapes.atoms, shapes.variables, room.heads, row.follows, facts.hit_triples, first_hit,
        facts.row_ptr[row.number], row.triples, work.bound,
    )  # fmt: skip
    if decided == NO:
        return n
    if decided == YES:
        return _by_values(shape, facts, shapes, room, row, work.bound, rows, found, n)
    work.bound[:k] = -1
    if length == 1:
        h = room.heads[shapes.atoms[at]]
        while h >= 0:
            _bind(work.bound, shapes.variables, at, row.triples, _triple(facts, row, first_hit, h))
            n = _by_values(shape, facts, shapes, room, row, work.bound, rows, found, n)
            h = row.follows[h]
        return n
    root = _compared_variable(shape, shapes)
    if root < 0 or not _edges(at, length, k, shapes, work.edges):
        return _searched(shape, facts, shapes, room, row, first_hit, work.bound, rows, found, n)
    n_values = _reduced(at, length, k, root, facts, shapes, room, row, work, first_hit)
    if shapes.slots[shape + 1] == shapes.slots[shape]:
        return _listed(shapes.parts[shape], row, room, rows, found, n) if n_values else n
    for place in range(n_values):
        work.bound[root] = work.values[place]
        n = _by_values(shape, facts, shapes, room, row, work.bound, rows, found, n)
    return n


@njit(inline="always")
def _compared_variable(shape, shapes):  # type: ignore[no-untyped-def]
    """The one variable that a shape compares; the first if it compares none, -1 if it compares several."""
    found = np.int64(-1)
    for slot in range(shapes.slots[shape], shapes.slots[shape + 1]):
        v = np.int64(shapes.slot_variables[slot])
        if found >= 0 and found != v:
            return np.int64(-1)
        found = v
    return max(found, np.int64(0))


# Where nothing is left to choose


@njit(cache=True)
def _forced(  # type: ignore[no-untyped-def]
    at, length, k, atoms, variables, heads, follows, hit_triples, first_hit, first_triple, triples, bound
):
    """Whether the triples can be satisfied together, where at each of them only one fact is left; binds the variables.

    By far the most shapes whose atoms are there are decided so: constants leave most triples one fact, and what those
    bind leaves the others one. Arrays come by themselves, since numba counts who holds those of tuples.
    """
    for v in range(k):
        bound[v] = -1
    is_open = False
    for j in range(at, at + length):
        a, b, c = variables[j, 0], variables[j, 1], variables[j, 2]
        if a & b & c < 0:
            continue  # it has no variable, and is there
        h = uintp(heads[uintp(atoms[j])])
        if follows[h] >= 0:
            is_open = True
            continue
        triple = uintp(hit_triples[first_hit + h] - first_triple)
        if a >= 0 and not _agrees(bound, a, triples[triple, 0]):
            return NO
        if b >= 0 and not _agrees(bound, b, triples[triple, 1]):
            return NO
        if c >= 0 and not _agrees(bound, c, triples[triple, 2]):
            return NO
    if not is_open:
        return YES
    for j in range(at, at + length):
        h = np.int64(heads[atoms[j]])
        if follows[h] < 0:
            continue
        is_bound = True
        for position in range(3):
            v = variables[j, position]
            is_bound &= v < 0 or bound[v] >= 0
        only = np.int64(-1)
        while h >= 0:
            triple_at = np.int64(hit_triples[first_hit + h] - first_triple)
            h = np.int64(follows[h])
            if _fits(bound, variables, j, triples, triple_at):
                if only >= 0:
                    return UNDECIDED
                only = triple_at
                if is_bound:
                    break
        if only < 0:
            return NO
        _bind(bound, variables, j, triples, only)
    return YES


@njit(inline="always")
def _agrees(bound, v, x):  # type: ignore[no-untyped-def]
    """Whether a variable is, or from now on is, bound to a term."""
    place = uintp(v)
    if bound[place] < 0:
        bound[place] = x
    return bound[place] == x


@njit(inline="always")
def _fits(bound, variables, at, triples, triple):  # type: ignore[no-untyped-def]
    """Whether a fact has at each place what its variable is bound to."""
    is_fitting = True
    for position in range(3):
        v = variables[at, position]
        is_fitting &= v < 0 or bound[v] < 0 or bound[v] == triples[triple, position]
    return is_fitting


@njit(inline="always")
def _triple(facts, row, first_hit, h):  # type: ignore[no-untyped-def]
    """Which triple of the row a hit is. No array is cut out anywhere here: counting who holds it costs more than the
    look-up."""
    return facts.hit_triples[first_hit + h] - facts.row_ptr[row.number]


@njit(inline="always")
def _bind(bound, variables, at, triples, triple):  # type: ignore[no-untyped-def]
    for position in range(3):
        if variables[at, position] >= 0:
            bound[variables[at, position]] = triples[triple, position]


@njit(inline="always")
def _listed(part, row, room, rows, found, n):  # type: ignore[no-untyped-def]
    """A part that was found, once a row."""
    if room.last_row[part] != row.noted_as:
        room.last_row[part] = row.noted_as
        rows[n] = row.number
        found[n] = part
        n += 1
    return n


# Trees of variables


@njit(forceinline=True)
def _edges(at, length, k, shapes, edges):  # type: ignore[no-untyped-def]
    """Whether the edges between variables form a tree: no circle, and no triple with three variables.

    Row 0 has their number; row 1 + e is edge e as (one variable, the other, its first triple); row 1 + length + j has
    the next triple of the same edge as j.
    """
    edges[0, 0] = 0
    if k == 1:
        return True
    n_edges = 0
    for j in range(length):
        one, other, n_distinct = _distinct(shapes.variables, at + j)
        if n_distinct == 3:
            return False
        if n_distinct < 2:
            continue
        e = 0
        while e < n_edges and (edges[1 + e, 0] != one or edges[1 + e, 1] != other):
            e += 1
        if e == n_edges:
            edges[1 + e, 0], edges[1 + e, 1], edges[1 + e, 2] = one, other, -1
            n_edges += 1
        edges[1 + length + j, 0] = edges[1 + e, 2]
        edges[1 + e, 2] = j
    edges[0, 0] = n_edges
    return n_edges == k - 1  # all of a shape's variables hang together


@njit(inline="always")
def _distinct(variables, at):  # type: ignore[no-untyped-def]
    """(the least variable of a triple, the greatest, how many differ)."""
    one, other, count = np.int64(-1), np.int64(-1), 0
    middle = np.int64(-1)
    for position in range(3):
        v = np.int64(variables[at, position])
        if v < 0 or v == one or v == other or v == middle:
            continue
        count += 1
        if one < 0:
            one = other = v
        elif v < one:
            middle, one = one if one != other else middle, v
        elif v > other:
            middle, other = other if one != other else middle, v
        else:
            middle = v
    return one, other, count


@njit(inline="always")
def _place_of(variables, at, v):  # type: ignore[no-untyped-def]
    """In which place of a triple a variable stands first."""
    return 0 if variables[at, 0] == v else 1 if variables[at, 1] == v else 2


@njit(forceinline=True)
def _reduced(at, length, k, root, facts, shapes, room, row, work, first_hit):  # type: ignore[no-untyped-def]
    """How many values the root can have with which all triples can be satisfied together; writes them to `values`.

    left[v · n_terms + x] counts the triples, one after the other, in which v can be x: x remains while all that were
    asked.
    """
    size = k * row.n_terms
    left = work.left[:size] if size <= len(work.left) else np.empty(size, np.int32)
    left[:] = 0
    asked, edges = work.asked, work.edges
    asked[:k] = 0
    # Triples with one variable say which values it can have.
    for j in range(length):
        one, _, n_distinct = _distinct(shapes.variables, at + j)
        if n_distinct == 1:
            place = _place_of(shapes.variables, at + j, one)
            is_any = False
            h = room.heads[shapes.atoms[at + j]]
            while h >= 0:
                x = row.triples[_triple(facts, row, first_hit, h), place]
                is_any |= _remains(left, asked, one, x, row.n_terms)
                h = row.follows[h]
            if not is_any:
                return 0
            asked[one] += 1
    # From the leaves to the root each variable tells the one above which of its values remain.
    if k > 1:
        _outwards(k, root, edges, work.order, work.above)
    for step in range(k - 1, 0, -1):
        child = np.int64(work.order[step])
        edge = np.int64(work.above[child])
        parent = np.int64(edges[1 + edge, 0])
        if parent == child:
            parent = np.int64(edges[1 + edge, 1])
        first = np.int64(edges[1 + edge, 2])
        if edges[1 + length + first, 0] < 0:
            is_any = _told(at + first, child, parent, left, asked, facts, shapes, room, row, first_hit)
        else:
            is_any = _told_by_all(
                at, length, first, child, parent, left, asked, edges, facts, shapes, room, row, first_hit
            )
        if not is_any:
            return 0
        asked[parent] += 1
    n = 0
    for x in range(row.n_terms):
        if left[root * row.n_terms + x] == asked[root]:
            work.values[n] = x
            n += 1
    return n


@njit(inline="always")
def _remains(left, asked, v, x, n_terms):  # type: ignore[no-untyped-def]
    """Note that v can be x in the triple that is asked; whether x remains."""
    at = v * n_terms + x
    if left[at] == asked[v]:
        left[at] += 1
    return left[at] == asked[v] + 1


@njit(forceinline=True)
def _outwards(k, root, edges, order, above):  # type: ignore[no-untyped-def]
    """Write down variables from the root outwards, and the edge by which each was reached."""
    above[:k] = -1
    order[0] = root
    n = 1
    for step in range(k):
        v = order[step]
        for edge in range(edges[0, 0]):
            one, other = edges[1 + edge, 0], edges[1 + edge, 1]
            near = other if one == v else one if other == v else np.int32(-1)
            if near >= 0 and near != root and above[near] < 0:
                above[near] = edge
                order[n] = near
                n += 1


@njit(forceinline=True)
def _told(triple_at, child, parent, left, asked, facts, shapes, room, row, first_hit):  # type: ignore[no-untyped-def]
    """The parent's values for which one triple has a value that remains for the child."""
    from_place = _place_of(shapes.variables, triple_at, child)
    to_place = _place_of(shapes.variables, triple_at, parent)
    is_any = False
    h = room.heads[shapes.atoms[triple_at]]
    while h >= 0:
        triple = _triple(facts, row, first_hit, h)
        if left[child * row.n_terms + row.triples[triple, from_place]] == asked[child]:
            is_any |= _remains(left, asked, parent, row.triples[triple, to_place], row.n_terms)
        h = row.follows[h]
    return is_any


@njit(cache=True)
def _told_by_all(  # type: ignore[no-untyped-def]
    at, length, first, child, parent, left, asked, edges, facts, shapes, room, row, first_hit
):
    """As `_told`, for several triples between the same variables: pairs of values are counted like values."""
    size, rarest, least = 1, np.int64(first), np.int64(-1)
    j = np.int64(first)
    while j >= 0:
        n_facts = _count_facts(shapes.atoms[at + j], room, row)
        if least < 0 or n_facts < least:
            rarest, least = j, n_facts
        j = np.int64(edges[1 + length + j, 0])
    while size < 2 * least:
        size *= 2
    keys, counts = np.full(size, -1, np.int64), np.zeros(size, np.int32)
    level = 0
    j = rarest
    following = np.int64(first)
    while j >= 0:
        from_place = _place_of(shapes.variables, at + j, child)
        to_place = _place_of(shapes.variables, at + j, parent)
        h = room.heads[shapes.atoms[at + j]]
        while h >= 0:
            triple = _triple(facts, row, first_hit, h)
            x, y = np.int64(row.triples[triple, from_place]), np.int64(row.triples[triple, to_place])
            h = row.follows[h]
            if left[child * row.n_terms + x] != asked[child]:
                continue
            key = x * row.n_terms + y
            slot = (key * 0x9E3779B1 >> 7) & (size - 1)
            while keys[slot] >= 0 and keys[slot] != key:
                slot = (slot + 1) & (size - 1)
            if keys[slot] < 0:
                if level:
                    continue
                keys[slot] = key
            if counts[slot] == level:
                counts[slot] += 1
        level += 1
        if following == rarest:
            following = np.int64(edges[1 + length + following, 0])
        j = following
        if following >= 0:
            following = np.int64(edges[1 + length + following, 0])
    # Pairs that every triple has.
    is_any = False
    for slot in range(size):
        if keys[slot] >= 0 and counts[slot] == level:
            is_any |= _remains(left, asked, parent, keys[slot] % row.n_terms, row.n_terms)
    return is_any


@njit(inline="always")
def _count_facts(atom, room, row):  # type: ignore[no-untyped-def]
    n = np.int64(0)
    h = room.heads[atom]
    while h >= 0:
        n += 1
        h = row.follows[h]
    return n


# What goes in circles


@njit(cache=True)
def _searched(shape, facts, shapes, room, row, first_hit, bound, rows, found, n):  # type: ignore[no-untyped-def]
    """All ways to satisfy the triples together, one after the other, until no part is left to be found.

    The triple with the fewest facts comes first, then always one that shares most variables with those before. Facts
    of a triple that has many are chained by the value of a variable that is bound before.
    """
    at = shapes.starts[shape]
    length = shapes.starts[shape + 1] - at
    first_part, last_part = shapes.parts[shape], shapes.parts[shape + 1]
    is_single = shapes.slots[shape + 1] == shapes.slots[shape]
    order, chained_by = _search_order(at, length, shapes.counts[shape], shapes, room, row)
    heads, follows = _chains(at, length, order, chained_by, facts, shapes, room, row, first_hit)
    n_before, n_steps = n, 0
    current = np.full(length, -1, np.int32)
    binds = np.zeros(length, np.int8)  # places whose variable a triple binds
    depth = 0
    current[0] = room.heads[shapes.atoms[at + order[0]]]
    while depth >= 0:
        # Undo what this depth bound, and take its next fact.
        j = at + order[depth]
        for position in range(3):
            if binds[depth] & (1 << position):
                bound[shapes.variables[j, position]] = -1
        binds[depth] = 0
        h = current[depth]
        if h < 0:
            depth -= 1
            continue
        n_steps += 1
        # Too many steps: all parts that were not found are left to be asked.
        if n_steps > MAX_STEPS:
            for part in range(first_part, last_part):
                if room.last_row[part] != row.noted_as:
                    room.last_row[part] = row.noted_as
                    rows[n] = row.number
                    found[n] = ~part
                    n += 1
            return n
        current[depth] = follows[depth, h] if chained_by[depth] >= 0 else row.follows[h]
        triple = _triple(facts, row, first_hit, h)
        is_fitting = True
        for position in range(3):
            v = shapes.variables[j, position]
            if v < 0:
                continue
            if bound[v] < 0:
                bound[v] = row.triples[triple, position]
                binds[depth] |= 1 << position
            elif bound[v] != row.triples[triple, position]:
                is_fitting = False
                break
        if not is_fitting:
            continue
        if depth + 1 == length:
            if is_single:
                return _listed(first_part, row, room, rows, found, n)
            n = _by_values(shape, facts, shapes, room, row, bound, rows, found, n)
            if n - n_before == last_part - first_part:
                return n
            continue
        depth += 1
        by = chained_by[depth]
        current[depth] = (
            heads[depth, bound[shapes.variables[at + order[depth], by]]]
            if by >= 0
            else room.heads[shapes.atoms[at + order[depth]]]
        )
    return n


@njit(cache=True)
def _search_order(at, length, k, shapes, room, row):  # type: ignore[no-untyped-def]
    """(triples in the order in which they are tried, the place whose value is bound before, or -1)."""
    sizes = np.empty(length, np.int64)
    for j in range(length):
        sizes[j] = _count_facts(shapes.atoms[at + j], room, row)
    order, chained_by = np.empty(length, np.int32), np.full(length, -1, np.int32)
    is_used, is_bound = np.zeros(length, np.bool_), np.zeros(k, np.bool_)
    for step in range(length):
        best, best_bound, best_size = -1, -1, 0
        for j in range(length):
            if is_used[j]:
                continue
            n_bound = 0
            for position in range(3):
                v = shapes.variables[at + j, position]
                n_bound += v >= 0 and is_bound[v]
            size = sizes[j]
            if n_bound > best_bound or (n_bound == best_bound and size < best_size):
                best, best_bound, best_size = j, n_bound, size
        order[step], is_used[best] = best, True
        for position in range(3):
            v = shapes.variables[at + best, position]
            if v < 0:
                continue
            if is_bound[v] and chained_by[step] < 0 and best_size > _SMALL:
                chained_by[step] = position
        for position in range(3):
            v = shapes.variables[at + best, position]
            if v >= 0:
                is_bound[v] = True
    return order, chained_by


@njit(cache=True)
def _chains(at, length, order, chained_by, facts, shapes, room, row, first_hit):  # type: ignore[no-untyped-def]
    """By step and value the first fact with that value in the chained place, and by step and fact the next."""
    n_facts = 0
    for step in range(length):
        if chained_by[step] >= 0:
            n_facts = len(row.follows)
    if n_facts == 0:
        return np.empty((0, 0), np.int32), np.empty((0, 0), np.int32)
    heads = np.full((length, row.n_terms), -1, np.int32)
    follows = np.empty((length, n_facts), np.int32)
    for step in range(length):
        by = chained_by[step]
        if by < 0:
            continue
        h = room.heads[shapes.atoms[at + order[step]]]
        while h >= 0:
            x = row.triples[_triple(facts, row, first_hit, h), by]
            follows[step, h] = heads[step, x]
            heads[step, x] = h
            h = row.follows[h]
    return heads, follows


# What parts compare with


@njit(cache=True)
def _by_values(shape, facts, shapes, room, row, bound, rows, found, n):  # type: ignore[no-untyped-def]
    """The parts of a shape that keep their constraints under a binding: by the slot that leaves the fewest."""
    first, last = shapes.slots[shape], shapes.slots[shape + 1]
    first_part = shapes.parts[shape]
    count = shapes.parts[shape + 1] - first_part
    # Each slot leaves a range of its order, or all but a range; the smallest is walked.
    best, best_count = first, np.int64(count + 1)
    if count > _FEW:
        for slot in range(first, last):
            low, high, is_inside = _range(slot, count, facts, shapes, row, bound)
            size = high - low if is_inside else count - (high - low)
            if size < best_count:
                best, best_count = slot, size
            if size == 0:
                return n
        low, high, is_inside = _range(best, count, facts, shapes, row, bound)
    else:
        low, high, is_inside = np.int64(0), np.int64(count), True
    column, _ = _compared(best, count, facts, shapes, row, bound)
    for turn in range(1 if is_inside else 2):
        begin = low if is_inside else (0 if turn == 0 else high)
        end = high if is_inside else (low if turn == 0 else count)
        for place in range(begin, end):
            part = shapes.orders[column + place]
            if room.last_row[first_part + part] == row.noted_as:
                continue
            # The other slots are tested for each part of it.
            is_kept = True
            for slot in range(first, last):
                if count > _FEW and slot == best:
                    continue
                other, value = _compared(slot, count, facts, shapes, row, bound)
                if not _keeps(shapes.slot_ops[slot], value, shapes.places[other + part]):
                    is_kept = False
                    break
            if is_kept:
                n = _listed(first_part + part, row, room, rows, found, n)
    return n


@njit(inline="always")
def _compared(slot, count, facts, shapes, row, bound):  # type: ignore[no-untyped-def]
    """(the column of a slot that a term is compared in, the place there that decides); times that are none are texts.

    The greatest place decides what is less, the least what is more, and only one place is equal to anything.
    """
    t = row.terms[bound[shapes.slot_variables[slot]]]
    kind, column, op = shapes.slot_kinds[slot], shapes.slot_columns[slot], shapes.slot_ops[slot]
    if kind == NUMBER:
        least, most = facts.numbers[t], facts.most_numbers[t]
    elif kind == MOMENT or (kind == TIME and facts.times[t] >= 0):
        least, most = facts.times[t], facts.most_times[t]
    else:
        least, most = facts.texts[t], facts.most_texts[t]
        if kind == TIME:
            column += count
    if op == LESS or op == AT_MOST:
        return column, most
    return column, least if op >= MORE or least == most else np.int32(-1)


@njit(inline="always")
def _keeps(op, value, place):  # type: ignore[no-untyped-def]
    if value < 0:
        return op == UNEQUAL
    if op == EQUAL:
        return value == place
    if op == UNEQUAL:
        return value != place
    if op == LESS:
        return value < place
    if op == AT_MOST:
        return value <= place
    return value > place if op == MORE else value >= place


@njit(cache=True)
def _range(slot, count, facts, shapes, row, bound):  # type: ignore[no-untyped-def]
    """(low, high, whether it is those between that keep the slot's comparison) among the parts in order."""
    column, value = _compared(slot, count, facts, shapes, row, bound)
    op = shapes.slot_ops[slot]
    nothing = np.int64(0)
    if value < 0:
        return nothing, nothing, op != UNEQUAL
    below = _count_below(shapes, column, count, value)
    up_to = _count_below(shapes, column, count, value + 1)
    if op == EQUAL:
        return below, up_to, True
    if op == UNEQUAL:
        return below, up_to, False
    if op == LESS:
        return up_to, np.int64(count), True
    if op == AT_MOST:
        return below, np.int64(count), True
    return nothing, below if op == MORE else up_to, True


@njit(inline="always")
def _count_below(shapes, column, count, value):  # type: ignore[no-untyped-def]
    """How many parts compare with less than a value."""
    low, high = np.int64(0), np.int64(count)
    while low < high:
        middle = (low + high) // 2
        if shapes.places[column + shapes.orders[column + middle]] < value:
            low = middle + 1
        else:
            high = middle
    return low
