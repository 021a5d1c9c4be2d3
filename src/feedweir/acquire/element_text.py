"""What an element holds, read as text, as HTML or as a person's name."""

from __future__ import annotations

import re
from html import escape

from lxml import etree

from feedweir.acquire.names import Names
from feedweir.items.html import one_line, text_of, title_text

MAX_TEXT_CHARS = 1 << 20
"""Longer texts are cut."""

_MAIL_AND_NAME = re.compile(r"\S+@\S+\s*\((.+)\)\s*$|(.+?)\s*[<(]\S+@\S+[>)]\s*$")
_PREFIXED_TAG = re.compile(r"(</?)[A-Za-z_][\w.-]*:(?=[A-Za-z])")


def plain(element: etree._Element) -> str:
    """The text of an element, tags inside it left out."""
    text = element.text
    if len(element):
        text = "".join(map(str, element.itertext()))
    return text.strip()[:MAX_TEXT_CHARS] if text else ""


def inner_html(element: etree._Element) -> str:
    """The content of an element that holds HTML: escaped, in CDATA, or as plain elements."""
    if len(element) == 0:
        return (element.text or "").strip()[:MAX_TEXT_CHARS]
    parts = [escape(element.text or "", quote=False)]
    parts += [etree.tostring(child, encoding="unicode", with_tail=True) for child in element]
    return _PREFIXED_TAG.sub(r"\1", "".join(parts)).strip()[:MAX_TEXT_CHARS]


def atom_html(element: etree._Element) -> str:
    """An Atom text construct, of either version, as HTML."""
    kind = (element.get("type") or "text").lower()
    mode = element.get("mode")
    if kind == "xhtml" or (mode is None and len(element)) or mode == "xml":
        return inner_html(element)
    if mode == "base64" or (
        mode is None and "/" in kind and not kind.startswith("text/") and "xml" not in kind
    ):
        return ""
    if (
        kind in ("html", "text/html", "application/xhtml+xml")
        or mode == "escaped"
        or element.get("type") is None
    ):
        return inner_html(element)
    return escape(plain(element), quote=False)


def atom_title(element: etree._Element) -> str:
    """An Atom title as plain text."""
    if element.get("type") == "text" and len(element) == 0:
        return one_line(plain(element))
    return text_of(inner_html(element)) if len(element) else title_text(plain(element))


def author_name(text: str) -> str:
    """`mail@host (Name)` and `Name <mail@host>` are Name."""
    match = _MAIL_AND_NAME.match(text) if "@" in text else None
    return text_of((match[1] or match[2]) if match else text)


def person_name(element: etree._Element, names: Names) -> str:
    """The name of an Atom person, else its mail address, else whatever text there is."""
    said = {names.of(child)[0].rpartition(":")[2]: plain(child) for child in element}
    return text_of(
        said.get("name") or said.get("email") or ("" if said else plain(element)) or said.get("uri", "")
    )
