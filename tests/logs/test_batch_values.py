"""A batch as values: put together from receipts, written down and read again."""

from __future__ import annotations

import json
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from feedweir.logs.batches import (
    Assignment,
    Manifest,
    Receipt,
    SourceReport,
    manifest_of,
    reports_of,
    with_failures,
)

names = st.text(max_size=12)
numbers = st.integers(0, 2**40)
reports = st.builds(
    SourceReport,
    documents=numbers,
    failure=names,
    published=st.lists(numbers, max_size=3),
    description=st.none() | st.dictionaries(names, names, max_size=2),
    is_new=st.booleans(),
)
receipts = st.builds(
    Receipt,
    items_file=names,
    element_files=st.lists(names, max_size=2).map(tuple),
    item_count=numbers,
    element_count=numbers,
    sources=st.dictionaries(names, reports, max_size=3),
    feed_failures=st.dictionaries(numbers.map(str), names, max_size=2),
    doubts=st.lists(names, max_size=2).map(tuple),
    seen_files=st.lists(names, max_size=2).map(tuple),
)


@given(st.lists(receipts, max_size=3, unique_by=lambda one: one.items_file), numbers)
def test_a_manifest_is_read_as_it_was_written(some: list[Receipt], upto: int) -> None:
    manifest = manifest_of(Assignment(0, upto, 5), some)
    assert Manifest.from_json(json.loads(json.dumps(manifest.to_json()))) == manifest


def test_a_manifest_of_an_older_version_has_what_it_does_not_name() -> None:
    old = {
        "after": 0,
        "upto": 1,
        "version": 2,
        "item_files": [],
        "element_files": [],
        "item_count": 0,
        "element_count": 0,
        "sources": {},
    }
    manifest = Manifest.from_json(old)
    assert (manifest.tasks, manifest.batches, manifest.states) == (1, 1, ())
    assert manifest.steps == ((1, 2),)


def receipt(name: str, items: int, **more: object) -> Receipt:
    return Receipt(
        items_file=name,
        element_files=(f"{name}.e",),
        item_count=items,
        element_count=2 * items,
        **{"sources": {}, **more},  # type: ignore[arg-type]
    )


def test_the_order_in_which_tasks_end_changes_nothing() -> None:
    some = [
        receipt(
            "b", 1, sources={"Post": SourceReport(documents=1)}, seen_files=("s",), doubts=("landing/2",)
        ),
        receipt("a", 2, sources={"Crier": SourceReport(documents=4)}, doubts=("landing/2", "landing/1")),
        receipt("c", 0, feed_failures={"7": "too much"}),
    ]
    made = {json.dumps(manifest_of(Assignment(0, 4, 1), each).to_json()) for each in permutations(some)}
    (text,) = made
    manifest = Manifest.from_json(json.loads(text))
    assert manifest.item_files == ("a", "b"), "a task without items wrote no file"
    assert (manifest.item_count, manifest.element_count, manifest.tasks) == (3, 6, 3)
    assert list(manifest.sources) == ["Crier", "Post"]
    assert manifest.doubts == ("landing/1", "landing/2")
    assert manifest.feed_failures == {"7": "too much"}
    assert manifest.seen_files == ("s",)


def test_a_batch_without_tasks_is_an_empty_one() -> None:
    manifest = manifest_of(Assignment(3, 4, 1), [])
    assert (manifest.after, manifest.upto, manifest.item_count, manifest.tasks) == (3, 4, 0, 1)
    assert manifest.is_emptied == (False, False)


def test_a_failure_that_a_source_had_already_is_kept() -> None:
    sources = {"A": SourceReport(failure="no feed"), "B": SourceReport(), "C": SourceReport()}
    done = with_failures(sources, {"A": "too deep", "B": "too deep"})
    assert {name: one.failure for name, one in done.items()} == {
        "A": "no feed",
        "B": "too deep",
        "C": "",
    }
    assert with_failures(sources, {}) == sources


def test_attempts_at_one_task_have_names_of_their_own_that_begin_with_the_batch() -> None:
    tried = [Assignment(0, 9, 1, 3, attempt) for attempt in ("", "5eed", "beef")]
    assert [one.name for one in tried] == [
        "000000000009-003",
        "000000000009-003-5eed",
        "000000000009-003-beef",
    ]


def test_a_manifest_names_the_attempts_that_count() -> None:
    some = [receipt(f"{name}.parquet", 1) for name in ("000000000004-001-beef", "000000000004-000-5eed")]
    found = manifest_of(Assignment(0, 4, 1), some)
    assert found.attempts == ("000000000004-000-5eed", "000000000004-001-beef")


def test_what_tasks_learned_of_one_source_is_put_together_in_the_order_of_its_documents() -> None:
    early = SourceReport(documents=2, sightings=9, failure="no feed", arrived="1", published=[3, 9])
    late = SourceReport(documents=1, sightings=4, description={"title": "Post"}, arrived="2")
    matched = SourceReport(items=5, revisions=1, published=[4], is_new=True)
    found = reports_of([{"Post": early}, {"Post": late, "Crier": late}, {"Post": matched}])
    assert found == {
        "Post": SourceReport(3, 13, 5, 1, "no feed", {"title": "Post"}, "2", [3, 4, 9], True),
        "Crier": late,
    }
