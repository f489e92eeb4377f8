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
