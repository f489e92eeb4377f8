"""A Bayesian network whose probabilities are integers over 2**32, so that records are drawn exactly as
stated.

    Pr(x) = Π_i Pr(group(x_i) | buckets of the parents of i) · Pr(x_i | group(x_i))

(Bindschaedler, Shokri, Gunter 2017, equations 2 and 7). Parents act through their buckets alone. The second
factor spreads a group of neighbouring codes over its members; where every code is a group of its own it is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.bayesian_network.structure import Dag

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.integer[Any]]

TOTAL = 1 << 32


def integer_weights(shares: npt.ArrayLike) -> Ints:
    """Weights that add up to 2**32 in each row, in proportion to `shares` (rows of positive sum).

    Rounded down, at least 1 where a share is not 0; the largest takes what is left.
    """
    rows = np.atleast_2d(np.asarray(shares, dtype=np.float64))
    scaled = np.floor(rows / rows.sum(axis=1, keepdims=True) * TOTAL).astype(np.int64)
    scaled[(scaled == 0) & (rows > 0)] = 1
    largest = np.argmax(scaled, axis=1)
    lines = np.arange(rows.shape[0])
    scaled[lines, largest] += TOTAL - scaled.sum(axis=1)
    if (scaled < 0).any():
        raise ValueError("more outcomes than weights can tell apart")
    return scaled.reshape(np.shape(shares))


def _arrays(values: Sequence[npt.ArrayLike]) -> tuple[Ints, ...]:
    return tuple(np.asarray(each, dtype=np.int64) for each in values)


@frozen(kw_only=True, eq=False, slots=False)
class Network:
    """Structure and integer parameters over attributes 0 … m-1."""

    dag: Dag
    buckets: tuple[Ints, ...] = field(converter=_arrays)
    """Bucket of every code, as a parent."""
    groups: tuple[Ints, ...] = field(converter=_arrays)
    """Group of every code, as a child."""
    tables: tuple[Ints, ...] = field(converter=_arrays)
    """Weights of groups, one row for each configuration of the parents' buckets, the last parent fastest."""
    inner: tuple[Ints, ...] = field(converter=_arrays)
    """Weights of codes inside their group."""

    def __attrs_post_init__(self) -> None:
        for i, (table, group, inner) in enumerate(zip(self.tables, self.groups, self.inner, strict=True)):
            rows = int(np.prod([self.bucket_counts[j] for j in self.dag.parents[i]], dtype=np.int64))
            if table.shape != (rows, int(group.max()) + 1) or inner.shape != group.shape:
                raise ValueError("a table has another shape than its attribute and parents")
            sums = np.bincount(group, weights=inner.astype(np.float64))
            if (
                (table.sum(axis=1) != TOTAL).any()
                or (sums != TOTAL).any()
                or table.min() < 0
                or inner.min() < 0
            ):
                raise ValueError("weights must add up to 2**32")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of codes of each attribute."""
        return tuple(each.size for each in self.groups)

    @cached_property
    def bucket_counts(self) -> tuple[int, ...]:
        """Number of buckets of each attribute."""
        return tuple(int(each.max()) + 1 for each in self.buckets)

    def configuration(self, i: int, records: Codes) -> Ints:
        """Row of table i for each record."""
        index = np.zeros(records.shape[0], dtype=np.int64)
        for j in self.dag.parents[i]:
            index *= self.bucket_counts[j]
            index += self.buckets[j][records[:, j]]
        return index

    @cached_property
    def _log_tables(self) -> tuple[Floats, ...]:
        return tuple(_logs(table) for table in self.tables)

    @cached_property
    def _log_inner(self) -> tuple[Floats, ...]:
        return tuple(_logs(table) for table in self.inner)

    def log_conditional(self, i: int, records: Codes, configuration: Ints | None = None) -> Floats:
        """ln Pr(x_i | parents) of each record."""
        rows = self.configuration(i, records) if configuration is None else configuration
        own = records[:, i]
        return self._log_tables[i][rows, self.groups[i][own]] + self._log_inner[i][own]

    def code_distribution(self, i: int) -> Floats:
        """Pr(x_i | parents) over codes, one row for each configuration."""
        return (self.tables[i] / TOTAL)[:, self.groups[i]] * (self.inner[i] / TOTAL)

    @cached_property
    def _cumulative(self) -> tuple[Ints, ...]:
        """Ends of the outcomes of all configurations on one line: configuration r has 2**32 r … 2**32
        (r+1).
        """
        return tuple(np.cumsum(table.ravel()) for table in self.tables)

    @cached_property
    def _members(self) -> tuple[tuple[Codes, Ints] | None, ...]:
        """Codes sorted by group, and the ends of their weights on one line; None where groups are codes."""
        found: list[tuple[Codes, Ints] | None] = []
        for group, inner in zip(self.groups, self.inner, strict=True):
            codes = np.argsort(group, kind="stable")
            simple = group.size == int(group.max()) + 1
            found.append(None if simple and (codes == group).all() else (codes, np.cumsum(inner[codes])))
        return tuple(found)

    def outcome(self, i: int, configuration: Ints, words: npt.NDArray[np.uint32], more: Any) -> Codes:
        """The code that each uniform word of 32 bits stands for; `more(count)` gives further words."""
        at = configuration * TOTAL + words.astype(np.int64)
        group = (
            np.searchsorted(self._cumulative[i], at, side="right") - configuration * self.tables[i].shape[1]
        )
        members = self._members[i]
        if members is None:
            return group
        codes, ends = members
        return codes[np.searchsorted(ends, group * TOTAL + more(group.size).astype(np.int64), side="right")]

    def state(self) -> dict[str, Ints]:
        """All numbers by name, for a file or a digest."""
        found: dict[str, Ints] = {"order": np.array(self.dag.order, dtype=np.int64)}
        for i, parents in enumerate(self.dag.parents):
            found[f"parents/{i}"] = np.array(parents, dtype=np.int64)
            found[f"buckets/{i}"] = self.buckets[i]
            found[f"groups/{i}"] = self.groups[i]
            found[f"table/{i}"] = self.tables[i]
            found[f"inner/{i}"] = self.inner[i]
        return found

    @classmethod
    def from_state(cls, count: int, state: dict[str, npt.NDArray[Any]]) -> Network:
        """Read back `state` of `count` attributes; ValueError for what is none."""
        parents = tuple(tuple(int(j) for j in state[f"parents/{i}"]) for i in range(count))
        order = tuple(int(i) for i in state["order"])
        if sorted(order) != list(range(count)):
            raise ValueError("the order is not one of all attributes")
        place = {attribute: number for number, attribute in enumerate(order)}
        if any(not 0 <= j < count or place[j] >= place[i] for i, each in enumerate(parents) for j in each):
            raise ValueError("a parent comes after its child")

        def named(name: str) -> list[npt.NDArray[Any]]:
            return [state[f"{name}/{i}"] for i in range(count)]

        return cls(
            dag=Dag(parents=parents, order=order), buckets=named("buckets"), groups=named("groups"),
            tables=named("table"), inner=named("inner"),
        )  # fmt: skip


def _logs(weights: Ints) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(weights / TOTAL)
