"""What the HTML of an item says as data: JSON-LD in scripts, microdata, and RDFa Lite.

It is read from the item's own text as it was published, since safe HTML has neither scripts nor these attributes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import urljoin

import pyoxigraph
from lxml import etree, html

from feedweir.errors import DocumentError
from feedweir.items.json_ld_contexts import json_ld_of
from feedweir.items.namespaces import NAMESPACES
from feedweir.items.rdf_terms import Node, Statement, is_iri, nodes_of
from feedweir.items.tree import root_of
from feedweir.text.markup_bounds import is_too_complex

_MARKS = re.compile(r"ld\+json|\bitemscope\b|\b(?:typeof|property)\s*=", re.IGNORECASE)
_HTML_ELEMENTS = ("description", "encoded", "content", "summary", "body")
_TYPE = Node("iri", NAMESPACES["rdf"] + "type")
_XSD = NAMESPACES["xsd"]
_BLANK = "h"
"""Before the numbers of blank nodes, which the item's own triples have, too."""
_MOST_TRIPLES = 10_000
_MOST_SCRIPTS = 50
_MOST_STEPS = 5_000_000
"""Elements visited and characters read, since pieces of HTML may refer to each other and lie within each other."""
_PREFIXES = NAMESPACES | {
    "schema": "http://schema.org/",
    "og": "http://ogp.me/ns#",
    "article": "http://ogp.me/ns/article#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "sioc": "http://rdfs.org/sioc/ns#",
}
_TIMES = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?"), f"{_XSD}dateTime"),
    (re.compile(r"\d{4}-\d\d-\d\d"), f"{_XSD}date"),
)
_ADDRESSES = {
    **dict.fromkeys(("a", "area", "link"), "href"),
    **dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src"),
    "object": "data",
}
"""By element, the attribute whose address is its value."""


def has_structured_data(raw: str) -> bool:
    """Whether an item's text may contain any; a quick look."""
    return _MARKS.search(raw) is not None


def structured_data(raw: str, base: str) -> tuple[Statement, ...]:
    """The triples in the HTML of an item's text, each once, in order; relative addresses are resolved by a base."""
    found = dict[Statement, None]()
    reader = _Reader(base)
    try:
        for text in _htmls(raw):
            for statement in reader.statements(text):
                if len(found) >= _MOST_TRIPLES:
                    return tuple(found)
                found[statement] = None
    except _SpentError:
        pass  # what was found until here is the same in every run
    return tuple(found)


class _SpentError(Exception):
    """More steps than an item's HTML may cost."""


def _htmls(raw: str) -> Iterator[str]:
    """The pieces of HTML in an item's XML or JSON."""
    root = root_of(raw)
    if root is None:
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError):
            return
        if isinstance(value, dict):
            yield from (
                text for text in (value.get("content_html"), value.get("summary")) if isinstance(text, str)
            )
        return
    for element in root.iter(etree.Element):
        if etree.QName(element).localname in _HTML_ELEMENTS:
            inside = "".join(etree.tostring(child, encoding="unicode") for child in element)
            text = (element.text or "") + inside
            if has_structured_data(text):
                yield text


@dataclass(slots=True)
class _Reader:
    base: str
    blanks: dict[str, str] = field(default_factory=dict)
    steps: int = _MOST_STEPS

    def spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise _SpentError

    def text(self, element: Any) -> str:
        found = str(element.text_content())
        self.spend(len(found) + 1)
        return " ".join(found.split())

    def statements(self, text: str) -> Iterator[Statement]:
        if is_too_complex(text):
            return
        try:
            root = html.fromstring(f"<div>{text}</div>")
        except (etree.ParserError, etree.XMLSyntaxError, ValueError):
            return
        for script in islice(root.iter("script"), _MOST_SCRIPTS):
            if (script.get("type") or "").partition(";")[0].strip().lower() == "application/ld+json":
                yield from self.json_ld(script.text or "")
        yield from _Microdata(self, root).statements()
        yield from self.rdfa(root, _Scope(self.address("") or self.blank(), "", _PREFIXES, ""))

    def json_ld(self, text: str) -> Iterator[Statement]:
        """One bad script says nothing, and the others what they say."""
        try:
            body, _ = json_ld_of(text.encode("utf-8", "replace"))
            base = self.base if is_iri(self.base) else None
            quads = pyoxigraph.parse(body, format=pyoxigraph.RdfFormat.JSON_LD, base_iri=base, lenient=True)
            yield from nodes_of(quads, self.blanks, _BLANK)
        except (DocumentError, SyntaxError, ValueError, OSError):
            return

    def blank(self) -> Node:
        name = f"{_BLANK}{len(self.blanks)}"
        self.blanks[f"html {name}"] = name
        return Node("blank", name)

    def address(self, written: str) -> Node | None:
        try:
            found = urljoin(self.base, written.strip())
        except ValueError:
            return None
        return Node("iri", found) if is_iri(found) else None

    # RDFa Lite

    def rdfa(self, root: Any, scope: _Scope) -> Iterator[Statement]:
        waiting = [(root, scope)]
        while waiting:
            element, around = waiting.pop()
            self.spend(1)
            within, said = self._rdfa_element(element, around)
            yield from said
            children = [child for child in element if isinstance(child.tag, str)]
            waiting += [(child, within) for child in reversed(children)]

    def _rdfa_element(self, element: Any, around: _Scope) -> tuple[_Scope, list[Statement]]:
        scope = around.within(element)
        properties = [
            one for name in (element.get("property") or "").split() if (one := scope.term(name)) is not None
        ]
        types = [
            one for name in (element.get("typeof") or "").split() if (one := scope.term(name)) is not None
        ]
        about, resource = element.get("about"), element.get("resource")
        subject = (self.address(about) if about is not None else None) or around.subject
        target = next((element.get(name) for name in ("href", "src") if element.get(name) is not None), None)
        named = resource if resource is not None else target
        thing: Node | None = None
        if element.get("typeof") is not None:
            if about is not None:
                thing = subject
            else:
                thing = (self.address(named) if named is not None else None) or self.blank()
        said = [Statement(thing, _TYPE, kind) for kind in types] if thing else []
        if properties:
            value = thing if thing is not None and about is None else self._rdfa_value(element, named, scope)
            said += [Statement(subject, one, value) for one in properties if value is not None]
        if thing is None and resource is not None and not properties:
            thing = self.address(resource)
        return scope.about(thing or subject), said

    def _rdfa_value(self, element: Any, named: str | None, scope: _Scope) -> Node | None:
        if element.get("content") is not None:
            return _literal(element.get("content"), scope.language)
        if named is not None:
            return self.address(named)
        if element.get("datetime") is not None:
            return _literal(element.get("datetime"), "", is_time=True)
        return _literal(self.text(element), scope.language)


@dataclass(frozen=True, slots=True)
class _Scope:
    """What an element inherits."""

    subject: Node
    vocabulary: str
    prefixes: Mapping[str, str]
    language: str

    def within(self, element: Any) -> _Scope:
        vocabulary = element.get("vocab")
        prefixes = self.prefixes
        words = (element.get("prefix") or "").split()
        if words:
            declared = zip(words[::2], words[1::2], strict=False)
            prefixes = {**prefixes, **{name.rstrip(":").lower(): iri for name, iri in declared}}
        language = element.get("lang")
        return _Scope(
            self.subject,
            self.vocabulary if vocabulary is None else vocabulary.strip(),
            prefixes,
            self.language if language is None else language.lower(),
        )

    def about(self, subject: Node) -> _Scope:
        return _Scope(subject, self.vocabulary, self.prefixes, self.language)

    def term(self, name: str) -> Node | None:
        """The IRI of a term, a prefixed name or an IRI."""
        prefix, colon, rest = name.partition(":")
        if colon and prefix.lower() in self.prefixes and not rest.startswith("//"):
            name = self.prefixes[prefix.lower()] + rest
        elif not colon:
            name = _one_schema(self.vocabulary) + name if self.vocabulary else ""
        return Node("iri", _one_schema(name)) if is_iri(name) else None


class _Microdata:
    """The items of microdata in a piece of HTML."""

    def __init__(self, reader: _Reader, root: Any) -> None:
        self._reader = reader
        self._root = root
        self._by_id: dict[str, Any] = {}
        self._nodes: dict[Any, Node] = {}

    def statements(self) -> Iterator[Statement]:
        elements = [one for one in self._root.iter() if isinstance(one.tag, str)]
        scopes = [one for one in elements if one.get("itemscope") is not None]
        if scopes:
            self._by_id = {one.get("id"): one for one in elements if one.get("id")}
        for scope in scopes:
            yield from self._item(scope)

    def _node(self, scope: Any) -> Node:
        if scope not in self._nodes:
            named = scope.get("itemid")
            self._nodes[scope] = (self._reader.address(named) if named else None) or self._reader.blank()
        return self._nodes[scope]

    def _item(self, scope: Any) -> Iterator[Statement]:
        subject = self._node(scope)
        types = [name for name in (scope.get("itemtype") or "").split() if is_iri(name)]
        yield from (Statement(subject, _TYPE, Node("iri", _one_schema(name))) for name in types)
        vocabulary = re.sub(r"[^/#]*\Z", "", types[0]) if types else ""
        for element in self._properties(scope):
            value = self._value(element)
            for name in element.get("itemprop").split():
                iri = name if ":" in name else vocabulary + name
                if value is not None and is_iri(iri):
                    yield Statement(subject, Node("iri", _one_schema(iri)), value)

    def _properties(self, scope: Any) -> Iterator[Any]:
        """The elements that say something of an item: within it, but not within items inside it, and those that it
        refers to."""
        referred = [self._by_id.get(name) for name in (scope.get("itemref") or "").split()]
        waiting = [*reversed([one for one in referred if one is not None]), *reversed(scope)]
        seen = {scope}
        while waiting:
            element = waiting.pop()
            self._reader.spend(1)
            if element in seen or not isinstance(element.tag, str):
                continue
            seen.add(element)
            if element.get("itemprop"):
                yield element
            if element.get("itemscope") is None:
                waiting += reversed(element)

    def _value(self, element: Any) -> Node | None:
        if element.get("itemscope") is not None:
            return self._node(element)
        tag = element.tag.lower()
        if tag in _ADDRESSES and element.get(_ADDRESSES[tag]) is not None:
            return self._reader.address(element.get(_ADDRESSES[tag]))
        if element.get("content") is not None:
            return _literal(element.get("content"), _language(element))
        if tag in ("data", "meter") and element.get("value") is not None:
            return _literal(element.get("value"), "")
        if tag == "time":
            return _literal(element.get("datetime") or self._reader.text(element), "", is_time=True)
        return _literal(self._reader.text(element), _language(element))


def _one_schema(iri: str) -> str:
    """schema.org's terms have one form, whatever scheme they are written with."""
    return f"http{iri[5:]}" if iri.startswith("https://schema.org/") else iri


def _literal(text: str, language: str, *, is_time: bool = False) -> Node:
    if is_time:
        kinds = (kind for shape, kind in _TIMES if shape.fullmatch(text.strip()))
        return Node("literal", text.strip(), next(kinds, ""))
    return Node("literal", text.strip(), "", language)


def _language(element: Any) -> str:
    found = next((one.get("lang") for one in (element, *element.iterancestors()) if one.get("lang")), "")
    return str(found).lower()
