"""The transport on real sockets. Addresses are checked when a socket connects, for every connection."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
from contextlib import AbstractAsyncContextManager
from types import TracebackType

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from feedweir import __version__
from feedweir.acquire.fetch.addresses import PUBLIC_ONLY, AddressRule, parse_address
from feedweir.acquire.fetch.transport import Reason, Request, Response, TransportError

_CHUNK_BYTES = 64 << 10
_MARK = "not a public address:"
_FOREIGN = (aiohttp.ClientError, OSError, ValueError, asyncio.IncompleteReadError)


class ForbiddenAddress(OSError):
    """A socket was about to connect to an address outside the rule."""

    def __init__(self, address: str) -> None:
        super().__init__(errno.EACCES, f"{_MARK} {address}")


class AiohttpTransport:
    """One connection pool; use it as an async context manager, within one event loop."""

    def __init__(
        self,
        *,
        rule: AddressRule = PUBLIC_ONLY,
        max_connections: int = 256,
        max_connections_per_host: int = 2,
        keep_alive_s: float = 15.0,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._rule = rule
        self._connector_options = {
            "limit": max_connections,
            "limit_per_host": max_connections_per_host,
            "keepalive_timeout": keep_alive_s,
            "resolver": resolver,
            "ttl_dns_cache": 60,
            "socket_factory": self._socket,
        }
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> AiohttpTransport:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(**self._connector_options),  # type: ignore[arg-type]
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            # Every request names the program; a fetch says more.
            headers={"User-Agent": f"Feedweir/{__version__}"},
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
            timeout=aiohttp.ClientTimeout(total=None),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    def open(self, request: Request) -> _Exchange:
        """One request, one response, as `Transport` requires."""
        if self._session is None:
            raise RuntimeError("the transport is used outside its context")
        url = URL(request.url, encoded=True)
        self._check_literal(url.raw_host or "")
        answer = self._session.request(
            request.method, url, headers=request.headers, data=request.body or None, allow_redirects=False
        )
        return _Exchange(answer)

    def _check_literal(self, host: str) -> None:
        # An address written out in the URL would fail at the socket too; here the refusal costs nothing.
        is_literal = ":" in host or host[-1:].isdigit()
        if is_literal and parse_address(host) is not None and not self._rule.permits(host):
            raise TransportError(Reason.FORBIDDEN_ADDRESS, host)

    def _socket(self, info: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, _, address = info
        if not self._rule.permits(str(address[0])):
            raise ForbiddenAddress(str(address[0]))
        return socket.socket(family=family, type=kind, proto=protocol)


class _Exchange:
    """An exchange that raises `TransportError`, on the response or while its body is read."""

    __slots__ = ("_answer",)

    def __init__(self, answer: AbstractAsyncContextManager[aiohttp.ClientResponse]) -> None:
        self._answer = answer

    async def __aenter__(self) -> Response:
        try:
            answer = await self._answer.__aenter__()
        except _FOREIGN as error:
            raise converted(error) from error
        return Response(answer.status, _headers(answer), answer.content.iter_chunked(_CHUNK_BYTES))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._answer.__aexit__(kind, error, trace)
        except _FOREIGN as late:
            raise converted(late) from late
        if isinstance(error, _FOREIGN):
            raise converted(error) from error


def converted(error: Exception) -> TransportError:
    """An error of aiohttp or the system as `TransportError`."""
    if _is_forbidden(error):
        return TransportError(Reason.FORBIDDEN_ADDRESS, str(error).rpartition(_MARK)[2].strip(" ])"))
    return TransportError(_reason(error), (_cause(error) or str(error) or type(error).__name__)[:200])


def _cause(error: Exception) -> str:
    """Why the connection failed, in the system's words; empty when it gives none."""
    beneath = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else None
    if beneath is None:
        return ""
    is_plain = not isinstance(beneath, ssl.SSLError) and (beneath.errno or 0) > 0
    return os.strerror(beneath.errno or 0) if is_plain else beneath.strerror or ""


def _reason(error: Exception) -> Reason:
    if isinstance(error, TimeoutError):
        return Reason.SLOW
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Reason.UNRESOLVED
    if isinstance(error, aiohttp.ClientSSLError | aiohttp.ServerFingerprintMismatch):
        return Reason.TLS
    if isinstance(error, aiohttp.InvalidURL):
        return Reason.BAD_URL
    if isinstance(error, aiohttp.ClientConnectionError | OSError):
        return Reason.CONNECTION
    return Reason.PROTOCOL


def _is_forbidden(error: BaseException) -> bool:
    # When a name has several addresses only the text of each one's failure survives.
    return _MARK in str(error)


def _headers(answer: aiohttp.ClientResponse) -> tuple[tuple[str, str], ...]:
    return tuple(answer.headers.items())
