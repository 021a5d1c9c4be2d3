"""Statements about feeds: `register`, `create`, `alter feed`, `drop feed`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from feedweir.items.owners import EVERYONE
from feedweir.language.graph_syntax.graph_terms import PREFIXES, iri_named
from feedweir.language.literals import format_name, name
from feedweir.language.name_checks import Names, check_cycles, check_known, check_query, refuse
from feedweir.language.queries import Place, Query
from feedweir.language.query_clauses import format_query, query
from feedweir.language.schedule_clauses import every
from feedweir.language.shared_clauses import (
    Changes,
    StatementKind,
    accept_if_exists,
    address,
    changes,
    format_changed_owner,
    format_owner,
    format_pause,
    format_stylesheet,
    owner,
    pause,
    rename,
    stylesheet,
)
from feedweir.language.tokens import Cursor, quoted
from feedweir.language.tree_patterns import tree_pattern
from feedweir.plan.predicates import PatternNode
from feedweir.plan.taxonomies import is_taxonomy_line
from feedweir.plan.window_lengths import format_length

VOCABULARY = "per vocabulary"
"""How the documents of a vocabulary are cut: each is one item."""


@dataclass(frozen=True, slots=True)
class RegisterFeed:
    """A source: from the web (`url`), or a virtual feed (`feed`) materialised through the stylesheet `apply`."""

    name: str
    url: str = ""
    feed: str = ""
    apply: str = ""
    every: timedelta | None = None
    owner: str = EVERYONE
    hub: str = ""
    """A WebSub hub that pushes it, set by hand."""
    id_path: str = ""
    """Where its items name their ids, as in `//order/@number`; or how documents of RDF are cut into items:
    `per subject`, or `per` and the IRI of a type; `per vocabulary` for what is registered as one."""
    saying: str = ""
    """What a vocabulary says, as far as it has been read: see `plan.taxonomies`."""
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def is_vocabulary(self) -> bool:
        return self.id_path == VOCABULARY


@dataclass(frozen=True, slots=True)
class CreateFeed:
    """`owner` limits who is asked for when matching is limited to some; empty is everyone."""

    name: str
    query: Query
    or_replace: bool = False
    owner: str = EVERYONE
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AlterFeed:
    """What is not None changes. `url`, `every` (no time: none), `hub` and `id_path` (empty: none) are for sources,
    `query` for virtual feeds."""

    name: str
    rename: str | None = None
    url: str | None = None
    every: timedelta | None = None
    is_paused: bool | None = None
    query: Query | None = None
    owner: str | None = None
    hub: str | None = None
    id_path: str | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DropFeed:
    """Sources and virtual feeds share one room of names."""

    name: str
    if_exists: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)


# Reading


def register(c: Cursor, place: Place) -> RegisterFeed:
    """`register feed URL as N [every 30 minutes] [hub URL] [id PATH | per TYPE] [for ann]`, or
    `register feed M apply 'X.xsl' as N`, or `register vocabulary URL as N … [saying 'TEXT']`."""
    c.accept("source")
    if c.words[c.at] == "feed":
        c.at += 1
    elif c.words[c.at] == "vocabulary" and "://" in c.tokens[c.at + 1]:
        c.at += 1
        return _vocabulary(c, place)
    url = address(c)
    feed = "" if url else name(c, "a URL or the name of a feed")
    apply = stylesheet(c)
    c.expect("as", hint="register feed URL as NAME")
    label, pace = name(c, "a name for the feed"), every(c)
    pusher = hub(c) if url and c.words[c.at] == "hub" else ""
    path = id_path(c) if c.words[c.at] == "id" else cut(c) if c.words[c.at] == "per" else ""
    return RegisterFeed(label, url, feed, apply, pace, owner(c), pusher, path, place=place)


def _vocabulary(c: Cursor, place: Place) -> RegisterFeed:
    url = address(c)
    c.expect("as", hint="register vocabulary URL as NAME")
    label, pace = name(c, "a name for the vocabulary"), every(c)
    pusher = hub(c) if c.words[c.at] == "hub" else ""
    whose = owner(c)
    return RegisterFeed(label, url, "", "", pace, whose, pusher, VOCABULARY, _saying(c), place)


def _saying(c: Cursor) -> str:
    """`saying 'class IRI BROADER …'`, a line for each class or property."""
    if not c.accept("saying"):
        return ""
    start = c.at
    text = c.string("what the vocabulary says").strip()
    for line in text.splitlines():
        if not is_taxonomy_line(line):
            raise c.error(
                f"a vocabulary does not say {line[:60]!r}",
                at=start,
                hint="class IRI BROADER …, or property IRI BROADER …, each on a line of its own",
            )
    return text


def hub(c: Cursor) -> str:
    """`hub https://…`: a WebSub hub."""
    c.expect("hub")
    found = address(c)
    if not found:
        raise c.missing("the address of a hub", expected=("a URL",))
    return found


def cut(c: Cursor) -> str:
    """`per subject` or `per doap:Project`: what is an item of a document of RDF."""
    c.expect("per")
    if c.accept("subject"):
        return "per subject"
    return f"per {iri_named(c, PREFIXES).iri}"


def id_path(c: Cursor) -> str:
    """`id //order/@number`: the steps to what names an item, as text."""
    c.expect("id")
    start, steps = c.at, ""
    node: PatternNode | None = tree_pattern(c).root
    while node is not None:
        if (
            len(node.children) > 1
            or node.variable
            or node.op is not None
            or steps.rpartition("/")[2][:1] == "@"
        ):
            raise c.error(
                "the path to an id consists of steps only",
                at=start,
                hint="/ or //, and a name, * or @name: //order/@number",
            )
        steps += f"{node.axis}{node.name}"
        node = node.children[0] if node.children else None
    return steps


def create(c: Cursor, place: Place) -> CreateFeed:
    """`create [or replace] feed N [for ann] from …`."""
    or_replace = c.accept("or")
    if or_replace:
        c.expect("replace")
    c.expect("feed", hint="create feed NAME from A | B where …")
    label, whose = name(c, "a name for the feed"), owner(c)
    return CreateFeed(label, query(c), or_replace, whose, place)


def alter_feed(c: Cursor, place: Place) -> AlterFeed:
    """`alter feed N rename to M, url http://…, every 1 hour, hub https://…, pause`."""
    label = name(c)
    return AlterFeed(label, **changes(c, _FEED_CLAUSES), place=place)


def drop_feed(c: Cursor, place: Place) -> DropFeed:
    """`drop feed [if exists] N`."""
    if_exists = accept_if_exists(c)
    return DropFeed(name(c), if_exists, place)


def _url(c: Cursor) -> dict[str, Any]:
    c.at += 1
    url = address(c)
    if not url:
        raise c.missing("a URL", expected=("a URL",))
    return {"url": url}


def _none(c: Cursor) -> dict[str, Any]:
    c.at += 1
    word = c.words[c.at]
    if word not in _REMOVABLE:
        raise c.unknown("something that `no` can remove", tuple(_REMOVABLE))
    c.at += 1
    return dict([_REMOVABLE[word]])


_REMOVABLE: dict[str, tuple[str, Any]] = {
    "every": ("every", timedelta()),
    "hub": ("hub", ""),
    "id": ("id_path", ""),
    "per": ("id_path", ""),
}
"""What may stand after `no` in a change of a feed, and what it sets."""


_FEED_CLAUSES: Changes = {
    "rename": rename,
    "url": _url,
    "every": lambda c: {"every": every(c)},
    "hub": lambda c: {"hub": hub(c)},
    "id": lambda c: {"id_path": id_path(c)},
    "per": lambda c: {"id_path": cut(c)},
    "no": _none,
    "pause": lambda c: pause(c, True),
    "resume": lambda c: pause(c, False),
    "for": lambda c: {"owner": owner(c)},
    "from": lambda c: {"query": query(c)},
}


# Printing


def _register(statement: RegisterFeed) -> str:
    what = quoted(statement.url) if statement.url else format_name(statement.feed)
    name = f"as {format_name(statement.name)}"
    hub = f" hub {quoted(statement.hub)}" if statement.hub else ""
    path = f" {_id_path(statement.id_path)}" if statement.id_path and not statement.is_vocabulary else ""
    when = f"{_every(statement.every)}{hub}{path}{format_owner(statement.owner)}"
    if statement.is_vocabulary:
        says = f" saying {quoted(statement.saying)}" if statement.saying else ""
        return f"register vocabulary {what} {name}{when}{says}"
    return f"register feed {what}{format_stylesheet(statement.apply)} {name}{when}"


def _id_path(path: str) -> str:
    if path.startswith("per "):
        return path if path == "per subject" else f"per <{path.removeprefix('per ')}>"
    # Without the space it would begin a comment.
    return f"id {quoted(path.replace('/*', '/ *'))}"


def _every(every: timedelta | None) -> str:
    return f" every {format_length(every)}" if every is not None else ""


def _feed_changes(statement: AlterFeed) -> list[str]:
    changes = [f"rename to {format_name(statement.rename)}"] if statement.rename is not None else []
    changes += [f"url {quoted(statement.url)}"] if statement.url is not None else []
    if statement.every is not None:
        changes.append(_every(statement.every).strip() if statement.every else "no every")
    if statement.hub is not None:
        changes.append(f"hub {quoted(statement.hub)}" if statement.hub else "no hub")
    if statement.id_path is not None:
        changes.append(_id_path(statement.id_path) if statement.id_path else "no id")
    changes += format_pause(statement.is_paused) + format_changed_owner(statement.owner)
    return changes + ([format_query(statement.query)] if statement.query is not None else [])


def _create(statement: CreateFeed) -> str:
    head = "create or replace feed" if statement.or_replace else "create feed"
    return f"{head} {format_name(statement.name)}{format_owner(statement.owner)}\n{format_query(statement.query)}"


def _alter(statement: AlterFeed) -> str:
    return f"alter feed {format_name(statement.name)} {', '.join(_feed_changes(statement))}"


def _drop(statement: DropFeed) -> str:
    return f"drop feed {'if exists ' if statement.if_exists else ''}{format_name(statement.name)}"


# Checking


def _check_register(statement: RegisterFeed, names: Names) -> None:
    if statement.feed:
        check_known(statement.feed, names, statement.place)
        check_cycles(statement.name, [statement.feed], names, statement.place, is_source=True)


def _check_create(statement: CreateFeed, names: Names) -> None:
    name = statement.name
    if names.kind_of(name) == "source":
        refuse(statement.place, name, f"`{name}` is already the name of a source", "choose another name")
    check_query(statement.query, names, statement.place, name)


def _check_alter(statement: AlterFeed, names: Names) -> None:
    check_known(statement.name, names, statement.place)
    _check_kind(statement, names)
    if statement.query is not None:
        check_query(statement.query, names, statement.place, statement.name)


def _check_kind(statement: AlterFeed, names: Names) -> None:
    is_source = names.kind_of(statement.name) == "source"
    if statement.query is not None and is_source:
        refuse(statement.place, statement.name, f"`{statement.name}` is a source and has no query", "")
    about_sources = (statement.url, statement.every, statement.hub, statement.id_path)
    is_about_fetching = any(said is not None for said in about_sources)
    if is_about_fetching and not is_source:
        hint = f"change its query: alter feed {statement.name} from …"
        refuse(
            statement.place, statement.name, f"`{statement.name}` is a virtual feed and is not fetched", hint
        )


FEED_STATEMENTS: dict[type, StatementKind] = {
    RegisterFeed: StatementKind(_register, _check_register),
    CreateFeed: StatementKind(_create, _check_create),
    AlterFeed: StatementKind(_alter, _check_alter),
    DropFeed: StatementKind(_drop),
}
