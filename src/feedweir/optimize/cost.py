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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

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
from feedweir.plan.walk import inputs_of, postorder

CONSTANT = 1.0
RELATES_SHARE = 0.01
"""The chance that two items relate, as long as nothing was counted."""
PRIOR_TRIED = 20.0
"""How many imagined items stand behind the share that is assumed of a join before any item was joined."""
PATTERN_SHARE = 0.1
"""What share of documents have a tree pattern, as long as nothing was counted."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What comes out of a plan, and what that costs."""

    rate: float
    """Items a second."""
    memory: float
    work: float
    """A second, of the operator and all below it."""
    statistics: SourceStatistics
    """Of the items that come out, as far as it is known."""
    size: float = 0.0
    """Items in the window, for a window."""


@dataclass(frozen=True, slots=True)
class JoinCounts:
    """What was counted of a join; older items weigh less."""

    tried: float
    """Items that were looked for partners of."""
    kept: float
    """Those that had one."""
    pairs: float

    def share(self, assumed: float) -> float:
        """The share of items that have a partner; with few tried, pulled towards what is assumed."""
        return (self.kept + PRIOR_TRIED * assumed) / (self.tried + PRIOR_TRIED)


Counted = Callable[[AnnotationJoin], JoinCounts | None]
"""What was counted of a join of the plan; None when nothing was."""


def flows_of(root: Node, sources: Mapping[str, SourceStatistics], counted: Counted) -> dict[int, Flow]:
    """What comes out of every node of a plan, by `id`, and what it costs by what is known of sources and joins.

    Unknown sources publish nothing.
    """
    flows: dict[int, Flow] = {}
    for node in postorder(root):
        inputs = [flows[id(input)] for input in inputs_of(node)]
        flows[id(node)] = _flow(node, inputs, sources, counted)
    return flows


def _flow(node: Node, inputs: list[Flow], sources: Mapping[str, SourceStatistics], counted: Counted) -> Flow:
    match node:
        case Source(name):
            known = sources.get(name, SourceStatistics())
            return Flow(known.rate, 0.0, 0.0, known)
        case Filter(_, predicate):
            return filtered(inputs[0], predicate)
        case Union():
            return united(inputs)
        case Window(_, spec):
            return windowed(inputs[0], spec)
        case AnnotationJoin(_, _, _, predicate):
            primary, window = inputs
            assumed = chance_of_any(join_share(predicate), window.size)
            counts = counted(node)
            return joined(primary, window, assumed if counts is None else counts.share(assumed))
        case Distinct(_, _, spec, predicate):
            window = windowed(inputs[0], spec)
            again = joined(inputs[0], window, chance_of_any(join_share(predicate), window.size))
            return replace(again, rate=inputs[0].rate - again.rate)
        case Block():
            rate = PATTERN_SHARE * inputs[0].rate
            return replace(
                inputs[0], rate=rate, memory=inputs[0].memory + CONSTANT, work=inputs[0].work + inputs[0].rate
            )
        case PatternJoin(_, _, _, equalities, spec):
            left, right = inputs
            window = windowed(left, spec)
            return joined(right, window, chance_of_any(RELATES_SHARE ** len(equalities), window.size))
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
    """`share` is that of items which have a partner in the window."""
    return Flow(
        rate=primary.rate * share,
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
