from pathlib import Path

import pytest

from feedweir.config import load_settings
from feedweir.errors import SettingsError


def test_flags_overrule_the_environment_which_overrules_the_file(tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_text('port = 1\nhost = "a"\ntasks = 3\n')
    environment = {"FEEDWEIR_PORT": "2", "FEEDWEIR_HOST": "b", "OTHER": "x"}
    settings = load_settings(file=file, environment=environment, flags={"port": 3, "host": None})
    assert (settings.port, settings.host, settings.tasks) == (3, "b", 3)


def test_the_catalog_is_a_file_in_the_data_directory_unless_named() -> None:
    assert load_settings(environment={"FEEDWEIR_DATA": "x"}).catalog_url.endswith("/x/catalog.sqlite")
    assert (
        load_settings(environment={"FEEDWEIR_CATALOG": "postgresql://h/d"}).catalog_url == "postgresql://h/d"
    )


def test_a_secret_may_be_named_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("postgresql://u:p@h/d\n")
    settings = load_settings(environment={"FEEDWEIR_CATALOG_FILE": str(tmp_path / "secret")})
    assert settings.catalog_url == "postgresql://u:p@h/d"


@pytest.mark.parametrize(("text", "value"), [("yes", True), ("0", False), ("On", True), ("FALSE", False)])
def test_booleans_are_what_people_write(text: str, value: bool) -> None:
    assert load_settings(environment={"FEEDWEIR_FETCH": text}).fetch is value


def test_a_list_is_written_as_a_list_or_with_commas(tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_text('allowed_hosts = ["a.example", "b.example"]\n')
    assert load_settings(file=file, environment={}).allowed_hosts == ("a.example", "b.example")
    given = {"FEEDWEIR_ALLOWED_HOSTS": "a.example, b.example,"}
    assert load_settings(environment=given).allowed_hosts == ("a.example", "b.example")


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"FEEDWEIR_PROT": "1"}, "did you mean `port`"),
        ({"FEEDWEIR_PORT": "many"}, "'many' is not a whole number"),
        ({"FEEDWEIR_FETCH": "maybe"}, "not yes or no"),
        ({"FEEDWEIR_CATALOG_FILE": "/nowhere/at/all"}, "No such file"),
    ],
)
def test_a_setting_that_cannot_be_used_says_so(environment: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_settings(environment=environment)


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_text("port = = 1")
    with pytest.raises(SettingsError, match=r"f\.toml"):
        load_settings(file=file, environment={})
