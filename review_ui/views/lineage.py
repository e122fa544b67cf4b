"""Where a candidate came from and what came of it: a picture, and the same as a list."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from review_ui import links
from review_ui.lineage import Column, Drawing, Flow, Node, draw
from review_ui.views.names import CANDIDATE_STATES, OUTCOMES, VERSION_STATES, said
from review_ui.words import N_, _, ngettext
from storage.queries.descent import CitedRuns
from storage.queries.rules import VersionKey
from storage.tables import Candidate, RuleVersion

MOST_VERSIONS, MOST_KIN = 3, 12
TONES = {"success": "good", "failure": "bad", "partial": "warn"}
STANCES = {"support": N_("speak for it"), "counter": N_("speak against it")}


@dataclass(frozen=True)
class Descent:
    """What the store knows of a candidate's lineage.

    ``sessions`` are those that each version was served to, ``after`` the episodes of these sessions by outcome.
    ``ancestors`` are versions that the runs behind it had read, with what those descend from; ``descendants`` versions
    that lean on one of its own.
    """

    cited: Sequence[CitedRuns] = ()
    versions: Sequence[RuleVersion] = ()
    sessions: Mapping[VersionKey, int] = field(default_factory=dict)
    after: Mapping[str, int] = field(default_factory=dict)
    ancestors: Collection[VersionKey] = ()
    descendants: Collection[VersionKey] = ()


@dataclass(frozen=True)
class Stage:
    """One step of the list: a heading, and lines of (words, link); a link may be empty."""

    heading: str
    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class LineageView:
    """The picture with its description, and everything in it as a list."""

    picture: Drawing
    description: str
    stages: tuple[Stage, ...]


def lineage_view(candidate: Candidate, number: int, descent: Descent) -> LineageView:
    """The lineage of one candidate at one revision."""
    columns, flows = _columns(candidate, number, descent)
    stages = tuple(_stages(candidate, number, descent))
    return LineageView(
        picture=draw(columns, flows),
        description=" → ".join(column.heading for column in columns),
        stages=stages,
    )


def _columns(candidate: Candidate, number: int, descent: Descent) -> tuple[list[Column], list[Flow]]:
    runs = [
        Node(f"run-{run.stance}-{run.outcome}", str(run.episodes), said(OUTCOMES, run.outcome),
             TONES.get(run.outcome, ""))
        for run in descent.cited
    ]  # fmt: skip
    groups: dict[str, int] = {}
    for run in descent.cited:
        groups[run.stance] = groups.get(run.stance, 0) + run.groups
    evidence = [Node(stance, str(many), _(STANCES[stance]), stance) for stance, many in groups.items()]
    flows = [Flow(f"run-{run.stance}-{run.outcome}", run.stance, run.episodes) for run in descent.cited]
    flows += [Flow(stance, "this", many) for stance, many in groups.items()]
    if descent.ancestors:
        evidence.append(Node("ancestors", str(len(descent.ancestors)), _("rules read before"), "kin"))
        flows.append(Flow("ancestors", "this", len(descent.ancestors)))
    this = Node("this", _("revision {n}").format(n=number), said(CANDIDATE_STATES, candidate.state), "this")
    columns = [
        Column(_("Episodes cited"), tuple(runs)),
        Column(_("Groups"), tuple(evidence)),
        Column(_("Candidate"), (this,)),
    ]
    if not descent.versions:
        return [*columns, Column(_("Versions"), (Node("none", _("none yet"), _("not promoted"), "none"),))], flows
    later, more = _later(descent)
    return [*columns, *later], [*flows, *more]


def _later(descent: Descent) -> tuple[list[Column], list[Flow]]:
    shown = list(descent.versions)[-MOST_VERSIONS:]
    hidden = len(descent.versions) - len(shown)
    versions = [
        Node(f"version-{row.rule_id}-{row.version}", _("version {n}").format(n=row.version),
             said(VERSION_STATES, row.state), row.state)
        for row in shown
    ]  # fmt: skip
    if hidden:
        versions.insert(0, Node("versions", f"+{hidden}", _("older versions")))
    total = sum(descent.sessions.values())
    readers = [Node("sessions", str(total), _("served it"))]
    flows = [Flow("this", node.id, 1) for node in versions]
    flows += [
        Flow(f"version-{row.rule_id}-{row.version}", "sessions", descent.sessions.get((row.rule_id, row.version), 0))
        for row in shown
    ]
    if descent.descendants:
        readers.append(Node("descendants", str(len(descent.descendants)), _("lean on it"), "kin"))
        flows += [Flow(node.id, "descendants", len(descent.descendants)) for node in versions[-1:]]
    after = [
        Node(f"after-{outcome}", str(many), said(OUTCOMES, outcome), TONES.get(outcome, ""))
        for outcome, many in descent.after.items()
    ]
    flows += [Flow("sessions", f"after-{outcome}", many) for outcome, many in descent.after.items()]
    columns = [Column(_("Versions"), tuple(versions)), Column(_("Sessions"), tuple(readers))]
    return columns + ([Column(_("Episodes after"), tuple(after))] if after else []), flows


def _stages(candidate: Candidate, number: int, descent: Descent) -> list[Stage]:
    namespace = candidate.namespace
    cited = [(_cited_words(run), "") for run in descent.cited] or [(_("No episode is cited."), "")]
    stages = [Stage(_("Episodes cited"), tuple(cited))]
    if descent.ancestors:
        stages.append(Stage(_("Rules that these runs had read, and what those came from"),
                            _kin(namespace, descent.ancestors)))  # fmt: skip
    this = _("Revision {n} of this candidate: {state}").format(n=number, state=said(CANDIDATE_STATES, candidate.state))
    stages.append(Stage(_("Candidate"), ((this, ""),)))
    if not descent.versions:
        return [*stages, Stage(_("Versions"), ((_("Not promoted, so no agent was served it."), ""),))]
    stages.append(Stage(_("Versions"), tuple(_version(namespace, row, descent) for row in descent.versions)))
    if descent.descendants:
        stages.append(Stage(_("Versions that lean on it"), _kin(namespace, descent.descendants)))
    after = [(_after_words(outcome, many), "") for outcome, many in descent.after.items()]
    none = (_("No episode of a session that was served it has come in."), "")
    return [*stages, Stage(_("Episodes of the sessions that were served it"), tuple(after) or (none,))]


def _cited_words(run: CitedRuns) -> str:
    words = ngettext(
        "{n} episode, {outcome}, in {groups}: {stance}", "{n} episodes, {outcome}, in {groups}: {stance}", run.episodes
    )
    groups = ngettext("{n} independent group", "{n} independent groups", run.groups).format(n=run.groups)
    return words.format(
        n=run.episodes, outcome=said(OUTCOMES, run.outcome), groups=groups, stance=_(STANCES[run.stance])
    )


def _after_words(outcome: str, many: int) -> str:
    return ngettext("{n} episode: {outcome}", "{n} episodes: {outcome}", many).format(
        n=many, outcome=said(OUTCOMES, outcome)
    )


def _version(namespace: str, row: RuleVersion, descent: Descent) -> tuple[str, str]:
    served = descent.sessions.get((row.rule_id, row.version), 0)
    words = ngettext(
        "{rule} version {version}, {state}: served to {n} session",
        "{rule} version {version}, {state}: served to {n} sessions",
        served,
    )
    said_so = words.format(rule=row.rule_id, version=row.version, state=said(VERSION_STATES, row.state), n=served)
    return said_so, links.rule(namespace, row.rule_id)


def _kin(namespace: str, keys: Collection[VersionKey]) -> tuple[tuple[str, str], ...]:
    ordered = sorted(keys)
    named = [
        (_("{rule} version {version}").format(rule=rule_id, version=number), links.rule(namespace, rule_id))
        for rule_id, number in ordered[:MOST_KIN]
    ]
    left = len(ordered) - len(named)
    rest = ngettext("and {n} more", "and {n} more", left).format(n=left)
    return (*named, *([(rest, "")] if left else []))
