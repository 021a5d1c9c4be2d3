"""When a failed delivery is tried again, and when it is given up."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from feedweir.errors import DeliveryError

_MAX_WAIT_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Delays grow from `first_s` by `factor` up to `most_s`; after `attempts` the entries are dead letters."""

    first_s: float = 5.0
    factor: float = 3.0
    most_s: float = 6 * 3_600.0
    attempts: int = 16
    jitter: float = 0.25
    """Each delay is shortened by up to this fraction, so that senders do not all retry at once."""


def next_try(
    policy: RetryPolicy, key: str, attempt: int, error: DeliveryError, now: datetime
) -> datetime | None:
    """When to try again after this attempt (from 1) failed; None to give up.

    The jitter depends only on the key and the attempt, so the same failure always gives the same time.
    """
    if error.is_final or attempt >= policy.attempts:
        return None
    wait_s = min(policy.first_s * policy.factor ** min(attempt - 1, 64), policy.most_s)
    wait_s *= 1 - policy.jitter * _fraction(f"{key}:{attempt}")
    if error.retry_after_s is not None:
        # As the receiver requests, but at most a day.
        wait_s = max(wait_s, min(error.retry_after_s, _MAX_WAIT_S))
    return now + timedelta(seconds=wait_s)


def _fraction(text: str) -> float:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "big") / 2**48
