"""Which remedies hold, and which only look like it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from tasks.contrast.confirm import night_alpha
from tasks.contrast.predicate import Predicate
from tasks.contrast.recoveries.attempts import Chain, Done, Retry
from tasks.contrast.recoveries.judge import Earlier, Strictness, judge
from tasks.contrast.recoveries.trials import Told, Trials, build_trials
from tasks.contrast.recoveries.words import cases, needs, statement, statistics

STRICT = Strictness(0.03, 0.1, "salt")
Try = tuple[bool, Sequence[str]]
ERROR = "error: it broke"


def told(number: int, tries: Sequence[Try], *, agent: str = "a", error: str = ERROR, narrow: str | None = None) -> Told:
    retries = tuple(
        Retry(won, f"s{i}", tuple(Done(act, None, "d") for act in acts)) for i, (won, acts) in enumerate(tries)
    )
    chain = Chain("make", error, narrow or error, "f", retries)
    return Told(f"e{number}", f"g{number}", agent, None, "run1", (chain,))


def verdicts(sessions: Sequence[Told], strictness: Strictness = STRICT) -> dict[str, str]:
    trials = build_trials(sessions, salt="salt")
    return {
        trials.sample.columns.predicates[one.column].parts[2]: one.verdict for one in judge(trials, strictness).found
    }


def drawn(seed: int, count: int, draw: Callable[[random.Random, int], Sequence[Try]], agents: int = 4) -> list[Told]:
    rng = random.Random(seed)
    return [told(number, draw(rng, number), agent=f"a{number % agents}") for number in range(count)]


def cured(rng: random.Random, _: int) -> Sequence[Try]:
    knows = rng.random() < 0.5
    along = ["look"] if rng.random() < (0.8 if knows else 0.1) else []
    return [(knows and rng.random() < 0.95, [*along, *(["fix"] if knows else [])])]


@pytest.mark.parametrize("seed", range(5))
def test_a_cure_is_confirmed_and_what_goes_along_with_it_is_not(seed: int) -> None:
    found = verdicts(drawn(seed, 80, cured))
    assert found.get("fix") == "confirmed"
    assert found.get("look") != "confirmed"


@pytest.mark.parametrize("seed", range(5))
def test_an_error_that_passes_by_itself_has_no_cure(seed: int) -> None:
    def flaky(rng: random.Random, _: int) -> Sequence[Try]:
        tries: list[Try] = []
        while len(tries) < 3 and not (tries and tries[-1][0]):
            tries.append((rng.random() < 0.6, [act for act in ("wait", "look") if rng.random() < 0.4]))
        return tries

    assert "confirmed" not in verdicts(drawn(seed, 120, flaky)).values()


def test_a_late_act_is_no_cure_for_being_late() -> None:
    """Each session stops when it works: what is only ever done before a third try comes before many that work."""

    def stopping(rng: random.Random, _: int) -> Sequence[Try]:
        tries: list[Try] = []
        for number in range(3):
            tries.append((rng.random() < 0.5, ["late"] if number == 2 and rng.random() < 0.5 else []))
            if tries[-1][0]:
                break
        return tries

    assert "confirmed" not in verdicts(drawn(3, 200, stopping)).values()


def test_two_causes_have_two_cures() -> None:
    def either(rng: random.Random, number: int) -> Sequence[Try]:
        right, tried = number % 2, rng.choice([0, 1, 2])
        return [(tried == right, [("one", "two", "look")[tried]])]

    found = verdicts(drawn(1, 200, either))
    assert (found["one"], found["two"]) == ("confirmed", "confirmed")


def test_acts_that_always_went_together_cannot_be_told_apart() -> None:
    def together(rng: random.Random, _: int) -> Sequence[Try]:
        did = rng.random() < 0.5
        return [(did, ["one", "two"] if did else [])]

    sessions = drawn(1, 60, together)
    trials = build_trials(sessions, salt="salt")
    judgement = judge(trials, STRICT)
    (found,) = [one for one in judgement.found if one.tangled]
    assert found.verdict == "unconfirmed"
    assert "together" in statement(trials, judgement, found)


def test_a_habit_of_an_agent_who_knows_better_is_told_from_a_cure() -> None:
    def draw(rng: random.Random, number: int) -> Sequence[Try]:
        expert = number % 4 == 0
        return [(rng.random() < (0.9 if expert else 0.1), ["habit"] if expert else [])]

    assert verdicts(drawn(2, 120, draw)) == {"habit": "agent-confounded"}


def test_one_session_written_down_again_and_again_is_one() -> None:
    again = [told(1, [(True, ["fix"])]) for _ in range(40)] + [told(n, [(False, [])]) for n in range(2, 42)]
    assert verdicts(again) == {}


def test_editing_at_will_explains_and_is_never_reported() -> None:
    def draw(rng: random.Random, _: int) -> Sequence[Try]:
        edits = rng.random() < 0.5
        return [
            (edits and rng.random() < 0.9, ["Edit", "git diff"] if edits and rng.random() < 0.8 else ["Edit"] * edits)
        ]

    found = verdicts(drawn(5, 120, draw))
    assert "Edit" not in found
    assert found.get("git diff") != "confirmed"


def test_what_is_too_little_is_said_with_how_much_more_it_takes() -> None:
    sessions = [told(n, [(True, ["fix"])]) for n in range(6)] + [told(n, [(False, [])]) for n in range(6, 8)]
    trials = build_trials(sessions, salt="salt")
    judgement = judge(trials, Strictness(0.0005, 0.1, "salt"))
    (found,) = judgement.found
    assert found.verdict in ("insufficient", "unconfirmed")
    assert "not enough evidence yet: needs about" in statement(trials, judgement, found)
    assert needs(cases(trials, found.column))["without"] > 0


def fix_column(trials: Trials) -> int:
    return next(i for i, p in enumerate(trials.sample.columns.predicates) if p.parts[2] == "fix")


def test_groups_that_a_remedy_was_tested_on_are_not_tested_again() -> None:
    trials = build_trials(drawn(1, 80, cured), salt="salt")
    column = fix_column(trials)
    looked = replace(STRICT, looked={column: ("run1", "run1")})
    assert column not in {look.column for look in judge(trials, looked).looks}
    past = Earlier(0, 1e-6, 0.001, None, tuple(f"g{n}" for n in range(0, 80, 2)))
    found = judge(trials, replace(looked, past={column: [past]})).found
    assert [one.verdict for one in found if one.column == column] == ["confirmed"]


def test_a_look_at_one_remedy_uses_up_no_groups_of_another() -> None:
    trials = build_trials(drawn(1, 80, cured), salt="salt")
    others = {f: ("run1", "run1") for f in range(len(trials.acts)) if f != fix_column(trials)}
    alone = {look.column for look in judge(trials, replace(STRICT, looked=others)).looks}
    assert alone == {fix_column(trials)}


def test_one_fold_may_be_tested_where_only_the_other_was() -> None:
    trials = build_trials(drawn(1, 80, cured), salt="salt")
    column = fix_column(trials)
    looks = judge(trials, replace(STRICT, looked={column: ("run1", "")})).looks
    assert {look.fold for look in looks if look.column == column} == {1}


def test_a_later_look_tests_only_what_came_since() -> None:
    sessions = [replace(one, arrived=f"run{1 + (n >= 80)}") for n, one in enumerate(drawn(1, 160, cured))]
    trials = build_trials(sessions, salt="salt")
    column = fix_column(trials)
    looks = judge(trials, replace(STRICT, looked={column: ("run1", "run1")})).looks
    tested = {group for look in looks if look.column == column for group in look.groups}
    assert tested
    assert tested <= {f"g{n}" for n in range(80, 160)}


def test_what_stands_confirmed_costs_no_further_look() -> None:
    trials = build_trials(drawn(1, 80, cured), salt="salt")
    past = Earlier(0, 1e-6, 0.001, None, tuple(f"g{n}" for n in range(0, 80, 2)))
    assert judge(trials, replace(STRICT, past={fix_column(trials): [past]})).looks == []


@pytest.mark.parametrize("count", [8, 12, 16])
def test_a_look_that_could_hardly_pass_is_not_made(count: int) -> None:
    trials = build_trials(drawn(1, count, cured), salt="salt")
    assert judge(trials, replace(STRICT, alpha=0.002)).looks == []


def test_a_common_error_does_not_keep_a_rarer_one_from_being_confirmed() -> None:
    """Night by night over a stream: each look spends alpha, and what it does not test stays fresh."""
    found = [confirmed_in_a_stream(seed, 12, two_errors) for seed in (1, 2, 3)]
    assert sum("common cure" in one for one in found) == 3
    assert sum("rare cure" in one for one in found) >= 2


def test_a_stream_without_effects_confirms_next_to_nothing() -> None:
    hits = [confirmed_in_a_stream(seed, 8, no_effect) for seed in range(12)]
    assert sum(map(bool, hits)) <= 1


def two_errors(rng: random.Random) -> list[tuple[str, Sequence[Try]]]:
    def session(error: str, cure: str, did: bool) -> tuple[str, Sequence[Try]]:
        return error, [(rng.random() < (0.9 if did else 0.15), [cure] if did else [])]

    common = [session("error: missing script", "common cure", n % 2 == 0) for n in range(16)]
    return common + [session("error: no module", "rare cure", n % 2 == 0) for n in range(8)]


def no_effect(rng: random.Random) -> list[tuple[str, Sequence[Try]]]:
    sessions: list[tuple[str, Sequence[Try]]] = []
    for error, works in (("error: one thing", 0.3), ("error: other thing", 0.5), ("error: third thing", 0.7)):
        for _ in range(6):
            tries: list[Try] = []
            while len(tries) < 3 and not (tries and tries[-1][0]):
                tries.append((rng.random() < works, [act for act in "pqrs" if rng.random() < 0.4]))
            sessions.append((error, tries))
    return sessions


def confirmed_in_a_stream(
    seed: int, nights: int, draw: Callable[[random.Random], list[tuple[str, Sequence[Try]]]]
) -> set[str]:
    """Remedies that some night confirmed, with looks and confirmations stored from night to night."""
    rng, salt, spent = random.Random(seed), f"seed {seed}", 0
    sessions: list[Told] = []
    looked: dict[Predicate, list[str]] = {}
    past: dict[Predicate, list[Earlier]] = {}
    confirmed: set[str] = set()
    for night in range(nights):
        for error, tries in draw(rng):
            one = told(len(sessions), tries, agent=f"a{len(sessions) % 3}", error=error)
            sessions.append(replace(one, arrived=f"run{night:02}"))
        trials = build_trials(sessions, salt=salt)
        names = trials.sample.columns.predicates
        judgement = judge(
            trials,
            Strictness(
                night_alpha(0.05, spent), 0.1, salt,
                past={f: past[one] for f, one in enumerate(names) if one in past},
                looked={f: looked[one] for f, one in enumerate(names) if one in looked},
            ),
        )  # fmt: skip
        spent += bool(judgement.looks)
        for look in judgement.looks:
            name = names[look.column]
            looked.setdefault(name, ["", ""])[look.fold] = f"run{night:02}"
            if look.confirmed:
                past.setdefault(name, []).append(
                    Earlier(look.fold, look.p_value, look.alpha, look.odds_ratio, look.groups)
                )
        confirmed |= {names[one.column].parts[2] for one in judgement.found if one.verdict == "confirmed"}
    return confirmed


def test_a_confirmation_falls_with_the_groups_it_rested_on() -> None:
    trials = build_trials(drawn(1, 80, cured), salt="salt")
    past = Earlier(0, 1e-6, 0.001, None, ("gone1", "gone2"))
    tested = {fix_column(trials): ("run1", "run1")}
    found = judge(trials, replace(STRICT, past={fix_column(trials): [past]}, looked=tested)).found
    assert [one.verdict for one in found if one.column == fix_column(trials)] == ["unconfirmed"]


def test_the_narrower_signature_stands_where_the_cure_helps_there_alone() -> None:
    sessions = []
    for number in range(120):
        did, mine = number % 3 != 0, number % 2 == 0
        tries = [(did and mine, ["fix"] if did else [])]
        sessions.append(
            told(
                number,
                tries,
                agent=f"a{number % 5}",
                error="no module '…'",
                narrow=f"no module '{'ours' if mine else number}'",
            )
        )
    trials = build_trials(sessions, salt="salt")
    confirmed = [p for one in judge(trials, STRICT).found if one.verdict == "confirmed"
                 for p in [trials.sample.columns.predicates[one.column]]]  # fmt: skip
    assert [predicate.parts[1] for predicate in confirmed] == ["no module 'ours'"]


def test_lines_that_differ_in_one_word_are_one_error() -> None:
    sessions = [
        told(
            n, [(n % 2 == 0, ["fix"] if n % 2 == 0 else [])], error=f"cannot resolve project p{chr(97 + n // 2)} today"
        )
        for n in range(40)
    ]
    trials = build_trials(sessions, salt="salt")
    assert {p.parts[1] for p in trials.sample.columns.predicates} == {"cannot resolve project … today"}


def test_a_session_that_read_the_rule_is_no_evidence_for_it() -> None:
    sessions = [
        Told(one.episode_id, one.group, one.agent, None, one.arrived, one.chains, frozenset({("rule", 1)}))
        for one in drawn(1, 80, cured)
    ]
    trials = build_trials(sessions, salt="salt", kin=lambda claim: {("rule", 1)} if "fix" in claim.parts else set())
    assert {trials.sample.columns.predicates[one.column].parts[2] for one in judge(trials, STRICT).found} <= {"look"}


def test_figures_have_the_shape_of_every_packet() -> None:
    trials = build_trials(drawn(1, 80, cured), salt="salt")
    judgement = judge(trials, STRICT)
    found = next(one for one in judgement.found if one.verdict == "confirmed")
    figures = statistics(trials, judgement, found, "*")
    seen = cases(trials, found.column)
    assert figures["effect"]["success_total"] + figures["effect"]["failure_total"] == seen.with_it + seen.without
    assert figures["held_out"]["confirmed"]
    assert figures["held_out"]["same_direction"]
    assert sum(row["success_with"] for row in figures["strata"]) == seen.worked_with
    assert f"{seen.sessions} sessions, 4 agents" in statement(trials, judgement, found)


def test_shuffled_results_confirm_next_to_nothing() -> None:
    trials = build_trials(drawn(9, 150, cured), salt="salt")
    rng = np.random.default_rng(17)
    hits = 0
    for _ in range(60):
        shuffled = replace(trials, sample=trials.sample.shuffled(rng))
        hits += any(one.verdict == "confirmed" for one in judge(shuffled, STRICT).found)
    assert hits <= 5


def test_judging_is_the_same_whatever_the_order_of_sessions() -> None:
    sessions = drawn(4, 90, cured)
    assert verdicts(sessions) == verdicts(sessions[::-1])


def test_predicates_name_command_error_and_remedy() -> None:
    trials = build_trials(drawn(1, 80, cured), salt="salt")
    assert Predicate("recovery", ("make", ERROR, "fix")) in trials.sample.columns.predicates
