"""Whether a subscription's messages could ever arrive: refused where the statement says it, not when they are sent."""

from __future__ import annotations

from pathlib import Path

from feedweir.acquire.http_rules import wire_url
from feedweir.deliver.channels.file import FileChannel, format_of
from feedweir.deliver.channels.mail import recipient
from feedweir.deliver.stylesheets import Stylesheets
from feedweir.errors import DeliveryError
from feedweir.language.check import refuse
from feedweir.language.statements import Place, Subscribe

_SOMEWHERE = FileChannel(Path("/outputs"))
"""Whether a path leads out of a directory does not depend on which it is."""


def check_target(statement: Subscribe, place: Place | None) -> None:
    """Refuse a target that the channel could never send to."""
    target = statement.target
    try:
        if statement.channel == "mail":
            recipient(target)
        elif statement.channel == "file":
            path = _SOMEWHERE.path_of(target)
            if not statement.apply:
                format_of(path.suffix)
    except DeliveryError as error:
        refuse(place, target, error.message, error.hint)
    if statement.channel == "webhook" and wire_url(target) is None:
        refuse(place, target, f"{target!r} is not an http or https address", "as in https://example.org/hook")


def check_stylesheet(name: str, stylesheets: Stylesheets | None, place: Place | None) -> None:
    """Refuse a stylesheet that is not there."""
    if not name or stylesheets is None:
        return
    try:
        stylesheets.text(name)
    except DeliveryError as error:
        hint = f"{error.hint}; others are files in the directory `stylesheets`"
        refuse(place, name, error.message, hint)
