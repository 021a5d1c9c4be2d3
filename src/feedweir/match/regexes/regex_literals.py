"""The longest plain pieces that must occur in every text that a regular expression matches.

Found without knowing all of RE2's syntax: what is not understood is taken to match anything. Letters are lower case, of
ASCII only; pieces are searched for in texts that went through `levelled`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SHORTEST = 4
"""Bytes that a piece must have to be of use."""
_TOKEN = re.compile(
    r"""\\(?:[pPx]\{[^}]*\}|x[0-9a-fA-F]{2}|[pP].|[0-7]{1,3}|.)
      | \[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]
      | \(\?P?<\w+>|\(\?[a-zA-Z-]*[:)]|.""",
    re.VERBOSE | re.DOTALL,
)
_REPEAT = re.compile(r"(?:[*+?]|\{(\d+)(?:,\d*)?\})\??")
_ORDINARY = re.compile(r"[^\\\[\](){}*+?.^$|]")
_ZERO_TIMES = frozenset("*?")

Pieces = tuple[bytes, ...]
"""One of these must be there; none: nothing is known."""


def pieces_of(pattern: str, flags: str = "") -> Pieces:
    """Of the sets of which one piece must occur, the one whose shortest piece is the longest."""
    if r"\Q" in pattern:
        return ()
    ignores_case = "i" in flags or re.search(r"\(\?\w*i", pattern) is not None
    reader = _Reader(_TOKEN.findall(pattern), ignores_case)
    found = reader.alternatives()
    return found if reader.at == len(reader.tokens) else ()


def levelled(text: bytes) -> bytes:
    """Text in lower case as pieces are; `(?i)k` also matches the Kelvin sign and `(?i)s` the long s."""
    return text.replace(b"\xc5\xbf", b"s").replace(b"\xe2\x84\xaa", b"k").lower()


@dataclass(slots=True)
class _Reader:
    tokens: list[str]
    ignores_case: bool
    at: int = 0

    def alternatives(self) -> Pieces:
        """`a|b|c`: one of the pieces of each."""
        found = [self._sequence()]
        while self._next() == "|":
            self.at += 1
            found.append(self._sequence())
        return tuple(dict.fromkeys(piece for one in found for piece in one)) if all(found) else ()

    def _sequence(self) -> Pieces:
        """A sequence: the best of the pieces that must occur in it."""
        best: Pieces = ()
        run = ""
        while self._next() not in ("", "|", ")"):
            token = self.tokens[self.at]
            self.at += 1
            inner = self._group() if token[0] == "(" and not token.endswith(")") else ()
            may_be_left_out, is_repeated = self._repetition()
            letter = self._letter(token)
            if letter and not may_be_left_out:
                run += letter
            if not letter or may_be_left_out or is_repeated:
                best, run = _better(best, self._piece(run)), ""
                best = best if may_be_left_out else _better(best, inner)
        return _better(best, self._piece(run))

    def _group(self) -> Pieces:
        found = self.alternatives()
        if self._next() == ")":
            self.at += 1
        return found

    def _repetition(self) -> tuple[bool, bool]:
        """(whether what was read may be left out, whether it is repeated)."""
        rest = "".join(self.tokens[self.at : self.at + 16])
        repeat = _REPEAT.match(rest)
        if repeat is None:
            return False, False
        self.at += len(repeat[0])
        return rest[0] in _ZERO_TIMES or repeat[1] == "0" or (repeat[1] or "1").strip("0") == "", True

    def _letter(self, token: str) -> str:
        """The character that a token is, if it is one."""
        if len(token) == 2 and token[0] == "\\" and not token[1].isalnum() and token[1].isascii():
            return token[1]
        is_plain = _ORDINARY.fullmatch(token) is not None
        return token if is_plain and (token.isascii() or not self.ignores_case) else ""

    def _piece(self, run: str) -> Pieces:
        piece = levelled(run.encode())
        return (piece,) if len(piece) >= SHORTEST else ()

    def _next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""


def _better(one: Pieces, other: Pieces) -> Pieces:
    return max(one, other, key=lambda pieces: min(map(len, pieces), default=0))
