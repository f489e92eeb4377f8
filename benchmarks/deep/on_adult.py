"""Adult as in DP-auto-GAN's paper: its measures, ours beside them, for several trainings."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from attrs import frozen
from benchmarks.common.printing import Lines
from benchmarks.deep import adult as source
from benchmarks.deep import figures
from benchmarks.deep import measures as m
from benchmarks.deep.store import Record, Store

import sfumato as sf
from sfumato.evaluation.distances import jensen_shannon, smoothed_kl
from sfumato.evaluation.gather import pair_tables
from sfumato.evaluation.metric import metrics
from sfumato.evaluation.settings import Settings
from sfumato.schema.read import read_schema

DELTA = 1e-5
OPTIONS = {
    "dp-auto-gan": {
        "rows": source.ROWS,
        "numeric": "ranks",
        "rectify_marginals": True,
        "autoencoder_steps": 600,
        "autoencoder_batch": 256.0,
        "critic_steps": 400,
        "critic_batch": 256.0,
        "critic_rate": 0.002,
        "generator_rate": 0.002,
        "critic_per_generator": 1,
        "generator_steps": 1,
    }
}  # fmt: skip
PUBLISHED = {
    # Total divergence, Jensen-Shannon distance, mean gap of predictions, accuracy of a forest on 32,561 rows.
    ("dp-auto-gan", 0.36): (0.8121, 0.3347, 0.3138, 0.7466),
    ("dp-auto-gan", 0.51): (0.4842, 0.2312, 0.1910, 0.7868),
    ("dp-auto-gan", 1.01): (0.5270, 0.1950, 0.1948, 0.7920),
    ("dp-wgan", 0.36): (5.2634, 1.2908, 0.4024),
    ("dp-wgan", 0.51): (6.3901, 2.4067, 0.2210),
    ("dp-wgan", 1.01): (1.5316, 0.7329, 0.1780),
    ("dp-vae", 0.36): (2.5182, 0.7972, 0.3806),
    ("dp-vae", 0.51): (1.1732, 0.4371, 0.2487),
    ("dp-vae", 1.01): (0.5831, 0.2267, 0.2149),
    ("dp-syn", 0.5): (0.9885, 0.2524, 0.0720),
    ("dp-syn", 0.8): (0.9998, 0.2696, 0.0646),
    ("dp-syn", 1.4): (1.0179, 0.2823, 0.0578),
}
"""From the paper's repository."""
SUITE = ("marginals.nist", "structure.pca", "prediction.dimension_wise")
MEAN = ("divergence", "jsd", "gap", "accuracy", "nist", "pca", "own_gap", "fit")


@frozen(kw_only=True)
class Bench:
    """Rows, what is public of them, and what was found before."""

    train: pl.DataFrame
    test: pl.DataFrame
    values: dict[str, Sequence[str]]
    store: Store
    trees: int
    whole: bool
    """Whether measures of `sfumato.evaluate` are taken too, of the first training."""

    def drawn(self, names: Record) -> tuple[pl.DataFrame, float]:
        """As many rows as there are real ones, of one model, and what that took."""

        def make() -> pl.DataFrame:
            model = sf.fit(
                self.train, epsilon=names["epsilon"], delta=DELTA, method=names["method"],
                schema=source.schema(), options=names["options"],
            )  # fmt: skip
            return model.sample(self.train.height, seed=names["seed"])

        return self.store.rows(make, **names)

    def forest(self, rows: pl.DataFrame, names: Record) -> float:
        """Accuracy of the paper's forest."""

        def make() -> Record:
            return {"accuracy": m.forest_accuracy(rows, self.test, "income", self.values, self.trees)}

        return self.store.record(make, what="forest", trees=self.trees, **names)["accuracy"]

    def scores(self, rows: pl.DataFrame, names: Record) -> dict[str, float]:
        """How well each column is predicted on test rows, learnt from `rows`."""

        def make() -> Record:
            return {name: m.prediction(rows, self.test, name, self.values) for name in rows.columns}

        return self.store.record(make, what="scores", **names)

    def suite(self, rows: pl.DataFrame, names: Record) -> Record:
        """Measures of `sfumato.evaluate`, with points on the plane of two principal axes."""

        def make() -> Record:
            pair = pair_tables(self.train, rows, holdout=self.test, schema=read_schema(source.schema()))
            settings = Settings()
            found = {}
            for name in SUITE:
                for outcome in metrics[name].outcomes(pair, settings):
                    if outcome.name == name:
                        found[name] = outcome.value
                        if name == "structure.pca":
                            found["plane"] = [
                                [a, round(x, 3), round(y, 3)] for a, x, y in outcome.details.rows
                            ]
            return found

        return self.store.record(make, what="suite", **names)

    def facts(self, rows: pl.DataFrame, names: Record) -> dict[str, float]:
        """All measures of one model's rows."""
        pairs = [
            (m.shares(self.train[name], self.values[name]), m.shares(rows[name], self.values[name]))
            for name in source.DIVERGED
        ]
        truth, found = self.scores(self.train, {"method": "real"}), self.scores(rows, names)
        suite = self.suite(rows, names) if self.whole and names["seed"] == 0 else {}
        return {
            "divergence": sum(smoothed_kl(p, q) for p, q in pairs),
            "jsd": sum(jensen_shannon(p, q) for p, q in pairs),
            "gap": float(np.mean([abs(truth[name] - found[name]) for name in self.values])),
            "nist": suite.get("marginals.nist", np.nan),
            "pca": suite.get("structure.pca", np.nan),
            "own_gap": suite.get("prediction.dimension_wise", np.nan),
            "accuracy": self.forest(rows, names),
        }


def adult(asked: argparse.Namespace) -> None:
    """A line for each method and epsilon, the mean over trainings, beside what was published."""
    train, test = source.read()
    if asked.rows:
        train = train.sample(min(asked.rows, train.height), seed=1)
    bench = Bench(
        train=train, test=test, store=Store(asked.results, asked.at_most), trees=asked.trees, whole=asked.figures is not None,
        values={name: text.split(",") for name, text in source.VALUES.items()},
    )  # fmt: skip
    lines = Lines(
        method=13, epsilon=7, seeds=5, divergence=10, jsd=6, gap=6, accuracy=8, lowest=7, nist=6, pca=6,
        own_gap=7, fit_cpu=7,
    )  # fmt: skip
    for epsilon in asked.epsilon:
        for method in asked.methods:
            found: list[dict[str, float]] = []
            for seed in range(asked.seeds):
                names = _names(method, epsilon, seed, train.height, asked.options)
                rows, spent = bench.drawn(names)
                found.append(bench.facts(rows, names) | {"fit": spent})
            mean = {key: _mean([each[key] for each in found]) for key in MEAN}
            lowest = min(each["accuracy"] for each in found)
            lines.add(
                method, f"{epsilon:g}", str(asked.seeds), f"{mean['divergence']:.4f}", f"{mean['jsd']:.4f}",
                f"{mean['gap']:.4f}", f"{mean['accuracy']:.4f}", f"{lowest:.4f}", _known(mean["nist"]),
                _known(mean["pca"]), _known(mean["own_gap"]), f"{mean['fit']:.1f}",
            )  # fmt: skip
        if (published := PUBLISHED.get(("dp-auto-gan", epsilon))) is not None:
            lines.add("(published)", f"{epsilon:g}", "", *(f"{value:.4f}" for value in published))
    lines.add("real rows", "", "", "", "", "", f"{bench.forest(train, {'method': 'real'}):.4f}")
    for (method, epsilon), published in PUBLISHED.items():
        if method != "dp-auto-gan":
            lines.add(f"({method})", f"{epsilon:g}", "", *(f"{value:.4f}" for value in published))
    if asked.figures:
        _figures(bench, asked)


def _known(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.4f}"


def _mean(values: Sequence[float]) -> float:
    """Of the values that are there."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def _names(method: str, epsilon: float, seed: int, rows: int, options: dict[str, Any]) -> Record:
    given = OPTIONS.get(method, {})
    given = given | {"rows": rows, "initial": seed} | options if given else {}
    return {"method": method, "epsilon": epsilon, "seed": seed, "rows": rows, "options": given}


def _figures(bench: Bench, asked: argparse.Namespace) -> None:
    """The first training of each method at the middle epsilon: planes, histograms, and dimension by dimension."""
    folder: Path = asked.figures
    folder.mkdir(parents=True, exist_ok=True)
    epsilon = sorted(asked.epsilon)[len(asked.epsilon) // 2]
    title = f"Adult, epsilon {epsilon:g}"
    planes, tables, scores = {}, {"real": bench.train}, {}
    for method in asked.methods:
        names = _names(method, epsilon, 0, bench.train.height, asked.options)
        tables[method], _ = bench.drawn(names)
        scores[method] = bench.scores(tables[method], names)
        plane = bench.suite(tables[method], names)["plane"]
        planes.setdefault("real", [(x, y) for side, x, y in plane if side == "real"])
        planes[method] = [(x, y) for side, x, y in plane if side == "synthetic"]
    figures.planes(folder / "deep-adult-plane.svg", f"{title}: two principal axes of the real rows", planes)
    histograms = {
        name: {side: _histogram(bench, name, frame) for side, frame in tables.items()}
        for name in bench.train.columns
    }
    figures.histograms(folder / "deep-adult-histograms.svg", f"{title}: single columns", histograms)
    means = {
        side: m.one_hot(frame.select(list(bench.values)), bench.values).mean(0)
        for side, frame in tables.items()
    }
    figures.against(
        folder / "deep-adult-probability.svg", f"{title}: dimension-wise probability",
        {side: list(zip(means["real"], mean, strict=True)) for side, mean in means.items() if side != "real"},
        x="share of a label, real rows", y="synthetic rows",
    )  # fmt: skip
    truth = bench.scores(bench.train, {"method": "real"})
    figures.against(
        folder / "deep-adult-prediction.svg", f"{title}: dimension-wise prediction",
        {method: [(truth[name], max(found[name], 0.0)) for name in truth] for method, found in scores.items()},
        x="F1 or R² on test rows, learnt from real rows", y="learnt from synthetic rows",
    )  # fmt: skip


def _histogram(bench: Bench, name: str, frame: pl.DataFrame) -> list[float]:
    if name in bench.values:
        return m.shares(frame[name], bench.values[name]).tolist()
    low, high = source.NUMBERS[name]
    counts, _ = np.histogram(frame[name].to_numpy(), bins=20, range=(low, high))
    return (counts / frame.height).tolist()
