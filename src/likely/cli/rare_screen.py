"""What ``likely rare`` shows, and the columns of its files. Unit: nats, probabilities on screen."""

import math
from collections.abc import Sequence

from likely.cli.deliver import show_model
from likely.cli.screen import Column, table
from likely.core.logspace import one_in, prob_text
from likely.core.model import LanguageModel
from likely.rare.ground_truth import Truth
from likely.rare.inputs import InputDistribution
from likely.rare.result import RareEstimate
from likely.runs.store import Columns, Row

_COLUMNS = (
    Column(title="event", gives_way=True),
    Column(title="probability", is_number=True),
    Column(title="from", is_number=True),
    Column(title="to", is_number=True),
    Column(title="one in", is_number=True),
    Column(title="truth", is_number=True),
    Column(title="calls", is_number=True),
    Column(title="s", is_number=True),
)


def screen_lines(
    model: LanguageModel,
    inputs: InputDistribution,
    found: Sequence[RareEstimate],
    known: Truth | None,
) -> list[str]:
    """Return the table of estimates, and below it what a reader must doubt.

    Args:
        model: That was asked.
        inputs: The law of inputs.
        found: Estimates, at least one, of one method.
        known: The truth of plain events, if there is one.
    """
    first = found[0]
    lines = [
        f"{show_model(model)} under {inputs.name!r}: {inputs.length} tokens, "
        f"10^{math.log10(inputs.n_inputs):.1f} inputs; {first.log_prob.method}, intervals at "
        f"{first.log_prob.level:.0%}",
        "",
        *table(_COLUMNS, [_cells(one, known) for one in found]),
    ]
    if first.quantity == "activations":
        lines += ["", "of a law fitted to activations: its misfit comes on top of the interval"]
    for one in found:
        lines += [f"warning: {one.event.name!r}: {text}" for text in one.warnings]
    return lines


def rows(found: Sequence[RareEstimate]) -> list[Row]:
    """Return a row for each estimate, for files."""
    return [{str(k): v for k, v in one.to_frame().iloc[0].items()} for one in found]


def columns() -> Columns:
    """Return the columns of these rows."""
    texts = ("model", "distribution", "event", "method", "quantity", "warnings")
    counts = ("forwards", "gradients", "scores", "token_evaluations", "seed", "budget")
    numbers = ("log_prob", "log_prob_low", "log_prob_high", "prob", "level", "seconds")
    return {
        **dict.fromkeys(texts, "text"),
        **dict.fromkeys(counts, "int"),
        **dict.fromkeys(numbers, "float"),
    }


def _cells(one: RareEstimate, known: Truth | None) -> list[str]:
    log = one.log_prob
    true = ""
    if known is not None and one.event.is_plain:
        prob = float(known.probs[one.event.winners[0]])
        true = prob_text(math.log(prob)) if prob else "unseen"
    return [
        repr(one.event.name),
        prob_text(log.value),
        prob_text(log.low),
        prob_text(log.high),
        one_in(log.value),
        true,
        f"{one.spent.calls:,}",
        f"{one.spent.seconds:.1f}",
    ]
