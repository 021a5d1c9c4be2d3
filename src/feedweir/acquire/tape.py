"""A well-formed document as a tape: what the kernel read, with its namespaces resolved."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from feedweir.acquire import tape_kernels as columns
from feedweir.acquire.names import names_of
from feedweir.acquire.xml_element import MAX_TEXT_CHARS, XML_BASE, XML_NAMESPACE, Attributes, check_namespaces
from feedweir.acquire.xml_kernels import PADDING

MAX_TAPE_BYTES = 8 << 20
"""Longer documents may break a limit of lxml's own, which is not for the tape to know."""
_DECLARATION = re.compile(
    rb"""<\?xml\s+version\s*=\s*(?:"1\.0"|'1\.0')"""
    rb"""(?:\s+encoding\s*=\s*(?:"[A-Za-z][A-Za-z0-9._-]*"|'[A-Za-z][A-Za-z0-9._-]*'))?"""
    rb"""(?:\s+standalone\s*=\s*(?:"(?:yes|no)"|'(?:yes|no)'))?\s*\?>"""
)
_NO_ATTRIBUTES: Attributes = {}
_USUAL_URI = re.compile(
    r"https?://[A-Za-z0-9.-]+(?:/[A-Za-z0-9/._~+,;-]*)?(?:\?[A-Za-z0-9/._=&~+,;-]*)?(?:#[A-Za-z0-9/._=~+-]*)?"
    r"|[A-Za-z][A-Za-z0-9-]*(?::[A-Za-z0-9][A-Za-z0-9._-]*)+"
)
"""Of the web, or as in `urn:a:b`: what no parser finds fault with."""
_FIXED_NAMESPACES = frozenset((XML_NAMESPACE, "http://www.w3.org/2000/xmlns/"))
_Rows = list[list[int]]


class _Refused(Exception):
    """A name or a declaration that parsers who know namespaces do not accept."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Where the same prefixes mean the same."""

    element: int
    """The element that declares some of them."""
    prefixes: dict[str, str]
    inside: bytes
    """What a copy of an element must declare that stands inside."""
    outside: bytes
    """What a copy of the declaring element must declare beside its own."""


@dataclass(slots=True, kw_only=True)
class Tape:
    """The elements of a document in its order, one list for each thing to know of them."""

    body: bytes
    kinds: list[int]
    """Which of `names` an element has."""
    sizes: list[int]
    """How many elements there are inside."""
    texts: list[str]
    """The text of elements that have no elements inside."""
    attributes: list[Attributes]
    flags: list[int]
    starts: list[int]
    name_ends: list[int]
    ends: list[int]
    names: list[tuple[str, str]]
    scopes: list[Scope]
    """Of each name."""
    has_bases: bool
    """Whether any element has an `xml:base`."""

    def raw(self, place: int) -> bytes:
        """The XML of an element with the namespaces that those around it declare."""
        body, name_end = self.body, self.name_ends[place]
        scope = self.scopes[self.kinds[place]]
        declared = scope.outside if scope.element == place else scope.inside
        return body[self.starts[place] : name_end] + declared + body[name_end : self.ends[place]]


class _Scratch(threading.local):
    """Arrays to scan into, as long as the longest document that a thread has met."""

    def __init__(self) -> None:
        self.size = 0

    def fit(self, size: int) -> None:
        if size <= self.size:
            return
        self.size = size
        self.texts = np.empty(size, np.uint8)
        self.values = np.empty(size, np.uint8)
        self.elements = np.empty((columns.ELEMENT_ROWS, size // 4 + 1), np.int32)  # `<a/>` is the shortest
        self.attributes = np.empty((columns.ATTRIBUTE_ROWS, size // 5 + 1), np.int32)
        self.names = np.empty((columns.MAX_NAMES, columns.NAME_COLUMNS), np.int32)
        self.scopes = np.zeros((columns.MAX_NAMES, columns.SCOPE_COLUMNS), np.int32)
        self.counts = np.empty(columns.COUNTS, np.int64)
        self.table = np.empty(columns.TABLE_SIZE, np.int32)
        self.stack = np.empty((columns.MAX_DEPTH, columns.STACK_COLUMNS), np.int64)


_scratch = _Scratch()


def tape_of(body: bytes) -> Tape | None:
    """The tape of a document in UTF-8; nothing when it is not of the usual, well-formed kind."""
    if len(body) > MAX_TAPE_BYTES:
        return None
    declaration = _DECLARATION.match(body)
    start = declaration.end() if declaration else 0
    source = np.frombuffer(body + PADDING, np.uint8)
    to = _scratch
    to.fit(source.size)
    if not columns.scan(
        source,
        start,
        to.texts,
        to.values,
        to.elements,
        to.attributes,
        to.names,
        to.scopes,
        to.counts,
        to.table,
        to.stack,
    ):
        return None
    n_elements, n_attributes, n_names, n_scopes, n_bytes, n_values, needs_strip = to.counts.tolist()
    texts = _strings(to.texts, n_bytes)
    if needs_strip or len(body) > MAX_TEXT_CHARS:
        texts = [text.strip()[:MAX_TEXT_CHARS] for text in texts]
    try:
        return _tape(
            body,
            texts,
            to.elements[:, :n_elements].tolist(),
            list(zip(*to.attributes[:2, :n_attributes].tolist(), _strings(to.values, n_values), strict=True)),
            to.names[:n_names].tolist(),
            to.scopes[1:n_scopes].tolist(),
        )
    except _Refused:
        return None


def _strings(joined: np.ndarray[Any, Any], size: int) -> list[str]:
    return joined[: size - 1].tobytes().decode().split("\0") if size else []


def _tape(
    body: bytes,
    texts: list[str],
    elements: _Rows,
    attributes: list[tuple[int, int, str]],
    names: _Rows,
    scopes: _Rows,
) -> Tape:
    declaring = {element for element, _ in scopes}
    known = _vocabulary(
        tuple([body[row[columns.NAME_START] : row[columns.NAME_STOP]] for row in names]),
        tuple([(row[columns.NAME_SCOPE], row[columns.NAME_IS_ATTRIBUTE]) for row in names]),
        tuple([(element, parent) for element, parent in scopes]),
        tuple([said for said in attributes if said[1] in declaring]),
    )
    return Tape(
        body=body,
        kinds=elements[columns.NAME],
        sizes=elements[columns.SIZE],
        texts=texts,
        attributes=_attributes(len(texts), attributes, known.tags),
        flags=elements[columns.FLAGS],
        starts=elements[columns.START],
        name_ends=elements[columns.NAME_END],
        ends=elements[columns.END],
        names=known.names,
        scopes=known.scopes,
        has_bases=XML_BASE in known.tags,
    )


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """The names of a document, in the order of their first use."""

    tags: list[str]
    names: list[tuple[str, str]]
    scopes: list[Scope]


@lru_cache(1024)
def _vocabulary(
    spelled_bytes: tuple[bytes, ...],
    uses: tuple[tuple[int, int], ...],
    scopes: tuple[tuple[int, int], ...],
    said: tuple[tuple[int, int, str], ...],
) -> _Vocabulary:
    """Names resolved by the declarations in force where they are used, as (scope, whether of an attribute). Documents
    of one publisher have the same names and declarations: they are resolved once."""
    spelled = [name.decode() for name in spelled_bytes]
    attributes: dict[int, dict[str, str]] = {element: {} for element, _ in scopes}
    for name, element, value in said:
        attributes[element][spelled[name]] = value
    known = [Scope(-1, {"xml": XML_NAMESPACE}, b"", b"")]
    for element, parent in scopes:
        known.append(_scope(element, known[parent].prefixes, _declared(attributes[element])))
    scope_of = [known[scope] for scope, _ in uses]
    tags = [
        _tag(name, scope.prefixes, is_attribute=bool(is_attribute))
        for name, scope, (_, is_attribute) in zip(spelled, scope_of, uses, strict=True)
    ]
    names = [names_of(tag, name.rpartition(":")[0] or None) for tag, name in zip(tags, spelled, strict=True)]
    return _Vocabulary(tags, names, scope_of)


def _declared(attributes: dict[str, str]) -> dict[str, str]:
    """The namespaces that an element declares, by prefix; the empty prefix is for names without one."""
    declared = {
        name[6:]: uri for name, uri in attributes.items() if name == "xmlns" or name.startswith("xmlns:")
    }
    for prefix, uri in declared.items():
        is_usual = _USUAL_URI.fullmatch(uri) is not None or not (uri or prefix)
        if prefix in ("xml", "xmlns") or uri in _FIXED_NAMESPACES or not is_usual:
            raise _Refused(prefix)
    return declared


def _scope(element: int, around: dict[str, str], declared: dict[str, str]) -> Scope:
    outside = {prefix: uri for prefix, uri in around.items() if prefix not in declared}
    prefixes = around | declared
    check_namespaces(sum(len(prefix) + len(uri) for prefix, uri in prefixes.items()))
    return Scope(element, prefixes, _written(prefixes), _written(outside))


def _written(prefixes: dict[str, str]) -> bytes:
    return "".join(
        f' xmlns{":" if prefix else ""}{prefix}="{_escaped(uri)}"'
        for prefix, uri in prefixes.items()
        if prefix != "xml" and uri
    ).encode()


def _escaped(uri: str) -> str:
    return uri.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def _tag(name: str, prefixes: dict[str, str], *, is_attribute: bool) -> str:
    """A name as lxml writes it; empty for the declaration of a namespace."""
    prefix, _, local = name.rpartition(":")
    if is_attribute and (name == "xmlns" or prefix == "xmlns"):
        return ""
    if prefix and prefix not in prefixes:
        raise _Refused(prefix)
    uri = "" if is_attribute and not prefix else prefixes.get(prefix, "")
    return f"{{{uri}}}{local}" if uri else local


def _attributes(count: int, said: list[tuple[int, int, str]], tags: list[str]) -> list[Attributes]:
    """The attributes of each of `count` elements."""
    result = [_NO_ATTRIBUTES] * count
    attributes: dict[str, str] = {}
    known = -1
    for name, element, value in said:
        tag = tags[name]
        if element != known:
            result[element] = attributes = {}
            known = element
        if tag in attributes:
            raise _Refused(tag)
        if tag:
            attributes[tag] = value
    return result
