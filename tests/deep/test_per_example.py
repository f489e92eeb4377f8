"""Integer gradients: the identity against gradients written down, the bound on norms, and bugs put in on purpose."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'sfumato[deep]'")
from torch import nn  # noqa: E402

from sfumato.privacy import per_example  # noqa: E402
from sfumato.privacy.per_example import NORM_AT_MOST, UNITS, integer_gradients, only_layers  # noqa: E402

WIDTH = 7


class Block:
    """Squared errors of outputs, summed; times > 1 pass a row so often with different signs."""

    def __init__(self, rows: torch.Tensor, sign: float = 1.0) -> None:
        self.rows = (rows,)
        self.sign = sign

    def __call__(self, network: Any) -> torch.Tensor:
        return self._loss(network, self.rows[0])

    def of_row(self, network: Any, *row: torch.Tensor) -> torch.Tensor:
        return self._loss(network, row[0][None])[0]

    def _loss(self, network: Any, rows: torch.Tensor) -> torch.Tensor:
        out = network(rows).square().mean(-1)
        signs = torch.tensor([self.sign**i for i in range(out.shape[1])], dtype=out.dtype)
        return (out * signs).sum(1)


class Embedded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(WIDTH, 5)
        self.last = nn.Linear(5, 2)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.last(torch.tanh(self.table(rows.argmax(-1))))


def networks() -> dict[str, nn.Module]:
    torch.manual_seed(5)
    return {
        "dense": nn.Sequential(nn.Linear(WIDTH, 6), nn.LeakyReLU(0.2), nn.Linear(6, 3, bias=False)),
        "embedding": Embedded(),
        "normalised": nn.Sequential(nn.Linear(WIDTH, 6), nn.LayerNorm(6), nn.Tanh(), nn.Linear(6, 3)),
        "convolution": nn.Sequential(
            nn.Unflatten(-1, (1, WIDTH)), nn.Conv1d(1, 2, 3), nn.Flatten(2), nn.Linear(10, 2)
        ),
    }


NAMES = ("dense", "embedding", "normalised")


def rows(count: int = 64, times: int = 1, size: float = 1.0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(3).normal(size=(count, times, WIDTH)) * size).float()


def written_down(network: nn.Module, block: Block) -> np.ndarray:
    """Gradient of each row by plain differentiation, in double precision."""
    network = copy.deepcopy(network).double()
    found = []
    for row in block.rows[0].double():
        loss = Block(row[None], block.sign)(network).sum()
        grads = torch.autograd.grad(loss, list(network.parameters()))
        found.append(torch.cat([g.reshape(-1) for g in grads]).numpy())
    return np.stack(found)


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_clipped_sums_are_those_of_gradients_written_down(name, times):
    network, block, clip = networks()[name], Block(rows(64, times), -1.0), 0.7
    each = written_down(network, block)
    norms = np.linalg.norm(each, axis=1, keepdims=True)
    wanted = (each * np.minimum(1, clip * np.sqrt(1 - 1 / 256) / np.maximum(norms, 1e-12))).sum(0)
    assert (norms > clip).mean() > 0.2 or name == "embedding"
    found = integer_gradients(network, block, clip=clip, loss_bound=50.0)
    assert found.dtype == np.int64 and found.size == wanted.size + 1
    assert np.abs(found[:-1] * (clip / 2.0**UNITS) - wanted).max() <= 3e-3 * np.abs(each).sum(0).max() / 8
    losses = block(network).detach().double().clamp(-50, 50).sum().item()
    assert found[-1] * 50.0 * 16 / 2.0**UNITS == pytest.approx(losses, rel=1e-4)


def test_which_networks_go_by_layers():
    assert {name: only_layers(net) for name, net in networks().items()} == {
        "dense": True, "embedding": True, "normalised": False, "convolution": False,
    }  # fmt: skip


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3, 1e8])
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_no_row_adds_more_than_the_clip(name, times, size):
    network = networks()[name]
    given = rows(24, times, size)
    given[3], given[4, :, 0], given[5, :, 1] = float("nan"), float("inf"), 0.0
    alone = [integer_gradients(network, Block(row[None]), clip=0.01, loss_bound=1.0) for row in given]
    for k in alone:
        assert sum(int(x) ** 2 for x in k.tolist()) <= NORM_AT_MOST**2
    together = integer_gradients(network, Block(given), clip=0.01, loss_bound=1.0)
    if name != "normalised":
        # The rows that are no numbers leave the others as they are.
        fine = [i for i in range(24) if i not in (3, 4)]
        assert np.abs(sum(alone) - together).max() <= 24 * 2**12
        assert np.any(together) and len(fine) == 22


def test_large_gradients_use_the_clip_up():
    k = integer_gradients(networks()["dense"], Block(rows(1, 1, 50.0)), clip=0.01, loss_bound=1e9)
    assert 0.99 < np.linalg.norm(k.astype(float)) / 2**UNITS <= 1


@pytest.mark.parametrize("apart", [1e-1, 1e-3, 1e-5])
def test_a_row_whose_terms_cancel_still_counts(apart):
    """Twice nearly the same row with opposite signs: what is left is small, each term is far above the clip."""
    network, clip, given = networks()["dense"], 1e-3, rows(8, 2, 20.0)
    given[:, 1] = given[:, 0] * (1 + apart)
    each = written_down(network, Block(given, -1.0))
    for row, wanted in zip(given, each, strict=True):
        k = integer_gradients(network, Block(row[None], -1.0), clip=clip, loss_bound=1.0)[:-1].astype(float)
        size = np.linalg.norm(k)
        assert 0 < size <= 2.0**UNITS
        if apart > 1e-2:
            assert k @ wanted > 0.99 * size * np.linalg.norm(wanted)


def test_the_guard_that_scales_rows_down_is_what_counts_them(monkeypatch):
    given = rows(1, 2, 20.0)
    given[:, 1] = given[:, 0] * 1.001
    monkeypatch.setattr(per_example, "_SHRINKS", 0)
    assert not np.any(integer_gradients(networks()["dense"], Block(given, -1.0), clip=1e-3, loss_bound=1.0))


def test_the_network_is_left_as_it_was():
    network = networks()["dense"]
    before = [p.clone() for p in network.parameters()]
    integer_gradients(network, Block(rows()), clip=1.0, loss_bound=1.0)
    assert all(
        p.requires_grad and torch.equal(p, q) for p, q in zip(network.parameters(), before, strict=True)
    )
    assert not any(module._forward_hooks for module in network.modules())


# ---- bugs ------------------------------------------------------------------------------------------------


def exceeds(network: nn.Module, size: float = 50.0) -> bool:
    """Whether some row adds more than the clip."""
    for row in rows(8, 1, size):
        k = integer_gradients(network, Block(row[None]), clip=0.01, loss_bound=1.0)
        if sum(int(x) ** 2 for x in k.tolist()) > NORM_AT_MOST**2:
            return True
    return False


def no_guard(squared: np.ndarray, spread: np.ndarray, slack: float) -> np.ndarray:
    return np.ones_like(squared, dtype=bool)


def test_a_missing_clip_is_noticed(monkeypatch):
    monkeypatch.setattr(per_example, "_weights", lambda squared, slack, clip: np.ones_like(squared))
    assert not exceeds(networks()["dense"])  # the guard scales such rows down
    monkeypatch.setattr(per_example, "within", no_guard)
    assert exceeds(networks()["dense"])


def test_both_ways_of_adding_up_agree(monkeypatch):
    """All layers at once, and one after the other."""
    network, block = networks()["dense"], Block(rows(70))
    block.rows[0][3] = float("nan")
    at_once = integer_gradients(network, block, clip=0.3, loss_bound=5.0)
    monkeypatch.setattr(per_example, "_pass_once", lambda layers, rows: False)
    apart = integer_gradients(network, block, clip=0.3, loss_bound=5.0) - at_once
    # Norms may be rounded in another order, which moves a row by some units in 2**32.
    assert np.abs(apart).max() < 70 * 2**14


def test_clipping_layer_by_layer_is_noticed(monkeypatch):
    monkeypatch.setattr(per_example, "within", no_guard)
    monkeypatch.setattr(per_example, "_pass_once", lambda layers, rows: False)
    assert not exceeds(networks()["dense"])

    def own(self: Any, weight: Any, clip: float) -> None:
        alone = per_example._weights(per_example._vector(self.norm_squared()), 0.0, clip)
        right(self, alone, clip)

    right = per_example._Part.quantise
    monkeypatch.setattr(per_example._Part, "quantise", own)
    assert exceeds(networks()["dense"])


def test_norms_that_are_too_small_are_noticed(monkeypatch):
    monkeypatch.setattr(per_example, "within", no_guard)
    right_squares = per_example._Memory.squares
    with monkeypatch.context() as patch:
        patch.setattr(per_example._Memory, "squares", lambda self, blocks: right_squares(self, blocks) / 4)
        assert exceeds(networks()["dense"])
    monkeypatch.setattr(per_example, "_pass_once", lambda layers, rows: False)
    right = per_example._Part._gram
    monkeypatch.setattr(per_example._Part, "_gram", lambda self: right(self) / 4)
    assert exceeds(networks()["dense"])


def test_rounding_to_nothing_is_noticed(monkeypatch):
    """Numbers that are no integers after scaling would make the sum inexact."""
    k = integer_gradients(networks()["dense"], Block(rows(8)), clip=0.01, loss_bound=1.0)
    assert np.gcd.reduce(np.abs(k[:42])) >= 1 and np.any(k % 1024)
