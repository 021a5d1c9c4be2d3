"""What the fast way of making HTML safe knows of HTML: short names as numbers, kinds of elements, entities.

Tags and attributes are nh3's own, so that a newer nh3 with other ones is followed.
"""

from __future__ import annotations

from html.entities import name2codepoint

import nh3
import numpy as np

MAX_NAME = 10
"""Characters of a name: six bits each must fit into one number."""

VOID, RULE, INLINE, ANCHOR, BLOCK, HEADING, PREFORMATTED, PARAGRAPH, LIST, ENTRY, TERMS, TERM = range(12)
TABLE, ROWS, ROW, CELL, HIDDEN = range(12, 17)
ANYWHERE = -1
_KINDS = {
    VOID: "br img wbr",
    RULE: "hr",
    INLINE: "b i u s em strong small strike tt code span abbr acronym cite q sub sup ins del kbd samp var mark dfn "
    "time bdi",
    ANCHOR: "a",
    PARAGRAPH: "p",
    BLOCK: "div blockquote center article aside figure figcaption footer header nav details summary",
    HEADING: "h1 h2 h3 h4 h5 h6",
    PREFORMATTED: "pre",
    LIST: "ul ol",
    ENTRY: "li",
    TERMS: "dl",
    TERM: "dt dd",
    TABLE: "table",
    ROWS: "thead tbody",
    ROW: "tr",
    CELL: "td th",
    HIDDEN: "script style iframe",
}
_PARENTS = {ENTRY: LIST, TERM: TERMS, ROWS: TABLE, ROW: ROWS, CELL: ROW}
DROPPED, KEPT, ADDRESS = range(3)
_EVERYWHERE = ("lang", "title")
_ADDRESSES = ("href", "src", "cite")


def _codes() -> list[int]:
    codes = [0] * 256
    for first, last, start in (("a", "z", 1), ("A", "Z", 27), ("0", "9", 53)):
        for byte in range(ord(first), ord(last) + 1):
            codes[byte] = start + byte - ord(first)
    return codes


CODES = np.array(_codes(), np.int64)
"""The six bits of a letter or digit; 0 for every other byte."""


def name_code(name: str) -> int:
    """A name of at most `MAX_NAME` letters and digits as a number."""
    code = 0
    for byte in name.encode():
        code = code << 6 | int(CODES[byte])
    return code


def _sorted_codes(names: list[str]) -> list[str]:
    return sorted((name for name in names if len(name) <= MAX_NAME), key=name_code)


_known = nh3.ALLOWED_TAGS | set(_KINDS[HIDDEN].split())
_kinds = {name: kind for kind, names in _KINDS.items() for name in names.split() if name in _known}
_tags = _sorted_codes(list(_kinds))
_attributes = _sorted_codes(
    sorted({*_EVERYWHERE, *(name for tag in _tags for name in nh3.ALLOWED_ATTRIBUTES.get(tag, ()))})
)
_points = {**name2codepoint, "apos": 39, "AMP": 38, "LT": 60, "GT": 62, "QUOT": 34, "COPY": 169, "REG": 174}
_entities = _sorted_codes(list(_points))


def _rule(tag: str, attribute: str) -> int:
    if attribute not in _EVERYWHERE and attribute not in nh3.ALLOWED_ATTRIBUTES.get(tag, ()):
        return DROPPED
    return ADDRESS if attribute in _ADDRESSES else KEPT


TAG_CODES = np.array([name_code(tag) for tag in _tags], np.int64)
TAG_KINDS = np.array([_kinds[tag] for tag in _tags], np.int64)
PARENT_KINDS = np.array([_PARENTS.get(kind, ANYWHERE) for kind in range(HIDDEN + 1)], np.int64)
"""The kind that an element of a kind must stand in directly."""
ATTRIBUTE_CODES = np.array([name_code(attribute) for attribute in _attributes], np.int64)
ATTRIBUTE_RULES = np.array([[_rule(tag, attribute) for attribute in _attributes] for tag in _tags], np.int64)
ENTITY_CODES = np.array([name_code(name) for name in _entities], np.int64)
ENTITY_POINTS = np.array([_points[name] for name in _entities], np.int64)
"""The characters of common entities, among them all that parsers also know without their semicolon."""
ALLOWED_SCHEMES = np.array(
    sorted(name_code(name) for name in nh3.ALLOWED_URL_SCHEMES if len(name) <= MAX_NAME), np.int64
)
