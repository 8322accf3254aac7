"""Write the tables of calibration.md from the results saved beside it.

    python docs/replication/calibration_tables.py             # put the tables into the page
    python docs/replication/calibration_tables.py --check     # fail if the page is stale
    python docs/replication/calibration_tables.py --compact bare=ROWS.parquet prefill=ROWS.parquet \
        answer=ROWS.parquet others=ROWS.parquet remedies=RESULT.json opening=RESULT.json ...

The last form makes calibration-smollm2.json out of what ``likely calibrate --items`` and ``--out``
wrote; ``stated=RESULT.json`` holds what stated_probabilities.py wrote.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pages import settle, short, table

if TYPE_CHECKING:
    import pandas as pd

HERE = Path(__file__).parent
PAGE = HERE / "calibration.md"
RESULT = HERE / "calibration-smollm2.json"
COUNTS = HERE / "number-counts.csv"
MODES = {"bare": "bare text", "prefill": "chat, prefilled", "answer": "chat, asked"}
PAPER = ("colors", "wordproblems", "distributions")
RULES = (
    "best_constant", "higher_0.7", "uniform", "random_1", "pick_higher", "pick_first",
    "pick_middle", "pick_seven",
)  # fmt: skip

# Making the results small.


def compact(given: Mapping[str, Path]) -> dict:
    """Return what the page needs of the results."""
    from likely.calibration.analyses.frequencies import read_counts
    from likely.calibration.analysis import analyse
    from likely.calibration.rows import COLUMNS, frames_of
    from likely.runs.store import read_rows

    counts = read_counts(COUNTS, kind="exact", source="Python's standard library")
    made: dict[str, object] = {"runs": {}}
    for mode in (*MODES, "others"):
        if mode not in given:
            continue
        frame, options = frames_of(read_rows(given[mode], COLUMNS))
        analyses = analyse(frame, counts=counts) if mode != "others" else ()
        made["runs"][mode] = {
            "lines": list(lines_of(frame)),
            "rules": list(rules_of(frame, options)),
            "analyses": [slim(one.to_dict()) for one in analyses],
            "templates": list(template_means(frame)) if mode != "others" else [],
            "digits": list(digits_of(options)) if mode != "others" else [],
            "linked": list(linked(frame)) if mode == "others" else [],
            "coins": list(coin_sides(options)) if mode == "others" else [],
            "names": list(name_shares(frame, options)) if mode == "others" else [],
        }
    for name in ("remedies", "stated", "opening"):
        if name in given:
            made[name] = slim(json.loads(given[name].read_text()))
    return made


def lines_of(frame: "pd.DataFrame") -> Iterator[dict]:
    """Yield each metric of each family with its interval."""
    from likely.calibration.evaluation import estimate_lines

    for family in dict.fromkeys(frame["family"]):
        for line in estimate_lines(frame, family=family):
            if line.estimate is not None:
                yield {
                    "family": family, "metric": line.metric, "n": line.n_items,
                    "estimate": short(line.estimate.to_dict()),
                }  # fmt: skip


def rules_of(frame: "pd.DataFrame", options: "pd.DataFrame") -> Iterator[dict]:
    """Yield what rules score on the same items."""
    import numpy as np

    from likely.calibration.baselines import baseline_table
    from likely.calibration.tables import Targets

    for family in dict.fromkeys(frame["family"]):
        own = options[options["family"] == family]
        sizes = frame.loc[frame["family"] == family, "n_options"].to_numpy()
        targets = Targets(
            offsets=np.concatenate([[0], np.cumsum(sizes)]),
            ideal=own["ideal"].to_numpy(),
            values=own["value"].to_numpy(dtype=np.float64),
        )
        for row in baseline_table(targets, RULES).to_dict("records"):
            found = {name: row[name] for name in ("wd01", "wd_paper", "wd_line_norm", "wd_n")}
            if row["n"]:
                yield {"family": family, "rule": row["baseline"], "n": row["n"]} | {
                    name: None if x != x else short(x) for name, x in found.items()
                }


def template_means(frame: "pd.DataFrame") -> Iterator[dict]:
    """Yield mass and distance by wording."""
    for (family, template), own in frame.groupby(["family", "template"], sort=False):
        yield {
            "family": family, "template": template, "pm": short(float(own["pm"].mean())),
            "wd01": short(float(own["wd01"].mean())),
        }  # fmt: skip


def digits_of(options: "pd.DataFrame") -> Iterator[dict]:
    """Yield share and ideal of integers by their last digit, and by their place in the range."""
    own = options[options["family"] == "distributions"].copy()
    own["digit"] = own["value"].astype(int) % 10
    own["n"] = own.groupby("id")["position"].transform("max") + 1
    own["place"] = own["position"].where(own["position"] < own["n"] - 1, -1)
    for name, kind in (("digit", "last digit"), ("place", "place")):
        for value, part in own.groupby(name):
            yield {
                "kind": kind, "value": int(value), "pi": short(float(part["pi"].mean())),
                "ideal": short(float(part["ideal"].mean())), "n": len(part),
            }  # fmt: skip


def linked(frame: "pd.DataFrame") -> Iterator[dict]:
    """Yield how far items move that are the same question put otherwise."""
    from likely.calibration.analyses.linked import distractor_shift, linked_shifts, scale_error

    found = {
        "scaled": scale_error,
        "distractor": distractor_shift,
        "languages": lambda own: linked_shifts(own, reference="en"),
    }
    for family, shifts_of in found.items():
        own = frame[frame["family"] == family]
        if not len(own):
            continue
        for row in shifts_of(own).rows:
            yield {
                "family": family, "reference": row.reference, "variant": row.variant,
                "n": row.n_items,
                **{
                    name: None if estimate is None else short(estimate.to_dict())
                    for name in ("size", "to_first", "to_higher")
                    for estimate in [getattr(row, name)]
                },
            }  # fmt: skip


def coin_sides(options: "pd.DataFrame") -> Iterator[dict]:
    """Yield the mean share of each side of a coin; the design makes each one half on average."""
    own = options[options["family"] == "coin_bias"]
    for label, part in own.groupby("label", sort=False):
        yield {"side": label, "n": len(part), "pi": short(float(part["pi"].mean()))}


def name_shares(frame: "pd.DataFrame", options: "pd.DataFrame") -> Iterator[dict]:
    """Yield the mean share of each name where every name is as likely as any other."""
    own = options[options["family"] == "uniform_words"]
    kinds = frame.set_index("id")["option_set"]
    for _, part in own.groupby(own["id"].map(kinds), sort=False):
        kind = f"{part['label'].nunique()} names"
        found = part.groupby("label")["pi"].mean().sort_values(ascending=False)
        yield {
            "kind": kind, "n": int(part["id"].nunique()), "ideal": short(1.0 / len(found)),
            "shares": {label: short(float(x)) for label, x in found.items()},
        }  # fmt: skip


def slim(value: object) -> object:
    """Return a result with every estimate and number made short."""
    if isinstance(value, Mapping):
        if {"value", "low", "high", "method"} <= set(value):
            return short(dict(value))
        return {key: slim(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [slim(x) for x in value]
    if hasattr(value, "tolist"):  # an array or a number of numpy
        return slim(value.tolist())
    return short(value)


# Writing the page.


def spread(estimate: Sequence[float] | None, *, sign: bool = False) -> str:
    """Return an estimate with its interval."""
    if estimate is None:
        return "–"
    value, low, high = (f"{x:+.3f}" if sign else f"{x:.3f}" for x in estimate)
    return f"{value} [{low}, {high}]"


def plain(value: float | None, *, sign: bool = False) -> str:
    """Return a number, or a dash."""
    if value is None:
        return "–"
    return f"{value:+.3f}" if sign else f"{value:.3f}"


def tables(result: dict) -> dict[str, str]:
    """Return the tables by the name that the page calls them by."""
    runs = {name: result["runs"][name] for name in MODES if name in result["runs"]}
    made = {
        "mass": by_mode(runs, "pm"),
        "gated": by_mode(runs, "is_gated"),
        "distance": distances(runs),
        "entropy": by_mode(runs, "entropy_gap", sign=True),
        "kept": by_mode(runs, "entropy_kept"),
        "direction": by_mode(runs, "is_direction_right", families=PAPER[:2]),
        "templates": templates(runs),
        "behaviours": behaviours(runs),
        "order": orders(runs),
        "strengths": strengths(runs),
        "variance": variances(runs),
        "frequency": frequencies(runs),
        "digits": digits(runs, "last digit"),
        "places": digits(runs, "place"),
        "families": other_families(result["runs"]["others"]),
        "linked": shifts(result["runs"]["others"]["linked"]),
        "names": names(result["runs"]["others"]["names"]),
        "coins": table(
            ("side", "items", "mean share", "ideal"),
            [
                (x["side"], x["n"], plain(x["pi"]), ".500")
                for x in result["runs"]["others"]["coins"]
            ],
        ),
    }
    if "remedies" in result:
        made["remedies"] = remedies(result["remedies"])
    if "stated" in result:
        made["opening"] = openings(result["stated"]["opening"])
        made["stated"] = stated_table(result["stated"])
    return made


def line(run: dict, family: str, metric: str) -> list[float] | None:
    """Return a line's estimate."""
    for found in run["lines"]:
        if (found["family"], found["metric"]) == (family, metric):
            return found["estimate"]
    return None


def rule(run: dict, family: str, name: str, metric: str) -> float | None:
    """Return what a rule scores."""
    for found in run["rules"]:
        if (found["family"], found["rule"]) == (family, name):
            return found[metric]
    return None


def by_mode(runs: dict, metric: str, *, sign: bool = False, families: Sequence[str] = PAPER) -> str:
    """Return one metric of the three families, a column a mode."""
    return table(
        ("family", *(MODES[mode] for mode in runs)),
        [
            (family, *(spread(line(run, family, metric), sign=sign) for run in runs.values()))
            for family in families
        ],
    )


def distances(runs: dict) -> str:
    """Return the distance of each family beside what rules score."""
    rows = []
    first = next(iter(runs.values()))
    for family, metric in (
        ("colors", "wd01"), ("colors", "wd_paper"), ("wordproblems", "wd01"),
        ("wordproblems", "wd_paper"), ("distributions", "wd01"), ("distributions", "wd_line_norm"),
        ("distributions", "wd_n"),
    ):  # fmt: skip
        rows.append(
            (
                family, f"`{metric}`",
                *(spread(line(run, family, metric)) for run in runs.values()),
                *(plain(rule(first, family, name, metric)) for name in RULES[:6]),
            )
        )  # fmt: skip
    rules = (name.replace("_", " ") for name in RULES[:6])
    return table(("family", "unit", *(MODES[mode] for mode in runs), *rules), rows)


def templates(runs: dict) -> str:
    """Return mass and distance by wording."""
    first = next(iter(runs.values()))["templates"]
    rows = []
    for k, own in enumerate(first):
        found = [run["templates"][k] for run in runs.values()]
        rows.append(
            (own["family"], own["template"], *(f"{x['pm']:.3f} / {x['wd01']:.3f}" for x in found))
        )
    return table(("family", "wording", *(MODES[mode] for mode in runs)), rows)


def analysis(run: dict, family: str) -> dict:
    """Return the analysis of a family."""
    return next(one for one in run["analyses"] if one["family"] == family)


def each(runs: dict) -> Iterator[tuple[str, str, dict]]:
    """Yield family, mode and analysis."""
    for family in PAPER[:2]:
        for mode, run in runs.items():
            yield family, MODES[mode], analysis(run, family)


def behaviours(runs: dict) -> str:
    """Return how many cells are labelled what."""
    rows = []
    for family, mode, one in each(runs):
        for labelling, labels in one["behaviours"].items():
            told = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in labels.items())
            rows.append((family, mode, labelling, told))
    return table(("family", "mode", "labelled by", "cells"), rows)


def orders(runs: dict) -> str:
    """Return where the model stands between numbers and order."""
    rows = []
    for family, mode, one in each(runs):
        fit = one["regression"]["line"] if one["regression"] else None
        order = one["order"]["delta"] if one["order"] else None
        rows.append(
            (
                family, mode, plain(one["plane_any_mass"]["a"]), plain(one["plane_any_mass"]["b"]),
                spread(fit["beta"], sign=True) if fit else "–",
                spread(fit["alpha"], sign=True) if fit else "–",
                spread(order, sign=True),
                plain(one["reliability"]["ece"]),
            )
        )  # fmt: skip
    head = ("family", "mode", "a", "b", "slope", "position, nats", "order effect", "ECE")
    return table(head, rows)


def strengths(runs: dict) -> str:
    """Return the strengths of colours."""
    found = {mode: analysis(run, "colors")["strengths"]["strengths"] for mode, run in runs.items()}
    first = next(iter(found.values()))
    rows = [(name, *(spread(found[mode][name], sign=True) for mode in runs)) for name in first]
    return table(("colour", *(MODES[mode] for mode in runs)), rows)


def variances(runs: dict) -> str:
    """Return shares of variance, in percent."""
    names = [
        term["name"] for term in analysis(next(iter(runs.values())), "colors")["variance"]["terms"]
    ]
    rows = []
    for family, mode, one in each(runs):
        if one["variance"] is None:
            continue
        found = {term["name"]: term["share"] for term in one["variance"]["terms"]}
        rest = one["variance"]["residual"] / one["variance"]["total"]
        rows.append((family, mode, *(f"{found[name]:.1%}" for name in names), f"{rest:.1%}"))
    return table(("family", "mode", *names, "rest"), rows)


def frequencies(runs: dict) -> str:
    """Return the frequency analysis beside its nulls."""
    rows = []
    for family, mode, one in each(runs):
        if one["frequency"] is None:
            continue
        for scale, found in one["frequency"]["by_scale"].items():
            nulls = found["nulls"]
            rows.append(
                (
                    family, mode, scale, spread(found["spearman"], sign=True),
                    plain(nulls["itself"], sign=True), plain(nulls["uniform"], sign=True),
                    plain(nulls["higher"], sign=True), spread(found["partial_spearman"], sign=True),
                    plain(found["permuted_p"]),
                )
            )  # fmt: skip
    head = ("family", "mode", "scale", "raw", "null", "Uniform", "Pick Higher", "partial", "p")
    return table(head, rows)


def digits(runs: dict, kind: str) -> str:
    """Return share against ideal by digit or place."""
    first = [x for x in next(iter(runs.values()))["digits"] if x["kind"] == kind]
    names = {x["value"]: str(x["value"]) for x in first}
    if kind == "place":
        names = {value: "last" if value == -1 else str(value + 1) for value in names}
    keys = [value for value in names if value != -1 and value < 8] + ([-1] if -1 in names else [])
    keys = list(names) if kind == "last digit" else keys
    rows = []
    for mode, run in runs.items():
        found = {x["value"]: x for x in run["digits"] if x["kind"] == kind}
        rows.append((MODES[mode], *(plain(found[key]["pi"]) for key in keys)))
    ideal = {x["value"]: x["ideal"] for x in first}
    rows.append(("ideal", *(plain(ideal[key]) for key in keys)))
    return table((kind, *(names[key] for key in keys)), rows)


def remedies(result: dict) -> str:
    """Return each remedy before and after."""
    rows = []
    for family, report in result["remedies"].items():
        for one in report.get("results", ()):
            change = one["changes"].get("wd01")
            if change is None:
                continue
            rows.append(
                (
                    family, one["name"].replace("_", " "), plain(change["before"][0]),
                    plain(change["after"][0]), spread(change["difference"], sign=True),
                    plain(one["changes"]["entropy_gap"]["after"][0], sign=True),
                )
            )  # fmt: skip
    return table(("family", "remedy", "wd01 before", "after", "difference", "RE after"), rows)


def other_families(run: dict) -> str:
    """Return the other families in one line each."""
    rows = []
    for family in dict.fromkeys(found["family"] for found in run["lines"]):
        n = next(found["n"] for found in run["lines"] if found["family"] == family)
        rows.append(
            (
                f"`{family}`", n, spread(line(run, family, "pm")),
                spread(line(run, family, "wd01")),
                plain(rule(run, family, "best_constant", "wd01")),
                plain(rule(run, family, "uniform", "wd01")),
                plain(rule(run, family, "pick_higher", "wd01")),
                spread(line(run, family, "entropy_gap"), sign=True),
            )
        )  # fmt: skip
    head = ("family", "items", "PM", "wd01", "best constant", "uniform", "pick higher", "RE, bits")
    return table(head, rows)


def shifts(found: Sequence[dict]) -> str:
    """Return how far linked items move."""
    rows = [
        (x["family"], x["reference"], x["variant"], x["n"], spread(x["size"]),
         spread(x["to_first"], sign=True), spread(x["to_higher"], sign=True))
        for x in found
    ]  # fmt: skip
    head = (
        "family", "from", "to", "pairs", "mean shift", "towards the first", "towards the likelier",
    )  # fmt: skip
    return table(head, rows)


def names(found: Sequence[dict]) -> str:
    """Return the favourites among names that are equally likely."""
    rows = []
    for x in found:
        told = list(x["shares"].items())
        most = ", ".join(f"{label} {share:.2f}" for label, share in told[: min(3, len(told) - 2)])
        least = ", ".join(f"{label} {share:.3f}" for label, share in told[-2:])
        rows.append((x["kind"], x["n"], plain(x["ideal"]), most, least))
    return table(("names", "items", "ideal each", "most", "least"), rows)


def openings(found: Sequence[dict]) -> str:
    """Return the share of red with 98 blue and 99 red things."""
    wordings = list(dict.fromkeys(x["template"] for x in found))
    rows = []
    for first in ("blue", "red"):
        own = {x["template"]: x for x in found if x["first"] == first}
        rows.append(
            (
                f"{first} named first",
                *(f"{own[name]['red']:.3f} (PM {own[name]['pm']:.2g})" for name in wordings),
            )
        )
    return table(("red, 99/197 = .503", *wordings), rows)


def stated_table(result: dict) -> str:
    """Return the gaps between stated, revealed and true probabilities."""
    rows = []
    for mode, name in (("none", "bare text"), ("answer", "chat, asked")):
        one = result[mode]
        for figure in ("mean", "mode"):
            gaps = (
                one[figure][key] for key in ("stated_ideal", "revealed_ideal", "stated_revealed")
            )
            rows.append(
                (
                    name, figure, plain(one["mass_of_percentages"]), plain(one["mass_of_options"]),
                    *(spread(gap["size"]) for gap in gaps),
                )
            )  # fmt: skip
    head = (
        "asked", "stated by", "mass on 0 to 100", "mass on options", "stated - true",
        "revealed - true", "stated - revealed",
    )  # fmt: skip
    return table(head, rows)


def main(arguments: Sequence[str]) -> None:
    """Write the page, check it, or make the compact result."""
    if arguments[:1] == ["--compact"]:
        given = dict(argument.split("=", 1) for argument in arguments[1:])
        made = compact({name: Path(path) for name, path in given.items()})
        text = json.dumps(made, allow_nan=False, separators=(",", ":"))
        RESULT.write_text(text + "\n", "utf-8")
        return
    settle(PAGE, tables(json.loads(RESULT.read_text("utf-8"))), arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
