"""The language model of this process, as the settings name it."""

from __future__ import annotations

from storage.settings import Settings
from tasks.draft.model.budget import Drafting
from worker.models.patience import Patient
from worker.models.wires import AnthropicWire, Endpoint, OpenAIWire


def model_of(settings: Settings) -> Patient | None:
    """The model to draft with; None where none is named. Nothing is imported or opened before it is asked."""
    if settings.model_name is None:
        return None
    endpoint = Endpoint(
        url=settings.model_url,
        name=settings.model_name,
        key=settings.model_key.get_secret_value() if settings.model_key else "",
        form=settings.model_format,
        seeded=settings.model_sampling == "seeded",
    )
    wire = AnthropicWire(endpoint) if settings.model_provider == "anthropic" else OpenAIWire(endpoint)
    return Patient(f"{settings.model_provider}/{settings.model_name}", wire, settings.model_timeout_seconds)


def drafting_of(settings: Settings) -> Drafting:
    """The drafter and its budgets."""
    return Drafting(
        drafter=settings.drafter,
        calls=settings.model_calls,
        tokens=settings.model_tokens,
        seconds=settings.model_seconds,
        prompt_tokens=settings.model_prompt_tokens,
        answer_tokens=settings.model_answer_tokens,
        repeat=settings.model_repeat,
    )
