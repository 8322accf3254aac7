"""R2: which method is best depends on the loss. Unit: mean weighted loss, no unit."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from matplotlib.axes import Axes

from likely.core.streams import generator
from likely.rare.bench.running import Row
from likely.rare.loss.kinds import Spb
from likely.rare.loss.pointwise import EPSILON
from likely.report.display import power_of_ten
from likely.report.figures.drawing import Drawing, Missing
from likely.report.figures.rare.tables import NAMES, names_in_order, table_of
from likely.report.figures.style import (
    INK,
    RULE,
    SOFT,
    colour,
    lighten,
    marker,
    panel_sheet,
    put_legend,
    styled,
)

ALPHAS = np.round(np.arange(0.0, 3.0001, 0.05), 9)
"""Where the curves are computed."""

GAMMAS = (0.0, 0.25)
"""Premiums on rarity, a panel each."""

_RESAMPLES = 1000
_SURE = 0.95  # share of resamples in which the best method must lead each other one
_SHOWN = 0.3  # least stretch of alpha, on which the name of the best method is written


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curves:
    """Mean losses over one set of targets.

    Attributes:
        methods: Their names.
        by_target: Shape ``(methods, targets, alphas)``: each target's mean over its seeds.
        constant: Shape ``(alphas,)``: loss of the best constant.
    """

    methods: tuple[str, ...]
    by_target: Float[np.ndarray, "M N A"]
    constant: Float[np.ndarray, "A"]

    @property
    def means(self) -> Float[np.ndarray, "M A"]:
        """Mean losses."""
        return np.asarray(self.by_target.mean(axis=1))


@styled()
def loss_against_alpha(
    rows: Sequence[Row],
    arm: str = "calls",
    *,
    gammas: Sequence[float] = GAMMAS,
    epsilon: float = EPSILON,
    seed: int = 0,
) -> Drawing | Missing:
    """Draw R2: the mean SPB loss of each method over alpha, a panel a premium on rarity.

    Rings are crossings: there two methods change places. The strip on top names the best method;
    where it is bold, the best leads each other method in 95 % of resamples of the targets.

    Args:
        rows: Of a comparison; targets that a method lacks are left out, and counted in the note.
        arm: Which budget was equal.
        gammas: Premiums on rarity.
        epsilon: The shift of the loss, above 0.
        seed: Of the resamples.

    Returns:
        Data: ``kind, gamma, alpha, method, other, loss, sure``: a row a method and alpha
        (``curve``, and ``constant``), a crossing (``flip``: ``method`` falls below ``other``), and
        the best method at each alpha (``best``). Missing where methods share no target.

    Raises:
        InputError: The arm has no row, or a setting is unusable.
    """
    name, title = f"R2-loss-alpha-{arm}", f"R2  Loss against alpha, {NAMES[arm]}"
    table = table_of(rows, arm)
    shared = _shared(table)
    if not len(shared):
        return Missing(name=name, reason="methods share no target; run all of them on the same")
    n_shared, n_all = shared["target"].nunique(), table["target"].nunique()
    figure, panels = panel_sheet(
        title,
        f"Mean weighted SPB loss (weighting “shifted”, epsilon {epsilon:.3g}) over {n_shared:,} "
        f"targets{'' if n_shared == n_all else f' of {n_all:,}: those that every method has'}. "
        "Below alpha 1.5 overestimates are the dearer errors, above it underestimates; alpha 2 is "
        "the shifted Itakura-Saito loss. Rings: two methods change places. Strip: the best method, "
        f"bold where it leads each other in {_SURE:.0%} of resamples of the targets. With a "
        "premium gamma each decade rarer counts 10^gamma times more.",
        len(gammas),
        each_in=3.5,
        foot_in=0.45,
        shared_x="alpha",
        shared_y="mean loss",
    )
    parts = []
    for axes, gamma in zip(panels, gammas, strict=True):
        curves = _curves(shared, gamma, epsilon)
        best = curves.means.argmin(axis=0)
        sure = _is_sure(curves, best, seed)
        flips = _flips(curves)
        _draw(axes, curves, flips, f"gamma {gamma:g}")
        _strip(axes, curves, best, sure)
        parts.append(_data(curves, flips, best, sure).assign(gamma=gamma))
    put_legend(figure, panels, n_columns=5)
    columns = ["kind", "gamma", "alpha", "method", "other", "loss", "sure"]
    data = pd.concat(parts, ignore_index=True)[columns]
    return Drawing(name=name, title=title, figure=figure, data=data)


def _shared(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the targets that every method has."""
    n_methods = table.groupby("target")["method"].nunique()
    whole = n_methods[n_methods == table["method"].nunique()].index
    return table[table["target"].isin(whole)]


def _curves(table: pd.DataFrame, gamma: float, epsilon: float) -> Curves:
    methods = names_in_order(table, "method")
    log_q = np.log(table["truth"].to_numpy(dtype=np.float64))
    log_p = table["log_prob"].to_numpy(dtype=np.float64)
    losses, constants = [], []
    truths = np.log(table.groupby("target")["truth"].first().to_numpy(dtype=np.float64))
    for alpha in ALPHAS.tolist():
        loss = Spb(alpha=alpha, epsilon=epsilon, gamma=gamma, weighting="shifted")
        losses.append(np.exp(loss.log_losses(log_q, log_p)))
        level = np.full_like(truths, loss.log_constant(truths))
        constants.append(float(np.exp(loss.log_losses(truths, level)).mean()))
    keys = [table["method"], table["target"]]
    means = pd.DataFrame(np.stack(losses, axis=1), index=table.index).groupby(keys).mean()
    by_target = np.stack([means.loc[method].to_numpy() for method in methods])
    return Curves(methods=tuple(methods), by_target=by_target, constant=np.array(constants))


def _is_sure(curves: Curves, best: np.ndarray, seed: int) -> Bool[np.ndarray, "A"]:
    """Return at which alphas the best method leads each other one in most resamples of targets."""
    n = curves.by_target.shape[1]
    rng = generator(seed, "rare", "figures", "resamples")
    weights = rng.multinomial(n, np.full(n, 1.0 / n), size=_RESAMPLES) / n
    found = np.empty(len(best), dtype=bool)
    for k, winner in enumerate(best.tolist()):
        means = weights @ curves.by_target[:, :, k].T
        others = np.delete(means, winner, axis=1)
        found[k] = bool(((means[:, [winner]] < others).mean(axis=0) >= _SURE).all())
    return found


def _flips(curves: Curves) -> list[tuple[float, str, str, float]]:
    """Return where two methods change places: alpha, who falls below whom, and the loss there."""
    logs = np.log(np.maximum(curves.means, np.finfo(np.float64).tiny))
    found = []
    for i, one in enumerate(curves.methods):
        for j in range(i + 1, len(curves.methods)):
            gap = logs[i] - logs[j]
            for k in np.flatnonzero(gap[:-1] * gap[1:] < 0.0).tolist():
                share = gap[k] / (gap[k] - gap[k + 1])
                alpha = ALPHAS[k] + share * (ALPHAS[k + 1] - ALPHAS[k])
                level = np.exp(logs[i, k] + share * (logs[i, k + 1] - logs[i, k]))
                other = curves.methods[j]
                pair = (one, other) if gap[k + 1] < 0.0 else (other, one)
                found.append((float(alpha), *pair, float(level)))
    return sorted(found)


def _draw(
    axes: Axes, curves: Curves, flips: Sequence[tuple[float, str, str, float]], name: str
) -> None:
    every = slice(0, None, 10)
    for i, method in enumerate(curves.methods):
        axes.plot(
            ALPHAS, curves.means[i], color=colour(i), marker=marker(i), markevery=every,
            markersize=4, linewidth=1.2, label=method,
        )  # fmt: skip
    axes.plot(
        ALPHAS, curves.constant, color=SOFT, linewidth=1.0, linestyle=(0.0, (1.0, 1.5)),
        label="best constant",
    )  # fmt: skip
    axes.scatter(
        [flip[0] for flip in flips], [flip[3] for flip in flips], s=18, facecolors="white",
        edgecolors=INK, linewidths=0.9, zorder=5, label="change of places",
    )  # fmt: skip
    for alpha in (1.5, 2.0):
        axes.axvline(alpha, color=SOFT, linewidth=0.8, linestyle=(0.0, (4.0, 2.0)))
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda x, _: _written(x))
    axes.yaxis.set_minor_formatter(lambda x, _: "")
    axes.set_xlim(float(ALPHAS[0]), float(ALPHAS[-1]))
    axes.grid(color=RULE)
    axes.set_title(name, pad=22)


def _written(value: float) -> str:
    power = np.log10(value)
    return f"{value:g}" if 0.001 <= value < 1e4 else power_of_ten(round(float(power)))


def _strip(axes: Axes, curves: Curves, best: np.ndarray, sure: Bool[np.ndarray, "A"]) -> None:
    """Draw on top of a panel which method is best, bold where that is sure."""
    half = 0.5 * float(ALPHAS[1] - ALPHAS[0])
    for start, end in _stretches(best * 2 + sure):
        left = max(float(ALPHAS[0]), float(ALPHAS[start]) - half)
        right = min(float(ALPHAS[-1]), float(ALPHAS[end - 1]) + half)
        shade = colour(int(best[start]))
        axes.fill_between(
            [left, right], 1.02, 1.05, transform=axes.get_xaxis_transform(), linewidth=0,
            color=shade if sure[start] else lighten(shade, 0.35), clip_on=False,
        )  # fmt: skip
    for start, end in _stretches(best):
        left, right = float(ALPHAS[start]), float(ALPHAS[end - 1])
        if right - left >= _SHOWN:
            axes.annotate(
                curves.methods[int(best[start])], (0.5 * (left + right), 1.05),
                xycoords=axes.get_xaxis_transform(), xytext=(0, 2), textcoords="offset points",
                ha="center", size=7,
            )  # fmt: skip


def _stretches(values: np.ndarray) -> list[tuple[int, int]]:
    """Return where equal values begin and end, one after the other."""
    starts = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist()]
    return list(zip(starts, [*starts[1:], len(values)], strict=True))


def _data(
    curves: Curves,
    flips: Sequence[tuple[float, str, str, float]],
    best: np.ndarray,
    sure: Bool[np.ndarray, "A"],
) -> pd.DataFrame:
    """Return what is drawn, a row a point."""
    records: list[tuple[str, float, str, str, float, bool | None]] = []
    for i, method in enumerate(curves.methods):
        for alpha, loss in zip(ALPHAS.tolist(), curves.means[i].tolist(), strict=True):
            records.append(("curve", alpha, method, "", loss, None))
    for alpha, loss in zip(ALPHAS.tolist(), curves.constant.tolist(), strict=True):
        records.append(("constant", alpha, "", "", loss, None))
    records += [("flip", alpha, one, other, loss, None) for alpha, one, other, loss in flips]
    for k, winner in enumerate(best.tolist()):
        loss = float(curves.means[winner, k])
        records.append(("best", float(ALPHAS[k]), curves.methods[winner], "", loss, bool(sure[k])))
    return pd.DataFrame(records, columns=["kind", "alpha", "method", "other", "loss", "sure"])
