"""Whether a statement makes sense among the names that exist: feeds, variables, cycles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NoReturn, Protocol, TypeAlias

from feedweir.errors import LanguageError, near
from feedweir.language.part_conditions import speaks_of_all
from feedweir.language.queries import (
    BlockJoin,
    Condition,
    Group,
    Member,
    Named,
    PathBlock,
    Place,
    Query,
    Xscl,
)
from feedweir.language.tokens import Cursor, offset_of
from feedweir.plan.nodes import EVERY_SOURCE

Kind: TypeAlias = Literal["source", "virtual"]


class Names(Protocol):
    """What the checker asks the catalog."""

    def kind_of(self, name: str) -> Kind | None:
        """What a name stands for; None when nothing has it."""

    def all_names(self) -> Iterable[str]:
        """Every name of a source or virtual feed."""

    def query_of(self, name: str) -> Query | None:
        """The definition of a virtual feed."""

    def made_from(self, name: str) -> str:
        """The feed that a source is made from; empty for one that is fetched or pushed to."""

    def made_sources(self) -> Iterable[str]:
        """The sources that are made from feeds."""


def check_query(query: Query, names: Names, place: Place | None, name: str = "") -> None:
    """Refuse a query that names what does not exist, or by which the feed of that name would read itself."""
    source = query.source
    primary: list[str] = []
    deeper = [feed for feed in _read(source, primary) if _kind(feed, names, place, name) == "virtual"]
    variables = primary
    if query.joins:
        variables = list(primary)
        deeper += _check_joins(query, names, place, primary, variables, name)
    if len(variables) > 1:
        _check_once(variables, place)
    for condition in query.where:
        for variable in condition.parts or filter(None, (condition.variable,)):
            if variable not in variables:
                _fail_variable(variable, variables, place)
        if set(condition.parts) & set(variables[len(primary) :]):
            _check_pairs(condition, query, place)
    if name and (deeper or names.kind_of(name) is not None):
        check_cycles(name, feeds_used(query), names, place)


def _kind(feed: str, names: Names, place: Place | None, reader: str) -> Kind:
    """What a feed is; one that does not exist is refused."""
    if feed == EVERY_SOURCE:
        return "source"
    kind = names.kind_of(feed)
    if kind is None and feed == reader:
        _fail_cycle([reader, reader], place)
    return kind or _fail_unknown(feed, names, place)


def _read(member: Member, variables: list[str]) -> list[str]:
    """The feeds of a member; its variables are added to those that are known."""
    if member.variable:
        variables.append(member.variable)
    if type(member) is Named:
        return [member.name]
    if type(member) is Group:
        return [feed for part in member.members for feed in _read(part, variables)]
    return list(_feeds_in(member))


def _check_joins(
    query: Query, names: Names, place: Place | None, primary: list[str], variables: list[str], reader: str
) -> list[str]:
    """Check the windows' feeds and the joins' variables; the virtual feeds among them."""
    virtual: list[str] = []
    for join in query.joins:
        read = _read(join.secondary, variables)
        virtual += [feed for feed in read if _kind(feed, names, place, reader) == "virtual"]
        if join.primary and join.primary not in primary:
            _fail_variable(join.primary, primary, place)
    return virtual


def _check_pairs(condition: Condition, query: Query, place: Place | None) -> None:
    """A condition on items and their partners is one of a join, and speaks of nothing but what that joins."""
    joins = [join for join in query.joins if join.secondary.variable in condition.parts]
    spoken_of = set(condition.parts) | ({""} if speaks_of_all(condition.predicate) else set())
    if len(joins) != 1 or not spoken_of <= {joins[0].primary, joins[0].secondary.variable}:
        message = "this condition is about a window and about more than what is joined with it"
        hint = "put it into the brackets of the join: [title contains 'x' or window.title contains 'y']"
        refuse(_at_where(place), f"${condition.parts[0]}", message, hint)


def _at_where(place: Place | None) -> Place | None:
    if place is None:
        return None
    words = Cursor(place.text).words
    return Place(place.text, words.index("where", place.token))


def _check_once(variables: list[str], place: Place | None) -> None:
    for variable in variables:
        if variables.count(variable) > 1:
            refuse(place, f"${variable}", f"`${variable}` is used twice", "give each its own variable")


def feeds_used(query: Query) -> tuple[str, ...]:
    """The names of the feeds that a query reads, each once, in order."""
    members = (query.source, *(join.secondary for join in query.joins))
    return tuple(dict.fromkeys(name for member in members for name in _feeds_in(member)))


def _feeds_in(member: Member) -> Iterator[str]:
    match member:
        case Named(name):
            yield name
        case Group(members):
            for part in members:
                yield from _feeds_in(part)
        case Xscl(body):
            yield from _feeds_of_body(body)


def _feeds_of_body(body: PathBlock | BlockJoin) -> Iterator[str]:
    while isinstance(body, BlockJoin):
        yield body.right.feed
        body = body.left
    yield body.feed


def check_cycles(
    name: str, used: Iterable[str], names: Names, place: Place | None, *, is_source: bool = False
) -> None:
    """A feed must not read itself, however far down. Each feed below is looked at once.

    All sources together contain those that are made from feeds, and so a source that is being registered.
    """
    sources = [name] if is_source else []
    readers = dict.fromkeys(used, name)
    waiting = list(readers)
    while waiting:
        feed = waiting.pop()
        if feed == name:
            _fail_cycle(_way(name, readers), place)
        below = [part for part in _below(feed, sources, names) if part not in readers]
        readers.update(dict.fromkeys(below, feed))
        waiting += below


def _below(feed: str, new_sources: list[str], names: Names) -> Iterable[str]:
    """What a feed reads."""
    if feed == EVERY_SOURCE:
        return [*names.made_sources(), *new_sources]
    query = names.query_of(feed)
    if query is not None:
        return feeds_used(query)
    made_from = names.made_from(feed)
    return [made_from] if made_from else []


def _fail_cycle(way: list[str], place: Place | None) -> NoReturn:
    message = f"`{way[0]}` would read itself: {' → '.join(way)}"
    refuse(place, way[1], message, "a feed cannot depend on itself", is_read=True)


def _way(name: str, readers: dict[str, str]) -> list[str]:
    """From a feed down to itself; the middle of a long way is left out."""
    way = [name, readers[name]]
    while way[-1] != name:
        way.append(readers[way[-1]])
    way.reverse()
    return way if len(way) < 10 else [*way[:4], "…", *way[-4:]]


def check_known(name: str, names: Names, place: Place | None) -> None:
    """Refuse the name of a feed that does not exist."""
    if names.kind_of(name) is None and name != EVERY_SOURCE:
        _fail_unknown(name, names, place)


def _fail_unknown(name: str, names: Names, place: Place | None) -> NoReturn:
    hint = near(name, names.all_names()) or f"register feed URL as {name}"
    refuse(place, name, f"there is no feed `{name}`", hint)


def _fail_variable(variable: str, variables: list[str], place: Place | None) -> NoReturn:
    known = tuple(f"${name}" for name in variables)
    hint = near(f"${variable}", known) or (
        f"known here: {', '.join(known)}" if known else "name a part of it with `as`"
    )
    refuse(place, f"${variable}", f"`${variable}` is not a variable of this query", hint)


_DEFINING = ("feed", "publish")
"""The words before the name that a query is given."""


def refuse(place: Place | None, token: str, message: str, hint: str, *, is_read: bool = False) -> NoReturn:
    """Raise the error where the statement says `token`; what `is_read` is not the name that it defines."""
    if place is None:
        raise LanguageError(message, hint=hint)
    c = Cursor(place.text)
    spellings = (token, f"'{token}'", f'"{token}"', f"“{token}”")
    found = place.token
    for number in range(place.token, len(c.tokens)):
        if c.tokens[number] in spellings and not (is_read and c.words[number - 1] in _DEFINING):
            found = number
            break
        if c.tokens[number] == ";":
            break
    raise LanguageError(message, text=place.text, offset=offset_of(place.text, found), hint=hint)
