"""Secrets in addresses are hidden, and nothing else is."""

from __future__ import annotations

import time

import pytest

from feedweir.text.redact import without_secrets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:pa@ss@example.org/@me?a@b", "https://example.org/@me?a@b"),
        ("register feed 'HTTP://me@example.org' as A", "register feed 'HTTP://example.org' as A"),
        ("https://example.org/?apikey=abc", "https://example.org/?apikey=***"),
        ("https://example.org/?a=1&API_Key=abc&b=2#x", "https://example.org/?a=1&API_Key=***&b=2#x"),
        ("a='https://x.y/?x-api-key=1' b", "a='https://x.y/?x-api-key=***' b"),
        ("<https://x.y/?a=1&amp;access_token=1&amp;b=2>", "<https://x.y/?a=1&amp;access_token=***&amp;b=2>"),
        (
            "https://x.y/?X-Amz-Signature=ab&X-Amz-Credential=c",
            "https://x.y/?X-Amz-Signature=***&X-Amz-Credential=***",
        ),
        ("https://x.y/#access%5Ftoken=1", "https://x.y/#access%5Ftoken=***"),
        ("HTTP 403 for /feed?auth=1&user=2", "HTTP 403 for /feed?auth=***&user=2"),
        ("?password=1&passwd=2&pwd=3&pass=4&sig=5", "?password=***&passwd=***&pwd=***&pass=***&sig=***"),
        (
            "?client_secret=1&jwt=2&sessionid=3&key=4&code=5",
            "?client_secret=***&jwt=***&sessionid=***&key=***&code=***",
        ),
        ("https://x.y/?token=a?b=c", "https://x.y/?token=***"),
    ],
)
def test_secrets_are_hidden(text: str, shown: str) -> None:
    assert without_secrets(text) == shown
    assert without_secrets(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/@me/feed",
        "https://example.org?to=me@example.org",
        "me@example.org",
        "https://x.y/?channel_id=UCabcdefghijklmnopqrstuv&author=Ann&keyword=key&country_code=at&signal=1",
        "create feed F from A where $r[title contains 'key=1' and score = 3]",
    ],
)
def test_the_rest_stays_as_it_is(text: str) -> None:
    assert without_secrets(text) == text


@pytest.mark.parametrize("piece", ["http://", "@", "?", "&a", "?token", "&amp;", "=", "http://a", "?a=", "#"])
def test_hiding_takes_time_in_proportion_to_the_text(piece: str) -> None:
    def cost(times: int) -> float:
        text = piece * times + "@="
        started = time.process_time()
        without_secrets(text)
        return time.process_time() - started

    small, large = min(cost(20_000) for _ in range(3)), min(cost(80_000) for _ in range(3))
    assert large < 10 * small + 0.05
