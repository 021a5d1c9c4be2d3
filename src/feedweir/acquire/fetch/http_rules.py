"""HTTP as a polite reader understands it: what headers mean, and Content-Encoding undone within a limit.

Pure functions. Those of headers never raise: what cannot be understood is ignored.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_tz
from functools import lru_cache
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

import pyarrow as pa

Headers = Sequence[tuple[str, str]]
"""Pairs in the order they came; names in any case."""

REDIRECTS = frozenset({301, 302, 303, 307, 308})
PERMANENT_REDIRECTS = frozenset({301, 308})
MAX_SECONDS = 366 * 86_400
"""No header may specify more than a year; longer times are mistakes."""


@dataclass(frozen=True, slots=True)
class HeaderLink:
    """One link of a `Link` header."""

    url: str
    rels: tuple[str, ...]


def header(headers: Headers, name: str) -> str | None:
    """The first value of a header, spelled exactly as the server spelled it."""
    wanted = name.lower()
    return next((value for key, value in headers if key.lower() == wanted), None)


def all_values(headers: Headers, name: str) -> str:
    """All values of a header that may be repeated, joined as HTTP allows."""
    wanted = name.lower()
    return ", ".join(value for key, value in headers if key.lower() == wanted)


def parse_http_date(text: str) -> datetime | None:
    """A date in any of HTTP's three forms (and the usual misspellings); None when it is not a date."""
    try:
        parts = parsedate_tz(text)
        if parts is None:
            return None
        moment = datetime(*parts[:6], tzinfo=UTC).timestamp() - (parts[9] or 0)
        return datetime.fromtimestamp(moment, UTC)
    except (ValueError, TypeError, OverflowError, IndexError, OSError):
        return None


def freshness_s(headers: Headers, now: datetime) -> int:
    """How long from now the server declares its response fresh (max-age, or Expires; less its Age)."""
    lifetime = _lifetime_s(headers, now)
    age = _seconds(header(headers, "age")) or 0
    return min(max(lifetime - age, 0), MAX_SECONDS)


def retry_after_s(headers: Headers, now: datetime) -> int | None:
    """How long the server asks us to stay away; a date counts from the server's own clock."""
    value = header(headers, "retry-after")
    if value is None:
        return None
    seconds = _seconds(value)
    if seconds is not None:
        return seconds
    until = parse_http_date(value)
    return None if until is None else _between_s(_server_time(headers, now), until)


def cache_directives(value: str) -> dict[str, str]:
    """The directives of a Cache-Control header, lower case; the first of a name counts."""
    found: dict[str, str] = {}
    for match in _DIRECTIVE.finditer(value):
        found.setdefault(match["name"].lower(), (match["quoted"] or match["plain"] or "").strip())
    return found


def links_of(value: str, base: str = "") -> tuple[HeaderLink, ...]:
    """The links of a Link header (RFC 8288), addresses made absolute; what is malformed is skipped."""
    return tuple(_links(value, base)) if value else ()


@lru_cache(maxsize=1 << 16)
def wire_url(text: str, base: str = "") -> str | None:
    """The http(s) address to request, encoded for the wire, or None when the text is not one.

    What the publisher wrote stays as written; only what cannot be sent (spaces, other scripts) is encoded.
    """
    url = _without_feed_scheme(text.strip(" \t\r\n\f"))
    if any(ord(character) < 32 for character in url):
        return None
    try:
        parts = urlsplit(urljoin(base, url) if base else url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme.lower() not in ("http", "https") or not host:
        return None
    authority = _authority(host, port)
    if authority is None:
        return None
    path = quote(parts.path or "/", safe=_SAFE)
    return urlunsplit((parts.scheme.lower(), authority, path, quote(parts.query, safe=_SAFE), ""))


@lru_cache(maxsize=1 << 16)
def host_of(url: str) -> str:
    """The host that politeness is counted by; empty for what is not an address."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return ""


_DIRECTIVE = re.compile(r'(?P<name>[\w-]+)(?:\s*=\s*(?:"(?P<quoted>[^"]*)"|(?P<plain>[^,;\s]*)))?')
_LINK = re.compile(r"""<(?P<url>[^<>]*)>(?P<parameters>(?:\s*;\s*[^;,<>="]+(?:=\s*(?:"[^"]*"|[^;,"]*))?)*)""")
_REL = re.compile(r';\s*rel\s*=\s*(?:"([^"]*)"|([^;,"\s]+))', re.IGNORECASE)
_SAFE = "!#$%&'()*+,/:;=?@[]~|^`{}"


def _lifetime_s(headers: Headers, now: datetime) -> int:
    directives = cache_directives(all_values(headers, "cache-control"))
    if "no-cache" in directives or "no-store" in directives:
        return 0
    if "max-age" in directives:
        return _seconds(directives["max-age"]) or 0
    expires = parse_http_date(header(headers, "expires") or "")
    return 0 if expires is None else _between_s(_server_time(headers, now), expires)


def _server_time(headers: Headers, now: datetime) -> datetime:
    return parse_http_date(header(headers, "date") or "") or now


def _between_s(start: datetime, end: datetime) -> int:
    return min(max(int((end - start).total_seconds()), 0), MAX_SECONDS)


def _seconds(text: str | None) -> int | None:
    stripped = (text or "").strip()
    if not (stripped.isascii() and stripped.isdigit()):
        return None
    return min(int(stripped[:12]), MAX_SECONDS)


def _links(value: str, base: str) -> Iterator[HeaderLink]:
    for match in _LINK.finditer(value):
        rel = _REL.search(match["parameters"])
        url = wire_url(match["url"], base)
        if rel and url:
            yield HeaderLink(url, tuple((rel[1] or rel[2] or "").lower().split()))


def _without_feed_scheme(url: str) -> str:
    """`feed://host` and `feed:https://host` are how some pages write "subscribe to"."""
    if url[:7].lower() == "feed://":
        return "http://" + url[7:]
    return url[5:] if url[:5].lower() == "feed:" else url


def _authority(host: str, port: int | None) -> str | None:
    """Host and port without user names, which a redirect could plant."""
    try:
        name = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        return None
    if re.search(r"[\s<>\"\\^`{|}%#/?@]", name):
        return None
    if ":" in name:
        name = f"[{name}]"
    return name if port is None else f"{name}:{port}"


ACCEPT_ENCODING = "gzip, deflate, br, zstd"
_MAX_LAYERS = 3
_CODECS = {"br": "brotli", "zstd": "zstd"}
_PIECE_BYTES = 1 << 14
_IDENTITY = frozenset({"", "identity", "none", "utf-8"})


class TooLarge(Exception):
    """More bytes than the limit would come out."""


class Undecodable(Exception):
    """Bytes that do not match Content-Encoding, or an encoding that was not accepted."""


def decoded(body: bytes, content_encoding: str, max_bytes: int) -> bytes:
    """The decoded document; raises `TooLarge` beyond the limit, `Undecodable` when it cannot be decoded."""
    layers = [layer.strip().lower() for layer in content_encoding.split(",")]
    layers = [layer for layer in layers if layer not in _IDENTITY]
    if len(layers) > _MAX_LAYERS:
        raise Undecodable(f"{len(layers)} layers of compression")
    for layer in reversed(layers):
        body = _undone(body, layer, max_bytes)
    if len(body) > max_bytes:
        raise TooLarge
    return body


def _undone(body: bytes, layer: str, max_bytes: int) -> bytes:
    if layer in ("gzip", "x-gzip"):
        # Some servers announce gzip and send the plain text.
        return _gunzipped(body, max_bytes) if body[:2] == b"\x1f\x8b" else body
    if layer == "deflate":
        return _inflated(body, max_bytes)
    if layer in _CODECS:
        return _through_arrow(body, _CODECS[layer], max_bytes)
    raise Undecodable(f"unknown encoding {layer[:40]!r}")


def _gunzipped(body: bytes, max_bytes: int) -> bytes:
    """Every member of a gzip file, one after the other; trailing garbage is ignored, as browsers do."""
    parts: list[bytes] = []
    room, at = max_bytes, 0
    while body[at : at + 2] == b"\x1f\x8b":
        part, at = _one_stream(body, 31, room, at)
        parts.append(part)
        room -= len(part)
    return b"".join(parts)


def _inflated(body: bytes, max_bytes: int) -> bytes:
    """Deflate means zlib by the standard, but some servers send raw deflate."""
    try:
        return _one_stream(body, 15, max_bytes)[0]
    except Undecodable:
        return _one_stream(body, -15, max_bytes)[0]


def _one_stream(body: bytes, window_bits: int, max_bytes: int, start: int = 0) -> tuple[bytes, int]:
    """What the stream that begins there holds, and where it ends."""
    decoder = zlib.decompressobj(window_bits)
    parts: list[bytes] = []
    room, at = max_bytes + 1, start  # a limit of 0 would mean "no limit" to zlib
    while at < len(body) and not decoder.eof:
        # Piece by piece: what follows a stream is copied by zlib, and there may be very many short streams.
        piece = body[at : at + _PIECE_BYTES]
        try:
            parts.append(decoder.decompress(piece, room))
        except zlib.error as error:
            raise Undecodable(str(error)) from error
        room -= len(parts[-1])
        if room <= 0:
            raise TooLarge
        at += len(piece) - len(decoder.unused_data)
    if not decoder.eof:
        raise Undecodable("the compressed body breaks off")
    return b"".join(parts), at


def _through_arrow(body: bytes, codec: str, max_bytes: int) -> bytes:
    try:
        with pa.CompressedInputStream(pa.BufferReader(body), codec) as stream:
            output: bytes = stream.read(max_bytes + 1)
    except (pa.ArrowException, OSError) as error:
        raise Undecodable(str(error)[:200]) from error
    if len(output) > max_bytes:
        raise TooLarge
    return output
