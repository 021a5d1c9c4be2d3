"""Elements of feeds: nodes of lxml, with one name for each element whatever its prefix."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import TypeAlias

from lxml import etree

from feedweir.errors import DocumentError
from feedweir.items.namespaces import PREFIXES

Attributes: TypeAlias = Mapping[str, str]
"""By name; a name with a namespace is `{namespace}name`."""

MAX_TEXT_CHARS = 1 << 20
"""Longer texts are cut."""
MAX_NAMESPACE_CHARS = 8192
"""Of the namespace declarations around entries, which each entry repeats in its own XML."""
XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
XML_BASE, XML_LANG = f"{{{XML_NAMESPACE}}}base", f"{{{XML_NAMESPACE}}}lang"
_STANDARD_PREFIXES = frozenset(PREFIXES.values())
_PREFIXED_TAG = re.compile(r"(</?)[A-Za-z_][\w.-]*:(?=[A-Za-z])")


class RefusedError(DocumentError):
    """A document that is refused because reading it would cost too much, by any parser."""


class XmlElement:
    """Texts are stripped. For an element without child elements, `text`, `lead` and `html` are the same."""

    __slots__ = ("_inside", "_node", "key", "name")

    key: str
    """Its name for decisions; see `names_of`."""
    name: str
    """Its name for people."""

    def __init__(self, node: etree._Element) -> None:
        self._node = node
        self._inside: list[etree._Element] | None = None
        self.key, self.name = names_of(node.tag, node.prefix)

    @property
    def attributes(self) -> Attributes:
        return self._node.attrib  # type: ignore[return-value]

    @property
    def text(self) -> str:
        """All its text, tags left out."""
        node = self._node
        return _stripped("".join(map(str, node.itertext())) if len(node) else node.text)

    @property
    def lead(self) -> str:
        """Its text before the first element inside."""
        return _stripped(self._node.text)

    @property
    def html(self) -> str:
        """What is inside, as HTML: escaped, in CDATA, or as plain elements."""
        node = self._node
        if len(node) == 0:
            return self.lead
        parts = [escape(node.text or "", quote=False)]
        parts += [etree.tostring(child, encoding="unicode", with_tail=True) for child in node]
        return _stripped(_PREFIXED_TAG.sub(r"\1", "".join(parts)))

    def __iter__(self) -> Iterator[XmlElement]:
        return map(XmlElement, self._node)

    @property
    def is_parent(self) -> bool:
        """Whether there are elements inside."""
        return len(self._node) > 0

    @property
    def shape(self) -> Hashable:
        """Equal for elements of a document whose elements inside have the same names in the same order."""
        return tuple([(child.tag, child.prefix, len(child) > 0) for child in self.inside()])

    def inside(self) -> list[etree._Element]:
        """The child elements, cached: lxml makes new objects whenever it is asked."""
        if self._inside is None:
            self._inside = list(self._node)
        return self._inside

    @property
    def raw(self) -> bytes:
        """Its XML in UTF-8, which declares all the namespaces it may need."""
        return raws([self])[0]

    @property
    def around(self) -> etree._Element | None:
        """Its parent."""
        return self._node.getparent()


class ElementColumn:
    """The elements of one name, one in each of several entries. `elements` is None where they hold only text."""

    __slots__ = ("_nodes", "elements", "key", "name", "texts")

    def __init__(self, nodes: Sequence[etree._Element]) -> None:
        first = nodes[0]
        self._nodes = nodes
        self.key, self.name = names_of(first.tag, first.prefix)
        self.elements: list[XmlElement] | None = None
        if len(first):
            self.elements, self.texts = list(map(XmlElement, nodes)), [""] * len(nodes)
        else:
            self.texts = [(node.text or "").strip()[:MAX_TEXT_CHARS] for node in nodes]

    @property
    def attributes(self) -> list[Attributes]:
        return [node.attrib for node in self._nodes]  # type: ignore[misc]

    def plain(self) -> list[str]:
        return self.texts if self.elements is None else [element.text for element in self.elements]

    def leads(self) -> list[str]:
        return self.texts if self.elements is None else [element.lead for element in self.elements]

    def htmls(self) -> list[str]:
        return self.texts if self.elements is None else [element.html for element in self.elements]


def element_columns(alike: Sequence[XmlElement]) -> Iterator[ElementColumn]:
    """The child elements of several elements of the same shape, as one column for each child."""
    return map(ElementColumn, zip(*[element.inside() for element in alike], strict=True))


def raws(elements: Sequence[XmlElement]) -> list[bytes]:
    """The XML of each; a document whose declarations would make it many times as long is refused."""
    for around in {element.around for element in elements}:
        namespaces = {} if around is None else around.nsmap
        if sum(len(prefix or "") + len(uri) for prefix, uri in namespaces.items()) > MAX_NAMESPACE_CHARS:
            raise RefusedError(
                f"the document declares namespaces of more than {MAX_NAMESPACE_CHARS} characters around its entries",
                hint="feeds do not need so many; report it to the publisher",
            )
    return [etree.tostring(element._node, encoding="utf-8", with_tail=False) for element in elements]


def _stripped(text: str | None) -> str:
    return text.strip()[:MAX_TEXT_CHARS] if text else ""


@lru_cache(4096)
def names_of(tag: object, prefix: str | None) -> tuple[str, str]:
    """(key, name) of an element by its tag as lxml writes it: `prefix:name` for people, and lower-cased for decisions,
    because publishers are careless with case; ("", "") for comments and the like."""
    if not isinstance(tag, str) or not tag:
        return "", ""
    namespace, _, local = tag[1:].rpartition("}") if tag[0] == "{" else ("", "", tag)
    known = PREFIXES.get(namespace, PREFIXES.get(namespace.rstrip("/"))) if namespace else ""
    if known is None:
        # a prefix that means something else here must not be taken for it
        known = prefix if prefix and prefix.lower() not in _STANDARD_PREFIXES else "x"
    name = f"{known}:{local}" if known else local
    return name.lower(), name
