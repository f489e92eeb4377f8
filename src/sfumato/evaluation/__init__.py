"""How good synthetic rows are, measured against the real ones.

Everything here reads private rows without noise: results are for the holder of the data and carry no
guarantee. Nothing of a fitted model depends on this package.

    outcome      what a metric found: a value, "not applicable because …" or "failed because …"
    pair         real, synthetic and hold-out rows brought to one common view
    evaluation   outcomes by family; JSON, table, report
    metric       the registry: a metric is a function under `@metric`
    metrics/     the metrics, one file a family
"""
