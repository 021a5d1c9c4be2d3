"""What atoms cannot decide about a candidate: phrases, intervals, and programs of a small stack machine."""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit
from feedweir.match.matching.satisfied_kernels import is_set

OP_ATOM, OP_PHRASE, OP_WITHIN, OP_ASK, OP_NOT, OP_ALL, OP_ANY, OP_COUNT, OP_ALL_ATOMS, OP_REQUIRE = range(10)
FALSE, UNKNOWN, TRUE = 0, 1, 2
_SHORT = 8
"""Phrases of at most this many words are compared at each place anew."""


@njit(cache=True, nogil=True)
def _prefix_stands(streams, row, stream, entry, position):  # type: ignore[no-untyped-def]
    """Whether the token at a position of a field opens with a prefix."""
    twin = stream + streams.n_fields
    low, stop = streams.offsets[twin, row], streams.offsets[twin, row + 1]
    high = stop
    while low < high:
        middle = (low + high) // 2
        if streams.positions[middle] < position:
            low = middle + 1
        else:
            high = middle
    while low < stop and streams.positions[low] == position:
        if streams.entries[low] == entry:
            return True
        low += 1
    return False


@njit(cache=True, nogil=True)
def _borders(words):  # type: ignore[no-untyped-def]
    """Of each prefix of a phrase the length of its longest proper prefix that is also its suffix."""
    borders = np.zeros(len(words), np.int64)
    k = 0
    for i in range(1, len(words)):
        while k > 0 and words[i] != words[k]:
            k = borders[k - 1]
        if words[i] == words[k]:
            k += 1
        borders[i] = k
    return borders


@njit(cache=True, nogil=True)
def _long_phrase_stands(streams, row, stream, words, prefix):  # type: ignore[no-untyped-def]
    """The same for a long phrase, in linear time whatever words repeat (Knuth, Morris and Pratt)."""
    borders = _borders(words)
    start, k = streams.offsets[stream, row], 0
    for i in range(start, streams.offsets[stream, row + 1]):
        if i > start and streams.positions[i] != streams.positions[i - 1] + 1:
            k = 0
        while k > 0 and streams.entries[i] != words[k]:
            k = borders[k - 1]
        if streams.entries[i] == words[k]:
            k += 1
        if k == len(words):
            if prefix < 0 or _prefix_stands(streams, row, stream, prefix, streams.positions[i] + 1):
                return True
            k = borders[k - 1]
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
        if n_words > _SHORT:
            prefix = checks.phrase_entries[last - 1] if is_prefix else -1
            if _long_phrase_stands(
                streams, row, stream, checks.phrase_entries[first : first + n_words], prefix
            ):
                return True
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
def result_of(  # type: ignore[no-untyped-def]
    checks, program, bits, row, streams, values, first_prefix, turn, scratch
):
    """Run a program: FALSE, TRUE, or UNKNOWN when `meaning` must be asked.

     code  ATOM 4 | PHRASE 0 | ANY 2 | REQUIRE | WITHIN 1 3 | REQUIRE …      operations, each with its operands
    stack  T      | T F      | T     |         | F          | → FALSE        one value for each open formula

    `turn` is another number for each row: a phrase that was looked for in this turn need not be looked for again.
    """
    phrase_turns, phrase_results, stack = scratch
    result = TRUE
    top = 0
    at, end = checks.starts[program], checks.starts[program + 1]
    code = checks.code
    while at < end:
        op = code[at]
        at += 1
        # conditions push one value
        if op == OP_ATOM:
            stack[top] = TRUE if is_set(bits, code[at]) else FALSE
            top += 1
            at += 1
        # a part of the whole: FALSE decides at once, UNKNOWN is remembered
        elif op == OP_REQUIRE:
            top -= 1
            if stack[top] == FALSE:
                return FALSE
            result = min(result, stack[top])
        elif op == OP_NOT:
            stack[top - 1] = TRUE - stack[top - 1]
        # a phrase: looked for in the text once a row
        elif op == OP_PHRASE:
            phrase = code[at]
            at += 1
            if phrase_turns[phrase] != turn:
                phrase_turns[phrase] = turn
                stands = _phrase_stands(streams, row, checks, phrase, first_prefix)
                phrase_results[phrase] = TRUE if stands else FALSE
            stack[top] = phrase_results[phrase]
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
            are_set = TRUE
            for k in range(at, at + n):
                if not is_set(bits, code[k]):
                    are_set = FALSE
                    break
            at += n
            stack[top] = are_set
            top += 1
        else:  # OP_ALL, OP_ANY, OP_COUNT replace the values of their parts by one
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
    return result


@njit(cache=True)
def renumbered(code, atoms):  # type: ignore[no-untyped-def]
    """Programs with other numbers for their atoms; nothing when they test anything but atoms."""
    found = code.copy()
    at = 0
    while at < len(code):
        op = code[at]
        at += 1
        if op == OP_ATOM:
            found[at] = atoms[code[at]]
            at += 1
        elif op == OP_ALL_ATOMS:
            n = code[at]
            for k in range(at + 1, at + 1 + n):
                found[k] = atoms[code[k]]
            at += 1 + n
        elif op == OP_ALL or op == OP_ANY:
            at += 1
        elif op == OP_COUNT:
            at += 2
        elif op != OP_NOT and op != OP_REQUIRE:
            return found[:0]
    return found


@njit(cache=True, nogil=True)
def scratch_for_checks(checks):  # type: ignore[no-untyped-def]
    """Scratch for programs: of each phrase the turn in which it was last looked for and the result, and a stack."""
    longest = 1
    for program in range(len(checks.starts) - 1):
        longest = max(longest, checks.starts[program + 1] - checks.starts[program])
    n_phrases = len(checks.phrase_scopes)
    return np.full(n_phrases, -1, np.int64), np.zeros(n_phrases, np.int64), np.empty(longest, np.int64)
