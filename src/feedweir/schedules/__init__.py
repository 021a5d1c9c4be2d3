"""When a subscription is served: one value, from the statement that says it to the sender that goes by it."""

from feedweir.schedules.cron import Cron, next_time, parse_cron
from feedweir.schedules.schedule import (
    AT_ONCE,
    PARTS,
    QuietHours,
    RateCap,
    Schedule,
    schedule_from_json,
    schedule_to_json,
)

__all__ = [
    "AT_ONCE",
    "PARTS",
    "Cron",
    "QuietHours",
    "RateCap",
    "Schedule",
    "next_time",
    "parse_cron",
    "schedule_from_json",
    "schedule_to_json",
]
