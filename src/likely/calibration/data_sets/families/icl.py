"""Draws shown before the question: do probabilities learn from examples as Bayes would?

Each wording says that the chances are unknown and that all are equally plausible beforehand, so
the ideal law is the posterior predictive of a flat prior, Laplace's ``(n_i + 1) / (N + K)`` for K
colours; the shares ``n_i / N`` are in meta as ``plug_in``. The same draws stand in several orders,
joined by `link`: ``first_grouped`` (all of the colour mentioned first, then the rest),
``second_grouped``, and ``mixed``, a drawn permutation. Unit: none.
"""

from collections.abc import Sequence
from itertools import groupby, permutations, product
from typing import NamedTuple, cast

from likely.calibration.data_sets.colour_words import COLOUR_PAIRS
from likely.calibration.data_sets.exact_laws import proportional
from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, make_item, named_options
from likely.calibration.data_sets.wording import fill, for_slots
from likely.core.streams import generator

TEMPLATES = {
    "I1": (
        "A lamp flashes {any}, every time with the same unknown chances; beforehand all chances "
        "were equally plausible. Flashes so far: {draws}. The next flash is"
    ),
    "I2": (
        "A bag holds {all} beads in an unknown proportion, every proportion being equally "
        "plausible at first. Beads drawn so far, each of them put back: {draws}. The colour of the "
        "next bead is"
    ),
    "I3": (
        "A spinner is divided into {all} parts of unknown sizes, any sizes being equally plausible "
        "at first. The spins so far: {draws}. Next it stops on"
    ),
    "I4": (
        "Tokens are drawn with replacement from an unknown mix of {all} ones, all mixes being "
        "equally plausible beforehand. The draws in turn: {draws}, and then"
    ),
    "I5": (
        "Each day a machine raises a flag that is {any}. Its chances never change, but nobody "
        "knows them, and at first any chances were equally plausible. Record: {draws}. Colour of "
        "the next flag:"
    ),
}

_TRIPLE = ("red", "blue", "green")

_COUNTS = ((2, 1), (6, 2), (5, 3), (3, 1), (7, 1), (9, 3), (12, 4), (10, 6))
_ONE_SIDED = ((4, 0), (2, 0), (8, 0))
_TRIPLE_COUNTS = ((3, 2, 1), (6, 2, 0), (5, 4, 3))

_ARRANGEMENTS = ("first_grouped", "second_grouped", "mixed")


class _Spec(NamedTuple):
    template_id: str
    colours: tuple[str, ...]
    counts: tuple[int, ...]
    arrangement: str
    draws: tuple[int, ...]


def _mixed(counts: Sequence[int], *, seed: int) -> tuple[int, ...]:
    """Return draws in a random order that is not grouped, the same for the same set of counts.

    The order is drawn for the ranks of the counts, so that a colour's count and its places in the
    sequence go together whichever colour has it.
    """
    ranked = sorted(range(len(counts)), key=lambda i: -counts[i])
    grouped = [i for i in ranked for _ in range(counts[i])]
    rng = generator(seed, "calibration", "icl", *sorted(counts, reverse=True))
    while True:
        draws = tuple(grouped[i] for i in rng.permutation(len(grouped)).tolist())
        if len(list(groupby(draws))) > sum(n > 0 for n in counts):
            return draws


def _draws(counts: Sequence[int], arrangement: str, *, seed: int) -> tuple[int, ...]:
    if arrangement == "mixed":
        return _mixed(counts, seed=seed)
    first, second = [0] * counts[0], [1] * counts[1]
    return tuple(second + first if arrangement == "second_grouped" else first + second)


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    templates, pairs, rotations = tuple(TEMPLATES), COLOUR_PAIRS, 3
    n_counts, n_one_sided, n_triples = len(_COUNTS), len(_ONE_SIDED), len(_TRIPLE_COUNTS)
    if preset != "full":
        pairs, n_counts, n_one_sided, n_triples = pairs[:2], 3, 1, 1
    if preset == "smoke":
        templates, rotations = templates[:1], 0
    plans: list[tuple[tuple[str, ...], tuple[int, ...], str]] = []
    for pair in pairs:
        for a, b in _COUNTS[:n_counts]:
            plans += [(pair, both, how) for both in ((a, b), (b, a)) for how in _ARRANGEMENTS]
        for a, b in _ONE_SIDED[:n_one_sided]:
            plans += [(pair, both, "one_sided") for both in ((a, b), (b, a))]
    for start, triple in product(range(rotations), _TRIPLE_COUNTS[:n_triples]):
        colours = _TRIPLE[start:] + _TRIPLE[:start]
        plans += [(colours, counts, "mixed") for counts in permutations(triple)]
    return [
        _Spec(template_id, colours, counts, how, _draws(counts, how, seed=seed))
        for template_id, (colours, counts, how) in product(templates, plans)
    ]


def _joined(colours: Sequence[str], word: str) -> str:
    return f"{', '.join(colours[:-1])} {word} {colours[-1]}"


def _render(spec: object) -> Item:
    template_id, colours, counts, arrangement, draws = cast(_Spec, spec)
    template = TEMPLATES[template_id]
    slots = {
        "any": _joined(colours, "or"),
        "all": _joined(colours, "and"),
        "draws": ", ".join(colours[i] for i in draws),
    }
    total = sum(counts)
    return make_item(
        family="icl",
        version=1,
        template_id=template_id,
        template=template,
        context=fill(template, for_slots(template, slots)).text,
        options=named_options(colours),
        ideal=proportional([n + 1 for n in counts]),
        numbers=counts,
        notation="draws",
        has_twin=len(colours) == 2,
        meta={
            "n_draws": total,
            "draws": " ".join(colours[i] for i in draws),
            "plug_in": " ".join(map(str, proportional(counts))),
            "link": f"{template_id}/{'/'.join(colours)}/{':'.join(map(str, counts))}",
            "variant": arrangement,
        },
    )


ICL = Family(
    name="icl",
    version=1,
    question="Do probabilities follow draws that were shown, whatever the order of the draws?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
)
