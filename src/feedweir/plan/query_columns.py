"""Queries as columns: how they are kept, and how they travel between processes.

What asks for words only lies open, so that it can be compiled without an object for every query: `terms` in clauses of
`sizes` terms, each clause about one of `attributes`; all of it is wanted, or any (`is_any`). Without `sizes` it is one
clause, without `attributes` all are about the whole item; who wants everything has no terms. Any other predicate is
kept as text. Nothing is lost: a query comes back as it was. Terms are numbers into a list of distinct ones, as most are
named by many: so each is read, moved and analysed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feedweir.plan.predicate_wire import predicate_from_json, predicate_to_json
from feedweir.plan.predicates import TRUE, And, Contains, Or, Predicate, Term
from feedweir.plan.query import Query

SCHEMA = pa.schema(
    [
        ("key", pa.int64()),
        ("owner", pa.string()),
        ("sources", pa.list_(pa.string())),
        ("terms", pa.list_(pa.dictionary(pa.int32(), pa.string()))),
        ("sizes", pa.list_(pa.int32())),
        ("attributes", pa.list_(pa.string())),
        ("is_any", pa.bool_()),
        ("predicate", pa.string()),
    ]
)
ROWS_PER_BATCH = 8192


class Wording(NamedTuple):
    """A predicate that asks for words only."""

    terms: list[str]
    sizes: list[int] | None
    attributes: list[str | None] | None
    is_any: bool


def wording_of(predicate: Predicate) -> Wording | None:
    """The words that a predicate asks for; None when it asks for anything else."""
    if type(predicate) is Contains:
        return _wording((predicate,), 1 == predicate.at_least < len(predicate.terms))
    if (type(predicate) is And or type(predicate) is Or) and len(predicate.parts) > 1:
        return _wording(predicate.parts, type(predicate) is Or)
    return Wording([], None, None, False) if predicate == TRUE else None


def _wording(parts: tuple[Predicate, ...], is_any: bool) -> Wording | None:
    terms: list[str] = []
    sizes: list[int] = []
    attributes: list[str | None] = []
    for part in parts:
        if type(part) is not Contains or part.at_least != (1 if is_any else len(part.terms)):
            return None
        terms += [term.text for term in part.terms if not term.is_prefix]
        sizes.append(len(part.terms))
        attributes.append(part.attribute)
    names = [name for name in attributes if name is not None]
    # half a character cannot be in a column
    if 0 in sizes or len(terms) < sum(sizes) or not "".join(terms + names).isprintable():
        return None
    return Wording(terms, None if len(sizes) == 1 else sizes, attributes if names else None, is_any)


def predicate_of(wording: Wording) -> Predicate:
    if not wording.terms:
        return TRUE
    sizes = wording.sizes or [len(wording.terms)]
    attributes = wording.attributes or [None] * len(sizes)
    texts = iter(wording.terms)
    clauses = []
    for size, attribute in zip(sizes, attributes, strict=True):
        terms = tuple([Term(text) for text in islice(texts, size)])
        clauses.append(Contains(attribute, terms, 1 if wording.is_any else size))
    if len(clauses) == 1:
        return clauses[0]
    return Or(tuple(clauses)) if wording.is_any else And(tuple(clauses))


@dataclass(slots=True)
class Columns:
    """Queries that are being written down."""

    keys: list[int] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)
    sources: list[tuple[str, ...]] = field(default_factory=list)
    terms: list[list[str] | None] = field(default_factory=list)
    sizes: list[list[int] | None] = field(default_factory=list)
    attributes: list[list[str | None] | None] = field(default_factory=list)
    is_any: list[bool] = field(default_factory=list)
    predicates: list[str | None] = field(default_factory=list)

    def add(self, key: int, sources: tuple[str, ...], predicate: Predicate, owner: str) -> None:
        terms, sizes, attributes, is_any = wording = wording_of(predicate) or _NO_WORDING
        self.keys.append(key)
        self.owners.append(owner)
        self.sources.append(sources)
        self.terms.append(terms)
        self.sizes.append(sizes)
        self.attributes.append(attributes)
        self.is_any.append(is_any)
        self.predicates.append(predicate_to_json(predicate) if wording is _NO_WORDING else None)

    def batch(self) -> pa.RecordBatch:
        columns = (
            self.keys,
            self.owners,
            self.sources,
            self.terms,
            self.sizes,
            self.attributes,
            self.is_any,
            self.predicates,
        )
        arrays = [pa.array(column, one.type) for column, one in zip(columns, SCHEMA, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


_NO_WORDING: tuple[None, None, None, bool] = (None, None, None, False)


def batches_of(queries: Iterable[Query]) -> Iterator[pa.RecordBatch]:
    rest = iter(queries)
    while some := list(islice(rest, ROWS_PER_BATCH)):
        columns = Columns()
        for query in some:
            columns.add(query.key, query.sources, query.predicate, query.owner)
        yield columns.batch()


def query_of(row: dict[str, Any]) -> Query:
    """The query of a row of Arrow values."""
    if row["predicate"] is not None:
        predicate = predicate_from_json(row["predicate"])
    else:
        predicate = predicate_of(Wording(row["terms"], row["sizes"], row["attributes"], row["is_any"]))
    return Query(row["key"], tuple(row["sources"]), predicate, row["owner"])


def wants_everything(table: pa.Table) -> pa.ChunkedArray:
    """For each query whether its predicate is that of everything."""
    return pc.fill_null(pc.equal(pc.list_value_length(table.column("terms")), 0), False)


def in_order(table: pa.Table) -> pa.Table:
    """A table sorted by key; queries of equal keys stay in the order given."""
    keys = table.column("key").to_numpy()
    if (keys[1:] >= keys[:-1]).all():
        return table.combine_chunks()
    return table.take(np.argsort(keys, kind="stable")).combine_chunks()


class QueryTable(Sequence[Query]):
    """The queries of a table, each made when it is asked for."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    @classmethod
    def of(cls, queries: Iterable[Query]) -> QueryTable:
        """Queries in columns; those that are already stay as they are."""
        if isinstance(queries, QueryTable):
            return queries
        return cls(pa.Table.from_batches(batches_of(queries), SCHEMA))

    @classmethod
    def together(cls, *queries: Iterable[Query]) -> QueryTable:
        """All of these, one after the other."""
        return cls(pa.concat_tables([cls.of(some).table for some in queries]))

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, place: int) -> Query: ...
    @overload
    def __getitem__(self, place: slice) -> QueryTable: ...
    def __getitem__(self, place: int | slice) -> Query | QueryTable:
        if isinstance(place, slice):
            return QueryTable(self.table.take(pa.array(range(len(self))[place], pa.int64())))
        return query_of(self.table.slice(range(len(self))[place], 1).to_pylist()[0])

    def __iter__(self) -> Iterator[Query]:
        for batch in self.table.to_batches(max_chunksize=ROWS_PER_BATCH):
            yield from map(query_of, batch.to_pylist())
