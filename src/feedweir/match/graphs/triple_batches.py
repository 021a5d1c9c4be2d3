"""The triples of a batch's items as arrays of term numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from feedweir.items.columns import Batch, ItemColumns, item_at
from feedweir.items.model import Item
from feedweir.items.triple_columns import may_have_own_triples, subjects_in, value_triples
from feedweir.items.triples import Node, Statement, triples_of
from feedweir.match.arrays import Array, frozen
from feedweir.match.graphs.triple_kernels import BLANK, IRI, LITERAL, Terms

_KINDS = {"iri": IRI, "blank": BLANK, "literal": LITERAL}


@dataclass(frozen=True)
class TripleBatch:
    """Rows of triples; equal numbers are equal terms, within a row at least."""

    terms: Terms
    types: Sequence[tuple[str, str]]
    """The pairs of datatype and language that literals have."""
    row_ptr: Array
    subjects: Array
    predicates: Array
    objects: Array

    def __len__(self) -> int:
        return len(self.row_ptr) - 1

    @property
    def n_terms(self) -> int:
        return len(self.terms.starts)

    def text(self, term: int) -> str:
        start = int(self.terms.starts[term])
        stop = start + int(self.terms.lengths[term])
        return bytes(self.terms.text[start:stop]).decode("utf-8", "surrogatepass")

    def node(self, term: int) -> Node:
        """A term as a value: for what kernels leave to Python."""
        kind = int(self.terms.kinds[term])
        datatype, language = self.types[int(self.terms.types[term])] if kind == LITERAL else ("", "")
        return Node(self._names[kind], self.text(term), datatype, language)  # type: ignore[arg-type]

    @cached_property
    def _names(self) -> dict[int, str]:
        return {number: name for name, number in _KINDS.items()}


def batch_of_statements(rows: Iterable[Iterable[Statement]]) -> TripleBatch:
    """Triples that are there as values."""
    numbers: dict[Node, int] = {}
    types: dict[tuple[str, str], int] = {("", ""): 0}
    ends = [0]
    found: list[tuple[int, int, int]] = []
    for statements in rows:
        for one in statements:
            found.append(tuple(numbers.setdefault(term, len(numbers)) for term in one))  # type: ignore[arg-type]
        ends.append(len(found))
    texts = [node.value.encode("utf-8", "surrogatepass") for node in numbers]
    lengths = np.fromiter(map(len, texts), np.int32, len(texts))
    terms = Terms(
        frozen(np.frombuffer(b"".join(texts), np.uint8)),
        frozen(np.cumsum(lengths, dtype=np.int64) - lengths),
        frozen(lengths),
        frozen(np.array([_KINDS[node.kind] for node in numbers], np.int8)),
        frozen(
            np.array(
                [types.setdefault((node.datatype, node.language), len(types)) for node in numbers], np.int32
            )
        ),
    )
    columns = np.array(found, np.int32).reshape(-1, 3)
    subjects, predicates, objects = (frozen(columns[:, place].copy()) for place in range(3))
    return TripleBatch(terms, tuple(types), frozen(np.array(ends, np.int64)), subjects, predicates, objects)


def triples_in(
    items: Batch, rows: Array, is_wanted: Callable[[str], bool] = lambda predicate: True
) -> TripleBatch:
    """The triples of some of a batch's items, of those predicates that are wanted.

    Items that are RDF themselves are read one by one; the others column by column.
    """
    if isinstance(items, ItemColumns) and items.num_rows <= _FEW:
        return batch_of_statements(_wanted(items.items[row], is_wanted) for row in rows.tolist())
    batch = items.batch() if isinstance(items, ItemColumns) else items
    if len(rows) < batch.num_rows:
        batch = batch.take(pa.array(rows))
    is_own = may_have_own_triples(batch)
    if not is_own.any():
        return _batch_of_columns(batch, np.arange(len(rows)), len(rows), is_wanted)
    own, plain = np.flatnonzero(is_own), np.flatnonzero(~is_own)
    read = batch_of_statements(_wanted(item_at(batch, row), is_wanted) for row in own.tolist())
    if not len(plain):
        return read
    return _interleaved(
        _batch_of_columns(batch.take(pa.array(plain)), plain, len(rows), is_wanted), read, own, len(rows)
    )


_FEW = 4


def _wanted(item: Item, is_wanted: Callable[[str], bool]) -> list[Statement]:
    return [one for one in triples_of(item) if is_wanted(one.predicate.value)]


def _batch_of_columns(
    items: pa.RecordBatch, places: Array, n_rows: int, is_wanted: Callable[[str], bool]
) -> TripleBatch:
    """The items of a record batch, which are those at some places of `n_rows`."""
    found = [one for one in value_triples(items, is_wanted) if len(one.rows)]
    if not found:
        return batch_of_statements(() for _ in range(n_rows))
    subjects = subjects_in(items)
    predicates = pa.array([one.predicate for one in found], pa.string())
    texts = [one for one in found if not one.is_iri]
    iris = [one for one in found if one.is_iri]
    # terms: IRIs first, then the literals of each type, each distinct text once
    iri_codes, strings = _coded([subjects, predicates, *(one.values for one in iris)])
    kinds, types = [np.full(len(strings), IRI, np.int8)], [np.zeros(len(strings), np.int32)]
    pairs: dict[tuple[str, str], int] = {("", ""): 0}
    distinct = [strings]
    codes: dict[int, Array] = {id(one): code for one, code in zip(iris, iri_codes[2:], strict=True)}
    first = len(strings)
    for datatype in dict.fromkeys(one.datatype for one in texts):
        some = [one for one in texts if one.datatype == datatype]
        of_some, strings = _coded([one.values for one in some])
        codes |= {id(one): code + first for one, code in zip(some, of_some, strict=True)}
        kinds.append(np.full(len(strings), LITERAL, np.int8))
        types.append(np.full(len(strings), pairs.setdefault((datatype, ""), len(pairs)), np.int32))
        distinct.append(strings)
        first += len(strings)
    rows = np.concatenate([one.rows for one in found])
    order = np.argsort(rows, kind="stable")
    columns = (
        iri_codes[0][rows],
        np.repeat(iri_codes[1], [len(one.rows) for one in found]),
        np.concatenate([codes[id(one)] for one in found]),
    )
    counts = np.bincount(places[rows], minlength=n_rows)
    terms = _terms(pa.concat_arrays(distinct), np.concatenate(kinds), np.concatenate(types))
    subject, predicate, object_ = (frozen(column[order].astype(np.int32)) for column in columns)
    row_ptr = frozen(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
    return TripleBatch(terms, tuple(pairs), row_ptr, subject, predicate, object_)


def _coded(arrays: Sequence[pa.Array]) -> tuple[list[Array], pa.Array]:
    """Strings as numbers among the distinct ones, array by array."""
    coded = pa.concat_arrays([one.cast(pa.string()) for one in arrays]).dictionary_encode()
    ends = np.cumsum([len(one) for one in arrays])
    return np.split(np.asarray(coded.indices), ends[:-1]), coded.dictionary


def _terms(strings: pa.Array, kinds: Array, types: Array) -> Terms:
    _, offsets, data = strings.buffers()
    ends = np.frombuffer(offsets, np.int32)[strings.offset : strings.offset + len(strings) + 1].astype(
        np.int64
    )
    text = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    lengths = np.diff(ends).astype(np.int32)
    return Terms(frozen(text), frozen(ends[:-1]), frozen(lengths), frozen(kinds), frozen(types))


def _interleaved(one: TripleBatch, other: TripleBatch, places: Array, n_rows: int) -> TripleBatch:
    """Two batches of different rows as one; `places` are those of the other's rows."""
    starts = np.concatenate([one.terms.starts, other.terms.starts + len(one.terms.text)])
    types = np.concatenate([one.terms.types, other.terms.types + len(one.types)])
    text, lengths, kinds = (
        frozen(np.concatenate([getattr(one.terms, name), getattr(other.terms, name)]))
        for name in ("text", "lengths", "kinds")
    )
    terms = Terms(text, frozen(starts), lengths, kinds, frozen(types))
    rows = np.concatenate(
        [
            np.repeat(np.arange(n_rows), np.diff(one.row_ptr)),
            places[np.repeat(np.arange(len(other)), np.diff(other.row_ptr))],
        ]
    )
    order = np.argsort(rows, kind="stable")
    columns = (
        frozen(np.concatenate([a, b + one.n_terms])[order])
        for a, b in (
            (one.subjects, other.subjects),
            (one.predicates, other.predicates),
            (one.objects, other.objects),
        )
    )
    counts = np.bincount(rows, minlength=n_rows)
    row_ptr = frozen(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
    return TripleBatch(terms, (*one.types, *other.types), row_ptr, *columns)
