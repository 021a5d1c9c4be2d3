"""The two shapes that nearly all dates of feeds have, read from bytes: RFC 822 and ISO 8601, with their zone."""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit

UNKNOWN = np.iinfo(np.int64).min
"""In place of a moment: some other shape, or no date."""
_MONTHS = np.array(
    [
        int.from_bytes(name.encode(), "big")
        for name in "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
    ]
)
_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


@njit(cache=True, _nrt=False)
def read_moments(source, moments):  # type: ignore[no-untyped-def]
    """The moment of each text (every one followed by a zero) in microseconds since 1970; how many texts there are. The
    source ends with 32 zeros more."""
    count = first = 0
    for last in range(source.size - 32):
        if source[last] == 0:
            if count < moments.size:
                is_iso = last - first > 4 and source[first + 4] == 45
                moments[count] = _iso(source, first, last) if is_iso else _rfc822(source, first, last)
            count += 1
            first = last + 1
    return count


@njit(cache=True, _nrt=False)
def _number(source, i, digits):  # type: ignore[no-untyped-def]
    """The number that so many digits make; -1 when other characters are among them."""
    number = np.int64(0)
    for k in range(i, i + digits):
        digit = np.int64(source[k]) - 48
        if digit < 0 or digit > 9:
            return np.int64(-1)
        number = number * 10 + digit
    return number


@njit(cache=True, _nrt=False)
def _days(year, month, day):  # type: ignore[no-untyped-def]
    """Days since 1970; `UNKNOWN` when the calendar has no such day."""
    if year < 1 or month < 1 or month > 12 or day < 1:
        return UNKNOWN
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if day > _DAYS[month - 1] + (is_leap and month == 2):
        return UNKNOWN
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400 + day - 1
    for k in range(month - 1):
        days += _DAYS[k]
    return days + (is_leap and month > 2) - 719162


@njit(cache=True, _nrt=False)
def _clock(source, i):  # type: ignore[no-untyped-def]
    """Seconds of the day of `hh:mm:ss`; -1 when it is none."""
    hour, minute, second = _number(source, i, 2), _number(source, i + 3, 2), _number(source, i + 6, 2)
    is_clock = source[i + 2] == 58 and source[i + 5] == 58
    if not is_clock or not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60):
        return np.int64(-1)
    return (hour * 60 + minute) * 60 + second


@njit(cache=True, _nrt=False)
def _moment(days, seconds, zone_min):  # type: ignore[no-untyped-def]
    return (days * 86400 + seconds - zone_min * 60) * 1_000_000


@njit(cache=True, _nrt=False)
def _rfc822(source, i, end):  # type: ignore[no-untyped-def]
    """`Tue, 30 Apr 2024 10:00:00 +0200`, with or without the day of the week."""
    if end - i < 20:
        return UNKNOWN
    if source[i + 3] == 44 and source[i + 4] == 32:
        for k in range(i, i + 3):
            if not 97 <= source[k] | 32 <= 122:
                return UNKNOWN
        i += 5
    digits = 1 if source[i + 1] == 32 else 2
    day = _number(source, i, digits)
    i += digits
    name = np.int64(source[i + 1]) << 16 | np.int64(source[i + 2]) << 8 | np.int64(source[i + 3])
    month = 0
    for k in range(12):
        if _MONTHS[k] == name:
            month = k + 1
    year, seconds = _number(source, i + 5, 4), _clock(source, i + 10)
    days = _days(year, month, day)
    is_spaced = source[i] == 32 and source[i + 4] == 32 and source[i + 9] == 32 and source[i + 18] == 32
    if not is_spaced or days == UNKNOWN or seconds < 0:
        return UNKNOWN
    return _in_zone(source, i + 19, end, days, seconds)


@njit(cache=True, _nrt=False)
def _in_zone(source, i, end, days, seconds):  # type: ignore[no-untyped-def]
    """The moment of a clock in the zone that stands at `i`: `GMT`, `UTC`, `Z`, `+0200`."""
    one, two, three = source[i], source[i + 1], source[i + 2]
    is_named = (one == 71 and two == 77 and three == 84) or (one == 85 and two == 84 and three == 67)
    if (end - i == 3 and is_named) or (end - i == 1 and one == 90):
        return _moment(days, seconds, 0)
    zone = _number(source, i + 1, 4)
    if end - i != 5 or zone < 0 or (one != 43 and one != 45):
        return UNKNOWN
    zone_min = zone // 100 * 60 + zone % 100
    return _moment(days, seconds, zone_min if one == 43 else -zone_min)


@njit(cache=True, _nrt=False)
def _iso(source, i, end):  # type: ignore[no-untyped-def]
    """`2024-04-30T10:00:00Z` and `2024-04-30T10:00:00+02:00`."""
    days = _days(_number(source, i, 4), _number(source, i + 5, 2), _number(source, i + 8, 2))
    seconds = _clock(source, i + 11)
    is_shaped = source[i + 4] == 45 and source[i + 7] == 45 and source[i + 10] == 84
    if end - i < 20 or not is_shaped or days == UNKNOWN or seconds < 0:
        return UNKNOWN
    sign = source[i + 19]
    if end - i == 20 and sign == 90:
        return _moment(days, seconds, 0)
    hours, minutes = _number(source, i + 20, 2), _number(source, i + 23, 2)
    is_zone = source[i + 22] == 58 and 0 <= hours < 24 and 0 <= minutes < 60
    if end - i != 25 or not is_zone or (sign != 43 and sign != 45):
        return UNKNOWN
    zone_min = hours * 60 + minutes
    return _moment(days, seconds, zone_min if sign == 43 else -zone_min)
