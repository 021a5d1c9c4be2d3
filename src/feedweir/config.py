"""Settings: defaults < TOML file < `FEEDWEIR_*` environment < flags. Only the command line reads them."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from feedweir.errors import SettingsError

PREFIX = "FEEDWEIR_"
DEFAULT_FILE = Path("feedweir.toml")

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set, with its default."""

    data: Path = Path("data")
    """The directory that holds the logs and, by default, the catalog."""
    catalog: str = ""
    """A database URL; empty is a SQLite file in the data directory. `postgresql://…` for PostgreSQL."""
    kernels: str = ""
    """Where compiled kernels are kept; empty is the user's cache directory."""
    master: str = "local[*]"
    """Where Spark runs."""
    tasks: int = 0
    """Tasks a batch is cut into; 0 is the number of cores that Spark has."""
    driver_memory: str = "1g"
    batch_bytes: int = 16 << 20
    """Compressed documents in one batch at most."""
    document_seconds: float = 5.0
    """Processor time that reading one document may take, and a second more for each megabyte of it; then it is set
    aside. 0 is no bound."""
    document_memory_mb: int = 1024
    """Memory that reading one document may take. 0 is no bound."""
    host: str = "127.0.0.1"
    port: int = 8080
    allowed_hosts: tuple[str, ...] = ()
    """Further names under which the HTTP door may be reached, a list or separated by commas; `*` is any."""
    token: str = ""
    """What must be presented over HTTP, to read and to change; needed to serve beyond this machine."""
    public_reads: str = "none"
    """What may be read without the token: `none`, `feeds` or `all` (never what concerns subscribers)."""
    stalled_after_s: int = 300
    """Documents that wait for longer than this to be published are told as standing still, by all doors."""
    fetch: bool = True
    """Whether this process fetches sources."""
    fetch_on: str = "auto"
    """`driver` fetches in this process, `executors` in Spark tasks; `auto` on executors unless Spark is local."""
    allow_private: bool = False
    """Whether sources may lie on private and loopback addresses."""
    floor_s: int = 900
    """A source is never asked more often than this."""
    interval_s: int = 3600
    """How often a source with ten items a day is asked; busier ones oftener, quieter ones less."""
    refresh: str = "planned"
    """`planned` (by each source's rate and rhythm), `proportional` (by its rate) or `fixed` (always the same)."""
    requests_per_second: float = 50.0
    """Requests that all sources together may cost in a second."""
    requests_per_day: int = 0
    """And in a day; 0 is no bound."""
    host_spacing_s: float = 1.0
    """The time between two requests to one host."""
    host_requests_per_day: int = 20_000
    sample_port: int = 8081
    """Where the sample's feeds are played."""
    send: bool = True
    """Whether this process delivers to subscribers."""
    public_url: str = ""
    """Where readers reach this installation; mails, feeds and hubs link to it."""
    smtp_host: str = ""
    """The mail server; without one, mail waits in the outbox."""
    smtp_port: int = 25
    smtp_security: str = "none"
    """`none`, `starttls` or `tls`."""
    smtp_user: str = ""
    smtp_password: str = ""
    """Better by FEEDWEIR_SMTP_PASSWORD_FILE than in a file that others read."""
    mail_from: str = "feedweir@localhost"
    bounces: str = ""
    """Where mail servers report what they could not deliver (`bounces@example.org`); the sender when empty."""
    bounces_mailbox: str = ""
    """A Maildir or mbox file that these reports arrive in; read every minute."""
    link_secret: str = ""
    """What links in messages are signed with; made once and kept in the catalog when empty."""
    notify: bool = False
    """Whether `output notify` may be used: Apprise goes wherever a URL says, to private addresses too."""
    keep_sent_days: float = 90.0
    """How long deliveries that were made stay in the outbox and in the delivery log; 0 keeps them for ever."""
    contact: str = ""
    """A URL that publishers may turn to; part of the User-Agent."""

    @property
    def catalog_url(self) -> str:
        return self.catalog or f"sqlite:///{self.data.resolve()}/catalog.sqlite"


def load_settings(
    *,
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings in force; a flag that is None was not given."""
    environment = os.environ if environment is None else environment
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    values = {**_from_file(file), **_from_environment(environment), **given}
    types = {field.name: field.type for field in fields(Settings)}
    return Settings(**{name: _converted(name, value, str(types[name])) for name, value in values.items()})


def _from_file(file: Path | None) -> dict[str, Any]:
    path = file or DEFAULT_FILE
    if file is None and not path.exists():
        return {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from error
    for name in values:
        _known(name, str(path))
    return values


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for variable, value in environment.items():
        if not variable.startswith(PREFIX):
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name.endswith("_file"):
            name, value = name.removesuffix("_file"), _secret(variable, value)
        _known(name, variable)
        values[name] = value
    return values


def _secret(variable: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SettingsError(f"{variable}: {error}") from error


def _known(name: str, place: str) -> None:
    names = [field.name for field in fields(Settings)]
    if name not in names:
        near = get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(names)}"
        raise SettingsError(f"{place}: there is no setting {name!r}", hint=hint)


def _converted(name: str, value: Any, type_name: str) -> Any:
    try:
        return _CONVERTERS[type_name](value)
    except (ValueError, TypeError) as error:
        raise SettingsError(f"setting {name}: {value!r} is not {_KINDS[type_name]}") from error


def _boolean(value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in _TRUE | _FALSE:
        raise ValueError(text)
    return text in _TRUE


def _number(value: Any) -> float:
    number = float(value)
    if not 0 <= number < float("inf"):
        raise ValueError(value)
    return number


def _texts(value: Any) -> tuple[str, ...]:
    """A list, as TOML has it, or one text with commas, as an environment has it."""
    if not isinstance(value, str | list | tuple):
        raise TypeError(value)
    parts = value.split(",") if isinstance(value, str) else map(str, value)
    return tuple(part.strip() for part in parts if part.strip())


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "Path": Path,
    "str": str,
    "int": int,
    "float": _number,
    "bool": _boolean,
    "tuple[str, ...]": _texts,
}
_KINDS = {
    "Path": "a path",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "yes or no",
    "tuple[str, ...]": "a list of names",
}
