"""The dashboard that comes along asks for figures that there are, and is one that Grafana takes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from read_api.metrics import Metrics
from review_ui.figures import Figures
from storage.engine import Database

NAME = re.compile(r"\bslowwave_[a-z_]+\b")
ENDS = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("_total",), "gauge": ("",)}


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """One database is enough: the names are the same on both."""
    return sqlite_database


@pytest.fixture
def board() -> dict[str, Any]:
    file = Path(__file__).parents[3] / "docs" / "grafana" / "slowwave.json"
    found: dict[str, Any] = json.loads(file.read_text())
    return found


@pytest.fixture
def told(database: Database) -> set[str]:
    """The names of the series that both apps tell."""
    texts = (generate_latest(Metrics().registry).decode(), Figures(database).text().decode())
    families = [family for text in texts for family in text_string_to_metric_families(text)]
    return {family.name + end for family in families for end in ENDS[family.type]}


def asked(board: dict[str, Any]) -> set[str]:
    expressions = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    return {name for expression in expressions for name in NAME.findall(expression)}


def test_every_figure_of_the_dashboard_is_told_by_one_of_the_apps(board: dict[str, Any], told: set[str]) -> None:
    assert asked(board) - told == set()


def test_every_figure_of_the_store_is_on_the_dashboard(board: dict[str, Any], database: Database) -> None:
    families = text_string_to_metric_families(Figures(database).text().decode())
    assert {family.name for family in families} - asked(board) == set()


def test_the_dashboard_has_what_grafana_needs_and_names_no_data_source_of_its_own(board: dict[str, Any]) -> None:
    assert {"uid", "title", "schemaVersion", "panels", "templating", "time"} <= set(board)
    assert [(one["name"], one["type"], one["query"]) for one in board["templating"]["list"]] == [
        ("datasource", "datasource", "prometheus")
    ]
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
    for panel in board["panels"]:
        assert {"id", "type", "title", "gridPos"} <= set(panel)
        assert set(panel["gridPos"]) == {"h", "w", "x", "y"}
        if panel["type"] != "row":
            assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
            assert [target["refId"] for target in panel["targets"]] == sorted(
                {target["refId"] for target in panel["targets"]}
            )


def test_no_two_panels_lie_on_each_other(board: dict[str, Any]) -> None:
    taken: set[tuple[int, int]] = set()
    for place in (panel["gridPos"] for panel in board["panels"]):
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells
