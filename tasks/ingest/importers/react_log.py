"""ReAct runs on questions (HotpotQA): Reflexion's text logs, and KnowAgent's JSON lines.

A log tells what became of a run by the section it stands in. A run that a later trial shows again letter for letter
(Reflexion does not run again what it had solved) is that trial's episode, and a retry of the first: both are one piece
of evidence. The correct answer stands in both formats for the reader; the agent never saw it, so it is metadata. The
reflections beside a question are what the agent was given from its earlier trials: a ``memory_read``.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from pydantic import ValidationError

from tasks.ingest.episode import Episode
from tasks.ingest.explain import explain
from tasks.ingest.importers.base import Imported, RecordFault, Rejected
from tasks.ingest.importers.parts.benchmark import (
    UNKNOWN_AGENT,
    as_list,
    as_run,
    outcome_by,
    rest_of,
    verdict,
)
from tasks.ingest.importers.parts.chat import StepWriter, is_reward
from tasks.ingest.importers.parts.knowagent import agent_of
from tasks.ingest.importers.parts.react_blocks import KEY, QUESTION, SECTION, TRIAL, Block, Stray, blocks
from tasks.ingest.importers.parts.react_text import Told, asked_and_done, write_steps
from tasks.ingest.importers.parts.reading import Made, Notes, read_each, surest
from tasks.ingest.jsontext import canonical_bytes, tidy_text
from tasks.ingest.source import Sample, Source
from tasks.ingest.task_key import normalised

_SECTIONS = {"CORRECT": True, "INCORRECT": False, "HALTED": False}
_MEMORY = re.compile(
    r"You have attempted to answer (?:the )?following question before and failed"
    r"|The following reflection\(s\) give a plan|^Reflections?:",
    re.M,
)
_EXAMPLES_END = "(END OF EXAMPLES)"
_JSON_FIELDS = frozenset({"question", "answer", "correct", "reward", "halted", "error", "prompt", "traj"})


class ReactLog:
    """Thought, action, observation; a question at the start and a judged answer at the end."""

    name = "react-log"
    version = 1
    about = "ReAct runs on questions: Reflexion's text logs, KnowAgent's HotpotQA lines"

    def sniff(self, sample: Sample) -> float:
        return surest(sample, _confidence, as_list) if sample.records else _log_confidence(sample)

    def read(self, source: Source) -> Iterator[Imported | Rejected]:
        if _log_confidence(source.sample()):
            yield from _read_log(source)
        else:
            yield from read_each(source, partial(_build, file=source.name), as_list)


def _log_confidence(sample: Sample) -> float:
    lines = sample.head.splitlines() if sample.shape in ("text", "lines") else []
    marks = [any(mark.fullmatch(line) for line in lines) for mark in (TRIAL, SECTION)]
    labels = [any(line.startswith(label) for line in lines) for label in (QUESTION, "Thought 1:", "Action 1:")]
    if all(marks) or (any(marks) and labels[0]):
        return 0.95
    return 0.6 if all(labels) else 0.4 if any(marks) else 0.0


def _confidence(value: Any) -> float:
    if not isinstance(value, dict) or not isinstance(value.get("question"), str):
        return 0.0
    told = [value[key] for key in ("prompt", "traj") if isinstance(value.get(key), str)]
    if not told:
        return 0.4 if {"correct", "reward", "halted"} <= value.keys() else 0.0
    is_react = any(QUESTION in text and "Action 1:" in text for text in told)
    return (0.95 if is_react else 0.4) if "correct" in value else 0.6 if is_react else 0.0


def _read_log(source: Source) -> Iterator[Imported | Rejected]:
    reader = _LogReader()
    for found in blocks(source.lines()):
        if isinstance(found, Block):
            yield reader.read(found)
        elif isinstance(found, Stray):
            reason = f"text that belongs to no run: no {QUESTION!r} follows it"
            yield Rejected(found.line, reason, found.text.encode("utf-8", "surrogateescape"))
        else:
            yield Rejected(found.number, str(found.fault))
    if source.broken is not None:
        raise source.broken


class _LogReader:
    """The runs of one log, and what it had shown before."""

    def __init__(self) -> None:
        self._numbers: Counter[int] = Counter()
        self._shown: dict[str, str] = {}
        self._latest: dict[str, str] = {}

    def read(self, block: Block) -> Imported | Rejected:
        """One run of one trial."""
        record = {"trial": block.trial, "section": block.section, "run": block.text}
        try:
            return self._read(block, record)
        except RecordFault as fault:
            return Rejected(block.line, str(fault), block.text.encode("utf-8", "surrogateescape"))
        except ValidationError as error:
            return Rejected(block.line, explain(error), block.text.encode("utf-8", "surrogateescape"))

    def _read(self, block: Block, record: dict[str, Any]) -> Imported:
        cleaned: dict[str, int] = {}
        before, body, after = (
            [tidy_text(line, cleaned) for line in lines] for lines in (block.before, block.body, block.after)
        )
        writer = StepWriter()
        question, was_told, told = _write(writer, "\n".join(before).strip(), body)
        trial = block.trial or 0
        self._numbers[trial] += 1
        name, topic = f"trial-{trial}/{self._numbers[trial]}", normalised(question)
        run = hashlib.sha256(canonical_bytes([block.section, block.text])).hexdigest()
        first = self._shown.setdefault(run, name)
        earlier = first if first != name else self._latest.get(topic) if was_told else None
        self._latest[topic] = name
        known = {"trial": block.trial, "section": block.section, **_after(after)}
        outcome, notes = _outcome(block.section, told)
        if first != name:
            notes["shown_again"] = f"letter for letter as {first}"
        if not block.after:
            notes["truncated"] = f"no {KEY!r} closes this run"
        fields = {
            "id": name,
            "task": question,
            "retry_of": earlier,
            "agent": UNKNOWN_AGENT,
            "steps": writer.steps,
            "metadata": {key: child for key, child in known.items() if child is not None},
            **outcome,
        }
        details = {**notes, **({"faults": block.faults} if block.faults else {})}
        details |= {"cleaned": cleaned} if cleaned else {}
        return Imported(Episode.model_validate(fields), record, block.line, details=details)


def _write(writer: StepWriter, before: str, lines: list[str]) -> tuple[str, bool, Told]:
    """The steps of one run: its question, whether it was given memories of earlier trials, and what came of it."""
    head, done = asked_and_done(lines)
    asked = "\n".join(head).removeprefix(QUESTION)
    memory = _MEMORY.search(asked)
    question, given = (asked[: memory.start()], asked[memory.start() :].strip()) if memory else (asked, "")
    if not question.strip():
        raise RecordFault(f"nothing stands after {QUESTION!r}: the task is unknown")
    before_is_memory = _MEMORY.match(before) is not None
    if before and not before_is_memory:
        writer.add("system", text=before)
    writer.add("user", text=question.strip(), trust="user")
    for remembered in (before if before_is_memory else "", given):
        if remembered:
            writer.add("memory_read", snapshot=remembered)
    told = write_steps(writer, done)
    if not told.parts:
        raise RecordFault("nothing happened in this run: no Thought, Action or Observation follows the question")
    return question.strip(), before_is_memory or bool(given), told


def _outcome(section: str | None, told: Told) -> tuple[dict[str, Any], dict[str, Any]]:
    """From the section that the log put the run in; else from the environment's answer to ``Finish``."""
    flag = _SECTIONS.get(section or "")
    if flag is None:
        where = {} if told.verdict is None else {"outcome_from": "the environment's answer to Finish"}
        return outcome_by(told.verdict, "environment"), where
    source = "environment" if section == "HALTED" else "verifier"
    notes = {"outcome_from": f"the log's section of {section} runs"}
    if told.verdict not in (None, flag):
        notes["outcome_doubt"] = "the environment's answer to Finish says otherwise"
    return outcome_by(flag, source), notes


def _after(lines: list[str]) -> dict[str, Any]:
    """What the log says when the run is over."""
    if not lines:
        return {}
    rest = "\n".join(lines[1:]).strip()
    return {"correct_answer": lines[0].removeprefix(KEY).strip(), "after_the_run": rest or None}


def _build(record: Any, file: str) -> Made:
    """One of KnowAgent's lines: the whole prompt with the run at its end, and the verdict beside it."""
    value, notes = as_run(record), Notes()
    text = next((value[key] for key in ("prompt", "traj") if isinstance(value.get(key), str)), None)
    if text is None:
        raise RecordFault("neither prompt nor traj is the text of a run")
    writer = StepWriter()
    stated = value.get("question")
    before, lines = _run_in(text, stated if isinstance(stated, str) else "")
    question, _, _ = _write(writer, before, lines)
    right, reward = verdict(value.get("correct")), _number(value.get("reward"))
    who, hint = agent_of(file)
    notes.facts |= {"outcome_from": None if right is None else "correct: an exact match with the known answer", **hint}
    told = {"correct_answer": value.get("answer"), "halted": value.get("halted"), "error": value.get("error")}
    fields = {
        "task": stated.strip() if isinstance(stated, str) and stated.strip() else question,
        **who,
        "reward": reward,
        "steps": writer.steps,
        "metadata": {
            **{key: child for key, child in told.items() if child is not None},
            **rest_of(value, _JSON_FIELDS),
        },
        **outcome_by(right, "verifier"),
    }
    return Made(fields, notes)


def _number(value: Any) -> float | None:
    """A recorded reward. It may be partial where the answer was no exact match, and then it settles nothing."""
    return float(value) if is_reward(value) and not isinstance(value, bool) else None


def _run_in(text: str, question: str) -> tuple[str, list[str]]:
    """What stands before the run (the rules and the worked examples), and the run from its question on."""
    before, marker, run = text.partition(_EXAMPLES_END)
    at = run.find(QUESTION) if marker else text.rfind(f"{QUESTION} {question}" if question else QUESTION)
    if at < 0:
        raise RecordFault(f"the text of the run holds no {QUESTION!r} with its question")
    if not marker:
        return text[:at].strip(), text[at:].splitlines()
    return f"{before}{marker}{run[:at]}".strip(), run[at:].splitlines()


IMPORTER = ReactLog()
