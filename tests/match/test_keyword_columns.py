"""Plain queries as columns: which queries are plain, and the conjunctions that they become."""

from __future__ import annotations

import pytest

from feedweir.match.index.keywords import Keywords, keywords_of
from feedweir.match.index.trie import MAX_DEPTH
from feedweir.match.sets.query_store import table_of
from feedweir.plan.predicates import TRUE, And, Contains, FromFeeds, Not, Or, Predicate, Term
from feedweir.plan.query import Query


def words(*texts: str, attribute: str | None = None, at_least: int | None = None) -> Contains:
    return Contains(attribute, tuple(map(Term, texts)), len(texts) if at_least is None else at_least)


def read(*asked: Predicate, sources: tuple[str, ...] = ()) -> Keywords:
    return keywords_of(table_of([Query(key, sources, one) for key, one in enumerate(asked)]))


def conjunctions(found: Keywords) -> list[tuple[int, list[str], tuple[str, ...]]]:
    """(query, its words with the attributes where they are looked for, its sources) of each conjunction."""
    texts = found.words.to_pylist()
    names = ("", *found.scope_names)

    def leaf(number: int) -> str:
        name = names[int(found.leaf_scopes[number])]
        return (f"{name}: " if name else "") + texts[int(found.leaf_words[number])]

    return [
        (
            int(row),
            [leaf(int(one)) for one in found.leaves[found.offsets[n] : found.offsets[n + 1]]],
            found.source_names[int(found.origins[n])] if found.origins[n] >= 0 else (),
        )
        for n, row in enumerate(found.rows)
    ]


def test_all_of_some_words_is_one_conjunction_and_any_is_one_for_each() -> None:
    found = read(words("Storm", "tide"), words("calm", "sea", at_least=1))
    assert conjunctions(found) == [(0, ["storm", "tide"], ()), (1, ["calm"], ()), (1, ["sea"], ())]


def test_a_word_said_twice_is_wanted_once() -> None:
    assert conjunctions(read(words("storm", "STORM"))) == [(0, ["storm"], ())]


def test_words_are_looked_for_where_the_query_says() -> None:
    both = And((words("storm", attribute="title"), words("tide")))
    either = Or((words("storm", attribute="description"), words("tide", attribute="m:x")))
    assert conjunctions(read(both, either)) == [
        (0, ["title: storm", "tide"], ()),
        (1, ["summary: storm"], ()),
        (1, ["m:x: tide"], ()),
    ]


def test_sources_are_one_of_several_and_may_be_all_that_is_asked() -> None:
    found = read(words("storm"), TRUE, sources=("b", "a", "b"))
    assert conjunctions(found) == [(0, ["storm"], ("a", "b")), (1, [], ("a", "b"))]


@pytest.mark.parametrize(
    "odd",
    [
        words("storm tide"),
        words("!"),
        words("storm", "!"),
        Contains(None, (Term("sto", True),), 1),
        words("a", "b", "c", at_least=2),
        words("storm", attribute="published"),
        words("storm", attribute="nothing"),
        Not(words("storm")),
        And((words("storm"), FromFeeds(("s",)))),
        And((words("storm"), Or((words("a"), words("b"))))),
        words(*(f"w{n}" for n in range(MAX_DEPTH + 1))),
        words(*(f"w{n}" for n in range(65)), at_least=1),
        TRUE,
    ],
)
def test_all_other_queries_take_the_long_way(odd: Predicate) -> None:
    assert conjunctions(read(odd, words("storm"))) == [(1, ["storm"], ())]


def test_as_many_words_as_a_trie_tests_are_plain() -> None:
    most = words(*(f"w{n}" for n in range(MAX_DEPTH)))
    assert len(conjunctions(read(most))[0][1]) == MAX_DEPTH
    assert conjunctions(read(most, sources=("s",))) == []


def test_names_of_sources_that_could_be_mistaken_for_two_take_the_long_way() -> None:
    assert conjunctions(read(words("storm"), sources=("a\x1fb",))) == []
    assert conjunctions(read(words("storm"), sources=tuple(f"s{n}" for n in range(33)))) == []


def test_rows_may_be_excepted_and_attributes_left_out() -> None:
    table = table_of(
        [Query(0, (), words("a")), Query(1, (), words("b")), Query(2, (), words("c", attribute="title"))]
    )
    assert keywords_of(table, [1]).rows.tolist() == [0, 2]
    assert keywords_of(table, with_attributes=False).rows.tolist() == [0, 1]


def test_no_queries_are_no_conjunctions() -> None:
    found = read()
    assert conjunctions(found) == []
    assert (found.n_whole, found.ids.tolist(), found.offsets.tolist()) == (0, [], [0])


def test_words_of_the_whole_text_come_before_those_of_attributes() -> None:
    found = read(words("b", attribute="title"), words("a"), words("b"), words("a", attribute="author"))
    assert found.n_whole == 2
    assert found.leaf_scopes.tolist() == [0, 0, 1, 2]
    assert found.scope_names == ("author", "title")
