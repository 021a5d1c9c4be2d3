"""Statements to canonical text: `parse(format_statement(s)) == (s,)`."""

from __future__ import annotations

from datetime import timedelta

from feedweir.language.format_predicates import (
    format_join_predicate,
    format_name,
    format_path,
    format_predicate,
)
from feedweir.language.predicates import Or
from feedweir.language.schedules import format_schedule
from feedweir.language.statements import (
    AlterFeed,
    AlterSubscription,
    Ask,
    BlockJoin,
    Channel,
    Condition,
    CreateFeed,
    DefineWindow,
    Describe,
    DropFeed,
    DropSubscription,
    Explain,
    ExplainPlan,
    Group,
    Join,
    Member,
    Named,
    PathBlock,
    Query,
    RegisterFeed,
    Show,
    Statement,
    Subscribe,
    Xscl,
)
from feedweir.language.tokens import quoted
from feedweir.language.windows import STORY, WindowSpec, format_length, format_window


def format_statement(statement: Statement) -> str:
    """A statement without its `;`."""
    match statement:
        case RegisterFeed():
            return _register(statement)
        case CreateFeed(name, query, or_replace, owner):
            head = "create or replace feed" if or_replace else "create feed"
            return f"{head} {format_name(name)}{_owner(owner)}\n{format_query(query)}"
        case Ask(query):
            return format_query(query)
        case Subscribe():
            return _subscribe(statement)
        case AlterFeed():
            return f"alter feed {format_name(statement.name)} {', '.join(_feed_changes(statement))}"
        case AlterSubscription():
            changes = ", ".join(_subscription_changes(statement))
            return f"alter subscription {format_name(statement.name)} {changes}"
        case DropFeed(name, if_exists):
            return f"drop feed {'if exists ' if if_exists else ''}{format_name(name)}"
        case DropSubscription(name, if_exists):
            return f"drop subscription {'if exists ' if if_exists else ''}{format_name(name)}"
        case Describe(name, kind):
            return f"describe {kind} {format_name(name)}"
        case Show(what, like, owner):
            return f"show {what}{_owner(owner)}{f' like {quoted(like)}' if like else ''}"
        case DefineWindow(name, window):
            return f"define window {format_name(name)} as {format_window(window)}"
        case Explain(inner):
            return f"explain {format_statement(inner)}"
        case ExplainPlan(source):
            return f"explain plan {format_name(source)}" if source else "explain plan"


def format_query(query: Query) -> str:
    """`from …`, each clause on a line of its own."""
    lines = [f"from {_union(query.source)}"]
    lines += [_join(join) for join in query.joins]
    if query.where:
        is_single = len(query.where) == 1
        lines.append("where " + " and ".join(_condition(part, is_single) for part in query.where))
    return "\n".join(lines)


def _union(member: Member) -> str:
    """A group without a variable needs no brackets here."""
    if isinstance(member, Group) and not member.variable and member.distinct is None:
        return " | ".join(map(format_member, member.members))
    return format_member(member)


def format_member(member: Member) -> str:
    """A part of a union, with its variable."""
    match member:
        case Named(name, variable):
            text = format_name(name)
        case Group(members, variable, distinct):
            text = f"{_story(distinct)}({' | '.join(map(format_member, members))})"
        case Xscl(variable=variable):
            text = _xscl(member)
    return f"{text} as ${variable}" if variable else text


def _story(window: WindowSpec | None) -> str:
    if window is None:
        return ""
    return "distinct " if window == STORY else f"distinct last {format_window(window)} "


def _xscl(member: Xscl) -> str:
    select = f"SELECT {quoted(member.select)} FROM " if member.select else ""
    return f"xscl {{ {select}{_body(member.body)} }}"


def _body(body: PathBlock | BlockJoin) -> str:
    if isinstance(body, PathBlock):
        return f"{format_name(body.feed)}{format_path(body.pattern)}"
    equalities = " AND ".join(f"{left}={right}" for left, right in body.equalities)
    braces = f"{equalities}, {format_window(body.window)}" if equalities else format_window(body.window)
    return f"{_body(body.left)} {body.kind.upper()}{{{braces}}} {_body(body.right)}"


def _join(join: Join) -> str:
    primary = f"${join.primary}" if join.primary else ""
    return (
        f"join last {format_window(join.window)} on {_union(join.secondary)}"
        f" with {primary}[{format_join_predicate(join.predicate)}]"
    )


def _condition(condition: Condition, is_single: bool) -> str:
    text = format_predicate(condition.predicate)
    if condition.variable:
        return f"${condition.variable}[{text}]"
    needs_brackets = isinstance(condition.predicate, Or) and len(condition.predicate.parts) > 1
    return f"({text})" if needs_brackets and not is_single else text


def _register(statement: RegisterFeed) -> str:
    what = quoted(statement.url) if statement.url else format_name(statement.feed)
    name = f"as {format_name(statement.name)}"
    hub = f" hub {quoted(statement.hub)}" if statement.hub else ""
    path = f" {_id_path(statement.id_path)}" if statement.id_path else ""
    when = f"{_every(statement.every)}{hub}{path}{_owner(statement.owner)}"
    return f"register feed {what}{_apply(statement.apply)} {name}{when}"


def _id_path(path: str) -> str:
    # Without the space it would begin a comment.
    return f"id {quoted(path.replace('/*', '/ *'))}"


def _owner(owner: str) -> str:
    return f" for {format_name(owner)}" if owner else ""


def _changed_owner(owner: str | None) -> list[str]:
    return [] if owner is None else [f"for {format_name(owner) if owner else 'everyone'}"]


def _subscribe(statement: Subscribe) -> str:
    name = f" as {format_name(statement.name)}" if statement.name else ""
    head = (
        f"subscribe to {format_name(statement.feed)}{name}{_owner(statement.owner)}{_apply(statement.apply)}"
    )
    output = _output(statement.channel, statement.target, statement.secret)
    backlog = ["with backlog"] if statement.with_backlog else []
    return " ".join((head, output, *format_schedule(statement.schedule), *backlog))


def _output(channel: Channel, target: str, secret: str) -> str:
    where = "" if channel == "stream" else f" {quoted(target)}"
    return f"output {channel}{where}{f' secret {quoted(secret)}' if secret else ''}"


def _apply(stylesheet: str | None) -> str:
    return f" apply {quoted(stylesheet)}" if stylesheet else ""


def _every(every: timedelta | None) -> str:
    return f" every {format_length(every)}" if every is not None else ""


def _feed_changes(statement: AlterFeed) -> list[str]:
    changes = [f"rename to {format_name(statement.rename)}"] if statement.rename is not None else []
    changes += [f"url {quoted(statement.url)}"] if statement.url is not None else []
    changes += [_every(statement.every).strip()] if statement.every is not None else []
    if statement.hub is not None:
        changes.append(f"hub {quoted(statement.hub)}" if statement.hub else "no hub")
    if statement.id_path is not None:
        changes.append(_id_path(statement.id_path) if statement.id_path else "no id")
    changes += _paused(statement.is_paused) + _changed_owner(statement.owner)
    return changes + ([format_query(statement.query)] if statement.query is not None else [])


def _subscription_changes(statement: AlterSubscription) -> list[str]:
    changes = [f"rename to {format_name(statement.rename)}"] if statement.rename is not None else []
    changes += [f"apply {quoted(statement.apply)}"] if statement.apply is not None else []
    if statement.channel is not None:
        changes.append(_output(statement.channel, statement.target or "", statement.secret or ""))
    changes += [f"no {word}" for word in statement.without] + format_schedule(statement.schedule)
    if statement.with_backlog is not None:
        changes.append("with backlog" if statement.with_backlog else "no backlog")
    return changes + _changed_owner(statement.owner) + _paused(statement.is_paused)


def _paused(is_paused: bool | None) -> list[str]:
    return [] if is_paused is None else ["pause" if is_paused else "resume"]
