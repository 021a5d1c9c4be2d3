"""Where `apply 'Title.xml'` finds its stylesheet: in a directory of the installation, or among the built-in ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from feedweir.errors import DeliveryError, near

_NAME = re.compile(r"[\w][\w .-]{0,99}")
_SUFFIX = re.compile(r"(?i)\.(?:xml|xslt?)$")
_MAX_BYTES = 1 << 20


class Stylesheets:
    """Stylesheets by name. A file in the directory hides the built-in one of the same name."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory

    def text(self, name: str) -> bytes:
        """The stylesheet; `Title`, `Title.xsl` and `title.xml` name the same one. Raises DeliveryError if missing."""
        for given, content in self._all():
            if _folded(given) == _folded(name):
                return content
        hint = near(_folded(name), self.names()) or f"there are {', '.join(self.names())}"
        raise DeliveryError(f"there is no stylesheet {name!r}", is_final=True, hint=hint)

    def names(self) -> tuple[str, ...]:
        """All names, without suffixes."""
        return tuple(sorted({_SUFFIX.sub("", given) for given, _ in self._all()}))

    def _all(self) -> Iterator[tuple[str, bytes]]:
        if self._directory is not None and self._directory.is_dir():
            for path in sorted(self._directory.iterdir()):
                if path.is_file() and _SUFFIX.search(path.name) and path.stat().st_size <= _MAX_BYTES:
                    yield path.name, path.read_bytes()
        for resource in sorted(files("feedweir.deliver").joinpath("stylesheets").iterdir(), key=str):
            if _SUFFIX.search(resource.name):
                yield resource.name, resource.read_bytes()


def _folded(name: str) -> str:
    return _SUFFIX.sub("", name.strip()).casefold() if _NAME.fullmatch(name.strip()) else "\0"
