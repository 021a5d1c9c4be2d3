"""What a run gave, as lines under headings, and what is kept of it: for each heading a count and a mark for each line.

A mark is a letter chosen by the line's hash, and the order of lines counts. So what is kept is small, and a difference
can still be told by the lines that are there and the places where others were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from hashlib import blake2b
from string import ascii_letters, digits
from typing import TypeAlias

Listing: TypeAlias = Mapping[str, Sequence[str]]
Kept: TypeAlias = Mapping[str, Mapping[str, object]]

_LETTERS = ascii_letters + digits
_SHOWN = 12
"""Lines of a difference; whoever wants more asks for the listings themselves."""


def kept_of(listing: Listing) -> Kept:
    """What is kept of a listing."""
    return {
        heading: {"count": len(lines), "hash": _hash(lines), "marks": "".join(map(_mark, lines))}
        for heading, lines in sorted(listing.items())
    }


def differences(listing: Listing, kept: Kept) -> list[str]:
    """What differs from what was kept, in words and lines; nothing when all is as it was."""
    told = [f"{heading}: recorded, and not there now" for heading in sorted(kept.keys() - listing.keys())]
    for heading, lines in sorted(listing.items()):
        was = kept.get(heading)
        if was is None:
            told.append(f"{heading}: not recorded")
        elif was["hash"] != _hash(lines):
            shown = list(_difference(lines, str(was["marks"])))
            told += [f"{heading}: {was['count']} lines recorded, {len(lines)} now", *shown[:_SHOWN]]
            told += [f"    … and {len(shown) - _SHOWN} more"] if len(shown) > _SHOWN else []
    return told


def _difference(lines: Sequence[str], marks: str) -> Iterator[str]:
    matcher = SequenceMatcher(None, marks, "".join(map(_mark, lines)), autojunk=False)
    for tag, start, end, now_start, now_end in matcher.get_opcodes():
        if tag == "equal":
            continue
        if end > start:
            after = f"after {lines[now_start - 1]}" if now_start else "at the beginning"
            yield f"  - {end - start} recorded, {after}"
        yield from (f"  + {line}" for line in lines[now_start:now_end])


def _mark(line: str) -> str:
    return _LETTERS[blake2b(line.encode(), digest_size=1).digest()[0] % len(_LETTERS)]


def _hash(lines: Sequence[str]) -> str:
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()
