"""Analysis of variance: against statsmodels, and against the closed form of a balanced design."""

import numpy as np
import pandas as pd
import pytest
from planted import answered, items, line, log_odds, policy

from likely.calibration.analyses.units import clipped_log_odds
from likely.calibration.analyses.variance import variance_table
from likely.core.streams import generator
from likely.errors import InputError


def noisy():
    base = items(scales=("1-10", "10-100"), n_pairs=5)
    frame = line(
        base, slope=1.4, position=0.3, strengths={"red": 0.8, "blue": -0.4},
        templates={"C1": 0.5}, noise=0.6,
    )  # fmt: skip
    y = log_odds(frame["pi1"].to_numpy())
    y += 0.3 * ((base["scale"] == "1-10") & (base["template"] == "C2")).to_numpy()
    y += 0.2 * generator(0, "variance").normal(size=len(base))
    return answered(base, 1 / (1 + np.exp(-y)))


def nested_fits(frame):
    """Sums of squares and degrees of freedom of type II, and what all terms leave."""
    import statsmodels.formula.api as smf

    renamed = frame.assign(y=log_odds(frame["pi1"].to_numpy()), x=log_odds(frame["p1"].to_numpy()))
    renamed = renamed.rename(columns={"label1": "a", "label2": "b"})
    terms = {
        "logit p": "x", "first": "C(a)", "second": "C(b)", "first:second": "C(a):C(b)",
        "scale": "C(scale)", "template": "C(template)", "scale:template": "C(scale):C(template)",
    }  # fmt: skip

    def rest(names):
        formula = "y ~ 1" + "".join(f" + {terms[name]}" for name in names)
        fit = smf.ols(formula, renamed).fit()
        return fit.ssr, fit.df_model

    found = {}
    for name in terms:
        apart = [other for other in terms if not set(name.split(":")) <= set(other.split(":"))]
        less, more = rest(apart), rest([*apart, name])
        found[name] = (less[0] - more[0], more[1] - less[1])
    return found, rest(list(terms))


@pytest.mark.filterwarnings("ignore:The design matrix is rank-deficient")
@pytest.mark.parametrize("kept", [1.0, 0.7])
def test_sums_of_squares_are_those_of_nested_fits_by_statsmodels(kept):
    frame = noisy().sample(frac=kept, random_state=0)
    expected, (rest, df_model) = nested_fits(frame)
    found = variance_table(frame, n_resamples=100)
    for term in found.terms:
        assert term.sum_of_squares == pytest.approx(expected[term.name][0], rel=1e-6, abs=1e-6)
        assert term.df == expected[term.name][1]
        partial = expected[term.name][0] / (expected[term.name][0] + rest)
        assert term.partial.value == pytest.approx(partial, rel=1e-6)
        assert term.partial.low <= term.partial.value <= term.partial.high
    assert found.residual == pytest.approx(rest)
    assert found.residual_df == len(frame) - df_model - 1


def test_in_a_balanced_design_terms_have_their_closed_forms():
    frame = noisy()
    y, x = log_odds(frame["pi1"].to_numpy()), log_odds(frame["p1"].to_numpy())
    y = y - y.mean()
    found = {
        term.name: term.sum_of_squares for term in variance_table(frame, n_resamples=100).terms
    }
    # mirrored numbers: the ideal log-odds are orthogonal to all else
    assert found["logit p"] == pytest.approx((x @ y) ** 2 / (x @ x))

    def between(column):
        groups = frame.assign(y=y).groupby(column)["y"]
        return float((groups.size() * groups.mean() ** 2).sum())

    assert found["template"] == pytest.approx(between("template"))
    assert found["scale"] == pytest.approx(between("scale"))
    both = between(["template", "scale"]) - between("template") - between("scale")
    assert found["scale:template"] == pytest.approx(both)
    # first and second are never the same colour, so only together do they stand apart
    main = pd.get_dummies(frame[["label1", "label2"]]).to_numpy(dtype=float)
    fitted = main @ np.linalg.lstsq(main, y, rcond=None)[0]
    assert found["first:second"] == pytest.approx(between("option_pair") - fitted @ fitted)


def test_a_calibrated_model_puts_everything_on_the_numbers():
    found = variance_table(policy(items(scales=("1-10", "10-100")), "calibrated"), n_resamples=100)
    shares = {term.name: term.share for term in found.terms}
    assert shares.pop("logit p") == pytest.approx(1.0)
    assert set(shares.values()) == {0.0}
    assert found.residual == 0.0
    assert found.terms[0].partial.value == 1.0
    assert found.terms[1].partial is None
    assert found.terms[0].f_value is None


def test_a_term_that_the_items_cannot_tell_has_no_degrees_of_freedom():
    frame = line(items(templates=("C1",)), strengths={"red": 0.4}, noise=0.2)
    analysis = variance_table(frame, n_resamples=100)
    found = {term.name: term for term in analysis.terms}
    for name in ("scale", "template", "scale:template"):
        assert (found[name].df, found[name].partial, found[name].p_value) == (0, None, None)
    assert found["first"].df == 3
    assert analysis.table()["term"].iloc[-1] == "residual"
    assert analysis.to_dict()["terms"][0]["name"] == "logit p"


def test_the_interval_of_a_share_is_the_same_for_the_same_seed():
    wide = variance_table(noisy(), n_resamples=200).terms[0].partial
    assert wide.low < wide.value < wide.high
    assert variance_table(noisy(), n_resamples=200).terms[0].partial == wide


def test_what_cannot_be_analysed_is_refused():
    with pytest.raises(InputError, match="log-odds that differ"):
        variance_table(policy(items(), "uniform"))
    with pytest.raises(InputError, match="2 number pairs"):
        variance_table(line(items(n_pairs=1)))
    assert clipped_log_odds(np.array([0.0, 0.5]), clip=1e-3)[1] == 1
