from __future__ import annotations

import pytest

from storage.engine import STATEMENT_TIMEOUT_MS
from storage.settings import Settings
from worker.app import app, configuration, make_app, task_names


@pytest.mark.parametrize("visibility", [600, 120, 3600])
def test_limits_keep_their_order(visibility: int) -> None:
    conf = configuration(Settings(visibility_timeout=visibility))
    assert conf["task_soft_time_limit"] < conf["task_time_limit"] < visibility


def test_a_query_is_cut_before_its_task() -> None:
    assert configuration(Settings())["task_soft_time_limit"] > STATEMENT_TIMEOUT_MS / 1000


def test_all_three_visibility_settings_agree() -> None:
    conf = configuration(Settings(visibility_timeout=77))
    assert conf["broker_transport_options"]["visibility_timeout"] == 77
    assert conf["result_backend_transport_options"]["visibility_timeout"] == 77
    assert conf["visibility_timeout"] == 77


def test_work_is_acknowledged_late_and_given_back_when_its_process_dies() -> None:
    conf = configuration(Settings())
    assert conf["task_acks_late"]
    assert conf["task_reject_on_worker_lost"]
    assert conf["worker_prefetch_multiplier"] == 1
    assert conf["worker_cancel_long_running_tasks_on_connection_loss"]


def test_nothing_is_left_to_grow_in_redis() -> None:
    conf = configuration(Settings())
    assert conf["task_ignore_result"]
    assert not conf["worker_enable_remote_control"]
    assert not conf["worker_send_task_events"]


def test_only_json_is_taken_from_the_broker() -> None:
    assert configuration(Settings())["accept_content"] == ["json"]


def test_a_unix_socket_has_no_tcp_options() -> None:
    local = configuration(Settings(redis_url="unix:///run/redis.sock"))
    remote = configuration(Settings(redis_url="redis://db.example:6379/0"))
    assert local["broker_url"] == "redis+socket:///run/redis.sock"
    assert "socket_keepalive" not in local["broker_transport_options"]
    assert remote["broker_transport_options"]["socket_keepalive"]


def test_every_task_has_an_explicit_name_and_is_registered() -> None:
    app.loader.import_default_modules()
    assert {name for name in app.tasks if name.startswith("slowwave.")} == set(task_names())


def test_beat_sends_known_tasks_only() -> None:
    made = make_app(Settings())
    assert {entry["task"] for entry in made.conf.beat_schedule.values()} <= set(task_names())
