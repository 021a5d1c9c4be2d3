"""One name for each element, whatever prefix a document gives its namespace."""

from __future__ import annotations

from functools import lru_cache

from feedweir.items.namespaces import PREFIXES

_STANDARD = frozenset(PREFIXES.values())


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
        known = prefix if prefix and prefix.lower() not in _STANDARD else "x"
    name = f"{known}:{local}" if known else local
    return name.lower(), name
