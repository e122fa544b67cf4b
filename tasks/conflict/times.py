"""Times as people write them at the end of a sentence, read into half-open intervals in UTC. Pure: "now" is given."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTH = rf"(?:{'|'.join(MONTHS)})"
_DATE = (
    rf"(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}} {_MONTH}(?: \d{{4}})?|{_MONTH} \d{{1,2}}(?:, \d{{4}})?(?!\d)"
    rf"|{_MONTH}(?: \d{{4}})?|\d{{4}})"
)
_TAIL = re.compile(
    rf"[ ,]+(?:(?P<span>from|between) (?P<low>{_DATE}) (?:to|until|till|through|and) (?P<high>{_DATE})"
    rf"|(?P<word>in|during|on|since|from|until|till|as of|through) (?P<at>{_DATE})(?: on(?:wards?)?)?)$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Interval:
    """Half-open; a bound of None is open."""

    low: datetime | None = None
    high: datetime | None = None

    def overlaps(self, other: Interval) -> bool:
        """Whether some moment lies in both."""
        starts_before = self.low is None or other.high is None or self.low < other.high
        return starts_before and (other.low is None or self.high is None or other.low < self.high)


ALWAYS = Interval()


def split_tail(sentence: str, said_at: datetime) -> tuple[str, Interval]:
    """A sentence without the time at its end, and that time; ``ALWAYS`` where it names none.

    A month or a day without a year is the one nearest to when it was said.
    """
    found = _TAIL.search(sentence)
    if found is None:
        return sentence, ALWAYS
    head = sentence[: found.start()].rstrip(" ,")
    try:
        if found["span"]:
            low, high = parse(found["low"], said_at), parse(found["high"], said_at)
            if low.low is not None and high.high is not None and high.high <= low.low:
                high = _a_year_on(high)
            return head, Interval(low.low, high.high)
        at = parse(found["at"], said_at)
    except ValueError:
        return sentence, ALWAYS
    match found["word"].lower():
        case "since" | "from" | "as of":
            return head, Interval(at.low, None)
        case "until" | "till":
            return head, Interval(None, at.low)
        case "through":
            return head, Interval(None, at.high)
        case _:
            return head, at


def parse(text: str, said_at: datetime) -> Interval:
    """A date, a month or a year as an interval.

    Raises:
        ValueError: for a day that is in no calendar.
    """
    text = text.strip().lower().replace(",", "")
    if re.fullmatch(r"\d{4}", text):
        year = int(text)
        return Interval(datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC))
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return _day(datetime.fromisoformat(text).replace(tzinfo=UTC))
    words = text.split()
    month = next(MONTHS.index(word) + 1 for word in words if word in MONTHS)
    numbers = [int(word) for word in words if word.isdigit()]
    year_given = next((number for number in numbers if number > 31), None)
    day = next((number for number in numbers if number <= 31), None)
    year = year_given or _nearest_year(month, said_at)
    return _day(datetime(year, month, day, tzinfo=UTC)) if day else _month(year, month)


def instant(value: object) -> datetime | None:
    """A written time, or a date, in UTC; None for anything else."""
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if not isinstance(value, str) or not value.strip():
        return None
    try:
        at = datetime.fromisoformat(value.strip().replace("Z", "+00:00"))
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _day(at: datetime) -> Interval:
    return Interval(at, at + timedelta(days=1))


def _month(year: int, month: int) -> Interval:
    low = datetime(year, month, 1, tzinfo=UTC)
    return Interval(low, datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC))


def _nearest_year(month: int, said_at: datetime) -> int:
    middle = said_at - timedelta(days=15)
    around = (said_at.year - 1, said_at.year, said_at.year + 1)
    return min(around, key=lambda year: (abs(datetime(year, month, 1, tzinfo=UTC) - middle), -year))


def _a_year_on(interval: Interval) -> Interval:
    """The same days of the next year: "from November to February" ends after it began."""
    low, high = interval.low, interval.high
    ahead = timedelta(days=365)
    return Interval(low + ahead if low else None, high + ahead if high else None)
