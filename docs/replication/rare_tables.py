"""Write the tables of rare-bench.md, and those of rare.md that it asks for, from stored rows.

    likely rare-bench --preset lite --out lite.json           # an hour or more
    python docs/replication/rare_tables.py --rows lite.json   # rare-rows.parquet, small
    python docs/replication/rare_tables.py --truths           # judge by the truths there are now
    python docs/replication/rare_tables.py                    # put the tables into the pages
    python docs/replication/rare_tables.py --check            # fail if a page is stale
    python docs/replication/rare_tables.py --figures          # those of equal calls, docs/images

A comparison may be made in parts, such as a model each: give --rows all of its documents. Every
number of a run that the pages show between marks is made here.
"""

import itertools
import json
import math
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pages import table

import likely
from likely import rare
from likely.rare.bench.plan import ARMS, MODELS
from likely.rare.bench.running import Row
from likely.rare.bench.summary import (
    MethodSummary,
    constant_left_out,
    constant_losses,
    losses,
    summarise,
    summarise_decades,
    targets_of,
    truth_noise,
)
from likely.rare.bench.targets import BenchTarget, bench_target
from likely.report.figures.drawing import Missing, image
from likely.report.figures.rare.gallery import draw_all
from likely.report.figures.rare.loss_alpha import loss_against_alpha

HERE = Path(__file__).parent
PAGES = (HERE / "rare-bench.md", HERE / "rare.md")
ROWS = HERE / "rare-rows.parquet"
IMAGES = HERE.parent / "images"

KEY = ["model", "distribution", "token"]
TEXTS = ("arm", "model", "distribution", "method", "text", "quantity")
COUNTS = (
    "seed", "token", "stems", "budget", "n_targets", "forwards", "gradients",
)  # fmt: skip
NUMBERS = ("truth", "low", "high", "log_prob", "log_low", "log_high", "seconds")
MARK = re.compile(r"<!-- table (bench_\w+) -->\n.*?<!-- end -->", re.S)


def packed(documents: Sequence[Path]) -> pa.Table:
    """Return the rows of the documents of one comparison as a small table.

    Numbers are kept as 32-bit floats, seven digits: their intervals are far wider.
    """
    found = [json.loads(path.read_text("utf-8")) for path in documents]
    plans = [one["comparison"] for one in found]
    shared = {name: plans[0][name] for name in plans[0] if name != "models"}
    for one in plans[1:]:
        differs = [name for name in shared if one[name] != shared[name]]
        if differs:
            sys.exit(f"the documents are of other comparisons: they differ in {differs}")
    rows = [row for one in found for row in one["estimates"]]
    columns: dict[str, pa.Array] = {name: pa.array([row[name] for row in rows]) for name in TEXTS}
    columns |= {name: pa.array([row[name] for row in rows], pa.int32()) for name in COUNTS}
    columns |= {
        name: pa.array([float(row[name]) for row in rows], pa.float32()) for name in NUMBERS
    }
    head = {
        **shared,
        "models": sorted({row["model"] for row in rows}),
        "likely": found[0]["likely"],
    }
    return pa.table(columns).replace_schema_metadata({"comparison": json.dumps(head)})


def with_truths(found: pa.Table) -> pa.Table:
    """Return rows beside the truths that the package has now, which may rest on more inputs."""
    keys = [tuple(row.values()) for row in found.select(KEY).to_pylist()]
    known: dict[tuple[str, str, int], BenchTarget] = {}
    for model_name, law_name in {(one, other) for one, other, _ in keys}:
        model = likely.load(model_name)
        truth = rare.stored_truth(model, rare.distribution(law_name, model))
        if truth is None:
            sys.exit(f"the package has no truth of {model_name} under {law_name}")
        for key in {key for key in keys if key[:2] == (model_name, law_name)}:
            known[key] = bench_target(model, truth, key[2])
    for name in ("truth", "low", "high", "stems"):
        at = found.schema.get_field_index(name)
        column = pa.array([getattr(known[key], name) for key in keys], found.schema.field(at).type)
        found = found.set_column(at, name, column)
    return found


def keep(found: pa.Table) -> None:
    """Write the rows of a comparison, small."""
    pq.write_table(found, ROWS, compression="zstd", compression_level=19)


def stored(path: Path = ROWS) -> tuple[list[Row], dict]:
    """Return the rows of a comparison and its plan."""
    found = pq.read_table(path)
    plan = json.loads((found.schema.metadata or {})[b"comparison"])
    rows: list[Row] = [{**row, "levels": "", "warnings": ""} for row in found.to_pylist()]
    return rows, plan


def estimates_at_equal_calls(method: str) -> list[Row]:
    """Return what a method says at an equal budget of calls."""
    return [row for row in stored()[0] if (row["arm"], row["method"]) == ("calls", method)]


def number(value: float | None) -> str:
    """Return a loss in three figures."""
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞"
    if value == 0.0:
        return "0"
    if not 1e-3 <= abs(value) < 1e5:
        return f"{value:.1e}"
    return f"{float(f'{value:.3g}'):,.{max(0, 2 - math.floor(math.log10(value)))}f}"


def signed(decades: float) -> str:
    """Return a bias."""
    return "−∞" if decades == -math.inf else f"{decades:+.2f}".replace("-", "−")


def power(prob: float) -> str:
    """Return an edge of a decade."""
    return f"10<sup>{round(math.log10(prob))}</sup>".replace("-", "−")


def name_of(method: str, fitted: set[str]) -> str:
    """Return a method with a star where it estimates under a fitted law."""
    return f"{method} \\*" if method in fitted else method


class Comparison:
    """The rows of a comparison with all that the tables are made of."""

    def __init__(self, rows: list[Row], plan: dict) -> None:
        self.rows, self.plan = rows, plan
        self.summaries = summarise(rows)
        self.decades = summarise_decades(rows, plan["decades"])
        self.fitted = {str(row["method"]) for row in rows if row["quantity"] == "activations"}
        self.models = tuple(dict.fromkeys(str(row["model"]) for row in rows))
        self.arms = tuple(dict.fromkeys(str(row["arm"]) for row in rows))

    def group(self, arm: str, models: tuple[str, ...]) -> list[MethodSummary]:
        """Return the methods in the order of SPB 1.5."""
        own = [one for one in self.summaries if (one.arm, one.models) == (arm, models)]
        return sorted(own, key=lambda one: one.losses["SPB 1.5"].mean)

    def setting(self) -> str:
        """Return what was compared."""
        plan, rows = self.plan, self.rows
        targets = targets_of(rows)
        stems = [int(own[0]["stems"]) for own in targets.values()]
        options = ", ".join(f"{m} {n} = {v}" for m, n, v in plan["options"]) or "the usual ones"
        lines = [
            ("models", ", ".join(self.models)),
            ("laws of inputs", ", ".join(dict.fromkeys(str(r["distribution"]) for r in rows))),
            ("targets", f"{len(targets):,}, drawn from each decade of each model and law"),
            ("estimates of a target", f"{plan['seeds']} seeds by each method"),
            ("budget", f"{plan['budget']:,} model calls a target"),
            ("options of methods", options),
            (
                "truths rest on",
                f"{min(stems):,} to {max(stems):,} random beginnings of inputs with a hit",
            ),
            ("logMSE of the right probabilities from these truths", number(truth_noise(rows))),
            ("version of likely", plan["likely"]),
        ]
        return table(["", ""], lines)

    def counts(self) -> str:
        """Return the targets of each model in each decade."""
        edges = self._edges()
        rows = []
        for model in self.models:
            truths = [
                float(own[0]["truth"])
                for (name, _, _), own in targets_of(self.rows).items()
                if name == model
            ]
            rows.append([model, *(sum(low <= q < high for q in truths) for low, high in edges)])
        return table(["model", *(f"{power(a)} to {power(b)}" for a, b in edges)], rows)

    def _edges(self) -> list[tuple[float, float]]:
        decades = self.plan["decades"]
        return list(itertools.pairwise(decades))

    def methods(self, arm: str, models: tuple[str, ...]) -> str:
        """Return errors of all methods."""
        rows = [
            [
                name_of(one.method, self.fitted), f"{one.zero_rate:.0%}", signed(one.bias),
                number(one.spread), f"{one.coverage:.0%}",
                number(one.losses["logMSE"].mean)
                + (f" ± {number(one.log_error)}" if one.log_error is not None else ""),
                number(one.losses["logMSE"].mean_without_zeros), number(one.left_out_is),
                number(one.losses["SPB 1.5"].mean),
            ]
            for one in self.group(arm, models)
        ]  # fmt: skip
        head = [
            "method", "zeros", "bias, decades", "spread, decades", "intervals hold",
            "logMSE, nats²", "logMSE, zeros left out", "IS fitted, left out", "SPB 1.5",
        ]  # fmt: skip
        return table(head, rows)

    def zeros(self, arm: str) -> str:
        """Return losses that one zero or one far target decides, beside what it does not."""
        names = ("logMSE", "IS", "SPB 2")
        rows = [
            [
                name_of(one.method, self.fitted), f"{one.zero_rate:.0%}",
                *(
                    number(x)
                    for name in names
                    for loss in [one.losses[name]]
                    for x in (loss.mean, loss.median, loss.mean_without_zeros)
                ),
                number(one.fitted_is), number(one.left_out_is),
            ]
            for one in self.group(arm, self.models)
        ]  # fmt: skip
        head = [f"{name}{what}" for name in names for what in ("", " median", ", zeros left out")]
        return table(["method", "zeros", *head, "IS fitted", "IS fitted, left out"], rows)

    def losses(self, arm: str) -> str:
        """Return the losses that stand a zero."""
        names = [name for name in losses() if name.startswith("SPB")]
        rows = [
            [name_of(one.method, self.fitted), *(number(one.losses[n].mean) for n in names)]
            for one in self.group(arm, self.models)
        ]
        return table(["method", *names], rows)

    def costs(self, arm: str) -> str:
        """Return calls and seconds of a target and of a run."""
        rows = [
            [
                name_of(one.method, self.fitted), f"{one.calls:,.0f}", number(one.seconds),
                f"{one.run_calls:,.0f}", number(one.run_seconds),
            ]
            for one in self.group(arm, self.models)
        ]  # fmt: skip
        head = ["method", "calls a target", "s a target", "calls a run", "s a run"]
        return table(head, rows)

    def by_decade(self, arm: str) -> str:
        """Return bias and zeros decade by decade."""
        own = {(one.method, one.low): one for one in self.decades if one.arm == arm}
        edges = [edge for edge in self._edges() if any(low == edge[0] for _, low in own)]
        rows = []
        for one in self.group(arm, self.models):
            cells = [own.get((one.method, low)) for low, _ in edges]
            told = ["–" if c is None else f"{signed(c.bias)} ({c.zero_rate:.0%})" for c in cells]
            rows.append([name_of(one.method, self.fitted), *told])
        return table(["method", *(f"{power(a)} to {power(b)}" for a, b in edges)], rows)

    def winners(self, arm: str) -> str:
        """Return the method of the least loss, and the loss of the best constant.

        The loss of each target mapped by the others stands beside that of constants so made.
        """
        read: dict[str, Callable[[MethodSummary], float | None]] = {
            "logMSE": lambda one: one.losses["logMSE"].mean,
            **{
                f"SPB {alpha}": (lambda one, a=alpha: one.losses[f"SPB {a}"].mean)
                for alpha in ("1", "1.5", "2", "2.5")
            },
            "IS fitted, left out": lambda one: one.left_out_is,
        }
        rows = []
        for models in dict.fromkeys([self.models, *((model,) for model in self.models)]):
            own = [row for row in self.rows if row["arm"] == arm and row["model"] in models]
            constant = constant_losses(own)
            cells = []
            for name, of in read.items():
                known = [(x, m.method) for m in self.group(arm, models) if (x := of(m)) is not None]
                least, method = min(known, default=(math.inf, ""))
                runs = [row for row in own if row["method"] == method]
                best = constant[name] if name in constant else constant_left_out(runs)
                told = f"{name_of(method, self.fitted)} {number(least)} ({number(best)})"
                cells.append("–" if math.isinf(least) else told)
            rows.append(["all" if models == self.models else models[0], *cells])
        return table(["targets of", *read], rows)

    def flips(self) -> str:
        """Return where the best method changes with alpha, without a premium."""
        drawn = loss_against_alpha(self.rows, "calls")
        if isinstance(drawn, Missing):
            return drawn.reason
        best = drawn.data[(drawn.data["kind"] == "best") & (drawn.data["gamma"] == 0.0)]
        alphas, names = best["alpha"].to_numpy(), best["method"].to_numpy()
        starts = [0, *(np.flatnonzero(names[1:] != names[:-1]) + 1).tolist()]
        ends = [*(start - 1 for start in starts[1:]), len(names) - 1]
        sure = best["sure"].astype(bool).to_numpy()
        rows = [
            [
                f"{alphas[a]:.2f} to {alphas[b]:.2f}", name_of(str(names[a]), self.fitted),
                f"{sure[a : b + 1].mean():.0%}",
            ]
            for a, b in zip(starts, ends, strict=True)
        ]  # fmt: skip
        return table(
            ["alpha", "least mean loss", "of that stretch, leads in 95 % of resamples"], rows
        )

    def tables(self) -> dict[str, str]:
        """Return every table by its name."""
        found = {
            "bench_setting": self.setting(), "bench_counts": self.counts(),
            "bench_flips": self.flips(),
        }  # fmt: skip
        parts = ("methods", "losses", "zeros", "costs", "decades", "winners")
        models = [model.replace("-", "_") for model in MODELS]
        found |= {f"bench_{part}_{arm}": "Not run." for part in (*parts, *models) for arm in ARMS}
        for arm in self.arms:
            found[f"bench_methods_{arm}"] = self.methods(arm, self.models)
            found[f"bench_losses_{arm}"] = self.losses(arm)
            found[f"bench_zeros_{arm}"] = self.zeros(arm)
            found[f"bench_costs_{arm}"] = self.costs(arm)
            found[f"bench_decades_{arm}"] = self.by_decade(arm)
            found[f"bench_winners_{arm}"] = self.winners(arm)
            for model in self.models:
                key = f"bench_{model.replace('-', '_')}_{arm}"
                found[key] = self.methods(arm, (model,))
        return found


def filled(page: str, found: dict[str, str]) -> str:
    """Return a page with every table between marks of this script replaced."""

    def put(match: re.Match[str]) -> str:
        if match[1] not in found:
            sys.exit(f"no table is called {match[1]}; there are {sorted(found)}")
        return f"<!-- table {match[1]} -->\n{found[match[1]]}\n<!-- end -->"

    return MARK.sub(put, page)


def main(arguments: Sequence[str]) -> None:
    """Do what the head of this file says."""
    if arguments[:1] == ["--rows"] and len(arguments) > 1:
        keep(packed([Path(path) for path in arguments[1:]]))
        return
    if arguments == ["--truths"]:
        keep(with_truths(pq.read_table(ROWS)))
        return
    if arguments not in ([], ["--check"], ["--figures"]):
        sys.exit(f"unknown arguments {list(arguments)}; see the head of this file")
    rows, plan = stored()
    if arguments == ["--figures"]:
        for one in draw_all(rows)[:-1]:
            if not isinstance(one, Missing) and one.name.endswith("-calls"):
                (IMAGES / f"rare-{one.name}.png").write_bytes(image(one, "png"))
        return
    tables = Comparison(rows, plan).tables()
    for path in PAGES:
        if not path.exists():
            continue
        old = path.read_text("utf-8")
        new = filled(old, tables)
        if new != old and arguments:
            sys.exit(f"{path} is stale; run: python {Path(__file__).name}")
        path.write_text(new, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
