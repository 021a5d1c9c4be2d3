"""Compiled queries as one file, which travels to wherever a DataFrame is matched.

```
CACHE/queries/NAME/set/          the compiled set, mapped into memory by every Python worker of a machine
CACHE/queries/NAME/ids.arrow     by number of a query what the caller calls it
CACHE/queries/NAME.tar           both, for machines that do not have them yet
```

The name is a digest of the queries: the same queries are compiled once, sent once and opened once by each worker.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from feedweir.errors import FeedweirError, FrameError
from feedweir.kernels.kernel_files import can_be_written, chosen_place, temporary_place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from feedweir.catalog import Definition
    from feedweir.language.statements import CreateFeed
    from feedweir.match import CompiledSet
    from feedweir.plan.query import Query

Id: TypeAlias = int | str
Texts: TypeAlias = "Sequence[str] | Mapping[int, str] | Mapping[str, str] | DataFrame"
"""Queries by number, by id, or in the columns `id` and `query`."""

_KEPT = 8
"""The newest files that stay on a machine."""
_SOURCE_IDS = 1 << 40


@dataclass(frozen=True, slots=True)
class CompiledQueries:
    """Queries that are ready to be matched against DataFrames."""

    name: str
    archive: Path
    id_type: str
    """`bigint` or `string`, as the caller calls queries."""
    count: int
    name_sources: bool
    """Whether some of them read named sources only."""
    refused: tuple[tuple[Id, str], ...] = ()
    """Queries that cannot be compiled, with the reason; the others were."""


def compile_queries(queries: Texts, *, skip_bad: bool = False) -> CompiledQueries:
    """Compile queries for `match`: what one types into a search box, or statements (`create feed N from … where …`,
    `from … where …`).

    They are called by their place in a sequence, by their key in a mapping, or by the column `id` of a DataFrame, whose
    column `query` has the text. A bad query is an error that names it; with `skip_bad` it is listed in `refused`.
    """
    ids, texts = _given(queries)
    if not texts:
        raise FrameError("there are no queries", hint="give at least one")
    table, refused = _compiled(texts)
    told = tuple((ids[place].as_py(), reason) for place, reason in refused)
    if told and not skip_bad:
        more = f"; {len(told) - 1:,} more cannot be compiled either" if len(told) > 1 else ""
        hint = "with skip_bad=True the others are compiled, and these are listed in `refused`"
        raise FrameError(f"query {told[0][0]!r}: {told[0][1]}{more}", hint=hint)
    name = _digest(table, ids)
    directory = place() / name
    if not directory.is_dir():
        _write(directory, table, ids)
    archive = _archived(directory)
    id_type = "bigint" if pa.types.is_integer(ids.type) else "string"
    name_sources = bool(pc.any(pc.greater(pc.list_value_length(table.column("sources")), 0)).as_py())
    return CompiledQueries(name, archive, id_type, len(texts) - len(told), name_sources, told)


@lru_cache(maxsize=4)
def opened(name: str, archive: str) -> tuple[CompiledSet, pa.Array]:
    """The set and its ids; what this machine does not have yet is taken from the archive, once."""
    from feedweir.match.sets.compiled_set import open_compiled

    directory = place() / name
    if not directory.is_dir():
        _extract(Path(archive), directory)
    with suppress(OSError):
        os.utime(directory)
    with pa.memory_map(str(directory / "ids.arrow")) as file:
        ids = pa.ipc.open_file(file).read_all().column("id").combine_chunks()
    return open_compiled(directory / "set"), ids


# Reading


def _given(queries: Texts) -> tuple[pa.Array, list[str]]:
    if isinstance(queries, Mapping):
        texts = [str(text) for text in queries.values()]
        return _ids(list(queries)), texts
    if isinstance(queries, Sequence):
        return pa.array(range(len(queries)), pa.int64()), [str(text) for text in queries]
    missing = {"id", "query"} - {*queries.columns}
    if missing:
        raise FrameError(
            f"the DataFrame of queries has no column {' and no column '.join(sorted(missing))}",
            hint=f"it has {', '.join(queries.columns)}; rename with withColumnRenamed",
        )
    table = queries.select("id", "query").toArrow()
    return _ids(table.column("id").to_pylist()), [text or "" for text in table.column("query").to_pylist()]


def _ids(given: Sequence[Id]) -> pa.Array:
    try:
        found = pa.array(given)
        return found.cast(pa.int64() if pa.types.is_integer(found.type) else pa.string())
    except pa.ArrowException:
        raise FrameError("ids of queries are either all integers or all strings") from None


def _compiled(texts: Sequence[str]) -> tuple[pa.Table, list[tuple[int, str]]]:
    """All queries that can be compiled, by place, and why the others cannot."""
    from feedweir.match.sets.query_store import table_of
    from feedweir.plan.query_columns import QueryTable

    refused: list[tuple[int, str]] = []
    searches: list[Query] = []
    statements: list[Definition] = []
    for place, text in enumerate(texts):
        try:
            searches += _search(place, text, statements)
        except FeedweirError as error:
            refused.append((place, str(error)))
    stated, failed = _stated(statements)
    queries = QueryTable.together(stated, QueryTable.of(searches))
    return table_of(queries.table), sorted([*refused, *failed])


def _search(place: int, text: str, statements: list[Definition]) -> Iterable[Query]:
    """What a search box makes of a text, unless it is a statement, which is added to the others."""
    from feedweir.catalog import Definition
    from feedweir.language import parse_search
    from feedweir.plan.query import Query

    words = text.split(None, 2)
    is_bare = len(words) > 2 and words[0].lower() == "from" and " where " in f" {words[2].lower()} "
    if is_bare or [word.lower() for word in words[:2]] == ["create", "feed"]:
        statements.append(Definition(place, "", "virtual", text))
    else:
        yield Query(place, (), parse_search(text))


def _stated(statements: Sequence[Definition]) -> tuple[Sequence[Query], list[tuple[int, str]]]:
    """The queries of statements. A name that none of them creates is a source: a value of the column `source`."""
    from feedweir.catalog import Definition
    from feedweir.compile.compiler import compile_definitions
    from feedweir.language import feeds_used, format_statement
    from feedweir.plan.nodes import EVERY_SOURCE

    refused: list[tuple[int, str]] = []
    feeds: dict[str, Definition] = {}
    read: set[str] = set()
    for one in statements:
        try:
            created = _created(one)
        except FeedweirError as error:
            refused.append((one.id, str(error)))
            continue
        if created.name in feeds:
            refused.append((one.id, f"another query is called {created.name} as well"))
            continue
        feeds[created.name] = one._replace(name=created.name, statement=format_statement(created))
        read |= {*feeds_used(created.query)}
    sources = sorted(read - {*feeds, EVERY_SOURCE})
    known = [Definition(_SOURCE_IDS + n, name, "source", "") for n, name in enumerate(sources)]
    found = compile_definitions([*known, *feeds.values()], {one.id for one in feeds.values()})
    refused += [(feeds[name].id, reason) for name, reason in found.failures]
    refused += [
        (join.feed, "joins need an installation: it remembers what came before") for join in found.joins
    ]
    return found.queries, refused


def _created(given: Definition) -> CreateFeed:
    """The statement as one that creates a feed; a bare query gets a name that nobody can write."""
    from feedweir.language import parse
    from feedweir.language.statements import Ask, CreateFeed

    found = parse(given.statement)
    if len(found) != 1 or not isinstance(found[0], (Ask, CreateFeed)):
        raise FrameError("one query is expected")
    return found[0] if isinstance(found[0], CreateFeed) else CreateFeed(f"query {given.id}", found[0].query)


# Files


def place() -> Path:
    """Where this machine keeps sets: beside the compiled kernels, or, where nothing can be written, a temporary one."""
    chosen = chosen_place() / "queries"
    return chosen if can_be_written(chosen) else temporary_place() / "queries"


def _digest(table: pa.Table, ids: pa.Array) -> str:
    from feedweir.match.sets.sealed import FORMAT

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    digest = blake2b(f"{FORMAT} {ids.type}".encode(), digest_size=12)
    digest.update(sink.getvalue())
    digest.update("\0".join(map(str, ids.to_pylist())).encode())
    return digest.hexdigest()


def _write(directory: Path, table: pa.Table, ids: pa.Array) -> None:
    from feedweir.match import compile_set

    draft = _draft(directory)
    compile_set(table, draft / "set")
    with pa.OSFile(str(draft / "ids.arrow"), "wb") as sink:
        told = pa.table({"id": ids})
        with pa.ipc.new_file(sink, told.schema) as writer:
            writer.write_table(told)
    _put(draft, directory)


def _archived(directory: Path) -> Path:
    archive = directory.with_name(f"{directory.name}.tar")
    if not archive.exists():
        draft = archive.with_name(f"{archive.name}.{os.getpid()}")
        with tarfile.open(draft, "w") as file:
            for name in ("set", "ids.arrow"):
                file.add(directory / name, name)
        draft.replace(archive)
    return archive


def _extract(archive: Path, directory: Path) -> None:
    draft = _draft(directory)
    with tarfile.open(archive) as file:
        file.extractall(draft, filter="data")
    _put(draft, directory)


def _draft(directory: Path) -> Path:
    directory.parent.mkdir(parents=True, exist_ok=True)
    _forget_old(directory.parent)
    return Path(mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))


def _put(draft: Path, directory: Path) -> None:
    try:
        draft.replace(directory)
    except OSError:
        rmtree(draft, ignore_errors=True)
        if not directory.is_dir():  # otherwise another worker was first
            raise


def _forget_old(where: Path) -> None:
    """What other workers have mapped stays readable for them."""
    found = sorted(where.glob("[0-9a-f]*[0-9a-f]"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in found[_KEPT - 1 :]:
        path.with_name(f"{path.name}.tar").unlink(missing_ok=True)
        rmtree(path, ignore_errors=True)
