"""The usual errors in XML documents, each repaired in the text before it is parsed again.

The order matters: what stands before and after the document is cut off first, so that the cures see only the
document.
"""

from __future__ import annotations

import re
from html.entities import html5

from feedweir.text.xml_characters import legal

_START = re.compile(r"<\?xml\b|<(?:[A-Za-z][\w.-]*:)?(?:rss|feed|RDF|channel)\b", re.IGNORECASE)
_DECLARATION = re.compile(r"\s*+<\?xml\b[^>]*+(?<=\?)>")
_STARTS_DOCTYPE = re.compile(r"<!DOCTYPE\b", re.IGNORECASE)
_DOCTYPE = re.compile(
    r"<!DOCTYPE\b(?:[^\[\]>\"']|\"[^\"]*+\"|'[^']*+')*+(\[(?:[^\]\"']|\"[^\"]*+\"|'[^']*+')*+\]\s*+)?>",
    re.IGNORECASE,
)
_ENTITY_DECLARATION = re.compile(
    r"<!--.*?(?:-->|\Z)|"
    r"<!ENTITY\s++([A-Za-z_][\w.-]*+)\s++(?:\"([^\"%]{0,2000}+)\"|'([^'%]{0,2000}+)')\s*+>",
    re.DOTALL,
)
_ENTITY = re.compile(r"&(?:#(\d{1,8});|#[xX]([0-9a-fA-F]{1,6});|([A-Za-z][\w.-]{0,40});)?")
_CDATA = re.compile(r"(<!\[CDATA\[.*?(?:\]\]>|\Z))", re.DOTALL)
_AS_IT_IS = re.compile(r"(<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z))", re.DOTALL)
_PROLOG = re.compile(r"(?:\s++|<!--.*?-->|<\?.*?\?>)*+", re.DOTALL)
_ENTITY_VALUE = re.compile(rb"<!ENTITY\s[^<>\"']*+(?:\"([^\"]*+)\"|'([^']*+)')")
_REFERENCE = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z]")
_NESTED_REFERENCE = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d{1,8}|#[xX][0-9a-fA-F]{1,6});)")
_MAX_EXPANDED = 1_000_000
"""How many characters declared entities may add to a document."""
_XML_ENTITIES = frozenset(("amp", "lt", "gt", "quot", "apos"))
_TAG = re.compile(r"<([A-Za-z_][\w.:-]*+)((?:[^<>\"']|\"[^\"<]*+\"|'[^'<]*+')*+)>")
_ATTRIBUTE = re.compile(
    r"([A-Za-z_][\w.:-]*)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|[“”]([^“”]*)[“”]|([^\s\"'“”]+)))?"
)
_CLOSED_ENTRY = re.compile(r"</(?:[A-Za-z][\w.-]*:)?(?:item|entry)\s*>", re.IGNORECASE)


def is_entity_bomb(body: bytes) -> bool:
    """Whether a document declares entities made of other entities, which grow without end when expanded."""
    values = _ENTITY_VALUE.finditer(body, 0, 100_000) if b"<!ENTITY" in body[:100_000] else ()
    return any(_REFERENCE.search(found[1] or found[2] or b"") is not None for found in values)


def repaired(text: str) -> str:
    """The document with the usual errors repaired, ready for a parser that tolerates the rest."""
    declared: dict[str, str] = {}
    start = _STARTS_DOCTYPE.search(text, 0, 100_000)
    doctype = _DOCTYPE.match(text, start.start(), 100_000) if start is not None else None
    if doctype is not None:
        declared = _declared_entities(doctype[1] or "")
        text = text[: doctype.start()] + text[doctype.end() :]
    text = without_surroundings(text)
    return _with_known_entities(_CDATA.split(legal(text)), declared)


def with_entities(text: str) -> str:
    """Any XML document without its DOCTYPE, with the entities that it declares for plain text, or that HTML knows, put
    in; what stands before its root is kept, and comments and instructions stay as they are."""
    declared: dict[str, str] = {}
    prolog = _PROLOG.match(text)
    doctype = _DOCTYPE.match(text, prolog.end() if prolog else 0)
    if doctype is not None:
        declared = _declared_entities(doctype[1] or "")
        text = text[: doctype.start()] + text[doctype.end() :]
    return _with_known_entities(_AS_IT_IS.split(legal(text)), declared)


def with_sound_tags(text: str) -> str:
    """Any XML text with the attributes of its tags as XML has them: quoted, apart from each other, each name once.

    The first of a name counts, and one without a value is empty, as in HTML. Comments and the like stay.
    """
    parts = _AS_IT_IS.split(text)
    return "".join(
        _TAG.sub(_sound_tag, part) if number % 2 == 0 else part for number, part in enumerate(parts)
    )


def _sound_tag(match: re.Match[str]) -> str:
    # A slash at the end closes the tag: it does not belong to a value without quotes.
    inside = match[2].rstrip()
    end = "/" if inside.endswith("/") else ""
    values: dict[str, str] = {}
    for name, *parts in _ATTRIBUTE.findall(inside.removesuffix("/")):
        values.setdefault(name, "".join(parts).replace('"', "&quot;"))
    attributes = "".join(f' {name}="{value}"' for name, value in values.items())
    return f"<{match[1]}{attributes}{end}>"


def without_surroundings(text: str) -> str:
    """The document from its first tag on, without its XML declaration, whose content is known by
    now."""
    start = _START.search(text)
    text = text[start.start() :] if start is not None else text.lstrip()
    declaration = _DECLARATION.match(text)
    return text[declaration.end() :] if declaration is not None else text


def _declared_entities(subset: str) -> dict[str, str]:
    """Entities that a document declares with a literal value; no other kind is ever expanded. The first declaration of
    a name counts."""
    found = _ENTITY_DECLARATION.findall(subset)
    values = {name: one or two for name, one, two in reversed(found) if name}
    return {
        name: value
        for name, value in values.items()
        if name not in _XML_ENTITIES and _NESTED_REFERENCE.search(value) is None
    }


def _with_known_entities(parts: list[str], declared: dict[str, str]) -> str:
    """The parts of a text joined, with entities replaced; every second part is left as it is."""
    left = _MAX_EXPANDED  # for all parts together, or else many short parts would have no bound

    def put_in(match: re.Match[str]) -> str:
        nonlocal left
        value = declared.get(match[3]) if left > 0 else None
        left -= len(value or "")
        return _entity(match) if value is None else value

    return "".join(
        _ENTITY.sub(put_in, part) if place % 2 == 0 and "&" in part else part
        for place, part in enumerate(parts)
    )


def _entity(match: re.Match[str]) -> str:
    """A reference that XML knows; any other ampersand stands for itself."""
    decimal, hexadecimal, name = match.groups()
    if decimal or hexadecimal:
        point = int(decimal) if decimal else int(hexadecimal, 16)
        is_character = point < 0x110000 and bool(legal(chr(point)))
        return f"&#{point};" if is_character else ""
    if name is None:
        return "&amp;"
    if name in _XML_ENTITIES:
        return match[0]
    characters = html5.get(f"{name};")
    if characters is None:
        return f"&amp;{name};"
    return "".join(f"&#{ord(character)};" for character in characters)


def closed_entries(text: str) -> int:
    """How many entries the text of a document closes: in a truncated one the last is not whole."""
    return sum(1 for _ in _CLOSED_ENTRY.finditer(_CDATA.sub("", text)))
