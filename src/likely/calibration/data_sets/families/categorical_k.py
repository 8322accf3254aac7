"""Three to six kinds of a thing with their counts: does the whole law follow the counts?

Each set of counts comes with every rotation of the counts and every rotation of the names: the
largest stands in each position, and belongs to each name, equally often. Unit: none.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple, cast

from likely.calibration.data_sets.exact_laws import proportional
from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, make_item, named_options
from likely.calibration.data_sets.number_pairs import SCALES
from likely.calibration.data_sets.wording import fill, for_slots
from likely.core.streams import generator

KINDS = {
    "bead": ("red", "blue", "green", "black", "white", "yellow"),
    "scarf": ("wool", "silk", "cotton", "linen", "velvet", "denim"),
}
"""A thing, and the names of its kinds."""

PLURALS = {"bead": "beads", "scarf": "scarves"}

ASPECTS = {"bead": "colour", "scarf": "fabric"}
"""In what the kinds of a thing differ."""

TEMPLATES = {
    "K1": "A chest holds {mix}. One {thing} is taken out at random. Its {what} is",
    "K2": (
        "Among the {things} in the shop, {mix}. One {thing} falls off the shelf, by pure chance. "
        "The {what} of the {thing} that fell is"
    ),
    "K3": "Stock of {things} by {what} - {mix}. Random draw of a {thing}; its {what}:",
    "K4": (
        "A crate of {things} holds, by {what}, {mix}. Every {thing} has the same chance of being "
        "sold first. The {what} of the {thing} sold first is"
    ),
    "K5": (
        "For a lucky dip there are {mix} in a barrel. Ada reaches in with her eyes shut. "
        "The {what} of the {thing} in her hand is"
    ),
}
"""``{mix}`` names the kinds one after another, each as its part says."""

PARTS: Mapping[str, str] = {
    "K1": "{n} {c} {n|THING|THINGS}",
    "K2": "{n} {n|is|are} {c}",
    "K3": "{c}: {n}",
    "K4": "{c} ({n})",
    "K5": "{n} {c} {n|THING|THINGS}",
}


class _Spec(NamedTuple):
    template_id: str
    thing: str
    scale: str
    names: tuple[str, ...]
    counts: tuple[int, ...]


def _rotations(n: int) -> list[tuple[int, ...]]:
    return [tuple((i + shift) % n for i in range(n)) for shift in range(n)]


def count_sets(scale: str, n_options: int, n_sets: int, *, seed: int) -> list[tuple[int, ...]]:
    """Return sets of distinct counts, each in the order in which it was drawn.

    Args:
        scale: A name of `SCALES`.
        n_options: Counts in a set.
        n_sets: How many sets; a shorter list is the beginning of a longer one.
        seed: Of the random stream.
    """
    low, high = SCALES[scale]
    rng = generator(seed, "calibration", "categorical_k", scale, n_options)
    sets = []
    for _ in range(n_sets):
        drawn = rng.choice(high - low + 1, size=n_options, replace=False).tolist()
        sets.append(tuple(low + x for x in drawn))
    return sets


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    del design
    templates, scales, sizes, n_sets = {
        "smoke": (("K1", "K3"), ("10-100",), (3,), 1),
        "lite": (tuple(TEMPLATES), ("10-100",), (3, 5), 1),
        "full": (tuple(TEMPLATES), tuple(SCALES), (3, 4, 5, 6), 2),
    }[preset]
    return [
        _Spec(
            template_id,
            thing,
            scale,
            tuple(KINDS[thing][i] for i in names),
            tuple(counts[i] for i in places),
        )
        for template_id, thing, scale, n in product(templates, KINDS, scales, sizes)
        for counts in count_sets(scale, n, n_sets, seed=seed)
        for names, places in product(_rotations(n), _rotations(n))
    ]


def _mix(template_id: str, thing: str, n: int) -> str:
    part = PARTS[template_id].replace("THINGS", PLURALS[thing]).replace("THING", thing)
    parts = [part.replace("{n", f"{{n{i}").replace("{c}", f"{{c{i}}}") for i in range(1, n + 1)]
    if template_id == "K3":
        return "; ".join(parts)
    return ", ".join(parts[:-1]) + " and " + parts[-1]


def _render(spec: object) -> Item:
    template_id, thing, scale, names, counts = cast(_Spec, spec)
    template = TEMPLATES[template_id].replace("{mix}", _mix(template_id, thing, len(names)))
    words = {f"c{i}": name for i, name in enumerate(names, start=1)}
    nouns = {"thing": thing, "things": PLURALS[thing], "what": ASPECTS[thing]}
    words |= for_slots(template, nouns)
    wording = fill(template, words, {f"n{i}": n for i, n in enumerate(counts, start=1)})
    return make_item(
        family="categorical_k",
        version=1,
        template_id=template_id,
        template=template,
        context=wording.text,
        blank=wording.blank,
        options=named_options(names),
        ideal=proportional(counts),
        numbers=counts,
        scale=scale,
        has_twin=False,
        meta={"thing": thing, "n_options": len(names), "largest": counts.index(max(counts)) + 1},
    )


CATEGORICAL_K = Family(
    name="categorical_k",
    version=1,
    question="With three to six kinds, is each as likely as its share?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
)
