"""Content-Encoding undone, within limits."""

from __future__ import annotations

import gzip
import zlib
from contextlib import suppress

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedweir.acquire.fetch.http_rules import TooLarge, Undecodable, decoded


def raw_deflate(body: bytes) -> bytes:
    encoder = zlib.compressobj(wbits=-15)
    return encoder.compress(body) + encoder.flush()


ENCODERS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "Deflate ": raw_deflate,
    "br": lambda body: pa.compress(body, codec="brotli", asbytes=True),
    "zstd": lambda body: pa.compress(body, codec="zstd", asbytes=True),
    "identity": bytes,
    "": bytes,
}


@pytest.mark.parametrize("encoding", sorted(ENCODERS))
@given(body=st.binary(max_size=300))
def test_what_was_encoded_is_decoded(encoding: str, body: bytes) -> None:
    assert decoded(ENCODERS[encoding](body), encoding, 300) == body


@pytest.mark.parametrize("encoding", sorted(ENCODERS))
def test_one_byte_too_many_is_too_large_and_just_enough_is_not(encoding: str) -> None:
    body = b"a" * 100_000
    assert decoded(ENCODERS[encoding](body), encoding, 100_000) == body
    with pytest.raises(TooLarge):
        decoded(ENCODERS[encoding](body), encoding, 99_999)


@given(st.binary(max_size=100), st.sampled_from([*sorted(ENCODERS), "gzip, br", "compress", "a,b,c,d"]))
def test_rubbish_is_undecodable_and_nothing_worse(body: bytes, encoding: str) -> None:
    with suppress(TooLarge, Undecodable):
        assert len(decoded(body, encoding, 50)) <= 50


def test_layers_are_undone_from_the_outside() -> None:
    assert decoded(zlib.compress(gzip.compress(b"x")), "gzip, deflate", 100) == b"x"


def test_gzip_members_follow_each_other_and_rubbish_after_them_is_ignored() -> None:
    assert decoded(gzip.compress(b"one ") + gzip.compress(b"two") + b"\0\0", "gzip", 100) == b"one two"


def test_many_small_members_cannot_pass_the_limit_together() -> None:
    with pytest.raises(TooLarge):
        decoded(gzip.compress(b"a" * 50) * 3, "gzip", 120)


def test_a_server_that_announces_gzip_and_sends_text_is_understood() -> None:
    assert decoded(b"<rss/>", "gzip", 100) == b"<rss/>"


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_a_body_that_breaks_off_is_undecodable(encoding: str) -> None:
    whole = ENCODERS[encoding](bytes(range(256)) * 20)
    with pytest.raises(Undecodable):
        decoded(whole[: len(whole) // 2], encoding, 1 << 20)
