"""An element of lxml as the readers of feeds know elements."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from html import escape

from lxml import etree

from feedweir.acquire.names import names_of
from feedweir.acquire.xml_element import MAX_TEXT_CHARS, Attributes, Said, XmlElement, check_namespaces

_PREFIXED_TAG = re.compile(r"(</?)[A-Za-z_][\w.-]*:(?=[A-Za-z])")


class LxmlElement:
    """See `XmlElement`."""

    __slots__ = ("element", "key", "name")

    def __init__(self, element: etree._Element) -> None:
        self.element = element
        self.key, self.name = names_of(element.tag, element.prefix)

    @property
    def attributes(self) -> Attributes:
        return self.element.attrib  # type: ignore[return-value]

    @property
    def text(self) -> str:
        element = self.element
        text = "".join(map(str, element.itertext())) if len(element) else element.text
        return _stripped(text)

    @property
    def lead(self) -> str:
        return _stripped(self.element.text)

    @property
    def html(self) -> str:
        element = self.element
        if len(element) == 0:
            return self.lead
        parts = [escape(element.text or "", quote=False)]
        parts += [etree.tostring(child, encoding="unicode", with_tail=True) for child in element]
        return _stripped(_PREFIXED_TAG.sub(r"\1", "".join(parts)))

    @property
    def raw(self) -> bytes:
        parent = self.element.getparent()
        around = {} if parent is None else parent.nsmap
        check_namespaces(sum(len(prefix or "") + len(uri) for prefix, uri in around.items()))
        return etree.tostring(self.element, encoding="utf-8", with_tail=False)

    def __iter__(self) -> Iterator[LxmlElement]:
        return map(LxmlElement, self.element)

    @property
    def is_parent(self) -> bool:
        return len(self.element) > 0

    @property
    def shape(self) -> Hashable:
        return tuple([(child.tag, child.prefix, len(child) > 0) for child in self.element])

    def said(self, alike: Sequence[XmlElement]) -> Iterator[Said]:
        for children in zip(*alike, strict=True):
            first = children[0]
            attributes = [child.attributes for child in children]
            if first.is_parent:
                yield Said(first.key, first.name, [""] * len(alike), attributes, children)
            else:
                yield Said(first.key, first.name, [child.lead for child in children], attributes, None)


def _stripped(text: str | None) -> str:
    return text.strip()[:MAX_TEXT_CHARS] if text else ""
