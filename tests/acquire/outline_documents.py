"""OPML documents as text, as odd as XML allows: for tests that ask for every bit of them again."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import strategies as st
from lxml import etree

ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#xD;", "\n": "&#10;", "\t": "&#9;"}
ALPHABET = "ab Ä→😀&<>\"'\n\t\r;#]-?/"

words = st.text(ALPHABET, max_size=6)
blanks = st.sampled_from(["", " ", "\n", "\n  ", "\t"])
comments = st.text("ab &<>'\" \nÄ", max_size=6).map(lambda text: f"<!--{text}-->") | st.just(
    "<!-- a <b/> &c; -->"
)
instructions = st.sampled_from(["<?app?>", "<?app set a='1' & b?>", '<?xml-stylesheet href="x.xsl"?>'])
asides = comments | instructions


def escaped(text: str) -> str:
    return "".join(ESCAPES.get(character, character) for character in text)


def attributes_of(names: list[str]) -> st.SearchStrategy[str]:
    pairs = st.lists(
        st.tuples(st.sampled_from(names), words, blanks), unique_by=lambda pair: pair[0], max_size=3
    )
    return pairs.map(
        lambda found: "".join(f'{blank} {name}="{escaped(value)}"' for name, value, blank in found)
    )


texts = (
    words.map(escaped)
    | words.filter(lambda text: "]]>" not in text and "\r" not in text).map(lambda t: f"<![CDATA[{t}]]>")
    | blanks
)


def elements(
    names: list[str], attributes: list[str], inside: st.SearchStrategy[str]
) -> st.SearchStrategy[str]:
    def written(name: str, said: str, children: list[str], is_short: bool) -> str:
        body = "".join(children)
        return f"<{name}{said}/>" if is_short and not body else f"<{name}{said}>{body}</{name} >"

    return st.builds(
        written,
        st.sampled_from(names),
        attributes_of(attributes),
        st.lists(inside, max_size=3),
        st.booleans(),
    )


UNKNOWN = ["note", "x:extra", "y:outline", "x:body"]
unknown = elements(UNKNOWN, ["a", "x:a", "xml:lang"], texts | asides)
feeds = st.builds(
    lambda number, text, more: (
        f'<outline text="{escaped(text)}" xmlUrl="https://h{number}.example/{number}"{more}/>'
    ),
    st.integers(0, 5),
    words,
    attributes_of(["type", "title", "htmlUrl", "x:own", "category", "isComment"]),
)
outlines = st.recursive(
    feeds | elements(["outline"], ["text", "title", "x:own"], st.nothing() | st.just("")),
    lambda inside: elements(["outline"], ["text", "open", "y:b"], inside | texts | asides | unknown),
    max_leaves=6,
)
heads = elements(["head"], ["x:a"], elements(["title", "ownerName", "x:head"], ["a"], texts) | texts | asides)
bodies = elements(["body"], ["x:a", "b"], outlines | texts | asides | unknown)
namespaces = st.sampled_from(
    ['xmlns:x="urn:x" xmlns:y="urn:y"', "xmlns:y='urn:x' xmlns:x='urn:y' xmlns:z='urn:z'"]
)


def _document(
    before: list[str], declared: str, said: str, head: str, between: str, body: str, after: list[str]
) -> str:
    root = f"<opml  version='2.0' {declared}{said}>{head}{between}{body}</opml>"
    return '<?xml version="1.0"?>\n' + "\n".join([*before, root, *after])


documents = st.builds(
    _document,
    st.lists(asides, max_size=2),
    namespaces,
    attributes_of(["x:own", "y:b", "own"]),
    heads,
    asides | unknown | blanks,
    bodies,
    st.lists(asides, max_size=2),
)


def feeds(document: bytes) -> list[tuple[tuple[str, ...], dict[str, str]]]:
    """The folders and all the attributes of each feed of a document; one that is in a folder twice is there once."""
    found = [each for body in etree.fromstring(document).findall("body") for each in _feeds(body, ())]
    together: dict[tuple[tuple[str, ...], str], dict[str, str]] = {}
    for folders, attributes in found:
        together.setdefault((folders, attributes["xmlUrl"].strip()), {}).update(attributes)
    return sorted(((folders, said) for (folders, _), said in together.items()), key=str)


def _feeds(
    parent: etree._Element, folders: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    for child in parent.iterchildren(etree.Element):
        inside = folders
        if child.tag == "outline":
            said = {str(name): str(value) for name, value in child.attrib.items()}
            if said.get("xmlUrl", "").strip():
                yield folders, said
            else:
                inside = (*folders, said.get("text") or said.get("title") or "")
        if not str(child.tag).startswith("{"):
            yield from _feeds(child, inside)
