"""Every measure that another library has as well gives what that library gives."""

import math

import numpy as np
import polars as pl
import pytest
import scipy.stats
from scipy.spatial.distance import jensenshannon

import sfumato as sf
from sfumato.evaluation import associations, distances, intervals, learners, private_erm, regression
from sfumato.evaluation.gather import pair_tables
from sfumato.evaluation.marginal_cells import column_sets, marginals
from sfumato.evaluation.metrics.distinguishing import propensity
from sfumato.evaluation.settings import Settings

RNG = np.random.default_rng(7)


def shares(size):
    return RNG.dirichlet(np.full(size, 0.4))


def test_distances_of_shares():
    for _ in range(20):
        p, q = shares(30), shares(30)
        assert distances.total_variation(p, q) == pytest.approx(max(np.maximum(p - q, 0).sum(), 0))
        assert distances.l1(p, q) == pytest.approx(scipy.spatial.distance.cityblock(p, q))
        assert distances.jensen_shannon(p, q) == pytest.approx(jensenshannon(p, q) ** 2)
        assert distances.hellinger(p, q) == pytest.approx(math.sqrt(1 - np.sqrt(p * q).sum()))


def test_distances_of_samples():
    for low in (0, 5):
        a, b = RNG.integers(low, 20, 300).astype(float), RNG.normal(8, 4, 170)
        assert distances.kolmogorov(a, b) == pytest.approx(scipy.stats.ks_2samp(a, b).statistic)
        assert distances.wasserstein(a, b) == pytest.approx(scipy.stats.wasserstein_distance(a, b))
    a, b = RNG.normal(size=(40, 2)), RNG.normal(1, 2, size=(40, 2))
    exact = scipy.stats.wasserstein_distance_nd(a, b)
    assert distances.matched_distance(a, b) == pytest.approx(exact, rel=1e-6)
    sliced = distances.sliced_wasserstein(a, b, directions=500, rng=np.random.default_rng(0))
    assert 0 < sliced <= exact


def test_what_chance_gives_two_samples_of_one_law():
    p = shares(12)
    drawn = [
        distances.total_variation(RNG.multinomial(400, p) / 400, RNG.multinomial(900, p) / 900)
        for _ in range(400)
    ]
    expected = distances.expected_by_chance(p, 400, 900)
    assert np.mean(drawn) == pytest.approx(expected, rel=0.06)  # 400 draws: a standard error of about 1 %


def test_associations():
    from sklearn.metrics import mutual_info_score

    table = RNG.normal(size=(300, 4)) @ RNG.normal(size=(4, 4))
    table[:, 3] = np.round(table[:, 3])
    assert associations.pearson(table) == pytest.approx(np.corrcoef(table.T))
    assert associations.spearman(table) == pytest.approx(scipy.stats.spearmanr(table).statistic)
    holes = table.copy()
    holes[RNG.random(table.shape) < 0.2] = np.nan
    both = ~np.isnan(holes[:, 0]) & ~np.isnan(holes[:, 3])
    x, y = holes[both, 0], holes[both, 3]
    assert associations.pearson(holes)[0, 3] == pytest.approx(scipy.stats.pearsonr(x, y).statistic)
    assert associations.spearman(holes)[0, 3] == pytest.approx(scipy.stats.spearmanr(x, y).statistic)
    a, b = RNG.integers(0, 4, 500), RNG.integers(0, 3, 500)
    b = np.where(RNG.random(500) < 0.5, a % 3, b)
    counts = associations.cross_table(a, b, 6, 5)  # levels that do not occur change nothing
    crossed = scipy.stats.contingency.crosstab(a, b).count
    assert associations.cramers_v(counts) == pytest.approx(scipy.stats.contingency.association(crossed))
    assert associations.mutual_information(counts) == pytest.approx(mutual_info_score(a, b))
    values = RNG.normal(size=500) + a
    f = scipy.stats.f_oneway(*(values[a == level] for level in range(4))).statistic
    assert associations.correlation_ratio(a, values, 6) ** 2 == pytest.approx(3 * f / (3 * f + 496))


def test_marginals_equal_those_of_a_group_by():
    rows, sizes = 400, (3, 200, 7, 150)
    tables = [[RNG.integers(0, size, rows) for size in sizes] for _ in range(2)]
    sets = [(0,), (0, 1), (0, 2), (1, 3), (0, 1, 2), (0, 1, 2, 3)]
    for chosen, found in zip(sets, marginals(tables, sizes, sets), strict=True):
        counted = []
        for table in tables:
            frame = pl.DataFrame({str(a): table[a] for a in chosen})
            counts = frame.group_by(frame.columns).len()
            counted.append(dict(zip(counts.drop("len").rows(), counts["len"] / rows, strict=True)))
        by_hand = sum(
            abs(counted[0].get(cell, 0) - counted[1].get(cell, 0)) for cell in {**counted[0], **counted[1]}
        )
        assert distances.l1(*found) == pytest.approx(by_hand)
        assert [each.sum() for each in found] == pytest.approx([1.0, 1.0])


def test_marginals_of_many_wide_columns_do_not_overflow():
    sizes = (10_000,) * 6
    table = [RNG.integers(0, 10_000, 50) for _ in sizes]
    other = [column.copy() for column in table]
    other[5] = (other[5] + 1) % 10_000
    same, apart = (next(marginals([table, each], sizes, [tuple(range(6))])) for each in (table, other))
    assert distances.total_variation(*same) == 0
    assert distances.total_variation(*apart) == pytest.approx(1)


def test_sets_of_columns_are_all_or_drawn_without_repeats():
    assert len(column_sets(10, 3, at_most=500, seed=0)) == 120
    for columns in (12, 400):
        drawn = column_sets(columns, 3, at_most=100, seed=0)
        assert len(set(drawn)) == len(drawn) == 100
        assert drawn == sorted(drawn) == column_sets(columns, 3, at_most=100, seed=0)


def test_scores_of_models():
    from sklearn.metrics import f1_score, r2_score, roc_auc_score

    truth, said = RNG.integers(0, 3, 200), RNG.integers(0, 3, 200)
    scores, numbers = np.round(RNG.random(200), 1), RNG.normal(size=200)
    assert intervals.auc(scores, truth == 1) == pytest.approx(roc_auc_score(truth == 1, scores))
    assert learners.accuracy(truth, said) == pytest.approx(f1_score(truth, said, average="micro"))
    assert learners.f1(truth, said, 1) == pytest.approx(f1_score(truth == 1, said == 1))
    assert learners.r_squared(numbers, scores) == pytest.approx(r2_score(numbers, scores))


def test_intervals():
    for hits, trials in ((0, 9), (4, 9), (9, 9), (300, 1000)):
        exact = scipy.stats.binomtest(hits, trials).proportion_ci(method="exact")
        found = intervals.clopper_pearson(hits, trials)
        assert (found.low, found.high) == pytest.approx((exact.low, exact.high))
    # 1000 data sets with a known AUC: 95 % intervals cover it; 915 would be 5 standard errors below 950.
    area, covered = scipy.stats.norm.cdf(1 / math.sqrt(2)), 0
    for _ in range(1000):
        scores = np.concatenate([RNG.normal(1, 1, 60), RNG.normal(0, 1, 90)])
        found = intervals.auc_interval(scores, np.arange(150) < 60)
        covered += found.low <= area <= found.high
    assert covered > 915


def test_an_area_of_one_still_has_an_open_end():
    scores = np.arange(40.0)
    found = intervals.auc_interval(scores, scores >= 30)
    assert found.high == 1 and 0.6 < found.low < 0.8


def test_regressions():
    from sklearn.linear_model import LogisticRegression

    design = np.column_stack([np.ones(400), RNG.normal(size=(400, 3))])
    outcome = design @ [1, 2, 0, -1] + RNG.normal(size=400)
    found = regression.least_squares(design, outcome)
    assert found.coefficients == pytest.approx(np.linalg.lstsq(design, outcome)[0])
    alone = scipy.stats.linregress(design[:, 1], outcome)
    pair = regression.least_squares(design[:, :2], outcome)
    assert pair.coefficients[1] == pytest.approx(alone.slope)
    assert pair.errors[1] == pytest.approx(alone.stderr)
    assert pair.errors[0] == pytest.approx(alone.intercept_stderr)
    answers = RNG.random(400) < 1 / (1 + np.exp(-outcome / 2))
    fitted = regression.logistic(design, answers.astype(float))
    plain = LogisticRegression(C=1e10, fit_intercept=False, tol=1e-10, max_iter=5000).fit(design, answers)
    assert fitted.coefficients == pytest.approx(plain.coef_[0], abs=1e-4)
    chance = plain.predict_proba(design)[:, 1]
    information = design.T @ (design * (chance * (1 - chance))[:, None])
    assert fitted.errors == pytest.approx(np.sqrt(np.diag(np.linalg.inv(information))), rel=1e-4)
    assert np.isnan(regression.logistic(design, (design[:, 1] > 0) * 1.0).coefficients).all()  # separated
    twice = np.column_stack([design, design[:, 1]])
    assert np.isnan(regression.least_squares(twice, outcome).errors).all()


@pytest.fixture(scope="module")
def bounded():
    rows = RNG.normal(size=(200, 5))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows, np.where(rows @ [1, -1, 0.5, 0, 0] + 0.3 * RNG.normal(size=200) > 0, 1.0, -1.0)


def test_the_minimiser_is_that_of_logistic_regression(bounded):
    from sklearn.linear_model import LogisticRegression

    rows, answers = bounded
    found = private_erm.minimise(rows, answers, loss=private_erm.LOGISTIC, penalty=0.01)
    plain = LogisticRegression(C=1 / (200 * 0.01), fit_intercept=False, tol=1e-9, max_iter=5000)
    assert found == pytest.approx(plain.fit(rows, answers).coef_[0], abs=2e-3)


@pytest.mark.parametrize("loss", [private_erm.LOGISTIC, private_erm.SVM])
def test_losses_have_the_slope_and_curvature_they_state(loss):
    z = np.linspace(-3, 3, 4001)
    step = z[1] - z[0]
    assert np.gradient(loss.value(z), step)[1:-1] == pytest.approx(loss.slope(z)[1:-1], abs=1e-3)
    curvature = np.gradient(loss.slope(z), step)
    assert curvature.max() == pytest.approx(loss.curvature, rel=1e-3)
    assert (np.abs(loss.slope(z)) <= 1 + 1e-12).all()


@pytest.mark.parametrize("loss", [private_erm.LOGISTIC, private_erm.SVM])
def test_one_row_moves_the_minimiser_by_no_more_than_its_noise_is_made_for(bounded, loss):
    rows, answers = bounded
    penalty, epsilon = 0.02, 1.0
    limit = epsilon / private_erm.output_noise(200, penalty=penalty, epsilon=epsilon)
    assert limit == pytest.approx(2 / (200 * penalty))
    before = private_erm.minimise(rows, answers, loss=loss, penalty=penalty)
    for place in range(0, 200, 10):
        changed, flipped = rows.copy(), answers.copy()
        changed[place], flipped[place] = -rows[place], answers[place]
        moved = private_erm.minimise(changed, flipped, loss=loss, penalty=penalty)
        assert np.linalg.norm(moved - before) <= limit + 1e-4


def test_noise_has_the_law_it_states():
    rng = np.random.default_rng(1)
    drawn = np.array([private_erm.long_noise(6, 2.0, rng) for _ in range(4000)])
    lengths = np.linalg.norm(drawn, axis=1)
    assert scipy.stats.kstest(lengths, scipy.stats.gamma(6, scale=0.5).cdf).pvalue > 1e-7
    assert np.abs(drawn.mean(axis=0)).max() < 6 * drawn.std() / math.sqrt(4000)


def test_noise_of_the_objective():
    # nΛ = 1000, c = 1/4: ε' = 1 - ln(1 + 2·0.00025 + 0.00025²)
    rate, extra = private_erm.objective_noise(10_000, loss=private_erm.LOGISTIC, penalty=0.1, epsilon=1.0)
    assert (rate, extra) == pytest.approx(((1 - math.log(1 + 5e-4 + 6.25e-8)) / 2, 0.0))
    # nΛ = 0.01: the penalty is raised until half of ε is left, (1 + c/(n(Λ+Δ)))² = e^(ε/2)
    rate, extra = private_erm.objective_noise(100, loss=private_erm.LOGISTIC, penalty=1e-4, epsilon=1.0)
    assert rate == 0.25
    assert 2 * math.log1p(0.25 / (100 * (1e-4 + extra))) == pytest.approx(0.5)


def test_dimension_wise_probability_is_the_share_of_ones():
    real, made = RNG.integers(0, 2, (300, 5)), RNG.integers(0, 2, (200, 5))
    frames = [pl.DataFrame({f"c{i}": side[:, i] for i in range(5)}) for side in (real, made)]
    found = sf.evaluate(*frames, families=["structure"])
    gaps = np.abs(real.mean(axis=0) - made.mean(axis=0))
    assert found["structure.dimension_wise_probability"].value == pytest.approx(gaps.mean())
    rmse = found["structure.dimension_wise_probability_rmse"].value
    assert rmse == pytest.approx(math.sqrt(np.square(gaps).mean()))
    correlation = scipy.stats.pearsonr(real.mean(axis=0), made.mean(axis=0)).statistic
    assert found["structure.dimension_wise_probability_correlation"].value == pytest.approx(correlation)


def test_the_propensity_ratio_of_two_samples_of_one_law_is_one():
    ratios = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        numbers, labels = rng.normal(size=(1200, 6)), rng.integers(0, 4, 1200)
        frame = pl.DataFrame(
            {f"x{i}": numbers[:, i] for i in range(6)} | {"c": [f"l{label}" for label in labels]}
        )
        pair, settings = pair_tables(frame.head(600), frame.tail(600)), Settings(seed=seed)
        outcomes = {each.name: each for each in propensity(pair, settings)}
        assert outcomes["distinguishing.pmse"].facts["parameters"] == 1 + 6 + 3
        ratios.append(outcomes["distinguishing.pmse_ratio"].value)
    # A chi-square law with 9 degrees of freedom over 9, 30 times: a standard error of 0.086.
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.45)
