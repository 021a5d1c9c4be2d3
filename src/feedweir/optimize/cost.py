"""The cost model: what each operator gives out, holds and works, for streams instead of tables.

| operator | output rate | memory | work a second |
|---|---|---|---|
| filter | sel(p)·R | 1 | R |
| union | Σ R | 0 | 0 |
| join | sel(p)·R | 1 | R·S(w) |
| window | 0 | S = n, or d·R | 1 |

Rates are items a second, memory is items, and work is in evaluations of a constant cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from feedweir.errors import FeedweirError
from feedweir.optimize.selectivity import predicate_share
from feedweir.optimize.statistics import SourceStatistics
from feedweir.plan.nodes import (
    AnnotationJoin,
    Block,
    Distinct,
    Feed,
    Filter,
    LastItems,
    Node,
    PatternJoin,
    Source,
    TimeSpan,
    Union,
    Window,
    WindowSpec,
)
from feedweir.plan.predicates import JoinAnd, JoinNot, JoinOr, JoinPredicate, Predicate

CONSTANT = 1.0
RELATES_SHARE = 0.01
"""The chance that two items relate, until it is measured."""
PATTERN_SHARE = 0.1
"""The chance that an item has a tree pattern, until it is measured."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What an operator does: `rate` out, `memory` held, `work` a second; the last two of its inputs included.

    `statistics` describe the items that flow, as far as they come from one source or a mixture of several.
    """

    rate: float
    memory: float
    work: float
    statistics: SourceStatistics
    size: float = 0.0
    """Of a window: the items in it."""


def flow_of(node: Node, sources: Mapping[str, SourceStatistics]) -> Flow:
    """What a plan costs by the statistics of its sources; unknown sources publish nothing."""
    match node:
        case Source(name):
            known = sources.get(name, SourceStatistics())
            return Flow(known.rate, 0.0, 0.0, known)
        case Filter(input, predicate):
            return filtered(flow_of(input, sources), predicate)
        case Union(inputs):
            return united([flow_of(input, sources) for input in inputs])
        case Window(input, spec):
            return windowed(flow_of(input, sources), spec)
        case AnnotationJoin(_, primary, window, predicate):
            return joined(flow_of(primary, sources), flow_of(window, sources), join_share(predicate))
        case Distinct(_, input, spec, predicate):
            inner = flow_of(input, sources)
            kept = joined(inner, windowed(inner, spec), join_share(predicate))
            return Flow(inner.rate, kept.memory, kept.work, inner.statistics)
        case Block(input):
            inner = flow_of(input, sources)
            return Flow(
                PATTERN_SHARE * inner.rate, inner.memory + CONSTANT, inner.work + inner.rate, inner.statistics
            )
        case PatternJoin(_, left, right, equalities, window):
            kept = windowed(flow_of(left, sources), window)
            return joined(flow_of(right, sources), kept, RELATES_SHARE ** len(equalities))
        case Feed(name):
            raise FeedweirError(f"virtual feed `{name}` has no cost of its own", hint="expand it first")


def filtered(flow: Flow, predicate: Predicate) -> Flow:
    share = predicate_share(predicate, flow.statistics)
    return Flow(share * flow.rate, flow.memory + CONSTANT, flow.work + CONSTANT * flow.rate, flow.statistics)


def united(flows: list[Flow]) -> Flow:
    return Flow(
        rate=sum(flow.rate for flow in flows),
        memory=sum(flow.memory for flow in flows),
        work=sum(flow.work for flow in flows),
        statistics=mixture([flow.statistics for flow in flows]),
    )


def windowed(flow: Flow, spec: WindowSpec) -> Flow:
    match spec:
        case LastItems(count):
            size = float(count)
        case TimeSpan(length):
            size = length.total_seconds() * flow.rate
    return Flow(0.0, flow.memory + size, flow.work + CONSTANT, flow.statistics, size)


def joined(primary: Flow, window: Flow, share: float) -> Flow:
    """`share` is the chance that two items relate; an item passes when one of the window's does."""
    return Flow(
        rate=primary.rate * chance_of_any(share, window.size),
        memory=primary.memory + window.memory + CONSTANT,
        work=primary.work + window.work + primary.rate * window.size,
        statistics=primary.statistics,
    )


def chance_of_any(share: float, size: float) -> float:
    """The chance that at least one of so many independent partners relates."""
    return float(1.0 - (1.0 - share) ** size)


def join_share(predicate: JoinPredicate) -> float:
    """The chance that two items satisfy a join predicate, its atoms independent."""
    match predicate:
        case JoinAnd(parts):
            share = 1.0
            for part in parts:
                share *= join_share(part)
            return share
        case JoinOr(parts):
            missed = 1.0
            for part in parts:
                missed *= 1.0 - join_share(part)
            return 1.0 - missed
        case JoinNot(part):
            return 1.0 - join_share(part)
        case _:
            return RELATES_SHARE


def mixture(statistics: list[SourceStatistics]) -> SourceStatistics:
    """Several sources as one: rates add up, and so do the counts of what every one of them watches."""
    if len(statistics) == 1:
        return statistics[0]
    seconds = max((one.seconds for one in statistics), default=0.0)
    if not seconds:
        return SourceStatistics()
    scales = [seconds / one.seconds if one.seconds else 0.0 for one in statistics]
    seen = [(one, scale) for one, scale in zip(statistics, scales, strict=True) if scale]
    items = sum(one.items * scale for one, scale in seen)
    atoms = {
        atom: sum(one.atoms[atom] * scale for one, scale in seen)
        for atom in seen[0][0].atoms
        if all(atom in one.atoms for one, _ in seen)
    }
    pairs = {
        pair: sum(one.pairs[pair] * scale for one, scale in seen)
        for pair in seen[0][0].pairs
        if all(pair in one.pairs for one, _ in seen)
    }
    return SourceStatistics(items, seconds, atoms, pairs)
