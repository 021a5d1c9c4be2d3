"""Recognises markup that parsers would need more than linear time for, before they get it.

Parsers of HTML walk up all open elements for many a tag, and compare each attribute of a tag with those before it.
Nobody writes markup beyond these bounds; a document that exceeds them was made to be slow.
"""

from __future__ import annotations

import re
from collections import Counter

MAX_NESTING = 512
MAX_ATTRIBUTES = 512
_MIN_CROWDED_CHARS = 2 * MAX_ATTRIBUTES
"""A tag with that many attributes is at least this long."""
_ATTRIBUTE = r"""[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|(?!["'])[^\s>]*+))?+"""
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_START_TAG = re.compile(rf"<[A-Za-z_][^\s/>]*+((?:{_ATTRIBUTE})*+)")
_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*+)")
_NEVER_NESTED = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
        "p",
        "li",
        "dd",
        "dt",
        "option",
        "tr",
        "td",
        "th",
        "tbody",
        "thead",
        "tfoot",
        "rp",
        "rt",
    ]
)
"""Elements that are empty, or that the next of their kind closes."""


def is_too_complex(html: str) -> bool:
    """Whether HTML is nested too deep, or has too many attributes in a tag, to be given to a parser."""
    return is_too_deep(html) or is_crowded(html)


def is_crowded(markup: str) -> bool:
    """Whether some tag has more than `MAX_ATTRIBUTES` attributes."""
    if len(markup) < _MIN_CROWDED_CHARS:
        return False
    long_tags = (
        attributes for attributes in _START_TAG.findall(markup) if len(attributes) >= _MIN_CROWDED_CHARS
    )
    return any(len(_ATTRIBUTES.findall(attributes)) > MAX_ATTRIBUTES for attributes in long_tags)


def is_too_deep(html: str) -> bool:
    """Whether more than `MAX_NESTING` elements may be open at once; an end tag closes one of its own name."""
    if html.count("<") <= MAX_NESTING:
        return False
    opened: Counter[str] = Counter()
    depth = 0
    for slash, name in _TAG.findall(html):
        name = name.lower()
        if name in _NEVER_NESTED:
            continue
        if not slash:
            opened[name] += 1
            depth += 1
        elif opened[name]:
            opened[name] -= 1
            depth -= 1
        if depth > MAX_NESTING:
            return True
    return False
