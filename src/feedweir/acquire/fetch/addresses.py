"""Which addresses a fetch may reach: the public internet, unless the operator opens more.

Asked of the address a socket is about to connect to, not of the name in the URL: a name may resolve to
anything, and to something else a moment later.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NAT64 = IPv6Network("64:ff9b::/96")
_CLOUD_SERVICES = frozenset({IPv4Address("168.63.129.16"), IPv4Address("192.0.0.192")})
"""Metadata services whose addresses count as public; the rest are link-local or private anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressRule:
    """`allow_private` opens everything; `allowed` opens some networks beside the public internet."""

    allow_private: bool = False
    allowed: tuple[Network, ...] = ()

    def permits(self, address: str) -> bool:
        """Whether a socket may connect to this numeric address."""
        parsed = parse_address(address)
        if parsed is None:
            return False
        if self.allow_private or any(parsed in network for network in self.allowed):
            return True
        return is_public(parsed)


PUBLIC_ONLY = AddressRule()


def parse_address(text: str) -> Address | None:
    """A numeric address, zone and brackets dropped; None for a name."""
    try:
        return ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet, also when it hides an IPv4 address inside."""
    inner = _embedded(address)
    if inner is not None:
        return is_public(inner)
    return address.is_global and not address.is_multicast and address not in _CLOUD_SERVICES


def _embedded(address: Address) -> IPv4Address | None:
    if isinstance(address, IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    return IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None
