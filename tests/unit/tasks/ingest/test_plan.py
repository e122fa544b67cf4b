import json
from typing import Any

from tasks.ingest.importers.registry import importers
from tasks.ingest.plan import plan_batch
from tasks.ingest.prepare import Door, Origin, Prepared, prepare

from .conftest import as_source, plain, tau2_file, tau2_run


def made(door: Door, record: dict[str, Any], *, scope: str = "a.jsonl", importer: str = "canonical") -> Prepared:
    (imported,) = importers()[importer].read(as_source(json.dumps(record).encode()))
    return prepare(imported, door, Origin(importer, 1, scope, scope))  # type: ignore[arg-type]


def test_the_same_record_twice_in_a_batch_is_one_and_a_duplicate(door: Door) -> None:
    plan = plan_batch([made(door, plain()), made(door, plain(), scope="b.jsonl")], [])
    assert plan.verdicts == ["accepted", "duplicate"]
    assert len(plan.inserts) == 1


def test_one_source_id_with_other_content_is_a_revision_and_one_row_is_current(door: Door) -> None:
    plan = plan_batch([made(door, plain()), made(door, plain(outcome="failure"))], [])
    assert plan.verdicts == ["accepted", "revised"]
    first, second = (each.row for each in plan.inserts)
    assert (first["is_current"], second["is_current"], second["revision"]) == (False, True, 2)
    assert second["supersedes_id"] == first["id"]
    assert plan.retired == []


def test_a_revision_of_a_stored_row_retires_it(door: Door) -> None:
    old = made(door, plain())
    plan = plan_batch([made(door, plain(outcome="failure"))], [old.row])
    assert (plan.verdicts, plan.retired) == (["revised"], [old.id])


def test_source_ids_are_scoped_by_file(door: Door) -> None:
    plan = plan_batch([made(door, plain()), made(door, plain(outcome="failure"), scope="b.jsonl")], [])
    assert plan.verdicts == ["accepted", "accepted"]


def test_a_copy_of_a_run_is_a_duplicate_and_teaches_what_the_first_lacked(door: Door) -> None:
    poor = made(door, plain(session_id="s"))
    rich = made(door, plain(session_id="s", id="other", task_key="cancel/1", agent="bot"), scope="b.jsonl")
    plan = plan_batch([rich], [poor.row])
    assert plan.verdicts == ["duplicate"]
    ((_, found),) = plan.filled
    assert (found["task_key"], found["task_key_derived"], found["agent"]) == ("cancel/1", False, "bot")
    assert found["details"]["copies"] == [{"file": "b.jsonl", "filled": ["agent", "task_key"]}]
    assert not plan_batch([poor], [rich.row]).changes


def test_a_copy_within_one_batch_teaches_the_body_too(door: Door) -> None:
    rich = made(door, plain(session_id="s", task_key="cancel/1"), scope="b.jsonl")
    plan = plan_batch([made(door, plain(session_id="s")), rich], [])
    assert plan.verdicts == ["accepted", "duplicate"]
    assert plan.inserts[0].row["task_key"] == plan.inserts[0].payload["task_key"] == "cancel/1"
    assert plan.reseal == {plan.inserts[0].id}


def test_an_agents_copy_teaches_nothing_about_anothers_run(door: Door) -> None:
    poor = made(door, plain(session_id="s"))
    agent = Door(door.namespace, "token-9", True, door.secret, door.now, door.redactor)
    rich = made(agent, plain(session_id="s", task_key="x", outcome="success"), scope="b.jsonl")
    assert not plan_batch([rich], [poor.row]).changes


def test_runs_that_did_the_same_are_two_where_anything_they_state_differs(door: Door) -> None:
    base = plain(session_id="s", started_at="2026-11-29T01:00:00Z", task_key="t/1")
    for change in ({"session_id": "s2"}, {"started_at": "2026-11-29T02:00:00Z"}, {"task_key": "t/2"}):
        plan = plan_batch([made(door, base), made(door, {**base, **change}, scope="b.jsonl")], [])
        assert plan.verdicts == ["accepted", "accepted"]
    plan = plan_batch([made(door, base), made(door, {**base, "id": "r-2"})], [])
    assert plan.verdicts == ["accepted", "accepted"], "two ids in one file are two runs"
    loose = [made(door, plain(id=None, metadata={"trial": n})) for n in (1, 2)]
    assert plan_batch(loose, []).verdicts == ["accepted", "accepted"], "without a session alike runs are not copies"


def test_a_newer_importer_or_redactor_reads_a_record_anew_and_an_older_one_does_not(door: Door) -> None:
    held = made(door, plain()).row
    newer = made(door, plain())
    newer.row["importer_version"] = 2
    assert [each[0]["id"] for each in plan_batch([newer], [held]).rendered] == [held["id"]]
    assert not plan_batch([made(door, plain())], [{**held, "importer_version": 2}]).changes
    assert not plan_batch([newer], [{**held, "purged_at": door.now}]).changes, "what was purged stays purged"


def test_a_twin_without_ids_is_the_same_run_in_either_order(door: Door) -> None:
    full = tau2_run()
    bare = {key: full[key] for key in ("id", "reward_info", "messages")}
    copies = [made(door, tau2_file(run), scope=name, importer="tau2") for run, name in ((full, "a"), (bare, "b"))]
    for order in (copies, copies[::-1]):
        plan = plan_batch([Prepared(dict(each.row), each.body) for each in order], [])
        assert plan.verdicts == ["accepted", "duplicate"]
        assert (plan.inserts[0].row["task_key"], plan.inserts[0].row["task_key_derived"]) == ("ferry/7", False)


def by_token(door: Door, record: dict[str, Any]) -> Prepared:
    agent = Door(door.namespace, "token-9", True, door.secret, door.now, door.redactor)
    return made(agent, record, scope="request:token-9")


def test_what_an_agent_brought_first_gives_way_to_an_operators_copy(door: Door) -> None:
    early = by_token(door, plain(session_id="s", task_key="mine", outcome="success"))
    later = made(door, plain(session_id="s", outcome="success", outcome_source="verifier"))
    plan = plan_batch([later], [early.row])
    assert (plan.verdicts, plan.retired) == (["revised"], [early.id])
    assert later.row["supersedes_id"] == early.id


def test_the_very_record_of_an_agent_is_the_operators_once_he_brings_it(door: Door) -> None:
    early, later = by_token(door, plain()), made(door, plain())
    plan = plan_batch([later], [early.row])
    assert plan.verdicts == ["duplicate"]
    assert plan.rendered == [(early.row, later)]
    assert not plan_batch([by_token(door, plain())], [later.row]).changes


def test_a_record_taken_over_is_a_revision_of_what_the_operator_had_under_its_id(door: Door) -> None:
    early, older = by_token(door, plain()), made(door, plain(outcome="failure"))
    later = made(door, plain())
    plan = plan_batch([later], [early.row, older.row])
    assert plan.retired == [older.id]
    assert (later.row["revision"], later.row["supersedes_id"]) == (2, older.id)
