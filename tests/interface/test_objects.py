"""The interface of objects: names, budgets, mechanisms, and what they must not do."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import GuaranteeError, UsageError

DOCUMENTED = [
    "PrivacyPreservingSynthesizer",
    "CTGANGenerator",
    "TVAEGenerator",
    "CopulaGANGenerator",
    "GaussianCopulaGenerator",
    "DPSGDGenerator",
    "DPCopulaGenerator",
    "DPSGD",
    "NoPrivacy",
    "PrivacyMechanism",
    "DPEcdf",
    "DpAssurance",
    "assert_dp",
    "BudgetSplit",
    "split_budget",
    "SweepResult",
    "run_epsilon_sweep",
    "BenchmarkResult",
    "run_benchmark",
    "register_generator",
    "get_generator",
    "build_generator",
    "list_generators",
    "GeneratorNotFoundError",
    "PrivacyAccountant",
    "__version__",
]
SCHEMA = {
    "columns": {
        "a": {"type": "float", "decimals": 2, "min": 0, "max": 100},
        "b": {"type": "float", "decimals": 2, "min": 0, "max": 100},
    }
}


def _table(rows: int = 400) -> pd.DataFrame:
    z = np.random.default_rng(1).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=rows)
    return pd.DataFrame(np.round(50 + 10 * z, 2), columns=["a", "b"])


def _fitted(epsilon: float = 1.0, **options) -> sf.PrivacyPreservingSynthesizer:
    made = sf.PrivacyPreservingSynthesizer(
        generator_key="dp-copula", privacy_mechanism=sf.DPSGD(epsilon=epsilon), schema=SCHEMA, **options
    )
    return made.fit(_table())


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_documented_name_is_there(name: str) -> None:
    assert getattr(sf, name) is not None
    assert name in sf.__all__


def test_importing_it_loads_nothing_heavy() -> None:
    code = (
        "import sys, sfumato; sfumato.DPSGD; sfumato.PrivacyPreservingSynthesizer; "
        "print([m for m in ('polars', 'pandas', 'torch', 'scipy', 'sklearn', 'jinja2') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_rows_of_the_model_are_evaluated_against_its_guarantee() -> None:
    real, held = _table().head(200), _table().tail(200)
    made, options = _fitted(), {"holdout": held, "families": ["marginals", "attacks"]}
    drawn = made.evaluate(real, num_rows=150, **options)
    assert drawn.facts["rows"]["synthetic"] == 150 and drawn["marginals.ks"].value is not None
    own = made.evaluate(real, real, **options)
    assert own["marginals.ks"].value == 0.0
    assert drawn["attacks.membership"].facts["ceiling"] is not None
    assert own["attacks.membership"].facts["ceiling"] is None


def test_fit_sample_save_load(tmp_path: Path) -> None:
    made = _fitted()
    assert isinstance(made.sample(30), pd.DataFrame)
    assert len(made.sample()) == 1000
    made.save(tmp_path / "m.sfumato")
    again = sf.PrivacyPreservingSynthesizer.load(tmp_path / "m.sfumato")
    assert again.assert_dp().epsilon == made.accountant.total_epsilon
    assert again.privacy_mechanism.used_noise_multiplier == made.privacy_mechanism.used_noise_multiplier
    assert len(again.sample(7)) == 7


def test_rows_repeat_by_the_seed_and_never_start_anew_after_loading(tmp_path: Path) -> None:
    made = _fitted(random_state=5)
    first, second = made.sample(50), made.sample(50)
    assert not first.equals(second)
    made.save(tmp_path / "m")
    again = sf.PrivacyPreservingSynthesizer.load(tmp_path / "m").sample(50)
    assert not np.array_equal(first.to_numpy(), again.to_numpy())


def test_generate_is_fit_and_sample() -> None:
    made = sf.PrivacyPreservingSynthesizer(
        sf.DPCopulaGenerator(margins_fraction=0.5), privacy_mechanism=sf.DPSGD(epsilon=1.0), schema=SCHEMA
    )
    assert len(made.generate(_table(), 12)) == 12
    assert made.model.options["margins_fraction"] == 0.5


def test_the_accountant_counts_margins_and_everything_else() -> None:
    accountant = _fitted(epsilon=2.0).accountant
    assert accountant.total_epsilon == pytest.approx(2.0, rel=1e-3)
    assert accountant.get_epsilon() == accountant.total_epsilon
    assert accountant.ecdf_epsilon == pytest.approx(1.0, rel=1e-3)  # 0.4 of 0.8 without categories
    assert accountant.ecdf_epsilon + accountant.train_epsilon == pytest.approx(accountant.total_epsilon)


def test_the_accountant_of_a_gaussian_method_converts_to_any_delta() -> None:
    made = sf.PrivacyPreservingSynthesizer(
        generator_key="mst", privacy_mechanism=sf.DPSGD(epsilon=1.0, delta=1e-6), schema=SCHEMA
    ).fit(_table())
    accountant = made.accountant
    assert accountant.get_epsilon(1e-9) > accountant.get_epsilon() > accountant.get_epsilon(1e-3)
    assert made.privacy_mechanism.used_noise_multiplier > 1


def test_the_applied_noise_is_known_however_it_was_asked_for() -> None:
    asked = sf.DPSGD(epsilon=1.0)
    fixed = sf.DPSGD(noise_multiplier=4.0)
    for mechanism, wanted in ((asked, 1.0), (fixed, 4.0)):
        assert mechanism.used_noise_multiplier is None
        sf.PrivacyPreservingSynthesizer(
            generator_key="dp-copula", privacy_mechanism=mechanism, schema=SCHEMA
        ).fit(_table())
        assert mechanism.used_noise_multiplier == pytest.approx(wanted, rel=1e-3)


def test_a_training_tells_the_noise_of_its_steps(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install 'sfumato[deep]'")
    mechanism = sf.DPSGD(epsilon=1.0, max_grad_norm=0.5)
    made = sf.PrivacyPreservingSynthesizer(
        sf.DPSGDGenerator(epochs=2, hidden=16), privacy_mechanism=mechanism, schema=SCHEMA
    ).fit(_table())
    (trained,) = [entry for entry in made.model.ledger if entry.mechanism == "dp_sgd"]
    assert made.model.options["clip"] == trained.parameters["clip"] == 0.5
    assert mechanism.used_noise_multiplier == float(Fraction(trained.parameters["noise"])) > 0.5
    accountant = made.accountant
    assert max(accountant.ecdf_epsilon, accountant.train_epsilon) < accountant.total_epsilon <= 1
    made.save(tmp_path / "m")
    assert sf.PrivacyPreservingSynthesizer.load(tmp_path / "m").assert_dp().epsilon <= 1


def test_a_training_takes_the_noise_that_is_given() -> None:
    """As it is; epsilon is what follows, and never more than a limit that is stated."""
    pytest.importorskip("torch", reason="torch is not installed: pip install 'sfumato[deep]'")
    facts = {"steps": 30, "batch": 20.0, "hidden": 8}
    epsilons = []
    for noise in (1.1, 3.7):
        mechanism = sf.DPSGD(noise_multiplier=noise)
        recipe = sf.build_generator("dp-vae", rows=len(_table()), **facts)
        made = sf.PrivacyPreservingSynthesizer(recipe, privacy_mechanism=mechanism, schema=SCHEMA)
        made.fit(_table())
        assert mechanism.used_noise_multiplier == noise == made.get_report()["noise_multiplier"]
        epsilons.append(made.accountant.total_epsilon)
        # The budget has room for discovery, and the model states what was spent.
        assert 0.7 * made.model.request["epsilon"] < epsilons[-1] <= made.model.request["epsilon"]
    assert epsilons[0] > 2 * epsilons[1]
    unknown = sf.build_generator("dp-vae", **facts)
    with pytest.raises(UsageError, match="number of rows"):
        sf.PrivacyPreservingSynthesizer(unknown, privacy_mechanism=sf.DPSGD(noise_multiplier=1.1))
    for noise, epsilon in ((5.0, 4.0), (1.1, 0.5)):
        mechanism = sf.DPSGD(noise_multiplier=noise, epsilon=epsilon)
        made = sf.PrivacyPreservingSynthesizer(unknown, privacy_mechanism=mechanism, schema=SCHEMA)
        if epsilon > 1:
            assert made.fit(_table()).accountant.total_epsilon <= epsilon
            assert mechanism.used_noise_multiplier == noise
        else:
            with pytest.raises(sf.errors.Overdraft, match="noise multiplier"):
                made.fit(_table())


def test_a_guarantee_is_never_assumed_nor_dropped() -> None:
    with pytest.raises(UsageError, match="has a guarantee"):
        sf.PrivacyPreservingSynthesizer(generator_key="dp-copula")
    with pytest.raises(UsageError, match=r"no guarantee(.|\n)*dp-copula"):
        sf.PrivacyPreservingSynthesizer(generator_key="gaussian-copula", privacy_mechanism=sf.DPSGD())
    made = sf.PrivacyPreservingSynthesizer(generator_key="gaussian-copula")
    with pytest.warns(sf.PrivacyWarning):
        made.fit(_table())
    report = made.get_report()
    assert (report["dp"], report["epsilon"]) == (False, "infinity")
    assert math.isinf(made.accountant.get_epsilon())
    with pytest.raises(GuaranteeError):
        made.assert_dp()


def test_assert_dp_counts_margins_and_has_no_slack() -> None:
    made = _fitted(epsilon=1.0)
    made.assert_dp()
    with pytest.raises(GuaranteeError):
        made.assert_dp(0.97)
    with pytest.raises(GuaranteeError):
        made.assert_dp(made.accountant.train_epsilon)


def test_split_budget() -> None:
    split = sf.split_budget(total=10.0)
    assert (split.total, split.margins, split.train) == (10.0, 3.0, 7.0)
    assert sf.split_budget(total_epsilon=2.0, margins_fraction=0.25).margins == 0.5
    assert "0.5" in sf.split_budget(2.0, 0.25).describe()
    for wrong in (
        {"total": 0},
        {"total": 1.0, "margins_fraction": 1.0},
        {},
        {"total": 1, "total_epsilon": 1},
    ):
        with pytest.raises(UsageError):
            sf.split_budget(**wrong)
    made = sf.PrivacyPreservingSynthesizer(
        generator_key="dp-copula", generator_kwargs={"margins_fraction": 0.3}, schema=SCHEMA,
        privacy_mechanism=sf.DPSGD(epsilon=split.total),
    ).fit(_table())  # fmt: skip
    assert made.accountant.total_epsilon <= split.total * (1 + 1e-9)


def test_unknown_generators_are_key_errors_that_list_the_known_ones() -> None:
    with pytest.raises(KeyError) as caught:
        sf.get_generator("ctgann")
    assert isinstance(caught.value, sf.GeneratorNotFoundError)
    assert "dp-copula" in str(caught.value)
    with pytest.raises(UsageError, match="no option 'epoch'"):
        sf.build_generator("dp-copula", epoch=3)
    assert {"dp-copula", "gaussian-copula"} <= set(sf.list_generators())


def test_a_private_distribution_function() -> None:
    values = np.random.default_rng(2).normal(50, 10, 4000)
    one, two = (sf.DPEcdf(epsilon=2.0, bounds=(0, 100)).fit(values) for _ in range(2))
    assert abs(one.quantile(0.5) - 50) < 2
    assert abs(one.cdf(60) - 0.841) < 0.04
    levels = np.linspace(0.05, 0.95, 10)
    assert np.allclose(one.cdf(one.quantile(levels)), levels, atol=1e-6)
    assert not np.array_equal(one.quantile(levels), two.quantile(levels))
    assert one.model.statement.delta == 0


@pytest.mark.parametrize(
    "wrong", [{"epsilon": 0}, {"delta": 0}, {"noise_multiplier": -1}, {"max_grad_norm": 0}]
)
def test_mechanisms_check_their_numbers(wrong: dict) -> None:
    with pytest.raises(UsageError):
        sf.DPSGD(**wrong)
