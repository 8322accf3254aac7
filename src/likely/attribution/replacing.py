"""What the model would answer with something else in a prompt token's place. Unit: nats.

The likeliest substitutes of a place are put there one by one, and the likeliest response to each
such prompt is written. Where all of them answer alike, the token does not matter for what the model
does; where each answers otherwise, it does. That is another question than how likely the response
is, which the attribution score asks.

With f(v) the response to the prompt with v in place and V drawn from the posterior of the place,
the weighted entropy is that of f(V). It is no more than the entropy of V, since f(V) is a function
of it. The count entropy, which the authors report, counts every substitute once.

Sources:
    Shilpika and others (2026), arXiv 2605.21726, result files ``replacement_ent``: the set of 90 %
    of the posterior, responses of 20 tokens, entropy of counts. Everything weighted is ours.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from likely.attribution.replaced import Outcome, Replacement, Replacements
from likely.attribution.replacement_numbers import Numbers, SubstituteSet, Tried
from likely.attribution.result import Attribution, Place
from likely.core.engine import Meter
from likely.core.estimate import Cost
from likely.core.generation import greedy
from likely.core.model import LanguageModel, Settings
from likely.core.streams import generator
from likely.errors import InputError
from likely.stats.intervals import check_level

Ids: TypeAlias = tuple[int, ...]

MASS = 0.9
MOST = 256

_EDGE = 1e-12  # a mass that is the one asked for reaches it, in whichever order it is summed
_SHOWN = 5  # substitutes named with each response


def replacement(
    model: LanguageModel,
    attribution: Attribution,
    positions: int | Sequence[int] | None = None,
    *,
    mass: float = MASS,
    given_response: bool = False,
    max_tokens: int | None = None,
    most: int = MOST,
    level: float = 0.95,
    seed: int = 0,
    settings: Settings | None = None,
    meter: Meter | None = None,
) -> Replacements:
    """Return how the model's own response changes with what stands at places of the prompt.

    Args:
        model: That was attributed.
        attribution: Its candidates are the substitutes: attribute with ``kept=None`` to keep all.
        positions: In the prompt, one or several; by default all that were attributed.
        mass: Of the posterior that the set of substitutes has at least, in (0, 1].
        given_response: Whether the posterior is that given the response too, q^r, and not q.
        max_tokens: Of a response; by default as many as the attributed one has.
        most: Substitutes that are tried at a place, at least 2. Of a larger set, half as many are
            its likeliest and the others are drawn from the rest by their probability.
        level: Coverage of the intervals where substitutes were drawn.
        seed: Of the draws, of which each place has a stream of its own.
        settings: How to evaluate.
        meter: Is told of progress, in token evaluations.

    Raises:
        InputError: Another model, a position that was not attributed, or an option out of range.

    >>> import likely
    >>> from likely import attribution
    >>> law = {"<s>": {"a": .5, "b": .5}, "a": {"a": .9, "b": .1}, "b": {"a": .8, "b": .2}}
    >>> chain = likely.TableModel(["a", "b"], lambda before: law[before[-1]])
    >>> found = replacement(chain, attribution.attribute(chain, "ab", "a", method="exact"), 1)
    >>> found[0].n_set, found[0].stability.value, found[0].weighted_entropy.value
    (1, 1.0, 0.0)
    """
    case = attribution.case
    _check(model, attribution, mass, max_tokens, most, level, seed)
    n_tokens = max_tokens or len(case.response)
    if n_tokens < 1:
        raise InputError("the attributed response is empty: say how long responses are, max_tokens")
    # A response that was let run through the end of a text is compared with such responses.
    asking = _Asking(
        model=model, n_tokens=n_tokens, settings=settings,
        stop_at_end=model.info.eos_id not in case.response[:-1],
    )  # fmt: skip
    (own,) = asking.responses([case.stem])
    original = case.response or own
    # A response that did not end of itself says nothing beyond its length.
    has_ended = asking.stop_at_end and original[-1] == model.info.eos_id
    horizon = n_tokens if has_ended else min(n_tokens, len(original))
    found = []
    for place in _places(attribution, positions):
        before = asking.cost
        rng = generator(seed, "replacement", int(given_response), *place.positions)
        tried = _try(
            asking, attribution, place, _choose(place, mass, given_response), most=most, rng=rng
        )
        cost = asking.cost - before
        if meter is not None:
            meter.advance(cost.token_evaluations)
        measuring = Numbers(
            tried=tried, original=original, horizon=horizon, level=level,
            n_candidates=model.info.n_tokens ** len(place.positions),
        )  # fmt: skip
        found.append(_replacement(model, place, measuring, mass, given_response, cost))
    return Replacements(
        places=tuple(found), prompt=case.prompt_text, original=original, own=own, mass=mass,
        given_response=given_response, max_tokens=n_tokens, most=most, level=level, seed=seed,
        model=attribution.model, cost=asking.cost,
    )  # fmt: skip


def _check(
    model: LanguageModel,
    attribution: Attribution,
    mass: float,
    max_tokens: int | None,
    most: int,
    level: float,
    seed: int,
) -> None:
    if model.info.identity != attribution.model.identity:
        raise InputError(
            f"the attribution is of {attribution.model.name!r}, not of this {model.info.name!r}: "
            "give the model that was attributed"
        )
    if not 0.0 < mass <= 1.0:
        raise InputError(f"mass is a part of the posterior in (0, 1], got {mass!r}")
    if max_tokens is not None and max_tokens < 1:
        raise InputError(f"max_tokens is at least 1, got {max_tokens!r}")
    if most < 2:
        raise InputError(f"most is a number of substitutes, at least 2, got {most!r}")
    check_level(level)
    if seed < 0:
        raise InputError(f"a seed is at least 0, got {seed!r}")


def _places(attribution: Attribution, positions: int | Sequence[int] | None) -> list[Place]:
    if positions is None:
        return list(attribution.places)
    asked = [positions] if isinstance(positions, int) else positions
    found = {attribution.at(position).positions: attribution.at(position) for position in asked}
    return list(found.values())


def _choose(place: Place, mass: float, given_response: bool) -> SubstituteSet:
    found = place.candidates
    log_prob = found.log_posterior_response if given_response else found.log_posterior
    other = found.log_posterior if given_response else found.log_posterior_response
    order = np.lexsort((*found.tokens.T[::-1], -log_prob))
    prob = np.exp(log_prob[order])
    sums = np.cumsum(prob)
    n = int(np.searchsorted(sums, mass - _EDGE)) + 1
    reached = n <= len(prob)
    n = min(n, len(prob))
    # The prior and all likelihoods of a candidate are exact: what is estimated is their sum, so
    # all masses are off by the factor that the actual token's is off by.
    anchor = place.measures.response_surprisal if given_response else place.measures.surprisal
    # The result keeps candidates by the larger of both posteriors, and the actual one anyhow: none
    # left out has more than any other that is kept.
    is_whole = len(found) == place.n_candidates
    is_other = (found.tokens != np.array(place.tokens)).any(axis=1)
    largest = np.exp(np.maximum(log_prob, other))[is_other]
    most_left_out = 0.0 if is_whole else float(largest.min(initial=1.0))
    is_known = place.method == "exact" and bool(prob[n - 1] >= most_left_out)
    return SubstituteSet(
        tokens=found.tokens[order[:n]],
        pieces=tuple(found.pieces[i] for i in order[:n].tolist()),
        prob=prob[:n],
        shrink=math.exp(anchor.value - anchor.high),
        swell=math.exp(anchor.value - anchor.low),
        reached=reached,
        is_smallest=reached and is_known,
    )


@dataclass(kw_only=True)
class _Asking:
    """Asks for responses, and keeps account."""

    model: LanguageModel
    n_tokens: int
    stop_at_end: bool
    settings: Settings | None
    cost: Cost = field(default_factory=Cost)

    def responses(self, prompts: Sequence[Ids]) -> list[Ids]:
        made = greedy(
            self.model, prompts, max_tokens=self.n_tokens, stop_at_end=self.stop_at_end,
            bos="never", settings=self.settings,
        )  # fmt: skip
        self.cost += made.cost
        return [one.tokens for one in made]


def _try(
    asking: _Asking,
    attribution: Attribution,
    place: Place,
    chosen: SubstituteSet,
    *,
    most: int,
    rng: np.random.Generator,
) -> Tried:
    n = len(chosen.prob)
    n_sure = n if n <= most else most // 2
    index, draws = np.arange(n_sure), np.zeros(n_sure, dtype=np.int64)
    if n_sure < n:
        rest = chosen.prob[n_sure:]
        drawn = rng.multinomial(most - n_sure, rest / rest.sum())
        places = np.flatnonzero(drawn)
        index = np.concatenate([index, n_sure + places])
        draws = np.concatenate([draws, drawn[places]])
    prompts = []
    for tokens in chosen.tokens[index].tolist():
        prompt = list(attribution.case.stem)
        for position, token in zip(place.positions, tokens, strict=True):
            prompt[len(attribution.case.context) + position] = token
        prompts.append(tuple(prompt))
    return Tried(
        of=chosen, index=index, responses=tuple(asking.responses(prompts)), n_sure=n_sure,
        draws=draws,
    )  # fmt: skip


def _replacement(
    model: LanguageModel,
    place: Place,
    found: Numbers,
    mass: float,
    given_response: bool,
    cost: Cost,
) -> Replacement:
    chosen = found.tried.of
    entropy = place.measures.response_entropy if given_response else place.measures.context_entropy
    most = entropy.value if entropy.is_exact else math.inf
    level = entropy.level if place.method == "adaptive" else 1.0
    return Replacement(
        positions=place.positions,
        tokens=place.tokens,
        text=place.text,
        n_set=len(chosen.prob),
        set_mass=found.set_mass(level),
        reached=chosen.reached,
        is_smallest=chosen.is_smallest,
        n_tried=len(found.tried.index),
        actual_in_set=bool((chosen.tokens == np.array(place.tokens)).all(axis=1).any()),
        count_entropy=found.count_entropy(),
        weighted_entropy=found.weighted_entropy(most, level),
        stability=found.stability(level),
        distance=found.distance(level),
        n_reproducing=found.n_reproducing(),
        outcomes=_outcomes(model, found),
        notes=_notes(place, found, mass),
        cost=cost,
    )


def _outcomes(model: LanguageModel, found: Numbers) -> tuple[Outcome, ...]:
    """Return the responses that were seen, the likeliest first."""
    pieces, index = found.tried.of.pieces, found.tried.index.tolist()
    outcomes = [
        Outcome(
            tokens=response,
            text=model.tokenizer.decode(response),
            n_substitutes=len(members),
            prob=float(found.prob[members].sum()),
            distance=found.distance_of(response),
            is_original=found.is_original(response),
            substitutes=tuple(pieces[index[i]] for i in members[:_SHOWN]),
        )
        for response, members in found.groups.items()
    ]
    return tuple(sorted(outcomes, key=lambda one: -one.prob))


def _notes(place: Place, found: Numbers, mass: float) -> tuple[str, ...]:
    chosen = found.tried.of
    notes = []
    if not chosen.reached:
        notes.append(
            f"the {len(chosen.prob)} candidates that the attribution kept have "
            f"{float(chosen.prob.sum()):.3g} of the posterior, not {mass!r}: attribute with "
            "kept=None, and with method='exact' or a smaller tolerance"
        )
    elif not chosen.is_smallest:
        notes.append(
            "candidates that were not evaluated or not kept may be likelier than some of the set: "
            "with method='exact' and kept=None it is certainly the smallest"
        )
    if not found.tried.is_whole:
        notes.append(
            f"{len(found.tried.index)} of {len(chosen.prob)} substitutes were tried: raise most"
        )
    return tuple(notes)
