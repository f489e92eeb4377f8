"""Where a decoder starts: at the marginals that were paid for."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'sfumato[deep]'")
from tests.deep.programs import SCHEMA

from sfumato.domain.codecs import codec_for
from sfumato.privacy.dpsgd import parameters_of
from sfumato.schema.read import read_schema
from sfumato.synthesizers.deep.common import Start, adam
from sfumato.synthesizers.deep.encoding import Encoding, linear, ranks
from sfumato.synthesizers.deep.nets import chain
from sfumato.synthesizers.deep.programs import Autoencoder


@pytest.mark.parametrize("by_ranks", [False, True])
def test_a_decoder_gives_the_mean_row_at_first(by_ranks):
    rng = np.random.default_rng(0)
    codecs = [codec for column in read_schema(SCHEMA).columns if (codec := codec_for(column)) is not None]
    assert len(codecs) == len(SCHEMA["columns"])
    codes = [rng.choice(np.flatnonzero(codec.allowed), 5_000) for codec in codecs]
    counts = tuple(
        np.bincount(column, minlength=codec.size).astype(float)
        for column, codec in zip(codes, codecs, strict=True)
    )
    columns = [
        ranks(codec, held, normal=False) if by_ranks else linear(codec)
        for codec, held in zip(codecs, counts, strict=True)
    ]
    encoding = Encoding(columns=tuple(columns))
    rows = encoding.rows(np.stack(codes, 1))
    known = Start(total=5_000.0, encoding=encoding, counts=counts)
    assert known.means == pytest.approx(rows.mean(0))
    width = encoding.width
    made = Autoencoder(
        encoding,
        chain(width, 8, 3, last="leaky"),
        chain(3, 8, width, last="sigmoid"),
        means=known.means,
        frozen=False,
        optimiser=adam(0.1),
        facts={},
        seed=0,
    )
    decoder = made.decoder(parameters_of(made.network))
    assert decoder(np.zeros((1, 3)))[0] == pytest.approx(rows.mean(0), abs=0.1)
    assert Start(total=1.0, encoding=encoding).means is None


def test_no_row_of_a_clamped_critic_is_left_out():
    """Weights at the clamp, rows and companions alike: gradients are far below the clip, and are all there."""
    import torch

    from sfumato.privacy.dpsgd import RowLosses
    from sfumato.privacy.per_example import UNITS, integer_gradients
    from sfumato.synthesizers.deep.auto_gan import DpAutoGan
    from sfumato.synthesizers.deep.modules import SINGLE, device, module_of
    from sfumato.synthesizers.deep.nets import initial
    from sfumato.synthesizers.deep.programs import Critic

    rng = np.random.default_rng(0)
    recipe = DpAutoGan()
    network = module_of(initial(recipe._critic(60), rng), dtype=SINGLE, where=device())
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.clamp_(-recipe.weight_clamp, recipe.weight_clamp)

    class Wasserstein:
        loss_bound = 1.0
        losses = Critic.losses

    rows, made = (torch.from_numpy(rng.random((64, 1, 60))).to(SINGLE) for _ in range(2))
    there = torch.ones(64, 1)
    for i in range(4):
        one = RowLosses(program=Wasserstein(), rows=(rows[i : i + 1], there[:1], made[i : i + 1]), group=1)
        found = integer_gradients(network, one, clip=recipe.critic_clip, loss_bound=1.0)
        wanted = torch.cat([
            g.reshape(-1) for g in torch.autograd.grad(one(network).sum(), list(network.parameters()))
        ]).double()  # fmt: skip
        told = torch.from_numpy(found[:-1]) * (recipe.critic_clip / 2.0**UNITS)
        assert torch.cosine_similarity(told, wanted, dim=0) > 0.9
        assert told.norm() > 0.9 * min(float(wanted.norm()), 0.99 * recipe.critic_clip)
