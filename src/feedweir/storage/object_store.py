"""A store of objects (S3, GCS, Azure) as a place for logs, by `obstore`.

What is mapped is fetched once, into a bounded directory of this machine (`storage/fetched.py`), which is named by a
token that the place got when it was first opened: another installation of the same name has other files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from typing import IO, Any, NamedTuple

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotSupportedError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
    UnknownConfigurationKeyError,
)
from obstore.store import from_url

from feedweir.errors import StorageError
from feedweir.kernels.kernel_files import chosen_place, temporary_place
from feedweir.storage.fetched import MOST_BYTES, FetchedFiles
from feedweir.storage.object_path import StoreAddress

IDENTITY = "IDENTITY"
_RETRY = {"max_retries": 5, "retry_timeout": timedelta(seconds=20)}
"""Whoever asks tries again by itself, and tells why it waits."""
_CLIENT = {"timeout": "60s", "connect_timeout": "5s"}
_DENIED = re.compile(
    r"ExpiredToken|InvalidAccessKeyId|SignatureDoesNotMatch|TokenRefreshRequired|InvalidToken"
)
_CREDENTIALS = "renew them in the environment or in `[storage]`; it is tried again, and nothing is lost"
_AWAY = "it is tried again, and nothing is lost; see `[storage]` for the endpoint"


class Found(NamedTuple):
    """A file of a store."""

    key: str
    size: int
    changed: datetime
    version: str


class ObjectStore:
    """One place in a store. Thread-safe; every process opens its own."""

    def __init__(self, address: StoreAddress) -> None:
        self.place = address.url
        self._address = address
        self._store = _opened(address)

    def put(self, key: str, data: bytes | Path) -> None:
        """Write bytes, or a local file, in the place of what was there."""
        with self._told(key):
            obstore.put(self._store, key, data)

    def put_absent(self, key: str, data: bytes) -> bool:
        """Write unless there is something else; whether these bytes are there."""
        try:
            with self._told(key):
                obstore.put(self._store, key, data, mode="create", use_multipart=False)
        except FileExistsError:
            # An answer may have been lost on its way, and the client has tried again.
            return self.get(key) == data
        return True

    def get(self, key: str) -> bytes:
        with self._told(key):
            return bytes(obstore.get(self._store, key).bytes())

    def find(self, key: str) -> Found | None:
        """What is there under a key."""
        try:
            with self._told(key):
                return _found(obstore.head(self._store, key))
        except FileNotFoundError:
            return None

    def keys(self, prefix: str) -> Iterator[Found]:
        """What begins with a prefix, in the order of keys."""
        folder = prefix.rpartition("/")[0]  # stores list whole names of folders
        with self._told(prefix):
            listed = [_found(one) for many in obstore.list(self._store, folder or None) for one in many]
        return iter(sorted(one for one in listed if one.key.startswith(prefix)))

    def delete(self, key: str) -> None:
        with self._told(key):
            obstore.delete(self._store, key)
        self.forget_local(key)

    def local(self, key: str) -> Path:
        """A file of this machine with the bytes of a key, which is never written twice."""

        def fetch(file: IO[bytes]) -> None:
            with self._told(key):
                for chunk in obstore.get(self._store, key).stream():
                    file.write(chunk)

        return self.fetched.find(key, fetch)

    @contextmanager
    def drafted(self, key: str) -> Iterator[IO[bytes]]:
        """A file to write, which is put when the block ends well; this machine need not fetch it again."""
        with self.fetched.drafted(key) as file:
            yield file
            file.flush()
            self.put(key, Path(file.name))

    def forget_local(self, key: str) -> None:
        self.fetched.forget(key)

    @cached_property
    def identity(self) -> str:
        """What the place was called when it was first opened, by whoever was first."""
        try:
            return self.get(IDENTITY).decode()
        except FileNotFoundError:
            self.put_absent(IDENTITY, token_hex(8).encode())
            return self.get(IDENTITY).decode()

    @cached_property
    def fetched(self) -> FetchedFiles:
        return FetchedFiles(self._kept / "fetched", self._address.cache_bytes or MOST_BYTES)

    @property
    def own(self) -> Path:
        """What a machine keeps for itself, and does not lose by fetching much."""
        return self._kept / "own"

    @property
    def _kept(self) -> Path:
        return _cache(self._address) / "stores" / self.identity

    def probe(self) -> None:
        """Raises `StorageError` unless the store keeps what it is given, at once, and puts only what is absent."""
        key = f"probe/{token_hex(8)}"
        try:
            self._probe(key)
        finally:
            obstore.delete(self._store, key)

    def _probe(self, key: str) -> None:
        try:
            self.put_absent(key, b"one")
            if self.put_absent(key, b"two") or self.get(key) != b"one":
                raise StorageError(
                    f"{self.place} takes 'put if absent' and overwrites all the same",
                    hint="use a store that honours If-None-Match, as S3, GCS, Azure and MinIO do, or a directory",
                )
        except NotSupportedError as error:
            raise StorageError(
                f"{self.place} has no 'put if absent'", hint="use S3, GCS, Azure or MinIO, or a directory"
            ) from error
        if not any(one.key == key for one in self.keys("probe/")):
            raise StorageError(
                f"{self.place} lists late what was put there",
                hint="use a store that lists at once, as S3, GCS, Azure and MinIO do, or a directory",
            )

    @contextmanager
    def _told(self, key: str) -> Iterator[None]:
        """Errors of the store as ours; a missing file is a `FileNotFoundError`, one that is there `FileExistsError`."""
        try:
            yield
        except (AlreadyExistsError, PreconditionError) as error:
            raise FileExistsError(key) from error
        except NotSupportedError:
            raise
        except (PermissionDeniedError, UnauthenticatedError) as error:
            raise self._refused(error) from error
        except BaseError as error:
            if _DENIED.search(str(error)):
                raise self._refused(error) from error
            raise StorageError(f"{self.place} does not answer: {_reason(error)}", hint=_AWAY) from error

    def _refused(self, error: BaseError) -> StorageError:
        return StorageError(f"{self.place} refuses its credentials: {_reason(error)}", hint=_CREDENTIALS)


def _opened(address: StoreAddress) -> Any:
    options = dict(address.options)
    is_plain = options.get("endpoint", "").startswith("http://")
    client: Any = {**_CLIENT, "allow_http": is_plain}
    try:
        return from_url(address.url, config=options, client_options=client, retry_config=_RETRY)  # type: ignore[call-overload]
    except (UnknownConfigurationKeyError, BaseError, ValueError) as error:
        raise StorageError(
            f"{address.url} cannot be opened: {_reason(error)}",
            hint="`data` is a directory or s3://bucket/folder, gs://… or az://…; see `[storage]`",
        ) from error


def _found(one: Any) -> Found:
    return Found(one["path"], one["size"], one["last_modified"], one["e_tag"] or one["version"] or "")


def _cache(address: StoreAddress) -> Path:
    """Where this machine keeps what it fetches: a temporary directory where the usual one cannot be written."""
    if address.cache:
        return Path(address.cache).absolute()
    usual = chosen_place(
        {name: os.environ[name] for name in ("XDG_CACHE_HOME", "HOME") if name in os.environ}
    )
    try:
        usual.mkdir(parents=True, exist_ok=True)
        return usual
    except OSError:
        return temporary_place()


def _reason(error: Exception) -> str:
    """The first line of an error, without the addresses and dumps that follow it."""
    line = str(error).strip().split("\n", 1)[0]
    return line[:300]
