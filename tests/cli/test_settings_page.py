"""The page of settings is what the settings say, and its examples work."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from feedweir.cli.settings_page import SECTIONS, page
from feedweir.config import Settings, load_settings
from feedweir.language import parse

FILE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_page_is_up_to_date() -> None:
    assert FILE.read_text(encoding="utf-8") == page() + "\n", (
        "write it anew: python -m feedweir.cli.settings_page > docs/settings.md"
    )


def test_every_section_begins_with_a_setting() -> None:
    names = [field.name for field in fields(Settings)]
    places = [names.index(section.first) for section in SECTIONS]
    assert places == sorted(places)
    assert places[0] == 0


def test_the_examples_of_mail_are_settings_and_statements(tmp_path: Path) -> None:
    (toml,) = re.findall(r"```toml\n(.*?)```", page(), re.DOTALL)
    file = tmp_path / "feedweir.toml"
    file.write_text(toml)
    assert load_settings(file=file, environment={}).smtp_security == "starttls"
    statements = re.findall(r'feedweir exec "(.*)"', page())
    assert [len(parse(text)) for text in statements] == [1, 1]
