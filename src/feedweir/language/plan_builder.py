"""Queries to plans: conditions and joins are put at the node of the union that their variable names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from feedweir.language.name_checks import Names
from feedweir.language.part_conditions import concerning, of_pairs
from feedweir.language.queries import BlockJoin, Condition, Group, Join, Member, Named, PathBlock, Query, Xscl
from feedweir.plan.nodes import (
    EVERY_SOURCE,
    AnnotationJoin,
    Block,
    Distinct,
    Feed,
    Filter,
    Node,
    PatternJoin,
    Source,
    TimeSpan,
    Union,
    Window,
)
from feedweir.plan.predicates import (
    And,
    JoinAnd,
    JoinNot,
    JoinOr,
    JoinPredicate,
    Not,
    OfItem,
    OfWindow,
    Or,
    Predicate,
    Relates,
    TreePattern,
    conjunction,
)


def same_story(alike: float) -> JoinPredicate:
    """What makes two items one story: the same canonical link, or, from different sources, tellings so much alike."""
    tells = JoinAnd((Relates("source", "!=", "source"), Relates(None, "tells", None, alike)))
    return JoinOr((Relates("link", "shares-link", "link"), tells))


def build(query: Query, names: Names, *, feed: str = "") -> Node:
    """The plan of a query as it was written: filters above the members they speak of, joins above those.

    `feed` is the feed that is being defined: its joins are called after it.
    """
    if not query.joins and type(query.source) is Named and not any(one.parts for one in query.where):
        return _simple(query, names)
    clauses = _Clauses(query, names, feed)
    return clauses.whole()


def _simple(query: Query, names: Names) -> Node:
    """One feed and its conditions: by far the most queries."""
    node = _leaf(query.source.name, names)  # type: ignore[union-attr]
    predicates = tuple(condition.predicate for condition in query.where)
    if not predicates:
        return node
    return Filter(node, predicates[0] if len(predicates) == 1 else conjunction(predicates))


def _leaf(name: str, names: Names) -> Source | Feed:
    return Source(name) if name == EVERY_SOURCE or names.kind_of(name) == "source" else Feed(name)


def sides_apart(join: Join) -> tuple[tuple[Predicate, ...], tuple[Predicate, ...], JoinPredicate]:
    """(what must hold of the item, of the window's item, and between the two), so that each side is filtered before.

    A window of so many items has been counted before a condition on its items is asked: there it stays in the join.
    """
    parts = join.predicate.parts if isinstance(join.predicate, JoinAnd) else (join.predicate,)
    apart: tuple[list[Predicate], list[Predicate], list[JoinPredicate]] = ([], [], [])
    for part in parts:
        side, predicate = _one_side(part)
        if side is OfItem and predicate is not None:
            apart[0].append(predicate)
        elif side is OfWindow and predicate is not None and isinstance(join.window, TimeSpan):
            apart[1].append(predicate)
        else:
            apart[2].append(part)
    of_item, of_window, between = apart
    left = between[0] if len(between) == 1 else JoinAnd(tuple(between))
    return tuple(of_item), tuple(of_window), left if of_item or of_window else join.predicate


_Side: TypeAlias = type[OfItem] | type[OfWindow]


def _one_side(predicate: JoinPredicate) -> tuple[_Side | None, Predicate | None]:
    """The one side that a join predicate speaks of, and what it says of that; nothing when it speaks of both."""
    match predicate:
        case OfItem(condition) | OfWindow(condition):
            return type(predicate), condition
        case JoinNot(part):
            side, inner = _one_side(part)
            return side, None if inner is None else Not(inner)
        case JoinAnd(parts) | JoinOr(parts) if parts:
            sides, conditions = zip(*map(_one_side, parts), strict=True)
            if len(set(sides)) > 1 or None in conditions:
                return None, None
            return sides[0], And(conditions) if isinstance(predicate, JoinAnd) else Or(conditions)
        case _:
            return None, None


def _variables_below(member: Member) -> frozenset[str]:
    """The variables of what a member consists of."""
    if not isinstance(member, Group):
        return frozenset()
    own = {part.variable for part in member.members if part.variable}
    return frozenset(own).union(*map(_variables_below, member.members))


@dataclass(frozen=True, slots=True)
class _Clauses:
    """The clauses of a query, and the names of the feed and of what it reads."""

    query: Query
    names: Names
    feed: str

    def whole(self) -> Node:
        """All that the query reads, with what the clauses say of it."""
        windows = {join.secondary.variable for join in self.query.joins} - {""}
        several = tuple([one for one in self.query.where if one.parts and not windows & set(one.parts)])
        return self.dressed(self.member(self.query.source, several), "")

    def member(
        self, member: Member, several: tuple[Condition, ...] = (), around: frozenset[str] = frozenset()
    ) -> Node:
        """A member of a union with what the clauses say of its variable.

        `several` speak of it and of more than its variable; what is inside of it is asked there.
        """
        around |= {member.variable}
        inside = _variables_below(member) if several else frozenset()
        if type(member) is Named:
            node: Node = _leaf(member.name, self.names)
        elif isinstance(member, Group):
            node = self.group(member, tuple([one for one in several if inside & set(one.parts)]), around)
        else:
            assert isinstance(member, Xscl)
            node = self.pattern(member.body, member.select)
        asked = [concerning(one.predicate, around) for one in several if not inside & set(one.parts)]
        for predicate in asked:
            node = node if predicate is None else Filter(node, predicate)
        return self.dressed(node, member.variable) if member.variable else node

    def group(
        self, group: Group, several: tuple[Condition, ...] = (), around: frozenset[str] = frozenset()
    ) -> Node:
        parts = tuple([self.member(part, several, around) for part in group.members])
        if group.distinct is None:
            return Union(parts)
        identifier = (
            f"{self.feed}.{group.variable or 'distinct'}" if self.feed else group.variable or "distinct"
        )
        input = parts[0] if len(parts) == 1 else Union(parts)
        return Distinct(identifier, input, group.distinct, same_story(group.alike))

    def dressed(self, node: Node, variable: str) -> Node:
        """The node under the conditions and joins of a variable; empty stands for the whole `from`."""
        on_it = (c.predicate for c in self.query.where if c.variable == variable and not c.parts)
        predicates = tuple(on_it)
        if predicates:
            node = Filter(node, predicates[0] if len(predicates) == 1 else conjunction(predicates))
        for number, join in enumerate(self.query.joins, 1):
            if join.primary == variable:
                node = self.joined(node, join, number)
        return node

    def joined(self, primary: Node, join: Join, number: int) -> AnnotationJoin:
        label = join.secondary.variable or f"join{number}"
        identifier = f"{self.feed}.{label}" if self.feed else label
        of_item, of_window, between = sides_apart(self._with_pairs(join))
        secondary = self.member(join.secondary)
        if of_window:
            secondary = Filter(secondary, conjunction(of_window))
        if of_item:
            primary = Filter(primary, conjunction(of_item))
        return AnnotationJoin(identifier, primary, Window(secondary, join.window), between)

    def _with_pairs(self, join: Join) -> Join:
        """The join with the conditions that speak of its items and their partners."""
        window = join.secondary.variable
        found = [of_pairs(c.predicate, window) for c in self.query.where if window and window in c.parts]
        own = join.predicate.parts if isinstance(join.predicate, JoinAnd) else (join.predicate,)
        return replace(join, predicate=JoinAnd((*own, *found))) if found else join

    def pattern(self, body: PathBlock | BlockJoin, select: str) -> Block | PatternJoin:
        if isinstance(body, PathBlock):
            return Block(_leaf(body.feed, self.names), TreePattern(body.pattern), select)
        left, right = self.pattern(body.left, ""), self.pattern(body.right, "")
        assert isinstance(right, Block)
        return PatternJoin(body.kind, left, right, body.equalities, body.window, select)
