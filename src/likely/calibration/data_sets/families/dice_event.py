"""One of two events of a roll of dice: even or odd, at least so many or less.

Thresholds come in mirrored pairs: at least ``t`` is as likely as less than its mirror image, so
in each cell either event is the likelier one equally often. A total of dice with an odd number of
faces is rather even for an even number of dice and rather odd for an odd number; an even number of
faces makes a tie. No number belongs to an option, so ``numbers`` is empty and the parameters
are in ``meta``. Unit: none.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple, cast

from likely.calibration.data_sets.exact_laws import dice_total
from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, make_item, named_options
from likely.calibration.data_sets.wording import fill
from likely.errors import InputError

_DICE = "{d} fair {d|die|dice} with faces numbered from {lo} to {s}"

PARITY = {
    "P1": f"{_DICE} {{d|is|are}} rolled. The total is either {{a}} or {{b}}. It is",
    "P2": (
        f"Players may bet on {{a}} or on {{b}} before {_DICE} {{d|is|are}} thrown. The total "
        "turns out to be"
    ),
    "P3": f"Parity of the total ({{a}} or {{b}}) after a throw of {_DICE}:",
    "P4": (
        f"A machine throws {_DICE}, adds up the result and reports whether the sum is {{a}} or "
        "{b}. It reports that the sum is"
    ),
    "P5": (
        f"Under a cup {{d|there is|there are}} {_DICE}. After a good shake the total is {{a}} or "
        "{b}, and nobody knows which. The cup is lifted, and the total turns out to be"
    ),
}
"""Of the events even and odd, which are the options themselves."""

THRESHOLD = {
    "H1": (
        f"{_DICE} {{d|is|are}} rolled. The {{a}} team scores if the total is {{ea}}, and the {{b}} "
        "team scores if it is {eb}. The colour of the team that scores is"
    ),
    "H2": (
        "A marble will go {a} if the total is {ea}, and {b} if the total is {eb}. Then "
        f"{_DICE} {{d|is|are}} rolled, and the marble goes"
    ),
    "H3": (
        f"In this game {_DICE} {{d|is|are}} rolled. A total of {{ea}} is called {{a}}, and a total "
        "of {eb} is called {b}. This time the total is called"
    ),
    "H4": (
        f"You {{a}} if the total is {{ea}}, and you {{b}} if it is {{eb}}. You roll {_DICE}. "
        "As a result you"
    ),
    "H5": (
        f"Rule: say {{a}} when the total is {{ea}}, and say {{b}} when it is {{eb}}. Roll: "
        f"{_DICE}. The word to be said is"
    ),
}
"""Of the events ``at least t`` and ``less than t``."""

TEMPLATES = PARITY | THRESHOLD

PARITIES = ("even", "odd")

PAIRS = {
    "H1": (("blue", "red"), ("green", "white")),
    "H2": (("left", "right"), ("down", "up")),
    "H3": (("high", "low"), ("big", "small")),
    "H4": (("lose", "win"), ("advance", "retreat")),
    "H5": (("no", "yes"), ("go", "stop")),
}
"""Options of the thresholds. Those of H3 mean something: the first of each is the upper event."""

EVENTS = {"even": "even", "odd": "odd", "upper": "at least {t}", "lower": "less than {t}"}

TAILS = (Fraction(1, 3), Fraction(1, 10))
"""A threshold is the smallest one whose upper event has at most such a probability."""

_UPPER_FIRST = (("upper", "lower"),)
_LOWER_FIRST = (("lower", "upper"),)


class _Spec(NamedTuple):
    template_id: str
    dice: tuple[int, int]
    options: tuple[str, str]
    events: tuple[str, str]
    threshold: int | None


def event_probability(n_dice: int, n_sides: int, event: str, threshold: int | None) -> Fraction:
    """Return the probability that the total of fair dice is as an event says.

    Args:
        n_dice: How many.
        n_sides: Faces of each, from 1.
        event: A name of `EVENTS`.
        threshold: Of ``upper`` (at least it) and ``lower`` (less than it).

    Raises:
        InputError: No such event, or no threshold where one is needed.

    >>> event_probability(2, 6, "upper", 9)
    Fraction(5, 18)
    """
    if event not in EVENTS or (threshold is None and event in ("upper", "lower")):
        raise InputError(
            f"an event is one of {list(EVENTS)}, the last two with a threshold, got {event!r}, "
            f"{threshold!r}"
        )
    law = dict(enumerate(dice_total(n_dice, n_sides), start=n_dice))
    if threshold is None:
        parity = 0 if event == "even" else 1
        return sum((p for total, p in law.items() if total % 2 == parity), Fraction(0))
    upper = sum((p for total, p in law.items() if total >= threshold), Fraction(0))
    return upper if event == "upper" else 1 - upper


def thresholds(n_dice: int, n_sides: int) -> tuple[int, ...]:
    """Return the thresholds of a roll: one for each of `TAILS`, and the mirror image of each.

    >>> thresholds(2, 6)
    (9, 6, 11, 4)
    """
    found = []
    for tail in TAILS:
        t = next(
            t
            for t in range(n_dice, n_dice * n_sides + 1)
            if event_probability(n_dice, n_sides, "upper", t) <= tail
        )
        found += [t, _mirror(n_dice, n_sides, t)]
    return tuple(found)


def _parity_specs(
    templates: Sequence[str], dice: Sequence[int], sides: Sequence[int]
) -> Iterator[_Spec]:
    for template_id, d, s in product(templates, dice, sides):
        for events in (PARITIES, PARITIES[::-1]):
            yield _Spec(template_id, (d, s), events, events, None)


def _threshold_specs(
    templates: Sequence[str], n_pairs: int, dice: Sequence[tuple[int, int]]
) -> Iterator[_Spec]:
    for template_id, roll in product(templates, dice):
        for pair, t in product(PAIRS[template_id][:n_pairs], thresholds(*roll)):
            for events in _UPPER_FIRST if template_id == "H3" else (*_UPPER_FIRST, *_LOWER_FIRST):
                yield _Spec(template_id, roll, pair, events, t)
                yield _Spec(template_id, roll, pair[::-1], events[::-1], t)


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    del seed, design  # nothing is drawn: the crossing is full
    rolls = ((2, 6), (1, 20), (3, 6), (1, 10), (1, 12), (2, 8), (2, 10), (4, 6))
    if preset == "smoke":
        return [
            *_parity_specs(("P1",), (1, 2), (3, 5, 6)),
            *_threshold_specs(("H1",), 1, rolls[:1]),
        ]
    if preset == "lite":
        return [
            *_parity_specs(tuple(PARITY), (1, 2), (3, 5, 6)),
            *_threshold_specs(tuple(THRESHOLD), 1, rolls[:3]),
        ]
    return [
        *_parity_specs(tuple(PARITY), range(1, 7), (3, 5, 6, 7, 9)),
        *_threshold_specs(tuple(THRESHOLD), 2, rolls),
    ]


def _render(spec: object) -> Item:
    template_id, (n_dice, n_sides), (a, b), events, threshold = cast(_Spec, spec)
    template = TEMPLATES[template_id]
    numbers = {"d": n_dice, "s": n_sides, "lo": 1}
    if threshold is not None:
        template = template.replace("{ea}", EVENTS[events[0]]).replace("{eb}", EVENTS[events[1]])
        numbers["t"] = threshold
    wording = fill(template, {"a": a, "b": b}, numbers)
    p = event_probability(n_dice, n_sides, events[0], threshold)
    roll = f"{n_dice}d{n_sides}"
    return make_item(
        family="dice_event",
        version=1,
        template_id=template_id,
        template=template,
        context=wording.text,
        blank=wording.blank,
        options=named_options((a, b)),
        ideal=(p, 1 - p),
        number_pair_id=roll if threshold is None else f"{roll}:{_fold(n_dice, n_sides, threshold)}",
        notation="digits",
        meta={
            "n_dice": n_dice,
            "n_sides": n_sides,
            "kind": "parity" if threshold is None else "threshold",
            "threshold": threshold,
            "event1": events[0],
        },
    )


def _fold(n_dice: int, n_sides: int, threshold: int) -> int:
    return max(threshold, _mirror(n_dice, n_sides, threshold))


def _mirror(n_dice: int, n_sides: int, threshold: int) -> int:
    """Return the threshold that leaves below it what this one leaves from it on."""
    return n_dice * (n_sides + 1) + 1 - threshold


DICE_EVENT = Family(
    name="dice_event",
    version=1,
    question="Is an event of a roll of dice as likely as its share of the outcomes?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
)
