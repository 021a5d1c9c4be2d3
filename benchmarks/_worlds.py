"""Traces that are generated, for whoever has no recorded one: two worlds, each after measured figures.

*Publishers* are feeds as there are many of: a few bring nearly everything, most hardly anything. How much they publish
is after eight months of 8,155 feeds with 10,794,285 items, of which 17 % brought 97 % (Travers et al., RSS feeds
behavior analysis, structure and vocabulary, 2014); a normal law of the logarithms of rates has both figures. Few feeds
lack the busiest: 200 have 3.5 items a day instead of 5.4, of which 17 % bring 95 %. When they publish is after the 182
sources with a hundred items or more in a month of dated news: 75 % in a day's busiest twelve hours, 23 % at weekends, 2
to 21 % by source at the strokes of hours and half hours beyond the even share (three quarters of it at full hours), and
no clustering beyond that (variance / mean of what an hour brings 0.95, so Poisson). Documents show the newest 10 to 30
items with their dates, as captured ones do.

*Collections* are like a recorded week of 32 feeds (2,510 polls, 36,574 items) that gather news by subject. What was
measured there, and what comes out here with 40 feeds:

| | recorded | generated |
|---|---|---|
| items a day: median, spread of the logarithm | 161, 0.53 | 146, 0.50 |
| changes at the strokes of a half hour, within a minute | all | all |
| feeds that change every half hour (0.5 h 70 %, 1 h 21 %) | 4 of 32 | 5 of 40 |
| gaps of the others without pauses: 1 h, 1.5 h, 2 h, 2.5 h | 5, 13, 66, 12 % | 5, 13, 66, 13 % |
| pauses of 10 to 12 h that nearly all take together | 5 in the week | every 30 h |
| gaps between changes: deviation / mean | 0.95 | 1.10 |
| items that come together in the others: mean, variance / mean of the median feed | 19.0, 3.7 | 21.3, 3.7 |
| items that a document shows: tenth, median, nine tenths | 38, 70, 97 | 38, 70, 100 |
| items that stay for one document only: of half-hourly feeds, of others | 1 %, 43 % | 1 %, 44 % |
| what comes in a day's busiest twelve hours | 60 % | 60 % |
| feeds that are dead | none | none |
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from statistics import NormalDist

import numpy as np

from benchmarks._polls_replayed import FeedTrace, Trace

START = datetime(2024, 5, 6, tzinfo=UTC).timestamp()
"""A Monday."""
_DAY_S = 86_400.0
_STROKE_S = 1_800

_COLLECTED = NormalDist(math.log(162), 0.53)
_SLOW = ((1, 1), (2, 5), (3, 13), (4, 66), (5, 13), (6, 2))
_FAST = ((1, 72), (2, 22), (3, 4), (4, 2))
"""Half hours between changes, and how often."""
_CHANGES_A_WEEK = {_SLOW: 60, _FAST: 200}
_PAUSE_EVERY_S = 30 * 3_600
_PAUSE_S = 11 * 3_600
_SLOW_SIZES = (37, 38, 50, 65, 70, 70, 70, 70)
_FAST_SIZES = (100,)
_SLOW_BRIEF = (0.15, 0.2, 0.25, 0.3, 0.33, 0.36, 0.45, 0.55)
_FAST_BRIEF = (0.01,)
"""Shares of items that stay for one document only, of each feed; a full document lets more go."""
_SPREAD = 4.0

_FEEDS, _ITEMS, _WATCHED_DAYS = 8_155, 10_794_285, 243
_BUSY, _OF_ITEMS = 0.17, 0.97
"""So large a part of feeds brings so large a part of items."""
_WAKING_SHARE = 0.75
_WEEKEND = 0.73
"""A day of the weekend against a working day."""
_STRUCK_SHARES = (0.02, 0.04, 0.06, 0.11, 0.21)
_LENGTHS = (10, 10, 15, 20, 30)


def collections(feeds: int, days: int, seed: int = 0) -> Trace:
    """Feeds that gather news: they change at the strokes of a common clock, and pause together."""
    draw = random.Random(20 + 1_000 * seed)
    pause_s = draw.uniform(0, _PAUSE_EVERY_S)
    rates = [math.exp(_COLLECTED.inv_cdf((number + 0.5) / feeds)) for number in range(feeds)]
    draw.shuffle(rates)
    return {
        f"feed{n:03d}": _collection(draw, rate, n % 8 == 7, pause_s, days * _DAY_S)
        for n, rate in enumerate(rates)
    }


def _collection(
    draw: random.Random, per_day: float, is_fast: bool, pause_s: float, length_s: float
) -> FeedTrace:
    gaps = _FAST if is_fast else _SLOW
    mean = 7 * per_day / _CHANGES_A_WEEK[gaps]
    size, offset_s = draw.choice(_FAST_SIZES if is_fast else _SLOW_SIZES), draw.uniform(-55, 55)
    brief = draw.choice(_FAST_BRIEF if is_fast else _SLOW_BRIEF)
    shown = [(f"{-n}", False) for n in range(1, size + 1)]
    documents = [(START, tuple(name for name, _ in shown))]
    number = 0
    for moment in _changes(draw, gaps, pause_s + (_PAUSE_S / 2 if is_fast else 0), length_s):
        new = [(f"{number + n}", draw.random() < brief) for n in range(_batch(draw, mean, size))]
        number += len(new)
        shown = (new[::-1] + [item for item in shown if not item[1]])[:size]
        documents.append((START + moment + offset_s, tuple(name for name, _ in shown)))
    return FeedTrace(tuple(moment for moment, _ in documents), tuple(items for _, items in documents))


def _changes(
    draw: random.Random, gaps: Sequence[tuple[int, int]], pause_s: float, length_s: float
) -> Iterator[float]:
    """When a collection changes; within a pause it does not. Quick ones take the second half of a pause only."""
    strokes, weights = [gap for gap, _ in gaps], [weight for _, weight in gaps]
    moment = float(_STROKE_S)
    while moment < length_s - _STROKE_S:
        since_s = (moment - pause_s) % _PAUSE_EVERY_S
        if since_s >= _PAUSE_S or (gaps == _FAST and since_s >= _PAUSE_S / 2):
            yield moment
        moment += _STROKE_S * draw.choices(strokes, weights)[0]


def _batch(draw: random.Random, mean: float, size: int) -> int:
    """How many items come together: as many as a gamma-mixed Poisson gives, and they fit a document."""
    rate = draw.gammavariate(mean / (_SPREAD - 1), _SPREAD - 1)
    return min(max(_poisson(draw, rate), 1), size)


def _poisson(draw: random.Random, mean: float) -> int:
    count, waited = 0, draw.expovariate(1.0)
    while waited < mean:
        count, waited = count + 1, waited + draw.expovariate(1.0)
    return count


@dataclass(frozen=True, slots=True)
class Publisher:
    """One that publishes by day more than by night, and some of it at the strokes of the clock."""

    per_day: float
    wake: float
    """The hour at which its busiest twelve begin."""
    struck: float
    length: int

    def rates(self, hours: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Items a second, in each hour from `START` on."""
        places = np.arange(hours)
        is_awake = (places - self.wake) % 24 < 12
        days = np.where(places // 24 % 7 >= 5, _WEEKEND, 1.0) * 7 / (5 + 2 * _WEEKEND)
        return np.where(is_awake, 2 * _WAKING_SHARE, 2 - 2 * _WAKING_SHARE) * days * self.per_day / _DAY_S


def some_publishers(feeds: int, seed: int = 0) -> list[Publisher]:
    draw = random.Random(21 + 1_000 * seed)
    law = _rates()
    return [
        Publisher(
            per_day=math.exp(law.inv_cdf((number + 0.5) / feeds)),
            wake=draw.randrange(24),
            struck=draw.choice(_STRUCK_SHARES),
            length=draw.choice(_LENGTHS),
        )
        for number in range(feeds)
    ]


def _rates() -> NormalDist:
    """The law of the logarithms of items a day: with a spread s, the quietest part p brings Φ(Φ⁻¹(p) - s) of all."""
    normal = NormalDist()
    spread = normal.inv_cdf(1 - _BUSY) - normal.inv_cdf(1 - _OF_ITEMS)
    return NormalDist(math.log(_ITEMS / _FEEDS / _WATCHED_DAYS) - spread**2 / 2, spread)


def published(publishers: Sequence[Publisher], days: int, seed: int = 0) -> Trace:
    """What publishers show in so many days: their newest items, dated."""
    draw = random.Random(22 + 1_000 * seed)
    return {f"feed{n:03d}": _publications(draw, one, days) for n, one in enumerate(publishers)}


def _publications(draw: random.Random, publisher: Publisher, days: int) -> FeedTrace:
    moments: list[float] = []
    # Long enough before anybody looks that a document is full, within a year.
    back_days = 7 * min(math.ceil(2 * publisher.length / publisher.per_day / 7), 52)
    for place, rate in enumerate(publisher.rates(24 * (days + back_days))):
        hour = START + 3_600 * (place - 24 * back_days)
        for _ in range(_poisson(draw, 3_600 * rate)):
            struck = 3_600 if draw.random() < 0.75 else 1_800
            moments.append(hour + (struck if draw.random() < publisher.struck else draw.uniform(0, 3_600)))
    return _rolling(
        [moment for moment in sorted(moments) if moment <= START + days * _DAY_S], publisher.length
    )


def _rolling(moments: list[float], length: int) -> FeedTrace:
    """The documents of a feed that shows its newest items; what appears together is shown together."""
    documents: dict[float, tuple[str, ...]] = {START: ()}
    shown: tuple[str, ...] = ()
    for number, moment in enumerate(moments):
        shown = (str(number), *shown)[:length]
        documents[max(moment, START)] = shown
    dates = {str(number): moment for number, moment in enumerate(moments)}
    return replace(FeedTrace(tuple(documents), tuple(documents.values())), published=dates)


def least_delay_ratio(publishers: Sequence[Publisher], days: int, floor_s: float) -> float:
    """The least delay of anybody who knows every rate, against an hourly poll with as many looks.

    Where items come by chance at a rate r(t), looks 1/n apart cost r / 2n of delay a second, least for n in
    proportion to √r, as far as the floor allows; what comes at strokes need not wait at all.
    """
    rates = np.array([publisher.rates(24 * days) for publisher in publishers])
    roots = np.sqrt(rates)
    low, high = 1e-6, 1e6
    for _ in range(80):
        middle = math.sqrt(low * high)
        looks = np.minimum(middle * roots, 1 / floor_s)
        low, high = (middle, high) if looks.mean() < 1 / 3_600 else (low, middle)
    even = np.array([[1 - publisher.struck] for publisher in publishers])
    return float((even * rates / np.minimum(low * roots, 1 / floor_s)).sum() / (rates * 3_600).sum())
