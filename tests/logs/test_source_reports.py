"""What tasks learned of sources says the same in files and in a manifest."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from feedweir.logs.batches import Manifest, SourceReport, reports_of
from feedweir.logs.source_reports import SourceReports
from feedweir.logs.store import Store

counts = st.integers(0, 3)
one_report = st.builds(
    SourceReport,
    documents=counts,
    sightings=counts,
    items=counts,
    revisions=counts,
    failure=st.sampled_from(["", "it is empty", "it is not XML"]),
    description=st.none() | st.builds(dict, title=st.text(max_size=4), updated=st.none()),
    arrived=st.sampled_from(["", "2026-01-01T00:00:00+00:00"]),
    published=st.lists(st.integers(0, 9), max_size=3).map(sorted),
    is_new=st.booleans(),
)
of_a_task = st.dictionaries(st.sampled_from("abcdé"), one_report, max_size=4)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(of_a_task, st.booleans()), max_size=4))
def test_files_and_the_manifest_say_what_the_tasks_said(
    tasks: list[tuple[dict[str, SourceReport], bool]],
) -> None:
    in_files = [reports for reports, is_long in tasks if is_long]
    told = reports_of(reports for reports, is_long in tasks if not is_long)
    expected = reports_of([*in_files, told])
    with TemporaryDirectory() as root:
        found = _published(Store(Path(root)), in_files, told)
        assert found.by_source() == dict(sorted(expected.items()))
        assert found.names == sorted(expected)
        assert found.documents == sum(one.documents for one in expected.values())
        assert found.failures() == {
            name: one.failure for name, one in sorted(expected.items()) if one.failure
        }
        assert found.newcomers() == sorted(name for name, one in expected.items() if one.is_new)
        assert found.having_news() == sorted(
            name for name, one in expected.items() if one.items or one.revisions
        )


def _published(
    store: Store, in_files: list[dict[str, SourceReport]], told: dict[str, SourceReport]
) -> SourceReports:
    names = tuple(f"000000000001-{number:03d}-0000000a.parquet" for number in range(len(in_files)))
    for name, reports in zip(names, in_files, strict=True):
        store.write_reports(name, reports)
    store.publish(Manifest(0, 1, 1, (), (), 0, 0, sources=told, source_files=names))
    return store.reports(store.manifests()[0])
