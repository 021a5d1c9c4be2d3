"""The parts of an installation, joined: what is started works together, and ends with the context."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from feedweir import SettingsError, StorageError, Weir
from feedweir.config import Settings
from feedweir.pipeline.charge import in_charge, is_running
from feedweir.service.composition import Installation, Variations, sending_loops, sending_options
from tests.deliver.living import in_process
from tests.deliver.receivers import Receiver, http_receiver

DOCUMENT = (
    b"<rss version='2.0'><channel><item><guid>1</guid><title>River rises</title></item></channel></rss>"
)


def settings_in(directory: Path, **changed: object) -> Settings:
    given = {"data": directory / "data", "port": 0, "fetch": False, "allow_private": True, **changed}
    return Settings(**given)  # type: ignore[arg-type]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with http_receiver() as opened:
        yield opened


def test_a_pushed_document_is_matched_served_and_delivered(tmp_path: Path, receiver: Receiver) -> None:
    arrived = threading.Event()

    def answer(_: object) -> tuple[int, dict[str, str], bytes]:
        arrived.set()
        return 204, {}, b""

    receiver.answer = answer
    settings = settings_in(tmp_path)
    with (
        Weir.configured(settings) as weir,
        Installation(weir, settings, Variations(engine=in_process)) as installation,
    ):
        weir.execute(
            "register feed push://post as Post; create feed Water from Post where title contains 'river'"
        )
        weir.execute(f"subscribe to Water output webhook {receiver.url}")
        installation.serve()
        installation.start()
        url = installation.server.url
        body = Request(f"{url}/push/Post", data=DOCUMENT, method="POST")
        with urlopen(body) as answered:
            assert answered.status < 300
        assert arrived.wait(60)
        with urlopen(f"{url}/feeds/Water.json") as served:
            assert [item["title"] for item in json.load(served)["items"]] == ["River rises"]
        with urlopen(f"{url}/readyz") as ready:
            assert ready.status == 200
    assert not _answers(url)


def test_the_data_directory_is_locked_as_long_as_it_runs(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with Weir.configured(settings) as weir:
        with Installation(weir, settings, Variations(engine=in_process)):
            assert is_running(weir.directory.root)
            with pytest.raises(StorageError, match="in use"), in_charge(weir.directory.root):
                pass
        assert not is_running(weir.directory.root)


def test_what_is_to_be_closed_at_the_end_is_closed_after_the_door(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, send=False)
    ended: list[bool] = []
    with Weir.configured(settings) as weir:
        with Installation(weir, settings, Variations(engine=in_process)) as installation:
            installation.at_end(lambda: ended.append(_answers(installation.server.url)))
            installation.serve()
            assert _answers(installation.server.url)
            assert ended == []
        assert ended == [False]


def _answers(url: str) -> bool:
    try:
        with urlopen(f"{url}/healthz"):
            return True
    except OSError:
        return False


def test_an_installation_that_does_not_send_has_no_sender(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, send=False)
    with (
        Weir.configured(settings) as weir,
        Installation(weir, settings, Variations(engine=in_process)) as one,
    ):
        assert one._senders == []
        assert len(sending_loops(weir, settings)) == 1
        assert len(sending_loops(weir, settings_in(tmp_path, bounces_mailbox="box"))) == 2


def test_links_are_signed_with_the_same_secret_every_time(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with Weir.configured(settings) as weir:
        first, second = (sending_options(weir, settings).link_secret for _ in range(2))
        assert first == second != ""
        assert sending_options(weir, settings_in(tmp_path, link_secret="ours")).link_secret == "ours"


def test_serving_to_others_without_a_token_is_refused_before_anything_starts(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, host="0.0.0.0")
    with Weir.configured(settings) as weir, pytest.raises(SettingsError, match="FEEDWEIR_TOKEN"):
        Installation(weir, settings)


def test_a_clock_and_bounds_of_logs_come_from_the_settings(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, retain_items="20 GB", document_seconds=2.5, document_memory_mb=64)
    with Weir.configured(settings) as weir:
        assert weir.retention.items.size == 20 << 30
        assert not weir.retention.landing
        assert (weir.allowance.seconds, weir.allowance.memory_bytes) == (2.5, 64 << 20)
    with pytest.raises(SettingsError, match="retain_landing"):
        Weir.configured(settings_in(tmp_path, retain_landing="for ever"))
