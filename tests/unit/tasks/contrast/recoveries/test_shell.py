"""A command line is the programs it runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.contrast.recoveries.shell import parse_command


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("cd x && FOO=1 python -m pytest -q tests", "pytest"),
        ("python3 -m pip install -U pip", "pip install"),
        ("source .venv/bin/activate && pytest -x", "pytest"),
        ("sudo apt-get install -y libpq-dev", "apt-get install"),
        ("timeout 60 ./scripts/run.sh > out.txt 2>&1", "run.sh"),
        ("uv run pytest tests/test_a.py::test_b", "pytest"),
        ("npx --yes jest a.test.js", "jest"),
        ("npm run build -- --watch", "npm run build"),
        ("docker-compose up -d", "docker compose up"),
        ("python manage.py migrate", "python manage.py migrate"),
        ("git -C /elsewhere push", "git push"),
        ('git commit -m "one\ntwo; three && four"', "git commit"),
        ("cat > a.py << 'EOF'\nimport os; os.system('rm')\nEOF\npython a.py", "python"),
        ("# a note\nmake test", "make test"),
        ("for f in *.py; do black $f; done", "black"),
        ("an unbalanced 'quote", "an"),
        (["bash", "-lc", "cd a && cargo build --release"], "cargo build"),
        (["git", "status"], "git status"),
    ],
)
def test_the_last_program_is_what_a_command_is_about(command: str | list[str], key: str) -> None:
    assert parse_command(command).acts[-1].key == key


@pytest.mark.parametrize(
    ("command", "certain", "alone"),
    [
        ("pytest", True, True),
        ("cd a; pytest", True, True),
        ("make clean; pytest", True, True),
        ("pip install -e . && pytest", True, False),
        ("pytest 2>&1 | tail -20", False, False),
        ("set -o pipefail; pytest | tail -20", True, True),
        ("pytest || true", False, False),
        ("", False, False),
        ("cd somewhere", False, False),
    ],
)
def test_an_exit_code_is_of_the_last_program_and_may_be_hidden(command: str, certain: bool, alone: bool) -> None:
    script = parse_command(command)
    assert (script.certain, script.alone) == (certain, alone)


def test_what_an_act_was_given_is_kept_apart_from_its_name() -> None:
    (act,) = parse_command("API_KEY=x git push --force-with-lease origin feat/one").acts
    assert (act.key, act.marks) == ("git push", {"API_KEY=", "--force-with-lease"})
    assert act.targets == {"origin", "one"}


def test_a_prefix_that_gives_rights_is_part_of_an_act_in_full_but_not_of_its_name() -> None:
    (act,) = parse_command("sudo systemctl start docker").acts
    assert (act.key, act.fine) == ("systemctl start", "sudo systemctl start docker")


def test_a_folder_of_one_machine_is_in_no_name() -> None:
    (act,) = parse_command("pip install -e /home/somebody/project").acts
    assert act.fine == "pip install -e project"


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    assert all(act.key for act in parse_command(text).acts)
