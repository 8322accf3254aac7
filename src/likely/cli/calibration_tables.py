"""What an evaluation of calibration looks like on a screen. Units: probability, bits."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from likely.cli.claims import folded
from likely.cli.deliver import show_model
from likely.cli.intervals import Cell, interval_table, show, show_ends, spanned, wrapped_table
from likely.cli.screen import Column
from likely.core.estimate import Estimate
from likely.core.model import LanguageModel

if TYPE_CHECKING:
    from likely.calibration.analysis import FamilyAnalysis
    from likely.calibration.comparison import Difference
    from likely.calibration.evaluation import Evaluation

_BASELINES = {
    "best_constant": "best\nconstant",
    "higher_0.7": "Higher\n.7",
    "uniform": "Uniform",
    "pick_higher": "Pick\nHigher",
    "pick_first": "Pick\nFirst",
    "random_1": "Random",
}
"""Rules that stand beside the model, and what the screen calls them."""

_SHOWN = {
    "behaviours/rates": "behaviours by rates",
    "behaviours/nearest": "behaviours by nearest",
    "behaviours/likelihood": "behaviours by likelihood",
    "behaviours/rates, any mass": "behaviours by rates, any mass",
    "plane_any_mass": "a and b",
    "regression": "slope and position",
    "order": "order",
    "reliability": "ECE",
    "strengths": "strengths",
    "variance": "variance",
}
"""Parts of an analysis that the screen has, and what it calls them."""

_FAMILY = Column(title="family", gives_way=True)

_LEGEND = (
    "PM is the mass on the options, >=.75 the share of items with enough of it to read on. wd is "
    "the distance of the shares from the ideal: |pi - p| for two options (the paper's WD is sqrt 2 "
    "times this), the distance on the line over its length for numbers. RE = H(Pi) - H(P) in bits, "
    "below 0 where the model is too sure; kept is H(Pi) / H(P). right is how often the likelier "
    "option has the larger share. Intervals are 95 %, over templates, options and numbers."
)


def screen_lines(
    model: LanguageModel,
    found: "Evaluation",
    analyses: "Sequence[FamilyAnalysis]",
    differences: "Sequence[Difference]",
    *,
    sets: str,
    has_counts: bool,
    other: str | None,
) -> list[str]:
    """Return everything that a person is shown of an evaluation, but for its cost.

    Args:
        model: That was asked.
        found: What it gave.
        analyses: Of each family with two named options.
        differences: From another model.
        sets: What was chosen of the families, such as ``preset lite``.
        has_counts: Whether frequencies are of a text; the law 1/n would say nothing of the model.
        other: Name of the other model.
    """
    policy = found.scored.policy
    asked = "bare text" if policy.chat == "none" else f"chat {policy.chat} ({policy.wrapper})"
    families = list(dict.fromkeys(found.frame["family"]))
    parts = (
        [*_main(found, families), "", *folded(_LEGEND), *_notes(found, families)],
        _between(found, families),
        _baselines(found, families),
        _behaviours(analyses),
        _order(analyses),
        [*_strengths(analyses), *_variance(analyses)],
        _frequency(analyses) if has_counts else [],
        _skipped(analyses, has_counts=has_counts),
        _differences(differences, found.model, other or "the other"),
    )
    lines = [
        show_model(model),
        *folded(
            f"calibration: {len(found)} items in {len(families)} "
            f"famil{'ies' if len(families) > 1 else 'y'}, {sets}, {asked}, "
            f"spellings {policy.level}"
        ),
    ]
    for part in parts:
        lines += ["", *part] if part else []
    return lines


def _numbers(*titles: str) -> list[Column]:
    return [Column(title=title, is_number=True) for title in titles]


def _main(found: "Evaluation", families: Sequence[str]) -> list[str]:
    columns = [_FAMILY, *_numbers("items", "PM", ">=.75", "wd", "RE", "kept", "right")]
    rows: list[list[Cell | str]] = [
        [
            family,
            str(found.line(family, "pm").n_items),
            _mean(found, family, "pm"),
            replace(_mean(found, family, "is_gated"), interval=""),
            _mean(found, family, _distance(found, family)),
            _mean(found, family, "entropy_gap", sign=True),
            show(_value(found.line(family, "entropy_kept").estimate)),
            replace(_mean(found, family, "is_direction_right"), interval=""),
        ]
        for family in families
    ]
    return interval_table(columns, rows)


def _mean(found: "Evaluation", family: str, metric: str, *, sign: bool = False) -> Cell:
    """Return the mean of a metric with its interval, or alone where there is none."""
    line = found.line(family, metric)
    if line.estimate is not None or line.n_infinite:
        return spanned(line.estimate, sign=sign)
    values = found.frame.loc[found.frame["family"] == family, metric]
    return Cell(text=show(float(values.mean()), sign=sign))


def _distance(found: "Evaluation", family: str) -> str:
    """Return the distance that headlines: on the line where options are numbers."""
    own = found.frame["family"] == family
    return "wd01" if found.frame.loc[own, "wd_line_norm"].isna().all() else "wd_line_norm"


def _notes(found: "Evaluation", families: Sequence[str]) -> list[str]:
    """Return what has to be known before the numbers are believed."""
    from likely.calibration.metrics import MASS_GATE

    lines: list[str] = []
    alone = [family for family in families if found.line(family, "pm").estimate is None]
    alone = [family for family in alone if _mean(found, family, "pm").text]
    if alone:
        lines += folded(
            f"Means without an interval are of too few templates, options and numbers: "
            f"{_and(alone)}."
        )
    masses = found.frame.groupby("family")["pm"].mean()
    scarce = [family for family in families if masses[family] < MASS_GATE]
    if scarce:
        lines += folded(
            f"PM is below .75 in {_and(scarce)}: there wd and what follows is of what little "
            "the model says about the options."
        )
    without = {family: _n_without_mass(found, family) for family in families}
    told = [f"{family} {n}" for family, n in without.items() if n]
    if told:
        lines += folded(f"Items without any mass on their options, which have no wd: {_and(told)}.")
    if found.n_flagged:
        told = [f"{name} {n}" for name, n in found.n_flagged.items()]
        lines += folded(f"Items with flags: {', '.join(told)}.")
    shares = {name: share for name, share in found.surface_shares.items() if share >= 0.005}
    if shares:
        told = [f"{name.replace('_', ' ')} {share:.0%}" for name, share in shares.items()]
        lines += folded(f"Spellings that carry the mass: {', '.join(told)}.")
    return lines


def _n_without_mass(found: "Evaluation", family: str) -> int:
    own = (found.frame["family"] == family).to_numpy(dtype=bool)
    is_undefined = found.frame["wd01"].isna().to_numpy(dtype=bool)
    return int((own & is_undefined & found.scored.masses.is_exact).sum())


def _between(found: "Evaluation", families: Sequence[str]) -> list[str]:
    """Return the mean ends of metrics where a model lists only its likeliest tokens."""
    is_exact = found.scored.masses.is_exact
    if is_exact.all():
        return []
    titles = ("items", "resolved", "PM", "wd", "wd on the line", "RE")
    rows: list[list[Cell | str]] = []
    for family in families:
        own = found.frame[(found.frame["family"] == family).to_numpy(dtype=bool) & ~is_exact]
        if not len(own):
            continue
        resolved = float(own["is_resolved"].to_numpy(dtype=np.float64).mean())
        ends = [
            _mean_ends(own[f"{name}_low"], own[f"{name}_high"], sign=name == "entropy_gap")
            for name in ("pm", "wd01", "wd_line_norm", "entropy_gap")
        ]
        rows.append([family, str(len(own)), show(resolved), *ends])
    return [
        "items that are known only in part",
        *interval_table([_FAMILY, *_numbers(*titles)], rows),
        *folded(
            "The model lists only its likeliest tokens: means of the least and the most that each "
            "item can have. resolved is the share of items whose ends are within .01."
        ),
    ]


def _mean_ends(low: Iterable[float], high: Iterable[float], *, sign: bool) -> str:
    ends = np.array([list(low), list(high)], dtype=np.float64)
    ends = ends[:, ~np.isnan(ends).any(axis=0)]
    if not ends.size:
        return ""
    return show_ends(float(ends[0].mean()), float(ends[1].mean()), sign=sign)


def _baselines(found: "Evaluation", families: Sequence[str]) -> list[str]:
    columns = [_FAMILY, *_numbers("model", *_BASELINES.values())]
    rows: list[list[Cell | str]] = []
    for family in families:
        name = _distance(found, family)
        rules = [show(found.baseline(family, rule, name)) for rule in _BASELINES]
        rows.append([family, replace(_mean(found, family, name), interval=""), *rules])
    return ["wd of the model, and of rules on the same items", *interval_table(columns, rows)]


def _behaviours(analyses: "Sequence[FamilyAnalysis]") -> list[str]:
    columns = [
        Column(title="family"),
        *_numbers("cells"),
        Column(title="by"),
        Column(title="labels"),
    ]
    rows = []
    for one in analyses:
        by_told: dict[tuple[int, str], list[str]] = {}
        for assigner, labels in one.behaviours.items():
            told = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in labels.items())
            by_told.setdefault((sum(labels.values()), told), []).append(assigner)
        for (n_cells, told), names in by_told.items():
            by = "; ".join(names) if len(names) < len(one.behaviours) else "all"
            rows.append([one.family, str(n_cells), by, told])
    if not rows:
        return []
    return [
        "behaviours",
        *wrapped_table(columns, rows),
        *folded(
            "A cell is a template with two options in their order. Labels go by the rates of what "
            "its items do, by the nearest behaviour, or by likelihood; with any mass null is no "
            "label. null: hardly any mass on the options; mixed: no behaviour is clearly nearest."
        ),
    ]


def _order(analyses: "Sequence[FamilyAnalysis]") -> list[str]:
    columns = [_FAMILY, *_numbers("a", "b", "slope", "position", "order", "ECE")]
    rows: list[list[Cell | str]] = []
    for one in analyses:
        line = None if one.regression is None else one.regression.line
        rows.append(
            [
                one.family,
                "" if one.plane_any_mass is None else show(one.plane_any_mass.a),
                "" if one.plane_any_mass is None else show(one.plane_any_mass.b),
                spanned(None if line is None else line.beta, sign=True),
                spanned(None if line is None else line.alpha, sign=True),
                spanned(None if one.order is None else one.order.delta, sign=True),
                "" if one.reliability is None else show(one.reliability.ece),
            ]
        )
    if not rows:
        return []
    return [
        "order and slope",
        *interval_table(columns, rows),
        *folded(
            "a and b: how often the first option is picked where it is likelier, and where it is "
            "not, whatever their mass; (1, 0) follows the numbers, (1, 1) and (0, 0) the order, "
            "(.5, .5) is a coin. slope and position: log-odds of the model against the ideal, 1 "
            "and 0 if calibrated. order: what an option gains by being mentioned first. ECE: "
            "calibration error of the first option's share." + _few(analyses)
        ),
    ]


def _few(analyses: "Sequence[FamilyAnalysis]") -> str:
    """Return what has to be said of slopes whose errors are over few templates."""
    fits = {one.family: one.regression.line.beta for one in analyses if one.regression is not None}
    few = [family for family, beta in fits.items() if "note" in beta.diagnostics]
    if not few:
        return ""
    return f" Slope and position have the error of few templates in {_and(few)}: read it loosely."


def _strengths(analyses: "Sequence[FamilyAnalysis]") -> list[str]:
    lines: list[str] = []
    for one in analyses:
        if one.strengths is None or len(set(one.strengths.groups.values())) > 1:
            continue  # strengths compare only options that meet
        found = {name: x.value for name, x in one.strengths.strengths.items()}
        if max(map(abs, found.values())) < 0.0005:
            continue  # all of them 0 on a screen
        told = [f"{name} {show(value, sign=True)}" for name, value in found.items()]
        lines += folded(f"strengths in {one.family}, nats whatever the numbers: {', '.join(told)}")
    return lines


def _variance(analyses: "Sequence[FamilyAnalysis]") -> list[str]:
    lines: list[str] = []
    for one in analyses:
        if one.variance is None:
            continue
        terms = sorted(one.variance.terms, key=lambda term: -term.share)
        told = [f"{term.name} {term.share:.1%}" for term in terms if term.share >= 0.001]
        if not told:
            continue  # terms that the items cannot tell apart: nothing about the model
        rest = one.variance.residual / one.variance.total
        told.append(f"rest {rest:.1%}")
        shared = 1.0 - rest - sum(term.share for term in terms)
        if shared >= 0.001:
            told.append(f"of terms that these items cannot tell apart {shared:.1%}")
        lines += folded(f"variance of log-odds in {one.family}: {', '.join(told)}")
    return lines


def _skipped(analyses: "Sequence[FamilyAnalysis]", *, has_counts: bool) -> list[str]:
    """Return what could not be estimated, so that nothing is missing in silence."""
    names = _SHOWN | ({"frequency": "frequency"} if has_counts else {})
    where = {part: [one.family for one in analyses if part in one.skipped] for part in names}
    where["order"] += [
        one.family for one in analyses if one.order is not None and one.order.delta is None
    ]
    told = [f"{names[part]} of {_and(of)}" for part, of in where.items() if of]
    if not told:
        return []
    return folded(f"Not estimated, for the reasons that --json gives: {'; '.join(told)}.")


def _frequency(analyses: "Sequence[FamilyAnalysis]") -> list[str]:
    columns = [_FAMILY, Column(title="scale")]
    columns += _numbers("raw", "null", "Pick\nHigher", "Uniform", "partial", "permuted\np")
    rows: list[list[Cell | str]] = []
    sources: dict[str, None] = {}
    for one in analyses:
        if one.frequency is None:
            continue
        sources[f"{one.frequency.source} ({one.frequency.kind})"] = None
        for scale, effect in one.frequency.by_scale.items():
            rows.append(
                [
                    one.family,
                    scale or "all",
                    spanned(effect.spearman, sign=True),
                    show(effect.nulls.get("itself"), sign=True),
                    show(effect.nulls.get("higher"), sign=True),
                    show(effect.nulls.get("uniform"), sign=True),
                    show(_value(effect.partial_spearman), sign=True),
                    show(effect.permuted_p),
                ]
            )
    if not rows:
        return []
    return [
        "frequency of numbers",
        *interval_table(columns, rows),
        *folded(
            f"Spearman's correlation of wd with the gap in frequency, {', '.join(sources)}. null: "
            "of the model itself made blind to frequency, with its own levels for wording and "
            "options and its slope in the ideal; partial: once the ideal law is taken out. A raw "
            "value near its null says nothing about frequency."
        ),
    ]


def _differences(differences: "Sequence[Difference]", model: str, other: str) -> list[str]:
    columns = [_FAMILY, Column(title="metric")]
    columns += _numbers("items", "model", "other", "difference", "p (Holm)")
    rows: list[list[Cell | str]] = [
        [
            one.family,
            one.metric,
            str(one.n_items),
            show(one.comparison.first.value),
            show(one.comparison.second.value),
            spanned(one.comparison.delta, sign=True),
            show(one.adjusted_p),
        ]
        for one in differences
    ]
    if not rows:
        return []
    return [
        *folded(f"differences: {model} less {other}"),
        *interval_table(columns, rows),
        *folded(
            "pm is PM; wd01 is wd of two options, wd_line_norm of numbers, wd_raw with everything "
            "else as an outcome; entropy_gap is RE. p by sign flips over templates, of which "
            "few allow no small p, adjusted for all rows together."
        ),
    ]


def _and(names: Sequence[str]) -> str:
    """Return names, each once, with commas and an "and" before the last."""
    *first, last = dict.fromkeys(names)
    return f"{', '.join(first)} and {last}" if first else last


def _value(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.value
