"""`feedweir send`, `log`, `dead`, `replay` and `bounces`: deliver to subscribers, and see what happened."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feedweir.cli.context import LogLevel, context_of, show_rows, wait_for
from feedweir.errors import CatalogError, near

if TYPE_CHECKING:
    from feedweir.deliver.delivery_admin import DeliveryAdmin
    from feedweir.deliver.pages.page_subscription import LogLine, SubscriptionView

_MOST_NEAR = 10_000
_MOMENTS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON array.")]
Subscription = Annotated[str, typer.Argument(help="The name or number of a subscription.")]
Most = Annotated[int, typer.Option(min=1, help="How many lines to show.")]


def add_to(app: typer.Typer) -> None:
    for command in (send, log, dead, replay, bounces):
        app.command()(command)


def send(context: typer.Context, log_level: LogLevel = None) -> None:
    """Deliver to subscribers until Ctrl-C. Several processes may do so at once; each entry is sent by one of them."""
    from feedweir.health.log_setup import log_to_stderr
    from feedweir.service.composition import sending_loops

    given = context_of(context)
    settings = given.settings(log_level=log_level)
    log_to_stderr(settings.log_level)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with ExitStack() as stack:
        weir = stack.enter_context(given.weir())
        for loop in sending_loops(weir, settings):
            stack.callback(loop.stop)
            loop.start()
        typer.echo("Sending. Press Ctrl-C to stop.")
        wait_for(stop)
        typer.echo("Stopping: waiting for deliveries in progress …")


def log(
    context: typer.Context,
    subscription: Subscription,
    limit: Most = 50,
    before: Annotated[
        int | None, typer.Option(help="Show only lines older than the one with this id.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the delivery log of a subscription, newest first: what was sent, what failed, and why.

    It can also be read after the subscription was dropped.
    """
    from feedweir.service.composition import delivery_admin

    given = context_of(context)
    with given.weir() as weir:
        deliveries = delivery_admin(weir, given.settings())
        rows = [
            _row(line)
            for line in deliveries.log(_known(deliveries, subscription).id, before=before, limit=limit)
        ]
    show_rows(rows, ("id", "entry", "at", "outcome", "attempt", "title", "source", "reason"), as_json=as_json)


def dead(
    context: typer.Context, subscription: Subscription, limit: Most = 50, as_json: AsJson = False
) -> None:
    """Show the deliveries of a subscription that were given up, and why."""
    from feedweir.service.composition import delivery_admin

    given = context_of(context)
    with given.weir() as weir:
        deliveries = delivery_admin(weir, given.settings())
        rows = [_row(line) for line in deliveries.dead(_known(deliveries, subscription).id, limit=limit)]
    show_rows(rows, ("entry", "at", "attempt", "title", "source", "reason"), as_json=as_json)


def replay(
    context: typer.Context,
    subscription: Subscription,
    entry: Annotated[
        list[int] | None,
        typer.Option(help="Only the entry with this id, even if it was sent. May be repeated."),
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(formats=_MOMENTS, help="Only what was sent or given up at or after this time (UTC)."),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(formats=_MOMENTS, help="Only what was sent or given up before this time (UTC)."),
    ] = None,
) -> None:
    """Send again what was given up for a subscription; with --since, --until or --entry, also what was sent."""
    from feedweir.deliver.pages.page_subscription import replay_message
    from feedweir.service.composition import delivery_admin

    given = context_of(context)
    with given.weir() as weir:
        deliveries = delivery_admin(weir, given.settings())
        view = _living(deliveries, subscription)
        count = deliveries.replay(view.id, entry or None, since=_utc(since), until=_utc(until))
    typer.echo(replay_message(count, view))


def bounces(
    context: typer.Context,
    mailbox: Annotated[
        str, typer.Argument(help="A Maildir, an mbox file, or `-` for one message on standard input.")
    ],
) -> None:
    """Record reports of mail servers about messages that could not be delivered."""
    from feedweir.deliver.send.bounces import read_mailbox, record_bounce

    with context_of(context).weir() as weir:
        if mailbox == "-":
            ours = int(record_bounce(weir.catalog, sys.stdin.buffer.read(), weir.clock()) is not None)
        else:
            ours = read_mailbox(weir.catalog, Path(mailbox), weir.clock())
    typer.echo(f"{ours} of the messages were reports about subscriptions of this installation")


def _known(deliveries: DeliveryAdmin, name: str) -> SubscriptionView:
    """Also one that was dropped: its log can be read as long as it is kept."""
    found = deliveries.named(name, with_dropped=True)
    if found is None:
        names = (one.name for one in deliveries.subscriptions(limit=_MOST_NEAR))
        hint = near(name, names) or "feedweir exec 'show subscriptions'"
        raise CatalogError(f"there is no subscription {name!r}", hint=hint)
    return found


def _living(deliveries: DeliveryAdmin, name: str) -> SubscriptionView:
    found = _known(deliveries, name)
    if found.status == "dropped":
        raise CatalogError(f"the subscription {name!r} was dropped", hint="subscribe again")
    return found


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.replace(tzinfo=moment.tzinfo or UTC)


def _row(line: LogLine) -> dict[str, Any]:
    return {
        "id": line.id,
        "entry": line.entry,
        "at": line.at.isoformat(timespec="seconds"),
        "outcome": line.outcome,
        "attempt": line.attempt,
        "title": line.title,
        "source": line.source,
        "reason": line.reason,
    }
