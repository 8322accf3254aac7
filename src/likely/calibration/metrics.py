"""How far what a model says is from what the numbers in the context say, for each item.

Everything starts from log masses, so that options of a mass like e^-800 have exact shares. A
metric that is not defined for an item is NaN: it is to be counted, never replaced. ``kl``,
``kl_mass``, ``kl_raw`` and ``log_score`` may be ``inf``. Unit: as in `METRICS`.
"""

import math

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.calibration.tables import Masses, Targets, exact_masses
from likely.errors import InputError, NumericalError
from likely.stats.divergences import (
    entropy,
    hellinger,
    js_divergence,
    kl_divergence,
    total_variation,
)
from likely.stats.proper_scores import excess_brier, excess_rps
from likely.stats.ragged import check_offsets, has_nan, law_of, log_sums, place_in_law, sums
from likely.stats.wasserstein import wasserstein_line

MASS_GATE = 0.75
"""From which mass on the options a calibration score is worth reading (Lovering et al., 2025)."""

METRICS: dict[str, str] = {
    "pm": "mass on the options, prob (PM)",
    "is_gated": f"1 where pm is at least {MASS_GATE}",
    "other": "mass on everything else, prob",
    "wd01": "total variation of the shares from the ideal; for two options |pi - p|",
    "wd_paper": "wd01 in units of sqrt 2, the distance of one-hot vectors (WD)",
    "wd_line": "distance moved on the line of the values; for numeric options",
    "wd_line_norm": "wd_line over the range of the values",
    "wd_n": "wd_line over n steps; for evenly spaced values",
    "wd_raw": "total variation of the masses from the ideal, everything else counted as an outcome",
    "entropy_ideal": "H(P), bits",
    "entropy_model": "H(Pi), bits",
    "entropy_gap": "H(Pi) - H(P), bits (RE; no divergence: 0 does not mean Pi = P)",
    "entropy_kept": "H(Pi) / H(P)",
    "kl": "KL(P || Pi), bits",
    "kl_raw": "KL(P || m) = kl + kl_mass, bits",
    "kl_mass": "-log2 pm: the part of kl_raw that is lack of mass, bits",
    "kl_floor": "kl with shares of at least epsilon, bits",
    "js": "Jensen-Shannon divergence, bits",
    "hellinger": "Hellinger distance, from 0 to 1",
    "log_score": "expected surprisal of a draw from P under m, bits",
    "brier": "expected Brier score, summed over options",
    "brier_excess": "its part above that of P: the squared distance",
    "brier_single": "(pi1 - p1)^2; for two options",
    "rps_excess": "excess ranked probability score; for numeric options in order of value",
    "is_direction_right": "1 where the likelier of two options has the larger share, 1/2 for a tie",
}
"""Name of each metric to what it is and its unit; the paper's name in brackets."""

_EDGE = 1e-12  # a mass that is the gate's reaches it in whichever order its options are summed
_OF_MASSES = ("pm", "is_gated", "other", "wd_raw", "kl_raw", "kl_mass", "log_score")
_OF_TARGETS = ("entropy_ideal",)


def measure(
    targets: Targets,
    masses: Masses,
    *,
    tolerance: float = 1e-6,
    gate: float = MASS_GATE,
    epsilon: float = 1e-12,
    base: float | int = 2,
) -> dict[str, Float[np.ndarray, "N"]]:
    """Return every metric of `METRICS` for each item.

    Where an item has no mass on any option, its shares are not defined, and neither is what rests
    on them. Where its masses are only bounded, nothing but ``entropy_ideal`` is.

    Args:
        targets: Ideal laws.
        masses: What the model gives.
        tolerance: How far rounding may put the mass of all options above 1.
        gate: Of ``is_gated``.
        epsilon: Smallest share in ``kl_floor``.
        base: Of entropies and divergences: 2 for bits, as `METRICS` says, or e for nats.

    Raises:
        InputError: Targets and masses are not of the same items, or an argument out of range.
        NumericalError: A mass that is NaN or ``inf``, or masses above 1 + tolerance, which disjoint
            options cannot have.

    Sources:
        Lovering et al. (2025), "Language Model Probabilities are Not Calibrated in Numeric
        Contexts": PM, WD and RE.

    >>> from likely.calibration.tables import exact_masses
    >>> ideal = np.array([98 / 197, 99 / 197])
    >>> offsets = np.array([0, 2])
    >>> blue_red = Targets(offsets=offsets, ideal=ideal, values=np.full(2, np.nan))
    >>> found = measure(blue_red, exact_masses(offsets, np.log([0.003, 0.997])))
    >>> [round(float(found[name][0]), 6) for name in ("wd01", "wd_paper", "entropy_gap")]
    [0.494462, 0.699275, -0.970517]
    """
    offsets = _check(targets, masses, epsilon)
    exact = masses.is_exact
    log_pm = log_sums(masses.log_mass, offsets)
    _check_disjoint(log_pm, exact, tolerance)
    has_shares = exact & ~np.isneginf(log_pm)
    with np.errstate(divide="ignore"):
        log_ideal = np.log(targets.ideal)
    # Items without shares get the ideal ones here and NaN in the end, so that nothing branches.
    of = law_of(offsets)
    shared = np.where(has_shares, log_pm, 0.0)[of]
    log_pi = np.where(has_shares[of], masses.log_mass - shared, log_ideal)
    found = {
        **_spread(log_ideal, log_pi, offsets, base),
        **_distances(targets, log_ideal, log_pi, epsilon, base),
        **_on_the_line(targets, np.exp(log_pi)),
        **_two_options(targets, log_pi),
    }
    found = {
        name: values if name in _OF_TARGETS else np.where(has_shares, values, np.nan)
        for name, values in found.items()
    }
    found |= _of_masses(targets, masses, log_pm, found, gate, base)
    hidden = {name: np.where(exact, found[name], np.nan) for name in _OF_MASSES}
    return {name: (found | hidden)[name] for name in METRICS}


def measure_known(
    targets: Targets, log_mass: Float[np.ndarray, "M"]
) -> dict[str, Float[np.ndarray, "N"]]:
    """Return `measure` of exact masses; every metric is NaN for an item with a mass of NaN.

    Args:
        targets: Ideal laws.
        log_mass: Shape ``(M,)``, nats; NaN where there is nothing to measure.
    """
    is_silent = has_nan(log_mass, targets.offsets)
    with np.errstate(divide="ignore"):
        log_ideal = np.log(targets.ideal)
    kept = np.where(is_silent[targets.item_of], log_ideal, log_mass)
    found = measure(targets, exact_masses(targets.offsets, kept))
    return {name: np.where(is_silent, np.nan, values) for name, values in found.items()}


def shares(masses: Masses) -> Float[np.ndarray, "M"]:
    """Return the shares of the options: masses over the mass of all options of the item.

    Returns:
        Shape ``(M,)``, probabilities; NaN where no option has any mass or masses are bounds.

    >>> from likely.calibration.tables import exact_masses
    >>> shares(exact_masses(np.array([0, 2]), np.array([-800.0, -801.0]))).round(6)
    array([0.731059, 0.268941])
    """
    return np.asarray(np.exp(log_shares(masses)))


def log_shares(masses: Masses) -> Float[np.ndarray, "M"]:
    """Return the logs of `shares`.

    Returns:
        Shape ``(M,)``, nats; NaN where shares are not defined.
    """
    log_pm = log_sums(masses.log_mass, masses.offsets)
    has_shares = masses.is_exact & ~np.isneginf(log_pm)
    total = np.where(has_shares, log_pm, np.nan)[law_of(masses.offsets)]
    return np.asarray(masses.log_mass - total)


def _spread(
    log_ideal: Float[np.ndarray, "M"],
    log_pi: Float[np.ndarray, "M"],
    offsets: Int[np.ndarray, "N1"],
    base: float | int,
) -> dict[str, Float[np.ndarray, "N"]]:
    ideal = entropy(log_ideal, offsets=offsets, base=base)
    model = entropy(log_pi, offsets=offsets, base=base)
    kept = np.divide(model, ideal, out=np.full_like(ideal, np.nan), where=ideal > 0.0)
    return {
        "entropy_ideal": ideal,
        "entropy_model": model,
        "entropy_gap": model - ideal,
        "entropy_kept": kept,
    }


def _distances(
    targets: Targets,
    log_ideal: Float[np.ndarray, "M"],
    log_pi: Float[np.ndarray, "M"],
    epsilon: float,
    base: float | int,
) -> dict[str, Float[np.ndarray, "N"]]:
    offsets = targets.offsets
    ideal, pi = targets.ideal, np.exp(log_pi)
    wd01 = total_variation(log_ideal, log_pi, offsets=offsets)
    floored = np.maximum(log_pi, math.log(epsilon))
    terms = ideal * np.where(ideal > 0.0, log_ideal - floored, 0.0)
    excess = excess_brier(ideal, pi, offsets=offsets)
    return {
        "wd01": wd01,
        "wd_paper": math.sqrt(2.0) * wd01,
        "kl": kl_divergence(log_ideal, log_pi, offsets=offsets, base=base),
        "kl_floor": sums(terms, offsets) / math.log(base),
        "js": js_divergence(log_ideal, log_pi, offsets=offsets, base=base),
        "hellinger": hellinger(log_ideal, log_pi, offsets=offsets),
        "brier": excess + 1.0 - sums(ideal**2, offsets),
        "brier_excess": excess,
    }


def _on_the_line(targets: Targets, pi: Float[np.ndarray, "M"]) -> dict[str, Float[np.ndarray, "N"]]:
    """Return the metrics of items whose options all have values; NaN for the others."""
    names = ("wd_line", "wd_line_norm", "wd_n", "rps_excess")
    found = {name: np.full(targets.n_items, np.nan) for name in names}
    is_numeric = targets.is_numeric
    if not is_numeric.any():
        return found
    n = targets.n_options[is_numeric]
    offsets = np.concatenate([[0], np.cumsum(n)])
    chosen = np.flatnonzero(is_numeric[targets.item_of])
    chosen = chosen[np.lexsort((targets.values[chosen], law_of(offsets)))]
    values, ideal, share = targets.values[chosen], targets.ideal[chosen], pi[chosen]
    moved = wasserstein_line(values, ideal, share, offsets=offsets)
    span = values[offsets[1:] - 1] - values[offsets[:-1]]
    step = _common_step(values, offsets)
    found["wd_line"][is_numeric] = moved
    for name, unit in (("wd_line_norm", span), ("wd_n", n * step)):
        found[name][is_numeric] = np.divide(
            moved, unit, out=np.full(len(moved), np.nan), where=unit > 0.0
        )
    found["rps_excess"][is_numeric] = excess_rps(ideal, share, offsets=offsets)
    return found


def _common_step(
    values: Float[np.ndarray, "M"], offsets: Int[np.ndarray, "N1"]
) -> Float[np.ndarray, "N"]:
    """Return the spacing of each item's ascending values; NaN where it is not the same throughout.

    Values are fractions turned into floats, so spacings that are equal may differ by rounding.
    """
    span = values[offsets[1:] - 1] - values[offsets[:-1]]
    step = span / np.maximum(np.diff(offsets) - 1, 1)
    of = law_of(offsets)
    even = values[offsets[:-1]][of] + place_in_law(offsets) * step[of]
    rounding = 1e-9 * step + 4.0 * np.spacing(np.maximum.reduceat(np.abs(values), offsets[:-1]))
    is_off = np.logical_or.reduceat(np.abs(values - even) > rounding[of], offsets[:-1])
    return np.where(is_off, np.nan, step)


def _two_options(
    targets: Targets, log_pi: Float[np.ndarray, "M"]
) -> dict[str, Float[np.ndarray, "N"]]:
    two = np.flatnonzero(targets.n_options == 2)
    first = targets.offsets[two]
    p1, p2 = targets.ideal[first], targets.ideal[first + 1]
    single = np.full(targets.n_items, np.nan)
    single[two] = (np.exp(log_pi[first]) - p1) ** 2
    direction = np.full(targets.n_items, np.nan)
    agreement = np.sign(p1 - p2) * _order(log_pi[first], log_pi[first + 1])
    direction[two] = np.where(p1 == p2, np.nan, 0.5 + 0.5 * agreement)
    return {"brier_single": single, "is_direction_right": direction}


def _order(x: Float[np.ndarray, "N"], y: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    """Return the sign of ``x - y``, also where one of them is ``-inf``."""
    return (x > y).astype(np.float64) - (x < y)


def _of_masses(
    targets: Targets,
    masses: Masses,
    log_pm: Float[np.ndarray, "N"],
    found: dict[str, Float[np.ndarray, "N"]],
    gate: float,
    base: float | int,
) -> dict[str, Float[np.ndarray, "N"]]:
    pm = np.exp(log_pm)
    other = -np.expm1(log_pm)
    apart = sums(np.abs(np.exp(masses.log_mass) - targets.ideal), targets.offsets)
    kl_mass = 0.0 - log_pm / math.log(base)
    kl_raw = np.where(np.isneginf(log_pm), np.inf, found["kl"] + kl_mass)
    return {
        "pm": pm,
        "is_gated": (pm >= gate - _EDGE).astype(np.float64),
        "other": other,
        "wd_raw": 0.5 * (apart + other),
        "kl_raw": kl_raw,
        "kl_mass": kl_mass,
        "log_score": found["entropy_ideal"] + kl_raw,
    }


def _check(targets: Targets, masses: Masses, epsilon: float) -> Int[np.ndarray, "N1"]:
    if not np.array_equal(targets.offsets, masses.offsets):
        raise InputError(
            f"targets and masses are of the same items, got {targets.n_items} and "
            f"{len(masses.offsets) - 1}, or other numbers of options"
        )
    if not 0.0 < epsilon < 1.0:
        raise InputError(f"epsilon lies in (0, 1), got {epsilon!r}")
    unknown = np.flatnonzero(~(masses.log_mass < np.inf))
    if len(unknown):
        option = int(unknown[0])
        item = int(np.searchsorted(masses.offsets, option, side="right")) - 1
        raise NumericalError(
            f"item {item}: option {option - int(masses.offsets[item])} has the log-probability "
            f"{float(masses.log_mass[option])!r}; check the model (likely self-check)"
        )
    return check_offsets(targets.offsets, len(targets.ideal))


def _check_disjoint(
    log_pm: Float[np.ndarray, "N"], exact: Bool[np.ndarray, "N"], tolerance: float
) -> None:
    above = exact & (log_pm > math.log1p(tolerance))
    if above.any():
        item = int(np.flatnonzero(above)[0])
        raise NumericalError(
            f"item {item}: disjoint options have a mass of at most 1 + {tolerance!r}, got "
            f"{math.exp(log_pm[item])!r}; one option may begin another (use word ends)"
        )
