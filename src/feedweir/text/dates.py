"""Dates in every form that feeds contain → a moment in UTC.

`epoch_us` is for bulk work, `date_of` for people. The common shapes (RFC 822, ISO 8601) take a microsecond
or two; everything else is taken apart into numbers and names. Digits of every script count. A date without a
zone is in UTC; a date that names no day of the calendar is no date, nor is a year that only another calendar has.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

import numpy as np

from feedweir.text.date_kernels import UNKNOWN, read_moments
from feedweir.text.date_names import AFTERNOON, FORENOON, MONTHS, ZONES, folded

_ZEROS = "\0" * 33
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_EPOCH_DAY = _EPOCH.toordinal()
_MAX_CHARS = 200

_RFC822 = re.compile(
    r"(?:[A-Za-z]{3}, )?(\d{1,2} [A-Za-z]{3} \d{4}) (\d\d):(\d\d):(\d\d) (?:GMT|UTC|Z|([+-])(\d{4}))"
)
_ENGLISH = {
    name.title(): MONTHS[name]
    for name in ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
}
_TIME = re.compile(
    rf"(?:({'|'.join(FORENOON + AFTERNOON)})\s*)?"
    r"(?<![\d:])(\d{1,2})"
    r"(?:[:.h](\d{2})(?:[:.](\d{1,2}))?(?:[.,](\d{1,9}))?(?![\d:])|(?=\s?[ap]\.?\s?m(?![^\W\d_])))"
    # Only an `m` makes AM or PM of a letter that stands apart: `12:00 P` and `12:00 PST` name zones.
    r"(?:(?:\s*([apπμ])\.?\s?[mμ]|([ap])|\s*([صم]))(?![^\W\d_])\.?)?",
    re.IGNORECASE,
)
_OFFSET = re.compile(
    r"(GMT|UTC|UT)?\s*(?<!\d)([+\-−–])\s?(\d{1,2}?)(?::?(\d{2}))?(?![\d:])(\s*(?:[(\[]|$))?", re.IGNORECASE
)
_MAX_OFFSET_H = 15
_FOREIGN_YEARS = range(1800, 2200)
"""Years in digits of another script that are taken for Gregorian: 1403 is Persian."""
_YEAR_FIRST = re.compile(
    r"(?<!\d)(\d{4})\s*[-/.年년]\s*(\d{1,2})(?:\s*[-/.月월]\s*(\d{1,2})\s*[日일]?)?(?!\d)"
)
_DAY_FIRST = re.compile(r"(?<!\d)(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?!\d)")
_ORDINAL = re.compile(r"(\d{4})-(\d{3})(?:T|$)")
_COMPACT = re.compile(r"((?:19|20)\d\d)([01]\d)([0-3]\d)(?:T?([0-2]\d)([0-5]\d)([0-5]\d)?)?\s*Z?")
_NUMBER = re.compile(r"-?\d{1,17}(?:\.\d+)?")
_NAMES = re.compile(r"[^\W\d_]+")
_DAY_BEFORE_NAME = re.compile(
    r"(?<!\d)(\d{1,2})(?:st|nd|rd|th|er|\.|º|°)?[\s\-/]*(?:de |of )?$", re.IGNORECASE
)
_DAY_AFTER_NAME = re.compile(r"\.?[\s\-/]*(\d{1,2})(?!\d|:)")
_YEAR = re.compile(r"(?<![\d:+\-])(\d{4})(?![\d:])|[\s\-/,'’.](\d{2})(?=[\s,]|$)")


_W3C = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d:\d\d(?::\d\d)?(?:\.\d{1,6})?)\d*(Z|[+-]\d\d:\d\d)?|(Z|[+-]\d\d:\d\d))?)?)?"
)


def instant_of(text: str) -> datetime | None:
    """The moment of a time in XML Schema or W3C-DTF, or at which the day, month or year that it names begins; None for
    every other text. Without a zone it is in UTC."""
    found = _W3C.fullmatch(text)
    if found is None:
        return None
    year, month, day, clock, zone, zone_of_day = found.groups()
    written = f"{year}-{month or '01'}-{day or '01'}T{clock or '00:00'}{zone or zone_of_day or 'Z'}"
    try:
        return datetime.fromisoformat(written)
    except ValueError:
        return None


def date_of(text: str) -> datetime | None:
    """The moment that a date names, or None."""
    moment = epoch_us(text)
    return None if moment is None else _EPOCH + moment * _MICROSECOND


def all_epoch_us(texts: Sequence[str]) -> list[int | None]:
    """As `epoch_us`, for many at once: the usual shapes are read by a kernel."""
    moments = np.empty(len(texts), np.int64)
    source = np.frombuffer(("\0".join(texts) + _ZEROS).encode("utf-8", "replace"), np.uint8)
    if read_moments(source, moments) != len(texts):  # a text contains the separator
        return [epoch_us(text) for text in texts]
    found = moments.tolist()
    return [epoch_us(text) if us == UNKNOWN else us for us, text in zip(found, texts, strict=True)]


def epoch_us(text: str) -> int | None:
    """As `date_of`, in microseconds since 1970."""
    match = _RFC822.fullmatch(text)
    try:
        if match is not None:
            return _plain_rfc822(*match.groups())
    except (ValueError, KeyError):
        pass  # such as 24:00, which the tolerant forms may still read
    try:
        return _any_shape(text.strip())
    except (ValueError, OverflowError):
        return None


def _plain_rfc822(day: str, hour: str, minute: str, second: str, sign: str | None, zone: str) -> int:
    days = _days(day)
    hours, minutes, seconds = int(hour), int(minute), int(second)
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError(hour)
    if sign is not None:
        offset = int(zone)
        offset_min = offset // 100 * 60 + offset % 100
        minutes -= offset_min if sign == "+" else -offset_min
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000


@lru_cache(4096)
def _days(text: str) -> int:
    """Days since 1970 of a day such as `1 May 2024`; the items of a feed share a few."""
    day, month, year = text.split(" ")
    return date(int(year), _ENGLISH[month], int(day)).toordinal() - _EPOCH_DAY


def _any_shape(text: str) -> int | None:
    if not text or len(text) > _MAX_CHARS:
        return None
    plain = text if text.isascii() else _plain(text)
    for shape in _SHAPES:
        moment = shape(plain)
        if moment is not None:
            is_ours = text.isascii() or moment.year in _FOREIGN_YEARS
            return _microseconds(moment) if is_ours else None
    return None


def _plain(text: str) -> str:
    """The text with ASCII digits and punctuation."""
    characters = unicodedata.normalize("NFC", text).translate(_PUNCTUATION)
    return "".join(
        [str(unicodedata.decimal(each)) if each.isdecimal() else each for each in characters]
    ).strip()


_PUNCTUATION = str.maketrans("：／．，،", ":/.,,", "\u200e\u200f\u061c")
"""Full-width and Arabic punctuation; direction marks are removed."""


def _microseconds(moment: datetime) -> int:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


def _iso(text: str) -> datetime | None:
    """What the standard library reads, which is most of ISO 8601 and fast."""
    if not text[:4].isdigit() or text.isdigit() or len(text) < 8:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _number(text: str) -> datetime | None:
    """Compact dates (20201110, 20201110T123456), years alone, and Unix times in s, ms or µs."""
    compact = _COMPACT.fullmatch(text)
    if compact is not None and len(text) != 10:
        year, month, day, hour, minute, second = (int(part or 0) for part in compact.groups())
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    if _NUMBER.fullmatch(text) is None:
        return None
    if len(text) == 4:
        return datetime(int(text), 1, 1, tzinfo=UTC)
    size = len(text.partition(".")[0].lstrip("-"))
    if not 9 <= size <= 16:
        return None
    return _EPOCH + timedelta(seconds=float(text) / 10 ** (0 if size <= 11 else 3 if size <= 14 else 6))


def _numbered_months(text: str) -> datetime | None:
    """2020-11-10, 2020/11/10, 2020年11月10日; 10.11.2020; 11/10/2020, which is American unless it cannot
    be."""
    ordinal = _ORDINAL.match(text)
    if ordinal is not None:
        first = datetime(int(ordinal[1]), 1, 1)
        return _with_clock(text, first + timedelta(days=int(ordinal[2]) - 1), ordinal.end(2))
    match = _YEAR_FIRST.search(text)
    if match is not None:
        return _with_clock(text, datetime(int(match[1]), int(match[2]), int(match[3] or 1)), match.end())
    match = _DAY_FIRST.search(text)
    if match is None:
        return None
    first_number, second_number = int(match[1]), int(match[3])
    is_american = match[2] == "/" and first_number <= 12
    month, day = (first_number, second_number) if is_american else (second_number, first_number)
    if month > 12:
        month, day = day, month
    return _with_clock(text, datetime(_full_year(match[4]), month, day), match.end())


def _named_months(text: str) -> datetime | None:
    """Every order of day, month name and year, with any weekday, wrong or right, in any known language."""
    # The last name counts: in `mar 10 nov 2020` the first is a Tuesday.
    for name in reversed(list(_NAMES.finditer(text))):
        month = MONTHS.get(folded(name[0]))
        if month is None:
            continue
        before = _DAY_BEFORE_NAME.search(text[: name.start()])
        after = None if before is not None else _DAY_AFTER_NAME.match(text, name.end())
        day = before or after
        if day is None:
            continue
        rest_start = name.end() if after is None else after.end()
        year = _YEAR.search(_TIME.sub(lambda clock: " " * len(clock[0]), text), rest_start)
        if year is None:
            continue
        return _with_clock(text, datetime(_full_year(year[1] or year[2]), month, int(day[1])), rest_start)
    return None


def _full_year(digits: str) -> int:
    year = int(digits)
    return year if len(digits) > 2 else year + (2000 if year < 70 else 1900)


def _with_clock(text: str, day: datetime, start: int) -> datetime | None:
    """The day with the time and the zone after it; midnight in UTC when there are none."""
    clock = _TIME.search(text, start) or _TIME.search(text)
    if clock is None:
        return day.replace(tzinfo=UTC)
    hour, minute, second = int(clock[2]), int(clock[3] or 0), min(int(clock[4] or 0), 59)
    half = clock[1] or clock[6] or clock[7] or clock[8]
    if half:
        hour = hour % 12 + (12 if half.lower() in AFTERNOON else 0)
    if hour > 24 or minute > 59:
        return None
    fraction = timedelta(microseconds=int((clock[5] or "0")[:6].ljust(6, "0")))
    local = day + timedelta(hours=hour, minutes=minute, seconds=second) + fraction
    return (local - timedelta(minutes=_offset_min(text[clock.end() :]))).replace(tzinfo=UTC)


def _offset_min(text: str) -> int:
    """Minutes from UTC that the rest of a date names; an unknown name is UTC."""
    rest = text.strip()
    for match in _OFFSET.finditer(rest):
        is_plain = match[1] or match[4] or match[5] is not None
        if is_plain and int(match[3]) <= _MAX_OFFSET_H:
            minutes = int(match[3]) * 60 + int(match[4] or 0)
            return minutes if match[2] == "+" else -minutes
    zones = (ZONES.get(name[0].lower()) for name in _NAMES.finditer(rest))
    return next((zone for zone in zones if zone is not None), 0)


_SHAPES = (_iso, _number, _numbered_months, _named_months)
"""From the cheapest and strictest to the most forgiving."""
