"""Statements as they are written and as they are printed."""

from __future__ import annotations

import pytest

from feedweir.language import feeds_used, format_statement, parse
from feedweir.language.queries import BlockJoin, Named, PathBlock, Xscl
from feedweir.language.statements import Ask, CreateFeed

PAIRS = [
    ("FROM a | b AS $x | (c)", "from a | b as $x | c"),
    ("from (a | b) as $x", "from (a | b) as $x"),
    ("from ((a | b)) as $x", "from (a | b) as $x"),
    ("from (a as $y) as $x", "from (a as $y) as $x"),
    ("from (a) as $x", "from a as $x"),
    ("from 'a b' | \"select\"", "from 'a b' | 'select'"),
    ("from a where $x[title = 'a'] and title = 'b'", "from a\nwhere $x[title = 'a'] and title = 'b'"),
    ("from a where title = 'b' and $x[title = 'a']", "from a\nwhere $x[title = 'a'] and title = 'b'"),
    ("from a where $x[title = 'a'] or $x[title = 'b']", "from a\nwhere $x[title = 'a' or title = 'b']"),
    ("from a where not $x[title = 'a']", "from a\nwhere $x[not title = 'a']"),
    (
        "from a where ($x[title = 'a'] and $y[title = 'b']) and (title = 'c' or title = 'd')",
        "from a\nwhere $x[title = 'a'] and $y[title = 'b'] and (title = 'c' or title = 'd')",
    ),
    (
        "from a join last 1 year on b as $w with $x[not author = window.author or similar window at least 0.2]",
        "from a\njoin last 365 days on b as $w with $x[not author = window.author or similar window at least 0.2]",
    ),
    ("register feed 'http://x.y/a b' as N every hour", "register feed 'http://x.y/a b' as N every 1 hour"),
    ("register source http://x.y/?a=1,2&b=(c) as N", "register feed 'http://x.y/?a=1,2&b=(c)' as N"),
    ("subscribe to A output webhook https://x.y", "subscribe to A output webhook 'https://x.y'"),
    ("describe A", "describe feed A"),
    ("explain feed A", "explain from A"),
    ("EXPLAIN PLAN", "explain plan"),
    ("explain plan A", "explain plan A"),
    ("EXPLAIN JOINS", "explain joins"),
    ("explain joins A", "explain joins A"),
    ("blog", "from blog"),
    ("S//a->x[b]//c", "from xscl { S//a->x[./b][.//c] }"),
    (
        "(S//a->x JOIN{x=y, 2 days} S//b->y) FOLLOWED BY{5 events} S//c->z PUBLISH P",
        "create feed P\nfrom xscl { S//a->x JOIN{x=y, 2 days} S//b->y FOLLOWED BY{5 items} S//c->z }",
    ),
    (
        "SELECT x, y FROM S//a->x JOIN{y=x, 1 day} S//b->y",
        "from xscl { SELECT '<result>{$x}{$y}</result>' FROM S//a->x JOIN{x=y, 1 day} S//b->y }",
    ),
    (
        "SELECT <a> {$x} it's </a> FROM S//a->x",
        "from xscl { SELECT '<a> {$x} it''s </a>' FROM S//a->x }",
    ),
    ("SELECT * FROM A WHERE (s, p, ?o)", "from A\nwhere graph { ('s', 'p', ?o) }"),
]


@pytest.mark.parametrize(("written", "printed"), PAIRS)
def test_a_statement_is_printed_in_its_canonical_form(written: str, printed: str) -> None:
    (statement,) = parse(written)
    assert format_statement(statement) == printed
    assert parse(printed) == (statement,)


def body_of(text: str) -> PathBlock | BlockJoin:
    (statement,) = parse(text)
    assert isinstance(statement, (Ask, CreateFeed))
    assert isinstance(statement.query.source, Xscl)
    return statement.query.source.body


def same(one: str, other: str) -> bool:
    return body_of(one) == body_of(other)


def test_a_path_in_the_braces_becomes_a_branch_with_its_own_variable() -> None:
    assert same(
        "S//book->b JOIN{b//author/last = c/name, 3 days} S//blog->c",
        "S//book->b[.//author[last->b_1]] JOIN{b_1 = c_1, 3 days} S//blog->c[name->c_1]",
    )


def test_a_path_with_a_condition_binds_its_last_step_not_the_condition() -> None:
    assert same(
        "S//book->b JOIN{b/author[@id = '3'] = c, 3 days} S//blog->c",
        "S//book->b[author->b_1[@id = '3']] JOIN{b_1 = c, 3 days} S//blog->c",
    )


def test_equal_paths_in_the_braces_share_a_variable() -> None:
    assert same(
        "S//book->b JOIN{b/author = c/author AND b/author = c/editor, 3 days} S//blog->c",
        "S//book->b[author->b_1] JOIN{b_1 = c_1 AND b_1 = c_2, 3 days} S//blog->c[author->c_1][editor->c_2]",
    )


def test_a_new_variable_avoids_the_names_that_are_taken() -> None:
    assert same(
        "S//book->b[title->b_1] JOIN{b/author = c, 3 days} S//blog->c",
        "S//book->b[title->b_1][author->b_2] JOIN{b_2 = c, 3 days} S//blog->c",
    )


def test_a_path_may_reach_into_an_earlier_block_of_a_chain() -> None:
    assert same(
        "S//a->x JOIN{1 day} S//b->y JOIN{x/k = z AND y//l = z, 2 days} S//c->z",
        "S//a->x[k->x_1] JOIN{1 day} S//b->y[.//l->y_1] JOIN{x_1 = z AND y_1 = z, 2 days} S//c->z",
    )


def test_an_equality_is_turned_so_that_the_left_block_comes_first() -> None:
    body = body_of("S//a->x JOIN{y = x, 1 day} S//b->y")
    assert isinstance(body, BlockJoin)
    assert body.equalities == (("x", "y"),)


def test_the_feeds_of_a_query_are_found_wherever_it_reads_them() -> None:
    (statement,) = parse(
        "from A | (B | A) as $x | xscl { C//a->p JOIN{p=q, 1 day} D//b->q } join last 2 days on E with [similar window]"
    )
    assert isinstance(statement, Ask)
    assert feeds_used(statement.query) == ("A", "B", "D", "C", "E")


def test_comments_and_empty_statements_say_nothing() -> None:
    script = "-- one\n;; /* two ; */ from A -- three ' \n where true;/**/;\n"
    (statement,) = parse(script)
    assert isinstance(statement, Ask)
    assert statement.query.source == Named("A")
    assert parse("") == parse(" -- nothing") == ()


def test_a_window_has_its_name_only_after_it_was_defined() -> None:
    text = "define window T as 3 days; from A join last T on B with [similar window]"
    assert parse(text)[1] == parse("from A join last 3 days on B with [similar window]")[0]


def test_statements_are_equal_wherever_they_stand() -> None:
    assert parse("drop feed A")[0] == parse("show feeds; drop feed A")[1]
