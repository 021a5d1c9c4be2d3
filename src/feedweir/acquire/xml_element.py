"""An element of a feed, whichever way the document was read: from a tape, or from a tree of lxml."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from feedweir.errors import DocumentError

Attributes = Mapping[str, str]
"""By name; a name with a namespace is `{namespace}name`."""

MAX_TEXT_CHARS = 1 << 20
"""Longer texts are cut."""
MAX_NAMESPACE_CHARS = 8192
"""Of the declarations in force where entries stand: each entry repeats them in its own XML."""
XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
XML_BASE, XML_LANG = f"{{{XML_NAMESPACE}}}base", f"{{{XML_NAMESPACE}}}lang"


def check_namespaces(chars: int) -> None:
    """Refuse a document whose declarations would make it many times as long."""
    if chars > MAX_NAMESPACE_CHARS:
        raise DocumentError(
            f"the document declares namespaces of more than {MAX_NAMESPACE_CHARS} characters around its entries",
            hint="feeds have no use for so many; ask the publisher",
        )


class XmlElement(Protocol):
    """Texts are stripped. An element without elements inside says the same as `text`, `lead` and `html`."""

    @property
    def key(self) -> str:
        """Its name for decisions; see `names_of`."""

    @property
    def name(self) -> str:
        """Its name for people."""

    @property
    def attributes(self) -> Attributes: ...

    @property
    def is_parent(self) -> bool:
        """Whether there are elements inside."""

    @property
    def text(self) -> str:
        """All its text, tags left out."""

    @property
    def lead(self) -> str:
        """Its text before the first element inside."""

    @property
    def html(self) -> str:
        """What is inside, as HTML: escaped, in CDATA, or as plain elements."""

    @property
    def raw(self) -> bytes:
        """Its XML in UTF-8, which declares all the namespaces it may need."""

    @property
    def shape(self) -> Hashable:
        """Equal for elements of a document whose elements inside have the same names in the same order."""

    def __iter__(self) -> Iterator[XmlElement]: ...

    def said(self, alike: Sequence[XmlElement]) -> Iterator[Said]:
        """What the elements inside say, one after the other, in each of several elements of the same shape."""


class Said(NamedTuple):
    """What elements of one name say, one in each of several entries. `elements` is None where they hold text alone."""

    key: str
    name: str
    texts: list[str]
    attributes: Sequence[Attributes]
    elements: Sequence[XmlElement] | None

    def plain(self) -> list[str]:
        return self.texts if self.elements is None else [element.text for element in self.elements]

    def leads(self) -> list[str]:
        return self.texts if self.elements is None else [element.lead for element in self.elements]

    def htmls(self) -> list[str]:
        return self.texts if self.elements is None else [element.html for element in self.elements]
