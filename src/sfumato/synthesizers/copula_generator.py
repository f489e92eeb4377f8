"""Rows from a Gaussian copula: latent normal variables with a correlation matrix, cut into codes.

A column's codes lie on a line, in an order of their own, and have intervals of the latent variable in
proportion to their shares. Its first codes may be atoms beside the line (missing, special codes), which are
drawn on their own and say nothing about other columns.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.domain.encoder import Codes, code_dtype
from sfumato.errors import JobError
from sfumato.synthesizers.normal_scores import thresholds
from sfumato.synthesizers.recipe import generator

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

SWEEPS = 40
"""Sweeps of the Gibbs sampler that draws several columns with given values; one column needs one."""
_TINY = 1e-300


@generator("gaussian-copula")
@frozen(kw_only=True, eq=False)
class CopulaGenerator:
    """Shares of codes and the latent correlation matrix."""

    kind: ClassVar[str] = "gaussian-copula"

    total: float
    correlation: Floats
    """Latent correlations, shape (columns, columns), positive definite."""
    shares: tuple[Floats, ...]
    """Share of every code, by code; sums to 1."""
    orders: tuple[Ints, ...]
    """The codes on the line, in order; codes that are left out are atoms."""

    def sample(
        self, rows: int, rng: np.random.Generator, *, where: dict[int, Mask] | None = None
    ) -> list[Codes]:
        from scipy.special import ndtr

        size = len(self.shares)
        if not where:
            root = np.linalg.cholesky(self.correlation) if size else np.zeros((0, 0))
            latent = rng.standard_normal((rows, size)) @ root.T
            atom = [rng.random(rows) >= self._on_line(i) for i in range(size)]
        else:
            latent, atom = self._given(rows, rng, where)
        drawn: list[Codes] = []
        for i, order in enumerate(self.orders):
            codes = np.zeros(rows, dtype=np.int64)
            if order.size:
                ends = np.cumsum(self.shares[i][order])
                place = np.searchsorted(ends, ndtr(latent[:, i]) * ends[-1], side="right")
                codes = order[np.minimum(place, order.size - 1)]
            if atom[i].any():
                codes[atom[i]] = self._atoms(i, int(atom[i].sum()), rng, (where or {}).get(i))
            drawn.append(codes.astype(code_dtype(self.shares[i].size)))
        return drawn

    def _on_line(self, i: int) -> float:
        """Probability that column i has no atom."""
        return float(self.shares[i][self.orders[i]].sum())

    def _atom_shares(self, i: int, mask: Mask | None) -> Floats:
        shares = self.shares[i].copy()
        shares[self.orders[i]] = 0.0
        return shares if mask is None else np.where(mask, shares, 0.0)

    def _atoms(self, i: int, count: int, rng: np.random.Generator, mask: Mask | None) -> Ints:
        ends = np.cumsum(self._atom_shares(i, mask))
        place = np.searchsorted(ends, rng.random(count) * ends[-1], side="right")
        return np.minimum(place, ends.size - 1)

    def _given(
        self, rows: int, rng: np.random.Generator, where: dict[int, Mask]
    ) -> tuple[Floats, list[Mask]]:
        """Latent variables and who is an atom, given that column i has one of the codes in `where[i]`.

        One column is drawn exactly; several by Gibbs sampling of their joint law. The others follow from
        these by the conditional normal law.
        """
        fixed = sorted(where)
        runs = {i: self._runs(i, where[i]) for i in fixed}
        masses = {i: float(self._atom_shares(i, where[i]).sum()) for i in fixed}
        for i in fixed:
            if masses[i] <= 0 and not len(runs[i]):
                raise JobError("no value that is asked for can occur in the model")
        size = len(self.shares)
        latent = np.zeros((rows, size))
        atom = [rng.random(rows) >= self._on_line(i) for i in range(size)]
        precision = np.linalg.inv(self.correlation[np.ix_(fixed, fixed)])
        for _ in range(SWEEPS if len(fixed) > 1 else 1):
            for place, i in enumerate(fixed):
                spread = 1 / np.sqrt(precision[place, place])
                others = [j for j in range(len(fixed)) if j != place]
                pull = latent[:, [fixed[j] for j in others]] @ precision[place, others]
                centre = -pull / precision[place, place]
                latent[:, i], atom[i] = self._one(i, centre, spread, runs[i], masses[i], rng)
        free = [i for i in range(size) if i not in where]
        if free:
            slope = np.linalg.solve(
                self.correlation[np.ix_(fixed, fixed)], self.correlation[np.ix_(fixed, free)]
            )
            rest = self.correlation[np.ix_(free, free)] - self.correlation[np.ix_(free, fixed)] @ slope
            values, vectors = np.linalg.eigh((rest + rest.T) / 2)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            noise = rng.standard_normal((rows, len(free))) @ root.T
            latent[:, free] = latent[:, fixed] @ slope + noise
        return latent, atom

    def _one(
        self, i: int, centre: Floats, spread: float, runs: Floats, mass: float, rng: np.random.Generator
    ) -> tuple[Floats, Mask]:
        """One latent variable with normal law, inside its runs or as that of an atom."""
        from scipy.special import ndtr, ndtri

        free = centre + spread * rng.standard_normal(centre.size)
        if not len(runs):
            return free, np.ones(centre.size, dtype=np.bool_)
        low = ndtr((runs[:, 0][None, :] - centre[:, None]) / spread)
        high = ndtr((runs[:, 1][None, :] - centre[:, None]) / spread)
        ends = np.cumsum(np.maximum(high - low, _TINY), axis=1)
        atom = rng.random(centre.size) * (mass + self._on_line(i) * ends[:, -1]) < mass
        drawn = rng.random(centre.size) * ends[:, -1]
        place = np.minimum((ends < drawn[:, None]).sum(axis=1), len(runs) - 1)
        row = np.arange(centre.size)
        inside = drawn - np.where(place > 0, ends[row, place - 1], 0.0)
        level = np.clip(low[row, place] + inside, _TINY, 1 - 1e-16)
        found = np.clip(centre + spread * ndtri(level), runs[place, 0], runs[place, 1])
        # The very edge of an interval belongs to the next code.
        found = np.where(found >= runs[place, 1], np.nextafter(runs[place, 1], -np.inf), found)
        return np.where(atom, free, found), atom

    def _runs(self, i: int, mask: Mask) -> Floats:
        """Intervals of the latent variable that the codes of `mask` take up, those that adjoin joined."""
        order = self.orders[i]
        if not order.size:
            return np.zeros((0, 2))
        low, high = thresholds(self.shares[i][order])
        found: list[list[float]] = []
        for a, b, wanted in zip(low, high, mask[order] & (self.shares[i][order] > 0), strict=True):
            if wanted and found and found[-1][1] == a:
                found[-1][1] = float(b)
            elif wanted:
                found.append([float(a), float(b)])
        return np.array(found).reshape(-1, 2)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        arrays: dict[str, npt.NDArray[Any]] = {
            "total": np.array([self.total]),
            "correlation": self.correlation,
        }
        for i, (shares, order) in enumerate(zip(self.shares, self.orders, strict=True)):
            arrays[f"shares/{i}"] = shares
            arrays[f"order/{i}"] = order
        return arrays

    @classmethod
    def from_arrays(cls, sizes: tuple[int, ...], arrays: dict[str, npt.NDArray[Any]]) -> CopulaGenerator:
        shares = tuple(arrays[f"shares/{i}"] for i in range(len(sizes)))
        orders = tuple(arrays[f"order/{i}"] for i in range(len(sizes)))
        correlation = arrays["correlation"]
        sound = correlation.shape == (len(sizes), len(sizes)) and np.array_equal(correlation, correlation.T)
        sound = sound and np.allclose(np.diag(correlation), 1.0)
        for size, share, order in zip(sizes, shares, orders, strict=True):
            sound = sound and share.shape == (size,) and bool((share >= 0).all()) and share.sum() > 0
            sound = sound and order.ndim == 1 and np.unique(order).size == order.size <= size
            sound = sound and bool(((order >= 0) & (order < size)).all())
        if not sound or (len(sizes) and np.linalg.eigvalsh(correlation).min() <= 0):
            raise ValueError("the arrays do not fit the domain")
        return cls(total=float(arrays["total"][0]), correlation=correlation, shares=shares, orders=orders)
