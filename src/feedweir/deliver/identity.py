"""The stable identifier of an entry: the same in every format, today and after a restart."""

from __future__ import annotations

import re
import uuid

from feedweir.items.model import Item
from feedweir.items.xml_characters import legal

_ABSOLUTE_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\s<>\"{}|\\^`\x00-\x20]+")
_NAMESPACE = uuid.UUID("5d0f6a2e-7a1b-4c58-9a52-3f0c6f6b1d47")


def entry_id(item: Item) -> str:
    """The item's own identity where it is an absolute IRI, else a UUID made of its source and identity.

    Short identities ("17") are unique within their source only, and a virtual feed mixes sources.
    """
    identity = legal(item.identity)
    if identity == item.identity and _ABSOLUTE_IRI.fullmatch(identity):
        return identity
    return source_id(item.source, item.identity)


def source_id(*parts: str) -> str:
    """A `urn:uuid:` that depends on the parts only."""
    # Lone surrogates have no UTF-8 form, yet two such names must not meet.
    key = "\n".join(parts).encode("utf-8", "surrogatepass")
    return uuid.uuid5(_NAMESPACE, key.hex()).urn
