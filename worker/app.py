"""The Celery application: ``celery -A worker.app worker`` and ``celery -A worker.app beat``.

Redis carries hints; the ledger in the database decides. The limits keep an order: statement timeout (30 s) below the
soft limit below the hard limit below the broker's visibility timeout, so that a slow query fails before its task is
cut, and a task is cut before a second copy of its message appears.
"""

from __future__ import annotations

import socket
import warnings
from typing import Any

from celery import Celery
from celery.platforms import SecurityWarning
from celery.signals import setup_logging, worker_process_init, worker_shutdown

from storage.settings import Settings
from tasks.stages import KINDS
from worker import resources
from worker.logs import configure

SOFT_LIMIT_SECONDS = 240
HARD_LIMIT_SECONDS = 300
QUEUE = "slowwave"
JOBS = (
    "tasks.select.job", "tasks.cluster.job", "tasks.contrast.job", "tasks.draft.job", "tasks.conflict.job",
    "tasks.verify.job", "tasks.stage.job", "tasks.recheck.job", "tasks.revoke.job", "worker.periodic",
)  # fmt: skip


def make_app(settings: Settings) -> Celery:
    """The application for these settings. It connects to nothing until it is used."""
    app = Celery("slowwave", task_cls="worker.base_task:StepTask", include=list(JOBS))
    app.conf.update(configuration(settings))
    return app


def configuration(settings: Settings) -> dict[str, Any]:
    """Celery's configuration. Every choice answers a fault named in docs/reliability.md."""
    transport = {
        "visibility_timeout": settings.visibility_timeout,
        # How often lost messages are looked for. With the defaults it is 100 seconds apart.
        "unacked_restore_interval": max(1, min(10, settings.visibility_timeout // 3)),
        "unacked_restore_throttle": 1,
        "socket_connect_timeout": 5,
        "socket_timeout": 30,
        "retry_on_timeout": True,
        "health_check_interval": 10,
        "global_keyprefix": "slowwave:celery:",
        **_keepalive(settings.broker_url),
    }
    return {
        "broker_url": settings.broker_url,
        "broker_transport_options": transport,
        "result_backend_transport_options": {"visibility_timeout": settings.visibility_timeout},
        "visibility_timeout": settings.visibility_timeout,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_connection_timeout": 5,
        "task_ignore_result": True,
        "task_store_errors_even_if_ignored": False,
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "task_acks_on_failure_or_timeout": True,
        "task_default_queue": QUEUE,
        "task_create_missing_queues": True,
        "task_serializer": "json",
        "accept_content": ["json"],
        "task_soft_time_limit": min(SOFT_LIMIT_SECONDS, settings.visibility_timeout * 2 // 5),
        "task_time_limit": min(HARD_LIMIT_SECONDS, settings.visibility_timeout // 2),
        "task_track_started": False,
        "worker_prefetch_multiplier": 1,
        "worker_cancel_long_running_tasks_on_connection_loss": True,
        "worker_soft_shutdown_timeout": settings.soft_shutdown_seconds,
        "worker_send_task_events": False,
        # Nothing asks workers anything, so no mailboxes grow in Redis: health is read from the ledger.
        "worker_enable_remote_control": False,
        "worker_hijack_root_logger": False,
        "worker_max_tasks_per_child": 200,
        "control_queue_expires": 60.0,
        "control_queue_ttl": 60.0,
        "event_queue_expires": 60.0,
        "timezone": "UTC",
        "enable_utc": True,
        "beat_schedule": beat_schedule(settings),
        "beat_max_loop_interval": 5,
    }


def beat_schedule(settings: Settings) -> dict[str, Any]:
    """Two static entries. What is due is computed from the database, so that beat may stop, skip or run twice."""
    return {
        "slowwave.tick": _every("slowwave.tick", settings.tick_seconds),
        "slowwave.reconcile": _every("slowwave.reconcile", settings.reconcile_seconds),
    }


def _every(task: str, seconds: float) -> dict[str, Any]:
    # An entry that waited longer than a few periods is worthless: the next one does the same.
    return {"task": task, "schedule": seconds, "options": {"expires": max(seconds * 3, 30)}}


def _keepalive(broker_url: str) -> dict[str, Any]:
    """TCP keepalive, so that a broker that vanished is noticed; a Unix socket has none."""
    if broker_url.startswith("redis+socket"):
        return {}
    names = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
    options = {getattr(socket, name): value for name, value in names.items() if hasattr(socket, name)}
    return {"socket_keepalive": True, "socket_keepalive_options": options}


def task_names() -> list[str]:
    """Every task this version knows."""
    stages = sorted({stage for stages in KINDS.values() for stage in stages})
    return [f"slowwave.{stage}" for stage in stages] + ["slowwave.tick", "slowwave.reconcile"]


@worker_process_init.connect
def _after_fork(**_: Any) -> None:
    resources.forget()


@worker_shutdown.connect
def _at_shutdown(**_: Any) -> None:
    resources.forget()


@setup_logging.connect
def _logging(**_: Any) -> None:
    configure(resources.settings())


# Celery fears code in pickled messages under root; only JSON is accepted here.
warnings.filterwarnings("ignore", category=SecurityWarning)

app = make_app(resources.settings())
