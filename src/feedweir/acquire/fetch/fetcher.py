"""Fetch one source politely: conditional, bounded in size, time and redirects, and never an exception."""

from __future__ import annotations

import asyncio
import hashlib
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from urllib.parse import unquote, urlsplit

from feedweir.acquire.fetch.discovery import discover, looks_like_html
from feedweir.acquire.fetch.http_rules import (
    ACCEPT_ENCODING,
    PERMANENT_REDIRECTS,
    REDIRECTS,
    TooLarge,
    Undecodable,
    all_values,
    decoded,
    freshness_s,
    header,
    host_of,
    links_of,
    retry_after_s,
    wire_url,
)
from feedweir.acquire.fetch.transport import (
    Agent,
    Changed,
    Failed,
    FetchLimits,
    FetchRequest,
    FetchResult,
    Gone,
    Reason,
    Request,
    Response,
    Transport,
    TransportError,
    Unchanged,
    Validators,
)
from feedweir.logs.landing import Landed
from feedweir.text.redact import without_secrets

ACCEPT = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml,"
    " application/xml;q=0.9, text/xml;q=0.9, application/json;q=0.8, text/turtle;q=0.5, application/trig;q=0.5,"
    " application/n-triples;q=0.5, application/n-quads;q=0.5, */*;q=0.1"
)
_DOCUMENT_STATUSES = frozenset({200, 203, 226})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetcher:
    """Everything a fetch needs beside its request."""

    transport: Transport
    clock: Callable[[], datetime]
    limits: FetchLimits = field(default_factory=FetchLimits)
    agent: Agent = field(default_factory=Agent)

    async def fetch(self, request: FetchRequest) -> FetchResult:
        """Poll a source once. Whatever goes wrong is the result's outcome."""
        chain = _RedirectChain()
        try:
            async with asyncio.timeout(None) as deadline:
                return await self._follow(request, chain, _Deadline(deadline, self.limits))
        except TimeoutError:
            outcome = Failed(reason=Reason.SLOW, detail=chain.too_slow)
        except TransportError as error:
            outcome = Failed(reason=error.reason, detail=error.detail)
        return FetchResult(source=request.source, at=self.clock(), outcome=outcome, hosts=tuple(chain.hosts))

    async def _follow(self, request: FetchRequest, chain: _RedirectChain, deadline: _Deadline) -> FetchResult:
        url = wire_url(request.url)
        if url is None:
            raise TransportError(Reason.BAD_URL, without_secrets(request.url)[:200])
        for step in range(self.limits.max_redirects + 1):
            chain.reached(url)
            chain.too_slow = deadline.until_first_byte()
            headers = request_headers(request, url, self.agent)
            async with self.transport.open(Request(url, headers, is_onward=step > 0)) as response:
                chain.too_slow = deadline.until_the_end()
                if response.status not in REDIRECTS:
                    return await self._judged(request, url, response, chain)
                url = chain.onwards(url, response)
        raise TransportError(Reason.REDIRECTS, f"more than {self.limits.max_redirects}, last {url[:200]}")

    async def _judged(
        self, request: FetchRequest, url: str, response: Response, chain: _RedirectChain
    ) -> FetchResult:
        outcome = await self._outcome(request, url, response)
        found_at = feed_of_page(request, outcome)
        if found_at:
            outcome = Failed(reason=Reason.PAGE, detail=found_at)
        now = self.clock()
        links = links_of(all_values(response.headers, "link"), url)
        return FetchResult(
            source=request.source,
            at=now,
            outcome=outcome,
            status=response.status,
            fresh_s=freshness_s(response.headers, now),
            retry_after_s=retry_after_s(response.headers, now),
            moved_to=chain.moved_to if isinstance(outcome, Changed | Unchanged) else "",
            found_at=found_at,
            hub=next((link.url for link in links if "hub" in link.rels), ""),
            topic=next((link.url for link in links if "self" in link.rels), ""),
            hosts=tuple(chain.hosts),
        )

    async def _outcome(
        self, request: FetchRequest, url: str, response: Response
    ) -> Changed | Unchanged | Failed | Gone:
        """The outcome that a response means."""
        if response.status == 410:
            return Gone()
        if response.status == 304 and request.validators.url == url:
            return Unchanged(validators=refreshed(request.validators, response))
        if response.status not in _DOCUMENT_STATUSES:
            return Failed(reason=Reason.STATUS, detail=f"HTTP {response.status}")
        body = self._unpacked(await self._body(response), response)
        return outcome_of(request, url, response, body, self.clock())

    async def _body(self, response: Response) -> bytes:
        """The body on the wire; reading stops as soon as the limit is passed."""
        limit = self.limits.max_wire_bytes
        declared = header(response.headers, "content-length") or ""
        if declared.isascii() and declared.isdigit() and int(declared[:18]) > limit:
            raise TransportError(Reason.TOO_LARGE, f"{declared[:18]} bytes announced, {limit} allowed")
        parts: list[bytes] = []
        size = 0
        async for chunk in response.chunks:
            size += len(chunk)
            if size > limit:
                raise TransportError(Reason.TOO_LARGE, f"more than {limit} bytes")
            parts.append(chunk)
        return b"".join(parts)

    def _unpacked(self, wire: bytes, response: Response) -> bytes:
        try:
            body = decoded(wire, header(response.headers, "content-encoding") or "", self.limits.max_bytes)
        except TooLarge:
            raise TransportError(Reason.BOMB, f"more than {self.limits.max_bytes} bytes") from None
        except Undecodable as error:
            raise TransportError(Reason.ENCODING, str(error)) from None
        if not body.strip():
            raise TransportError(Reason.EMPTY)
        return body


class _RedirectChain:
    """Where redirects have led so far."""

    def __init__(self) -> None:
        self.hosts: list[str] = []
        self.moved_to = ""
        self.too_slow = ""
        self._asked: set[str] = set()
        self._all_permanent = True

    def reached(self, url: str) -> None:
        self.hosts.append(host_of(url))
        self._asked.add(url)

    def onwards(self, url: str, response: Response) -> str:
        target = wire_url(header(response.headers, "location") or "", url)
        if target is None or not header(response.headers, "location"):
            raise TransportError(Reason.PROTOCOL, f"HTTP {response.status} without a usable Location")
        if target in self._asked:
            # Without cookies the same request would get the same response until the limit is reached.
            raise TransportError(Reason.REDIRECTS, f"in a loop, back to {target[:200]}")
        # Only an unbroken chain of permanent redirects says where the feed lives now.
        self._all_permanent = self._all_permanent and response.status in PERMANENT_REDIRECTS
        if self._all_permanent:
            self.moved_to = target
        return target


class _Deadline:
    """How long a poll may take: until each response begins, and in all."""

    def __init__(self, timeout: asyncio.Timeout, limits: FetchLimits) -> None:
        self._timeout = timeout
        self._limits = limits
        self._clock = asyncio.get_running_loop().time
        self._end = self._clock() + limits.total_s

    def until_first_byte(self) -> str:
        """Wait for a response to begin from now on; returns the failure's text if it does not."""
        moment = self._clock() + self._limits.first_byte_s
        if moment >= self._end:
            return self.until_the_end()
        self._timeout.reschedule(moment)
        return f"no response within {self._limits.first_byte_s:g} s"

    def until_the_end(self) -> str:
        self._timeout.reschedule(self._end)
        return f"no document within {self._limits.total_s:g} s"


def request_headers(request: FetchRequest, url: str, agent: Agent) -> tuple[tuple[str, str], ...]:
    """The headers of a request: who we are, what we read, which version we have; no cookie, no referrer."""
    headers = [
        ("User-Agent", agent.header(request.subscribers)),
        ("Accept", ACCEPT),
        ("Accept-Encoding", ACCEPT_ENCODING),
    ]
    validators = request.validators
    # Validators belong to one address; sent to another they could call a different document unchanged.
    etag, last_modified = _sendable(validators.etag), _sendable(validators.last_modified)
    if validators.url == url and etag:
        headers.append(("If-None-Match", etag))
    if validators.url == url and last_modified:
        headers.append(("If-Modified-Since", last_modified))
    credentials = _credentials(request.url)
    # A redirect must not carry them to another host, nor out of an encrypted connection.
    is_kept = host_of(request.url) == host_of(url) and (_is_plain(request.url) or not _is_plain(url))
    if credentials and is_kept:
        headers.append(("Authorization", credentials))
    return tuple(headers)


def outcome_of(
    request: FetchRequest, url: str, response: Response, body: bytes, now: datetime
) -> Changed | Unchanged:
    """A 200 is a change only if its bytes differ from the last document's."""
    body_hash = hashlib.blake2b(body, digest_size=16).hexdigest()
    validators = Validators(
        url=url,
        etag=_sendable(header(response.headers, "etag")),
        last_modified=_sendable(header(response.headers, "last-modified")),
        body_hash=body_hash,
    )
    if body_hash == request.validators.body_hash:
        return Unchanged(validators=validators)
    media_type = header(response.headers, "content-type") or ""
    document = Landed(
        source=request.source,
        url=url,
        media_type=media_type,
        arrived=now,
        body=body,
        id_path=request.id_path,
    )
    return Changed(document=document, validators=validators)


def feed_of_page(request: FetchRequest, outcome: Changed | Unchanged | Failed | Gone) -> str:
    """The feed that a page declares, when that page is the first answer of a source; else empty."""
    is_first = request.is_page_searched and not request.validators.body_hash
    if not is_first or not isinstance(outcome, Changed):
        return ""
    page = outcome.document
    if not looks_like_html(page.body, page.media_type):
        return ""
    declared = (c.url for c in discover(page.body, page.url, page.media_type) if c.is_declared)
    return next((url for url in declared if url != page.url), "")


def refreshed(validators: Validators, response: Response) -> Validators:
    """A 304 may bring newer validators; what it does not mention stays."""
    return replace(
        validators,
        etag=_sendable(header(response.headers, "etag")) or validators.etag,
        last_modified=_sendable(header(response.headers, "last-modified")) or validators.last_modified,
    )


def _sendable(value: str | None) -> str:
    """A validator that can go back exactly as it came; one that cannot would only be wrong, or end the request."""
    if not value or any(character < " " or character == "\x7f" for character in value):
        return ""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return ""
    return value


def _is_plain(url: str) -> bool:
    return not url.lower().startswith("https:")


def _credentials(url: str) -> str:
    """Basic credentials that a user wrote into the address of a private feed."""
    if "@" not in url:
        return ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    if not parts.username:
        return ""
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return "Basic " + b64encode(pair.encode("utf-8")).decode("ascii")
