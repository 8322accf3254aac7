"""What an attribution returns: for each place of the prompt every number, and how it was found.

Unit: nats.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jaxtyping import Float, Int

from likely._version import __version__
from likely.attribution.adaptive import Method, Reason
from likely.attribution.case import Case
from likely.attribution.eligible import Rule
from likely.attribution.measures import Measures
from likely.core.estimate import Cost
from likely.core.model import LanguageModel
from likely.core.stored import Stored
from likely.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Candidates of one place that were evaluated to the end, likeliest given the rest first.

    Attributes:
        tokens: Shape ``(n, g)``: the tokens of each at the g places.
        pieces: Their text.
        log_prior: Shape ``(n,)``: given what stands before.
        log_posterior: Shape ``(n,)``: log q, given all the rest of the prompt.
        log_posterior_response: Shape ``(n,)``: log q^r, given the response too.
        log_response: Shape ``(n,)``: log b, of the response with this candidate in place.
        score: Shape ``(n,)``: what the attribution score would be with it in place.
        weight: Shape ``(n,)``: how many candidates each stands for: 1 over its chance.
    """

    tokens: Int[np.ndarray, "n g"]
    pieces: tuple[str, ...]
    log_prior: Float[np.ndarray, "n"]
    log_posterior: Float[np.ndarray, "n"]
    log_posterior_response: Float[np.ndarray, "n"]
    log_response: Float[np.ndarray, "n"]
    score: Float[np.ndarray, "n"]
    weight: Float[np.ndarray, "n"]

    def __len__(self) -> int:
        """Return n."""
        return len(self.tokens)

    def take(self, index: Int[np.ndarray, "k"]) -> "Candidates":
        """Return some of them, in this order."""
        return Candidates(
            tokens=self.tokens[index],
            pieces=tuple(self.pieces[i] for i in index.tolist()),
            log_prior=self.log_prior[index],
            log_posterior=self.log_posterior[index],
            log_posterior_response=self.log_posterior_response[index],
            log_response=self.log_response[index],
            score=self.score[index],
            weight=self.weight[index],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitute:
    """A candidate as a person reads it.

    Attributes:
        tokens: Ids at the places.
        text: Their text.
        prob: q, given the rest of the prompt.
        prob_response: q^r, given the response too.
        score: The score with it in place, nats.
    """

    tokens: tuple[int, ...]
    text: str
    prob: float
    prob_response: float
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place of the prompt: a token, or several that are marginalised together.

    Attributes:
        positions: In the prompt.
        tokens: Ids that stand there.
        text: Their text.
        measures: Every number, each with its interval.
        bounds: The interval of the score that always holds; mostly it is too wide to say much.
        context_entropy_bounds: That of the entropy of q, likewise.
        response_entropy_bounds: That of the entropy of q^r.
        assumed_bounds: The one that holds if no candidate left out is ``kappa`` times as good as
            the best that was evaluated.
        method: ``exact`` or ``adaptive``.
        converged: Whether the score is known to the tolerance.
        reason: Why no more was done.
        n_candidates: Evaluated to the end of the response.
        cost: Spent on this place.
        candidates: Of these the likeliest.
    """

    positions: tuple[int, ...]
    tokens: tuple[int, ...]
    text: str
    measures: Measures
    bounds: tuple[float, float]
    context_entropy_bounds: tuple[float, float]
    response_entropy_bounds: tuple[float, float]
    assumed_bounds: tuple[float, float]
    method: Method
    converged: bool
    reason: Reason
    n_candidates: int
    cost: Cost
    candidates: Candidates

    def substitutes(self, k: int = 5, *, given_response: bool = False) -> tuple[Substitute, ...]:
        """Return the ``k`` likeliest candidates, under q or, given the response, under q^r."""
        found = self.candidates
        order = np.argsort(-found.log_posterior_response, kind="stable")
        best = (
            found.take(order[:k]) if given_response else found.take(np.arange(min(k, len(found))))
        )
        return tuple(
            Substitute(
                tokens=tuple(best.tokens[i].tolist()), text=best.pieces[i],
                prob=float(np.exp(best.log_posterior[i])),
                prob_response=float(np.exp(best.log_posterior_response[i])),
                score=float(best.score[i]),
            )
            for i in range(len(best))
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution(Stored):
    """How much each place of a prompt made the response likely.

    Attributes:
        case: Prompt and response as they were scored.
        places: In order of the prompt.
        log_response: Log-probability of the response given the prompt, A.
        response_log_probs: Shape ``(R,)``: of each of its tokens.
        excluded_mass: For each place the prior probability of ids that were no candidates, or
            of which a server does not tell it.
        rule: Which tokens were candidates, as asked for.
        noise: How far the response's log-probability, taken with the candidates of a place, is
            from what the plain forward of the text alone gives, at most; nats. Scores are not
            known better than that, whatever their intervals say.
        model: Name of the model, with its fingerprint and the version of likely.
        method: As asked for.
        tolerance: As asked for, nats.
        level: Of the intervals.
        seed: Of the draws.
        kappa: Of the assumption behind ``assumed_bounds``.
        cost: Of everything.
    """

    names_study: ClassVar[bool] = True

    case: Case
    places: tuple[Place, ...]
    log_response: float
    response_log_probs: Float[np.ndarray, "R"]
    excluded_mass: Float[np.ndarray, "n"]
    rule: Rule
    noise: float
    model: "ModelFacts"
    method: Method
    tolerance: float
    level: float
    seed: int
    kappa: float
    cost: Cost

    @property
    def scores(self) -> Float[np.ndarray, "n"]:
        """Attribution score of each place, nats."""
        return self._values("score")

    @property
    def low(self) -> Float[np.ndarray, "n"]:
        """Lower end of each score's interval."""
        return np.array([place.measures.score.low for place in self.places])

    @property
    def high(self) -> Float[np.ndarray, "n"]:
        """Upper end of each score's interval."""
        return np.array([place.measures.score.high for place in self.places])

    @property
    def context_entropy(self) -> Float[np.ndarray, "n"]:
        """Entropy of what might stand at each place, given the rest of the prompt."""
        return self._values("context_entropy")

    @property
    def response_entropy(self) -> Float[np.ndarray, "n"]:
        """The same given the response too."""
        return self._values("response_entropy")

    @property
    def matrix(self) -> Float[np.ndarray, "n R"]:
        """Share of each response token in the score of each place; rows sum to the scores."""
        n_response = len(self.case.response)
        return np.array([place.measures.matrix for place in self.places]).reshape(
            len(self.places), n_response
        )

    @property
    def converged(self) -> bool:
        """Whether every score is known to the tolerance."""
        return all(place.converged for place in self.places)

    @property
    def positions(self) -> tuple[int, ...]:
        """Prompt position of each place, the first of its own."""
        return tuple(place.positions[0] for place in self.places)

    def at(self, position: int) -> Place:
        """Return the place that holds a prompt position.

        Raises:
            InputError: That position was not attributed.
        """
        for place in self.places:
            if position in place.positions:
                return place
        raise InputError(
            f"position {position!r} was not attributed; these were: {list(self.positions)}"
        )

    def substitutes(
        self, position: int, k: int = 5, *, given_response: bool = False
    ) -> tuple[Substitute, ...]:
        """Return what else might stand at a prompt position; see `Place.substitutes`."""
        return self.at(position).substitutes(k, given_response=given_response)

    def select(self, positions: Sequence[int]) -> "Attribution":
        """Return the attribution with the places of these positions alone.

        Raises:
            InputError: One of them was not attributed.
        """
        for position in positions:
            self.at(position)
        chosen = [i for i, place in enumerate(self.places) if set(place.positions) & set(positions)]
        return replace(
            self,
            places=tuple(self.places[i] for i in chosen),
            excluded_mass=self.excluded_mass[chosen],
        )

    def _values(self, name: str) -> Float[np.ndarray, "n"]:
        return np.array([getattr(place.measures, name).value for place in self.places])

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a place: position, text, score with its interval, and the other numbers."""
        from likely.attribution.frame import to_frame

        return to_frame(self)

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return by path of a field how many entries it has, and how many it must have."""
        n_places, n_response = len(self.places), len(self.case.response)
        n_tokens = len(self.case.prompt)
        found = {
            "excluded_mass": (len(self.excluded_mass), n_places),
            "response_log_probs": (len(self.response_log_probs), n_response),
            "case.response_spans": (len(self.case.response_spans), n_response),
            "case.spans": (len(self.case.spans), n_tokens),
            "case.roles": (len(self.case.roles), n_tokens),
        }
        for i, place in enumerate(self.places):
            path, kept = f"places.{i}", place.candidates
            found[f"{path}.tokens"] = (len(place.tokens), len(place.positions))
            found[f"{path}.measures.matrix"] = (len(place.measures.matrix), n_response)
            found[f"{path}.candidates.pieces"] = (len(kept.pieces), len(kept))
        return found

    def to_npz(self, path: str | Path) -> None:
        """Write everything as NPZ; `likely.attribution.read_npz` reads it.

        Raises:
            StoreError: The file cannot be written.
        """
        from likely.attribution.files import write_npz

        write_npz(self, path)

    def to_latex(self, *, limit: int = 40, standalone: bool = False) -> str:
        """Return the prompt as coloured boxes with a scale, and the scores as a table, in LaTeX.

        Args:
            limit: Rows of the table, those of the largest scores; 0 for all.
            standalone: Whether to return a whole document, not a part of one.
        """
        from likely.attribution.latex import to_latex

        return to_latex(self, limit=limit, standalone=standalone)

    def summary(self, *, limit: int = 20) -> str:
        """Return what was found in lines for a person.

        Args:
            limit: Places that are shown, those of the largest scores; 0 for all.
        """
        from likely.attribution.summary import summary

        return summary(self, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """Which model was asked, by which version.

    Attributes:
        name: As loaded.
        identity: Fingerprint, dtype and backend.
        likely: Version of this package.
    """

    name: str
    identity: str
    likely: str

    @classmethod
    def of(cls, model: LanguageModel) -> "ModelFacts":
        """Return the facts of a model that is asked now."""
        return cls(name=model.info.name, identity=model.info.identity, likely=__version__)
