"""The content of an element as HTML, as a title or as a person's name."""

from __future__ import annotations

import re
from base64 import b64decode
from html import escape

from feedweir.acquire.parse.xml.xml_element import Attributes, XmlElement
from feedweir.text.html import one_line, text_of, title_text

_OPENING = re.compile(r"[<(]")


def atom_html(text: str, attributes: Attributes, element: XmlElement | None) -> str:
    """An Atom text construct, of either version, as HTML. `element` is given if it has child elements."""
    kind = (attributes.get("type") or "text").lower()
    mode = attributes.get("mode")
    html = text if element is None else element.html
    if kind == "xhtml" or (mode is None and element is not None) or mode == "xml":
        return html
    if mode == "base64" or (
        mode is None and "/" in kind and not kind.startswith("text/") and "xml" not in kind
    ):
        return _unpacked(text, kind)
    if (
        kind in ("html", "text/html", "application/xhtml+xml")
        or mode == "escaped"
        or attributes.get("type") is None
    ):
        return html
    return escape(text if element is None else element.text, quote=False)


def _unpacked(text: str, kind: str) -> str:
    """Text in base64 as HTML; empty when it holds something else, such as a picture."""
    try:
        decoded = b64decode("".join(text.split()), validate=True).decode("utf-8")
    except ValueError:
        return ""
    if "\0" in decoded:
        return ""
    return escape(decoded, quote=False) if kind in ("text", "text/plain") else decoded


def atom_title(text: str, attributes: Attributes, element: XmlElement | None) -> str:
    """An Atom title as plain text."""
    if element is not None:
        return text_of(element.html)
    return one_line(text) if attributes.get("type") == "text" else title_text(text)


def author_name(text: str) -> str:
    """`mail@host (Name)` and `Name <mail@host>` are Name."""
    text = text.strip()
    is_closed = "@" in text and text.endswith((")", ">"))
    return text_of((_name_behind(text) or _name_before(text) or text) if is_closed else text)


def _name_behind(text: str) -> str:
    """`mail@host (Name)`"""
    mail, _, name = text[:-1].partition("(")
    return name.strip() if text.endswith(")") and _is_mail(mail.rstrip()) else ""


def _name_before(text: str) -> str:
    """`Name <mail@host>`"""
    last = text.split()[-1]
    opening = _OPENING.search(last)
    if opening is None or not _is_mail(last[opening.end() : -1]):
        return ""
    return text[: len(text) - len(last) + opening.start()].strip()


def _is_mail(text: str) -> bool:
    return "@" in text[1:-1] and len(text.split()) == 1


def person_name(element: XmlElement) -> str:
    """The name of an Atom person, else the mail address, else any text."""
    if not element.is_parent:
        return text_of(element.text)
    parts = {part.key.rpartition(":")[2]: part.text for part in element}
    return text_of(parts.get("name") or parts.get("email") or parts.get("uri", ""))
