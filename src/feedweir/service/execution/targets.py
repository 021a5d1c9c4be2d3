"""Whether a subscription's messages could ever arrive: refused with the statement, not when they are sent."""

from __future__ import annotations

from feedweir.channel_kinds import SENT_CHANNELS
from feedweir.deliver.channels.channel_types import channel_type
from feedweir.deliver.transforms.stylesheets import Stylesheets
from feedweir.errors import DeliveryError
from feedweir.language.name_checks import refuse
from feedweir.language.queries import Place
from feedweir.language.statements import Subscribe


def check_target(statement: Subscribe, place: Place | None) -> None:
    """Refuse a target that the channel could never send to."""
    if statement.channel not in SENT_CHANNELS:
        return
    try:
        channel_type(statement.channel).check_target(statement.target, bool(statement.apply))
    except DeliveryError as error:
        refuse(place, statement.target, error.message, error.hint)


def check_stylesheet(name: str, stylesheets: Stylesheets | None, place: Place | None) -> None:
    """Refuse a stylesheet that does not exist."""
    if not name or stylesheets is None:
        return
    try:
        stylesheets.text(name)
    except DeliveryError as error:
        hint = f"{error.hint}; others are files in the directory `stylesheets`"
        refuse(place, name, error.message, hint)
