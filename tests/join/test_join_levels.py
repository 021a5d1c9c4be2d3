"""What compiled join queries are: rows of R_T that equal joins share, and levels for chains."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from feedweir.items.string_keys import stable_number
from feedweir.join.patterns.pattern_set import PatternSet, compile_patterns
from feedweir.join.patterns.variables import PatternQuery, blocks_of, inner_stream, is_inner, stream_name
from feedweir.plan.nodes import Block, Feed, Filter, LastItems, PatternJoin, Source, TimeSpan, WindowSpec
from feedweir.plan.predicates import FALSE, PatternNode, TreePattern

DAY = timedelta(days=1)


def block(variable: str, name: str = "title", stream: str = "S") -> Block:
    return Block(Source(stream), TreePattern(PatternNode("//", name, (), variable)))


def join(
    left: Block | PatternJoin,
    right: Block,
    *equalities: tuple[str, str],
    window: WindowSpec,
    select: str = "",
) -> PatternJoin:
    return PatternJoin("join", left, right, equalities, window, select)


def same(days: int, names: tuple[str, str] = ("x", "y"), select: str = "") -> PatternJoin:
    window = TimeSpan(days * DAY)
    return join(block(names[0]), block(names[1]), names, window=window, select=select)


def compiled(*joins: PatternJoin) -> PatternSet:
    found = compile_patterns(PatternQuery(10 + place, one) for place, one in enumerate(joins))
    assert not found.failures
    return found


def test_joins_that_differ_in_names_and_length_only_share_a_row_the_longest_window_first() -> None:
    joins = compiled(same(1), same(3, ("a", "b")), same(2))
    (level,) = joins.levels
    (relation,) = level.relations
    assert len(relation.mode) == 1
    assert [level.results[one].key for one in level.members(0, 0)] == [11, 12, 10]
    assert (relation.member_length // 86_400_000_000).tolist() == [3, 2, 1]
    assert relation.length[0] == relation.member_length[0]
    assert joins.templates == 1


def test_windows_of_items_and_of_time_do_not_share_a_row() -> None:
    counted = join(block("x"), block("y"), ("x", "y"), window=LastItems(5))
    (level,) = compiled(same(1), counted).levels
    assert len(level.relations[0].mode) == 2
    assert level.horizon_us == 86_400_000_000
    assert level.horizon_documents == {"source S": 5}


def test_a_level_without_a_window_of_time_has_no_horizon_in_time() -> None:
    (level,) = compiled(join(block("x"), block("y"), ("x", "y"), window=LastItems(5))).levels
    assert level.horizon_us == -1


def test_a_pattern_is_asked_of_the_tree_matcher_once_whichever_streams_it_is_asked_of() -> None:
    joins = compiled(
        same(1), join(block("x", stream="S"), block("y", stream="T"), ("x", "y"), window=TimeSpan(DAY))
    )
    assert len(joins.patterns) == 1
    assert joins.streams == ("source S", "source T")


def test_only_what_a_construction_shows_is_kept_as_text() -> None:
    shown = compiled(same(1, select="<o>{$y}</o>"), same(1))
    (level,) = shown.levels
    assert len(level.text_variables) == 1
    assert not compiled(same(1)).levels[0].text_variables


def test_variables_of_a_level_ascend_so_that_they_can_be_searched() -> None:
    (level,) = compiled(
        same(1), join(block("a", "x"), block("b", "y"), ("a", "b"), window=TimeSpan(DAY))
    ).levels
    assert (np.diff(level.numbers) > 0).all()


def chain(select: str = "") -> PatternJoin:
    inner = join(block("a", "x"), block("b", "x", "T"), ("a", "b"), window=TimeSpan(DAY))
    return join(inner, block("c", "x", "U"), ("b", "c"), window=TimeSpan(2 * DAY), select=select)


def test_a_chain_is_two_levels_and_what_the_lower_makes_is_read_from_no_source() -> None:
    joins = compiled(chain())
    lower, upper = joins.levels
    assert joins.streams == ("source S", "source T", "source U")
    (made,) = (one.stream for one in lower.results)
    assert is_inner(made)
    assert upper.streams == tuple(sorted((made, "source U")))
    assert [one.key for one in lower.results] == [None]
    assert [one.key for one in upper.results] == [10]


def test_an_inner_join_that_two_chains_have_is_evaluated_once_and_belongs_to_both() -> None:
    joins = compiled(chain(), chain())
    assert len(joins.levels[0].results) == 1
    assert sorted(joins.keys_of(0, 0)) == [10, 11]
    assert joins.keys_of(1, 1) == [11]


def test_an_inner_join_of_which_more_is_shown_is_another_one() -> None:
    joins = compiled(chain(), chain("<o>{$a}</o>"))
    assert len(joins.levels[0].results) == 2


def test_a_chain_that_cannot_be_used_leaves_nothing_of_its_inner_join_behind() -> None:
    inner = join(block("a", "x"), block("b", "x"), ("a", "b"), window=TimeSpan(DAY))
    bad = join(inner, block("c", "x"), ("b", "nowhere"), window=TimeSpan(DAY))
    good = same(1)
    joins = compile_patterns([PatternQuery(1, bad), PatternQuery(2, good)])
    assert list(joins.failures) == [1]
    assert len(joins.levels) == 1
    assert [one.key for one in joins.levels[0].results] == [2]


def test_a_join_without_equalities_meets_on_the_roots_of_its_documents() -> None:
    (level,) = compiled(join(block("x"), block("y"), window=TimeSpan(DAY))).levels
    assert all(one.is_presence for one in level.variables)
    assert level.relations[0].template.describe() == "1·1 nodes, 1 value joins"


@pytest.mark.parametrize("count", [0, 1, 5])
def test_as_many_queries_as_there_are_are_compiled(count: int) -> None:
    joins = compiled(*(same(days + 1) for days in range(count)))
    assert sum(len(level.results) for level in joins.levels) == count


def test_blocks_are_told_from_left_to_right() -> None:
    names = [one.pattern.root.variable for one in blocks_of(chain())]
    assert names == ["a", "b", "c"]


def test_streams_have_one_name_for_each_input() -> None:
    filtered = Filter(Source("S"), FALSE)
    names = [stream_name(one) for one in (Source("S"), Feed("S"), filtered)]
    assert names[:2] == ["source S", "feed S"]
    assert len(set(names)) == 3
    assert not any(map(is_inner, names))
    assert is_inner(inner_stream(stable_number("x")))
