"""Every method with all its options: replayed on neighbours, verified, saved, sampled."""

from __future__ import annotations

import attrs
import numpy as np
import polars as pl
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'sfumato[deep]'")
from tests.deep.programs import OPTIONS, SCHEMA, SHAPES, table

import sfumato as sf
from sfumato.errors import GuaranteeError, JobError, UsageError
from sfumato.models.file import load
from sfumato.models.verify import verify
from sfumato.privacy import per_example, trainings
from sfumato.privacy.curator import Curator
from sfumato.privacy.dpsgd import Trainer
from sfumato.privacy.mechanisms.training import DpSgd
from sfumato.synthesizers.deep.generator import matched, matched_chances
from sfumato.synthesizers.deep.programs import VariationalAutoencoder
from sfumato.synthesizers.recipe import synthesizers
from sfumato.testing import record_replay, worst_neighbours

RUNS = [(method, options) for method, runs in OPTIONS.items() for options in runs]
NAMES = [f"{method}-{i}" for method, runs in OPTIONS.items() for i in range(len(runs))]
FIRST = [(method, runs[0]) for method, runs in OPTIONS.items()]


def fit(method, options, **facts):
    given = {"epsilon": 1.0, "delta": 1e-5, "schema": SCHEMA} | facts
    return sf.fit(table(), method=method, options=options, **given)


def test_every_option_that_matters_is_replayed():
    for method, runs in OPTIONS.items():
        asked = {name for options in runs for name in options}
        known = {each.name for each in attrs.fields(synthesizers[method])}
        assert asked <= known and known - asked <= SHAPES, f"{method}: {known - asked - SHAPES}"


@pytest.mark.parametrize("method, options", RUNS, ids=NAMES)
def test_every_method_with_all_options(method, options, tmp_path):
    """A neighbour is asked the same and answers alike: sums of gradients are apart by the clip at most, and
    all numbers follow from the released ones. The model is verified without rows, and draws as many as asked.
    """
    rows = table()
    options = {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
    played = record_replay(rows, rows[:-1], method=method, options=options, schema=SCHEMA, delta=1e-5)
    assert any(step.mechanism.name == "dp_sgd" for step in played.steps)
    path = tmp_path / "model"
    played.recording.model.save(path)
    again = load(path)
    assert verify(again).epsilon <= 1.0
    drawn = again.sample(77, seed=3)
    assert drawn.equals(again.sample(77, seed=3)) and drawn.height == 77
    assert not drawn.equals(again.sample(77, seed=4))
    assert drawn["a"].is_in([f"v{i}" for i in range(4)]).all() and drawn["c"].is_between(0, 60).all()
    assert drawn["c"].null_count() == drawn["b"].null_count() == 0
    numbers = drawn["e"].drop_nulls()
    assert numbers.is_between(0, 20).all() and (numbers.round(1) - numbers).abs().max() in (None, 0.0)


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


# ---- bugs that a replay must find -------------------------------------------------------------------------


def test_an_encoder_without_noise_that_is_charged_as_if_it_had_some_is_noticed(monkeypatch):
    own = {"autoencoder_steps": 2, "critic_steps": 2, "critic_per_generator": 2, "rows": 60}
    facts = {"method": "dp-auto-gan", "schema": SCHEMA, "delta": 1e-5}
    rows = table()
    record_replay(rows, rows[:-1], options=own | {"encoder_mode": "paper"}, **facts)
    right = DpSgd.cost

    def cost(self, unit):
        return right(attrs.evolve(self, unprotected=False, plan=attrs.evolve(self.plan, exposed=())), unit)

    monkeypatch.setattr(DpSgd, "cost", cost)
    monkeypatch.setattr(Curator, "reveal", lambda self, reason: None)
    with pytest.raises(AssertionError, match="without noise"):
        record_replay(rows, rows[:-1], options=own | {"encoder_mode": "paper"}, **facts)


def without_clip(monkeypatch):
    monkeypatch.setattr(per_example, "_weights", lambda squared, slack, clip: np.full_like(squared, 1e3))
    monkeypatch.setattr(per_example, "within", lambda squared, spread, slack: np.ones_like(squared, bool))


def rows_of_a_batch_in_common(monkeypatch):
    right = VariationalAutoencoder.losses

    def losses(self, network, rows, companions):
        return right(self, network, rows - rows.mean(0, keepdim=True), companions)

    monkeypatch.setattr(VariationalAutoencoder, "losses", losses)
    monkeypatch.setattr(trainings, "check_places", lambda *given: False)


def groups_of_each_batch(monkeypatch):
    def deal(self):
        count = len(self._codes)
        self._members = np.array_split(np.arange(count), range(2, count, 2))[: self.plan.groups]

    monkeypatch.setattr(Trainer, "deal_alike", deal)


@pytest.mark.parametrize("bug", [without_clip, rows_of_a_batch_in_common, groups_of_each_batch])
def test_bugs_are_noticed(bug, monkeypatch):
    bug(monkeypatch)
    rows, options = (
        table(),
        {"steps": 2, "hidden": 8, "rows": 60, "group": 2 if bug is groups_of_each_batch else 1},
    )
    with pytest.raises(AssertionError, match="moves by"):
        record_replay(rows, rows[1:], method="dp-vae", options=options, schema=SCHEMA, delta=1e-5)


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


@pytest.mark.parametrize("spread", [0.1, 1.0, 5.0, 20.0])
def test_chances_are_matched_as_scores_of_two_labels_are(spread):
    rng = np.random.default_rng(0)
    for target in (0.0, 1e-4, 0.03, 0.5, 0.97, 1.0):
        chances = 1 / (1 + np.exp(-rng.normal(rng.normal() * 3, spread, 3_000)))
        found = matched_chances(chances, target)
        assert found.mean() == pytest.approx(target, abs=1e-8)
        assert np.all(np.diff(found[np.argsort(chances)]) >= -1e-12)
        if spread < 2:  # `matched` is there after its steps as well
            pair = matched(np.stack([1 - chances, chances], 1), np.array([1 - target, target]))
            assert np.abs(found - pair[:, 1]).max() < 1e-6
