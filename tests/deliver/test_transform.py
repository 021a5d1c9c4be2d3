"""Stylesheets: what they see, what the ready ones make, and what a hostile one cannot do."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from lxml import etree

from feedweir.deliver.render.element_document import element_document
from feedweir.deliver.render.view import EntryView, FeedView
from feedweir.deliver.transforms.stylesheets import Stylesheets
from feedweir.deliver.transforms.transform_process import TransformLimits, TransformProcess
from feedweir.deliver.transforms.transformer import COSTLY_S, Transformer, Turns
from feedweir.errors import DeliveryError
from feedweir.items.model import Item
from tests.deliver.musical import NEWS, NOON, PHOTO, WITH_PHOTOS, feed_of, numbered
from tests.deliver.nasty_items import nasty_text

DOCS = Path(__file__).parents[2] / "docs" / "transforms.md"
SHEET = '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">%s</xsl:stylesheet>'


@pytest.fixture(scope="module")
def transformer() -> Iterator[Transformer]:
    with Transformer() as opened:
        yield opened


def sheet(body: str) -> bytes:
    return (SHEET % body).encode()


def examples() -> list[tuple[str, str]]:
    text = DOCS.read_text(encoding="utf-8")
    return re.findall(r"```xml\n(<xsl:stylesheet.*?)```\s+gives `([^`]+)`", text, re.DOTALL)


def test_every_example_of_the_documentation_gives_what_it_says(transformer: Transformer) -> None:
    found = examples()
    assert len(found) == 3
    for stylesheet, result in found:
        assert transformer.apply(stylesheet.encode(), WITH_PHOTOS).text.strip() == result


def test_the_documented_vocabulary_is_the_real_one() -> None:
    text = DOCS.read_text(encoding="utf-8")
    shown = etree.fromstring(re.findall(r"```xml\n(<feed.*?)```", text, re.DOTALL)[0])
    real = etree.fromstring(element_document(WITH_PHOTOS))
    names = [node.tag for node in shown.find("element/item")]
    assert names == [node.tag for node in real.find("element/item")]
    assert [dict(node.attrib) for node in shown.iter("annotation", "enclosure")][:2] == [
        dict(node.attrib) for node in real.iter("annotation", "enclosure")
    ][:2]


def test_the_table_of_the_documentation_names_every_ready_stylesheet() -> None:
    named = re.findall(r"^\| `([A-Z]\w+)` \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == list(Stylesheets().names())


def test_titles_are_sent_one_a_line(transformer: Transformer) -> None:
    made = transformer.apply(Stylesheets().text("Title.xml"), feed_of(*numbered(3)))
    assert made.text == "Story 1\nStory 2\nStory 3\n"
    assert made.media_type == "text/plain"


def test_photos_are_included_in_an_rss_item(transformer: Transformer) -> None:
    made = transformer.apply(Stylesheets().text("IncludePhotos.xml"), WITH_PHOTOS)
    item = etree.fromstring(made.text.encode()).find("channel/item")
    assert item.find("enclosure").attrib == {
        "url": "http://photos.example/1.jpg",
        "type": "image/jpeg",
        "length": "5",
    }
    assert item.findtext("description") == (
        '<p>A concert</p><p><a href="http://photos.example/1?a=b&amp;c=d">'
        '<img src="http://photos.example/1.jpg" alt=""> Muse live</a></p>'
    )
    assert item.find("venue").get("city") == "Paris"


def test_photos_are_included_in_an_atom_entry(transformer: Transformer) -> None:
    raw = '<entry xmlns="http://www.w3.org/2005/Atom"><id>urn:n1</id><title>Muse in Paris</title></entry>'
    entry = Item(source="MuseNews", identity="urn:n1", title="Muse in Paris", arrived=NOON, raw=raw)
    view = FeedView(
        name="x", updated=NOON, entries=(EntryView(item=entry, annotation=(("photos", (PHOTO,)),)),)
    )
    made = transformer.apply(Stylesheets().text("IncludePhotos"), view)
    links = etree.fromstring(made.text.encode()).findall(".//{*}entry/{*}link")
    assert [(link.get("rel"), link.get("href")) for link in links] == [
        ("enclosure", "http://photos.example/1.jpg"),
        ("related", "http://photos.example/1?a=b&c=d"),
    ]


def test_a_feed_of_rss_items_and_atom_entries_becomes_one_rss_feed(transformer: Transformer) -> None:
    raw = '<entry xmlns="http://www.w3.org/2005/Atom"><id>urn:n2</id><title>Muse in Rome</title></entry>'
    entry = Item(
        source="Other", identity="urn:n2", seq=8, title="Muse in Rome", summary="Rome", arrived=NOON, raw=raw
    )
    entries = (EntryView(item=entry, annotation=(("photos", (PHOTO,)),)), *WITH_PHOTOS.entries)
    made = transformer.apply(
        Stylesheets().text("IncludePhotos"), FeedView(name="x", updated=NOON, entries=entries)
    )
    items = etree.fromstring(made.text.encode()).findall("channel/item")
    assert [item.findtext("title") for item in items] == ["Muse in Paris", "Muse in Rome"]
    assert [item.find("enclosure").get("url") for item in items] == ["http://photos.example/1.jpg"] * 2
    assert items[1].findtext("guid") == "urn:n2"
    assert (
        items[1].findtext("description").startswith('Rome<p><a href="http://photos.example/1?a=b&amp;c=d">')
    )


@pytest.mark.parametrize("name", ["IncludePhotos", "Photos", "HtmlDigest"])
def test_a_partner_without_a_link_is_shown_without_one(name: str, transformer: Transformer) -> None:
    photo = replace(PHOTO, link="")
    entries = tuple(replace(entry, annotation=(("photos", (photo,)),)) for entry in WITH_PHOTOS.entries)
    made = transformer.apply(Stylesheets().text(name), replace(WITH_PHOTOS, entries=entries))
    assert "Muse live" in made.text
    assert 'href=""' not in made.text


@pytest.mark.parametrize("name", Stylesheets().names())
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(title=nasty_text, summary=nasty_text, partner=nasty_text)
def test_no_text_breaks_a_ready_stylesheet(
    transformer: Transformer, name: str, title: str, summary: str, partner: str
) -> None:
    item = Item(source="s", identity="i", title=title, summary=summary, arrived=NOON)
    other = Item(source="s", identity="j", title=partner, link=partner, arrived=NOON)
    view = FeedView(name="x", updated=NOON, entries=(EntryView(item=item, annotation=(("1", (other,)),)),))
    made = transformer.apply(Stylesheets().text(name), view)
    if made.media_type == "application/xml":
        etree.fromstring(made.text.encode())


def test_a_parameter_reaches_the_stylesheet_as_text(transformer: Transformer) -> None:
    body = (
        '<xsl:param name="who"/><xsl:output method="text"/>'
        '<xsl:template match="/">{<xsl:value-of select="$who"/>}</xsl:template>'
    )
    assert transformer.apply(sheet(body), WITH_PHOTOS, {"who": "it's \"me\"']"}).text == "{it's \"me\"']}"


def test_a_stylesheet_of_the_installation_comes_first(tmp_path: Path) -> None:
    (tmp_path / "title.xslt").write_bytes(sheet(""))
    (tmp_path / "mine.xml").write_bytes(b"<mine/>")
    found = Stylesheets(tmp_path)
    assert found.text("Title.xml") == sheet("")
    assert found.text("MINE") == b"<mine/>"
    assert found.text("PlainText") == Stylesheets().text("PlainText")


@pytest.mark.parametrize("name", ["Nothing.xml", "", "../Title", "/etc/passwd", "a\x00b"])
def test_a_name_without_a_stylesheet_is_an_error_that_says_what_there_is(name: str) -> None:
    with pytest.raises(DeliveryError, match="there are HtmlDigest"):
        Stylesheets().text(name)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("\n\n<xsl:template match='['/>", "line 3"),
        (
            "<xsl:template match='/'>\n<xsl:value-of select='nothing()'/></xsl:template>",
            "line 2: Unregistered",
        ),
        (
            "<xsl:template match='/'><xsl:message terminate='yes'>no more</xsl:message></xsl:template>",
            "no more",
        ),
        ("<xsl:template match='/'>\n<unclosed></xsl:template>", "line 2"),
    ],
)
def test_a_broken_stylesheet_is_named_with_its_line(
    transformer: Transformer, body: str, complaint: str
) -> None:
    with pytest.raises(DeliveryError, match=complaint) as caught:
        transformer.apply(sheet(body), WITH_PHOTOS)
    assert caught.value.is_final


def result_or_complaint(transformer: Transformer, stylesheet: bytes) -> str:
    try:
        return transformer.apply(stylesheet, WITH_PHOTOS).text
    except DeliveryError as error:
        return str(error)


def test_a_stylesheet_cannot_read_files(transformer: Transformer, tmp_path: Path) -> None:
    secret = tmp_path / "secret.xml"
    secret.write_text("<secret>s3cret</secret>")
    copy = "<xsl:template match='/'><xsl:copy-of select=\"document('%s')\"/></xsl:template>"
    entity = (
        f'<!DOCTYPE a [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
        + SHEET % "<xsl:template match='/'>&e;</xsl:template>"
    )
    for stylesheet in (
        sheet(copy % secret),
        sheet(copy % secret.as_uri()),
        sheet(f"<xsl:import href='{secret.as_uri()}'/>"),
        sheet(f"<xsl:include href='{secret}'/>"),
        entity.encode(),
    ):
        assert "s3cret" not in result_or_complaint(transformer, stylesheet)


def test_a_stylesheet_cannot_write_files(transformer: Transformer, tmp_path: Path) -> None:
    target = tmp_path / "written"
    text = (
        SHEET.replace("version", "xmlns:e='http://exslt.org/common' extension-element-prefixes='e' version")
        % f"<xsl:template match='/'><e:document href='{target}'>x</e:document></xsl:template>"
    )
    with pytest.raises(DeliveryError):
        transformer.apply(text.encode(), WITH_PHOTOS)
    assert not target.exists()


def test_a_stylesheet_cannot_reach_the_network(transformer: Transformer) -> None:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/x"
    for body in (
        f"<xsl:include href='{url}'/>",
        f"<xsl:template match='/'><xsl:copy-of select=\"document('{url}')\"/></xsl:template>",
    ):
        with pytest.raises(DeliveryError):
            transformer.apply(sheet(body), WITH_PHOTOS)
    server.shutdown()
    server.server_close()
    assert asked == []


_EXSLT = "xmlns:e='http://exslt.org/common' extension-element-prefixes='e' version"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("<xsl:value-of select=\"document('/etc/passwd')\"/>", "may not read /etc/passwd"),
        ("<xsl:value-of select=\"document('http://x.y/z')\"/>", "may not read http://x.y/z"),
        ("<e:document href='/a/b'>x</e:document>", "may not write /a/b"),
        ("<xsl:apply-templates select='/'/>", "its templates call each other without end"),
        ("&far;", "the entity far is not declared in the stylesheet itself"),
    ],
)
def test_a_refusal_says_what_a_stylesheet_may_not_do(transformer: Transformer, body: str, words: str) -> None:
    declared = "<!DOCTYPE a [<!ENTITY far SYSTEM 'file:///etc/hostname'>]>"
    text = SHEET.replace("version", _EXSLT) % f"<xsl:template match='/'>{body}</xsl:template>"
    complaint = result_or_complaint(transformer, (declared + text).encode())
    assert complaint.startswith("the stylesheet failed: ")
    assert complaint.endswith(words)


def test_an_included_stylesheet_is_refused_by_its_name(transformer: Transformer) -> None:
    complaint = result_or_complaint(transformer, sheet("<xsl:include href='http://x.y/z.xsl'/>"))
    assert complaint == "the stylesheet failed: a stylesheet may not read http://x.y/z.xsl"


def test_a_stylesheet_may_declare_entities_of_its_own(transformer: Transformer) -> None:
    body = "<xsl:output method='text'/><xsl:template match='/'>a&nbsp;b</xsl:template>"
    text = "<!DOCTYPE xsl:stylesheet [<!ENTITY nbsp '&#160;'>]>" + SHEET % body
    assert transformer.apply(text.encode(), WITH_PHOTOS).text == "a\xa0b"


TWICE = (
    "<xsl:template match='/'><xsl:call-template name='a'/></xsl:template><xsl:template name='a'>"
    "<xsl:param name='d' select='0'/><xsl:if test='$d &lt; 60'>"
    "<xsl:call-template name='a'><xsl:with-param name='d' select='$d+1'/></xsl:call-template>"
    "<xsl:call-template name='a'><xsl:with-param name='d' select='$d+1'/></xsl:call-template>"
    "</xsl:if></xsl:template>"
)
DOUBLE = (
    "<xsl:template match='/'><xsl:call-template name='a'><xsl:with-param name='s' select=\"'xxxxxxxxxxxxxxxx'\"/>"
    "</xsl:call-template></xsl:template><xsl:template name='a'><xsl:param name='s'/><xsl:call-template name='a'>"
    "<xsl:with-param name='s' select='concat($s,$s)'/></xsl:call-template></xsl:template>"
)


@pytest.mark.parametrize(
    ("body", "words"),
    [(TWICE, "stopped: it takes too much time$"), (DOUBLE, "the stylesheet")],
    ids=["time", "memory"],
)
def test_a_stylesheet_that_wants_too_much_is_ended_and_the_next_one_runs(body: str, words: str) -> None:
    limits = TransformLimits(seconds=1, memory_bytes=128 << 20)
    with Transformer(limits) as transformer:
        with pytest.raises(DeliveryError, match=words) as caught:
            transformer.apply(sheet(body), WITH_PHOTOS)
        assert caught.value.is_final
        assert transformer.apply(Stylesheets().text("Title"), feed_of(NEWS)).text == "Muse in Paris\n"


def test_too_large_a_result_is_refused() -> None:
    body = "<xsl:output method='text'/><xsl:template match='/'>0123456789</xsl:template>"
    with Transformer(TransformLimits(max_output_bytes=9)) as transformer, pytest.raises(DeliveryError):
        transformer.apply(sheet(body), WITH_PHOTOS)


def test_a_machine_too_busy_to_start_the_process_is_no_fault_of_the_stylesheet() -> None:
    with Transformer(TransformLimits(start_s=0)) as transformer, pytest.raises(DeliveryError) as caught:
        transformer.apply(Stylesheets().text("Title"), feed_of(*numbered(1)))
    assert not caught.value.is_final


def test_a_slow_stylesheet_holds_up_no_other() -> None:
    with Transformer(TransformLimits(seconds=4)) as transformer:
        slow = [transformer.begin(sheet(TWICE), WITH_PHOTOS) for _ in range(2)]
        assert transformer.apply(Stylesheets().text("Title"), feed_of(NEWS)).text == "Muse in Paris\n"
        assert not slow[0].done()
        assert slow[1].cancel(), "it waits for its turn"


def test_a_stylesheet_is_run_by_one_process_at_a_time() -> None:
    turns = Turns[int](3)
    for job in range(3):
        turns.add(b"slow", job)
    turns.add(b"quick", 9)
    assert turns.take() == (b"slow", 0)
    assert turns.take() == (b"quick", 9)
    assert turns.take() is None
    turns.over(b"slow", 0.1)
    assert turns.take() == (b"slow", 1)


def test_stylesheets_that_were_costly_leave_a_process_to_the_others() -> None:
    turns = Turns[str](3)
    for name in (b"a", b"b", b"c", b"a", b"b", b"c", b"new"):
        turns.add(name, name.decode())
    for name in (b"a", b"b", b"c"):
        assert turns.take() == (name, name.decode())
        turns.over(name, COSTLY_S)
    assert [turns.take() for _ in range(4)] == [(b"new", "new"), (b"a", "a"), (b"b", "b"), None]
    turns.over(b"new", 0.1)
    assert turns.take() is None
    turns.over(b"a", 0.1)
    assert turns.take() == (b"c", "c")


def test_stylesheets_that_wait_go_in_turn() -> None:
    turns = Turns[int](1)
    for job in range(2):
        for name in (b"a", b"b"):
            turns.add(name, job)
    taken = []
    while (turn := turns.take()) is not None:
        taken.append(turn)
        turns.over(turn[0], 0.1)
    assert taken == [(b"a", 0), (b"b", 0), (b"a", 1), (b"b", 1)]


def test_what_waits_is_cancelled_when_the_transformer_is_closed() -> None:
    with Transformer(TransformLimits(seconds=1), processes=1) as transformer:
        first = transformer.begin(sheet(TWICE), WITH_PHOTOS)
        waiting = transformer.begin(Stylesheets().text("Title"), feed_of(NEWS))
    assert first.done()
    assert waiting.cancelled()


def test_a_process_does_not_end_when_all_are_asked_to_stop() -> None:
    """What is being made comes to its end; the process ends with its input."""
    request = {"stylesheet": Stylesheets().text("Title").decode(), "document": "<feed/>", "parameters": {}}
    process = TransformProcess(TransformLimits())
    assert process.ask(request)["output"] == ""
    running = process._process
    assert running is not None
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        running.send_signal(number)
    assert process.ask(request)["output"] == ""
    assert process._process is running
    assert running.stdin is not None
    running.stdin.close()
    assert running.wait(20) == 0
    process.end()
