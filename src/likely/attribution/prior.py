"""What may stand at a place, and how likely each is given what stands before it. Unit: nats.

A model with next-token rows tells that of every token. A server tells it of the likeliest ones, and
what the others have together; of each of those the prior comes with its evaluation.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.core.branches import Stem
from likely.core.engine import Top, evaluate
from likely.core.logspace import log_sum, logsumexp
from likely.core.model import Capability, LanguageModel, TopTokens, most_listed
from likely.errors import CapabilityError, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """The law of the candidates of one place, before anything after it is read.

    Attributes:
        log_probs: Shape ``(V,)``: of each candidate, nats, summing to 1; of those whose own is not
            told, a share of what they have together.
        told: Shape ``(V,)``: whose own is told.
        log_mass: Log of the probability of all candidates in the model, by which theirs was
            divided.
        excluded: Probability of the ids that are no candidates.
    """

    log_probs: Float[np.ndarray, "V"]
    told: Bool[np.ndarray, "V"]
    log_mass: float
    excluded: float


def check_scores(model: LanguageModel) -> None:
    """Raise unless the model tells the log-probability of any text, and which ids it has.

    Raises:
        CapabilityError: It is a server that tells those of a few likely tokens alone.
        InputError: Nobody tells how many ids there are.
    """
    info = model.info
    if Capability.NEXT_TOKEN in info.capabilities:
        return
    if info.details.get("vocabulary") == "unknown":
        raise InputError(
            f"{info.name!r} does not tell how many ids it has, so its candidates are not known: "
            "load it with tokenizer=<folder of its tokenizer> or with n_vocab=..."
        )
    told = str(info.details.get("prompt_log_probs", "exact"))
    if told != "exact" and most_listed(model) < info.n_tokens:
        raise CapabilityError(
            f"{info.name!r} tells only the likeliest tokens ({told}), and attribution needs the "
            "log-probability of any text: use a local model or a server with prompt log-probs, "
            "such as vLLM (see docs/servers.md)"
        )


class NextLaws:
    """The next-token law after each prefix of a stem, as far as the model tells it.

    Args:
        model: With next-token rows, or with lists of likeliest tokens.
        stem: Of the model; its spending counts what is asked.
    """

    def __init__(self, model: LanguageModel, stem: Stem) -> None:
        self.model = model
        self.stem = stem
        self._listed: dict[int, TopTokens] = {}

    def law(self, length: int) -> tuple[Float[np.ndarray, "V"], Bool[np.ndarray, "V"]]:
        """Return the log-probability of each id after ``length`` tokens, and whose is its own.

        One that is not told is given an equal share of what such ids have together.

        Args:
            length: At least 1.

        Raises:
            CapabilityError: The model lists no likeliest tokens either.
        """
        if Capability.NEXT_TOKEN in self.model.info.capabilities:
            row = self.stem.row(length)
            return row, np.ones(len(row), dtype=bool)
        return _spread(self.model, self._list(length))

    def prior(self, length: int, allowed: Int[np.ndarray, "v"]) -> Prior:
        """Return the prior of ids after ``length`` tokens.

        Args:
            length: At least 1.
            allowed: Sorted ids that are candidates.

        Raises:
            InputError: The candidates have no probability at all.
            CapabilityError: As `law`; or the model tells no probability of an id that is no
                candidate.
        """
        log_probs, told = self.law(length)
        if told.all():
            return _among(log_probs[allowed], told[allowed], float(logsumexp(log_probs[allowed])))
        out = np.setdiff1d(np.arange(len(log_probs)), allowed)
        asked = out[~told[out]]
        if len(asked):
            branches = self.stem.branches(length, len(asked))
            log_probs[asked] = branches.grow(asked[:, None], last=True)[:, 0]
        excluded = min(1.0, float(np.exp(log_probs[out]).sum()))
        log_mass = float(np.log1p(-excluded)) if excluded < 1.0 else -np.inf
        return _among(log_probs[allowed], told[allowed], log_mass)

    def _list(self, length: int) -> TopTokens:
        if length not in self._listed:
            request = Top(prefix=self.stem.tokens[:length], k=most_listed(self.model))
            answers = evaluate(self.model, [request])
            self.stem.spending.cost += answers.cost
            top = answers[0].top
            if top is None:
                raise CapabilityError(f"{self.model.info.name!r} gave no list of likeliest tokens")
            self._listed[length] = top
        return self._listed[length]


def _among(
    log_probs: Float[np.ndarray, "V"], told: Bool[np.ndarray, "V"], log_mass: float
) -> Prior:
    if log_mass == -np.inf:
        raise InputError("the candidates of a place have no probability at all: exclude fewer")
    excluded = max(0.0, -float(np.expm1(min(0.0, log_mass))))
    return Prior(
        log_probs=np.asarray(log_probs - log_mass), told=told, log_mass=log_mass, excluded=excluded
    )


def _spread(
    model: LanguageModel, top: TopTokens
) -> tuple[Float[np.ndarray, "V"], Bool[np.ndarray, "V"]]:
    """Return the listed log-probabilities, and for every other id its share of what is left.

    Where a list names texts and no ids, its value may be that of another token of the same text:
    the share of a token then, not its own.
    """
    n_vocab = model.info.n_vocab
    log_probs, told = np.full(n_vocab, -np.inf), np.zeros(n_vocab, dtype=bool)
    unplaced = [top.log_mass_elsewhere]
    for place, log_prob in enumerate(top.log_probs):
        token = top.id_at(place, model.tokenizer)
        if token is None or log_probs[token] > -np.inf:
            unplaced.append(log_prob)
        else:
            log_probs[token], told[token] = log_prob, top.tokens[place] is not None
    others = np.flatnonzero(log_probs == -np.inf)
    if len(others):
        share = log_sum(unplaced) - np.log(len(others))
        most = top.log_prob_elsewhere if len(unplaced) == 1 else 0.0
        log_probs[others] = min(share, most)
    return log_probs, told
