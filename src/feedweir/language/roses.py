"""RoSeS statements: register, create feed, subscribe."""

from __future__ import annotations

from dataclasses import replace

from feedweir.items.owners import EVERYONE, is_owner
from feedweir.language.conditions import where
from feedweir.language.joining import join_predicate
from feedweir.language.paths import tree_pattern
from feedweir.language.predicates import PatternNode
from feedweir.language.schedules import AT_ONCE, every, schedule
from feedweir.language.statements import (
    CHANNELS,
    EVERY_SOURCE,
    Channel,
    CreateFeed,
    Group,
    Join,
    Member,
    Named,
    Place,
    Query,
    RegisterFeed,
    Subscribe,
)
from feedweir.language.tokens import Cursor
from feedweir.language.values import RESERVED, name, variable, window
from feedweir.language.windows import STORY
from feedweir.language.xscl import braced


def register(c: Cursor, place: Place) -> RegisterFeed:
    """`register feed URL as N [every 30 minutes] [hub URL] [id PATH] [for ann]`, or
    `register feed M apply 'X.xsl' as N`."""
    c.accept("source")
    if c.words[c.at] == "feed":
        c.at += 1
    url = address(c)
    feed = "" if url else name(c, "a URL or the name of a feed")
    apply = stylesheet(c)
    c.expect("as", hint="register feed URL as NAME")
    label, pace = name(c, "a name for the feed"), every(c)
    pusher = hub(c) if url and c.words[c.at] == "hub" else ""
    path = id_path(c) if c.words[c.at] == "id" else ""
    return RegisterFeed(label, url, feed, apply, pace, owner(c), pusher, path, place)


def hub(c: Cursor) -> str:
    """`hub https://…`: a WebSub hub."""
    c.expect("hub")
    found = address(c)
    if not found:
        raise c.error(f"{c.seen()} is not the address of a hub", expected=("a URL",))
    return found


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
                "the path to an id has steps only",
                at=start,
                hint="/ or //, and a name, * or @name: //order/@number",
            )
        steps += f"{node.axis}{node.name}"
        node = node.children[0] if node.children else None
    return steps


def address(c: Cursor) -> str:
    """A URL, quoted or not; empty when something else is next."""
    token = c.tokens[c.at]
    if "://" not in token:
        return ""
    if c.is_string():
        return c.string().strip()
    c.at += 1
    return token


def stylesheet(c: Cursor) -> str:
    return c.string("the name of a stylesheet") if c.accept("apply") else ""


def create(c: Cursor, place: Place) -> CreateFeed:
    """`create [or replace] feed N [for ann] from …`."""
    or_replace = c.accept("or")
    if or_replace:
        c.expect("replace")
    c.expect("feed", hint="create feed NAME from A | B where …")
    label, whose = name(c, "a name for the feed"), owner(c)
    return CreateFeed(label, query(c), or_replace, whose, place)


def owner(c: Cursor) -> str:
    """`for ann`, `for 'acme/ann'`, `for everyone`; everyone when nothing is said."""
    if not c.accept("for"):
        return EVERYONE
    start = c.at
    found = name(c, "the name of an owner")
    if not is_owner(found):
        raise c.error(f"`{found}` is not an owner", at=start, hint="a name, or groups and a name: 'acme/ann'")
    return EVERYONE if found == _EVERYONE else found


_EVERYONE = "everyone"


def query(c: Cursor) -> Query:
    """`from … join … where …`."""
    c.expect("from")
    source = union(c)
    joins: list[Join] = []
    while c.words[c.at] == "join":
        c.at += 1
        joins.append(_join(c))
    return Query(source, tuple(joins), where(c) if c.accept("where") else ())


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
        return _bracketed(c)
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
    return token in ("(", "*") or token[:1] in ("'", '"') or _is_name(token, c.words[c.at + 1])


def _is_name(token: str, word: str) -> bool:
    return (token[:1].isalnum() or token[:1] == "_") and (word == "last" or word not in RESERVED)


def _distinct(c: Cursor) -> Group:
    """`distinct [last 3 days] (A | B) as $x`."""
    c.at += 1
    spec = window(c) if c.accept("last") else STORY
    inner = _member(c)
    if isinstance(inner, Group) and inner.distinct is None:
        return replace(inner, distinct=spec)
    return Group((replace(inner, variable=""),), inner.variable, spec)


def _bracketed(c: Cursor) -> Member:
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


def subscribe(c: Cursor, place: Place) -> Subscribe:
    """`subscribe to N [as S] [for ann] [apply 'T.xsl'] output mail 'a@b.c' [every 3 hours] … [with backlog]`."""
    c.expect("to")
    feed = name(c)
    label = name(c, "a name for the subscription") if c.accept("as") else ""
    whose = owner(c)
    apply = stylesheet(c)
    c.expect("output", hint="subscribe to FEED output mail 'you@example.org' every 3 hours")
    start = c.at
    channel, target, secret = output(c)
    plan = schedule(c)
    if channel == "stream" and plan != AT_ONCE:
        raise c.error("a stream gives items as they come", at=start, hint="leave out when they go")
    return Subscribe(feed, channel, target, apply, plan, label, secret, whose, backlog(c), place)


def backlog(c: Cursor) -> bool:
    """`with backlog`, if it is there."""
    if not c.accept("with"):
        return False
    c.expect("backlog")
    return True


def output(c: Cursor) -> tuple[Channel, str, str]:
    """A channel, where it leads, and the secret that signs what goes there."""
    word = c.words[c.at]
    for channel in CHANNELS:
        if word == channel:
            c.at += 1
            target = "" if channel == "stream" else address(c) or c.string(_TARGETS[channel])
            is_signed = channel == "webhook" and c.accept("secret")
            return channel, target, c.string("a secret, as in 'whsec_…'") if is_signed else ""
    raise c.unknown("a channel", CHANNELS)


_TARGETS: dict[Channel, str] = {
    "mail": "a mail address",
    "file": "the name of a file",
    "webhook": "a URL",
    "notify": "the URL of a service",
}
