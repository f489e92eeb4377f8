"""The persistent ledger: what runs add up to, limits that hold for two processes, altered files."""

import errno
import json
import math
import os
import subprocess
import sys
from contextlib import nullcontext

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.app import run
from sfumato.errors import InputError, Overdraft, UsageError
from sfumato.privacy import dataset_ledger, gdp, zcdp
from sfumato.privacy.dataset_ledger import DatasetLedger
from sfumato.privacy.filter import Budget
from sfumato.privacy.insecure import seeded_noise
from sfumato.privacy.unit import PrivacyUnit

ROW = PrivacyUnit()
FRAME = pl.DataFrame({"a": [0, 1, 2] * 10})
SCHEMA = {"columns": {"a": {"type": "int", "min": 0, "max": 3}}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.jsonl"


def fitted(path, dataset="d", **options):
    chosen = {"epsilon": 0.5, "method": "independent", "schema": SCHEMA, "ledger": path, "dataset": dataset}
    return sf.fit(FRAME, **{**chosen, **options})


def test_runs_compose_to_less_than_their_sum(path):
    ledger, budget = DatasetLedger(path), Budget(epsilon=0.5, delta=1e-9)
    for _ in range(4):
        ledger.charge("d", budget, unit=ROW, what="fit")
    spent = ledger.spent("d", delta=1e-8)
    outside = 4 * (budget.delta - budget.conversion_delta)
    assert spent.runs == 4
    assert spent.epsilon == pytest.approx(gdp.epsilon(math.sqrt(4 * budget.spend), 1e-8 - outside))
    assert 0.5 < spent.epsilon < 2.0
    # With another accountant among them only the account that all share can be used.
    other = Budget(epsilon=0.5, delta=1e-9, accountant="zcdp")
    ledger.charge("d", other, unit=ROW, what="fit")
    rho = 2 * budget.spend + other.spend / 2
    outside += other.delta - other.conversion_delta
    assert ledger.spent("d", delta=1e-8).epsilon == pytest.approx(min(2.5, zcdp.epsilon(rho, 1e-8 - outside)))
    assert ledger.spent("e").runs == 0
    # The delta of thresholds adds up, and cannot be had for less.
    for _ in range(2):
        ledger.charge("t", Budget(epsilon=0.5, delta=1e-9, thresholds=True), unit=ROW, what="fit")
    assert ledger.spent("t", delta=1.9e-10).epsilon == math.inf > ledger.spent("t", delta=2.1e-10).epsilon


def test_one_run_is_worth_what_it_asked(path):
    ledger = DatasetLedger(path)
    ledger.charge("d", Budget(epsilon=0.7, delta=1e-9, thresholds=True), unit=ROW, what="fit")
    assert ledger.spent("d", delta=1e-9).epsilon <= 0.7


def test_only_runs_that_protect_the_same_add_up(path):
    """Rows and persons, the two relations, and persons by another column: refused, and nothing is charged."""
    frame = FRAME.with_columns(p=pl.int_range(30) // 3, q=pl.int_range(30) // 2)
    schema = {**SCHEMA, "undeclared": "drop"}
    units = [(None, "add-remove"), (None, "replace"), (("p", 2), "add-remove"), (("p", 2), "replace")]
    units.append((("q", 2), "replace"))

    def fit(name, unit, relation):
        sf.fit(frame, epsilon=0.1, method="independent", schema=schema, unit=unit, neighbours=relation,
               ledger=path, dataset=name)  # fmt: skip

    for number, each in enumerate(units):
        fit(str(number), *each)
        for other in units:
            if other != each:
                with pytest.raises(UsageError, match="do not add up") as refusal:
                    fit(str(number), *other)
                assert "another ledger file" in refusal.value.mend
                assert each[1] in refusal.value.message and other[1] in refusal.value.message
    fit("4", ("q", 5), "replace")  # the same persons, whatever is kept of them
    found = {line["dataset"]: line["unit"] for line in DatasetLedger(path).lines()}
    assert len(DatasetLedger(path).lines()) == len(units) + 1
    assert found["0"] == {"neighbours": "add-remove", "column": None, "at_most": 1}
    assert found["4"] == {"neighbours": "replace", "column": "q", "at_most": 5}
    with pytest.raises(UsageError, match="do not add up"):
        sf.draft_schema(FRAME, epsilon=0.1, ledger=path, dataset="1")


@pytest.mark.filterwarnings("ignore:method 'independent'")
@pytest.mark.parametrize("how", ["option", "block", "method"])
def test_a_run_without_a_guarantee_is_infinite(path, how, monkeypatch, capsys):
    def run_void():
        if how == "method":
            monkeypatch.setattr("sfumato.synthesizers.independent.Independent.guarantee", "none")
            monkeypatch.setattr("sfumato.models.training.epsilon_for", lambda recipe, epsilon: epsilon)
        with seeded_noise(1) if how == "block" else nullcontext():
            fitted(path, insecure_noise_seed=1 if how == "option" else None)
        monkeypatch.undo()

    fitted(path)
    run_void()
    ledger = DatasetLedger(path)
    assert [bool(line["void"]) for line in ledger.lines()] == [False, True]
    assert ledger.spent("d").epsilon == math.inf
    assert run(["ledger", "show", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"]["d"]["epsilon"] == "infinity"
    ledger.limit("d", epsilon=100, delta=1e-6)
    with pytest.raises(Overdraft, match="earlier run guarantees nothing"):
        fitted(path)
    ledger.limit("e", epsilon=100, delta=1e-6)
    with pytest.raises(Overdraft, match="this run guarantees nothing"):
        ledger.charge("e", Budget(epsilon=0.1, delta=1e-9), unit=ROW, what="fit", void="why")
    assert len(ledger.lines()) == 4


@pytest.mark.parametrize("accountant", ["gdp", "zcdp"])
def test_a_drafted_schema_is_charged_once(path, tmp_path, accountant):
    """The ledger adds the price of the draft to what the fits spend beyond it, in either currency."""
    ledger = DatasetLedger(path)
    frame = pl.DataFrame({"a": ["x", "y", "z"] * 10})
    draft, _ = sf.draft_schema(frame, epsilon=0.5, ledger=path, dataset="d")
    (tmp_path / "s.toml").write_text(draft.to_toml())

    def fit(path, schema, dataset="d"):
        sf.fit(frame, epsilon=1.0, method="independent", schema=schema, accountant=accountant, ledger=path,
               dataset=dataset)  # fmt: skip

    for schema in (draft, tmp_path / "s.toml"):
        fit(path, schema)
    first, *fits = ledger.lines()
    prior = draft.bought["delta_spent"]
    asked = Budget(epsilon=1.0, delta=1e-9, accountant=accountant, thresholds=True, prior_delta=prior)
    own = asked.spend - draft.bought["mu2"]
    for line in fits:
        assert line["rho"] == pytest.approx(own / 2) and line["delta"] == 1e-9 - prior < 1e-9
        assert 0.5 < line["epsilon"] < 1.0
    spent = ledger.spent("d", delta=1e-8)
    outside = sum(line["delta_outside"] for line in (first, *fits))
    assert outside == pytest.approx(3e-9 * 0.101)
    rho = first["rho"] + own
    assert spent.epsilon <= zcdp.epsilon(rho, 1e-8 - outside) * (1 + 1e-9)
    # A ledger that does not hold the draft is charged with the whole.
    fit(tmp_path / "other", draft)
    fit(path, draft, "e")
    for line in (DatasetLedger(tmp_path / "other").lines()[0], ledger.lines()[-1]):
        assert (line["epsilon"], line["delta"]) == (1.0, 1e-9)


def test_deltas_of_limits_and_runs(path):
    """What is shown without a limit is what the runs were asked for; a limit says when its delta is short."""
    ledger = DatasetLedger(path)
    fitted(path, epsilon=0.5, delta=1e-6)
    spent = ledger.spent("d")
    assert (spent.epsilon, spent.delta) == (pytest.approx(0.5), 1e-6)
    fitted(path, epsilon=0.5, delta=1e-5)
    assert ledger.spent("d").delta == pytest.approx(1.1e-5) and ledger.spent("d").epsilon < 1
    assert run(["ledger", "limit", str(path), "--dataset", "e", "--epsilon", "3"]) == 0
    with pytest.raises(Overdraft, match=r"delta = 1e-06.*limit is stated at delta = 1e-08"):
        fitted(path, "e", delta=1e-6)
    for _ in range(10):
        ledger.charge("e", Budget(epsilon=0.1, delta=1e-9, thresholds=True), unit=ROW, what="fit")
    assert ledger.spent("e").epsilon < 1.0


def test_a_limit_refuses_the_run_before_a_row_is_read(path, monkeypatch):
    DatasetLedger(path).limit("d", epsilon=1.0, delta=1e-8)
    before = fitted(path).statement
    assert before.epsilon <= 0.5
    with pytest.raises(Overdraft, match="limit is 1"):
        fitted(path, epsilon=1.5)
    kinds = [line["kind"] for line in DatasetLedger(path).lines()]
    assert kinds == ["limit", "run"]
    monkeypatch.setattr("sfumato.tables.counting.BlockCounter.marginals", None)
    with pytest.raises(Overdraft):
        fitted(path, epsilon=1.5)
    with pytest.raises(TypeError):  # within the limit it goes on to read, charged already
        fitted(path, epsilon=0.2)
    assert DatasetLedger(path).spent("d").runs == 2


def test_the_name_of_the_data_set_and_the_file_go_together(path):
    with pytest.raises(UsageError):
        fitted(path, dataset=None)
    for name in ("", " ", "x" * 300):
        with pytest.raises(UsageError):
            fitted(path, dataset=name)
    with pytest.raises(InputError):
        DatasetLedger(path).spent("d")
    with pytest.raises(InputError, match="opened"):
        fitted(path / "no folder")


def test_it_holds_nothing_of_the_rows_or_the_machine(path):
    fitted(path)
    (line,) = DatasetLedger(path).lines()
    assert set(line) == dataset_ledger.FIELDS["run"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.uname().nodename not in path.read_text()


def test_a_half_written_last_line_is_a_run_that_never_started(path):
    fitted(path)
    whole = path.read_bytes()
    for cut in (1, 20, len(whole) // 2):
        path.write_bytes(whole + whole[:cut].replace(b"\n", b""))
        assert DatasetLedger(path).spent("d").runs == 1
        fitted(path)
        assert DatasetLedger(path).spent("d").runs == 2
        path.write_bytes(whole)


def test_a_full_disk_stops_the_run(path, monkeypatch):
    fitted(path)
    whole = path.read_bytes()

    def full(handle, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    for write in (full, lambda handle, data: len(data) - 1):
        monkeypatch.setattr(dataset_ledger.os, "write", write)
        with pytest.raises(InputError, match="written"):
            fitted(path)
        monkeypatch.undo()
    assert path.read_bytes().rstrip(b"\0") == whole


def test_every_alteration_is_found(path):
    ledger = DatasetLedger(path)
    ledger.limit("d", epsilon=3.0, delta=1e-8)
    for _ in range(3):
        ledger.charge("d", Budget(epsilon=0.5, delta=1e-9), unit=ROW, what="fit")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    forged = []
    for number, line in enumerate(lines):
        for field, value in line.items():
            other = value + "x" if isinstance(value, str) else 0.001
            forged.append([*lines[:number], {**line, field: other}, *lines[number + 1 :]])
        forged.append([*lines[:number], {**line, "more": 1}, *lines[number + 1 :]])
    forged += [lines[1:], [lines[0], *lines[2:]], [*lines[:2], lines[3], lines[2]], [*lines, lines[-1]]]
    for each in forged:
        path.write_text("".join(json.dumps(line, sort_keys=True) + "\n" for line in each))
        with pytest.raises(InputError, match="altered: line"):
            ledger.spent("d")
    for text in ("nonsense\n", "[]\n", "{}\n", "null\n", "[" * 5000 + "\n", "\udcff\n", '{"hash": 1}\n'):
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        with pytest.raises(InputError, match="altered: line 1"):
            ledger.lines()


def test_two_processes_cannot_both_take_the_last_of_the_budget(path):
    ledger = DatasetLedger(path)
    ledger.limit("d", epsilon=2.0, delta=1e-7)
    work = (
        "import sys\n"
        "from sfumato.errors import Overdraft\n"
        "from sfumato.privacy.dataset_ledger import DatasetLedger\n"
        "from sfumato.privacy.filter import Budget\n"
        "from sfumato.privacy.unit import PrivacyUnit\n"
        "for _ in range(30):\n"
        "    try:\n"
        "        DatasetLedger(sys.argv[1]).charge('d', Budget(epsilon=0.4, delta=1e-9), unit=PrivacyUnit(), what='fit')\n"
        "    except Overdraft:\n"
        "        break\n"
    )
    workers = [subprocess.Popen([sys.executable, "-c", work, str(path)]) for _ in range(2)]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    spent = ledger.spent("d")
    assert spent.epsilon <= 2.0
    assert spent.runs == len(ledger.lines()) - 1
    with pytest.raises(Overdraft):
        ledger.charge("d", Budget(epsilon=0.4, delta=1e-9), unit=ROW, what="fit")


def test_the_command_line_shows_and_limits(path, capsys):
    assert run(["ledger", "limit", str(path), "--dataset", "d", "--epsilon", "0.6", "--delta", "1e-8"]) == 0
    fitted(path)
    assert run(["ledger", "show", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["total"]["d"]["runs"] == 1
    path.write_text("altered\n")
    assert run(["ledger", "show", str(path)]) == 2
