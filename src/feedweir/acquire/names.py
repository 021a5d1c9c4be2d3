"""One name for each element, whatever prefix a document gives its namespace."""

from __future__ import annotations

from lxml import etree

from feedweir.items.namespaces import PREFIXES

_STANDARD = frozenset(PREFIXES.values())


class Names:
    """The names of one document's elements: `prefix:name` for people, and lower-cased for decisions, because
    publishers are careless with case."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[object, tuple[str, str]] = {}

    def of(self, element: etree._Element) -> tuple[str, str]:
        """(key, name) of an element; ("", "") for comments and the like."""
        tag = element.tag
        known = self._known.get(tag)
        if known is None:
            known = self._known[tag] = _names(tag, element.prefix)
        return known


def _names(tag: object, prefix: str | None) -> tuple[str, str]:
    if not isinstance(tag, str):
        return "", ""
    namespace, _, local = tag[1:].rpartition("}") if tag[0] == "{" else ("", "", tag)
    known = PREFIXES.get(namespace, PREFIXES.get(namespace.rstrip("/"))) if namespace else ""
    if known is None:
        # a prefix that means something else here must not be taken for it
        known = prefix if prefix and prefix.lower() not in _STANDARD else "x"
    name = f"{known}:{local}" if known else local
    return name.lower(), name
