"""Who may request what, by which host names, and how large a request may be.

With a token set, every route needs it unless it is open or the operator has made it public.

A web page can point a name of its own at a loopback or private address (DNS rebinding): the visitor's browser then
treats our responses as the page's own. Such a request carries a name that the attacker owns, so a request is
accepted only if its `Host` is an allowed name, or an IP address, which nobody can redirect.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Awaitable, Callable, Iterable, Iterator
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

from fastapi import HTTPException, Request

from feedweir.items.owners import is_owner
from feedweir.web.door import Door, PublicReads
from feedweir.web.negotiation import is_same_site

Access = Literal["open", "feed", "read", "guarded"]

_OPEN = frozenset(
    {
        "GET /healthz",
        "GET /readyz",
        "GET /assets/{file_name}",
        # The path holds a secret, or is signed with one, and is checked by the route.
        "GET /websub/{name:path}/{token}",
        "POST /websub/{name:path}/{token}",
        "GET /unsubscribe/{token}",
        "POST /unsubscribe/{token}",
        "GET /subscriptions/{token}",
        "POST /subscriptions/{token}/replay",
        "GET /subscriptions/{name:path}/events",
    }
)
_READS = frozenset(
    {
        "GET /",
        "GET /feeds.opml",
        "GET /items/{seq}",
        "GET /metrics",
        "GET /v1/feeds",
        "GET /v1/items/{seq}/feeds",
        "GET /v1/openapi.json",
        "GET /v1/plan",
        "GET /v1/search",
        "GET /v1/why",
    }
)
_PUBLIC: dict[PublicReads, frozenset[Access]] = {
    "none": frozenset(),
    "feeds": frozenset({"feed"}),
    "all": frozenset({"feed", "read"}),
}


def access_of(method: str, template: str) -> Access:
    """The kind of access a route needs; an unlisted route is guarded."""
    route = f"{method} {template}"
    if route in _OPEN:
        return "open"
    # Whoever may read a feed may have it pushed to them.
    if route.startswith("GET /feeds/") or route == "POST /hub":
        return "feed"
    return "read" if route in _READS else "guarded"


def gate(door: Door) -> Callable[[Request], Awaitable[None]]:
    """A check that every request passes before its route; added to the app once, so that no route can forget it."""
    public = _PUBLIC[door.options.public_reads if door.options.token else "all"]

    async def pass_gate(request: Request) -> None:
        access = access_of(request.method, request.scope["route"].path)
        if access != "open" and access not in public:
            admit(door, request)

    return pass_gate


def admit(door: Door, request: Request) -> None:
    """Refuse changes that come from pages of other sites, and requests without the token if one is set."""
    headers = request.headers
    is_change = request.method != "GET"
    if is_change and not is_same_site(
        headers.get("origin"), headers.get("host"), headers.get("sec-fetch-site")
    ):
        raise HTTPException(403, "Requests that change something are not accepted from pages of other sites.")
    token = door.options.token
    if token and not any(hmac.compare_digest(one.encode(), token.encode()) for one in _presented(request)):
        challenge = 'Basic realm="Feedweir", charset="UTF-8", Bearer realm="Feedweir"'
        raise HTTPException(401, "This request needs the token.", headers={"WWW-Authenticate": challenge})


def _presented(request: Request) -> Iterator[str]:
    """The tokens in a request: programs send a bearer token, browsers a password, and some feed readers can only
    have it in the address."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        yield value.strip()
    if scheme.lower() == "basic":
        yield _password(value)
    yield from request.query_params.getlist("token")


def _password(basic: str) -> str:
    """The user name is ignored."""
    try:
        return base64.b64decode(basic).decode("utf-8", "replace").partition(":")[2]
    except (binascii.Error, ValueError):
        return ""


async def read_body(request: Request, max_bytes: int) -> bytes:
    """The body; refused as soon as it exceeds the limit, whatever length the request declared."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise HTTPException(413, f"The body is larger than {max_bytes} bytes.")
    return bytes(body)


def owner_in(owner: str) -> str:
    """The owner that a request names; empty is everyone."""
    if owner and not is_owner(owner):
        raise HTTPException(400, f"{owner!r} is not an owner: a name, or groups and a name, as in acme/ann.")
    return owner


ANY_HOST = "*"
_THIS_MACHINE = frozenset({"localhost"})


def allowed_names(public_url: str, further: Iterable[str]) -> frozenset[str]:
    """The accepted names: this machine's, the one in the public address, and those the operator adds."""
    given = {_name_of(one) for one in (urlsplit(public_url).netloc.rpartition("@")[2], *further)}
    return _THIS_MACHINE | (given - {""})


def is_allowed(host: str | None, names: frozenset[str]) -> bool:
    """Whether a request with this `Host` header is accepted. Browsers always send one, some health checks do not."""
    if host is None or ANY_HOST in names:
        return True
    name = _name_of(host)
    return name in names or _is_ip_address(name)


def _name_of(host: str) -> str:
    """The name in a `Host` header, without the port and the brackets of an IPv6 address."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    is_bare_ipv6 = host.count(":") > 1
    return (host if is_bare_ipv6 else host.partition(":")[0]).rstrip(".")


def _is_ip_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
