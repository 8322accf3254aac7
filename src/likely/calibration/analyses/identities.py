"""Which option does a model prefer, whatever the numbers say? Strengths of options.

The log-odds of the first option are a line in the ideal log-odds, a constant for being first, a
difference of two strengths and an effect of the template. Unit: nats of log-odds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Float

from likely.calibration.analyses.designs import (
    balanced_columns,
    option_differences,
    template_columns,
    two_option_items,
)
from likely.calibration.analyses.units import CLIP, clipped_log_odds, codes, number_codes
from likely.core.estimate import Estimate
from likely.errors import InputError
from likely.stats.cluster_regression import ClusterFit, fit_cluster_ols
from likely.stats.crossed_effects import fit_crossed_effects

On = Literal["all", "ties"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identities:
    """What each option adds to the log-odds of itself.

    Attributes:
        on: ``all``: every item, ties among them; ``ties``: where both options are equally likely.
        strengths: By option, in descending order; they sum to 0 among options that meet, directly
            or through others, and cannot be compared where they do not.
        groups: By option, which of those sets it belongs to.
        position: What being mentioned first adds.
        slope: Of the ideal log-odds: 1 if calibrated, 0 if blind to numbers. None on ties.
        templates: By template, what it adds to the first option; they sum to 0.
        r_squared: Share of the variance explained.
        n_items: How many.
        n_clipped: Of them with a probability moved off 0 or 1.
        n_undefined: Items left out because a probability is not defined.
    """

    on: On
    strengths: Mapping[str, Estimate]
    groups: Mapping[str, int]
    position: Estimate
    slope: Estimate | None
    templates: Mapping[str, Estimate]
    r_squared: float
    n_items: int
    n_clipped: int
    n_undefined: int

    def table(self) -> pd.DataFrame:
        """Return one row an option: ``option, strength, low, high, group``."""
        return pd.DataFrame(
            [
                {
                    "option": option, "strength": found.value, "low": found.low,
                    "high": found.high, "group": self.groups[option],
                }
                for option, found in self.strengths.items()
            ],
            columns=["option", "strength", "low", "high", "group"],
        )  # fmt: skip

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain values."""
        return {
            "on": self.on,
            "strengths": {name: found.to_dict() for name, found in self.strengths.items()},
            "groups": dict(self.groups),
            "position": self.position.to_dict(),
            "slope": None if self.slope is None else self.slope.to_dict(),
            "templates": {name: found.to_dict() for name, found in self.templates.items()},
            "r_squared": self.r_squared,
            "n_items": self.n_items,
            "n_clipped": self.n_clipped,
            "n_undefined": self.n_undefined,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedIdentities:
    """The same with effects of templates, ordered pairs of options and numbers drawn at random.

    Attributes:
        variances: By random factor, of its effects on the log-odds.
        residual: Variance of single items.
        position: As in `Identities`.
        slope: As there.
        status: ``converged``, ``boundary: NAME`` where a factor has no variance, or what failed;
            with a failure no number is to be trusted.
        n_items: How many.
        n_clipped: As there.
        n_undefined: As there.
    """

    variances: Mapping[str, Estimate]
    residual: float
    position: Estimate
    slope: Estimate
    status: str
    n_items: int
    n_clipped: int
    n_undefined: int

    def table(self) -> pd.DataFrame:
        """Return one row a component: ``component, variance, low, high, share, status``."""
        total = self.residual + sum(found.value for found in self.variances.values())
        rows = [
            {"component": name, "variance": found.value, "low": found.low, "high": found.high}
            for name, found in self.variances.items()
        ]
        rows.append({"component": "item", "variance": self.residual})
        table = pd.DataFrame(rows, columns=["component", "variance", "low", "high"])
        return table.assign(share=table["variance"] / total, status=self.status)

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain values."""
        return {
            "variances": {name: found.to_dict() for name, found in self.variances.items()},
            "residual": self.residual,
            "position": self.position.to_dict(),
            "slope": self.slope.to_dict(),
            "status": self.status,
            "n_items": self.n_items,
            "n_clipped": self.n_clipped,
            "n_undefined": self.n_undefined,
        }


def option_strengths(
    frame: pd.DataFrame, *, on: On = "all", clip: float = CLIP, level: float = 0.95
) -> Identities:
    """Estimate the strength of every option by least squares, errors clustered by number pair.

    Args:
        frame: One model's items of two options; columns ``family, template, scale, higher,
            number_pair, option_pair, option_set, label1, label2, p1, pi1``.
        on: Which items.
        clip: Probabilities nearer to 0 or 1 count as this far from them, and are counted.
        level: Coverage of the intervals.

    Raises:
        InputError: A column is missing; several models; no such items; too few number pairs; or
            items that do not tell strength, position and template apart, as where every pair of
            options comes in one order only.
    """
    used, n_undefined = two_option_items(frame)
    if on == "ties":
        used = used[used["higher"] == "tie"]
    if not len(used):
        raise InputError(f"there are no items of two options to fit on {on!r}")
    response, n_clipped = clipped_log_odds(used["pi1"].to_numpy(dtype=float), clip=clip)
    ideal, _ = clipped_log_odds(used["p1"].to_numpy(dtype=float), clip=clip)
    options, differences, groups = option_differences(used)
    strength, to_strengths = balanced_columns(differences, groups)
    template_names, template, to_templates = template_columns(used)
    columns = {"position": np.ones((len(used), 1)), "strength": strength, "template": template}
    if on == "all":
        columns["slope"] = ideal[:, None]
    names = [f"{name}:{j}" for name, block in columns.items() for j in range(block.shape[1])]
    clusters = number_codes(used)
    fit = fit_cluster_ols(response, np.hstack(list(columns.values())), clusters, names=names)
    strengths = _contrasts(fit, "strength", to_strengths, level)
    order = np.argsort([-found.value for found in strengths], kind="stable")
    effects = _contrasts(fit, "template", to_templates, level)
    slope = fit.coefficient("slope:0", level=level, unit="nats") if on == "all" else None
    return Identities(
        on=on,
        strengths=MappingProxyType({options[i]: strengths[i] for i in order}),
        groups=MappingProxyType({options[i]: int(groups[i]) for i in order}),
        position=fit.coefficient("position:0", level=level, unit="nats"),
        slope=slope,
        templates=MappingProxyType(dict(zip(template_names, effects, strict=True))),
        r_squared=fit.r_squared,
        n_items=len(used),
        n_clipped=n_clipped,
        n_undefined=n_undefined,
    )


def mixed_strengths(
    frame: pd.DataFrame,
    *,
    random: Sequence[str] = ("template", "option_pair", "number_pair"),
    clip: float = CLIP,
    level: float = 0.95,
) -> MixedIdentities:
    """Split the variance of log-odds among templates, ordered option pairs and number pairs.

    Args:
        frame: As in `option_strengths`.
        random: Columns whose levels draw an effect each; one with a single level is left out.
        clip: As there.
        level: Coverage of the intervals.

    Raises:
        InputError: As there, or no column has 2 levels.
    """
    used, n_undefined = two_option_items(frame)
    response, n_clipped = clipped_log_odds(used["pi1"].to_numpy(dtype=float), clip=clip)
    ideal, _ = clipped_log_odds(used["p1"].to_numpy(dtype=float), clip=clip)
    homes = {"number_pair": "scale"}
    levels = {name: codes(used, [homes.get(name, "family"), name]) for name in random}
    factors = {name: level for name, level in levels.items() if level.max() > 0}
    design = np.column_stack([np.ones(len(used)), ideal])
    found = fit_crossed_effects(
        response, design, factors, names=("position", "slope"), level=level, unit="nats"
    )
    return MixedIdentities(
        variances=found.variances,
        residual=found.residual,
        position=found.fixed["position"],
        slope=found.fixed["slope"],
        status=found.status,
        n_items=len(used),
        n_clipped=n_clipped,
        n_undefined=n_undefined,
    )


def _contrasts(
    fit: ClusterFit, block: str, back: Float[np.ndarray, "O E"], level: float
) -> list[Estimate]:
    at = [i for i, name in enumerate(fit.names) if name.startswith(f"{block}:")]
    weights = np.zeros((len(back), len(fit.names)))
    weights[:, at] = back
    return [fit.combination(row, level=level, unit="nats") for row in weights]
