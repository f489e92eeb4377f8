"""One run: discover what the schema leaves open, then learn. The same for a fit and for its verification."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from types import NoneType
from typing import Any, get_args, get_type_hints

import attrs

from sfumato.discovery.discover import SHARES, Domain, discover, planned_shares
from sfumato.domain.measured import Measured
from sfumato.domain.stored import Stored
from sfumato.errors import UsageError
from sfumato.privacy.curator import Curator
from sfumato.privacy.mechanisms.prior import PriorRelease
from sfumato.privacy.unit import PrivacyUnit
from sfumato.schema import Schema
from sfumato.synthesizers.recipe import Generator, Recipe, synthesizers


def make_recipe(method: str, options: dict[str, Any]) -> Recipe:
    """The recipe called `method`; UsageError names unknown methods and options."""
    made = synthesizers[method]
    known = [each.name for each in attrs.fields(made)] if attrs.has(made) else []
    for name in options:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise UsageError(
                f"method {method!r} has no option {name!r}",
                mend=f"{hint}options: {', '.join(known) or 'none'}",
            )
    hints = get_type_hints(made)
    given = {name: _option(method, name, value, hints[name]) for name, value in options.items()}
    try:
        return made(**given)
    except (TypeError, ValueError) as error:
        raise UsageError(f"an option of method {method!r} is wrong: {error}") from None


def _option(method: str, name: str, value: Any, wanted: Any) -> Any:
    """`value` as the type that the recipe declares; UsageError when it is of another."""
    kinds: dict[Any, tuple[str, tuple[type, ...]]] = {
        float: ("a number", (int, float)),
        int: ("a whole number", (int,)),
        bool: ("true or false", (bool,)),
        str: ("a text", (str,)),
    }
    choices = [each for each in get_args(wanted) if each is not NoneType]
    if NoneType in get_args(wanted) and len(choices) == 1:
        if value is None:
            return None
        wanted = choices[0]
    if wanted not in kinds:
        return tuple(value) if isinstance(value, list) else value
    word, types = kinds[wanted]
    sound = isinstance(value, types) and isinstance(value, bool) == (wanted is bool)
    if not sound or (wanted is float and not math.isfinite(value)):
        raise UsageError(f"option {name!r} of method {method!r} must be {word}, not {value!r}")
    return wanted(value)


def trains(recipe: Recipe) -> bool:
    """Whether the recipe trains networks on the rows, for which a share of delta is kept."""
    return bool(getattr(recipe, "trains", False))


def planned_split(recipe: Recipe, schema: Schema | None, stored: Sequence[Stored]) -> dict[str, float]:
    """How the budget will be divided, by purpose, as shares that sum to 1. Needs no data."""
    shares = planned_shares(
        schema,
        stored,
        cells=getattr(recipe, "grid", None) is None,
        shares=getattr(recipe, "discovery", SHARES),
    )
    rest = 1 - sum(shares.values())
    unmodelled = {column.name for column in schema.columns if not column.modelled} if schema else set()
    modelled = [each for each in stored if each.name not in unmodelled]
    return {**shares, **{name: share * rest for name, share in _own_split(recipe, schema, modelled).items()}}


def _own_split(recipe: Recipe, schema: Schema | None, modelled: Sequence[Stored]) -> dict[str, float]:
    """Shares of what discovery leaves, by the kinds of the columns where these are declared and matter."""
    by_kind = getattr(recipe, "split_by_kind", None)
    declared = {column.name: column for column in schema.columns} if schema else {}
    if by_kind is None or not all(each.name in declared for each in modelled):
        return recipe.split(len(modelled))
    numbers = sum(isinstance(declared[each.name], Measured) for each in modelled)
    return by_kind(numbers=numbers, labels=len(modelled) - numbers)


def price_of_schema(schema: Schema, unit: PrivacyUnit) -> PriorRelease | None:
    """The charge for a schema that was bought, None for one that was not; UsageError when its price does
    not cover `unit` or is incomplete.
    """
    if schema.bought is None:
        return None
    if unit.column is not None:
        raise UsageError(
            "the schema was bought with one row as the unit of privacy, which does not cover persons",
            mend="declare its facts from public knowledge, or leave them open to be learned in this run",
        )
    names = ("mu2", "mu2_replace", "delta_spent", "delta_spent_replace")
    prices = [float(price) for name in names if isinstance(price := schema.bought.get(name), int | float)]
    if len(prices) < len(names):
        raise UsageError(
            "the schema says that it was bought, but not at which price",
            mend=f"bought needs {', '.join(names)}, as `sfumato schema draft` writes them",
        )
    mu2, mu2_replace, delta, delta_replace = prices
    return PriorRelease(
        what="schema", mu2=mu2, mu2_replace=mu2_replace, delta=delta, delta_replace=delta_replace
    )


def run(
    curator: Curator, recipe: Recipe, schema: Schema, stored: Sequence[Stored], *, decimal: str
) -> tuple[Domain, Generator]:
    """Charge what was bought before, discover, learn."""
    prior = price_of_schema(schema, curator.unit)
    if prior is not None:
        # What is left after a purchase depends on its answers, and so do all noise scales.
        curator.ledger.adaptive = True
        curator.release(prior, purpose="schema bought earlier")
    domain = discover(
        curator,
        schema,
        stored,
        decimal=decimal,
        shares=getattr(recipe, "discovery", SHARES),
        grid=getattr(recipe, "grid", None),
    )
    return domain, recipe.learn(curator, domain)
