"""A finding in a model's words: the text agents would read, and what the reviewer is told about how it came to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tasks.draft.model.answer import DraftText
from tasks.draft.model.brief import Mode
from tasks.draft.model.cite import Cited

NAME = "drafter:model/"


@dataclass(frozen=True)
class Wording:
    """One confirmed finding as a model worded it. ``drafter`` names the model as the author."""

    inference_id: str
    drafter: str
    mode: Mode
    when_to_use: str
    guidance: tuple[str, ...]
    told: Mapping[str, Any]
    inputs: tuple[str, ...]
    prompt_hash: str
    cost: Mapping[str, Any] = field(default_factory=dict)


def is_by_model(drafter: str) -> bool:
    """Whether a text was worded by a model."""
    return drafter.startswith(NAME)


def told(draft: DraftText, claim: str, cited: Cited, agreement: Mapping[str, Any]) -> dict[str, Any]:
    """What the packet says of a model's draft. Citations are places, never quotes."""
    return {
        "claim": claim,
        "rationale": draft.rationale,
        "counter_example": draft.counter_example,
        "verification_method": draft.verification_method,
        "scope": draft.scope,
        "citations": [asdict(place) for place in cited.held],
        "citations_dropped": cited.dropped,
        "agreement": dict(agreement),
    }


def worded_content(content: Mapping[str, Any], when_to_use: str, guidance: list[str]) -> dict[str, Any]:
    """A content in other words; scope and predicate stay what the evidence says."""
    return {**content, "when_to_use": when_to_use, "guidance": guidance}


def worded_packet(packet: Mapping[str, Any], written: Mapping[str, Any], cost: Mapping[str, Any]) -> dict[str, Any]:
    """A packet with what the model said; figures and evidence stay tonight's.

    How the claim was tested comes first: what the model proposes for checking it is a proposal.
    """
    method = f"{packet.get('verification_method', '')} The drafter proposes further: {written['verification_method']}"
    said = {"said": written["counter_example"]}
    return {
        **packet,
        "verification_method": method.strip(),
        "counter_example": {**(packet.get("counter_example") or {}), **said},
        "model": {name: value for name, value in written.items() if name not in ("verification_method",)},
        "agreement": written["agreement"],
        "cost": dict(cost),
    }


def agreement(claims: list[str], why: str = "") -> dict[str, Any]:
    """Whether a model's repeated drafts make the same claim; ``claims`` in the order they were drafted."""
    return {"drafts": len(claims), "agree": len(set(claims)) == 1 if len(claims) > 1 else None, "claims": claims,
            "why": why}  # fmt: skip
