"""Which calls of an episode a claim speaks of, so that a reader finds them at once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from review_ui.views.claims import claim_of
from tasks.contrast.predicate import AGAIN, USER, agent_call
from tasks.contrast.recoveries.calls import script_of
from tasks.ingest.episode import Step

ONE_LINE = 90
"""Characters of arguments that stand on one line."""


@dataclass(frozen=True)
class Spoken:
    """``calls`` are the keys of the calls. ``argument`` is the one that a claim about an argument speaks of.
    ``acts``: the calls are named by the programs that they run, so a command line has to be read.
    """

    calls: frozenset[str] = frozenset()
    argument: str = ""
    acts: bool = False

    def of(self, step: Mapping[str, Any]) -> bool:
        """Whether a step is one of the calls."""
        name = str(step.get("name") or "")
        if not self.calls or step.get("kind") != "tool_call" or not name:
            return False
        key = f"{USER}{name}" if step.get("requestor") == "user" else agent_call(name)
        return key in self.calls or (self.acts and not self.calls.isdisjoint(_acts(step)))


NOBODY = Spoken()


def spoken_of(predicate: Mapping[str, Any]) -> Spoken:
    """What a stored predicate speaks of; nothing, if it is not in our terms."""
    claim = claim_of(predicate)
    if claim is None:
        return NOBODY
    return Spoken(
        calls=frozenset(call.removeprefix(AGAIN) for call in claim.calls),
        argument=claim.parts[1] if claim.kind == "argument" else "",
        acts=claim.kind == "recovery",
    )


def arguments_text(arguments: Any) -> str:
    """Arguments as JSON: on one line where they are few, else one argument a line."""
    line = json.dumps(arguments, ensure_ascii=False)
    return line if len(line) <= ONE_LINE else json.dumps(arguments, ensure_ascii=False, indent=2)


def argument_span(arguments: Mapping[str, Any], name: str) -> tuple[int, int] | None:
    """Where one argument stands in the text of ``arguments``; None if it is not among them."""
    if name not in arguments:
        return None
    on_one_line = "\n" not in arguments_text(arguments)
    opening, between, lead = ("{", ", ", "") if on_one_line else ("{\n", ",\n", "  ")
    at = len(opening)
    for key, value in arguments.items():
        entry = json.dumps({key: value}, ensure_ascii=False, indent=None if on_one_line else 2)
        entry = entry[len(opening) : -len(opening)]
        if key == name:
            return at + len(lead), at + len(entry)
        at += len(entry) + len(between)
    return None


def _acts(step: Mapping[str, Any]) -> set[str]:
    try:
        script = script_of(Step.model_validate(dict(step)))
    except ValidationError:
        return set()
    return {name for act in script.acts for name in (act.key, act.fine) if name}
