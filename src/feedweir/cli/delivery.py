"""`feedweir send`, `log`, `dead`, `replay` and `bounces`: deliver, and see what became of it."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from feedweir.cli.context import context_of, show_rows
from feedweir.cli.sending import bounce_loop, desk_of, send_loop
from feedweir.deliver.page_subscription import LogLine, SubscriptionView, told_of_replay
from feedweir.errors import CatalogError
from feedweir.keeper.bouncing import read_mailbox, record_bounce
from feedweir.keeper.desk import Desk

_MOMENTS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON array.")]
Subscription = Annotated[str, typer.Argument(help="A subscription by its name or number.")]
Most = Annotated[int, typer.Option(min=1, help="How many lines.")]


def add_to(app: typer.Typer) -> None:
    for command in (send, log, dead, replay, bounces):
        app.command()(command)


def send(context: typer.Context) -> None:
    """Deliver to subscribers until Ctrl-C, beside any number of others who do; each element is sent by one of them."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    given = context_of(context)
    with ExitStack() as stack:
        weir = stack.enter_context(given.weir())
        for loop in (send_loop(weir, given.settings()), bounce_loop(weir, given.settings())):
            if loop is not None:
                stack.callback(loop.stop)
                loop.start()
        typer.echo("Sending. Stop with Ctrl-C.")
        stop.wait()
        typer.echo("Stopping: settling what is on its way …")


def log(
    context: typer.Context,
    subscription: Subscription,
    limit: Most = 50,
    before: Annotated[int | None, typer.Option(help="Go on before this line.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what was sent to a subscription, also to one that was dropped, what failed and why, the latest first."""
    given = context_of(context)
    with given.weir() as weir:
        desk = desk_of(weir, given.settings())
        rows = [_row(line) for line in desk.log(_known(desk, subscription).id, before=before, limit=limit)]
    show_rows(rows, ("id", "entry", "at", "outcome", "attempt", "title", "source", "reason"), as_json=as_json)


def dead(
    context: typer.Context, subscription: Subscription, limit: Most = 50, as_json: AsJson = False
) -> None:
    """Show what was given up for a subscription, and why."""
    given = context_of(context)
    with given.weir() as weir:
        desk = desk_of(weir, given.settings())
        rows = [_row(line) for line in desk.dead(_known(desk, subscription).id, limit=limit)]
    show_rows(rows, ("entry", "at", "attempt", "title", "source", "reason"), as_json=as_json)


def replay(
    context: typer.Context,
    subscription: Subscription,
    entry: Annotated[
        list[int] | None, typer.Option(help="Only this one, also if it was sent; may be given again.")
    ] = None,
    since: Annotated[
        datetime | None, typer.Option(formats=_MOMENTS, help="What was sent or given up from then on; UTC.")
    ] = None,
    until: Annotated[datetime | None, typer.Option(formats=_MOMENTS, help="And before then; UTC.")] = None,
) -> None:
    """Send after all what was given up for a subscription; with --since, --until or --entry, also what was sent."""
    given = context_of(context)
    with given.weir() as weir:
        desk = desk_of(weir, given.settings())
        view = _living(desk, subscription)
        count = desk.replay(view.id, entry or None, since=_utc(since), until=_utc(until))
    typer.echo(told_of_replay(count, view))


def bounces(
    context: typer.Context,
    mailbox: Annotated[str, typer.Argument(help="A Maildir, an mbox file, or `-` for one message.")],
) -> None:
    """Take in reports of mail servers about messages that could not be delivered."""
    with context_of(context).weir() as weir:
        if mailbox == "-":
            ours = int(record_bounce(weir.catalog, sys.stdin.buffer.read(), weir.clock()) is not None)
        else:
            ours = read_mailbox(weir.catalog, Path(mailbox), weir.clock())
    typer.echo(f"{ours} about our subscriptions")


def _known(desk: Desk, name: str) -> SubscriptionView:
    """Also one that was dropped: what it was sent can be read as long as it is kept."""
    found = desk.named(name, with_dropped=True)
    if found is None:
        raise CatalogError(f"there is no subscription {name!r}", hint="feedweir exec 'show subscriptions'")
    return found


def _living(desk: Desk, name: str) -> SubscriptionView:
    found = _known(desk, name)
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
