"""`register feed N apply 'X' as M`: a virtual feed becomes a source, through a stylesheet."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any, cast

import pytest

from feedweir.acquire.parse.generation import MAX_GENERATION
from feedweir.deliver.address import Address
from feedweir.deliver.render.formats import Format, render
from feedweir.deliver.transforms.made_sources import derived_sources
from feedweir.deliver.transforms.transformer import Transformed
from feedweir.errors import CatalogError, LanguageError
from feedweir.language.defined_names import FETCHED
from feedweir.service.installation import Weir
from tests.engines import NOON

STATEMENTS = """
register feed http://muse.example/rss/news as MuseNews;
register feed http://photos.example/rss as MusicPhotos;
create feed MusePhotoStream from MuseNews as $main
    join last 3 months on MusicPhotos as $m with $main[title similar window.title];
register feed MusePhotoStream apply 'IncludePhotos.xml' as MuseWithPhotos;
create feed Pictured from MuseWithPhotos as $p where $p[contains 'photo'];
register feed MuseNews as Copy;
"""


def rss(*items: str) -> bytes:
    return f"<rss version='2.0'><channel><title>T</title>{''.join(items)}</channel></rss>".encode()


def item(guid: str, title: str, more: str = "") -> str:
    return f"<item><guid isPermaLink='false'>{guid}</guid><title>{title}</title>{more}</item>"


PHOTO = "<enclosure url='http://photos.example/p1.jpg' type='image/jpeg' length='9'/>"


def filled(directory: Path) -> Weir:
    weir = Weir.open(directory, clock=lambda: NOON)
    weir.execute(STATEMENTS)
    weir.push("MusicPhotos", rss(item("p1", "Muse live in Paris", PHOTO)))
    weir.run()
    weir.push("MuseNews", rss(item("n1", "Muse live in Paris tonight"), item("n2", "Nothing alike")))
    weir.run()
    return weir


def test_joined_items_come_out_with_their_photos(tmp_path: Path) -> None:
    with filled(tmp_path) as weir:
        (made,) = weir.items("MuseWithPhotos")
        assert made.title == "Muse live in Paris tonight"
        assert [file.url for file in made.enclosures] == ["http://photos.example/p1.jpg"]
        assert made.source == "MuseWithPhotos"


def test_a_feed_may_become_a_source_as_it_is(tmp_path: Path) -> None:
    with filled(tmp_path) as weir:
        assert sorted(each.title for each in weir.items("Copy")) == [
            "Muse live in Paris tonight",
            "Nothing alike",
        ]


def test_what_becomes_a_source_is_found_without_reading_all_feeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with filled(tmp_path) as weir:
        weir.refresh_set()
        monkeypatch.setattr(type(weir.catalog.feeds), "definitions", None)
        asked = [one.version for one in weir.store.manifests()]
        for version in (min(asked), weir.catalog.feeds.version()):
            found = [(one.source, one.stylesheet) for one in derived_sources(weir.catalog, version)]
            assert found == [("MuseWithPhotos", "IncludePhotos.xml"), ("Copy", "")]
            read = weir.catalog.feeds.sources_unlike(version, FETCHED)
            assert [one.name for one in read] == ["MuseWithPhotos", "Copy"]


def test_landing_again_after_a_crash_doubles_nothing(tmp_path: Path) -> None:
    with filled(tmp_path) as weir:
        for manifest in weir.store.manifests():
            weir._materialiser.land(manifest)
        weir.run()
        assert len(weir.items("MuseWithPhotos")) == 1
        assert len(weir.items("Copy")) == 2


def test_a_stylesheet_that_fails_is_the_sources_failure(tmp_path: Path) -> None:
    with Weir.open(tmp_path, clock=lambda: NOON) as weir:
        sheet = tmp_path / "stylesheets" / "Mine.xsl"
        sheet.parent.mkdir()
        sheet.write_text("<x/>", encoding="utf-8")
        weir.execute("register feed http://a.example/ as A; register feed A apply 'Mine' as B;")
        sheet.unlink()
        weir.push("A", rss(item("1", "x")))
        weir.run()
        assert [each.title for each in weir.items("A")] == ["x"]
        assert "no stylesheet" in weir.catalog.failures.of("source", "B")[0].reason


def test_a_stylesheet_for_an_address_is_refused_with_the_way_to_do_it(tmp_path: Path) -> None:
    with (
        Weir.open(tmp_path, clock=lambda: NOON) as weir,
        pytest.raises(CatalogError, match="to a registered feed") as caught,
    ):
        weir.execute("register feed http://muse.example/rss apply 'IncludePhotos' as Muse")
    assert "register the address first" in str(caught.value.hint)


class Together:
    """Stylesheets that are done when two of them were begun."""

    def __init__(self) -> None:
        self._begun: list[Future[Transformed]] = []

    def begin(self, *_: object) -> Future[Transformed]:
        self._begun.append(Future())
        if len(self._begun) == 2:
            for each in self._begun:
                each.set_result(Transformed(rss(item("1", "made")).decode(), "application/xml"))
        return self._begun[-1]

    def is_costly(self, stylesheet: bytes) -> bool:
        return False

    def close(self) -> None:
        pass


def test_a_slow_stylesheet_does_not_keep_the_next_source_from_being_begun(tmp_path: Path) -> None:
    with Weir.open(tmp_path, clock=lambda: NOON) as weir:
        weir.execute("register feed http://a.example/ as A;")
        weir.execute(
            "register feed A apply 'IncludePhotos' as B; register feed A apply 'IncludePhotos' as C;"
        )
        weir._materialiser._transformer = cast(Any, Together())
        weir.push("A", rss(item("1", "x")))
        weir.run()
        assert [each.title for name in "BC" for each in weir.items(name)] == ["made", "made"]


LOOPS = {
    "all sources contain what is registered": (
        "create feed All from *",
        "register feed All apply 'Photos' as Loop",
        "`Loop` would read itself: Loop → All → \\* → Loop",
    ),
    "however far down": (
        "create feed All from *; create feed Some from All where contains 'x'; create feed S from Some | A",
        "register feed S as Loop",
        "Loop → S → Some → All → \\* → Loop",
    ),
    "in a window": (
        "create feed W from A as $a join last 1 day on * as $b with $a[title = window.title]",
        "register feed W as Loop",
        "Loop → W → \\* → Loop",
    ),
    "a feed that became a source is read by its own feed": (
        "create feed F from A; register feed F as Made",
        "create or replace feed F from Made",
        "F → Made → F",
    ),
    "the same through all sources": (
        "create feed F from A; register feed F as Made; create feed Unharmed from * | F",
        "alter feed F from * where contains 'x'",
        "F → \\* → Made → F",
    ),
    "and through another source": (
        "create feed F from A; register feed F as Made; create feed G from Made; register feed G as Other",
        "create or replace feed F from A | Other",
        "F → Other → G → Made → F",
    ),
}


class Unending(Together):
    """A stylesheet that is never done, and is known to be slow; all others are done at once."""

    def __init__(self, slow: bytes) -> None:
        self._slow = slow
        self.asked: list[bytes] = []

    def begin(self, stylesheet: bytes, *_: object) -> Future[Transformed]:
        self.asked.append(stylesheet)
        made: Future[Transformed] = Future()
        if stylesheet != self._slow:
            made.set_result(Transformed(rss(item("1", "made")).decode(), "application/xml"))
        return made

    def is_costly(self, stylesheet: bytes) -> bool:
        return stylesheet == self._slow


def test_slow_stylesheets_take_a_bounded_time_together_and_none_from_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feedweir.deliver.transforms.made_sources.TOGETHER_S", 0.05)
    monkeypatch.setattr("feedweir.deliver.transforms.made_sources._AT_ONCE", 1)
    with Weir.open(tmp_path, clock=lambda: NOON) as weir:
        sheets = tmp_path / "stylesheets"
        sheets.mkdir()
        for name in ("Slow", "Calm"):
            (sheets / f"{name}.xsl").write_text(f"<{name.lower()}/>", encoding="utf-8")
        weir.execute("register feed http://a.example/ as A;")
        for number in range(3):
            weir.execute(f"register feed A apply 'Slow' as S{number};")
        weir.execute("register feed A apply 'Calm' as Calm;")
        transformer = Unending(b"<slow/>")
        weir._materialiser._transformer = cast(Any, transformer)
        weir.push("A", rss(item("1", "x")))
        weir.run()
        assert transformer.asked == [b"<calm/>", *[b"<slow/>"] * 3]
        assert [each.title for each in weir.items("Calm")] == ["made"]
        for number in range(3):
            (told,) = weir.catalog.failures.of("source", f"S{number}")
            assert "stylesheets of all sources together took more than" in told.reason


@pytest.mark.parametrize(("before", "statement", "way"), LOOPS.values(), ids=list(LOOPS))
def test_whatever_would_read_itself_is_refused(before: str, statement: str, way: str, tmp_path: Path) -> None:
    with Weir.open(tmp_path, clock=lambda: NOON) as weir:
        weir.execute(f"register feed http://a.example/ as A; {before}")
        with pytest.raises(LanguageError, match=way):
            weir.execute(statement)


GROW = """<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:template match="/feed"><rss version="2.0"><channel><title>grown</title><xsl:for-each select="element/item">
<item><title><xsl:value-of select="concat(title, '+')"/></title>
<guid><xsl:value-of select="concat(@id, '+')"/></guid></item>
</xsl:for-each></channel></rss></xsl:template></xsl:stylesheet>"""


def test_a_loop_through_the_web_is_cut(tmp_path: Path) -> None:
    """A source fetches what this installation serves, which nobody can see in a statement."""
    (tmp_path / "stylesheets").mkdir()
    (tmp_path / "stylesheets" / "Grow.xsl").write_text(GROW)
    with Weir.open(tmp_path, clock=lambda: NOON) as weir:
        weir.execute(
            "register feed http://a.example/ as A; register feed http://us.example/feeds/Out.rss as Back;"
            "create feed Both from A | Back; register feed Both apply 'Grow' as Grown; create feed Out from Grown"
        )
        weir.push("A", rss(item("1", "x")))
        for _ in range(30):
            weir.run()
            served = weir.feed_views.feed("Out", 1_000)
            assert served is not None
            weir.push("Back", render(served, Format.RSS, Address("http://us.example")))
        assert len(weir.items("Grown")) == MAX_GENERATION
        (failure,) = {one.reason for one in weir.catalog.failures.of("source", "Grown")}
        assert "Grown seems to read itself" in failure
