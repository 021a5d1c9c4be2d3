"""Statements about feeds: register, create, alter, drop."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from feedweir.acquire.fetch.http_rules import wire_url
from feedweir.acquire.refresh.source_state import polled_every
from feedweir.acquire.websub.leases import with_hub
from feedweir.ask.outcome import Outcome, ScriptContext
from feedweir.catalog import Definition, FeedRecord, NewFeed, NewSubscription, SubscriptionRecord
from feedweir.deliver.hub import drop_all
from feedweir.errors import CatalogError
from feedweir.language import Query, feeds_used, format_statement, parse
from feedweir.language.defined_names import registered_by
from feedweir.language.name_checks import refuse
from feedweir.language.queries import BlockJoin, Group, Member, Named, PathBlock, Place, Xscl
from feedweir.language.statements import AlterFeed, CreateFeed, DropFeed, RegisterFeed, Subscribe
from feedweir.plan.nodes import EVERY_SOURCE
from feedweir.service.execution.targets import check_stylesheet
from feedweir.text.redact import without_secrets

PUSHED = "push://"
"""How the address of a source begins that is only pushed to."""


def register(script: ScriptContext, statement: RegisterFeed) -> Outcome:
    """A source made from another feed has no URL: it reads that feed, and its documents are landed with each batch."""
    if statement.url and statement.apply:
        raise CatalogError(
            f"{statement.name!r} has an address: a stylesheet can only be applied to a registered feed",
            hint=f"register the address first, then: register feed THAT apply {statement.apply!r} as {statement.name}",
        )
    _check_address(statement.url, statement.place)
    check_stylesheet(statement.apply, script.stylesheets, statement.place)
    statement = replace(statement, owner=statement.owner or script.owner)
    _put(script, source_of(statement, script.now), is_replaced=False)
    if statement.every is not None:
        _pace(script, statement)
    if statement.hub:
        _set_hub(script, statement)
    if statement.id_path:
        _set_id_path(script, statement)
    return Outcome(message=f"registered {statement.name}", name=statement.name)


def create(script: ScriptContext, statement: CreateFeed) -> Outcome:
    is_replaced = statement.or_replace and script.names.kind_of(statement.name) is not None
    before = script.catalog.feeds.named(statement.name).owner if is_replaced else ""
    owner = statement.owner or before or script.owner
    put = _virtual(script, replace(statement, or_replace=False, owner=owner))
    _put(script, put, is_replaced=is_replaced)
    return Outcome(
        message=f"{'replaced' if is_replaced else 'created'} {statement.name}", name=statement.name
    )


def alter(script: ScriptContext, statement: AlterFeed) -> Outcome:
    name = statement.name
    if script.names.kind_of(name) == "source":
        _check_address(statement.url or "", statement.place)
        _alter_source(script, statement)
    else:
        _alter_virtual(script, statement)
    if statement.rename is not None:
        _rename(script, name, statement.rename)
        name = statement.rename
    return Outcome(message=f"altered {name}", name=name)


def drop(script: ScriptContext, statement: DropFeed) -> Outcome:
    if statement.if_exists and script.names.kind_of(statement.name) is None:
        return Outcome(message=f"there was no {statement.name}", name=statement.name)
    drop_all(script.catalog, statement.name, script.now)
    script.catalog.feeds.drop(statement.name)
    script.names.remove(statement.name)
    return Outcome(message=f"dropped {statement.name}", name=statement.name)


def _check_address(url: str, place: Place | None) -> None:
    """Refuse what could never be fetched; other protocols, and files of this machine."""
    if url and not url.startswith(PUSHED) and wire_url(url) is None:
        hint = f"addresses begin with http:// or https://, or with {PUSHED} where documents are only pushed"
        refuse(place, url, f"{without_secrets(url)!r} cannot be fetched", hint)


def source_of(statement: RegisterFeed, now: datetime) -> NewFeed:
    """A source, as the statement registers it."""
    return NewFeed(
        name=statement.name,
        kind="source",
        statement=format_statement(statement),
        # Nobody is asked for what is pushed.
        url="" if statement.url.startswith(PUSHED) else statement.url,
        reads=_reads([statement.feed] if statement.feed else []),
        owner=statement.owner,
        created_at=now,
    )


def _virtual(script: ScriptContext, statement: CreateFeed) -> NewFeed:
    return NewFeed(
        name=statement.name,
        kind="virtual",
        statement=format_statement(statement),
        reads=_reads(feeds_used(statement.query)),
        owner=statement.owner,
        created_at=script.now,
    )


def _reads(names: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """Feeds by name; all sources together are no feed."""
    return tuple(name for name in names if name != EVERY_SOURCE)


def _put(script: ScriptContext, new: NewFeed, *, is_replaced: bool) -> None:
    if is_replaced:
        script.made[new.name] = script.catalog.feeds.replace(new)
        script.names.put(new)
    else:
        script.add(new)


def _alter_source(script: ScriptContext, statement: AlterFeed) -> None:
    if statement.rename is not None:
        hint = f"create feed {statement.rename} from {statement.name}"
        raise CatalogError(
            f"a source cannot be renamed: its items are identified by the name {statement.name!r}", hint=hint
        )
    record = script.catalog.feeds.named(statement.name)
    registered = registered_by(record.statement)
    url = registered.url if statement.url is None else statement.url
    every = registered.every if statement.every is None else statement.every or None
    owner = registered.owner if statement.owner is None else statement.owner
    hub = registered.hub if statement.hub is None else statement.hub
    id_path = registered.id_path if statement.id_path is None else statement.id_path
    changed = replace(registered, url=url, every=every, owner=owner, hub=hub, id_path=id_path)
    if changed != registered:
        _put(script, source_of(changed, script.now), is_replaced=True)
        if every != registered.every or every is not None:
            _pace(script, changed)
    if hub != registered.hub:
        _set_hub(script, changed)
    if id_path != registered.id_path:
        _set_id_path(script, changed)
    if statement.is_paused is not None:
        _pause(script, statement.name, is_paused=statement.is_paused)


def _pace(script: ScriptContext, statement: RegisterFeed) -> None:
    """The polling interval of a source is stored with its state."""
    if statement.url and not statement.url.startswith(PUSHED):
        source = script.catalog.sources.named(statement.name)
        script.catalog.sources.save([polled_every(source, statement.every, script.now)])


def _set_hub(script: ScriptContext, statement: RegisterFeed) -> None:
    """Set the hub that the statement names, or none."""
    if statement.hub and (not wire_url(statement.hub) or statement.url.startswith(PUSHED)):
        raise CatalogError(
            f"{statement.hub!r} cannot be the hub of {statement.name!r}",
            hint="the hub and the source both need an http address",
        )
    source = script.catalog.sources.named(statement.name)
    script.catalog.sources.save([with_hub(source, statement.hub)])


def _set_id_path(script: ScriptContext, statement: RegisterFeed) -> None:
    """Where ids are is remembered with what is known of a source that is fetched; others have their statement."""
    if statement.url and not statement.url.startswith(PUSHED):
        source = script.catalog.sources.named(statement.name)
        script.catalog.sources.save([replace(source.state, id_path=statement.id_path)])


def _pause(script: ScriptContext, name: str, *, is_paused: bool) -> None:
    state = script.catalog.sources.named(name).state
    script.catalog.sources.save([replace(state, status="paused" if is_paused else "active")])


def _alter_virtual(script: ScriptContext, statement: AlterFeed) -> None:
    if statement.is_paused is not None:
        raise CatalogError(
            f"{statement.name!r} is a virtual feed and is not fetched",
            hint="pause its sources, or the subscriptions to it",
        )
    record = script.catalog.feeds.named(statement.name)
    query = statement.query or script.names.query_of(statement.name)
    assert query is not None, "a virtual feed has a query"
    owner = record.owner if statement.owner is None else statement.owner
    if statement.query is not None or owner != record.owner:
        _put(script, _virtual(script, CreateFeed(statement.name, query, owner=owner)), is_replaced=True)


def _rename(script: ScriptContext, old: str, new: str) -> None:
    """Replaces the name in the feed's own statement, in the feeds that read it, and in the subscriptions to it."""
    feeds, query = script.catalog.feeds, script.names.query_of(old)
    assert query is not None, "only virtual feeds are renamed"
    record = feeds.named(old)
    statement = format_statement(CreateFeed(new, query, owner=record.owner))
    readers = [feeds.named(name) for name in feeds.readers(old)]
    feeds.rename(old, new, statement)
    script.names.remove(old)
    script.names.put(Definition(record.id, new, "virtual", statement))
    for reader in readers:
        _reads_renamed(script, reader, old, new)
    for subscription in script.catalog.subscriptions.all(feed=new):
        _subscribes_renamed(script, subscription, old, new)


def _subscribes_renamed(script: ScriptContext, record: SubscriptionRecord, old: str, new: str) -> None:
    changed = NewSubscription(
        feed=new,
        statement=renamed_statement(record.statement, old, new),
        channel=record.channel,
        target=record.target,
        schedule=record.schedule,
        options=record.options,
        owner=record.owner,
        created_at=record.created_at,
    )
    script.catalog.subscriptions.replace(record.id, changed)


def _reads_renamed(script: ScriptContext, reader: FeedRecord, old: str, new: str) -> None:
    (statement,) = parse(reader.statement)
    if isinstance(statement, CreateFeed):
        put = _virtual(script, replace(statement, query=renamed_query(statement.query, old, new)))
    else:
        assert isinstance(statement, RegisterFeed), "a feed is kept as the statement that makes it"
        put = source_of(replace(statement, feed=new), script.now)
    _put(script, put, is_replaced=True)


def renamed_query(query: Query, old: str, new: str) -> Query:
    joins = tuple(replace(join, secondary=_member(join.secondary, old, new)) for join in query.joins)
    return replace(query, source=_member(query.source, old, new), joins=joins)


def renamed_statement(text: str, old: str, new: str) -> str:
    """A subscription's statement; empty for one that was created without a statement."""
    statements = parse(text)
    if not statements or not isinstance(statements[0], Subscribe):
        return text
    return format_statement(
        replace(statements[0], feed=new if statements[0].feed == old else statements[0].feed)
    )


def _member(member: Member, old: str, new: str) -> Member:
    match member:
        case Named(name):
            return replace(member, name=new) if name == old else member
        case Group(members):
            return replace(member, members=tuple(_member(part, old, new) for part in members))
        case Xscl(body):
            return replace(member, body=_body(body, old, new))


def _body(body: PathBlock | BlockJoin, old: str, new: str) -> PathBlock | BlockJoin:
    if isinstance(body, PathBlock):
        return _block(body, old, new)
    return replace(body, left=_body(body.left, old, new), right=_block(body.right, old, new))


def _block(block: PathBlock, old: str, new: str) -> PathBlock:
    return replace(block, feed=new) if block.feed == old else block
