"""Identity against a plain reading of its rules."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.identity import Claim, fingerprint, identities

claims = st.builds(
    Claim, st.sampled_from(["", "g", "h"]), st.sampled_from(["", "l", "m", "g"]), st.integers(0, 2)
)


def content_name(claim: Claim) -> str:
    return f"content:{claim.fingerprint:016x}"


def naive_name(claim: Claim) -> str:
    return claim.guid or claim.link or content_name(claim)


def naive_identity(claim: Claim, every: list[Claim]) -> str:
    """What an item is known by among all of its document, repetitions left in."""
    name = naive_name(claim)
    rivals = {(other.link, other.fingerprint) for other in every if naive_name(other) == name}
    if len({print_ for _, print_ in rivals}) == 1:
        return name
    first_of_print: dict[int, Claim] = {}
    for other in every:
        if naive_name(other) == name:
            first_of_print.setdefault(other.fingerprint, other)
    links = Counter(other.link for other in first_of_print.values())
    is_told_by_link = claim.link and claim.link != name and links[claim.link] == 1
    return f"{name} {claim.link if is_told_by_link else content_name(claim)}"


@settings(max_examples=500, deadline=None)
@given(st.lists(claims, max_size=6))
def test_identities_are_what_the_rules_say(document: list[Claim]) -> None:
    wanted = [naive_identity(claim, document) for claim in document]
    firsts = [None if name in wanted[:place] else name for place, name in enumerate(wanted)]
    assert identities(document) == firsts


@settings(max_examples=300, deadline=None)
@given(st.lists(claims, max_size=6))
def test_no_identity_is_given_twice_in_a_document(document: list[Claim]) -> None:
    given_names = [name for name in identities(document) if name is not None]
    assert len(set(given_names)) == len(given_names)
    assert len(given_names) >= len({claim.fingerprint for claim in document}), (
        "nothing that differs is dropped"
    )


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(max_size=8), max_size=4), st.lists(st.text(max_size=8), max_size=4))
def test_different_content_has_a_different_fingerprint(one: list[str], other: list[str]) -> None:
    is_same = "\x1f".join(one) == "\x1f".join(other)
    assert (fingerprint(*one) == fingerprint(*other)) == is_same
