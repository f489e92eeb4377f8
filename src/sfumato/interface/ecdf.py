"""A private distribution function of one column of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field

from sfumato.domain.codecs import GridCodec
from sfumato.errors import UsageError
from sfumato.privacy.filter import check_epsilon

Floats = npt.NDArray[np.float64]


@define(kw_only=True)
class DPEcdf:
    """The margin of `dp-copula` on its own: epsilon-DP, delta 0, fresh secret noise in every fit.

    `bounds`: public (low, high); values outside count at the nearest bound. Without them bounds are bought
    from epsilon. `bins`: cells. `decimals`: how exactly values are kept.
    """

    epsilon: float = field(converter=check_epsilon)
    bins: int = 200
    bounds: tuple[float, float] | None = None
    decimals: int = 6
    _model: Any = field(default=None, init=False, repr=False)

    def fit(self, values: npt.ArrayLike) -> DPEcdf:
        """Measure the distribution of `values`; missing ones (NaN) are left out of it. Returns itself."""
        from sfumato.api import fit

        facts: dict[str, Any] = {"type": "float", "decimals": self.decimals, "nullable": True}
        if self.bounds is not None:
            facts |= {"min": self.bounds[0], "max": self.bounds[1]}
        self._model = fit(
            {"value": np.asarray(values, dtype=np.float64)},
            epsilon=self.epsilon,
            method="dp-copula",
            schema={"columns": {"value": facts}},
            options={"bins": self.bins},
        )
        return self

    @property
    def model(self) -> Any:
        """The model, with its ledger and statement; UsageError before the fit."""
        if self._model is None:
            raise UsageError("nothing is fitted yet", mend="call fit(values)")
        return self._model

    def _steps(self) -> tuple[Floats, Floats]:
        codec = self.model.codecs[0]
        assert isinstance(codec, GridCodec)
        shares = self.model.generator.shares[0][codec.atoms :]
        edges = np.array(codec.edges, dtype=np.float64) / 10**self.decimals
        return edges, np.concatenate([[0.0], np.cumsum(shares)]) / shares.sum()

    def cdf(self, values: npt.ArrayLike) -> Floats:
        """Share of values at or below each of `values`, linear inside a cell."""
        edges, heights = self._steps()
        return np.interp(np.asarray(values, dtype=np.float64), edges, heights)

    def quantile(self, levels: npt.ArrayLike) -> Floats:
        """Values below which a share of `levels` lies."""
        edges, heights = self._steps()
        rising = np.concatenate([[True], np.diff(heights) > 0])
        return np.interp(np.asarray(levels, dtype=np.float64), heights[rising], edges[rising])
