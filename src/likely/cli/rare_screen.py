"""What ``likely rare`` shows, and the columns of its files. Unit: nats; once in so many."""

import math
import textwrap
from collections.abc import Sequence

from likely.cli.deliver import show_model
from likely.cli.screen import Column, screen_width, table
from likely.core.logspace import log_of, one_in, prob_text
from likely.core.model import LanguageModel
from likely.rare.ground_truth import Truth
from likely.rare.inputs import InputDistribution, sentence_of
from likely.rare.result import RareEstimate, Spent
from likely.runs.store import Columns, Row

ABOUT = {
    "naive": "draws inputs and counts",
    "itgis": "draws inputs that gradients lead towards the event, and weighs them back",
    "mhis": "walks over inputs towards the event, and weighs them back",
    "proposal": "draws inputs from another law, and weighs them back",
    "amls-inputs": "splits the probability into steps, walking over inputs",
    "forecast": "extends the tail of the largest margins",
    "qld": "recombines the activations of inputs in pairs",
    "gld": "takes the lead over other tokens for normally distributed",
    "ga-amls": "splits the probability into steps, under a law fitted to activations",
}
"""For each method what it does, in a few words."""

FITTED = (
    "The interval is that of a law fitted to activations. How far this law misses the real one "
    "comes on top of it: ask a method that reads inputs alone, such as --method itgis, before you "
    "rely on the number."
)
SAMPLED = (
    "The interval is for the law of inputs itself. It counts the chance of the draw: inputs of a "
    "kind that no draw came near are in no interval."
)
COUNTED = "The interval is for the law of inputs itself, and exact: hits were counted."

_FREQUENT = math.log(0.1)  # from here on a share is read more easily than once in so many
_WIDEST = 100  # columns of a sentence


def screen_lines(
    model: LanguageModel,
    inputs: InputDistribution,
    found: Sequence[RareEstimate],
    known: Truth | None,
) -> list[str]:
    """Return the table of estimates, and below it how far to trust them.

    Args:
        model: That was asked.
        inputs: The law of inputs.
        found: Estimates, at least one, of one method.
        known: The truth of plain events, if there is one.
    """
    first = found[0]
    words = sentence_of(inputs)
    size = f"{inputs.length} tokens each, {_count_text(inputs.n_inputs)} inputs in all"
    about = ABOUT.get(first.log_prob.method, "")
    lines = [
        f"model   {show_model(model)}",
        *_wrapped("inputs  ", f"{inputs.name!r}: {words + '; ' if words else ''}{size}"),
        *_wrapped("method  ", f"{first.log_prob.method}{': ' + about if about else ''}"),
        f"read    {_spent_text(sum((one.spent for one in found), start=Spent()))}",
        "",
        *table(_columns(found), [_cells(one, known) for one in found]),
        "",
    ]
    doubts = [_trust(first)]
    if known is not None and any(one.event.is_plain for one in found):
        doubts.append(_of_truth(known))
    for one in found:
        about_it = "" if len(found) == 1 else f"{one.event.name!r}: "
        doubts += [f"warning: {about_it}{text}" for text in one.warnings]
    for text in doubts:
        lines += _wrapped("", text)
    return lines


def often(log_prob: float) -> str:
    """Return a probability as a person reads it: a share, or once in so many; nats.

    >>> often(math.log(0.25)), often(math.log(2e-7)), often(-math.inf)
    ('25 %', '1 in 5.0 million', '0')
    """
    if log_prob == -math.inf:
        return "0"
    if log_prob >= _FREQUENT:
        return f"{100.0 * math.exp(log_prob):.3g} %"
    return f"1 in {one_in(log_prob)}"


def between(low: float, high: float) -> str:
    """Return an interval as a person reads it, from the rarer end; nats.

    >>> between(math.log(1e-7), math.log(2e-7)), between(math.log(1e-10), math.log(1e-8))
    ('1 in 10 to 5.0 million', '1 in 10 billion to 1 in 100 million')
    >>> between(-math.inf, math.log(1e-3)), between(-math.inf, -math.inf)
    ('at most 1 in 1,000', '0')
    """
    if low == -math.inf:
        return "0" if high == -math.inf else f"at most {often(high)}"
    ends = often(low), often(high)
    unit = ends[0].split(" ")[-1]
    if ends[0].startswith("1 in ") and unit.isalpha() and ends[1].endswith(f" {unit}"):
        return f"{ends[0].removesuffix(f' {unit}')} to {ends[1].removeprefix('1 in ')}"
    return f"{ends[0]} to {ends[1]}"


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


def _columns(found: Sequence[RareEstimate]) -> tuple[Column, ...]:
    is_plain = all(one.event.is_plain for one in found)
    of_fit = ", of the fit" if found[0].quantity == "activations" else ""
    return (
        Column(title="likeliest next token" if is_plain else "event", gives_way=True),
        Column(title="estimate"),
        Column(title=f"interval at {100.0 * found[0].log_prob.level:g} %{of_fit}"),
        Column(title="probability", is_number=True),
        Column(title="truth"),
    )


def _cells(one: RareEstimate, known: Truth | None) -> list[str]:
    log = one.log_prob
    true = ""
    if known is not None and one.event.is_plain:
        prob = known.prob(one.event.winners[0], level=log.level)
        true = often(log_of(prob.value)) if prob.value else f"at most {often(log_of(prob.high))}"
    return [
        repr(one.event.name),
        _estimate(one),
        between(log.low, log.high),
        "none" if one.is_given_up else prob_text(log.value),
        true,
    ]


def _estimate(one: RareEstimate) -> str:
    if one.is_given_up:
        return "no estimate"
    return "not seen" if one.is_zero else often(one.log_prob.value)


def _trust(one: RareEstimate) -> str:
    if one.quantity == "activations":
        return FITTED
    return COUNTED if one.log_prob.method == "naive" else SAMPLED


def _of_truth(known: Truth) -> str:
    if known.is_exact:
        return "The truth is exact: every input was read."
    n = known.counts.n_inputs
    return f"The truth was counted over {n:,} inputs, and has an error of its own."


def _spent_text(spent: Spent) -> str:
    back = f", {spent.gradients:,} of them forward and back" if spent.gradients else ""
    return (
        f"{spent.calls:,} inputs{back}: {spent.token_evaluations:,} tokens; {spent.seconds:.1f} s"
    )


def _count_text(n: int) -> str:
    return f"{n:,}" if n < 10**6 else f"10^{math.log10(n):.1f}"


def _wrapped(head: str, text: str) -> list[str]:
    """Return a sentence in lines as wide as the screen; off a terminal in one line."""
    room = screen_width()
    if room is None:
        return [head + text]
    return textwrap.wrap(
        text, max(20, min(room, _WIDEST)), initial_indent=head, subsequent_indent=" " * len(head),
        break_on_hyphens=False,
    )  # fmt: skip
