"""Geometry of the effect drawings: a forest plot of odds ratios per stratum, and the small interval of a list row.

Odds ratios with Woolf's logit interval (Woolf 1955) and the Haldane-Anscombe correction (one half added to every cell)
where a cell is empty; the axis is logarithmic and clipped, and clipped ends are marked. Pure: figures in, numbers out.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from review_ui.text import ratio, shortened
from review_ui.words import _

Z95 = 1.959963984540054
LOWEST, HIGHEST = 1 / 64, 64.0
ROW_HEIGHT, TOP, LEFT, PLOT_WIDTH, RIGHT = 26, 34, 216, 330, 196
LABEL = 32
"""Characters of a stratum's name in the drawing; the table has all of it."""
MOST_DRAWN, MOST_LISTED = 12, 200
MINI_WIDTH, MINI_PAD = 96, 6
STRIP_HEIGHT, STRIP_PAD = 16, 8
TICKS = (1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0, 64.0)
TICK_TEXT = {1 / 64: "1/64", 1 / 16: "1/16", 1 / 4: "1/4", 1.0: "1", 4.0: "4", 16.0: "16", 64.0: "64"}


@dataclass(frozen=True)
class Stratum:
    """Counts of one task: runs with and without the feature, by outcome."""

    name: str
    success_with: int
    success_without: int
    failure_with: int
    failure_without: int

    @property
    def runs(self) -> int:
        """All runs of the stratum."""
        return self.success_with + self.success_without + self.failure_with + self.failure_without


@dataclass(frozen=True)
class Estimate:
    """An odds ratio with its 95 % interval."""

    odds_ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class ForestRow:
    """One drawn line. ``opposite`` marks a stratum where successes do the opposite: by what was found, or by its own
    estimate, which lies on the other side of 1 than the pooled one.
    """

    name: str
    y: int
    x: float
    x_low: float
    x_high: float
    size: float
    cut_low: bool
    cut_high: bool
    opposite: bool
    label: str
    words: str


@dataclass(frozen=True)
class TableRow:
    """The same figures for a table: successes of all runs with it and without it."""

    name: str
    with_it: str
    without_it: str
    words: str
    opposite: bool


@dataclass(frozen=True)
class Tick:
    """A gridline with its label."""

    x: float
    text: str
    middle: bool


@dataclass(frozen=True)
class Forest:
    """A whole drawing, ready for a template that computes nothing.

    ``left_out`` counts the informative strata that are not drawn, ``unlisted`` those that are not in the table either,
    ``silent`` those that tell nothing. On a narrow screen each row is a strip of its own under its name: ``strip`` is
    the view box, ``one`` the place of 1.
    """

    width: int
    height: int
    rows: tuple[ForestRow, ...]
    ticks: tuple[Tick, ...]
    axis_top: int
    axis_bottom: int
    text_x: int
    pooled: Estimate | None
    diamond: str
    pooled_y: int
    left_out: int
    unlisted: int
    silent: int
    opposite: int
    table: tuple[TableRow, ...]
    strip: str
    strip_diamond: str
    one: float


@dataclass(frozen=True)
class Mini:
    """A pooled interval at a glance: positions inside ``MINI_WIDTH`` pixels."""

    x: float
    x_low: float
    x_high: float
    x_one: float
    away: bool


def estimate(stratum: Stratum) -> Estimate:
    """Odds ratio of success with the feature against without it."""
    cells = [stratum.success_with, stratum.success_without, stratum.failure_with, stratum.failure_without]
    half = 0.5 if 0 in cells else 0.0
    a, b, c, d = (cell + half for cell in cells)
    log_ratio = math.log(a * d / (b * c))
    spread = Z95 * math.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
    return Estimate(math.exp(log_ratio), math.exp(log_ratio - spread), math.exp(log_ratio + spread))


def informative(stratum: Stratum) -> bool:
    """Whether both outcomes and both ways of acting occur: other strata say nothing about the effect."""
    successes = stratum.success_with + stratum.success_without
    failures = stratum.failure_with + stratum.failure_without
    with_it = stratum.success_with + stratum.failure_with
    return successes > 0 and failures > 0 and 0 < with_it < stratum.runs


def forest(
    strata: Sequence[Stratum],
    pooled: Estimate | None,
    limit: int = MOST_DRAWN,
    *,
    exceptions: Collection[str] = (),
    listed: int = MOST_LISTED,
) -> Forest:
    """The plot of the informative strata: those of ``exceptions`` first among those drawn, then the largest."""
    drawn = sorted((s for s in strata if informative(s)), key=lambda s: (s.name not in exceptions, -s.runs, s.name))
    drawn[:limit] = sorted(drawn[:limit], key=lambda s: (-s.runs, s.name))
    opposite = [stratum.name in exceptions or _is_opposite(estimate(stratum), pooled) for stratum in drawn]
    rows = tuple(_row(place, stratum, opposite[place]) for place, stratum in enumerate(drawn[:limit]))
    bottom = TOP + ROW_HEIGHT * len(rows)
    pooled_y = bottom + ROW_HEIGHT // 2
    return Forest(
        width=LEFT + PLOT_WIDTH + RIGHT,
        height=bottom + (ROW_HEIGHT if pooled else 0) + 8,
        rows=rows,
        ticks=tuple(Tick(place_of(value), TICK_TEXT[value], value == 1.0) for value in TICKS),
        axis_top=TOP - 8,
        axis_bottom=bottom + (ROW_HEIGHT if pooled else 0),
        text_x=LEFT + PLOT_WIDTH + RIGHT,
        pooled=pooled,
        diamond=_diamond(pooled, pooled_y) if pooled else "",
        pooled_y=pooled_y,
        left_out=max(len(drawn) - limit, 0),
        unlisted=max(len(drawn) - listed, 0),
        silent=len(strata) - len(drawn),
        opposite=sum(opposite),
        table=tuple(map(_table_row, drawn[:listed], opposite)),
        strip=f"{LEFT - STRIP_PAD} 0 {PLOT_WIDTH + 2 * STRIP_PAD} {STRIP_HEIGHT}",
        strip_diamond=_diamond(pooled, STRIP_HEIGHT // 2) if pooled else "",
        one=place_of(1.0),
    )


def interval_words(found: Estimate | None) -> str:
    """An odds ratio and its interval as one phrase."""
    if found is None:
        return _("no estimate")
    return _("{ratio} ({low} to {high})").format(
        ratio=ratio(found.odds_ratio), low=ratio(found.low), high=ratio(found.high)
    )


def share_words(some: int, of: int) -> str:
    """As words: "3 of 12"."""
    return _("{some} of {all}").format(some=some, all=of)


def _table_row(stratum: Stratum, opposite: bool) -> TableRow:
    return TableRow(
        name=stratum.name,
        with_it=share_words(stratum.success_with, stratum.success_with + stratum.failure_with),
        without_it=share_words(stratum.success_without, stratum.success_without + stratum.failure_without),
        words=interval_words(estimate(stratum)),
        opposite=opposite,
    )


def _is_opposite(found: Estimate, pooled: Estimate | None) -> bool:
    return pooled is not None and (found.odds_ratio - 1) * (pooled.odds_ratio - 1) < 0


def _row(place: int, stratum: Stratum, opposite: bool) -> ForestRow:
    found = estimate(stratum)
    return ForestRow(
        name=stratum.name,
        y=TOP + ROW_HEIGHT * place + ROW_HEIGHT // 2,
        x=place_of(found.odds_ratio),
        x_low=place_of(found.low),
        x_high=place_of(found.high),
        size=min(4 + math.sqrt(stratum.runs), 11),
        cut_low=found.low < LOWEST,
        cut_high=found.high > HIGHEST,
        opposite=opposite,
        label=shortened(stratum.name, LABEL),
        words=interval_words(found),
    )


def place_of(value: float, left: float = LEFT, width: float = PLOT_WIDTH) -> float:
    """Where an odds ratio lies on the clipped logarithmic axis."""
    inside = min(max(value, LOWEST), HIGHEST)
    share = (math.log(inside) - math.log(LOWEST)) / (math.log(HIGHEST) - math.log(LOWEST))
    return round(left + width * share, 1)


def _diamond(pooled: Estimate, y: int) -> str:
    low, middle, high = place_of(pooled.low), place_of(pooled.odds_ratio), place_of(pooled.high)
    return f"{low},{y} {middle},{y - 7} {high},{y} {middle},{y + 7}"


def mini(pooled: Estimate | None) -> Mini | None:
    """The interval of a list row; ``away`` says that it excludes 1."""
    if pooled is None:
        return None
    left, width = MINI_PAD, MINI_WIDTH - 2 * MINI_PAD
    return Mini(
        x=place_of(pooled.odds_ratio, left, width),
        x_low=place_of(pooled.low, left, width),
        x_high=place_of(pooled.high, left, width),
        x_one=place_of(1.0, left, width),
        away=pooled.high < 1 or pooled.low > 1,
    )
