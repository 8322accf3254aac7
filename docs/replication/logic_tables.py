"""Write the tables of logic.md from the results saved beside it.

    python docs/replication/logic_tables.py                       # put the tables into the page
    python docs/replication/logic_tables.py --check               # fail if the page is stale
    python docs/replication/logic_tables.py --compact RESULT.json EVALUATION.json ...

The last form makes probct-smollm2.json out of what `ProbCT.to_json` and `Evaluation.to_json` (of
the families without controls) give.
"""

import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE / "logic.md"
RESULT = HERE / "probct-smollm2.json"
LEARNING = HERE / "learning.json"
KEPT = ("prob", "chance_corrected", "earned", "kept")
FAMILIES = (
    "negation", "exclusivity", "paraphrase", "implication", "relations", "partition", "antonyms",
)  # fmt: skip
LABELS = ("duel", "minp", "identity", "closed")
MOST_EVENTS = 12


# Making the result small.


def compact(result: dict, evaluations: Sequence[dict]) -> dict:
    """Return what the page needs of a result."""
    return {
        "model": result["model"],
        "fingerprint": result["fingerprint"],
        "rescalings": result["rescalings"],
        "digests": result["digests"],
        "n_items": result["n_items"],
        "cost": {key: result["cost"][key] for key in ("token_evaluations", "seconds")},
        "lines": [
            {k: short(v) for k, v in line.items() if v is not None} for line in result["lines"]
        ],
        "findings": [{k: short(v) for k, v in found.items()} for found in result["findings"]],
        "orderings": [row for e in evaluations for row in orderings(e)],
        "conditionals": [row for e in evaluations for row in conditionals(e)],
        "closes": [row for e in evaluations for row in closes(e)],
        "bounds": [row for e in evaluations for row in bounds(e)],
    }


def short(value: object) -> object:
    """Return an estimate as its three numbers, and numbers with five digits."""
    if isinstance(value, dict):
        return [short(value[key]) for key in ("value", "low", "high")]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def orderings(evaluation: dict) -> Iterator[dict]:
    """Yield for each ordering how often the event that should be the likelier one is so."""
    for name in dict.fromkeys(score["name"] for score in evaluation["orderings"]):
        own = [s for s in evaluation["orderings"] if s["name"] == name]
        is_right = [float(float(s["log_ratio"]) > 0.0) for s in own]  # "-inf" is a number to float
        yield {
            "family": evaluation["theory"], "name": name, "n": len(own),
            "right": short(mean(is_right)),
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


def closes(evaluation: dict) -> Iterator[dict]:
    """Yield the mean probability of CLOSE, by itself and given each claim."""
    found = [score for score in evaluation["queries"] if score["name"] == "CLOSE"]
    for label in evaluation["rescalings"]:
        alone = [s["prob"][label] for s in found if label in s["prob"]]
        if not alone:
            continue
        given = [s["given"].get(label, {}) for s in found]
        names = dict.fromkeys(name for each in given for name in each)
        yield {
            "family": evaluation["theory"], "rescaling": label, "prob": short(mean(alone)),
            "given": {
                n: short(mean([each[n] for each in given if n in each])) for n in names
            },
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
        "controls": controls(lines),
        "claims": claims(lines),
        "hypotheses": hypotheses(result["findings"]),
        "orderings": table(
            ("family", "ordering", "items", "right"),
            [(x["family"], f"`{x['name']}`", x["n"], f"{x['right']:.0%}")
             for x in result["orderings"]],
        ),
        "conditionals": conditional_table(result["conditionals"]),
        "closes": close_table(result["closes"]),
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


def table(head: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


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


def controls(lines: dict) -> str:
    """Return S of the families beside that of their controls."""
    rows = []
    for family, label in product(FAMILIES, LABELS):
        own = [
            lines.get((family, control, None, label), {}).get("chance_corrected")
            for control in ("none", "shuffled", "nonsense")
        ]
        rows.append((family, label, *map(spread, own)))
    return table(("family", "rescaling", "itself", "answers shuffled", "made-up words"), rows)


def claims(lines: dict) -> str:
    """Return S of every claim under every rescaling, and the null of the first one."""
    rows = []
    for family in FAMILIES:
        names = dict.fromkeys(c for f, k, c, _ in lines if (f, k) == (family, "none") and c)
        for name in names:
            own = [lines[family, "none", name, label] for label in LABELS
                   if (family, "none", name, label) in lines]  # fmt: skip
            by_label = {x["rescaling"]: x for x in own}
            zs = [by_label.get(label, {}).get("null_z") for label in LABELS[:2]]
            rows.append(
                (
                    family, f"`{name}`", own[0]["n_items"],
                    *(spread(by_label.get(label, {}).get("chance_corrected")) for label in LABELS),
                    " / ".join("–" if z is None else f"{z:+.1f}" for z in zs),
                )
            )  # fmt: skip
    return table(("family", "claim", "items", *LABELS, "null z (duel / minp)"), rows)


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


def close_table(found: Sequence[dict]) -> str:
    """Return the probability of CLOSE, by itself and given claims that do not settle it."""
    rows = [
        (x["family"], x["rescaling"], f"{x['prob']:.3f}",
         ", ".join(f"`{name}` {value:.2f}" for name, value in x["given"].items()))
        for x in found
    ]  # fmt: skip
    return table(("family", "rescaling", "P(CLOSE)", "P(CLOSE given ...)"), rows)


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


def filled(page: str, found: dict[str, str]) -> str:
    """Return the page with every table between its marks replaced."""

    def put(match: re.Match[str]) -> str:
        return f"<!-- table {match[1]} -->\n{found[match[1]]}\n<!-- end -->"

    return re.sub(r"<!-- table (\w+) -->\n.*?<!-- end -->", put, page, flags=re.S)


def main(args: Sequence[str]) -> None:
    """Write the page, check it, or make the compact result."""
    read: Callable[[Path], dict] = lambda path: json.loads(path.read_text("utf-8"))  # noqa: E731
    if args[:1] == ["--compact"] and len(args) > 1:
        small = compact(read(Path(args[1])), [read(Path(name)) for name in args[2:]])
        text = json.dumps(small, ensure_ascii=False, allow_nan=False)
        RESULT.write_text(text.replace('}, {"', '},\n{"') + "\n", "utf-8")
        return
    old = PAGE.read_text("utf-8")
    new = filled(old, tables(read(RESULT), read(LEARNING)))
    if list(args) == ["--check"]:
        if new != old:
            sys.exit(f"{PAGE} is stale; run: python {Path(__file__).name}")
    elif args:
        sys.exit(f"unknown arguments {list(args)}; see the head of {Path(__file__).name}")
    else:
        PAGE.write_text(new, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
