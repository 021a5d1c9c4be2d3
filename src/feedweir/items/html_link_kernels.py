"""The addresses in HTML: which may stay, which must go, and which are not for the fast way."""

from __future__ import annotations

import numpy as np

from feedweir.items.html_tables import (
    ALLOWED_SCHEMES,
    CODES,
    MAX_NAME,
    name_code,
)
from feedweir.items.html_text_kernels import (
    AMP,
    COLON,
    HASH,
    SLASH,
    kernel,
    place_of,
)

DECLINED = 1
"""A byte that no HTML holds: in place of a text that was declined, and after every link."""
RELATIVE = 2
"""Another: before an address that waits for its base."""
UNSAFE = -2
_WEB = np.frombuffer(b"http", np.uint8)
_AUTHORITY = np.frombuffer(b"://", np.uint8)
_HTTP, _HTTPS, _FTP = name_code("http"), name_code("https"), name_code("ftp")
_FIRST_DIGIT = int(CODES[ord("0")])


@kernel
def write_link(out, i, end, links, n, is_wanted):  # type: ignore[no-untyped-def]
    """The end in `links` after an address as it was written: a place in the text, a relative link, a link to a
    plain host, an address of another kind that is allowed. `UNSAFE` for one that is not, -1 for all else."""
    if i == end or out[i] == HASH:
        return n
    after = i + 1 if out[i] == RELATIVE else _after_web_host(out, i, end)
    if after < 0:
        return _other_scheme(out, i, end, n)
    for k in range(after, end):
        if out[k] <= 32 or 0xE1 <= out[k] <= 0xE3 or (out[k] == AMP and out[k + 1] != 97):
            return -1  # white space of any script, or an entity other than `&amp;`
    while is_wanted and i < end:
        links[n] = out[i]
        n += 1
        i += 5 if out[i] == AMP else 1
    if is_wanted:
        links[n] = DECLINED
    return n + is_wanted


@kernel
def _after_web_host(out, i, end):  # type: ignore[no-untyped-def]
    """What follows `http://` or `https://` and a host; -1 when something else stands there."""
    if not _starts(out, i, end, _WEB):
        return -1
    i += _WEB.size
    i += i < end and out[i] == 115
    return _after_host(out, i + _AUTHORITY.size, end) if _starts(out, i, end, _AUTHORITY) else -1


@kernel
def _other_scheme(out, i, end, n):  # type: ignore[no-untyped-def]
    """As `write_link`, for what is no link to the web. Without slashes, every address of a known scheme is whole."""
    first, code = i, 0
    while i < end and CODES[out[i]]:
        byte = out[i] | 32 if 65 <= out[i] <= 90 else out[i]
        code = code << 6 | CODES[byte]
        i += 1
        if i - first > MAX_NAME:
            return -1
    if i == first or i + 1 >= end or out[i] != COLON or CODES[out[first]] >= _FIRST_DIGIT:
        return -1
    if place_of(ALLOWED_SCHEMES, code) < 0:
        return UNSAFE
    return n if out[i + 1] != SLASH and code != _HTTP and code != _HTTPS and code != _FTP else -1


@kernel
def _starts(out, i, end, expected):  # type: ignore[no-untyped-def]
    if end - i < expected.size:
        return False
    for k in range(expected.size):
        if out[i + k] != expected[k]:
            return False
    return True


@kernel
def _after_host(out, i, end):  # type: ignore[no-untyped-def]
    """What follows labels of letters, digits and inner hyphens, the last of letters; -1 for any other host."""
    first = label = i
    has_digits = False
    while i < end and (CODES[out[i]] or out[i] == 45 or out[i] == 46):
        if out[i] == 46 or out[i] == 45:
            if i == label:
                return -1
            if out[i] == 46:
                label, has_digits = i + 1, False
            elif out[i - 1] == 45:
                return -1
        else:
            has_digits |= out[i] < 65
        i += 1
    is_whole = i == end or out[i] == SLASH or out[i] == 63 or out[i] == 35
    return i if is_whole and i > label and not has_digits and i - first < 200 else -1
