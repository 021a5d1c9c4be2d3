"""What every route needs: the installation, the clock, the public address."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from urllib.parse import urlsplit

from fastapi import Request

from feedweir.deliver.address import Address
from feedweir.web.backend import Backend

PublicReads = Literal["none", "feeds", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebOptions:
    """How the HTTP server presents itself."""

    public_url: str = ""
    """The server's address as readers see it; empty takes it from each request."""
    token: str = ""
    """When set, everything needs it that is neither open nor public."""
    public_reads: PublicReads = "none"
    """What may be read without the token: nothing, the feeds, or all that shows no subscriber."""
    allowed_hosts: tuple[str, ...] = ()
    """Accepted host names, in addition to localhost, IP addresses and the public address; `*` is any."""
    max_statement_bytes: int = 1_048_576
    keep_alive_s: float = 15.0
    """How long a stream is silent before a keep-alive comment is sent."""
    max_message_bytes: int = 16_777_216
    """For a mail server's report."""


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    backend: Backend
    options: WebOptions
    has_hub: bool = False
    """Whether feeds are announced to WebSub subscribers."""
    clock: Callable[[], datetime]

    def address(self, request: Request) -> Address:
        """The public address that feeds use for themselves."""
        return Address(self.options.public_url.rstrip("/") or str(request.base_url).rstrip("/"))

    def hub(self) -> str:
        """The WebSub hub that feeds announce; empty without a public address."""
        return self.address_of(self.options.public_url).hub() if self.options.public_url else ""

    @staticmethod
    def address_of(url: str) -> Address:
        return Address(url.rstrip("/"))

    def path(self) -> Address:
        """For links between pages: without a host they work under every name of the server."""
        return Address(urlsplit(self.options.public_url).path.rstrip("/"))
