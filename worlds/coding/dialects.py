"""How an agent's harness writes a call and its result: tools, arguments, exit codes, error flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Script:
    """The steps of one session as they are written."""

    dialect: str
    steps: list[dict[str, Any]] = field(default_factory=list)

    def say(self, kind: str, text: str) -> None:
        """A step that is no call."""
        self.steps.append({"id": self._next(), "kind": kind, "text": text})

    def shell(self, line: str, output: str, *, worked: bool, code: int = 1) -> None:
        """One command line with its result."""
        arguments: dict[str, Any] = {"command": line}
        if self.dialect == "codex":
            arguments = {"command": ["bash", "-lc", line], "workdir": "/workspace"}
        name = {"claude-code": "Bash", "codex": "shell", "swe-agent": "bash"}[self.dialect]
        exit_code = 0 if worked else code
        answer: dict[str, Any] = {"exit_code": exit_code, "text": output}
        if self.dialect == "claude-code":
            answer = {"is_error": not worked, "text": output if worked else f"Exit code {code}\n{output}"}
        self._call(name, arguments, answer)

    def edit(self, path: str, output: str, *, worked: bool) -> None:
        """One change of a file."""
        if self.dialect == "claude-code":
            arguments: dict[str, Any] = {"file_path": f"/workspace/{path}", "old_string": "a", "new_string": "b"}
            self._call("Edit", arguments, {"is_error": not worked, "text": output})
        elif self.dialect == "codex":
            patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch"
            self._call("apply_patch", {"input": patch}, {"exit_code": 0 if worked else 1, "text": output})
        else:
            arguments = {"command": "str_replace", "path": f"/workspace/{path}", "old_str": "a", "new_str": "b"}
            self._call("str_replace_editor", arguments, {"is_error": not worked, "text": output})

    def read(self, path: str) -> None:
        """A look into a file, by the harness's own tool where it has one."""
        if self.dialect == "claude-code":
            self._call("Read", {"file_path": f"/workspace/{path}"}, {"is_error": False, "text": "1\timport os\n"})
        else:
            self.shell(f"cat {path}", "import os\n", worked=True)

    def _call(self, name: str, arguments: dict[str, Any], answer: dict[str, Any]) -> None:
        call = self._next()
        self.steps.append({"id": call, "kind": "tool_call", "name": name, "arguments": arguments})
        self.steps.append({"id": self._next(), "kind": "observation", "of": call, "source": "tool", **answer})

    def _next(self) -> str:
        return str(len(self.steps) + 1)
