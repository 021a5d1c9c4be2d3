"""The refresh rules in force: estimated from all sources' histories, kept within the budget, saved across restarts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from feedweir.acquire.fetch.hosts import HostLedger
from feedweir.acquire.refresh.policies import Fixed, Planned, RateProportional
from feedweir.acquire.refresh.refresh_rules import RefreshRules
from feedweir.acquire.refresh.request_budget import Budget, Spending, Steering, price_of
from feedweir.acquire.refresh.source_history import mean_rate_s, rhythm_of
from feedweir.acquire.refresh.source_state import SourceState
from feedweir.errors import SettingsError, near
from feedweir.logs.files import replace_json

STEER_EVERY_S = 1_800.0
SAVE_EVERY_S = 60.0
POLICIES = ("planned", "proportional", "fixed")


def rules_of(*, floor_s: float, interval_s: float, policy: str = "fixed") -> RefreshRules:
    """Refresh rules from the settings; `interval_s` is for a source with ten items a day."""
    if policy == "planned":
        return RefreshRules(policy=Planned(price=price_of(interval_s)), floor_s=floor_s)
    if policy == "proportional":
        return RefreshRules(policy=RateProportional(items_per_poll=10 * interval_s / 86_400), floor_s=floor_s)
    if policy == "fixed":
        return RefreshRules(policy=Fixed(interval_s=interval_s), floor_s=floor_s)
    raise SettingsError(
        f"setting refresh: {policy!r} is not one of {', '.join(POLICIES)}", hint=near(policy, POLICIES)
    )


@dataclass(slots=True)
class RefreshController:
    """The rules in force, and what they are adjusted by. Used by one thread."""

    rules: RefreshRules
    budget: Budget
    notes: Path | None = None
    """The file it is saved to; None saves nothing."""
    steering: Steering = field(default_factory=Steering)
    spending: Spending = field(default_factory=Spending)
    requests: int = 0
    """Since the rules were last adjusted."""
    _least: float = 0.0
    _steered_at: datetime | None = None
    _saved_at: datetime | None = None

    def __post_init__(self) -> None:
        self._least = self.rules.policy.price if isinstance(self.rules.policy, Planned) else 0.0

    def restore(self, ledger: HostLedger) -> None:
        """Restore what was saved before a restart."""
        value = _read(self.notes)
        if value:
            self.steering = Steering(**value["steering"])
            self.spending = Spending(**value["spending"])
            ledger.restore(value["ledger"])

    def save(self, ledger: HostLedger, now: datetime, *, is_last: bool = False) -> None:
        """Save it, from time to time and at the end."""
        is_time = self._saved_at is None or (now - self._saved_at).total_seconds() >= SAVE_EVERY_S
        if self.notes is not None and (is_time or is_last):
            self._saved_at = now
            parts = {"steering": asdict(self.steering), "spending": asdict(self.spending)}
            replace_json(self.notes, {**parts, "ledger": ledger.to_json(now)})

    def is_due(self, now: datetime) -> bool:
        """Whether it is time to adjust the rules."""
        is_planned = isinstance(self.rules.policy, Planned)
        return is_planned and (
            self._steered_at is None or (now - self._steered_at).total_seconds() >= STEER_EVERY_S
        )

    def steer(self, states: Iterable[SourceState], waiting: int, now: datetime) -> None:
        """Set the price that uses up the budget, and the rhythm that new sources are assumed to have."""
        histories = [state.history for state in states if not state.is_stopped and not state.every_s]
        rates_s = [mean_rate_s(history) for history in histories]
        period_s = (now - self._steered_at).total_seconds() if self._steered_at else 0.0
        self.steering, price = self.steering.steered(
            rates_s, self.requests, waiting, period_s, requests_s=self.budget.rate, least=self._least
        )
        self._steered_at, self.requests = now, 0
        policy = replace(self.rules.policy, price=price) if isinstance(self.rules.policy, Planned) else None
        peers = rhythm_of(histories, self.rules.peers)
        self.rules = replace(self.rules, policy=policy or self.rules.policy, peers=peers)


def _read(path: Path | None) -> dict[str, Any]:
    """Notes that are missing or damaged are ignored: they only make the first hour smoother."""
    try:
        value = json.loads(path.read_bytes()) if path else {}
        return value if {"steering", "spending", "ledger"} <= value.keys() else {}
    except (OSError, ValueError, AttributeError):
        return {}
