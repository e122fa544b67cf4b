"""What became of a run: what was recorded beats what was said.

From the strongest: a verifier, the environment's own end, a recorded exit code, a person, a reward or outcome that the
record states without saying whose, and last the agent's own word. Prose is never read.
"""

from __future__ import annotations

import re
from typing import Any

from tasks.ingest.episode import Episode, OutcomeSource, Step

SOURCE_WORDS: dict[str, str] = {
    "verifier": "a verifier said so",
    "environment": "the environment said so",
    "exit-code": "an exit code said so",
    "human": "a person said so",
    "recorded": "recorded with the run",
    "self-reported": "the agent's own word: never enters a contrast",
}
_STRONGER_THAN_A_CODE = frozenset({"verifier", "environment", "exit-code", "human"})
# Programs whose exit code is a verdict on the work, unlike that of a search that finds nothing.
_CHECK = re.compile(
    r"(?:pytest|unittest|tox|nox|rspec|jest|vitest|mocha|phpunit|ctest|mypy|ruff|eslint|tsc|flake8|pylint|"
    r"(?:npm|pnpm|yarn|bun|deno)\s+(?:run\s+)?(?:test|lint|build|check)|make\s+(?:\S+\s+)*(?:test|check|lint|all)|"
    r"(?:cargo|go|dotnet|swift|mix|gradle|\./gradlew|mvn|bazel|rake)\s+(?:\S+\s+)*(?:test|build|check|vet|clippy|verify))"
    r"(?=[\s:'\"]|$)"
)
_BEFORE_A_PROGRAM = re.compile(
    r"\s*(?:(?:\w+=\S*|sudo|time|env|npx|exec|timeout\s+\S+|(?:uv|poetry|pipenv|pdm|hatch|bundle)\s+(?:run|exec)|"
    r"\S*python[\d.]*\s+-m|(?:ba|z|da)?sh\s+-\w+)\s+[\"']?)*(?:\S*/bin/)?"
)
_PARTS = re.compile(r"[;\n|]+(?!\|)")


def source_words(outcome: str, source: str) -> str:
    """Who says how a run ended, for people."""
    if outcome == "unknown":
        return "nothing that was recorded says how it ended"
    return SOURCE_WORDS.get(source, source)


def settled(episode: Episode, *, capped: bool) -> tuple[Episode, dict[str, Any]]:
    """The episode with its outcome and the source of it, and what there is to say on how it came about.

    Args:
        capped: it came through an agent's token: what it says without a source is the agent's own word.
    """
    said: OutcomeSource = episode.outcome_source or ("self-reported" if capped else "recorded")
    if said not in _STRONGER_THAN_A_CODE:
        found = _from_code(episode)
        if found is not None:
            outcome, where = found
            return _with(episode, outcome, "exit-code"), {"outcome_from": where, **_overruled(episode, outcome)}
        if "outcome" not in episode.model_fields_set and episode.reward in (0.0, 1.0):
            return _with(episode, "success" if episode.reward else "failure", said), {"outcome_from": "reward"}
        if episode.outcome == "success" and episode.reward is not None and episode.reward <= 0:
            return _with(episode, "failure", said), {"outcome_from": "reward", **_overruled(episode, "failure")}
    return _with(episode, episode.outcome, said), {}


def _from_code(episode: Episode) -> tuple[str, str] | None:
    """The verdict of the run's own exit code; else a failure where the last thing it did was a check that failed.

    A check that passed proves that check only, and one followed by other work may have been put right: they settle
    nothing.
    """
    code = episode.metadata.get("exit_code")
    if isinstance(code, int) and not isinstance(code, bool):
        claimed = episode.outcome if code == 0 and episode.outcome in ("failure", "partial") else "success"
        return ("failure" if code else claimed), f"exit code {code} of the run"
    last = next((step for step in reversed(episode.steps) if step.kind == "tool_call"), None)
    if last is None or not _is_check(last):
        return None
    failed = next((step for step in episode.steps if step.of == last.id and step.exit_code), None)
    return ("failure", f"exit code {failed.exit_code} of the last check, step {failed.id}") if failed else None


def _is_check(call: Step) -> bool:
    texts = [call.raw_arguments or "", *(_words(child) for child in (call.arguments or {}).values())]
    return any(_runs_a_check(text) for text in texts)


def _runs_a_check(command: str) -> bool:
    """Whether the exit code of a shell command is a check's: of a pipe or a sequence only the last part's is."""
    parts = [part for part in _PARTS.split(command[-2000:]) if part.strip()]
    return bool(parts) and any(_starts_a_check(part) for part in parts[-1].split("&&"))


def _starts_a_check(part: str) -> bool:
    before = _BEFORE_A_PROGRAM.match(part)
    return _CHECK.match(part, before.end() if before else 0) is not None


def _words(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _overruled(episode: Episode, outcome: str) -> dict[str, Any]:
    said = episode.outcome
    return {"outcome_overruled": said} if said not in ("unknown", outcome) else {}


def _with(episode: Episode, outcome: str, source: OutcomeSource) -> Episode:
    return episode.model_copy(update={"outcome": outcome, "outcome_source": source})
