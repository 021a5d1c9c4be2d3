"""Bytes → an XML tree: strictly and fast when the document is well, patiently when it is not.

No parser here reads a DTD, expands an entity that a document declares, or opens anything outside the
document.
"""

from __future__ import annotations

from dataclasses import dataclass

from lxml import etree

from feedweir.acquire.tolerant import closed_entries, cured
from feedweir.errors import DocumentError


@dataclass(frozen=True, slots=True)
class XmlTree:
    """`closed_entries` is None for a well-formed document, else how many of its entries are known to be
    whole."""

    root: etree._Element
    closed_entries: int | None = None
    warning: str = ""


def xml_tree(body: bytes, *, max_depth: int) -> XmlTree:
    """The tree of a document in UTF-8."""
    if b"<!DOCTYPE" not in body[:4096] and b"<!doctype" not in body[:4096]:
        root = strictly_parsed(body)
        if root is not None:
            return XmlTree(_checked(root, max_depth))
    text = cured(body.decode("utf-8", "replace"))
    fixed = text.encode("utf-8", "replace")
    root = strictly_parsed(fixed)
    if root is not None:
        return XmlTree(_checked(root, max_depth), warning="not well-formed XML, cured")
    root = _parsed(fixed, _FORGIVING)
    if root is None:
        raise DocumentError("the document is not XML", hint="look at what the address answers with")
    return XmlTree(
        _checked(root, max_depth), closed_entries(text), "not well-formed XML, read as far as it goes"
    )


def _parser(*, is_forgiving: bool) -> etree.XMLParser:
    return etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
        recover=is_forgiving,
    )


_STRICT = _parser(is_forgiving=False)
_FORGIVING = _parser(is_forgiving=True)


def strictly_parsed(body: bytes) -> etree._Element | None:
    """The root of a well-formed document in UTF-8."""
    return _parsed(body, _STRICT)


def _parsed(body: bytes, parser: etree.XMLParser) -> etree._Element | None:
    try:
        return etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError):
        return None


def _checked(root: etree._Element, max_depth: int) -> etree._Element:
    """libxml2 refuses trees deeper than 256 by itself; a smaller bound is ours to keep."""
    if max_depth < 256:
        deep = root.xpath(f"boolean(//*[count(ancestor::*) >= {max_depth}])")
        if deep:
            raise DocumentError(f"the document is nested deeper than {max_depth} elements")
    return root
