"""The usual errors in documents: each is repaired, or is one failure with a reason."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.acquire.parse.encodings import decoded
from feedweir.acquire.parse.feed_formats import DocumentLimits
from feedweir.acquire.parse.parser import ParsedDocument, parse
from feedweir.errors import DocumentError
from feedweir.items.model import Document, Item

ARRIVED = datetime(2024, 5, 1, 12, tzinfo=UTC)


def parsed(
    body: str | bytes, *, media_type: str = "", limits: DocumentLimits | None = None
) -> ParsedDocument:
    data = body.encode() if isinstance(body, str) else body
    document = Document(number=1, source="s", media_type=media_type, arrived=ARRIVED, body=data)
    return parse(document, limits=limits or DocumentLimits())


def rss(items: str, declaration: str = '<?xml version="1.0"?>', doctype: str = "") -> str:
    return f'{declaration}{doctype}<rss version="2.0"><channel><title>F</title>{items}</channel></rss>'


def title_of(body: str | bytes, **more: str) -> str:
    (item,) = parsed(body, **more).items
    return item.title


def item(title: str) -> str:
    return f"<item><title>{title}</title></item>"


@pytest.mark.parametrize(
    ("declared", "real", "header"),
    [
        ("utf-8", "utf-8", ""),
        ("iso-8859-1", "utf-8", ""),
        ("utf-8", "cp1252", ""),
        ("iso-8859-1", "cp1252", ""),
        ("", "cp1252", "text/xml; charset=windows-1252"),
        ("", "utf-8-sig", "text/xml; charset=iso-8859-1"),
        ("utf-8", "utf-16", ""),
        ("utf-16", "utf-16-le", ""),
        ("utf-16", "utf-16-be", ""),
        ("utf-16", "utf-8", ""),
        ("no-such-encoding", "utf-8", ""),
        ("utf-8", "utf-32", ""),
    ],
)
def test_the_real_encoding_is_found(declared: str, real: str, header: str) -> None:
    declaration = f'<?xml version="1.0" encoding="{declared}"?>' if declared else '<?xml version="1.0"?>'
    assert (
        title_of(rss(item("Café – “Ω”".replace("Ω", "")), declaration).encode(real), media_type=header)
        == "Café – “”"
    )


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Новости сегодня и завтра", "cp1251"),
        ("Новости сегодня и завтра", "koi8-r"),
        ("今日のニュースはこちらです", "euc_jp"),
        ("今日のニュースはこちらです", "cp932"),
        ("오늘의 뉴스", "cp949"),
    ],
)
def test_an_undeclared_encoding_is_guessed(text: str, encoding: str) -> None:
    assert decoded(rss(item(text)).encode(encoding)).body.decode() == rss(item(text))


def test_entities_that_nobody_declared_are_known() -> None:
    assert (
        title_of(rss(item("Caf&eacute;&nbsp;&mdash; A &amp; B &unknown; &copy;")))
        == "Café — A & B &unknown; ©"
    )


def test_bare_ampersands_and_control_characters_are_harmless() -> None:
    assert title_of(rss(item("A & B\x00\x08 C &#0; D &#x1F; E&"))) == "A & B C D E&"


def test_what_stands_before_and_after_the_document_is_ignored() -> None:
    assert title_of("\ufeff \n" + rss(item("a"))) == "a"
    assert (
        title_of("<b>Warning</b>: x in y.php\n" + rss(item("a")) + "<!-- cached --><script>x</script>") == "a"
    )


def test_a_truncated_document_keeps_its_whole_items() -> None:
    whole = rss(item("a") + item("b") + item("c"))
    cut = whole[: whole.index("<title>c") + 8]
    result = parsed(cut)
    assert [entry.title for entry in result.items] == ["b", "a"]
    assert any("truncated" in warning for warning in result.warnings)


def test_tags_that_are_not_closed_lose_no_item() -> None:
    body = rss("<category>" + item("a") + item("<b>b"))
    assert [entry.title for entry in parsed(body).items] == ["b", "a"]


def test_a_prefix_that_was_never_declared_is_taken_at_its_word() -> None:
    body = rss("<item><title>a</title><dc:creator>Ann</dc:creator><media:rating>x</media:rating></item>")
    (entry,) = parsed(body).items
    assert (entry.authors, entry.extensions) == (("Ann",), (("media:rating", "x"),))


def test_names_in_the_wrong_case_are_known() -> None:
    (entry,) = parsed(
        "<RSS><Channel><Item><TITLE>a</TITLE><PubDate>2024-04-30</PubDate></Item></Channel></RSS>"
    ).items
    assert entry.title == "a"
    assert entry.published == datetime(2024, 4, 30, tzinfo=UTC)


def test_an_undated_item_goes_by_its_arrival() -> None:
    (entry,) = parsed(rss("<item><title>a</title><pubDate>soon</pubDate></item>")).items
    assert entry.published is None
    assert entry.time == ARRIVED


def test_html_in_a_title_is_read_as_text() -> None:
    assert title_of(rss(item("&lt;b&gt;Big&lt;/b&gt; &amp;amp; small"))) == "Big & small"
    assert title_of(rss(item("<![CDATA[<i>Big</i>]]> news"))) == "Big news"
    assert title_of(rss(item("<b>Big</b> news"))) == "Big news"


def test_repeated_guids_lose_no_item_and_repeated_items_are_one() -> None:
    def entry(guid: str, link: str, title: str) -> str:
        return f"<item><guid>{guid}</guid><link>{link}</link><title>{title}</title></item>"

    body = rss(
        entry("g", "https://a/1", "x") + entry("g", "https://a/2", "y") + entry("g", "https://a/1", "x")
    )
    assert [found.identity for found in parsed(body).items] == ["g https://a/2", "g https://a/1"]


BOMB = '<!DOCTYPE x [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {chr(98 + i)} "{("&" + chr(97 + i) + ";") * 10}">' for i in range(12)
) + "]>"  # fmt: skip


def test_an_entity_bomb_is_refused_and_does_not_go_off() -> None:
    before = time.process_time()
    with pytest.raises(DocumentError, match="entity bomb"):
        parsed(rss(item("x &m; &a;"), doctype=BOMB))
    assert time.process_time() - before < 1


def test_an_entity_that_stands_for_plain_text_is_replaced() -> None:
    assert title_of(rss(item("x &a;"), doctype='<!DOCTYPE x [<!ENTITY a "ha">]>')) == "x ha"


def test_nothing_outside_the_document_is_opened() -> None:
    doctype = '<!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY % y SYSTEM "http://127.0.0.1:9/"> %y;]>'
    assert title_of(rss(item("a &x;"), doctype=doctype)) == "a &x;"


def test_a_quadratic_bomb_does_not_grow() -> None:
    doctype = f'<!DOCTYPE x [<!ENTITY a "{"A" * 100_000}">]>'
    assert len(title_of(rss(item("&a;" * 1000), doctype=doctype))) < 10_000


def test_a_document_beyond_the_limits_is_refused_or_cut_and_says_so() -> None:
    with pytest.raises(DocumentError, match="more than the 100"):
        parsed(rss(item("a" * 200)), limits=DocumentLimits(max_bytes=100))
    result = parsed(rss(item("a") + item("b")), limits=DocumentLimits(max_items=1))
    assert [entry.title for entry in result.items] == ["a"]
    assert "only the first 1" in result.warnings[0]
    with pytest.raises(DocumentError, match="deeper"):
        parsed(rss("<a>" * 50 + "</a>" * 50), limits=DocumentLimits(max_depth=20))


def test_a_tree_without_a_bottom_harms_nobody() -> None:
    deep = rss("<item><title>a</title>" + "<x>" * 100_000 + "</x>" * 100_000 + "</item>")
    outcome = _outcome(deep.encode())
    assert isinstance(outcome, DocumentError) or [entry.title for entry in outcome] == ["a"]


def test_deep_json_is_refused() -> None:
    with pytest.raises(DocumentError):
        parsed('{"items": ' + "[" * 100_000)


DOCUMENT = rss(
    "<item><title>One &amp; only</title><link>https://a.org/1</link><description><![CDATA[<p>x</p>]]></description>"
    "<pubDate>Tue, 30 Apr 2024 10:00:00 GMT</pubDate></item>" + item("two é")
).encode()


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(DOCUMENT)), st.binary(max_size=4)), min_size=1, max_size=6))
def test_damage_gives_items_or_one_error(damage: list[tuple[int, bytes]]) -> None:
    body = bytearray(DOCUMENT)
    for place, data in damage:
        body[place : place + len(data)] = data
    outcome = _outcome(bytes(body))
    assert isinstance(outcome, DocumentError | tuple)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_break_the_parser(body: bytes) -> None:
    _outcome(body)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(DOCUMENT)))
def test_a_cut_anywhere_loses_only_what_was_cut(end: int) -> None:
    outcome = _outcome(DOCUMENT[:end])
    whole = len(re.findall(rb"</item>", DOCUMENT[:end]))
    found = len(outcome) if isinstance(outcome, tuple) else 0
    assert found == whole


def _outcome(body: bytes) -> tuple[Item, ...] | DocumentError:
    try:
        return parsed(body).items
    except DocumentError as error:
        return error
