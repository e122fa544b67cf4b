"""Where a rule holds, in plain words: components and their versions, agents, dates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from babel.dates import format_date

from review_ui.reader import reader
from review_ui.text import DAYS
from review_ui.words import BABEL, N_, _


@dataclass(frozen=True)
class Labelled:
    """A name and a value of a definition list."""

    name: str
    value: str


BOUNDS = {
    ">=": N_("{version} or later"),
    ">": N_("later than {version}"),
    "<=": N_("{version} or earlier"),
    "<": N_("earlier than {version}"),
}


def scope_lines(scope: Mapping[str, Any], namespace: str) -> tuple[Labelled, ...]:
    """A scope as a list. What it leaves open is said to be open."""
    environment, agents = scope.get("environment"), scope.get("agents")
    components = sorted(environment.items()) if isinstance(environment, dict) else []
    named = ", ".join(str(agent) for agent in agents) if isinstance(agents, list) else ""
    lines = [
        Labelled(_("Namespace"), str(scope.get("namespace") or namespace)),
        Labelled(_("Environment"), "; ".join(component_words(*each) for each in components) or _("any")),
        Labelled(_("Agents"), named or _("all of the namespace")),
        Labelled(_("Valid from"), day_words(scope.get("valid_from")) or _("its approval")),
    ]
    if scope.get("valid_to"):
        lines.append(Labelled(_("Valid to"), day_words(scope.get("valid_to"))))
    return (*lines, Labelled(_("Re-check on"), day_words(scope.get("recheck_at")) or _("no date set")))


def component_words(name: str, version: object) -> str:
    """A component with its versions: "orders-api, version 3.0 or later and earlier than 4"."""
    bounds = [part.strip() for part in str(version).split(",") if part.strip()]
    if not bounds or bounds == ["*"]:
        return _("{component}, any version").format(component=name)
    said = [_bound(bound) for bound in bounds]
    low_high = [bound.lstrip("<>=") for bound in bounds]
    if len(bounds) == 2 and bounds[0].startswith(">=") and bounds[1].startswith("<="):
        words = _("{low} to {high}").format(low=low_high[0], high=low_high[1])
    else:
        words = said[0] if len(said) == 1 else _("{one} and {other}").format(one=said[0], other=", ".join(said[1:]))
    return _("{component}, version {version}").format(component=name, version=words)


def _bound(bound: str) -> str:
    sign = next((sign for sign in BOUNDS if bound.startswith(sign)), "")
    return _(BOUNDS[sign]).format(version=bound.removeprefix(sign).strip()) if sign else bound.lstrip("=")


def day_words(value: object) -> str:
    """A calendar day as the reader's language writes it; what is no day, as it is; empty for nothing."""
    text = str(value or "")
    try:
        day = date.fromisoformat(text[:10])
    except ValueError:
        return text
    language = reader().language
    return format_date(day, DAYS[language], locale=BABEL[language])
