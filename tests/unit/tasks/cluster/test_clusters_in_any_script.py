"""Clusters do not depend on the language: no feature assumes that words are parted by spaces."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import v_measure_score

from tasks.cluster import groups

_SPEC = importlib.util.spec_from_file_location("parallel", Path(__file__).with_name("parallel.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
parallel: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(parallel)
ENGLISH, CHINESE, JAPANESE = 1, 2, 3


def v_measure(language: int, rows: Any = parallel.TASKS) -> tuple[float, list[str]]:
    """Against the true groups, and the clusters themselves."""
    tasks = [groups.Task(f"t{place:03d}", row[language]) for place, row in enumerate(rows)]
    assigned = groups.assign("family", tasks)
    found = [assigned[task.key] for task in tasks]
    return float(v_measure_score([row[0] for row in rows], found)), found


def test_a_set_in_chinese_clusters_as_well_as_its_translation() -> None:
    english, _ = v_measure(ENGLISH)
    chinese, _ = v_measure(CHINESE)
    print(f"English {english:.3f}, Chinese {chinese:.3f}")
    assert abs(english - chinese) <= 0.05
    assert min(english, chinese) > 0.6


@pytest.mark.parametrize("language", [CHINESE, JAPANESE])
def test_one_cluster_tells_of_one_group_in_scripts_without_spaces(language: int) -> None:
    rows = [row for row in parallel.TASKS if row[language]]
    _, found = v_measure(language, rows)
    pure = sum(
        max(sum(row[0] == group for row, one in zip(rows, found, strict=True) if one == cluster) for group in
            {row[0] for row in rows})
        for cluster in set(found)
    )  # fmt: skip
    assert pure / len(rows) >= 0.8
