"""Queries that begin with SELECT or with the name of a feed: XSCL and RDQL, alone or with PUBLISH."""

from __future__ import annotations

from feedweir.language.graphs import check_bound, graph
from feedweir.language.statements import EVERY_SOURCE, Ask, Condition, CreateFeed, Named, Place, Query
from feedweir.language.tokens import Cursor
from feedweir.language.values import name
from feedweir.language.xscl import from_clause, selection

_AFTER_A_FEED = ("/", "//", "->", "join", "followed", "publish", "", ";")


def begins_query(c: Cursor) -> bool:
    """Whether what is next is XSCL without its SELECT: a feed, and a path or join."""
    token = c.tokens[c.at]
    is_name = token[:1].isalnum() or token[:1] == "_" or c.is_string()
    if c.words[c.at].startswith("select") or token == "(":
        return True
    return is_name and c.words[c.at + 1] in _AFTER_A_FEED


def select(c: Cursor, place: Place) -> Ask | CreateFeed:
    """A query, which PUBLISH makes a feed."""
    query = _query(c)
    if c.accept("publish"):
        return CreateFeed(name(c, "a name for the feed"), query, place=place)
    return Ask(query, place)


def _query(c: Cursor) -> Query:
    if c.words[c.at] == "select" and c.tokens[c.at + 1][:1] == "?":
        wanted = _variables(c)
        source = name(c) if c.accept("from") else EVERY_SOURCE
        c.expect("where")
        pattern = graph(c, "")
        check_bound(c, pattern, wanted)
        return Query(Named(source), (), (Condition("", pattern),))
    source_member = from_clause(c, selection(c))
    if isinstance(source_member, Named) and c.accept("where"):
        return Query(source_member, (), (Condition("", graph(c, "")),))
    return Query(source_member)


def _variables(c: Cursor) -> list[tuple[str, int]]:
    """RDQL's `SELECT ?a, ?b`, each with its token: items are kept whole, so the list says nothing more."""
    c.at += 1
    found: list[tuple[str, int]] = []
    while c.tokens[c.at][:1] == "?":
        found.append((c.tokens[c.at][1:], c.at))
        c.at += 1
        c.accept(",")
    return found
