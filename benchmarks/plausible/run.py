"""The figures and tables of the publication on plausible deniability, on tables that are at hand.

    SFUMATO_DATA=/path/to/tables python benchmarks/plausible/run.py [--tables adult …] [--only distances …]
        [--rows 50000] [--repeats 3] [--figures FOLDER]

Parts: model-error (figures 1, 2), distances (figures 3, 4), classifiers (table 3), erm (table 4), distinguish (table
5), time (figure 5), pass-rate (figure 6), records (epsilon of N records). Each prints a table; with --figures it
also writes an SVG file. Needs scikit-learn for classifiers and distinguish.

Bindschaedler, Shokri, Gunter 2017. Models have epsilon 1 unless stated (delta 1e-9), records are those that pass with
k = 50, gamma = 4, epsilon0 = 1.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).parent)]

import figures  # noqa: E402
from benchmarks.common.shared_files import NoTableError  # noqa: E402
from synthesis import NO_NOISE, Split, drawn, sampled  # noqa: E402

import tables  # noqa: E402
from sfumato.evaluation.distances import total_variation  # noqa: E402
from sfumato.evaluation.private_erm import LOGISTIC, SVM, minimise, objective_perturbed, output_perturbed  # noqa: E402
from sfumato.privacy.plausible import SafeRelease, epsilon_of_fixed_class, theorem_1  # noqa: E402
from sfumato.privacy.plausible.candidates import CHUNK  # noqa: E402

OMEGAS: dict[str, tuple[int, ...]] = {
    "omega = 11": (11,), "omega = 10": (10,), "omega = 9": (9,), "omega in 9-11": (9, 10, 11),
    "omega in 5-11": tuple(range(5, 12)),
}  # fmt: skip


def say(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    print(f"\n## {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "|".join("---" if i == 0 else "--:" for i in range(len(header))) + "|")
    for row in rows:
        print("| " + " | ".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row) + " |")
    sys.stdout.flush()


def model_error(split: Split, asked: argparse.Namespace) -> None:
    """Figures 1 and 2: how often the likeliest value given all others is wrong, less than with marginals."""
    test = split.test[:4000]
    names, count = list(split.table.sizes), test.shape[1]

    def wrong(network: object) -> np.ndarray:
        return np.array([(sampled(network, test, i) != test[:, i]).mean() for i in range(count)])

    marginals = wrong(split.network(epsilon=NO_NOISE, structure="none"))
    series = {}
    for name, epsilon in (("no noise", NO_NOISE), ("epsilon 1", 1.0), ("epsilon 0.1", 0.1)):
        repeats = 1 if epsilon == NO_NOISE else asked.repeats
        error = np.mean([wrong(split.network(epsilon=epsilon)) for _ in range(repeats)], axis=0)
        series[name] = (marginals - error) / np.maximum(marginals, 1e-9)
    rows = [[n, marginals[i], *(float(each[i]) for each in series.values())] for i, n in enumerate(names)]
    rows.append(["mean", float(marginals.mean()), *(float(each.mean()) for each in series.values())])
    say(
        f"{split.table.name}: model error of marginals, and its relative improvement (figures 1, 2)",
        ["attribute", "error", *series], rows,
    )  # fmt: skip
    if asked.figures:
        figures.bars(
            asked.figures / f"{split.table.name}-model-error.svg", "Improvement of model error over marginals",
            names, {k: v.tolist() for k, v in series.items()}, "share of the error",
        )  # fmt: skip


def distances(split: Split, asked: argparse.Namespace) -> None:
    """Figures 3 and 4: total variation distance to real rows."""
    half = min(len(split.test), len(split.seeds))
    real, sizes = split.test[:half], list(split.table.sizes.values())
    made = every_kind(split, half)
    found = {}
    for name, codes in made.items():
        ones = [tvd(real[:, [i]], codes[:, [i]], sizes[i]) for i in range(len(sizes))]
        twos = [
            tvd(real[:, [i, j]], codes[:, [i, j]], sizes[i] * sizes[j], sizes[j])
            for i, j in itertools.combinations(range(len(sizes)), 2)
        ]
        found[name] = (float(np.mean(ones)), float(np.max(ones)), float(np.mean(twos)), float(np.max(twos)))
    say(
        f"{split.table.name}: total variation distance to {half:,} other real rows (figures 3, 4)",
        ["rows", "one-way mean", "largest", "two-way mean", "largest"], [[n, *v] for n, v in found.items()],
    )  # fmt: skip
    if asked.figures:
        figures.bars(
            asked.figures / f"{split.table.name}-distances.svg", "Distance to real rows", list(found),
            {"one-way": [v[0] for v in found.values()], "two-way": [v[2] for v in found.values()]}, "mean TVD",
        )  # fmt: skip


def every_kind(split: Split, rows: int) -> dict[str, np.ndarray]:
    """Reals, marginals, and records of every omega; one private model for all."""
    network = split.network(epsilon=1.0)
    made = {
        "reals": split.seeds[:rows],
        "marginals": drawn(split.network(epsilon=1.0, structure="none"), rows, 1),
    }
    for name, omegas in OMEGAS.items():
        made[name] = split.records(network, omegas, rows)
    return made


def tvd(one: np.ndarray, other: np.ndarray, cells: int, last: int = 1) -> float:
    index = [
        codes[:, 0] if codes.shape[1] == 1 else codes[:, 0] * last + codes[:, 1] for codes in (one, other)
    ]
    shares = [np.bincount(each, minlength=cells) / len(each) for each in index]
    return total_variation(*shares)


def classifiers(split: Split, asked: argparse.Namespace) -> None:
    """Table 3: accuracy on real rows of classifiers trained on synthetic ones, and agreement with those of reals."""
    from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    target = list(split.table.sizes).index(split.table.income)
    others = [i for i in range(split.test.shape[1]) if i != target]
    x, y = split.test[:, others], split.test[:, target]
    size = min(30_000, len(split.seeds))
    kinds = {
        "tree": lambda seed: DecisionTreeClassifier(min_samples_leaf=20, random_state=seed),
        "forest": lambda seed: RandomForestClassifier(60, min_samples_leaf=2, random_state=seed),
        "AdaBoost": lambda seed: AdaBoostClassifier(n_estimators=50, random_state=seed),
    }
    right: dict[str, list[np.ndarray]] = {}
    for repeat in range(asked.repeats):
        made = every_kind(split, size)
        reals = [
            kind(repeat).fit(made["reals"][:, others], made["reals"][:, target]).predict(x)
            for kind in kinds.values()
        ]
        for name, codes in made.items():
            row = []
            for kind, real in zip(kinds.values(), reals, strict=True):
                guess = kind(repeat + 1).fit(codes[:, others], codes[:, target]).predict(x)
                row += [(guess == y).mean(), (guess == real).mean()]
            right.setdefault(name, []).append(np.array(row))
    say(
        f"{split.table.name}: accuracy and agreement, trained on {size:,} rows (table 3); always the larger class: "
        f"{max(y.mean(), 1 - y.mean()):.3f}",
        ["trained on", *(f"{kind} {what}" for kind in kinds for what in ("accuracy", "agreement"))],
        [[name, *np.mean(rows, axis=0).tolist()] for name, rows in right.items()],
    )


def risk(split: Split, asked: argparse.Namespace) -> None:
    """Table 4: linear classifiers; private ones on real rows against plain ones on synthetic rows."""
    target = list(split.table.sizes).index(split.table.income)
    others = [i for i in range(split.test.shape[1]) if i != target]
    sizes = [list(split.table.sizes.values())[i] for i in others]
    size = min(40_000, len(split.seeds))

    def prepared(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return one_hot(codes[:, others], sizes), 2.0 * codes[:, target] - 1

    test = prepared(split.test[:20_000])

    def accuracy(weights: np.ndarray) -> float:
        return float(((test[0] @ weights > 0) == (test[1] > 0)).mean())

    strengths = (1e-3, 1e-4, 1e-5, 1e-6)
    rng = np.random.default_rng(1)
    network = split.network(epsilon=1.0)
    sources = {
        "reals": split.seeds[:size],
        "marginals": drawn(split.network(epsilon=1.0, structure="none"), size, 1),
        "omega = 11": split.records(network, (11,), size),
        "omega in 5-11": split.records(network, OMEGAS["omega in 5-11"], size),
    }
    rows = []
    losses = {"logistic": LOGISTIC, "SVM": SVM}
    for name, codes in sources.items():
        x, y = prepared(codes)
        rows.append(
            [
                name,
                *(
                    max(accuracy(minimise(x, y, loss=loss, penalty=s)) for s in strengths)
                    for loss in losses.values()
                ),
            ]
        )
    x, y = prepared(sources["reals"])
    for name, private in (("output", output_perturbed), ("objective", objective_perturbed)):
        cells = [
            max(
                float(
                    np.mean(
                        [
                            accuracy(private(x, y, loss=loss, penalty=s, epsilon=1.0, rng=rng))
                            for _ in range(asked.repeats)
                        ]
                    )
                )
                for s in strengths
            )
            for loss in losses.values()
        ]
        rows.append([f"reals, {name} perturbation, epsilon 1", *cells])
    say(
        f"{split.table.name}: accuracy of linear classifiers, best of {len(strengths)} strengths (table 4)",
        ["trained on", *losses],
        rows,
    )


def one_hot(codes: np.ndarray, sizes: list[int]) -> np.ndarray:
    """One column a code, scaled to norm 1."""
    ends = np.cumsum([0, *sizes])
    made = np.zeros((len(codes), ends[-1]), dtype=np.float64)
    for column, start in enumerate(ends[:-1]):
        made[np.arange(len(codes)), start + codes[:, column]] = 1.0
    return made / np.sqrt(len(sizes))


def distinguish(split: Split, asked: argparse.Namespace) -> None:
    """Table 5: can a classifier tell real from synthetic rows?"""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    half = min(50_000 if asked.rows is None else asked.rows // 4, len(split.seeds) // 2, len(split.test))
    made = every_kind(split, 2 * half)
    reals = np.concatenate([split.test[:half], split.model[:half]])
    made["reals"] = split.seeds[: 2 * half]
    rows, shown = [], {}
    for name, codes in made.items():
        x = np.concatenate([reals[:half], codes[:half]])
        y = np.repeat([0, 1], half)
        held = np.concatenate([reals[half:], codes[half : 2 * half]])
        cells = []
        for kind in (
            RandomForestClassifier(40, min_samples_leaf=2, random_state=1),
            DecisionTreeClassifier(min_samples_leaf=20, random_state=1),
        ):
            cells.append(float((kind.fit(x, y).predict(held) == np.repeat([0, 1], len(held) // 2)).mean()))
        rows.append([name, *cells])
        shown[name] = cells
    say(
        f"{split.table.name}: real or synthetic? {half:,} + {half:,} rows to learn from, as many to tell (table 5); 0.5 is perfect",
        ["rows", "forest", "tree"],
        rows,
    )
    if asked.figures:
        figures.bars(
            asked.figures / f"{split.table.name}-distinguish.svg",
            "Real or synthetic?",
            list(shown),
            {"forest": [v[0] for v in shown.values()], "tree": [v[1] for v in shown.values()]},
            "accuracy",
        )


def pace(split: Split, asked: argparse.Namespace) -> None:
    """Figure 5: time against candidates, tests included, streamed."""
    seeds = min(100_000, len(split.seeds))
    network = split.network(epsilon=1.0)
    counts = [c for c in (125_000, 250_000, 500_000, 1_000_000) if asked.rows is None or c <= 20 * asked.rows]
    rows, drawn_ = [], {}
    for name in ("omega = 9", "omega in 5-11"):
        times = []
        for count in counts:
            started = time.perf_counter()
            passed = sum(
                len(each) for each in split.candidates(network, OMEGAS[name], seeds=seeds).stream(count)
            )
            times.append(time.perf_counter() - started)
            done = -(-count // CHUNK) * CHUNK
            rows.append([name, f"{done:,}", times[-1], 1e6 * times[-1] / done, passed / done])
        drawn_[name] = times
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    say(
        f"{split.table.name}: seconds for candidates over {seeds:,} seeds x {split.seeds.shape[1]} attributes, one thread, peak of the process {peak:,.0f} MB (figure 5)",
        ["", "candidates", "seconds", "a million", "passed"],
        rows,
    )
    if asked.figures:
        figures.lines(
            asked.figures / f"{split.table.name}-time.svg",
            "Time of candidates with tests",
            counts,
            drawn_,
            "candidates",
            "seconds",
        )


def pass_rate(split: Split, asked: argparse.Namespace) -> None:
    """Figure 6: candidates that pass, gamma = 2."""
    network = split.network(epsilon=1.0)
    ks = (10, 25, 50, 100, 150, 200, 250)
    shares: dict[str, list[float]] = {name: [] for name in (*OMEGAS, "omega = 7")}
    for name in shares:
        for k in ks:
            how = {**OMEGAS, "omega = 7": (7,)}[name]
            passed = sum(
                len(each) for each in split.candidates(network, how, k=k, gamma=2.0).stream(2 * CHUNK)
            )
            shares[name].append(passed / (2 * CHUNK))
    say(
        f"{split.table.name}: share of candidates that pass, gamma = 2, {len(split.seeds):,} seeds (figure 6)",
        ["", *(f"k = {k}" for k in ks)],
        [[name, *values] for name, values in shares.items()],
    )
    if asked.figures:
        figures.lines(
            asked.figures / f"{split.table.name}-pass-rate.svg",
            "Candidates that pass",
            ks,
            shares,
            "k",
            "share",
        )


def records(asked: argparse.Namespace) -> None:
    """Epsilon of N records, by exact binomial laws of one class and as proven for all."""
    seeds, delta = 735_000, 1e-9
    rows = []
    for passing, (k, gamma, epsilon0) in itertools.product(
        (0.5, 0.1),
        (
            (50, 4.0, 1.0),
            (100, 2.0, 1.0),
            (500, 4.0, 0.1),
            (500, 2.0, 0.1),
            (5000, 4.0, 0.01),
            (5000, 2.0, 0.01),
            (50, 1 + 1e-9, 1.0),
            (500, 1 + 1e-9, 0.1),
            (1000, 1 + 1e-9, 0.05),
        ),
    ):
        cells: list[object] = []
        for count in (1, 100, 10_000, 100_000, 1_000_000):
            given = {"records": count, "mass": passing * seeds}
            low = epsilon_of_fixed_class(k, gamma, epsilon0, delta=delta, **given)
            high = (
                SafeRelease(k=k, gamma=gamma, epsilon0=epsilon0, **given).epsilon(delta)
                if count <= 10_000
                else None
            )
            cells.append(f"{low:.3g}" + ("" if high is None else f" / {high:.3g}"))
        plain = min(
            theorem_1(k, gamma, epsilon0, t)[0]
            for t in range(1, k)
            if theorem_1(k, gamma, epsilon0, t)[1] <= delta
        )
        rows.append([f"{k}, {gamma:.3g}, {epsilon0:g}", passing, *cells, f"{10_000 * plain:,.0f}"])
    say(
        f"epsilon of N records, {seeds:,} seeds, delta {delta:g}: worst single class / proven for all",
        [
            "k, gamma, epsilon0",
            "pass",
            "N = 1",
            "100",
            "10,000",
            "100,000",
            "1,000,000",
            "10,000 x theorem 1",
        ],
        rows,
    )


PARTS: dict[str, Callable[[Split, argparse.Namespace], None]] = {
    "model-error": model_error, "distances": distances, "classifiers": classifiers, "erm": risk,
    "distinguish": distinguish, "time": pace, "pass-rate": pass_rate,
}  # fmt: skip


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tables", nargs="+", choices=list(tables.NAMES), default=list(tables.NAMES))
    ask.add_argument("--only", nargs="+", choices=[*PARTS, "records"], default=[*PARTS, "records"])
    ask.add_argument("--rows", type=int, help="use so many rows of each table")
    ask.add_argument("--repeats", type=int, default=3, help="runs that are averaged")
    ask.add_argument("--figures", type=Path, help="folder for SVG files")
    asked = ask.parse_args()
    if asked.figures:
        asked.figures.mkdir(parents=True, exist_ok=True)
    for name in asked.tables:
        parts = [part for part in PARTS if part in asked.only]
        if not parts:
            break
        try:
            split = Split.of(tables.find(name, asked.rows))
        except NoTableError as reason:
            print(f"{name} is left out: {reason}", file=sys.stderr)
            continue
        print(
            f"\n# {name}: {len(split.model):,} rows for the model, {len(split.seeds):,} seeds, {len(split.test):,} for tests"
        )
        for part in parts:
            started = time.perf_counter()
            PARTS[part](split, asked)
            print(f"({part}: {time.perf_counter() - started:.0f} s)", file=sys.stderr, flush=True)
    if "records" in asked.only:
        records(asked)


if __name__ == "__main__":
    main()
