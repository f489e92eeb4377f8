"""Mode-specific normalisation: mixtures, and numbers there and back."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.domain.codecs import codec_from_state
from sfumato.synthesizers.deep.modal import INSIDE, Modal, head_of, modal
from sfumato.synthesizers.deep.variational_mixture import variational_mixture


def _codec(edges, *, nullable: bool = False):
    facts = {"type": "int", "min": edges[0], "max": edges[-1] - 1, "nullable": nullable}
    return codec_from_state({"codec": "grid", "column": "x", "facts": facts, "edges": edges})


def _two_hills(rows: int = 4000) -> np.ndarray:
    rng = np.random.default_rng(3)
    left = rng.random(rows) < 0.3
    return np.where(left, rng.normal(20, 2, rows), rng.normal(60, 6, rows)).round().astype(int).clip(0, 99)


def test_a_mixture_finds_the_modes_and_leaves_the_rest_out() -> None:
    counts = np.bincount(_two_hills(), minlength=100).astype(float)
    found = variational_mixture(
        np.arange(100.0), counts, spreads=np.full(100, 1 / 12), at_most=10, floor=0.25
    )
    density = (
        (found.shares / found.deviations)
        @ np.exp(-(((np.arange(100.0) - found.means[:, None]) / found.deviations[:, None]) ** 2) / 2)
        / np.sqrt(2 * np.pi)
    )
    assert np.abs(density - counts / counts.sum()).sum() < 0.12
    assert found.shares.size < 10 and (found.shares[:-1] >= found.shares[1:] - 0.2).all()
    left = found.shares[found.means < 40].sum()
    assert abs(left - 0.3) < 0.02


@pytest.mark.filterwarnings("ignore:Best performing initialization")
def test_a_mixture_is_as_likely_as_that_of_another_library() -> None:
    mixture = pytest.importorskip("sklearn.mixture", reason="scikit-learn is not installed")
    values = _two_hills(1000)
    counts = np.bincount(values, minlength=100).astype(float)
    ours = variational_mixture(np.arange(100.0), counts, spreads=np.zeros(100), at_most=10, floor=1e-3)
    theirs = mixture.BayesianGaussianMixture(
        n_components=10, weight_concentration_prior=0.001, random_state=0
    ).fit(values[:, None].astype(float))
    kept = theirs.weights_ > 0.005

    def likelihood(shares, means, deviations) -> float:
        apart = (values[:, None] - means) / deviations
        return float(np.log((shares / deviations * np.exp(-(apart**2) / 2)).sum(1)).mean())

    weights = theirs.weights_[kept] / theirs.weights_[kept].sum()
    other = likelihood(weights, theirs.means_[kept, 0], np.sqrt(theirs.covariances_[kept, 0, 0]))
    assert likelihood(ours.shares, ours.means, ours.deviations) > other - 0.01


@pytest.mark.parametrize("counts", [np.zeros(5), np.array([0, 0, 7.0, 0, 0]), np.array([1e6, 0, 0, 0, 1.0])])
def test_a_mixture_of_few_places(counts: np.ndarray) -> None:
    found = variational_mixture(np.arange(5.0), counts, spreads=np.zeros(5), at_most=10, floor=0.25)
    assert np.isclose(found.shares.sum(), 1) and (found.deviations >= 0.25 - 1e-9).all()
    assert np.isfinite(found.members(np.arange(-50.0, 50.0))).all()


@pytest.mark.parametrize("normal", [False, True])
@pytest.mark.parametrize("edges", [list(range(101)), [0, 1, 2, 10, 11, 40, 90, 100]])
def test_numbers_come_back_to_their_cells(edges: list[int], normal: bool) -> None:
    codec = _codec(edges, nullable=True)
    values = _two_hills()
    codes = codec.cell_of(values) + codec.atoms
    codes[::9] = 0
    shares = np.bincount(codes, minlength=codec.size) / codes.size
    column = modal(codec, shares, rows=codes.size, at_most=10, normal=normal)
    rng = np.random.default_rng(0)
    labels, numbers = column.draw(codes, rng)
    assert np.abs(numbers).max() <= INSIDE and (numbers[codes == 0] == 0).all()
    scores = np.eye(column.encoding.labels)[labels]
    back = column.encoding.decode(scores, numbers, rng, "sample")
    moved = back != codes
    # Only what lies beyond four deviations of its mode is cut.
    assert moved.mean() < 0.005 and (np.abs(numbers[moved]) == INSIDE).all()
    assert (back[codes == 0] == 0).all()


def test_modes_are_drawn_by_their_densities() -> None:
    codec = _codec(list(range(101)))
    counts = np.bincount(_two_hills(), minlength=100).astype(float)
    column = modal(codec, np.append(0.0, counts / counts.sum()), rows=4000, at_most=10, normal=False)
    assert column.modes is not None
    place = 58
    codes = np.full(20_000, codec.atoms + place)
    drawn = np.bincount(column.draw(codes, np.random.default_rng(1))[0], minlength=column.modes.shares.size)
    inside = np.linspace(place - 0.5, place + 0.5, 101)
    expected = column.modes.members(inside).mean(0)
    assert np.abs(drawn / 20_000 - expected).max() < 0.03


def test_the_normal_scale_is_normal() -> None:
    from scipy.special import ndtr

    codec = _codec([0, 1, 5, 20, 60, 61, 100])
    shares = np.array([0, 0.5, 0.1, 0.1, 0.1, 0.15, 0.05])
    codes = np.random.default_rng(0).choice(7, size=40_000, p=shares)
    column = modal(codec, shares, rows=40_000, at_most=10, normal=True)
    labels, numbers = column.draw(codes, np.random.default_rng(1))
    z = column.encoding.shift[labels] + column.encoding.scale[labels] * numbers
    steps = np.sort(ndtr(z))
    assert np.abs(steps - (np.arange(steps.size) + 0.5) / steps.size).max() < 0.02


def test_labels_that_no_row_has_are_left_out() -> None:
    codec = codec_from_state(
        {
            "codec": "values",
            "column": "x",
            "facts": {"type": "categorical", "values": ["a", "b", "c"], "nullable": True},
            "values": ["a", "b", "c"],
            "other": False,
        }
    )
    column = modal(codec, np.array([0.0, 0.5, 0.0, 0.5]), rows=10, at_most=10, normal=False)
    assert column.encoding.label_code.tolist() == [1, 3]
    encoding = Modal(columns=(column,)).encoding
    assert head_of(encoding).softmax == ((0, 2),)


def test_frequent_values_are_labels() -> None:
    codec = _codec(list(range(101)))
    values = np.where(np.random.default_rng(0).random(4000) < 0.8, 0, _two_hills())
    codes = values + codec.atoms
    column = modal(
        codec, np.bincount(codes, minlength=codec.size) / 4000, rows=4000, at_most=10, normal=False
    )
    labels, numbers = column.draw(codes, np.random.default_rng(0))
    (spike,) = set(labels[values == 0])
    assert column.encoding.label_code[spike] == codec.atoms and not numbers[values == 0].any()
    assert (labels[values > 0] < column.encoding.scale.size).all()
    back = column.encoding.decode(
        np.eye(column.encoding.labels)[labels], numbers, np.random.default_rng(1), "argmax"
    )
    assert (back == codes).mean() > 0.995
    # Few values, each of them frequent: no number is left.
    few = modal(
        codec, np.bincount([1, 1, 9, 9, 30], minlength=codec.size) / 5, rows=5, at_most=10, normal=False
    )
    assert few.modes is None and few.encoding.labels == 3


@pytest.mark.parametrize("normal", [False, True])
def test_numbers_stay_between_the_first_and_the_last_cell_of_the_rows(normal: bool) -> None:
    codec = _codec(list(range(201)))
    counts = np.zeros(codec.size)
    counts[codec.atoms + 20 : codec.atoms + 120] = np.bincount(_two_hills(), minlength=100) + 1
    column = modal(codec, counts / counts.sum(), rows=counts.sum(), at_most=10, normal=normal).encoding
    numbers = np.tile([-1.0, -0.5, 0.5, 1.0], column.labels)
    scores = np.repeat(np.eye(column.labels), 4, axis=0)
    back = column.decode(scores, numbers, np.random.default_rng(0), "argmax") - codec.atoms
    assert back.min() == 20 and back.max() == 119


def test_a_number_of_few_values_is_labels() -> None:
    codec = _codec(list(range(101)))
    counts = np.zeros(codec.size)
    counts[codec.atoms + np.arange(10, 90, 4)] = 1

    def found(counts: np.ndarray, rows: float, *, codec=codec, normal: bool = False):
        return modal(codec, counts / counts.sum(), rows=rows, at_most=10, normal=normal)

    column = found(counts, 200)
    assert column.modes is None and column.encoding.labels == 20
    assert column.encoding.label_code.tolist() == np.flatnonzero(counts).tolist()
    # Not one value more, nor fewer rows, nor cells of several values, nor the normal scale.
    assert found(counts, 199).modes is not None
    assert found(counts, 200, normal=True).modes is not None
    wide = _codec(list(range(0, 201, 2)))
    assert found(counts, 200, codec=wide).modes is not None
    counts[codec.atoms] = 1
    assert found(counts, 1000).modes is not None
