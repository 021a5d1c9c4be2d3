"""Tree patterns and the joins of XSCL: what is read, what is bound, what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.errors import LanguageError
from feedweir.language import format_statement, parse
from feedweir.language.queries import BlockJoin, PathBlock, Query, Xscl
from feedweir.language.statements import Ask
from feedweir.language.tree_patterns import format_path, path, step_of, tree_pattern, variables_of, with_child
from feedweir.language.xscl import bind_branch, braced, variables_in
from feedweir.plan.predicates import PatternNode
from feedweir.plan.window_lengths import LastItems
from tests.language.generated import pattern_nodes, patterns
from tests.language.refused import error_of, marked, whole


def node(name: str, *children: PatternNode, axis: str = "//", **rest: object) -> PatternNode:
    return PatternNode(axis, name, children, **rest)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("//a", node("a")),
        ("/a/b", node("a", node("b", axis="/"), axis="/")),
        ("//a//b", node("a", node("b"))),
        ("/ *", node("*", axis="/")),
        ("//@id", node("@id")),
        ("//a/@*", node("a", node("@*", axis="/"))),
        ("//dc:title", node("dc:title")),
        ("//a[b]", node("a", node("b", axis="/"))),
        ("//a[.//b]", node("a", node("b"))),
        ("//a[./b]", node("a", node("b", axis="/"))),
        ("//a[b and c]", node("a", node("b", axis="/"), node("c", axis="/"))),
        ("//a[b][c]", node("a", node("b", axis="/"), node("c", axis="/"))),
        ("//a[b/c]", node("a", node("b", node("c", axis="/"), axis="/"))),
        ("//a->x", node("a", variable="x")),
        ("//a as x", node("a", variable="x")),
        ("//a as $x", node("a", variable="x")),
        ("//a->x'/b", node("a", node("b", axis="/"), variable="x'")),
        ("//a[. = 'x']", node("a", op="=", value="x")),
        ("//a[text() = 'x']", node("a", op="=", value="x")),
        ("//a = 'x'", node("a", op="=", value="x")),
        ("//a[b = 'x']", node("a", node("b", axis="/", op="=", value="x"))),
        ("//a[b >= -3.5]", node("a", node("b", axis="/", op=">=", value=-3.5))),
        ("//a/b/text()", node("a", node("b", axis="/"))),
        (
            "//a[b[c = 1]/d]",
            node("a", node("b", node("c", axis="/", op="=", value=1.0), node("d", axis="/"), axis="/")),
        ),
        ("//from", node("from")),
    ],
)
def test_a_path_is_the_tree_it_says(text: str, expected: PatternNode) -> None:
    assert whole(path, text) == expected
    assert whole(path, format_path(expected).replace("/*", "/ *")) == expected


def test_a_path_between_quotes_is_the_same() -> None:
    assert whole(tree_pattern, "'//a[b = \"x\"]'") == whole(tree_pattern, "//a[b = 'x']")


@pytest.mark.parametrize(
    ("text", "message", "left"),
    [
        ("a", "`a` is not a path", "a"),
        ("//", "the text ends where the name of an element is expected", ""),
        ("//a[", "the text ends where the name of an element is expected", ""),
        ("//a[b", "the text ends too early", ""),
        ("//a[]", "`]` is not the name of an element", "]"),
        ("//a[.]", "`]` is not expected here", "]"),
        ("//a[b or c]", "`or` cannot be used inside a tree pattern", "or c]"),
        ("//a[b = ]", "`]` is not a value", "]"),
        ("//a[. = 1][. = 2]", "this step already has a comparison", "= 2]"),
        ("//a[b = 'x' = 'y']", "this step already has a comparison", "= 'y']"),
        ("//a->x->y", "this step already has a variable", "y"),
        ("//a->", "the text ends where a variable is expected", ""),
        ("//a->where", "`where` is not a variable", "where"),
        ("//3", "`3` is not the name of an element", "3"),
    ],
)
def test_a_path_with_a_mistake_is_refused_at_its_place(text: str, message: str, left: str) -> None:
    assert error_of(path, text).message == message
    assert marked(path, text) == left


def test_what_follows_a_path_between_quotes_is_refused_at_the_quotes() -> None:
    assert marked(tree_pattern, "'//a or //b'") == "'//a or //b'"


def names_in(pattern: PatternNode) -> list[str]:
    return [pattern.variable, *(name for child in pattern.children for name in names_in(child))]


@given(pattern_nodes())
def test_the_variables_of_a_pattern_are_those_of_its_steps_from_the_left(pattern: PatternNode) -> None:
    assert variables_of(pattern) == list(filter(None, names_in(pattern)))
    for variable in variables_of(pattern):
        found = step_of(pattern, variable)
        assert found is not None
        assert found.variable == variable
    assert step_of(pattern, "nobody") is None


@given(pattern_nodes(st.sampled_from(["", "x1"])), pattern_nodes(st.just("")))
def test_a_branch_comes_below_the_step_it_is_given_to(pattern: PatternNode, branch: PatternNode) -> None:
    grown = with_child(pattern, "x1", branch)
    below = step_of(grown, "x1")
    if below is None:
        assert grown == pattern
    else:
        assert below.children[-1] == branch


def test_a_branch_gets_a_variable_of_its_own_unless_the_same_branch_has_one() -> None:
    pattern, branch = node("a", variable="x"), node("b", axis="/", variable="?")
    one, with_one = bind_branch(pattern, "x", branch, ["x"])
    again, with_both = bind_branch(with_one, "x", branch, ["x", one])
    assert (one, again) == ("x_1", "x_1")
    assert with_both == with_one == node("a", node("b", axis="/", variable="x_1"), variable="x")
    other, _ = bind_branch(with_one, "x", node("c", variable="?"), ["x", "x_1", "x_2"])
    assert other == "x_3"


def body_of(text: str) -> PathBlock | BlockJoin:
    (asked,) = parse(text)
    assert isinstance(asked, Ask)
    assert isinstance(asked.query.source, Xscl)
    return asked.query.source.body


def test_joins_are_read_from_the_left_and_brackets_say_the_same() -> None:
    plain = "A//x->a JOIN{1 day} B//y->b FOLLOWED BY{a=c, 5 events} C//z->c"
    body = body_of(plain)
    assert isinstance(body, BlockJoin)
    assert (body.kind, body.window, body.equalities) == ("followed by", LastItems(5), (("a", "c"),))
    assert isinstance(body.left, BlockJoin)
    assert variables_in(body) == ["a", "b", "c"]
    assert body_of(plain.replace("A//x->a JOIN{1 day} B//y->b", "(A//x->a JOIN{1 day} B//y->b)")) == body


@given(patterns())
@settings(max_examples=60, deadline=None)
def test_xscl_in_braces_reads_back_as_itself(found: Xscl) -> None:
    (again,) = parse(format_statement(Ask(Query(found))))
    assert again == Ask(Query(found))


@pytest.mark.parametrize(
    ("text", "message", "left"),
    [
        ("A//a->x JOIN B//b->y", "`B` is not expected here", "B//b->y"),
        ("A//a->x JOIN{x=y, 3 days B//b->y", "the text ends too early", ""),
        ("A//a->x JOIN{x=y, 3 days} ", "the text ends where the name of a feed is expected", ""),
        ("A//a->x FOLLOWED{x=y, 3 days} B//b->y", "`{` is not expected here", "{x=y, 3 days} B//b->y"),
        ("A//a->x JOIN{x=z, 3 days} B//b->y", "`z` is not bound", "z, 3 days} B//b->y"),
        ("A//a->x JOIN{x=y, 3 moons} B//b->y", "`moons` is not a unit of time", "moons} B//b->y"),
        (
            "A//a->x JOIN{x/c->z = y, 3 days} B//b->y",
            "variables cannot be bound inside the braces",
            "/c->z = y, 3 days} B//b->y",
        ),
        (
            "A//a->x JOIN{x[c] = y, 3 days} B//b->y",
            "a condition needs a step before it",
            "[c] = y, 3 days} B//b->y",
        ),
        ("A//a->x JOIN{x=y OR x=y, 3 days} B//b->y", "`OR` is not expected here", "OR x=y, 3 days} B//b->y"),
        ("(A//a->x JOIN{1 day} B//b->y", "the text ends too early", ""),
    ],
)
def test_a_pattern_join_with_a_mistake_is_refused_at_its_place(text: str, message: str, left: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse(text)
    assert (caught.value.message, text[caught.value.offset :]) == (message, left)


def test_joins_of_patterns_nest_only_so_deep() -> None:
    with pytest.raises(LanguageError, match="too deep"):
        parse("A//a" + " JOIN{1 day} A//a" * 200)


@pytest.mark.parametrize(
    ("select", "kept"),
    [
        ("SELECT *", ""),
        ("SELECT x", "<result>{$x}</result>"),
        ("SELECT $x, $x", "<result>{$x}{$x}</result>"),
        ("SELECT <a b='{$x}'>{x}</a>", "<a b='{$x}'>{x}</a>"),
        ("SELECT '<a>{$x}</a>'", "<a>{$x}</a>"),
        ("", ""),
    ],
)
def test_a_selection_is_kept_as_a_template(select: str, kept: str) -> None:
    found = whole(braced, f"xscl {{ {select + ' FROM' if select else ''} A//a->x }}")
    assert found.select == kept


@pytest.mark.parametrize(
    ("select", "message", "left"),
    [
        ("SELECT <a>{$y}</a> FROM", "SELECT uses `y`, which is not bound", "y}</a> FROM A//a->x"),
        ("SELECT x, y FROM", "SELECT uses `y`, which is not bound", "y FROM A//a->x"),
        ("SELECT <a>{$x}</b> FROM", "SELECT is not an XML template: mismatched tag", "b> FROM A//a->x"),
        (
            "SELECT <a/><b/> FROM",
            "SELECT is not an XML template: junk after document element",
            "<b/> FROM A//a->x",
        ),
        (
            "SELECT '<!DOCTYPE a><a/>' FROM",
            "SELECT is not an XML template: it contains a comment or a declaration",
            "<!DOCTYPE a><a/>' FROM A//a->x",
        ),
        ("SELECT 3 FROM", "`3` is not a variable", "3 FROM A//a->x"),
    ],
)
def test_a_selection_that_makes_no_document_is_refused(select: str, message: str, left: str) -> None:
    text = f"{select} A//a->x"
    with pytest.raises(LanguageError) as caught:
        parse(text)
    assert (caught.value.message, text[caught.value.offset :]) == (message, left)
