"""Which drafter a namespace uses, and how much of a model one night of it may use up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from tasks.draft.model.chat import ChatModel

DrafterKind = Literal["statistical", "model"]
DRAFTERS: tuple[DrafterKind, ...] = ("statistical", "model")
LIMITS = ("calls", "tokens", "seconds")


class BadBudget(ValueError):
    """A policy's drafter or model budget that cannot be taken; says what it may be."""


@dataclass(frozen=True)
class Drafting:
    """The drafter, and the budgets of one night of one namespace.

    ``tokens`` counts both ways; ``seconds`` is time spent waiting for answers. ``prompt_tokens`` bounds one prompt's
    episodes, ``answer_tokens`` one answer. ``repeat`` asks a second time, to see whether the claims agree.
    """

    drafter: DrafterKind = "statistical"
    calls: int = 60
    tokens: int = 500_000
    seconds: float = 180.0
    prompt_tokens: int = 12_000
    answer_tokens: int = 1_500
    repeat: bool = True

    def under(self, policy: Mapping[str, Any]) -> Drafting:
        """With what a namespace's policy says put over it."""
        budget = policy.get("model_budget") or {}
        kind = policy.get("drafter") or self.drafter
        return replace(self, drafter=kind, **{name: budget[name] for name in LIMITS if name in budget})


@dataclass(frozen=True)
class Spent:
    """What a night has used so far."""

    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0


def drafter_of(policy: Mapping[str, Any], drafting: Drafting, model: ChatModel | None) -> DrafterKind:
    """The drafter of a namespace: the model only where one is set up."""
    return drafting.under(policy).drafter if model is not None else "statistical"


def exhausted(spent: Spent, drafting: Drafting, next_tokens: int) -> str | None:
    """Why no further call may be made, in words; None while there is room for one of about ``next_tokens``."""
    if spent.calls >= drafting.calls:
        return f"tonight's {drafting.calls} model calls are used up"
    if spent.tokens + next_tokens > drafting.tokens:
        return f"{spent.tokens} of tonight's {drafting.tokens} model tokens are used; the next call needs {next_tokens}"
    if spent.seconds >= drafting.seconds:
        return f"tonight's {drafting.seconds:.0f} seconds of waiting for the model are used up"
    return None


def check_policy(policy: Mapping[str, Any]) -> None:
    """Whether the keys ``drafter`` and ``model_budget`` of a policy can be taken.

    Raises:
        BadBudget: naming the first fault.
    """
    if policy.get("drafter") not in (None, *DRAFTERS):
        raise BadBudget(f"drafter must be one of {', '.join(DRAFTERS)}")
    budget = policy.get("model_budget")
    if budget is None:
        return
    if not isinstance(budget, dict) or set(budget) - set(LIMITS):
        raise BadBudget(f"model_budget is an object with some of the keys {', '.join(LIMITS)}")
    for name, value in budget.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise BadBudget(f"model_budget.{name} must be a whole number, 0 or more")
