"""What patterns compare with, and the codes that arrays and kernels share.

A label is coded so that its parity tells its kind: even for elements, odd for attributes; below zero are the
wildcards and the names that no pattern has, which only wildcards can tell from each other.
"""

from __future__ import annotations

import math
import re

from feedweir.plan.predicates import PatternNode

ANY_ATTRIBUTE, ANY_ELEMENT, OTHER_ATTRIBUTE, OTHER_ELEMENT = -1, -2, -3, -4
ROOT_ROUTE = 0

EXISTS, TEXT_EQ, TEXT_NE, EQ, NE, LT, LE, GT, GE = range(9)
OPERATIONS = 9
_NUMERIC = {"=": EQ, "!=": NE, "<": LT, "<=": LE, ">": GT, ">=": GE}

LABEL, PARENT, END, TEXT, ATTRIBUTES, AFTER = range(6)
"""Columns of a document's nodes: of an element its attributes are the nodes ATTRIBUTES to AFTER."""
WANTED, AXIS, OP, CONSTANT, FIRST, LAST = range(6)
"""Columns of a step: its branches are FIRST to LAST in the list of branches."""

SHAPE, REST, MEMBERS = range(3)
"""Columns of the heads of groups."""

UNKNOWN, NEVER, BY_ATOMS, IN_DOUBT = range(4)
"""What a document shape says of a pattern shape, whatever the values: nothing yet; no pattern of it is there; those are
whose atoms are true; those must be verified."""

_STARTS_NUMBER = frozenset("0123456789.- \t\r\n")
_NUMBER = re.compile(r"[ \t\r\n]*(-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:[eE]([+-]?[0-9]*))?[ \t\r\n]*")


def number_of(text: str) -> float:
    """A string as lxml's XPath reads a number: digits with a point, a minus sign, an exponent; NaN for all else."""
    found = _NUMBER.fullmatch(text) if text[:1] in _STARTS_NUMBER else None
    if found is None:
        return math.nan
    exponent = found[2] or ""
    return float(f"{found[1]}e{exponent}" if exponent.strip("+-") else found[1])


def comparison_of(node: PatternNode) -> tuple[int, str, float]:
    """(operation, text, number) of a node; ordered comparisons with text compare numbers, as XPath does."""
    return comparison(node.op, node.value)


def comparison(op: str | None, value: str | float | None) -> tuple[int, str, float]:
    if op is None or value is None:
        return EXISTS, "", 0.0
    if isinstance(value, str) and op in ("=", "!="):
        return (TEXT_EQ if op == "=" else TEXT_NE), value, 0.0
    number = number_of(value) if isinstance(value, str) else float(value)
    # NaN as a key would never equal itself; an impossible range says the same.
    return (LT, "", -math.inf) if math.isnan(number) and op != "!=" else (_NUMERIC[op], "", number)
