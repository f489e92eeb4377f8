"""Curators for tests: one that remembers what it read, one that plays a recording, one without noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.privacy.curator import Curator
from sfumato.privacy.filter import Budget
from sfumato.privacy.ledger import Entry
from sfumato.privacy.mechanisms.base import Answer, Mechanism
from sfumato.privacy.mechanisms.interactions import Interactions
from sfumato.privacy.mechanisms.laplace_counts import LaplaceCounts
from sfumato.privacy.mechanisms.measurement import Measurement
from sfumato.privacy.mechanisms.noisy_entropies import NoisyEntropies
from sfumato.privacy.mechanisms.noisy_errors import NoisyErrors
from sfumato.privacy.mechanisms.pair_sums import PairSums
from sfumato.privacy.mechanisms.partitions import PartitionSelection
from sfumato.privacy.mechanisms.quantiles import Quantile
from sfumato.privacy.mechanisms.selection import Selection
from sfumato.privacy.mechanisms.top_pairs import TopPairs
from sfumato.privacy.mechanisms.total import Total
from sfumato.privacy.mechanisms.vectors import VectorSum
from sfumato.privacy.private_table import PrivateTable
from sfumato.privacy.unit import PrivacyUnit


@frozen(kw_only=True)
class Heard:
    """One read: what was asked, its charge, the exact answer and the released one."""

    mechanism: Mechanism
    entry: Entry | None
    """The last line of the ledger when the rows were read; None if there was no line."""
    exact: Any
    answer: Answer


class Recorder(Curator):
    """A curator that remembers every exact answer. Never leave one in production."""

    heard: list[Heard]

    @classmethod
    def over(cls, curator: Curator) -> Self:
        """A recorder that takes the place of `curator`, over the same rows."""
        made = cls.__new__(cls)
        vars(made).update(vars(curator), heard=[])
        return made

    def _answer(self, mechanism: Mechanism) -> Answer:
        watched = _Watched(mechanism, self._reply)
        answer = super()._answer(cast("Mechanism", watched))
        entry = self.ledger.entries[-1] if len(self.ledger) else None
        self.heard.append(Heard(mechanism=mechanism, entry=entry, exact=watched.seen, answer=answer))
        return answer

    def _reply(self, mechanism: Mechanism, exact: Any) -> Answer:
        return mechanism.noisy(exact)


class Player(Recorder):
    """Reads its own rows, and answers from a recording. AssertionError when another question is asked."""

    _recorded: Sequence[Heard]

    @classmethod
    def of(cls, curator: Curator, recorded: Sequence[Heard]) -> Self:
        """A player over the rows of `curator` with the answers of `recorded`."""
        made = cls.over(curator)
        made._recorded = recorded
        return made

    def _reply(self, mechanism: Mechanism, exact: Any) -> Answer:
        number = len(self.heard)
        assert number < len(self._recorded), f"the neighbour is asked more: question {number}"
        before = self._recorded[number]
        asked = self.ledger.entries[-1] if len(self.ledger) else None
        assert asked == before.entry, (
            f"question {number} depends on the rows:\n  {_words(before.entry)}\n  {_words(asked)}"
        )
        return before.answer


def noise_scales(mechanism: Mechanism) -> tuple[Fraction, ...]:
    """Noise scale of each array that a mechanism with Gaussian noise releases, in the units of the array;
    empty for all other mechanisms.
    """
    match mechanism:
        case Measurement() | Interactions():
            return mechanism.sigmas
        case Total():
            return (mechanism.sigma,)
        case NoisyErrors() | VectorSum():
            return (mechanism.noise.sigma,)
        case NoisyEntropies():
            return (mechanism.sigma,)
    return ()


def exact_arrays(mechanism: Mechanism, exact: Any) -> list[npt.NDArray[np.int64]]:
    """The exact answer of such a mechanism as a list of arrays."""
    return list(exact) if isinstance(mechanism, Measurement | Interactions) else [exact]


class FakeCurator(Recorder):
    """Answers with exact counts and best candidates. Charges as ever; what is learned from it is void."""

    @classmethod
    def of(
        cls, table: Any, *, epsilon: float = 1.0, delta: float = 1e-6, unit: PrivacyUnit | None = None
    ) -> Self:
        """A fake curator over any table that `sfumato.fit` takes."""
        private = PrivateTable.open(table, allow_empty=True)
        budget = Budget(epsilon=epsilon, delta=delta, thresholds=True)
        return cls.over(private.curator(unit=unit or PrivacyUnit(), budget=budget))

    def _reply(self, mechanism: Mechanism, exact: Any) -> Answer:
        self.void = "the counts are exact, for tests"
        match mechanism:
            case Measurement() | Interactions() | LaplaceCounts():
                return Answer(arrays=tuple(exact))
            case Total() | NoisyErrors() | NoisyEntropies() | VectorSum() | PairSums():
                return Answer(arrays=(exact,))
            case Selection():
                return Answer(arrays=(np.array([mechanism.among[int(np.argmax(exact))]]),))
            case TopPairs():
                return Answer(arrays=(np.argsort(-exact, kind="stable")[: mechanism.count],))
            case Quantile():
                return Answer(arrays=(np.array([int(np.argmax(exact))]),))
            case PartitionSelection():
                return _without_noise(mechanism, exact)
            case _:
                return mechanism.noisy(exact)


class _Watched:
    """A mechanism that lets its exact answer be seen and its reply be replaced."""

    def __init__(self, mechanism: Mechanism, reply: Callable[[Mechanism, Any], Answer]) -> None:
        self._mechanism = mechanism
        self._reply = reply
        self.seen: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mechanism, name)

    def exact(self, rows: Any) -> Any:
        self.seen = self._mechanism.exact(rows)
        return self.seen

    def noisy(self, exact: Any) -> Answer:
        return self._reply(self._mechanism, exact)


def _without_noise(mechanism: PartitionSelection, exact: Sequence[dict[str, int]]) -> Answer:
    labels, arrays = [], []
    for counts, known in zip(exact, mechanism.public_values, strict=True):
        all_counts = {**dict.fromkeys(known, 0), **counts}
        kept = [t for t, count in all_counts.items() if t in known or count >= mechanism.threshold]
        kept.sort(key=lambda text: (-all_counts[text], text))
        labels.append(tuple(kept))
        arrays.append(np.array([all_counts[text] for text in kept], dtype=np.int64))
    return Answer(arrays=tuple(arrays), labels=tuple(labels))


def _words(entry: Entry | None) -> str:
    if entry is None:
        return "(not charged)"
    return f"{entry.mechanism} for {entry.purpose!r}: {str(entry.parameters)[:600]}"
