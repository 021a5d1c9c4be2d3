"""The pages of subscriptions: delivery log, failures, and how to unsubscribe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from feedweir.channel_kinds import SENT_CHANNELS
from feedweir.deliver.address import Address
from feedweir.deliver.pages.page import dotted, foreign, frame, moment
from feedweir.deliver.render.markup import Html, join, tag

Status = Literal["active", "paused", "dropped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionView:
    """A subscription as its reader sees it."""

    id: int
    name: str
    feed: str
    channel: str
    target: str
    schedule: str = ""
    """The schedule as a statement writes it; empty for immediate delivery."""
    status: Status = "active"
    statement: str = ""
    created: datetime
    last_sent: datetime | None = None
    waiting: int = 0
    dead: int = 0
    """Dead letters."""
    token: str = ""
    """Signs the link to its page; empty if there is none."""
    unsubscribe_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One attempt to deliver one item."""

    id: int
    at: datetime
    outcome: Literal["sent", "failed", "dead", "replayed", "returned"]
    attempt: int
    reason: str = ""
    entry: int
    """Its number in the outbox."""
    source: str = ""
    title: str = ""
    seq: int = 0
    """Of the item; 0 if it has been deleted."""


_WORDS = {
    "sent": "sent",
    "failed": "failed, will be retried",
    "dead": "given up",
    "replayed": "queued again",
    "returned": "bounced",
}
_STATUS = {"active": "active", "paused": "paused", "dropped": "ended"}


def replay_message(count: int, view: SubscriptionView) -> str:
    """The answer to a replay."""
    items = "1 item" if count == 1 else f"{count:,} items"
    if count and view.status == "paused":
        how = f"(alter subscription {view.name} resume)"
        return f"{items} will be sent again when the subscription is resumed {how}."
    return f"{items} will be sent again."


def render_subscriptions_page(
    subscriptions: Sequence[SubscriptionView], after: int, address: Address
) -> bytes:
    """A page of all subscriptions; the next one starts after the number `after`, unless it is 0."""
    rows = [_row(each, address) for each in subscriptions]
    more = f"{address.subscriptions()}?after={after}"
    nothing = "None yet. Create one with a statement such as: subscribe to News output mail 'me@example.org';"
    return frame(
        address,
        "Subscriptions · Feedweir",
        tag("h1", "Subscriptions", class_="visually-hidden"),
        tag("h2", "Subscriptions"),
        tag("ul", rows, class_="feeds") if rows else tag("p", nothing, class_="quiet"),
        tag("p", tag("a", "More", href=more, rel="next"), class_="more") if after else None,
        kind="list",
    )


def _row(view: SubscriptionView, address: Address) -> Html:
    return tag(
        "li",
        tag(
            "div",
            tag("h3", tag("a", _title(view), href=address.subscription(view.token))),
            tag("p", _aim(view, address), class_="about"),
            class_="what",
        ),
        tag("div", tag("p", dotted(_figures(view)), class_="meta"), class_="how"),
        class_="feed",
    )


def _title(view: SubscriptionView) -> str:
    return f"Subscription {view.id}" if view.name == str(view.id) else view.name


def _aim(view: SubscriptionView, address: Address) -> Html:
    when = f", {view.schedule}" if view.schedule else ""
    feed = tag("a", foreign("bdi", view.feed), href=address.page(view.feed))
    target = join(" ", tag("bdi", view.target)) if view.target else None
    return join(feed, f" → {view.channel}", target, when)


def _figures(view: SubscriptionView) -> list[Html]:
    parts = [tag("span", _STATUS[view.status], class_=f"status {view.status}")]
    parts += [tag("span", f"{view.waiting:,} waiting")] if view.waiting else []
    parts += [tag("span", f"{view.dead:,} given up", class_="bad")] if view.dead else []
    if view.channel in SENT_CHANNELS:
        sent = join("last sent ", moment(view.last_sent)) if view.last_sent else "nothing sent yet"
        parts.append(tag("span", sent))
    return parts


def render_subscription_page(
    view: SubscriptionView, log: Sequence[LogLine], before: int, address: Address, *, message: str = ""
) -> bytes:
    """A subscription with its delivery log, latest first; the next page starts before the line `before`, unless 0."""
    more = f"{address.subscription(view.token)}?before={before}"
    return frame(
        address,
        f"{_title(view)} · Feedweir",
        _introduction(view, address),
        tag("p", message, class_="message", role="status") if message else None,
        _dead(view, address),
        tag("h2", "Delivery log"),
        _table(log, address) if log else tag("p", "Nothing has been sent yet.", class_="quiet"),
        tag("p", tag("a", "Earlier", href=more, rel="next"), class_="more") if before else None,
        kind="subscription",
    )


def _introduction(view: SubscriptionView, address: Address) -> Html:
    is_over = view.status == "dropped" or not view.unsubscribe_token
    out = None if is_over else tag("a", "Unsubscribe", href=address.unsubscribe(view.unsubscribe_token))
    return tag(
        "header",
        tag("p", "Subscription", class_="kind"),
        foreign("h1", _title(view)),
        tag("p", _aim(view, address), class_="lead"),
        tag("p", dotted(_figures(view)), class_="meta"),
        tag("pre", tag("code", view.statement), class_="statement") if view.statement else None,
        tag("p", out) if out else None,
        class_="introduction",
    )


def _dead(view: SubscriptionView, address: Address) -> Html | None:
    if not view.dead or view.status == "dropped":
        return None
    items = "One item was" if view.dead == 1 else f"{view.dead:,} items were"
    return tag(
        "form",
        tag(
            "p", f"{items} given up. The log below says why. Once the cause is fixed, they can be sent again."
        ),
        tag("button", "Send again", type="submit"),
        method="post",
        action=f"{address.subscription(view.token)}/replay",
        class_="failure act",
    )


def _table(log: Sequence[LogLine], address: Address) -> Html:
    head = tag("tr", [tag("th", name, scope="col") for name in ("When", "What", "Outcome")])
    rows = [_line(line, address) for line in log]
    return tag("table", tag("thead", head), tag("tbody", rows), class_="log")


def _line(line: LogLine, address: Address) -> Html:
    title = foreign("bdi", line.title or "an item that has been deleted")
    what = tag("a", title, href=address.item(line.seq)) if line.seq else title
    attempt = f" (attempt {line.attempt})" if line.attempt > 1 else ""
    return tag(
        "tr",
        tag("td", moment(line.at)),
        tag("td", what, tag("p", line.source, class_="meta") if line.source else None),
        tag(
            "td",
            tag("span", _WORDS[line.outcome], class_=f"outcome {line.outcome}"),
            attempt,
            tag("p", line.reason, class_="reason") if line.reason else None,
        ),
    )


def render_unsubscribe_page(view: SubscriptionView, address: Address) -> bytes:
    """Asks for confirmation: a mail scanner that follows the link must not end anything."""
    button = tag("button", "Unsubscribe", type="submit", class_="plain")
    form = tag(
        "form", button, method="post", action=address.unsubscribe(view.unsubscribe_token), class_="act"
    )
    return _notice(
        address,
        "Unsubscribe",
        join(
            "Stop sending ",
            _strong(view.feed),
            " to ",
            _strong(view.target or view.name),
            "?",
        ),
        form,
    )


def render_unsubscribed_page(view: SubscriptionView, address: Address) -> bytes:
    text = join(_strong(view.feed), " is no longer sent to ", _strong(view.target or view.name), ".")
    reader = tag("p", tag("a", "You can still read it here", href=address.page(view.feed)))
    return _notice(address, "You have unsubscribed", text, reader)


def _notice(address: Address, title: str, text: Html, then: Html) -> bytes:
    body = (tag("h1", title), tag("p", text, class_="lead"), then)
    return frame(address, f"{title} · Feedweir", *body, kind="problem")


def _strong(text: str) -> Html:
    return tag("strong", foreign("bdi", text))
