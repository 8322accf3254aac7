"""What an evaluation of calibration looks like on a screen. Units: probability, bits."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from likely.cli.claims import folded
from likely.cli.deliver import show_model
from likely.cli.screen import Column, show_cost, table
from likely.core.estimate import Estimate
from likely.core.model import LanguageModel

if TYPE_CHECKING:
    from likely.calibration.analysis import FamilyAnalysis
    from likely.calibration.comparison import Difference
    from likely.calibration.evaluation import Evaluation

_BASELINES = {
    "best_constant": "best constant",
    "higher_0.7": "Higher .7",
    "uniform": "Uniform",
    "pick_higher": "Pick Higher",
    "pick_first": "Pick First",
    "random_1": "Random",
}
"""Rules that stand beside the model, and what the screen calls them."""

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
    preset: str,
    other: str | None,
) -> list[str]:
    """Return everything that a person is shown.

    Args:
        model: That was asked.
        found: What it gave.
        analyses: Of each family with two named options.
        differences: From another model.
        preset: Of the items.
        other: Name of the other model.
    """
    policy = found.scored.policy
    asked = "bare text" if policy.chat == "none" else f"chat {policy.chat} ({policy.wrapper})"
    families = list(dict.fromkeys(found.frame["family"]))
    lines = [
        show_model(model),
        f"calibration: {len(found)} items in {len(families)} "
        f"famil{'ies' if len(families) > 1 else 'y'}, preset {preset}, {asked}, "
        f"spellings {policy.level}",
        "",
        *_main(found, families),
        "",
        *folded(_LEGEND),
        *_warnings(found, families),
        "",
        *_baselines(found, families),
    ]
    for title, part in (
        ("behaviours", _behaviours(analyses)),
        ("order and slope", _order(analyses)),
        ("strengths", _strengths(analyses)),
        ("variance", _variance(analyses)),
        ("frequency", _frequency(analyses)),
    ):
        if part:
            lines += ["", *part]
        elif title == "behaviours":
            break
    if differences:
        lines += ["", *_differences(differences, found.model, other or "the other")]
    return [*lines, "", show_cost(found.cost)]


def show(value: float | None, *, sign: bool = False) -> str:
    """Return a number with three decimals, or nothing where there is none.

    >>> show(0.12345), show(-0.5, sign=True), show(None), show(1e-5), show(0.0)
    ('.123', '-.500', '', '.000', '0')
    """
    if value is None or math.isnan(value):
        return ""
    if not math.isfinite(value) or value == 0.0:
        return f"{value:g}"
    text = f"{value:+.3f}" if sign else f"{value:.3f}"
    return text.replace("0.", ".", 1) if abs(value) < 1.0 else text


def span(estimate: Estimate | None, *, sign: bool = False) -> str:
    """Return the interval of a number.

    >>> span(Estimate(value=0.1, low=0.05, high=0.25, level=0.95, unit="none", method="x"))
    '.050-.250'
    """
    if estimate is None:
        return ""
    between = ".." if sign else "-"
    return f"{show(estimate.low, sign=sign)}{between}{show(estimate.high, sign=sign)}"


def _main(found: "Evaluation", families: Sequence[str]) -> list[str]:
    columns = [Column(title="family", gives_way=True)]
    titles = ("items", "PM", "", ">=.75", "wd", "", "best constant", "RE", "", "kept", "right")
    columns += [Column(title=title, is_number=True) for title in titles]
    rows = []
    for family in families:
        line = {
            metric: found.line(family, metric).estimate
            for metric in ("pm", "is_gated", "entropy_gap", "entropy_kept", "is_direction_right")
        }
        name = _distance(found, family)
        distance = found.line(family, name).estimate
        rows.append(
            [
                family,
                str(found.line(family, "pm").n_items),
                show(_value(line["pm"])),
                span(line["pm"]),
                show(_value(line["is_gated"])),
                show(_value(distance)),
                span(distance),
                show(_baseline(found, family, "best_constant", name)),
                show(_value(line["entropy_gap"]), sign=True),
                span(line["entropy_gap"], sign=True),
                show(_value(line["entropy_kept"])),
                show(_value(line["is_direction_right"])),
            ]
        )
    return table(columns, rows)


def _distance(found: "Evaluation", family: str) -> str:
    """Return the distance that headlines: on the line where options are numbers."""
    of_numbers = found.line(family, "wd_line_norm").estimate
    return "wd01" if of_numbers is None else "wd_line_norm"


def _warnings(found: "Evaluation", families: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for family in families:
        mass = found.line(family, "pm").estimate
        if mass is not None and mass.value < 0.75:
            lines += folded(
                f"{family}: the options have {mass.value:.1%} of the mass, so the distance is of "
                "what little the model says about them"
            )
        undefined = found.line(family, "wd01").n_undefined
        if undefined:
            lines += folded(f"{family}: {undefined} items without any mass have no distance")
    flags = found.n_flagged
    if flags:
        told = ", ".join(f"{name} {n}" for name, n in flags.items())
        lines += folded(f"items with flags: {told}")
    shares = {name: share for name, share in found.surface_shares.items() if share >= 0.005}
    if shares:
        told = ", ".join(f"{name.replace('_', ' ')} {share:.0%}" for name, share in shares.items())
        lines += folded(f"spellings that carry the mass: {told}")
    return lines


def _baselines(found: "Evaluation", families: Sequence[str]) -> list[str]:
    columns = [Column(title="wd of rules on these items")]
    columns += [Column(title=title, is_number=True) for title in ("model", *_BASELINES.values())]
    rows = []
    for family in families:
        name = _distance(found, family)
        own = found.line(family, name).estimate
        rules = [show(_baseline(found, family, rule, name)) for rule in _BASELINES]
        rows.append([family, show(_value(own)), *rules])
    return table(columns, rows)


def _behaviours(analyses: "Sequence[FamilyAnalysis]") -> list[str]:
    columns = [
        Column(title="behaviour of cells"),
        Column(title="by"),
        Column(title="cells", is_number=True),
        Column(title="", gives_way=True),
    ]
    rows = []
    for one in analyses:
        for assigner, labels in one.behaviours.items():
            told = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in labels.items())
            rows.append([one.family, assigner, str(sum(labels.values())), told])
    return table(columns, rows) if rows else []


def _order(analyses: "Sequence[FamilyAnalysis]") -> list[str]:
    titles = ("a", "b", "slope", "", "position", "", "order", "", "ECE")
    columns = [Column(title="order and slope")]
    columns += [Column(title=title, is_number=True) for title in titles]
    rows = []
    for one in analyses:
        line = None if one.regression is None else one.regression.line
        order = None if one.order is None else one.order.delta
        rows.append(
            [
                one.family,
                "" if one.plane_any_mass is None else show(one.plane_any_mass.a),
                "" if one.plane_any_mass is None else show(one.plane_any_mass.b),
                "" if line is None else show(line.beta.value),
                "" if line is None else span(line.beta, sign=True),
                "" if line is None else show(line.alpha.value, sign=True),
                "" if line is None else span(line.alpha, sign=True),
                show(_value(order), sign=True),
                span(order, sign=True),
                "" if one.reliability is None else show(one.reliability.ece),
            ]
        )
    if not rows:
        return []
    return [
        *table(columns, rows),
        *folded(
            "a and b: how often the first option is picked where it is likelier, and where it is "
            "not, whatever their mass; (1, 0) follows the numbers, (1, 1) and (0, 0) the order, "
            "(.5, .5) is a coin. slope and position: log-odds of the model against the ideal, 1 "
            "and 0 if calibrated. order: what an option gains by being mentioned first."
        ),
    ]


def _strengths(analyses: "Sequence[FamilyAnalysis]") -> list[str]:
    lines: list[str] = []
    for one in analyses:
        if one.strengths is None or len(set(one.strengths.groups.values())) > 1:
            continue  # strengths compare only options that meet
        told = [f"{name} {show(x.value, sign=True)}" for name, x in one.strengths.strengths.items()]
        lines += folded(f"strengths in {one.family}, nats whatever the numbers: {', '.join(told)}")
    return lines


def _variance(analyses: "Sequence[FamilyAnalysis]") -> list[str]:
    lines: list[str] = []
    for one in analyses:
        if one.variance is None:
            continue
        told = sorted(one.variance.terms, key=lambda term: -term.share)
        shares = ", ".join(f"{term.name} {term.share:.1%}" for term in told if term.share >= 0.001)
        rest = one.variance.residual / one.variance.total
        told_rest = f"{shares}, rest {rest:.1%}" if shares else f"no term alone, rest {rest:.1%}"
        lines += folded(f"variance of log-odds in {one.family}: {told_rest}")
    return lines


def _frequency(analyses: "Sequence[FamilyAnalysis]") -> list[str]:
    columns = [Column(title="frequency of numbers"), Column(title="scale")]
    titles = ("raw", "", "null", "Pick Higher", "Uniform", "partial", "permuted p")
    columns += [Column(title=title, is_number=True) for title in titles]
    rows = []
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
                    show(_value(effect.spearman), sign=True),
                    span(effect.spearman, sign=True),
                    show(effect.nulls.get("higher_q"), sign=True),
                    show(effect.nulls.get("higher"), sign=True),
                    show(effect.nulls.get("uniform"), sign=True),
                    show(_value(effect.partial_spearman), sign=True),
                    show(effect.permuted_p),
                ]
            )
    if not rows:
        return []
    return [
        *table(columns, rows),
        *folded(
            f"Spearman's correlation of wd with the gap in frequency, {', '.join(sources)}. null: "
            "of a rule blind to frequency that puts as much on the likelier option as the model "
            "does on average; partial: once the ideal law is taken out. A raw value near its null "
            "says nothing about frequency."
        ),
    ]


def _differences(differences: "Sequence[Difference]", model: str, other: str) -> list[str]:
    columns = [Column(title=f"{model} less {other}", gives_way=True), Column(title="")]
    titles = ("items", "model", "other", "difference", "", "p (Holm)")
    columns += [Column(title=title, is_number=True) for title in titles]
    rows = [
        [
            one.family,
            one.metric,
            str(one.n_items),
            show(one.comparison.first.value),
            show(one.comparison.second.value),
            show(one.comparison.delta.value, sign=True),
            span(one.comparison.delta, sign=True),
            show(one.adjusted_p),
        ]
        for one in differences
    ]
    return [
        *table(columns, rows),
        *folded("p by sign flips over templates, adjusted for all rows together."),
    ]


def _baseline(found: "Evaluation", family: str, name: str, metric: str) -> float | None:
    rules = found.baselines
    own = rules[(rules["family"] == family) & (rules["scale"] == "") & (rules["baseline"] == name)]
    return float(own[metric].iloc[0]) if len(own) else None


def _value(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.value
