"""Deep generators: python -m benchmarks.deep.run accounting|speed|adult|wide|gan [options]; see docs/benchmarks.md.

accounting   published (epsilon, noise, steps) by three accountants
speed        one epoch of DP-SGD against plain SGD and every mode of Opacus, in an environment made here
adult        divergence, prediction and accuracy on Adult beside the published values and `adaptive`
wide         dimension-wise probability and prediction on binary tables of many columns
gan          dp-gan on a small correlated table, beside adaptive
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import numpy as np
from benchmarks.common.environments import DEFAULT
from benchmarks.common.printing import Lines

HERE = Path(__file__).resolve().parent
OPACUS = "opacus==1.6.0"
MODES = ("hooks", "ew", "functorch", "ghost")
PUBLISHED = {0.36: (0.8121, 0.3138, 0.7466), 0.51: (0.4842, 0.1910, 0.7868), 1.01: (0.5270, 0.1948, 0.7920)}
"""Total divergence, mean gap of predictions, accuracy of a forest on 32,561 rows."""
BEST = {
    "rectify_marginals": True,
    "numeric": "ranks",
    "rows": 32_561,
    "autoencoder_steps": 600,
    "autoencoder_batch": 512.0,
    "critic_steps": 800,
    "critic_batch": 512.0,
    "critic_per_generator": 2,
    "generator_steps": 2,
}  # fmt: skip


def accounting(_: argparse.Namespace) -> None:
    from sfumato.privacy.subsampled import Schedule, epsilon, epsilon_of_renyi, renyi

    lines = Lines(table=8, noise=10, steps=14, old=7, alpha=6, new=7, pld_1e4=8, pld=8)
    adult = [(5, 8, 10_000), (4.6, 8, 10_000), (2.5, 7.5, 10_000), (1.5, 3.5, 10_000), (2.5, 7.5, 20_000)]
    tasks = [
        ("adult", f"{a}, {b}", f"{t}, 15000", 1e-5,
         [Schedule(noise=a, rate=64 / 32_561, steps=t), Schedule(noise=b, rate=128 / 32_561, steps=15_000)])
        for a, b, t in adult
    ]  # fmt: skip
    for noise, steps in ((3.5, 10_000), (2.3, 10_000), (1.3, 20_000), (1.3, 1_000)):
        one = Schedule(noise=noise, rate=128 / 27_912, steps=steps)
        tasks.append(("mimic", str(noise), str(steps), 1.2871523e-5, [one]))
    for noise in (3.5, 2.3, 1.3):
        both = [Schedule(noise=noise, rate=b / 27_912, steps=10_000) for b in (100, 128)]
        tasks.append(("mimic", f"{noise}, {noise}", "10000, 10000", 1e-5, both))
    for name, noise, steps, delta, schedules in tasks:
        curve = sum(map(renyi, schedules))
        old, alpha = epsilon_of_renyi(curve, delta, classic=True)
        new, _ = epsilon_of_renyi(curve, delta)
        coarse, fine = epsilon(schedules, delta, interval=1e-4), epsilon(schedules, delta)
        lines.add(
            name, noise, steps, f"{old:.4f}", f"{alpha:g}", f"{new:.4f}", f"{coarse:.4f}", f"{fine:.4f}"
        )


def environment(folder: Path) -> Path:
    """A Python that has what this one has, and Opacus."""
    home = folder / f"{OPACUS.replace('==', '-')}-beside"
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        site = next((home / "lib").glob("python*")) / "site-packages"
        (site / "beside.pth").write_text(sysconfig.get_path("purelib") + "\n")
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--no-deps", OPACUS], check=True)
        (home / "ready").touch()
    return python


def speed(asked: argparse.Namespace) -> None:
    python = environment(asked.environments)
    task = {"batches": asked.batches, "repeats": asked.repeats, "piece": asked.piece, "opacus": asked.modes}
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    variables["PYTHONPATH"] = os.pathsep.join(map(str, (HERE.parents[1] / "src", HERE.parents[1])))
    done = subprocess.run(
        [str(python), str(HERE / "epoch.py"), json.dumps(task)],
        env=variables, check=True, capture_output=True, text=True,
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    lines = Lines(mode=24, batch=6, seconds=8, times_plain=12, least=6, most=6)
    for batch in asked.batches:
        epochs = [each["seconds"] for each in found if each["batch"] == batch]
        for name in epochs[0]:
            times = [each[name] for each in epochs]
            if not all(isinstance(seconds, float) for seconds in times):
                lines.add(name, str(batch), "failed", str(times[0]))
                continue
            # Of epochs side by side, then over the repeats.
            ratios = sorted(each[name] / each["plain SGD"] for each in epochs)
            lines.add(
                name, str(batch), f"{np.median(times):.3f}", f"{np.median(ratios):.2f}", f"{ratios[0]:.2f}",
                f"{ratios[-1]:.2f}",
            )  # fmt: skip


def adult(asked: argparse.Namespace) -> None:
    from benchmarks.deep import adult as source
    from benchmarks.deep import measures as m

    import sfumato as sf
    from sfumato.evaluation.distances import jensen_shannon, smoothed_kl

    train, test = source.read()
    test_all = test
    if asked.rows:
        train = train.sample(min(asked.rows, train.height), seed=1)
    values = {name: text.split(",") for name, text in source.VALUES.items()}
    options = BEST | {"rows": train.height} | asked.options
    lines = Lines(
        method=13, epsilon=7, seeds=5, diverg=7, jsd=6, gap=6, accuracy=8, plane=6, hist=6, fit_cpu=7
    )
    truth = {}
    if asked.gap:
        truth = {name: m.prediction(train, test_all, name, values) for name in train.columns}
    for epsilon in asked.epsilon:
        for method in asked.methods:
            rows: dict[str, list[float]] = {}
            for seed in range(asked.seeds):
                before = time.process_time()
                given = options if method == "dp-auto-gan" else {}
                model = sf.fit(
                    train, epsilon=epsilon, delta=1e-5, method=method, schema=source.schema(), options=given
                )
                spent = time.process_time() - before
                made = model.sample(train.height, seed=seed)
                shares = {
                    name: (m.shares(train[name], values[name]), m.shares(made[name], values[name]))
                    for name in source.DIVERGED
                }
                facts = {
                    "diverg": sum(smoothed_kl(p, q) for p, q in shares.values()),
                    "jsd": sum(jensen_shannon(p, q) for p, q in shares.values()),
                    "accuracy": m.forest_accuracy(made, test, "income", values, asked.trees),
                    "fit": spent,
                }
                one, two = (m.one_hot(frame, values) for frame in (train, made))
                facts["plane"] = m.plane_distance(one, two)
                one, two = (m.numbers(frame, values) for frame in (train, made))
                facts["hist"] = m.marginal_distance(one, two, ways=1)
                if truth:
                    gaps = [abs(truth[name] - m.prediction(made, test, name, values)) for name in values]
                    facts["gap"] = float(np.mean(gaps))
                for key, value in facts.items():
                    rows.setdefault(key, []).append(value)
            mean = {key: float(np.mean(held)) for key, held in rows.items()}
            lines.add(
                method, f"{epsilon:g}", str(asked.seeds), f"{mean['diverg']:.4f}", f"{mean['jsd']:.4f}",
                f"{mean['gap']:.4f}" if truth else "", f"{mean['accuracy']:.4f}", f"{mean['plane']:.3f}",
                f"{mean['hist']:.4f}", f"{mean['fit']:.1f}",
            )  # fmt: skip
        if epsilon in PUBLISHED:
            divergence, gap, accuracy = PUBLISHED[epsilon]
            lines.add(
                "published", f"{epsilon:g}", "1", f"{divergence:.4f}", "", f"{gap:.4f}", f"{accuracy:.4f}"
            )


def wide(asked: argparse.Namespace) -> None:
    import polars as pl

    import sfumato as sf

    frame = pl.read_parquet(asked.table)
    if asked.rows:
        frame = frame.sample(min(asked.rows, frame.height), seed=1)
    names = frame.columns
    cut = int(0.8 * frame.height)
    order = np.random.default_rng(0).permutation(frame.height)
    train, test = frame[order[:cut].tolist()], frame[order[cut:].tolist()]
    schema = {"columns": {name: {"type": "int", "min": 0, "max": 1} for name in names}}
    options = {
        "rows": train.height, "code": 128, "activation": "tanh", "autoencoder_clip": 0.8157, "autoencoder_batch": 100.0,
        "autoencoder_steps": 300, "critic_steps": 300, "critic_per_generator": 10, "rectify_marginals": True,
    } | asked.options  # fmt: skip
    lines = Lines(epsilon=7, mae=7, rmse=7, corr=6, columns=7, auroc_real=10, auroc_made=10, gap=6, fit_cpu=7)
    real = train.to_numpy().astype(np.float64)
    for epsilon in asked.epsilon:
        before = time.process_time()
        model = sf.fit(
            train, epsilon=epsilon, delta=1e-5, method="dp-auto-gan", schema=schema, options=options
        )
        spent = time.process_time() - before
        made = model.sample(train.height, seed=0).to_numpy().astype(np.float64)
        p, q = real.mean(0), made.mean(0)
        truth, found = _areas(
            real, made, test.to_numpy().astype(np.float64), p, asked.prevalence, asked.columns
        )
        lines.add(
            f"{epsilon:g}", f"{np.abs(p - q).mean():.5f}", f"{np.sqrt(((p - q) ** 2).mean()):.5f}",
            f"{np.corrcoef(p, q)[0, 1]:.3f}", str(len(truth)), f"{np.mean(truth):.4f}", f"{np.mean(found):.4f}",
            f"{np.mean(np.abs(np.subtract(truth, found))):.4f}", f"{spent:.1f}",
        )  # fmt: skip


def _areas(real, made, test, prevalence, least: float, at_most: int) -> tuple[list[float], list[float]]:
    """AUROC on test rows of logistic regressions of each column on all others, trained on real and on made rows;
    columns are chosen by their real prevalence alone, and a model of rows of one class scores 1/2.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    chosen = np.flatnonzero((prevalence >= least) & (test.mean(0) > 0))[:at_most]
    truth, found = [], []
    for column in chosen:
        others = np.delete(np.arange(real.shape[1]), column)
        for rows, scores in ((real, truth), (made, found)):
            if len(np.unique(rows[:, column])) < 2:
                scores.append(0.5)
                continue
            model = LogisticRegression(solver="liblinear", max_iter=100).fit(rows[:, others], rows[:, column])
            scores.append(float(roc_auc_score(test[:, column], model.decision_function(test[:, others]))))
    return truth, found


def gan(asked: argparse.Namespace) -> None:
    """Largest distance of distribution functions of each number, and a correlation that is learned."""
    import polars as pl
    from scipy.stats import ks_2samp

    import sfumato as sf

    rng = np.random.default_rng(0)
    shape = np.array([[1, 0.6, 0.3], [0.6, 1, 0.0], [0.3, 0.0, 1]])
    z = rng.multivariate_normal(np.zeros(3), shape, size=asked.rows or 1_500)
    frame = pl.DataFrame(
        {
            "age": np.clip(45 + 12 * z[:, 0], 18, 90).round().astype(int),
            "income": np.clip(np.exp(10 + 0.5 * z[:, 1]), 0, 200_000).round().astype(int),
            "score": np.clip(50 + 15 * z[:, 2], 0, 100).round().astype(int),
            "plan": np.where(z[:, 1] + rng.normal(size=len(z)) > 1, "gold", "basic"),
        }
    )
    bounds = {"age": (18, 90), "income": (0, 200_000), "score": (0, 100)}
    schema = {
        "columns": {name: {"type": "int", "min": low, "max": high} for name, (low, high) in bounds.items()}
        | {"plan": {"type": "categorical", "values": ["basic", "gold"]}}
    }
    lines = Lines(method=10, epsilon=7, ks_least=8, age=6, income=6, score=6, correlation=11, real=6)
    for epsilon in asked.epsilon:
        for method in asked.methods:
            if method not in sf.methods():
                continue
            share = {"numeric": "uniform", "rectify_marginals": True, "ecdf_epsilon": 0.8 * epsilon}
            options = share | asked.options if method == "dp-gan" else {}
            model = sf.fit(frame, epsilon=epsilon, delta=1e-5, method=method, schema=schema, options=options)
            made = model.sample(frame.height, seed=0)
            close = {name: 1 - ks_2samp(frame[name], made[name]).statistic for name in bounds}
            learned = np.corrcoef(made["age"], made["income"])[0, 1]
            lines.add(
                method, f"{epsilon:g}", f"{min(close.values()):.4f}", *(f"{close[name]:.3f}" for name in bounds),
                f"{learned:.3f}", f"{np.corrcoef(frame['age'], frame['income'])[0, 1]:.3f}",
            )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("accounting", "speed", "adult", "wide", "gan"))
    parser.add_argument("--epsilon", type=float, nargs="+")
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="take a random subset of so many rows")
    parser.add_argument("--trees", type=int, default=800)
    parser.add_argument(
        "--gap", action="store_true", help="also the mean gap of predictions, which takes long"
    )
    parser.add_argument("--options", type=json.loads, default={}, help="of the method, as JSON")
    parser.add_argument("--table", type=Path, help="a Parquet file of zeros and ones")
    parser.add_argument("--prevalence", type=float, default=0.05)
    parser.add_argument("--columns", type=int, default=20, help="columns that are predicted, at most")
    parser.add_argument("--batches", type=int, nargs="+", default=[256, 1024])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--piece", type=int, default=4, help="steps of a mode at a time")
    parser.add_argument("--modes", nargs="*", default=list(MODES), help="of Opacus")
    parser.add_argument("--environments", type=Path, default=DEFAULT, help="folder of environments")
    asked = parser.parse_args()
    asked.epsilon = asked.epsilon or {"gan": [1.0, 5.0, 25.0], "wide": [0.81]}.get(
        asked.what, [0.36, 0.51, 1.01]
    )
    asked.methods = asked.methods or (
        ["dp-gan", "dp-copula", "adaptive"] if asked.what == "gan" else ["dp-auto-gan", "adaptive"]
    )
    {"accounting": accounting, "speed": speed, "adult": adult, "wide": wide, "gan": gan}[asked.what](asked)


if __name__ == "__main__":
    main()
