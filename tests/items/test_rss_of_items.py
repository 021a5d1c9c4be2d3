"""The RSS item that an item would be which was not XML, and the trees of a batch."""

from __future__ import annotations

import gc
from datetime import UTC, datetime

import pytest
from lxml import etree

from feedweir.items.columns import ItemColumns
from feedweir.items.gc_pause import gc_paused
from feedweir.items.model import Enclosure, Item
from feedweir.items.namespaces import NAMESPACES
from feedweir.items.schema import batch_of
from feedweir.items.tree import root_of, roots_in, tree_of

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def written(item: Item) -> str:
    return etree.tostring(tree_of(item), encoding="unicode")


def test_an_item_that_says_nothing_is_its_guid() -> None:
    root = tree_of(Item(source="s", identity="g", arrived=NOON))
    assert [child.tag for child in root] == ["guid"]


def test_elements_stand_in_the_order_of_rss_and_only_where_there_is_something() -> None:
    root = tree_of(
        Item(
            source="s", identity="g", arrived=NOON, title="t", link="l", summary="s", content="c",
            authors=("a", "b"), categories=("x", "y"), published=NOON, language="en",
            enclosures=(Enclosure(url="u", type="audio/mpeg", length=3),), extensions=(("dc:rights", "free"),),
        )
    )  # fmt: skip
    assert [etree.QName(child).localname for child in root] == [
        "title", "link", "guid", "description", "encoded", "author", "author", "category", "category", "pubDate",
        "language", "enclosure", "rights",
    ]  # fmt: skip
    assert root[-1].tag == f"{{{NAMESPACES['dc']}}}rights"
    assert dict(root[-2].attrib) == {"url": "u", "type": "audio/mpeg", "length": "3"}


@pytest.mark.parametrize("name", ["a b:c", "a:b c", "1:a", "a:1", "nocolon", ":x", "x:", ""])
def test_an_extension_whose_name_xml_cannot_have_is_left_out(name: str) -> None:
    root = tree_of(Item(source="s", identity="g", arrived=NOON, extensions=((name, "v"), ("a:b", "w"))))
    assert [child.text for child in root] == ["g", "w"]


def test_characters_that_xml_cannot_have_are_left_out() -> None:
    root = tree_of(
        Item(source="s", identity="g", arrived=NOON, title="a\x00b", enclosures=(Enclosure(url="\x01u"),))
    )
    assert root.findtext("title") == "ab"
    assert root.find("enclosure").get("url") == "u"


def test_markup_in_a_title_is_text() -> None:
    assert "&lt;b&gt;" in written(Item(source="s", identity="g", arrived=NOON, title="<b>"))


@pytest.mark.parametrize("raw", ["", "   ", "{}", '{"a": "<b>"}', "text", "<", "<1>"])
def test_what_is_no_xml_has_no_tree_of_its_own(raw: str) -> None:
    assert root_of(raw) is None


@pytest.mark.parametrize(
    ("raw", "tag"),
    [
        ("<item/>", "item"),
        ("\n <item/>", "item"),
        ("<item", "item"),
        ('<?xml version="1.0"?><entry xmlns="urn:x"/>', "{urn:x}entry"),
        ("<a:item><a:b/></a:item>", "a:item"),
    ],
)
def test_xml_has_its_own_tree(raw: str, tag: str) -> None:
    root = root_of(raw)
    assert root is not None
    assert root.tag == tag


def test_an_entity_that_a_document_declares_is_not_read() -> None:
    raw = '<!DOCTYPE item [<!ENTITY x SYSTEM "file:///etc/hostname"><!ENTITY y "expanded">]><item>&x;|&y;</item>'
    root = root_of(raw)
    assert root is not None
    assert "expanded" not in "".join(root.itertext())


def test_the_trees_of_a_batch_are_those_of_its_items_however_it_is_held() -> None:
    items = [
        Item(source="s", identity="1", arrived=NOON, raw="<item><title>own</title></item>"),
        Item(source="s", identity="2", arrived=NOON, title="read", raw="{}"),
        Item(source="s", identity="3", arrived=NOON, title="last"),
    ]
    rows = [2, 0, 1, 0]
    wanted = [etree.tostring(tree_of(items[row])) for row in rows]
    for batch in (ItemColumns(items), batch_of(items)):
        assert [etree.tostring(root) for root in roots_in(batch, rows)] == wanted


def test_garbage_is_left_alone_for_a_while_and_collected_as_before_afterwards() -> None:
    def failing() -> None:
        with gc_paused():
            assert not gc.isenabled()
            raise RuntimeError

    assert gc.isenabled()
    with pytest.raises(RuntimeError):
        failing()
    assert gc.isenabled()


def test_a_program_that_collects_no_garbage_does_not_begin_to() -> None:
    gc.disable()
    try:
        with gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
