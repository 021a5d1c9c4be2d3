"""Plans on disk: what is in force by name, for those who count for it and those who ask to see it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from feedweir.errors import CompiledSetError
from feedweir.optimize.filter_plans.drift import Drift, Standing
from feedweir.optimize.filter_plans.source_plans import PlannedSource, Way
from feedweir.optimize.filter_plans.work_model import Work, seconds_of
from feedweir.plan.predicate_wire import predicate_from_json, predicate_to_json
from feedweir.plan.predicates import TRUE, Predicate
from feedweir.storage import replacing

_CURRENT = "CURRENT"
_STANDINGS = "standings"


@dataclass(frozen=True)
class StoredSource:
    """The plan of one source as it was put in force; node 0 is the source itself.

    Conditions are kept as their texts, which is all that counting needs; predicates are read by whoever asks for them.
    """

    source: str
    way: Way
    works: dict[str, Work]
    """What each way was expected to do for an item."""
    items: float
    """Sampled items behind the statistics that it was made from."""
    rate: float
    """Items a second."""
    parents: tuple[int, ...]
    ask_texts: tuple[str, ...]
    """What is asked at each node of those that hold at its parent."""
    condition_texts: tuple[str, ...]
    """What holds at each node."""
    shares: tuple[float, ...]
    """The share of the source's items that was expected to hold at each node."""
    names: tuple[tuple[tuple[int, int], ...], ...]
    """The queries that are answered at each node: key, and number among those of the key."""
    watched_texts: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]

    @cached_property
    def asks(self) -> tuple[Predicate, ...]:
        return _of_nodes(self.ask_texts)

    @cached_property
    def conditions(self) -> tuple[Predicate, ...]:
        return _of_nodes(self.condition_texts)

    @cached_property
    def watched(self) -> tuple[Predicate, ...]:
        return tuple(map(predicate_from_json, self.watched_texts))

    @property
    def feeds(self) -> tuple[tuple[int, ...], ...]:
        """The keys that are answered at each node."""
        return tuple(tuple(key for key, _ in names) for names in self.names)

    @property
    def seconds(self) -> dict[str, float]:
        """What each way was expected to take for an item."""
        return {way: seconds_of(work) for way, work in self.works.items()}


StoredPlan = dict[str, StoredSource]
"""By source."""


def save_plan(
    directory: Path, planned: Iterable[PlannedSource], left: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Keep plans, and why other sources are left to the index, under a name that depends on nothing but them."""
    rows = [_to_json(one) for one in planned]
    rows += [{"source": source, "left": reason} for source, reason in sorted(left.items())]
    data = json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()
    name = hashlib.blake2b(data, digest_size=8).hexdigest()
    with replacing(directory / f"{name}.json") as file:
        file.write(data)
    return name


def put_plan_in_force(directory: Path, name: str) -> None:
    """Say which plan the compiled set in force was made with."""
    with replacing(directory / _CURRENT) as file:
        file.write(name.encode())


def plan_in_force(directory: Path) -> str:
    """The name of the plan in force; empty before the first."""
    try:
        return (directory / _CURRENT).read_text()
    except FileNotFoundError:
        return ""


def load_plan(directory: Path, name: str) -> StoredPlan:
    """The plans of a name; none when it was pruned."""
    path = directory / f"{name}.json"
    return _loaded(str(path)) if name and path.exists() else {}


def left_to_index(directory: Path, name: str) -> dict[str, str]:
    """Sources that the plans of a name leave to the index, and why."""
    path = directory / f"{name}.json"
    rows = json.loads(path.read_bytes()) if name and path.exists() else []
    return {row["source"]: row["left"] for row in rows if "left" in row}


def save_standings(directory: Path, standings: Iterable[Standing]) -> None:
    """Note how the plans in force stand, for whoever asks to see them."""
    rows = [
        {
            "source": one.source,
            "made_at": one.made_at.isoformat(),
            "made_because": one.made_because,
            "threshold": one.threshold,
            "cost": one.drift and one.drift.cost,
            "fresh_cost": one.drift and one.drift.fresh_cost,
            "judged_at": one.judged_at and one.judged_at.isoformat(),
            "waits_because": one.waits_because,
        }
        for one in standings
    ]
    with replacing(directory / _STANDINGS) as file:
        file.write(json.dumps(rows, ensure_ascii=False).encode())


def load_standings(directory: Path) -> dict[str, Standing]:
    """What was noted last, by source; nothing when that cannot be read, which is made up for soon."""
    try:
        rows = json.loads((directory / _STANDINGS).read_bytes())
        return {row["source"]: _standing(row) for row in rows}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _standing(row: dict[str, Any]) -> Standing:
    judged_at = row["judged_at"]
    return Standing(
        source=row["source"],
        made_at=datetime.fromisoformat(row["made_at"]),
        made_because=row["made_because"],
        threshold=row["threshold"],
        drift=None if row["cost"] is None else Drift(row["cost"], row["fresh_cost"]),
        judged_at=judged_at and datetime.fromisoformat(judged_at),
        waits_because=row["waits_because"],
    )


def prune_plans(directory: Path, wanted: Iterable[str]) -> None:
    """Remove all plans but the wanted ones and the one in force."""
    kept = {*wanted, plan_in_force(directory)}
    for path in directory.glob("*.json"):
        if path.stem not in kept:
            path.unlink(missing_ok=True)


@lru_cache(maxsize=4)
def _loaded(path: str) -> StoredPlan:
    """Names are hashes of what they name, so that what was read once stays true."""
    try:
        rows = json.loads(Path(path).read_bytes())
        return {row["source"]: _from_json(row) for row in rows if "left" not in row}
    except (ValueError, KeyError, TypeError) as error:
        raise CompiledSetError(f"plan {Path(path).stem} cannot be read: {error}") from error


def _to_json(planned: PlannedSource) -> dict[str, Any]:
    tree = planned.filters.tree
    nodes = range(1, tree.count)
    names: list[list[tuple[int, int]]] = [[] for _ in range(tree.count)]
    for name, node in zip(planned.names, tree.node_of.tolist(), strict=True):
        names[node].append(name)
    place = {atom: number for number, atom in enumerate(planned.watched)}
    return {
        "source": planned.source,
        "way": planned.way,
        "works": {way: asdict(work) for way, work in planned.works.items()},
        "items": planned.known.items,
        "rate": planned.known.rate,
        "parents": tree.parent.tolist(),
        "asks": [predicate_to_json(planned.filters.residual_of(node)) for node in nodes],
        "conditions": [predicate_to_json(planned.filters.predicate_of(node)) for node in nodes],
        "shares": tree.selectivity.tolist(),
        "names": names,
        "watched": [predicate_to_json(atom) for atom in planned.watched],
        "pairs": [[place[one], place[other]] for one, other in planned.pairs],
    }


def _of_nodes(texts: tuple[str, ...]) -> tuple[Predicate, ...]:
    return (TRUE, *map(predicate_from_json, texts[1:]))


def _from_json(row: dict[str, Any]) -> StoredSource:
    return StoredSource(
        source=row["source"],
        way=row["way"],
        works={way: Work(**work) for way, work in row["works"].items()},
        items=row["items"],
        rate=row["rate"],
        parents=tuple(row["parents"]),
        ask_texts=("", *row["asks"]),
        condition_texts=("", *row["conditions"]),
        shares=tuple(row["shares"]),
        names=tuple(tuple((key, number) for key, number in names) for names in row["names"]),
        watched_texts=tuple(row["watched"]),
        pairs=tuple((one, other) for one, other in row["pairs"]),
    )
