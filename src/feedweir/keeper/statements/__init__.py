"""Statements carried out on a catalog: a script as a whole, or not at all."""

from feedweir.keeper.statements.carry_out import execute
from feedweir.keeper.statements.outcome import Outcome

__all__ = ["Outcome", "execute"]
