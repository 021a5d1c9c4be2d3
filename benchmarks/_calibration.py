"""What the planner's prices of work come from: measured times, and how well prices predict them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields

import numpy as np

from feedweir.optimize.filter_plans.numbered_clauses import Floats
from feedweir.optimize.filter_plans.work_model import Clauses, Prices, Work


def clauses_as_words(share: Floats) -> Clauses:
    """Clause n is atom n, a word."""
    size = share.size
    starts = np.arange(size + 1, dtype=np.int64)
    literals = np.arange(0, 2 * size, 2, dtype=np.int32)
    return Clauses(starts, literals, share, np.ones(size, np.bool_), share)


def calibrate(measured: Sequence[tuple[Work, float]]) -> Prices:
    """The prices that explain measured seconds an item best, by relative error; no price is negative."""
    rows = np.array([np.array(astuple(work)) / seconds for work, seconds in measured])
    return Work(*_nonnegative_fit(rows, np.ones(len(measured))))


def error_of(predicted: float, measured: float) -> float:
    """The factor between prediction and measurement, at least 1."""
    return max(predicted / measured, measured / predicted)


def _nonnegative_fit(rows: Floats, targets: Floats, sweeps: int = 2_000) -> list[float]:
    """Least squares without negative coefficients, one coordinate at a time."""
    scale = np.linalg.norm(rows, axis=0)
    scale[scale == 0.0] = 1.0
    matrix = rows / scale
    result = np.zeros(len(fields(Work)))
    rest = targets.copy()
    for _ in range(sweeps):
        for column in range(result.size):
            new = max(0.0, result[column] + float(matrix[:, column] @ rest))
            rest += matrix[:, column] * (result[column] - new)
            result[column] = new
    return [float(value) for value in result / scale]
