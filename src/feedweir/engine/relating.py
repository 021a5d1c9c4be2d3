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
            theirs = _links(other, predicate.window_attribute)
            return not theirs.isdisjoint(_links(primary, predicate.attribute))
        case Relates(op="!="):
            return not _compare(predicate, "=", primary, other)
        case Relates(op=op):
            return _compare(predicate, op, primary, other)


def _similarity(atom: Relates, primary: Reading, other: Reading) -> float:
    return similarity(primary.bag(atom.attribute), other.bag(atom.window_attribute))


def _links(reading: Reading, attribute: str | None) -> set[str]:
    return set(map(canonical_url, reading.links(attribute)))


def _compare(atom: Relates, op: str, primary: Reading, other: Reading) -> bool:
    wanted = values_of(other.item, atom.window_attribute or "")
    return any(
        compares(found, op, value, None)
        for found in values_of(primary.item, atom.attribute or "")
        for value in wanted
    )
