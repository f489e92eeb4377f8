"""The registry of attacks, and the run that turns whatever happens in one into outcomes.

An attack is a function of the people that yields outcomes, in a file of `sfumato.attacks.suite`:

    @attack("copies", COPIES)
    def copies(people):
        yield COPIES.found(0.01, interval=…, facts=facts_of(people, …))

It declares its measures. One that it does not yield is "failed"; so are all that are left when it raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from attrs import frozen

from sfumato.attacks.people import AttackSettings, People
from sfumato.errors import UsageError
from sfumato.evaluation.metric import outcomes_of
from sfumato.evaluation.outcome import Measure, Outcome
from sfumato.evaluation.pair import Pair
from sfumato.evaluation.threads import one_thread
from sfumato.registry import Registry

if TYPE_CHECKING:
    from sfumato.attacks.shadow import Shadows

Compute = Callable[[People], Iterable[Outcome]]
SURELY = "ceiling allowing for chance"
AT_LEAST = "result allowing for chance"
FAMILY, SIMILARITY = "attacks", "similarity, not privacy"


@frozen
class Attack:
    """Measures that are taken together, under `title` for people who wait."""

    name: str
    measures: tuple[Measure, ...]
    compute: Compute

    def outcomes(self, people: Callable[[], People]) -> Iterator[Outcome]:
        """One outcome for each measure, in the declared order; never raises for what the tables hold."""
        return outcomes_of(self.measures, lambda: self.compute(people()), what="attack")


attacks: Registry[Attack] = Registry("attack", "sfumato.attacks.suite")


def attack(name: str, *measures: Measure) -> Callable[[Compute], Compute]:
    """Decorator: register a function that takes `measures` under `name`."""

    def add(compute: Compute) -> Compute:
        attacks.register(name)(Attack(name, measures, compute))
        return compute

    return add


def run(
    pair: Pair,
    settings: AttackSettings | None = None,
    *,
    shadows: Shadows | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Outcome]:
    """All attacks that need no generator, on one drawing of people; with `shadows` the slow one as well."""
    chosen = settings or AttackSettings()
    unknown = [name for name in chosen.secrets if name not in pair]
    if unknown:
        known = ", ".join(repr(column.name) for column in pair.columns)
        raise UsageError(f"there is no column {unknown[0]!r} to guess", mend=f"columns: {known}")
    held: list[People] = []

    def people() -> People:
        if not held:
            held.append(People.of(pair, chosen))
        return held[0]

    found: list[Outcome] = []
    with one_thread():
        for name in attacks:
            if progress is not None:
                progress(f"attack: {name}")
            found.extend(attacks[name].outcomes(people))
    if shadows is not None:
        from sfumato.attacks.shadow import SHADOW, shadow

        def slow(group: People) -> Iterator[Outcome]:
            yield shadow(group, shadows, progress=progress)

        found.extend(Attack("shadow", (SHADOW,), slow).outcomes(people))
    return found


def contradictions(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Attacks that succeed more than the stated guarantee allows, whatever part chance had in it, at a false
    alarm rate of 1/1000 over all of them.

    None where hold-out and real rows differ by themselves, since then the control does not hold.
    """
    found = list(outcomes)
    if any(each.facts.get("control holds") is False for each in found):
        return []
    return [
        each
        for each in found
        if each.facts.get(AT_LEAST) is not None
        and each.facts.get(SURELY) is not None
        and each.facts[AT_LEAST] > each.facts[SURELY] + 1e-9
    ]


def facts_of(
    people: People,
    *,
    knowledge: str,
    success: float | None = None,
    control: float | None = None,
    ceiling: float | None = None,
    surely: float | None = None,
    at_least: float | None = None,
    **more: Any,
) -> dict[str, Any]:
    """What every attack tells besides its value.

    `success`, `control`: against people in the table, and against hold-out people. `ceiling`: what the
    stated guarantee allows at most of the same thing as the value. `at_least`: the lower end of the value's
    interval at the level `intervals.SURE`. `surely`: the ceiling where the control rate is only known within
    an interval of that level: `at_least` above it contradicts the guarantee.
    """
    return {
        "knowledge": knowledge,
        "success": success,
        "control": control,
        "ceiling": ceiling,
        SURELY: ceiling if surely is None else surely,
        AT_LEAST: at_least,
        "people": len(people.members),
        "hold-out people": len(people.others),
        **more,
    }
