"""An attribution in lines for a person. Unit: nats."""

from typing import TYPE_CHECKING

from likely.attribution.cells import strongest
from likely.attribution.result import Attribution, Place
from likely.core.text.spans import name_positions

if TYPE_CHECKING:
    from likely.attribution.contrasts import Contrast


def summary(found: Attribution, *, limit: int) -> str:
    """Return model, response, and the places with the largest scores, in order of the prompt."""
    case, cost = found.case, found.cost
    shown = strongest(found, limit)
    return "\n".join(
        [
            f"which tokens of the prompt made this response likely? ({found.model.name})",
            f"prompt: {case.prompt_text!r}",
            f"response: {case.response_text!r}, {found.log_response:.4f} nats over "
            f"{len(case.response)} tokens",
            *(_line(place) for place in shown),
            *_left_out(len(found.places) - len(shown)),
            reach(found),
            f"cost: {cost.token_evaluations} token evaluations, {cost.seconds:.2f} s",
        ]
    )


def reach(found: "Attribution | Contrast", *, what: str = "scores") -> str:
    """Return in a line how many scores, or differences of scores, are known, and how well."""
    n_exact = sum(place.method == "exact" for place in found.places)
    n_drawn = len(found.places) - n_exact
    n_known = sum(place.converged for place in found.places if place.method != "exact")
    parts = []
    if n_exact:
        parts.append(f"{n_exact} exact")
    if n_drawn:
        parts.append(
            f"{n_known} of {n_drawn} estimated to within {found.tolerance:g} nats "
            f"({found.level:.0%} intervals)"
        )
    return f"{what}: " + ", ".join(parts or ["none"])


def _line(place: Place) -> str:
    score = place.measures.score
    name = name_positions(place.positions)
    ends = "exact" if score.is_exact else f"[{score.low:+z.4f}, {score.high:+z.4f}]"
    mark = "" if place.converged else "  not converged"
    return f"{name:>5}  {place.text!r:<16} {score.value:+z9.4f}  {ends}{mark}"


def _left_out(n: int) -> list[str]:
    return [f"... {n} more places with scores nearer 0"] if n else []
