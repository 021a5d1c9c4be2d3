"""Vocabularies: registered, fetched or pushed like sources, and taken into what graph patterns ask for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from feedweir.acquire.fetch.crawl import CrawlOptions
from feedweir.acquire.fetch.fetch_loop import FetchLoop
from feedweir.acquire.fetch.hosts import HostRules
from feedweir.acquire.fetch.transport import Agent
from feedweir.errors import LanguageError
from feedweir.language import format_statement, parse
from feedweir.plan.vocabularies import MOST_NARROWER
from feedweir.service.installation import Weir

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
BEGUN = """
register vocabulary push://zoo as Zoo;
register feed push://animals as Animals;
create feed Birds from Animals where graph { ?x a <urn:zoo:Bird> };
create feed OnlyBirds from Animals where graph exactly { ?x a <urn:zoo:Bird> };
create feed Parents from Animals where graph { ?x <urn:zoo:parent> ?y };
create feed NoBirds from Animals where not graph { ?x a <urn:zoo:Bird> };
create feed Young from Birds where graph { ?x <urn:zoo:parent> ?y };
create feed Pairs from Animals as $a join last 3 days on Animals as $n with $a[title similar window.title]
    where $a[graph { ?x a <urn:zoo:Bird> }];
"""
TAXONOMY = f"""
<urn:zoo:Owl> <{RDFS}subClassOf> <urn:zoo:Bird> .
<urn:zoo:BarnOwl> <{RDFS}subClassOf> <urn:zoo:Owl>, [ a <urn:some:Restriction> ] .
<urn:zoo:Bird> <{RDFS}subClassOf> <urn:zoo:BarnOwl> .
<urn:zoo:mother> <{RDFS}subPropertyOf> <urn:zoo:parent> ; <{RDFS}label> "mother"@en .
"""


@pytest.fixture
def weir(tmp_path: Path) -> Weir:
    opened = Weir.open(tmp_path, clock=lambda: NOON)
    opened.execute(BEGUN)
    return opened


def push(weir: Weir, name: str, turtle: str) -> None:
    weir.push(name, turtle.encode(), media_type="text/turtle")
    weir.run()


def animal(name: str, kind: str, more: str = "") -> str:
    return f'<urn:animal:{name}> a <urn:zoo:{kind}> ; <http://schema.org/name> "{name}" {more} .'


def titles(weir: Weir, feed: str) -> set[str]:
    view = weir.feed_views.feed(feed, 100)
    assert view is not None
    return {entry.item.title for entry in view.entries}


def test_what_is_pushed_to_a_vocabulary_changes_what_patterns_ask_for(weir: Weir) -> None:
    push(weir, "Animals", animal("Eve", "BarnOwl"))
    assert titles(weir, "Birds") == set()
    push(weir, "Zoo", TAXONOMY)
    push(weir, "Animals", animal("Ann", "BarnOwl", "; <urn:zoo:mother> <urn:animal:Eve>"))
    push(weir, "Animals", animal("Bob", "Bird"))
    push(weir, "Animals", animal("Cat", "Cat"))
    assert titles(weir, "Birds") == {"Ann", "Bob"}
    assert titles(weir, "OnlyBirds") == {"Bob"}
    assert titles(weir, "NoBirds") == {"Eve", "Cat"}
    assert titles(weir, "Parents") == {"Ann"}
    assert titles(weir, "Young") == {"Ann"}
    push(weir, "Animals", animal("Ann", "Owl").replace("animal:Ann", "animal:Anna"))
    assert titles(weir, "Pairs") == {"Ann"}


def test_a_changed_vocabulary_is_a_new_version_and_the_same_again_is_none(weir: Weir) -> None:
    push(weir, "Zoo", TAXONOMY)
    known = weir.catalog.feeds.version()
    push(weir, "Zoo", TAXONOMY)
    assert weir.catalog.feeds.version() == known
    push(weir, "Zoo", f"<urn:zoo:Hen> <{RDFS}subClassOf> <urn:zoo:Bird> .")
    assert weir.catalog.feeds.version() == known + 1
    push(weir, "Animals", animal("Hen", "Hen") + animal("Owl", "Owl"))
    push(weir, "Animals", animal("Owl", "Owl"))
    assert titles(weir, "Birds") == {"Hen"}
    assert weir.version_in_force() == weir.catalog.feeds.version()


def test_questions_are_answered_with_the_vocabulary(weir: Weir) -> None:
    push(weir, "Zoo", TAXONOMY)
    push(weir, "Animals", animal("Ann", "Owl"))
    assert weir.ask.why("urn:animal:Ann", "Birds").holds
    assert not weir.ask.why("urn:animal:Ann", "OnlyBirds").holds
    (asked,) = weir.execute("from Animals where graph { ?x a <urn:zoo:Bird> }")
    assert [row["title"] for row in asked.rows] == ["Ann"]


def test_a_feed_that_comes_later_and_a_vocabulary_that_goes_are_compiled_right(weir: Weir) -> None:
    many = ";".join(
        f"create feed F{number} from Animals where title contains 'w{number}'" for number in range(1100)
    )
    weir.execute(many)
    push(weir, "Zoo", TAXONOMY)
    weir.execute("create feed Late from Animals where graph { ?x a <urn:zoo:Bird> }")
    push(weir, "Animals", animal("Ann", "Owl"))
    assert titles(weir, "Late") == titles(weir, "Birds") == {"Ann"}
    weir.execute("drop feed Zoo")
    push(weir, "Animals", animal("Bob", "Owl"))
    assert titles(weir, "Late") == titles(weir, "Birds") == {"Ann"}


def test_a_vocabulary_is_exported_with_what_it_says(weir: Weir, tmp_path: Path) -> None:
    push(weir, "Zoo", TAXONOMY)
    (statement,) = parse(weir.catalog.feeds.named("Zoo").statement)
    assert parse(format_statement(statement)) == (statement,)
    other = Weir.open(tmp_path / "other", clock=lambda: NOON)
    other.execute(
        f"{BEGUN.replace('register vocabulary push://zoo as Zoo;', '')};{format_statement(statement)}"
    )
    push(other, "Animals", animal("Ann", "Owl"))
    assert titles(other, "Birds") == {"Ann"}


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (animal("Ann", "Owl"), "says of no class"),
        ("\n".join(f"<urn:c{n}> <{RDFS}subClassOf> <urn:zoo:Bird> ." for n in range(20_001)), "20,001 times"),
    ],
)  # fmt: skip
def test_what_is_no_vocabulary_is_refused_and_what_was_known_stays(
    weir: Weir, document: str, reason: str
) -> None:
    push(weir, "Zoo", TAXONOMY)
    push(weir, "Zoo", document)
    (failure,) = weir.catalog.failures.of("source", "Zoo")
    assert reason in failure.reason
    push(weir, "Animals", animal("Ann", "Owl"))
    assert titles(weir, "Birds") == {"Ann"}


def test_a_term_with_too_many_below_it_is_refused_for_the_feeds_that_name_it(weir: Weir) -> None:
    push(
        weir,
        "Zoo",
        "".join(f"<urn:c{n}> <{RDFS}subClassOf> <urn:zoo:Bird> ." for n in range(MOST_NARROWER + 1)),
    )
    push(weir, "Animals", animal("Ann", "Bird"))
    assert titles(weir, "OnlyBirds") == {"Ann"}
    assert titles(weir, "Birds") == set()
    assert "graph exactly" in weir.catalog.failures.of("feed", "Birds")[0].reason


class Words(BaseHTTPRequestHandler):
    """Serves the vocabulary as Turtle."""

    def do_GET(self) -> None:
        found = self.path == "/zoo.ttl"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/turtle")
        self.end_headers()
        self.wfile.write(TAXONOMY.encode() if found else b"")

    def log_message(self, *told: object) -> None:
        """Tests print nothing."""


@pytest.fixture
def origin() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Words)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_vocabulary_is_fetched_like_a_source(weir: Weir, origin: str) -> None:
    weir.execute(f"drop feed Zoo; register vocabulary {origin}/zoo.ttl as Fetched every 1 day")
    loop = FetchLoop(
        weir.catalog,
        weir.log,
        options=CrawlOptions(),
        hosts=HostRules(),
        agent=Agent(),
        allow_private=True,
        clock=weir.clock,
    )
    assert loop.fetch_once() == 1
    weir.run()
    push(weir, "Animals", animal("Ann", "BarnOwl"))
    assert titles(weir, "Birds") == {"Ann"}


def test_what_a_vocabulary_says_is_checked() -> None:
    with pytest.raises(LanguageError, match="does not say 'class a'"):
        parse("register vocabulary push://zoo as Zoo saying 'class a'")


def test_a_feed_may_be_called_vocabulary(tmp_path: Path) -> None:
    (statement,) = parse("register vocabulary apply 'x.xsl' as N")
    assert statement.feed == "vocabulary"  # type: ignore[union-attr]
