"""OPML through the whole system: folders become feeds, and what went in comes out again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedweir.acquire.opml import Opml, Outline, read_opml, subscriptions, write_opml
from feedweir.errors import DocumentError
from feedweir.keeper.outlines import export_opml, import_opml
from feedweir.keeper.source_states import SourceMemory
from feedweir.keeper.weir import Weir

OPML = b"""<?xml version="1.0"?><opml version="2.0"><head><title>Mine</title></head><body>
<outline text="Tech" icon="gear">
  <outline text="AI">
    <outline type="rss" text="Minds &amp; Machines" xmlUrl="https://m.example/rss" fav="yes"/>
  </outline>
  <outline type="rss" text="Bits" title="Bits!" xmlUrl="https://bits.example/atom" htmlUrl="https://bits.example/"/>
</outline>
<outline type="rss" text="Bits" xmlUrl="https://other.example/rss" category="a,b"/>
<outline text="Again"><outline type="rss" text="Bits" xmlUrl="https://bits.example/atom"/></outline>
<outline type="rss" text="Broken" xmlUrl="file:///etc/passwd"/>
</body></opml>"""


@pytest.fixture
def weir(tmp_path: Path) -> Iterator[Weir]:
    with Weir.open(tmp_path / "data") as weir:
        yield weir


def test_feeds_become_sources_and_folders_feeds_over_them(weir: Weir) -> None:
    done = import_opml(weir, OPML)
    assert done.registered == ("Minds & Machines", "Bits", "Bits 2")
    assert done.refused == (("Broken", "not an http address"),)
    reads = {feed.name: feed.reads for feed in weir.catalog.feeds.all(kind="virtual")}
    assert reads == {
        "Tech": ("Minds & Machines", "Bits"),
        "Tech / AI": ("Minds & Machines",),
        "Again": ("Bits",),
    }


def test_what_was_imported_is_exported_with_every_attribute_folder_and_note(weir: Weir) -> None:
    import_opml(weir, OPML)
    assert read_opml(export_opml(weir)) == read_opml(OPML)
    import_opml(weir, OPML)
    assert read_opml(export_opml(weir)) == read_opml(OPML)


words = st.text("abÄ &<'\"./", min_size=1, max_size=6)
feeds = st.builds(
    lambda number, text, more: Outline(
        attributes=(("text", text), ("xmlUrl", f"https://h{number}.example/{number}"), *more)
    ),
    st.integers(0, 5),
    words,
    st.dictionaries(st.sampled_from(["type", "title", "htmlUrl", "x"]), words, max_size=2).map(
        lambda found: tuple(found.items())
    ),
)
notes = st.builds(lambda text: Outline(attributes=(("text", text),)), words)
trees = st.recursive(
    feeds | notes,
    lambda inside: st.builds(
        lambda text, children: Outline(attributes=(("text", text), ("open", "1")), children=tuple(children)),
        words,
        st.lists(inside, max_size=3),
    ),
    max_leaves=6,
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(trees, max_size=4).map(tuple))
def test_any_outline_comes_out_as_it_went_in(
    tmp_path_factory: pytest.TempPathFactory, outlines: tuple[Outline, ...]
) -> None:
    document = Opml(head=(("title", "Mine"), ("ownerName", "Me")), outlines=outlines)
    with Weir.open(tmp_path_factory.mktemp("data")) as weir:
        import_opml(weir, write_opml(document))
        assert read_opml(export_opml(weir)) == document


def test_feeds_that_were_dropped_since_are_not_exported_and_others_are(weir: Weir) -> None:
    import_opml(weir, OPML)
    weir.execute("drop feed 'Bits 2'; register feed https://late.example/rss as Late")
    exported = subscriptions(read_opml(export_opml(weir)))
    assert "https://other.example/rss" not in {feed.url for feed in exported}
    assert exported[-1].url == "https://late.example/rss"


def test_a_feed_that_moved_is_exported_where_it_is_and_recognised_by_its_old_address(weir: Weir) -> None:
    import_opml(weir, OPML)
    SourceMemory(weir.catalog).change(
        ["Minds & Machines"], lambda record: replace(record.state, url="https://moved.example/rss")
    )
    exported = subscriptions(read_opml(export_opml(weir)))
    assert exported[0].url == "https://moved.example/rss"
    assert exported[0].outline.get("fav") == "yes"
    assert import_opml(weir, OPML).registered == ()


def test_importing_again_changes_nothing_and_more_feeds_join_their_folder(weir: Weir) -> None:
    import_opml(weir, OPML)
    version = weir.catalog.feeds.definitions()
    again = import_opml(weir, OPML)
    assert again.registered == ()
    assert len(again.known) == 3
    assert [d.statement for d in weir.catalog.feeds.definitions()[1]] == [d.statement for d in version[1]]
    more = OPML.replace(b"https://m.example/rss", b"https://new.example/rss")
    import_opml(weir, more)
    assert weir.catalog.feeds.named("Tech / AI").reads == ("Minds & Machines", "Minds & Machines 2")


def test_a_feed_of_the_folders_name_that_does_more_is_left_alone(weir: Weir) -> None:
    weir.execute(
        "register feed http://x.example/ as X;create feed Tech from X as $x where $x[title contains 'chips']"
    )
    done = import_opml(weir, OPML)
    assert "Tech 2" in done.folders
    assert weir.catalog.feeds.named("Tech").reads == ("X",)


def test_what_is_no_opml_changes_nothing(weir: Weir) -> None:
    with pytest.raises(DocumentError, match="not OPML"):
        import_opml(weir, b"<html/>")
    assert weir.catalog.feeds.all() == ()


def test_the_command_imports_and_exports(tmp_path: Path) -> None:
    (tmp_path / "in.opml").write_bytes(OPML)

    def feedweir(*arguments: str) -> subprocess.CompletedProcess[str]:
        main = "from feedweir.cli.main import main; main()"
        command = [sys.executable, "-c", main, "--data", str(tmp_path / "d"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    done = feedweir("import", "in.opml")
    assert "registered 3 feeds in 3 folders" in done.stdout, done.stderr
    assert "left out Broken" in done.stderr
    feedweir("export", "out.opml")
    assert len(subscriptions(read_opml((tmp_path / "out.opml").read_bytes()))) == 5
