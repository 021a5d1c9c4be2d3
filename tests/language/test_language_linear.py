"""Reading a text takes time in proportion to its length, whatever the text."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from feedweir.errors import LanguageError
from feedweir.items.gc_pause import gc_paused
from feedweir.language import parse, parse_search

_SIZE = 30_000
_GROWTH = 8
_MAX_RATIO = 24.0
"""What is quadratic takes 64 times as long."""
_FLOOR_S = 0.01
_TRIES = 4
_STATEMENTS = (
    "'", "''", "'a", "'a''", "''a", '"', '""a', "“", "‘", "“a ", "/*", "/* ", "/* *", "--", "a+", "a.-", "a.", "a-",
    "a", "a://", "a://(", "http://a,", "http://a,a://", "<", "<a", "<a:", "select <", "select <>", "select <a> ",
    "matches /", "matches /a", "matches /\\", "$a-", "..", "(", "not ", "create ", "a or ", ";",
    "create feed a from b where (", "create feed a from b|", "create feed a from b; ",
)  # fmt: skip
_SEARCHES = (
    '"',
    "“",
    "a ",
    "-",
    "- ",
    "(",
    "()",
    "a:",
    "2of(",
    "a,",
    "|",
    "1of",
    "a=",
    "OR ",
    "NOT ",
    "in ",
    "a in title ",
)
_CASES = [pytest.param(parse, unit, id=f"statements: {unit!r}") for unit in _STATEMENTS] + [
    pytest.param(parse_search, unit, id=f"search: {unit!r}") for unit in _SEARCHES
]


@pytest.mark.parametrize(("read", "unit"), _CASES)
def test_the_time_of_a_text_grows_with_its_length(read: Callable[[str], object], unit: str) -> None:
    small, large = (unit * (size // len(unit)) for size in (_SIZE, _GROWTH * _SIZE))
    for _ in range(_TRIES):
        before, after = _seconds(read, small), _seconds(read, large)
        if after < max(before * _MAX_RATIO, _FLOOR_S * _GROWTH):
            return
    raise AssertionError(f"{before:.4f} s became {after:.4f} s with {_GROWTH} times the text")


def _seconds(read: Callable[[str], object], text: str) -> float:
    """Without the search for garbage, which goes by what the whole process holds."""
    with gc_paused():
        start = time.process_time()
        with suppress(LanguageError):
            read(text)
        return time.process_time() - start
