"""Who creates feeds is told which others equal or contain them: all that a comparison of each with each would find."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.ask import advice as advising
from feedweir.compile import known_sets
from feedweir.errors import LanguageError
from feedweir.join.streams import compile_plan
from feedweir.language import defined_names as naming
from feedweir.language.defined_names import CatalogNames
from feedweir.optimize.containment import filters_of, relations
from feedweir.plan import expand
from feedweir.plan.nodes import Feed
from feedweir.service.installation import Weir

SOURCES = "; ".join(f"register feed push://{name} as {name}" for name in ("A", "B", "C")) + ";"


@pytest.fixture
def weir(tmp_path: Path) -> Iterator[Weir]:
    with Weir.open(tmp_path) as opened:
        opened.execute(SOURCES)
        yield opened


@pytest.mark.parametrize("is_in_force", [True, False], ids=["set in force", "beside it"])
@pytest.mark.parametrize(
    ("others", "new", "advice"),
    [
        ("Old from * where contains 'sun'", "* where contains 'sun rain'", ("New is contained in Old",)),
        ("Old from * where contains 'sun'", "* where contains 'SUN'", ("New is equal to Old",)),
        ("Old from * where contains 'sun'", "A where title contains 'sun'", ("New is contained in Old",)),
        ("Old from A where contains 'sun'", "* where contains 'sun'", ()),
        (
            "Inner from A where contains 'sun'; create feed Old from A where contains 'sun' and contains 'sea'",
            "Inner where contains 'sea'",
            ("New is equal to Old", "New is contained in Inner"),
        ),
        (
            "Old from A | B | C where contains 'sun'",
            "A | B where contains 'sun'",
            ("New is contained in Old",),
        ),
        ("Old from A | B where contains 'sun'", "B | C where contains 'sun'", ()),
        (
            "Old from * where published > 2020-01-01",
            "B where published > 2021-05-01 and contains 'sea'",
            ("New is contained in Old",),
        ),
        (
            "Old from * where path '//item/title'",
            "B where path '//item/title' and not contains 'sea'",
            ("New is contained in Old",),
        ),
        (
            "Old from * where graph { ?who foaf:age ?age . FILTER(?age > 18) }",
            "A where graph { ?x foaf:knows ?y . ?y foaf:age ?z . FILTER(?z > 30) } and title contains 'sea'",
            ("New is contained in Old",),
        ),
        (
            "Old from * where graph { ?who foaf:age ?age . FILTER(?age > 40) }",
            "A where graph { ?y foaf:age ?z . FILTER(?z > 30) }",
            (),
        ),
    ],
)
def test_whoever_contains_a_new_feed_is_told(
    weir: Weir, others: str, new: str, advice: tuple[str, ...], is_in_force: bool
) -> None:
    weir.execute(f"create feed {others}")
    if is_in_force:
        weir.refresh_set()
    (*_, done) = weir.execute(f"create feed New from {new}")
    assert tuple(one for one in done.advice if not one.startswith("New contains")) == advice


def test_feeds_that_were_created_one_by_one_are_known_at_once_and_each_is_compiled_few_times(
    weir: Weir, monkeypatch: pytest.MonkeyPatch
) -> None:
    weir.execute("create feed Base from * where contains 'sun'")
    weir.refresh_set()
    compiled = 0
    real = known_sets.compile_definitions

    def counted(definitions, wanted):  # type: ignore[no-untyped-def]
        nonlocal compiled
        compiled += len(wanted)
        return real(definitions, wanted)

    monkeypatch.setattr(known_sets, "compile_definitions", counted)
    for number in range(30):
        (done,) = weir.execute(f"create feed F{number} from * where contains 'w{number}' and contains 'x'")
        assert done.advice == ()
    (done,) = weir.execute("create feed Again from C where contains 'x' and contains 'w3'")
    assert done.advice == ("Again is contained in F3",)
    assert compiled == 31
    assert len(weir.ask.matching.sets.at_hand()) <= 5


def test_what_was_replaced_or_dropped_counts_as_it_is_now(weir: Weir) -> None:
    weir.execute("create feed Old from * where contains 'sun'; create feed Gone from * where contains 'sun'")
    weir.refresh_set()
    weir.execute("alter feed Old from * where contains 'rain'; drop feed Gone")
    (done,) = weir.execute("create feed New from A where contains 'sun'")
    assert done.advice == ()
    (done,) = weir.execute("create feed Wet from A where contains 'rain'")
    assert done.advice == ("Wet is contained in Old",)


def test_a_feed_that_is_compared_again_is_not_read_again_until_it_means_something_else(
    weir: Weir, monkeypatch: pytest.MonkeyPatch
) -> None:
    weir.execute("create feed Inner from * where contains 'sun'; create feed Old from Inner")
    weir.refresh_set()
    read: list[str] = []
    real = advising._queries

    def counted(name, names):  # type: ignore[no-untyped-def]
        read.append(name)
        return real(name, names)

    monkeypatch.setattr(advising, "_queries", counted)
    for number in range(3):
        weir.execute(f"create feed New{number} from A where contains 'sun' and contains 'w{number}'")
    assert read == ["New0", "New1", "New2"]
    weir.execute("alter feed Inner from * where contains 'rain'")
    (done,) = weir.execute("create feed Wet from A where contains 'rain'")
    assert done.advice == ("Wet is contained in Inner", "Wet is contained in Old")
    (done,) = weir.execute("create feed Dry from A where contains 'sun'")
    assert done.advice == ("Dry contains New0", "Dry contains New1", "Dry contains New2")


def test_scripts_of_any_length_are_advised_as_far_as_is_told(
    weir: Weir, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "; ".join(f"create feed F{n} from * where contains 'w{n % 20}'" for n in range(40))
    told = [one.advice for one in weir.execute(script)]
    assert told[25] == ("F25 is equal to F5",)
    monkeypatch.setattr(advising, "MOST_ADVISED", 3)
    *_, last = weir.execute("; ".join(f"create feed G{n} from * where contains 'v{n}'" for n in range(5)))
    assert last.advice == ("2 of 5 new feeds were not compared with all others",)


def test_a_long_script_does_not_look_through_all_feeds_for_each(
    weir: Weir, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = 0
    real = naming.made_from

    def counted(statement: str) -> tuple[str, str]:
        nonlocal looked_at
        looked_at += 1
        return real(statement)

    monkeypatch.setattr(naming, "made_from", counted)
    weir.execute("; ".join(f"register feed http://{n}.org/ as S{n}" for n in range(200)))
    weir.execute("create feed Base from A; register feed Base as Made; create feed All from *")
    looked_at = 0
    weir.execute("; ".join(f"create feed F{n} from All where contains 'w{n}'" for n in range(300)))
    assert looked_at < 3 * 300  # 200 sources for each of 300 statements would be 60,000
    with pytest.raises(LanguageError, match="would read itself"):
        weir.execute("create or replace feed Base from All")


def test_what_was_not_compared_is_told(weir: Weir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advising, "MOST_COMPARED", 2)
    monkeypatch.setattr(advising, "FEW_READERS", 0)
    for number in range(5):
        weir.execute(f"create feed F{number} from * where contains 'sun'")
    (done,) = weir.execute("create feed New from B where contains 'sun'")
    assert done.advice == (
        "New is contained in F3",
        "New is contained in F4",
        "3 more feeds may contain New and were not compared",
    )


WORDS = st.sampled_from(("sun", "rain", "sun rain", "r*"))
CONDITIONS = st.recursive(
    st.builds("{}contains '{}'".format, st.sampled_from(("", "title ")), WORDS),
    lambda inner: st.one_of(
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("not {}".format, inner),
    ),
    max_leaves=3,
)
INPUTS = st.sampled_from(("A", "B", "A | B", "*", "F0", "F1 | C"))


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(INPUTS, CONDITIONS), min_size=3, max_size=10), st.integers(0, 9))
def test_advice_finds_what_comparing_each_with_each_finds(feeds: list[tuple[str, str]], cut: int) -> None:
    with (
        TemporaryDirectory() as directory,
        Weir.open(directory) as weir,
        pytest.MonkeyPatch.context() as patched,
    ):
        patched.setattr(advising, "MOST_COMPARED", 100)
        patched.setattr(advising, "MOST_TOLD", 100)
        weir.execute(SOURCES)
        for number, (inputs, condition) in enumerate(feeds):
            reads = inputs if number > 1 else "C"
            if number == cut:
                weir.refresh_set()
            (done,) = weir.execute(f"create feed F{number} from {reads} where {condition}")
            told = {one for one in done.advice if " is equal to " in one or " is contained in " in one}
            assert told == expected(weir, f"F{number}", [f"F{one}" for one in range(number)])


def expected(weir: Weir, new: str, others: list[str]) -> set[str]:
    names = CatalogNames(weir.catalog.feeds)

    def filters(name: str):  # type: ignore[no-untyped-def]
        return filters_of(compile_plan(0, expand(Feed(name), names.plan_of)))  # type: ignore[arg-type]

    found = relations(filters(new), {name: filters(name) for name in others})
    return {f"{new} is {one}" for one in found if one.relation in ("equal", "contained")}
