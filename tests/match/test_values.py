"""Values compared whole: what an atom files its value under, and what an item's value is looked for under."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.match.families import reduced
from feedweir.match.formula import AnyOf
from feedweir.match.values.link_family import Link, forms_of_link
from feedweir.match.values.value_family import Equal, EqualNumber, Origin, forms_of_value, keys_of
from feedweir.match.values.value_table import Key, key_of, strings_of_value
from feedweir.plan.predicates import Compare, Extends, Predicate, References
from tests import naive
from tests.match.generated import HOSTS, URLS

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def filed(atom: Origin | Equal | EqualNumber | Link) -> list[Key]:
    return [key_of(atom.kind, atom.attribute, atom.value)] if isinstance(atom, Link) else list(keys_of(atom))


def keys_of_value(kind: str, attribute: str, value: str) -> tuple[bytes, ...]:
    forms = forms_of_link if kind in ("url", "opening", "host", "domain") else forms_of_value
    return strings_of_value(forms, kind, attribute, value)


def test_sources_are_filed_each_by_its_name() -> None:
    assert filed(Origin(("a", "b"))) == [
        ("origin", "source", b"origin\0source\0a"),
        ("origin", "source", b"origin\0source\0b"),
    ]


def test_strings_numbers_and_links_are_filed_by_kind_and_attribute() -> None:
    assert filed(Equal("title", "über")) == [("equal", "title", "equal\0title\0über".encode())]
    assert filed(EqualNumber("m:x", 4.0)) == [("number", "m:x", b"number\0m:x\0" + b"4.0")]
    assert filed(Link("links", "opening", "x.org/a")) == [("opening", "links", b"opening\0links\0x.org/a")]


@pytest.mark.parametrize(
    ("kind", "value", "forms"),
    [
        ("equal", " Über ", ["über"]),
        ("number", "4", ["4.0"]),
        ("number", "-0", ["0.0"]),
        ("number", "1e999", []),
        ("number", "four", []),
        ("url", "http://www.x.org/a/", ["x.org/a"]),
        ("opening", "http://x.org/a/b", ["x.org", "x.org/a", "x.org/a/b"]),
        ("host", "http://www.x.org:80/a", ["x.org"]),
        ("host", "mailto:me@x.org", [""]),
        ("domain", "http://n.x.org/a", ["n.x.org", "x.org", "org"]),
        ("domain", "#", []),
        ("origin", " As Written ", [" As Written "]),
    ],
)
def test_a_value_is_looked_for_in_the_forms_of_its_kind(kind: str, value: str, forms: list[str]) -> None:
    assert list(keys_of_value(kind, "a", value)) == [f"{kind}\0a\0{form}".encode() for form in forms]


def test_a_lone_surrogate_is_a_value_like_any_other() -> None:
    (key,) = keys_of_value("origin", "source", "\ud800")
    assert key == filed(Origin(("\ud800",)))[0][2]


conditions = (
    st.builds(References, st.just("link"), st.sampled_from(URLS + HOSTS))
    | st.builds(Extends, st.just("link"), st.sampled_from(URLS + HOSTS))
    | st.builds(Compare, st.just("link"), st.just("="), st.sampled_from((*URLS, "12", 12, 12.5)))
)


@settings(max_examples=200, deadline=None)
@given(conditions, st.sampled_from((*URLS, "12", "12.0", " 12.5 ", "HTTP://X.org/")))
def test_an_atom_and_a_value_have_a_key_in_common_exactly_when_the_condition_holds(
    condition: Predicate, value: str
) -> None:
    formula = reduced(condition)
    atoms = formula.parts if isinstance(formula, AnyOf) else (formula,)
    keys = [key for atom in atoms for key in filed(atom)]  # type: ignore[arg-type]
    in_common = any(string in keys_of_value(kind, attribute, value) for kind, attribute, string in keys)
    assert in_common == naive.holds(condition, Item(source="s", identity="1", link=value, arrived=NOW))
