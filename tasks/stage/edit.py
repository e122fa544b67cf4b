"""What a person makes of a candidate's text: checked, cleaned, and set beside what the night had written. Pure.

A packet whose text a person wrote has the part ``edited``: ``by`` and ``name`` of who did, ``at``, ``from`` and
``text`` (content hash and content of the night's text), the night's ``tier`` and ``tier_why``, and ``newer`` once the
night would write something else: its ``hash``, ``text`` and ``at``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from storage.ids import content_hash
from tasks.conflict.scopes import Range, parse_range
from tasks.draft.scope import ANY, version_key
from tasks.promote.errors import NothingChanged, TextRefused
from tasks.stage.settle import settled
from tasks.verify.check import advice
from tasks.verify.tier import Tier, Tiered, risk_said

LARGEST = 200_000
"""Bytes of a whole text in UTF-8."""
MOST_STEPS = 200
MOST_NAMES = 100
"""Most components, and most agents, that a scope names."""
LONGEST_NAME = 200
LONGEST_TITLE = 200
LONGEST_WAIT = timedelta(days=366)
"""How far ahead a re-check date may lie."""

TEXT_CHECKS = frozenset(
    ("exceptions", "coverage", "over-specific", "hidden-text", "injection", "secrets", "authoritative-source", "recall",
     "scope")
)  # fmt: skip
"""Checks whose answer depends on the words or the scope."""
TIERS: Mapping[str, int] = {"low": 0, "standard": 1, "high": 2}

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_BOUND = re.compile(r"(<=|>=|==|<|>|=)?\s*(\S+)")


@dataclass(frozen=True)
class Written:
    """What a person wrote, as it came."""

    when_to_use: str
    guidance: Sequence[str]
    scope: Mapping[str, Any]


def edited_content(old: Mapping[str, Any], written: Written, namespace: str, today: date) -> dict[str, Any]:
    """The content with a person's words and scope; whatever else it holds, the predicate first of all, stays.

    Raises:
        TextRefused: naming what cannot be taken, and what it may be.
        NothingChanged: if it is what was there.
    """
    when_to_use = _one("when to use it", written.when_to_use)
    guidance = [step for line in written.guidance if (step := cleaned(line))]
    if not guidance:
        raise TextRefused("there is no step left: write at least one, one a line")
    if len(guidance) > MOST_STEPS:
        raise TextRefused(f"{len(guidance)} steps are too many for advice: at most {MOST_STEPS}")
    size = len("\n".join([when_to_use, *guidance]).encode())
    if size > LARGEST:
        raise TextRefused(f"the text has {size:,} bytes: at most {LARGEST:,}")
    scope = dict(old.get("scope") or {}) | edited_scope(written.scope, namespace, today)
    new = {**old, "when_to_use": when_to_use, "guidance": guidance, "scope": scope}
    if new == _cleaned(old):
        raise NothingChanged("nothing changed: the text and its scope are what they were")
    return new


def edited_scope(given: Mapping[str, Any], namespace: str, today: date) -> dict[str, Any]:
    """A scope as a content keeps it.

    Raises:
        TextRefused: naming the first part that cannot be taken.
    """
    if given.get("namespace", namespace) != namespace:
        raise TextRefused(f"a scope can't reach beyond its namespace: this candidate is of {namespace}")
    environment = {_name("a component", name): _version(str(name), str(v)) for name, v in _of(given, "environment", {})}
    agents = list(dict.fromkeys(_name("an agent", one) for one in _of(given, "agents", [])))
    if max(len(environment), len(agents)) > MOST_NAMES:
        raise TextRefused(f"a scope names at most {MOST_NAMES} components and {MOST_NAMES} agents")
    starts = str(given.get("valid_from") or "").strip()
    due = _day("re-check date", given.get("recheck_at"))
    if due <= today:
        raise TextRefused(f"the re-check date {due} is not in the future: set a day after {today}")
    if due > today + LONGEST_WAIT:
        raise TextRefused(f"the re-check date {due} is more than a year away: set one up to {today + LONGEST_WAIT}")
    if starts and _moment("valid from", starts).date() >= due:
        raise TextRefused(f"it would be valid from {starts}, which is not before its re-check on {due}")
    return {
        "namespace": namespace,
        "environment": environment,
        "agents": agents,
        "valid_from": starts or None,
        "recheck_at": due.isoformat(),
    }


def cleaned(text: str) -> str:
    """A text as databases take it: one kind of line end, what they refuse replaced visibly, no space around it."""
    ends = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", ends).strip()


def title_of(content: Mapping[str, Any]) -> str:
    """One line for lists: the first step, as a night takes it."""
    steps = content.get("guidance") or [content.get("when_to_use") or ""]
    line = " ".join(str(steps[0]).split()).rstrip(".")
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"


def marked(packet: Mapping[str, Any], text: Mapping[str, Any], *, by: str, name: str, at: datetime) -> dict[str, Any]:
    """The packet with who wrote its text now. ``text`` is what stood there: the night's, unless that is kept already.

    Args:
        by: the user's id.
    """
    known = packet.get("edited") or {}
    kept = {
        "from": known.get("from") or content_hash(dict(text)),
        "text": known.get("text") or dict(text),
        "tier": known.get("tier") or packet.get("tier"),
        "tier_why": known.get("tier_why") or packet.get("tier_why"),
        "newer": known.get("newer"),
    }
    return {**packet, "edited": {"by": by, "name": name, "at": at.isoformat(timespec="seconds"), **kept}}


def is_nights(edited: Mapping[str, Any], content: Mapping[str, Any]) -> bool:
    """Whether a content is the night's own: what an edit was made of, or what the night would write by now."""
    return content_hash(dict(content)) in {edited.get("from"), (edited.get("newer") or {}).get("hash")}


def nights_text(edited: Mapping[str, Any]) -> dict[str, Any]:
    """The newest text that the night has for an edited candidate."""
    return dict((edited.get("newer") or {}).get("text") or edited["text"])


def carried(
    edited: Mapping[str, Any], drafted: Mapping[str, Any], packet: Mapping[str, Any], today: date, *, waiting: bool
) -> dict[str, Any]:
    """A newer packet of the night under a text that a person wrote.

    Where the night would word it otherwise by now, its text goes along as ``newer``. The tier is tonight's; whoever
    asks checks the text anew, and may raise it.

    Args:
        waiting: whether the candidate waits for a decision; only then does a re-check date that passed make it newer.
    """
    known = edited.get("newer") or {}
    night = settled(drafted, [each for each in (known.get("text"), edited["text"]) if each], today, waiting=waiting)
    newer = None
    if content_hash(night) != edited["from"]:
        fresh = {"hash": content_hash(night), "text": night, "at": today.isoformat()}
        newer = known if known.get("hash") == fresh["hash"] else fresh
    tonights = {"tier": packet.get("tier"), "tier_why": packet.get("tier_why"), "newer": newer}
    return {**packet, "edited": {**edited, **tonights}}


def replaced(
    rows: Sequence[Mapping[str, Any]], fresh: Sequence[Mapping[str, Any]], names: frozenset[str]
) -> list[dict[str, Any]]:
    """The rows of the checks, those of some names from the fresh ones; a name that was missing comes last."""
    new = {str(row["name"]): dict(row) for row in fresh if row["name"] in names}
    kept = [new.pop(str(row["name"]), dict(row)) for row in rows]
    return [*kept, *new.values()]


def scope_row(row: Mapping[str, Any], night: Mapping[str, Any], scope: Mapping[str, Any]) -> dict[str, Any]:
    """The row of the check on the scope, with what only a person's scope can be: wider than what was verified."""
    if row["verdict"] == "fail":
        return {**row, "fix": "edit the scope: no night sets it while a person's words stand"}
    wider = widened(night, scope)
    if not wider:
        return dict(row)
    fix = "no run of that is behind it: see whether it holds there, or narrow the scope again"
    return {**row, "verdict": "warn", "detail": f"{row['detail']}; wider than verified: {wider}", "fix": fix}


def widened(night: Mapping[str, Any], scope: Mapping[str, Any]) -> str:
    """In what a scope reaches beyond the one that the runs verified; empty where it does not."""
    found = []
    given = scope.get("environment") or {}
    for name, verified in sorted((night.get("environment") or {}).items()):
        if not parse_range(str(verified)).covers(parse_range(str(given.get(name, ANY)))):
            found.append(f"{name} {given.get(name, 'at any version')}, verified for {verified}")
    known, agents = set(night.get("agents") or ()), set(scope.get("agents") or ())
    if known and not (agents and agents <= known):
        found.append(f"agents {', '.join(sorted(agents - known)) or 'of any name'}, verified for {', '.join(known)}")
    return "; ".join(found)


def tier_for(night: Tiered, checked: Tiered, old: Mapping[str, Any], content: Mapping[str, Any]) -> Tiered:
    """The tier of a person's text: the night's, or higher where the checks or the lines that changed ask for it.

    A changed line that speaks of a risk is taken on the safe side, since an edit may turn advice around.
    """
    before = set(advice(old))
    said = risk_said([line for line in advice(content) if line not in before])
    found = [night, checked]
    if said:
        found.append(Tiered("high", f"a person worded it, and speaks of “{said[0]}”, which touches {said[1]}"))
    return max(found, key=lambda one: TIERS[one.tier])


def tiered(tier: Any, why: Any) -> Tiered:
    """A tier as a packet keeps it."""
    known: Tier = tier if tier in TIERS else "standard"
    return Tiered(known, str(why or ""))


def _cleaned(content: Mapping[str, Any]) -> dict[str, Any]:
    """A stored content as a form would send it back, so that nothing changed is seen to be nothing."""
    steps = [step for line in content.get("guidance") or () if (step := cleaned(str(line)))]
    known = content.get("scope") or {}
    scope = {**known, "environment": known.get("environment") or {}, "agents": known.get("agents") or []}
    scope |= {"valid_from": known.get("valid_from") or None, "recheck_at": str(known.get("recheck_at") or "")[:10]}
    return {**content, "when_to_use": cleaned(str(content.get("when_to_use") or "")), "guidance": steps, "scope": scope}


def _one(what: str, text: str) -> str:
    made = cleaned(text)
    if not made:
        raise TextRefused(f"“{what}” is empty: say in which situation an agent should read this")
    return made


def _of(given: Mapping[str, Any], key: str, empty: Any) -> Any:
    value = given.get(key) or empty
    if not isinstance(value, type(empty)):
        raise TextRefused(f"{key} of a scope is {'an object' if empty == {} else 'a list'}, not {value!r:.80}")
    return value.items() if isinstance(value, dict) else value


def _name(what: str, value: Any) -> str:
    name = cleaned(str(value))
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise TextRefused(f"{name[:40]!r} is no name for {what}: one line, up to {LONGEST_NAME} characters")
    return name


def _version(component: str, value: str) -> str:
    """A version, ``*``, or bounds, in the form that scopes are kept in."""
    text = cleaned(value)
    parts = [part.strip() for part in text.split(",")]
    found = [_BOUND.fullmatch(part) for part in parts]
    if not text or len(text) > LONGEST_NAME or not text.isprintable() or not all(found):
        raise _bad_version(component, text)
    bounds = [(match[1] or "", match[2]) for match in found if match]
    if len(bounds) == 1 and not bounds[0][0]:
        return text
    if any(not sign or version_key(version) is None for sign, version in bounds):
        raise _bad_version(component, text)
    made = ",".join(f"{sign}{version}" for sign, version in bounds)
    span: Range = parse_range(made)
    if span.low is not None and span.high is not None and span.low > span.high:
        raise TextRefused(f"no version of {component} lies in {made}")
    return made


def _bad_version(component: str, text: str) -> TextRefused:
    return TextRefused(
        f"{text[:60]!r} is no version of {component[:60]}: write one such as 3.2, bounds such as >=3.1,<=3.4, or "
        f"{ANY} for any"
    )


def _day(what: str, value: Any) -> date:
    return _moment(what, str(value or "")).date()


def _moment(what: str, text: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        raise TextRefused(f"{text[:40]!r} is no {what}: write a date such as 2027-02-28") from None
