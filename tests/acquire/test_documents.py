"""Documents that are no feeds: what makes two of them the same, and ids that a path names."""

from __future__ import annotations

import time
from collections.abc import Callable

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from feedweir.acquire.parse.canonical import json_digest, rdf_digest, xml_digest
from feedweir.acquire.parse.id_paths import id_in

PATHS = {
    ("//order/@number", "<a><order/><order number=' 7 '/></a>"): "7",
    ("/order/@number", "<a><order number='7'/></a>"): "",
    ("/a/order/@number", "<a><order number='7'/></a>"): "7",
    ("//@number", "<a number='1'><order number='7'/></a>"): "1",
    ("/ */*/@number".replace(" ", ""), "<a number='1'><order number='7'/></a>"): "7",
    ("//a//b/c", "<a><x><b><d><c>no</c></d></b></x><b><c>yes</c></b></a>"): "yes",
    (
        "//dc:identifier",
        "<a xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:identifier>i</dc:identifier></a>",
    ): "i",
    ("//identifier", "<a xmlns='urn:a'><identifier>i <b>j</b></identifier></a>"): "i j",
    ("/order/number", '{"order": {"number": 12}}'): "12",
    ("//number", '{"_order": [{"n": 1}, {"number": "x y"}]}'): "x y",
    ("/order", '{"order": true}'): "",
    ("/order", "neither"): "",
}


@pytest.mark.parametrize(("path", "raw"), PATHS)
def test_a_path_leads_to_the_first_text(path: str, raw: str) -> None:
    assert id_in(raw, path) == PATHS[path, raw]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
)


def _turned(value: object) -> object:
    if isinstance(value, dict):
        return {key: _turned(value[key]) for key in reversed(value)}
    return [_turned(inner) for inner in value] if isinstance(value, list) else value


@given(values, values)
def test_json_is_the_same_whatever_the_order_of_its_keys(one: object, other: object) -> None:
    assert json_digest(one) == json_digest(_turned(one))
    is_same = repr(one) == repr(other) or (one == other and type(one) is type(other))
    assert is_same or one == other or json_digest(one) != json_digest(other)


triples = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from("pq"), st.integers(0, 4) | st.sampled_from("ab")), max_size=8
)


@given(triples, st.permutations(range(5)))
def test_rdf_is_the_same_whatever_its_blank_nodes_are_called(
    said: list[tuple[int, str, int | str]], names: list[int]
) -> None:
    renamed = [(names[s], p, names[o] if isinstance(o, int) else o) for s, p, o in reversed(said)]
    assert _graph_digest(said) == _graph_digest(renamed)


def _graph_digest(said: list[tuple[int, str, int | str]]) -> str:
    def node(name: int | str) -> pyoxigraph.BlankNode | pyoxigraph.Literal:
        return pyoxigraph.BlankNode(f"b{name}") if isinstance(name, int) else pyoxigraph.Literal(name)

    return rdf_digest(
        pyoxigraph.Triple(pyoxigraph.BlankNode(f"b{s}"), pyoxigraph.NamedNode(f"urn:{p}"), node(o))
        for s, p, o in said
    )


def _namespaces(size: int) -> Callable[[], object]:
    declared = " ".join(f'xmlns:p{i}="u:{i}"' for i in range(size))
    root = etree.fromstring(f"<r {declared}>" + "".join(f"<p{i}:x/>" for i in range(size)) + "</r>")
    return lambda: xml_digest(root)


def _attributes(size: int) -> Callable[[], object]:
    root = etree.fromstring("<r " + " ".join(f'a{i}="1"' for i in range(size)) + "/>")
    return lambda: xml_digest(root)


HOSTILE: dict[str, Callable[[int], Callable[[], object]]] = {
    "namespaces": _namespaces,
    "attributes": _attributes,
    "elements without the id": lambda n: lambda: id_in("<r>" + "<a><b/></a>" * n + "</r>", "//a//a//b//@id"),
    "a chain of blank nodes": lambda n: lambda: _graph_digest([(i, "p", i + 1) for i in range(n // 20)]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_work_grows_with_the_document_and_not_with_its_square(name: str) -> None:
    def cost(size: int) -> float:
        digest = HOSTILE[name](size)
        start = time.process_time()
        digest()
        return time.process_time() - start

    small, large = min(cost(4000) for _ in range(3)), min(cost(32000) for _ in range(2))
    assert large < 8 * 4 * max(small, 0.01)
