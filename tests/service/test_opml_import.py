"""OPML through the whole system: folders become feeds, and what went in comes out again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings

from feedweir.acquire.opml import read_opml
from feedweir.acquire.refresh.source_state import SourceMemory
from feedweir.errors import DocumentError
from feedweir.service.daemon import Daemon
from feedweir.service.installation import Weir
from feedweir.service.local_backend import LocalBackend
from feedweir.service.opml_import import export_opml, import_opml
from tests.acquire.outline_documents import documents, feeds

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


def test_what_was_imported_is_exported_with_every_folder_and_attribute(weir: Weir) -> None:
    import_opml(weir, OPML)
    assert feeds(export_opml(weir)) == feeds(OPML)
    import_opml(weir, OPML)
    assert feeds(export_opml(weir)) == feeds(OPML)


def test_both_doors_give_the_same_outline_but_for_passwords(weir: Weir) -> None:
    import_opml(weir, OPML.replace(b"https://m.", b"https://me:s3cret@m."))
    weir.execute("register feed 'https://you:s3cret@new.example/' as New")
    door = LocalBackend(weir, cast(Daemon, None))
    written = export_opml(weir)
    assert written.count(b"s3cret") == 2
    assert door.outline() == written.replace(b"me:s3cret@", b"").replace(b"you:s3cret@", b"")


def test_an_outline_is_imported_through_the_http_door(weir: Weir) -> None:
    done = LocalBackend(weir, cast(Daemon, None)).import_outline(OPML)
    assert done.registered == ("Minds & Machines", "Bits", "Bits 2")
    assert done.refused == (("Broken", "not an http address"),)
    assert feeds(export_opml(weir)) == feeds(OPML)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents)
def test_the_feeds_of_any_document_come_out_as_they_went_in(
    tmp_path_factory: pytest.TempPathFactory, document: str
) -> None:
    with Weir.open(tmp_path_factory.mktemp("data")) as weir:
        import_opml(weir, document.encode())
        assert feeds(export_opml(weir)) == feeds(document.encode())
        import_opml(weir, document.encode())
        assert feeds(export_opml(weir)) == feeds(document.encode())


def test_two_files_come_out_as_one_in_the_order_of_the_first(weir: Weir) -> None:
    import_opml(weir, OPML)
    import_opml(
        weir,
        b"""<opml version="1.0"><head><title>Theirs</title><ownerName>They</ownerName></head>
<body><outline text="New"><outline text="N" xmlUrl="https://n.example/"/></outline>
<outline text="Tech" icon="wheel"><outline text="Bits, they say" xmlUrl="https://bits.example/atom"/></outline>
</body></opml>""",
    )
    expected = OPML.decode()
    for old, new in (
        ('text="Bits" title="Bits!"', 'text="Bits, they say" title="Bits!"'),
        ("</body>", '<outline text="New"><outline text="N" xmlUrl="https://n.example/"/></outline></body>'),
    ):
        assert old in expected
        expected = expected.replace(old, new)
    assert feeds(export_opml(weir)) == feeds(expected.encode())
    assert [feed.title for feed in read_opml(export_opml(weir))] == [
        "Minds & Machines",
        "Bits, they say",
        "Bits",
        "Bits",
        "Broken",
        "N",
    ]


def test_a_source_that_is_registered_under_another_name_is_exported_under_it_and_keeps_the_rest(
    weir: Weir,
) -> None:
    import_opml(weir, OPML)
    weir.execute("drop feed 'Bits 2'; register feed https://other.example/rss as Other")
    expected = OPML.replace(b'text="Bits" xmlUrl="https://other', b'text="Other" xmlUrl="https://other')
    assert feeds(export_opml(weir)) == feeds(expected)


def test_a_folder_is_exported_under_the_name_that_its_feed_was_given_and_stays_one_with_it(
    weir: Weir,
) -> None:
    import_opml(weir, OPML)
    weir.execute(
        "alter feed Tech rename to Technology; alter feed 'Tech / AI' rename to 'Technology / Minds'"
    )
    expected = OPML.replace(b'text="Tech"', b'text="Technology"').replace(b'text="AI"', b'text="Minds"')
    assert feeds(export_opml(weir)) == feeds(expected)
    import_opml(weir, OPML)
    assert {feed.name for feed in weir.catalog.feeds.all(kind="virtual")} == {
        "Technology",
        "Technology / Minds",
        "Again",
    }
    assert feeds(export_opml(weir)) == feeds(expected)


def test_feeds_that_were_dropped_since_are_not_exported_and_others_are(weir: Weir) -> None:
    import_opml(weir, OPML)
    weir.execute("drop feed 'Bits 2'; register feed https://late.example/rss as Late")
    exported = read_opml(export_opml(weir))
    assert "https://other.example/rss" not in {feed.url for feed in exported}
    assert exported[-1].url == "https://late.example/rss"


def test_a_feed_that_moved_is_exported_where_it_is_and_recognised_by_its_old_address(weir: Weir) -> None:
    import_opml(weir, OPML)
    SourceMemory(weir.catalog).change(
        ["Minds & Machines"], lambda record: replace(record.state, url="https://moved.example/rss")
    )
    exported = read_opml(export_opml(weir))
    assert exported[0].url == "https://moved.example/rss"
    assert b'xmlUrl="https://moved.example/rss" fav="yes"' in export_opml(weir)
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
    assert len(read_opml((tmp_path / "out.opml").read_bytes())) == 5
