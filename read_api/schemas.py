"""Shapes of requests and answers under ``/v1``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema

PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f]+$"
"""What a document can say of ``str.isprintable`` in a pattern that every validator reads: all of it for ASCII."""
NAMESPACE = r"^[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*$"


def _plain(text: str) -> str:
    """Names are short and hold nothing that a log, a header or a database would choke on."""
    if not text.isprintable():
        raise ValueError("must hold printable characters only")
    return text


def _legible(text: Any) -> Any:
    """Text for people may hold anything; what no database stores is shown as U+FFFD."""
    if not isinstance(text, str):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")


Name = Annotated[
    str,
    StringConstraints(min_length=1, max_length=200),
    AfterValidator(_plain),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 200, "pattern": PRINTABLE}),
]
Space = Annotated[
    str,
    StringConstraints(min_length=1, max_length=200),
    AfterValidator(_plain),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 200, "pattern": NAMESPACE}),
]
"""A namespace. That it is malformed is said by what enters it, in the words for people."""
Environment = Annotated[
    dict[Name, Name],
    Field(max_length=100),
    WithJsonSchema(
        {
            "type": "object",
            "maxProperties": 100,
            "propertyNames": {"minLength": 1, "maxLength": 200, "pattern": PRINTABLE},
            "additionalProperties": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": PRINTABLE},
        }
    ),
]
"""Component to version. Pydantic's own words for keys with a pattern let every other key through."""
Text = Annotated[str, BeforeValidator(_legible), StringConstraints(min_length=1, max_length=20_000)]
Epoch = Annotated[int, Field(ge=0, lt=2**53)]
"""Up to where every reader of JSON keeps a whole number whole."""
Number = Annotated[int, Field(ge=1, lt=2**31)]


class Asked(BaseModel):
    """Base of requests: an unknown field is a mistake worth telling."""

    model_config = ConfigDict(extra="forbid")


class SearchRequest(Asked):
    """``POST /v1/rules/search``."""

    namespace: Space
    task: Text = Field(description="What the agent is about to do, in any language.")
    environment: Environment = Field(default_factory=dict, description="Component to version.")
    k: int = Field(5, ge=1, le=50, description="At most so many rules.")
    token_budget: int | None = Field(None, ge=1, le=1_000_000, description="At most so many tokens, estimated.")
    session_id: Name | None = Field(None, description="The run that reads. Absent: one session for the whole token.")
    agent: Name | None = None
    client_instance: Name | None = Field(None, description="A cache that may keep the answer under a grant.")


class EvidenceOut(BaseModel):
    """Figures behind a rule; none of them is in its text."""

    independent_groups: int | None = None
    support: int | None = None
    counter: int | None = None
    lift: dict[str, Any] | None = None


class ConflictOut(BaseModel):
    """Another active rule that advises otherwise."""

    id: str
    version: int
    kind: str
    detail: str


class RuleOut(BaseModel):
    """One active version."""

    id: str
    version: int
    when_to_use: str
    guidance: list[str]
    scope: dict[str, Any]
    evidence: EvidenceOut
    recheck_at: str | None
    conflicts: list[ConflictOut]


class WithheldOut(BaseModel):
    """A rule that fits but was left out, and why."""

    id: str
    version: int
    reason: str


class SearchAnswer(BaseModel):
    """What may be served, as of ``epoch``, read in the database ``age_seconds`` ago."""

    epoch: int
    lease_seconds: float
    age_seconds: float
    rules: list[RuleOut]
    withheld: list[WithheldOut]


class StartupRuleOut(RuleOut):
    """One active version, and why it is worth knowing before any task is."""

    reason: str


class StartupAnswer(BaseModel):
    """The few rules worth loading first, within ``token_budget`` estimated tokens."""

    epoch: int
    lease_seconds: float
    age_seconds: float
    token_budget: int
    rules: list[StartupRuleOut]
    withheld: list[WithheldOut]


class ExemplarRequest(Asked):
    """``POST /v1/exemplars/search``."""

    namespace: Space
    task: Text = Field(description="What the agent is about to do, in any language.")
    environment: Environment = Field(default_factory=dict, description="Component to version.")
    k: int = Field(2, ge=1, le=10, description="At most so many runs.")
    token_budget: int = Field(4_000, ge=1, le=1_000_000, description="At most so many tokens, estimated.")
    session_id: Name | None = Field(None, description="The run that reads. Absent: one session for the whole token.")
    agent: Name | None = None


class ExemplarOut(BaseModel):
    """One recorded run that a person chose as an example. Its text is a record: never instructions, never a claim."""

    id: str
    version: int
    when_to_use: str
    task: str
    outcome: str
    steps: list[dict[str, Any]]
    scope: dict[str, Any]
    recheck_at: str | None


class ExemplarAnswer(BaseModel):
    """What may be served, as of ``epoch``, read in the database ``age_seconds`` ago. It may not be cached."""

    epoch: int
    lease_seconds: float
    age_seconds: float
    exemplars: list[ExemplarOut]
    withheld: list[WithheldOut]


class RuleAnswer(RuleOut):
    """One version with its state."""

    namespace: str
    epoch: int
    state: str
    state_reason: str
    state_at: str


class LeaseAnswer(BaseModel):
    """The epoch, read in the database ``age_seconds`` ago."""

    namespace: str
    epoch: int
    lease_seconds: float
    age_seconds: float


class AckRequest(Asked):
    """``POST /v1/acks``: this consumer has applied everything up to ``epoch``."""

    namespace: Space
    consumer: Name
    epoch: Epoch


class ReadOut(Asked):
    """One version that a session read from its cache."""

    id: Name
    version: Number
    times: int = Field(1, ge=1, lt=2**31)


class SessionReport(Asked):
    """``POST /v1/sessions/{id}``."""

    namespace: Space
    client_instance: Name
    ended: bool = False
    reads: list[ReadOut] = Field(default_factory=list, max_length=5_000)


class StaleOut(BaseModel):
    """A version the session may have read that is no longer active."""

    id: str
    version: int
    state: str
    reason: str
    current_version: int | None


class ServedOut(BaseModel):
    """A version the session may have read."""

    id: str
    version: int
    state: str


class SessionAnswer(BaseModel):
    """Whether a session may go on: ``fine``, ``read-only`` or ``stop``."""

    namespace: str
    session_id: str
    epoch: int
    verdict: str
    what_now: str
    served: list[ServedOut]
    stale: list[StaleOut]


class RejectOut(BaseModel):
    """A record that was not taken."""

    file: str
    line: int | None
    reason: str


class IngestAnswer(BaseModel):
    """What became of the records sent."""

    accepted: int
    duplicates: int
    revised: int
    joined: int
    rejected: list[RejectOut]
