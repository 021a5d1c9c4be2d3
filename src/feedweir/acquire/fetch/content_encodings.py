"""Undo Content-Encoding without ever producing more than a limit."""

from __future__ import annotations

import zlib

import pyarrow as pa

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
