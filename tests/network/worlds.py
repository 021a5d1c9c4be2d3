"""Problems to plan: generated views over XMark, one a site."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

from benchmarks import _xmark

from feedweir.network.path_counts import LabelPaths, count_paths
from feedweir.network.problem import Problem, Source, Weights, problem_of
from feedweir.network.views import UNLIMITED, TreeBranch, View


@lru_cache(maxsize=1)
def paths() -> LabelPaths:
    return count_paths(_xmark.documents(10, 2))


def problem(
    branches: Sequence[TreeBranch],
    bound: int = UNLIMITED,
    most_direct: int = UNLIMITED,
    source: str = "xmark",
) -> Problem:
    views = [View(f"v{at}", f"s{at}", (branch,), bound) for at, branch in enumerate(branches)]
    return problem_of(views, [Source(source, most_direct)], paths(), Weights())


def xmark(count: int, seed: int, bound: int = UNLIMITED, most_direct: int = UNLIMITED) -> Problem:
    """Views of which many embed in each other."""
    rng = random.Random(seed)
    wide = _xmark.views(4 * count, seed)
    wide.sort(key=lambda branch: ("person" not in repr(branch), rng.random()))
    return problem(wide[:count], bound, most_direct)
