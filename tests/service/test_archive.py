"""An installation's stored data, open for reading."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from feedweir import CatalogError, SettingsError, Weir
from feedweir.config import Settings
from feedweir.service.archive import Archive

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def document(*numbers: int) -> bytes:
    items = "".join(f"<item><guid>{n}</guid><title>River {n}</title></item>" for n in numbers)
    return f"<rss version='2.0'><channel>{items}</channel></rss>".encode()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with Weir.open(tmp_path / "data", clock=lambda: NOON) as weir:
        weir.execute(
            "register feed push://a as A; create feed Odd from A where title contains any of ('1', '3')"
        )
        weir.push("A", document(3, 2, 1))
        weir.run()
    return tmp_path / "data"


def test_what_an_installation_published_is_read_without_running_it(data: Path) -> None:
    with Archive.open(data, clock=lambda: NOON) as archive:
        assert [item.title for item in archive.items("A")] == ["River 3", "River 2", "River 1"]
        assert [item.title for item in archive.items("Odd")] == ["River 3", "River 1"]
        assert [item.title for item in archive.items("Odd", limit=1)] == ["River 3"]


def test_a_feed_that_does_not_exist_is_refused_by_name(data: Path) -> None:
    with Archive.open(data) as archive, pytest.raises(CatalogError, match="no feed 'Even'"):
        archive.items("Even")


def test_an_archive_and_an_installation_see_the_same(data: Path) -> None:
    with Weir.open(data, clock=lambda: NOON) as weir, Archive.open(data) as archive:
        weir.push("A", document(5))
        weir.run()
        assert [item.title for item in archive.items("A", limit=1)] == ["River 5"]


def test_a_directory_is_made_with_its_parents(tmp_path: Path) -> None:
    with Archive.open(tmp_path / "a" / "b") as archive:
        assert archive.items  # open
        assert (tmp_path / "a" / "b" / "catalog.sqlite").exists()


def test_an_address_is_no_directory() -> None:
    with pytest.raises(SettingsError, match=r"'https://weir\.example/data' is not a directory"):
        Archive.open("https://weir.example/data")


def test_a_store_of_objects_needs_a_catalog_that_all_machines_reach() -> None:
    with pytest.raises(SettingsError, match="data in s3://bucket/data the catalog must be in PostgreSQL"):
        Archive.open("s3://bucket/data")


def test_nothing_is_removed_unless_the_settings_bound_the_logs(data: Path) -> None:
    with Archive.configured(Settings(data=data), clock=lambda: NOON) as archive:
        before = archive.retained()
        archive.remove_surplus()
        assert archive.retained() == before
        assert len(archive.items("A")) == 3


def test_what_is_older_than_the_settings_allow_is_removed(data: Path) -> None:
    later = NOON.replace(year=2028)
    with Weir.open(data, clock=lambda: later) as weir:
        weir.push("A", document(13))
        weir.run()
    bounded = Settings(data=data, retain_items="1 day", retain_elements="1 day")
    with Archive.configured(bounded, clock=lambda: later) as archive:
        assert len(archive.items("A")) == 4
        archive.remove_surplus()
        assert [item.title for item in archive.items("A")] == ["River 13"]
        assert archive.items("Odd") == []
