"""Notifications through the real Apprise, to a real receiver: its `json` service posts to any HTTP address."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from feedweir.catalog import Catalog, open_catalog
from feedweir.deliver.channels.channel_types import retry_policies
from feedweir.deliver.channels.notify import NotifyChannel, with_apprise
from feedweir.deliver.send.sender import Sender
from tests.deliver.musical import numbered
from tests.deliver.outgoing import Clock, Memory, arrive, sender_of, step, subscribed
from tests.deliver.receivers import Receiver, http_receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with http_receiver() as receiver:
        yield receiver


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with open_catalog(f"sqlite:///{tmp_path}/catalog.db") as catalog:
        yield catalog


def notifying(catalog: Catalog, clock: Clock) -> Sender:
    notify = with_apprise()
    assert notify is not None
    return sender_of(catalog, Memory(numbered(2)), {"notify": NotifyChannel(notify)}, clock)


def service(receiver: Receiver) -> str:
    return f"json://{urlsplit(receiver.url).netloc}/hook"


def two_items_for(catalog: Catalog, target: str, clock: Clock) -> int:
    subscription = subscribed(catalog, channel="notify", target=target)
    arrive(catalog, subscription, [item.seq for item in numbered(2)], clock.now)
    return subscription


def test_a_service_of_apprise_gets_the_text_of_the_digest_once(catalog: Catalog, receiver: Receiver) -> None:
    clock = Clock()
    two_items_for(catalog, service(receiver), clock)
    sender = notifying(catalog, clock)
    assert (step(sender), step(sender)) == (1, 0)
    (request,) = receiver.requests
    message = json.loads(request.body)
    assert message["title"] == "News: 2 new"
    assert all(item.title in message["message"] for item in numbered(2))


def test_a_service_that_is_down_is_tried_again_and_its_reason_is_told(
    catalog: Catalog, receiver: Receiver
) -> None:
    clock = Clock()
    answers = [503, 200]
    receiver.answer = lambda _: (answers.pop(0), {}, b"")
    subscription = two_items_for(catalog, service(receiver), clock)
    sender = notifying(catalog, clock)
    assert step(sender) == 0
    (first, *_) = catalog.deliveries.of(subscription)
    assert "503" in first.reason
    clock.advance(31)
    assert step(sender) == 1
    assert len(receiver.requests) == 2


def test_a_service_that_never_takes_it_ends_in_a_dead_letter(catalog: Catalog, receiver: Receiver) -> None:
    clock = Clock()
    receiver.answer = lambda _: (400, {}, b"")
    subscription = two_items_for(catalog, service(receiver), clock)
    sender = notifying(catalog, clock)
    for _ in range(retry_policies()["notify"].attempts):
        assert step(sender) == 0
        clock.advance(86_400)
    assert len(receiver.requests) == retry_policies()["notify"].attempts
    assert catalog.outbox.counts(subscription_id=subscription) == {"dead": 2}


def test_an_address_that_apprise_does_not_know_is_a_dead_letter_at_once(catalog: Catalog) -> None:
    clock = Clock()
    subscription = two_items_for(catalog, "nonsense://x", clock)
    assert step(notifying(catalog, clock)) == 0
    assert {(line.outcome, line.reason) for line in catalog.deliveries.of(subscription)} == {
        ("dead", "Apprise does not know this kind of address")
    }
