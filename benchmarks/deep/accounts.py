"""Published accounting of DP-auto-GAN and of one phase on wide binary rows, computed again."""

from __future__ import annotations

from benchmarks.common.printing import Lines

from sfumato.privacy.subsampled import Schedule, epsilon, epsilon_of_renyi, renyi

ADULT, WIDE = 32_561, 27_912
NOISE = ((5, 8, 10_000), (4.6, 8, 10_000), (2.5, 7.5, 10_000), (1.5, 3.5, 10_000), (2.5, 7.5, 20_000))
ALONE = ((3.5, 10_000), (2.3, 10_000), (1.3, 20_000), (1.3, 1_000))


def accounting() -> None:
    """Each phase alone, both together, and the wide binary rows."""
    lines = Lines(table=6, noise=8, steps=13, delta=8, old=7, order=6, new=7, pld_1e3=8, pld_1e4=8, pld=8)
    shown = set[Schedule]()
    for first, second, steps in NOISE:
        phases = [
            Schedule(noise=first, rate=64 / ADULT, steps=steps),
            Schedule(noise=second, rate=128 / ADULT, steps=15_000),
        ]
        for phase in (each for each in phases if each not in shown):
            shown.add(phase)
            for delta in (1e-5, 5e-6):
                _add(lines, "adult", [phase], delta)
        _add(lines, "adult", phases, 1e-5)
    for noise, steps in ALONE:
        _add(lines, "wide", [Schedule(noise=noise, rate=128 / WIDE, steps=steps)], 1.2871523e-5)
    for noise in (3.5, 2.3, 1.3):
        _add(lines, "wide", [Schedule(noise=noise, rate=b / WIDE, steps=10_000) for b in (100, 128)], 1e-5)


def _add(lines: Lines, name: str, schedules: list[Schedule], delta: float) -> None:
    curve = sum(map(renyi, schedules))
    old, order = epsilon_of_renyi(curve, delta, classic=True)
    new, _ = epsilon_of_renyi(curve, delta)
    losses = [epsilon(schedules, delta, interval=cell) for cell in (1e-3, 1e-4)] + [epsilon(schedules, delta)]
    lines.add(
        name, ", ".join(f"{each.noise:g}" for each in schedules), ", ".join(str(each.steps) for each in schedules),
        f"{delta:.3g}", f"{old:.4f}", f"{order:g}", f"{new:.4f}", *(f"{each:.4f}" for each in losses),
    )  # fmt: skip
