"""Responses: what a client has is not sent again, what is large is compressed, what went wrong says what and where."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta

import pytest
from fastapi import Request
from fastapi.responses import Response
from hypothesis import given
from hypothesis import strategies as st

from feedweir.web.negotiation import is_unchanged, preferred, settled, weights
from feedweir.web.responses import body_response, charset_of, json_response, problem

NOW = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)
CHANGED = datetime(2026, 3, 1, 12, 0, 0, 999_999, tzinfo=UTC)
LARGE = b"The river rises. " * 100


def asking(**headers: str) -> Request:
    named = [
        (name.replace("_", "-").lower().encode(), value.encode("latin-1")) for name, value in headers.items()
    ]
    return Request({"type": "http", "method": "GET", "path": "/", "headers": named, "query_string": b""})


def answered(body: bytes = b"<feed/>", modified: datetime | None = CHANGED, **headers: str) -> Response:
    return body_response(asking(**headers), body, "application/atom+xml", now=NOW, modified=modified)


def test_a_body_has_a_tag_a_date_and_may_be_kept_but_not_used_without_asking() -> None:
    reply = answered()
    assert reply.headers["ETag"].startswith('"')
    assert reply.headers["Last-Modified"] == "Sun, 01 Mar 2026 12:00:00 GMT"
    assert reply.headers["Cache-Control"] == "no-cache"
    assert reply.headers["Vary"] == "Accept, Accept-Encoding"


def test_the_same_bytes_have_the_same_tag_and_others_another() -> None:
    assert answered().headers["ETag"] == answered(modified=None).headers["ETag"]
    assert answered().headers["ETag"] != answered(b"<feed />").headers["ETag"]


@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', "*", '"a,b",{}'])
def test_who_has_the_body_gets_no_body_but_its_headers(form: str) -> None:
    tag = answered().headers["ETag"]
    reply = answered(If_None_Match=form.format(tag))
    assert (reply.status_code, reply.body) == (304, b"")
    assert reply.headers["ETag"] == tag
    assert reply.headers["Last-Modified"] == "Sun, 01 Mar 2026 12:00:00 GMT"


@pytest.mark.parametrize("tag", ["", '"', '"nope"', "nope", 'W/"nope"'])
def test_who_has_another_body_gets_this_one_whatever_its_date_says(tag: str) -> None:
    later = "Sun, 01 Mar 2037 12:00:00 GMT"
    assert answered(If_None_Match=tag, If_Modified_Since=later).status_code == 200


@pytest.mark.parametrize(
    ("since", "status"),
    [
        ("Sun, 01 Mar 2026 12:00:00 GMT", 304),
        ("Sunday, 01-Mar-26 12:00:00 GMT", 304),
        ("Sun Mar  1 12:00:00 2026", 304),
        ("Sun, 01 Mar 2026 11:59:59 GMT", 200),
        ("yesterday", 200),
        ("Sun, 99 Mar 2026 12:00:00 GMT", 200),
        ("", 200),
    ],
)
def test_dates_count_whole_seconds_and_nonsense_is_no_date(since: str, status: int) -> None:
    assert answered(If_Modified_Since=since).status_code == status


@given(st.datetimes(timezones=st.just(UTC)), st.timedeltas(timedelta(0), timedelta(seconds=5)))
def test_no_two_bodies_of_one_second_share_a_date(modified: datetime, age: timedelta) -> None:
    try:
        now = modified + age
    except OverflowError:
        return
    is_over = now.replace(microsecond=0) > modified.replace(microsecond=0)
    assert settled(modified, now) == (modified if is_over else None)


def test_only_large_bodies_are_compressed_and_only_for_who_takes_it() -> None:
    zipped = answered(LARGE, Accept_Encoding="gzip")
    assert zipped.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(bytes(zipped.body)) == LARGE
    for reply in (
        answered(LARGE),
        answered(LARGE, Accept_Encoding="br"),
        answered(b"x", Accept_Encoding="gzip"),
    ):
        assert "Content-Encoding" not in reply.headers


def test_the_compressed_body_is_the_same_every_time_under_a_tag_of_its_own() -> None:
    first, second = (answered(LARGE, Accept_Encoding="gzip") for _ in range(2))
    assert first.body == second.body
    assert first.headers["ETag"] == answered(LARGE).headers["ETag"][:-1] + '-gzip"'


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_who_has_either_form_of_a_body_has_the_body(encoding: str) -> None:
    for kept in ("gzip", "identity"):
        tag = answered(LARGE, Accept_Encoding=kept).headers["ETag"]
        assert answered(LARGE, Accept_Encoding=encoding, If_None_Match=tag).status_code == 304


@pytest.mark.parametrize(
    ("media_type", "said"),
    [
        ("text/html", "text/html; charset=utf-8"),
        ("application/atom+xml", "application/atom+xml; charset=utf-8"),
        ("application/json", "application/json"),
        ("application/feed+json", "application/feed+json"),
    ],
)
def test_the_encoding_is_said_of_everything_but_json(media_type: str, said: str) -> None:
    assert charset_of(media_type) == said


def test_a_problem_is_json_for_programs() -> None:
    reply = problem(asking(), 404, "There is no feed named X.", near=("Y",), headers={"X-A": "b"}, line=3)
    assert reply.headers["Content-Type"] == "application/problem+json"
    assert (reply.headers["Vary"], reply.headers["X-A"]) == ("Accept", "b")
    assert json.loads(bytes(reply.body)) == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "There is no feed named X.",
        "near": ["Y"],
        "line": 3,
    }


def test_a_problem_is_a_page_for_people_with_links_to_what_is_near() -> None:
    page = problem(asking(Accept="text/html"), 404, "There is no <b>.", near=("a/b", "c"))
    text = bytes(page.body).decode()
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "There is no &lt;b&gt;." in text
    assert 'href="/feeds/a%2Fb"' in text


@pytest.mark.parametrize("accept", ["application/json", "*/*", "", "image/png", "application/*"])
def test_a_problem_is_a_page_only_for_who_likes_one_best(accept: str) -> None:
    assert problem(asking(Accept=accept), 500, "x").headers["Content-Type"] == "application/problem+json"


def test_a_problem_does_not_tell_the_secrets_in_addresses() -> None:
    reply = problem(asking(), 409, "http://ann:s3cret@post.example/ is registered already")
    assert b"s3cret" not in reply.body
    assert b"post.example" in reply.body


def test_json_is_utf8_and_half_a_character_does_not_stop_it() -> None:
    assert bytes(json_response({"a": "ü東"}).body).decode() == '{"a": "ü東"}\n'
    assert bytes(json_response("\ud800").body) == b'"?"\n'


# Against a reading of RFC 9110 that is as plain as can be.

TYPES = ("text/html", "application/rss+xml", "application/atom+xml")
RANGES = st.sampled_from([*TYPES, "text/*", "application/*", "*/*", "image/png"])
QUALITIES = st.sampled_from(["", ";q=1", ";q=0.9", ";q=0.5", ";q=0.001", ";q=0", "; q=0.7;x=y"])


def liked(media_type: str, accepted: list[tuple[str, float]]) -> float:
    """How much: the most specific range that has the type decides."""
    kind = media_type.partition("/")[0]
    for wanted in (media_type, f"{kind}/*", "*/*"):
        found = [quality for name, quality in accepted if name == wanted]
        if found:
            return found[-1]
    return 0.0


@given(st.lists(st.tuples(RANGES, QUALITIES), min_size=1, max_size=6))
def test_the_best_liked_type_is_chosen_as_the_standard_says(parts: list[tuple[str, str]]) -> None:
    header = ", ".join(name + quality for name, quality in parts)
    accepted = [(name, weights(f"x{quality}")["x"]) for name, quality in parts]
    best = max(liked(media_type, accepted) for media_type in TYPES)
    expected = next(media_type for media_type in TYPES if liked(media_type, accepted) == best)
    assert preferred(header, TYPES) == expected


@pytest.mark.parametrize(
    ("header", "read"),
    [
        ("a;q=2", {"a": 1.0}),
        ("a;q=-1", {"a": 0.0}),
        ("a;q=", {"a": 0.0}),
        ("a;q=nan", {"a": 0.0}),
        (",, ;q=1,", {}),
        ("A/B;level=1;Q=0.5", {"a/b": 0.5}),
    ],
)
def test_qualities_are_kept_within_their_bounds(header: str, read: dict[str, float]) -> None:
    assert weights(header) == read


@given(st.lists(st.sampled_from(['"a"', '"b"', 'W/"a"', "*"]), max_size=4), st.booleans())
def test_a_tag_that_the_client_has_outranks_every_date(tags: list[str], is_old: bool) -> None:
    since = "Sun, 01 Mar 2026 11:00:00 GMT" if is_old else "Sun, 01 Mar 2037 12:00:00 GMT"
    expected = any(tag in ("*", '"a"', 'W/"a"') for tag in tags)
    assert is_unchanged(", ".join(tags), since, ['"a"'], NOW) == expected
