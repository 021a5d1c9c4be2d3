"""A mail message as bytes: headers, and a text with an HTML part beside it where there is one.

Written here and not by the standard library, whose generator costs more than all else about a digest. The parts of a
digest are lines of their own, so that what is quoted once of an entry serves every reader it is sent to.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping, Sequence
from email.header import Header
from functools import lru_cache

from feedweir.items.xml_characters import legal

_LINE = 76


def message_bytes(
    headers: Mapping[str, str], text: Sequence[str], html: Sequence[str], boundary: str
) -> bytes:
    """The whole message; the pieces of a part end with a line end, but for the last one."""
    body = _body("plain", text) if not html else _alternatives(text, html, boundary)
    head = "".join(f"{name}: {encoded(value, name)}\r\n" for name, value in headers.items())
    return (head + "MIME-Version: 1.0\r\n").encode("ascii") + body


def _alternatives(text: Sequence[str], html: Sequence[str], boundary: str) -> bytes:
    """Quoted parts have no `=_` in them: it begins the boundary."""
    fence = f"--=_{boundary}".encode("ascii")
    kind = f'Content-Type: multipart/alternative; boundary="=_{boundary}"\r\n\r\n'.encode("ascii")
    parts = b"".join(fence + b"\r\n" + part + b"\r\n" for part in (_body("plain", text), _body("html", html)))
    return kind + parts + fence + b"--\r\n"


def _body(kind: str, pieces: Sequence[str]) -> bytes:
    head = (
        f'Content-Type: text/{kind}; charset="utf-8"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n'
    )
    return head.encode("ascii") + b"".join(map(quoted, pieces))


@lru_cache(maxsize=2048)
def quoted(text: str) -> bytes:
    """Quoted-printable, with the line ends of mail; stray carriage returns would make lines of their own."""
    plain = legal(text).replace("\r\n", "\n").replace("\r", "\n")
    return binascii.b2a_qp(plain.encode("utf-8"), istext=True).replace(b"\n", b"\r\n")


def encoded(value: str, name: str) -> str:
    """A header's value: as it is when it is short and plain, else in the words of mail."""
    if value.isascii():
        return value
    return Header(value, "utf-8", _LINE, name).encode(linesep="\r\n")
