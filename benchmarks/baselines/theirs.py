"""SDV's side, run by run.py in an environment of its own: fits and draws, or judges.

task: {"what": "fit", "method", "rows", "made", "epochs", "seed"} writes as many synthetic rows as there are
rows, and prints seconds of processor time; {"what": "judge", "rows", "made"} prints the two scores of SDMetrics,
that of every column, and the mean of the pairs that it counts by kind; {"what": "versions"}.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

REQUIREMENTS = ("torch==2.13.0", "sdv==2.0.0")
CLASSES = {
    "ctgan": "CTGANSynthesizer",
    "tvae": "TVAESynthesizer",
    "copula-gan": "CopulaGANSynthesizer",
    "gaussian-copula": "GaussianCopulaSynthesizer",
}


def kinds(frame) -> dict[str, str]:
    """What each column is; texts are categories, and so are numbers of two values."""
    return {name: "categorical" if frame[name].dtype == object else "numerical" for name in frame.columns}


def fit(task: dict) -> dict:
    import numpy as np
    import pandas as pd
    import torch
    from sdv import single_table
    from sdv.metadata import Metadata

    torch.set_num_threads(1)
    frame = pd.read_csv(task["rows"], keep_default_na=False)
    columns = {name: {"sdtype": kind} for name, kind in kinds(frame).items()}
    metadata = Metadata.load_from_dict({"tables": {"rows": {"columns": columns}}})
    np.random.seed(task["seed"])  # noqa: NPY002 (there is no other way)
    torch.manual_seed(task["seed"])
    options = {} if task["method"] == "gaussian-copula" else {"epochs": task["epochs"]}
    made = getattr(single_table, CLASSES[task["method"]])(metadata, **options)
    before = time.process_time()
    made.fit({"rows": frame})
    seconds = time.process_time() - before
    if task["made"]:
        made.sample(len(frame))["rows"].to_csv(task["made"], index=False)
    return {"seconds": seconds}


def judge(task: dict) -> dict:
    import numpy as np
    import pandas as pd
    from sdmetrics.reports.single_table import QualityReport

    real = pd.read_csv(task["rows"], keep_default_na=False)
    columns = {name: {"sdtype": kind} for name, kind in kinds(real).items()}
    report = QualityReport()
    made = pd.read_csv(task["made"], keep_default_na=False)[list(real.columns)]
    made = made.astype({name: real[name].dtype for name in real.columns})
    report.generate(real, made, {"columns": columns}, verbose=False)
    scores = report.get_properties().set_index("Property")["Score"]
    numeric = {name for name, kind in columns.items() if kind["sdtype"] == "numerical"}
    pairs: dict[str, list[float]] = {}
    for _, row in report.get_details("Column Pair Trends").iterrows():
        if np.isfinite(row["Score"]):  # only pairs that are associated in the real rows are counted
            numbers = len({row["Column 1"], row["Column 2"]} & numeric)
            pairs.setdefault(("categories", "mixed", "numbers")[numbers], []).append(float(row["Score"]))
    return {
        "shape": float(scores["Column Shapes"]),
        "pair": float(scores["Column Pair Trends"]),
        "shapes": report.get_details("Column Shapes").set_index("Column")["Score"].to_dict(),
        "pairs": {kind: float(np.mean(each)) for kind, each in pairs.items()},
    }


def versions(_: dict) -> dict:
    from importlib.metadata import version

    return {name: version(name) for name in ("sdv", "ctgan", "rdt", "sdmetrics", "torch", "numpy")}


def main() -> None:
    warnings.filterwarnings("ignore")
    task = json.loads(sys.argv[1])
    found = {"fit": fit, "judge": judge, "versions": versions}[task["what"]](task)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
