"""``slowwave export``: who may, what it leaves behind, and whether a copy still holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from storage import audit
from storage.engine import Database
from storage.ids import uuid7
from storage.tables import AuditEntry, Exposure, RuleVersion
from support.reviewing import Desk, finding
from tasks.promote.export_marks import FORMATS, read_marks
from tasks.promote.export_step import check_export, export_rules
from worker.cli.root import run

Command = Callable[..., Any]
SPACE = "acme/shop"


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command of one home folder; returns what it prints, with ``--json`` as an object."""
    monkeypatch.setenv("SLOWWAVE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SLOWWAVE_TOKEN", raising=False)

    def go(*arguments: str, token: str | None = None, code: int = 0) -> Any:
        if token is None:
            monkeypatch.delenv("SLOWWAVE_TOKEN", raising=False)
        else:
            monkeypatch.setenv("SLOWWAVE_TOKEN", token)
        capsys.readouterr()
        assert run(list(arguments)) == code, capsys.readouterr()
        printed = capsys.readouterr().out
        return json.loads(printed) if "--json" in arguments else printed

    return go


@pytest.fixture
def mira(command: Command) -> str:
    """The personal token of a reviewer; making it makes the home."""
    return str(command("user", "add", "mira", "--json")["token"])


@pytest.fixture
def shop(mira: str, tmp_path: Path, secret: bytes) -> Iterator[Desk]:
    database = Database(f"sqlite:///{tmp_path / 'home' / 'slowwave.db'}")
    yield Desk(database, datetime.now(UTC), secret, SPACE).open()
    database.dispose()


@pytest.fixture
def rule_id(shop: Desk) -> str:
    return shop.promoted(finding(shop))[0]


def rows(desk: Desk, table: Any) -> list[Any]:
    with desk.database.read() as session:
        return list(session.exec(select(table)).all())


def exports(desk: Desk) -> list[AuditEntry]:
    """What the audit log holds of exports."""
    return [row for row in rows(desk, AuditEntry) if row.action == "export.made"]


def test_an_export_holds_the_active_rules_and_leaves_exposures_and_an_audit_row(
    command: Command, shop: Desk, mira: str, rule_id: str
) -> None:
    made = {each: read_marks(command("export", "-n", SPACE, "--format", each, token=mira)) for each in FORMATS}
    served = {row.request_id: row for row in rows(shop, Exposure)}
    noted = {row.target: row for row in exports(shop)}
    assert len(served) == len(noted) == len(FORMATS)
    for format, marks in made.items():
        assert (marks.versions, marks.rechecks.keys(), marks.untouched) == ({rule_id: 1}, {rule_id}, True)
        exposure, entry = served[marks.origin.export_id], noted[marks.origin.export_id]
        assert (exposure.rule_id, exposure.version, exposure.epoch) == (rule_id, 1, marks.origin.epoch)
        assert exposure.session_id == f"export:{entry.actor}"
        assert entry.actor.startswith("user:")
        assert entry.detail == {"format": format, "epoch": marks.origin.epoch, "versions": [[rule_id, 1]]}
    with shop.database.read() as session:
        assert audit.verify(session).ok


def test_without_a_token_it_is_the_operators_export(command: Command, shop: Desk, rule_id: str) -> None:
    command("export", "-n", SPACE)
    (entry,) = exports(shop)
    assert entry.actor.startswith("operator")


def test_a_token_that_covers_another_namespace_or_no_person_exports_nothing(
    command: Command, shop: Desk, rule_id: str
) -> None:
    otto = command("user", "add", "otto", "--namespace", "acme/shops", "--json")["token"]
    agent = command("token", "create", "--role", "agent", "--namespace", SPACE, "--json")["token"]
    for token in (otto, agent):
        told = command("export", "-n", SPACE, "--json", token=token, code=1)
        assert rule_id not in json.dumps(told)
    assert rows(shop, Exposure) == []
    assert exports(shop) == []


def test_an_export_is_written_whole_and_never_over_somebodys_own_page(
    command: Command, shop: Desk, rule_id: str, tmp_path: Path
) -> None:
    page = tmp_path / "AGENTS.md"
    made = command("export", "-n", SPACE, "-o", str(tmp_path), "--json")
    assert (made["file"], made["rules"]) == (str(page), [{"id": rule_id, "version": 1}])
    first = page.read_text()
    command("export", "-n", SPACE, "-o", str(page))
    assert read_marks(page.read_text()).origin.export_id != read_marks(first).origin.export_id
    for own in ("# Ours\n", "# Ours\n" + first, first + "\nAnd be kind.\n", first.replace("1. ", "1. Always ")):
        page.write_text(own)
        told = command("export", "-n", SPACE, "-o", str(page), "--json", code=1)
        assert "--force" in told["error"]["now"]
        assert page.read_text() == own
    command("export", "-n", SPACE, "-o", str(page), "--force")
    assert read_marks(page.read_text()).alone
    assert sorted(each.name for each in tmp_path.iterdir()) == ["AGENTS.md", "home"]


def test_a_skill_is_a_folder_of_its_name(command: Command, shop: Desk, rule_id: str, tmp_path: Path) -> None:
    made = command("export", "-n", SPACE, "--format", "skill", "-o", str(tmp_path / "skills"), "--json")
    place = tmp_path / "skills" / "slowwave-acme-shop" / "SKILL.md"
    assert made["file"] == str(place)
    assert place.read_text().startswith("---\nname: slowwave-acme-shop\n")
    again = command("export", "-n", SPACE, "--format", "skill", "-o", str(tmp_path / "skills"), "--json")
    assert again["export_id"] != made["export_id"]


def test_a_copy_is_told_stale_once_a_rule_in_it_was_withdrawn(
    command: Command, shop: Desk, rule_id: str, tmp_path: Path
) -> None:
    places = {each: tmp_path / f"{each}.md" for each in FORMATS}
    for format, place in places.items():
        command("export", "-n", SPACE, "--format", format, "-o", str(place))
        holds = command("export", "--check", str(place), "--json")
        assert (holds["stale"], holds["changes"], holds["untouched"]) == (False, [], True)
    shop.revoke(rule_id, reason="it [red]loses[/red] orders")
    for format, place in places.items():
        (change,) = command("export", "--check", str(place), "--json", code=1)["changes"]
        assert (change["rule_id"], change["kind"], change["state"]) == (rule_id, "withdrawn", "revoked")
        page = command("export", "--check", str(place), code=1)
        assert "it [red]loses[/red] orders" in page
        assert "is stale" in page
        assert rule_id not in read_marks(command("export", "-n", SPACE, "--format", format)).versions


def test_a_copy_of_a_version_that_was_superseded_names_the_one_that_is_active(
    command: Command, shop: Desk, mira: str, rule_id: str, tmp_path: Path
) -> None:
    place = tmp_path / "rules.jsonl"
    command("export", "-n", SPACE, "--format", "jsonl", "-o", str(place))
    (version,) = rows(shop, RuleVersion)
    command("edit", rule_id, "--hash", version.content_hash, "--step", "Look first.", "--reason", "s", token=mira)
    ((candidate, _),) = shop.candidates()
    shop.approve(candidate)
    (change,) = command("export", "--check", str(place), "--json", code=1)["changes"]
    assert (change["kind"], change["version"], change["current_version"]) == ("superseded", 1, 2)


def test_a_file_that_is_no_export_or_of_another_store_is_refused(
    command: Command, shop: Desk, rule_id: str, tmp_path: Path
) -> None:
    place = tmp_path / "x.md"
    command("export", "--check", str(place), code=2)
    place.write_text("# Ours\n")
    assert "no export" in command("export", "--check", str(place), "--json", code=2)["error"]["what"]
    place.write_bytes(b"\xff\xfe\x00")
    command("export", "--check", str(place), code=2)
    place.write_text(command("export", "-n", SPACE).replace(SPACE, "acme/other"))
    assert "unknown here" in command("export", "--check", str(place), "--json", code=2)["error"]["what"]


def test_a_wrong_use_says_what_to_do(command: Command) -> None:
    wrong = (
        (),
        ("-n", "Not One"),
        ("-n", "acme/none"),
        ("-n", SPACE, "--format", "pdf"),
        ("--check", "x", "-n", SPACE),
    )
    for arguments in wrong:
        assert command("export", *arguments, "--json", code=2)["error"]["what"]


def test_on_both_databases_only_what_is_active_is_copied_and_a_long_copy_goes_in_parts(
    database: Database, secret: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.promote.export_step.PART", 1)
    desk = Desk(database, datetime.now(UTC), secret, SPACE).open()
    kept, gone, later = (desk.promoted(finding(desk, call))[0] for call in ("cancel_order", "drop_note", "send_mail"))
    desk.revoke(gone)
    made = export_rules(database, SPACE, format="jsonl", actor="user:1", export_id=uuid7(), now=desk.now)
    assert set(made.versions) == {(kept, 1), (later, 1)}
    assert {(row.rule_id, row.request_id) for row in rows(desk, Exposure)} == {
        (name, made.origin.export_id) for name in (kept, later)
    }
    desk.revoke(later)
    found = check_export(database, read_marks(made.text), desk.now)
    assert [(change.rule_id, change.state) for change in found.changes] == [(later, "revoked")]
