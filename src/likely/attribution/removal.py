"""What a prompt becomes without some of its tokens, and how likely the response then is. Nats.

Three ways to take tokens out. `Deletion` leaves no trace, so later tokens move up; `Fixed` puts one
token in the place of each; `Marginal` draws what might stand there, from the posteriors that an
attribution found. They ask different questions, so every result names the one it used.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, get_args, runtime_checkable

import numpy as np
from jaxtyping import Float

from likely.attribution.case import Case, Ids
from likely.core.engine import Continuation, Meter, evaluate
from likely.core.estimate import Cost
from likely.core.logspace import logsumexp
from likely.core.model import LanguageModel, Settings
from likely.core.streams import generator
from likely.errors import CapabilityError, InputError, UnknownNameError

if TYPE_CHECKING:
    from likely.attribution.result import Attribution

RemovalName: TypeAlias = Literal["deletion", "replacement"]


@runtime_checkable
class Removal(Protocol):
    """A way to take tokens out of a prompt."""

    @property
    def name(self) -> str:
        """As results name it."""
        ...

    @property
    def n_draws(self) -> int:
        """How many prompts stand for one without some tokens: 1 where nothing is drawn."""
        ...

    def prompts(self, case: Case, removed: AbstractSet[int]) -> tuple[Ids, ...]:
        """Return the ``n_draws`` prompts without the tokens at these positions."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """The tokens are taken out and later ones move up."""

    name: Literal["deletion"] = "deletion"
    n_draws: Literal[1] = 1

    def prompts(self, case: Case, removed: AbstractSet[int]) -> tuple[Ids, ...]:
        """Return the one prompt that is left."""
        return (tuple(token for i, token in enumerate(case.prompt) if i not in removed),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """One token stands in the place of each that is taken out.

    Attributes:
        token: Its id.
    """

    token: int
    name: Literal["replacement"] = "replacement"
    n_draws: Literal[1] = 1

    def prompts(self, case: Case, removed: AbstractSet[int]) -> tuple[Ids, ...]:
        """Return the one prompt, as long as before."""
        filled = (self.token if i in removed else token for i, token in enumerate(case.prompt))
        return (tuple(filled),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginal:
    """What might stand in the place of each token stands there, drawn ``n_draws`` times.

    Each place is drawn from its posterior given all the rest of the prompt. Several places at once
    are drawn independently of one another, which their joint posterior is not.

    Attributes:
        substitutes: For each position the token of each draw.
        mass: Share of the posterior that the candidates which were drawn from hold, the least of
            all places. The rest of it is as if it were spread like theirs.
        n_draws: How many.
    """

    substitutes: Mapping[int, Ids]
    mass: float
    n_draws: int
    name: Literal["marginal"] = "marginal"

    def prompts(self, case: Case, removed: AbstractSet[int]) -> tuple[Ids, ...]:
        """Return one prompt a draw, as long as before.

        Raises:
            InputError: A position whose posterior is not known.
        """
        unknown = sorted(removed - set(self.substitutes))
        if unknown:
            raise InputError(
                f"what might stand at position {unknown[0]!r} is not known: the attribution has "
                f"{sorted(self.substitutes)}"
            )
        return tuple(
            tuple(
                self.substitutes[i][draw] if i in removed else token
                for i, token in enumerate(case.prompt)
            )
            for draw in range(self.n_draws)
        )


def draw_marginal(attribution: "Attribution", *, n_draws: int = 32, seed: int = 0) -> Marginal:
    """Draw substitutes for every place of an attribution from its candidates.

    Args:
        attribution: Its places share no position.
        n_draws: For each place, at least 2.
        seed: Of the draws, of which each place has a stream of its own.

    Raises:
        InputError: Too few draws, or places that overlap.
    """
    if n_draws < 2:
        raise InputError(f"at least 2 draws are needed to know their spread, got {n_draws!r}")
    substitutes: dict[int, Ids] = {}
    mass = 1.0
    for place in attribution.places:
        found = place.candidates
        log_q = found.log_posterior + np.log(found.weight)
        log_mass = float(logsumexp(log_q))
        mass = min(mass, float(np.exp(log_mass)))
        rng = generator(seed, "attribution", "marginal", *place.positions)
        chance = np.exp(log_q - log_mass)
        drawn = rng.choice(len(found), size=n_draws, p=chance / chance.sum())
        for column, position in enumerate(place.positions):
            if position in substitutes:
                raise InputError(f"position {position!r} belongs to two places; draw from one")
            substitutes[position] = tuple(found.tokens[drawn, column].tolist())
    return Marginal(substitutes=substitutes, mass=mass, n_draws=n_draws)


def make_removal(model: LanguageModel, name: str, token: int | str | None = None) -> Removal:
    """Return the removal of this name.

    Args:
        model: For its ids.
        name: ``deletion`` or ``replacement``.
        token: Of a replacement; see `replacement_token`.

    Raises:
        UnknownNameError: Another name.
        InputError: A token that is none, or one for a deletion.
    """
    if name not in get_args(RemovalName):
        raise UnknownNameError.among("removal", name, get_args(RemovalName))
    if name == "replacement":
        return Fixed(token=replacement_token(model, token))
    if token is not None:
        raise InputError(f"a deletion puts nothing in a token's place, got token={token!r}")
    return Deletion()


def replacement_token(model: LanguageModel, token: int | str | None = None) -> int:
    """Return the id that stands in for removed tokens.

    Args:
        model: For its ids.
        token: An id, or a text that is one token. None takes a single space where that is one
            token, else the end-of-sequence token, else the BOS. No token means nothing: what stands
            in is part of the question, so name it where it matters.

    Raises:
        InputError: An id out of range, a text that is not one token, or no default.
    """
    info = model.info
    if isinstance(token, int):
        if not 0 <= token < info.n_tokens:
            raise InputError(f"{info.name!r} has ids 0..{info.n_tokens - 1}, got {token!r}")
        return token
    if token is not None:
        ids = model.tokenizer.encode(token).tokens
        if len(ids) != 1:
            raise InputError(
                f"a replacement is one token, {token!r} is {len(ids)} of {info.name!r}"
            )
        return ids[0]
    space = _space(model)
    found = next((id_ for id_ in (space, info.eos_id, info.bos_id) if id_ is not None), None)
    if found is None:
        raise InputError(f"{info.name!r} has no token for a space, no end and no BOS: give token=")
    return found


def _space(model: LanguageModel) -> int | None:
    try:
        ids = model.tokenizer.encode(" ").tokens
    except InputError:  # a table without one
        return None
    return ids[0] if len(ids) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """How likely the response is without some tokens.

    Attributes:
        by_draw: Shape ``(n_sets, n_draws)``: log-probability of the response after each prompt.
        cost: Of all of them.
    """

    by_draw: Float[np.ndarray, "n d"]
    cost: Cost

    @property
    def log_probs(self) -> Float[np.ndarray, "n"]:
        """Log of the mean probability over draws, shape ``(n_sets,)``."""
        return np.asarray(logsumexp(self.by_draw, axis=1) - np.log(self.by_draw.shape[1]))


def log_probs_without(
    model: LanguageModel,
    case: Case,
    sets: Sequence[AbstractSet[int]],
    *,
    removal: Removal,
    settings: Settings | None = None,
    meter: Meter | None = None,
) -> Removed:
    """Return the log-probability of the response without each of some sets of tokens.

    All prompts go to the model in one call, each distinct prefix once.

    Args:
        model: Any model that scores continuations.
        case: Prompt and response.
        sets: Positions of the prompt that are taken out; an empty set is the whole prompt.
        removal: How.
        settings: How to evaluate.
        meter: Is told of progress.

    Raises:
        CapabilityError: The model gives no exact log-probabilities.
    """
    shape = (len(sets), removal.n_draws)
    if not case.response:
        return Removed(by_draw=np.zeros(shape), cost=Cost())
    prompts = [prompt for removed in sets for prompt in removal.prompts(case, removed)]
    distinct = dict.fromkeys(prompts)
    requests = [
        Continuation(prefix=case.context + prompt, target=case.response) for prompt in distinct
    ]
    answers = evaluate(model, requests, settings=settings, meter=meter)
    found: dict[Ids, float] = {}
    for prompt, answer in zip(distinct, answers.answers, strict=True):
        if answer.censored is not None:
            raise CapabilityError(
                f"{model.info.name!r} only bounds the probability of the response without some "
                "tokens; use a model that scores any continuation (likely models)"
            )
        found[prompt] = float(answer.values.sum())
    log_probs = np.array([found[prompt] for prompt in prompts]).reshape(shape)
    return Removed(by_draw=log_probs, cost=answers.cost)
