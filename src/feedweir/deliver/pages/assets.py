"""The files that pages refer to, each at an address that changes with its content."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from html import escape
from importlib.resources import files

from feedweir.deliver.address import Address
from feedweir.deliver.render.markup import tag

_WEIR = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="8" fill="#0f6f7d"/>
<g fill="none" stroke="#fff" stroke-linecap="round" stroke-width="2.4">
<path d="M5 10c2.500-2 5-2 7.500 0"/>
<path d="M5 15c2.500-2 5-2 7.500 0"/>
<path d="M16 6v20" stroke="#ffd27a" stroke-width="2.800"/>
<path d="M19.500 15c3.500 0 3 7.500 7.500 7.500"/>
<path d="M19.500 20.500c2 0 2 4.500 4.500 5"/>
</g>
</svg>
"""

MEDIA_TYPES = {"feedweir.css": "text/css", "weir.svg": "image/svg+xml"}


@cache
def asset(file_name: str) -> bytes:
    """The bytes of one of `MEDIA_TYPES`."""
    if file_name == "weir.svg":
        return _WEIR.encode()
    return files("feedweir.deliver").joinpath(file_name).read_bytes()


def asset_address(file_name: str, address: Address) -> str:
    """Where browsers load the file, and may cache it for ever."""
    version = hashlib.blake2b(asset(file_name), digest_size=6).hexdigest()
    return address.asset(file_name, version)


def standing_alone(page: bytes, address: Address) -> bytes:
    """A page with its stylesheet and icon embedded, so that it looks the same as a file."""
    style = tag("link", rel="stylesheet", href=asset_address("feedweir.css", address)).encode()
    icon = escape(asset_address("weir.svg", address)).encode()
    picture = b"data:image/svg+xml;base64," + b64encode(asset("weir.svg"))
    page = page.replace(style, b"<style>" + asset("feedweir.css") + b"</style>")
    return page.replace(b'"' + icon + b'"', b'"' + picture + b'"')
