"""Which thing an item is, and what a reader sees of it.

Identity is the publisher's own: the guid, else the link, else a hash of the content. Publishers repeat guids,
though: when one document has the same guid on items that a reader could tell apart, all of them are kept and
each is known by its guid together with its link, or with a hash of its content where the links do not tell
them apart either. Whether a guid is repeated is seen within a document only, so that it does not depend on
what was fetched before.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from feedweir.items.identity_kernels import hash_bytes, hash_texts

_SEPARATOR = "\x1f"


class Claim(NamedTuple):
    """What identity depends on. `fingerprint` is a hash of what a reader sees."""

    guid: str
    link: str
    fingerprint: int


def fingerprint(*parts: str) -> int:
    """A signed 64-bit hash of what a reader sees; dates and counters do not count."""
    data = np.frombuffer(_bytes_of(_SEPARATOR.join(parts)), np.uint8)
    return int(np.uint64(hash_bytes(data, 0, data.size)).astype(np.int64))


def fingerprints(items: Iterable[Sequence[str]]) -> list[int]:
    """The fingerprints of many items."""
    texts = [_SEPARATOR.join(parts) for parts in items]
    hashes = np.empty(len(texts), np.int64)
    data = np.frombuffer(_bytes_of("\0".join(texts) + "\0"), np.uint8)
    if hash_texts(data, hashes) != len(texts):  # a text contains the separator
        return [fingerprint(text) for text in texts]
    result: list[int] = hashes.tolist()
    return result


def _bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def identities(claims: Sequence[Claim]) -> list[str | None]:
    """The identity of every item of a document; None for one that only repeats an earlier one."""
    names = [claim.guid or claim.link or _content_name(claim) for claim in claims]
    if len(set(names)) == len(names):
        return list(names)
    prints: defaultdict[str, set[int]] = defaultdict(set)
    links: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, claim in zip(names, claims, strict=True):
        if claim.fingerprint not in prints[name]:
            links[name][claim.link] += 1
        prints[name].add(claim.fingerprint)
    return _without_repetitions(
        name if len(prints[name]) == 1 else _distinguished(name, claim, links[name])
        for name, claim in zip(names, claims, strict=True)
    )


def _distinguished(name: str, claim: Claim, links: Counter[str]) -> str:
    """A repeated name, followed by what distinguishes this item from the others of that name."""
    is_only_one = claim.link and claim.link != name and links[claim.link] == 1
    return f"{name} {claim.link if is_only_one else _content_name(claim)}"


def _without_repetitions(names: Iterable[str]) -> list[str | None]:
    seen: set[str] = set()
    result: list[str | None] = []
    for name in names:
        result.append(None if name in seen else name)
        seen.add(name)
    return result


def _content_name(claim: Claim) -> str:
    return f"content:{claim.fingerprint & (1 << 64) - 1:016x}"
