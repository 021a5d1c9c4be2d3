"""One spelling for each URL, so that two links to the same page are equal.

The canonical form has no scheme for the web (`http` and `https` are one), no `www.`, no default port, no
fragment, no tracking parameters and no closing slash: `https://WWW.Example.org:443/a/?utm_source=x#top` is
`example.org/a`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice

_PARTS = re.compile(r"(?:([a-z][a-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?", re.IGNORECASE)
_HOST = re.compile(r"(?:[^\s/?#:@.]+\.)+[^\s/?#:@.]+(?::\d+)?\.?|localhost(?::\d+)?", re.IGNORECASE)
_BARE = re.compile(rf"(?:{_HOST.pattern})(?=[/?#]|$)", re.IGNORECASE)
"""A URL that people write without its scheme; a port would otherwise make the host look like a scheme."""
_TRACKING = re.compile(
    r"""(?: (?:utm|mtm|hsa) _\w+ | pk_(?:campaign|source|medium|content|kwd|keyword) | xtor | wt_mc
        | at_(?:medium|campaign|campaign_type|format|custom\d+|link_\w+|ptr_name)
        | ns_(?:mchannel|source|campaign|linkname|fee)
        | (?:fb|g|d|y|tw|tt)clid | msclkid | gclsrc | [gw]braid | _ga | _gl
        | igsh(?:id)? | mc_[ce]id | _hs(?:enc|mi) | mkt_tok | vero_id | oly_(?:anon|enc)_id
        ) (?:=|$)""",
    re.IGNORECASE | re.VERBOSE,
)
"""Parameters that say where a reader came from, under the names that analytics and mailing programs use. Those that may
matter to a page (`ref`, `source`) are not among them."""
_MAX_HOST_CHARS = 253
"""Names in DNS are not longer."""
_MAX_OPENINGS, _MAX_OPENING_CHARS = 64, 2048
"""A link has a prefix at every separator, so that a hostile one has too many and too long ones."""
_MAX_CACHED_CHARS = 2048
_DEFAULT_PORTS = {"http": ":80", "https": ":443", "": ":80"}


def canonical_url(url: str) -> str:
    """The one spelling of a URL. A URL that is not http or https keeps its scheme."""
    return _known_canonical(url) if len(url) <= _MAX_CACHED_CHARS else _canonical(url)


def _canonical(url: str) -> str:
    url = url.strip()
    match = _PARTS.match(f"//{url}" if _BARE.match(url) else url)
    if match is None:
        return ""
    scheme, authority, path, query = ((part or "") for part in match.groups())
    scheme = scheme.lower()
    if scheme not in _DEFAULT_PORTS:
        return f"{scheme}:{'//' + authority.lower() if authority else ''}{path}{'?' + query if query else ''}"
    if not authority:
        authority, slash, rest = path.lstrip("/").partition("/")
        path = slash + rest
    kept = "&".join(part for part in query.split("&") if part and not _TRACKING.match(part))
    return _host(authority, _DEFAULT_PORTS[scheme]) + path.rstrip("/") + (f"?{kept}" if kept else "")


_known_canonical = lru_cache(maxsize=65536)(_canonical)


def host_of(url: str) -> str:
    """The host that a URL leads to, without `www.` and port; empty when it leads to none."""
    head = re.split(r"[/?]", canonical_url(url), maxsplit=1)[0]
    return re.sub(r":\d+$", "", head) if is_host(head) else ""


def is_host(text: str) -> bool:
    """Whether a text names a host and nothing more: `example.org`, but not `http://example.org/`."""
    text = text.strip()
    return len(text) <= _MAX_HOST_CHARS and _HOST.fullmatch(text) is not None


def openings_of(url: str) -> tuple[str, ...]:
    """The prefixes of a canonical URL that end at a separator, itself last: `a.org`, `a.org/b` and `a.org/b?c`.

    Of a very long URL only the first are given.
    """
    canonical = canonical_url(url)
    found = re.finditer(r"[/?&]", canonical[:_MAX_OPENING_CHARS])
    ends = [match.start() for match in islice(found, _MAX_OPENINGS)]
    return (*(canonical[:end] for end in ends if end), canonical) if canonical else ()


def domains_of(url: str) -> tuple[str, ...]:
    """The host of a URL and every domain above it: `news.bbc.co.uk`, `bbc.co.uk`, `co.uk`, `uk`."""
    host = host_of(url)
    labels = host.split(".")
    return tuple(".".join(labels[start:]) for start in range(len(labels))) if host else ()


def _host(authority: str, default_port: str) -> str:
    host = authority.rpartition("@")[2].lower().removesuffix(default_port).rstrip(".")
    return host.removeprefix("www.") or host
