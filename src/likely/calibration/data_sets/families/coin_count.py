"""How many heads in several flips of a coin: does the model know the binomial law?

From two flips on: the count of one flip is `coin_bias`. Unit: none.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple, cast

from likely.calibration.data_sets.exact_laws import binomial
from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, integer_options, make_item
from likely.calibration.data_sets.notations import PERCENTS
from likely.calibration.data_sets.wording import fill

FACES = ("heads", "tails")

TEMPLATES = {
    "N1": "In {m} flips of {coin}, the number of {face} is",
    "N2": (
        "Suppose that someone has {coin} and flips it {m} times, each flip independent of the "
        "others. How many of the flips show {face}? The count is"
    ),
    "N3": "Experiment: {m} independent tosses of {coin}. Number of {face} observed:",
    "N4": (
        "A student is given {coin}, tosses it {m} times and counts the {face}. The count comes to"
    ),
    "N5": (
        "Inside a machine there is {coin}. The machine tosses it {m} times and displays how many "
        "of the tosses gave {face}. The display reads"
    ),
    "N6": (
        "Ivo wants to know how often {face} comes up in {m} tosses of {coin}. He makes the tosses "
        "and writes down the number"
    ),
}
"""``{coin}`` is one of `COINS`."""

COINS = {
    "fair": "a fair coin",
    "biased": "a coin that shows {face} with probability {q}%",
}


class _Spec(NamedTuple):
    template_id: str
    face: str
    n_flips: int
    percent: int


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    del seed, design  # nothing is drawn: the crossing is full
    templates, flips, percents = {
        "smoke": (("N1", "N3"), (2, 4), (10, 30, 50, 70, 90)),
        "lite": (tuple(TEMPLATES), (2, 4, 7, 10), (10, 30, 50, 70, 90)),
        "full": (tuple(TEMPLATES), tuple(range(2, 11)), PERCENTS),
    }[preset]
    return [_Spec(*spec) for spec in product(templates, FACES, flips, percents)]


def _render(spec: object) -> Item:
    template_id, face, n_flips, percent = cast(_Spec, spec)
    coin = "fair" if percent == 50 else "biased"
    template = TEMPLATES[template_id].replace("{coin}", COINS[coin])
    numbers = {"m": n_flips} if coin == "fair" else {"m": n_flips, "q": percent}
    wording = fill(template, {"face": face}, numbers)
    return make_item(
        family="coin_count",
        version=1,
        template_id=template_id,
        template=template,
        context=wording.text,
        blank=wording.blank,
        options=integer_options(range(n_flips + 1)),
        ideal=binomial(n_flips, Fraction(percent, 100)),
        numbers=tuple(numbers.values()),
        number_pair_id=f"{n_flips}:{percent}",
        notation="percent",
        has_twin=False,
        meta={"face": face, "n_flips": n_flips, "percent": percent, "coin": coin},
    )


COIN_COUNT = Family(
    name="coin_count",
    version=1,
    question="Does the number of heads in several flips follow the binomial law?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
)
