"""Small worlds for plans: names, items, and the meaning of a query read straight from its tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from feedweir.items.model import Item
from feedweir.language.name_checks import Kind
from feedweir.language.queries import Condition, Group, Join, Member, Named, OfPart, Query
from feedweir.plan.predicates import And, JoinPredicate, Not, OfItem, OfWindow, Or, Predicate, Relates
from feedweir.plan.window_lengths import LastItems, TimeSpan
from tests.language.generated import combined, item_atoms, join_node
from tests.naive import Element, annotated, holds, merged, partners, window_at

SOURCES = ("A", "B", "C")
START = datetime(2020, 11, 1, tzinfo=UTC)


class World:
    """A catalog of a few sources and definitions."""

    def __init__(self, queries: Mapping[str, Query] | None = None, sources: Iterable[str] = SOURCES) -> None:
        self.queries = dict(queries or {})
        self.sources = tuple(sources)

    def kind_of(self, name: str) -> Kind | None:
        if name in self.sources:
            return "source"
        return "virtual" if name in self.queries else None

    def all_names(self) -> tuple[str, ...]:
        return (*self.sources, *self.queries)

    def made_from(self, name: str) -> str:
        return ""

    def made_sources(self) -> list[str]:
        return []

    def query_of(self, name: str) -> Query | None:
        return self.queries.get(name)


def meaning(query: Query, items: Sequence[Item], world: World, feed: str = "") -> list[Element]:
    """What a query gives, clause by clause, without any plan: each member narrowed by what is said of it."""

    def of_member(member: Member, around: frozenset[str] = frozenset()) -> list[Element]:
        around |= {member.variable}
        match member:
            case Named("*"):
                found = [Element(item) for item in items]
            case Named(name) if name in world.sources:
                found = [Element(item) for item in items if item.source == name]
            case Named(name):
                found = meaning(world.queries[name], items, world, name)
            case Group(members):
                found = merged(element for part in members for element in of_member(part, around))
            case _:
                raise NotImplementedError
        if isinstance(member, Named):
            found = [e for e in found if all(says(c.predicate, e.item, around) is not False for c in several)]
        return narrowed(found, member.variable) if member.variable else found

    def narrowed(elements: list[Element], variable: str) -> list[Element]:
        for condition in query.where:
            if condition.variable == variable and not condition.parts:
                elements = [e for e in elements if holds(condition.predicate, e.item)]
        for number, join in enumerate(query.joins, 1):
            if join.primary == variable:
                elements = joined(elements, join, f"{feed}.{join.secondary.variable or f'join{number}'}")
        return elements

    def joined(elements: list[Element], join: Join, identifier: str) -> list[Element]:
        window = [element.item for element in of_member(join.secondary)]
        found = []
        for element in elements:
            seqs = partners(element.item, window_at(element.item, window, join.window), join.predicate)
            found += [annotated(element, identifier, seqs)] if seqs else []
        return found

    several = [condition for condition in query.where if condition.parts]
    return narrowed(of_member(query.source), "")


def says(predicate: Predicate, item: Item, parts: frozenset[str]) -> bool | None:
    """What a condition on several parts says of an item in some of them; None where it says nothing."""
    match predicate:
        case OfPart(variable, inner):
            return holds(inner, item) if variable in parts else None
        case And(inner) | Or(inner):
            said = [one for one in (says(part, item, parts) for part in inner) if one is not None]
            return (all if isinstance(predicate, And) else any)(said) if said else None
        case Not(part):
            said = says(part, item, parts)
            return None if said is None else not said
        case _:
            return holds(predicate, item)


def of_several(variables: Sequence[str]) -> st.SearchStrategy[Predicate]:
    """Conditions on any of these variables and on the whole, combined."""
    leaves = st.one_of(item_atoms, st.builds(OfPart, st.sampled_from(variables), item_atoms))
    combined = st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(And), st.tuples(inner, inner).map(Or), inner.map(Not)
        ),
        max_leaves=5,
    )
    return combined.filter(lambda predicate: bool(parts_in(predicate)))


def parts_in(predicate: Predicate) -> tuple[str, ...]:
    match predicate:
        case OfPart(variable):
            return (variable,)
        case And(parts) | Or(parts):
            return tuple(sorted({name for part in parts for name in parts_in(part)}))
        case Not(part):
            return parts_in(part)
        case _:
            return ()


WORDS = ["rock", "muse", "live", "photo", "concert", "uranium"]
sentences = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)


@st.composite
def histories(draw: st.DrawFn, most: int = 12) -> list[Item]:
    """Items in the order of the stream; now and then one is published long before it arrives."""
    found = []
    arrived = START
    for seq in range(1, 1 + draw(st.integers(0, most))):
        arrived += timedelta(hours=draw(st.integers(0, 40)))
        late = timedelta(hours=draw(st.sampled_from([0, 0, 1, 30, 400])))
        found.append(
            Item(
                source=draw(st.sampled_from(SOURCES)),
                identity=str(seq),
                seq=seq,
                title=draw(sentences),
                summary=draw(sentences),
                authors=tuple(draw(st.lists(st.sampled_from(["Ann", "bob"]), max_size=2))),
                categories=tuple(draw(st.lists(st.sampled_from(["rock", "Pop"]), max_size=2))),
                links=tuple(
                    draw(st.lists(st.sampled_from(["http://example.org/a", "http://x.y/z"]), max_size=2))
                ),
                published=draw(st.sampled_from([None, arrived - late])),
                arrived=arrived,
                language=draw(st.sampled_from(["", "en", "fr"])),
            )
        )
    return found


predicates = combined(item_atoms)
windows = st.one_of(
    st.integers(1, 60).map(lambda hours: TimeSpan(timedelta(hours=hours))), st.integers(1, 4).map(LastItems)
)
relations: st.SearchStrategy[JoinPredicate] = st.sampled_from(
    [
        Relates("title", "similar", "title", 0.3),
        Relates("author", "=", "author"),
        Relates(None, "shares-link", None),
        Relates("published", ">", "published"),
        Relates("category", "!=", "category"),
        Relates("title", "contains", "author"),
        Relates("title", "contained in", "summary"),
        Relates(None, "extends", "links"),
    ]
)
_sided = st.one_of(item_atoms.map(OfItem), item_atoms.map(OfWindow))
relations = st.one_of(
    relations,
    st.recursive(st.one_of(relations, relations, _sided), join_node, max_leaves=4),
)


@st.composite
def queries(draw: st.DrawFn, known: Sequence[str] = SOURCES, most_joins: int = 2) -> Query:
    """A query over known names, each of its variables used once."""
    free = [f"v{number}" for number in range(20)]

    def label() -> str:
        return free.pop() if draw(st.booleans()) else ""

    def member(depth: int) -> Member:
        if depth and draw(st.booleans()):
            return Group(tuple(member(depth - 1) for _ in range(draw(st.integers(2, 3)))), label())
        return Named(draw(st.sampled_from([*known, "*"])), label())

    source = member(2)
    primary = [f"v{number}" for number in range(20) if f"v{number}" not in free]
    joins = [
        Join(draw(windows), member(1), draw(st.sampled_from([*primary, ""])), draw(relations))
        for _ in range(draw(st.integers(0, most_joins)))
    ]
    used = [f"v{number}" for number in range(20) if f"v{number}" not in free]
    conditions = [Condition(variable, draw(predicates)) for variable in used if draw(st.booleans())]
    if primary and draw(st.booleans()):
        several = draw(of_several(primary))
        conditions.append(Condition("", several, parts_in(several)))
    if draw(st.booleans()):
        conditions.append(Condition("", draw(predicates)))
    return Query(source, tuple(joins), tuple(conditions))
