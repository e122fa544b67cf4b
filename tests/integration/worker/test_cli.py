from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from worker.cli.root import run

NAMESPACE = "acme/support"
EPISODE = {
    "id": "trial-1", "task": "refund order 7", "task_key": "refund", "session_id": "s-1", "outcome": "success",
    "steps": [{"id": "1", "kind": "user", "text": "please refund order 7"}],
}  # fmt: skip

Cli = Callable[..., tuple[int, Any]]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command in this process with ``--json``; gives its exit code and its one document."""
    monkeypatch.setenv("SLOWWAVE_HOME", str(tmp_path / "home"))

    def call(*arguments: str) -> tuple[int, Any]:
        capsys.readouterr()
        code = run([*arguments, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return call


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(EPISODE) + "\n")
    return path


@pytest.fixture
def ingested(cli: Cli, file: Path) -> Cli:
    assert cli("ingest", str(file), "--namespace", NAMESPACE)[0] == 0
    return cli


# Ingest


def test_ingest_counts_and_a_second_time_finds_duplicates(cli: Cli, file: Path) -> None:
    assert cli("ingest", str(file), "-n", NAMESPACE) == (
        0, {"accepted": 1, "duplicates": 0, "revised": 0, "joined": 0, "rejected": []},
    )  # fmt: skip
    assert cli("ingest", str(file), "-n", NAMESPACE)[1]["duplicates"] == 1


def test_a_rejected_record_is_told_with_file_and_line_and_code_1(cli: Cli, file: Path) -> None:
    file.write_text(json.dumps(EPISODE) + "\n{broken\n")
    code, report = cli("ingest", str(file), "-n", NAMESPACE, "--format", "canonical")
    assert (code, report["accepted"]) == (1, 1)
    assert [(each["file"], each["line"]) for each in report["rejected"]] == [(str(file), 2)]
    assert report["rejected"][0]["reason"]


def test_a_file_that_is_not_there_is_rejected(cli: Cli) -> None:
    code, report = cli("ingest", "/nowhere/at/all.jsonl", "-n", NAMESPACE)
    assert (code, report["rejected"][0]["file"]) == (1, "/nowhere/at/all.jsonl")


@pytest.mark.parametrize("name", ["Acme", "acme//support", "acme support", "../up"])
def test_a_malformed_namespace_is_wrong_usage(cli: Cli, file: Path, name: str) -> None:
    code, document = cli("ingest", str(file), "-n", name)
    assert code == 2
    assert "acme/support" in document["error"]["what"]


def test_an_unknown_format_is_wrong_usage_and_the_known_ones_are_named(cli: Cli, file: Path) -> None:
    code, document = cli("ingest", str(file), "-n", NAMESPACE, "--format", "diary")
    assert code == 2
    assert "tau-bench" in document["error"]["what"]


def test_formats_lists_what_ingest_reads(cli: Cli) -> None:
    assert {"canonical", "tau-bench", "tau2"} <= {each["name"] for each in cli("formats")[1]}


# Nights


def test_a_local_night_has_the_documented_shape(ingested: Cli) -> None:
    code, result = ingested("consolidate", "-n", NAMESPACE, "--night", "2026-11-29", "--local")
    assert code == 0
    assert set(result) == {"run_id", "state", "night", "episodes", "clusters", "tests", "candidates", "problems"}
    assert (result["state"], result["night"], result["episodes"], result["problems"]) == (
        "completed", "2026-11-29", 1, [],
    )  # fmt: skip


def test_the_same_night_again_is_the_same_run(ingested: Cli) -> None:
    first = ingested("consolidate", "-n", NAMESPACE, "--local")[1]
    assert ingested("consolidate", "-n", NAMESPACE, "--local")[1] == first


def test_an_unknown_namespace_has_no_night(cli: Cli) -> None:
    code, document = cli("consolidate", "-n", "acme/nowhere", "--local")
    assert code == 2
    assert "slowwave ingest" in document["error"]["what"]


@pytest.mark.parametrize("night", ["yesterday", "", "20261129", "2026-W48-7", "2026-02-30", "2026-11-29T02:30"])
def test_a_malformed_date_is_wrong_usage(ingested: Cli, night: str) -> None:
    code, document = ingested("consolidate", "-n", NAMESPACE, "--night", night, "--local")
    assert code == 2
    assert "YYYY-MM-DD" in document["error"]["now"]


def test_waiting_for_a_worker_that_is_not_there_says_so(ingested: Cli) -> None:
    code, document = ingested("consolidate", "-n", NAMESPACE, "--wait")
    assert code == 1
    assert "slowwave up" in document["error"]["now"]
    assert ingested("runs")[1] == [], "and opens no run"


def test_a_night_handed_over_without_a_broker_stays_in_the_ledger(ingested: Cli) -> None:
    code, result = ingested("consolidate", "-n", NAMESPACE)
    assert (code, result["state"]) == (0, "running")
    assert ingested("consolidate", "-n", NAMESPACE, "--local")[1]["run_id"] == result["run_id"]


def test_a_schedule_is_set_shown_and_switched_off(ingested: Cli) -> None:
    on = {"namespace": NAMESPACE, "at": "02:30", "enabled": True}
    assert ingested("schedule", NAMESPACE, "--at", "02:30") == (0, on)
    assert ingested("schedule", NAMESPACE) == (0, on)
    assert ingested("schedule", NAMESPACE, "--off") == (0, {**on, "enabled": False})


@pytest.mark.parametrize("hour", ["25:00", "2:30", "02:30:00", "noon", ""])
def test_a_malformed_hour_is_wrong_usage(ingested: Cli, hour: str) -> None:
    assert ingested("schedule", NAMESPACE, "--at", hour)[0] == 2


# Looking


@pytest.mark.parametrize("command", ["queue", "rules"])
def test_a_namespace_nothing_was_ingested_into_is_an_empty_list(cli: Cli, command: str) -> None:
    assert cli(command, "-n", "acme/nowhere") == (0, [])


def test_showing_something_that_is_not_there_says_where_to_look(cli: Cli) -> None:
    code, document = cli("show", "nothing")
    assert code == 1
    assert "slowwave queue" in document["error"]["now"]


def test_a_run_is_shown_with_its_steps(ingested: Cli) -> None:
    run_id = ingested("consolidate", "-n", NAMESPACE, "--local")[1]["run_id"]
    shown = ingested("show", run_id)[1]
    assert [step["stage"] for step in shown["steps"]][:2] == ["select", "cluster"]


def test_a_whole_audit_log_verifies(cli: Cli) -> None:
    cli("user", "add", "mira")
    code, report = cli("audit", "verify")
    assert (code, report["ok"], report["entries"]) == (0, True, 1)


# People


def test_a_new_user_gets_a_token_shown_once(cli: Cli) -> None:
    code, document = cli("user", "add", "mira", "--role", "reviewer")
    assert code == 0
    assert set(document) == {"name", "role", "token"}
    assert "token" not in cli("user", "list")[1][0]


def test_a_name_is_given_once(cli: Cli) -> None:
    cli("user", "add", "mira")
    code, document = cli("user", "add", "mira")
    assert code == 1
    assert "mira" in document["error"]["what"]


def test_a_role_that_does_not_exist_is_wrong_usage(cli: Cli) -> None:
    assert cli("user", "add", "mira", "--role", "wizard")[0] == 2


@pytest.mark.parametrize("name", ["", "  ", " mira", "mi\nra", "mi\u202era", "m" * 101])
def test_a_name_is_visible_whole(cli: Cli, name: str) -> None:
    code, document = cli("user", "add", name)
    assert (code, cli("user", "list")[1]) == (2, [])
    assert "visible characters" in document["error"]["now"]


def test_a_token_names_its_namespaces(cli: Cli) -> None:
    code, document = cli("token", "create", "--role", "agent", "--namespace", NAMESPACE)
    assert (code, document["role"], document["namespaces"]) == (0, "agent", [NAMESPACE])
    assert cli("token", "create", "--role", "agent")[0] == 2


def test_a_revoked_token_is_listed_as_such(cli: Cli) -> None:
    made = cli("token", "create", "--role", "ingest", "-n", NAMESPACE)[1]
    cli("token", "revoke", made["id"])
    listed = cli("token", "list")[1][0]
    assert listed["revoked_at"]
    assert "token" not in listed


# Deciding


def decide(cli: Cli) -> tuple[int, Any]:
    return cli("approve", "no-such-id", "--hash", "0" * 64, "--reason", "read it")


def test_a_decision_without_a_token_says_how_to_get_one(cli: Cli) -> None:
    code, document = decide(cli)
    assert code == 2
    assert "SLOWWAVE_TOKEN" in document["error"]["now"]


def test_a_machines_token_cannot_decide(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    token = cli("token", "create", "--role", "agent", "-n", NAMESPACE)[1]["token"]
    monkeypatch.setenv("SLOWWAVE_TOKEN", token)
    code, document = decide(cli)
    assert code == 1
    assert "no person" in document["error"]["what"]


def test_a_revoked_personal_token_cannot_decide(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWWAVE_TOKEN", cli("user", "add", "mira")[1]["token"])
    cli("token", "revoke", cli("token", "list")[1][0]["id"])
    assert "revoked" in decide(cli)[1]["error"]["what"]


def test_a_candidate_that_is_gone_says_where_to_look(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWWAVE_TOKEN", cli("user", "add", "mira")[1]["token"])
    code, document = decide(cli)
    assert code == 1
    assert "slowwave queue" in document["error"]["what"]


# The house


def test_the_home_folders_database_is_upgraded_on_the_way(cli: Cli) -> None:
    cli("queue", "-n", NAMESPACE)
    found = cli("db", "current")[1]
    assert found["current"] == found["head"]


def test_a_servers_database_is_not_upgraded_unasked(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", f"sqlite:///{tmp_path}/server.db")
    code, document = cli("queue", "-n", NAMESPACE)
    assert code == 1
    assert "slowwave db upgrade" in document["error"]["now"]
    assert cli("db", "upgrade")[0] == 0
    assert cli("queue", "-n", NAMESPACE) == (0, [])


def test_a_lost_database_is_told_without_its_password(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", "postgresql+psycopg://ann:sesame@127.0.0.1:1/x")
    code, document = cli("queue", "-n", NAMESPACE)
    assert code == 1
    assert "127.0.0.1:1" in document["error"]["what"]
    assert "sesame" not in json.dumps(document)


def test_a_bad_setting_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWWAVE_SECRET_KEY", "short")
    code, document = cli("queue", "-n", NAMESPACE)
    assert code == 2
    assert "SLOWWAVE_SECRET_KEY" in document["error"]["what"]
    assert "openssl rand" in document["error"]["what"]


def test_a_list_that_is_no_json_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWWAVE_PUBLIC_ORIGINS", "https://review.example.org")
    code, document = cli("queue", "-n", NAMESPACE)
    assert code == 2
    assert "public_origins" in document["error"]["what"]
    assert "JSON" in document["error"]["now"]


def test_a_port_that_is_no_number_is_told_without_the_password(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", "postgresql+psycopg://ann:open@x:sesame@localhost/x")
    code, document = cli("queue", "-n", NAMESPACE)
    assert code == 2
    assert "SLOWWAVE_DATABASE_URL" in document["error"]["now"]
    assert "sesame" not in json.dumps(document)


def test_the_doctor_looks_at_everything_and_nothing_fails_before_up(cli: Cli) -> None:
    cli("queue", "-n", NAMESPACE)
    code, report = cli("doctor")
    verdicts = {check["name"]: check["verdict"] for check in report["checks"]}
    assert (code, report["ok"]) == (0, True)
    assert verdicts["database"] == "pass"
    assert verdicts["worker"] == "warn"


def test_a_service_that_did_nothing_is_not_healthy(cli: Cli) -> None:
    assert cli("health", "--service", "relay") == (
        1, {"service": "relay", "ok": False, "detail": "it has not done anything yet"},
    )  # fmt: skip


def test_a_dry_run_of_the_reconciler_sends_nothing(ingested: Cli) -> None:
    ingested("consolidate", "-n", NAMESPACE)
    for _ in range(2):
        code, report = ingested("reconcile", "--dry-run")
        assert (code, len(report["sent"])) == (0, 1)


def test_a_command_that_does_not_exist_is_wrong_usage(cli: Cli) -> None:
    assert cli("dream")[0] == 2


def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    groups = {"user": ["add"], "token": ["create"], "audit": ["verify"], "db": ["upgrade"]}
    for group, commands in groups.items():
        for command in commands:
            assert run([group, command, "--help"]) == 0
    for command in ("up", "demo", "ingest", "consolidate", "schedule", "queue", "show", "approve", "reject", "rules",
                    "revoke", "doctor", "relay", "reconcile", "worker", "beat", "web", "health", "runs"):  # fmt: skip
        assert run([command, "--help"]) == 0
    assert "Examples:" in capsys.readouterr().out
