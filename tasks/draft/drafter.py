"""What a drafter is: content and packet from one finding and the raw episodes behind it, and from nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from storage.ids import content_hash

Mode = Literal["statistical", "strategic", "corrective"]


@dataclass(frozen=True)
class Cited:
    """One observation behind the finding, as far as a drafter may see it."""

    episode_id: str
    step_ids: tuple[str, ...]
    stance: str
    group: str
    stratum: str
    outcome: str
    outcome_source: str
    principal: str
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Brief:
    """Everything that a drafter is given. Nothing drafted before is in it; ``prompt_hash`` proves what was.

    ``recheck_at`` is an ISO date. ``predicate`` and ``statistics`` are as the contrast stored them.
    """

    namespace: str
    family_label: str
    predicate: Mapping[str, Any]
    statement: str
    statistics: Mapping[str, Any]
    cited: tuple[Cited, ...]
    owner: str
    recheck_at: str

    @property
    def inputs(self) -> list[str]:
        """The episodes a draft rests on."""
        return sorted({piece.episode_id for piece in self.cited})

    @property
    def prompt_hash(self) -> str:
        """Hash of all of it."""
        return content_hash(asdict(self))

    @property
    def candidate_id(self) -> str:
        """A finding is the same candidate from night to night."""
        return candidate_id(self.namespace, self.predicate)


@dataclass(frozen=True)
class Drafted:
    """``content`` is what agents would receive, without figures; ``packet`` is what the reviewer sees."""

    content: dict[str, Any]
    packet: dict[str, Any]
    mode: Mode
    cost: dict[str, Any] = field(default_factory=dict)


class Drafter(Protocol):
    """Writes a candidate. ``name`` is stored as the author of what it wrote."""

    name: str

    def draft(self, brief: Brief) -> Drafted:
        """Content and packet for one finding."""
        ...


def candidate_id(namespace: str, predicate: Mapping[str, Any]) -> str:
    """Identity of a candidate: its namespace and canonical predicate, the family included."""
    return content_hash([namespace, dict(predicate)], 16)
