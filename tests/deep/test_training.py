"""A training as the curator runs it: charged first, steps as stated, nothing from rows but noisy sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'sfumato[deep]'")
from tests.deep.programs import OPTIONS, SCHEMA, plan, table  # noqa: E402

import sfumato as sf  # noqa: E402
from sfumato.domain.alphabet import symbols_of  # noqa: E402
from sfumato.errors import JobError, UsageError  # noqa: E402
from sfumato.privacy import dpsgd  # noqa: E402
from sfumato.privacy.dataset_ledger import DatasetLedger  # noqa: E402
from sfumato.privacy.dpsgd import Trainer, check_places, pack, parameters_of, set_parameters, unpack  # noqa: E402
from sfumato.privacy.filter import Budget  # noqa: E402
from sfumato.privacy.mechanisms.training import DpSgd, schedule_of  # noqa: E402
from sfumato.privacy.per_example import NORM_AT_MOST, UNITS  # noqa: E402
from sfumato.privacy.private_table import PrivateTable  # noqa: E402
from sfumato.privacy.rounded_gaussian import RoundedGaussian  # noqa: E402
from sfumato.privacy.subsampled import epsilon, epsilon_of_renyi, mu_squared, renyi  # noqa: E402
from sfumato.privacy.unit import PrivacyUnit  # noqa: E402
from sfumato.schema import read_schema  # noqa: E402
from sfumato.synthesizers.deep.common import adam  # noqa: E402
from sfumato.synthesizers.deep.encoding import Encoding, linear  # noqa: E402
from sfumato.synthesizers.deep.nets import chain  # noqa: E402
from sfumato.synthesizers.deep.programs import Autoencoder, VariationalAutoencoder  # noqa: E402


class Labelled:
    """A codec of `size` labels, as far as encoding looks at it."""

    def __init__(self, size: int) -> None:
        self.size, self.allowed = size, np.ones(size, dtype=bool)


ENCODING = Encoding(columns=(linear(Labelled(4)), linear(Labelled(3))))


def program(kind: type = Autoencoder, width: int = 6):
    facts = {"optimiser": adam(0.01), "facts": {}, "seed": 0}
    if kind is VariationalAutoencoder:
        return kind(ENCODING, chain(7, width, 4), chain(2, width, 7, last="sigmoid"), pool=16, **facts)
    return kind(ENCODING, chain(7, width, 3), chain(3, width, 7, last="sigmoid"), frozen=False, **facts)


def codes(rows: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, 4, rows), rng.integers(0, 3, rows)], 1)


def length(vector: np.ndarray) -> float:
    return math.sqrt(sum(int(x) ** 2 for x in vector.tolist()))


# ---- one step --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Autoencoder, VariationalAutoencoder])
@pytest.mark.parametrize("place", [0, 17, 99])
def test_one_row_moves_a_step_by_at_most_the_clip(kind, place):
    """Whatever the parameters, and whoever is in the batch: all other rows' integers are the same."""
    all_rows = codes(100)
    made = program(kind)
    padded = check_places(made, plan(), lambda n: codes(n, 5))
    one = Trainer(all_rows, made, plan(), padded=padded)
    other = Trainer(np.delete(all_rows, place, axis=0), made, plan(), padded=padded)
    pool = made.companions(0)
    chosen = None if pool is None else (np.arange(100) % 16).reshape(-1, 1)
    for shift in (0.0, 0.5, 3.0):
        for trainer in (one, other):
            trainer.shift_parameters(made, shift)
        batch = np.sort(np.random.default_rng(place).permutation(100)[:50])
        batch = np.union1d(batch, [place])
        rest = batch[batch != place]
        with_row = one.sum(batch, pool, None if chosen is None else chosen[batch])
        without = other.sum(rest - (rest > place), pool, None if chosen is None else chosen[rest])
        assert 0 < length(with_row - without) <= NORM_AT_MOST


@pytest.mark.parametrize("broken", ["batch mean", "noise by place"])
def test_steps_in_which_rows_influence_each_other_are_noticed(broken, monkeypatch):
    made = program(VariationalAutoencoder if broken == "noise by place" else Autoencoder)
    if broken == "batch mean":
        right = type(made).losses

        def losses(self, network, rows, companions):
            return right(self, network, rows - rows.mean(0, keepdim=True), companions)

        monkeypatch.setattr(type(made), "losses", losses)
    all_rows, place = codes(100), 3
    one, other = Trainer(all_rows, made, plan()), Trainer(np.delete(all_rows, place, axis=0), made, plan())
    pool, every = made.companions(0), np.arange(100)
    chosen = None if pool is None else (every % 16).reshape(-1, 1)
    with_row = one.sum(every, pool, chosen)
    # Companions that go by the place in the batch, not by the row, are others once a row is missing.
    without = other.sum(every[:99], pool, None if chosen is None else chosen[:99])
    assert length(with_row - without) > NORM_AT_MOST


class NoNoise:
    """For tests of what is done with sums."""

    def draw(self, count: int) -> np.ndarray:
        return np.zeros(count, np.int64)


def test_sums_are_divided_by_a_public_number():
    """Not by the size of the batch, which is private."""
    caught, sums = [], []
    for rows in (5, 50, 100):
        made = program()
        made.update = lambda gradient: caught.append(gradient.numpy())
        trainer = Trainer(codes(rows), made, plan(steps=1, rate=Fraction(1), clip=0.5, normaliser=8.0))
        sums.append(trainer.sum(np.arange(rows), None, None)[:-1])
        trainer.run(NoNoise(), report=lambda *_: None)
    for gradient, total in zip(caught, sums, strict=True):
        assert np.allclose(gradient, total * (0.5 / 2.0**UNITS / 8.0), rtol=1e-12)


def test_an_empty_batch_gives_noise_alone():
    made = program()
    trainer = Trainer(codes(0), made, plan(rate=Fraction(1, 3)))
    assert trainer.draw().size == 0 and not trainer.sum(np.zeros(0, np.int64), None, None).any()
    released = trainer.run(RoundedGaussian(Fraction(NORM_AT_MOST)), report=lambda *_: None)
    assert np.isfinite(released.snapshots).all() and released.losses[0] != 0


def test_sums_add_up_over_blocks(monkeypatch):
    made = program()
    trainer = Trainer(codes(300), made, plan(), padded=check_places(made, plan(), codes))
    whole = trainer.sum(np.arange(300), None, None)
    monkeypatch.setattr(dpsgd, "BLOCK", 64)
    assert np.array_equal(trainer.sum(np.arange(300), None, None), whole)


def test_a_machine_that_rounds_by_place_is_noticed(monkeypatch):
    made = program()
    right = type(made).losses
    state = {"calls": 0}

    def losses(self, network, rows, companions):
        state["calls"] += 1
        return right(self, network, rows, companions) * (1 + 1e-3 * torch.arange(rows.shape[0])[:, None])

    monkeypatch.setattr(type(made), "losses", losses)
    with pytest.raises(sf.errors.JobError, match="depends on which rows"):
        check_places(made, plan(), codes)


# ---- groups ----------------------------------------------------------------------------------------------


def test_groups_are_fixed_and_a_row_changes_one_of_them(monkeypatch):
    dealt = np.arange(40) % 10
    monkeypatch.setattr(dpsgd, "fixed_groups", lambda rows, groups: dealt[:rows])
    grouped, made = plan(group=4, groups=10), program()
    one, other = Trainer(codes(40), made, grouped), Trainer(codes(40)[:39], made, grouped)
    assert one.units == other.units == 10
    moved = one.sum(np.arange(10), None, None) - other.sum(np.arange(10), None, None)
    assert 0 < length(moved) <= 2 * NORM_AT_MOST
    same = [g for g in range(10) if g != 39 % 10]
    assert np.array_equal(one.sum(np.array(same), None, None), other.sum(np.array(same), None, None))


def test_micro_batches_that_are_cut_anew_are_noticed():
    """Groups of consecutive rows of a batch: one row moves the border of all later groups."""
    all_rows, made = codes(40), program()

    def units(rows: np.ndarray) -> list[list[int]]:
        trainer = Trainer(rows, made, plan(group=4, groups=10))
        trainer._members = np.split(np.arange(len(rows)), np.arange(4, len(rows), 4))
        return [trainer.sum(np.array([unit]), None, None).tolist() for unit in range(9)]

    changed = [one != two for one, two in zip(units(all_rows), units(all_rows[1:]), strict=True)]
    assert sum(changed) > 1


def test_groups_are_charged_for_an_exchange():
    facts = {"steps": 50, "rate": "1/50", "noise": "2"}
    single, grouped = (schedule_of(facts | {"group": g}, 1, "add-remove") for g in (1, 4))
    assert grouped.exchange and not single.exchange
    assert mu_squared(grouped, 1e-8) > 3.9 * mu_squared(single, 1e-8)


# ---- what is released ------------------------------------------------------------------------------------


def test_noise_as_charged():
    """Without rows, what comes out is noise of the scale in the ledger."""
    made = program()
    caught = []
    made.update = lambda gradient: caught.append(gradient.numpy())
    facts = plan(steps=300, rounds=1, noise=Fraction(3, 2), clip=0.25, normaliser=10.0)
    trainer = Trainer(codes(0), made, facts)
    trainer.run(RoundedGaussian(facts.noise * NORM_AT_MOST), report=lambda *_: None)
    values = np.concatenate(caught)
    wanted = 1.5 * 0.25 / 10
    assert values.std() == pytest.approx(wanted, rel=6 / math.sqrt(2 * values.size))
    assert abs(values.mean()) < 6 * wanted / math.sqrt(values.size)


def test_rows_are_shown_to_a_copy():
    """A program that keeps what it sees keeps it in a copy that is thrown away."""
    made = program()
    made.kept = []
    right = type(made).losses

    class Keeping(type(made)):
        def losses(self, network, rows, companions):
            self.kept.append(rows)
            return right(self, network, rows, companions)

    made.__class__ = Keeping
    trainer = Trainer(codes(20), made, plan())
    trainer.run(RoundedGaussian(Fraction(NORM_AT_MOST)), report=lambda *_: None)
    assert made.kept == [] and trainer.program.kept


def test_parameters_are_packed_as_they_are():
    values = np.random.default_rng(0).normal(size=(3, 7)).astype("<f4")
    assert np.array_equal(unpack(pack(values), 7), values) and pack(values).shape == (3, 4)
    network = program().network
    vector = np.arange(parameters_of(network).size, dtype="<f4")
    set_parameters(network, vector)
    assert np.array_equal(parameters_of(network), vector)
    damaged = pack(np.full((1, 2), np.nan, "<f4"))
    assert unpack(damaged, 2).tolist() == [[0.0, 0.0]]


@pytest.fixture(scope="module")
def fitted():
    told: list[str] = []
    model = sf.fit(
        table(), epsilon=1.0, delta=1e-5, method="dp-auto-gan", schema=SCHEMA,
        options=OPTIONS["dp-auto-gan"][0] | {"rows": 60}, progress=told.append,
    )  # fmt: skip
    return model, told


def test_the_ledger_holds_steps_rate_noise_and_clip(fitted):
    model, _ = fitted
    first, second = (entry.parameters for entry in model.ledger if entry.mechanism == "dp_sgd")
    assert (first["steps"], second["steps"], second["rounds"]) == (6, 9, 3)
    assert Fraction(first["rate"]) == 1 and second["clip"] == 0.022 and Fraction(second["noise"]) > 0.5
    assert model.transcript[-1].arrays[0].shape[0] == second["rounds"]


def test_the_statement_is_recomputed_by_several_accountants(fitted):
    from sfumato.privacy.statement import bounds

    ledger = fitted[0].ledger
    assert not ledger.adaptive
    found = bounds(ledger, delta=1e-5, relation="add-remove")
    schedules = [schedule_of(entry.parameters, 1, "add-remove") for entry in ledger]
    assert found["pld"] == pytest.approx(epsilon(schedules, 1e-5), rel=1e-6)
    assert found["rdp"] == pytest.approx(epsilon_of_renyi(sum(map(renyi, schedules)), 1e-5)[0], rel=1e-6)
    assert min(found.values()) <= found["gdp"] <= 1.0
    assert fitted[0].statement.epsilon_replace > fitted[0].statement.epsilon


def test_progress_tells_loss_and_epsilon(fitted):
    told = [line for line in fitted[1] if "step" in line]
    assert told and all("loss" in line and "epsilon so far" in line for line in told)
    last = [line for line in told if line.startswith("critic")][-1]
    assert "step 9 of 9" in last


def test_an_interrupted_training_is_charged(monkeypatch, tmp_path):
    """In full, in the run's own ledger and in the one on disk, so that nobody can train again for nothing."""
    right, steps = Trainer.sum, []

    def interrupted(self, batch, *given):
        steps.append(batch.size)
        if len(steps) == 60:
            raise KeyboardInterrupt
        return right(self, batch, *given)

    monkeypatch.setattr(Trainer, "sum", interrupted)
    ledger = DatasetLedger(tmp_path / "ledger")
    ledger.limit("d", epsilon=1.0, delta=1e-5)
    facts = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "method": "dp-vae",
        "schema": SCHEMA,
        "ledger": tmp_path / "ledger",
    }
    options = {"steps": 80, "hidden": 8, "rows": 60}
    with pytest.raises(KeyboardInterrupt):
        sf.fit(table(), dataset="d", options=options, **facts)
    assert (held := ledger.spent("d")).runs == 1 and held.epsilon > 0.8
    with pytest.raises(JobError):
        sf.fit(table(), dataset="d", options=options, **facts)
    held = PrivateTable.open(table()).curator(
        unit=PrivacyUnit(), budget=Budget(epsilon=1.0, delta=1e-5, training=True)
    )
    steps.clear()
    columns = [symbols_of(read_schema(SCHEMA)[name]) for name in ("a", "b")]
    with pytest.raises(KeyboardInterrupt):
        held.train(
            program(), encoders=columns, total=60, batch=6.0, steps=80, clip=1.0, spend=held.left, share=1.0,
            purpose="network",
        )  # fmt: skip
    (entry,) = held.ledger
    assert entry.parameters["steps"] == 80 and held.left < 0.01 * held.filter.limit and not held.transcript


def test_as_many_steps_as_are_accounted(monkeypatch):
    right, made = Trainer.step, []

    def counted(self, number, noise):
        made.append(number)
        return right(self, number, noise)

    monkeypatch.setattr(Trainer, "step", counted)
    model = sf.fit(
        table(), epsilon=1.0, method="dp-auto-gan", schema=SCHEMA, options=OPTIONS["dp-auto-gan"][0] | {"rows": 60}
    )  # fmt: skip
    accounted = [entry.parameters["steps"] for entry in model.ledger if entry.mechanism == "dp_sgd"]
    assert made == [step for steps in accounted for step in range(steps)]


def test_noise_of_two_trainings_differs():
    models = [
        sf.fit(table(), epsilon=1.0, method="dp-vae", schema=SCHEMA, options=OPTIONS["dp-vae"][0])
        for _ in range(2)
    ]
    one, two = (model.transcript[-1].arrays[0] for model in models)
    assert not np.array_equal(one, two)


def test_prices_are_for_persons_too():
    mechanism = DpSgd(program=program(), encoders=(), plan=plan(rate=Fraction(1, 50)), delta=1e-8)
    one = mechanism.cost(PrivacyUnit())
    three = mechanism._price(PrivacyUnit(column="who", at_most=3), "add-remove")
    assert three.mu2 > 3 * one.add_remove.mu2
    assert one.replace.mu2 > 3.9 * one.add_remove.mu2
    assert one.draws == 4 * (mechanism.size + 1) and one.distance < 2.0**-200


def test_torch_is_asked_for_in_words(monkeypatch):
    import builtins

    right = builtins.__import__

    def missing(name, *given, **facts):
        if name.partition(".")[0] == "torch":
            raise ImportError(name)
        return right(name, *given, **facts)

    monkeypatch.setattr("importlib.import_module", lambda name: missing(name))
    with pytest.raises(UsageError, match="deep"):
        from sfumato.synthesizers.deep.common import need_torch

        need_torch("dp-gan")


def test_units_of_losses():
    assert dpsgd.mean_loss(np.array([2.0**UNITS / 16 * 5]), bound=2.0, normaliser=10.0) == pytest.approx(1.0)
