"""The question of the study: which tokens of the prompt made this response likely? Unit: nats."""

from collections.abc import Mapping, Sequence

from likely.attribution.adaptive import Method, found_by, hunt_score
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
from likely.attribution.result import Attribution
from likely.core.engine import Meter
from likely.core.model import LanguageModel, Settings
from likely.core.text.encode import Boundary, Context
from likely.core.text.spans import Span


def attribute(
    model: LanguageModel,
    prompt: Prompt,
    response: Context | None = None,
    *,
    method: Method = "adaptive",
    tolerance: float = 0.02,
    level: float = 0.95,
    seed: int = 0,
    budget: float | None = None,
    generate: int | None = None,
    positions: Sequence[int] | None = None,
    groups: Groups = "tokens",
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
) -> Attribution:
    """Return how much each token of a prompt made a response likely.

    The score of a token is ``log Pr(response | prompt) - log Pr(response | rest)``, where the rest
    is the prompt with a hole at that position: what stands there is averaged out under the model's
    own law given everything else in the prompt.

    Args:
        model: Any model that gives continuations, and next-token rows or lists of likeliest
            tokens: local ones, and servers with prompt log-probs.
        prompt: Text, ids, a rendered chat, or messages of a chat.
        response: Text or ids; or None with ``generate``.
        method: ``exact`` evaluates every token of the vocabulary at every position, ``adaptive``
            as many as the tolerance takes.
        tolerance: Half the width that a score's interval may have, nats.
        level: Coverage of the intervals.
        seed: Of the draws, of which each position has a stream of its own.
        budget: Token evaluations for the whole prompt; by default the 400th part of what the
            authors' procedure takes, or 5,000 a position if that is more. Positions that need more
            are marked as not converged. The tokens that stand there are evaluated in any case, and
            rounds are drawn, so that a small budget may be exceeded a little.
        generate: Tokens of the likeliest response to take where none is given.
        positions: Prompt positions to attribute; by default all tokens of ``roles``.
        groups: What is averaged out together: each of the ``tokens``, ``words``, ``sentences``, the
            ``turns`` of a chat, or sequences of prompt positions, next to one another or not. The
            alternatives to a group are all sequences of as many tokens, words or not. Groups of
            more than one need a model with next-token rows.
        roles: As `likely.attribution.frame_case`.
        segments: As `likely.attribution.frame_case`.
        context: As `likely.attribution.frame_case`.
        boundary: As `likely.attribution.frame_case`.
        stop_at_end: As `likely.attribution.frame_case`.
        candidates: Which tokens may stand at a position, by a rule of
            `likely.attribution.eligible`: ``all``; ``round_trip``, those with which the prompt's
            text is split into the same tokens again; ``word_start``, those that begin a word if
            the actual one does. The measure is over token sequences: what a rule takes out is no
            alternative, and ``excluded_mass`` says how likely it was. In a group a token is judged
            by the actual ones before it, and ``round_trip`` is not there.
        exclude: Ids that are no candidates; ids that mean nothing never are.
        kappa: Factor of the assumption behind ``assumed_bounds``.
        kept: How many candidates of a place the result keeps; None for all.
        settings: How to evaluate.
        meter: Is told of progress, in token evaluations.

    Raises:
        InputError: Unusable prompt, response, or options.
        CapabilityError: The model is a server that tells only the likeliest tokens.

    Sources:
        Shilpika and others (2026), arXiv 2605.21726, section 3.3.

    >>> import likely
    >>> law = {"a": {"a": .7, "b": .3}, "b": {"a": .2, "b": .8}, "<s>": {"a": .5, "b": .5}}
    >>> chain = likely.TableModel(["a", "b"], lambda before: law[before[-1]])
    >>> attribute(chain, "aa", "a", method="exact").scores.round(4).tolist()
    [0.0, 0.2412]
    """
    case = frame_case(
        model, prompt, response, generate=generate, positions=positions, roles=roles,
        segments=segments, context=context, boundary=boundary, stop_at_end=stop_at_end,
    )  # fmt: skip
    return attribute_case(
        model, case, groups=groups, method=method, tolerance=tolerance, level=level, seed=seed,
        budget=budget, candidates=candidates, exclude=exclude, kappa=kappa, kept=kept,
        settings=settings, meter=meter,
    )  # fmt: skip


def attribute_case(
    model: LanguageModel,
    case: Case,
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
) -> Attribution:
    """Return the attribution of a case; see `attribute`."""
    terms = Terms(
        method=method, tolerance=tolerance, level=level, seed=seed, rule=candidates, kappa=kappa,
        kept=kept, budget=budget,
    )  # fmt: skip
    case, split = split_case(case, groups)
    opening = open_case(model, case, terms, exclude=exclude, settings=settings)
    if budget is None:
        budget = default_budget(opening.n_candidates, case)
    found: dict[Group, Answered] = {}
    has_slopes = method != "exact" and any(len(group) == 1 for group in split)
    for part, share in parts_late_first(split, opening.left_of(budget, has_slopes=has_slopes)):
        opened = [opening.search(group, is_guided=method != "exact") for group in part]
        hunts = [hunt_score(search, tolerance=tolerance, level=level) for search, _ in opened]
        pursue(hunts, method=method, budget=share, meter=meter)
        for group, hunt, (search, excluded) in zip(part, hunts, opened, strict=True):
            found[group] = Answered(
                found=found_by(hunt, level=level), cost=hunt.cost,
                excluded_mass=excluded + search.aside,
            )  # fmt: skip
    answered = [found[group] for group in split]
    noise = measure_noise(opening, case, answered, terms, settings)
    return gather(model, case, answered, terms, noise=noise, cost=opening.stem.spending.cost)
