"""An urn from which some draws are known and not put back: does the law follow what is left?

Every number is at least 4 and at most 3 draws are shown, so that both options stay possible.
What is left may be a tie, and it may turn round which of the two is the likelier one
(``meta["is_turned"]``). Unit: none.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple, cast

from likely.calibration.data_sets.exact_laws import proportional
from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, make_item, named_options
from likely.calibration.data_sets.wording import fill

COLOURS = (("blue", "red"), ("green", "white"))

COUNTS = (
    (4, 5), (6, 9), (12, 20), (4, 7), (5, 6), (6, 7), (8, 9), (5, 11), (12, 13), (25, 30),
)  # fmt: skip

TEMPLATES = {
    "R1": (
        "A bag holds {n1} {a} and {n2} {b} balls. Balls drawn at random so far, none of them put "
        "back: {draws}. The next ball to be drawn is"
    ),
    "R2": (
        "A pack of {n1} {a} and {n2} {b} cards is shuffled. Dealt from the top so far, and laid "
        "aside: {draws}. The colour of the next card is"
    ),
    "R3": (
        "A jar contained {n1} {a} and {n2} {b} sweets. Picked blindly and eaten until now: "
        "{draws}. The colour of the next sweet picked is"
    ),
    "R4": (
        "In the sack at the start of the game - {a} tokens: {n1}; {b} tokens: {n2}. Taken out at "
        "random for good, in this order: {draws}. Colour of the next token taken out:"
    ),
    "R5": (
        "At first there were {n1} {a} and {n2} {b} tickets in the drum. Tickets are drawn by "
        "chance, without replacement. Already drawn: {draws}. The colour of the next ticket is"
    ),
}


class _Spec(NamedTuple):
    template_id: str
    colours: tuple[str, str]
    counts: tuple[int, int]
    draws: tuple[int, ...]


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    del seed, design  # nothing is drawn: the crossing is full
    templates, pairs, counts, lengths = {
        "smoke": (("R1",), COLOURS[:1], COUNTS[:2], (1, 2)),
        "lite": (tuple(TEMPLATES), COLOURS[:1], COUNTS[:3], (1, 2)),
        "full": (tuple(TEMPLATES), COLOURS, COUNTS, (1, 2, 3)),
    }[preset]
    shown = [draws for length in lengths for draws in product((0, 1), repeat=length)]
    return [
        _Spec(template_id, colours, both, draws)
        for template_id, pair, count, draws in product(templates, pairs, counts, shown)
        for colours in (pair, pair[::-1])
        for both in (count, count[::-1])
    ]


def _render(spec: object) -> Item:
    template_id, colours, counts, draws = cast(_Spec, spec)
    template = TEMPLATES[template_id]
    (a, b), (n1, n2) = colours, counts
    shown = ", ".join(colours[i] for i in draws)
    wording = fill(template, {"a": a, "b": b, "draws": shown}, {"n1": n1, "n2": n2})
    left1, left2 = n1 - draws.count(0), n2 - draws.count(1)
    return make_item(
        family="no_replacement",
        version=1,
        template_id=template_id,
        template=template,
        context=wording.text,
        blank=wording.blank,
        options=named_options((a, b)),
        ideal=proportional((left1, left2)),
        numbers=counts,
        meta={
            "draws": "".join("12"[i] for i in draws),
            "n_draws": len(draws),
            "left1": left1,
            "left2": left2,
            "is_turned": (n1 - n2) * (left1 - left2) < 0,
        },
    )


NO_REPLACEMENT = Family(
    name="no_replacement",
    version=1,
    question="After draws that are not put back, is the next one as likely as what is left says?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
)
