"""Which addresses may be reached."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.acquire.fetch.addresses import PUBLIC_ONLY, AddressRule, is_public, parse_address

INSIDE = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "255.255.255.255",
    "224.0.0.1", "192.0.0.192", "100.100.100.200", "168.63.129.16", "::1", "::", "fe80::1%eth0", "fc00::1",
    "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::", "2001:0:4136:e378:8000:63bf:80ff:fffe",
]  # fmt: skip


@pytest.mark.parametrize("address", INSIDE)
def test_what_is_inside_is_not_reached(address: str) -> None:
    assert not PUBLIC_ONLY.permits(address)


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "2606:2800:220:1::", "64:ff9b::5db8:d822", "::ffff:93.184.216.34"]
)
def test_the_public_internet_is_reached(address: str) -> None:
    assert PUBLIC_ONLY.permits(address)


@given(st.integers(0, 2**32 - 1))
def test_an_address_hidden_in_ipv6_is_judged_like_itself(number: int) -> None:
    plain = IPv4Address(number)
    for hidden in (IPv6Address(0xFFFF << 32 | number), IPv6Address(0x64FF9B << 96 | number)):
        assert is_public(hidden) == is_public(plain)


def test_an_operator_may_open_some_networks_or_all() -> None:
    some = AddressRule(allowed=(ip_network("10.0.0.0/8"), ip_network("::1")))
    assert some.permits("10.9.9.9")
    assert some.permits("::1")
    assert not some.permits("127.0.0.1")
    assert AddressRule(allow_private=True).permits("127.0.0.1")


@given(st.text(max_size=20))
def test_a_name_is_no_address_and_never_permitted(text: str) -> None:
    if parse_address(text) is None:
        assert not AddressRule(allow_private=True).permits(text)
