"""Run the model at another temperature, the same for its whole vocabulary. Unit: nats.

What this takes away of an error was mere sharpness: at the best temperature what is left is wrong
in shape. Very hot models say nothing at all, so compare with equal shares (the baseline
``uniform``): a model whose best temperature is the hottest knows no more than that.
"""

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from likely.calibration.metrics import measure
from likely.calibration.remedies.evidence import Evidence, Tempered, normalised
from likely.calibration.remedies.remedy import Remedy, Repair, no_repair
from likely.calibration.tables import exact_masses
from likely.errors import InputError
from likely.stats.divergences import kl_divergence

CURVE = ("pm", "wd01", "wd_line_norm", "entropy_gap", "kl")
"""The metrics of `temperature_curve`."""


def fit_temperature(evidence: Evidence, rng: np.random.Generator) -> Repair:
    """Return the temperature of the grid at which the mean ``KL(P || Pi_T)`` is least.

    Items whose divergence is infinite or not defined are left out and counted: no temperature gives
    mass to what has none.

    Args:
        evidence: With masses at other temperatures.
        rng: Not used.
    """
    tempered = _tempered(evidence)
    divergence = np.stack([_divergence(evidence, at) for at in range(len(tempered.temperatures))])
    used = np.isfinite(divergence).all(axis=0)
    if not used.any():
        return no_repair("no item to fit on gives mass to all that is possible")
    means = divergence[:, used].mean(axis=1)
    best = int(np.argmin(means))
    temperature = float(tempered.temperatures[best])
    is_at_edge = best in (0, len(means) - 1)
    return Repair(
        apply=lambda evidence: _at(evidence, temperature),
        parameters={
            "temperature": temperature,
            "n_left_out": float(np.sum(~used)),
            "is_at_edge": float(is_at_edge),
        },
    )


def temperature_curve(evidence: Evidence) -> pd.DataFrame:
    """Return the mean of a few metrics at each temperature of the grid.

    Args:
        evidence: With masses at other temperatures.

    Returns:
        Columns ``temperature``, those of `CURVE`, and ``n``: how many items have finite metrics at
        every temperature; means are over those, and NaN without any.

    Raises:
        InputError: The evidence has no masses at other temperatures.
    """
    tempered = _tempered(evidence)
    offsets = evidence.targets.offsets
    found = [
        measure(evidence.targets, exact_masses(offsets, log_mass)) for log_mass in tempered.log_mass
    ]
    used = np.all([np.isfinite(of["kl"]) for of in found], axis=0)
    rows = [
        {"temperature": float(temperature), **{name: _mean(of[name], used) for name in CURVE}}
        for temperature, of in zip(tempered.temperatures, found, strict=True)
    ]
    return pd.DataFrame(rows).assign(n=int(used.sum()))


def _tempered(evidence: Evidence) -> Tempered:
    if evidence.tempered is None:
        raise InputError("masses at other temperatures are needed; gather them from the model")
    return evidence.tempered


def _divergence(evidence: Evidence, at: int) -> Float[np.ndarray, "N"]:
    """Return the divergence of each item at one temperature; NaN without shares."""
    targets = evidence.targets
    log_pi = normalised(_tempered(evidence).log_mass[at], targets.offsets)
    with np.errstate(divide="ignore"):
        log_ideal = np.log(targets.ideal)
    is_known = ~np.isnan(log_pi)
    found = kl_divergence(log_ideal, np.where(is_known, log_pi, log_ideal), offsets=targets.offsets)
    return np.where(is_known[targets.offsets[:-1]], found, np.nan)


def _at(evidence: Evidence, temperature: float) -> Float[np.ndarray, "M"]:
    tempered = _tempered(evidence)
    at = int(np.flatnonzero(tempered.temperatures == temperature)[0])
    log_mass = tempered.log_mass[at]
    is_silent = np.isnan(normalised(log_mass, evidence.targets.offsets))
    return np.where(is_silent, np.nan, log_mass)


def _mean(values: Float[np.ndarray, "N"], used: Bool[np.ndarray, "N"]) -> float:
    known = values[used & ~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


TEMPERATURE = Remedy(
    name="temperature",
    what="run at the temperature of the whole vocabulary that fits best",
    fit=fit_temperature,
    is_fitted=True,
    needs=("tempered",),
    gives_masses=True,
)
