"""Why this response and not that one: the scores of two responses, and their difference. Nats.

The prompt's share in both is the same, so D cancels: ``AS(r) - AS(r')`` is
``log b / b' - log N / N'``, the log-odds of the two responses under the prompt less those under the
rest of it. Candidates are drawn once, the rest of the prompt is read once after each, and both
responses are read after that; what the shared draws do to the difference is in its own interval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from likely.attribution.adaptive import Forecast, Hunt, Method, Reason, found_by
from likely.attribution.case import Case, Prompt, frame_case
from likely.attribution.eligible import Rule
from likely.attribution.gathering import (
    KAPPA,
    KEPT,
    Answered,
    Terms,
    default_budget,
    gather,
    measure_noise,
    open_case,
    parts_late_first,
    pursue,
)
from likely.attribution.groups import Group, Groups, split_case
from likely.attribution.result import Attribution, Place
from likely.attribution.thinning import Thinned
from likely.attribution.tree import TreeSearch
from likely.core.engine import Meter
from likely.core.estimate import Cost, Estimate
from likely.core.logspace import logsumexp
from likely.core.model import LanguageModel, Settings
from likely.core.stored import Stored
from likely.core.text.encode import Boundary, Context
from likely.core.text.spans import Span
from likely.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastPlace:
    """One place of the prompt under two responses.

    Attributes:
        positions: In the prompt.
        tokens: Ids that stand there.
        text: Their text.
        difference: Score for the first response less score for the other.
        log_odds_rest: log Pr(r | rest) - log Pr(r' | rest), the rest being the prompt with a hole
            here: the log-odds of the responses as they are without this place.
        method: ``exact`` or ``adaptive``.
        converged: Whether the difference is known to the tolerance.
        reason: Why no more was done.
        cost: Spent on this place, for both responses.
    """

    positions: tuple[int, ...]
    tokens: tuple[int, ...]
    text: str
    difference: Estimate
    log_odds_rest: Estimate
    method: Method
    converged: bool
    reason: Reason
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast(Stored):
    """How much each place of a prompt spoke for one response rather than another.

    Attributes:
        first: Attribution of the first response.
        second: Attribution of the other; of the cost, both hold what was spent on both together.
        places: In order of the prompt.
        log_odds: log Pr(r | prompt) - log Pr(r' | prompt).
        tolerance: Half the width that a difference's interval was to have, nats.
        level: Of the intervals.
        cost: Of everything.
    """

    first: Attribution
    second: Attribution
    places: tuple[ContrastPlace, ...]
    log_odds: float
    tolerance: float
    level: float
    cost: Cost

    @property
    def differences(self) -> Float[np.ndarray, "n"]:
        """Score for the first response less that for the other, of each place."""
        return np.array([place.difference.value for place in self.places])

    @property
    def low(self) -> Float[np.ndarray, "n"]:
        """Lower end of each difference's interval."""
        return np.array([place.difference.low for place in self.places])

    @property
    def high(self) -> Float[np.ndarray, "n"]:
        """Upper end of each difference's interval."""
        return np.array([place.difference.high for place in self.places])

    @property
    def log_odds_rest(self) -> Float[np.ndarray, "n"]:
        """Log-odds of the responses without each place."""
        return np.array([place.log_odds_rest.value for place in self.places])

    @property
    def converged(self) -> bool:
        """Whether every difference is known to the tolerance."""
        return all(place.converged for place in self.places)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a place: difference, log-odds and both scores, with their intervals."""
        import pandas as pd

        return pd.DataFrame([self._row(i) for i in range(len(self.places))])

    def _row(self, i: int) -> dict[str, object]:
        place = self.places[i]
        row: dict[str, object] = {
            "position": place.positions[0],
            "positions": ",".join(map(str, place.positions)),
            "n_tokens": len(place.tokens),
            "text": place.text,
        }
        found = {
            "difference": place.difference,
            "log_odds_rest": place.log_odds_rest,
            "score_first": self.first.places[i].measures.score,
            "score_second": self.second.places[i].measures.score,
        }
        for name, one in found.items():
            row |= one.to_columns(name)
        return row | {
            "log_odds": self.log_odds,
            "method": place.method,
            "converged": place.converged,
            "reason": place.reason,
            "token_evaluations": place.cost.token_evaluations,
            "seconds": place.cost.seconds,
        }

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return by path of a field how many entries it has, and how many it must have."""
        found = {}
        for name, one in (("first", self.first), ("second", self.second)):
            found[f"{name}.places"] = (len(one.places), len(self.places))
            found.update({f"{name}.{path}": pair for path, pair in one.counts().items()})
        return found

    def to_latex(self, *, limit: int = 40, standalone: bool = False) -> str:
        """Return the prompt as boxes coloured by the differences, and these as a table, in LaTeX.

        Args:
            limit: Rows of the table, those of the largest differences; 0 for all.
            standalone: Whether to return a whole document, not a part of one.
        """
        from likely.attribution.latex import contrast_to_latex

        return contrast_to_latex(self, limit=limit, standalone=standalone)

    def summary(self) -> str:
        """Return a line for the whole, and one for each of the five places that say most."""
        first, second = self.first.case.response_text, self.second.case.response_text
        lines = [f"{first!r} rather than {second!r}: log-odds {self.log_odds:+.3f} nats"]
        for i in np.argsort(-np.abs(self.differences), kind="stable")[:5].tolist():
            place = self.places[i]
            found = place.difference
            ends = "exact" if found.is_exact else f"[{found.low:+z.4f}, {found.high:+z.4f}]"
            mark = "" if place.converged else "  not converged"
            lines.append(f"  {place.text!r:<16} {found.value:+z9.4f}  {ends}{mark}")
        return "\n".join(lines)


def contrast(
    model: LanguageModel,
    prompt: Prompt,
    response: Context,
    other: Context,
    *,
    groups: Groups = "tokens",
    method: Method = "adaptive",
    tolerance: float = 0.02,
    level: float = 0.95,
    seed: int = 0,
    budget: float | None = None,
    positions: Sequence[int] | None = None,
    roles: Sequence[str] | None = None,
    segments: Mapping[str, str | Span] | None = None,
    context: Context | None = None,
    boundary: Boundary = "joint",
    stop_at_end: bool = True,
    candidates: Rule = "all",
    exclude: Sequence[int] = (),
    kappa: float = KAPPA,
    kept: int | None = KEPT,
    settings: Settings | None = None,
    meter: Meter | None = None,
) -> Contrast:
    """Return how much each token of a prompt spoke for one response rather than another.

    Args:
        model: As `likely.attribution.attribute`, as all that is not named here.
        prompt: Text, ids, a rendered chat, or messages of a chat.
        response: Text or ids.
        other: Text or ids of another response, of any length.
        groups: What is averaged out together.
        method: ``exact`` or ``adaptive``.
        tolerance: Half the width that the interval of a difference may have, nats.
        level: Coverage of the intervals.
        seed: Of the draws.
        budget: Token evaluations for both responses; by default what two attributions may take.
        positions: Prompt positions; by default all tokens of ``roles``.
        roles: As `likely.attribution.frame_case`.
        segments: As there.
        context: As there.
        boundary: As there.
        stop_at_end: As there.
        candidates: Which tokens may stand at a position, by a rule.
        exclude: Ids that are no candidates.
        kappa: Of the bounds of both attributions.
        kept: How many candidates of a place both attributions keep.
        settings: How to evaluate.
        meter: Is told of progress, in token evaluations.

    Raises:
        InputError: Unusable prompt, responses or options; responses that merge with the end of the
            prompt into different tokens, so that there is not one prompt to attribute.
        CapabilityError: The model gives no next-token rows.

    >>> import likely
    >>> law = {"a": {"a": .7, "b": .3}, "b": {"a": .2, "b": .8}, "<s>": {"a": .5, "b": .5}}
    >>> chain = likely.TableModel(["a", "b"], lambda before: law[before[-1]])
    >>> found = contrast(chain, "aa", "a", "b", method="exact")
    >>> round(found.log_odds, 4), found.differences.round(4).tolist()
    (0.8473, [0.0, 0.6466])
    """
    first, second = (
        frame_case(
            model, prompt, text, positions=positions, roles=roles, segments=segments,
            context=context, boundary=boundary, stop_at_end=stop_at_end,
        )
        for text in (response, other)
    )  # fmt: skip
    return contrast_cases(
        model, first, second, groups=groups, method=method, tolerance=tolerance, level=level,
        seed=seed, budget=budget, candidates=candidates, exclude=exclude, kappa=kappa, kept=kept,
        settings=settings, meter=meter,
    )  # fmt: skip


def contrast_cases(
    model: LanguageModel,
    first: Case,
    second: Case,
    *,
    groups: Groups = "tokens",
    method: Method = "adaptive",
    tolerance: float = 0.02,
    level: float = 0.95,
    seed: int = 0,
    budget: float | None = None,
    candidates: Rule = "all",
    exclude: Sequence[int] = (),
    kappa: float = KAPPA,
    kept: int | None = KEPT,
    settings: Settings | None = None,
    meter: Meter | None = None,
) -> Contrast:
    """Return the contrast of two cases of one prompt; see `contrast`.

    Raises:
        InputError: Cases of two prompts, contexts or sets of positions, besides what `contrast`
            refuses.
    """
    terms = Terms(
        method=method, tolerance=tolerance, level=level, seed=seed, rule=candidates, kappa=kappa,
        kept=kept, budget=budget,
    )  # fmt: skip
    if first.prompt != second.prompt:
        raise InputError(
            f"the responses {first.response_text!r} and {second.response_text!r} follow prompts of "
            "different tokens: where they merge with the end of one prompt give "
            "boundary='separate', or a prompt that ends before white space"
        )
    if (first.context, first.positions) != (second.context, second.positions):
        raise InputError(
            f"a contrast is about one prompt, but its cases have contexts {first.context} and "
            f"{second.context}, and positions {first.positions} and {second.positions}: frame "
            "them alike"
        )
    first, split = split_case(first, groups)
    second, _ = split_case(second, groups)
    opening = open_case(model, first, terms, exclude=exclude, settings=settings)
    if budget is None:
        n_vocab = opening.n_candidates
        budget = default_budget(n_vocab, first) + default_budget(n_vocab, second)
    found: dict[Group, _Both] = {}
    spending = opening.stem.spending
    responses = (first.response, second.response)
    for part, share in parts_late_first(split, opening.left_of(budget, has_slopes=False)):
        opened = [opening.tree(group, responses, is_guided=method != "exact") for group in part]
        hunts = [hunt_difference(search, tolerance=tolerance, level=level) for search, _ in opened]
        pursue(hunts, method=method, budget=share, meter=meter)
        for group, hunt, (search, excluded) in zip(part, hunts, opened, strict=True):
            found[group] = _Both.of(search, hunt, terms, excluded)
    both = [found[group] for group in split]
    noises = [
        measure_noise(opening, case, [one.answered[kind] for one in both], terms, settings)
        for kind, case in enumerate((first, second))
    ]
    attributions = [
        gather(
            model, case, [one.answered[kind] for one in both], terms, noise=noises[kind],
            cost=spending.cost,
        )
        for kind, case in enumerate((first, second))
    ]  # fmt: skip
    return Contrast(
        first=attributions[0], second=attributions[1],
        places=tuple(map(_contrasted, attributions[0].places, both)),
        log_odds=attributions[0].log_response - attributions[1].log_response,
        tolerance=tolerance, level=level, cost=spending.cost,
    )  # fmt: skip


def hunt_difference(search: TreeSearch, *, tolerance: float, level: float) -> Hunt:
    """Return the hunt for the difference of both scores of a place."""

    def aim() -> tuple[Estimate, Forecast]:
        difference = Difference.of(search)
        found = difference.estimate(level=level, method="adaptive", missed=tolerance)
        return found, difference.forecast

    return Hunt(search, aim, tolerance=tolerance)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The difference of two scores as a function of the candidates read to either end.

    Attributes:
        thinned: The candidates of the first response, then those of the other.
        log_odds: Of the responses under the whole prompt.
        log_n: Log of the estimate of N, for each response.
        influence: Shape ``(n,)``: derivative of the difference by the weight of each candidate.
    """

    thinned: Thinned
    log_odds: float
    log_n: tuple[float, float]
    influence: Float[np.ndarray, "n"]

    @classmethod
    def of(cls, search: TreeSearch) -> "Difference":
        """Return the difference as far as a search of two responses knows it.

        Raises:
            InputError: A response is impossible after the prompt.
        """
        log_n, influences, own = [], [], []
        nodes = search.nodes
        is_actual = np.all(nodes.tokens == search.line.actual, axis=1)
        for heard, sign in zip(search.heard, (-1.0, 1.0), strict=True):
            own.append(float(heard.log_b[is_actual].sum()))
            if own[-1] == -np.inf:
                raise InputError(
                    "a response is impossible after this prompt, so the contrast is infinite at "
                    "every place: compare responses that the model can give"
                )
            log_y = (nodes.log_x + heard.log_b)[heard.done]
            log_n.append(float(logsumexp(log_y - np.log(heard.chance[heard.done]))))
            influences.append(sign * np.exp(log_y - log_n[-1]))
        return cls(
            thinned=search.thinned(), log_odds=own[0] - own[1], log_n=(log_n[0], log_n[1]),
            influence=np.concatenate(influences),
        )  # fmt: skip

    def estimate(self, *, level: float, method: str, missed: float = 0.0) -> Estimate:
        """Return the score for the first response less that for the other.

        Args:
            level: Coverage.
            method: How the candidates were chosen.
            missed: As `likely.attribution.measures.measure` takes it.
        """
        value = self.log_odds - (self.log_n[0] - self.log_n[1])
        return self.thinned.estimate(
            value, self.influence, level=level, method=method, least=missed / 2.0
        )

    def log_odds_rest(self, *, level: float, method: str, missed: float = 0.0) -> Estimate:
        """Return the log-odds of the responses given the rest of the prompt; see `estimate`."""
        value = self.log_n[0] - self.log_n[1]
        return self.thinned.estimate(
            value, -self.influence, level=level, method=method, least=missed / 2.0
        )

    def forecast(self, factor: float) -> float:
        """Return the standard error to expect of a round ``factor`` times as large."""
        return self.thinned.forecast(self.influence, earlier=self.influence, factor=factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Both:
    """What was found about one place for both responses."""

    answered: tuple[Answered, Answered]
    difference: Estimate
    log_odds_rest: Estimate
    hunt: Hunt

    @classmethod
    def of(cls, search: TreeSearch, hunt: Hunt, terms: Terms, excluded: float) -> "_Both":
        mass = excluded + search.aside
        first, second = (
            Answered(
                found=found_by(hunt, level=terms.level, evidence=search.evidence(kind)),
                cost=hunt.cost, excluded_mass=mass,
            )
            for kind in (0, 1)
        )  # fmt: skip
        difference = Difference.of(search)
        level, method, missed = terms.level, hunt.method, terms.tolerance
        return cls(
            answered=(first, second),
            difference=difference.estimate(level=level, method=method, missed=missed),
            log_odds_rest=difference.log_odds_rest(level=level, method=method, missed=missed),
            hunt=hunt,
        )


def _contrasted(place: Place, both: _Both) -> ContrastPlace:
    return ContrastPlace(
        positions=place.positions, tokens=place.tokens, text=place.text,
        difference=both.difference, log_odds_rest=both.log_odds_rest, method=place.method,
        converged=both.hunt.converged, reason=both.hunt.reason, cost=place.cost,
    )  # fmt: skip
