"""Pattern joins compiled for good: what `compile_patterns` gives, as arrays in a file that all processes map.

What is as many as the queries (R_T, what their matches become, which streams they read) is in arrays. What queries
share (variables, the shapes of templates, names of streams and results) is in a small JSON file beside them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedweir.errors import FeedweirError
from feedweir.join.patterns.pattern_set import Level, PatternSet, TemplateRelation, compile_patterns
from feedweir.join.patterns.results import Results
from feedweir.join.patterns.templates import JoinGraph, Template
from feedweir.join.patterns.variables import PatternQuery, Variable, blocks_of, stream_name
from feedweir.join.streams import with_streams_named
from feedweir.join.window_bounds import JoinBounds
from feedweir.match.arrays import Array, load_arrays, save_arrays
from feedweir.plan import postorder
from feedweir.plan.nodes import Feed, Node, PatternJoin, TimeSpan
from feedweir.plan.plan_wire import stream_keys
from feedweir.plan.predicate_wire import predicate_from_json, predicate_to_json
from feedweir.plan.predicates import TreePattern

Longs = NDArray[np.int64]

_RELATION = (
    "variables",
    "shared",
    "mode",
    "length",
    "members_ptr",
    "members",
    "member_length",
)
_RESULT = ("keys", "stream", "outputs", "select", "reads")


@dataclass(frozen=True, slots=True)
class CompiledPart:
    """Joins of blocks over plain streams. They are known by the keys of their streams, and so are what they read."""

    patterns: PatternSet
    keys: Longs
    """Ascending."""
    is_timed: NDArray[np.bool_]
    """By key, whether any window is one of time."""
    input_key: Longs
    """With `input_stream`: the stream of each block, from left to right, join by join."""
    input_stream: Longs

    def readers(self, streams: Longs) -> Longs:
        """The keys of joins that read one of these streams."""
        return np.unique(self.input_key[np.isin(self.input_stream, streams)])


def compiled_part(joins: Mapping[int, PatternJoin]) -> CompiledPart:
    """Compile joins, given by the keys of their streams."""
    named: dict[int, PatternJoin] = {}
    reads: list[tuple[int, int]] = []
    for key, join in sorted(joins.items()):
        keys = stream_keys(join)
        named[key] = with_streams_named(join, keys)
        reads += [(key, keys[id(block.input)]) for block in blocks_of(join)]
    columns = np.array(reads, np.int64).reshape(-1, 2)
    return CompiledPart(
        compile_patterns(PatternQuery(key, join) for key, join in named.items()),
        np.array(list(named), np.int64),
        np.array([_is_timed(join) for join in named.values()], np.bool_),
        np.ascontiguousarray(columns[:, 0]),
        np.ascontiguousarray(columns[:, 1]),
    )


def _is_timed(join: PatternJoin) -> bool:
    nodes: Iterable[Node] = postorder(join)
    return any(isinstance(one, PatternJoin) and isinstance(one.window, TimeSpan) for one in nodes)


def named_stream(key: int) -> str:
    """What a stream is called in compiled joins."""
    return stream_name(Feed(str(key)))


# In files


def save_part(directory: Path, name: str, part: CompiledPart) -> None:
    """Write `NAME.arrays` and `NAME.json`."""
    arrays: dict[str, Array] = {
        "keys": part.keys,
        "is_timed": part.is_timed,
        "input_key": part.input_key,
        "input_stream": part.input_stream,
    }
    for number, level in enumerate(part.patterns.levels):
        for place, relation in enumerate(level.relations):
            for field in _RELATION:
                arrays[f"{number}.{place}.{field}"] = getattr(relation, field)
        for field in _RESULT:
            arrays[f"{number}.{field}"] = getattr(level.results, field)
    save_arrays(directory / f"{name}.arrays", arrays)
    value = {
        "levels": [_described(level) for level in part.patterns.levels],
        "streams": part.patterns.streams,
        "patterns": [predicate_to_json(one) for one in part.patterns.patterns],
        "failures": [[key, str(error)] for key, error in sorted(part.patterns.failures.items())],
    }
    (directory / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")


def load_part(directory: Path, name: str, bounds: JoinBounds) -> CompiledPart:
    """What `save_part` was given; its arrays are mapped."""
    arrays = load_arrays(directory / f"{name}.arrays")
    value: Any = json.loads((directory / f"{name}.json").read_text(encoding="utf-8"))
    patterns = [_pattern(text) for text in value["patterns"]]
    levels = tuple(_level(number, one, arrays, patterns) for number, one in enumerate(value["levels"]))
    failures: dict[int, FeedweirError] = {key: FeedweirError(text) for key, text in value["failures"]}
    found = PatternSet(levels, tuple(patterns), tuple(value["streams"]), failures, bounds)
    return CompiledPart(
        found, arrays["keys"], arrays["is_timed"], arrays["input_key"], arrays["input_stream"]
    )


def _pattern(text: str) -> TreePattern:
    found = predicate_from_json(text)
    assert isinstance(found, TreePattern)
    return found


def _described(level: Level) -> dict[str, Any]:
    return {
        "variables": [
            [
                one.number,
                one.stream,
                predicate_to_json(one.pattern) if one.pattern is not None else None,
                one.places,
                one.is_presence,
            ]
            for one in level.variables
        ],
        "streams": level.streams,
        "templates": [[one.template.number, *_graph_rows(one.template.graph)] for one in level.relations],
        "horizon_us": level.horizon_us,
        "horizon_documents": dict(level.horizon_documents),
        "text_variables": sorted(level.text_variables),
        "names": level.results.names,
        "lists": level.results.lists,
        "selects": level.results.selects,
    }


def _graph_rows(graph: JoinGraph) -> tuple[Any, ...]:
    return graph.sides, graph.parents, graph.edges, graph.outputs


def _level(number: int, value: Any, arrays: Mapping[str, Array], patterns: Iterable[TreePattern]) -> Level:
    # Patterns are looked up by identity-free equality, so each is one object for all levels.
    known = {predicate_to_json(one): one for one in patterns}
    variables = tuple(
        Variable(number_, stream, known[text] if text is not None else None, tuple(places), is_presence)
        for number_, stream, text, places, is_presence in value["variables"]
    )
    relations = tuple(
        TemplateRelation(
            Template(
                template,
                JoinGraph(tuple(sides), tuple(parents), tuple((a, b) for a, b in edges), tuple(outputs)),
            ),
            *(arrays[f"{number}.{place}.{field}"] for field in _RELATION),
        )
        for place, (template, sides, parents, edges, outputs) in enumerate(value["templates"])
    )
    keys, stream, outputs, select, reads = (arrays[f"{number}.{field}"] for field in _RESULT)
    lists = tuple(tuple(one) for one in value["lists"])
    names, selects = tuple(value["names"]), tuple(value["selects"])
    results = Results(keys, stream, outputs, select, reads, names, lists, selects)
    return Level(
        variables,
        tuple(value["streams"]),
        relations,
        results,
        value["horizon_us"],
        value["horizon_documents"],
        frozenset(value["text_variables"]),
    )
