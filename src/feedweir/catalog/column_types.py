"""Column types that store the same bytes in both databases."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, LargeBinary, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from feedweir.errors import CatalogError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""PostgreSQL refuses NUL in text, and half a surrogate pair is not UTF-8."""

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)

_LONGEST_KEY = 1_000
"""Bytes; PostgreSQL has no index entries beyond 2,700."""


class Moment(TypeDecorator[datetime]):
    """A time with its zone, kept as microseconds since 1970 in UTC: exact, sortable, the same everywhere."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else microseconds(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        return None if value is None else moment(value)


class Json(TypeDecorator[Any]):
    """A JSON value in one spelling: sorted keys, ASCII only, so that any text in it can be stored."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return canonical_json(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


class JsonTuple(Json):
    """Some values in their order, as a tuple."""

    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else tuple(json.loads(value))


class Flag(TypeDecorator[bool]):
    """True or false, as 1 or 0."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: bool | None, dialect: Dialect) -> int | None:
        return None if value is None else int(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> bool | None:
        return None if value is None else bool(value)


class Header(TypeDecorator[str]):
    """An HTTP header value byte for byte; what is no UTF-8 is in the surrogates that clients decode it to."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:
        return None if value is None else value.encode("utf-8", "surrogateescape")

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> str | None:
        return None if value is None else bytes(value).decode("utf-8", "surrogateescape")


class Prose(TypeDecorator[str]):
    """Text for people: what cannot be stored is replaced, as a reason must never stop what it explains."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else cleaned(value)


def cleaned(text: str) -> str:
    """`text` with U+FFFD for whatever cannot be stored."""
    return _UNSTORABLE.sub("\ufffd", text)


def microseconds(value: datetime) -> int:
    if value.tzinfo is None:
        raise CatalogError(f"the time {value.isoformat()} has no zone", hint="pass times in UTC")
    return (value - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    return _EPOCH + value * _MICROSECOND


def canonical_json(value: Any) -> str:
    if value == {}:
        # By far the most frequent.
        return "{}"
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise CatalogError(f"a value that is not JSON cannot be stored: {error}") from None


def storable(text: str, what: str) -> str:
    """`text` itself, or an error: for what must come back exactly as it was given."""
    if _UNSTORABLE.search(text):
        raise CatalogError(f"{what} has a character that cannot be stored: {text!r}")
    return text


def storable_key(key: str) -> str:
    """`key` itself, or its hash when it is long or cannot be stored: for what is only ever compared."""
    data = key.encode("utf-8", "surrogatepass")
    if len(data) <= _LONGEST_KEY and not _UNSTORABLE.search(key):
        return key
    return "sha256:" + hashlib.sha256(data).hexdigest()
