"""The parts of a conditional GAN: conditions, the critic's slope, the generator as it is kept."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'sfumato[deep]'")
import torch
from tests.deep.programs import SCHEMA

from sfumato.domain.codecs import GridCodec, codec_for
from sfumato.schema import read_schema
from sfumato.synthesizers.deep import conditional_gan as source
from sfumato.synthesizers.deep.gan_learner import GanSettings, Labels, shape_of
from sfumato.synthesizers.deep.modal import Modal, modal
from sfumato.synthesizers.deep.nets import Weighted

SETTINGS = GanSettings(
    epochs=1, batch=60, noise_dim=8, generator_dim=(16, 12), critic_dim=(16, 12), generator_rate=1e-3,
    generator_decay=0.0, critic_rate=1e-3, critic_decay=0.0, critic_steps=1, log_frequency=True, pac=10, seed=0,
)  # fmt: skip


@pytest.fixture
def parts():
    codecs = [codec_for(column) for column in read_schema(SCHEMA).columns]
    rng = np.random.default_rng(0)
    codes = np.stack(
        [
            rng.choice(5, size=500, p=[0, 0.9, 0.06, 0.04, 0]),
            rng.choice(3, size=500, p=[0, 0.5, 0.5]),
            rng.integers(1, codecs[2].size, 500),
            rng.integers(0, codecs[3].size, 500),
        ],
        1,
    )
    shares = [np.bincount(codes[:, i], minlength=codec.size) / 500 for i, codec in enumerate(codecs)]
    columns = [
        modal(codec, held, rows=500, at_most=5, normal=False)
        for codec, held in zip(codecs, shares, strict=True)
    ]
    assert isinstance(codecs[2], GridCodec)
    return Modal(columns=tuple(columns)), shares, codes


def _run(parts, **facts):
    import attrs

    made, shares, codes = parts
    settings = attrs.evolve(SETTINGS, **facts)
    labels = Labels(made, shares)
    torch.manual_seed(1)
    generator = source.Generator(shape_of(settings, labels.count, made.encoding.width))
    run = source.Run(made, labels, settings, generator)
    run._prepare(*made.draw(codes, np.random.default_rng(0)))
    return run, labels


def test_labels_are_drawn_by_the_logarithm_of_their_counts(parts) -> None:
    _, labels = _run(parts)
    # Columns a (three labels occur) and b; numbers are no conditions.
    assert labels.count == 5
    counts = [500 * share for share in labels.shares]
    expected = np.concatenate([np.log1p(held) / np.log1p(held).sum() for held in counts]) / 2
    assert np.allclose(labels.training(500, log_frequency=True), expected)
    plain = labels.training(500, log_frequency=False)
    assert np.allclose(plain, labels.frequencies()) and np.isclose(plain.sum(), 1)
    assert expected[1] > 2 * plain[1]


def test_real_rows_have_the_label_that_they_are_asked_for(parts) -> None:
    run, labels = _run(parts, batch=600)
    _, label = run.inputs(labels.training(500, log_frequency=True))
    rows = run._real(label).numpy()
    starts = [start for _, start, _ in labels.blocks]
    for row, asked in zip(rows, label.tolist(), strict=True):
        block = int(np.searchsorted(labels.offsets, asked, side="right")) - 1
        assert row[starts[block] + asked - labels.offsets[block]] == 1
    # Every block of labels has one in every row; missing numbers have their own label.
    for start, end in run._blocks:
        assert (rows[:, start:end].sum(1) == 1).all()


def test_the_slope_of_the_critic_is_its_derivative(parts, monkeypatch) -> None:
    monkeypatch.setattr(source, "DROPOUT", 0.0)
    run, labels = _run(parts)
    x = torch.randn((60, run.width + labels.count), requires_grad=True)
    (slope,) = torch.autograd.grad(run.critic(x).sum(), x)
    expected = slope.reshape(6, -1).norm(dim=1)
    assert torch.allclose(run.critic.steepness(x), expected, rtol=1e-4)
    assert run.critic(x).shape == (6, 1)
    penalty = ((run.critic.steepness(x) - 1) ** 2).mean()
    grads = torch.autograd.grad(penalty, list(run.critic.layers.parameters()), allow_unused=True)
    again = torch.autograd.grad(run.critic(x).sum(), x, create_graph=True)[0].reshape(6, -1).norm(dim=1)
    twice = torch.autograd.grad(
        ((again - 1) ** 2).mean(), list(run.critic.layers.parameters()), allow_unused=True
    )
    for one, other in zip(grads, twice, strict=True):
        assert (one is None) == (other is None) or (other is not None and float(other.abs().max()) == 0)
        assert one is None or torch.allclose(one, other, rtol=1e-3, atol=1e-6)


def test_the_critic_sees_packs_of_rows(parts) -> None:
    run, labels = _run(parts)
    assert run.critic.layers[0].in_features == 10 * (run.width + labels.count)
    odd, _ = _run(parts, batch=64, pac=10)
    assert odd.batch == 60


def test_what_is_kept_is_the_settled_generator(parts) -> None:
    run, labels = _run(parts)
    generator = run.generator
    with torch.no_grad():
        for parameter in generator.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape))
    generator.settle(lambda: run.inputs(labels.frequencies())[0])
    given = run.inputs(labels.frequencies())[0]
    generator.eval()
    kept = Weighted.of_flat(generator.net, generator.flat())
    assert np.allclose(kept(given.double().numpy()), generator(given).detach().numpy(), atol=1e-4)


def test_the_weights_that_are_kept_are_an_average_over_steps() -> None:
    weight = torch.nn.Parameter(torch.tensor([5.0]))
    average = source.Average([weight])
    steps = [float(step**2) for step in range(120)]
    for step in steps:
        with torch.no_grad():
            weight.fill_(step)
        average.add()
    average.keep()
    # The plain mean of the first 50, then an exponential one; where it started does not count.
    expected = np.mean(steps[:50])
    for step in steps[50:]:
        expected = 0.98 * expected + 0.02 * step
    assert np.isclose(weight.item(), expected, rtol=1e-4)


def test_a_training_ends_with_the_average(parts, monkeypatch) -> None:
    codes = parts[2]
    kept = []
    monkeypatch.setattr(source.Average, "keep", lambda self: kept.extend(self._means))
    run, _ = _run(parts)
    run.train(codes, 500.0, lambda _: None)
    last = [parameter.detach() for parameter in run.generator.parameters()]
    assert len(kept) == len(last) and any(not torch.equal(a, b) for a, b in zip(kept, last, strict=True))
    monkeypatch.undo()
    again, _ = _run(parts)
    again.train(codes, 500.0, lambda _: None)
    for mean, parameter in zip(kept, again.generator.parameters(), strict=True):
        assert torch.allclose(mean, parameter, atol=1e-6)


def test_made_rows_have_whole_blocks(parts) -> None:
    run, _ = _run(parts)
    made = run._activate(5 * torch.randn((60, run.width)))
    for start, end in run._blocks:
        assert torch.allclose(made[:, start:end].sum(1), torch.ones(60))
    assert float(made[:, run._numbers].abs().max()) <= 1
    # A low temperature makes most blocks all but one-hot, drawn in proportion to their softmax.
    start, end = run._blocks[0]
    y = torch.zeros((60, run.width))
    y[:, start:end] = torch.log(torch.tensor([0.7, 0.2, 0.1]))
    drawn = torch.cat([run._activate(y)[:, start:end].argmax(1) for _ in range(300)])
    shares = np.bincount(drawn.numpy(), minlength=3) / drawn.numel()
    assert np.abs(shares - [0.7, 0.2, 0.1]).max() < 0.02
