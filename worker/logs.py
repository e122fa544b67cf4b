"""structlog for our events and the standard library's: constant event names with values, to standard error."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog

from storage.settings import Settings

HIDDEN = ("token", "secret", "password", "authorization", "cookie", "key_material")
NOISY = ("alembic", "amqp", "celery.app.trace", "celery.beat", "celery.worker.strategy", "httpcore", "httpx", "kombu")
SHARED: tuple[Any, ...] = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)


def configure(settings: Settings, *, level: str | None = None) -> None:
    """Send every log line to standard error, as text for people or as JSON for machines."""
    renderer: Any = structlog.processors.JSONRenderer()
    tail: list[Any] = [structlog.processors.format_exc_info]
    if settings.log_format == "text":
        # Never the default formatter: it prints every local variable, passwords and keys among them, page after page.
        renderer = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
        tail = []
    structlog.configure(
        processors=[*SHARED, hide_secrets, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = _ToStandardError()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*SHARED, hide_secrets],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *tail, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level or settings.log_level)
    for name in NOISY:
        logging.getLogger(name).setLevel(max(root.level, logging.WARNING))


class _ToStandardError(logging.StreamHandler[TextIO]):
    """Looks standard error up for each line, since it may have been redirected since."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def hide_secrets(_logger: Any, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Blank every value whose name says that it is a secret: the last line of defence, not the first."""
    for key in event:
        if any(word in key.lower() for word in HIDDEN) and not isinstance(event[key], bool | int):
            event[key] = "[hidden]"
    return event
