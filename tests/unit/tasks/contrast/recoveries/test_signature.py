"""The same error of two sessions has one signature; two errors have two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.contrast.recoveries.signature import signature, telling_line

TRACE = 'Traceback (most recent call last):\n  File "/home/{user}/a.py", line {n}, in <module>\n    import x\n'


def test_a_trace_is_told_by_its_last_line() -> None:
    said = TRACE.format(user="ann", n=3) + "ModuleNotFoundError: No module named 'yaml'"
    assert telling_line(said) == "ModuleNotFoundError: No module named 'yaml'"


def test_a_name_is_in_the_narrow_signature_alone() -> None:
    found = signature("ModuleNotFoundError: No module named 'yaml'")
    assert (found.broad, found.narrow) == (
        "ModuleNotFoundError: No module named '…'",
        "ModuleNotFoundError: No module named 'yaml'",
    )


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("src/a.c:10:3: fatal error: zlib.h: No such file", "lib/b.c:7:12: fatal error: zlib.h: No such file"),
        ("curl: (28) Timed out after 3001 ms", "curl: (28) Timed out after 12 ms"),
        ("2026-01-02T03:04:05Z ERROR job 550e8400-e29b-41d4-a716-446655440000 died",
         "2025-11-12T13:14:15Z ERROR job 123e4567-e89b-42d3-a456-426614174000 died"),
        ("错误：找不到虚拟环境“甲”，请先创建（第3行）", "错误：找不到虚拟环境“乙丙”，请先创建（第12行）"),
        ("エラー: モジュール「requests」が見つかりません", "エラー: モジュール「numpy」が見つかりません"),
        ("<tool_use_error>String not found in file.</tool_use_error>", "String not found in file."),
        ("Exit code 1\n\x1b[31merror: no space left\x1b[0m", "error: no space left"),
    ],
)  # fmt: skip
def test_what_differs_from_run_to_run_is_left_out(one: str, two: str) -> None:
    assert signature(one).broad == signature(two).broad


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("error[E0425]: cannot find value", "error[E0308]: cannot find value"),
        ("curl: (28) failed", "curl: (6) failed"),
        ("HTTP status 404: failed", "HTTP status 503: failed"),
        ("错误：找不到虚拟环境", "错误：没有权限"),
        ("TypeError: bad", "ValueError: bad"),
    ],
)
def test_what_programs_call_their_errors_by_stays(one: str, two: str) -> None:
    assert signature(one).broad != signature(two).broad


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("building...\nfatal: no upstream branch\nhint: push", "fatal: no upstream branch"),
        ("正在运行\n[错误] 无法解析\n完", "[错误] 无法解析"),
        ("ERRORS:\nYour proposed edit has errors", "Your proposed edit has errors"),
        ("only this", "only this"),
        ("", ""),
    ],
)
def test_the_line_that_tells_is_found_in_any_script(text: str, line: str) -> None:
    assert telling_line(text) == line


def test_silence_is_told_by_its_exit_code() -> None:
    assert signature("", 137).broad == "no message, exit code 137"


@given(st.text(max_size=400))
def test_a_signature_is_one_short_line_and_holds_no_number_but_a_code(text: str) -> None:
    found = signature(text, 1)
    assert found.broad
    assert "\n" not in found.broad + found.narrow
    assert max(len(found.broad), len(found.narrow)) <= 140
