"""An app asked for all that its OpenAPI document names, and for much that it refuses; what does not hold is listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import schemathesis
from fastapi import FastAPI
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import from_schema
from schemathesis.engine.events import NonFatalError, ScenarioFinished

from support.full import FULL

SEED = 20_261_201
EXAMPLES = 200 if FULL else 3
Exclusions = Mapping[tuple[str, str], Mapping[str, str]]
"""By method and path: checks that make no sense there, each with the reason."""


@dataclass(frozen=True)
class Stock:
    """What the store holds, by the names that a document gives it."""

    rule_id: str
    candidate_id: str
    episode_id: str


def breaches(
    app: FastAPI,
    *,
    headers: Mapping[str, str],
    excluded: Exclusions,
    parameters: Mapping[str, Any] | None = None,
    left_out: Sequence[tuple[str, str]] = (),
    by_cookie: bool = False,
) -> list[str]:
    """Every broken promise, in words, for one who sends these headers; the same ones each time.

    ``parameters`` are values that exist, sent in place of generated ones; ``left_out`` are operations not to ask for;
    with ``by_cookie`` who may ask is not among what is checked.
    """
    print("seed", SEED)
    operations = [
        {"include-method": method, "include-path": path, "checks": {name: {"enabled": False} for name in reasons}}
        for (method, path), reasons in excluded.items()
    ]
    operations += [{"include-method": method, "include-path": path, "enabled": False} for method, path in left_out]
    config = SchemathesisConfig.from_dict({
        "seed": SEED,
        "headers": dict(headers),
        "workers": 1,
        "continue-on-failure": True,
        "parameters": dict(parameters or {}),
        "operations": operations,
        "generation": {
            "max-examples": EXAMPLES, "deterministic": True, "no-shrink": True, "codec": "ascii", "database": "none",
        },
        "phases": {"stateful": {"enabled": FULL}},
    })  # fmt: skip
    # a cookie is no header of its own to the checks: they would send one beside the one that is given
    document = {name: value for name, value in app.openapi().items() if name != "security" or not by_cookie}
    schema: Any = schemathesis.openapi.from_dict(document, config=config)
    schema.app = app
    found: dict[str, None] = {}
    for event in from_schema(schema).execute():
        if isinstance(event, NonFatalError):
            found[f"{event.label}: {event.value!r}"] = None
        if isinstance(event, ScenarioFinished):
            found |= dict.fromkeys(_broken(event))
    return list(found)


def _broken(event: ScenarioFinished) -> list[str]:
    """What failed in one scenario: the operation, the check, and the request that shows it."""
    return [
        f"{event.recorder.label}: {check.name}: {check.failure_info.failure}\n    {check.failure_info.code_sample}"
        for checks in event.recorder.checks.values()
        for check in checks
        if check.failure_info is not None
    ]
