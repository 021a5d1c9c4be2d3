"""Hints: the known names that look like the one that was written."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

_MOST = 50_000
"""Comparing takes time for each name; among more names than these the nearest may be missed."""


def near(name: str, known: Iterable[str], most: int = 3) -> str:
    """`did you mean …?`, or nothing when nothing is near."""
    by_folded: dict[str, str] = {}
    for candidate in islice(known, _MOST):
        by_folded.setdefault(candidate.casefold(), candidate)
    found = get_close_matches(name.casefold()[:80], by_folded, n=most, cutoff=0.6)
    names = [f"`{by_folded[folded]}`" for folded in found]
    return f"did you mean {' or '.join(names)}?" if names else ""
