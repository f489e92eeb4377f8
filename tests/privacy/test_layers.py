"""Rules of the source itself: where chance comes from, who reads rows, what an import costs."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato

ROOT = Path(sfumato.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))
HEAVY = {"polars", "pandas", "scipy", "torch", "sklearn", "plotly", "pyarrow", "rich", "cyclopts", "narwhals"}
HEAVY |= {"dp_accounting", "mpmath", "matplotlib", "safetensors"}


def name(path):
    return path.relative_to(ROOT).as_posix()


def dotted(node):
    """The text of a name with dots, or nothing."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return ""


def imports(tree):
    """Every module that is imported, and every name out of one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def uses(tree):
    """Imports, names with dots, and names that are called."""
    found = set(imports(tree))
    found |= {dotted(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    found |= {dotted(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    # A bare string of code or of a type would hide a name.
    return found - {""}


TREES = {name(path): ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}
USED = {file: uses(tree) for file, tree in TREES.items()}


def users(*wanted, under=""):
    """Files (below `under`) that use any of some names, or what is inside them."""
    return {
        file
        for file, used in USED.items()
        if file.startswith(under)
        and any(each == one or each.startswith(one + ".") for each in used for one in wanted)
    }


def test_secure_bytes_come_from_two_files():
    """Noise, and which rows of a person are kept; apart from the names of temporary files."""
    found = users("os.urandom", "os.getrandom", "secrets", "random.SystemRandom")
    assert found - {"tables/output.py"} == {"privacy/secure_random.py", "tables/limit.py"}


def test_no_other_chance_in_the_privacy_core():
    assert users("numpy.random", "np.random", "random", under="privacy/") == {"privacy/insecure.py"}
    # The generator that ignores who seeds it globally is the only one used anywhere.
    words = ("seed", "rand", "randn", "normal", "choice", "shuffle", "RandomState", "get_state", "set_state")
    assert users(*(f"{module}.random.{word}" for module in ("np", "numpy") for word in words)) == set()
    assert users("random", "jax", "tensorflow") == set()
    # Networks are torch, their first weights and everything else that is drawn are not.
    assert {file.rpartition("/")[0] for file in users("torch")} <= {"privacy", "synthesizers/deep"}
    drawn = (
        "rand",
        "randn",
        "randint",
        "randperm",
        "normal",
        "bernoulli",
        "multinomial",
        "manual_seed",
        "Generator",
    )
    # Trainings of methods without a guarantee, which draw from torch's own generator under a seed.
    unprotected = {"conditional_gan.py", "tvae_training.py"}
    assert users(*(f"torch.{word}" for word in drawn)) == {
        f"synthesizers/deep/{name}" for name in unprotected
    }


def test_the_source_of_bytes_is_replaced_in_one_file():
    assigning = set()
    for file, tree in TREES.items():
        for node in ast.walk(tree):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if any(dotted(target).endswith("secure_random.source") for target in targets if target):
                assigning.add(file)
    assert assigning == {"privacy/insecure.py"}
    assert users("secure_random.source") == {"privacy/insecure.py"}


def test_the_seed_is_used_by_the_entry_points_only():
    assert users("sfumato.privacy.insecure") == {"api.py", "sampling/drawing.py"}


def test_no_single_precision_in_the_privacy_core():
    singles = ("np.float32", "np.float16", "np.single", "np.half", "numpy.float32")
    assert users(*singles, under="privacy/") == set()
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "privacy").rglob("*.py"))
    assert "float32" not in text


def test_nothing_is_unpickled_or_evaluated():
    modules = ("pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "yaml")
    assert users(*modules, "eval", "exec", "compile", "np.load", "numpy.load", "torch.load") == set()


def test_rows_are_read_by_the_curator_only():
    """Exact answers are computed in one line, counters are made in one file.

    `mechanisms/exact.py` hands that line on to the question that it wraps, at an infinite price.
    """
    assert users("BlockCounter") == {"privacy/private_table.py"}
    calls = [
        file
        for file, tree in TREES.items()
        if not file.startswith("testing/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "exact"
    ]
    assert calls == ["privacy/curator.py", "privacy/mechanisms/exact.py"]
    # What only tests may do, with exact answers in hand.
    assert {file for file in users("sfumato.testing") if not file.startswith("testing/")} == set()


def test_the_layers_hold():
    found = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    if "No such file" in found.stderr or not (ROOT.parents[1] / "pyproject.toml").exists():
        pytest.skip("the contracts stand in pyproject.toml of the repository")
    assert found.returncode == 0, found.stdout[-2000:]


def fresh(code):
    """What a fresh interpreter prints."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return found.stdout.split()


def test_importing_is_light(capsys):
    code = (
        "import sys, time; before = time.process_time(); import sfumato; after = time.process_time()\n"
        "print(after - before, *sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    seconds, *modules = fresh(code)
    assert set(modules) & HEAVY == set()
    with capsys.disabled():
        print(f"\nimport sfumato: {float(seconds):.3f} s of processor time")  # noqa: T201


def test_every_public_name_is_there():
    assert all(getattr(sfumato, each) is not None for each in sfumato.__all__)
