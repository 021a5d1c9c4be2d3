"""Names: what two must not share, what is near, and what is like a pattern."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import product
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.catalog import Catalog, NewFeed, open_catalog
from feedweir.catalog.names import MAX_LENGTH, checked, folded
from feedweir.errors import CatalogError

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


def source(name: str) -> NewFeed:
    return NewFeed(name=name, kind="source", statement="r", created_at=NOW)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("News", "nEWS"),
        ("Straße", "STRASSE"),
        ("é", "e\u0301"),
        ("É", "e\u0301"),
        ("ΣΑΣ", "σας"),
        ("ﬁ", "FI"),
    ],
)
def test_names_that_people_take_for_one_are_one(one: str, other: str) -> None:
    assert folded(one) == folded(other)


@pytest.mark.parametrize(("one", "other"), [("a", "á"), ("a b", "ab"), ("1", "１"), ("news", "news.")])
def test_names_that_people_tell_apart_stay_apart(one: str, other: str) -> None:
    assert folded(one) != folded(other)


@given(st.text())
def test_folding_twice_is_folding_once(name: str) -> None:
    assert folded(folded(name)) == folded(name)


@pytest.mark.parametrize("name", ["", " ", " a", "a ", "\ta", "a\u00a0"])
def test_a_name_without_text_or_with_space_at_an_end_is_refused(name: str) -> None:
    with pytest.raises(CatalogError, match="is not a name") as error:
        checked(name)
    assert error.value.hint == "a name must not be empty, or begin or end with a space"


def test_a_name_has_a_greatest_length_and_the_error_shows_its_beginning() -> None:
    assert checked("n" * MAX_LENGTH) == "n" * MAX_LENGTH
    with pytest.raises(CatalogError, match=rf"'{'n' * 40}'… is longer than {MAX_LENGTH} characters"):
        checked("n" * (MAX_LENGTH + 1))


def named_like(names: Sequence[str], like: str) -> list[str]:
    """The obvious meaning: a pattern with `*` is the whole name, one without is a part of it."""
    pattern = ".*".join(map(re.escape, folded(like).split("*")))
    find = re.compile(pattern, re.DOTALL).fullmatch if "*" in like else re.compile(pattern, re.DOTALL).search
    return sorted(name for name in names if find(folded(name)))


LETTERS = st.text("aAb%_/\\*'é", min_size=1, max_size=5).filter(lambda name: name == name.strip())


@settings(max_examples=25, deadline=None)
@given(
    names=st.lists(LETTERS, max_size=12, unique_by=folded), likes=st.lists(LETTERS, min_size=1, max_size=6)
)
def test_a_pattern_finds_what_its_words_say(names: list[str], likes: list[str]) -> None:
    with TemporaryDirectory() as folder, open_catalog(f"sqlite:///{folder}/c.sqlite") as catalog:
        catalog.feeds.add([source(name) for name in names])
        for like in likes:  # the first is asked of the database, the others of the names in memory
            assert [one.name for one in catalog.feeds.all(like=like)] == named_like(names, like)


def test_near_names_are_found_among_very_many_others(catalog: Catalog) -> None:
    many = [
        f"{a}{b}{c}-{number}"
        for number, (a, b, c) in enumerate(product(string.ascii_lowercase[:9], repeat=3))
    ]
    catalog.feeds.add([source(name) for name in (*many, "RiverPost", "RiverPast")])
    assert set(catalog.feeds.near("RiverPst")) == {"RiverPost", "RiverPast"}
    assert catalog.feeds.near("riverpost")[0] == "RiverPost"
    assert catalog.feeds.near("Ωμέγα") == ()
    assert catalog.feeds.near("") == ()


def test_several_names_are_looked_up_at_once_and_unknown_ones_are_left_out(catalog: Catalog) -> None:
    ids = catalog.feeds.add([source(name) for name in ("b", "a", "c")])
    found = catalog.feeds.several(["a", "b", "B", "x", "a\x00", "\ud800"])
    assert [one.name for one in found] == ["b", "a"]
    assert [one.id for one in found] == sorted(ids)[:2]


def test_a_feed_is_known_by_its_number_too(catalog: Catalog) -> None:
    first, second = catalog.feeds.add([source("a"), source("b")])
    record = catalog.feeds.with_id(second)
    assert record is not None
    assert record.name == "b"
    assert catalog.feeds.with_id(second + 1) is None
    assert [one.name for one in catalog.feeds.with_ids([second, 99, first, first])] == ["a", "b"]


def test_the_definition_of_a_name_is_that_of_its_own_case(catalog: Catalog) -> None:
    (id_,) = catalog.feeds.add([source("News")])
    assert catalog.feeds.definition("News") == (id_, "News", "source", "r")
    assert catalog.feeds.definition("news") is None
    assert catalog.feeds.definition("") is None


def test_feeds_are_counted_by_kind_and_owner(catalog: Catalog) -> None:
    mine = NewFeed(name="mine", kind="virtual", statement="c", owner="acme/ann", created_at=NOW, reads=("a",))
    catalog.feeds.add([source("a"), source("b"), mine])
    assert (catalog.feeds.count(), catalog.feeds.count("source"), catalog.feeds.count("virtual")) == (3, 2, 1)
    assert [catalog.feeds.count(owner=owner) for owner in ("acme", "acme/ann", "acme/bob", "ann")] == [
        3,
        3,
        2,
        2,
    ]


def test_a_renamed_feed_keeps_its_number_and_frees_its_name(catalog: Catalog) -> None:
    catalog.feeds.add([source("a"), NewFeed(name="v", kind="virtual", statement="c", created_at=NOW)])
    id_ = catalog.feeds.named("v").id
    catalog.feeds.rename("v", "w", "create feed w from a")
    record = catalog.feeds.named("w")
    assert (record.id, record.statement) == (id_, "create feed w from a")
    assert catalog.feeds.find("v") is None
    catalog.feeds.add([source("v")])
    with pytest.raises(CatalogError, match="'a', which differs from 'A' only in case"):
        catalog.feeds.rename("w", "A", "create feed A from v")


def test_a_new_version_without_a_change_leaves_the_definitions(catalog: Catalog) -> None:
    catalog.feeds.add([source("a")])
    before = catalog.feeds.definitions()
    assert catalog.feeds.renew() == before[0] + 1
    assert catalog.feeds.definitions() == (before[0] + 1, before[1])
    assert catalog.feeds.changes_since(before[0]) == ()
