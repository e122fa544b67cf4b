"""The messages of a Who&When run as steps: who said it, what was run, what was seen."""

from __future__ import annotations

import re
from typing import Any

from tasks.ingest.importers.parts.chat import StepWriter, as_text, messages_of
from tasks.ingest.importers.parts.reading import Notes, exit_code, obj, word

_TERMINALS = frozenset({"computer_terminal", "computerterminal"})
_WORKERS = frozenset({"websurfer", "filesurfer"})
_PEOPLE = frozenset({"human", "user_proxy", "userproxy"})
_ROLE = re.compile(r"(?P<who>[^()]+?)\s*\((?:->\s*(?P<to>[^()]+?)|(?P<aside>[^()]*))\)\s*")
_ENDED = re.compile(
    r"exitcode: (-?\d{1,10}) \(execution \w+\)|The script ran, then exited with Unix exit code: (-?\d{1,10})"
)
_FENCE = "```"


class Conversation:
    """Reads a history. ``step_of`` finds the step that stands for a message of it."""

    def __init__(self, value: dict[str, Any], notes: Notes) -> None:
        self.writer = StepWriter()
        self.speakers: dict[str, None] = {}
        self._notes = notes
        self._messages = list(messages_of(value, "history"))
        self._names = [self._speaker(message) for message in self._messages]
        self._places: dict[int, str] = {}
        self._asked: dict[str, str] = {}
        self._code: str | None = None
        for agent, prompt in obj(value.get("system_prompt")).items():
            self.writer.add("system", text=as_text(prompt), agent=agent)
        if not any(name.lower() in _PEOPLE for name, _, _ in self._names):
            question = as_text(value.get("question"))
            if question.strip():
                self.writer.add("user", text=question, trust="user")
                notes.facts["user_step_from"] = "question: no person speaks in history"
        self._last_word = self._find_last_word()
        for position, message in enumerate(self._messages):
            self._take(position, as_text(message.get("content")))

    def step_of(self, position: Any) -> str | None:
        """The step of message ``position`` (from 0, also written as text), or None where it points nowhere."""
        number = position.strip() if isinstance(position, str) else position
        if isinstance(number, str):
            number = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else None
        return self._places.get(number) if isinstance(number, int) and not isinstance(number, bool) else None

    def _speaker(self, message: dict[str, Any]) -> tuple[str, str | None, str | None]:
        """Who speaks, to whom, and what kind of aside it is."""
        role = word(message.get("role")) or "unnamed"
        name = word(message.get("name"))
        found = None if name else _ROLE.fullmatch(role)
        who = found["who"].strip() if found else name or role
        is_machine = who.lower() in _TERMINALS | _WORKERS | _PEOPLE or role == "system"
        if not is_machine:
            self.speakers.setdefault(who)
        return who, found["to"] if found else None, found["aside"] if found else None

    def _find_last_word(self) -> int | None:
        """The last message that an agent spoke to nobody in particular, if the run ends with it or with a machine's."""
        for position in reversed(range(len(self._messages))):
            who, to, aside = self._names[position]
            if to is not None or aside == "thought":
                return None
            if who.lower() not in _TERMINALS | _WORKERS | _PEOPLE:
                return position
        return None

    def _take(self, position: int, text: str) -> None:
        who, to, _ = self._names[position]
        code, self._code = self._code, None
        if who.lower() in _PEOPLE:
            step = self.writer.add("user", text=text, trust="user")
        elif who.lower() in _TERMINALS:
            step = self._observe(who, text, code or self._asked.pop(who, None))
        elif to is not None:
            step = self.writer.call(None, to, {"instruction": text}, agent=who)
            self._asked[to] = step
        elif who in self._asked or who.lower() in _WORKERS:
            step = self._observe(who, text, self._asked.pop(who, None))
        elif self._messages[position].get("role") == "system":
            step = self.writer.add("system", text=text, agent=who)
        else:
            step = self._say(position, who, text)
        self._places[position] = step

    def _observe(self, who: str, text: str, of: str | None) -> str:
        """What a worker or the terminal answered. The harness writes the exit code ahead of the output."""
        ended = _ENDED.match(text)
        code = exit_code(int(ended[1] or ended[2])) if ended else None
        failed = None if code is None else code != 0
        return self.writer.observation(None, text, of=of, agent=who, exit_code=code, is_error=failed)

    def _say(self, position: int, who: str, text: str) -> str:
        """An agent's words, and the call where the terminal ran the code in them."""
        blocks = _code_in(text)
        runs = bool(blocks) and self._is_run(position)
        step = self.writer.add("answer" if position == self._last_word and not runs else "plan", text=text, agent=who)
        if runs:
            arguments: dict[str, Any] = blocks[0] if len(blocks) == 1 else {"blocks": blocks}
            self._code = self.writer.call(None, "run_code", arguments, agent=who)
        return step

    def _is_run(self, position: int) -> bool:
        """Whether the next message is the terminal's, and reports that something was run."""
        if position + 1 >= len(self._messages):
            return False
        who, _, _ = self._names[position + 1]
        return (
            who.lower() in _TERMINALS and _ENDED.match(as_text(self._messages[position + 1].get("content"))) is not None
        )


def _code_in(text: str) -> list[dict[str, str]]:
    """The fenced blocks of a message, each with its language. One that is not closed was not run."""
    blocks: list[dict[str, str]] = []
    language = ""
    code: list[str] | None = None
    for line in text.splitlines(keepends=True):
        word_of_line = line.strip()
        if code is None and word_of_line.startswith(_FENCE):
            language, code = word_of_line.strip("`").strip(), []
        elif code is not None and word_of_line == _FENCE:
            blocks.append({"language": language or "unnamed", "code": "".join(code)})
            code = None
        elif code is not None:
            code.append(line)
    return blocks
