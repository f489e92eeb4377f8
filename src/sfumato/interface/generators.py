"""Methods by key, as objects: names that `PrivacyPreservingSynthesizer` takes."""

from __future__ import annotations

from typing import Any

from sfumato.errors import UsageError
from sfumato.synthesizers.recipe import Recipe, synthesizer, synthesizers
from sfumato.synthesizers.run import make_recipe

register_generator = synthesizer


class GeneratorNotFoundError(UsageError, KeyError):
    """There is no method of that key."""

    __str__ = Exception.__str__


def list_generators() -> list[str]:
    """Keys of all methods, sorted."""
    return list(synthesizers)


def get_generator(key: str) -> type[Recipe]:
    """The class of method `key`; GeneratorNotFoundError names those that there are."""
    if key not in synthesizers:
        raise GeneratorNotFoundError(
            f"there is no generator {key!r}", mend=f"known: {', '.join(list_generators())}"
        )
    return synthesizers[key]


def build_generator(key: str, **options: Any) -> Recipe:
    """Method `key` with its options, checked; UsageError names options that it has not."""
    get_generator(key)
    return make_recipe(key, options)


def CTGANGenerator(**options: Any) -> Recipe:
    """`ctgan` with its options."""
    return build_generator("ctgan", **options)


def TVAEGenerator(**options: Any) -> Recipe:
    """`tvae` with its options."""
    return build_generator("tvae", **options)


def CopulaGANGenerator(**options: Any) -> Recipe:
    """`copula-gan` with its options."""
    return build_generator("copula-gan", **options)


def GaussianCopulaGenerator(**options: Any) -> Recipe:
    """`gaussian-copula` with its options."""
    return build_generator("gaussian-copula", **options)


def DPCopulaGenerator(**options: Any) -> Recipe:
    """`dp-copula` with its options."""
    return build_generator("dp-copula", **options)


def DPSGDGenerator(**options: Any) -> Recipe:
    """`dp-gan` with its options."""
    return build_generator("dp-gan", **options)
