"""The signature of an error: its telling line, without what differs from run to run.

Two depths. ``broad`` blanks every name in the line as well (quoted words, paths, dotted names); ``narrow`` keeps them,
so that "No module named 'yaml'" may be told from other modules where enough sessions met that very one. Numbers, ids,
hashes, times and folders are out of both. No script is assumed, and no spaces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain

MOST_LINES = 150
LONGEST_LINE = 600
LONGEST_SIGNATURE = 140
LONGEST_NAME = 40
BLANK = "…"

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
WRAPPERS = re.compile(
    r"</?(?:tool_use_error|output|returncode|stdout|stderr)>|^<returncode>\d+</returncode>\s*$|^Exit code:? \d+\s*$|"
    r"^E\s{2,}|^\s*(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d[.,]?\d*Z?\s*",
    re.M,
)
RAISED = re.compile(
    r"^\s*(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Failure|Fault|NotFound)\b(?=\s*[:：]|\s*$)"
)
NAMED_FIRST = re.compile(
    r"^\s*(?:\S{1,40}[:：]\s*){0,3}\[?(?:npm (?:ERR!|error)|error|fatal|fatal error|panic|failed|failure|critical|"
    r"错误|錯誤|失败|失敗|致命错误|异常|エラー|失敗|例外|오류|실패|Fehler|erreur|ошибка)(?:\[?\w*\]?)?\]?\s*[:：!]?",
    re.I,
)
SAYS_SO = re.compile(
    r"command not found|not found|no such|cannot|can't|could not|couldn't|unable to|permission denied|denied|refused|"
    r"timed? ?out|failed|failure|error|exception|invalid|missing|rejected|unknown|unexpected|undefined|must |not been|"
    r"错误|錯誤|失败|失敗|异常|無法|无法|不能|未找到|找不到|不存在|拒绝|超时|缺少|エラー|例外|見つかりません|できません|오류|실패|없습니다",
    re.I,
)
NO_NEWS = re.compile(
    r"^\s*(?:[-=~*_#.·>]{3,}|npm (?:ERR!|error) (?:code|errno|A complete log).*|\^+\s*$|\W*\w+\s*[:：]\s*$)"
)

TIME = re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?|\b\d\d:\d\d:\d\d\b")
URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s\"'<>）】」]+", re.I)
HASH = re.compile(r"\b0x[0-9a-f]+\b|\b(?=[0-9a-f-]*\d)[0-9a-f]{7,}(?:-[0-9a-f]{4,})*\b", re.I)
QUOTED = re.compile(
    r"(?<![^\W_])'([^'\n]{1,200})'(?![^\W_])|\"([^\"\n]{1,200})\"|`([^`\n]{1,200})`|“([^”\n]{1,200})”|‘([^’\n]{1,200})’|"
    r"「([^」\n]{1,200})」|『([^』\n]{1,200})』|《([^》\n]{1,200})》"
)
PATH = re.compile(r"(?:[A-Za-z]:)?(?:[\w.@~+-]*[/\\])+[\w.@+-]*(?::\d+)*", re.A)
NAME = re.compile(r"\b[A-Za-z_][\w-]*(?:[.@][\w-]+)+\b|\b[A-Za-z]\w*_\w+\b|\b(?=\w*\d)(?=\w*[A-Za-z])\w{3,}\b", re.A)
CODE = re.compile(r"(\b[A-Z]{1,4}\d{2,5}\b|(?<=: )\(\d{1,3}\)|\b(?:HTTP|[Ss]tatus|code)\b[^\d\n]{0,10}\b\d{3}\b)")
"""Numbers that programs call their errors by: these stay."""
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
CLASS = re.compile(r"^(?:[\w.]*\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Failure|Fault|NotFound)$")


@dataclass(frozen=True)
class Signature:
    """The same error without and with the names in it."""

    broad: str
    narrow: str


def signature(text: str, exit_code: int | None = None) -> Signature:
    """Signature of what a failed call said."""
    line = telling_line(text)
    if not line:
        said = "no message" if exit_code is None else f"no message, exit code {exit_code}"
        return Signature(said, said)
    return Signature(_reduced(line, names=False), _reduced(line, names=True))


def telling_line(text: str) -> str:
    """The line that says what went wrong.

    An exception's own line, the last of them, for a trace ends with it; else the first line that calls itself an
    error; else the first that says in any of some languages that something failed; else the first or last line.
    """
    lines = _lines(text)
    raised = [line for line in lines if RAISED.match(line)]
    if raised:
        return raised[-1]
    for pattern in (NAMED_FIRST.match, SAYS_SO.search):
        found = next((line for line in lines if pattern(line)), None)
        if found is not None:
            return found
    return (lines[-1] if lines and lines[0].startswith("Traceback") else lines[0]) if lines else ""


def _lines(text: str) -> list[str]:
    raw = text.splitlines()
    if len(raw) > 2 * MOST_LINES:
        raw = [*raw[:MOST_LINES], *raw[-MOST_LINES:]]
    cleaned = (WRAPPERS.sub("", ESCAPES.sub("", line[:LONGEST_LINE])).strip() for line in raw)
    return [line for line in cleaned if line and not NO_NEWS.match(line)]


def _reduced(line: str, *, names: bool) -> str:
    line = HASH.sub(BLANK, TIME.sub(BLANK, URL.sub(BLANK, line)))
    line = QUOTED.sub(lambda found: _quotation(found, names=names), line)
    line = PATH.sub(lambda found: _path(found.group(), names=names), line)
    pieces = CODE.split(line)
    line = "".join(piece if index % 2 else _blanked(piece, names=names) for index, piece in enumerate(pieces))
    line = re.sub(rf"{BLANK}(?:[\s:.,/\\-]*{BLANK})+", BLANK, " ".join(line.split()))
    return line[:LONGEST_SIGNATURE].strip()


def _blanked(piece: str, *, names: bool) -> str:
    if not names:
        piece = NAME.sub(lambda found: found.group() if CLASS.match(found.group()) else BLANK, piece)
    return NUMBER.sub(BLANK, piece)


def _quotation(found: re.Match[str], *, names: bool) -> str:
    inner = next(part for part in chain(found.groups(), ("",)) if part is not None)
    mark, end = found.group()[0], found.group()[-1]
    if not names or len(inner) > LONGEST_NAME:
        return f"{mark}{BLANK}{end}"
    return f"{mark}{PATH.sub(lambda path: _path(path.group(), names=True), inner)}{end}"


def _path(path: str, *, names: bool) -> str:
    """The last part of a path; folders are of one machine."""
    last = re.split(r"[/\\]", re.sub(r"(?::\d+)+$", "", path).rstrip("/\\"))[-1]
    return last if names and last else BLANK
