"""`docs/settings.md`, written from the settings themselves:

python -m feedweir.cli.settings_page > docs/settings.md
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import pairwise

from feedweir import config
from feedweir.config import PREFIX, SECRETS, Settings

_BEGINNING = """\
# Settings

A setting can be given in four places; later ones override earlier ones:

1. its default, below;
2. `feedweir.toml` in the current directory, or the file that `--config` names:
   `port = 9000`, `allowed_hosts = ["feedweir.lan"]`;
3. the environment: `FEEDWEIR_PORT=9000`. `FEEDWEIR_TOKEN_FILE=/run/secrets/token` reads the value from a file,
   which works for every setting and is meant for secrets;
4. an option where there is one: `feedweir --data /srv/feedweir run --port 9000`.

`feedweir config` shows every setting, its value and where it was set. Unknown settings and invalid values are refused
with a hint. Settings are read when a command starts: restart `feedweir run` to apply changes.
"""


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    first: str
    """The setting that it begins with."""
    text: str = ""


SECTIONS = (
    Section("Files, database and log", "data"),
    Section("Running", "master"),
    Section("Serving", "host", "[Running an installation](operation.md) says who can reach an installation."),
    Section("Fetching", "fetch", "[How items come in](acquisition.md) says how sources are fetched."),
    Section("Sending", "send", "[Delivery](delivery.md) describes channels and schedules."),
    Section(
        "Mail",
        "smtp_host",
        """\
Mail is sent through your provider's server, or through one on your own machine. With a provider:

```toml
public_url = "https://feeds.example.org"     # links in messages, as for unsubscribing, begin with it
smtp_host = "smtp.example.org"
smtp_port = 587
smtp_security = "starttls"
smtp_user = "feeds@example.org"
mail_from = "feeds@example.org"
```

with `FEEDWEIR_SMTP_PASSWORD_FILE=/run/secrets/smtp` in the environment. A server on your own machine needs only
`smtp_host = "localhost"`. Then subscribe, and check the result:

```sh
feedweir exec "subscribe to Floods output mail 'ann@example.org' every 1 day"
feedweir exec "show subscriptions"
feedweir log 1
```

Temporary failures are retried; `feedweir dead` lists what was refused permanently. Messages that are returned later go
to the address `bounces`: have them delivered to a mailbox that `bounces_mailbox` names.""",
    ),
    Section("Other delivery settings", "link_secret"),
)


def page() -> str:
    """The whole page."""
    return "\n".join([_BEGINNING, *_sections()]).rstrip()


def _sections() -> Iterator[str]:
    titles = {section.first: section for section in SECTIONS}
    about = _abouts()
    for field in fields(Settings):
        if section := titles.get(field.name):
            text = f"{section.text}\n\n" if section.text else ""
            yield f"## {section.title}\n\n{text}| setting | default | |\n|---|---|---|"
        default = field.default
        yield f"| `{field.name}` | {_written(default)} | {about[field.name]}{_secret(field.name)} |"
        if field.name in _lasts():
            yield ""


def _lasts() -> set[str]:
    """The last setting of each section."""
    names = [field.name for field in fields(Settings)]
    firsts = {section.first for section in SECTIONS}
    return {name for name, following in pairwise(names) if following in firsts}


def _written(default: object) -> str:
    if isinstance(default, bool):
        return "`true`" if default else "`false`"
    if isinstance(default, float) and default.is_integer():
        return f"`{int(default)}`"
    return f"`{default}`" if isinstance(default, int | float) or default else ""


def _secret(name: str) -> str:
    return f" A secret: `{PREFIX}{name.upper()}_FILE` may name its file." if name in SECRETS else ""


def _abouts() -> dict[str, str]:
    """The docstring of each setting."""
    (declared,) = ast.parse(inspect.getsource(config.Settings)).body
    assert isinstance(declared, ast.ClassDef)
    found = {}
    for line, below in pairwise(declared.body):
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            found[line.target.id] = _text(below)
    return found


def _text(node: ast.stmt) -> str:
    assert isinstance(node, ast.Expr), "a setting has no docstring"
    assert isinstance(node.value, ast.Constant)
    return " ".join(str(node.value.value).split()).replace("|", r"\|")


if __name__ == "__main__":
    print(page())
