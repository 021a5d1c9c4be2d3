"""Whose something is, and whom it concerns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.items.owners import EVERYONE, circle_of, concerns, is_owner

names = st.text(st.sampled_from("ab"), min_size=1, max_size=2)
owners = st.lists(names, min_size=1, max_size=3).map("/".join)


@pytest.mark.parametrize("text", ["ann", "acme/editors/ann", "Ann of Acme", "a b/c d", "é"])
def test_a_name_or_a_path_of_names_is_an_owner(text: str) -> None:
    assert is_owner(text)


@pytest.mark.parametrize("text", ["", "/", "a/", "/a", "a//b", " a", "a ", "a/ b", "a /b", "\t"])
def test_a_path_with_a_gap_is_no_owner(text: str) -> None:
    assert not is_owner(text)


def test_a_circle_goes_from_everyone_by_the_groups_to_the_owner() -> None:
    assert circle_of("acme/editors/ann") == (EVERYONE, "acme", "acme/editors", "acme/editors/ann")
    assert circle_of(EVERYONE) == (EVERYONE,)


@pytest.mark.parametrize(
    ("owner", "asker", "is_concerned"),
    [
        (EVERYONE, "ann", True),
        ("ann", "ann", True),
        ("acme", "acme/ann", True),
        ("acme/ann", "acme", True),
        ("acme/ann", "acme/bob", False),
        ("acmes", "acme", False),
        ("acme", "acmes", False),
        ("ann", EVERYONE, False),
        (EVERYONE, EVERYONE, True),
    ],
)
def test_what_belongs_to_one_concerns_another(owner: str, asker: str, is_concerned: bool) -> None:
    assert concerns(owner, asker) == is_concerned


@given(owners, owners)
def test_two_owners_concern_each_other_or_neither_does(one: str, other: str) -> None:
    assert concerns(one, other) == concerns(other, one)
    assert concerns(one, other) == (f"{other}/".startswith(f"{one}/") or f"{one}/".startswith(f"{other}/"))


@given(owners)
def test_whoever_asks_is_concerned_by_their_own_circle(asker: str) -> None:
    assert all(concerns(owner, asker) for owner in circle_of(asker))
    assert all(is_owner(owner) for owner in circle_of(asker)[1:])
