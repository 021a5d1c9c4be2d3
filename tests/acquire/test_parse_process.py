"""Documents read in a process of their own: one that is too much is stopped, and the others are read."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from benchmarks.parse import generated

from feedweir.acquire.parse.document_budget import NO_BOUND, Allowance
from feedweir.acquire.parse.parse_process import ATTEMPTS, ParseProcess, _portions
from feedweir.acquire.parse.parser import parse_batch
from feedweir.acquire.push import pushed_document
from feedweir.errors import DocumentError, FeedweirError
from feedweir.items.schema import DOCUMENT_SCHEMA, ITEM_SCHEMA

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
SHORT = Allowance(seconds=0.3, memory_bytes=1 << 30)
HOSTILE = (sys.executable, str(Path(__file__).parent / "hostile_parser.py"))


def rss(title: str) -> bytes:
    return f"<rss version='2.0'><channel><item><title>{title}</title></item></channel></rss>".encode()


def documents(bodies: Sequence[bytes]) -> pa.RecordBatch:
    rows = [
        {"number": number, "source": f"s{number}", "url": "", "media_type": "", "arrived": NOON, "body": body}
        for number, body in enumerate(bodies)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=DOCUMENT_SCHEMA)


@pytest.fixture(scope="module")
def hostile() -> Iterator[ParseProcess]:
    process = ParseProcess(SHORT, HOSTILE)
    yield process
    process.end()


def test_another_process_reads_what_this_one_reads() -> None:
    bodies = [*generated(30), b"no feed", b"", *generated(5)]
    random.Random(1).shuffle(bodies)
    process, batch = ParseProcess(Allowance()), documents(bodies)
    here, there = parse_batch(batch), process.parse(batch)
    process.end()
    assert not there.stopped
    assert there.batch.items.equals(here.items)
    assert there.batch.items.schema == ITEM_SCHEMA
    assert (there.batch.failures, there.batch.descriptions, there.batch.warnings) == (
        here.failures,
        here.descriptions,
        here.warnings,
    )


@pytest.mark.parametrize(
    ("title", "reason", "attempts"),
    [
        ("hang", "it takes more than 0.3 seconds to read", 1),
        ("hoard", "it takes more than 1024 MiB to read", ATTEMPTS),
        ("exit", "reading it crashes the process (exit code 3)", ATTEMPTS),
        ("segfault", "reading it crashes the process (SIGSEGV)", ATTEMPTS),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_document_that_is_too_much_is_stopped_and_the_others_are_read(
    hostile: ParseProcess, title: str, reason: str, attempts: int, place: int
) -> None:
    titles = ["one", "two", "three"]
    titles.insert(place, title)
    parsed = hostile.parse(documents(list(map(rss, titles))))
    assert parsed.batch.items.column("title").to_pylist() == ["one", "two", "three"]
    (stopped,) = parsed.stopped
    assert (stopped.number, stopped.source) == (place, f"s{place}")
    assert (stopped.reason, stopped.attempts, stopped.size) == (reason, attempts, len(rss(title)))


def test_several_are_stopped_in_one_go(hostile: ParseProcess) -> None:
    parsed = hostile.parse(documents(list(map(rss, ["exit", "hang", "one", "exit", "two", "hang"]))))
    assert parsed.batch.items.column("title").to_pylist() == ["one", "two"]
    assert sorted(one.number for one in parsed.stopped) == [0, 1, 3, 5]


def test_one_that_only_crashed_once_is_read(hostile: ParseProcess, tmp_path: Path) -> None:
    titles = ["one", f"once:{tmp_path}/crashed", "two"]
    parsed = hostile.parse(documents(list(map(rss, titles))))
    assert parsed.batch.items.column("title").to_pylist() == titles
    assert not parsed.stopped


PUSHED = (
    (rss("news"), "application/xml"),
    (b'{"title": "one"}', "application/json"),
    (b"<order><line sku='1'>x</line></order>", ""),
    (b'<urn:a> <urn:b> "c" .', "text/turtle"),
    (rss("cut off").removesuffix(b"</rss>") + b"<item>", ""),
)


@pytest.mark.parametrize(("body", "media_type"), PUSHED)
def test_a_pushed_document_is_read_as_it_is_read_here(
    hostile: ParseProcess, body: bytes, media_type: str
) -> None:
    given = ("Orders", body, media_type, NOON, "//line/@sku" if b"order" in body else "")
    assert hostile.pushed(*given) == pushed_document(*given)


@pytest.mark.parametrize("body", [b"", b"nothing", b"[", b"<rss><channel/></rss>", b"<html>no</html>"])
def test_a_pushed_document_that_says_nothing_is_refused_with_the_same_words(
    hostile: ParseProcess, body: bytes
) -> None:
    with pytest.raises(DocumentError) as here:
        pushed_document("Orders", body, "", NOON)
    with pytest.raises(DocumentError) as there:
        hostile.pushed("Orders", body, "", NOON)
    assert (there.value.message, there.value.hint) == (here.value.message, here.value.hint)


@pytest.mark.parametrize(
    ("title", "reason"),
    [
        ("hang", "it takes more than 0.3 seconds to read"),
        ("hoard", "it takes more than 1024 MiB to read"),
        ("segfault", "reading it crashes the process (SIGSEGV)"),
    ],
)
def test_a_pushed_document_that_is_too_much_is_refused_and_the_next_is_read(
    hostile: ParseProcess, title: str, reason: str
) -> None:
    with pytest.raises(DocumentError, match=re.escape(reason)):
        hostile.pushed("Orders", rss(title), "", NOON)
    assert hostile.pushed("Orders", rss("calm"), "", NOON).parsed.items[0].title == "calm"


def test_nothing_is_something_to_read(hostile: ParseProcess) -> None:
    parsed = hostile.parse(documents([]))
    assert parsed.batch.items.schema == ITEM_SCHEMA
    assert not parsed.batch.items.num_rows


def test_each_question_has_its_own_answer() -> None:
    process = ParseProcess(Allowance())
    for titles in (["one"], ["two"], ["three", "four", "five"], ["six"]):
        parsed = process.parse(documents(list(map(rss, titles))))
        assert parsed.batch.items.column("title").to_pylist() == titles
    process.end()


def test_portions_are_all_documents_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedweir.acquire.parse.parse_process.PORTION_BYTES", 10)
    batch = documents([b"x" * size for size in (4, 6, 1, 30, 2, 2, 0)])
    portions = list(_portions(batch))
    assert [len(portion) for portion in portions] == [2, 1, 1, 3]
    assert pa.Table.from_batches(portions).combine_chunks() == pa.Table.from_batches([batch])


def test_a_process_that_does_not_start_is_an_error() -> None:
    with pytest.raises(FeedweirError, match="did not start"):
        ParseProcess(SHORT, (sys.executable, "-c", "raise SystemExit(5)")).parse(documents([rss("one")]))


def test_without_a_bound_a_document_may_take_as_long_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedweir.acquire.parse.parse_process._PATIENCE_S", 0.1)
    process = ParseProcess(NO_BOUND, HOSTILE)
    parsed = process.parse(documents([rss("spin:3")]))
    process.end()
    assert not parsed.stopped
    assert len(parsed.batch.items) == 1


def test_no_bound_is_no_bound() -> None:
    assert Allowance(seconds=0).seconds_for(1 << 30) == 0
    assert Allowance().seconds_for(3 << 20) == 8
