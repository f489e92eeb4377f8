"""Every documented command and option, as a user who knows them would type it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.cli.runner import sfumato


@pytest.fixture
def table(tmp_path: Path) -> Path:
    z = np.random.default_rng(1).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=1500)
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "".join(f"{50 + 10 * x:.2f},{50 + 10 * y:.2f}\n" for x, y in z))
    return path


def test_generate_sample_dpcheck(table: Path, tmp_path: Path) -> None:
    out, model = tmp_path / "synthetic.csv", tmp_path / "m.sfumato"
    words = ("--data", table, "--method", "dp-copula", "--rows", 300, "--epsilon", 2)
    assert sfumato("generate", *words, "--output", out, "--save", model).code == 0
    assert len(out.read_text().splitlines()) == 301
    assert sfumato("sample", "--model", model, "--rows", 20, "--output", tmp_path / "s.csv").code == 0
    assert sfumato("sample", "-m", model, "-n", 20, "-o", tmp_path / "s2.csv").code == 0
    ran = sfumato("dpcheck", "-m", model, "--tolerance", 0.05)
    assert ran.code == 0 and "post-processing" not in ran.out and "epsilon = 2" in ran.out
    assert sfumato("dpcheck", "--model", model, "--json").json()["epsilon"] <= 2
    assert sfumato("dpcheck", model, "--epsilon", 1.5).code == 3
    short = ("-d", table, "-m", "dp-copula", "-n", 10, "--epsilon", 1, "-o", tmp_path / "short.csv")
    assert sfumato("generate", *short).code == 0


def test_a_short_option_means_one_thing(table: Path, tmp_path: Path) -> None:
    """Of the options that the help pages show. -m stands for a model only where no method can be asked for."""
    from sfumato.cli.app import app

    meant: dict[str, set[str]] = {}
    for name in (
        "generate",
        "fit",
        "sample",
        "draw",
        "evaluate",
        "attack",
        "plan",
        "sweep",
        "benchmark",
        "dpcheck",
    ):
        for argument in app[name].assemble_argument_collection():
            if not argument.show:
                continue
            for short in (each for each in argument.names if len(each) == 2):
                meant.setdefault(short, set()).update(each for each in argument.names if len(each) > 2)
    same = [
        {"--data", "--real"}, {"--epsilon", "--epsilons"}, {"--rows", "--draws"}, {"--synthetic"}, {"--baselines"},
        {"--method", "--methods", "--generator"}, {"--output", "--model", "--save"},
    ]  # fmt: skip
    assert {"-d", "-r", "-e", "-n", "-s", "-b", "-m", "-g", "-o"} <= set(meant)
    for short, names in meant.items():
        assert any(names <= each for each in same), (short, names)

    assert sfumato("fit", table, "--epsilon", 1, "-m", "dp-copula", "--model", tmp_path / "a").code == 0
    assert sfumato("fit", table, "--epsilon", 1, "-m", "dp-copula", "--save", tmp_path / "b").code == 0
    ran = sfumato("fit", table, "--epsilon", 1, "--model", tmp_path / "c", "-o", tmp_path / "d")
    assert ran.code == 2 and not (tmp_path / "c").exists() and not (tmp_path / "d").exists()
    for words in (("-m", tmp_path / "a", "--model", tmp_path / "a"), (tmp_path / "a", "-m", tmp_path / "a")):
        ran = sfumato("dpcheck", *words)
        assert ran.code == 2 and "given twice" in ran.err


def test_altered_files_end_with_3_and_missing_ones_with_2(table: Path, tmp_path: Path) -> None:
    model = tmp_path / "m"
    words = ("generate", table, "-m", "dp-copula", "--epsilon", 1, "-o", tmp_path / "o.csv", "--save", model)
    assert sfumato(*words).code == 0
    content = model.read_bytes()
    for old, new in ((b'\\"corr_fraction\\": 0.4', b'\\"corr_fraction\\": 0.5'), (b"scale", b"scalf")):
        assert old in content
        model.write_bytes(content.replace(old, new, 1))
        for command in (("assert-dp", model, "--epsilon", 1), ("dpcheck", model)):
            ran = sfumato(*command)
            assert ran.code == 3 and ran.err.startswith("error: "), ran.err
    assert sfumato("dpcheck", tmp_path / "none").code == 2
    assert sfumato("assert-dp", tmp_path / "none", "--epsilon", 1).code == 2


def test_an_epsilon_for_margins_is_part_of_the_total(table: Path, tmp_path: Path) -> None:
    words = (
        "generate",
        table,
        "-m",
        "dp-copula",
        "--epsilon",
        1,
        "--ecdf-epsilon",
        0.5,
        "-o",
        tmp_path / "o.csv",
    )
    facts = sfumato(*words, "--json").json()
    assert 1.49 < facts["statement"]["epsilon"] <= 1.5
    for wrong, part in [
        (("--method", "mst", "--epsilon", 1, "--ecdf-epsilon", 0.5), "methods that have it: dp-copula"),
        (("--method", "dp-copula", "--ecdf-epsilon", 0.5), "needs --epsilon"),
        (("--method", "mst", "--epsilon", 1, "--epochs", 3), "means nothing to method 'mst'"),
    ]:
        ran = sfumato("generate", table, *wrong, "-o", tmp_path / "no.csv")
        assert ran.code == 2 and part in ran.err, ran.err
    assert not (tmp_path / "no.csv").exists()


def test_a_network_is_trained_by_the_same_command(table: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install 'sfumato[deep]'")
    words = ("-m", "dp-gan", "--epsilon", 1, "--ecdf-epsilon", 0.5, "--epochs", 2, "-o", tmp_path / "o.csv")
    facts = sfumato("generate", table, *words, "--save", tmp_path / "m", "--json").json()
    assert 1 < facts["statement"]["epsilon"] <= 1.5
    assert len((tmp_path / "o.csv").read_text().splitlines()) == facts["rows"] + 1
    assert sfumato("dpcheck", tmp_path / "m").code == 0


def test_a_method_without_a_guarantee_goes_without_epsilon_and_says_so(table: Path, tmp_path: Path) -> None:
    ran = sfumato("generate", "-d", table, "-m", "gaussian-copula", "-n", 50, "-o", tmp_path / "o.csv")
    assert ran.code == 0 and "NO PRIVACY GUARANTEE" in ran.err
    ran = sfumato("generate", "-d", table, "-m", "gaussian-copula", "--epsilon", 1, "-o", tmp_path / "no.csv")
    assert ran.code == 2 and "no guarantee" in ran.err and "dp-copula" in ran.err
    assert not (tmp_path / "no.csv").exists()


def test_what_is_made_of_a_model_without_a_guarantee_says_so_again(table: Path, tmp_path: Path) -> None:
    model, page = tmp_path / "m", tmp_path / "p.html"
    words = ("-d", table, "-m", "gaussian-copula", "-n", 50, "-o", tmp_path / "o.csv", "--save", model)
    ran = sfumato("generate", *words, "--report", page)
    assert ran.code == 0 and "NOT PRIVATE: report written" in ran.err and "publishable" not in ran.err
    ran = sfumato("sample", model, "-n", 5, "-o", tmp_path / "s.csv")
    assert ran.code == 0 and "NO PRIVACY GUARANTEE" in ran.err
    ran = sfumato("inspect", model)
    assert "infinite" in ran.out and "nan" not in ran.out
    ran = sfumato("verify", model)
    assert ran.code == 3 and "nothing is guaranteed" in ran.err and "The file itself is whole" in ran.err


def test_networks_without_a_guarantee_by_the_same_commands(table: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install 'sfumato[deep]'")
    model = tmp_path / "m"
    words = ("-d", table, "-m", "tvae", "--epochs", 1, "-n", 30, "-o", tmp_path / "o.csv", "--save", model)
    ran = sfumato("generate", *words)
    assert ran.code == 0 and "NO PRIVACY GUARANTEE" in ran.err
    assert len((tmp_path / "o.csv").read_text().splitlines()) == 31
    ran = sfumato("generate", "-d", table, "-m", "ctgan", "--epsilon", 1, "-o", tmp_path / "no.csv")
    assert ran.code == 2 and "no guarantee" in ran.err and "dp-gan" in ran.err
    words = (
        "-d",
        table,
        "-g",
        "dp-copula",
        "-e",
        1,
        "-b",
        "tvae",
        "--baseline-epochs",
        1,
        "-n",
        100,
        "--workers",
        1,
    )
    ran = sfumato("benchmark", *words, "-o", tmp_path / "b.html")
    assert ran.code == 0 and "tvae" in ran.out and "infinity" in ran.out, ran.err


def test_sweep(table: Path, tmp_path: Path) -> None:
    page = tmp_path / "sweep.html"
    words = ("--generator", "dp-copula", "--epsilons", "1,4", "--rows", 400, "--output", page, "--workers", 1)
    words = (*words, "--ledger", tmp_path / "ledger", "--dataset", "d")
    ran = sfumato("sweep", "--data", table, *words)
    assert ran.code == 0 and "Take epsilon" in ran.out and "epsilon = 5" in ran.out, ran.err
    assert page.exists() and page.with_suffix(".csv").exists()
    again = sfumato("sweep", "-r", table, *words)
    assert again.code == 2
    again = sfumato("sweep", "-r", table, *words, "--resume", "--force", "--json").json()
    assert len(again["rows"]) == 2 and "compose to epsilon = 5" in again["price"]


def test_sweep_on_a_stand_in(table: Path, tmp_path: Path) -> None:
    model = tmp_path / "m"
    assert sfumato("fit", table, "-m", "dp-copula", "--epsilon", 1, "-o", model).code == 0
    words = ("--on", "standin", "-e", "1", "--workers", 1, "-o", tmp_path / "p.html", "--threshold", 0.9)
    ran = sfumato("sweep", model, *words)
    assert ran.code == 0 and "Price: Nothing" in ran.out, ran.err


def test_benchmark(table: Path, tmp_path: Path) -> None:
    page = tmp_path / "b.html"
    words = ("-d", table, "-g", "dp-copula", "-e", "1", "-b", "gaussian-copula", "--delta", 1e-6, "-n", 300)
    ran = sfumato("benchmark", *words, "--ecdf-epsilon", 0.5, "--workers", 1, "-o", page)
    assert ran.code == 0 and "gaussian-copula" in ran.out and "infinity" in ran.out, ran.err
    for wrong in (
        ("--numeric", "uniform"),
        ("--rectify-marginals",),
        ("--epochs", 5),
        ("--baseline-epochs", 5),
    ):
        ran = sfumato("benchmark", *words, *wrong, "-o", tmp_path / "no.html")
        assert ran.code == 2 and "has an option" in ran.err, ran.err
    assert not (tmp_path / "no.html").exists()


def test_an_epsilon_for_margins_beside_several_epsilons(table: Path, tmp_path: Path) -> None:
    """A share of a total is another one for each; an epsilon of its own is not."""
    words = (
        "-d",
        table,
        "-e",
        "1,2",
        "-b",
        "gaussian-copula",
        "--ecdf-epsilon",
        0.5,
        "-o",
        tmp_path / "b.html",
    )
    ran = sfumato("benchmark", "-g", "dp-copula", *words)
    assert ran.code == 2 and "one total" in ran.err
    ran = sfumato("benchmark", "-d", table, "-e", "", "--ecdf-epsilon", 0.5, "-o", tmp_path / "b.html")
    assert ran.code == 2 and "no number" in ran.err
    pytest.importorskip("torch", reason="torch is not installed: pip install 'sfumato[deep]'")
    small = ("--epochs", 1, "--set", "hidden=8", "-n", 50, "--metrics", "tvd1", "--workers", 1)
    ran = sfumato("benchmark", "-g", "dp-gan", *words, *small)
    assert ran.code == 0 and "1.5" in ran.out and "2.5" in ran.out, ran.err
