"""Which host names the server accepts.

A web page can point a name of its own at a loopback or private address (DNS rebinding): the visitor's browser then
treats our responses as the page's own. Such a request carries a name that the attacker owns, so a request is
accepted only if its `Host` is an allowed name, or an IP address, which nobody can redirect.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

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
