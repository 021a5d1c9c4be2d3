"""How a feed is divided into pages (RFC 5005), so that an older page never changes.

A page is named by the number that its entries come before, and ends at the next edge. Whether an element is an edge
depends only on its number: no page moves when elements are added, or when the oldest are deleted. The newest page has
as many entries as the client asks for; older pages are reached from its oldest entry, or from its oldest edge:

    newest page      e  e  e  E  e  e
                              │     └ the next page (`next`): it begins wherever the newest one ends
                              └ the next archive (`prev-archive`): the same tomorrow, for whoever collects all of them
"""

from __future__ import annotations

from collections.abc import Sequence

PAGE = 50
"""Elements of a page, on average."""
_MIXING = 0x9E3779B97F4A7C15
_BITS = (1 << 64) - 1


def is_edge(seq: int) -> bool:
    """Whether a page ends with this element: one in `PAGE`, spread as if at random."""
    mixed = (seq ^ (seq >> 32)) * _MIXING & _BITS
    return ((mixed ^ (mixed >> 29)) * _MIXING & _BITS) >> 32 < (1 << 32) // PAGE


def upto_edge(seqs: Sequence[int]) -> int | None:
    """How many of these elements, newest first, are on one page; None if its edge is not among them."""
    return next((place + 1 for place, seq in enumerate(seqs) if is_edge(seq)), None)


def archive_before(seqs: Sequence[int]) -> int:
    """The number before which archives contain everything older than these elements, newest first."""
    return next((seq for seq in reversed(seqs) if is_edge(seq)), seqs[-1])
