"""Edit, ask for evidence and take back on the command line, as the person of the token."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from storage.engine import Database
from storage.tables import Candidate
from support.changing import current
from support.reviewing import Desk, finding
from worker.cli.root import run

Command = Callable[..., Any]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command of one home folder as somebody; returns its JSON, or what it says went wrong."""
    monkeypatch.setenv("SLOWWAVE_HOME", str(tmp_path))
    tokens: dict[str, str] = {}

    def go(*arguments: str, who: str = "mira", code: int = 0) -> Any:
        capsys.readouterr()
        monkeypatch.setenv("SLOWWAVE_TOKEN", tokens.get(who, "none"))
        assert run([*arguments, "--json"]) == code, capsys.readouterr()
        return json.loads(capsys.readouterr().out)

    for name in ("mira", "otto"):
        tokens[name] = go("user", "add", name)["token"]
    return go


@pytest.fixture
def shop(command: Command, tmp_path: Path, secret: bytes) -> Iterator[Desk]:
    database = Database(f"sqlite:///{tmp_path / 'slowwave.db'}")
    yield Desk(database, datetime.now(UTC), secret).open()
    database.dispose()


@pytest.fixture
def waiting(shop: Desk) -> Candidate:
    shop.night(finding(shop, "archive_note", environment=(("api", "3.2"),)))
    return shop.only()


def test_an_edit_is_of_the_tokens_person_who_cannot_approve_it(
    command: Command, shop: Desk, waiting: Candidate
) -> None:
    done = command("edit", waiting.id, "--hash", waiting.content_hash, "--step", "Look first.", "--step", "Say so.",
                   "--component", "api=>=3.1,<=3.4", "--agent", "bot", "--reason", "shorter")  # fmt: skip
    content = current(shop, waiting.id)[1].content
    assert content["guidance"] == ["Look first.", "Say so."]
    assert (content["scope"]["environment"], content["scope"]["agents"]) == ({"api": ">=3.1,<=3.4"}, ["bot"])
    assert command("show", waiting.id)["edited_by"] == "mira"
    approve = ("approve", waiting.id, "--hash", done["content_hash"], "--reason", "reads well")
    assert "another reviewer has to" in command(*approve, code=1)["error"]["what"]
    assert command(*approve, who="otto")["state"] == "promoted"


def test_a_text_is_edited_in_a_file_and_taken_back(
    command: Command, shop: Desk, waiting: Candidate, tmp_path: Path
) -> None:
    content = command("show", waiting.id)["content"]
    file = tmp_path / "text.json"
    file.write_text(json.dumps(content | {"when_to_use": "When in doubt"}))
    done = command("edit", waiting.id, "--hash", waiting.content_hash, "--text", str(file), "--reason", "clearer")
    assert current(shop, waiting.id)[1].content == content | {"when_to_use": "When in doubt"}
    back = command("edit", waiting.id, "--hash", done["content_hash"], "--take-back", "--reason", "it was right")
    assert back["content_hash"] == waiting.content_hash


def test_a_new_version_of_a_rule_is_proposed_by_its_id(command: Command, shop: Desk, waiting: Candidate) -> None:
    approve = ("approve", waiting.id, "--hash", waiting.content_hash, "--reason", "seen")
    rule = command(*approve)["rule_id"]
    done = command("edit", rule, "--hash", waiting.content_hash, "--step", "Look first.", "--reason", "shorter")
    assert done["candidate_id"] == waiting.id
    again = ("approve", waiting.id, "--hash", done["content_hash"], "--reason", "better")
    assert (command(*again, who="otto")["version"]) == 2


def test_evidence_is_asked_for_and_the_request_taken_back(command: Command, waiting: Candidate) -> None:
    shown = (waiting.id, "--hash", waiting.content_hash, "--reason", "all of it is of 3.2")
    done = command("ask", *shown, "--runs", "5", "--component", "api", "--version", "3.3")
    assert done["wanted"]["runs"] == 5
    assert command("show", waiting.id)["wanted"]["version"] == "3.3"
    assert "waits for evidence" in command("approve", *shown, who="otto", code=1)["error"]["what"]
    assert command("resume", *shown, who="otto")["changed"] is True
    assert command("show", waiting.id)["wanted"] is None


REFUSED = [
    (("edit", "nothing", "--hash", "x"), 1, "no candidate and no active rule"),
    (("edit", "ID", "--hash", "x", "--step", "Look."), 1, "other content now"),
    (("edit", "ID", "--hash", "HASH"), 1, "nothing changed"),
    (("edit", "ID", "--hash", "HASH", "--component", "api"), 2, "is no component with its version"),
    (("edit", "ID", "--hash", "HASH", "--recheck", "soon"), 1, "is no re-check date"),
    (("edit", "ID", "--hash", "HASH", "--text", "/nowhere.json"), 2, "cannot be read"),
    (("ask", "ID", "--hash", "HASH", "--runs", "0"), 1, "can't be waited for"),
    (("resume", "ID", "--hash", "x"), 1, "other content now"),
]


def test_what_cannot_be_done_says_why(command: Command, waiting: Candidate, tmp_path: Path) -> None:
    for arguments, code, told in REFUSED:
        given = [{"ID": waiting.id, "HASH": waiting.content_hash}.get(one, one) for one in arguments]
        assert told in command(*given, "--reason", "because", code=code)["error"]["what"], arguments
    file = tmp_path / "text.json"
    for text in ("[]", "{", '{"guidance": "one"}', '{"scope": []}', '{"when_to_use": 3}'):
        file.write_text(text)
        given = ["edit", waiting.id, "--hash", waiting.content_hash, "--text", str(file), "--reason", "x"]
        assert command(*given, code=2)["error"]["code"] == 2, text
