"""Sending from the command line, and what became of what was sent."""

from __future__ import annotations

import json
import mailbox
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from feedweir import Weir
from tests.cli.conftest import NEWS, press_ctrl_c
from tests.cli.test_commands import Shell
from tests.deliver.receivers import Receiver, Request, http_receiver

pytestmark = pytest.mark.usefixtures("until_asked_to_stop")


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("FEEDWEIR_ALLOW_PRIVATE", "yes")
    with http_receiver() as opened:
        yield opened


def answering(status: int) -> Callable[[Request], tuple[int, dict[str, str], bytes]]:
    """Answers once, and then presses Ctrl-C, so that `send` comes to its end when it has heard."""

    def answer(request: Request) -> tuple[int, dict[str, str], bytes]:
        press_ctrl_c()
        return status, {}, b""

    return answer


def subscribed(newsroom: Shell, receiver: Receiver) -> None:
    """Two items come after the subscription."""
    assert newsroom("exec", f"subscribe to Water as Desk output webhook {receiver.url}") == 0
    with Weir.open("data") as weir:
        weir.push("Post", NEWS.replace(b">g-", b">later-").replace(b" falls", b" rises"))
        weir.run()


def rows(newsroom: Shell, *command: str) -> list[dict[str, Any]]:
    assert newsroom(*command, "--json") == 0
    return list(json.loads(newsroom.said))


def test_send_delivers_until_ctrl_c_and_settles_what_is_on_its_way(
    newsroom: Shell, receiver: Receiver
) -> None:
    subscribed(newsroom, receiver)
    receiver.answer = answering(204)
    assert newsroom("send") == 0
    assert "Ctrl-C" in newsroom.said
    assert len(receiver.requests) == 1
    sent = rows(newsroom, "log", "Desk")
    assert [(row["outcome"], row["title"], row["source"]) for row in sent] == [
        ("sent", "River rises again", "Post"),
        ("sent", "River [rises]", "Post"),
    ]
    assert rows(newsroom, "dead", "Desk") == []


def test_a_log_is_read_in_pieces_and_by_name_or_number(newsroom: Shell, receiver: Receiver) -> None:
    subscribed(newsroom, receiver)
    receiver.answer = answering(204)
    assert newsroom("send") == 0
    first = rows(newsroom, "log", "Desk", "--limit", "1")
    rest = rows(newsroom, "log", "Desk", "--before", str(first[0]["id"]))
    assert [row["title"] for row in (*first, *rest)] == ["River rises again", "River [rises]"]
    (known,) = (row["number"] for row in subscriptions(newsroom))
    assert rows(newsroom, "log", str(known)) == [*first, *rest]


def subscriptions(newsroom: Shell) -> list[dict[str, Any]]:
    assert newsroom("exec", "show subscriptions", "--json") == 0
    (outcome,) = json.loads(newsroom.said)
    return list(outcome["rows"])


def test_brackets_in_a_title_are_shown_as_they_are(newsroom: Shell, receiver: Receiver) -> None:
    subscribed(newsroom, receiver)
    receiver.answer = answering(204)
    assert newsroom("send") == 0
    assert newsroom("log", "Desk") == 0
    assert "River [rises]" in newsroom.said


def test_what_was_refused_for_good_is_dead_with_its_reason_and_can_be_sent_again(
    newsroom: Shell, receiver: Receiver
) -> None:
    subscribed(newsroom, receiver)
    receiver.answer = answering(400)
    assert newsroom("send") == 0
    given_up = rows(newsroom, "dead", "Desk")
    assert len(given_up) == 2
    assert all("400" in row["reason"] for row in given_up)

    assert newsroom("replay", "Desk") == 0
    assert newsroom.said.startswith("2 ")
    assert rows(newsroom, "dead", "Desk") == []
    receiver.answer = answering(204)
    assert newsroom("send") == 0
    assert [row["outcome"] for row in rows(newsroom, "log", "Desk")][:2] == ["sent", "sent"]


def test_a_receiver_that_is_gone_pauses_its_subscription_until_somebody_resumes_it(
    newsroom: Shell, receiver: Receiver
) -> None:
    subscribed(newsroom, receiver)
    receiver.answer = answering(410)
    assert newsroom("send") == 0
    assert [row["status"] for row in subscriptions(newsroom)] == ["paused"]
    assert ["410" in row["reason"] for row in rows(newsroom, "dead", "Desk")] == [True, True]
    assert newsroom("replay", "Desk") == 0
    assert newsroom.said.startswith("2 ")
    assert "alter subscription Desk resume" in newsroom.said
    assert newsroom("exec", "alter subscription Desk resume") == 0
    receiver.answer = answering(204)
    assert newsroom("send") == 0
    assert [row["outcome"] for row in rows(newsroom, "log", "Desk")][:2] == ["sent", "sent"]


def test_what_was_sent_is_sent_again_only_where_that_is_asked_for(
    newsroom: Shell, receiver: Receiver
) -> None:
    subscribed(newsroom, receiver)
    receiver.answer = answering(204)
    assert newsroom("send") == 0
    entries = [row["entry"] for row in rows(newsroom, "log", "Desk")]

    def count(*options: str) -> int:
        assert newsroom("replay", "Desk", *options) == 0
        return int(newsroom.said.split()[0])

    tomorrow = datetime.now(UTC) + timedelta(days=1)
    assert count() == 0
    assert count("--since", f"{tomorrow:%Y-%m-%d}") == 0
    assert count("--until", "2020-01-01") == 0
    assert count("--entry", str(entries[0])) == 1
    assert count("--since", "2020-01-01 00:00", "--until", f"{tomorrow:%Y-%m-%dT%H:%M:%S}+02:00") == 1


def report(about: str) -> bytes:
    message = EmailMessage()
    message["From"] = "mailer-daemon@example.org"
    message["To"] = "bounces@example.org"
    message["Subject"] = about
    message.set_content("No such user.")
    return message.as_bytes()


def test_mail_that_is_no_report_is_read_and_is_none_of_ours(newsroom: Shell, tmp_path: Path) -> None:
    box = mailbox.Maildir(tmp_path / "box")
    box.add(report("hello"))
    assert newsroom("bounces", "box") == 0
    assert newsroom.said.startswith("0 ")
    assert [path.parent.name for path in (tmp_path / "box").rglob("*") if path.is_file()] == ["cur"]


def test_an_mbox_file_is_emptied(newsroom: Shell, tmp_path: Path) -> None:
    box = mailbox.mbox(tmp_path / "box")
    box.add(report("hello"))
    box.close()
    assert newsroom("bounces", "box") == 0
    assert newsroom.said.startswith("0 ")
    assert (tmp_path / "box").read_bytes() == b""
