"""The stable identifier of an entry, the same in every format and after every restart."""

from __future__ import annotations

import re
import uuid

from feedweir.items.model import Item
from feedweir.text.xml_characters import legal

_NAMED_FOR_ALL = re.compile(r"(?i:https?|urn|tag):[^\s<>\"{}|\\^`\x00-\x20]+")
"""IRIs that are globally unique; a guid like `post:17` only looks like one."""
_NAMESPACE = uuid.UUID("5d0f6a2e-7a1b-4c58-9a52-3f0c6f6b1d47")


def entry_id(item: Item) -> str:
    """The item's own identity if it is globally unique, otherwise a UUID made of its source and identity.

    Short identities ("17", "post:17") are unique within their source only, and a virtual feed mixes sources.
    """
    identity = legal(item.identity)
    if identity == item.identity and _NAMED_FOR_ALL.fullmatch(identity):
        return identity
    return source_id(item.source, item.identity)


def source_id(*parts: str) -> str:
    """A `urn:uuid:` that depends only on the parts."""
    # Lone surrogates have no UTF-8 form, yet two such names must not collide.
    key = "\n".join(parts).encode("utf-8", "surrogatepass")
    return uuid.uuid5(_NAMESPACE, key.hex()).urn
