"""The spans of one conversation into the fields of an episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tasks.ingest.importers.base import RecordFault
from tasks.ingest.importers.parts.chat import StepWriter
from tasks.ingest.importers.parts.otel_attributes import Exchange, evaluations_of, exchange_of, kind_of, model_of
from tasks.ingest.importers.parts.otel_history import History
from tasks.ingest.importers.parts.otel_items import Item
from tasks.ingest.importers.parts.otel_messages import Messages
from tasks.ingest.importers.parts.otel_spans import Span
from tasks.ingest.importers.parts.otel_tools import MERGED_TOOLS, ToolUse, failure_of, tool_of, tools_offered
from tasks.ingest.importers.parts.otel_tree import Parents, Tree
from tasks.ingest.importers.parts.otel_values import as_time, name_of
from tasks.ingest.importers.parts.reading import Notes

# What a moment of a span comes after at the same time: ends, then beginnings, then ends of what took no time.
_ENDS, _BEGINS, _ENDS_AT_ONCE = 0, 1, 2
_KINDS = {"system": "system", "user": "user", "thought": "plan", "said": "answer"}


class Conversation:
    """One conversation's spans, in the order they were recorded, and what they come to."""

    def __init__(self, spans: Sequence[Span], parents: Parents, notes: Notes) -> None:
        self.notes = notes
        self.spans = spans
        self.kinds = [kind_of(span) for span in spans]
        self.tree = Tree(spans, parents)
        self.history = History(self.tree.kin)
        self._calls: dict[int, Item] = {}
        self._heard: dict[int, Item | None] = {}
        self._traces: list[str | None] = []
        messages = Messages(notes)
        self.exchanges = self._exchanges(messages, wrapped=False)
        if not any(item.kind == "user" for found in self.exchanges.values() for item in found.inputs):
            self.exchanges = self._exchanges(messages, wrapped=True)
        self.tools = self._tools()

    def fields(self) -> dict[str, Any]:
        """An episode's fields but for its ids.

        Raises:
            RecordFault: where nothing was said or done.
        """
        self._tell()
        if not self.history.items:
            raise RecordFault(self._why_nothing())
        writer = self._steps()
        task = writer.first_user_text()
        if task is None:
            raise RecordFault(f"{self._counted()} no word of a user: the task is unknown")
        self._note()
        starts = [span.start for span in self.spans if span.start is not None]
        ends = [span.end for span in self.spans if span.end is not None]
        return {
            "task": task,
            "steps": writer.steps,
            "agent": self._agent(),
            "model": self._model(),
            "environment": self._environment(),
            "tools_offered": list(dict.fromkeys(name for span in self.spans for name in tools_offered(span))),
            "started_at": as_time(min(starts, default=None)),
            "ended_at": as_time(max(ends, default=None)),
            **self._outcome(),
        }

    def _exchanges(self, messages: Messages, *, wrapped: bool) -> dict[int, Exchange]:
        """The messages of each model and agent. ``wrapped``: the outermost operation's input and output count too."""
        found: dict[int, Exchange] = {}
        for number, span in enumerate(self.spans):
            kind = self.kinds[number]
            if kind not in ("model", "agent"):
                continue
            attributes = span.attributes
            generates = attributes.get("openinference.span.kind") == "LLM"
            generates = generates or attributes.get("langfuse.observation.type") == "generation"
            whole = generates or (wrapped and not self.tree.around(number))
            exchange = exchange_of(span, messages, whole)
            if exchange:
                found[number] = exchange
        return found

    def _tools(self) -> dict[int, ToolUse]:
        found = {number: tool_of(self.spans[number]) for number, kind in enumerate(self.kinds) if kind == "tool"}
        merged = [number for number, use in found.items() if use.name == MERGED_TOOLS]
        self.notes.not_kept("spans that repeat the results of parallel calls", len(merged))
        return {number: use for number, use in found.items() if use.name != MERGED_TOOLS}

    def _tell(self) -> None:
        """Every span's part of the story at its time. What a span around others said comes when it ends."""
        last: dict[int, int] = {}
        for number in (*self.exchanges, *self.tools):
            for outer in self.tree.around(number):
                last[outer] = max(last.get(outer, 0), self.spans[number].start or 0)
        moments = []
        clock = 0
        for number, span in enumerate(self.spans):
            clock = span.start if span.start is not None else clock
            if number not in self.exchanges and number not in self.tools:
                continue
            end = max(clock, span.end or clock, last.get(number, 0))
            moments.append((clock, _BEGINS, number))
            if number in self.tools or number in last:
                moments.append((end, _ENDS if end > clock else _ENDS_AT_ONCE, number))
        for _, phase, number in sorted(moments):
            if number in self.tools:
                self._use(number, begins=phase == _BEGINS)
            else:
                self._exchange(number, begins=phase == _BEGINS, whole=number not in last)

    def _use(self, number: int, *, begins: bool) -> None:
        span, use, agent = self.spans[number], self.tools[number], self.tree.agent(number)
        if begins:
            self._calls[number] = self.history.begin(use, span.start, number, agent)
        else:
            self.history.finish(self._calls[number], use, span.end, agent)

    def _exchange(self, number: int, *, begins: bool, whole: bool) -> None:
        span, told = self.spans[number], self.exchanges[number]
        if begins:
            fresh = bool(self._traces) and span.trace_id not in self._traces
            if told.inputs and span.trace_id not in self._traces:
                self._traces.append(span.trace_id)
            self._heard[number] = self.history.hear(told.inputs, span.start, fresh)
        if whole or not begins:
            agent = self.tree.agent(number)
            self.history.answer(told.outputs, self._heard[number], span.end, number, agent)

    def _steps(self) -> StepWriter:
        writer = StepWriter()
        agents = {item.agent for item in self.history.items if item.agent is not None}
        numbers: dict[int, str] = {}
        for item in self.history.items:
            at, agent = as_time(item.at), item.agent if len(agents) > 1 else None
            if item.kind == "call":
                numbers[id(item)] = writer.call(None, item.name, item.arguments, at=at, agent=agent)
            elif item.kind == "result":
                of = numbers.get(id(item.call))
                writer.observation(
                    None, item.text, of=of, is_error=item.is_error, at=at, agent=agent,
                    name=item.name if of is None else None,
                )  # fmt: skip
            else:
                kind = "plan" if item.kind == "said" and item.with_calls else _KINDS[item.kind]
                trust = "user" if kind == "user" else None
                writer.add(kind, text=item.text, name=item.name, trust=trust, at=at, agent=agent)
        return writer

    def _agent(self) -> str | None:
        names = [self.tree.agent(number) for number in (*self.exchanges, *self.tools)]
        found = next((name for name in names if name is not None), None)
        if found is None:
            told = (name_of(span.attributes.get("ai.telemetry.functionId")) for span in self.spans)
            found = next((name for name in told if name is not None), None)
            self.notes.facts["agent_from"] = "ai.telemetry.functionId" if found else None
        return found

    def _model(self) -> str | None:
        """The model that answered; where there were several, the first, and the others are noted."""
        names = list(dict.fromkeys(filter(None, (model_of(self.spans[number]) for number in self.exchanges))))
        answered = ("gen_ai.response.model", "ai.response.model")
        sure = (name_of(self.spans[number].attributes.get(key)) for number in self.exchanges for key in answered)
        first = next((name for name in sure if name is not None), next(iter(names), None))
        # "model-5" is what was asked for where "model-5-2026-01-01" answered.
        names = [name for name in names if not any(other != name and other.startswith(name) for other in names)]
        self.notes.facts["models"] = names[:20] if len(names) > 1 else None
        return first

    def _environment(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for span in self.spans:
            service, version = (name_of(span.resource.get(f"service.{key}")) for key in ("name", "version"))
            if service is not None and not service.startswith("unknown_service"):
                found[service] = version or found.get(service, "unknown")
        return found

    def _outcome(self) -> dict[str, Any]:
        """A verdict is one only where an evaluation's label says pass or fail, and all that do agree."""
        found = list({str(each.told): each for span in self.spans for each in evaluations_of(span)}.values())
        failures = [failure_of(self.spans[number]) for number in self.exchanges if self.spans[number].failed]
        self.notes.count("failed_spans", "of models and agents", len(failures))
        kept = {"evaluations": [each.told for each in found], "failures": [text for text in failures if text]}
        metadata = {key: child for key, child in kept.items() if child}
        verdicts = [each for each in found if each.passed is not None]
        if len({each.passed for each in verdicts}) != 1:
            self.notes.facts["evaluations_disagree"] = len(verdicts) > 1
            return {"outcome": "unknown", "metadata": metadata}
        self.notes.facts["outcome_from"] = f"the evaluation {verdicts[0].name}, labelled pass or fail"
        score = verdicts[0].told.get("score.value")
        is_score = len(verdicts) == 1 and isinstance(score, int | float) and not isinstance(score, bool)
        return {
            "outcome": "success" if verdicts[0].passed else "failure",
            "outcome_source": "verifier",
            "reward": score if is_score else None,
            "metadata": metadata,
        }

    def _note(self) -> None:
        for kind, number in self._unread().items():
            self.notes.not_kept(f"{kind} spans", number)
        backwards = sum(bool(span.start and span.end and span.end < span.start) for span in self.spans)
        self.notes.count("clock_backwards", "spans that end before they start", backwards)
        early = sum(self._is_early(number) for number in range(len(self.spans)))
        self.notes.count("clock_backwards", "spans that start before the one around them", early)
        timeless = sum(span.start is None and span.trace_id is not None for span in self.spans)
        self.notes.count("times_not_read", "spans without a start", timeless)

    def _is_early(self, number: int) -> bool:
        own, outer = self.spans[number].start, next(iter(self.tree.around(number)), None)
        start = self.spans[outer].start if outer is not None else None
        return own is not None and start is not None and own < start

    def _unread(self) -> dict[str, int]:
        kinds = [kind for kind in self.kinds if kind in ("embedding", "retrieval")]
        return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}

    def _why_nothing(self) -> str:
        unread = self._unread()
        why = f" ({', '.join(f'{kind}: {number}' for kind, number in unread.items())})" if unread else ""
        hint = "" if sum(unread.values()) == len(self.spans) else ": was the recording of content turned off?"
        return f"{self._counted()} no message and no tool call{why}{hint}"

    def _counted(self) -> str:
        return "its one span of GenAI holds" if len(self.spans) == 1 else f"its {len(self.spans)} spans of GenAI hold"
