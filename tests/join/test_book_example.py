"""The running example of the paper on massively multi-query joins: its documents, relations and results."""

from __future__ import annotations

from datetime import timedelta

import numpy as np

from feedweir.join.patterns.found import Match
from feedweir.join.patterns.pattern_logic import PatternLogic
from feedweir.join.patterns.pattern_set import PatternSet, compile_patterns
from feedweir.join.patterns.variables import PatternQuery
from feedweir.match.trees import Witnesses, compile_trees
from feedweir.plan.nodes import Block, PatternJoin, Source, TimeSpan
from feedweir.plan.predicates import PatternNode, TreePattern
from tests.join.naive import item
from tests.join.running import batch_of

D1 = (
    "<book><publisher>Wrox</publisher><author>Danny Ayers</author><author>Andrew Watt</author>"
    "<title>Beginning RSS and Atom Programming</title>"
    "<category>Scripting &amp; Programming</category><category>Web Site Development</category></book>"
)
D2 = (
    "<blog><url>http://example.org/1</url><author>Danny Ayers</author>"
    "<title>Beginning RSS and Atom Programming</title>"
    "<category>Book Announcement</category><category>Scripting &amp; Programming</category></blog>"
)
WINDOWS = {1: timedelta(hours=1), 2: timedelta(hours=2), 3: timedelta(hours=3)}


def block(root: str, **leaves: str) -> Block:
    (variable, name), *rest = ((key, value) for key, value in {root: "", **leaves}.items())
    children = tuple(PatternNode("//", leaf, (), bound) for bound, leaf in rest)
    assert name == ""
    element, _, bound = variable.partition("_")
    return Block(Source("S"), TreePattern(PatternNode("//", element, children, bound)))


def queries() -> list[PatternQuery]:
    q1 = (block("book_x1", x2="author", x3="title"), block("blog_x4", x5="author", x6="title"))
    q2 = (block("book_x1", x2="author", x7="category"), block("blog_x4", x5="author", x8="category"))
    q3 = (block("blog_x4", x5="author", x6="title"), block("blog_y4", y5="author", y6="title"))
    pairs = {
        1: (("x2", "x5"), ("x3", "x6")),
        2: (("x2", "x5"), ("x7", "x8")),
        3: (("x5", "y5"), ("x6", "y6")),
    }
    return [
        PatternQuery(
            number, PatternJoin("followed by", left, right, pairs[number], TimeSpan(WINDOWS[number]))
        )
        for number, (left, right) in enumerate((q1, q2, q3), 1)
    ]


NAMES = {
    ("book", "author"): ("x1", "x2"),
    ("book", "title"): ("x1", "x3"),
    ("book", "category"): ("x1", "x7"),
    ("blog", "author"): ("x4", "x5"),
    ("blog", "title"): ("x4", "x6"),
    ("blog", "category"): ("x4", "x8"),
}


def names_of(pattern: TreePattern) -> tuple[str, str]:
    return NAMES[pattern.root.name, pattern.root.children[0].name]


def bin_rows(joins: PatternSet, found: Witnesses) -> set[tuple[str, str, int, int]]:
    return {
        (*names_of(joins.patterns[pattern]), one, other)
        for pattern, one, other in zip(
            found.pattern.tolist(), found.node1.tolist(), found.node2.tolist(), strict=True
        )
    }


def test_the_three_queries_share_one_template_and_variables_of_one_definition_are_one() -> None:
    joins = compile_patterns(queries())
    level = joins.levels[0]
    assert joins.templates == 1
    assert set(map(names_of, joins.patterns)) == set(NAMES.values())
    relation = level.relations[0]
    rows = {}
    for row in range(3):
        ends = [level.variables[variable] for variable in relation.variables[row].tolist()]
        assert all(end.pattern for end in ends)
        result = level.results[int(relation.members[relation.members_ptr[row]])]
        columns = [names_of(end.pattern)[1] for end in ends if end.pattern]
        sides = [names_of(end.pattern)[0] for end in ends if end.pattern]
        rows[result.key] = ([sides[0], *columns[:2]], [sides[2], *columns[2:]], relation.length[row])
    assert rows == {
        1: (["x1", "x2", "x3"], ["x4", "x5", "x6"], 3600 * 10**6),
        2: (["x1", "x2", "x7"], ["x4", "x5", "x8"], 7200 * 10**6),
        3: (["x4", "x5", "x6"], ["x4", "x5", "x6"], 10800 * 10**6),
    }


def test_the_witnesses_are_the_relations_of_the_paper() -> None:
    """R_bin and R_doc after d1, R_binW and R_docW of d2; values of inner nodes (`-` in the paper) are not kept."""
    joins = compile_patterns(queries())
    trees = compile_trees(joins.patterns)
    first, second = trees.witnesses([D1]), trees.witnesses([D2])
    assert bin_rows(joins, first) == {
        ("x1", "x2", 0, 2),
        ("x1", "x2", 0, 3),
        ("x1", "x3", 0, 4),
        ("x1", "x7", 0, 5),
        ("x1", "x7", 0, 6),
    }
    assert dict(zip(first.value_node.tolist(), first.values, strict=True)) == {
        2: "Danny Ayers",
        3: "Andrew Watt",
        4: "Beginning RSS and Atom Programming",
        5: "Scripting & Programming",
        6: "Web Site Development",
    }
    assert bin_rows(joins, second) == {
        ("x4", "x5", 0, 2),
        ("x4", "x6", 0, 3),
        ("x4", "x8", 0, 4),
        ("x4", "x8", 0, 5),
    }
    assert dict(zip(second.value_node.tolist(), second.values, strict=True)) == {
        2: "Danny Ayers",
        3: "Beginning RSS and Atom Programming",
        4: "Book Announcement",
        5: "Scripting & Programming",
    }


def test_q1_and_q2_are_satisfied_by_the_two_documents_and_q3_is_not() -> None:
    selected = [
        PatternQuery(
            one.key,
            PatternJoin(
                *(getattr(one.join, name) for name in ("kind", "left", "right", "equalities", "window")),
                select,
            ),
        )
        for one, select in zip(
            queries(), ("<o>{$x2}|{$x3}</o>", "<o>{$x5}|{$x8}</o>", "<o>{$x5}</o>"), strict=True
        )
    ]
    joins = compile_patterns(selected)
    trees = compile_trees(joins.patterns)
    logic = PatternLogic(joins)
    documents = [item(1, 10, D1, "source S"), item(2, 20, D2, "source S")]
    none, states = logic.step(logic.start(), batch_of(documents[:1], trees), 0)
    found, states = logic.step(states, batch_of(documents[1:], trees), 1)
    assert none.matches() == []
    assert found.matches() == [
        Match(1, (1, 2), "<o>Danny Ayers|Beginning RSS and Atom Programming</o>"),
        Match(2, (1, 2), "<o>Danny Ayers|Scripting &amp; Programming</o>"),
    ]
    state = states["level0"]
    assert state.sequence(np.array([0, 1]))[0].tolist() == [1, 2]
    assert state.times(np.array([0, 1])).tolist() == [10, 20]


def test_a_pair_outside_the_window_of_one_query_is_inside_that_of_another() -> None:
    joins = compile_patterns(queries())
    trees = compile_trees(joins.patterns)
    logic = PatternLogic(joins)
    hour = 3600 * 10**6
    documents = [item(1, 0, D1, "source S"), item(2, hour + hour // 2, D2, "source S")]
    found, _ = logic.step(logic.start(), batch_of(documents, trees), 0)
    assert found.matches() == [Match(2, (1, 2))]
    assert found.count() == 1
