"""Steps that all deep methods share. Public numbers only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.domain.codecs import Codec, GridCodec, ValuesCodec
from sfumato.domain.views import Coarse
from sfumato.errors import UsageError
from sfumato.lazy import optional
from sfumato.privacy.curator import Curator
from sfumato.synthesizers.deep.encoding import Encoding, linear, ranks
from sfumato.synthesizers.one_way import measure_one_way, project_to_simplex

if TYPE_CHECKING:
    import torch

    from sfumato.privacy.dpsgd import Program, Released

Numeric = Literal["linear", "ranks"]
Floats = npt.NDArray[np.float64]
WIDEST = 1_000
"""Most labels of a column that a network takes in."""
ROWS_SHARE = 0.01


def need_torch(method: str) -> None:
    """UsageError with the command that installs torch, where it is missing."""
    optional("torch", extra="deep", purpose=f"method {method!r}")


def check_choice(name: str, value: str, known: Sequence[str]) -> None:
    """ValueError unless `value` is one of `known`."""
    if value not in known:
        raise ValueError(f"{name} is one of {', '.join(known)}, not {value!r}")


def check_positive(**values: float | None) -> None:
    """ValueError naming the first option that is given and not above 0."""
    for name, value in values.items():
        if value is not None and not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be above 0, not {value}")


def check_share(**values: float) -> None:
    """ValueError naming the first option that is no share of the budget."""
    for name, value in values.items():
        if not 0 < value < 1:
            raise ValueError(f"{name} must lie between 0 and 1, not {value}")


def division(*, rows: int | None, marginals: float = 0.0, **trainings: float) -> dict[str, float]:
    """How a method divides its budget, by purpose: `ROWS_SHARE` for the number of rows, where it is not
    public or marginals are measured with it; a share for one-way marginals; the rest to `trainings`, whose
    weights add up to 1.
    """
    counted = ROWS_SHARE if rows is None or marginals else 0.0
    rest = 1 - counted - marginals
    shares = {"row count": counted, "one-way marginals": marginals}
    shares |= {purpose: weight * rest for purpose, weight in trainings.items()}
    return {purpose: share for purpose, share in shares.items() if share}


def check_width(codecs: Sequence[Codec]) -> None:
    """UsageError naming a column that has more labels than a network takes in."""
    for codec in codecs:
        if isinstance(codec, ValuesCodec) and codec.size > WIDEST:
            raise UsageError(
                f"column {codec.column!r} has {codec.size:,} values, more than a network takes in",
                mend=f"declare at most {WIDEST:,} values, or leave the column out",
            )


@frozen(kw_only=True)
class Start:
    """What a method knows before it trains anything."""

    total: float
    encoding: Encoding
    counts: tuple[Floats, ...] = ()
    """Expected counts of the codes of each column, where marginals were measured."""

    def targets(self, codecs: tuple[Codec, ...]) -> tuple[Floats, ...]:
        """Shares of the labels of each column."""
        return label_shares(codecs, self.encoding, self.counts)

    @property
    def means(self) -> Floats | None:
        """The mean vector of the rows, where marginals were measured."""
        return self.encoding.means(self.counts) if self.counts else None


def start(
    curator: Curator,
    codecs: tuple[Codec, ...],
    *,
    rows: int | None,
    numeric: Numeric,
    spend: float,
    marginals: float = 0.0,
) -> Start:
    """The number of rows, which is `rows` where that is public and otherwise a noisy count for `spend`, and
    how columns are encoded. `marginals`: what one-way marginals may cost.
    """
    check_width(codecs)
    # The rate of the batches follows from the count, and so do prices.
    if rows is None:
        curator.ledger.adaptive = True
    if marginals > 0:
        ones = measure_one_way(curator, codecs, spend=marginals, total_spend=spend)
        total, counts = float(rows or ones.total), ones.counts
    else:
        total = float(rows) if rows is not None else max(1.0, float(curator.total(spend=spend)[0]))
        counts = ()
    if numeric == "ranks":
        columns = [ranks(codec, held, normal=False) for codec, held in zip(codecs, counts, strict=True)]
    else:
        columns = [linear(codec) for codec in codecs]
    return Start(total=total, encoding=Encoding(columns=tuple(columns)), counts=counts)


@frozen(kw_only=True)
class Training:
    """Public numbers of one training of a method."""

    purpose: str
    batch: float
    steps: int
    share: float = 1.0
    """Of the delta for trainings."""


class Options(Protocol):
    """What `Learning` needs to know of a recipe."""

    @property
    def rows(self) -> int | None:
        """Number of rows, where it is public."""
        ...

    @property
    def noise_multiplier(self) -> float | None:
        """Noise of each step over its clip, where it is given."""
        ...

    def split(self, columns: int) -> dict[str, float]:
        """How the budget is divided, by purpose."""
        ...

    def trainings(self, rows: float) -> tuple[Training, ...]:
        """All trainings on so many rows."""
        ...


def epsilon_of_noise(recipe: Options, delta: float) -> float | None:
    """An epsilon at `delta` that allows the noise multiplier of a recipe, whatever the schema leaves open,
    for single rows that are added or removed; None where the number of rows is not public.
    """
    from sfumato.discovery.discover import SHARES
    from sfumato.privacy.filter import Budget
    from sfumato.privacy.subsampled import Schedule, mu_squared

    if recipe.rows is None or recipe.noise_multiplier is None:
        return None
    budget = Budget(epsilon=1.0, delta=delta, training=True, thresholds=True)
    group, split = getattr(recipe, "group", 1), recipe.split(1)
    units = recipe.rows if group == 1 else max(1, round(recipe.rows / group))
    spend = 0.0
    for training in recipe.trainings(recipe.rows):
        schedule = Schedule(
            noise=recipe.noise_multiplier * (1 - 1e-12),
            rate=min(1.0, training.batch / units),
            steps=training.steps,
            exchange=group > 1,
        )
        price = mu_squared(schedule, training.share * budget.training_delta)
        spend = max(spend, price / split[training.purpose])
    return budget.epsilon_of(spend * (1 + 1e-6) / (1 - sum(SHARES.values())))


@frozen(kw_only=True)
class Learning:
    """A method at work: what it may spend on what, and what it knows before it trains."""

    recipe: Options
    curator: Curator
    codecs: tuple[Codec, ...]
    known: Start
    spends: dict[str, float]
    """By purpose."""

    @classmethod
    def begin(
        cls, recipe: Options, curator: Curator, codecs: tuple[Codec, ...], *, numeric: Numeric = "linear"
    ) -> Learning:
        """Divide what the curator has left as the recipe says, and buy what comes before a training."""
        left = curator.left
        spends = {purpose: share * left for purpose, share in recipe.split(len(codecs)).items()}
        known = start(
            curator,
            codecs,
            rows=recipe.rows,
            numeric=numeric,
            spend=spends.get("row count", 0.0),
            marginals=spends.get("one-way marginals", 0.0),
        )
        return cls(recipe=recipe, curator=curator, codecs=codecs, known=known, spends=spends)

    def train(self, program: Program, training: Training, **facts: Any) -> Released:
        """`Curator.train` for what a training may spend, with its further arguments."""
        return self.curator.train(
            program,
            encoders=self.codecs,
            total=self.known.total,
            batch=training.batch,
            steps=training.steps,
            spend=self.spends[training.purpose],
            share=training.share,
            purpose=training.purpose,
            group=getattr(self.recipe, "group", 1),
            noise=self.recipe.noise_multiplier,
            **facts,
        )


def measure_steps(
    curator: Curator, codecs: tuple[Codec, ...], *, rows: int | None, spend: float, total_spend: float
) -> tuple[float, tuple[Floats, ...]]:
    """Number of rows and expected counts of all codes, where numbers are measured in few steps: a
    distribution function is as far off as the noise of all cells below a place, so that fewer and wider
    cells are closer.

    As many steps as balance noise against width, 1.3 (rows/noise)^0.4, of equally many cells each.
    """
    counted = curator.total(spend=total_spend)[0]
    total = float(rows or max(1, counted))
    signal = total / float(curator.sigma_for(spend, tables=len(codecs)))
    steps = max(6, round(1.3 * max(signal, 1.0) ** 0.4))
    groups = [_steps(codec, steps) for codec in codecs]
    views = [(Coarse(codec, tuple(g.tolist())),) for codec, g in zip(codecs, groups, strict=True)]
    noisy = curator.measure(views, spend=spend, purpose="one-way marginals in steps")
    found = []
    for codec, group, table in zip(codecs, groups, noisy.tables, strict=True):
        allowed = np.zeros(table.size, dtype=bool)
        allowed[group[codec.allowed]] = True
        held = project_to_simplex(table.astype(np.float64), total, allowed)
        widths = np.array([codec.width(code) for code in range(codec.size)], dtype=np.float64) * codec.allowed
        share = widths / np.maximum(np.bincount(group, widths, minlength=table.size), 1e-12)[group]
        found.append(held[group] * share)
    return total, tuple(found)


def _steps(codec: Codec, steps: int) -> npt.NDArray[np.int64]:
    """Group of each code: cells of numbers in `steps` runs, every other code for itself."""
    if not isinstance(codec, GridCodec):
        return np.arange(codec.size)
    cells = np.arange(codec.cells) * min(steps, codec.cells) // codec.cells
    return np.concatenate([np.arange(codec.atoms), codec.atoms + cells])


def label_shares(
    codecs: tuple[Codec, ...], encoding: Encoding, counts: Sequence[Floats]
) -> tuple[Floats, ...]:
    """Shares of the labels of each column in expected counts of its codes."""
    found = []
    for codec, column, held in zip(codecs, encoding.columns, counts, strict=True):
        label = column.code_label
        there = (label >= 0) & codec.allowed
        found.append(in_range(np.bincount(label[there], held[there], minlength=column.labels)))
    return tuple(found)


def adam(rate: float, betas: tuple[float, float] = (0.9, 0.999), decay: float = 0.0) -> Callable[[Any], Any]:
    """Makes an Adam optimiser (Kingma, Ba 2015) for given parameters."""

    def make(parameters: Any) -> torch.optim.Optimizer:
        import torch

        return torch.optim.Adam(parameters, lr=rate, betas=betas, weight_decay=decay)

    return make


def rmsprop(rate: float) -> Callable[[Any], Any]:
    """Makes an RMSprop optimiser with decay 0.99."""

    def make(parameters: Any) -> torch.optim.Optimizer:
        import torch

        return torch.optim.RMSprop(parameters, lr=rate, alpha=0.99)

    return make


def power_of_two(size: float) -> int:
    """The nearest power of two from 16 on."""
    return 1 << max(4, round(math.log2(max(size, 1.0))))


def in_range(weights: npt.ArrayLike) -> Floats:
    """Shares from nonnegative weights."""
    shares = np.maximum(np.asarray(weights, dtype=np.float64), 0.0)
    return shares / shares.sum() if shares.sum() > 0 else np.full(shares.size, 1 / max(shares.size, 1))
