"""Retries of many sessions as rows, and acts before them as columns.

A row is one retry of one independent group: of all the times a group met an error, the first counts. A column asks of
one (command, error, remedy): was the remedy done before this retry? It speaks of the retries after that error, up to
the first that the remedy preceded: what came later may still be its doing, or may not.

Sessions end their tries when one works, so a remedy that comes late looks like a cure if retries of a session are
compared with each other. They are compared with the same retry (first, second, third) of other sessions instead, as a
log-rank test compares those still at risk (Mantel 1966); the number of the retry is the stratum.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tasks.cluster.kin import VersionKey
from tasks.contrast.features import Bools, Columns
from tasks.contrast.predicate import Predicate
from tasks.contrast.recoveries.attempts import MOST_RETRIES, Chain, Retry
from tasks.contrast.recoveries.calls import changes_text
from tasks.contrast.recoveries.counted import Bringer, Counting, Kin
from tasks.contrast.recoveries.signature import BLANK
from tasks.contrast.sample import Sample

MIN_GROUPS = 3
"""Groups that must have done an act before a retry, for it to be asked about at all."""

COVERS = 0.8
"""If one name in full covers so much of what goes under a shorter one, the shorter one says less and nothing more."""

MOST_COLUMNS = 2000
LEAST_LINE = 12
"""Letters of an error line below which two lines that differ in a word are two errors."""

Act = tuple[str, str | None]
"""Name over sessions, and name in full."""


@dataclass(frozen=True)
class Told:
    """One session: an episode that stands for itself in its independent group. ``arrived``: the run that consumed it.

    ``principal`` is None where an operator brought it.
    """

    episode_id: str
    group: str
    agent: str
    principal: str | None
    arrived: str
    chains: tuple[Chain, ...]
    read: frozenset[VersionKey] = frozenset()


@dataclass(frozen=True)
class Row:
    """One retry: of which session and chain, and the how-manieth it is, from 0."""

    session: int
    chain: Chain
    number: int

    @property
    def retry(self) -> Retry:
        """The retry itself."""
        return self.chain.retries[self.number]


@dataclass(frozen=True)
class Trials:
    """``sample`` has one row a retry and one column a question, with the remedy's two names in ``acts``.

    ``shadows`` marks columns that are compared and never reported: editing at will. ``by_then`` are the rows that an
    act had been done by, in their chain. ``arrived`` is the run in which each row's group was first seen;
    ``dropped_by_cap`` counts groups that some question lost, since one principal brought too many of them.
    """

    told: Sequence[Told]
    rows: list[Row]
    sample: Sample
    acts: list[Act]
    shadows: Bools
    by_then: Mapping[Act, Sequence[int]]
    arrived: Sequence[str]
    dropped_by_cap: int


def build_trials(told: Sequence[Told], *, salt: str, last_look: str | None = None, kin: Kin | None = None) -> Trials:
    """Rows and columns of these sessions, given in the order of arrival.

    Args:
        salt: draws which groups of a principal count that brought too many.
        last_look: the run that last spent alpha on what is asked; groups it could see are not fresh.
        kin: the rule versions whose readers are echoes of a predicate: they are no evidence for it.
    """
    rows, asked = _rows(_widened(told))
    counting = Counting(
        [Bringer(one.group, one.principal, one.read) for one in (told[r.session] for r in rows)], salt, kin
    )
    every = list(_columns(rows, asked, counting))
    enough = (one for one in every if one.groups >= MIN_GROUPS)
    columns = sorted(enough, key=lambda one: (-one.groups, one.predicate.parts))[:MOST_COLUMNS]
    columns = _counted(sorted(columns, key=lambda one: one.predicate.parts), counting)
    dropped = {group for one in (*every, *columns) for group in one.lost}
    first: dict[str, str] = {}
    for session in told:
        first.setdefault(session.group, session.arrived)
    arrived = [first[told[row.session].group] for row in rows]
    shadows = np.array([one.shadow for one in columns], dtype=bool)
    acts = [one.act for one in columns]
    sample = _sample(
        told, rows, columns, np.array([last_look is None or run > last_look for run in arrived], dtype=bool)
    )
    return Trials(told, rows, sample, acts, shadows, _by_then(rows, acts), arrived, len(dropped))


@dataclass(frozen=True)
class _Column:
    predicate: Predicate
    act: Act
    rows: Sequence[int]
    done: frozenset[int]
    groups: int
    shadow: bool
    lost: frozenset[str]


_Asked = Mapping[tuple[str, str], list[int]]
"""Row numbers by (command, signature)."""


def _widened(told: Sequence[Told]) -> list[Told]:
    """Sessions with broad signatures in which a word that differs from case to case is blank.

    Of the lines of one command that differ in one word only, and in that one three times or more, the word is what
    happened to be named there: a step of Drain (He et al. 2017). It takes words and runs of other scripts alike.
    """
    met: defaultdict[tuple[str, tuple[str, ...]], set[str]] = defaultdict(set)
    pairs = {(chain.command, chain.broad) for session in told for chain in session.chains}
    for command, broad in pairs:
        for pattern, word in _patterns(broad):
            met[command, pattern].add(word)
    wide: dict[tuple[str, str], str] = {}
    for command, broad in pairs:
        found = [(len(met[command, pattern]), pattern) for pattern, _ in _patterns(broad)]
        most, pattern = max(found, default=(0, ()))
        if most >= MIN_GROUPS:
            wide[command, broad] = "".join(pattern)
    return [
        replace(
            session,
            chains=tuple(replace(c, broad=wide.get((c.command, c.broad), c.broad)) for c in session.chains),
        )
        for session in told
    ]


def _patterns(broad: str) -> Iterable[tuple[tuple[str, ...], str]]:
    """The line with each of its words blank in turn, and that word; short lines say too little for it."""
    pieces = re.findall(r"[A-Za-z0-9_.+-]+|[^A-Za-z0-9_.+-]+", broad)
    places = [place for place, piece in enumerate(pieces) if re.match(r"[A-Za-z0-9]", piece)]
    if len(broad) < LEAST_LINE:
        return
    for place in places:
        yield (*pieces[:place], BLANK, *pieces[place + 1 :]), pieces[place]


def too_rare(trials: Trials) -> int:
    """How many errors, by command, were retried in too few sessions to ask anything of them."""
    met: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for row in trials.rows:
        met[row.chain.command, row.chain.broad].add(row.session)
    return sum(len(sessions) < 2 * MIN_GROUPS for sessions in met.values())


def _rows(told: Sequence[Told]) -> tuple[list[Row], _Asked]:
    """Rows by what they speak of: the first chain of each group under each signature, broad and narrow."""
    rows: list[Row] = []
    asked: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    seen: set[tuple[str, str, str]] = set()
    for index, session in enumerate(told):
        for chain in session.chains:
            signatures = [s for s in {chain.broad: 0, chain.narrow: 0} if (session.group, chain.command, s) not in seen]
            if not signatures or not chain.retries:
                continue
            numbers = range(len(rows), len(rows) + min(len(chain.retries), MOST_RETRIES))
            rows += [Row(index, chain, number) for number in range(len(numbers))]
            for one in signatures:
                seen.add((session.group, chain.command, one))
                asked[chain.command, one] += numbers
    return rows, _worth_asking(asked, rows)


def _worth_asking(asked: _Asked, rows: Sequence[Row]) -> _Asked:
    """Signatures that enough sessions met. A broad one that is nearly always the same narrow one is left to that."""
    enough = {key: at for key, at in asked.items() if len({rows[i].session for i in at}) >= 2 * MIN_GROUPS}
    kept = dict(enough)
    for (command, narrow), at in enough.items():
        broad = (command, rows[at[0]].chain.broad)
        if broad != (command, narrow) and broad in enough and len(at) >= COVERS * len(enough[broad]):
            kept.pop(broad, None)
    return kept


def _columns(rows: Sequence[Row], asked: _Asked, counting: Counting) -> Iterable[_Column]:
    for (command, error), at in sorted(asked.items()):
        before: defaultdict[Act, list[int]] = defaultdict(list)
        for row in at:
            for done in rows[row].retry.acts:
                before[done.key, None].append(row)
                if done.fine is not None:
                    before[done.key, done.fine].append(row)
        for act in _worth_doing(before, rows):
            predicate = Predicate("recovery", (command, error, act[1] or act[0]))
            spoken, preceded = _at_stake(rows, at, set(before[act]))
            surplus = counting.surplus(spoken, preceded)
            groups = len({rows[row].session for row in preceded if row not in surplus})
            lost = frozenset(counting.by_row[row].group for row in surplus)
            shadow = act[1] is None and changes_text(act[0]) and not changes_text(command)
            yield _Column(predicate, act, spoken, frozenset(preceded), groups, shadow, lost)


def _counted(columns: Sequence[_Column], counting: Counting) -> list[_Column]:
    """The columns with the rows that count for each: no echoes, and of what is left nobody's surplus."""
    found = []
    for one in columns:
        echoes = counting.echoes(one.predicate, one.rows)
        rows = [row for row in one.rows if row not in echoes]
        surplus = counting.surplus(rows, one.done - echoes)
        kept = [row for row in rows if row not in surplus]
        lost = frozenset(counting.by_row[row].group for row in surplus)
        found.append(replace(one, rows=kept, done=one.done.intersection(kept), lost=lost))
    return found


def _worth_doing(before: Mapping[Act, list[int]], rows: Sequence[Row]) -> list[Act]:
    counts = Counter({act: len({rows[row].session for row in at}) for act, at in before.items()})
    common = [act for act, count in counts.items() if count >= MIN_GROUPS]
    covered = {(key, None) for key, fine in common if fine and counts[key, fine] >= COVERS * counts[key, None]}
    return sorted((act for act in common if act not in covered), key=lambda act: (act[0], act[1] or ""))


def _at_stake(rows: Sequence[Row], at: Sequence[int], did: Collection[int]) -> tuple[list[int], list[int]]:
    """Rows that a remedy is asked of: up to the first retry of a chain that it preceded; and those it preceded."""
    spoken: list[int] = []
    done: list[int] = []
    over: int | None = None
    for row in at:
        if rows[row].number == 0:
            over = None
        if over is not None:
            continue
        spoken.append(row)
        if row in did:
            done.append(row)
            over = row
    return spoken, done


def _sample(told: Sequence[Told], rows: Sequence[Row], columns: Sequence[_Column], fresh: Bools) -> Sample:
    values = np.zeros((len(rows), len(columns)), dtype=bool)
    mask = np.zeros((len(rows), len(columns)), dtype=bool)
    for place, one in enumerate(columns):
        mask[list(one.rows), place] = True
        values[list(one.done), place] = True
    return Sample(
        columns=Columns([one.predicate for one in columns], values, mask),
        success=np.array([row.retry.worked for row in rows], dtype=bool),
        stratum=np.array([row.number for row in rows], dtype=np.int64),
        strata=[f"retry {number + 1}" for number in range(MOST_RETRIES)],
        groups=[told[row.session].group for row in rows],
        agents=[told[row.session].agent for row in rows],
        fresh=fresh,
    )


def _by_then(rows: Sequence[Row], acts: Collection[Act]) -> dict[Act, list[int]]:
    """For each of these acts, the rows that it was done before, or before an earlier retry of their chain."""
    wanted = set(acts)
    found: dict[Act, list[int]] = {act: [] for act in wanted}
    so_far: set[Act] = set()
    for number, row in enumerate(rows):
        if row.number == 0:
            so_far = set()
        for done in row.retry.acts:
            so_far |= {(done.key, None), (done.key, done.fine)} & wanted
        for act in so_far:
            found[act].append(number)
    return found


def done_by_then(trials: Trials, act: Act) -> Bools:
    """For every row, whether this act was done before it or before an earlier retry of its chain."""
    found = np.zeros(len(trials.rows), dtype=bool)
    found[trials.by_then[act]] = True
    return found


def steps_of(trials: Trials, column: int, row: int) -> list[str]:
    """The failure, the remedy where it was done, and the retry."""
    chain, retry = trials.rows[row].chain, trials.rows[row].retry
    key, fine = trials.acts[column]
    remedies = [act.step for act in retry.acts if act.key == key and (fine is None or act.fine == fine)]
    return list(dict.fromkeys([chain.step, *remedies[:1], retry.step]))
