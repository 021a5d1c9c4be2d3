"""OPML through the whole system: folders become feeds, and what went in comes out again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from feedweir.acquire.opml import read_opml, subscriptions
from feedweir.errors import DocumentError
from feedweir.keeper.outlines import export_opml, import_opml
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


def test_what_was_imported_is_exported_with_every_attribute_and_folder(weir: Weir) -> None:
    import_opml(weir, OPML)
    before = [s for s in subscriptions(read_opml(OPML)) if s.title != "Broken"]
    assert list(subscriptions(read_opml(export_opml(weir)))) == before


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
    assert len(subscriptions(read_opml((tmp_path / "out.opml").read_bytes()))) == 4
