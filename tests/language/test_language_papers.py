"""Every example of the articles is read, checked, planned and printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from feedweir.language import check, format_statement, parse
from feedweir.language.plan_builder import build
from feedweir.language.plan_text import dot, explain
from feedweir.language.queries import BlockJoin, Xscl
from feedweir.language.statements import Ask, CreateFeed, DefineWindow, RegisterFeed
from feedweir.plan.predicates import Constant, Constraint, GraphPattern, Triple, Variable
from tests.plan.made import World

FIXTURE = (Path(__file__).parent / "paper_examples.txt").read_text(encoding="utf-8")
ARTICLES = re.findall(r"^## (.*)\n# sources: (.*)\n([\s\S]*?)(?=^## |\Z)", FIXTURE, re.MULTILINE)


@pytest.mark.parametrize(("title", "sources", "script"), ARTICLES, ids=[article[0] for article in ARTICLES])
def test_every_example_of_the_article_runs(title: str, sources: str, script: str) -> None:
    world = World(sources=sources.split())
    statements = parse(script)
    assert len(statements) == script.count(";\n")
    for statement in statements:
        check(statement, world)
        assert parse(format_statement(statement)) == (statement,)
        if isinstance(statement, (Ask, CreateFeed)):
            node = build(statement.query, world)
            assert explain(node)
            assert dot(node)
        if isinstance(statement, CreateFeed):
            world.queries[statement.name] = statement.query
        if isinstance(statement, RegisterFeed):
            world.sources = (*world.sources, statement.name)


def test_four_articles_are_in_the_fixture() -> None:
    assert [article[0] for article in ARTICLES] == ["RoSeS", "Prospective search", "XSCL", "Graph filtering"]


def test_a_window_has_the_name_that_the_script_gave_it() -> None:
    statements = parse(ARTICLES[2][2])
    named = [statement.window for statement in statements if isinstance(statement, DefineWindow)]
    sources = [statement.query.source for statement in statements if isinstance(statement, Ask)]
    bodies = [source.body for source in sources if isinstance(source, Xscl)]
    used = [body.window for body in bodies if isinstance(body, BlockJoin)]
    assert used == named


def test_the_first_graph_query_has_its_three_triples_and_constraint() -> None:
    statement = parse(ARTICLES[3][2])[0]
    assert isinstance(statement, Ask)
    year = Triple(Constant("RSS Filter"), Constant("year"), Variable("x"))
    pattern = statement.query.where[0].predicate
    assert isinstance(pattern, GraphPattern)
    assert pattern.triples[2] == year
    assert pattern.constraints == (Constraint("x", ">", 2003),)
