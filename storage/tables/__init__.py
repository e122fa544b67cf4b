"""Every table. Import from here, so that the metadata is whole whoever asks."""

from storage.tables.base import UtcDateTime
from storage.tables.drills import DrillResult
from storage.tables.episodes import DeadLetter, Episode, EpisodeBody, EpisodeKey, FollowedFile
from storage.tables.night import FactsBatch, ModeChoice, ModelReply, Recheck, Statement, Stratum, TextVector
from storage.tables.people import ApiToken, Heartbeat, LoginAttempt, Namespace, Schedule, User, WebSession
from storage.tables.review import Candidate, CandidateRevision, Conflict, Decision, Evidence, Reservation
from storage.tables.rules import (
    Ack,
    AckSpan,
    AuditEntry,
    AuditHead,
    CacheGrant,
    ClientSession,
    Exposure,
    OutboxEvent,
    Rule,
    RuleVersion,
    SearchMiss,
    VersionAncestor,
)
from storage.tables.runs import (
    Cluster,
    ClusterEpisode,
    Draft,
    Family,
    Inference,
    InferenceObservation,
    Look,
    Observation,
    Run,
    RunEpisode,
    RunStep,
)

__all__ = [
    "Ack", "AckSpan", "ApiToken", "AuditEntry", "AuditHead", "CacheGrant", "Candidate", "CandidateRevision",
    "ClientSession", "Cluster", "ClusterEpisode", "Conflict", "DeadLetter", "Decision", "Draft", "DrillResult",
    "Episode", "EpisodeBody", "EpisodeKey", "Evidence", "Exposure", "FactsBatch", "Family", "FollowedFile", "Heartbeat",
    "Inference", "InferenceObservation", "LoginAttempt", "Look", "ModeChoice", "ModelReply", "Namespace",
    "Observation", "OutboxEvent", "Recheck", "Reservation", "Rule", "RuleVersion", "Run", "RunEpisode",
    "RunStep", "Schedule", "SearchMiss", "Statement", "Stratum", "TextVector", "User", "UtcDateTime",
    "VersionAncestor", "WebSession",
]  # fmt: skip
