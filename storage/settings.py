"""Every setting, typed, prefix ``SLOWWAVE_``. Documented in docs/settings.md; a test keeps the two together."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
NO_NAMES = ("authorization", "cookie", "host", "origin", "referer", "user-agent", "x-forwarded-for")
"""Headers that browsers set, or that hold something else."""


class Settings(BaseSettings):
    """Settings of every process. A bad value explains what it may be."""

    model_config = SettingsConfigDict(
        env_prefix="SLOWWAVE_", extra="ignore", env_ignore_empty=True, validate_default=False
    )

    home: Path = Field(Path(".slowwave"), description="Folder of the local mode: database, broker, logs, secret key.")
    database_url: str | None = Field(
        None, description="SQLAlchemy URL. Absent: SQLite in the home folder. PostgreSQL: postgresql+psycopg://…"
    )
    ingest_database_url: str | None = Field(
        None,
        description="URL with which the agents' side writes episodes. Absent: that of the database; its role may have "
        "no table.",
    )
    redis_url: str | None = Field(
        None, description="Redis URL. Absent: the bundled server that `slowwave up` starts, on a Unix socket."
    )
    secret_key: SecretStr | None = Field(
        None, description="At least 32 characters; keys hashes and digests. Absent: a file made in the home folder."
    )
    host: str = Field("127.0.0.1", description="Address the web apps bind to. Nothing leaves loopback unless asked.")
    port: int = Field(8400, ge=0, le=65535, description="Port of `slowwave up`; 0 picks a free one.")
    public_origins: list[str] = Field(
        default_factory=list, description="Origins accepted for page forms besides the request's own host."
    )
    secure_cookies: bool = Field(False, description="Mark the session cookie Secure: set it behind HTTPS.")
    session_hours: float = Field(12, gt=0, description="Hours until a page session ends.")
    proxy_user_header: str | None = Field(
        None,
        description="Header in which a trusted proxy names who is signed on, such as X-Forwarded-User. Absent: people "
        "log in with password or token; present: only so.",
    )
    trusted_proxies: list[str] = Field(
        default_factory=list,
        description="Addresses and networks of the proxies that are believed, such as 10.0.0.5 or 10.1.0.0/16.",
    )
    lease_seconds: float = Field(15, gt=0, le=300, description="How long a client may serve without hearing from us.")
    max_body_bytes: int = Field(32 * 2**20, gt=0, description="Largest request body taken, in bytes.")
    rate_per_second: float = Field(
        1_000,
        ge=0,
        description="Requests a second that one token may send to one web process, twice as many at once; 0 is no "
        "limit.",
    )
    streams_per_token: int = Field(2000, ge=1, description="Event streams that one token may hold open in one process.")
    step_lease_seconds: float = Field(120, gt=0, description="How long a worker holds a pipeline step unrenewed.")
    step_attempts: int = Field(3, ge=1, description="Attempts before a step is parked.")
    reconcile_seconds: float = Field(10, gt=0, description="How often absent work is re-issued from the database.")
    relay_seconds: float = Field(0.2, gt=0, description="How often the relay looks for unsent events.")
    tick_seconds: float = Field(20, gt=0, description="How often schedules are compared with the ledger.")
    visibility_timeout: int = Field(600, ge=1, description="Seconds until the broker redelivers an unacked message.")
    soft_shutdown_seconds: float = Field(
        20, ge=0, description="How long a worker that is told to stop may finish its step before it gives it back."
    )
    log_format: Literal["text", "json"] = Field("text", description="How log lines are written.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="Least level logged.")
    drafter: Literal["statistical", "model"] = Field(
        "statistical", description="Who words what a night confirmed; `model` needs `SLOWWAVE_MODEL_NAME`."
    )
    model_provider: Literal["openai", "anthropic"] = Field(
        "openai", description="Protocol of the model's endpoint; `openai` is any endpoint that is compatible."
    )
    model_url: str | None = Field(
        None, description="Base URL of the endpoint, such as http://127.0.0.1:8080/v1. Absent: the provider's own."
    )
    model_name: str | None = Field(None, description="Model to ask. Absent: no model is set up.")
    model_key: SecretStr | None = Field(None, description="Key of the endpoint; never logged, never stored.")
    model_format: Literal["schema", "object", "json", "text"] = Field(
        "schema",
        description="How JSON is asked for: a schema, a JSON object with one (llama.cpp), any JSON, the prompt alone.",
    )
    model_sampling: Literal["seeded", "default"] = Field(
        "seeded", description="`default` sends no temperature and no seed, for models that refuse them."
    )
    model_timeout_seconds: float = Field(60, gt=0, description="How long one answer may take before it is given up.")
    model_calls: int = Field(60, ge=0, description="Model calls in one night of a namespace, at most.")
    model_tokens: int = Field(
        500_000, ge=0, description="Model tokens, both ways, in one night of a namespace, at most."
    )
    model_seconds: float = Field(
        180, ge=0, description="Seconds spent waiting for a model in one night of a namespace, at most."
    )
    model_prompt_tokens: int = Field(12_000, ge=500, description="Tokens of episodes in one prompt, about.")
    model_answer_tokens: int = Field(1_500, ge=100, description="Tokens of one answer, at most.")
    model_repeat: bool = Field(True, description="Draft a second time, to see whether the claims agree.")
    embedder: Literal["lexical", "openai", "fastembed", "sentence-transformers", "onnx"] = Field(
        "lexical", description="What tasks are compared by; every other than `lexical` needs `SLOWWAVE_EMBEDDER_MODEL`."
    )
    embedder_model: str | None = Field(None, description="Name of the embedding model; for `onnx` its folder.")
    embedder_url: str | None = Field(
        None, description="Base URL of the embeddings endpoint, such as http://127.0.0.1:8080/v1; needed for `openai`."
    )
    embedder_key: SecretStr | None = Field(None, description="Key of that endpoint; never logged, never stored.")
    embedder_timeout_seconds: float = Field(30, gt=0, description="How long one batch of embeddings may take.")
    trace_content: bool = Field(
        False, description="Put the texts of tasks and rules into the spans of OpenTelemetry; otherwise only counts."
    )
    token: SecretStr | None = Field(None, description="Personal token that `approve`, `reject` and `revoke` act with.")

    @field_validator("secret_key")
    @classmethod
    def _long_enough(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value()) < 32:
            raise ValueError("must have at least 32 characters; make one with: openssl rand -hex 32")
        return value

    @field_validator("proxy_user_header")
    @classmethod
    def _is_a_header(cls, value: str | None) -> str | None:
        if value is not None and (not HEADER.fullmatch(value) or value.lower() in NO_NAMES):
            raise ValueError("must be the name of a header that your proxy sets itself, such as X-Forwarded-User")
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, value: list[str]) -> list[str]:
        for each in value:
            try:
                network = ipaddress.ip_network(each)
            except ValueError as wrong:
                raise ValueError(f"{each!r} is no address and no network: {wrong}") from None
            if network.prefixlen == 0:
                raise ValueError(f"{each!r} is every address there is: name those of your proxies only")
        return value

    @model_validator(mode="after")
    def _proxy_is_named(self) -> Settings:
        if self.proxy_user_header is not None and not self.trusted_proxies:
            raise ValueError(
                "SLOWWAVE_PROXY_USER_HEADER needs SLOWWAVE_TRUSTED_PROXIES: the addresses from which that header is "
                "believed; without them anybody could sign on as anybody"
            )
        return self

    @model_validator(mode="after")
    def _model_is_named(self) -> Settings:
        if self.drafter == "model" and not self.model_name:
            raise ValueError("SLOWWAVE_DRAFTER=model needs SLOWWAVE_MODEL_NAME: the model to ask")
        return self

    @model_validator(mode="after")
    def _embedder_is_named(self) -> Settings:
        if self.embedder != "lexical" and not self.embedder_model:
            raise ValueError(f"SLOWWAVE_EMBEDDER={self.embedder} needs SLOWWAVE_EMBEDDER_MODEL: a model or its folder")
        if self.embedder == "openai" and not self.embedder_url:
            raise ValueError("SLOWWAVE_EMBEDDER=openai needs SLOWWAVE_EMBEDDER_URL: the base URL, ending in /v1")
        return self

    @property
    def resolved_database_url(self) -> str:
        """The database URL, defaulted to SQLite in the home folder."""
        return self.database_url or f"sqlite:///{(self.home / 'slowwave.db').resolve()}"

    @property
    def redis_socket(self) -> Path:
        """Unix socket of the bundled server. A socket path may hold about 100 bytes, so a long home uses /tmp."""
        path = (self.home / "redis.sock").resolve()
        if len(str(path)) < 100:
            return path
        digest = f"{hash_path(path):x}"
        return Path("/tmp") / f"slowwave-{os.getuid()}-{digest}.sock"  # noqa: S108 - holds no data; server owns it

    @property
    def resolved_redis_url(self) -> str:
        """The Redis URL for redis-py, defaulted to the bundled server's socket."""
        return self.redis_url or f"unix://{self.redis_socket}"

    @property
    def broker_url(self) -> str:
        """The same server as Celery spells it."""
        return self.resolved_redis_url.replace("unix://", "redis+socket://", 1)

    def secret(self) -> bytes:
        """The secret key; made once in the home folder (mode 0600) where no setting gives it."""
        if self.secret_key is not None:
            return self.secret_key.get_secret_value().encode()
        path = self.home / "secret.key"
        self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            return path.read_text().strip().encode()
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_hex(32))
        return path.read_text().strip().encode()


def hash_path(path: Path) -> int:
    """A short stable number for a path (FNV-1a), so that two homes never share a socket by accident."""
    value = 0xCBF29CE484222325
    for byte in str(path).encode():
        value = ((value ^ byte) * 0x100000001B3) & (2**64 - 1)
    return value
