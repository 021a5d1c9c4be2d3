"""Join predicates on a pair of items: an item of the primary stream and one of the window."""

from __future__ import annotations

from feedweir.items.attributes import values_of
from feedweir.items.links import canonical_url
from feedweir.match.meaning import Reading, compares, similarity
from feedweir.plan.predicates import JoinAnd, JoinNot, JoinOr, JoinPredicate, Relates


def relates(predicate: JoinPredicate, primary: Reading, other: Reading) -> bool:
    """Whether a join predicate holds of an item and an item of the window."""
    match predicate:
        case JoinAnd(parts):
            return all(relates(part, primary, other) for part in parts)
        case JoinOr(parts):
            return any(relates(part, primary, other) for part in parts)
        case JoinNot(part):
            return not relates(part, primary, other)
        case Relates(op="similar"):
            return _similarity(predicate, primary, other) >= predicate.threshold
        case Relates(op="shares-link"):
            theirs = canonical_links(other, predicate.window_attribute)
            return not theirs.isdisjoint(canonical_links(primary, predicate.attribute))
        case Relates(op="!="):
            return not _compare(predicate, "=", primary, other)
        case Relates(op=op):
            return _compare(predicate, op, primary, other)


def finders(predicate: JoinPredicate) -> tuple[Relates, ...] | None:
    """Atoms of which every pair that satisfies the predicate satisfies one; None when only looking at all will do."""
    match predicate:
        case Relates(op="similar", threshold=threshold):
            return (predicate,) if threshold > 0 else None
        case Relates(op=op):
            return (predicate,) if op in ("=", "shares-link") else None
        case JoinAnd(parts):
            usable = [found for part in parts if (found := finders(part)) is not None]
            return min(usable, key=_cost, default=None)
        case JoinOr(parts):
            each = [finders(part) for part in parts]
            return None if None in each else tuple(atom for found in each for atom in found or ())
        case JoinNot():
            return None


def _cost(atoms: tuple[Relates, ...]) -> tuple[bool, int]:
    """Equal values and links are rarer than words."""
    return any(atom.op == "similar" for atom in atoms), len(atoms)


def _similarity(atom: Relates, primary: Reading, other: Reading) -> float:
    return similarity(primary.bag(atom.attribute), other.bag(atom.window_attribute))


def canonical_links(reading: Reading, attribute: str | None) -> set[str]:
    """The links of an attribute, or of the whole item, as they are compared."""
    return set(map(canonical_url, reading.links(attribute)))


def _compare(atom: Relates, op: str, primary: Reading, other: Reading) -> bool:
    wanted = values_of(other.item, atom.window_attribute or "")
    return any(
        compares(found, op, value, None)
        for found in values_of(primary.item, atom.attribute or "")
        for value in wanted
    )
