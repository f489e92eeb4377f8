"""What a run has learned of numbers and dates that nobody declared: their bounds, as they were released."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.domain.measured import Measured
from sfumato.schema import read_schema

if TYPE_CHECKING:
    from sfumato.models.model import Model


def learned_bounds(model: Model) -> dict[str, tuple[Any, Any]]:
    """Smallest and largest value of every column whose bounds the schema of the run left open, spelled as a
    schema states them. They are ends of noisy cells, and mostly lie outside those of the rows.
    """
    stated = {
        column.name
        for column in read_schema(model.request["schema"]).columns
        if isinstance(column, Measured) and column.unit_bounds() is not None
    }
    return {
        column.name: column.ends
        for column in model.schema.columns
        if isinstance(column, Measured) and column.modelled
        if column.name not in stated and column.unit_bounds() is not None
    }
