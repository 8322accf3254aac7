"""An attribution as a table. Unit: nats."""

from typing import TYPE_CHECKING

from likely.core.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd

    from likely.attribution.result import Attribution, Place


def to_frame(found: "Attribution") -> "pd.DataFrame":
    """Return a row a place, each number with the ends of its interval beside it.

    ``score_per_token`` is the score over the number of response tokens, for responses of different
    length; of an empty response it is 0, as the score is.
    """
    import pandas as pd

    n_response = len(found.case.response)
    return pd.DataFrame([_row(place, n_response) for place in found.places])


def _row(place: "Place", n_response: int) -> dict[str, object]:
    row: dict[str, object] = {
        "position": place.positions[0],
        "positions": ",".join(map(str, place.positions)),
        "n_tokens": len(place.tokens),
        "text": place.text,
    }
    for name in place.measures.estimates():
        estimate: Estimate = getattr(place.measures, name)
        row |= estimate.to_columns(name)
    bounds = {
        "bound": place.bounds,
        "assumed": place.assumed_bounds,
        "context_entropy_bound": place.context_entropy_bounds,
        "response_entropy_bound": place.response_entropy_bounds,
    }
    return row | {
        "score_per_token": place.measures.score.value / max(1, n_response),
        "left_surprisal": place.measures.left_surprisal,
        **{
            f"{name}_{end}": value
            for name, ends in bounds.items()
            for end, value in zip(("low", "high"), ends, strict=True)
        },
        "omitted_context": place.measures.omitted_context,
        "omitted_response": place.measures.omitted_response,
        "method": place.method,
        "converged": place.converged,
        "reason": place.reason,
        "n_candidates": place.n_candidates,
        "token_evaluations": place.cost.token_evaluations,
        "seconds": place.cost.seconds,
    }
