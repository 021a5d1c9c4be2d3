"""The triples of ordinary items by whole columns: what `triples_of` says of each, without an object for any.

Only what somebody asks for is made: the caller names the predicates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from feedweir.items.attributes import attribute_named
from feedweir.items.columns import column_of, flat_values
from feedweir.items.namespaces import NAMESPACES
from feedweir.items.triples import declared_prefixes, predicate_of
from feedweir.text.html import text_of

_IS_IRI = r"^[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]+$"
_MAY_BE_RDF = (
    r"^\W*(?:_:|<[^<>\s]+> |<(?:[^\s<>]+:)?(?:RDF\b|item\b[^>]*about))"
    r"|(?i)ld\+json|\bitemscope\b|\b(?:typeof|property)\s*="
)
"""What the beginning of RDF looks like, and what data in HTML do; some other texts do, too."""
_XSD_DATE_TIME = NAMESPACES["xsd"] + "dateTime"
_TEXTS = {
    "title": "rss:title",
    "link": "rss:link",
    "content": "content:encoded",
    "authors": "dc:creator",
    "categories": "dc:subject",
    "language": "dc:language",
    "identity": "dc:identifier",
}
"""Columns of texts, and the predicates that they become."""
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ValueTriples:
    """One triple for each value: the item of the row, a predicate, the value."""

    predicate: str
    rows: Rows
    values: pa.Array
    is_iri: bool = False
    datatype: str = ""


def may_have_own_triples(items: pa.RecordBatch) -> NDArray[np.bool_]:
    """The items that may be RDF themselves or say RDF in their HTML: all that do, and perhaps others."""
    found = pc.match_substring_regex(items.column("raw"), _MAY_BE_RDF)
    return np.asarray(pc.fill_null(found, False))


def subjects_in(items: pa.RecordBatch) -> pa.Array:
    """The IRI of every item that is not RDF."""
    link, identity = items.column("link"), items.column("identity")
    found = pc.if_else(_are_iris(link), link, pc.if_else(_are_iris(identity), identity, None))
    if not found.null_count:
        return found
    made = [
        f"urn:item:{quote(source, safe='')}:{quote(name, safe='')}" if subject is None else subject
        for subject, source, name in zip(
            found.to_pylist(), items.column("source").to_pylist(), identity.to_pylist(), strict=True
        )
    ]
    return pa.array(made, pa.string())


def value_triples(items: pa.RecordBatch, is_wanted: Callable[[str], bool]) -> Iterator[ValueTriples]:
    """The triples of items that are not RDF, predicate by predicate, of the predicates that are wanted."""

    def wanted(name: str) -> str | None:
        prefix, _, local = name.partition(":")
        iri = NAMESPACES[prefix] + local
        return iri if is_wanted(iri) else None

    if predicate := wanted("rdf:type"):
        n = items.num_rows
        item = pa.array([NAMESPACES["rss"] + "item"] * n, pa.string())
        yield ValueTriples(predicate, np.arange(n), item, is_iri=True)
    for column, name in (("published", "dc:date"), ("updated", "dcterms:modified")):
        if predicate := wanted(name):
            yield _moments(predicate, items.column(column))
    for column, name in (("links", "dcterms:references"), ("enclosures", "enc:enclosure")):
        if predicate := wanted(name):
            yield _iris(predicate, *_values(items, column))
    for column, name in _TEXTS.items():
        if predicate := wanted(name):
            yield _texts(predicate, *_values(items, column))
    if predicate := wanted("rss:description"):
        texts = [text_of(text or "") for text in items.column("summary").to_pylist()]
        yield _texts(predicate, np.arange(items.num_rows), pa.array(texts, pa.string()))
    yield from _extensions(items, is_wanted)


def _values(items: pa.RecordBatch, column: str) -> tuple[Rows, pa.Array]:
    if column in ("links", "categories", "authors"):
        return flat_values(items.column(column))
    attribute = attribute_named("enclosure") if column == "enclosures" else None
    return flat_values(items.column(column) if attribute is None else column_of(items, attribute))


def _texts(predicate: str, rows: Rows, values: pa.Array) -> ValueTriples:
    values = pc.fill_null(values, "")
    kept = np.asarray(pc.not_equal(values, ""))
    return ValueTriples(predicate, rows[kept], values.filter(pa.array(kept)))


def _iris(predicate: str, rows: Rows, values: pa.Array) -> ValueTriples:
    kept = np.asarray(_are_iris(values))
    return ValueTriples(predicate, rows[kept], values.filter(pa.array(kept)), is_iri=True)


def _are_iris(values: pa.Array) -> pa.Array:
    return pc.fill_null(pc.match_substring_regex(values, _IS_IRI), False)


def _moments(predicate: str, column: pa.Array) -> ValueTriples:
    """Times as `datetime.isoformat` writes them."""
    rows = np.flatnonzero(np.asarray(pc.is_valid(column)))
    written = pc.strftime(column.drop_null(), "%Y-%m-%dT%H:%M:%S")
    moments = pc.binary_join_element_wise(pc.replace_substring_regex(written, r"\.0+$", ""), "+00:00", "")
    return ValueTriples(predicate, rows, moments.cast(pa.string()), datatype=_XSD_DATE_TIME)


def _extensions(items: pa.RecordBatch, is_wanted: Callable[[str], bool]) -> Iterator[ValueTriples]:
    """Extensions by name: of prefixes that only the item itself declares, item by item."""
    rows, cells = flat_values(items.column("extensions"))
    if not len(rows):
        return
    names = pc.struct_field(cells, "name").dictionary_encode()
    values = pc.struct_field(cells, "value")
    numbers = np.asarray(names.indices)
    for number, name in enumerate(names.dictionary.to_pylist()):
        of_name = np.flatnonzero(numbers == number)
        if name.partition(":")[0] in NAMESPACES:
            predicate = predicate_of(name, {})
            if predicate is not None and is_wanted(predicate):
                yield _texts(predicate, rows[of_name], values.take(pa.array(of_name)))
            continue
        by_predicate: dict[str, list[int]] = {}
        for place in of_name.tolist():
            declared = declared_prefixes(items.column("raw")[int(rows[place])].as_py() or "")
            predicate = predicate_of(name, declared)
            if predicate is not None and is_wanted(predicate):
                by_predicate.setdefault(predicate, []).append(place)
        for predicate, places in by_predicate.items():
            yield _texts(predicate, rows[places], values.take(pa.array(places)))
