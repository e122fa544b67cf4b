"""What counts as a retry, what came before it, and what nobody can know."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tasks.cluster.independence import sketch
from tasks.contrast.recoveries.attempts import Chain, read_chains
from tasks.contrast.recoveries.kept import Kept, pack, unpack

from .sessions import bash, steps, tool

MISSING = "ModuleNotFoundError: No module named 'acme'"


def acts(chain: Chain, retry: int = 0) -> list[str]:
    return [act.fine or act.key for act in chain.retries[retry].acts]


def test_a_failure_is_followed_to_the_retry_that_worked_with_the_acts_between() -> None:
    (chain,) = read_chains(steps(bash("pytest -q", 2, MISSING), bash("pip install -e ."), bash("python -m pytest")))
    assert (chain.command, chain.step) == ("pytest", "o0")
    assert [(retry.worked, retry.step) for retry in chain.retries] == [(True, "c2")]
    assert acts(chain) == ["pip install -e ."]


def test_acts_count_for_the_retry_that_they_came_before() -> None:
    (chain,) = read_chains(
        steps(
            bash("pytest", 2, MISSING), bash("ls"), bash("pytest", 2, MISSING), bash("pip install -e ."), bash("pytest")
        )
    )
    assert [retry.worked for retry in chain.retries] == [False, True]
    assert (acts(chain), acts(chain, 1)) == (["ls"], ["pip install -e ."])


def test_an_act_that_failed_is_no_remedy() -> None:
    (chain,) = read_chains(steps(bash("pytest", 2, MISSING), bash("pip install -e .", 1, "no network"), bash("pytest")))
    assert acts(chain) == []


def test_another_thing_is_no_retry() -> None:
    assert read_chains(steps(bash("cat a.txt", 1, "cat: a.txt: No such file"), bash("cat b.txt"))) == []
    (chain,) = read_chains(steps(bash("cat x/a.txt", 1, "cat: No such file"), bash("ls"), bash("cat y/a.txt")))
    assert acts(chain) == ["ls"]


def test_what_a_retry_was_given_anew_is_a_remedy() -> None:
    (chain,) = read_chains(steps(bash("git push", 128, "fatal: no upstream"), bash("git push --set-upstream origin x")))
    assert acts(chain) == ["again:git push --set-upstream"]
    (chain,) = read_chains(steps(bash("make", 2, "error: no CC"), bash("CC=gcc make")))
    assert acts(chain) == ["again:CC= make"]


def test_a_retry_in_one_line_with_its_remedy_counts_whether_it_worked_or_not() -> None:
    """Else only those that worked would be known."""
    for code in (0, 1):
        (chain,) = read_chains(steps(bash("pytest", 2, MISSING), bash("pip install -e . && pytest", code, MISSING)))
        assert ([retry.worked for retry in chain.retries], acts(chain)) == ([code == 0], ["pip install -e ."])


def test_a_line_of_which_any_part_may_have_failed_starts_nothing() -> None:
    assert read_chains(steps(bash("pip install x && pytest", 1, MISSING), bash("pytest"))) == []


def test_a_result_that_nobody_knows_ends_the_chain() -> None:
    hidden = bash("pytest | tail -3", 0, "something")
    assert read_chains(steps(bash("pytest", 2, MISSING), hidden, bash("pytest"))) == []


def test_what_pytest_itself_says_at_its_end_is_known_through_a_pipe() -> None:
    told = bash("pytest | tail -3", 0, "=== 3 passed in 0.12s ===")
    (chain,) = read_chains(steps(bash("pytest", 2, MISSING), bash("pip install -e ."), told))
    assert chain.retries[0].worked
    told = bash("pytest | tail -3", 0, "=== 1 failed, 3 passed in 0.12s ===")
    (chain,) = read_chains(steps(bash("pytest", 2, MISSING), told))
    assert not chain.retries[0].worked


def test_prose_is_no_evidence() -> None:
    assert read_chains(steps(bash("deploy", None, "Error: it failed"), bash("deploy", None, "it worked"))) == []


def test_nothing_found_is_an_answer_and_no_failure() -> None:
    assert read_chains(steps(bash("grep -rn needle .", 1, ""), bash("grep -rn needle ."))) == []


def test_a_call_that_a_person_refused_neither_worked_nor_failed() -> None:
    refused = tool("Edit", {"file_path": "a.py"}, True, "The user doesn't want to proceed with this tool use.")
    assert read_chains(steps(refused, tool("Edit", {"file_path": "a.py"}))) == []


def test_tools_that_are_no_shell_are_told_by_name_and_file() -> None:
    failed = tool(
        "Edit", {"file_path": "/w/a.py"}, True, "<tool_use_error>File has not been read yet.</tool_use_error>"
    )
    (chain,) = read_chains(
        steps(failed, tool("Read", {"file_path": "/w/a.py"}), tool("Edit", {"file_path": "/w/a.py"}))
    )
    assert (chain.command, acts(chain)) == ("Edit", ["Read a.py"])
    failed = tool(
        "str_replace_editor", {"command": "str_replace", "path": "/w/a.py"}, None, "No replacement was performed"
    )
    done = tool("str_replace_editor", {"command": "str_replace", "path": "/w/a.py"}, False)
    looked = tool("str_replace_editor", {"command": "view", "path": "/w/a.py"})
    (chain,) = read_chains(steps(failed, looked, done))
    assert (chain.command, acts(chain)) == ("str_replace_editor:str_replace", ["str_replace_editor:view a.py"])


def test_an_agent_s_own_words_of_a_harness_count() -> None:
    failed = {"name": "edit", "arguments": {"command": "edit 3:3\nx = (\nend_of_edit"}}
    (chain,) = read_chains(
        steps(
            [
                {"kind": "tool_call", **failed},
                {"kind": "observation", "text": "Your proposed edit has introduced new syntax error(s)."},
            ],
            [
                {"kind": "tool_call", **failed},
                {"kind": "observation", "text": "[File: /w/a.py (9 lines total)]\n1:x = ()"},
            ],
        )
    )
    assert (chain.command, [retry.worked for retry in chain.retries]) == ("edit", [True])


def test_steps_copied_from_another_run_are_not_counted_again() -> None:
    made = steps(bash("pytest", 2, MISSING), bash("pytest"))
    assert read_chains([step.model_copy(update={"is_copied_context": True}) for step in made]) == []


def test_another_error_ends_the_chain_and_begins_its_own() -> None:
    chains = read_chains(
        steps(
            bash("make", 2, "error: no CC"), bash("apt install gcc"), bash("make", 2, "fatal: no header"), bash("make")
        )
    )
    assert [(c.broad, [r.worked for r in c.retries]) for c in chains] == [
        ("error: no CC", [False]), ("fatal: no header", [True]),
    ]  # fmt: skip


COMMANDS = st.sampled_from(["pytest", "pip install -e .", "ls", "pytest -x", "make && pytest", "git push", "git pull"])


@given(st.lists(st.tuples(COMMANDS, st.sampled_from([0, 1, None]), st.sampled_from(["error: a", "error: b", ""]))))
def test_only_the_last_retry_of_a_chain_works_and_what_is_kept_comes_back(
    calls: list[tuple[str, int | None, str]],
) -> None:
    chains = tuple(read_chains(steps(*(bash(*call) for call in calls))))
    assert all(not retry.worked for chain in chains for retry in chain.retries[:-1])
    assert all(1 <= len(chain.retries) <= 3 for chain in chains)
    (back,) = unpack(pack([Kept("e", sketch("some words"), chains, (("rule", 2),))]))
    assert (back.episode_id, back.chains, back.read) == ("e", chains, (("rule", 2),))
