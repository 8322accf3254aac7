"""Laws by their names: uniform, binomial, geometric, Poisson.

Options are at most 20 integers from the start of the support. The ideal law is the named one
given that it falls on them: cut off and renormalised, exactly rational, since the constant of a
Poisson law cancels. ``covered`` is the share of the full law on the options, hence the mass of a
calibrated model. Unit: none.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, factorial
from typing import NamedTuple, cast

from likely.calibration.data_sets.exact_laws import binomial, proportional
from likely.calibration.data_sets.family import Family, Preset
from likely.calibration.data_sets.items import Item, integer_options, make_item
from likely.calibration.data_sets.wording import fill

TEMPLATES = {
    "N1": "X is drawn at random from {law}. The value of X is",
    "N2": "A simulator takes one sample from {law}. Sample:",
    "N3": "Let K follow {law}. One random observation of K turned out to be",
    "N4": "We sampled once from {law} and obtained",
    "N5": "One random number from {law}:",
    "N6": "A random number generator is set to {law}. It prints",
}

MAX_OPTIONS = 20

_LAWS = {
    ("uniform", "words"): "a uniform distribution on the integers from {a} to {b} inclusive",
    ("uniform", "symbols"): "UniformInteger(min={a}, max={b})",
    ("binomial", "words"): "a binomial distribution with {a} trials and success probability {b}",
    ("binomial", "symbols"): "Binomial(n={a}, p={b})",
    ("trials", "words"): (
        "a geometric distribution with success probability {a}, counting the trials up to and "
        "including the first success"
    ),
    ("trials", "symbols"): "Geometric(p={a}, counts=trials)",
    ("failures", "words"): (
        "a geometric distribution with success probability {a}, counting the failures before the "
        "first success"
    ),
    ("failures", "symbols"): "Geometric(p={a}, counts=failures)",
    ("poisson", "words"): "a Poisson distribution with mean {a}",
    ("poisson", "symbols"): "Poisson(mean={a})",
}
"""Kind and notation to the name of the law; a geometric law counts trials or failures."""


class Law(NamedTuple):
    """A named law: its kind, as in the names above, and one or two parameters."""

    kind: str
    parameters: tuple[Fraction, ...]


@cache
def law_of(law: Law) -> tuple[int, tuple[Fraction, ...], float]:
    """Return the first integer, the ideal law from there on, and the share it covers.

    >>> law_of(Law("binomial", (Fraction(2), Fraction(1, 2))))
    (0, (Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)), 1.0)
    """
    a, b = (*law.parameters, Fraction(0))[:2]
    start, covered = 0, 1.0
    if law.kind == "uniform":
        start = int(a)
        weights = [Fraction(1)] * (int(b) - start + 1)
    elif law.kind == "binomial":
        weights = list(binomial(int(a), b))
    elif law.kind == "poisson":
        weights = [a**k / factorial(k) for k in range(MAX_OPTIONS)]
        covered = float(sum(weights)) * exp(-float(a))
    else:
        start = 1 if law.kind == "trials" else 0
        weights = [(1 - a) ** k for k in range(MAX_OPTIONS)]
        covered = float(1 - (1 - a) ** MAX_OPTIONS)
    return start, proportional(weights), covered


def _steps(low: int, high: int, unit: int) -> list[Fraction]:
    return [Fraction(x, unit) for x in range(low, high + 1)]


LAWS = (
    *(
        Law("uniform", (Fraction(low), Fraction(low + width - 1)))
        for low, width in product((0, 1, 10, 95), (3, 4, 5, 8, 12, 20))
    ),
    *(
        Law("binomial", (Fraction(n), q))
        for n, q in product((3, 6, 10, 19), [Fraction(x, 20) for x in (2, 5, 8, 10, 15, 18)])
    ),
    *(Law(kind, (q,)) for q in _steps(5, 16, 20) for kind in ("trials", "failures")),
    *(Law("poisson", (mean,)) for mean in _steps(1, 24, 2)),
)
"""24 laws of each kind."""


class _Spec(NamedTuple):
    template_id: str
    notation: str
    law: Law


def _plan(preset: Preset, seed: int, design: str) -> Sequence[object]:
    templates, laws = tuple(TEMPLATES), LAWS
    if preset != "full":
        laws = tuple(LAWS[24 * kind + i] for kind in range(4) for i in (0, 7, 14, 21))
    if preset == "smoke":
        templates = templates[:1]
    return [_Spec(*spec) for spec in product(templates, ("words", "symbols"), laws)]


def _render(spec: object) -> Item:
    template_id, notation, law = cast(_Spec, spec)
    start, ideal, covered = law_of(law)
    template = TEMPLATES[template_id].replace("{law}", _LAWS[law.kind, notation])
    shown = {name: f"{float(x):g}" for name, x in zip("ab", law.parameters, strict=False)}
    wording = fill(template, {}, shown)
    values = range(start, start + len(ideal))
    return make_item(
        family="named_dist",
        version=1,
        template_id=template_id,
        template=TEMPLATES[template_id],
        context=wording.text,
        blank=wording.blank,
        options=integer_options(values),
        ideal=ideal,
        numbers=law.parameters,
        number_pair_id=":".join((law.kind, *map(str, law.parameters))),
        notation=notation,
        has_twin=False,
        meta={"kind": law.kind, "covered": f"{covered:.6f}"},
    )


NAMED_DIST = Family(
    name="named_dist",
    version=1,
    question="Do the probabilities of integers follow a distribution that the text names?",
    templates=TEMPLATES,
    plan=_plan,
    render=_render,
)
