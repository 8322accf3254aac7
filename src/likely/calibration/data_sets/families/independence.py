"""A coin after a run of one side, an alternation, or no flip at all: the law stays the same.

A probe of the gambler's fallacy: the bias is stated, so that the past tells nothing. Unit: none.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple, cast

from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, make_item, named_options, pair_id
from likely.calibration.data_sets.wording import fill

SIDES = (("heads", "tails"), ("crown", "number"))

COINS = {
    "fair": "a fair coin with sides {a} and {b}",
    "biased": "a coin that shows {a} with probability {n1}% and {b} with probability {n2}%",
}

TEMPLATES = {
    "I1": "Zoe is flipping {coin}. Results so far: {past}. The next flip shows",
    "I2": (
        "The game is played with {coin}, and every flip is independent of the others. Earlier "
        "flips: {past}. The coin is flipped now and shows"
    ),
    "I3": "Log of a machine that tosses {coin} - past results: {past}. Next result:",
    "I4": (
        "A referee tosses {coin}. Her notes on the tosses up to now: {past}. The toss that follows "
        "comes up"
    ),
    "I5": (
        "Here is {coin}. It has no memory. Flips until now: {past}. On the coming flip it shows"
    ),
}
"""``{coin}`` is one of `COINS`; ``{past}`` is a list of results, or ``none yet``."""

NOTHING = "none yet"


class _Spec(NamedTuple):
    template_id: str
    sides: tuple[str, str]
    percent: int
    past: tuple[int, ...]


def pasts(runs: Sequence[int], alternations: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return histories: none, runs of either side, alternations that begin with either side.

    Args:
        runs: Lengths.
        alternations: Lengths.

    >>> pasts((1, 2), (3,))
    ((), (0,), (1,), (0, 0), (1, 1), (0, 1, 0), (1, 0, 1))
    """
    made: list[tuple[int, ...]] = [()]
    made += [(side,) * length for length in runs for side in (0, 1)]
    made += [
        tuple((side + i) % 2 for i in range(length)) for length in alternations for side in (0, 1)
    ]
    return tuple(made)


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    del seed, design  # nothing is drawn: the crossing is full
    templates, pairs, percents, histories = {
        "smoke": (("I1",), SIDES[:1], (30, 50, 70), pasts((2, 5), (5,))),
        "lite": (tuple(TEMPLATES), SIDES[:1], (30, 50, 70), pasts((2, 5), (4, 5))),
        "full": (
            tuple(TEMPLATES),
            SIDES,
            (10, 30, 50, 70, 90),
            pasts((1, 2, 3, 5, 8), (3, 4, 5, 8)),
        ),
    }[preset]
    return [
        _Spec(template_id, sides, percent, past)
        for template_id, pair, percent, past in product(templates, pairs, percents, histories)
        for sides in (pair, pair[::-1])
    ]


def _kind(past: tuple[int, ...]) -> str:
    if not past:
        return "none"
    return "run" if len(set(past)) == 1 else "alternating"


def _render(spec: object) -> Item:
    template_id, sides, percent, past = cast(_Spec, spec)
    coin = "fair" if percent == 50 else "biased"
    template = TEMPLATES[template_id].replace("{coin}", COINS[coin])
    a, b = sides
    numbers = {} if coin == "fair" else {"n1": percent, "n2": 100 - percent}
    shown = ", ".join(sides[i] for i in past) if past else NOTHING
    wording = fill(template, {"a": a, "b": b, "past": shown}, numbers)
    p = Fraction(percent, 100)
    kind = _kind(past)
    return make_item(
        family="independence",
        version=1,
        template_id=template_id,
        template=template,
        context=wording.text,
        blank=wording.blank if numbers else None,
        options=named_options((a, b)),
        ideal=(p, 1 - p),
        numbers=tuple(numbers.values()),
        number_pair_id=pair_id((percent, 100 - percent)),
        notation="percent",
        meta={
            "percent": percent,
            "coin": coin,
            "history": kind,
            "run": len(past) if kind == "run" else 0,
            "length": len(past),
            "last": None if not past else ("first", "second")[past[-1]],
        },
    )


INDEPENDENCE = Family(
    name="independence",
    version=1,
    question="Does a coin keep its law after a run of one side?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
)
