"""Pictures and sounds that go with stories, made of their numbers."""

from __future__ import annotations

import io
import math
import wave
from array import array

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
