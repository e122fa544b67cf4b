"""The nodes that pytest-celery drives are processes of this machine, and behave as its containers do."""

from __future__ import annotations

import pytest
from pytest_celery import CeleryTestSetup

pytestmark = pytest.mark.processes

PING = "pytest_celery.vendors.worker.tasks.ping"


def test_a_worker_answers_pings_as_task_and_as_control(celery_setup: CeleryTestSetup) -> None:
    assert celery_setup.ready(ping=True, control=True, docker=True)
    assert len(celery_setup) == 3
    assert celery_setup.worker.hostname() in celery_setup.app.control.ping()[0]


def test_a_killed_worker_is_gone_and_comes_back(celery_setup: CeleryTestSetup) -> None:
    first = celery_setup.worker.container.pid
    celery_setup.worker.kill()
    assert celery_setup.worker.container.status == "exited"
    celery_setup.worker.restart()
    assert celery_setup.worker.container.pid != first
    assert celery_setup.ready(ping=True)


def test_a_restarted_broker_keeps_serving(celery_setup: CeleryTestSetup) -> None:
    assert celery_setup.ready(ping=True)
    celery_setup.broker.restart()
    assert celery_setup.ready(ping=True)
