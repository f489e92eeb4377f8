"""`copula-gan`: a conditional tabular GAN on columns that a Gaussian copula's transform has made normal.
Nothing is guaranteed.

Every number is replaced by Φ⁻¹(F(value)), F its exact distribution function; then as `ctgan`. See
docs/methods/ctgan.md.
"""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from sfumato.synthesizers.deep.ctgan import Ctgan
from sfumato.synthesizers.recipe import synthesizer


@synthesizer("copula-gan")
@frozen(kw_only=True)
class CopulaGan(Ctgan):
    """CopulaGAN without privacy."""

    name: ClassVar[str] = "copula-gan"
    summary: ClassVar[str] = "neural: ctgan on the normal scale, as a yardstick (needs torch)"
    normal: ClassVar[bool] = True
