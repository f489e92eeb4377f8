"""An evaluation: the outcomes of all measures, and the ways out of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from attrs import field, frozen

from sfumato.evaluation.outcome import Outcome

if TYPE_CHECKING:
    import polars as pl

    from sfumato.evaluation.pair import Pair

FAMILIES = ("marginals", "structure", "prediction", "distinguishing", "analysis", "attacks")
"""In the order in which they are shown; others follow."""


@frozen(kw_only=True, repr=False)
class Evaluation:
    """What was found about synthetic rows. It touches real rows without noise: for their holder only.

    `outcomes`: in the order of the families. `pair`: the tables as they were compared, for plots; it is not
    part of the JSON. `facts`: rows, columns, settings, seconds, remarks, all JSON-able.
    """

    outcomes: tuple[Outcome, ...] = field(converter=lambda outcomes: tuple(_ordered(outcomes)))
    pair: Pair | None = field(default=None, eq=False, repr=False)
    facts: Mapping[str, Any] = field(factory=dict)

    def __repr__(self) -> str:
        held = {name: len(outcomes) for name, outcomes in self.families.items()}
        return f"<Evaluation: {', '.join(f'{count} of {name}' for name, count in held.items())}>"

    def __getitem__(self, name: str) -> Outcome:
        """The outcome of the measure called `name`; KeyError when it was not taken."""
        for outcome in self.outcomes:
            if outcome.name == name:
                return outcome
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(outcome.name == name for outcome in self.outcomes)

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.outcomes)

    @property
    def families(self) -> dict[str, tuple[Outcome, ...]]:
        """Outcomes by family, in order."""
        names = dict.fromkeys(outcome.family for outcome in self.outcomes)
        return {name: tuple(each for each in self.outcomes if each.family == name) for name in names}

    def extended(self, outcomes: Iterable[Outcome]) -> Evaluation:
        """The same with more outcomes, such as those of attacks."""
        return attrs.evolve(self, outcomes=(*self.outcomes, *outcomes))

    def to_dict(self) -> dict[str, Any]:
        """Everything but the rows, as plain values."""
        return {
            "warning": "computed from real rows without noise: not private, not for publication",
            "facts": dict(self.facts),
            "outcomes": [outcome.to_dict() for outcome in self.outcomes],
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Everything but the rows as JSON; written to `path` as well when one is given."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    def to_html(self, path: str | Path, **options: Any) -> None:
        """Write the internal report, one self-contained page; `options` are those of the report."""
        from sfumato.report import write_internal

        write_internal(self, path, **options)

    def table(self) -> pl.DataFrame:
        """One row a measure: family, name, title, value, low, high, ideal, direction, state, reason."""
        import polars as pl

        rows = [
            (
                each.family,
                each.name,
                each.measure.title,
                each.value,
                each.interval.low if each.interval else None,
                each.interval.high if each.interval else None,
                each.measure.ideal,
                each.measure.direction,
                each.state,
                each.reason or None,
            )
            for each in self.outcomes
        ]
        texts = dict.fromkeys(("family", "name", "title"), pl.String)
        numbers = dict.fromkeys(("value", "low", "high", "ideal"), pl.Float64)
        rest = dict.fromkeys(("direction", "state", "reason"), pl.String)
        return pl.DataFrame(rows, schema=texts | numbers | rest, orient="row")


def _ordered(outcomes: Iterable[Outcome]) -> list[Outcome]:
    places = {name: place for place, name in enumerate(FAMILIES)}
    return sorted(outcomes, key=lambda outcome: places.get(outcome.family, len(places)))
