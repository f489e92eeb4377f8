"""Wide binary rows (persons x codes) as in DP-auto-GAN's paper: shares of codes, and each code from all others."""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
from attrs import frozen
from benchmarks.common.printing import Lines
from benchmarks.deep import figures
from benchmarks.deep.store import Record, Store

import sfumato as sf

DELTA = 1e-5
PARTS = (0.6, 0.8)
"""Rows up to the first trained models, as in the paper; rows from the second test predictions."""
PREVALENCE = (0.01, 0.025, 0.05)
OPTIONS = {
    "rectify_marginals": True,
    "code": 32,
    "hidden": 64,
    "critic_hidden": 64,
    "activation": "tanh",
    "autoencoder_clip": 0.8157,
    "autoencoder_batch": 256.0,
    "autoencoder_steps": 300,
    "critic_batch": 256.0,
    "critic_steps": 300,
    "critic_rate": 0.002,
    "generator_rate": 0.002,
    "critic_per_generator": 1,
}
"""Networks are narrower than the paper's, whose million weights would take a million draws of noise a step."""
PUBLISHED = {
    # Mean absolute and root mean square error of shares, their correlation, AUROC, and the mean gap of AUROC of codes
    # that at least 1 %, 2.5 % and 5 % of the rows have.
    0.81: (0.01104, 0.02236, 0.816, 0.5638, 0.247, 0.219, 0.157),
    1.33: (0.01037, 0.01898, 0.864, 0.5732, 0.229, 0.195, 0.141),
    2.7: (0.00840, 0.01838, 0.873, 0.5804, 0.199, 0.160, 0.114),
}
"""From the paper's repository: other rows of the same shape; AUROC is the mean over 925 codes."""


@frozen(kw_only=True)
class Wide:
    """Rows of zeros and ones in two parts."""

    name: str
    train: pl.DataFrame
    test: np.ndarray
    store: Store

    @classmethod
    def read(cls, path: Path, rows: int | None, store: Store) -> Wide:
        frame = pl.read_parquet(path)
        if rows:
            frame = frame.sample(min(rows, frame.height), seed=1)
        order = np.random.default_rng(0).permutation(frame.height)
        first, second = (int(part * frame.height) for part in PARTS)
        return cls(
            name=f"{path.stem} {frame.height} x {frame.width}", train=frame[order[:first].tolist()], store=store,
            test=frame[order[second:].tolist()].to_numpy().astype(np.uint8),
        )  # fmt: skip

    def drawn(self, names: Record) -> tuple[np.ndarray, float]:
        """As many rows as there are real ones, and what that took."""

        def make() -> pl.DataFrame:
            schema = {"columns": {name: {"type": "int", "min": 0, "max": 1} for name in self.train.columns}}
            model = sf.fit(
                self.train, epsilon=names["epsilon"], delta=DELTA, method=names["method"], schema=schema,
                options=names["options"],
            )  # fmt: skip
            return model.sample(self.train.height, seed=names["seed"]).cast(pl.UInt8)

        rows, seconds = self.store.rows(make, **names)
        return rows.to_numpy().astype(np.uint8), seconds

    def areas(self, rows: np.ndarray, codes: np.ndarray, names: Record) -> dict[str, float]:
        """AUROC on test rows of logistic regressions of each code on all others, trained on `rows`."""
        found = {}
        for code in codes.tolist():
            found[str(code)] = self.store.record(
                lambda code=code: {"auroc": area(rows, self.test, code)}, what="auroc", code=code, **names
            )["auroc"]
        return found


def area(rows: np.ndarray, test: np.ndarray, code: int) -> float:
    """AUROC of one code; 1/2 where the rows have one class, so that a collapse counts."""
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    target = rows[:, code]
    if target.min() == target.max():
        return 0.5
    others = np.arange(rows.shape[1]) != code
    model = LogisticRegression(solver="liblinear", max_iter=100)
    model.fit(csr_matrix(rows[:, others], dtype=np.float64), target)
    scores = model.decision_function(csr_matrix(test[:, others], dtype=np.float64))
    return float(roc_auc_score(test[:, code], scores))


def wide(asked: argparse.Namespace) -> None:
    """A line for each method and epsilon beside what was published of a table of the same shape."""
    data = Wide.read(asked.table, asked.rows, Store(asked.results, asked.at_most))
    real = data.train.to_numpy().astype(np.uint8)
    p = real.mean(0)
    codes = np.flatnonzero((p >= asked.prevalence) & (data.test.max(0) > 0))[: asked.columns]
    print(
        f"{data.name}: {real.shape[0]:,} rows trained, {data.test.shape[0]:,} tested, {codes.size} codes predicted"
    )
    lines = Lines(
        method=11, epsilon=7, mae=7, rmse=7, corr=6, auroc_real=10, auroc=7, gap_1=6, gap_2_5=7, gap_5=6,
        fit_cpu=7,
    )  # fmt: skip
    truth = data.areas(real, codes, {"table": data.name, "method": "real"})
    shares: dict[str, np.ndarray] = {}
    scores: dict[str, dict[str, float]] = {}
    for epsilon, method in product(asked.epsilon, asked.methods):
        options = OPTIONS | {"rows": real.shape[0]} | asked.options if method == "dp-auto-gan" else {}
        names = {"table": data.name, "method": method, "epsilon": epsilon, "seed": 0, "options": options}
        made, spent = data.drawn(names)
        q, found = made.mean(0), data.areas(made, codes, names)
        title = f"{method}, epsilon {epsilon:g}"
        shares[title], scores[title] = q, found
        gaps = [
            np.mean([abs(truth[code] - found[code]) for code in truth if p[int(code)] >= least] or [np.nan])
            if least >= asked.prevalence else np.nan
            for least in PREVALENCE
        ]  # fmt: skip
        lines.add(
            method, f"{epsilon:g}", f"{np.abs(p - q).mean():.5f}", f"{np.sqrt(((p - q) ** 2).mean()):.5f}",
            f"{np.corrcoef(p, q)[0, 1]:.3f}", f"{np.mean(list(truth.values())):.4f}",
            f"{np.mean(list(found.values())):.4f}", *(f"{gap:.3f}" for gap in gaps), f"{spent:.1f}",
        )  # fmt: skip
        if method == "dp-auto-gan" and (said := PUBLISHED.get(epsilon)) is not None:
            numbers = (*(f"{value:.5g}" for value in said[:3]), "0.7540", *map(str, said[3:]))
            lines.add("(published)", f"{epsilon:g}", *numbers)
    if asked.figures:
        asked.figures.mkdir(parents=True, exist_ok=True)
        stem = f"deep-wide-{asked.table.stem.replace('_', '-')}"
        figures.against(
            asked.figures / f"{stem}-probability.svg", f"{data.name}: dimension-wise probability",
            {name: list(zip(p, q, strict=True)) for name, q in shares.items()},
            x="share of rows with a code, real", y="synthetic", radius=1.2,
        )  # fmt: skip
        figures.against(
            asked.figures / f"{stem}-prediction.svg", f"{data.name}: dimension-wise prediction",
            {name: [(truth[code], found[code]) for code in truth] for name, found in scores.items()},
            x="AUROC learnt from real rows", y="learnt from synthetic rows", radius=1.8,
        )  # fmt: skip
