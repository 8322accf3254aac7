"""Write the tables of logic.md from the results saved beside it.

    python docs/replication/logic_tables.py                       # put the tables into the page
    python docs/replication/logic_tables.py --check               # fail if the page is stale
    python docs/replication/logic_tables.py --compact RESULT.json ITEMS.parquet EVALUATION.json ...

The last form makes probct-smollm2.json out of what `ProbCT.to_json`, `ProbCT.to_frame` and
`Evaluation.to_json` (of all families and controls) give.
"""

import json
import math
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from pages import settle, short, table

if TYPE_CHECKING:
    import pandas as pd

HERE = Path(__file__).parent
PAGE = HERE / "logic.md"
RESULT = HERE / "probct-smollm2.json"
LEARNING = HERE / "learning.json"
FAMILIES = (
    "negation", "exclusivity", "paraphrase", "implication", "relations", "partition", "antonyms",
)  # fmt: skip
LABELS = ("duel", "minp", "identity", "closed")
MOST_EVENTS = 12


CONTROLS = ("shuffled", "nonsense")
NAMES = {"none": "the row's own", "shuffled": "of another row", "nonsense": "made-up"}

# Making the result small.


def compact(result: dict, items: "pd.DataFrame", evaluations: Sequence[dict]) -> dict:
    """Return what the page needs of a result."""
    by_control: dict[str, list[dict]] = {"none": [], **{name: [] for name in CONTROLS}}
    for evaluation in evaluations:
        family, _, control = evaluation["theory"].partition("-")
        by_control[control or "none"].append({**evaluation, "theory": family})
    plain = by_control["none"]
    return {
        "model": result["model"],
        "fingerprint": result["fingerprint"],
        "rescalings": result["rescalings"],
        "digests": {evaluation["theory"]: evaluation["digest"] for evaluation in plain},
        "n_items": result["n_items"],
        "cost": {key: result["cost"][key] for key in ("token_evaluations", "seconds")},
        "lines": [
            {k: short(v) for k, v in line.items() if v is not None} for line in result["lines"]
        ],
        "findings": [{k: short(v) for k, v in found.items()} for found in result["findings"]],
        "control_findings": [
            {"control": control, **row}
            for control in CONTROLS
            for row in findings_on(control, items, by_control[control], result["rescalings"])
        ],
        "differences": list(differences(items)),
        "orderings": list(orderings(by_control)),
        "swings": [
            swing(control, e)
            for control, group in by_control.items()
            for e in group
            if e["theory"] == "negation"
        ],
        "verdicts": [row for evaluation in plain for row in verdicts(evaluation)],
        "conditionals": [row for evaluation in plain for row in conditionals(evaluation)],
        "bounds": [row for evaluation in plain for row in bounds(evaluation)],
    }


def interval(values: Sequence[float], rows: Sequence[str]) -> object:
    """Return a mean with its interval over rows."""
    from likely.stats.bootstrap import cluster_bootstrap

    return short(cluster_bootstrap(values, list(rows), n_resamples=2000, seed=0).to_dict())


def findings_on(
    control: str, items: "pd.DataFrame", evaluations: Sequence[dict], rescalings: Sequence[str]
) -> Iterator[dict]:
    """Yield what the hypotheses' measures are on a control, where nothing could be known."""
    from likely.logic.probct.hypotheses import Evidence, findings

    def readings(events: dict) -> dict:
        odds = {key: map_floats(event["log_odds"]) for key, event in events.items()}
        return {key: SimpleNamespace(log_odds=value) for key, value in odds.items()}

    evidence = Evidence(
        table=items[items["control"] == control],
        evaluations={
            e["theory"]: SimpleNamespace(
                events={instance: readings(events) for instance, events in e["events"].items()},
                conditionals=[
                    SimpleNamespace(row=c["row"], violation=c["violation"], vacuity=c["vacuity"])
                    for c in e["conditionals"]
                ],
            )
            for e in evaluations
        },
        rescalings=rescalings,
        n_resamples=2000,
        seed=0,
    )
    for found in findings(evidence):
        if found.estimate is not None:
            yield {
                "name": found.name, "rescaling": found.rescaling,
                "estimate": short(found.estimate.to_dict()), "verdict": found.verdict,
            }  # fmt: skip


def map_floats(numbers: dict) -> dict[str, float]:
    """Return numbers of strict JSON, where infinities are texts."""
    return {key: float(value) for key, value in numbers.items()}


def differences(items: "pd.DataFrame") -> Iterator[dict]:
    """Yield S of each family minus S of its control, item by item."""
    laws = items[~items["is_comparison"].astype(bool)]
    keys = ["family", "rescaling", "pack", "row", "claim"]
    wide = laws.pivot_table(index=keys, columns="control", values="chance_corrected").reset_index()
    for (family, label), part in wide.groupby(["family", "rescaling"], sort=False):
        for control in CONTROLS:
            gaps = (part["none"] - part[control]).to_numpy()
            yield {
                "family": family, "rescaling": label, "control": control,
                "gap": interval(gaps, part["row"].tolist()),
            }  # fmt: skip


def orderings(by_control: dict[str, list[dict]]) -> Iterator[dict]:
    """Yield for each ordering how often the event that should be the likelier one is so."""
    ratios: dict[tuple[str, str, str], dict[str, float]] = {}
    for control, evaluations in by_control.items():
        for evaluation in evaluations:
            for score in evaluation["orderings"]:
                key = (evaluation["theory"], score["name"], control)
                place = score["instance"].partition("/")[2]
                ratios.setdefault(key, {})[place] = float(score["log_ratio"])
    for family, name, _ in (key for key in ratios if key[2] == "none"):
        own, shuffled, invented = (ratios[family, name, c] for c in ("none", *CONTROLS))
        rows = [place.rpartition("/")[2] for place in own]
        yield {
            "family": family, "name": name, "n": len(own),
            "right": interval([float(r > 0.0) for r in own.values()], rows),
            "shuffled": short(mean([float(r > 0.0) for r in shuffled.values()])),
            "nonsense": short(mean([float(r > 0.0) for r in invented.values()])),
            "gap": interval([own[place] - shuffled[place] for place in own], rows),
        }  # fmt: skip


def swing(control: str, evaluation: dict) -> dict:
    """Return how "not" moves the untrue and the true answer in the negation family, raw, nats."""
    found = [
        {key: float(event["log_prob"]) for key, event in events.items()}
        for events in evaluation["events"].values()
    ]
    rows = [instance.rpartition("/")[2] for instance in evaluation["events"]]
    bad = [x["a"] - x["c"] for x in found]
    good = [x["h"] - x["g"] for x in found]
    return {
        "control": control,
        "bad": interval(bad, rows),
        "good": interval(good, rows),
        "gap": interval([b - g for b, g in zip(bad, good, strict=True)], rows),
        "correlation": short(statistics.correlation([x["a"] for x in found],
                                                    [x["c"] for x in found])),
    }  # fmt: skip


def verdicts(evaluation: dict) -> Iterator[dict]:
    """Yield how viable "yes" and "no" are after each kind of question."""
    found: dict[tuple[str, str], list[dict]] = {}
    for events in evaluation["events"].values():
        for key, event in events.items():
            if event["answers"] in (["yes"], ["no"]):
                name = key.partition("(")[0]
                found.setdefault((name, event["answers"][0]), []).append(event)
    for (name, answer), events in found.items():
        duels = [1.0 / (1.0 + math.exp(-float(e["log_odds"]["duel"]))) for e in events]
        middle = mean(duels)
        yield {
            "family": evaluation["theory"], "event": name, "answer": answer, "n": len(events),
            "prob": short(mean([math.exp(float(e["log_prob"])) for e in events])),
            "duel": short(middle),
            "sd": short(math.sqrt(mean([(x - middle) ** 2 for x in duels]))),
        }  # fmt: skip


def conditionals(evaluation: dict) -> Iterator[dict]:
    """Yield the mean violation and vacuity of each conditional."""
    found = evaluation["conditionals"]
    for name, label in product(dict.fromkeys(s["name"] for s in found), evaluation["rescalings"]):
        own = [s for s in found if s["name"] == name and label in s["violation"]]
        if own:
            yield {
                "family": evaluation["theory"], "name": name, "rescaling": label, "n": len(own),
                "violation": short(mean([s["violation"][label] for s in own])),
                "vacuity": short(mean([s["vacuity"][label] for s in own])),
            }  # fmt: skip


def bounds(evaluation: dict) -> Iterator[dict]:
    """Yield for each claim what holds of it whatever the dependence of its events."""
    from likely.logic.dependence import frechet

    label = evaluation["rescalings"][0]
    by_claim: dict[str, list[tuple[float, float, float, float]]] = {}
    for item in evaluation["items"]:
        if item["info"] is None or item["is_comparison"] or label not in item["readings"]:
            continue
        if len(item["events"]) > MOST_EVENTS:
            continue
        events = evaluation["events"][item["instance"]]
        odds = {key: float(events[key]["log_odds"][label]) for key in item["events"]}
        reading = item["readings"][label]
        found = frechet(item["formula"], log_odds=odds)
        by_claim.setdefault(item["claim"], []).append(
            (found.low, found.high, reading["prob"], math.exp(reading["log_chance"]))
        )
    for claim, rows in by_claim.items():
        yield {
            "family": evaluation["theory"], "claim": claim, "n": len(rows),
            "low": short(mean([low for low, _, _, _ in rows])),
            "high": short(mean([high for _, high, _, _ in rows])),
            "prob": short(mean([prob for _, _, prob, _ in rows])),
            "chance": short(mean([chance for _, _, _, chance in rows])),
            "surely_below": short(mean([float(high < chance) for _, high, _, chance in rows])),
            "surely_above": short(mean([float(low > chance) for low, _, _, chance in rows])),
        }  # fmt: skip


def mean(values: Sequence[float]) -> float:
    """Return the mean."""
    return math.fsum(values) / len(values)


# Writing the page.


def tables(result: dict, learning: dict) -> dict[str, str]:
    """Return the tables by the name that the page calls them by."""
    lines = {
        (x["family"], x["control"], x.get("claim"), x["rescaling"]): x for x in result["lines"]
    }
    return {
        "families": families(lines, "chance_corrected"),
        "shares": families(lines, "earned"),
        "kept": families(lines, "kept"),
        "controls": controls(lines, result["differences"]),
        "claims": claims(lines),
        "hypotheses": hypotheses(result["findings"]),
        "control_findings": control_findings(result["findings"], result["control_findings"]),
        "orderings": ordering_table(result["orderings"]),
        "swings": table(
            ("answers", "untrue answer: not over plain", "true answer: not over plain",
             "difference", "correlation of a and c"),
            [(NAMES[x["control"]], spread(x["bad"]), spread(x["good"]), spread(x["gap"]),
              f"{x['correlation']:.2f}") for x in result["swings"]],
        ),
        "verdicts": table(
            ("family", "question", "answer", "items", "raw p", "duel", "sd over items"),
            [(x["family"], f"`{x['event']}`", x["answer"], x["n"], f"{x['prob']:.2f}",
              f"{x['duel']:.2f}", f"{x['sd']:.2f}") for x in result["verdicts"]],
        ),
        "conditionals": conditional_table(result["conditionals"]),
        "bounds": table(
            ("family", "claim", "items", "chance", "P", "between", "and",
             "surely below chance", "surely above"),
            [(x["family"], f"`{x['claim']}`", x["n"], f"{x['chance']:.2f}", f"{x['prob']:.2f}",
              f"{x['low']:.2f}", f"{x['high']:.2f}", f"{x['surely_below']:.0%}",
              f"{x['surely_above']:.0%}") for x in result["bounds"]],
        ),
        "symmetry": symmetry(learning),
        "learning": learned(learning),
        "perplexity": perplexities(learning),
    }  # fmt: skip


def spread(estimate: list[float] | None) -> str:
    """Return an estimate with its interval."""
    if estimate is None:
        return "–"
    value, low, high = estimate
    return f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"


def families(lines: dict, figure: str) -> str:
    """Return one figure of the whole families under every rescaling."""
    rows = []
    for family in FAMILIES:
        own = [lines[family, "none", None, label] for label in LABELS]
        rows.append(
            (family, own[0]["n_items"], own[0]["n_rows"], *(spread(x.get(figure)) for x in own))
        )
    return table(("family", "items", "rows", *LABELS), rows)


def controls(lines: dict, differences: Sequence[dict]) -> str:
    """Return S of the families beside that of their controls, and by how much it is above."""
    gaps = {(x["family"], x["rescaling"], x["control"]): x["gap"] for x in differences}
    rows = []
    for family, label in product(FAMILIES, LABELS):
        values = [lines[family, c, None, label]["chance_corrected"][0] for c in ("none", *CONTROLS)]
        rows.append(
            (
                family, label, *(f"{value:+.2f}" for value in values),
                *(spread(gaps[family, label, control]) for control in CONTROLS),
            )
        )  # fmt: skip
    head = ("family", "rescaling", "S", "S, answers shuffled", "S, made-up words",
            "above shuffled", "above made-up")  # fmt: skip
    return table(head, rows)


def ordering_table(found: Sequence[dict]) -> str:
    """Return the orderings of raw probabilities beside those of the controls."""
    rows = []
    for x in found:
        value, low, high = x["right"]
        rows.append(
            (
                x["family"], f"`{x['name']}`", x["n"], f"{value:.0%} [{low:.0%}, {high:.0%}]",
                f"{x['shuffled']:.0%}", f"{x['nonsense']:.0%}", spread(x["gap"]),
            )
        )  # fmt: skip
    head = ("family", "ordering", "items", "right", "shuffled", "made-up",
            "log ratio above shuffled, nats")  # fmt: skip
    return table(head, rows)


def control_findings(findings: Sequence[dict], on_controls: Sequence[dict]) -> str:
    """Return the measure of each hypothesis on the suite and on its controls, under the duel."""
    known = {(x["name"], x["control"]): x for x in on_controls if x["rescaling"] == LABELS[0]}
    rows = [
        (x["name"], verdict(x), *(verdict(known.get((x["name"], c))) for c in CONTROLS))
        for x in findings
        if x["rescaling"] == LABELS[0]
    ]
    return table(("", "the suite", "answers shuffled", "made-up words"), rows)


def claims(lines: dict) -> str:
    """Return S of every claim under every rescaling, and the null of the first one."""
    rows = []
    for family in FAMILIES:
        names = dict.fromkeys(c for f, k, c, _ in lines if (f, k) == (family, "none") and c)
        for name in names:
            own = [lines[family, "none", name, label] for label in LABELS
                   if (family, "none", name, label) in lines]  # fmt: skip
            by_label = {x["rescaling"]: x for x in own}
            zs = [by_label.get(label, {}).get("null_z") for label in LABELS]
            rows.append(
                (
                    family, f"`{name}`", own[0]["n_items"],
                    *(spread(by_label.get(label, {}).get("chance_corrected")) for label in LABELS),
                    " / ".join(
                        f"{lines[family, c, name, LABELS[0]]['chance_corrected'][0]:+.2f}"
                        for c in CONTROLS
                    ),
                    " / ".join("–" if z is None else f"{z:+.1f}" for z in zs),
                )
            )  # fmt: skip
    return table(("family", "claim", "items", *LABELS, "duel, shuffled / made-up", "null z"), rows)


def hypotheses(findings: Sequence[dict]) -> str:
    """Return every hypothesis with its number and verdict under each rescaling."""
    rows = []
    for name in dict.fromkeys(x["name"] for x in findings):
        own = [x for x in findings if x["name"] == name]
        by_label = {x["rescaling"]: x for x in own}
        cells = [verdict(by_label.get(label)) for label in LABELS]
        if None in by_label:
            cells = ["needs more models", "", "", ""]
        rows.append((name, own[0]["statement"], own[0]["quantity"], *cells))
    return table(("", "statement", "measured", *LABELS), rows)


def verdict(finding: dict | None) -> str:
    """Return a verdict with its number."""
    return "–" if finding is None else f"**{finding['verdict']}** {spread(finding['estimate'])}"


def conditional_table(found: Sequence[dict]) -> str:
    """Return violation and vacuity under two rescalings."""
    rows = []
    for family, name in dict.fromkeys((x["family"], x["name"]) for x in found):
        own = {x["rescaling"]: x for x in found if (x["family"], x["name"]) == (family, name)}
        cells: list[object] = [family, f"`{name}`", next(iter(own.values()))["n"]]
        for label in ("duel", "closed"):
            known = own.get(label)
            cells += (
                ["–", "–"] if known is None
                else [f"{known['violation']:.2f}", f"{known['vacuity']:.2f}"]
            )  # fmt: skip
        rows.append(cells)
    head = ("family", "implication", "items", "violation (duel)", "vacuity (duel)",
            "violation (closed)", "vacuity (closed)")  # fmt: skip
    return table(head, rows)


def symmetry(learning: dict) -> str:
    """Return how the new model learns each theory."""
    rows = []
    for optimiser, name in product(("sgd", "adamw"), ("literals", "iff", "joined", "beside")):
        run = learning["symmetry"][optimiser][name]
        last = len(run["prob_agree"]) - 1
        marks = [0, last // 6, last // 3, last]
        rows.append(
            (
                optimiser, name, f"{run['slope_norm_squared_closed']:.2f}",
                f"{run['slope_norm_squared']:.4f}",
                " ".join(f"{run['prob_agree'][m]:.2f}" for m in marks),
                " ".join(f"{run['prob_both'][m]:.2f}" for m in marks),
            )
        )  # fmt: skip
    steps = "/".join(str(m) for m in marks)
    head = ("optimiser", "theory", "slope² at ½, predicted", "found at step 0",
            f"P(a <-> b) at step {steps}", f"P(a & b) at step {steps}")  # fmt: skip
    return table(head, rows)


def learned(learning: dict) -> str:
    """Return S and share of bits before and after training."""
    runs = ("before", "no anchor", "anchor 1")
    rows = []
    for side, label in product(("train", "held_out"), ("minp", "duel")):
        scores = {
            run: {x["claim"]: x for x in learning["negation"][run][side]
                  if x["rescaling"] == label}
            for run in runs
        }  # fmt: skip
        for claim in scores["before"]:
            own = [scores[run][claim] for run in runs]
            cells = [f"{x['chance_corrected']:+.2f} ({x['share']:+.2f})" for x in own]
            rows.append((side.replace("_", " "), label, f"`{claim}`", *cells))
    return table(("rows", "rescaling", "claim", "before", "after", "after, anchored"), rows)


def perplexities(learning: dict) -> str:
    """Return the perplexity of each text before and after."""
    runs = {"before": "before", "no anchor": "after", "anchor 1": "after, anchored"}
    known = {run: learning["negation"][run]["perplexity"] for run in runs}
    names = {"anchor": "the anchor text", "neutral": "other neutral text", "alice": "a novel"}
    rows = [(title, *(f"{known[run][name]:.1f}" for run in runs)) for name, title in names.items()]
    return table(("text", *runs.values()), rows)


def main(args: Sequence[str]) -> None:
    """Write the page, check it, or make the compact result."""
    read: Callable[[Path], dict] = lambda path: json.loads(path.read_text("utf-8"))  # noqa: E731
    if args[:1] == ["--compact"] and len(args) > 3:
        import pandas as pd

        items = pd.read_parquet(args[2])
        small = compact(read(Path(args[1])), items, [read(Path(name)) for name in args[3:]])
        text = json.dumps(small, ensure_ascii=False, allow_nan=False)
        RESULT.write_text(text.replace('}, {"', '},\n{"') + "\n", "utf-8")
        return
    settle(PAGE, tables(read(RESULT), read(LEARNING)), args)


if __name__ == "__main__":
    main(sys.argv[1:])
