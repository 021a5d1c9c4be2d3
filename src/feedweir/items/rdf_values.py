"""What literals say, by their types: numbers and moments; and how an item says that a triple was deleted."""

from __future__ import annotations

import re
from datetime import datetime
from math import isfinite

from feedweir.items.namespaces import NAMESPACES
from feedweir.items.rdf_terms import Node

XSD = NAMESPACES["xsd"]
STRING = f"{XSD}string"
BOOLEAN = f"{XSD}boolean"
LANGUAGE_STRING = f"{NAMESPACES['rdf']}langString"
_NUMBER = re.compile(r"[ \t\r\n]*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[ \t\r\n]*")
_MOST_DIGITS = 1000
_WHOLE_NUMBERS = ("integer", "long", "int", "short", "byte")
_SIGNED = ("nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger")
_UNSIGNED = ("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte")
NUMBERS = frozenset(
    XSD + name for name in ("decimal", "float", "double", *_WHOLE_NUMBERS, *_SIGNED, *_UNSIGNED)
)
TIMES = frozenset(XSD + name for name in ("dateTime", "dateTimeStamp", "date", "gYearMonth", "gYear"))
TRUTHS = {"true": True, "1": True, "false": False, "0": False}
"""How truth values are written."""


def number_in(text: str) -> float | None:
    """The finite number that a text is in XML Schema, rounded to a double; NaN and INF are none."""
    found = _NUMBER.fullmatch(text) if len(text) <= _MOST_DIGITS else None
    number = float(found[1]) if found else None
    return number if number is not None and isfinite(number) else None


def number_of(node: Node) -> float | None:
    """The finite number that a literal says, whatever its type."""
    return number_in(node.value) if node.kind == "literal" else None


def moment_of(node: Node) -> datetime | None:
    """The moment that a literal names: a whole day at least unless it has a type, since four digits are no year."""
    is_moment = node.kind == "literal" and (node.datatype in TIMES or len(node.value) >= len("2026-06-01"))
    from feedweir.text.dates import (
        instant_of,  # has kernels, which whoever only reads statements does without
    )

    return instant_of(node.value) if is_moment else None


DELETED = "urn:feedweir:deleted:"
"""Stands before the IRI of a deleted triple's property, so that it is another property, which no vocabulary has."""
OPERATION = "urn:feedweir:operation"
"""Says of a thing what was done to it, as the stream calls it."""
