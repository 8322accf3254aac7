"""Sums over all assignments in float64: what evaluators of formulas are compared with."""

import math

import numpy as np
import torch

EXTREME_ODDS = [0.0, -math.inf, math.inf, math.log(1e-30), -math.log(1e-16), 2.0, -700.0, 700.0]
"""Log-odds of probabilities 1/2, 0, 1, 1e-30, 1 - 1e-16, an ordinary one, and two far out."""


def rows(n):
    """All assignments of n variables, in the order of `formulas.truth_table`."""
    return (np.arange(1 << n)[:, None] >> np.arange(n)) & 1 == 1


def log_literals(log_odds):
    """log p and log (1 - p), each to its last digits."""
    return -np.logaddexp(0.0, -log_odds), -np.logaddexp(0.0, log_odds)


def model_weights(table, log_pos, log_neg):
    """The models of a truth table, and the log-weight of each."""
    models = rows(len(log_pos))[np.array(table, dtype=bool)]
    return models, np.where(models, log_pos, log_neg).sum(1)


def log_sum(weights):
    top = weights.max(initial=-np.inf)
    return top + np.log(np.exp(weights - top).sum()) if top > -np.inf else -np.inf


def log_prob(table, log_odds):
    """log P of a truth table under independent events, and the slope q - p (0 if P is 0)."""
    log_pos, log_neg = log_literals(log_odds)
    models, weights = model_weights(table, log_pos, log_neg)
    value = log_sum(weights)
    if value == -np.inf:
        return value, np.zeros(len(log_odds))
    posterior = np.exp(weights - value)
    # (q)(1 - p) - (1 - q) p, since 1 - q is as small as it is only when summed by itself.
    return value, (posterior @ models) * np.exp(log_neg) - (posterior @ ~models) * np.exp(log_pos)


def assert_agrees(value, slope, table, log_odds, *, tolerance=1e-12):
    """Assert that a value and a slope of one item are those of its truth table."""
    expected, expected_slope = log_prob(table, np.asarray(log_odds, dtype=np.float64))
    if expected == -np.inf:
        assert value == -math.inf
    else:
        assert abs(value - expected) <= tolerance * max(1.0, abs(expected))
    np.testing.assert_allclose(slope, expected_slope, rtol=0, atol=tolerance)


def value_and_slope(log_prob_of, log_odds):
    """The value of a function of log-odds (N, n) for one item, and its gradient."""
    inputs = torch.tensor(np.asarray(log_odds))[None].requires_grad_()
    value = log_prob_of(inputs)
    value.sum().backward()
    return float(value.detach()[0]), inputs.grad[0].numpy()
