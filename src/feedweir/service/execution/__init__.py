"""Statements carried out on a catalog: a script as a whole, or not at all."""

from feedweir.ask.outcome import Outcome
from feedweir.service.execution.carry_out import execute

__all__ = ["Outcome", "execute"]
