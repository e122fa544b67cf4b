"""The commands at the door: what was refused, policies, episodes, and what is said when there is no room."""

from __future__ import annotations

import errno
import json
import re
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from storage.engine import Database
from storage.tables import AuditEntry
from support import factories
from tasks.ingest.policy import COUNTS_FROM, KNOWN
from worker.cli import store as cli_store
from worker.cli.root import app, run

SPACE = "acme/support"
EVIL = "[red]\x1b[2Jgo\u202e"
EPISODE = {
    "id": "t-1", "task": f"refund {EVIL}", "outcome": "success", "agent": "bot", "metadata": {"exit_code": 3},
    "steps": [
        {"id": "1", "kind": "user", "text": f"please [bold]{EVIL}[/bold] with sk_live_4eC39HqLyjWDarjtT1zdp7dc"},
        {"id": "2", "kind": "tool_call", "name": "pay", "arguments": {"n": 7}, "agent": "helper"},
        {"id": "3", "kind": "observation", "of": "2", "text": "no", "exit_code": 3, "is_error": True},
        {"id": "4", "kind": "answer", "text": "done", "is_copied_context": True, "uri": "vault://x/1"},
    ],
}  # fmt: skip


class Terminal:
    """Runs commands in this process; ``out`` and ``err`` are what the last one printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = self.err = ""

    def run(self, *arguments: str | Path, code: int = 0) -> str:
        self._capsys.readouterr()
        ended = run([str(each) for each in arguments])
        self.out, self.err = self._capsys.readouterr()
        assert ended == code, self.out + self.err
        return self.out

    def json(self, *arguments: str | Path, code: int = 0) -> Any:
        return json.loads(self.run(*arguments, "--json", code=code))


@pytest.fixture
def terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], migrated_sqlite_file: Path
) -> Terminal:
    monkeypatch.setenv("SLOWWAVE_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    shutil.copy(migrated_sqlite_file, tmp_path / "home" / "slowwave.db")
    monkeypatch.setenv("COLUMNS", "200")
    return Terminal(capsys)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(EPISODE) + "\n{broken\n")
    return path


@pytest.fixture
def taken(terminal: Terminal, file: Path) -> Terminal:
    terminal.run("ingest", file, "-n", SPACE, code=1)
    return terminal


# Refused


def test_what_was_refused_is_listed_and_retried(taken: Terminal, file: Path) -> None:
    (entry,) = taken.json("rejected", "-n", SPACE)
    assert (entry["file"], entry["line"], entry["attempts"], entry["bytes_kept"]) == (str(file), 2, 1, 8)
    assert taken.json("ingest", "--retry-rejected", "-n", SPACE, code=1)["still_refused"][0]["attempts"] == 2
    file.write_text(json.dumps(EPISODE) + "\n")
    assert taken.json("ingest", "--retry-rejected", "-n", SPACE) == {
        "retried": 1, "taken": 1, "still_refused": [], "nothing_to_retry_from": [],
    }  # fmt: skip
    assert taken.json("rejected", "-n", SPACE) == []
    assert taken.json("rejected", "-n", SPACE, "--all")[0]["resolution"] == "no longer refused"
    assert "Nothing that was refused" in taken.run("ingest", "--retry-rejected", "-n", SPACE)


def test_what_was_refused_is_dismissed_with_a_reason_and_on_record(taken: Terminal, file: Path) -> None:
    taken.run("rejected", "-n", SPACE, "--dismiss", file, code=2)
    taken.run("rejected", "-n", SPACE, "--dismiss", "elsewhere.jsonl", "--reason", "x", code=2)
    assert taken.json("rejected", "-n", SPACE, "--dismiss", file, "--reason", "a draft") == []
    (letter,) = taken.json("rejected", "-n", SPACE, "--all")
    assert letter["resolution"] == "dismissed: a draft"
    assert taken.json("ingest", "--retry-rejected", "-n", SPACE)["retried"] == 0
    taken.run("audit", "verify")


def test_a_hostile_name_is_written_out(terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(f"{EVIL}.jsonl").write_text("{broken\n")
    terminal.run("ingest", f"{EVIL}.jsonl", "-n", SPACE, "--format", "canonical", code=1)
    page = terminal.run("rejected", "-n", SPACE)
    assert "[red]\\u001b[2Jgo\\u202e.jsonl" in page
    assert "\x1b[2J" not in page


def test_a_list_that_is_cut_says_how_many_are_left(terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(EPISODE) + "\n" + "{broken\n" * 5)
    terminal.run("ingest", path, "-n", SPACE, code=1)
    assert "… and 3 more: --limit 5 lists all of them" in terminal.run("rejected", "-n", SPACE, "--limit", "2")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--once", "x"),
        ("--retry-rejected", "x"),
        ("--retry-rejected", "--follow", "x"),
        ("--follow",),
        ("--follow", "/nowhere/at/all"),
        ("--follow", __file__),
        ("--follow", "/tmp", "--format", "diary"),
    ],
)
def test_options_that_make_no_sense_are_wrong_usage(terminal: Terminal, arguments: tuple[str, ...]) -> None:
    told = terminal.json("ingest", *arguments, "-n", SPACE, code=2)
    assert told["error"]["what"]


def test_after_a_rejection_ingest_says_what_next_and_counts_in_words(terminal: Terminal, file: Path) -> None:
    said = terminal.run("ingest", file, "-n", SPACE, code=1)
    assert said.startswith("1 episode taken into acme/support, 0 known before, 0 revised, 1 rejected\n")
    assert f"see: slowwave rejected -n {SPACE}; mend, then slowwave ingest --retry-rejected -n {SPACE}\n" in said
    assert "part of these" not in said
    file.write_text(json.dumps(EPISODE) + "\n")
    assert terminal.run("ingest", file, "-n", SPACE).count("\n") == 1, "nothing was refused: there is nothing to say"


@pytest.mark.parametrize(("files", "told"), [(1, "1 file is part of these"), (2, "2 files are part of these")])
def test_ingest_says_how_many_files_were_joined(
    terminal: Terminal, capsys: pytest.CaptureFixture[str], files: int, told: str
) -> None:
    from tasks.ingest.step import IngestReport
    from worker.cli import episodes

    episodes._tell(IngestReport(accepted=2, joined=files), SPACE)
    assert capsys.readouterr().out.splitlines()[1:] == [told]


def test_at_80_columns_paths_stay_whole_for_copying(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    folder = tmp_path / "a-folder-with-a-rather-long-name" / "and-another-one-in-it-that-is-no-shorter"
    folder.mkdir(parents=True)
    path = folder / "runs of [red].jsonl"
    path.write_text(json.dumps(EPISODE) + "\n{broken\n")
    assert f"{path}:2\n" in terminal.run("ingest", path, "-n", SPACE, code=1)
    assert f"{path}:2\n" in terminal.run("rejected", "-n", SPACE)
    assert f"{path}:2\n" in terminal.run("ingest", "--retry-rejected", "-n", SPACE, code=1)
    page = terminal.run("rejected", "-n", SPACE)
    assert " · 2 attempts · waits\n" in page
    terminal.run("ingest", "--follow", tmp_path, "--once", "--settle", "0", "-n", SPACE, code=1)
    assert f"{path}\n    read · " in terminal.run("followed", "-n", SPACE)


# Policy


def test_a_policy_is_set_shown_counted_and_on_record(terminal: Terminal, tmp_path: Path, file: Path) -> None:
    policy = {"owner": "the refund team", "redact_patterns": ["refund"], "trust": {"tools": {"pay": "internal"}}}
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    assert terminal.json("policy", "set", tmp_path / "policy.json", "-n", SPACE)["policy"] == policy
    assert terminal.json("policy", "show", "-n", SPACE) == policy
    assert "the refund team" in terminal.run("policy", "show", "-n", SPACE)
    terminal.run("ingest", file, "-n", SPACE, code=1)
    (row,) = terminal.json("episodes", "-n", SPACE)
    assert row["task"].startswith("[redacted:policy-pattern]")
    assert terminal.json("episode", row["id"], "-n", SPACE)["steps"][2]["trust"] == "internal"
    with Database(f"sqlite:///{tmp_path}/home/slowwave.db").read() as session:
        entry = session.execute(sa.select(AuditEntry).where(AuditEntry.action == "policy.set")).scalar_one()
    assert (entry.namespace, entry.detail["keys"]) == (SPACE, ["owner", "redact_patterns", "trust"])
    assert entry.actor.startswith("operator")
    assert "refund team" not in json.dumps(entry.detail)
    assert terminal.json("audit", "verify")["ok"]


def test_a_policy_is_tried_on_what_waits_and_not_set(taken: Terminal, tmp_path: Path, now: datetime) -> None:
    database = Database(f"sqlite:///{tmp_path / 'home' / 'slowwave.db'}")
    checks = [{"name": "over-general", "verdict": "fail", "detail": "everywhere", "fix": ""}]
    factories.make_candidate(database, SPACE, "cand-1", now, packet=factories.packet_for(checks=checks))
    database.dispose()
    (tmp_path / "p.toml").write_text('blocking_checks = ["secrets"]\n')
    told = taken.json("policy", "dry-run", tmp_path / "p.toml", "-n", SPACE)
    assert [(one["id"], one["becomes"], one["after"]) for one in told["moved"]] == [("cand-1", "approvable", [])]
    assert [(one["key"], one["since"]) for one in told["changes"]] == [("blocking_checks", "next-night")]
    assert "could be approved" in taken.run("policy", "dry-run", tmp_path / "p.toml", "-n", SPACE)
    assert taken.json("policy", "show", "-n", SPACE) == {}
    (tmp_path / "p.toml").write_text("blocking = 1\n")
    refused = taken.json("policy", "dry-run", tmp_path / "p.toml", "-n", SPACE, code=2)["error"]["what"]
    assert "blocking_checks" in refused
    taken.run("policy", "dry-run", tmp_path / "p.toml", "-n", "nowhere", code=2)


@pytest.mark.parametrize("key", ["SLOWWAVE_PROXY_USER_HEADER", "SLOWWAVE_DRAFTER"])
def test_settings_that_do_not_go_together_are_told_in_words(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv(key, "model" if key.endswith("DRAFTER") else "X-Forwarded-User")
    told = terminal.json("policy", "show", "-n", SPACE, code=2)["error"]["what"]
    assert key in told
    assert " needs SLOWWAVE_" in told


def test_a_policy_that_would_drop_a_key_is_refused_unless_that_is_meant(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {"owner": "ann", "redact_patterns": ["x[0-9]+"]}
    (tmp_path / "a.json").write_text(json.dumps(before))
    terminal.run("policy", "set", tmp_path / "a.json", "-n", SPACE)
    (tmp_path / "b.toml").write_text('regime = "episodic"\n')
    told = terminal.json("policy", "set", tmp_path / "b.toml", "-n", SPACE, code=2)["error"]
    assert "owner, redact_patterns" in told["what"]
    assert "--replace" in told["now"]
    assert terminal.json("policy", "show", "-n", SPACE) == before
    (tmp_path / "in").write_text('{"owner": "bo"}')
    with (tmp_path / "in").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert "Removed: redact_patterns." in terminal.run("policy", "set", "-", "--replace", "-n", SPACE)
    assert terminal.json("policy", "show", "-n", SPACE) == {"owner": "bo"}


def test_one_key_is_put_and_the_others_stay(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('redact_patterns = ["x[0-9]+"]\n')
    terminal.run("policy", "set", tmp_path / "a.toml", "-n", SPACE)
    terminal.run("policy", "put", "owner", "the refund team", "-n", SPACE)
    terminal.run("policy", "put", "model_budget", '{"calls": 20}', "-n", SPACE)
    kept = {"redact_patterns": ["x[0-9]+"], "model_budget": {"calls": 20}}
    assert terminal.json("policy", "show", "-n", SPACE) == {**kept, "owner": "the refund team"}
    assert terminal.json("policy", "put", "owner", "null", "-n", SPACE)["removed"] == ["owner"]
    assert terminal.json("policy", "show", "-n", SPACE) == kept
    with Database(f"sqlite:///{tmp_path}/home/slowwave.db").read() as session:
        puts = session.execute(sa.select(AuditEntry).where(AuditEntry.action == "policy.put")).scalars().all()
    assert len(puts) == 3
    assert "refund team" not in json.dumps([each.detail for each in puts])


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("ownr", "ann", "did you mean 'owner'?"),
        ("owner", "7", "owner must be text"),
        ("regime", "nightly", "regime must be one of"),
        ("model_budget", '{"calls": ', "not JSON"),
        ("trust", "[" * 100_000, "not JSON"),
    ],
)
def test_a_wrong_value_is_not_put(terminal: Terminal, key: str, value: str, told: str) -> None:
    terminal.run("policy", "put", "owner", "ann", "-n", SPACE)
    assert told in terminal.json("policy", "put", key, value, "-n", SPACE, code=2)["error"]["what"]
    assert terminal.json("policy", "show", "-n", SPACE) == {"owner": "ann"}


@pytest.mark.parametrize("command", ["set", "put"])
def test_whatever_writes_a_policy_names_every_key_and_when_it_counts(terminal: Terminal, command: str) -> None:
    said = " ".join(terminal.run("policy", command, "--help").split())
    for key, words in KNOWN.items():
        assert f"{key}: {words}." in said
    assert f"{COUNTS_FROM}." in said


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"ownr": "x"}', "did you mean 'owner'?"),
        ('{"redact_patterns": ["("]}', "not a regular expression"),
        ("[1", "JSON"),
    ],
)
def test_a_wrong_policy_changes_nothing(terminal: Terminal, tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "p").write_text('{"owner": "ann"}')
    terminal.run("policy", "set", tmp_path / "p", "-n", SPACE)
    (tmp_path / "p").write_text(text)
    assert told in terminal.json("policy", "set", tmp_path / "p", "-n", SPACE, code=2)["error"]["what"]
    assert terminal.json("policy", "show", "-n", SPACE) == {"owner": "ann"}


def test_a_policy_file_that_is_not_there_and_one_that_is_no_text(terminal: Terminal, tmp_path: Path) -> None:
    assert "cannot be read" in terminal.json("policy", "set", "/nowhere", "-n", SPACE, code=2)["error"]["what"]
    (tmp_path / "p").write_bytes(b"\xff\xfe{}")
    assert "UTF-8" in terminal.json("policy", "set", tmp_path / "p", "-n", SPACE, code=2)["error"]["what"]
    assert terminal.json("policy", "show", "-n", SPACE, code=2)["error"]


# Episodes


def test_episodes_are_listed_with_who_says_how_they_ended(taken: Terminal, file: Path) -> None:
    (row,) = taken.json("episodes", "-n", SPACE)
    assert (row["outcome"], row["outcome_source"], row["line"], row["revision"]) == ("failure", "exit-code", 1, 1)
    page = taken.run("episodes", "-n", SPACE)
    for said in (row["id"], "failure", "an exit code said so", "canonical", "4 steps", "1 redacted", f"{file}:1"):
        assert said in page
    assert "refund [red]\\u001b[2Jgo\\u202e" in page
    assert "\x1b[2J" not in page


def test_episodes_are_filtered(taken: Terminal) -> None:
    assert len(taken.json("episodes", "-n", SPACE, "--outcome", "failure", "--importer", "canonical")) == 1
    assert taken.json("episodes", "-n", SPACE, "--outcome", "success") == []
    assert taken.json("episodes", "-n", SPACE, "--importer", "tau2") == []
    assert "No such episode" in taken.run("episodes", "-n", SPACE, "--importer", "tau2")
    assert "unknown" in taken.json("episodes", "-n", SPACE, "--outcome", "bad", code=2)["error"]["now"]


@pytest.mark.parametrize("name", ["bogus", "auto", ""])
def test_an_importer_that_there_is_not_is_wrong_usage_and_the_known_ones_are_named(taken: Terminal, name: str) -> None:
    told = taken.json("episodes", "-n", SPACE, "--importer", name, code=2)["error"]
    assert repr(name) in told["what"]
    assert "canonical" in told["now"]
    assert "tau2" in told["now"]


def test_what_was_not_kept_or_is_doubtful_is_told_in_words(terminal: Terminal, tmp_path: Path) -> None:
    started = {"started_at": "2026-11-29T02:00:00Z", "ended_at": "2026-11-29T01:00:00Z"}
    steps = [{"id": "1", "kind": "user", "text": "a\0b"}, {"id": "1", "kind": "answer", "arguments": {"word": "naïve"}}]
    (tmp_path / "a.json").write_text(json.dumps({**EPISODE, **started, "steps": steps}))
    terminal.run("ingest", tmp_path / "a.json", "-n", SPACE)
    page = terminal.run("episode", terminal.json("episodes", "-n", SPACE)[0]["id"], "-n", SPACE)
    notes = page.partition("\nNotes\n")[2].partition("\n\n")[0].splitlines()
    assert [each.partition(":")[0].strip() for each in notes] == ["characters replaced", "clock", "steps renamed"]
    assert "  clock: ended before it started" in notes
    assert '"word": "naïve"' in page


def test_one_episode_is_shown_whole(taken: Terminal, file: Path) -> None:
    name = taken.json("episodes", "-n", SPACE)[0]["id"]
    page = taken.run("episode", name, "-n", SPACE)
    for said in (
        "failure: an exit code said so", "from       exit code 3 of the run", "overruled  success",
        "1 (current): failure",
        "[2] tool_call pay · internal · by helper", "[3] observation of 2 · external · exit code 3 · error",
        "copied context: not counted again", "source vault://x/1", "[bold][red]\\u001b[2Jgo\\u202e[/bold]",
        '    {\n      "n": 7\n    }',
    ):  # fmt: skip
        assert said in page, said
    assert "\x1b[2J" not in page
    shown = taken.json("episode", name, "-n", SPACE)
    assert shown["details"]["outcome_from"] == "exit code 3 of the run"
    assert sum(shown["redactions"].values()) == 1
    assert [step["kind"] for step in shown["steps"]] == ["user", "tool_call", "observation", "answer"]


def test_an_episode_names_its_revisions(taken: Terminal, file: Path) -> None:
    before = taken.json("episodes", "-n", SPACE)[0]["id"]
    file.write_text(json.dumps({**EPISODE, "metadata": {}}) + "\n")
    taken.run("ingest", file, "-n", SPACE)
    (row,) = taken.json("episodes", "-n", SPACE)
    shown = taken.json("episode", before, "-n", SPACE)
    assert [(each["id"], each["revision"], each["is_current"]) for each in shown["revisions"]] == [
        (before, 1, False), (row["id"], 2, True),
    ]  # fmt: skip


def test_an_episode_that_is_not_there_says_where_to_look(taken: Terminal) -> None:
    assert "slowwave episodes" in taken.json("episode", "nothing", "-n", SPACE, code=1)["error"]["now"]


# No room


@pytest.fixture
def no_room(taken: Terminal, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """The home database may not grow any more."""
    make = cli_store.make_database

    def limited(settings: Any) -> Database:
        database = make(settings)

        @sa.event.listens_for(database.engine, "connect")
        def _limit(connection: Any, _: Any) -> None:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages}").close()

        return database

    return lambda: monkeypatch.setattr(cli_store, "make_database", limited)


def test_a_full_disk_is_called_full_and_nothing_is_half_written(
    taken: Terminal, file: Path, no_room: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [{**EPISODE, "id": f"m-{n}", "task": f"task {n} {'x' * 5000}"} for n in range(100)]
    file.write_text("".join(json.dumps(each) + "\n" for each in many))
    with monkeypatch.context():
        no_room()
        told = taken.json("ingest", file, "-n", SPACE, code=1)["error"]
    assert "has no room left" in told["what"]
    assert "does not answer" not in told["what"]
    assert told["now"].startswith("Make room")
    monkeypatch.undo()


def test_a_full_disk_below_a_file_is_told_with_the_files_name(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/x/secret.key")

    monkeypatch.setattr("storage.settings.Settings.secret", full)
    monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": __import__("io").BytesIO(b'{"owner": "a"}')})())
    told = terminal.json("policy", "set", "-", "-n", SPACE, code=1)["error"]
    assert told["what"] == "The disk is full (/x/secret.key): No space left on device."


def test_every_new_command_explains_itself_with_examples(terminal: Terminal) -> None:
    for command in (
        ("ingest",),
        ("formats",),
        ("rejected",),
        ("followed",),
        ("episodes",),
        ("episode",),
        ("policy", "show"),
        ("policy", "set"),
        ("policy", "put"),
    ):
        assert "Example" in terminal.run(*command, "--help")


def _commands(group: Any, *names: str) -> Iterator[tuple[tuple[str, ...], str]]:
    for command in group.registered_commands:
        yield (*names, command.name), command.callback.__doc__ or ""
    for inner in group.registered_groups:
        yield from _commands(inner.typer_instance, *names, inner.name)


def test_no_help_breaks_an_example_at_80_columns(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    found = [(names, each) for names, doc in _commands(app) for each in re.findall(r"(?m)^ {6}(\S.*)$", doc)]
    assert len(found) > 20
    pages = {names: terminal.run(*names, "--help") for names, _ in found}
    assert [each for names, each in found if f" {each} " not in pages[names]] == []


def test_help_names_the_exit_codes_and_shows_no_raw_markup(terminal: Terminal) -> None:
    for command in ((), ("ingest",)):
        said = terminal.run(*command, "--help")
        for code in ("0 done", "1 done with something rejected", "2 wrong usage", "130 stopped"):
            assert code in said
    for names, _ in _commands(app):
        assert "`" not in terminal.run(*names, "--help"), names
