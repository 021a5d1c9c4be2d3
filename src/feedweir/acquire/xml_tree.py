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


def xml_tree(body: bytes, *, url: str, max_depth: int) -> XmlTree:
    """The tree of a document in UTF-8."""
    if b"<!DOCTYPE" not in body[:4096] and b"<!doctype" not in body[:4096]:
        root = _parsed(body, url)
        if root is not None:
            return XmlTree(_checked(root, max_depth))
    text = cured(body.decode("utf-8", "replace"))
    fixed = text.encode("utf-8", "replace")
    root = _parsed(fixed, url)
    if root is not None:
        return XmlTree(_checked(root, max_depth), warning="not well-formed XML, cured")
    root = _parsed(fixed, url, is_forgiving=True)
    if root is None:
        raise DocumentError("the document is not XML", hint="look at what the address answers with")
    return XmlTree(
        _checked(root, max_depth), closed_entries(text), "not well-formed XML, read as far as it goes"
    )


def _parsed(body: bytes, url: str, *, is_forgiving: bool = False) -> etree._Element | None:
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
        recover=is_forgiving,
    )
    try:
        return etree.fromstring(body, parser, base_url=url) if url else etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError):
        return None


def _checked(root: etree._Element, max_depth: int) -> etree._Element:
    """libxml2 refuses trees deeper than 256 by itself; a smaller bound is ours to keep."""
    if max_depth < 256:
        deep = root.xpath(f"boolean(//*[count(ancestor::*) >= {max_depth}])")
        if deep:
            raise DocumentError(f"the document is nested deeper than {max_depth} elements")
    return root
