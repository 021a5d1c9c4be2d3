"""Which thing an item is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from feedweir.items.identity import Claim, fingerprint, fingerprints, identities


def test_the_guid_comes_before_the_link_and_the_link_before_the_content() -> None:
    claims = [Claim("g", "l", 1), Claim("", "l", 2), Claim("", "", 3)]
    assert identities(claims) == ["g", "l", "content:0000000000000003"]


def test_items_that_differ_under_one_guid_are_all_kept() -> None:
    claims = [Claim("g", "https://a/1", 1), Claim("g", "https://a/2", 2), Claim("h", "", 3)]
    assert identities(claims) == ["g https://a/1", "g https://a/2", "h"]


def test_items_that_differ_under_one_guid_and_one_link_are_known_by_content() -> None:
    claims = [Claim("g", "l", 1), Claim("g", "l", 2), Claim("g", "m", 3)]
    assert identities(claims) == ["g content:0000000000000001", "g content:0000000000000002", "g m"]


def test_a_mere_repetition_is_dropped() -> None:
    assert identities([Claim("g", "l", 1), Claim("g", "l", 1), Claim("g", "l", 1)]) == ["g", None, None]
    assert identities([Claim("", "l", 1), Claim("", "l", 2)]) == [
        "l content:0000000000000001",
        "l content:0000000000000002",
    ]


def test_identity_does_not_depend_on_the_order_of_the_document() -> None:
    claims = [Claim("g", "a", 1), Claim("g", "b", 2), Claim("g", "b", 3), Claim("x", "c", 4)]
    there = dict(zip(claims, identities(claims), strict=True))
    back = dict(zip(claims[::-1], identities(claims[::-1]), strict=True))
    assert there == back


def test_a_fingerprint_is_a_signed_64_bit_number_that_sees_where_parts_end() -> None:
    assert fingerprint("ab", "c") != fingerprint("a", "bc")
    assert -(1 << 63) <= fingerprint("x\ud800") < 1 << 63


@given(st.lists(st.lists(st.text(st.sampled_from("a\0é€"), max_size=20), max_size=3), max_size=5))
def test_the_fingerprints_of_many_are_those_of_each(items: list[list[str]]) -> None:
    assert fingerprints(items) == [fingerprint(*parts) for parts in items]


def test_a_fingerprint_is_the_same_on_every_machine() -> None:
    assert fingerprint("a", "b") == -5404951567621154903
    assert len({fingerprint("x" * size) for size in range(1000)}) == 1000
    assert (
        len({fingerprint("\x1f" * one + "a" + "\x1f" * two) for one in range(40) for two in range(40)})
        == 1600
    )
