"""Methods that train networks, by `sfumato.privacy.dpsgd`. They need torch to fit, and numpy alone to draw
rows.
"""

from sfumato.synthesizers.deep import auto_gan, gan, generator, syn, vae, wgan

__all__ = ["auto_gan", "gan", "generator", "syn", "vae", "wgan"]
