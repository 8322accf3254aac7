"""``likely rare``: how likely is an output that nobody has seen?"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from likely.cli.deliver import Result, deliver, document, load_model, model_part, out_path
from likely.cli.flags import ModelChoice, Output
from likely.cli.progress import TokenMeter, waiting
from likely.cli.rare_screen import columns, rows, screen_lines
from likely.core.model import LanguageModel
from likely.errors import InputError
from likely.rare.estimation import estimate_many
from likely.rare.event import Event, any_of, continuation, token
from likely.rare.ground_truth import Truth, truth
from likely.rare.inputs import InputDistribution, independent, listed
from likely.rare.method import Method, make_method
from likely.rare.named import DISTRIBUTIONS
from likely.rare.result import RareEstimate
from likely.rare.stored_truths import stored_truth
from likely.runs.items import check_text, read_text
from likely.runs.store import write_bytes, write_rows

SUFFIXES = (".json", ".html", ".csv", ".parquet", ".jsonl")
_BY_ID = re.compile(r"#(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """Which inputs the model reads, one of three ways."""

    distribution: Annotated[
        str | None,
        typer.Option(
            "--distribution",
            metavar="NAME",
            help="hex, camel, indent, ifelse, caps, english, spanish or icl.",
        ),
    ] = None
    inputs: Annotated[
        Path | None,
        typer.Option(
            "--inputs",
            metavar="FILE.json",
            help='A law of your own: a list with one {"token": weight, ...} for each place, or a '
            "list of texts that are drawn alike.",
        ),
    ] = None
    corpus: Annotated[
        str | None,
        typer.Option(
            "--corpus",
            metavar="NAME|FILE",
            help="Windows cut from a corpus (code, english, spanish) or from a UTF-8 text.",
        ),
    ] = None
    length: Annotated[
        int | None,
        typer.Option(
            "--length", metavar="N", min=1, help="Tokens of a window, or places of a named law."
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """What must happen; each flag may be given several times."""

    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target", metavar="TOKEN", help="The argmax is this token: its text, or #ID."
        ),
    ] = None
    any_of: Annotated[
        list[str] | None,
        typer.Option("--any-of", metavar="A|B|...", help="The argmax is one of these tokens."),
    ] = None
    continuation: Annotated[
        list[str] | None,
        typer.Option("--continuation", metavar="TEXT", help="The greedy answer begins so."),
    ] = None
    above: Annotated[
        float,
        typer.Option(
            "--above",
            metavar="NATS",
            help="They must lead all other tokens by more than this; negative for coming so near.",
        ),
    ] = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How it is estimated, and with how much."""

    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="ga-amls, qld or gld (from activations), itgis or mhis (with gradients), "
            "amls-inputs, proposal, forecast or naive (any model); docs/rare.md tells them apart.",
        ),
    ] = "ga-amls"
    budget: Annotated[
        int,
        typer.Option(
            "--budget",
            metavar="CALLS",
            min=1,
            help="Inputs read for each event. 8,192 answer in seconds on a small model; published "
            "comparisons have 65,536.",
        ),
    ] = 8192
    level: Annotated[
        float, typer.Option("--level", metavar="P", help="Coverage of the intervals.")
    ] = 0.95
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option", metavar="NAME=VALUE", help="An option of the method, such as tail=gpd."
        ),
    ] = None
    proposal: Annotated[
        Path | None,
        typer.Option(
            "--proposal",
            metavar="FILE.json",
            help="The law that method proposal draws from, written as for --inputs.",
        ),
    ] = None
    truth: Annotated[
        int | None,
        typer.Option(
            "--truth",
            metavar="N",
            min=1,
            help="Also count the truth, from N inputs or more; exact if the law has no more.",
        ),
    ] = None


def rare(law: Law, events: Events, effort: Effort, model: ModelChoice, output: Output) -> None:
    """Estimate how likely an output is that nobody has seen, over inputs of a stated law.

    Give the law with --distribution, --inputs or --corpus, and what must happen with --target,
    --any-of or --continuation. An estimate of 0 comes with an upper limit, and what a reader must
    doubt stands below the table. --out writes .json (read back by likely.rare), .html, or the
    table as .csv, .parquet or .jsonl.
    """
    _check_usage(law, events, effort)
    options = _options(effort.option)
    method = None if effort.proposal else make_method(effort.method, options)
    if law.distribution is not None:
        DISTRIBUTIONS.load(law.distribution)
    path = out_path(output, name=f"rare {model.model}", suffixes=SUFFIXES)
    loaded = load_model(model, output)
    with waiting("making the law of inputs", quiet=output.quiet):
        inputs = _law(law, loaded, seed=output.seed)
    asked = _events(events, loaded)
    if effort.proposal is not None:
        options["proposal"] = _own_law(effort.proposal, loaded)
    method = method or make_method(effort.method, options)
    with TokenMeter("reading", quiet=output.quiet, then="estimating") as meter:
        meter.expect(_expected_tokens(method, inputs, len(asked), effort.budget))
        found = estimate_many(
            loaded, inputs, asked, method=method, budget=effort.budget, seed=output.seed,
            level=effort.level, progress=meter,
        )  # fmt: skip
        known = stored_truth(loaded, inputs)
        if effort.truth is not None:
            known = truth(loaded, inputs, n=effort.truth, seed=output.seed)
    if path is not None and path.suffix != ".json":
        _write(found, known, path)
    result = Result(
        document=document(
            "rare", output, model=model_part(loaded), distribution=_law_part(inputs),
            estimates=[one.to_dict() for one in found],
            truth=[_truth_part(known, one.event, effort.level) for one in found],
        ),
        lines=screen_lines(loaded, inputs, found, known),
    )  # fmt: skip
    deliver(result, output, path, is_written=path is not None and path.suffix != ".json")


def _check_usage(law: Law, events: Events, effort: Effort) -> None:
    laws = [x for x in (law.distribution, law.inputs, law.corpus) if x is not None]
    if len(laws) != 1:
        raise typer.BadParameter(
            f"give one of --distribution, --inputs and --corpus; got {len(laws)} of them"
        )
    if law.inputs is not None and law.length is not None:
        raise typer.BadParameter("--length goes with --distribution or --corpus")
    if (effort.proposal is not None) != (effort.method == "proposal"):
        raise typer.BadParameter("--method proposal and --proposal FILE.json go together")
    if not any((events.target, events.any_of, events.continuation)):
        raise typer.BadParameter("give --target, --any-of or --continuation at least once")


def _options(given: Sequence[str] | None) -> dict[str, object]:
    """Return options of a method, their values as JSON where they are or ``inf``, else as text."""
    found: dict[str, object] = {}
    for one in given or ():
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"is NAME=VALUE, got {one!r}", param_hint="--option")
        try:
            found[name] = json.loads(value)
        except json.JSONDecodeError:
            found[name] = math.inf if value == "inf" else value
    return found


def _law(law: Law, model: LanguageModel, *, seed: int) -> InputDistribution:
    from likely.rare.named import distribution
    from likely.rare.windows import prefixes

    if law.inputs is not None:
        return _own_law(law.inputs, model)
    if law.corpus is not None:
        is_file = Path(law.corpus).is_file()
        texts = [read_text(Path(law.corpus))] if is_file else law.corpus
        return prefixes(texts, model, length=law.length or 32, seed=seed)
    return distribution(law.distribution or "", model, length=law.length)


def _own_law(path: Path, model: LanguageModel) -> InputDistribution:
    try:
        data = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{str(path)!r} is no JSON: {error}") from error
    if isinstance(data, list) and data and all(isinstance(one, dict) for one in data):
        return independent([_weights(one, path) for one in data], model, name=path.stem)
    if isinstance(data, list) and data and all(isinstance(one, str) for one in data):
        bos = [] if model.info.bos_id is None else [model.info.bos_id]
        return listed(
            [[*bos, *model.tokenizer.encode(one).tokens] for one in data], model, name=path.stem
        )
    raise InputError(
        f"{str(path)!r} is a list of objects (a token and its weight, place by place) or a list of "
        f"texts; got {str(data)[:60]!r}"
    )


def _weights(place: Mapping[str, object], path: Path) -> dict[int | str, int | float]:
    found: dict[int | str, int | float] = {}
    for text, weight in place.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise InputError(f"the weight of {text!r} in {str(path)!r} is a number, got {weight!r}")
        found[_token(text)] = weight
    return found


def _events(events: Events, model: LanguageModel) -> list[Event]:
    above = events.above
    found = [token(_token(text), model, above=above) for text in events.target or ()]
    for text in events.any_of or ():
        found.append(any_of([_token(one) for one in text.split("|")], model, above=above))
    for text in events.continuation or ():
        found.append(continuation(check_text(text, what="continuation"), model, above=above))
    return found


def _token(text: str) -> int | str:
    by_id = _BY_ID.fullmatch(text)
    return int(by_id[1]) if by_id else check_text(text, what="target")


def _expected_tokens(method: Method, inputs: InputDistribution, n_events: int, budget: int) -> int:
    """Return about how many tokens a method reads, for the bar."""
    is_shared = method.quantity == "activations" or method.name in ("naive", "forecast")
    return budget * inputs.length * (1 if is_shared else n_events)


def _law_part(inputs: InputDistribution) -> dict[str, object]:
    return {
        "name": inputs.name, "fingerprint": inputs.fingerprint, "tokens": inputs.length,
        "inputs": inputs.n_inputs if inputs.n_inputs < 2**53 else None,
        "log10_inputs": math.log10(inputs.n_inputs),
    }  # fmt: skip


def _truth_part(known: Truth | None, event: Event, level: float) -> dict[str, object] | None:
    if known is None or not event.is_plain:
        return None
    return known.prob(event.winners[0], level=level).to_dict()


def _write(found: Sequence[RareEstimate], known: Truth | None, path: Path) -> None:
    """Write what was found in the format of the path's ending, but for JSON."""
    if path.suffix == ".html":
        from likely.report.rare_page import rare_page

        write_bytes(path, rare_page(found, known).encode())
    elif path.suffix == ".csv":
        import pandas as pd

        table = pd.concat([one.to_frame() for one in found], ignore_index=True)
        write_bytes(path, table.to_csv(index=False, lineterminator="\n").encode())
    else:
        write_rows(path, rows(found), columns())
