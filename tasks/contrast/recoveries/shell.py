"""A shell command as the programs it runs: ``cd x && FOO=1 python -m pytest -q tests`` runs ``pytest``.

Words are split by the standard library's ``shlex``; here-documents are put aside first. What cannot be split is read
as its first word, never guessed at.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tasks.contrast.predicate import agent_call

LONGEST_COMMAND = 4000
LONGEST_ACT = 60
"""A longer command line says too much of one session to be an act that others repeat."""

HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?(?:^\s*\2\s*$|\Z)", re.S | re.M)
SUBSTITUTION = re.compile(r"\$\([^()]*\)|`[^`]*`")
ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=")
SEPARATORS = frozenset({";", "&&", "||", "|", "|&", "&", ";;"})
PIPES = frozenset({"|", "|&"})
REDIRECT = re.compile(r"^\d*(?:>>?|<|>&|&>>?|<<<)$")
SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
SETTING_UP = frozenset(
    {"cd", "pushd", "popd", "set", "echo", "printf", "true", ":", "export", "source", ".", "sleep", "unset", "alias"}
)
"""Words of a command line that prepare for the one that matters."""
KEYWORDS = frozenset(
    {"if", "then", "else", "elif", "fi", "while", "until", "do", "done", "esac", "{", "}", "(", ")", "!"}
)
HEADERS = frozenset({"for", "case", "function", "select", "[[", "[", "test"})
"""Starts of what is no program of its own."""
FILTERS = frozenset(
    [
        "tail",
        "head",
        "grep",
        "egrep",
        "rg",
        "tee",
        "less",
        "more",
        "cat",
        "sed",
        "awk",
        "sort",
        "uniq",
        "wc",
        "jq",
        "cut",
        "tr",
        "column",
        "xargs",
    ]
)
"""Behind a pipe these only show what another program said."""
DUPLICATED = re.compile(r"\d*>&\d?|&>>?")
TAKES_VALUE = frozenset({"-C", "-c", "--prefix", "-H", "-n", "--context", "--namespace", "--directory", "-f", "-m"})
ALIASES = {
    "python3": "python",
    "pip3": "pip",
    "py.test": "pytest",
    "nodejs": "node",
    "docker-compose": "docker compose",
}
PREFIXES = frozenset({"sudo", "time", "nohup", "env", "command", "exec", "timeout", "stdbuf", "nice", "xvfb-run"})
RUNNERS = {
    "npx": 1, "bunx": 1, "uvx": 1, "pipx run": 2, "uv run": 2, "poetry run": 2, "pipenv run": 2, "pdm run": 2,
    "hatch run": 2, "bundle exec": 2, "pnpm exec": 2, "pnpm dlx": 2, "yarn dlx": 2, "conda run": 2, "dotenv run": 2,
}  # fmt: skip
TELLING = PREFIXES & {"sudo", "xvfb-run"}
"""Of the prefixes, those that may be what a retry needed."""
SUBCOMMANDS = {
    **dict.fromkeys(
        ("git", "pip", "cargo", "go", "docker", "kubectl", "poetry", "uv", "conda", "mamba", "apt", "apt-get", "brew",
         "gh", "terraform", "dotnet", "mvn", "gradle", "gradlew", "mvnw", "bundle", "rails", "helm", "aws", "gcloud",
         "bazel", "systemctl", "service", "make", "just", "yarn", "pnpm", "npm", "bun", "deno", "artisan",
         "composer", "alembic", "flutter", "swift", "mix", "stack", "cabal", "nix", "pre-commit", "tox", "nox",
         "colima", "minikube", "pg_ctl", "rake", "rustup", "gem", "luarocks", "dvc", "hg", "svn", "snap", "pacman",
         "dnf", "yum", "apk", "pdm", "hatch", "pipenv", "pyenv", "nvm", "ruff", "prisma"), 1),
    **dict.fromkeys(
        ("python manage.py", "npm run", "yarn run", "pnpm run", "bun run", "docker compose", "go mod", "docker image",
         "gh pr", "git submodule", "git stash", "git remote", "git config", "uv pip", "terraform state",
         "gcloud auth"), 2),
}  # fmt: skip
INTERPRETERS = frozenset({"python", "node", "ruby", "perl", "php", "Rscript", "julia", "deno run", "bun", *SHELLS})


@dataclass(frozen=True)
class Act:
    """One program run.

    ``key`` names it over sessions (``pip install``), ``fine`` with all it was given (``pip install -e .``), None where
    that would be only this session's. ``targets`` are what it worked on, ``marks`` how it was started: options,
    variables, prefixes.
    """

    key: str
    fine: str | None = None
    targets: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Script:
    """The programs of one command line, in order.

    The exit status is that of the last. ``certain``: it says so plainly (no pipe hides it, no ``||`` mends it).
    ``alone``: no other program that matters could have failed instead.
    """

    acts: tuple[Act, ...] = ()
    certain: bool = False
    alone: bool = False


@dataclass
class _Part:
    words: list[str] = field(default_factory=list)
    joined_by: str = ""


def parse_command(command: str | Sequence[str]) -> Script:
    """The programs that a command line runs; none where nothing of it could be read."""
    text = _as_text(command)
    if len(text) > LONGEST_COMMAND:
        text = text[:LONGEST_COMMAND].rpartition("\n")[0] or text[:LONGEST_COMMAND]
    parts = _parts(text)
    acts: list[Act] = []
    setting: list[str] = []
    kept_before = 0
    for index, part in enumerate(parts):
        if index == _last_list(parts):
            kept_before = len(acts)
        act = None if part.joined_by in PIPES and part.words[0] in FILTERS else act_of(part.words, setting)
        if act is None:
            continue
        acts.append(act)
        if act.key.startswith("export "):
            setting.append(act.key.removeprefix("export ") + "=")
    joints = {part.joined_by for part in parts[_last_list(parts) :]}
    hidden = bool(joints & PIPES) and "pipefail" not in text
    certain = bool(acts) and matters(acts[-1]) and not hidden and not joints & {"||", "&"}
    return Script(tuple(acts), certain, certain and sum(map(matters, acts[kept_before:])) == 1)


def _last_list(parts: Sequence[_Part]) -> int:
    """Where the commands begin whose status is that of the whole."""
    return max((index for index, part in enumerate(parts) if part.joined_by == ";"), default=0)


def matters(act: Act) -> bool:
    """Whether an act does something, rather than prepare for one that does."""
    return act.key.split(" ")[0] not in SETTING_UP


def _as_text(command: str | Sequence[str]) -> str:
    if isinstance(command, str):
        return command
    words = [str(word) for word in command]
    if len(words) >= 3 and PurePosixPath(words[0]).name in SHELLS and re.fullmatch(r"-\w*c", words[1]):
        return words[2]
    return shlex.join(words)


def _parts(text: str) -> list[_Part]:
    text = HEREDOC.sub(lambda found: f" {found.group(3)}\n", text)
    text = SUBSTITUTION.sub(" _ ", text.replace("\\\n", " "))
    text = DUPLICATED.sub(lambda found: " " if ">&" in found.group() else " > ", text)
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    try:
        lexer = shlex.shlex("\n;".join(lines), posix=True, punctuation_chars=";&|")
        lexer.commenters, lexer.whitespace_split = "", True
        words = list(lexer)
    except ValueError:
        first = lines[0].split() if lines else []
        return [_Part(first[:1])]
    parts = [_Part()]
    for word in words:
        if word in SEPARATORS:
            if parts[-1].words:
                parts.append(_Part(joined_by=word))
        else:
            parts[-1].words.append(word)
    return [part for part in map(_without_keywords, parts) if part.words]


def _without_keywords(part: _Part) -> _Part:
    words = part.words
    while words and words[0] in KEYWORDS:
        words = words[1:]
    return _Part([] if words and words[0] in HEADERS else words, part.joined_by)


def act_of(words: Sequence[str], setting: Sequence[str] = ()) -> Act | None:
    """One simple command as an act; None where no program is named."""
    left, marks = _without_prefixes(_without_redirects(words))
    marks |= set(setting)
    if not left:
        return None
    left[0] = _program(left[0])
    if left[0] == "docker-compose":
        left[:1] = ["docker", "compose"]
    if left[0] in ("export", "unset"):
        return Act(f"{left[0]} {left[1].partition('=')[0]}") if len(left) > 1 else None
    if left[0] in SHELLS and len(left) >= 3 and re.fullmatch(r"-\w*c", left[1]):
        inner = parse_command(left[2]).acts
        return inner[-1] if inner else None
    left, marks = _through_runners(left, marks)
    if not left:
        return None
    key, rest = _keyed(left)
    if key.split(" ")[0] in ("cd", "source", "."):
        return _moved(key, rest)
    options = {_option(word) for word in rest if _is_option(word)}
    targets = frozenset(_target(word) for word in rest if not _is_option(word) and _names_something(word))
    fine = _fine(key, rest)
    if fine and "sudo" in marks:
        fine = f"sudo {fine}"
    return Act(key, fine, targets, frozenset(marks | options))


def _program(word: str) -> str:
    name = PurePosixPath(word).name or word
    return ALIASES.get(name, name)


def _without_redirects(words: Sequence[str]) -> list[str]:
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif REDIRECT.match(word):
            skip = True
        elif not re.match(r"^\d*[<>]", word) and word != "&":
            kept.append(word)
    return kept


def _without_prefixes(words: list[str]) -> tuple[list[str], set[str]]:
    marks: set[str] = set()
    left = list(words)
    while left:
        name = PurePosixPath(left[0]).name
        if ASSIGNMENT.match(left[0]):
            marks.add(left[0].partition("=")[0] + "=")
            left = left[1:]
        elif name in PREFIXES:
            marks |= {name} & TELLING
            left = left[1:]
            while left and (left[0].startswith("-") or re.fullmatch(r"\d+[smh]?", left[0])):
                left = left[1:]
        else:
            break
    return left, marks


def _through_runners(words: list[str], marks: set[str]) -> tuple[list[str], set[str]]:
    for name, count in RUNNERS.items():
        if " ".join(words[:count]) == name:
            left = words[count:]
            while left and left[0].startswith("-"):
                left = left[1:]
            if not left:
                return words, marks
            return _through_runners([_program(left[0]), *left[1:]], marks | {name})
    if words[0] == "python" and "-m" in words[1:3]:
        at = words.index("-m")
        return _through_runners(words[at + 1 :], marks) if words[at + 1 :] else (words, marks)
    if words[0] == "python" and len(words) > 1 and PurePosixPath(words[1]).name == "manage.py":
        return ["python manage.py", *words[2:]], marks
    return words, marks


def _keyed(words: list[str]) -> tuple[str, list[str]]:
    """The name over sessions, and the words that are left."""
    key, rest = agent_call(words[0]), list(words[1:])
    for _ in range(2):
        if key not in SUBCOMMANDS or len(key.split(" ")) != SUBCOMMANDS[key]:
            break
        place = _first_word(rest)
        if place is None or not re.fullmatch(r"[A-Za-z][\w:.-]*", rest[place]):
            break
        key = f"{key} {rest.pop(place)}"
    if key in INTERPRETERS and rest and rest[0] in ("-c", "-e"):
        return f"{key} {rest[0]}", []
    return key, rest


def _first_word(words: Sequence[str]) -> int | None:
    """Where the first word is that is neither an option nor the value of one."""
    for index, word in enumerate(words):
        if not _is_option(word) and not (index and words[index - 1] in TAKES_VALUE):
            return index
    return None


def _moved(key: str, rest: list[str]) -> Act | None:
    """Going to a folder or taking in a file. Where an absolute path leads says nothing to other sessions."""
    if not rest or rest[0].startswith(("/", "~", "$")):
        return Act(key.replace(".", "source") if key == "." else key)
    name = "source" if key in ("source", ".") else key
    return Act(f"{name} {rest[0]}"[:LONGEST_ACT])


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _option(word: str) -> str:
    return word.partition("=")[0]


def _names_something(word: str) -> bool:
    return bool(re.search(r"\w", word)) and word != "_" and not re.search(r"\s", word)


def _target(word: str) -> str:
    """What a word names, without folder, version or test id."""
    bare = re.split(r"::|[<>=!~]=|@(?=\d)", word.rstrip("/"))[0]
    return PurePosixPath(bare).name or bare


def _fine(key: str, rest: Iterable[str]) -> str | None:
    said = [_target(word) if word.startswith(("/", "~")) else word for word in rest]
    line = " ".join([key, *said]) if said else None
    if line is None or "\n" in line or len(line) > LONGEST_ACT or " _ " in f" {line} ":
        return None
    return line
