"""The values that fetching works with, and the interface to the network."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol, TypeAlias

from feedweir.acquire.fetch.http_rules import Headers
from feedweir.logs.landing import Landed


class Reason(Enum):
    """Why a fetch failed, in the words a person sees."""

    BAD_URL = "not an http or https address"
    FORBIDDEN_ADDRESS = "the address is not on the public internet"
    UNRESOLVED = "the host name does not resolve"
    CONNECTION = "the connection failed"
    TLS = "the TLS certificate or encryption is not acceptable"
    SLOW = "the server is too slow"
    PROTOCOL = "the response is not valid HTTP"
    TOO_LARGE = "the document is too large"
    BOMB = "the document is too large when decompressed"
    ENCODING = "the body cannot be decompressed"
    REDIRECTS = "too many redirects"
    EMPTY = "the document is empty"
    STATUS = "the server returned an error"
    UNREADABLE = "the document is not a feed"
    PAGE = "this is an HTML page that declares its feed"
    """Not a failure: the poll continues with that feed."""
    BUSY = "requests to this host must wait"
    """Our own restraint, not the source's failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """What one fetch may cost."""

    max_bytes: int = 16 << 20
    """After decompression."""
    max_wire_bytes: int = 8 << 20
    total_s: float = 30.0
    first_byte_s: float = 15.0
    max_redirects: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """How we introduce ourselves."""

    product: str = "Feedweir"
    version: str = "0.1"
    contact: str = ""
    """A page that tells publishers who is fetching, and how to complain."""

    def header(self, subscribers: int) -> str:
        about = [f"+{self.contact}"] if self.contact else []
        about.append("1 subscriber" if subscribers == 1 else f"{subscribers} subscribers")
        return f"{self.product}/{self.version} ({'; '.join(about)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Validators:
    """What a server gave us to recognise its document by, byte for byte, and the address that it belongs to."""

    url: str = ""
    etag: str = ""
    last_modified: str = ""
    body_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    source: str
    url: str
    validators: Validators = Validators()
    subscribers: int = 1
    is_page_searched: bool = True
    """Whether a page in place of a feed is searched for the address of its feed."""
    id_path: str = ""
    """The path to its items' ids, if the registration gives one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A new document."""

    document: Landed
    validators: Validators


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """The server answered 304, or sent the same bytes again."""

    validators: Validators


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    reason: Reason
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason.value}: {self.detail}" if self.detail else self.reason.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """The server says that it is permanently gone (410)."""

    def __str__(self) -> str:
        return "the server says that it is permanently gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResult:
    """The result of polling a source once; never an exception."""

    source: str
    at: datetime
    outcome: Changed | Unchanged | Failed | Gone
    status: int = 0
    """The last status seen, 0 when no answer came."""
    fresh_s: int = 0
    """For how long the server declared its answer good."""
    retry_after_s: int | None = None
    moved_to: str = ""
    """Where permanent redirects lead, for a successful poll."""
    found_at: str = ""
    """The feed that the page names, if there was a page."""
    hub: str = ""
    """The WebSub hub and the topic that the headers name."""
    topic: str = ""
    hosts: tuple[str, ...] = ()
    """Every host that was asked, in order."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request on the wire: no redirects are followed, no header is added."""

    url: str
    headers: tuple[tuple[str, str], ...]
    method: str = "GET"
    body: bytes = b""
    is_onward: bool = False
    """Whether a redirect led here. The poll has begun already, so this request may wait for its turn."""


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: Headers
    chunks: AsyncIterator[bytes]
    """The body as it is on the wire, still compressed."""


class TransportError(Exception):
    """What every transport raises, whatever it is based on."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


Exchange: TypeAlias = AbstractAsyncContextManager[Response]
"""One request and its answer, while it is open."""


class Transport(Protocol):
    """The interface to the network."""

    def open(self, request: Request) -> Exchange: ...
