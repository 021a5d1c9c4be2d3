"""SELECT templates: which variables they name, and what they become when values go into their holes."""

from __future__ import annotations

import re
from collections.abc import Mapping

HOLE = re.compile(r"\{\s*\$?([^{}\s]+)\s*\}")
"""Where a value goes in a SELECT template."""
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})


def holes_of(select: str) -> tuple[str, ...]:
    """The variables that a construction names, each once, sorted."""
    return tuple(sorted(set(HOLE.findall(select))))


def filled(select: str, values: Mapping[str, str]) -> str:
    """The construction with its holes filled, as XML text: a value is text there, in an element or an attribute."""
    return HOLE.sub(lambda hole: values.get(hole[1], "").translate(_ESCAPES), select)
