"""The numbers of an attribution as written in tables, and as a record. Unit: nats."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from likely.attribution.contrasts import ContrastPlace
from likely.attribution.result import Attribution, Place, Substitute
from likely.core.estimate import Estimate
from likely.report.display import count, fixed, share, signed


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A number as written.

    Attributes:
        shown: The number.
        ends: Its interval; empty where it is exact.
    """

    shown: str
    ends: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of the table of all numbers.

    Attributes:
        label: Its head.
        unit: What it is, in symbols.
        is_brief: Whether the card of a token shows it.
        write: Gives its cell.
    """

    label: str
    unit: str
    is_brief: bool
    write: Callable[[Place], Cell]


def estimate_cell(found: Estimate, *, is_signed: bool = False) -> Cell:
    """Return the cell of a number with its interval."""
    form = signed if is_signed else fixed
    text = "" if found.is_exact else f"{form(found.low, 3)} to {form(found.high, 3)}"
    return Cell(shown=form(found.value, 3), ends=text)


def _estimate(name: str, *, is_signed: bool = False) -> Callable[[Place], Cell]:
    return lambda place: estimate_cell(getattr(place.measures, name), is_signed=is_signed)


def _bounds(name: str, *, is_signed: bool = True) -> Callable[[Place], Cell]:
    form = signed if is_signed else fixed

    def write(place: Place) -> Cell:
        low, high = getattr(place, name)
        return Cell(shown=f"{form(low, 3)} to {form(high, 3)}")

    return write


def _left_out(place: Place) -> Cell:
    measures = place.measures
    return Cell(shown=f"{share(measures.omitted_context)}, {share(measures.omitted_response)}")


def _heaviest(place: Place) -> Cell:
    most = place.measures.score.diagnostics.get("largest_share")
    return Cell(shown="–" if most is None else share(float(most)))


def how_known(place: Place | ContrastPlace) -> str:
    """Return how a score, or a difference of scores, came to be known, and whether well enough."""
    if place.reason == "exact":
        return "exact"
    return f"{place.method}, {'converged' if place.converged else 'not converged'}"


COLUMNS = (
    Column(label="Score", unit="", is_brief=True, write=_estimate("score", is_signed=True)),
    Column(label="Found", unit="", is_brief=True, write=lambda place: Cell(shown=how_known(place))),
    Column(label="Left out", unit="of q, of qʳ", is_brief=True, write=_left_out),
    Column(label="One draw’s share", unit="of variance", is_brief=True, write=_heaviest),
    Column(label="Context entropy", unit="H(q)", is_brief=True, write=_estimate("context_entropy")),
    Column(
        label="Response entropy", unit="H(qʳ)", is_brief=True, write=_estimate("response_entropy")
    ),
    Column(
        label="Surprisal", unit="from the left", is_brief=True,
        write=lambda place: Cell(shown=fixed(place.measures.left_surprisal, 3)),
    ),
    Column(label="Surprisal", unit="two-sided", is_brief=True, write=_estimate("surprisal")),
    Column(
        label="Surprisal", unit="and response", is_brief=True, write=_estimate("response_surprisal")
    ),
    Column(label="Information", unit="KL(qʳ, q)", is_brief=True, write=_estimate("information")),
    Column(
        label="Reverse information", unit="KL(q, qʳ)", is_brief=False,
        write=_estimate("reverse_information"),
    ),
    Column(
        label="Jensen–Shannon", unit="of q and qʳ", is_brief=False,
        write=_estimate("jensen_shannon"),
    ),
    Column(
        label="Entropy change", unit="H(q) − H(qʳ)", is_brief=False,
        write=_estimate("entropy_change", is_signed=True),
    ),
    Column(
        label="Interventional score", unit="put by hand", is_brief=False,
        write=_estimate("interventional", is_signed=True),
    ),
    Column(
        label="Prompt’s rest", unit="log D", is_brief=False,
        write=_estimate("log_prompt_likelihood"),
    ),
    Column(
        label="Response without it", unit="log N/D", is_brief=False,
        write=_estimate("log_response_rest"),
    ),
    Column(label="Score if κ holds", unit="", is_brief=False, write=_bounds("assumed_bounds")),
    Column(label="Score at any rate", unit="", is_brief=False, write=_bounds("bounds")),
    Column(
        label="Entropy at any rate", unit="H(q)", is_brief=False,
        write=_bounds("context_entropy_bounds", is_signed=False),
    ),
    Column(
        label="Entropy at any rate", unit="H(qʳ)", is_brief=False,
        write=_bounds("response_entropy_bounds", is_signed=False),
    ),
    Column(
        label="Candidates", unit="", is_brief=True,
        write=lambda place: Cell(shown=count(place.n_candidates)),
    ),
    Column(
        label="Token evaluations", unit="", is_brief=False,
        write=lambda place: Cell(shown=count(place.cost.token_evaluations)),
    ),
)  # fmt: skip
"""All numbers of a place."""


def to_record(found: Attribution) -> dict[str, object]:
    """Return what a section shows, as a mapping for strict JSON."""
    return {
        "prompt": found.case.prompt_text,
        "response": found.case.response_text,
        "log_response": found.log_response,
        "response_log_probs": found.response_log_probs.tolist(),
        "method": found.method,
        "tolerance": found.tolerance,
        "level": found.level,
        "seed": found.seed,
        "flags": sorted(found.case.flags),
        "cost": found.cost.to_dict(),
        "places": [_place_record(place) for place in found.places],
    }


def _place_record(place: Place) -> dict[str, object]:
    return {
        "positions": list(place.positions),
        "tokens": list(place.tokens),
        "text": place.text,
        **{name: getattr(place.measures, name).to_dict() for name in place.measures.estimates()},
        "matrix": place.measures.matrix.tolist(),
        "method": place.method,
        "converged": place.converged,
        "substitutes": _substitute_records(place.substitutes()),
        "substitutes_given_response": _substitute_records(place.substitutes(given_response=True)),
    }


def _substitute_records(found: Sequence[Substitute]) -> list[dict[str, object]]:
    return [
        {
            "tokens": list(one.tokens), "text": one.text, "prob": one.prob,
            "prob_response": one.prob_response, "score": one.score,
        }
        for one in found
    ]  # fmt: skip
