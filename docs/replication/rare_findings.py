"""Write what was measured into rare.md here and into the how-to, from the results saved beside it.

    python docs/replication/rare_findings.py             # put the tables into the pages
    python docs/replication/rare_findings.py --check     # fail if a page is stale

rare_runs.py makes rare-runs.json, rare_hits.py rare-hits.json, rare_smollm2.py rare-smollm2.json;
rankings are made from the rows that rare_tables.py keeps, and truths come with the package. Tables
stand between ``<!-- measured NAME -->`` and ``<!-- end -->``; what is written by hand has no number
of a run.
"""

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import rare_tables
from pages import table

import likely
from likely import rare
from likely.core.logspace import one_in, prob_text
from likely.rare.bench.plan import MODELS
from likely.rare.bench.summary import errors_by_target, targets_of
from likely.rare.loss.data_set import log_optimal_constant, mean_loss_log, median_of
from likely.rare.loss.kinds import Spb
from likely.rare.named import DISTRIBUTIONS

HERE = Path(__file__).parent
PAGES = (HERE / "rare.md", HERE.parent / "rare.md")
RUNS, SMOLLM2, HITS = (HERE / f"rare-{name}.json" for name in ("runs", "smollm2", "hits"))
NOT_RUN = "Not run."
VARIANTS = ("corrected", "without projection", "without centring", "as released")
KERNELS = {
    "aug": "`aug`",
    "aug_separate": "`aug_separate`",
    "mala_radial": "MALA, radial moves",
    "mala": "MALA alone",
}
ON_MODELS = ("aug", "mala_radial", "mala")
ALPHAS = (1.0, 1.5, 2.0, 2.5)
_TOO_MUCH = 1e6
"""From here on a factor is written as a power of ten."""

# What was saved.


def saved(path: Path) -> dict | None:
    """Return the results of a file, or None if it was not made."""
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def model_rows(runs: Mapping) -> list[dict]:
    """Return a row for every target of every model and law."""
    return [
        {"model": name.split()[0], "law": name.split()[1], **row}
        for name, part in runs["parts"].items()
        if len(name.split()) == 2
        for row in part
    ]


def log_of(stored: float | None) -> float:
    """Return a stored log-probability: None is an estimate of 0."""
    return -math.inf if stored is None else float(stored)


def estimates(row: Mapping) -> dict[str, float]:
    """Return every estimate of a target by name, nats."""
    found = {f"QLD {name}": log_of(row["log_probs"][name]) for name in VARIANTS}
    found["GLD"] = log_of(row["log_probs"]["gld"])
    for kernel, said in row["kernels"].items():
        found[f"GA-AMLS, {KERNELS[kernel]}"] = log_of(said["log_prob"])
    return found


# How numbers are written.


def factor(log_ratio: float) -> str:
    """Return how many times too large an estimate is.

    >>> factor(math.log(250)), factor(math.log(0.004)), factor(-math.inf)
    ('250', '1/250', '0')
    """
    if log_ratio == -math.inf:
        return "0"
    size = math.exp(min(abs(log_ratio), 700.0))
    text = f"1e{math.log10(size):.0f}" if size >= _TOO_MUCH else f"{float(f'{size:.2g}'):g}"
    return f"1/{text}" if log_ratio < 0.0 and text != "1" else text


def within(ratios: Sequence[float], times: float) -> str:
    """Return the share of ratios within a factor."""
    return f"{np.mean(np.abs(ratios) <= math.log(times)):.0%}"


# What truths rest on.


def truths() -> str:
    """Return what each truth that comes with the package was counted over."""
    lines = []
    for model_name in MODELS:
        model = likely.load(model_name)
        for law in DISTRIBUTIONS.names():
            found = rare.stored_truth(model, rare.distribution(law, model))
            if found is None:
                sys.exit(f"the package has no truth of {model_name} under {law}")
            worth = found.effective_rare
            lines.append(
                [
                    model_name, law, f"{found.counts.n_inputs / 1e6:.1f}", found.n_endings,
                    f"{found.counts.n_stems:,}", len(found.rare_tokens),
                    f"{worth / 1e6:.1f}" if worth else "–",
                ]
            )  # fmt: skip
    head = [
        "model", "law", "inputs, millions", "endings of a beginning", "beginnings", "rare tokens",
        "independent inputs half of them are worth, millions",
    ]  # fmt: skip
    return table(head, lines)


# The faults of the released QLD code.


def faults(runs: Mapping) -> str:
    """Return for each model and variant how far estimates are off."""
    rows = model_rows(runs)
    models = [*dict.fromkeys(row["model"] for row in rows)]
    lines = []
    for model in [*models, "all"]:
        own = [row for row in rows if model in (row["model"], "all")]
        for name in (*(f"QLD {variant}" for variant in VARIANTS), "GLD"):
            ratios = [estimates(row)[name] - math.log(row["truth"]) for row in own]
            seen = [one for one in ratios if one > -math.inf]
            others = ["–", "–"]
            if seen:
                ends = f"{factor(min(seen))} to {factor(max(seen))}"
                others = [factor(median_of(seen)), ends]
            lines.append(
                [
                    model, name, len(own), len(own) - len(seen), factor(median_of(ratios)),
                    *others, within(ratios, 10.0),
                ]
            )  # fmt: skip
    head = ["model", "variant", "targets", "zeros", "times the truth, median",
            "zeros left out: median", "from, to", "within 10 times"]  # fmt: skip
    laws = ", ".join(f"`{law}`" for law in dict.fromkeys(row["law"] for row in rows))
    note = (
        f"Laws: {laws}; {runs['head']['budget']:,} activations, the same for all variants; targets "
        "drawn at random from each decade of the truth, from 1e-9 to 1e-5, as far as there are any."
    )
    return f"{note}\n\n{table(head, lines)}"


def faults_gaussian(runs: Mapping) -> str:
    """Return the same on Gaussian activations, token by token."""
    names = (*VARIANTS, "gld")
    lines = [
        [
            f"{math.exp(row['log_truth']):.1e}",
            *(factor(log_of(row["log_probs"][name]) - row["log_truth"]) for name in names),
        ]
        for row in sorted(runs["parts"]["gaussian"], key=lambda one: -one["log_truth"])
    ]
    return table(["truth", *VARIANTS, "GLD"], lines)


# Kernels.


def kernels_toy(runs: Mapping) -> str:
    """Return what kernels say of a tail of a Student t law."""
    lines = []
    for row in runs["parts"]["student"]:
        ratios = np.exp([log_of(one) - math.log(row["prob"]) for one in row["replicates"]])
        mean = float(ratios.mean())
        error = float(ratios.std(ddof=1)) / math.sqrt(len(ratios))
        lines.append(
            [
                f"{row['prob']:.0e}", KERNELS[row["kernel"]], f"{float(np.median(ratios)):.2g}",
                f"{mean:.2g} ± {error:.1g}", f"{float(ratios.max()):.2g}",
                f"{float(row['acceptance']):.0%}",
            ]
        )  # fmt: skip
    head = [
        "truth", "kernel", "median run, times the truth", "mean", "largest", "moves accepted",
    ]  # fmt: skip
    return table(head, lines)


def kernels_models(runs: Mapping) -> str:
    """Return how kernels differ under the laws that are fitted to the models' activations."""
    rows = model_rows(runs)
    lines = []
    for model in dict.fromkeys(row["model"] for row in rows):
        own = [row for row in rows if row["model"] == model]
        tails = [float(row["kernels"]["aug"]["tail"]) for row in own]
        cells = []
        for kernel in ("mala_radial", "mala"):
            pairs = [
                [log_of(row["kernels"][one]["log_prob"]) for one in (kernel, "aug")] for row in own
            ]
            ratios = [first - second for first, second in pairs if second > -math.inf]
            cells += [factor(median_of(ratios)), f"{factor(min(ratios))} to {factor(max(ratios))}"]
        spreads = [
            f"{median_of([spread(row['kernels'][kernel]['replicates']) for row in own]):.2g}"
            for kernel in ON_MODELS
        ]
        lines.append([model, len(own), f"{min(tails):.3g} to {max(tails):.3g}", *cells, *spreads])
    head = [
        "model", "targets", "degrees of freedom", "with radial moves over `aug`", "from, to",
        "alone over `aug`", "from, to", *(f"spread: {KERNELS[kernel]}" for kernel in ON_MODELS),
    ]  # fmt: skip
    return table(head, lines)


def spread(replicates: Sequence[float | None]) -> float:
    """Return the standard deviation of runs over their mean."""
    logs = np.array([log_of(one) for one in replicates])
    if not np.isfinite(logs).any():
        return 0.0
    values = np.exp(logs - logs.max())
    return float(values.std(ddof=1) / values.mean())


# Rankings, from the rows of the comparison of all methods.


def by_method(rows: Sequence[Mapping]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the logs of truths and of each method's estimates, in one order of targets and seeds.

    Args:
        rows: Of a comparison; those of the arm of equal calls count.
    """
    own = [row for row in rows if row["arm"] == "calls"]
    keys = sorted({key_of(row) for row in own})
    truths = {key_of(row): math.log(row["truth"]) for row in own}
    found: dict[str, dict] = {}
    for row in own:
        found.setdefault(str(row["method"]), {})[key_of(row)] = float(row["log_prob"])
    log_p = {name: np.array([one[key] for key in keys]) for name, one in found.items()}
    return np.array([truths[key] for key in keys]), log_p


def key_of(row: Mapping) -> tuple:
    """Return what an estimate is of."""
    return (row["model"], row["distribution"], row["token"], row["seed"])


def loss_of(log_q: np.ndarray, log_p: np.ndarray, alpha: float) -> float:
    """Return the mean shifted power Bregman loss."""
    return mean_loss_log(log_q, log_p, Spb(alpha=alpha, weighting="shifted")).mean


def ranking(rows: Sequence[Mapping]) -> str:
    """Return the order of methods for each alpha, the best first, the best constant among them."""
    log_q, log_p = by_method(rows)
    lines = []
    for alpha in ALPHAS:
        loss = Spb(alpha=alpha, weighting="shifted")
        found = {name: loss_of(log_q, one, alpha) for name, one in log_p.items()}
        constant = np.full(len(log_q), log_optimal_constant(log_q, loss))
        found["*best constant*"] = loss_of(log_q, constant, alpha)
        order = sorted(found, key=lambda name: found[name])
        lines.append([f"{alpha:g}", *(f"{name} {found[name]:.3g}" for name in order)])
    return table(["alpha", *(f"{i + 1}" for i in range(len(log_p) + 1))], lines)


def flips(rows: Sequence[Mapping]) -> str:
    """Return pairs of methods that change places as alpha grows from 1/2 to 5/2, and where."""
    log_q, log_p = by_method(rows)
    alphas = np.linspace(0.5, 2.5, 41)
    curves = {name: [loss_of(log_q, one, float(a)) for a in alphas] for name, one in log_p.items()}
    lines = []
    for name, other in combinations(curves, 2):
        ahead = np.array(curves[name]) < np.array(curves[other])
        turns = np.flatnonzero(ahead[1:] != ahead[:-1])
        if len(turns):
            places = ", ".join(f"{0.5 * (alphas[k] + alphas[k + 1]):.2f}" for k in turns)
            first, last = ((name, other)[not one] for one in (ahead[0], ahead[-1]))
            lines.append([f"{name}, {other}", first, places, last])
    if not lines:
        return "No pair changes places."
    head = ["pair", "ahead at alpha = 0.5", "change places at alpha", "ahead at alpha = 2.5"]
    return table(head, lines)


def misfit(runs: Mapping) -> str:
    """Return how far splitting under either fitted law is from the truth, by model and law."""
    rows = model_rows(runs)
    lines = []
    pairs = [*dict.fromkeys((row["model"], row["law"]) for row in rows), ("all", "all")]
    for model, law in pairs:
        own = [row for row in rows if (row["model"], row["law"]) == (model, law) or law == "all"]
        student, last = (
            np.array([log_p - math.log(row["truth"]) for row, log_p in zip(own, one, strict=True)])
            for one in (
                [log_of(row["kernels"]["aug"]["log_prob"]) for row in own],
                [log_of(as_it_comes(runs, row)["log_prob"]) for row in own],
            )
        )
        priors = dict.fromkeys(str(as_it_comes(runs, row)["prior"]) for row in own)
        lines.append([model, law, len(own), *told(student), ", ".join(priors), *told(last)])
    head = [
        "model", "law", "targets", "Student t: times the truth, median", "from, to",
        "mean square, nats²", "law as it comes", "median", "from, to", "mean square, nats²",
    ]  # fmt: skip
    return table(head, lines)


def as_it_comes(runs: Mapping, row: Mapping) -> Mapping:
    """Return what the method as it comes says of a target."""
    part = runs["parts"][f"{row['model']} {row['law']} as_it_comes"]
    return next(one for one in part if one["token"] == row["token"])


def told(ratios: np.ndarray) -> list[str]:
    """Return median, ends and mean square of logs of estimate over truth."""
    square = float(np.mean(ratios**2))
    return [
        factor(median_of(ratios)),
        f"{factor(float(ratios.min()))} to {factor(float(ratios.max()))}",
        "infinite" if math.isinf(square) else f"{square:.2g}",
    ]  # fmt: skip


# The inputs behind the targets that are missed by most.


def hits(result: Mapping) -> str:
    """Return what the hits of each target end with, the furthest target first."""
    rows = rare_tables.estimates_at_equal_calls("ga-amls")
    truth_of = {key: own[0]["truth"] for key, own in targets_of(rows).items()}
    bias_of = {key: bias for key, (bias, _) in errors_by_target(rows).items()}
    lines = []
    looked = {(one["model"], one["law"], one["token"]): one for one in result["targets"]}
    for key, one in sorted(looked.items(), key=lambda item: -abs(bias_of[item[0]])):
        cells: list[object] = ["–"] * 4
        if one["hits"]:
            pair = " ".join(f"`{text}`" for text in one["pair"])
            given = min(1.0, truth_of[key] / one["last_prob"])
            cells = [
                f"{one['last_tokens']:.2g}", f"{one['pairs']:.2g}", pair, f"{given:.1g}",
            ]  # fmt: skip
        lines.append(
            [
                one["model"], one["law"], f"`{one['text']}`", f"{truth_of[key]:.1e}",
                factor(bias_of[key] * math.log(10.0)), one["hits"], *cells,
            ]
        )  # fmt: skip
    head = [
        "model", "law", "target", "truth", "ga-amls, times the truth", "hits looked at",
        "last tokens they are worth", "pairs", "commonest pair", "truth given the last token",
    ]  # fmt: skip
    return table(head, lines)


# SmolLM2.


def said(event: Sequence) -> str:
    """Return an event in words."""
    word, share = event
    if share == 1.0:
        return f"`{word}` is the likeliest word"
    return f"`{word}` has more than 1/{1 / share:g} of the likeliest other's probability"


def smollm2_truth(result: Mapping) -> str:
    """Return how likely each word and each event is, and what finding out took."""
    truth, head = result["truth"], result["head"]
    lines = [
        [f"`{text}` is the likeliest word", prob_text(math.log(prob)), one_in(math.log(prob))]
        for text, prob in truth["probs"].items()
    ]
    lines += [
        [said(event), prob_text(math.log(prob)), one_in(math.log(prob))]
        if prob else [said(event), "0", "never"]
        for event, prob in zip(head["events"], truth["events"], strict=True)
        if event[1] < 1.0 or event[0] not in truth["probs"]
    ]  # fmt: skip
    note = (
        f"All {head['inputs']:,} inputs of {head['length']} tokens, with shared beginnings: "
        f"{truth['token_evaluations']:,} token evaluations."
    )
    return f"{note}\n\n{table(['event', 'probability', 'one in'], lines)}"


def smollm2(result: Mapping) -> str:
    """Return what each method says of each event that it was asked for, seed by seed."""
    lines = []
    for i in dict.fromkeys(run["event"] for run in result["runs"]):
        prob = result["truth"]["events"][i]
        true = f"{prob:.1e}" if prob else "0"
        for method in dict.fromkeys(run["method"] for run in result["runs"]):
            own = [run for run in result["runs"] if (run["method"], run["event"]) == (method, i)]
            cells = [
                f"{prob_text(log_of(run['log_prob']))} ({prob_text(log_of(run['low']))} to "
                f"{prob_text(log_of(run['high']))})"
                for run in own
            ]
            calls = own[0]["forwards"] + own[0]["gradients"]
            lines.append(
                [
                    said(result["head"]["events"][i]), true, method, "; ".join(cells),
                    f"{calls:,}", len(own[0]["warnings"]),
                ]
            )  # fmt: skip
    head = ["event", "truth", "method", "estimate (interval at 95 %), one for each seed",
            "calls of an event", "warnings"]  # fmt: skip
    note = (
        f"A budget of {result['head']['budget']:,} calls for each event; methods that read the "
        "same inputs for all events share them."
    )
    return f"{note}\n\n{table(head, lines)}"


# The pages.


def measured() -> dict[str, str]:
    """Return every table by name."""
    makers = {
        RUNS: (faults, faults_gaussian, kernels_toy, kernels_models, misfit),
        HITS: (hits,),
        SMOLLM2: (smollm2_truth, smollm2),
    }
    found = {}
    for path, own in makers.items():
        result = saved(path)
        for make in own:
            found[make.__name__] = NOT_RUN if result is None else make(result)
    rows = rare_tables.stored()[0]
    return found | {"truths": truths(), "ranking": ranking(rows), "flips": flips(rows)}


def filled(page: str, found: Mapping[str, str]) -> str:
    """Return a page with every table of ours replaced."""
    return re.sub(
        r"<!-- measured (\w+) -->\n.*?<!-- end -->",
        lambda match: f"<!-- measured {match[1]} -->\n{found[match[1]]}\n<!-- end -->",
        page,
        flags=re.S,
    )


def main() -> None:
    """Write the pages, or with ``--check`` exit with a message if one is stale."""
    found = measured()
    for path in PAGES:
        old = path.read_text("utf-8")
        new = filled(old, found)
        if sys.argv[1:] == ["--check"]:
            if new != old:
                sys.exit(f"{path} is stale; run: python {Path(sys.argv[0]).name}")
        else:
            path.write_text(new, "utf-8")


if __name__ == "__main__":
    main()
