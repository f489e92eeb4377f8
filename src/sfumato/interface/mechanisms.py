"""What protects a fit: nothing, or (epsilon, delta)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

from attrs import define, field, frozen

from sfumato.errors import UsageError
from sfumato.privacy.filter import check_delta, check_epsilon

if TYPE_CHECKING:
    from sfumato.interface.accountant import PrivacyAccountant
    from sfumato.synthesizers.recipe import Recipe


class PrivacyMechanism(Protocol):
    """How a fit is protected."""

    name: str

    def budget(self, recipe: Recipe) -> dict[str, Any]:
        """Arguments of `sfumato.fit` for this method; UsageError where the two do not go together."""
        ...

    def fitted(self, accountant: PrivacyAccountant) -> None:
        """Told once a model is fitted."""
        ...


@frozen
class NoPrivacy:
    """Nothing is protected. Only for methods without a guarantee, and charged as infinite."""

    name = "none"

    def budget(self, recipe: Recipe) -> dict[str, Any]:
        if recipe.guarantee != "none":
            raise UsageError(
                f"method {recipe.name!r} has a guarantee, and needs to be told which",
                mend="pass privacy_mechanism=DPSGD(epsilon=1.0)",
            )
        return {"epsilon": None}

    def fitted(self, accountant: PrivacyAccountant) -> None:
        return None


@define
class DPSGD:
    """(epsilon, delta) for the whole run, whatever the method does with it.

    `noise_multiplier`: fix the noise instead of `epsilon`: that of one mechanism that costs as much as the
    whole run, or the option of that name where a method has one. The epsilon that follows is in the
    accountant. `max_grad_norm`: largest norm of an example's gradient, for methods with the option `clip`; at
    its default they keep their own. `used_noise_multiplier` is what was applied, known once fitted: in a
    training the noise of a step over the largest norm.
    """

    name = "dp"
    epsilon: float = field(default=1.0, converter=check_epsilon)
    delta: float = field(default=1e-5, converter=check_delta)
    noise_multiplier: float | None = None
    max_grad_norm: float = 1.0
    used_noise_multiplier: float | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        for name in ("noise_multiplier", "max_grad_norm"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise UsageError(f"{name} must be a number above 0, not {value}")

    def budget(self, recipe: Recipe) -> dict[str, Any]:
        import attrs

        from sfumato.synthesizers.recipe import synthesizers

        if recipe.guarantee == "none":
            private = [name for name in synthesizers if synthesizers[name].guarantee != "none"]
            raise UsageError(
                f"method {recipe.name!r} has no guarantee, so nothing can be promised for it",
                mend=f"take one of {', '.join(private)}, or NoPrivacy()",
            )
        options: dict[str, Any] = {}
        known = {each.name for each in attrs.fields(type(recipe))}
        if "clip" in known and self.max_grad_norm != attrs.fields(DPSGD).max_grad_norm.default:
            options["clip"] = self.max_grad_norm
        if self.noise_multiplier is not None and "noise_multiplier" in known:
            options["noise_multiplier"] = self.noise_multiplier
        return {"epsilon": self._epsilon(recipe, known), "delta": self.delta, "options": options}

    def _epsilon(self, recipe: Recipe, known: set[str]) -> float:
        from sfumato.privacy import gdp

        if self.noise_multiplier is None or "noise_multiplier" in known:
            return self.epsilon
        if recipe.guarantee == "epsilon":
            return check_epsilon(1 / self.noise_multiplier)
        return check_epsilon(gdp.epsilon(1 / self.noise_multiplier, self.delta))

    def fitted(self, accountant: PrivacyAccountant) -> None:
        self.used_noise_multiplier = accountant.noise_multiplier
