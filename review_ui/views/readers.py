"""Who read a rule over time: the drawing, and the same as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from babel.dates import format_datetime

from review_ui import links
from review_ui.reader import reader, zone
from review_ui.timeline import Count, Mark, Timeline, timeline
from review_ui.views.names import EVENTS, said
from review_ui.views.rule_history import Happening
from review_ui.words import BABEL, _, ngettext
from storage.queries.pages_readers import Served

DAYS, HOURS = 30, 48
WIDE, NARROW = 760, 336
DAY = {"en": "d MMM", "zh-Hans": "M月d日"}
HOUR = {"en": "HH:mm", "zh-Hans": "HH:mm"}
DAY_AND_HOUR = {"en": "d MMM, HH:mm", "zh-Hans": "M月d日 HH:mm"}


@dataclass(frozen=True)
class SpanRow:
    """One span of time and one version, as a line of the table."""

    when: str
    version: int
    answers: str
    sessions: str
    caches: str


@dataclass(frozen=True)
class Readers:
    """``wide`` and ``narrow`` are the drawing for two widths, both None where nothing was served.

    ``legend`` are (layer, words), ``mark_legend`` (kind, shape, words); ``bar_words`` are by place of the bar.
    """

    title: str
    summary: str
    wide: Timeline | None
    narrow: Timeline | None
    bar_words: tuple[str, ...]
    legend: tuple[tuple[str, str], ...]
    mark_legend: tuple[tuple[str, str, str], ...]
    table: tuple[SpanRow, ...]
    capped: str
    other_link: str
    other_words: str


def edges_of(by_hour: bool, now: datetime) -> list[datetime]:
    """Where the spans begin, and where the last one ends: days of the reader's zone, or hours."""
    if by_hour:
        hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        return [hour + timedelta(hours=n - HOURS + 1) for n in range(HOURS + 1)]
    today = now.astimezone(zone()).date()
    days = [today + timedelta(days=n - DAYS + 1) for n in range(DAYS + 1)]
    return [datetime.combine(day, time(), tzinfo=zone()).astimezone(UTC) for day in days]


def readers_view(
    link: str,
    by_hour: bool,
    edges: Sequence[datetime],
    served: Sequence[Served],
    granted: Sequence[Served],
    happened: Sequence[Happening],
    newest: int,
) -> Readers:
    """The answers and sessions of each span, with marks of what happened to the versions in it."""
    counts = [Count(one.span, one.version, one.answers, one.readers) for one in served]
    marks = [Mark(h.at, h.version, h.kind, _mark_words(h)) for h in happened]
    labels = [_written(edge, HOUR if by_hour else DAY) for edge in edges[:-1]]
    named = [_written(edge, DAY_AND_HOUR if by_hour else DAY) for edge in edges[:-1]]
    draw = bool(counts)
    wide = timeline(edges, labels, counts, marks, newest, WIDE) if draw else None
    capped = any(one.capped for one in [*served, *granted])
    return Readers(
        title=_("Its readers, the last {n} hours").format(n=HOURS)
        if by_hour
        else _("Its readers, the last {n} days").format(n=DAYS),
        summary=_summary(served),
        wide=wide,
        narrow=timeline(edges, labels, counts, marks, newest, NARROW) if draw else None,
        bar_words=tuple(_bar_words(named[bar.span], bar.answers, bar.version) for bar in wide.bars) if wide else (),
        legend=tuple(_legend(sorted({one.version for one in served}, reverse=True), newest)),
        mark_legend=tuple(sorted({(mark.kind, mark.shape, said(EVENTS, mark.kind)) for mark in wide.marks}))
        if wide
        else (),
        table=tuple(_table(named, served, granted)),
        capped=_("So much was served that not all sessions were counted: there were at least so many.")
        if capped
        else "",
        other_link=links.with_query(link, by=None if by_hour else "hour") + "#readers",
        other_words=_("by day") if by_hour else _("by hour, the last {n} hours").format(n=HOURS),
    )


def _written(at: datetime, patterns: Mapping[str, str]) -> str:
    language = reader().language
    return format_datetime(at, patterns[language], tzinfo=zone(), locale=BABEL[language])


def _mark_words(happening: Happening) -> str:
    when = _written(happening.at, DAY_AND_HOUR)
    return _("{when}: version {n} {what}").format(when=when, n=happening.version, what=happening.kind_words)


def _bar_words(when: str, answers: int, version: int) -> str:
    words = ngettext(
        "{when}: {n} answer carried version {version}", "{when}: {n} answers carried version {version}", answers
    )
    return words.format(when=when, n=f"{answers:,}", version=version)


def _summary(served: Sequence[Served]) -> str:
    answers = sum(one.answers for one in served)
    if not answers:
        return _("No answer carried it in this time.")
    most = max(one.answers for one in served)
    words = ngettext(
        "{n} answer carried it in this time.",
        "{n} answers carried it in this time, at most {most} of one version in one bar.",
        answers,
    )
    return words.format(n=f"{answers:,}", most=f"{most:,}")


def _legend(versions: Sequence[int], newest: int) -> list[tuple[str, str]]:
    layers = {0: "newest", 1: "before"}
    known = [(layers[newest - n], _("version {n}").format(n=n)) for n in versions if newest - n in layers]
    older = [n for n in versions if newest - n not in layers]
    if older:
        known.append(("older", _("older: {versions}").format(versions=", ".join(map(str, older)))))
    return known


def _table(named: Sequence[str], served: Sequence[Served], granted: Sequence[Served]) -> list[SpanRow]:
    """The latest span first; a span in which nothing went out is left out."""
    answers = {(one.span, one.version): one for one in served}
    grants = {(one.span, one.version): one for one in granted}
    return [
        SpanRow(
            named[span],
            version,
            f"{answers[span, version].answers:,}" if (span, version) in answers else "0",
            _readers(answers.get((span, version))),
            _readers(grants.get((span, version))),
        )
        for span, version in sorted({*answers, *grants}, reverse=True)
    ]


def _readers(one: Served | None) -> str:
    if one is None:
        return "0"
    number = f"{one.readers:,}"
    return _("at least {n}").format(n=number) if one.capped else number
