import json
from dataclasses import replace
from typing import Any

from tasks.ingest.episode import Episode
from tasks.ingest.importers.base import Imported
from tasks.ingest.prepare import Door, Origin, Prepared, prepare

from .conftest import plain

ORIGIN = Origin("canonical", 1, "a.jsonl", "a.jsonl")


def made(door: Door, **changes: Any) -> Prepared:
    record = plain(**changes)
    return prepare(Imported(Episode.model_validate(record), record), door, ORIGIN)


def test_the_body_is_an_episode_again(door: Door) -> None:
    prepared = made(door, started_at="2026-11-29T01:02:03Z")
    again = Episode.model_validate(json.loads(json.dumps(prepared.payload)))
    assert (again.source_id, again.started_at, len(again.steps)) == ("r-1", prepared.row["started_at"], 2)


def test_one_record_in_two_namespaces_is_two_unrelated_records(door: Door) -> None:
    here, there = made(door), made(replace(door, namespace="acme/sales"))
    assert here.id != there.id
    assert here.row["fingerprint"] != there.row["fingerprint"]


def test_key_order_and_spacing_do_not_make_another_record(door: Door) -> None:
    record = plain()
    turned = dict(reversed(record.items()))
    ids = {prepare(Imported(Episode.model_validate(each), each), door, ORIGIN).id for each in (record, turned)}
    assert len(ids) == 1


def test_secrets_leave_task_steps_arguments_and_metadata_and_are_counted(door: Door) -> None:
    secret = "sk-" + "made-up-a1B2c3D4e5F6g7H8"
    steps = [
        {"id": "1", "kind": "user", "text": f"use {secret}"},
        {"id": "2", "kind": "tool_call", "name": "login", "arguments": {"user": "ana", "password": "tulip"}},
    ]
    prepared = made(door, task=f"with {secret}", steps=steps, metadata={"note": secret})
    everything = json.dumps([prepared.payload, prepared.row], default=str)
    assert secret not in everything
    assert "tulip" not in everything
    assert prepared.payload["steps"][1]["arguments"]["user"] == "ana"
    assert prepared.row["redactions"] == {"model-provider-key": 3, "secret-by-name": 1}


def test_secrets_leave_keys_pointers_snapshots_and_details_too(door: Door) -> None:
    secret = "ghp_" + "a1B2" * 9
    steps = [
        {"id": "1", "kind": "tool_call", "name": "set", "arguments": {secret: {"deep": [f"x {secret}"]}}},
        {"id": "2", "kind": "observation", "of": "1", "uri": f"https://ana:{secret}@host/x", "source": f"ask {secret}"},
        {"id": "3", "kind": "memory_read", "rule": "r", "snapshot": secret},
    ]
    record = plain(steps=steps, metadata={secret: 1}, environment={"e": secret})
    imported = Imported(Episode.model_validate(record), record, details={"note": secret})
    prepared = prepare(imported, door, ORIGIN)
    assert secret not in json.dumps([prepared.payload, prepared.row], default=str)
    assert secret.encode() not in prepared.body


def test_ids_that_join_evidence_are_never_redacted(door: Door) -> None:
    session = "sk-" + "session-a1B2c3D4e5F6g7H8"
    assert made(door, session_id=session).row["session_id"] == session


def test_an_outcome_without_a_source_is_recorded_or_self_reported_by_who_brings_it(door: Door) -> None:
    agent = replace(door, principal="token-1", principal_capped=True)
    assert made(door).row["outcome_source"] == "recorded"
    assert made(agent).row["outcome_source"] == "self-reported"
    assert made(agent, outcome_source="verifier").row["outcome_source"] == "verifier"


def test_a_recorded_exit_code_beats_what_an_agent_says_of_itself(door: Door) -> None:
    agent = replace(door, principal_capped=True)
    row = made(agent, outcome="success", metadata={"exit_code": 1}).row
    assert (row["outcome"], row["outcome_source"]) == ("failure", "exit-code")


def test_a_task_without_a_key_gets_one_and_it_is_marked(door: Door) -> None:
    derived, given = made(door), made(door, task_key="cancel/1")
    assert derived.row["task_key"].startswith("derived/")
    assert (derived.row["task_key_derived"], given.row["task_key_derived"]) == (True, False)
    assert derived.payload["task_key"] == derived.row["task_key"]


def test_a_clock_that_ran_backwards_is_noted_and_kept(door: Door) -> None:
    row = made(door, started_at="2026-11-29T02:00:00Z", ended_at="2026-11-29T01:00:00Z").row
    assert row["details"]["clock"] == "ended before it started"
    assert row["started_at"] > row["ended_at"]


def test_an_episode_tells_without_its_body_how_many_steps_state_facts_and_which_calls_were_made(door: Door) -> None:
    claim, copied = {"id": "a", "kind": "claim"}, {"id": "b", "kind": "claim", "is_copied_context": True}
    look, pay = ({"id": name, "kind": "tool_call", "name": name} for name in ("look", "pay"))
    marks = [made(door, steps=steps).row["details"] for steps in ([claim, copied], [look, pay], [pay, look], [copied])]
    assert marks[0] == {"claims": 1}
    assert marks[1].keys() == marks[2].keys() == {"acts"}
    assert marks[1] != marks[2]
    assert made(door, steps=[claim, look, pay]).row["details"] == {"claims": 1, **marks[1]}
    assert marks[3] == {}
