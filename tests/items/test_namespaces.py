"""Namespaces and the prefixes they are known by, and what XML can carry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from feedweir.items.namespaces import NAMESPACES, PREFIXES
from feedweir.text.xml_characters import legal


@pytest.mark.parametrize(
    ("prefix", "uri"),
    [
        ("atom", "http://www.w3.org/2005/Atom"),
        ("dc", "http://purl.org/dc/elements/1.1/"),
        ("content", "http://purl.org/rss/1.0/modules/content/"),
        ("media", "http://search.yahoo.com/mrss/"),
        ("itunes", "http://www.itunes.com/dtds/podcast-1.0.dtd"),
        ("rss", "http://purl.org/rss/1.0/"),
    ],
)
def test_a_prefix_stands_for_the_namespace_that_people_write(prefix: str, uri: str) -> None:
    assert NAMESPACES[prefix] == uri


def test_every_prefix_leads_back_to_itself() -> None:
    for prefix, uri in NAMESPACES.items():
        assert PREFIXES.get(uri, prefix) in (prefix, ""), uri


def test_a_prefix_can_be_written_in_xml() -> None:
    for prefix, uri in NAMESPACES.items():
        element = etree.Element(f"{{{uri}}}x", nsmap={prefix: uri})
        assert etree.fromstring(etree.tostring(element)).prefix == prefix


@given(st.text())
def test_what_is_left_of_a_text_can_be_written_and_read_back(text: str) -> None:
    element = etree.Element("x")
    element.text = legal(text)
    read = etree.fromstring(etree.tostring(element, encoding="utf-8")).text or ""
    assert read == legal(text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\x00b", "ab"),
        ("\x08\x0b\x0c\x1f", ""),
        ("tab\tline\n", "tab\tline\n"),
        ("\ud800x", "x"),
        ("\ufffe\uffff\ufffd", "\ufffd"),
        ("\U0001f600\U0010ffff", "\U0001f600\U0010ffff"),
        ("\x7f\x85", "\x7f\x85"),
    ],
)
def test_what_xml_cannot_carry_is_left_out(text: str, kept: str) -> None:
    assert legal(text) == kept
