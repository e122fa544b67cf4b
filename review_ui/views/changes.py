"""What a reviewer may do to a candidate besides deciding: edit its text, ask for more evidence. And what they sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any
from urllib.parse import quote_plus

from review_ui import links
from review_ui.hidden import pieces
from review_ui.shield import LARGEST_FORM
from review_ui.words import _, ngettext
from storage.tables import Candidate, CandidateRevision, RuleVersion
from tasks.promote.errors import TextRefused, WantedRefused
from tasks.stage import edit, wanted
from tasks.stage.wanted import Wanted, wanted_of

INDENT = "  "
"""How the form starts a line that goes on with the step above."""
FREE_ROWS = 2
"""Empty rows for components that the scope does not name yet."""
ROOM = LARGEST_FORM - 8 * 1024
"""Bytes of a form that the text itself may take, as browsers send it."""


@dataclass(frozen=True)
class ComponentRow:
    """One component of a scope, with the versions that it is verified for; both empty in a free row."""

    number: int
    name: str
    version: str


@dataclass(frozen=True)
class EditForm:
    """The text and scope of a candidate, or of a rule's version, as a form. Dates are ISO, one step a line.

    ``left_out`` counts hidden characters that the text has and the form has not. ``too_long`` is the command to use
    where a form cannot carry the text; there are no fields then.
    """

    action: str
    title: str
    lead: str
    button: str
    content_hash: str
    when_to_use: str
    guidance: str
    components: tuple[ComponentRow, ...]
    agents: str
    valid_from: str
    recheck_at: str
    recheck_from: str
    recheck_until: str
    reason: str = ""
    left_out: str = ""
    too_long: str = ""
    is_open: bool = False


@dataclass(frozen=True)
class TakeBack:
    """Taking the night's text instead of a person's."""

    action: str
    content_hash: str
    title: str
    lead: str


@dataclass(frozen=True)
class AskForm:
    """What evidence can be asked for. ``components`` and ``outcomes`` are choices."""

    action: str
    content_hash: str
    runs: str
    agent: str
    component: str
    version: str
    task: str
    outcome: str
    words: str
    until: str
    until_from: str
    until_most: str
    outcomes: tuple[tuple[str, str], ...]
    known: tuple[str, ...]
    reason: str = ""
    is_open: bool = False


@dataclass(frozen=True)
class Waiting:
    """What a candidate waits for, and how much of it came. ``most`` and ``came`` are for the bar."""

    what: str
    progress: str
    came: int
    most: int
    words: str
    asked_by: str
    asked_at: datetime
    until: str
    action: str
    content_hash: str


@dataclass(frozen=True)
class Changes:
    """The forms that change one candidate; those that do not fit its state are absent."""

    edit: EditForm | None
    take: TakeBack | None
    ask: AskForm | None
    waiting: Waiting | None


@dataclass(frozen=True)
class Typed:
    """What somebody wrote into the form of an edit."""

    when_to_use: str
    guidance: str
    component: Sequence[str]
    version: Sequence[str]
    agents: str
    valid_from: str
    recheck_at: str
    reason: str

    def steps(self) -> list[str]:
        """The steps: one a line, an indented line goes on with the step above."""
        return steps_of(self.guidance)

    def scope(self) -> dict[str, Any]:
        """The scope as a content keeps it, unchecked.

        Raises:
            TextRefused: where a component is named twice, or a version is of none.
        """
        environment: dict[str, str] = {}
        for name, version in zip(self.component, self.version, strict=False):
            if not name.strip():
                if version.strip():
                    raise TextRefused(f"version {version.strip()[:60]} is of no component: name it, or empty both")
                continue
            if name.strip() in environment:
                raise TextRefused(f"component {name.strip()[:60]} is named twice: keep one of the two")
            environment[name.strip()] = version
        agents = [line.strip() for line in self.agents.splitlines() if line.strip()]
        return {
            "environment": environment, "agents": agents, "valid_from": self.valid_from.strip() or None,
            "recheck_at": self.recheck_at,
        }  # fmt: skip


def changes_view(
    candidate: Candidate, revision: CandidateRevision, *, came: int, asked_by: str, now: datetime
) -> Changes:
    """The forms for a candidate that waits for a decision.

    Args:
        came: how many runs that answer its request came in by now.
        asked_by: the name of who asked for evidence.
    """
    link, shown = links.candidate(candidate.namespace, candidate.id), candidate.content_hash
    asked = wanted_of(candidate.wanted)
    if candidate.parked_at is not None and asked is not None:
        return Changes(None, None, None, _waiting(candidate, asked, came, asked_by, link))
    form = edit_form(candidate, revision, now.date()) if candidate.kind == "rule" else None
    return Changes(form, _take(revision, link), ask_form(link, shown, revision.content, now.date()), None)


def edit_form(candidate: Candidate, revision: CandidateRevision, today: date) -> EditForm:
    """The text of a candidate to change."""
    return _form(
        f"{links.candidate(candidate.namespace, candidate.id)}/edit",
        _("Edit the text"),
        _("Your words take the place of these. Every approval so far falls, and another reviewer has to approve them."),
        _("Save as a new revision"),
        revision.content,
        candidate.content_hash,
        f"slowwave edit {candidate.id} --namespace {candidate.namespace}",
        today,
    )


def propose_form(row: RuleVersion, today: date) -> EditForm:
    """The text of an active version to make the next one of."""
    return _form(
        propose_link(row.namespace, row.rule_id, row.version),
        _("Propose a new version"),
        _("Agents go on being served this version until another reviewer approves yours."),
        _("Propose it"),
        row.content,
        row.content_hash,
        f"slowwave edit {row.rule_id} --namespace {row.namespace}",
        today,
    )


def propose_link(namespace: str, rule_id: str, version: int) -> str:
    """Where a new version of an active one is proposed."""
    return f"{links.rule(namespace, rule_id)}/versions/{version}/propose"


def typed_form(form: EditForm, typed: Typed) -> EditForm:
    """The same form with what somebody wrote into it, so that nothing they typed is lost."""
    names = ("when_to_use", "guidance", "agents", "valid_from", "recheck_at", "reason")
    shown = {name: seen(getattr(typed, name)) for name in names}
    fields: dict[str, Any] = {name: text for name, (text, _lost) in shown.items()}
    rows = _rows(list(zip(typed.component, typed.version, strict=False)))
    left_out = _left_out(sum(lost for _text, lost in shown.values()))
    return replace(form, **fields, components=rows, left_out=left_out, too_long="", is_open=True)


def asked_form(form: AskForm, given: Mapping[str, str]) -> AskForm:
    """The same for a request."""
    shown: dict[str, Any] = {name: seen(text)[0] for name, text in given.items()}
    return replace(form, **shown, is_open=True)


def steps_text(guidance: Sequence[str]) -> str:
    """Steps as the form shows them: one a line, further lines of a step indented."""
    return "\n".join(step.replace("\n", f"\n{INDENT}") for step in guidance)


def steps_of(text: str) -> list[str]:
    """The steps that a form holds."""
    steps: list[str] = []
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if steps and line[:1] in (" ", "\t"):
            steps[-1] += "\n" + (line.removeprefix(INDENT) if line.startswith(INDENT) else line[1:])
        elif line.strip():
            steps.append(line)
    return steps


def ask_form(link: str, shown: str, content: Mapping[str, Any], today: date) -> AskForm:
    """What evidence can be asked for, nothing filled in but how long to wait."""
    known = sorted(str(name) for name in (content.get("scope") or {}).get("environment") or {})
    return AskForm(
        action=f"{link}/ask", content_hash=shown, runs="5", agent="", component="", version="", task="", outcome="",
        words="", until=(today + wanted.WAIT).isoformat(), until_from=_tomorrow(today),
        until_most=(today + wanted.LONGEST_WAIT).isoformat(), outcomes=outcomes(), known=tuple(known),
    )  # fmt: skip


def outcomes() -> tuple[tuple[str, str], ...]:
    """The outcomes that can be asked for."""
    return ("", _("either")), ("success", _("successful")), ("failure", _("failed"))


def wanted_from(given: Mapping[str, str]) -> Wanted:
    """A request as the form sent it, unchecked but for the number.

    Raises:
        WantedRefused: if the number is none.
    """
    runs = given["runs"].strip()
    if not (runs.isascii() and runs.isdigit()):
        raise WantedRefused(f"{runs[:40]!r} is no number of runs: write one such as 5")
    names = ("agent", "component", "version", "task", "outcome", "words", "until")
    asked: dict[str, Any] = {name: given[name] for name in names}
    return Wanted(min(int(runs[:9]), wanted.MOST_RUNS + 1), **asked)


def wanted_words(asked: Wanted) -> str:
    """What is waited for, in the reader's language: “5 more judged runs (agent support-bot, airline-api 3.3)”."""
    if asked.outcome == "success":
        counted = ngettext("{n} more successful run", "{n} more successful runs", asked.runs)
    elif asked.outcome == "failure":
        counted = ngettext("{n} more failed run", "{n} more failed runs", asked.runs)
    else:
        counted = ngettext("{n} more judged run", "{n} more judged runs", asked.runs)
    conditions = [
        *([_("agent {name}").format(name=asked.agent)] if asked.agent else []),
        *([" ".join(filter(None, (asked.component, asked.version)))] if asked.component else []),
        *([_("task {name}").format(name=asked.task)] if asked.task else []),
    ]
    runs = counted.format(n=asked.runs)
    return _("{runs} ({conditions})").format(runs=runs, conditions=", ".join(conditions)) if conditions else runs


def _waiting(candidate: Candidate, asked: Wanted, came: int, asked_by: str, link: str) -> Waiting:
    assert candidate.parked_at is not None
    progress = ngettext("{came} of {n} came in so far.", "{came} of {n} came in so far.", asked.runs)
    return Waiting(
        what=wanted_words(asked), progress=progress.format(came=came, n=asked.runs), came=min(came, asked.runs),
        most=asked.runs, words=asked.words, asked_by=asked_by or _("somebody"), asked_at=candidate.parked_at,
        until=asked.until, action=f"{link}/resume", content_hash=candidate.content_hash,
    )  # fmt: skip


def _take(revision: CandidateRevision, link: str) -> TakeBack | None:
    edited = revision.packet.get("edited")
    if not edited:
        return None
    lead = _("The night's text takes the place of {name}'s. Every approval so far falls.")
    if edited.get("newer"):
        lead = _("The night words it otherwise by now. Its text takes the place of {name}'s; every approval falls.")
    told = lead.format(name=str(edited.get("name") or _("somebody")))
    return TakeBack(f"{link}/take-back", revision.content_hash, _("Take the night's text instead"), told)


def _form(
    action: str,
    title: str,
    lead: str,
    button: str,
    content: Mapping[str, Any],
    shown: str,
    command: str,
    today: date,
) -> EditForm:
    scope = content.get("scope") or {}
    when, lost_when = seen(str(content.get("when_to_use") or ""))
    steps, lost_steps = seen(steps_text([str(step) for step in content.get("guidance") or ()]))
    agents, lost_agents = seen("\n".join(str(agent) for agent in scope.get("agents") or ()))
    parts = [(*seen(str(name)), *seen(str(version))) for name, version in (scope.get("environment") or {}).items()]
    lost = lost_when + lost_steps + lost_agents + sum(one + other for _name, one, _version, other in parts)
    return EditForm(
        action=action,
        title=title,
        lead=lead,
        button=button,
        content_hash=shown,
        when_to_use=when,
        guidance=steps,
        components=_rows([(name, version) for name, _one, version, _other in parts]),
        agents=agents,
        valid_from=seen(str(scope.get("valid_from") or ""))[0],
        recheck_at=seen(str(scope.get("recheck_at") or ""))[0][:10],
        recheck_from=_tomorrow(today),
        recheck_until=(today + edit.LONGEST_WAIT).isoformat(),
        left_out=_left_out(lost),
        too_long=command if len(quote_plus(when + steps, errors="replace")) > ROOM else "",
    )


def _left_out(lost: int) -> str:
    if not lost:
        return ""
    return ngettext(
        "{n} hidden place of the text is left out of this form: saving takes it away.",
        "{n} hidden places of the text are left out of this form: saving takes them away.",
        lost,
    ).format(n=lost)


def seen(text: str) -> tuple[str, int]:
    """A text without what no reader sees, and how many such places it had: a field of a form shows no marks."""
    found = list(pieces(text))
    kept = "".join(piece.text for piece in found if piece.kind != "hidden")
    return kept, sum(piece.kind == "hidden" for piece in found)


def _rows(given: Sequence[tuple[str, str]]) -> tuple[ComponentRow, ...]:
    named = sorted((name, version) for name, version in given if name.strip() or version.strip())
    rows = [*named, *[("", "")] * FREE_ROWS]
    shown = [(seen(name)[0], seen(version)[0]) for name, version in rows]
    return tuple(ComponentRow(number, *row) for number, row in enumerate(shown, 1))


def _tomorrow(today: date) -> str:
    return date.fromordinal(today.toordinal() + 1).isoformat()
