"""A generator and a privacy mechanism, fitted to a table together."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from sfumato.errors import UsageError
from sfumato.interface.accountant import PrivacyAccountant
from sfumato.interface.generators import build_generator
from sfumato.interface.mechanisms import NoPrivacy, PrivacyMechanism

if TYPE_CHECKING:
    from sfumato.evaluation.evaluation import Evaluation
    from sfumato.models.model import Model
    from sfumato.models.verify import Verification
    from sfumato.synthesizers.recipe import Recipe

DEFAULT_KEY = "ctgan"


class PrivacyPreservingSynthesizer:
    """Fits, samples, evaluates, saves and checks one method.

    `generator`: a method made by `build_generator`; or `generator_key` (default: ctgan) with
    `generator_kwargs`.
    `privacy_mechanism`: `NoPrivacy()` (default) for methods without a guarantee, `DPSGD(epsilon=…)` for all
    others; UsageError for a pair that does not go together. `random_state`: makes the drawing of rows
    repeatable, never the noise. `schema`, `unit`, `neighbours`, `ledger`, `dataset`: as in `sfumato.fit`.
    """

    def __init__(
        self,
        generator: Recipe | None = None,
        *,
        generator_key: str | None = None,
        generator_kwargs: Mapping[str, Any] | None = None,
        privacy_mechanism: PrivacyMechanism | None = None,
        random_state: int | None = None,
        schema: Any = None,
        unit: tuple[str, int] | None = None,
        neighbours: str | None = None,
        ledger: str | Path | None = None,
        dataset: str | None = None,
    ) -> None:
        if generator is not None and (generator_key is not None or generator_kwargs):
            raise UsageError("give a generator, or its key and options, not both")
        self.generator = generator or build_generator(
            generator_key or DEFAULT_KEY, **dict(generator_kwargs or {})
        )
        self.privacy_mechanism = privacy_mechanism or NoPrivacy()
        self._budget = self.privacy_mechanism.budget(self.generator)
        self._facts = {
            "schema": schema,
            "unit": unit,
            "neighbours": neighbours,
            "ledger": ledger,
            "dataset": dataset,
        }
        self._seeds = np.random.default_rng(random_state)
        self._model: Model | None = None
        self.timings: dict[str, float] = {}

    @property
    def model(self) -> Model:
        """The fitted model; UsageError before the fit."""
        if self._model is None:
            raise UsageError("nothing is fitted yet", mend="call fit(table), or load(path)")
        return self._model

    @property
    def accountant(self) -> PrivacyAccountant:
        """What the fit has cost."""
        return PrivacyAccountant(model=self.model)

    @property
    def real_shape(self) -> tuple[int, int]:
        """Rows and columns of the private table: the noisy row count, since the exact one is private."""
        return self.model.rows, len(self.model.stored)

    def fit(
        self, table: Any, *, progress: Callable[[str], None] | None = None
    ) -> PrivacyPreservingSynthesizer:
        """Fit `table` (anything that `sfumato.fit` takes), charging every read. Returns itself."""
        from sfumato.api import fit

        own = {each.name: getattr(self.generator, each.name) for each in attrs.fields(type(self.generator))}
        options = {**own, **self._budget.get("options", {})}
        budget = {key: value for key, value in self._budget.items() if key != "options"}
        started = time.perf_counter()
        self._model = fit(
            table, method=self.generator.name, options=options, progress=progress, **budget, **self._facts
        )
        self.timings["fit"] = time.perf_counter() - started
        self.privacy_mechanism.fitted(self.accountant)
        return self

    def sample(self, n: int = 1000, *, where: Mapping[str, Any] | None = None) -> Any:
        """`n` rows in the kind of table that was fitted. Every call draws other rows, and costs nothing."""
        started = time.perf_counter()
        rows = self.model.sample(n, seed=int(self._seeds.integers(1 << 62)), where=where)
        self.timings["sample"] = time.perf_counter() - started
        return rows

    def generate(self, table: Any, n: int = 1000) -> Any:
        """Fit `table` and draw `n` rows."""
        return self.fit(table).sample(n)

    def evaluate(
        self, real: Any, synthetic: Any = None, *, num_rows: int | None = None, **options: Any
    ) -> Evaluation:
        """Compare synthetic rows with `real` ones, which costs no budget because the result is for the
        curator alone: it is computed from private rows and is not private.

        synthetic: default `num_rows` fresh rows (default: as many as the table has, up to noise), held
        against the guarantee of this model. Options are those of `sfumato.evaluate`.
        """
        from sfumato.api import evaluate

        if synthetic is None:
            synthetic = self.sample(num_rows or self.model.rows)
            options = {"model": self.model, **options}
        return evaluate(real, synthetic, **options)

    def assert_dp(self, declared: float | None = None, *, tolerance: float = 0.0) -> Verification:
        """Verify the model, and that the whole run keeps to `declared` (default: what was asked for);
        GuaranteeError if not.
        """
        from sfumato.api import assert_dp

        asked = self.model.request["epsilon"] if declared is None else declared
        return assert_dp(self.model, epsilon=asked, tolerance=tolerance)

    def get_report(self) -> dict[str, Any]:
        """The guarantee as a plain dictionary."""
        statement = self.model.statement
        return {
            "mechanism": self.privacy_mechanism.name,
            "dp": not statement.void,
            "epsilon": statement.state()["epsilon"],
            "delta": statement.delta,
            "noise_multiplier": self.accountant.noise_multiplier,
            "notes": str(statement),
        }

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the model file (see `sfumato.models.file`): one file, no pickle."""
        self.model.save(path, force=force)

    @classmethod
    def load(cls, path: str | Path) -> PrivacyPreservingSynthesizer:
        """Read a model file. Rows that are drawn afterwards differ from those drawn before it was saved."""
        from sfumato.api import load
        from sfumato.synthesizers.run import make_recipe

        model = load(path)
        made = cls.__new__(cls)
        recipe = make_recipe(model.method, model.options)
        made.generator, made._facts, made.timings = recipe, {}, {}
        made._seeds, made._model = np.random.default_rng(), model
        made.privacy_mechanism = NoPrivacy() if recipe.guarantee == "none" else _mechanism(model)
        made._budget = made.privacy_mechanism.budget(recipe)
        made.privacy_mechanism.fitted(made.accountant)
        return made

    save_model = save
    load_model = load


def _mechanism(model: Model) -> PrivacyMechanism:
    from sfumato.interface.mechanisms import DPSGD

    delta = model.request["delta"] or 1e-9  # a pure run states 0, and asks for none
    return DPSGD(epsilon=model.request["epsilon"], delta=delta)
