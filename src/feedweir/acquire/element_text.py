"""What an element says, read as HTML, as a title or as a person's name."""

from __future__ import annotations

import re
from html import escape

from feedweir.acquire.xml_element import Attributes, XmlElement
from feedweir.items.html import one_line, text_of, title_text

_MAIL_AND_NAME = re.compile(r"\S+@\S+\s*\((.+)\)\s*$|(.+?)\s*[<(]\S+@\S+[>)]\s*$")


def atom_html(text: str, attributes: Attributes, element: XmlElement | None) -> str:
    """An Atom text construct, of either version, as HTML. `element` is the element where elements are inside."""
    kind = (attributes.get("type") or "text").lower()
    mode = attributes.get("mode")
    html = text if element is None else element.html
    if kind == "xhtml" or (mode is None and element is not None) or mode == "xml":
        return html
    if mode == "base64" or (
        mode is None and "/" in kind and not kind.startswith("text/") and "xml" not in kind
    ):
        return ""
    if (
        kind in ("html", "text/html", "application/xhtml+xml")
        or mode == "escaped"
        or attributes.get("type") is None
    ):
        return html
    return escape(text if element is None else element.text, quote=False)


def atom_title(text: str, attributes: Attributes, element: XmlElement | None) -> str:
    """An Atom title as plain text."""
    if element is not None:
        return text_of(element.html)
    return one_line(text) if attributes.get("type") == "text" else title_text(text)


def author_name(text: str) -> str:
    """`mail@host (Name)` and `Name <mail@host>` are Name."""
    match = _MAIL_AND_NAME.match(text) if "@" in text else None
    return text_of((match[1] or match[2]) if match else text)


def person_name(element: XmlElement) -> str:
    """The name of an Atom person, else its mail address, else whatever text there is."""
    if not element.is_parent:
        return text_of(element.text)
    said = {part.key.rpartition(":")[2]: part.text for part in element}
    return text_of(said.get("name") or said.get("email") or said.get("uri", ""))
