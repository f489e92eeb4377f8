"""`ctgan`, `tvae`, `copula-gan`: what they learn, and that they promise nothing."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import attrs
import numpy as np
import polars as pl
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'sfumato[deep]'")
from tests.deep.programs import SCHEMA, table

import sfumato as sf
from sfumato.errors import GuaranteeError, UsageError
from sfumato.privacy.dataset_ledger import DatasetLedger
from sfumato.privacy.dpsgd import pack
from sfumato.synthesizers.deep.yardstick import released

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.api.PrivacyWarning")
METHODS = ("ctgan", "tvae", "copula-gan")
SMALL = {
    "ctgan": {"epochs": 2, "generator_dim": [16, 16], "discriminator_dim": [16], "embedding_dim": 8},
    "tvae": {"epochs": 2, "compress_dims": [16], "decompress_dims": [16, 16], "embedding_dim": 8},
}
SMALL["copula-gan"] = SMALL["ctgan"]


def fit(method: str, rows: pl.DataFrame | None = None, **facts):
    given = {"schema": SCHEMA, "options": SMALL[method]} | facts
    return sf.fit(table(200) if rows is None else rows, method=method, **given)


def related(rows: int = 3000) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    z = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=rows)
    hill = np.where(z[:, 0] > 0, rng.normal(70, 4, rows), rng.normal(20, 3, rows))
    return pl.DataFrame(
        {
            "a": hill.round().astype(int),
            "b": np.round(50 + 10 * z[:, 1], 1),
            "c": np.where(z[:, 0] > 0, "up", "down"),
        }
    )


RELATED = {
    "columns": {
        "a": {"type": "int", "min": 0, "max": 100},
        "b": {"type": "float", "decimals": 1, "min": 0, "max": 100},
        "c": {"type": "categorical", "values": ["up", "down"]},
    }
}


@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=[] if name == "tvae" else [pytest.mark.slow]) for name in METHODS]
)
def test_margins_and_relations_are_learned(method: str) -> None:
    real = related(2000)
    few = {"epochs": 30 if method == "tvae" else 60, "batch_size": 200}
    wide = (
        {}
        if method == "tvae"
        else {
            "generator_dim": [64, 64],
            "discriminator_dim": [64, 64],
            "generator_lr": 1e-3,
            "discriminator_lr": 1e-3,
        }
    )
    made = fit(method, real, schema=RELATED, options=few | wide).sample(4000, seed=1)
    assert abs((made["c"] == "up").mean() - 0.5) < 0.1
    # Two hills, one for each label.
    for label, centre in (("up", 70), ("down", 20)):
        part = made.filter(pl.col("c") == label)["a"]
        assert (part - centre).abs().median() < 6, (label, part.median())
    assert made.select(pl.corr("a", "b")).item() > 0.2
    for name in ("a", "b"):
        levels = np.quantile(real[name], np.arange(0.1, 0.91, 0.1))
        gap = [abs((made[name] <= level).mean() - (real[name] <= level).mean()) for level in levels]
        assert max(gap) < 0.15


@pytest.mark.parametrize("method", METHODS)
def test_it_guarantees_nothing_and_says_so(method: str, tmp_path: Path) -> None:
    with pytest.warns(sf.PrivacyWarning, match="no privacy guarantee"):
        model = fit(method)
    assert math.isinf(model.statement.epsilon)
    assert f"NO PRIVACY GUARANTEE (epsilon = infinity): {method} trains on the rows as they are" in str(
        model.statement
    )
    infinite = [entry.mechanism for entry in model.ledger if math.isinf(entry.cost.add_remove.epsilon)]
    assert infinite == ["reveal", "exact", "plain_training"]
    model.save(tmp_path / "m")
    for check in (lambda: sf.verify(tmp_path / "m"), lambda: sf.assert_dp(tmp_path / "m", epsilon=1e9)):
        with pytest.raises(GuaranteeError, match=r"nothing is guaranteed: .* The file itself is whole"):
            check()


@pytest.mark.parametrize("method", METHODS)
def test_a_model_draws_as_many_rows_as_asked_and_the_same_after_loading(method: str, tmp_path: Path) -> None:
    model = fit(method)
    model.save(tmp_path / "m")
    again = sf.load(tmp_path / "m")
    drawn = again.sample(77, seed=3)
    assert drawn.equals(model.sample(77, seed=3)) and drawn.height == 77
    assert not drawn.equals(again.sample(77, seed=4))
    assert drawn["a"].is_in([f"v{i}" for i in range(4)]).all() and drawn["c"].is_between(0, 60).all()
    assert drawn["c"].null_count() == drawn["b"].null_count() == 0
    numbers = drawn["e"].drop_nulls()
    assert numbers.is_between(0, 20).all() and (numbers.round(1) - numbers).abs().max() in (None, 0.0)
    assert again.sample(30, seed=1, where={"b": "yes"})["b"].to_list() == ["yes"] * 30


@pytest.mark.parametrize("method", METHODS)
def test_a_training_repeats_by_its_seed(method: str) -> None:
    torch = sys.modules["torch"]
    one = fit(method).sample(20, seed=0)
    torch.manual_seed(77)
    assert one.equals(fit(method).sample(20, seed=0))
    assert not one.equals(fit(method, options={**SMALL[method], "initial": 1}).sample(20, seed=0))
    state = torch.random.get_rng_state()
    fit(method)
    assert torch.equal(state, torch.random.get_rng_state())


@pytest.mark.parametrize("method", ["ctgan", "tvae"])
def test_altered_networks_are_noticed(method: str) -> None:
    model = fit(method)
    answer = model.transcript[-1]
    other = attrs.evolve(answer, arrays=(pack(released(answer.arrays[0])[None] + 0.01),))
    with pytest.raises(GuaranteeError, match="numbers are not those"):
        sf.verify(attrs.evolve(model, transcript=(*model.transcript[:-1], other)))
    short = attrs.evolve(answer, arrays=(answer.arrays[0][:, :-1],))
    with pytest.raises(GuaranteeError, match="not what this method asks"):
        sf.verify(attrs.evolve(model, transcript=(*model.transcript[:-1], short)))


@pytest.mark.filterwarnings("ignore:.*nearly all of its cells are missing:sfumato.DataWarning")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["few", "one", "none", "numbers", "labels", "missing"])
def test_odd_tables(method: str, kind: str) -> None:
    rows, schema = table(60), SCHEMA
    empty = {"none": rows[:0], "few": rows[:3], "one": rows[:1]}
    if kind in empty:
        rows = empty[kind]
    elif kind == "numbers":
        rows, schema = rows.select("c"), {"columns": {"c": SCHEMA["columns"]["c"]}}
    elif kind == "labels":
        rows, schema = rows.select("b"), {"columns": {"b": SCHEMA["columns"]["b"]}}
    else:
        rows = rows.with_columns(pl.lit(None, dtype=pl.Float64).alias("e"))
    drawn = fit(method, rows, schema=schema, allow_empty=True).sample(9, seed=0)
    assert drawn.height == 9 and drawn.columns == rows.columns
    if kind == "missing":
        assert drawn["e"].null_count() == 9


def test_a_model_file_holds_no_row(tmp_path: Path) -> None:
    """A row's codes, one after the other, would stand in the file if rows were kept."""
    rows = table(200).with_columns(pl.lit(37).alias("c"), pl.lit("v3").alias("a"), pl.lit("no").alias("b"))
    model = fit("tvae", rows)
    held = [array for answer in model.transcript for array in answer.arrays]
    held += list(model.generator.arrays().values())
    pattern = np.array([4, 1, 38])
    for array in held:
        flat = array.reshape(-1)
        if flat.size >= 3:
            runs = np.lib.stride_tricks.sliding_window_view(flat, 3)
            assert not (runs == pattern).all(1).any()


@pytest.mark.parametrize("method", METHODS)
def test_an_epsilon_is_refused_with_the_methods_that_have_one(method: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no guarantee(.|\n)*adaptive(.|\n)*dp-copula(.|\n)*dp-gan"):
        fit(method, epsilon=1.0, ledger=tmp_path / "l", dataset="d")
    assert not (tmp_path / "l").exists()
    with pytest.raises(UsageError, match=r"no guarantee(.|\n)*dp-copula"):
        sf.PrivacyPreservingSynthesizer(generator_key=method, privacy_mechanism=sf.DPSGD())


def test_the_disk_ledger_counts_it_as_infinite(tmp_path: Path) -> None:
    fit("tvae", ledger=tmp_path / "l", dataset="d")
    assert math.isinf(DatasetLedger(tmp_path / "l").spent("d").epsilon)


@pytest.mark.parametrize("method", [*METHODS, "dp-vae"])
def test_a_missing_package_costs_nothing(method: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    facts = {"epsilon": 1.0, "options": {}} if method == "dp-vae" else {"options": {}}
    with pytest.raises(UsageError, match=r"pip install 'sfumato\[deep\]'"):
        sf.fit(table(), method=method, schema=SCHEMA, ledger=tmp_path / "l", dataset="d", **facts)
    assert not (tmp_path / "l").exists()


@pytest.mark.parametrize("method", METHODS)
def test_rows_are_drawn_and_files_checked_without_torch(method: str, tmp_path: Path, monkeypatch) -> None:
    fit(method).save(tmp_path / "m")
    monkeypatch.setitem(sys.modules, "torch", None)
    assert sf.load(tmp_path / "m").sample(5, seed=0).height == 5
    with pytest.raises(GuaranteeError, match="The file itself is whole"):
        sf.verify(tmp_path / "m")


@pytest.mark.parametrize(
    "method, options, word",
    [
        ("ctgan", {"epochs": 0}, "epochs"),
        ("ctgan", {"generator_dim": []}, "generator_dim"),
        ("ctgan", {"discriminator_dim": [0]}, "discriminator_dim"),
        ("ctgan", {"generator_decay": -1.0}, "generator_decay"),
        ("ctgan", {"backend": "other"}, "backend"),
        ("copula-gan", {"pac": 0}, "pac"),
        ("tvae", {"compress_dims": [2.5]}, "compress_dims"),
        ("tvae", {"pac": 10}, "no option 'pac'"),
        ("tvae", {"loss_factor": math.inf}, "loss_factor"),
    ],
)
def test_options_that_cannot_be_used(method: str, options: dict, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        fit(method, options=options)


def test_too_many_labels_for_a_network() -> None:
    schema = {"columns": {"x": {"type": "categorical", "values": [f"v{i}" for i in range(1200)]}}}
    with pytest.raises(UsageError, match="more than a network takes in"):
        sf.fit({"x": ["v1", "v2"]}, method="ctgan", schema=schema)


def test_persons_are_cut_to_their_rows() -> None:
    rows = table(80).with_columns(pl.Series("who", [i // 4 for i in range(80)]))
    schema = {"columns": {"who": {"type": "id", "format": "sequence"}, **SCHEMA["columns"]}}
    model = fit("tvae", rows, schema=schema, unit=("who", 2))
    assert model.rows == 40


def test_defaults_are_those_of_the_papers() -> None:
    made = sf.build_generator("ctgan")
    assert (made.epochs, made.batch_size, made.embedding_dim, made.pac) == (300, 500, 128, 10)
    assert made.generator_dim == made.discriminator_dim == (256, 256) and made.log_frequency
    assert made.generator_lr == made.discriminator_lr == 2e-4 and made.discriminator_steps == 1
    assert made.generator_decay == made.discriminator_decay == 1e-6
    other = sf.build_generator("tvae")
    assert (other.compress_dims, other.decompress_dims, other.l2scale) == ((128, 128), (128, 128), 1e-5)
    assert (other.epochs, other.batch_size, other.embedding_dim, other.loss_factor) == (300, 500, 128, 2.0)
    assert isinstance(sf.CTGANGenerator(epochs=3), type(made)) and sf.CopulaGANGenerator().normal
    assert sf.PrivacyPreservingSynthesizer().generator == made


def test_objects_train_save_and_load(tmp_path: Path) -> None:
    made = sf.PrivacyPreservingSynthesizer(sf.TVAEGenerator(**SMALL["tvae"]), schema=SCHEMA).fit(table(100))
    assert math.isinf(made.accountant.total_epsilon) and len(made.sample(12)) == 12
    made.save(tmp_path / "m")
    again = sf.PrivacyPreservingSynthesizer.load(tmp_path / "m")
    assert again.generator == made.generator and len(again.sample(5)) == 5
    with pytest.raises(GuaranteeError, match="nothing is guaranteed"):
        again.assert_dp()
