"""Quality of the clusters against plain methods on the same vectors: ``python benchmarks/clusters.py --data FOLDER``.

Four sets: first texts of tau runs by task, ALFWorld tasks by type, BANKING77 and CLINC150 queries by intent. V-measure
(Rosenberg and Hirschberg 2007) and adjusted Rand index of ours, of HDBSCAN (its noise is one group), of k-means with k
by silhouette; k-means given the true k is a ceiling, not a rival. Then the time that many generated texts take.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score, v_measure_score

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tasks.cluster import groups  # noqa: E402 - the path above comes first
from tasks.cluster.derive import derive  # noqa: E402
from tasks.cluster.vectors import TextSpace  # noqa: E402
from tasks.ingest.importers.base import Imported  # noqa: E402
from tasks.ingest.importers.registry import choose  # noqa: E402
from tasks.ingest.source import Source, SourceBroken  # noqa: E402
from worlds import WORLDS, generate  # noqa: E402

Labelled = list[tuple[str, str]]
START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
QUICK, SCALE = 400, 100_000
SMALLEST = 5
"""HDBSCAN's default size of a cluster."""


@dataclass(frozen=True)
class Score:
    """One method on one set."""

    data: str
    method: str
    texts: int
    true_groups: int
    groups: int
    v_measure: float
    ari: float


def main() -> None:
    """Measure, then print a table or JSON; exit code 1 where ours is below the better baseline on a set."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the four sets")
    asked.add_argument("--quick", action="store_true", help=f"{QUICK} texts of each set, a tenth of the scale")
    asked.add_argument("--json", action="store_true")
    given = asked.parse_args()
    warnings.filterwarnings("ignore", category=FutureWarning)
    scores: list[Score] = []
    below = []
    for name, labelled in _sets(given.data):
        chosen = _spread(labelled, QUICK) if given.quick else labelled
        found = list(_scores(name, chosen))
        scores += found
        ours, rivals = found[0].v_measure, [score.v_measure for score in found[1:3]]
        below += [name] if ours < max(rivals) else []
        if not given.json:
            print(*map(_line, found), sep="\n")
    scale = _scale(SCALE // 10 if given.quick else SCALE)
    if given.json:
        print(json.dumps({"scores": [asdict(score) for score in scores], "below": below, "scale": scale}))
    else:
        print(*(f"{key:32} {value}" for key, value in scale.items()), sep="\n")
        print("below the better baseline:", ", ".join(below) or "none")
    raise SystemExit(1 if below or not scores else 0)


def _line(score: Score) -> str:
    return (
        f"{score.data:10} {score.method:22} texts {score.texts:5} true {score.true_groups:4} "
        f"groups {score.groups:4}  V {score.v_measure:.3f}  ARI {score.ari:.3f}"
    )


def _scores(name: str, labelled: Labelled) -> Iterator[Score]:
    texts, true = [text for text, _ in labelled], [label for _, label in labelled]
    rows = TextSpace(texts).rows
    methods: dict[str, Callable[[], Any]] = {
        "ours": lambda: _ours(texts, rows),
        "HDBSCAN": lambda: HDBSCAN(min_cluster_size=SMALLEST, copy=True).fit_predict(rows),
        "k-means, silhouette": lambda: _by_silhouette(rows),
        "k-means, true k": lambda: _k_means(rows, len(set(true))),
    }
    for method, run in methods.items():
        found = [str(label) for label in run()]
        v, ari = float(v_measure_score(true, found)), float(adjusted_rand_score(true, found))
        yield Score(name, method, len(texts), len(set(true)), len(set(found)), round(v, 4), round(ari, 4))


def _ours(texts: list[str], rows: Any) -> list[str]:
    """The very vectors that the others get; texts are given in their order, as tasks of one family."""
    tasks = [groups.Task(f"{index:06d}", f"{index:06d}") for index in range(len(texts))]
    vectors = {task.text: row for task, row in zip(tasks, rows, strict=True)}
    assigned = groups.assign("family", tasks, vectors)
    return [assigned[task.key] for task in tasks]


def _by_silhouette(rows: Any) -> Any:
    """k over a grid of powers of the root of two, up to half of the texts; the silhouette is over all texts.

    Over a sample it picks far fewer groups and scores lower: an easier rival.
    """
    grid = sorted({int(2 ** (step / 2)) for step in range(2, int(2 * np.log2(len(rows) / 2)) + 1)})
    labelled = [_k_means(rows, k) for k in grid]
    return max(labelled, key=lambda labels: silhouette_score(rows, labels))


def _k_means(rows: Any, k: int) -> Any:
    return KMeans(k, n_init=2, random_state=0).fit_predict(rows)


def _sets(data: Path) -> Iterator[tuple[str, Labelled]]:
    yield "tau", [(task, key) for task, key in _episodes(data / "tau")]
    yield "ALFWorld", [(task, key.split("-")[0]) for task, key in _episodes(data / "alfworld")]
    with (data / "clustering" / "banking77_test.csv").open(encoding="utf-8", newline="") as file:
        yield "BANKING77", [(row["text"], row["category"]) for row in csv.DictReader(file)]
    clinc = json.loads((data / "clustering" / "clinc150_data_full.json").read_text("utf-8"))
    yield "CLINC150", [(text, label) for text, label in clinc["test"]]


def _episodes(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith("LABELS"):
            continue
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        source = Source(io.BytesIO(data), path.name, path.name, path.name)
        try:
            for each in choose(source, "auto").read(source):
                if isinstance(each, Imported) and each.episode.task_key:
                    yield each.episode.task, each.episode.task_key
        except SourceBroken as broken:
            print(f"{path.name}: {broken.reason}", file=sys.stderr)


def _spread(labelled: Labelled, most: int) -> Labelled:
    step = max(1, len(labelled) // most)
    return labelled[::step][:most]


def _scale(size: int) -> dict[str, str]:
    """Seconds for many generated texts: their tasks derived, and each text clustered as if it were a task."""
    texts = [one["task"] for one in generate(7, min(size, 20_000), worlds=tuple(WORLDS), start=START)]
    texts = [f"{texts[index % len(texts)]} {index}" for index in range(size)]
    began = time.perf_counter()
    strata = derive([(f"{index:06d}", text) for index, text in enumerate(texts)], [])
    derived = time.perf_counter()
    tasks = [groups.Task(f"{index:06d}", text) for index, text in enumerate(texts)]
    clusters = groups.assign("family", tasks)
    ended = time.perf_counter()
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        f"{size} texts into {len(set(strata.values()))} tasks": f"{derived - began:.1f} s",
        f"{size} tasks into {len(set(clusters.values()))} clusters": f"{ended - derived:.1f} s",
        "most memory held": f"{megabytes:.0f} MB",
    }


if __name__ == "__main__":
    main()
