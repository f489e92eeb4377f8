"""Every method with all its options: replayed on neighbours, verified, saved, sampled."""

from __future__ import annotations

import attrs
import numpy as np
import polars as pl
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'sfumato[deep]'")
from tests.deep.programs import OPTIONS, SCHEMA, table

import sfumato as sf
from sfumato.errors import GuaranteeError, JobError, UsageError
from sfumato.models.file import load
from sfumato.models.verify import verify
from sfumato.testing import record_replay, worst_neighbours

RUNS = [(method, options) for method, runs in OPTIONS.items() for options in runs]
NAMES = [f"{method}-{i}" for method, runs in OPTIONS.items() for i in range(len(runs))]
FIRST = [(method, runs[0]) for method, runs in OPTIONS.items()]


def fit(method, options, **facts):
    given = {"epsilon": 1.0, "delta": 1e-5, "schema": SCHEMA} | facts
    return sf.fit(table(), method=method, options=options, **given)


@pytest.mark.parametrize("method, options", RUNS, ids=NAMES)
def test_a_neighbour_is_asked_the_same_and_answers_alike(method, options):
    """Sums of gradients are apart by the clip at most, and all numbers follow from the released ones."""
    rows = table()
    options = {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
    record_replay(rows, rows[:-1], method=method, options=options, schema=SCHEMA, delta=1e-5)


@pytest.mark.parametrize("method, options", FIRST, ids=list(OPTIONS))
def test_a_worst_neighbour(method, options):
    place = 5 * list(OPTIONS).index(method)
    check_pairs(method, options, worst_neighbours()[place : place + 1])


@pytest.mark.slow
@pytest.mark.parametrize("method, options", FIRST, ids=list(OPTIONS))
def test_the_worst_neighbours(method, options):
    check_pairs(method, options, worst_neighbours())


def check_pairs(method, options, pairs):
    for pair in pairs:
        chosen = {"schema": pair.schema, **pair.options}
        record_replay(
            pair.table,
            pair.neighbour,
            relation=pair.relation,
            method=method,
            options=options,
            delta=1e-5,
            **chosen,
        )


@pytest.mark.parametrize("method, options", RUNS, ids=NAMES)
def test_a_model_is_verified_without_rows_and_draws_as_many_as_asked(method, options, tmp_path):
    model = fit(method, options)
    path = tmp_path / "model"
    model.save(path)
    again = load(path)
    assert verify(again).epsilon <= 1.0
    drawn = again.sample(77, seed=3)
    assert drawn.equals(again.sample(77, seed=3)) and drawn.height == 77
    assert not drawn.equals(again.sample(77, seed=4))
    assert drawn["a"].is_in([f"v{i}" for i in range(4)]).all() and drawn["c"].is_between(0, 60).all()
    assert drawn["c"].null_count() == drawn["b"].null_count() == 0
    numbers = drawn["e"].drop_nulls()
    assert numbers.is_between(0, 20).all() and (numbers.round(1) - numbers).abs().max() in (None, 0.0)


def test_tampered_generators_and_critics_are_noticed():
    model = fit(*FIRST[0])
    arrays = model.generator.arrays()
    key = next(name for name in arrays if name.endswith("weight"))
    other = type(model.generator).from_arrays(
        tuple(codec.size for codec in model.codecs), arrays | {key: arrays[key] + 1e-3}
    )
    with pytest.raises(GuaranteeError, match="numbers"):
        verify(attrs.evolve(model, generator=other))
    answer = model.transcript[-1]
    critics = answer.arrays[0].copy()
    critics[0] = critics[1]
    changed = (*model.transcript[:-1], attrs.evolve(answer, arrays=(critics, answer.arrays[1])))
    with pytest.raises(GuaranteeError, match="numbers"):
        verify(attrs.evolve(model, transcript=changed))
    # One round less than the ledger says was executed.
    short = attrs.evolve(answer, arrays=tuple(array[:-1] for array in answer.arrays))
    with pytest.raises(GuaranteeError):
        verify(attrs.evolve(model, transcript=(*model.transcript[:-1], short)))


def test_the_encoder_of_the_paper_has_no_guarantee():
    options = OPTIONS["dp-auto-gan"][0] | {"encoder_mode": "paper"}
    model = fit("dp-auto-gan", options)
    assert model.statement.epsilon == np.inf and "encoder" in str(model.statement)
    with pytest.raises(GuaranteeError):
        verify(model)


def test_the_encoder_of_the_paper_moves_the_sums_of_others(monkeypatch):
    """Neighbours' sums drift apart once one row has moved an encoder that has no noise."""
    from tests.deep.test_training import codes, length, plan, program

    from sfumato.privacy.dpsgd import Trainer
    from sfumato.privacy.per_example import NORM_AT_MOST

    exposed = plan(exposed=("encoder",), clip=0.01, normaliser=1.0)
    sums = []
    for rows in (codes(100), codes(100)[:99]):
        made = program()
        trainer = Trainer(rows, made, exposed)
        for _ in range(3):
            made.update(trainer.exposed_gradient(np.arange(len(rows)), None, None))
        sums.append(trainer.sum(np.arange(99), None, None))
    # The 100th row is not in this batch at all.
    assert length(sums[0] - sums[1]) > 0.05 * NORM_AT_MOST


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_persons(neighbours):
    rows = table().with_columns(pl.Series("who", [i // 2 for i in range(60)]))
    schema = {"columns": {"who": {"type": "id", "format": "sequence"}, **SCHEMA["columns"]}}
    model = sf.fit(
        rows, epsilon=2.0, delta=1e-5, method="dp-vae", schema=schema, unit=("who", 2), neighbours=neighbours,
        options=OPTIONS["dp-vae"][0],
    )  # fmt: skip
    assert verify(model).epsilon <= 2.0


def test_accounting_by_concentration_is_possible_and_dear():
    options = OPTIONS["dp-vae"][0] | {"rows": 60}
    noises = [
        next(e.parameters["noise"] for e in fit("dp-vae", options, accountant=name).ledger)
        for name in ("gdp", "zcdp")
    ]
    assert eval_fraction(noises[1]) > 0.5 * eval_fraction(noises[0])


def eval_fraction(text):
    from fractions import Fraction

    return float(Fraction(text))


def test_without_a_schema():
    model = sf.fit(table(200), epsilon=5.0, method="dp-vae", options=OPTIONS["dp-vae"][0])
    assert verify(model).epsilon <= 5.0 and model.sample(5, seed=1).height == 5


def test_rows_with_given_values():
    model = fit("dp-vae", OPTIONS["dp-vae"][0])
    drawn = model.sample(40, seed=1, where={"b": "yes"})
    assert drawn["b"].to_list() == ["yes"] * 40


@pytest.mark.parametrize(
    "method, options, word",
    [
        ("dp-auto-gan", {"encoder_mode": "none"}, "encoder_mode"),
        ("dp-auto-gan", {"critic_steps": 7}, "multiple"),
        ("dp-gan", {"rectify_marginals": True}, "uniform"),
        ("dp-gan", {"condition": "zz"}, "zz"),
        ("dp-gan", {"condition": "c"}, "no category"),
        ("dp-gan", {"label_smoothing": 0.7}, "label_smoothing"),
        ("dp-gan", {"ecdf_bounds": [3, 1]}, "ecdf_bounds"),
        ("dp-syn", {"label": "zz"}, "zz"),
        ("dp-syn", {"label": "c"}, "groups rows"),
        ("dp-vae", {"clip": 0.0}, "clip"),
        ("dp-wgan", {"steps": 7}, "multiple"),
    ],
)
def test_options_that_cannot_be_used(method, options, word):
    with pytest.raises(UsageError, match=word):
        fit(method, options)


def test_marginals_that_take_all():
    with pytest.raises(JobError, match="ecdf_epsilon"):
        fit("dp-gan", {"ecdf_epsilon": 3.0})


def test_rows_get_the_noisy_marginals():
    """Rectified rows have the measured shares, whatever the network has learned."""
    options = {"steps": 5, "hidden": 8, "numeric": "ranks", "rectify_marginals": True, "rows": 60}
    model = fit("dp-vae", options, epsilon=10.0)
    drawn, generator = model.sample(20_000, seed=1), model.generator
    shares = np.array([(drawn["a"] == f"v{i}").mean() for i in range(4)])
    assert np.abs(shares - generator.targets[0]).max() < 0.02
    # Without them the network's own shares are others.
    free = attrs.evolve(model, generator=attrs.evolve(generator, targets=())).sample(20_000, seed=1)
    own = np.array([(free["a"] == f"v{i}").mean() for i in range(4)])
    assert np.abs(own - generator.targets[0]).max() > 0.02
    place = generator.encoding.starts[2]
    vectors = generator.vectors(5_000, np.random.default_rng(0))
    generator._rectify(vectors)
    assert np.abs(np.sort(vectors[:, place]) - (np.arange(5_000) + 0.5) / 5_000).max() < 1e-9
