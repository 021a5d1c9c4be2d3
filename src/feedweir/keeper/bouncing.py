"""Reports about mail that could not be delivered after all, written down against their subscriptions."""

from __future__ import annotations

from datetime import datetime

from feedweir.catalog import Catalog, Failure
from feedweir.deliver.bounces import bounce_of
from feedweir.errors import CatalogError


def record_bounce(catalog: Catalog, report: bytes, now: datetime) -> int | None:
    """Record a report as a failure; returns the subscription, None when it is no report or about none of ours.

    A report is only mail, and anyone can write mail: it informs the subscriber, and ends nothing.
    """
    bounce = bounce_of(report)
    if bounce is None or bounce.subscription is None:
        return None
    try:
        record = catalog.subscriptions.with_id(bounce.subscription)
    except CatalogError:
        return None
    if record.channel != "mail":
        return None
    reason = f"returned by the mail server: {bounce.reason}"
    catalog.failures.record([Failure(kind="subscription", resource=str(record.id), at=now, reason=reason)])
    return record.id
