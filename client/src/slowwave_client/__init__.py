"""Reviewed memory for agents: rules that a person approved, cached, and dropped the moment they are revoked."""

from slowwave_client._impl.errors import (
    AccessRefused,
    BadRequest,
    ClientClosed,
    ForeignSession,
    MemoryStale,
    MemoryUnavailable,
    NotFound,
    SlowwaveError,
    VersionGone,
    WaitTimeout,
)
from slowwave_client._impl.memory import AsyncMemory, AsyncSession, Memory, Session
from slowwave_client._impl.models import EvidenceFigures, Rule, RuleSet, SessionCheck, StaleRead, Withheld
from slowwave_client._impl.record import EpisodeRecord

__all__ = [
    "AccessRefused",
    "AsyncMemory",
    "AsyncSession",
    "BadRequest",
    "ClientClosed",
    "EpisodeRecord",
    "EvidenceFigures",
    "ForeignSession",
    "Memory",
    "MemoryStale",
    "MemoryUnavailable",
    "NotFound",
    "Rule",
    "RuleSet",
    "Session",
    "SessionCheck",
    "SlowwaveError",
    "StaleRead",
    "VersionGone",
    "WaitTimeout",
    "Withheld",
]

for _name in __all__:  # tracebacks and documentation show the public place
    globals()[_name].__module__ = __name__
del _name
