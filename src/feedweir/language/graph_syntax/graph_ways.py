"""Groups of SPARQL in their normal form: the ways to satisfy one, each a basic pattern with what must be absent.

UNION is one way or another. EXISTS is a join with variables of its own. OPTIONAL matters only to who names its
variables: it is there, or it is absent and they are not bound. MINUS is absent for the variables that both sides bind.
VALUES says which term a variable is. A filter on what is not bound fails, negated or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from feedweir.language.graph_syntax.graph_groups import (
    Alternatives,
    Bound,
    Either,
    Exists,
    Expression,
    Group,
    Opposite,
    Perhaps,
    Rows,
    Tested,
    Together,
    Without,
    names_in_group,
    names_of_triple,
)
from feedweir.plan.graph_variables import names_in, renamed, variables_of
from feedweir.plan.predicates import (
    AllConstraints,
    AnyConstraint,
    Comparison,
    Constraint,
    GraphConstraint,
    GraphPattern,
    Triple,
)

MOST_WAYS = 64
"""`{ a UNION b } { c UNION d }` is four ways."""
_NOTHING: frozenset[str] = frozenset()


class TooManyWaysError(Exception):
    """A pattern can be satisfied in more ways than are tried."""


class UnknownVariableError(Exception):
    """A variable is bound by no triple, where one must bind it; with the token it stands at."""

    def __init__(self, name: str, at: int) -> None:
        super().__init__(name, at)
        self.name, self.at = name, at


@dataclass(frozen=True, slots=True)
class _Absent:
    """A pattern that must be absent, and which of its variables stand for those around it."""

    pattern: GraphPattern
    outer: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Way:
    triples: tuple[Triple, ...] = ()
    constraints: tuple[GraphConstraint, ...] = ()
    absent: tuple[_Absent, ...] = ()
    bound: frozenset[str] = _NOTHING

    def with_triple(self, triple: Triple) -> _Way:
        return replace(self, triples=(*self.triples, triple), bound=self.bound | names_of_triple(triple))

    def joined(self, other: _Way) -> _Way:
        return _Way(
            self.triples + other.triples,
            self.constraints + other.constraints,
            self.absent + other.absent,
            self.bound | other.bound,
        )


def ways_of(group: Group, wanted: Iterable[str] = ()) -> tuple[GraphPattern, ...]:
    """The ways to satisfy a group, each once; `wanted` are variables whose bindings are asked for."""
    return Ways(group, wanted).patterns()


class Ways:
    """The ways to satisfy one group; keeps account of the names that are in use."""

    def __init__(self, group: Group, wanted: Iterable[str] = ()) -> None:
        self._group = group
        self._uses = names_in_group(group) + Counter(wanted)
        self._names = {*self._uses}

    def patterns(self) -> tuple[GraphPattern, ...]:
        ways = self._of_group(self._group, _NOTHING, is_inside=False)
        return tuple(dict.fromkeys(self._pattern(way, _NOTHING) for way in ways))

    def _of_group(self, group: Group, given: frozenset[str], *, is_inside: bool) -> list[_Way]:
        """The ways of a group; its filters know the variables that are given. Groups inside of one that is asked for
        by EXISTS know them, too."""
        ways = self._joined(group, given if is_inside else _NOTHING)
        return self._filtered(group, ways, given)

    def _joined(self, group: Group, given: frozenset[str]) -> list[_Way]:
        """A group without its filters."""
        ways = [_Way()]
        for element in group.elements:
            match element:
                case Triple():
                    ways = [way.with_triple(element) for way in ways]
                case Alternatives(groups):
                    others = [
                        way for one in groups for way in self._of_group(one, given, is_inside=bool(given))
                    ]
                    ways = _limited(way.joined(other) for way in ways for other in others)
                case Perhaps(inner):
                    ways = _limited(more for way in ways for more in self._perhaps(way, inner, given))
                case Without(inner):
                    others = self._of_group(inner, given, is_inside=bool(given))
                    ways = [self._without(way, others, given) for way in ways]
        for element in group.elements:
            if isinstance(element, Rows):
                ways = [self._with_rows(way, element, given) for way in ways]
        return ways

    def _perhaps(self, way: _Way, inner: Group, given: frozenset[str]) -> Iterator[_Way]:
        """With what is optional, and without it; the same when nobody else names what it binds."""
        inside = names_in_group(inner)
        if all(name in way.bound or self._uses[name] == inside[name] for name in inside):
            yield way
            return
        known = given | way.bound
        for other in self._joined(inner, given):
            yield from self._filtered(inner, [way.joined(other)], given)
        absent = self._of_group(inner, known, is_inside=False)
        yield replace(way, absent=(*way.absent, *(self._absent(one, known) for one in absent)))

    def _without(self, way: _Way, others: Sequence[_Way], given: frozenset[str]) -> _Way:
        shared = [other for other in others if other.bound & way.bound]
        absent = (self._absent(other, way.bound & other.bound, given) for other in shared)
        return replace(way, absent=(*way.absent, *absent))

    def _absent(self, way: _Way, known: frozenset[str], given: frozenset[str] = _NOTHING) -> _Absent:
        pattern = self._pattern(way, known | given)
        return _Absent(pattern, (known | given) & names_in(pattern))

    def _with_rows(self, way: _Way, rows: Rows, given: frozenset[str]) -> _Way:
        for name in rows.names:
            if name not in way.bound | given:
                raise UnknownVariableError(name, rows.at)
        alternatives: list[GraphConstraint] = []
        for row in rows.rows:
            said = tuple(
                Constraint(name, "is", term)
                for name, term in zip(rows.names, row, strict=True)
                if term is not None
            )
            if not said:
                return way
            alternatives.append(said[0] if len(said) == 1 else AllConstraints(said))
        only = (
            alternatives[0] if len(alternatives) == 1 else AnyConstraint(tuple(dict.fromkeys(alternatives)))
        )
        return replace(way, constraints=(*way.constraints, *_laid_open(only)))

    # Filters

    def _filtered(self, group: Group, ways: list[_Way], given: frozenset[str]) -> list[_Way]:
        for expression, at in group.filters:
            if ways and isinstance(expression, Tested):
                for name in sorted(variables_of(expression.constraint)):
                    if not any(name in way.bound or name in given for way in ways):
                        raise UnknownVariableError(name, at)
            ways = _limited(more for way in ways for more in self._kept(way, expression, given, is_so=True))
        return ways

    def _kept(
        self, way: _Way, expression: Expression, given: frozenset[str], *, is_so: bool
    ) -> Iterator[_Way]:
        """The ways in which an expression holds, or does not."""
        match expression:
            case Opposite(part):
                yield from self._kept(way, part, given, is_so=not is_so)
            case Exists(group):
                yield from self._existing(way, group, given, is_so=is_so)
            case Together(parts) | Either(parts) if _asks_for_patterns(expression):
                if isinstance(expression, Together) == is_so:
                    ways = [way]
                    for part in parts:
                        ways = _limited(
                            more for one in ways for more in self._kept(one, part, given, is_so=is_so)
                        )
                    yield from ways
                    return
                plain = tuple(part for part in parts if not _asks_for_patterns(part))
                yield from self._kept(way, type(expression)(plain), given, is_so=is_so)
                for part in parts:
                    if _asks_for_patterns(part):
                        yield from self._kept(way, part, given, is_so=is_so)
            case _:
                found = _constraint(expression, way.bound | given, is_so=is_so)
                if isinstance(found, bool):
                    if found:
                        yield way
                    return
                kept = dict.fromkeys((*way.constraints, *_laid_open(found)))
                yield replace(way, constraints=tuple(kept))

    def _existing(self, way: _Way, group: Group, given: frozenset[str], *, is_so: bool) -> Iterator[_Way]:
        known = given | way.bound
        found = self._of_group(group, known, is_inside=True)
        if not is_so:
            yield replace(way, absent=(*way.absent, *(self._absent(one, known) for one in found)))
            return
        inside = names_in_group(group)
        for one in found:
            own = [name for name in sorted(one.bound - known) if self._uses[name] > inside[name]]
            fresh = {name: self._fresh() for name in own}
            yield way.joined(
                _Way(
                    tuple(renamed(GraphPattern(one.triples), fresh).triples),
                    renamed(GraphPattern((), one.constraints), fresh).constraints,
                    tuple(_Absent(renamed(a.pattern, fresh), _through(a.outer, fresh)) for a in one.absent),
                    _through(one.bound, fresh),
                )
            )

    # What was found

    def _pattern(self, way: _Way, around: frozenset[str]) -> GraphPattern:
        """A way as a pattern. Variables of absent patterns that only have the name of one around are renamed."""
        absent = []
        for one in way.absent:
            captured = (names_in(one.pattern) - one.outer) & (way.bound | around)
            absent.append(renamed(one.pattern, {name: self._fresh() for name in sorted(captured)}))
        triples = tuple(dict.fromkeys(way.triples))
        return GraphPattern(triples, tuple(dict.fromkeys(way.constraints)), tuple(dict.fromkeys(absent)))

    def _fresh(self) -> str:
        name = fresh_name(self._names)
        self._names.add(name)
        return name


def fresh_name(names: Iterable[str]) -> str:
    """A name for a variable that nobody has written."""
    known = set(names)
    number = 1
    while f"_{number}" in known:
        number += 1
    return f"_{number}"


def _limited(ways: Iterable[_Way]) -> list[_Way]:
    found = []
    for way in ways:
        found.append(way)
        if len(found) > MOST_WAYS:
            raise TooManyWaysError
    return found


def _through(names: frozenset[str], fresh: dict[str, str]) -> frozenset[str]:
    return frozenset(fresh.get(name, name) for name in names)


def _laid_open(constraint: GraphConstraint) -> tuple[GraphConstraint, ...]:
    return constraint.parts if isinstance(constraint, AllConstraints) else (constraint,)


def _asks_for_patterns(expression: Expression) -> bool:
    match expression:
        case Exists():
            return True
        case Opposite(part):
            return _asks_for_patterns(part)
        case Together(parts) | Either(parts):
            return any(map(_asks_for_patterns, parts))
        case _:
            return False


_OPPOSITES: dict[str, Comparison] = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def _constraint(expression: Expression, known: frozenset[str], *, is_so: bool) -> GraphConstraint | bool:
    """An expression without EXISTS as a constraint; a truth value where that is decided already."""
    match expression:
        case Opposite(part):
            return _constraint(part, known, is_so=not is_so)
        case Bound(name):
            return (name in known) == is_so
        case Tested(constraint):
            if not variables_of(constraint) <= known:
                return False
            return constraint if is_so else _negated(constraint)
        case Together(parts) | Either(parts):
            found = [_constraint(part, known, is_so=is_so) for part in parts]
            return _all(found) if isinstance(expression, Together) == is_so else _any(found)
        case _:
            raise TypeError(expression)


def _negated(constraint: Constraint) -> Constraint:
    opposite = _OPPOSITES.get(constraint.op)
    if opposite is not None:
        return replace(constraint, op=opposite)
    return replace(constraint, is_negated=not constraint.is_negated)


def _all(parts: Sequence[GraphConstraint | bool]) -> GraphConstraint | bool:
    if any(part is False for part in parts):
        return False
    kept = [one for part in parts if not isinstance(part, bool) for one in _laid_open(part)]
    distinct = tuple(dict.fromkeys(kept))
    return True if not distinct else distinct[0] if len(distinct) == 1 else AllConstraints(distinct)


def _any(parts: Sequence[GraphConstraint | bool]) -> GraphConstraint | bool:
    if any(part is True for part in parts):
        return True
    kept = [
        one
        for part in parts
        if not isinstance(part, bool)
        for one in (part.parts if isinstance(part, AnyConstraint) else (part,))
    ]
    distinct = tuple(dict.fromkeys(kept))
    return False if not distinct else distinct[0] if len(distinct) == 1 else AnyConstraint(distinct)
