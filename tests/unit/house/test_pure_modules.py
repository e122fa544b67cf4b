"""What a stage computes is pure: time, chance and the environment come in as arguments, never by looking."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

DOORS = {"step.py", "job.py", "__init__.py"}
DRIVERS = {"pipeline.py", "lease.py", "door.py", "context.py"}
LOOKS = {
    "time.time", "time.monotonic", "time.perf_counter", "time.sleep", "datetime.now", "datetime.utcnow", "date.today",
    "os.environ", "os.getenv", "os.urandom", "secrets.token_hex", "secrets.token_urlsafe", "uuid.uuid4", "uuid7",
    "random.random", "random.choice", "random.shuffle", "np.random.rand", "np.random.seed",
}  # fmt: skip
TASKS = Path(__file__).resolve().parents[3] / "tasks"
PURE = sorted(
    str(file.relative_to(TASKS)) for file in TASKS.rglob("*.py") if file.name not in DOORS and file.name not in DRIVERS
)


@pytest.mark.parametrize("module", PURE)
def test_a_pure_module_looks_at_no_clock_no_chance_and_no_environment(module: str) -> None:
    tree = ast.parse((TASKS / module).read_text())
    named = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Name)}
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    if "random" not in imported:
        named = {name for name in named if not name.startswith("random.")}  # a seeded generator that came as argument
    assert named & LOOKS == set()


@pytest.mark.parametrize("stage", sorted({file.parent.name for file in TASKS.glob("*/job.py")}))
def test_a_job_is_a_docstring_and_one_call(stage: str) -> None:
    tree = ast.parse((TASKS / stage / "job.py").read_text())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert functions
    for function in functions:
        assert ast.get_docstring(function)
        assert len(function.body) == 2
