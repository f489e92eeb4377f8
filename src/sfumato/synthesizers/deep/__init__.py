"""Methods that train networks: by `sfumato.privacy.dpsgd`, or, for comparison, on the rows as they are. They
need torch to fit, and numpy alone to draw rows.
"""

from sfumato.synthesizers.deep import (
    auto_gan,
    copula_gan,
    ctgan,
    gan,
    generator,
    modal_generator,
    syn,
    tvae,
    vae,
    wgan,
)

__all__ = [
    "auto_gan",
    "copula_gan",
    "ctgan",
    "gan",
    "generator",
    "modal_generator",
    "syn",
    "tvae",
    "vae",
    "wgan",
]
