"""What CONTRIBUTING.md shows works when it is done."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from feedweir.acquire.parse.entries import FeedText
from feedweir.channel_kinds import ChannelKind
from feedweir.deliver.channels.channel_types import ChannelContext, ChannelType
from feedweir.deliver.send.parcel import Parcel
from feedweir.deliver.send.retry import RetryPolicy
from feedweir.errors import DeliveryError
from feedweir.language import atom_syntax, format_predicate
from feedweir.language.atom_syntax import ATOM_SYNTAX, AtomSyntax
from feedweir.language.literals import count, format_name, name
from feedweir.language.name_checks import Names, check_known
from feedweir.language.queries import Place
from feedweir.language.subjects import Subject, format_about
from feedweir.language.tokens import Cursor
from feedweir.match.atoms import Ask
from feedweir.match.families import ATOM_FORMULAS
from feedweir.match.meaning import item_meaning
from feedweir.match.meaning.item_meaning import ATOM_MEANINGS
from feedweir.optimize.atom_relations import ATOM_RELATIONS, AtomRelations, atom_implies
from feedweir.optimize.specimens import SPECIMEN_PARTS, specimens_of
from feedweir.plan.query import Query
from tests.deliver.musical import feed_of, numbered
from tests.deliver.test_channel_types import context
from tests.deliver.test_channels import parcel_of
from tests.language.reading import parse_predicate
from tests.optimize.plan_text import read_plan, show_plan

PAGE = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
TABLES = {
    "ATOM_SYNTAX": ATOM_SYNTAX,
    "ATOM_MEANINGS": ATOM_MEANINGS,
    "ATOM_FORMULAS": ATOM_FORMULAS,
    "ATOM_RELATIONS": ATOM_RELATIONS,
    "SPECIMEN_PARTS": SPECIMEN_PARTS,
}
KNOWN = {
    **TABLES,
    "Ask": Ask,
    "AtomRelations": AtomRelations,
    "AtomSyntax": AtomSyntax,
    "ChannelContext": ChannelContext,
    "ChannelKind": ChannelKind,
    "ChannelType": ChannelType,
    "Cursor": Cursor,
    "DeliveryError": DeliveryError,
    "ExitStack": ExitStack,
    "Names": Names,
    "Parcel": Parcel,
    "Path": Path,
    "Place": Place,
    "RetryPolicy": RetryPolicy,
    "Subject": Subject,
    "check_known": check_known,
    "count": count,
    "dataclass": dataclass,
    "field": field,
    "format_about": format_about,
    "format_name": format_name,
    "name": name,
}


def shown_under(heading: str) -> dict[str, Any]:
    """The Python of a chapter, executed."""
    chapter = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    names = dict(KNOWN)
    for block in re.findall(r"```python\n(.*?)```", chapter, re.DOTALL):
        exec(block, names)
    return names


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    before = {table: set(entries) for table, entries in TABLES.items()}
    shown = shown_under("Adding a kind of predicate")
    for word, read in ATOM_SYNTAX[shown["Longer"]].operators.items():
        monkeypatch.setitem(atom_syntax._OPERATORS, word, read)
    yield shown
    for table, known in before.items():
        for added in set(TABLES[table]) - known:
            del TABLES[table][added]


def test_a_kind_of_predicate_is_read_printed_evaluated_related_and_invented(kind: dict[str, Any]) -> None:
    short, long = kind["Longer"]("title", 2), kind["Longer"]("title", 5)
    assert parse_predicate("title longer than 5 words") == long
    assert format_predicate(long) == "title longer than 5 words"
    (item,) = specimens_of([Query(1, (), long)])
    assert item_meaning.holds(long, item)
    assert not item_meaning.holds(kind["Longer"]("title", 6), item)
    assert atom_implies(long, short)
    assert not atom_implies(short, long)


def test_a_channel_refuses_wrong_targets_and_appends_what_is_sent(tmp_path: Path) -> None:
    kind = shown_under("Adding a channel")["CHANNEL"]
    with pytest.raises(DeliveryError, match="not the name of a file"):
        kind.check_target("../river.log", False)
    outputs, stories = tmp_path / "outputs", numbered(2)
    with ExitStack() as stack:
        channel = kind.open(context(outputs), stack)
        for story in stories:
            asyncio.run(channel.send(parcel_of(feed_of(story), "river.log")))
    written = (outputs / "river.log").read_text(encoding="utf-8")
    assert written == "".join(f"{story.title}\n" for story in stories)


def test_a_feed_format_is_recognised_and_each_line_is_an_entry() -> None:
    shown = shown_under("Adding a feed format")
    text = b"# mine\n2024-05-01T12:00:00Z\tFlood <warning>\n2024-05-02T12:00:00Z\tlifted\n"
    document = FeedText(text=text, media_type="text/plain", max_items=10)
    assert not shown["is_twtxt"](document), "the first line decides"
    document = FeedText(text=text[7:], media_type="text/plain; charset=utf-8", max_items=1)
    assert shown["is_twtxt"](document)
    entries = shown["read_twtxt"](document).entries
    assert entries.content == ["Flood &lt;warning&gt;"]
    assert entries.published == [int(datetime(2024, 5, 1, 12, tzinfo=UTC).timestamp() * 1e6)]


def test_a_statement_is_read_printed_and_checked() -> None:
    shown = shown_under("Adding a statement")
    c = Cursor("count News")
    c.at = 1
    statement = shown["count_items"](c, Place(c.text, 0))
    assert statement == shown["Count"]("News")
    assert shown["_count"](statement) == "count News"


def test_a_rule_does_what_its_pairs_show() -> None:
    rule = shown_under("Adding a rule of the optimiser")["collect_filters"]
    before, after = PAGE.split("# the same filter on two sources\n")[1].split("```")[0].split("=>\n")
    assert show_plan(rule(read_plan(before))) == show_plan(read_plan(after))
    other = read_plan("union\n  filter a\n    source s1\n  filter b\n    source s2")
    assert rule(other) is other
