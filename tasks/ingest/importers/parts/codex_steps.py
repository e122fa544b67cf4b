"""The steps of one Codex session."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tasks.ingest.importers.parts.agent_log import Clock, Entry, count, media, objects, short
from tasks.ingest.importers.parts.chat import StepWriter, as_text, read_arguments
from tasks.ingest.importers.parts.reading import exit_code, obj
from tasks.ingest.jsontext import canonical_bytes, tidy

Line = tuple[Entry, str | None, Any]

# What the harness writes in the user's or developer's name: no request of the user's.
_NOT_THE_USER = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|INSTRUCTIONS|permissions instructions|turn_aborted|"
    r"user_shell_command|skill|skills_instructions|subagent_notification|collaboration_mode|model_switch|"
    r"personality_spec|apps_instructions|hook_prompt)\b|# AGENTS\.md instructions)"
)
_SHELLS = frozenset(
    {"shell", "shell_command", "exec_command", "container.exec", "local_shell", "write_stdin", "apply_patch"}
)
_HEADER_CODE = re.compile(r"(?:Exit code:|Process exited with code) (-?\d{1,10})\s*$")
_STILL_RUNNING = re.compile(r"Process running with session ID (\d+)", re.I)
_HEADER_LINES = 8


@dataclass
class Teller:
    """Tells one session's lines in recorded order."""

    lines: list[Line]
    writer: StepWriter = field(default_factory=StepWriter)
    clock: Clock = field(default_factory=Clock)
    not_kept: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    models: list[str] = field(default_factory=list)
    cwd: str | None = None
    faults: list[tuple[Entry, str]] = field(default_factory=list)
    _names: dict[str, str] = field(default_factory=dict)
    _running: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        items = [payload for _, kind, payload in self.lines if kind == "response_item"]
        self._said = Counter(text for item in items for text in said(item))
        self._codes = {
            call: code
            for _, kind, payload in self.lines
            if kind == "event_msg"
            and (code := exit_code(payload.get("exit_code"))) is not None
            and (call := short(payload.get("call_id"))) is not None
        }
        self._answered = {short(item.get("call_id")) for item in items if str(item_kind(item)).endswith("_output")}

    def tell(self) -> None:
        """Every line, in recorded order."""
        for (entry, kind, payload), acts in zip(self.lines, self._plans(), strict=True):
            at = self.clock.read(entry.value.get("timestamp"))
            if kind == "response_item":
                self._item(entry, payload, {"at": at}, acts=acts)
            elif kind == "event_msg":
                self._event(payload, {"at": at})
            elif kind == "compacted":
                self._compacted(payload, {"at": at, "is_copied_context": True})
            elif kind == "turn_context":
                self._turn(payload)
            elif kind != "session_meta":
                count(self.not_kept, kind)

    def _turn(self, payload: dict[str, Any]) -> None:
        model = short(payload.get("model"))
        if model is not None and model not in self.models:
            self.models.append(model)
        self.cwd = self.cwd or short(payload.get("cwd"))

    def _plans(self) -> list[bool]:
        """By line, whether a call comes before the next message: what the agent said there is then no answer."""
        plans, acts = list[bool](), False
        for _, kind, payload in reversed(self.lines):
            plans.append(acts)
            found = item_kind(payload) if kind == "response_item" else None
            if found == "message" or (kind == "event_msg" and payload.get("type") in ("user_message", "task_complete")):
                acts = False
            elif found is not None and found.endswith("_call"):
                acts = True
        return plans[::-1]

    # ── what was sent to the model ───────────────────────────────────────────────────────────────────────────────────

    def _item(self, entry: Entry, item: dict[str, Any], fields: dict[str, Any], *, acts: bool) -> None:
        kind = item_kind(item)
        if kind == "message" and not isinstance(item.get("content"), str | list):
            self.faults.append((entry, "a message without content"))
        elif kind == "message":
            self._message(item, fields, acts)
        elif kind is not None:
            self._silent(kind, item, fields)
        elif short(item.get("type")) is None:
            self.faults.append((entry, "a response_item without a type that is neither a message nor a call"))
        else:
            count(self.not_kept, item.get("type"))

    def _message(self, item: dict[str, Any], fields: dict[str, Any], acts: bool) -> None:
        role, text = item.get("role"), self._text_of(item.get("content"))
        if role == "assistant":
            planned = acts or item.get("phase") == "commentary"
            if text:
                self.writer.add("plan" if planned else "answer", text=text, **fields)
        elif role == "user" and not _NOT_THE_USER.match(text):
            self.writer.add("user", text=text, trust="user", **fields)
        else:
            self.writer.add("system", text=text, name=short(role), **fields)

    def _reason(self, item: dict[str, Any], fields: dict[str, Any]) -> None:
        texts = [as_text(part.get("text")) for key in ("summary", "content") for part in objects(item.get(key))]
        text = "\n".join(each for each in texts if each.strip())
        if text:
            self.writer.add("plan", text=text, **fields)
        else:
            count(self.not_kept, "reasoning without text")

    def _call(self, kind: str, item: dict[str, Any], fields: dict[str, Any]) -> None:
        name = short(item.get("name")) or kind.removesuffix("_call")
        call_id = short(item.get("call_id")) or short(item.get("id"))
        given = next((item[key] for key in ("arguments", "input", "action") if key in item), None)
        held, raw = read_arguments(given)
        # A NUL or half a character may hide in arguments that are JSON within JSON.
        fields = {**fields, "text": item["summary"] if isinstance(item.get("summary"), str) else None}
        arguments = tidy(held)[0] if held is not None else raw
        if kind == "image_generation_call" and isinstance(item.get("result"), str):
            count(self.not_kept, "image")
            fields["text"] = media("image", None, item["result"])
        if fields.get("is_copied_context"):
            own = {key: child for key, child in fields.items() if child is not None}
            self.writer.add("tool_call", name=name, arguments=held and tidy(held)[0], raw_arguments=raw, **own)
            return
        self.writer.call(call_id, name, arguments, **{key: child for key, child in fields.items() if child is not None})
        if call_id is not None:
            self._names[call_id] = name

    def _output(self, item: dict[str, Any], fields: dict[str, Any]) -> None:
        call_id, output = short(item.get("call_id")), item.get("output")
        name = self._names.get(call_id or "")
        text, code, flag = self._read_output(output, name)
        code = self._codes.get(call_id or "", code) if code is None else code
        if fields.get("is_copied_context"):
            self.writer.add("observation", text=text, source="tool", is_error=flag, exit_code=code, **fields)
            return
        is_error = flag if code is None else code != 0
        self.writer.observation(call_id, text, is_error=is_error, exit_code=code, **fields)
        self._follow(text, name, code)

    def _read_output(self, output: Any, name: str | None) -> tuple[str, int | None, bool | None]:
        """(text, exit code, whether it failed). Only the harness's own tools write a code that can be relied on."""
        flag: bool | None = None
        if isinstance(output, dict) and ("content" in output or "success" in output):
            flag = False if output.get("success") is True else True if output.get("success") is False else None
            output = output.get("content_items") or output.get("content")
        text = self._text_of(output)
        if name is not None and name not in _SHELLS:
            return text, None, flag
        held, _ = read_arguments(text if text.lstrip().startswith("{") else None)
        code = exit_code(obj((held or {}).get("metadata")).get("exit_code"))
        if held is not None and code is not None and isinstance(held.get("output"), str):
            return str(tidy(held["output"])[0]), code, flag
        return text, header_code(text), flag

    def _follow(self, text: str, name: str | None, code: int | None) -> None:
        """A command that outlives its call ends in a later one: its code belongs to the step that started it too."""
        step = self.writer.steps[-1]
        if code is None and name is not None and (found := _STILL_RUNNING.search(text[:2000])):
            self._running.setdefault(found[1], step)
        elif name == "write_stdin" and code is not None:
            calls = (each for each in reversed(self.writer.steps) if each["id"] == step.get("of"))
            session = as_text(obj(next(calls, step).get("arguments")).get("session_id"))
            if (first := self._running.pop(session, None)) is not None:
                first.update(exit_code=code, is_error=code != 0)
                self.notes["codes_from_later_calls"] += 1

    # ── what was shown, and what was carried over ────────────────────────────────────────────────────────────────────

    def _event(self, payload: dict[str, Any], fields: dict[str, Any]) -> None:
        kind = payload.get("type")
        text = as_text(payload.get("message") if "message" in payload else payload.get("text"))
        if kind in ("user_message", "agent_message", "agent_reasoning") and text.strip():
            role = {"user_message": "user", "agent_message": "answer", "agent_reasoning": "plan"}[str(kind)]
            if self._said[text.strip()] > 0:
                self._said[text.strip()] -= 1
                self.notes["shown_again"] += 1
            elif role == "user" and _NOT_THE_USER.match(text):
                self.writer.add("system", text=text, **fields)
            else:
                self.writer.add(role, text=text, trust="user" if role == "user" else None, **fields)
        elif kind in ("error", "warning", "stream_error", "turn_aborted"):
            said = text or as_text(payload.get("reason")) or str(kind)
            self.writer.add("system", text=said, name=kind, is_error=True if kind == "error" else None, **fields)
        elif kind == "exec_command_end" and (call := short(payload.get("call_id"))) not in self._answered:
            shown = as_text(payload.get("aggregated_output") or payload.get("stdout"))
            code = exit_code(payload.get("exit_code"))
            failed = None if code is None else code != 0
            self.writer.observation(call, shown, exit_code=code, is_error=failed, **fields)
        else:
            count(self.not_kept, f"event_msg/{kind}" if isinstance(kind, str) else "event_msg")

    def _silent(self, kind: str, item: dict[str, Any], fields: dict[str, Any]) -> None:
        """What is no message: a thought, a call or what came of one."""
        if kind == "reasoning":
            self._reason(item, fields)
        elif kind.endswith("_output"):
            self._output(item, fields)
        else:
            self._call(kind, item, fields)

    def _compacted(self, payload: dict[str, Any], fields: dict[str, Any]) -> None:
        """From here on the model saw a summary, and the history that replaced what came before."""
        self.notes["compactions"] += 1
        self.writer.add("system", text=as_text(payload.get("message")), name="compacted", **fields)
        for item in objects(payload.get("replacement_history")):
            kind = item_kind(item)
            if kind == "message":
                text = self._text_of(item.get("content"))
                self.writer.add("system", text=text, name=short(item.get("role")), **fields)
            elif kind is not None:
                self._silent(kind, item, fields)
            else:
                count(self.not_kept, item.get("type"))

    def _text_of(self, content: Any) -> str:
        if not isinstance(content, list):
            return as_text(content)
        return "\n".join(self._part(part) if isinstance(part, dict) else as_text(part) for part in content)

    def _part(self, part: dict[str, Any]) -> str:
        if isinstance(part.get("text"), str):
            return str(part["text"])
        if "image" in str(part.get("type")):
            count(self.not_kept, "image")
            return media("image", None, part.get("image_url"))
        return canonical_bytes(part).decode("utf-8")


def item_kind(item: Any) -> str | None:
    """What an item is. Some lack their type, and are told by their fields."""
    if not isinstance(item, dict):
        return None
    kind = item.get("type")
    if isinstance(kind, str):
        known = kind in ("message", "reasoning") or kind.endswith(("_call", "_output"))
        return kind if known else None
    if "role" in item and "content" in item:
        return "message"
    if "output" in item and "call_id" in item:
        return "function_call_output"
    return "function_call" if isinstance(item.get("name"), str) and ("arguments" in item or "call_id" in item) else None


def said(item: dict[str, Any]) -> list[str]:
    """The texts that an event may say again: a message whole, or each part of the reasoning."""
    kind = item_kind(item)
    if kind == "message":
        content = item.get("content")
        texts = [as_text(part.get("text")) for part in objects(content)] if isinstance(content, list) else [content]
        return ["\n".join(as_text(text) for text in texts).strip()]
    if kind == "reasoning":
        return [as_text(part.get("text")).strip() for key in ("summary", "content") for part in objects(item.get(key))]
    return []


def header_code(text: str) -> int | None:
    """The exit code in the head that the harness puts before a command's output."""
    for line in text[:2000].split("\n")[:_HEADER_LINES]:
        if line.strip() == "Output:":
            break
        if (found := _HEADER_CODE.match(line)) is not None:
            return exit_code(int(found[1]))
    return None
