"""What a reader of a part of the language refuses, and where."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from feedweir.errors import LanguageError
from feedweir.language.tokens import Cursor

Read = TypeVar("Read")


def whole(read: Callable[[Cursor], Read], text: str) -> Read:
    """What is read of a text that must be read to its end."""
    c = Cursor(text)
    found = read(c)
    assert c.tokens[c.at] == "", f"{c.tokens[c.at :]} is left of {text}"
    return found


def error_of(read: Callable[[Cursor], object], text: str) -> LanguageError:
    """The error that reading a text ends in."""
    with pytest.raises(LanguageError) as caught:
        read(Cursor(text))
    return caught.value


def marked(read: Callable[[Cursor], object], text: str) -> str:
    """What is left of a text from the place on that the error points at."""
    error = error_of(read, text)
    return error.text[error.offset :]
