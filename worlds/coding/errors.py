"""What can go wrong in the coding world: commands, what they say when they fail, and what helps, if anything does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Tool = Literal["shell", "edit"]


@dataclass(frozen=True)
class Cure:
    """``line`` is what the agent runs; ``key`` how any right finding of it begins. ``along``: what often goes with it.

    A ``key`` of ``again:...`` is the failed command itself, called as ``line`` says.
    """

    line: str
    key: str
    along: tuple[str, ...] = ()
    tool: Tool | Literal["read"] = "shell"


@dataclass(frozen=True)
class Trouble:
    """One way for one command to fail.

    ``says`` is the output, with ``{module}`` and the like drawn anew each time; ``telltale`` a part of it that is
    always the same. ``cures``: each session has one cause, and the cure of that cause alone helps, with a chance of
    ``cured``. No cure and ``by_itself`` of more than a few percent: it passes when simply tried again. ``weight``: how
    often it is met by those who may.
    """

    id: str
    command: str
    key: str
    says: str
    telltale: str
    cures: tuple[Cure, ...] = ()
    by_itself: float = 0.03
    by_editing: float = 0.0
    tool: Tool = "shell"
    dialects: tuple[str, ...] = ("claude-code", "codex", "swe-agent")
    variants: tuple[str, ...] = ()
    weight: float = 1.0
    cured: float = 0.95


TRACE = (
    'Traceback (most recent call last):\n  File "{root}/tests/conftest.py", line {n}, in <module>\n'
    "    import {module}\n"
)

TROUBLES: tuple[Trouble, ...] = (
    Trouble(
        "not-installed", "pytest -q", "pytest",
        "==== test session starts ====\n" + TRACE + "ModuleNotFoundError: No module named '{module}'\n",
        "ModuleNotFoundError: No module named",
        (Cure("pip install -e .", "pip install -e .", ("pip list", "pip --version")),),
        variants=("python -m pytest", "pytest tests/ -x"),
    ),
    Trouble(
        "no-modules", "npm test", "npm test",
        "> {name}@1.{n}.0 test\n> jest\n\nError: Cannot find module '{package}'\nRequire stack:\n- {root}/index.js\n",
        "Cannot find module",
        (Cure("npm ci", "npm ci", ("node --version",)), Cure("npm run build:deps", "npm run build:deps")),
    ),
    Trouble(
        "behind", "git push", "git push",
        "To github.com:{name}/{package}.git\n ! [rejected]        main -> main (fetch first)\n"
        "error: failed to push some refs to 'github.com:{name}/{package}.git'\n",
        "failed to push some refs",
        (Cure("git pull --rebase", "git pull --rebase", ("git log --oneline -3",)),),
    ),
    Trouble(
        "no-upstream", "git push", "git push",
        "fatal: The current branch {branch} has no upstream branch.\nTo push the current branch and set the remote as "
        "upstream, use\n\n    git push --set-upstream origin {branch}\n",
        "has no upstream branch",
        (Cure("git push --set-upstream origin {branch}", "again:git push --set-upstream"),),
    ),
    Trouble(
        "not-read", "src/{module}.py", "Edit",
        "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>",
        "File has not been read yet",
        (Cure("src/{module}.py", "Read", tool="read"),),
        tool="edit", dialects=("claude-code",), weight=4.0,
    ),
    Trouble(
        "no-daemon", "docker build -t {package} .", "docker build",
        "{time} ERROR: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon "
        "running?\n",
        "Cannot connect to the Docker daemon",
        (Cure("sudo systemctl start docker", "systemctl start", ("docker --version", "docker info")),),
    ),
    Trouble(
        "no-linker", "cargo build", "cargo build",
        "   Compiling {package} v0.{n}.1 ({root})\nerror: linker `cc` not found\n  |\n"
        "  = note: No such file or directory\n",
        "linker `",
        (Cure("apt-get install -y build-essential", "apt-get install", ("apt-get update", "rustc --version")),),
    ),
    Trouble(
        "no-table", "python manage.py test", "python manage.py test",
        TRACE + "django.db.utils.OperationalError: no such table: {module}_item\n",
        "no such table",
        (Cure("python manage.py migrate", "python manage.py migrate", ("python manage.py showmigrations",)),),
    ),
    Trouble(
        "no-tidy", "go test ./...", "go test",
        "go: updates to go.mod needed; to update it:\n\tgo mod tidy\n",
        "updates to go.mod needed",
        (Cure("go mod tidy", "go mod tidy", ("go env",)),),
    ),
    Trouble(
        "stale-lock", "poetry install", "poetry install",
        "pyproject.toml changed significantly since poetry.lock was last generated. Run `poetry lock` to fix the lock "
        "file. (attempt {n})\n",
        "changed significantly since",
        (Cure("poetry lock", "poetry lock", ("poetry --version",)),),
    ),
    Trouble(
        "zh-no-venv", "make test", "make test",
        "正在运行测试……\n错误：找不到虚拟环境“{module}”，请先创建（第{n}行）\nmake: *** [test] 错误 2\n",
        "找不到虚拟环境",
        (Cure("make setup", "make setup", ("make help",)),),
    ),
    Trouble(
        "zh-no-deps", "mvn test", "mvn test",
        "[信息] 正在扫描项目……\n[错误] 无法解析项目 {package} 的依赖项，耗时{n}秒\n[错误] 请检查本地仓库\n",
        "无法解析项目",
        (Cure("mvn install -DskipTests", "mvn install", ("mvn --version",)),),
    ),
    # What passes by itself: no act has anything to do with it.
    Trouble(
        "slow-mirror", "curl -fsSL https://mirror.{name}.dev/{package}.tgz -o dep.tgz", "curl",
        "curl: (28) Connection timed out after {n}00{n} milliseconds\n",
        "Connection timed out", by_itself=0.6,
    ),
    Trouble(
        "shaky-browser", "npx playwright test", "playwright test",
        "Running {n} tests using 2 workers\n  Error: Timeout 30000ms exceeded while waiting for locator('#{module}')\n",
        "Timeout", by_itself=0.55,
    ),
    Trouble(
        "zh-network", "bash scripts/fetch.sh", "bash",
        "开始下载 {package}\n网络超时，请稍后重试（第{n}次）\n",
        "网络超时", by_itself=0.6,
    ),
    # What nobody cures with one act: free editing helps now and then, or nothing does.
    Trouble(
        "real-bug", "pytest -q", "pytest",
        "==== FAILURES ====\nE       AssertionError: assert {n} == {n}1\n1 failed, 1{n} passed in 0.{n}s\n",
        "AssertionError", by_itself=0.02, by_editing=0.5,
    ),
    Trouble(
        "hopeless", "make deploy", "make deploy",
        "error: quota exceeded for project {name}-{n}\n",
        "quota exceeded", by_itself=0.02,
    ),
)  # fmt: skip
