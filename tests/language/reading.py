"""Read a part of a statement by itself."""

from __future__ import annotations

from feedweir.language.conditions import predicate
from feedweir.language.tokens import Cursor
from feedweir.plan.predicates import Predicate


def parse_predicate(text: str) -> Predicate:
    """One predicate by itself, as it would stand in `$r[…]`."""
    c = Cursor(text)
    found = predicate(c)
    if c.words[c.at]:
        raise c.error(f"{c.seen()} is not expected here", expected=("`and`", "`or`", "the end"))
    return found
