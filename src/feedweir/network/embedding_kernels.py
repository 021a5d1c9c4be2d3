"""Compiled search for embeddings: which branches lie in which, and what they cover there.

A view v embeds in a view q when its nodes can be laid onto q's: names onto the same names (`*` onto any), `/` onto `/`,
`//` onto any way down, and a condition of v onto a node whose condition implies it. Sets of q's nodes are 64-bit masks:

    v  //a[.//c]/b     spots[2] = {b}          nodes of q on which v's third node can lie, with all below it
    q  //a[x/c]/b      spots[1] = {c}
                       spots[0] = {a}          then from the root downwards: only where the node above can lie as well
"""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit

_kernel = njit(cache=True)

EXISTS, TEXT_EQ, TEXT_NE, EQ, NE, LT, LE, GT, GE = range(9)
ANY_ATTRIBUTE, ANY_ELEMENT = -1, -2
NODE, CONDITION, VAL, CONT = range(4)
_ONE = np.uint64(1)
_NONE = np.uint64(0)


@_kernel
def _compares(op, found, number):  # type: ignore[no-untyped-def]
    if op == EQ:
        return found == number
    if op == NE:
        return found != number
    if op == LT:
        return found < number
    if op == LE:
        return found <= number
    return found > number if op == GT else found >= number


@_kernel
def condition_implies(op, text, number, other, its_text, its_number):  # type: ignore[no-untyped-def]
    """Whether every value that satisfies one comparison satisfies the other.

    The number of a text is what it reads as.
    """
    if other == EXISTS:
        return True
    if op == other and text == its_text and (number == its_number or text >= 0 or op <= TEXT_NE):
        return True
    if op == TEXT_EQ:
        if other == TEXT_NE:
            return text != its_text
        return other != TEXT_EQ and _compares(other, number, its_number)
    if op <= TEXT_NE or other == TEXT_EQ:
        return False
    if other == TEXT_NE:
        return not _compares(op, its_number, number)
    if op == NE:
        return False
    if op == EQ:
        return _compares(other, number, its_number)
    if other == NE:
        return not _compares(op, its_number, number)
    if (op >= GT) != (other >= GT) or other == EQ:
        return False
    if number == its_number:
        return not ((op == LE and other == LT) or (op == GE and other == GT))
    return number > its_number if op >= GT else number < its_number


@_kernel
def _lift(mask, reach):  # type: ignore[no-untyped-def]
    """The union of what is reached from each node of a set."""
    found = _NONE
    place = 0
    while mask:
        if mask & _ONE:
            found |= reach[place]
        mask >>= _ONE
        place += 1
    return found


@_kernel
def ways(branches, q, up, over, down, under):  # type: ignore[no-untyped-def]
    """Of each node of q: the node above by `/`, all above; and those below by `/`, all below."""
    first, n = branches.first[q], branches.first[q + 1] - branches.first[q]
    for place in range(n):
        up[place] = over[place] = down[place] = under[place] = _NONE
    for place in range(1, n):
        above = branches.above[first + place]
        mine = _ONE << np.uint64(place)
        over[place] = over[above] | (_ONE << np.uint64(above))
        if not branches.is_below[first + place]:
            up[place] = _ONE << np.uint64(above)
            down[above] |= mine
        while above >= 0:
            under[above] |= mine
            above = branches.above[first + above]


@_kernel
def embed(branches, v, q, up, over, down, under, spots):  # type: ignore[no-untyped-def]
    """Whether v embeds in q; `spots` gets of each node of v the nodes of q on which it lies in some embedding."""
    of_v, n_v = branches.first[v], branches.first[v + 1] - branches.first[v]
    of_q, n_q = branches.first[q], branches.first[q + 1] - branches.first[q]
    if branches.source[v] != branches.source[q]:
        return False
    # Names and conditions.
    for i in range(n_v):
        label = branches.label[of_v + i]
        found = _NONE
        for j in range(n_q):
            named = branches.label[of_q + j]
            if (
                label == named
                or (label == ANY_ELEMENT and named % 2 == 0)
                or (label == ANY_ATTRIBUTE and named % 2 != 0)
            ):
                if branches.op[of_v + i] == EXISTS or condition_implies(
                    branches.op[of_q + j],
                    branches.text[of_q + j],
                    branches.number[of_q + j],
                    branches.op[of_v + i],
                    branches.text[of_v + i],
                    branches.number[of_v + i],
                ):
                    found |= _ONE << np.uint64(j)
        if found == _NONE:
            return False
        spots[i] = found
    # Upwards: a node lies only where all below it can lie below.
    for i in range(n_v - 1, 0, -1):
        above = branches.above[of_v + i]
        spots[above] &= _lift(spots[i], over if branches.is_below[of_v + i] else up)
        if spots[above] == _NONE:
            return False
    if not branches.is_below[of_v]:
        if branches.is_below[of_q]:
            return False
        spots[0] &= _ONE
    if spots[0] == _NONE:
        return False
    # Downwards: and only below where the one above it lies.
    for i in range(1, n_v):
        spots[i] &= _lift(spots[branches.above[of_v + i]], under if branches.is_below[of_v + i] else down)
    return True


@_kernel
def cover(branches, v, q, spots, under, bit, mask, share):  # type: ignore[no-untyped-def]
    """Adds to `mask` the bits of what v covers of q; gives the share of v's tuples that pass q's conditions there.

    A node is covered by one of its own name, its condition by the same one or by a value to test it on, its value
    by the value, and everything at and below a node by that node's subtree.
    """
    of_v, n_v = branches.first[v], branches.first[v + 1] - branches.first[v]
    of_q = branches.first[q]
    nodes = values = trees = held = _NONE
    for i in range(n_v):
        gives = branches.gives[of_v + i]
        nodes |= spots[i] if branches.label[of_v + i] >= 0 else _NONE
        values |= spots[i] if gives else _NONE
        trees |= spots[i] if gives & 2 else _NONE
    within = trees | _lift(trees, under)
    passing = 1.0
    for at in range(branches.asked[q], branches.asked[q + 1]):
        node = branches.ask_node[at]
        kind = branches.ask_kind[at]
        spot = _ONE << np.uint64(node)
        is_covered = (within & spot) != _NONE
        if kind == NODE:
            is_covered |= (nodes & spot) != _NONE
            if not is_covered and branches.label[of_q + node] < 0:
                for i in range(n_v):
                    is_covered |= (spots[i] & spot) != _NONE
        elif kind == VAL:
            is_covered |= (values & spot) != _NONE
        elif kind == CONDITION:
            held = _NONE
            for i in range(n_v):
                if spots[i] & spot and branches.op[of_v + i] != EXISTS:
                    if condition_implies(
                        branches.op[of_v + i],
                        branches.text[of_v + i],
                        branches.number[of_v + i],
                        branches.op[of_q + node],
                        branches.text[of_q + node],
                        branches.number[of_q + node],
                    ):
                        held = _ONE
            is_tested = is_covered or (values & spot) != _NONE
            if is_tested and held == _NONE:
                passing *= share[at]
            is_covered = is_tested or held != _NONE
        if is_covered:
            place = bit + at - branches.asked[q]
            mask[place >> 6] |= _ONE << np.uint64(place & 63)
    return passing


# Candidates: what a branch must have for another to embed in it


@_kernel
def _mix(kind, one, other):  # type: ignore[no-untyped-def]
    """A hash; two features that share it cost a test and change no answer."""
    value = (np.uint64(one + 2) << np.uint64(32)) ^ np.uint64(other + 2) ^ (np.uint64(kind) << np.uint64(60))
    value = (value ^ (value >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    value = (value ^ (value >> np.uint64(29))) * np.uint64(0xC4CEB9FE1A85EC53)
    return value ^ (value >> np.uint64(32))


@_kernel
def features(branches, b, found):  # type: ignore[no-untyped-def]
    """The features of a branch, all of which any branch has that it embeds in: names, pairs of names of which one is
    above the other, children, constants, the name of a document's root."""
    first, n = branches.first[b], branches.first[b + 1] - branches.first[b]
    count = 0
    if not branches.is_below[first] and branches.label[first] >= 0:
        found[count] = _mix(1, branches.label[first], 0)
        count += 1
    for place in range(n):
        label = branches.label[first + place]
        if label < 0:
            continue
        found[count] = _mix(2, label, branches.source[b])
        count += 1
        if branches.op[first + place] == TEXT_EQ:
            found[count] = _mix(3, label, branches.text[first + place])
            count += 1
        above = branches.above[first + place]
        is_child = not branches.is_below[first + place]
        while above >= 0:
            upper = branches.label[first + above]
            if upper >= 0:
                found[count] = _mix(4, upper, label)
                count += 1
                if is_child:
                    found[count] = _mix(5, upper, label)
                    count += 1
            is_child = False
            above = branches.above[first + above]
    return count


@_kernel
def all_features(branches, found, starts):  # type: ignore[no-untyped-def]
    """The features of all branches, one after another; with an empty `found`, only how many there are."""
    room = np.empty(64 * 130, np.uint64)
    total = 0
    for b in range(len(branches.source)):
        count = features(branches, b, room)
        if len(found):
            found[total : total + count] = room[:count]
        total += count
        starts[b + 1] = total


@_kernel
def find_embeddings(  # type: ignore[no-untyped-def]
    branches, index, bits, share, from_q, to_q, feeder, target, masks, passing
):
    """All pairs of branches such that one embeds in the other, for targets from `from_q` on while there is room.

    Gives (how many pairs, the first target that was not done, how many candidates were tested).

        index.has     features of each branch, without repetition    index.files   feature -> branches filed under it
        index.sign    128 bits of each branch's features             the last feature: branches that have none
    """
    up, over = np.empty(64, np.uint64), np.empty(64, np.uint64)
    down, under = np.empty(64, np.uint64), np.empty(64, np.uint64)
    spots = np.empty(64, np.uint64)
    count, tested = 0, 0
    for q in range(from_q, to_q):
        ways(branches, q, up, over, down, under)
        begun = count
        low, high = index.sign[q, 0], index.sign[q, 1]
        for at in range(index.starts[q], index.starts[q + 1] + 1):
            feature = index.has[at] if at < index.starts[q + 1] else len(index.files) - 2
            for k in range(index.files[feature], index.files[feature + 1]):
                v = index.filed[k]
                # A feature that only the feeder has rules it out; the rest is tested.
                if index.filed_sign[k, 0] & ~low or index.filed_sign[k, 1] & ~high or v == q:
                    continue
                tested += 1
                if not embed(branches, v, q, up, over, down, under, spots):
                    continue
                # Without room the target is begun again by the next call.
                if count == len(feeder):
                    return begun, q, tested
                feeder[count] = v
                target[count] = q
                masks[count] = _NONE
                passing[count] = cover(branches, v, q, spots, under, bits[q], masks[count], share)
                count += 1
    return count, to_q, tested
