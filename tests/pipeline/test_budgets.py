"""A hostile query on a hostile item costs bounded work and is told against its feed; the other feeds are right."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from feedweir.join.stored import join_versions
from feedweir.join.window_bounds import JoinBounds
from feedweir.join.windows import annotation_stages as annotating
from feedweir.join.windows.annotation_set import compile_annotations
from feedweir.logs.landing import Landed
from feedweir.match.meaning.effort import MAX_STEPS
from feedweir.pipeline.join_task import opened
from feedweir.pipeline.local_runner import LocalRunner
from feedweir.service.installation import Weir
from tests.match.test_effort import clubs

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
SOURCES = "register feed http://e.org/a as A; register feed http://e.org/b as B;"
FRIENDS = "graph {" + " and ".join(f"(?v{a}, knows, ?v{b})" for a in range(8) for b in range(a + 1, 8)) + "}"


@pytest.fixture
def weir(tmp_path: Path) -> Iterator[Weir]:
    opened.cache_clear()
    with Weir.open(tmp_path, clock=lambda: NOON) as weir:
        weir.execute(SOURCES)
        yield weir
    opened.cache_clear()


def rss(*items: str) -> bytes:
    return f"<rss version='2.0'><channel><title>t</title>{''.join(items)}</channel></rss>".encode()


def item(guid: str, inside: str = "", title: str = "same") -> str:
    return f"<item><guid>{guid}</guid><title>{title}</title><author>ann</author>{inside}</item>"


def as_item(graph: str) -> bytes:
    """An RSS 1.0 document whose one item says all that a graph says."""
    opening, _, rest = graph.partition(">")
    told = rest.removesuffix("</rdf:RDF>").replace("<rdf:Description", "<e:has><rdf:Description")
    told = told.replace("</rdf:Description>", "</rdf:Description></e:has>")
    item = f"<item rdf:about='urn:item'><title>clubs</title><link>http://e.org/clubs</link>{told}</item>"
    return f"{opening} xmlns='http://purl.org/rss/1.0/'><channel/>{item}</rdf:RDF>".encode()


def run(weir: Weir, *documents: tuple[str, bytes]) -> None:
    weir.refresh_set()
    weir.log.append([Landed(source=source, arrived=NOON, body=body) for source, body in documents])
    LocalRunner(weir.directory, weir.commit).run_available()


def count(weir: Weir, feed: str) -> int:
    return len(weir.store.seqs(weir.catalog.feeds.named(feed).id))


def failures(weir: Weir) -> dict[str, str]:
    return {one.resource: one.reason for one in weir.catalog.failures.latest(kind="feed")}


def test_a_pattern_with_too_many_combinations_is_told_and_the_others_match(weir: Weir) -> None:
    weir.execute(
        f"create feed Hard from A where {FRIENDS};"
        " create feed Easy from A where graph { (?one, knows, ?other) and (?other, knows, ?third) };"
    )
    weir.push("A", as_item(clubs(7, 6)))
    weir.run()
    assert count(weir, "Easy") == 1
    assert count(weir, "Hard") == 0
    assert f"more than {MAX_STEPS:,} steps" in failures(weir).get("Hard", "")
    assert list(failures(weir)) == ["Hard"]


def test_a_selection_with_too_many_combinations_is_told_and_others_are_made(weir: Weir) -> None:
    branches = "[.//p->a][.//p->b][.//p->c][.//p->d][.//q->e]"
    weir.execute(
        f"create feed Hard from xscl {{ SELECT <x>{{$a}}</x> FROM A//item{branches} }};"
        " create feed Named from xscl { SELECT <y>{$t}</y> FROM A//item[title->t][p] };"
    )
    run(weir, ("A", rss(item("many", "<p>1</p>" * 200), item("few", "<p>1</p><q>2</q>"))))
    assert count(weir, "Named") == 2
    assert count(weir, "Hard") == 1, "of an item with few ways it is made"
    assert failures(weir)["Hard"].startswith("item many: it would take more than")
    assert list(failures(weir)) == ["Hard"]


def test_a_pattern_join_that_tries_too_long_is_told_and_the_others_join(
    weir: Weir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(join_versions, "JoinBounds", partial(JoinBounds, max_steps=20_000))
    weir.execute(
        "create feed Hard from xscl { A//g->i[p->a][q->c][r->e] JOIN{a=b AND c=d AND e=f, 1 day}"
        " B//g->j[p->b][q->d][r->f] };"
        " create feed Easy from xscl { A//item[author->u] JOIN{u=v, 1 day} B//item[author->v] };"
    )
    halves = "".join(f"<g><p>{p}</p><q>{q}</q><r>{r}</r></g>" for p, q, r in ("110", "101", "011")) * 60
    wholes = "<g><p>1</p><q>1</q><r>1</r></g>" * 60
    run(weir, ("A", rss(item("a", halves))), ("B", rss(item("b", wholes))))
    assert count(weir, "Easy") == 1
    assert count(weir, "Hard") == 0
    assert "or try too many documents" in failures(weir)["Hard"]
    assert list(failures(weir)) == ["Hard"]


def test_pairs_that_a_pattern_join_tries_are_counted(weir: Weir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join_versions, "JoinBounds", partial(JoinBounds, max_steps=20))
    weir.execute(
        "create feed Hard from xscl { A//item[title->t] JOIN{t=s, 1 day} B//item[title->s] };"
        " create feed Easy from xscl { A//item[guid->u] JOIN{u=v, 1 day} B//item[guid->v] };"
    )
    guids = [str(guid) for guid in range(30)]
    run(weir, ("A", rss(*map(item, guids))), ("B", rss(*map(item, guids))))
    assert count(weir, "Easy") == 30
    assert count(weir, "Hard") == 0
    assert "or try too many documents" in failures(weir)["Hard"]
    assert list(failures(weir)) == ["Hard"]


@pytest.mark.parametrize(
    "condition", ["title = window.title", "title similar window.title", "title != window.link"]
)
def test_pairs_that_an_annotation_join_tries_are_counted(
    weir: Weir, monkeypatch: pytest.MonkeyPatch, condition: str
) -> None:
    bounds = JoinBounds(max_steps=500)
    monkeypatch.setattr(
        annotating, "compile_annotations", lambda queries, **_: compile_annotations(queries, bounds=bounds)
    )
    weir.execute(
        f"create feed Hard from A as $a join last 1 day on B as $b with $a[{condition} and author != window.author];"
        " create feed Easy from A as $a join last 1 day on B as $b with $a[link = window.link];"
    )
    links = [f"<link>http://e.org/{n}</link>" for n in range(30)]
    run(weir, *((source, rss(*(item(f"{n}", link) for n, link in enumerate(links)))) for source in "BA"))
    assert count(weir, "Easy") == 30
    assert count(weir, "Hard") == 0
    assert "try too many partners" in failures(weir)["Hard"]
    assert list(failures(weir)) == ["Hard"]


def test_similar_pairs_that_are_too_many_to_be_held_are_found_piece_by_piece(
    weir: Weir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feedweir.join.windows.annotation_step._AT_ONCE", 50)
    monkeypatch.setattr("feedweir.join.windows.annotation_step._HELD", 100)
    weir.execute(
        "create feed Alike from A as $a join last 1 day on B as $b with $a[title similar window.title at least 0.5];"
        " create feed Once from distinct last 1 day *;"
    )
    run(weir, *((source, rss(*(item(f"{n}") for n in range(30)))) for source in "BA"))
    alike = weir.catalog.feeds.named("Alike").id
    joined = weir.store.joined.annotations(alike, weir.store.seqs(alike).tolist())
    assert [len(partners) for one in joined.values() for partners in one.values()] == [30] * 30
    assert count(weir, "Once") == 30, "what the second source tells again is not told"
    assert not failures(weir)
