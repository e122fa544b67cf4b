"""What the drafter needs of a language model: one question, one text back. Who speaks HTTP is elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

STOPPED, CUT_OFF, DECLINED = "stopped", "cut-off", "declined"
"""How an answer ended: by itself, at the token limit, or because the model would not give one."""


@dataclass(frozen=True)
class Question:
    """One prompt. ``schema`` is the JSON schema of the answer; ``temperature`` and ``seed`` are the protocol's."""

    system: str
    user: str
    schema: dict[str, Any]
    temperature: float
    seed: int
    most_tokens: int


@dataclass(frozen=True)
class Said:
    """What came back. ``seconds`` is the time waited for it, pauses between tries included."""

    text: str
    ended: str = STOPPED
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0


class ModelUnavailable(RuntimeError):
    """The model's endpoint did not answer, or refused the request; says why, never with the key or the prompt in it."""

    def __init__(self, reason: str, seconds: float = 0.0) -> None:
        super().__init__(reason)
        self.seconds = seconds


class ChatModel(Protocol):
    """A model behind some endpoint. ``name`` is provider and model, as replies are kept under."""

    @property
    def name(self) -> str:
        """Provider and model."""
        ...

    def ask(self, question: Question, seconds: float) -> Said:
        """Ask once; faults that pass are tried again within ``seconds``.

        Raises:
            ModelUnavailable: if no answer came.
        """
        ...
