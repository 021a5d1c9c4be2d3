"""Settings: defaults < TOML file < `FEEDWEIR_*` environment < flags. Only the command line reads them."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

from feedweir.errors import SettingsError, near

Table: TypeAlias = tuple[tuple[str, str], ...]
"""Names with values, as a table of TOML has them."""

PREFIX = "FEEDWEIR_"
DEFAULT_FILE = Path("feedweir.toml")

SECRETS = frozenset({"token", "smtp_password", "link_secret", "storage"})
"""Settings whose values are never shown."""

CHOICES = {
    "log_level": ("debug", "info", "warning", "error"),
    "public_reads": ("none", "feeds", "all"),
    "fetch_on": ("auto", "driver", "executors"),
    "refresh": ("planned", "proportional", "fixed"),
    "smtp_security": ("none", "starttls", "tls"),
}
"""Settings that take one of a few words."""

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, with their defaults."""

    data: Path | str = Path("data")
    """The directory that holds the logs and, by default, the catalog; or a place in a store of objects, as
    `s3://bucket/folder`, `gs://…` or `az://…`, with the catalog in PostgreSQL."""
    catalog: str = ""
    """A database URL, as `postgresql://…`; if empty, a SQLite file in the data directory."""
    storage: Table = ()
    """A table of what the environment does not say of a store of objects: `endpoint`, `region`, `access_key_id`, …"""
    cache: str = ""
    """Where each machine keeps what it fetched of a store, and what is its own; if empty, the user's cache."""
    cache_bytes: int = 20 << 30
    """How much a machine keeps of what it fetched; what was used within ten minutes stays beyond that."""
    log_level: str = "info"
    """Which lines to log: `debug`, `info`, `warning` or `error`. At `debug` the log follows each document and item."""
    kernels: str = ""
    """Where compiled kernels are stored; if empty, the user's cache directory."""
    master: str = "local[*]"
    """The Spark master."""
    tasks: int = 0
    """The most tasks that a batch is divided into; 0 is the number of cores that Spark has when it begins."""
    spark: Table = ()
    """A table of Spark's own settings, handed through as they are: `executor.memory = "4g"`."""
    driver_memory: str = "1g"
    """Memory of Spark's Java process."""
    retain_landing: str = ""
    """How long, or how much, of the received documents is kept: `90 days` or `20 GB`; if empty, everything."""
    retain_items: str = ""
    """The same for items; an item that is deleted also leaves its feeds."""
    retain_elements: str = ""
    """The same for the lists of which items are in which feeds."""
    tables: bool = True
    """Whether the logs are also written as Delta tables, for Spark, DuckDB, Polars and others to read."""
    batch_bytes: int = 16 << 20
    """The most compressed bytes of documents in one batch."""
    batch_seconds: float = 30.0
    """How long a batch should take: when batches take longer they become smaller; 0 is as long as they may."""
    backlog_bytes: int = 1 << 30
    """How many compressed bytes of documents may wait to be published: fetching slows from half of that on, and then
    pushing clients are asked to wait. 0 is no limit."""
    document_seconds: float = 5.0
    """CPU seconds that parsing one document may take, plus one for each megabyte; beyond that it is quarantined.
    0 is no limit."""
    document_memory_mb: int = 1024
    """Memory that parsing one document may take, in MB. 0 is no limit."""
    host: str = "127.0.0.1"
    """The address to serve on; `0.0.0.0` is every address of this machine, and needs a `token`."""
    port: int = 8080
    """The port to serve on."""
    allowed_hosts: tuple[str, ...] = ()
    """Additional host names that the HTTP server answers to, as a list or separated by commas; `*` is any."""
    token: str = ""
    """The secret that HTTP requests must present; required to serve beyond this machine."""
    public_reads: str = "none"
    """What may be read without the token: `none`, `feeds` or `all` (except what concerns subscribers)."""
    stalled_after_s: int = 300
    """Seconds after which documents that wait to be published, and work that keeps failing, are reported as stalled."""
    fetch: bool = True
    """Whether this process fetches sources."""
    fetch_on: str = "auto"
    """`driver` fetches in this process, `executors` in Spark tasks; `auto` on executors unless Spark is local."""
    allow_private: bool = False
    """Whether sources and webhooks may be on private and loopback addresses."""
    floor_s: int = 900
    """The shortest time between two requests for a source, in seconds."""
    interval_s: int = 3600
    """How often a source with ten items a day is polled, in seconds; busier ones more often, quieter ones less."""
    refresh: str = "planned"
    """How polls are scheduled: `planned` (by each source's rate and daily pattern), `proportional` (by its rate) or
    `fixed` (always the same)."""
    requests_per_second: float = 50.0
    """The most requests per second to all sources together."""
    requests_per_day: int = 0
    """The most requests per day to all sources together; 0 is no limit."""
    host_spacing_s: float = 1.0
    """Seconds between two requests to one host."""
    host_requests_per_day: int = 20_000
    """The most requests per day to one host."""
    contact: str = ""
    """A URL where publishers can reach you; part of the User-Agent."""
    sample_port: int = 8081
    """The port that serves the sample feeds."""
    send: bool = True
    """Whether this process delivers to subscribers."""
    public_url: str = ""
    """The URL at which readers reach this installation; mail, feeds and hubs link to it."""
    smtp_host: str = ""
    """The mail server; without one, mail stays in the outbox."""
    smtp_port: int = 25
    """Its port: usually 25 for `none`, 587 for `starttls`, 465 for `tls`."""
    smtp_security: str = "none"
    """How the connection is encrypted: `none`, `starttls` or `tls`."""
    smtp_user: str = ""
    """The user to log in as; if empty, no login."""
    smtp_password: str = ""
    """The password of that user."""
    mail_from: str = "feedweir@localhost"
    """The sender address of messages."""
    bounces: str = ""
    """The address that mail servers send delivery failures to (`bounces@example.org`); if empty, the sender."""
    bounces_mailbox: str = ""
    """A Maildir or mbox file that receives them; read every minute."""
    link_secret: str = ""
    """The key that links in messages are signed with; if empty, one is generated and stored in the catalog."""
    notify: bool = False
    """Whether `output notify` may be used: Apprise connects to any URL it is given, including private addresses."""
    keep_sent_days: float = 90.0
    """Days for which completed deliveries stay in the outbox and the delivery log; 0 is forever."""

    @property
    def catalog_url(self) -> str:
        return self.catalog or f"sqlite:///{Path(self.data).resolve()}/catalog.sqlite"


@dataclass(frozen=True, slots=True)
class Given:
    """A value that was set, and where: the name of a file, an environment variable or an option."""

    value: Any
    origin: str


def load_settings(
    *,
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings; a flag that is None was not given."""
    given = given_settings(file=file, environment=environment, flags=flags)
    types = {field.name: field.type for field in fields(Settings)}
    return Settings(**{name: _converted(name, one.value, str(types[name])) for name, one in given.items()})


def given_settings(
    *,
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> dict[str, Given]:
    """What was set, as written; the value that counts if it was set in several places."""
    environment = os.environ if environment is None else environment
    options = {name: Given(value, f"--{name}") for name, value in (flags or {}).items() if value is not None}
    return {**_from_file(file), **_from_environment(environment), **options}


def _from_file(file: Path | None) -> dict[str, Given]:
    path = file or DEFAULT_FILE
    if file is None and not path.exists():
        return {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from error
    for name in values:
        _known(name, str(path))
    return {name: Given(value, str(path)) for name, value in values.items()}


def _from_environment(environment: Mapping[str, str]) -> dict[str, Given]:
    values: dict[str, Given] = {}
    for variable, value in environment.items():
        if not variable.startswith(PREFIX):
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name.endswith("_file"):
            name, value = name.removesuffix("_file"), _secret(variable, value)
        _known(name, variable)
        values[name] = Given(value, variable)
    return values


def _secret(variable: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SettingsError(f"{variable}: {path}: {error.strerror}") from error


def _known(name: str, place: str) -> None:
    names = [field.name for field in fields(Settings)]
    if name not in names:
        hint = near(name, names, 1) or f"known: {', '.join(names)}"
        raise SettingsError(f"{place}: there is no setting {name!r}", hint=hint)


def _converted(name: str, value: Any, type_name: str) -> Any:
    try:
        converted = _CONVERTERS[type_name](value)
    except (ValueError, TypeError) as error:
        raise SettingsError(f"setting {name}: {value!r} is not {_KINDS[type_name]}") from error
    choices = CHOICES.get(name)
    if choices is not None and converted not in choices:
        hint = near(str(converted), choices, 1)
        raise SettingsError(f"setting {name}: {value!r} is not one of {', '.join(choices)}", hint=hint)
    return converted


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


def _place(value: Any) -> Path | str:
    """A directory, or the address of a place in a store."""
    return value if isinstance(value, str) and "://" in value else Path(value)


def _table(value: Any) -> Table:
    """A table, as TOML has it, or one text with `name=value` between semicolons, as an environment has it."""
    if isinstance(value, str):
        pairs = [part.partition("=") for part in value.split(";") if part.strip()]
        if not all(mark for _, mark, _ in pairs):
            raise ValueError(value)
        return tuple(sorted((name.strip(), text.strip()) for name, _, text in pairs))
    if not isinstance(value, Mapping):
        raise TypeError(value)
    return tuple(sorted(_flat(value)))


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """TOML reads `executor.memory` as a table in a table."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", str(value).lower() if isinstance(value, bool) else str(value)


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "Path | str": _place,
    "Table": _table,
    "str": str,
    "int": int,
    "float": _number,
    "bool": _boolean,
    "tuple[str, ...]": _texts,
}
_KINDS = {
    "Path | str": "a path",
    "Table": "a table",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "yes or no",
    "tuple[str, ...]": "a list of names",
}
