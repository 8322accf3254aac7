"""Two hypotheses and some evidence: does the answer follow Bayes' rule?

Tests: a prior, a sensitivity and a specificity, and what the test says of one case. Urns: one of
two is chosen by a fair coin, and balls drawn from it are shown. The parameters are closed under
exchange of the two hypotheses, so either one is the likelier equally often. Unit: none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from typing import NamedTuple, cast

from likely.calibration.data_sets.exact_laws import posterior
from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, make_item, named_options
from likely.calibration.data_sets.wording import fill
from likely.errors import InputError

TESTS = {
    "T1": (
        "In a herd {n1}% of the animals are {a} and {n2}% are {b}. A blood test is {r1} for {x1}% "
        "of the former and {r2} for {x2}% of the latter. An animal is picked at random, and its "
        "test is {r}. The animal turns out to be"
    ),
    "T2": (
        "Of the parts that a factory makes, {n1}% are {a} and {n2}% are {b}. A scanner {r1} for "
        "{x1}% of the former and {r2} for {x2}% of the latter. A random part is scanned, and the "
        "scanner {r}. The part turns out to be"
    ),
    "T3": (
        "{n1}% of the messages that reach an office are {a} and {n2}% are {b}. The filter {r1} "
        "{x1}% of the former and {r2} {x2}% of the latter. A message is taken at random, and the "
        "filter {r} it. The message turns out to be"
    ),
    "T4": (
        "Paintings at the fair: {n1}% {a}, {n2}% {b}. Of the former an expert {r1} {x1}%, of the "
        "latter she {r2} {x2}%. She looks at a painting chosen at random and {r} it. The painting "
        "turns out to be"
    ),
}

URNS = {
    "U1": (
        "The urn on the {a} holds {x1} red and {y1} blue balls; the urn on the {b} holds {x2} red "
        "and {y2} blue balls. One urn is chosen by the toss of a fair coin. Balls are drawn from "
        "it at random, {rule}: {draws}. The chosen urn is the one on the"
    ),
    "U2": (
        "Boxes - {a}: {x1} red and {y1} blue cubes; {b}: {x2} red and {y2} blue cubes. A box is "
        "picked, each with the same chance. Cubes taken from it blindly, {rule}: {draws}. The box "
        "that was picked is the"
    ),
    "U3": (
        "A fair coin decides between two bags: the {a} bag, with {x1} red and {y1} blue stones, "
        "and the {b} bag, with {x2} red and {y2} blue stones. Stones are then drawn from the bag "
        "at random, {rule}: {draws}. The bag chosen by the coin is the"
    ),
}

TEMPLATES = TESTS | URNS


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The words of a test.

    Attributes:
        condition: What the test looks for.
        other: Its absence.
        positive: What a test says or does that has found it.
        negative: What it says or does otherwise.
    """

    condition: str
    other: str
    positive: str
    negative: str


SCENES = {
    "T1": Scene(condition="infected", other="healthy", positive="positive", negative="negative"),
    "T2": Scene(condition="faulty", other="sound", positive="beeps", negative="stays silent"),
    "T3": Scene(condition="fake", other="genuine", positive="flags", negative="passes"),
    "T4": Scene(condition="forged", other="original", positive="doubts", negative="trusts"),
}

URN_NAMES = {"U1": ("left", "right"), "U2": ("new", "old"), "U3": ("heavy", "light")}

RULES = {True: "each put back before the next", False: "none put back"}
"""Whether the balls are put back."""

N_BALLS = 10
"""In each urn."""


class _Test(NamedTuple):
    template_id: str
    is_condition_first: bool
    prior: int
    sensitivity: int
    specificity: int
    is_positive: bool


class _Urn(NamedTuple):
    template_id: str
    names: tuple[str, str]
    reds: tuple[int, int]
    draws: str
    is_put_back: bool


def urn_likelihood(n_red: int, draws: str, *, is_put_back: bool) -> Fraction:
    """Return the probability of a sequence of draws from an urn of `N_BALLS` balls.

    Args:
        n_red: Red balls; the others are blue.
        draws: A letter a draw: ``r`` or ``b``.
        is_put_back: Whether each ball goes back before the next draw.

    Raises:
        InputError: Other letters, or more red balls than balls.

    >>> urn_likelihood(3, "rr", is_put_back=False)
    Fraction(1, 15)
    """
    if set(draws) - set("rb") or not 0 <= n_red <= N_BALLS:
        raise InputError(f"draws of r and b from 0 to {N_BALLS} red are needed, got {draws!r}")
    left = {"r": n_red, "b": N_BALLS - n_red}
    p = Fraction(1)
    for drawn in draws:
        total = sum(left.values())
        p *= Fraction(left[drawn], total) if total else 0
        if not is_put_back:
            left[drawn] -= 1
    return p


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    del seed, design  # nothing is drawn: the crossing is full
    both = (True, False)
    tests, priors, rates, urns, reds, draws, rules = {
        "smoke": (("T1",), (1, 99), ((90, 95), (95, 90)), ("U1",), (3, 6), ("r", "rr"), (True,)),
        "lite": (
            tuple(TESTS), (1, 20, 50, 80, 99), ((90, 95), (95, 90)),
            tuple(URNS), (3, 6), ("r", "b", "rr", "rb"), both,
        ),
        "full": (
            tuple(TESTS), (1, 5, 20, 50, 80, 95, 99), tuple(product((70, 90, 95), repeat=2)),
            tuple(URNS), (3, 5, 6), ("r", "b", "rr", "rb", "bb", "rrr", "rrb", "bbr", "bbb"), both,
        ),
    }[preset]  # fmt: skip
    specs: list[object] = [
        _Test(template_id, is_first, prior, sensitivity, specificity, is_positive)
        for template_id, prior, (sensitivity, specificity), is_positive, is_first in product(
            tests, priors, rates, both, both
        )
    ]
    specs += [
        _Urn(template_id, names, pair, shown, is_put_back)
        for template_id in urns
        for pair, shown, is_put_back in product(permutations(reds, 2), draws, rules)
        for names in (URN_NAMES[template_id], URN_NAMES[template_id][::-1])
    ]
    return specs


def _render(spec: object) -> Item:
    return _render_test(spec) if isinstance(spec, _Test) else _render_urn(cast(_Urn, spec))


def _render_test(spec: _Test) -> Item:
    scene = SCENES[spec.template_id]
    # One row a hypothesis: its name, its share, the right verdict, and how often the test gives it.
    rows = [
        (scene.condition, spec.prior, scene.positive, spec.sensitivity),
        (scene.other, 100 - spec.prior, scene.negative, spec.specificity),
    ]
    if not spec.is_condition_first:
        rows.reverse()
    (a, n1, r1, x1), (b, n2, r2, x2) = rows
    result = scene.positive if spec.is_positive else scene.negative
    template = TESTS[spec.template_id]
    wording = fill(
        template,
        {"a": a, "b": b, "r1": r1, "r2": r2, "r": result},
        {"n1": n1, "n2": n2, "x1": x1, "x2": x2},
    )
    ideal = posterior(
        [Fraction(share, 100) for _, share, _, _ in rows],
        [Fraction(rate if verdict == result else 100 - rate, 100) for _, _, verdict, rate in rows],
    )
    return make_item(
        family="bayes_update",
        version=1,
        template_id=spec.template_id,
        template=template,
        context=wording.text,
        blank=wording.blank,
        options=named_options((a, b)),
        ideal=ideal,
        numbers=(n1, n2, x1, x2),
        notation="percent",
        meta={
            "kind": "test",
            "prior": str(Fraction(spec.prior, 100)),
            "sensitivity": str(Fraction(spec.sensitivity, 100)),
            "specificity": str(Fraction(spec.specificity, 100)),
            "result": "+" if spec.is_positive else "-",
            "condition": scene.condition,
        },
    )


def _render_urn(spec: _Urn) -> Item:
    (a, b), (x1, x2) = spec.names, spec.reds
    template = URNS[spec.template_id]
    shown = ", ".join("red" if drawn == "r" else "blue" for drawn in spec.draws)
    rule = RULES[spec.is_put_back]
    wording = fill(
        template,
        {"a": a, "b": b, "rule": rule, "draws": shown},
        {"x1": x1, "y1": N_BALLS - x1, "x2": x2, "y2": N_BALLS - x2},
    )
    return make_item(
        family="bayes_update",
        version=1,
        template_id=spec.template_id,
        template=template,
        context=wording.text,
        blank=wording.blank,
        options=named_options((a, b)),
        ideal=posterior(
            (Fraction(1, 2), Fraction(1, 2)),
            [urn_likelihood(x, spec.draws, is_put_back=spec.is_put_back) for x in spec.reds],
        ),
        numbers=(x1, N_BALLS - x1, x2, N_BALLS - x2),
        meta={
            "kind": "urn",
            "prior": "1/2",
            "draws": spec.draws,
            "n_draws": len(spec.draws),
            "is_put_back": spec.is_put_back,
        },
    )


BAYES_UPDATE = Family(
    name="bayes_update",
    version=1,
    question="Does the answer follow Bayes' rule when evidence comes in?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
)
