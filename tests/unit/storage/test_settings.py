"""Settings: typed, and a bad value explains itself."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from pydantic import ValidationError

from storage.settings import Settings


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"SLOWWAVE_{name.upper()}", raising=False)
    monkeypatch.chdir(tmp_path)


def test_without_any_setting_everything_is_local() -> None:
    settings = Settings()
    assert settings.resolved_database_url.startswith("sqlite:///")
    assert settings.resolved_redis_url.startswith("unix:///")
    assert settings.host == "127.0.0.1"


def test_celery_gets_the_same_server_in_its_own_spelling() -> None:
    assert Settings().broker_url == Settings().resolved_redis_url.replace("unix://", "redis+socket://")
    assert Settings(redis_url="redis://host:1/0").broker_url == "redis://host:1/0"


def test_real_servers_are_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", "postgresql+psycopg://host/db")
    monkeypatch.setenv("SLOWWAVE_REDIS_URL", "redis://host:6379/0")
    settings = Settings()
    assert settings.resolved_database_url == "postgresql+psycopg://host/db"
    assert settings.resolved_redis_url == "redis://host:6379/0"


def test_a_short_secret_is_refused_with_the_way_to_make_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWWAVE_SECRET_KEY", "short")
    with pytest.raises(ValidationError, match="openssl rand -hex 32"):
        Settings()


OUT_OF_RANGE = [("PORT", "99999"), ("LEASE_SECONDS", "0"), ("LOG_FORMAT", "xml"), ("STEP_ATTEMPTS", "0")]


@pytest.mark.parametrize(("name", "value"), OUT_OF_RANGE)
def test_a_value_out_of_range_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"SLOWWAVE_{name}", value)
    with pytest.raises(ValidationError, match=name.lower()):
        Settings()


def test_the_secret_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    assert settings.secret() == settings.secret()
    assert len(settings.secret()) == 64
    assert stat.S_IMODE((tmp_path / "home" / "secret.key").stat().st_mode) == 0o600


def test_a_given_secret_leaves_no_file(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", secret_key="k" * 32)
    assert settings.secret() == b"k" * 32
    assert not (tmp_path / "home").exists()


def test_a_secret_does_not_show_in_print() -> None:
    assert "kkkk" not in repr(Settings(secret_key="k" * 32))


def test_a_long_home_gets_a_short_socket(tmp_path: Path) -> None:
    long, other = (Settings(home=tmp_path / (letter * 120)) for letter in "ab")
    assert len(str(long.redis_socket)) < 100
    assert long.redis_socket != other.redis_socket


def test_an_empty_variable_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWWAVE_HOME", "")
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", "")
    assert Settings().home == Path(".slowwave")
    assert Settings().resolved_database_url.endswith("/.slowwave/slowwave.db")
