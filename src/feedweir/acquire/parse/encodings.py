"""The encoding that a document is really in. Declarations are hints: bytes that are valid UTF-8 are UTF-8.

The order: a byte order mark; valid UTF-8 with characters beyond ASCII (other encodings hardly ever look like
that); what the XML declaration says; what the Content-Type header says; what the bytes look like;
Windows-1252, which reads all.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import lru_cache

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARATION = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']\s*([A-Za-z0-9._:-]+)""")
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([A-Za-z0-9._:-]+)""", re.IGNORECASE)
_WIDER = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932",
    "euc_kr": "cp949", "iso8859-9": "cp1254", "tis-620": "cp874", "big5": "big5hkscs", "iso8859-11": "cp874",
}  # fmt: skip
"""Declared encodings whose texts often use a larger one that contains them."""
_SEVEN_BIT = ("iso2022", "hz", "utf-7")
_GUESSES = (
    "cp1251",
    "koi8-r",
    "euc_jp",
    "cp932",
    "cp949",
    "gb18030",
    "big5hkscs",
    "cp1253",
    "cp1256",
    "cp1255",
)
_MIN_LETTERS = 0.7


@dataclass(frozen=True, slots=True)
class Decoded:
    """A document as UTF-8 without a byte order mark; `warning` when the declaration was wrong."""

    body: bytes
    encoding: str
    warning: str = ""


def decoded(body: bytes, media_type: str = "") -> Decoded:
    """A document's bytes as UTF-8. It never fails: invalid bytes become U+FFFD."""
    for bom, encoding in _BOMS:
        if body.startswith(bom):
            return _recoded(body[len(bom) :], encoding)
    wide = _wide_encoding(body)
    if wide:
        return _recoded(body, wide)
    declared = _declared(body, media_type)
    if _is_utf8(body) and not (declared and declared[0].startswith(_SEVEN_BIT) and b"\x1b" in body):
        is_wrong = bool(declared) and not body.isascii() and declared[0] not in ("utf-8", "ascii")
        return Decoded(body, "utf-8", f"declared as {declared[0]}, but is UTF-8" if is_wrong else "")
    for encoding in (*declared, *_guesses(body)):
        if encoding != "utf-8" and _decodes(body, encoding):
            return _recoded(body, encoding, "" if encoding in declared[:1] else f"read as {encoding}")
    # Mostly UTF-8 with a few bad bytes keeps its text; anything else is read as what Western sites write.
    encoding = "utf-8" if _is_mostly_utf8(body) else "cp1252"
    return _recoded(body, encoding, f"some bytes are not valid {encoding}")


def _recoded(body: bytes, encoding: str, warning: str = "") -> Decoded:
    text = body.decode(encoding, "replace")
    return Decoded(text.encode("utf-8", "replace"), encoding, warning)


def _wide_encoding(body: bytes) -> str:
    """UTF-16 or UTF-32 without a byte order mark, recognised by the zeros around the `<` or `{` that a document starts
    with."""
    start = body[:4]
    if start[:1] in (b"<", b"{") and start[1:2] == b"\x00":
        return "utf-32-le" if start[2:4] == b"\x00\x00" else "utf-16-le"
    if start[:1] == b"\x00" and len(start) == 4:
        return (
            "utf-32-be" if start[:3] == b"\x00\x00\x00" else "utf-16-be" if start[1:2] in (b"<", b"{") else ""
        )
    return ""


def _declared(body: bytes, media_type: str) -> list[str]:
    """The encodings that the document and its header name, as Python knows them, each once."""
    in_document = _DECLARATION.match(body[:400])
    in_header = _CHARSET.search(media_type[:400])
    names = ([in_document[1].decode()] if in_document else []) + ([in_header[1]] if in_header else [])
    known = [_known_name(name) for name in names]
    return list(dict.fromkeys(_WIDER.get(name, name) for name in known if name))


@lru_cache(256)
def _known_name(name: str) -> str:
    """Python's own name of a text encoding; empty when it is none."""
    try:
        info = codecs.lookup(name)
        return info.name if isinstance(b"".decode(info.name), str) else ""
    except (LookupError, ValueError, TypeError):
        return ""


def _is_utf8(body: bytes) -> bool:
    if body.isascii():
        return True
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _is_mostly_utf8(body: bytes) -> bool:
    text = body.decode("utf-8", "replace")
    beyond = sum(character > "\x7f" for character in text)
    return text.count("\ufffd") * 10 < beyond


def _decodes(body: bytes, encoding: str) -> bool:
    try:
        body.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return False
    return True


def _guesses(body: bytes) -> list[str]:
    """Encodings in which most of the bytes beyond ASCII are common letters of one script."""
    return [encoding for encoding in _GUESSES if _looks_like(body[:20_000], encoding)]


_SCRIPTS = {
    "cp1251": ("а", "я"), "koi8-r": ("а", "я"), "euc_jp": ("ぁ", "ヿ"), "cp932": ("ぁ", "ヿ"),
    "gb18030": ("一", "鿿"), "big5hkscs": ("一", "鿿"), "cp949": ("가", "힣"), "cp1253": ("α", "ώ"),
    "cp1256": ("ء", "ي"), "cp1255": ("א", "ת"),
}  # fmt: skip
_SHARES = {"euc_jp": 0.3, "cp932": 0.3, "gb18030": 0.9, "big5hkscs": 0.9, "cp949": 0.9}


def _looks_like(body: bytes, encoding: str) -> bool:
    text = body.decode(encoding, "replace")
    beyond = [character for character in text if character > "\x7f"]
    first, last = _SCRIPTS[encoding]
    inside = sum(first <= character <= last for character in beyond)
    return len(beyond) >= 4 and inside >= _SHARES.get(encoding, _MIN_LETTERS) * len(beyond)
