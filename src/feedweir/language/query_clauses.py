"""`from … join … where …`: queries, read and printed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from feedweir.language.conditions import format_predicate, where
from feedweir.language.graph_syntax.graph_patterns import read_prefixes, selected_names, selected_pattern
from feedweir.language.join_conditions import format_join_predicate, join_predicate
from feedweir.language.literals import (
    RESERVED,
    count,
    format_name,
    format_number,
    name,
    variable,
    window,
)
from feedweir.language.queries import (
    BlockJoin,
    Condition,
    Group,
    Join,
    Member,
    Named,
    PathBlock,
    Query,
    Xscl,
)
from feedweir.language.tokens import Cursor, quoted
from feedweir.language.tree_patterns import format_path
from feedweir.language.word_conditions import threshold
from feedweir.language.xscl import braced, from_clause, selection
from feedweir.plan.nodes import EVERY_SOURCE
from feedweir.plan.predicates import Or
from feedweir.plan.window_lengths import STORY, STORY_ALIKE, format_window


def query(c: Cursor) -> Query:
    """`from … join … where …`."""
    c.expect("from")
    source = union(c)
    joins: list[Join] = []
    while c.words[c.at] == "join":
        c.at += 1
        joins.append(_join(c))
    conditions = where(c) if c.accept("where") else ()
    return Query(source, tuple(joins), conditions, _most(c, source, is_joined=bool(joins)))


def _most(c: Cursor, source: Member, *, is_joined: bool) -> int:
    """`at most 100 results per hour`, of what joins."""
    if c.words[c.at : c.at + 2] != ["at", "most"]:
        return 0
    start = c.at
    c.at += 2
    most = count(c, "how many results")
    if not most:
        raise c.error("nothing would ever be shown", at=start + 2, expected=("1 or more",))
    if c.words[c.at] in ("result", "results"):
        c.at += 1
    for word in ("per", "hour"):
        c.expect(word, hint="at most 100 results per hour")
    if not is_joined and not any(_joins(member) for member in _members(source)):
        raise c.error(
            "only the results of joins can be limited",
            at=start,
            hint="of a subscription: at most 20 items per message",
        )
    return most


def _members(source: Member) -> Iterator[Member]:
    if isinstance(source, Group):
        yield source
        for member in source.members:
            yield from _members(member)
    else:
        yield source


def _joins(member: Member) -> bool:
    if isinstance(member, Group):
        return member.distinct is not None
    return isinstance(member, Xscl) and isinstance(member.body, BlockJoin)


def union(c: Cursor) -> Member:
    """`A | B as $b | (C | D) as $cd`."""
    first = _member(c)
    if c.words[c.at] != "|":
        return first
    members = [first]
    while c.accept("|"):
        members.append(_member(c))
    return Group(tuple(members))


def _member(c: Cursor) -> Member:
    word = c.words[c.at]
    if word == "(":
        return _group(c)
    if word == "distinct" and _is_followed_by_a_member(c):
        return _distinct(c)
    if word == "xscl" and c.words[c.at + 1] == "{":
        pattern = braced(c)
        return replace(pattern, variable=variable(c)) if c.accept("as") else pattern
    found = EVERY_SOURCE if c.accept("*") else name(c)
    return Named(found, variable(c)) if c.words[c.at] == "as" and c.accept("as") else Named(found)


def _is_followed_by_a_member(c: Cursor) -> bool:
    """`distinct` may also be the name of a feed."""
    token = c.tokens[c.at + 1]
    if c.words[c.at + 1 : c.at + 3] == ["at", "least"]:
        return True
    return token in ("(", "*") or token[:1] in ("'", '"') or _is_name(token, c.words[c.at + 1])


def _is_name(token: str, word: str) -> bool:
    return (token[:1].isalnum() or token[:1] == "_") and (word == "last" or word not in RESERVED)


def _distinct(c: Cursor) -> Group:
    """`distinct [at least 60 %] [last 3 days] (A | B) as $x`."""
    c.at += 1
    alike = threshold(c, STORY_ALIKE)
    spec = window(c) if c.accept("last") else STORY
    inner = _member(c)
    if isinstance(inner, Group) and inner.distinct is None:
        return replace(inner, distinct=spec, alike=alike)
    return Group((replace(inner, variable=""),), inner.variable, spec, alike)


def _group(c: Cursor) -> Member:
    c.at += 1
    c.enter()
    inner = union(c)
    c.leave()
    c.expect(")", hint="feeds are separated by `|`")
    return _named_group(inner, variable(c)) if c.accept("as") else inner


def _named_group(inner: Member, label: str) -> Member:
    """Brackets around one member only give it a variable; one that has a variable keeps it inside a group."""
    if isinstance(inner, Group) and not inner.variable and inner.distinct is None:
        return Group(inner.members, label)
    if not inner.variable and not isinstance(inner, Group):
        return replace(inner, variable=label)
    return Group((inner,), label)


def _join(c: Cursor) -> Join:
    c.expect("last", hint="join last 3 months on FEED with $r[…]")
    spec = window(c)
    c.expect("on")
    secondary = union(c)
    c.expect("with", hint="the join's condition: with $r[title similar window.title]")
    primary = variable(c) if c.tokens[c.at][:1] == "$" else ""
    c.expect("[")
    condition = join_predicate(c)
    c.expect("]")
    return Join(spec, secondary, primary, condition)


# Printing


def format_query(query: Query) -> str:
    """`from …`, each clause on a line of its own."""
    lines = [f"from {_format_union(query.source)}"]
    lines += [_format_join(join) for join in query.joins]
    if query.where:
        is_single = len(query.where) == 1
        lines.append("where " + " and ".join(_condition(part, is_single) for part in query.where))
    if query.most:
        lines.append(f"at most {query.most} results per hour")
    return "\n".join(lines)


def _format_union(member: Member) -> str:
    """A group without a variable needs no brackets here."""
    if isinstance(member, Group) and not member.variable and member.distinct is None:
        return " | ".join(map(format_member, member.members))
    return format_member(member)


def format_member(member: Member) -> str:
    """A part of a union, with its variable."""
    match member:
        case Named(name, variable):
            text = format_name(name)
        case Group(members, variable):
            text = f"{_story(member)}({' | '.join(map(format_member, members))})"
        case Xscl(variable=variable):
            text = _xscl(member)
    return f"{text} as ${variable}" if variable else text


def _story(group: Group) -> str:
    if group.distinct is None:
        return ""
    alike = "" if group.alike == STORY_ALIKE else f"at least {format_number(group.alike)} "
    window = "" if group.distinct == STORY else f"last {format_window(group.distinct)} "
    return f"distinct {alike}{window}"


def _xscl(member: Xscl) -> str:
    select = f"SELECT {quoted(member.select)} FROM " if member.select else ""
    return f"xscl {{ {select}{_body(member.body)} }}"


def _body(body: PathBlock | BlockJoin) -> str:
    if isinstance(body, PathBlock):
        return f"{format_name(body.feed)}{format_path(body.pattern)}"
    equalities = " AND ".join(f"{left}={right}" for left, right in body.equalities)
    braces = f"{equalities}, {format_window(body.window)}" if equalities else format_window(body.window)
    return f"{_body(body.left)} {body.kind.upper()}{{{braces}}} {_body(body.right)}"


def _format_join(join: Join) -> str:
    primary = f"${join.primary}" if join.primary else ""
    return (
        f"join last {format_window(join.window)} on {_format_union(join.secondary)}"
        f" with {primary}[{format_join_predicate(join.predicate)}]"
    )


def _condition(condition: Condition, is_single: bool) -> str:
    text = format_predicate(condition.predicate)
    if condition.variable:
        return f"${condition.variable}[{text}]"
    needs_brackets = isinstance(condition.predicate, Or) and len(condition.predicate.parts) > 1
    return f"({text})" if needs_brackets and not is_single else text


# XSCL and RDQL without `from`


_AFTER_A_FEED = ("/", "//", "->", "join", "followed", "publish", "", ";")


def begins_query(c: Cursor) -> bool:
    """Whether what is next is XSCL without its SELECT: a feed, and a path or join."""
    token = c.tokens[c.at]
    is_name = token[:1].isalnum() or token[:1] == "_" or c.is_string()
    if c.words[c.at].startswith("select") or token == "(" or c.words[c.at] == "prefix":
        return True
    return is_name and c.words[c.at + 1] in _AFTER_A_FEED


def selected_query(c: Cursor) -> Query:
    """XSCL, RDQL or SPARQL. The variables that SELECT names in the last two are kept with what is found."""
    begins_with_prefix = c.words[c.at] == "prefix"
    prefixes = read_prefixes(c)
    if c.words[c.at] == "select" and _selects_variables(c):
        c.at += 1
        wanted = selected_names(c)
        source = name(c) if c.accept("from") else EVERY_SOURCE
        return Query(Named(source), (), (Condition("", selected_pattern(c, wanted, prefixes)),))
    if begins_with_prefix:
        raise c.unexpected(expected=("`SELECT ?x WHERE { … }`",))
    source_member = from_clause(c, selection(c))
    if isinstance(source_member, Named) and c.words[c.at] == "where":
        return Query(source_member, (), (Condition("", selected_pattern(c, [], prefixes)),))
    return Query(source_member, most=_most(c, source_member, is_joined=False))


def _selects_variables(c: Cursor) -> bool:
    at = c.at + 1 + (c.words[c.at + 1] in ("distinct", "reduced"))
    return c.tokens[at][:1] in ("?",) or (c.words[at] == "*" and c.words[at + 1] in ("where", "{"))
