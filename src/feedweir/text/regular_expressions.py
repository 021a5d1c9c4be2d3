"""Regular expressions, by RE2: whatever the expression, matching takes time linear in the text.

Here an expression is read, bounded and looked for in one text; `match` looks for many of them together.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import re2

from feedweir.errors import LanguageError

FLAGS = {"i": "whatever the case", "m": "`^` and `$` are at every line", "s": "`.` is a new line, too"}
MAX_PROGRAM = 5_000
"""Steps that an expression may be compiled to: each may be taken once for each character of a text."""


_BYTES = 2 << 20
"""Memory that an expression may use for its states; with less it is slower and finds the same."""


def options(flags: str = "") -> re2.Options:
    """How expressions are compiled: nothing is written to the terminal, nothing is captured."""
    found = re2.Options()
    found.log_errors = False
    found.never_capture = True
    found.max_mem = _BYTES
    found.case_sensitive = "i" not in flags
    return found


def as_compiled(pattern: str, flags: str) -> str:
    """The expression with the flags that RE2 accepts only inside it."""
    inner = "".join(flag for flag in flags if flag != "i")
    return f"(?{inner}){pattern}" if inner else pattern


@lru_cache(maxsize=4_096)
def compiled(pattern: str, flags: str = "") -> Any:
    """A compiled expression; raises `LanguageError` with the position of what cannot be read."""
    try:
        found = re2.compile(as_compiled(pattern, flags), options(flags))
    except re2.error as error:
        raise _unreadable(pattern, error.args[0]) from error
    if found.programsize > MAX_PROGRAM:
        hint = "use fewer repetitions, or ask for its parts one by one"
        raise LanguageError("this regular expression is too large", text=pattern, offset=0, hint=hint)
    return found


def has_match(pattern: str, flags: str, text: str) -> bool:
    return compiled(pattern, flags).search(text) is not None


def places(pattern: str, flags: str, text: str) -> Iterator[tuple[int, int]]:
    """Where an expression matches a non-empty part of a text."""
    for match in compiled(pattern, flags).finditer(text):
        if match.end() > match.start():
            yield match.span()


def _unreadable(pattern: str, explanation: bytes | str) -> LanguageError:
    """RE2 says what is wrong, then repeats the part of the expression where it is."""
    message, _, part = (explanation.decode() if isinstance(explanation, bytes) else explanation).partition(
        ": "
    )
    offset = max(pattern.find(part), 0) if part != pattern else 0
    hint = "look-around and back references are not supported" if "perl operator" in message else ""
    return LanguageError(f"{message}: {part}" if part else message, text=pattern, offset=offset, hint=hint)
