"""Every channel says all of itself in its own file."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from feedweir.channel_kinds import CHANNEL_KINDS, SENT_CHANNELS, WRITTEN_CHANNELS
from feedweir.config import Settings
from feedweir.deliver.channels import channel_types as folder
from feedweir.deliver.channels.channel_types import ChannelContext, channel_type
from feedweir.deliver.send.open_channels import open_channels
from feedweir.deliver.send.poster import Answer, Post
from feedweir.errors import DeliveryError, SettingsError


async def no_web(post: Post) -> Answer:
    raise DeliveryError("nothing is posted here")


def context(tmp_path: Path, **settings: object) -> ChannelContext:
    return ChannelContext(
        settings=replace(Settings(), **settings),  # type: ignore[arg-type]
        outputs=tmp_path,
        link_secret="s",
        post=no_web,
        clock=lambda: datetime(2026, 3, 1, tzinfo=UTC),
    )


def opened(context: ChannelContext) -> set[str]:
    with ExitStack() as stack:
        return set(open_channels(context, stack))


def test_every_channel_that_is_sent_has_a_file_of_its_name_and_no_other_file_is_a_channel() -> None:
    files = {path.stem for path in Path(str(folder.__file__)).parent.glob("*.py")}
    assert set(SENT_CHANNELS) <= files
    assert files - set(SENT_CHANNELS) == {"__init__", "channel_types", "smtp"}


def test_a_channel_that_statements_can_ask_for_says_what_its_target_is_unless_it_is_fetched() -> None:
    for name in WRITTEN_CHANNELS:
        assert bool(CHANNEL_KINDS[name].target) == CHANNEL_KINDS[name].is_sent, name


def test_only_a_channel_that_signs_makes_secrets() -> None:
    for name in SENT_CHANNELS:
        assert (channel_type(name).new_secret is not None) == CHANNEL_KINDS[name].has_secret, name


def test_what_the_settings_do_not_allow_stays_closed(tmp_path: Path) -> None:
    always = opened(context(tmp_path))
    assert always >= {"file", "webhook"}
    assert always.isdisjoint({"mail", "websub"})
    assert opened(context(tmp_path, smtp_host="localhost")) == always | {"mail"}
    assert opened(context(tmp_path, public_url="https://weir.example/")) == always | {"websub"}
    assert "notify" not in opened(context(tmp_path, notify=False))


def test_a_setting_of_a_channel_that_cannot_be_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="setting smtp_security: 'ssl' is not none, starttls or tls"):
        opened(context(tmp_path, smtp_host="localhost", smtp_security="ssl"))


@pytest.mark.parametrize(
    ("channel", "target", "message"),
    [
        ("mail", "ann", "'ann' is not a mail address"),
        ("webhook", "ftp://host/", "'ftp://host/' is not an http or https address"),
        ("webhook", "http://", "is not an http or https address"),
        ("file", "../news.rss", "is not a path below the directory `outputs`"),
        ("file", "news.exe", ".exe is not the suffix of a feed format"),
    ],
)
def test_a_target_that_can_never_be_reached_is_refused(channel: str, target: str, message: str) -> None:
    with pytest.raises(DeliveryError, match=message) as error:
        channel_type(channel).check_target(target, False)
    assert error.value.hint


def test_a_file_of_any_kind_can_be_written_by_a_stylesheet() -> None:
    channel_type("file").check_target("news.exe", True)


def test_a_receiver_that_is_gone_ends_a_hubs_lease_and_pauses_what_people_asked_for() -> None:
    ended = {name for name in SENT_CHANNELS if channel_type(name).when_gone == "dropped"}
    assert ended == {name for name in SENT_CHANNELS if not CHANNEL_KINDS[name].is_written}
