"""Queries to plans: conditions and joins are put at the node of the union that their variable names."""

from __future__ import annotations

from dataclasses import dataclass

from feedweir.language.check import Names
from feedweir.language.predicates import And, JoinAnd, JoinOr, Predicate, Relates, TreePattern
from feedweir.language.statements import (
    EVERY_SOURCE,
    BlockJoin,
    Group,
    Join,
    Member,
    Named,
    PathBlock,
    Query,
    Xscl,
)
from feedweir.plan.nodes import (
    AnnotationJoin,
    Block,
    Distinct,
    Feed,
    Filter,
    Node,
    PatternJoin,
    Source,
    Union,
    Window,
)

SAME_STORY = JoinOr(
    (
        Relates("link", "shares-link", "link"),
        JoinAnd((Relates("source", "!=", "source"), Relates(None, "similar", None, 0.7))),
    )
)
"""What makes two items one story: the same canonical link, or, from different sources, nearly the same words."""


def build(query: Query, names: Names, *, feed: str = "") -> Node:
    """The plan of a query as it was written: filters above the members they speak of, joins above those.

    `feed` is the feed that is being defined: its joins are called after it.
    """
    if not query.joins and type(query.source) is Named:
        return _simple(query, names)
    clauses = _Clauses(query, names, feed)
    node = clauses.member(query.source)
    return clauses.dressed(node, "")


def _simple(query: Query, names: Names) -> Node:
    """One feed and its conditions: by far the most queries."""
    node = _leaf(query.source.name, names)  # type: ignore[union-attr]
    predicates = tuple(condition.predicate for condition in query.where)
    if not predicates:
        return node
    return Filter(node, predicates[0] if len(predicates) == 1 else conjunction(predicates))


def _leaf(name: str, names: Names) -> Source | Feed:
    return Source(name) if name == EVERY_SOURCE or names.kind_of(name) == "source" else Feed(name)


def conjunction(predicates: tuple[Predicate, ...]) -> Predicate:
    """All of these; conjunctions among them are laid open."""
    parts: list[Predicate] = []
    for predicate in predicates:
        parts += predicate.parts if isinstance(predicate, And) else (predicate,)
    kept = tuple(dict.fromkeys(parts))
    return kept[0] if len(kept) == 1 else And(kept)


@dataclass(frozen=True, slots=True)
class _Clauses:
    """The clauses of a query, and the names of the feed and of what it reads."""

    query: Query
    names: Names
    feed: str

    def member(self, member: Member) -> Node:
        """A member of a union with what the clauses say of its variable."""
        if type(member) is Named:
            node: Node = _leaf(member.name, self.names)
        elif isinstance(member, Group):
            node = self.group(member)
        else:
            assert isinstance(member, Xscl)
            node = self.pattern(member.body, member.select)
        return self.dressed(node, member.variable) if member.variable else node

    def group(self, group: Group) -> Node:
        parts = tuple([self.member(part) for part in group.members])
        if group.distinct is None:
            return Union(parts)
        identifier = (
            f"{self.feed}.{group.variable or 'distinct'}" if self.feed else group.variable or "distinct"
        )
        return Distinct(identifier, parts[0] if len(parts) == 1 else Union(parts), group.distinct, SAME_STORY)

    def dressed(self, node: Node, variable: str) -> Node:
        """The node under the conditions and joins of a variable; empty stands for the whole `from`."""
        predicates = tuple([c.predicate for c in self.query.where if c.variable == variable])
        if predicates:
            node = Filter(node, predicates[0] if len(predicates) == 1 else conjunction(predicates))
        for number, join in enumerate(self.query.joins, 1):
            if join.primary == variable:
                node = self.joined(node, join, number)
        return node

    def joined(self, primary: Node, join: Join, number: int) -> AnnotationJoin:
        label = join.secondary.variable or f"join{number}"
        identifier = f"{self.feed}.{label}" if self.feed else label
        window = Window(self.member(join.secondary), join.window)
        return AnnotationJoin(identifier, primary, window, join.predicate)

    def pattern(self, body: PathBlock | BlockJoin, select: str) -> Block | PatternJoin:
        if isinstance(body, PathBlock):
            return Block(_leaf(body.feed, self.names), TreePattern(body.pattern), select)
        left, right = self.pattern(body.left, ""), self.pattern(body.right, "")
        assert isinstance(right, Block)
        return PatternJoin(body.kind, left, right, body.equalities, body.window, select)
