"""Names as statements see them: in memory, or looked up in a catalog as they are named. Both say the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.items.owners import EVERYONE
from feedweir.language.defined_names import (
    CatalogNames,
    DefinedNames,
    id_path_of_source,
    is_only_pushed,
    made_from,
    owner_of_source,
)

NAMES = ("A", "B", "C", "D")


@dataclass(frozen=True, slots=True)
class Stated:
    name: str
    kind: Literal["source", "virtual"]
    statement: str
    id: int = 1


def fetched(name: str) -> Stated:
    return Stated(name, "source", f"register feed 'http://{name}.example/' as {name}")


def virtual(name: str, read: str = "A") -> Stated:
    return Stated(name, "virtual", f"create feed {name} from {read} where title contains 'x'")


def made(name: str, read: str = "A") -> Stated:
    return Stated(name, "source", f"register feed {read} apply 'S.xml' as {name}")


class Stored:
    """What a catalog keeps; counts how often each name is looked up."""

    def __init__(self, definitions: Sequence[Stated]) -> None:
        self.by_name = {one.name: one for one in definitions}
        self.asked: Counter[str] = Counter()

    def definition(self, name: str) -> Stated | None:
        self.asked[name] += 1
        return self.by_name.get(name)

    def definitions(self) -> tuple[int, Sequence[Stated]]:
        return 1, tuple(self.by_name.values())

    def made_sources(self) -> Sequence[str]:
        return [one.name for one in self.by_name.values() if made_from(one.statement)[0]]


stated = st.builds(
    lambda make, name: make(name), st.sampled_from((fetched, virtual, made)), st.sampled_from(NAMES)
)
changes = st.lists(stated | st.sampled_from(NAMES), max_size=12)


@given(st.lists(stated, unique_by=lambda one: one.name), changes)
def test_names_of_a_catalog_are_those_in_memory_whatever_a_script_changes(
    definitions: list[Stated], script: list[Stated | str]
) -> None:
    stored = Stored(definitions)
    known, looked_up = DefinedNames(definitions), CatalogNames(stored)
    for change in script:
        for names in (known, looked_up):
            if isinstance(change, Stated):
                names.put(change)
            else:
                names.remove(change)
        for name in NAMES:
            assert looked_up.find(name) == known.find(name)
            assert looked_up.kind_of(name) == known.kind_of(name)
            assert looked_up.query_of(name) == known.query_of(name)
            assert looked_up.made_from(name) == known.made_from(name)
        assert set(looked_up.all_names()) == set(known.all_names())
        assert set(looked_up.made_sources()) == set(known.made_sources())
    assert all(count == 1 for count in stored.asked.values()), "no name is looked up twice"


def test_a_statement_costs_what_it_names() -> None:
    stored = Stored([fetched(name) for name in NAMES])
    assert CatalogNames(stored).kind_of("B") == "source"
    assert stored.asked == {"B": 1}


def test_a_feed_that_is_replaced_is_read_again() -> None:
    names = DefinedNames([fetched("A"), fetched("B"), virtual("C", "A")])
    before = names.plan_of("C")
    names.put(virtual("C", "B"))
    assert names.plan_of("C") != before
    assert names.plan_of("A") is None, "a source has no plan"
    assert names.plan_of("Nobody") is None


@pytest.mark.parametrize(
    ("registration", "feed", "stylesheet"),
    [
        ("register feed 'http://a.example/' as A", "", ""),
        ("register feed 'push://a' as A", "", ""),
        ("register feed News as A", "News", ""),
        ("register feed News apply 'Photos.xml' as A", "News", "Photos.xml"),
        ("create feed A from B", "", ""),
    ],
)
def test_a_source_made_from_a_feed_names_it(registration: str, feed: str, stylesheet: str) -> None:
    assert made_from(registration) == (feed, stylesheet)


def test_a_source_that_is_only_pushed_to_is_known_by_its_address() -> None:
    assert is_only_pushed("register feed 'push://a' as A")
    assert not is_only_pushed("register feed 'http://push.example/' as A")


@pytest.mark.parametrize(
    ("registration", "path"),
    [
        ("register feed 'http://a.example/' as A", ""),
        ("register feed 'push://a' as Orders id //order/@number", "//order/@number"),
        ("register feed 'http://a.example/' as Dump per subject", "per subject"),
        ("register feed 'http://a.example/ id ' as A", ""),
    ],
)
def test_where_items_name_their_ids_is_in_the_registration(registration: str, path: str) -> None:
    assert id_path_of_source(registration) == path


def test_whose_a_source_is_stands_in_its_statement() -> None:
    def owned(statement: str) -> str:
        return owner_of_source(Stated("A", "source", statement))

    assert owned("register feed 'http://a.example/' as A") == EVERYONE
    assert owned("register feed 'http://a.example/' as A for 'acme/ann'") == "acme/ann"
    assert owned("register feed 'http://a.example/a for b' as A") == EVERYONE
