"""What protects a fit: nothing, or (epsilon, delta)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

from attrs import define, field, frozen
from attrs.converters import optional

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

    `epsilon`: 1 if neither it nor the noise is given.
    `noise_multiplier`: fix the noise instead. Methods that train use it as it is in every step, and epsilon
    is what follows. That takes a public number of rows (option `rows`); else the price follows from a noisy
    count, and `epsilon` must be given as a limit. A limit also serves where whole persons or replaced rows
    are protected. A run whose noise costs more than its limit allows stops with an Overdraft before it
    trains. For other methods it is the noise of one mechanism that costs as much as the whole run.
    `max_grad_norm`: largest norm of an example's gradient, for methods with the option `clip`; at its default
    they keep their own. `used_noise_multiplier` is what was applied, known once fitted: in a training the
    noise of a step over the largest norm.
    """

    name = "dp"
    epsilon: float | None = field(default=None, converter=optional(check_epsilon))
    delta: float = field(default=1e-5, converter=check_delta)
    noise_multiplier: float | None = None
    max_grad_norm: float = 1.0
    used_noise_multiplier: float | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        for name in ("noise_multiplier", "max_grad_norm"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise UsageError(f"{name} must be a number above 0, not {value}")
        if self.epsilon is None and self.noise_multiplier is None:
            self.epsilon = 1.0

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
        return {"epsilon": self._epsilon(recipe, options), "delta": self.delta, "options": options}

    def _epsilon(self, recipe: Recipe, options: dict[str, Any]) -> float:
        from sfumato.privacy import gdp

        if self.noise_multiplier is None:
            assert self.epsilon is not None
            return self.epsilon
        if "noise_multiplier" in options:
            return self._epsilon_of_steps(recipe, options)
        if recipe.guarantee == "epsilon":
            return check_epsilon(1 / self.noise_multiplier)
        return check_epsilon(gdp.epsilon(1 / self.noise_multiplier, self.delta))

    def _epsilon_of_steps(self, recipe: Any, options: dict[str, Any]) -> float:
        import attrs

        from sfumato.synthesizers.deep.common import epsilon_of_noise

        if self.epsilon is not None:
            return self.epsilon
        found = epsilon_of_noise(attrs.evolve(recipe, **options), self.delta)
        if found is None:
            raise UsageError(
                "what a noise multiplier costs follows from the number of rows, which is private",
                mend="state it as the option rows, if it is public; or give epsilon as a limit beside it",
            )
        return check_epsilon(found)

    def fitted(self, accountant: PrivacyAccountant) -> None:
        self.used_noise_multiplier = accountant.noise_multiplier
