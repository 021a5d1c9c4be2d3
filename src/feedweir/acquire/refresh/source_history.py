"""What a source's past says about its future: how much it publishes, in which rhythm, how much it shows at once.

The rate at a moment is a mean rate times four factors: the hour of the day, the weekday, the minutes of the hour
(many publishers' clocks strike at fixed ones) and the time since the last change (others publish every so often).
Nobody knows when between two polls an item appeared; the fit shares it out over the interval in proportion to the
rate it has found so far, and repeats, which sharpens the factors to the minutes at which things really happen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SLOT_S = 60
"""The unit of time of all tables here."""
MAX_POLLS = 256
UNKNOWN = 65_535
"""The count of a document whose items have not been counted yet."""

SIZES = (24, 7, 60, 30)
"""Of the four tables: hours, weekdays, minutes, ages."""
_SIZE = sum(SIZES)
_PRIOR_EVENTS = np.repeat((16.0, 16.0, 0.1, 0.5), SIZES)
"""How many changes a cell of a table must have had before it counts as much as the prior."""
_PRIOR_PEERS = np.repeat((20.0, 20.0, 0.8, 4.0), SIZES)
"""The same for the factors that all sources share."""
_MAX_PEERS = 256
"""How many sources they are estimated from."""
_PRIOR_RATE_S = 4 / 86_400.0
_PRIOR_S = 6 * 3_600.0
_HALF_LIFE_S = 14 * 86_400.0
_ROUNDS = 3
_STEPS = np.array((2, 2, 6, 2))
"""Of a fit, in each round for each table; few, for what is fitted to the last poll is fitted to chance as well."""
_PEER_STEPS = np.array((3, 3, 3, 3))
"""The same for what sources share, which begins with what was found before, and has one round."""
_MAX_SILENCE_S = 86_400
_MAX_DATED = 12
"""Publication times taken from one document at most, so that it does not displace all earlier polls."""
_MAX_BACK_S = 28 * 86_400
"""How far back the dates in a first document count."""
_SATURATED = 1.5
"""When nothing of the last document is left, some items were missed: a factor for their number."""
_PRIOR_CHANGES = 0.5
"""How many changes a source must have had before its own rate counts as much as that of its peers."""
_FLAT = np.ones(_SIZE, dtype=np.float32).tobytes()
_NOBODY = np.append(np.ones(_SIZE), (1 / 86_400.0, 4.0)).astype(np.float32).tobytes()
"""Peers as they are assumed as long as there are none: a change a day, with four items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The last polls of a source, and what was estimated from them. Arrays are bytes, so that a state is a plain
    value."""

    times: bytes = b""
    """Of the polls, oldest first, in seconds (uint32)."""
    counts: bytes = b""
    """New items that each poll found (uint16)."""
    factors: bytes = _FLAT
    """The four tables of the rhythm, one after the other (float32)."""
    rate_s: float = _PRIOR_RATE_S
    """Items a second, where all factors are 1."""
    burst: float = 1.0
    """Items that come with a change, on average."""
    changed_at: float = -1.0
    """About when the last item appeared, as a timestamp; -1 when none did."""
    shown: float = 0.0
    """How many items a document shows; 0 when none was counted yet."""
    items: float = 0.0
    watched_s: float = 0.0
    """How many items came in how much time, older ones counting less: the polls of busy sources cover only hours."""


def polled(history: History, at: datetime, *, is_changed: bool, peers: bytes = b"") -> History:
    """One more poll: it found nothing new, or a document whose items are still to be counted.

    `peers` is what other sources are like (`rhythm_of`): as long as a source has not changed, it is taken to be so.
    """
    moment = int(at.timestamp())
    before = int.from_bytes(history.times[-4:], "little") if history.times else moment
    if history.times and moment <= before:
        return history
    # All items of a source's first document are new, which says nothing about its rhythm.
    is_news = is_changed and history.times != b""
    times, counts = _merged(history, moment) if not is_news else (history.times, history.counts)
    kept = 0.5 ** ((moment - before) / _HALF_LIFE_S)
    history = replace(
        history,
        items=history.items * kept,
        watched_s=history.watched_s * kept + moment - before,
        times=times[-4 * (MAX_POLLS - 1) :] + moment.to_bytes(4, "little"),
        counts=counts[-2 * (MAX_POLLS - 1) :] + (UNKNOWN if is_news else 0).to_bytes(2, "little"),
        changed_at=float(moment) if is_news else history.changed_at,
    )
    return history if history.changed_at >= 0 else _assumed(history, peers)


def _assumed(history: History, peers: bytes) -> History:
    """A source that has not changed yet: like its peers, and the quieter the longer it has been silent."""
    shared = array(peers or _NOBODY)
    times, _ = _polls(history)
    silent_s = float(times[-1] - times[0])
    level, burst = _PRIOR_CHANGES / (silent_s + _PRIOR_CHANGES / shared[_SIZE]), float(shared[_SIZE + 1])
    factors = shared[:_SIZE].astype(np.float32).tobytes()
    return replace(history, factors=factors, rate_s=float(level) * burst, burst=burst)


def _merged(history: History, moment: int) -> tuple[bytes, bytes]:
    """Polls without news are merged: a silence takes one place, for a day at most."""
    last, before = history.counts[-2:], history.times[-8:-4]
    is_silence = last == b"\0\0" and len(history.times) > 4
    if is_silence and moment - int.from_bytes(before, "little") < _MAX_SILENCE_S:
        return history.times[:-4], history.counts[:-2]
    return history.times, history.counts


def counted(
    history: History,
    at: datetime,
    new_items: int,
    shown: int = 0,
    *,
    published: Sequence[datetime] = (),
    peers: bytes = b"",
) -> History:
    """The history after the items of an earlier poll's document were counted.

    `published` are the times of new items that have one, `peers` is the rhythm to assume as long as nothing else
    is known.
    """
    times, counts = _polls(history)
    place = int(np.searchsorted(times, int(at.timestamp())))
    if place == len(times) or times[place] != int(at.timestamp()):
        return history
    if place == 0 and len(times) == 1:
        return _first(history, times, shown, [int(moment.timestamp()) for moment in published], peers)
    if counts[place] != UNKNOWN:
        return history
    items = int(new_items * (_SATURATED if shown and new_items >= shown else 1.0))
    counts[place] = min(items, UNKNOWN - 1)
    times, counts = _dated(times, counts, place, [int(moment.timestamp()) for moment in published])
    history = replace(
        kept(history, times, counts),
        shown=_smoothed(history.shown, float(shown)),
        items=history.items + items,
    )
    return fitted(history, peers)


def poll_before(history: History, at: datetime) -> datetime | None:
    """The poll before the one that brought something at this moment; None when that was the first, or none."""
    times, _ = _polls(history)
    place = int(np.searchsorted(times, int(at.timestamp())))
    is_there = 0 < place < len(times) and times[place] == int(at.timestamp())
    return datetime.fromtimestamp(int(times[place - 1]), UTC) if is_there else None


def fitted(history: History, peers: bytes = b"") -> History:
    """The same polls with rate and rhythm estimated again."""
    from feedweir.acquire.refresh.rhythm_kernels import fit

    times, events, weights, burst = _evidence(history)
    if len(times) < 2:
        return history
    # From what all share: where the polls of a source tell nothing, that is the best guess, and stays.
    shared = array(peers or _NOBODY)
    factors = shared[:_SIZE].copy() if peers else array(history.factors)
    borders = np.array([0, len(times)])
    prior_s = _PRIOR_CHANGES / float(shared[_SIZE])
    level, changed = fit(
        times, events, weights, borders, factors, _PRIOR_EVENTS, shared[:_SIZE], _ROUNDS, prior_s, _STEPS
    )
    return replace(
        history,
        factors=factors.astype(np.float32).tobytes(),
        rate_s=level * burst,
        burst=burst,
        changed_at=changed * SLOT_S,
    )


def mean_rate_s(history: History) -> float:
    """Items a second, over all hours; a guess until the source has been watched for a while."""
    return (history.items + _PRIOR_RATE_S * _PRIOR_S) / (history.watched_s + _PRIOR_S)


def rhythm_of(histories: Iterable[History], before: bytes = b"") -> bytes:
    """What many sources share: the factors, and then how often they change (a second) and with how many items.

    Each source is taken to be so as far as it does not say otherwise. Fitted to all their polls at once: what none of
    them tells alone, for it is always asked at the same minutes, all of them tell together. `before` is what they
    shared a while ago; improving on that, time after time, is what finds the minutes.
    """
    from feedweir.acquire.refresh.rhythm_kernels import fit

    known = [history for history in histories if len(history.times) > 4][-_MAX_PEERS:]
    bursts = [history.burst for history in known if history.changed_at >= 0]
    if not bursts:
        return _NOBODY
    evidence = [_evidence(history) for history in known]
    times, events, weights = (np.concatenate([part[n] for part in evidence]) for n in range(3))
    borders = np.concatenate(([0], np.cumsum([len(part[0]) for part in evidence])))
    factors = array(before or _NOBODY)[:_SIZE].copy()
    rounds = 1 if before else _ROUNDS
    fit(
        times,
        events,
        weights,
        borders,
        factors,
        _PRIOR_PEERS,
        np.ones(_SIZE),
        rounds,
        _PRIOR_CHANGES * 86_400,
        _PEER_STEPS,
    )
    changes = sum(float(part[1][1:].sum()) for part in evidence)
    watched_s = sum(float(part[0][-1] - part[0][0]) for part in evidence)
    level = (changes + _PRIOR_CHANGES) / (watched_s + _PRIOR_CHANGES * 86_400)
    return np.append(factors, (level, float(np.median(bursts)))).astype(np.float32).tobytes()


def array(data: bytes) -> Array:
    return np.frombuffer(data, dtype=np.float32).astype(np.float64)


def _evidence(history: History) -> tuple[NDArray[np.int64], Array, Array, float]:
    """The input of the fit: times, numbers of changes, weights of the polls, and items in a change."""
    times, counts = _polls(history)
    known = counts[(counts > 0) & (counts < UNKNOWN)]
    burst = float(known.mean()) if len(known) else 1.0
    events = np.minimum(np.where(counts == UNKNOWN, burst, counts) / burst, 5.0)
    weights = 0.5 ** ((times[-1:].sum() - times) / _HALF_LIFE_S)
    return times, events, weights, burst


def _polls(history: History) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    times = np.frombuffer(history.times, dtype="<u4").astype(np.int64)
    return times, np.frombuffer(history.counts, dtype="<u2").astype(np.int64)


def kept(history: History, times: NDArray[np.int64], counts: NDArray[np.int64]) -> History:
    last, numbers = times[-MAX_POLLS:].astype("<u4"), counts[-MAX_POLLS:].astype("<u2")
    return replace(history, times=bytes(last), counts=bytes(numbers))


def _dated(
    times: NDArray[np.int64], counts: NDArray[np.int64], place: int, published: list[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Items with a publication time are as good as a poll at that moment and one right after."""
    if place == 0:
        return times, counts
    between = sorted({m for m in published if times[place - 1] < m < times[place] - 1})
    moments = np.array(between[: min(_MAX_DATED, int(counts[place]))], dtype=np.int64)
    each = np.array([published.count(int(moment)) for moment in moments], dtype=np.int64)
    counts[place] = max(counts[place] - each.sum(), 0)
    polls = np.stack((moments, moments + 1), axis=1).ravel()
    found = np.stack((np.zeros_like(each), each), axis=1).ravel()
    # Items a second apart make polls that fall on each other; the first of them keeps its count.
    polls, first = np.unique(polls, return_index=True)
    return np.insert(times, place, polls), np.insert(counts, place, found[first])


def _first(
    history: History, times: NDArray[np.int64], shown: int, published: list[int], peers: bytes
) -> History:
    """The first document is all new, and yet its items' dates tell how the source published before anybody polled."""
    history = replace(history, shown=_smoothed(history.shown, float(shown)))
    dated = sorted(moment for moment in published if moment < times[0] - 1)
    if not dated:
        return history
    # The known time begins with the oldest item shown; earlier items are no longer in the document.
    since = max(dated[0], int(times[0]) - _MAX_BACK_S)
    recent = np.array([moment for moment in dated if moment > since], dtype=np.int64)
    history = replace(history, items=float(len(recent)), watched_s=float(times[0] - since))
    polls = np.unique(np.concatenate(([since], recent, recent + 1)))
    found = np.isin(polls, recent + 1).astype(np.int64)
    polls, found = np.append(polls, times[0]), np.append(found, 0)
    return fitted(kept(history, polls, found), peers)


def _smoothed(old: float, new: float) -> float:
    """Documents that show fewer items count at once, since that is when items are lost."""
    if new == 0.0:
        return old
    return new if old == 0.0 or new < old else old + 0.2 * (new - old)
