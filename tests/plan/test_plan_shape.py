"""How plans look: where clauses go, what is refused, what explanations show."""

import pytest

from feedweir.errors import CatalogError
from feedweir.language import parse
from feedweir.language.plan_builder import build
from feedweir.language.plan_text import dot, explain
from feedweir.language.queries import Query
from feedweir.language.statements import Ask, CreateFeed
from feedweir.plan import branches, expand
from feedweir.plan.nodes import Feed, Node, Source, Union
from tests.plan.made import World

MUSE = """
create feed MusePhotoStream
from (RockConcertStream as $r | MuseNews) as $main
join last 3 months on (MusicPhotos as $m | FriendsPhotos)
    with $main[title similar window.title]
where $r[description contains 'Muse'] and $m[category = 'rock'];
"""


def plan(text: str, world: World | None = None) -> Node:
    (statement,) = parse(text)
    assert isinstance(statement, (Ask, CreateFeed))
    return build(statement.query, world or World(), feed=getattr(statement, "name", ""))


def test_conditions_go_where_the_algebra_of_the_article_puts_them() -> None:
    world = World({"RockConcertStream": Query(None)}, ("MuseNews", "MusicPhotos", "FriendsPhotos"))  # type: ignore[arg-type]
    assert explain(plan(MUSE, world)).splitlines() == [
        "⋈ MusePhotoStream.join1: title similar window.title",
        "  ∪",
        "    σ summary contains 'Muse'",
        "      feed RockConcertStream",
        "    source MuseNews",
        "  ω last 90 days",
        "    ∪",
        "      σ category = 'rock'",
        "        source MusicPhotos",
        "      source FriendsPhotos",
    ]


def test_a_variable_of_the_window_names_its_join() -> None:
    text = explain(
        plan("create feed F from A join last 5 items on B as $photos with [author = window.author]")
    )
    assert text.startswith("⋈ F.photos: author = window.author")


def test_sources_under_one_predicate_share_a_branch() -> None:
    (found,) = branches(plan("from A | B | (C | A) where title contains 'rock'"))
    assert found[0] == ("A", "B", "C")


def test_every_source_is_written_as_no_source() -> None:
    ((sources, _),) = branches(plan("from * where title contains 'rock'"))
    assert sources == ()


def test_filters_on_the_way_are_put_together_once_each() -> None:
    world = World({"V": parse("from A where title contains 'rock'")[0].query})  # type: ignore[union-attr]
    whole = expand(
        plan("from V where title contains 'rock' and author = 'x'", world),
        {"V": plan("from A where title contains 'rock'")}.get,
    )
    ((_, predicate),) = branches(whole)
    assert len(predicate.parts) == 2  # type: ignore[union-attr]


def test_joins_are_not_flattened() -> None:
    node = plan("from A join last 5 items on B with [author = window.author]")
    with pytest.raises(CatalogError, match="not free of joins"):
        branches(node)


def test_a_feed_that_reads_itself_is_refused_with_the_way() -> None:
    plans: dict[str, Node] = {"P": Union((Feed("Q"), Source("A"))), "Q": Feed("P")}
    with pytest.raises(CatalogError, match="P → Q → P"):
        expand(Feed("P"), plans.get)


def test_a_feed_that_is_not_there_is_named_with_its_reader() -> None:
    with pytest.raises(CatalogError, match="no feed `Gone`, which `P` reads"):
        expand(Feed("P"), {"P": Feed("Gone")}.get)


def test_a_feed_read_twice_is_expanded_once() -> None:
    definition = plan("from A where title = 'x'")
    whole = expand(Union((Feed("P"), Feed("P"))), {"P": definition}.get)
    assert isinstance(whole, Union)
    assert whole.inputs[0] is whole.inputs[1]
    assert "σ as on line 2" in explain(whole)


def test_three_thousand_feeds_on_top_of_each_other_expand() -> None:
    plans: dict[str, Node] = {f"F{n}": Union((Feed(f"F{n - 1}"), Source(f"S{n}"))) for n in range(1, 3000)}
    plans["F0"] = Source("S0")
    ((sources, _),) = branches(expand(Feed("F2999"), plans.get))
    assert len(sources) == 3000


def test_a_picture_shows_every_node_once() -> None:
    drawn = dot(
        plan("create feed F from A | xscl { A//b->x JOIN{x=y, 3 days} B//c->y } where title = '<&\"'")
    )
    assert drawn.count('label="source') == 3
    assert drawn.count('label="σ') == 1
    assert drawn.count("label=") == drawn.count(" -> n") + 1
