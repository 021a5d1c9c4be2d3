"""Tries rewritten with other numbers for their atoms and queries."""

from __future__ import annotations

from feedweir.kernels import njit


@njit(cache=True)
def lay_over(roots, blocks, atoms, queries, first_check, all_roots, all_blocks, at):  # type: ignore[no-untyped-def]
    """Append a trie to others, from `at` on, with new numbers for its atoms, queries and checks; where it ends.

    An atom that is a root in another trie gets a block with the contents of both.
    """
    place = 0
    while place + 1 < len(blocks):
        n_entries, n_children = blocks[place], blocks[place + 1]
        all_blocks[at + place] = n_entries
        all_blocks[at + place + 1] = n_children
        first = place + 2 + n_entries
        for k in range(place + 2, first):
            all_blocks[at + k] = queries[blocks[k]] if blocks[k] >= 0 else blocks[k] - first_check
        for k in range(first, first + n_children):
            all_blocks[at + k] = atoms[blocks[k]]
        for k in range(first + n_children, first + 2 * n_children):
            entry = blocks[k]
            all_blocks[at + k] = queries[entry] if entry >= 0 else ~(at + ~entry)
        place = first + 2 * n_children
    end = at + place
    for atom in range(len(roots)):
        if roots[atom] >= 0:
            number, root = atoms[atom], at + roots[atom]
            if all_roots[number] < 0:
                all_roots[number] = root
            else:
                before = end
                end = _together(all_blocks, all_roots[number], root, end)
                all_roots[number] = before
    return end


@njit(cache=True)
def _together(blocks, one, other, at):  # type: ignore[no-untyped-def]
    """Append a block with the entries and children of two; where it ends."""
    blocks[at] = blocks[one] + blocks[other]
    blocks[at + 1] = blocks[one + 1] + blocks[other + 1]
    at += 2
    for part in range(3):  # entries, atoms of children, what these are
        at = _copied(blocks, one, part, at)
        at = _copied(blocks, other, part, at)
    return at


@njit(inline="always")
def _copied(blocks, place, part, at):  # type: ignore[no-untyped-def]
    """Copy one of the three parts of a block; where the copy ends."""
    n_entries, n_children = blocks[place], blocks[place + 1]
    first = place + 2 + (n_entries if part > 0 else 0) + (n_children if part > 1 else 0)
    for k in range(first, first + (n_children if part > 0 else n_entries)):
        blocks[at] = blocks[k]
        at += 1
    return at
