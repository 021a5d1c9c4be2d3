"""What the origin answers, pictures and sounds included: a pure function of the request and the time."""

from __future__ import annotations

import hashlib
import io
import math
import wave
from array import array
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from html import escape

from feedweir.sample.invented_documents import MEDIA_TYPES, document, page
from feedweir.sample.script import SampleChannel, channels, modified, stories, story


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """A request, as far as it matters."""

    path: str
    if_none_match: str = ""
    if_modified_since: str = ""


@dataclass(frozen=True, slots=True)
class SampleAnswer:
    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = field(default=())


def answer(asked: SampleRequest, now: datetime, base: str) -> SampleAnswer:
    """The answer of the origin whose URL is `base`."""
    path = asked.path.partition("?")[0]
    for channel in channels():
        if path == f"/{channel.path}":
            return _feed(channel, asked, now, base)
        if path.startswith((f"/stories/{channel.slug}/", f"/media/{channel.slug}/")):
            return _about_story(channel, path, now)
    if path == "/":
        return _typed("text/html; charset=utf-8", _index(base))
    return BROKEN.get(path, _NOT_FOUND)


def _feed(channel: SampleChannel, asked: SampleRequest, now: datetime, base: str) -> SampleAnswer:
    body = document(channel, now, base)
    changed = modified(channel, now)
    tag = f'"{hashlib.blake2b(body, digest_size=10).hexdigest()}"'
    headers = (
        ("ETag", tag),
        ("Last-Modified", format_datetime(changed, usegmt=True)),
        ("Cache-Control", "max-age=10"),
    )
    if _has_it(asked, tag, changed):
        return SampleAnswer(304, b"", headers)
    return SampleAnswer(200, body, (("Content-Type", MEDIA_TYPES[channel.format]), *headers))


def _has_it(asked: SampleRequest, tag: str, changed: datetime) -> bool:
    if asked.if_none_match:
        return tag in asked.if_none_match or asked.if_none_match.strip() == "*"
    try:
        since = parsedate_to_datetime(asked.if_modified_since)
    except ValueError:
        return False
    return changed <= (since if since.tzinfo else since.replace(tzinfo=UTC))


def _about_story(channel: SampleChannel, path: str, now: datetime) -> SampleAnswer:
    number, _, suffix = path.rpartition("/")[2].partition(".")
    if not number.isascii() or not number.isdigit() or int(number) > stories(channel, now)[0].number:
        return _NOT_FOUND
    if path.startswith("/stories/"):
        return _typed("text/html; charset=utf-8", page(channel, story(channel, int(number), now)))
    if suffix == "svg":
        return _typed("image/svg+xml", chart(int(number)))
    return _typed("audio/wav", melody(int(number)))


def _index(base: str) -> bytes:
    rows = "".join(
        f'<li><a href="{base}/{channel.path}">{escape(channel.title)}</a> ({channel.format})</li>'
        for channel in channels()
    )
    return f'<!doctype html><meta charset="utf-8"><title>Sample feeds</title><ul>{rows}</ul>'.encode()


def _typed(media_type: str, body: bytes, status: int = 200) -> SampleAnswer:
    return SampleAnswer(status, body, (("Content-Type", media_type),))


_NOT_FOUND = _typed("text/plain; charset=utf-8", b"There is nothing here.\n", 404)

_BOMB = b"""<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "ten times ten times "><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;"><!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;">]>
<rss version="2.0"><channel><title>Bomb</title><item><title>&e;</title></item></channel></rss>
"""

BROKEN = {
    "/broken/page.xml": _typed("text/html", b"<!doctype html><title>Oops</title><p>This is not a feed.</p>"),
    "/broken/cut.xml": _typed(
        "text/xml", b'<rss version="2.0"><channel><title>Cut</title><item><title>Half a'
    ),
    "/broken/bomb.xml": _typed("text/xml", _BOMB),
    "/broken/empty.xml": _typed("text/xml", b""),
    "/broken/gone.xml": _typed("text/plain", b"gone\n", 410),
    "/broken/busy.xml": SampleAnswer(
        503, b"busy\n", (("Content-Type", "text/plain"), ("Retry-After", "120"))
    ),
}
"""For trying what happens when something is wrong; no statement of the sample registers them."""


_RATE_HZ = 8000
_NOTE_S = 0.28
_PENTATONIC = (0, 2, 4, 7, 9, 12)


def chart(number: int) -> bytes:
    """The level of the river over a day, as a picture."""
    points = [(x * 12, 60 - 22 * math.sin(number + x / 3) - 8 * math.sin(number * 3 + x)) for x in range(51)]
    line = " ".join(f"{x},{y:.1f}" for x, y in points)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 120" width="600" height="120">'
        '<rect width="600" height="120" rx="6" fill="#e4f0f1"/>'
        f'<polygon points="0,120 {line} 600,120" fill="#0f6f7d" fill-opacity=".25"/>'
        f'<polyline points="{line}" fill="none" stroke="#0f6f7d" stroke-width="3"/></svg>'
    ).encode()


def melody(number: int) -> bytes:
    """Eight notes by the river, as a WAV file."""
    samples = array("h")
    for place in range(8):
        step = _PENTATONIC[(number * (place + 3) + place * place) % len(_PENTATONIC)]
        samples.extend(_note(261.6 * 2 ** (step / 12)))
    written = io.BytesIO()
    with wave.open(written, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(_RATE_HZ)
        sound.writeframes(samples.tobytes())
    return written.getvalue()


def _note(frequency_hz: float) -> list[int]:
    count = int(_RATE_HZ * _NOTE_S)
    fade = (math.sin(math.pi * index / count) for index in range(count))
    return [
        int(9000 * loud * math.sin(2 * math.pi * frequency_hz * index / _RATE_HZ))
        for index, loud in enumerate(fade)
    ]
