"""A weekday, a month, a letter or a suit, each as likely as the next.

The options are either not named at all but by their class (``arrangement`` is ``unlisted``), or
listed; a list stands in each of its rotations, so that over them each word has each place exactly
once. Letters are capitals alone, since "a" is a word of its own. Unit: none.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple, cast

from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, Option, make_item
from likely.calibration.data_sets.wording import fill, for_slots
from likely.core.streams import generator

TEMPLATES = {
    "U1": "One {kind}{list} is chosen uniformly at random. The chosen {thing} is",
    "U2": "A computer picks a {kind}{list}, each being equally likely. It picks",
    "U3": (
        "Each {kind}{list} is written on its own slip of paper, and one slip is drawn from a hat. "
        "The slip says"
    ),
    "U4": "A fair wheel has one equal sector for each {kind}{list}. It is spun and stops at",
    "U5": "Lots are drawn: every {kind}{list} has the same chance. The lot falls on",
    "U6": "Task: name one {kind}{list} uniformly at random. Answer:",
}

CLASSES = {
    "weekday": (
        "day of the week",
        "day",
        ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    ),
    "month": (
        "month",
        "month",
        (
            "January", "February", "March", "April", "May", "June", "July", "August", "September",
            "October", "November", "December",
        ),
    ),
    "letter": (
        "capital letter of the English alphabet",
        "letter",
        tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    ),
    "suit": ("card suit", "suit", ("clubs", "diamonds", "hearts", "spades")),
}  # fmt: skip
"""Class to what a text calls it at first and later, and its words in their usual order."""


_CYCLES: tuple[str, ...] = ("natural", "reversed", "shuffled-1", "shuffled-2")


class _Spec(NamedTuple):
    template_id: str
    kind: str
    arrangement: str
    rotation: int
    words: tuple[str, ...]


def _cycles(kind: str, n_shuffled: int, *, seed: int) -> dict[str, list[str]]:
    """Return orders of the words of a class, each starting at the first: no two rotate alike."""
    first, *rest = CLASSES[kind][2]
    cycles = {"natural": [first, *rest], "reversed": [first, *rest[::-1]]}
    rng = generator(seed, "calibration", "uniform-words", kind)
    while len(cycles) < 2 + n_shuffled:
        cycle = [first, *(rest[i] for i in rng.permutation(len(rest)).tolist())]
        if cycle not in cycles.values():
            cycles[f"shuffled-{len(cycles) - 1}"] = cycle
    return cycles


def _listed(template_id: str, kind: str, names: Sequence[str], *, seed: int) -> list[_Spec]:
    cycles = _cycles(kind, 2, seed=seed)
    return [
        _Spec(template_id, kind, name, i, (*cycles[name][i:], *cycles[name][:i]))
        for name in names
        for i in range(len(cycles[name]))
    ]


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    templates, listed, names = tuple(TEMPLATES), tuple(CLASSES), _CYCLES
    if preset != "full":
        names = names[:1]
    if preset == "smoke":
        templates, listed = templates[:2], ("weekday", "suit")
    specs = []
    for template_id in templates:
        for kind, (_, _, words) in CLASSES.items():
            specs.append(_Spec(template_id, kind, "unlisted", 0, words))
            if kind in listed:
                specs += _listed(template_id, kind, names, seed=seed)
    return specs


def _render(spec: object) -> Item:
    template_id, kind, arrangement, rotation, words = cast(_Spec, spec)
    is_listed = arrangement != "unlisted"
    shown = f" ({', '.join(words)})" if is_listed else ""
    template, (name, thing, _) = TEMPLATES[template_id], CLASSES[kind]
    slots = for_slots(template, {"kind": name, "list": shown, "thing": thing})
    return make_item(
        family="uniform_words",
        version=1,
        template_id=template_id,
        template=template,
        context=fill(template, slots).text,
        options=tuple(Option(label=word.lower(), words=(word,)) for word in words),
        ideal=(Fraction(1, len(words)),) * len(words),
        number_pair_id=kind,
        notation="listed" if is_listed else "class",
        has_twin=False,
        meta={
            "class": kind,
            "arrangement": arrangement.split("-")[0],
            "rotation": rotation,
            "options_named": is_listed,
        },
    )


UNIFORM_WORDS = Family(
    name="uniform_words",
    version=1,
    question="Is each weekday, month, letter or suit as likely as the others when chance is fair?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
)
