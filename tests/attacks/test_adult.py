"""On Adult: attacks tell careless generators from private ones, in the right order."""

import pytest
from tests.attacks.people import noisy, uniform
from tests.evaluation import adult

import sfumato as sf
from sfumato.attacks.attack import contradictions, run
from sfumato.attacks.ceiling import Guarantee
from sfumato.attacks.people import AttackSettings
from sfumato.evaluation.gather import pair_tables


@pytest.mark.slow
def test_attacks_on_adult_are_in_the_right_order():
    real, holdout = adult.part("data"), adult.part("test")
    made = {
        "copy": lambda: real,
        "noise of 1 %": lambda: noisy(real, share=0.01, seed=1),
        "noise of 5 %": lambda: noisy(real, share=0.05, seed=1),
        "adaptive 10": lambda: sf.fit(real, epsilon=10.0).sample(real.height, seed=1),
        "adaptive 1": lambda: sf.fit(real, epsilon=1.0).sample(real.height, seed=1),
        "adaptive 0.1": lambda: sf.fit(real, epsilon=0.1).sample(real.height, seed=1),
        "independent": lambda: sf.fit(real, epsilon=1.0, method="independent").sample(real.height, seed=1),
        "uniform": lambda: uniform(real, seed=1),
    }
    settings = AttackSettings(guarantee=Guarantee(10.0, 1e-9), targets=600, guessed=6)
    areas, guesses = {}, {}
    for name, make in made.items():
        found = {each.name: each for each in run(pair_tables(real, make(), holdout=holdout), settings)}
        areas[name], guesses[name] = found["attacks.membership"], found["attacks.attribute_inference"]
        if name.startswith(("adaptive", "independent", "uniform")):
            assert contradictions(found.values()) == []
    careless, private = list(made)[:3], list(made)[3:]
    assert areas["copy"].value >= areas["noise of 1 %"].value >= areas["noise of 5 %"].value > 0.9
    for name in careless:
        assert areas[name].interval.low > 0.8 and guesses[name].interval.low > 0.15
    for name in private:
        # Nothing is found beyond chance; the guesses themselves get worse with less to go by.
        assert areas[name].interval.low < 0.52 and guesses[name].interval.low < 0.02
    assert min(areas[name].value for name in careless) > max(areas[name].value for name in private) + 0.3
    success = [guesses[name].facts["success"] for name in ("copy", "adaptive 10", "adaptive 0.1", "uniform")]
    assert success == sorted(success, reverse=True)
