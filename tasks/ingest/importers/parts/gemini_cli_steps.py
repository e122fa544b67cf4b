"""The steps of one session of Gemini CLI."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tasks.ingest.importers.parts.agent_log import Clock, count, media, objects, short
from tasks.ingest.importers.parts.chat import StepWriter, as_text
from tasks.ingest.importers.parts.reading import exit_code, obj
from tasks.ingest.jsontext import canonical_bytes

KINDS = frozenset({"user", "gemini", "info", "error", "warning"})
# What the harness writes in the user's name: no request of the user's.
_NOT_THE_USER = re.compile(
    r"\s*(?:<(?:session_context|state_snapshot|system-reminder|hook_context)[\s>]|"
    r"This is the Gemini CLI\. We are setting up the context)"
)
_SHELL = "run_shell_command"
# The harness writes these lines after a command's output, and leaves out a code of 0 in newer versions.
_TAIL = re.compile(
    r"(?:^|\n)Exit Code: (-?\d{1,10}|\(none\))(?:\nSignal: (?P<signal>[^\n]*))?(?:\nBackground PIDs: [^\n]*)?"
    r"(?:\nProcess Group PGID: [^\n]*)?\s*(?:</untrusted_context>\s*)?\Z"
)
_SIGNAL = re.compile(
    r"\n(?:Signal|Error): (?!\(none\))[^\n]*(?:\nBackground PIDs: [^\n]*)?(?:\nProcess Group PGID: [^\n]*)?\s*"
    r"(?:</untrusted_context>\s*)?\Z"
)
_HEAD = re.compile(r"\s*(?:<untrusted_context>\s*)?Output: ")
_FAILED = frozenset({"error", "cancelled", "canceled"})


@dataclass
class Teller:
    """Tells one message after the other. ``shown`` is the first request as the user typed it."""

    not_kept: Counter[str]
    writer: StepWriter = field(default_factory=StepWriter)
    clock: Clock = field(default_factory=Clock)
    notes: Counter[str] = field(default_factory=Counter)
    models: list[str] = field(default_factory=list)
    shown: str | None = None
    _asked: bool = False
    _answered: set[str] = field(default_factory=set)
    _names: dict[str, str] = field(default_factory=dict)

    def tell(self, message: dict[str, Any], *, is_copied: bool = False) -> None:
        """One message's steps."""
        kind = message.get("type")
        fields: dict[str, Any] = {
            "at": self.clock.read(message.get("timestamp")),
            "is_copied_context": True if is_copied else None,
        }
        if kind == "user":
            self._user(message, fields)
        elif kind == "gemini":
            self._gemini(message, fields)
        else:
            self._parts(message.get("content"), "system", fields, name=short(kind), is_error=kind == "error" or None)

    def _user(self, message: dict[str, Any], fields: dict[str, Any]) -> None:
        text = self._text_of([part for part in parts(message.get("content")) if "functionResponse" not in part])
        if is_harness := bool(_NOT_THE_USER.match(text)) or fields["is_copied_context"] is True:
            self.writer.add("system", text=text, **fields)
        elif text:
            self.writer.add("user", text=text, trust="user", **fields)
        if not self._asked and text.strip() and not is_harness:
            self._asked = True
            self.shown = self._text_of(message.get("displayContent")).strip() or None
        for part in parts(message.get("content")):
            self._response(part, fields)

    def _gemini(self, message: dict[str, Any], fields: dict[str, Any]) -> None:
        model = short(message.get("model"))
        if model is not None and model not in self.models:
            self.models.append(model)
        for thought in objects(message.get("thoughts")):
            said = [as_text(thought.get(key)) for key in ("subject", "description")]
            text = ": ".join(each for each in said if each.strip())
            at = self.clock.read(thought.get("timestamp"), in_order=False) or fields["at"]
            if text:
                self.writer.add("plan", text=text, **{**fields, "at": at})
        calls = objects(message.get("toolCalls"))
        content = parts(message.get("content"))
        ids = {short(call.get("id")) for call in calls} - {None}
        named = {short(call.get("name")) for call in calls}
        loose = [part["functionCall"] for part in content if isinstance(part.get("functionCall"), dict)]
        loose = [call for call in loose if short(call.get("id")) not in ids and short(call.get("name")) not in named]
        said_parts = [part for part in content if "functionCall" not in part and "functionResponse" not in part]
        self._parts(said_parts, "plan" if calls or loose else "answer", fields)
        for call in [*calls, *loose]:
            self._call(call, fields)
        for part in content:
            self._response(part, fields)

    def _parts(self, content: Any, kind: str, fields: dict[str, Any], **extra: Any) -> None:
        """Thoughts among the parts are plans; what else was said is one step."""
        found = parts(content)
        thoughts = [part for part in found if part.get("thought") is True and isinstance(part.get("text"), str)]
        for part in thoughts:
            self.writer.add("plan", text=part["text"], **fields)
        text = self._text_of([part for part in found if part not in thoughts])
        if text.strip():
            self.writer.add(kind, text=text, **{**fields, **extra})

    def _call(self, call: dict[str, Any], fields: dict[str, Any]) -> None:
        call_id, name = short(call.get("id")), as_text(call.get("name"))
        at = self.clock.read(call.get("timestamp"), in_order=False) or fields["at"]
        told = {key: child for key, child in fields.items() if child is not None and key != "at"}
        by = short(call.get("agentId"))
        number = self.writer.call(call_id, name, call.get("args"), at=fields["at"], **told)
        if call_id is not None:
            self._names[call_id] = name
        if by is not None:
            self.notes["sub_agents"] += 1
        status = short(call.get("status"))
        result = call.get("result")
        has_result = result is not None and result != []
        if not has_result and call.get("resultDisplay") is None and status not in _FAILED:
            return
        text, flag = self._result(result if has_result else call.get("resultDisplay"))
        if call_id is not None:
            self._answered.add(call_id)
        self._observe(call_id, text, name, True if status in _FAILED else flag, {**told, "at": at, "of": number})

    def _response(self, part: dict[str, Any], fields: dict[str, Any]) -> None:
        """A tool's answer among the words of the user: newer versions write it there too."""
        response = part.get("functionResponse")
        if not isinstance(response, dict):
            return
        call_id = short(response.get("id"))
        if call_id is not None and call_id in self._answered:
            self.notes["answers_repeated"] += 1
            return
        if call_id is not None:
            self._answered.add(call_id)
        text, flag = self._result([part])
        name = self._names.get(call_id or "") or as_text(response.get("name"))
        self._observe(call_id, text, name, flag, {key: child for key, child in fields.items() if child is not None})

    def _observe(
        self, call_id: str | None, text: str, tool: str, is_error: bool | None, fields: dict[str, Any]
    ) -> None:
        code = code_of(text, is_error) if tool == _SHELL else None
        flag = True if code else is_error
        self.writer.observation(call_id, text, is_error=flag, exit_code=code, **fields)

    def _result(self, result: Any) -> tuple[str, bool | None]:
        """(text, whether it says that it failed) of a tool's answer, in any of its shapes."""
        texts: list[str] = []
        failed = False
        for part in parts(result):
            response = obj(part.get("functionResponse")).get("response")
            if "functionResponse" not in part:
                texts.append(self._text_of([part]))
            elif isinstance(response, dict) and isinstance(response.get("output"), str):
                texts.append(response["output"])
            elif isinstance(response, dict) and isinstance(response.get("error"), str):
                texts.append(response["error"])
                failed = True
            else:
                texts.append(as_text(response))
            texts += [self._text_of([inner]) for inner in objects(obj(part.get("functionResponse")).get("parts"))]
        return "\n".join(text for text in texts if text), True if failed else None

    def _text_of(self, content: Any) -> str:
        return "\n".join(text for part in parts(content) if (text := self._part(part)))

    def _part(self, part: dict[str, Any]) -> str:
        if isinstance(part.get("text"), str):
            return str(part["text"])
        for key in ("inlineData", "fileData"):
            if isinstance(part.get(key), dict):
                count(self.not_kept, key)
                return media(key, part[key].get("mimeType"), part[key].get("data"))
        return "" if set(part) <= {"thoughtSignature", "thought"} else canonical_bytes(part).decode("utf-8")


def parts(content: Any) -> list[dict[str, Any]]:
    """Content as a list of parts: it may be text, one part, or a list of both."""
    if content is None:
        return []
    items = content if isinstance(content, list) else [content]
    return [item if isinstance(item, dict) else {"text": as_text(item)} for item in items]


def code_of(text: str, is_error: bool | None) -> int | None:
    """The exit code that the harness wrote after a command's output; it leaves out 0 where it writes ``Output:`` first.

    A command that was stopped, or runs on in the background, has none.
    """
    found = _TAIL.search(text)
    if found is not None:
        code = None if found[1] == "(none)" else exit_code(int(found[1]))
        return None if code == 0 and (found["signal"] or "(none)").strip() not in ("(none)", "0") else code
    return 0 if _HEAD.match(text) and not is_error and not _SIGNAL.search(text) else None
