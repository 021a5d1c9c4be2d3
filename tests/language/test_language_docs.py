"""Every example of the reference is run, and gives what it says."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from feedweir.errors import LanguageError
from feedweir.items.model import Item
from feedweir.language import check, format_statement, parse
from feedweir.language.plan_builder import build
from feedweir.language.statements import AlterFeed, Ask, CreateFeed, RegisterFeed, Statement
from tests.naive import elements_of
from tests.plan.made import World

PAGE = (Path(__file__).parents[2] / "docs" / "language.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```feedweir\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ERRORS = re.findall(r"^```error\n(.*?)\n((?:-- .*\n)+)```$", PAGE, re.MULTILINE)
TABLE = re.findall(r"^\| (\d) \|(.*)\|$", PAGE, re.MULTILINE)


def items_of_the_page() -> list[Item]:
    return [_item(int(number), [cell.strip() for cell in row.split("|")]) for number, row in TABLE]


def _item(seq: int, cells: list[str]) -> Item:
    source, title, summary, authors, categories, published, language, links = cells
    found_links = tuple(re.findall(r"`([^`]+)`", links))
    time = datetime.fromisoformat(published).replace(tzinfo=UTC) if published else None
    elements = [
        ("title", title),
        *(("author", a) for a in _listed(authors)),
        *(("category", c) for c in _listed(categories)),
    ]
    return Item(
        seq=seq,
        source=source,
        identity=str(seq),
        title=title,
        summary=f"<p>{summary}</p>" if summary else "",
        authors=_listed(authors),
        categories=_listed(categories),
        link=found_links[0] if found_links else "",
        links=found_links,
        published=time,
        arrived=time + timedelta(hours=1) if time else datetime(2020, 11, 6, tzinfo=UTC),
        language=language,
        extensions=(("media:rating", "4.5"),) if seq == 1 else (),
        raw=f"<item>{''.join(f'<{name}>{text}</{name}>' for name, text in elements)}</item>",
    )


def _listed(cell: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in cell.split(",") if part.strip())


def _run(statement: Statement, world: World, expected: str | None) -> None:
    check(statement, world)
    assert parse(format_statement(statement)) == (statement,)
    if isinstance(statement, (Ask, CreateFeed)):
        node = build(statement.query, world)
        if expected is not None:
            plans = {name: build(query, world, feed=name) for name, query in world.queries.items()}
            elements = elements_of(node, items_of_the_page(), plans)
            found = ["+".join(map(str, one.item.made_of or (one.item.seq,))) for one in elements]
            assert found == [number.strip() for number in expected.split(",") if number.strip()], (
                format_statement(statement)
            )
    _remember(statement, world)


def _remember(statement: Statement, world: World) -> None:
    match statement:
        case CreateFeed(name, query):
            world.queries[name] = query
        case RegisterFeed(name):
            world.sources = (*world.sources, name)
        case AlterFeed(name, query=query) if query is not None:
            world.queries[name] = query


@pytest.mark.parametrize("block", BLOCKS, ids=[f"example{number}" for number in range(1, len(BLOCKS) + 1)])
def test_an_example_runs_and_gives_what_it_says(block: str) -> None:
    world = World(sources=("Concerts", "News", "Photos"))
    statements = parse(block)
    pieces = re.split(r";(?=[ ]*(?:--|/\*|\n|$))", block)
    answers = [re.match(r"\s*-- gives([ \d,+]*)$", piece.split("\n", 1)[0]) for piece in pieces[1:]]
    assert len(answers) == len(statements), "every statement of the page ends with `;`"
    for statement, answer in zip(statements, answers, strict=True):
        _run(statement, world, answer.group(1) if answer else None)


def test_most_queries_of_the_page_say_what_they_give() -> None:
    assert PAGE.count("-- gives") > 80
    assert len(items_of_the_page()) == 6


@pytest.mark.parametrize(("text", "told"), ERRORS)
def test_an_error_of_the_page_is_told_as_shown(text: str, told: str) -> None:
    world = World(sources=("Concerts", "News", "Photos"))
    with pytest.raises(LanguageError) as caught:
        check(parse(text)[0], world)
    assert str(caught.value).splitlines() == [line.removeprefix("-- ") for line in told.splitlines()]


def test_the_page_lists_every_attribute_and_reserved_word() -> None:
    from feedweir.items.attributes import ATTRIBUTES, SYNONYMS
    from feedweir.language.literals import RESERVED

    words = set(re.findall(r"[\w-]+", PAGE))
    assert {attribute.name for attribute in ATTRIBUTES} | set(SYNONYMS) <= words
    reserved = PAGE.split("Reserved words")[1].split("`")[1]
    assert set(reserved.split()) == RESERVED
