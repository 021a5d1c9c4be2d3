"""The one error tree, and what may have been meant by a name that is not known.

FeedweirError
├── LanguageError        text that is not a statement: position, what was expected, a hint
├── CatalogError         a name that is taken, unknown, or still in use
├── DocumentError        a document that is not a feed: the source's failure, never the system's
├── LandingError         a segment of the landing log that is missing or damaged
├── DamagedFileError     a file of a log that is missing or not as it was written, by its path
├── CompiledSetError     a compiled set that is damaged or of another format
├── WorkError            a query that would take too much work on one item: the feed's failure, the others go on
├── NetworkError         a network that cannot be planned as described: which view, site or bound, and what would do
├── FrameError           a DataFrame, or queries for one, that cannot be matched as asked
├── DeliveryError        a channel that refused, for now or for good
├── SettingsError        a setting that cannot be used
├── EngineError          what runs batches ended while it was being started, and may be started again
└── StorageError         a data directory or a database that cannot be used as things are
    └── DisplacedError   another process runs the batches of the data directory now
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import Any

_MOST_COMPARED = 50_000
"""Comparing takes time for each name; among more names than these the nearest may be missed."""


def nearest(name: str, known: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """The known names that look like the one that was written."""
    by_folded: dict[str, str] = {}
    for candidate in islice(known, _MOST_COMPARED):
        by_folded.setdefault(candidate.casefold(), candidate)
    found = get_close_matches(name.casefold()[:80], by_folded, n=most, cutoff=0.6)
    return tuple(by_folded[folded] for folded in found)


def near(name: str, known: Iterable[str], most: int = 3) -> str:
    """`did you mean …?`, or nothing when nothing is near; a known name in the wrong place is not proposed again."""
    names = [f"`{one}`" for one in nearest(name, known, most) if one != name]
    return f"did you mean {' or '.join(names)}?" if names else ""


class FeedweirError(Exception):
    """Every error that Feedweir raises on purpose; `hint` says what the user can do about it."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class LanguageError(FeedweirError):
    """A statement that cannot be read or does not make sense, with its place in the text."""

    def __init__(
        self, message: str, *, text: str = "", offset: int = 0, expected: tuple[str, ...] = (), hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.text = text
        self.offset = min(max(offset, 0), len(text))
        self.expected = expected

    @property
    def line(self) -> int:
        return self.text.count("\n", 0, self.offset) + 1

    @property
    def column(self) -> int:
        return self.offset - (self.text.rfind("\n", 0, self.offset) + 1) + 1

    def __str__(self) -> str:
        source_line = self.text.split("\n")[self.line - 1]
        parts = [f"line {self.line}, column {self.column}: {self.message}"]
        if source_line.strip():
            shown, place = _excerpt(source_line, self.column - 1)
            parts += [f"    {shown}", "    " + " " * place + "^"]
        if self.expected:
            parts.append(f"expected: {', '.join(self.expected)}")
        if self.hint:
            parts.append(f"hint: {self.hint}")
        return "\n".join(parts)


_LONGEST_LINE = 160


def _excerpt(line: str, place: int) -> tuple[str, int]:
    """A line, of a very long one what stands around a place, and where in it the place is."""
    if len(line) <= _LONGEST_LINE:
        return line, place
    first = max(0, min(place - _LONGEST_LINE // 2, len(line) - _LONGEST_LINE))
    last = first + _LONGEST_LINE
    before, behind = "…" if first else "", "…" if last < len(line) else ""
    return f"{before}{line[first:last]}{behind}", place - first + len(before)


class CatalogError(FeedweirError):
    """A name that is taken, unknown, or still in use by others."""


class DocumentError(FeedweirError):
    """A document that could not be read as a feed."""


class LandingError(FeedweirError):
    """A segment of the landing log that is missing or damaged."""


class DamagedFileError(FeedweirError):
    """A file of a log that is missing or not as it was written."""

    def __init__(self, path: Any, reason: str) -> None:
        hint = "run `feedweir doctor --repair`, or restore it from a backup"
        super().__init__(f"{path} is damaged: {reason}", hint=hint)
        self.path = path
        self.reason = reason

    def __reduce__(self) -> tuple[type[DamagedFileError], tuple[Any, str]]:
        return type(self), (self.path, self.reason)


class CompiledSetError(FeedweirError):
    """A compiled set that is damaged, or was written by another version."""


class WorkError(FeedweirError):
    """A query that would take more work on one item than any may."""


class NetworkError(FeedweirError):
    """A network that cannot be planned as it is described."""


class FrameError(FeedweirError):
    """A DataFrame, or queries for one, that cannot be matched as asked."""


class DeliveryError(FeedweirError):
    """A channel that refused; `is_final` when trying again cannot help, `is_gone` when the target is no more."""

    def __init__(
        self,
        message: str,
        *,
        is_final: bool = False,
        is_gone: bool = False,
        retry_after_s: float | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.is_final = is_final or is_gone
        self.is_gone = is_gone
        self.retry_after_s = retry_after_s
        """How long the receiver asks us to wait; None when it does not say."""


class SettingsError(FeedweirError):
    """A setting that cannot be used."""


class EngineError(FeedweirError):
    """What runs batches ended while it was being started, as when it was killed."""


class StorageError(FeedweirError):
    """A data directory or a database that cannot be used as things are: in use, full, locked, not permitted."""


class DisplacedError(StorageError):
    """Another process runs the batches of the data directory now."""
