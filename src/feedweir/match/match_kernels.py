"""Compiled matching: what items satisfy in, pairs of rows and queries out.

An item's satisfied atoms are bits. Every atom that finds queries has a trie of the atoms that those queries need
besides; below a node only what is satisfied is entered, so nothing is touched but what can still match.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint32, uint64, uintp

from feedweir.items.memory_kernels import ask_for

_ONE, _U3, _U7 = np.uint32(1), np.uint32(3), np.uint32(7)
_LINE = np.uint32(16)
"""Numbers of a block in a line of the cache."""
_FEW, _MANY = 32, 400
"""Numbers up to which insertion sorts fastest; from which on wide digits pay."""
_DIGIT, _WIDE_DIGIT = 8, 11

OP_ATOM, OP_PHRASE, OP_WITHIN, OP_ASK, OP_NOT, OP_ALL, OP_ANY, OP_COUNT, OP_ALL_ATOMS, OP_REQUIRE = range(10)
FALSE, UNKNOWN, TRUE = 0, 1, 2


class Streams(NamedTuple):
    """Entries of the dictionaries found in the texts of a batch, one stream per field for words, then for prefixes.

    Row r of stream s is `offsets[s, r]` to `offsets[s, r + 1]` of `entries` and `positions`; without phrases nobody
    needs positions, and there are none.
    """

    scopes: Any
    offsets: Any
    entries: Any
    positions: Any
    n_fields: int


class Values(NamedTuple):
    """Row r satisfies the value atoms `atoms[offsets[r] : offsets[r + 1]]`, and has a number on axis x when present."""

    offsets: Any
    atoms: Any
    numbers: Any
    is_present: Any


class Vocabulary(NamedTuple):
    """Entry e anywhere in the whole scope is atom e; in other scopes it is one of `scoped_atoms`."""

    whole_scope: Any
    scoped_starts: Any
    scoped_scopes: Any
    scoped_atoms: Any
    every_atom: Any
    """One atom that every item satisfies, or none."""


class Trie(NamedTuple):
    """The trie below each atom, as blocks of numbers that lie together; `roots[a]` is where it begins, or -1.

    A block is: how many entries, how many children, the entries (a query, or ~check), the atoms of the children, and
    for each child its one query when it has nothing else, or ~place of its own block.
    """

    roots: Any
    blocks: Any


class Checks(NamedTuple):
    """Check c is of `queries[c]` and runs program `programs[c]`: `code[starts[p] : starts[p + 1]]`."""

    queries: Any
    programs: Any
    code: Any
    starts: Any
    phrase_starts: Any
    phrase_entries: Any
    phrase_scopes: Any
    lows: Any
    highs: Any


@njit(inline="always")
def is_set(bits, atom):  # type: ignore[no-untyped-def]
    place = uint32(atom)
    return (bits[place >> _U3] >> np.uint8(place & _U7)) & np.uint8(1)


@njit(inline="always")
def _set(bits, atom):  # type: ignore[no-untyped-def]
    bits[atom >> _U3] |= np.uint8(1) << np.uint8(atom & _U7)


@njit(cache=True, nogil=True)
def _prefix_stands(streams, row, stream, entry, position):  # type: ignore[no-untyped-def]
    """Whether the token at a position of a field opens with a prefix."""
    twin = stream + streams.n_fields
    for i in range(streams.offsets[twin, row], streams.offsets[twin, row + 1]):
        if streams.positions[i] == position and streams.entries[i] == entry:
            return True
    return False


@njit(cache=True, nogil=True)
def _phrase_stands(streams, row, checks, phrase, first_prefix):  # type: ignore[no-untyped-def]
    """Whether the words of a phrase stand next to each other in a field of its scope."""
    first, last = checks.phrase_starts[phrase], checks.phrase_starts[phrase + 1]
    is_prefix = checks.phrase_entries[last - 1] >= first_prefix
    n_words = last - first - (1 if is_prefix else 0)
    for stream in range(streams.n_fields):
        if not streams.scopes[stream] & checks.phrase_scopes[phrase]:
            continue
        end = streams.offsets[stream, row + 1]
        for i in range(streams.offsets[stream, row], end - n_words + 1):
            k = 0
            while (
                k < n_words
                and streams.entries[i + k] == checks.phrase_entries[first + k]
                and streams.positions[i + k] == streams.positions[i] + k
            ):
                k += 1
            if k < n_words:
                continue
            if not is_prefix or _prefix_stands(
                streams, row, stream, checks.phrase_entries[last - 1], streams.positions[i] + n_words
            ):
                return True
    return False


@njit(cache=True, nogil=True)
def verdict_of(  # type: ignore[no-untyped-def]
    checks, program, bits, row, streams, values, first_prefix, phrase_rows, phrase_verdicts, stack
):
    """Run a program: FALSE, TRUE, or UNKNOWN when `meaning` must be asked."""
    verdict = TRUE
    top = 0
    at, end = checks.starts[program], checks.starts[program + 1]
    code = checks.code
    while at < end:
        op = code[at]
        at += 1
        if op == OP_ATOM:
            stack[top] = TRUE if is_set(bits, code[at]) else FALSE
            top += 1
            at += 1
        elif op == OP_REQUIRE:
            top -= 1
            if stack[top] == FALSE:
                return FALSE
            verdict = min(verdict, stack[top])
        elif op == OP_NOT:
            stack[top - 1] = TRUE - stack[top - 1]
        elif op == OP_PHRASE:
            phrase = code[at]
            at += 1
            if phrase_rows[phrase] != row:
                phrase_rows[phrase] = row
                stands = _phrase_stands(streams, row, checks, phrase, first_prefix)
                phrase_verdicts[phrase] = TRUE if stands else FALSE
            stack[top] = phrase_verdicts[phrase]
            top += 1
        elif op == OP_WITHIN:
            axis, bound = code[at], code[at + 1]
            at += 2
            number = values.numbers[axis, row]
            is_within = values.is_present[axis, row] and checks.lows[bound] <= number <= checks.highs[bound]
            stack[top] = TRUE if is_within else FALSE
            top += 1
        elif op == OP_ASK:
            stack[top] = UNKNOWN
            top += 1
        elif op == OP_ALL_ATOMS:
            n = code[at]
            at += 1
            result = TRUE
            for k in range(at, at + n):
                if not is_set(bits, code[k]):
                    result = FALSE
                    break
            at += n
            stack[top] = result
            top += 1
        else:  # OP_ALL, OP_ANY, OP_COUNT
            n = code[at]
            at += 1
            n_true = 0
            n_false = 0
            for k in range(top - n, top):
                if stack[k] == TRUE:
                    n_true += 1
                elif stack[k] == FALSE:
                    n_false += 1
            top -= n
            least = n
            if op == OP_ANY:
                least = 1
            elif op == OP_COUNT:
                least = code[at]
                at += 1
            stack[top] = TRUE if n_true >= least else (FALSE if n - n_false < least else UNKNOWN)
            top += 1
    return verdict


@njit(cache=True)
def grown(array, used, more):  # type: ignore[no-untyped-def]
    """A copy with room for `more` behind what is used."""
    larger = np.empty(2 * len(array) + more, array.dtype)
    larger[:used] = array[:used]
    return larger


@njit(forceinline=True)
def atoms_anywhere(offsets, entries, row, bits, satisfied):  # type: ignore[no-untyped-def]
    """The entries of a row as atoms, each once, when no query asks where they stand; how many."""
    n = 0
    for stream in range(len(offsets)):
        for i in range(offsets[stream, row], offsets[stream, row + 1]):
            entry = entries[uintp(i)]
            if entry >= 0:
                # without a branch on whether it is new, which is hard to foresee
                place = uint32(entry) >> _U3
                before = bits[place]
                bit = np.uint8(1) << np.uint8(uint32(entry) & _U7)
                bits[place] = before | bit
                satisfied[uintp(n)] = entry
                n += (before & bit) == 0
    return n


@njit(cache=True, nogil=True)
def atoms_by_scope(streams, vocabulary, row, scopes, seen, bits, satisfied):  # type: ignore[no-untyped-def]
    """The entries of a row as the atoms that they are where they stand, each once; how many."""
    scoped_starts, scoped_scopes, scoped_atoms = (
        vocabulary.scoped_starts, vocabulary.scoped_scopes, vocabulary.scoped_atoms,
    )  # fmt: skip
    offsets, entries = streams.offsets, streams.entries
    n_seen = 0
    for stream in range(len(streams.scopes)):
        scope = streams.scopes[stream]
        for i in range(offsets[stream, row], offsets[stream, row + 1]):
            entry = entries[uintp(i)]
            if entry >= 0:
                before = scopes[uint32(entry)]
                scopes[uint32(entry)] = before | scope
                seen[uintp(n_seen)] = entry
                n_seen += before == 0
    whole_scope = vocabulary.whole_scope[0]
    n = 0
    for i in range(n_seen):
        entry = uint32(seen[uintp(i)])
        scope = scopes[entry]
        scopes[entry] = uint64(0)
        if scope & whole_scope:
            _set(bits, entry)
            satisfied[uintp(n)] = entry
            n += 1
        for k in range(scoped_starts[entry], scoped_starts[entry + uint32(1)]):
            if scope & scoped_scopes[k]:
                _set(bits, uint32(scoped_atoms[k]))
                satisfied[uintp(n)] = scoped_atoms[k]
                n += 1
    return n


@njit(forceinline=True)
def atoms_of_values(values, every_atom, row, n, bits, satisfied):  # type: ignore[no-untyped-def]
    """The value atoms of a row, and the one of every item, behind `n` others; how many there are then."""
    for i in range(values.offsets[row], values.offsets[row + 1]):
        atom = uint32(values.atoms[i])
        if not is_set(bits, atom):
            _set(bits, atom)
            satisfied[uintp(n)] = atom
            n += 1
    for atom in every_atom:
        _set(bits, uint32(atom))
        satisfied[uintp(n)] = atom
        n += 1
    return n


@njit(forceinline=True)
def _roots_of(roots, blocks, satisfied, n_satisfied, places):  # type: ignore[no-untyped-def]
    """Where the tries of satisfied atoms begin; asked for at once, so that the memory fetches many at a time."""
    n = 0
    for i in range(n_satisfied):
        root = roots[uint32(satisfied[uintp(i)])]
        if root >= 0:
            ask_for(blocks, uint32(root))
            ask_for(blocks, uint32(root) + _LINE)
            places[uintp(n)] = root
            n += 1
    return n


@njit(forceinline=True)
def _sizes_of(blocks, places, n_places):  # type: ignore[no-untyped-def]
    """(entries, children) of blocks."""
    n_entries = 0
    n_children = 0
    for i in range(n_places):
        n_entries += blocks[places[uintp(i)]]
        n_children += blocks[places[uintp(i)] + _ONE]
    return n_entries, n_children


@njit(forceinline=True)
def _entered(blocks, bits, places, n_places, queries, n_found, chosen):  # type: ignore[no-untyped-def]
    """Take the entries of blocks, and choose the children that are satisfied: (entries so far, how many chosen)."""
    n_chosen = 0
    for i in range(n_places):
        place = places[uintp(i)]
        n_here = uint32(blocks[place])
        n_children = uint32(blocks[place + _ONE])
        place += uint32(2)
        for k in range(n_here):
            queries[uintp(n_found)] = blocks[place + uint32(k)]
            n_found += 1
        place += n_here
        # without a branch per child: whether one is satisfied is hard to foresee
        for k in range(n_children):
            child = place + uint32(k)
            chosen[uintp(n_chosen)] = child + n_children
            n_chosen += is_set(bits, blocks[child])
    return n_found, n_chosen


@njit(forceinline=True)
def _followed(blocks, chosen, n_chosen, queries, n_found, places):  # type: ignore[no-untyped-def]
    """What chosen children are: one entry each, or a block of their own: (entries so far, how many blocks)."""
    n_places = 0
    for c in range(n_chosen):
        entry = blocks[chosen[uintp(c)]]
        if entry < 0:
            ask_for(blocks, uint32(~entry))
            places[uintp(n_places)] = ~entry
            n_places += 1
        else:
            queries[uintp(n_found)] = entry
            n_found += 1
    return n_found, n_places


@njit(cache=True, nogil=True)
def room_for_atoms(n_atoms, n_scoped):  # type: ignore[no-untyped-def]
    """What a row's satisfied atoms are written to: a bit for each, their list, and of entries where they were seen."""
    return (
        np.zeros((n_atoms >> 3) + 1, np.uint8),
        np.empty(n_atoms + 1, np.int32),
        np.zeros(n_scoped, np.uint64),
        np.empty(n_scoped + 1, np.int32),
    )


@njit(cache=True, nogil=True)
def room_for_checks(checks):  # type: ignore[no-untyped-def]
    """What programs remember: of each phrase the row it was last looked for in and the outcome, and a stack."""
    longest = 1
    for program in range(len(checks.starts) - 1):
        longest = max(longest, checks.starts[program + 1] - checks.starts[program])
    n_phrases = len(checks.phrase_scopes)
    return np.full(n_phrases, -1, np.int64), np.zeros(n_phrases, np.int64), np.empty(longest, np.int64)


@njit(cache=True, nogil=True)
def match_rows(streams, values, vocabulary, trie, checks, n_words, n_entries, n_atoms, costs):  # type: ignore[no-untyped-def]
    """(rows, queries) that match, (rows, checks) that must be asked, and counts of the work.

    Pairs come row by row, in no order within a row, and perhaps more than once. Places in arrays are unsigned, so that
    no negative index need be considered: that check would take half of the time.
    """
    # arrays by names of their own: reaching into a tuple again and again costs more than what is done with them
    stream_offsets, stream_entries = streams.offsets, streams.entries
    roots, blocks = trie.roots, trie.blocks
    check_queries, check_programs = checks.queries, checks.programs
    has_scopes = len(vocabulary.scoped_starts) > 1
    has_values = len(values.atoms) > 0 or len(vocabulary.every_atom) > 0
    bits, satisfied, scopes, seen = room_for_atoms(n_atoms, n_entries if has_scopes else 0)
    phrase_rows, phrase_verdicts, verdicts = room_for_checks(checks)
    places = np.empty(256, np.uint32)
    chosen = np.empty(256, np.uint32)
    rows = np.empty(1024, np.int32)
    queries = np.empty(1024, np.int32)
    asked_rows = np.empty(16, np.int32)
    asked_checks = np.empty(16, np.int32)
    n_found = 0
    n_asked = 0
    n_tests = 0
    n_candidates = 0
    n_checks = 0
    counts_costs = len(costs) > 0
    has_more = counts_costs or len(check_queries) > 0
    for row in range(len(values.offsets) - 1):
        n_before = n_found
        # 1. the satisfied atoms, each once
        if has_scopes:
            n_satisfied = atoms_by_scope(streams, vocabulary, row, scopes, seen, bits, satisfied)
        else:
            n_satisfied = atoms_anywhere(stream_offsets, stream_entries, row, bits, satisfied)
        if has_values:
            n_satisfied = atoms_of_values(values, vocabulary.every_atom, row, n_satisfied, bits, satisfied)
        # 2. what each of them finds, level by level
        if n_satisfied >= len(places):
            places = np.empty(2 * n_satisfied, np.uint32)
        n_places = _roots_of(roots, blocks, satisfied, n_satisfied, places)
        while n_places > 0:
            n_entries_here, n_children = _sizes_of(blocks, places, n_places)
            n_tests += n_children
            if n_found + n_entries_here + n_children > len(queries):
                queries = grown(queries, n_found, n_entries_here + n_children)
            if n_children >= len(chosen):
                chosen = np.empty(2 * n_children, np.uint32)
                places = grown(places, n_places, 2 * n_children)
            n_found, n_chosen = _entered(blocks, bits, places, n_places, queries, n_found, chosen)
            n_found, n_places = _followed(blocks, chosen, n_chosen, queries, n_found, places)
        n_candidates += n_found - n_before
        # 3. what atoms could not decide
        if has_more:
            n_kept = n_before
            for i in range(n_before, n_found):
                query = queries[uintp(i)]
                check = ~query
                verdict = TRUE
                if query < 0:
                    query = check_queries[check]
                    n_checks += 1
                    verdict = verdict_of(
                        checks, check_programs[check], bits, row, streams, values, n_words,
                        phrase_rows, phrase_verdicts, verdicts,
                    )  # fmt: skip
                if counts_costs:
                    costs[query] += 1
                if verdict == UNKNOWN:
                    if n_asked == len(asked_rows):
                        asked_rows = grown(asked_rows, n_asked, 1)
                        asked_checks = grown(asked_checks, n_asked, 1)
                    asked_rows[n_asked] = row
                    asked_checks[n_asked] = check
                    n_asked += 1
                queries[uintp(n_kept)] = query
                n_kept += verdict == TRUE
            n_found = n_kept
        if n_found > len(rows):
            rows = grown(rows, n_before, len(queries))
        for i in range(n_before, n_found):
            rows[uintp(i)] = row
        for i in range(n_satisfied):
            bits[uint32(satisfied[uintp(i)]) >> _U3] = 0
    work = np.array([n_tests, n_candidates, n_checks])
    return rows[:n_found], queries[:n_found], asked_rows[:n_asked], asked_checks[:n_asked], work


@njit(cache=True, nogil=True)
def in_order(rows, queries, keys, removed):  # type: ignore[no-untyped-def]
    """Pairs that come row by row, as (rows, keys) sorted within each row and each once; it works in their place.

    `removed` is empty, or a bit for each query that is not to be reported.
    """
    n = _kept(rows, queries, removed) if len(removed) > 0 else len(rows)
    out_rows = np.empty(n, np.int32)
    out_keys = np.empty(n, np.int64)
    spare = np.empty(0, np.int32)
    counts = np.empty(1 << _WIDE_DIGIT, np.uint32)
    n_bits = 1
    while len(keys) >> n_bits:
        n_bits += 1
    n_out = 0
    first = 0
    while first < n:
        row = rows[first]
        last = first + 1
        while last < n and rows[uintp(last)] == row:
            last += 1
        if last - first > len(spare):
            spare = np.empty(2 * (last - first), np.int32)
        _sort(queries, first, last, spare, counts, n_bits)
        before = ~keys[queries[first]]  # another key than the first
        for i in range(first, last):
            key = keys[uint32(queries[uintp(i)])]
            out_rows[uintp(n_out)] = row
            out_keys[uintp(n_out)] = key
            n_out += key != before
            before = key
        first = last
    return out_rows[:n_out], out_keys[:n_out]


@njit(cache=True, nogil=True)
def _kept(rows, queries, removed):  # type: ignore[no-untyped-def]
    """Move the pairs whose query was not removed to the front; how many they are."""
    n = 0
    for i in range(len(rows)):
        query = queries[uintp(i)]
        rows[uintp(n)] = rows[uintp(i)]
        queries[uintp(n)] = query
        n += is_set(removed, query) == 0
    return n


@njit(cache=True, nogil=True)
def _sort(numbers, first, last, spare, counts, n_bits):  # type: ignore[no-untyped-def]
    """Sort `numbers[first:last]`, which have `n_bits` bits: few by insertion, many by digits, from the last one on."""
    n = last - first
    if n <= _FEW:
        for i in range(first + 1, last):
            number = numbers[uintp(i)]
            j = i
            while j > first and numbers[uintp(j - 1)] > number:
                numbers[uintp(j)] = numbers[uintp(j - 1)]
                j -= 1
            numbers[uintp(j)] = number
        return
    width = _WIDE_DIGIT if n > _MANY else _DIGIT
    mask = uint32((1 << width) - 1)
    for shift in range(0, n_bits, width):
        counts[: 1 << width] = 0
        for i in range(first, last):
            counts[(uint32(numbers[uintp(i)]) >> uint32(shift)) & mask] += uint32(1)
        total = uint32(0)
        for digit in range(1 << width):
            here = counts[uintp(digit)]
            counts[uintp(digit)] = total
            total += here
        for i in range(first, last):
            number = numbers[uintp(i)]
            digit = (uint32(number) >> uint32(shift)) & mask
            spare[counts[digit]] = number
            counts[digit] += uint32(1)
        for i in range(n):
            numbers[uintp(first + i)] = spare[uintp(i)]


@njit(cache=True, nogil=True)
def merge_pairs(rows, keys, other_rows, other_keys):  # type: ignore[no-untyped-def]
    """Two sorted lists of pairs as one, each pair once; the second is long and is copied in stretches."""
    n_other = len(other_rows)
    out_rows = np.empty(len(rows) + n_other, np.int32)
    out_keys = np.empty(len(rows) + n_other, np.int64)
    n = 0
    done = 0
    for i in range(len(rows)):
        row, key = rows[i], keys[i]
        # where the pair belongs: by leaps that double, then by halves
        low, leap = done, 1
        while low + leap <= n_other and _is_before(other_rows, other_keys, low + leap - 1, row, key):
            low += leap
            leap *= 2
        high = min(low + leap - 1, n_other)
        while low < high:
            middle = (low + high) // 2
            if _is_before(other_rows, other_keys, middle, row, key):
                low = middle + 1
            else:
                high = middle
        for k in range(done, low):
            out_rows[uintp(n + k - done)] = other_rows[uintp(k)]
            out_keys[uintp(n + k - done)] = other_keys[uintp(k)]
        n += low - done
        done = low
        is_there = low < n_other and other_rows[low] == row and other_keys[low] == key
        if not is_there and (n == 0 or out_rows[n - 1] != row or out_keys[n - 1] != key):
            out_rows[n] = row
            out_keys[n] = key
            n += 1
    for k in range(done, n_other):
        out_rows[uintp(n + k - done)] = other_rows[uintp(k)]
        out_keys[uintp(n + k - done)] = other_keys[uintp(k)]
    n += n_other - done
    return out_rows[:n], out_keys[:n]


@njit(inline="always")
def _is_before(rows, keys, place, row, key):  # type: ignore[no-untyped-def]
    return rows[place] < row or (rows[place] == row and keys[place] < key)
