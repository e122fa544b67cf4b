"""What evidence a reviewer wants to see before deciding, in terms that a night can count. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from typing import Any

from tasks.conflict.scopes import parse_range
from tasks.promote.errors import WantedRefused

MOST_RUNS = 10_000
LONGEST = 200
LONGEST_WORDS = 1000
WAIT = timedelta(days=30)
"""How long a candidate waits for what was asked, unless the one who asks says otherwise."""
LONGEST_WAIT = timedelta(days=366)
OUTCOMES = ("", "success", "failure")
ARRIVED, MISSING = "evidence-arrived", "evidence-missing"
"""Why a candidate is back: what was asked for arrived, or the day came by which it had not."""


@dataclass(frozen=True)
class Arrived:
    """A run that came in since, as far as a request can ask: what it is a run of, and its independence group."""

    group: str
    agent: str = ""
    environment: Mapping[str, str] | None = None
    task: str = ""
    outcome: str = ""


@dataclass(frozen=True)
class Wanted:
    """Runs that a reviewer wants to see, counted by independent group. An empty part asks for nothing.

    ``version`` of ``component`` may be one version or bounds such as ``>=3.1``. ``task`` is a task key. ``words`` say
    what a person looks for beyond what can be counted. ``until`` is the ISO date from which the candidate waits no
    longer. ``seen`` is how many of them the last night counted.
    """

    runs: int
    agent: str = ""
    component: str = ""
    version: str = ""
    task: str = ""
    outcome: str = ""
    words: str = ""
    until: str = ""
    seen: int = 0

    def checked(self, today: date) -> Wanted:
        """The request as it is kept, with the day until which it holds.

        Raises:
            WantedRefused: naming what cannot be asked.
        """
        if isinstance(self.runs, bool) or not isinstance(self.runs, int) or not 1 <= self.runs <= MOST_RUNS:
            raise WantedRefused(f"{self.runs!r} runs can't be waited for: ask for 1 to {MOST_RUNS:,}")
        named = {name: " ".join(str(getattr(self, name)).split()) for name in ("agent", "component", "version", "task")}
        for name, text in named.items():
            if len(text) > LONGEST or not text.isprintable():
                raise WantedRefused(f"{text[:40]!r} is no {name}: one line, up to {LONGEST} characters")
        if named["version"] and not named["component"]:
            raise WantedRefused(f"version {named['version']} of what? Name the component as well")
        if self.outcome not in OUTCOMES:
            raise WantedRefused(f"{self.outcome[:40]!r} is no outcome to ask for: success, failure, or either")
        words = self.words.strip().replace("\x00", "\N{REPLACEMENT CHARACTER}")
        if len(words) > LONGEST_WORDS:
            raise WantedRefused(f"the words have {len(words)} characters; keep them under {LONGEST_WORDS}")
        asked: dict[str, Any] = {**named, "words": words, "until": _until(self.until, today), "seen": 0}
        return replace(self, **asked)

    @property
    def is_met(self) -> bool:
        """Whether the last count was enough."""
        return self.seen >= self.runs

    def is_late(self, today: date) -> bool:
        """Whether its day has come."""
        return bool(self.until) and date.fromisoformat(self.until) <= today

    def matches(self, run: Arrived) -> bool:
        """Whether a run is one of those asked for. A run that does not name the component tells nothing about it."""
        given = (run.environment or {}).get(self.component, "")
        fits = {
            "agent": not self.agent or run.agent == self.agent,
            "task": not self.task or run.task == self.task,
            "outcome": not self.outcome or run.outcome == self.outcome,
            "component": not self.component or (bool(given) and in_range(given, self.version)),
        }
        return all(fits.values())

    def count(self, runs: list[Arrived]) -> int:
        """How many independent groups of the runs match."""
        return len({run.group for run in runs if self.matches(run)})

    def as_row(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    def what(self) -> str:
        """What is waited for, in English: “5 more judged runs of support-bot on airline-api 3.3”."""
        kind = {"success": "successful", "failure": "failed"}.get(self.outcome, "judged")
        parts = [f"{self.runs} more {kind} {'run' if self.runs == 1 else 'runs'}"]
        parts += [f"of {self.agent}"] if self.agent else []
        parts += [f"on {' '.join(filter(None, (self.component, self.version)))}"] if self.component else []
        parts += [f"in task {self.task}"] if self.task else []
        return " ".join(parts)


def wanted_of(row: Mapping[str, Any] | None) -> Wanted | None:
    """A request as it is stored; None where nobody asked for anything."""
    if not row or not row.get("runs"):
        return None
    known = Wanted.__dataclass_fields__
    return Wanted(**{name: value for name, value in row.items() if name in known})


def in_range(version: str, asked: str) -> bool:
    """Whether a version is one that was asked for; any is, where none was named."""
    return not asked or version == asked or parse_range(asked).overlaps(parse_range(version))


def _until(text: str, today: date) -> str:
    if not text.strip():
        return (today + WAIT).isoformat()
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        raise WantedRefused(f"{text[:40]!r} is no date to wait until: write one such as {today + WAIT}") from None
    if not today < day <= today + LONGEST_WAIT:
        raise WantedRefused(f"it can wait until a day after {today} and within a year, not until {day}")
    return day.isoformat()
