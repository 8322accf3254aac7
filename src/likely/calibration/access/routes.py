"""How a model's probabilities can be had, what that costs, and how steady they are. Unit: nats."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import numpy as np
from jaxtyping import Float

from likely.calibration.access.biasing import BiasedLists, check_bias
from likely.calibration.access.spellings import Spelled, lists_needed, spell
from likely.calibration.data_sets.items import Item
from likely.core.engine import Continuation, Top, evaluate
from likely.core.generation import Sampler
from likely.core.logspace import log_sum
from likely.core.model import Capability, LanguageModel, most_listed
from likely.core.text.encode import Context, encode_context
from likely.core.text.surfaces import Level
from likely.errors import CapabilityError, InputError

RouteName = Literal["exact", "top-k", "bias", "sampling"]
State = Literal["open", "closed", "untried"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One way to a model's probabilities.

    Attributes:
        name: ``exact``: log-probabilities of any text; ``top-k``: bounds from lists; ``bias``:
            exact masses from lists with a bias on hidden tokens; ``sampling``: counts of answers.
        state: ``open``, ``closed``, or ``untried`` where only requests can tell.
        reason: Why, in one sentence.
    """

    name: RouteName
    state: State
    reason: str

    def summary(self) -> str:
        """Return one line for a person."""
        return f"{self.name}: {self.state} ({self.reason})"


def routes(model: LanguageModel, *, context: Context | None = None) -> tuple[Route, ...]:
    """Return the ways to a model's probabilities, the best first.

    Args:
        model: Any model.
        context: A text after which the bias is tried, at two requests; without one that way is
            ``untried`` on a server.

    >>> import likely
    >>> model = likely.TableModel(["a", "b"], lambda context: {"a": 0.5, "b": 0.5})
    >>> routes(model)[0].summary()
    'exact: open (it gives whole next-token rows)'
    """
    return (_exact(model), _top_k(model), _bias(model, context), _sampling(model))


def best_route(model: LanguageModel, *, context: Context | None = None) -> Route:
    """Return the first open way of `routes`, where exact values come before bounds and counts.

    Raises:
        CapabilityError: None is open; the message has the reason of each.
    """
    found = {route.name: route for route in routes(model, context=context)}
    for name in ("exact", "bias", "top-k", "sampling"):
        if found[name].state == "open":
            return found[name]
    reasons = "; ".join(route.summary() for route in found.values())
    raise CapabilityError(f"{model.info.name!r} tells nothing of its probabilities: {reasons}")


def _has_rows(model: LanguageModel) -> bool:
    return Capability.NEXT_TOKEN in model.info.capabilities


def _exact(model: LanguageModel) -> Route:
    if _has_rows(model):
        return Route(name="exact", state="open", reason="it gives whole next-token rows")
    told = str(model.info.details.get("prompt_log_probs", "exact"))
    if Capability.CONTINUATION not in model.info.capabilities:
        return Route(name="exact", state="closed", reason="it scores no given text")
    if told != "exact":
        reason = f"its prompt log-probs are {told}"
        return Route(name="exact", state="closed", reason=reason)
    reason = "it tells the log-probs of prompt tokens; where a word ends takes a local model"
    return Route(name="exact", state="open", reason=reason)


def _top_k(model: LanguageModel) -> Route:
    if Capability.TOP_TOKENS not in model.info.capabilities:
        return Route(name="top-k", state="closed", reason="it lists no likeliest tokens")
    if _has_rows(model):
        return Route(name="top-k", state="open", reason="any part of its rows is a list")
    reason = f"it lists up to {most_listed(model)} likeliest tokens, which bound the others"
    return Route(name="top-k", state="open", reason=reason)


def _bias(model: LanguageModel, context: Context | None) -> Route:
    if _has_rows(model):
        return Route(name="bias", state="open", reason="its rows take any bias, and need none")
    if not isinstance(model, BiasedLists):
        return Route(name="bias", state="closed", reason="it takes no bias on tokens")
    if context is None:
        reason = "pass a context to see whether its log-probs follow a bias"
        return Route(name="bias", state="untried", reason=reason)
    try:
        check_bias(model, encode_context(model, context)[0], tokenizer=model.tokenizer)
    except CapabilityError as error:
        return Route(name="bias", state="closed", reason=str(error))
    return Route(name="bias", state="open", reason="its log-probs follow a bias on tokens")


def _sampling(model: LanguageModel) -> Route:
    if _has_rows(model):
        return Route(name="sampling", state="open", reason="its rows can be drawn from exactly")
    if isinstance(model, Sampler):
        return Route(name="sampling", state="open", reason="it writes texts at temperature 1")
    return Route(name="sampling", state="closed", reason="it writes no texts")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEstimate:
    """What a route will ask of a server.

    Attributes:
        route: Which.
        n_calls: Requests, without those that failed, and without a list for each token whose
            log-prob the server keeps back.
        prompt_tokens: Tokens that the requests send.
        generated_tokens: Tokens that the server writes, at most.
        n_counted: Items whose tokens were counted; the others are taken to be like them.
    """

    route: RouteName
    n_calls: int
    prompt_tokens: int
    generated_tokens: int
    n_counted: int

    def summary(self) -> str:
        """Return one line for a person."""
        return (
            f"{self.route}: {self.n_calls:,} requests, {self.prompt_tokens:,} tokens sent, "
            f"{self.generated_tokens:,} written at most"
        )


def estimate_calls(
    model: LanguageModel,
    items: Sequence[Item],
    *,
    route: RouteName,
    level: Level = "paper",
    k: int = 20,
    n_samples: int = 100,
    max_tokens: int = 8,
    draws: int = 1,
    n_counted: int = 100,
) -> CallEstimate:
    """Return how many requests and tokens a set of items takes, before any is scored.

    Args:
        model: For its tokenizer, which a server may be asked about ``n_counted`` items for.
        items: Of any families.
        route: Of `routes`.
        level: Which spellings count.
        k: Length of lists, for ``bias``; one biased list for each ``k - 1`` hidden tokens is
            counted, as if all were hidden and all came into view at once.
        n_samples: Of each item, for ``sampling``.
        max_tokens: Of a sample.
        draws: Samples that one request may ask for.
        n_counted: Items to count, evenly spaced; all, if there are fewer.

    Raises:
        InputError: No items, or a number below 1.
    """
    if not items or min(k - 1, n_samples, max_tokens, draws, n_counted) < 1:
        raise InputError(
            f"items and numbers of 1 or more are needed (k of 2), got {len(items)} items, k={k!r}, "
            f"n_samples={n_samples!r}, max_tokens={max_tokens!r}, draws={draws!r}, "
            f"n_counted={n_counted!r}"
        )
    chosen = _spell_some(model, items, n_counted, level)
    totals = np.zeros(3)
    for one in chosen:
        prompts, n_written = _requests(
            one, route, k=k, n_requests=math.ceil(n_samples / draws),
            n_written=n_samples * max_tokens,
        )  # fmt: skip
        totals += [len(prompts), sum(prompts), n_written]
    scale = len(items) / len(chosen)
    n_calls, sent, written = (math.ceil(total * scale) for total in totals.tolist())
    return CallEstimate(
        route=route,
        n_calls=n_calls + (2 if route == "bias" else 0),
        prompt_tokens=sent,
        generated_tokens=written,
        n_counted=len(chosen),
    )


def _requests(
    one: Spelled, route: RouteName, *, k: int, n_requests: int, n_written: int
) -> tuple[list[int], int]:
    """Return the length of each request of one item, and how many tokens they let be written."""
    before = len(one.context)
    if route == "sampling":
        return [before] * n_requests, n_written
    if route == "exact":
        lengths = [before + len(ids) for own in one.options for ids in own]
        return lengths, len(lengths)
    lengths = []
    for head, nexts in lists_needed(one.options).items():
        n_biased = math.ceil(len(nexts) / (k - 1)) if route == "bias" else 0
        lengths += [before + len(head)] * (1 + n_biased)
    return lengths, len(lengths)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """How far the same questions asked again give other numbers.

    Attributes:
        log_masses: Shape ``(R, M)``: of each repeat the log-mass of each option of each item.
        max_log_mass: Largest range of an option's log-mass, nats, over options that are possible
            in every repeat.
        max_mass: Largest range of an option's probability.
        max_share: Largest range of an option's share of its item's mass.
        n_items: Asked.
        n_changed: Items of which some number was not the same each time.
        fingerprint: Of the model.
        backend: Of the model.
        at: When, UTC, ISO 8601.
    """

    log_masses: Float[np.ndarray, "R M"]
    max_log_mass: float
    max_mass: float
    max_share: float
    n_items: int
    n_changed: int
    fingerprint: str
    backend: str
    at: str

    def summary(self) -> str:
        """Return one line for a person."""
        return (
            f"{self.n_changed} of {self.n_items} items changed over {len(self.log_masses)} "
            f"repeats: log-mass by up to {self.max_log_mass:.3g} nats, share by up to "
            f"{self.max_share:.3g}"
        )

    def to_dict(self) -> dict[str, object]:
        """Return all but the log-masses as a mapping for strict JSON."""
        return {
            "max_log_mass": self.max_log_mass,
            "max_mass": self.max_mass,
            "max_share": self.max_share,
            "n_items": self.n_items,
            "n_repeats": len(self.log_masses),
            "n_changed": self.n_changed,
            "fingerprint": self.fingerprint,
            "backend": self.backend,
            "at": self.at,
        }


def repeat_spread(
    model: LanguageModel,
    items: Sequence[Item],
    *,
    n_items: int = 20,
    n_repeats: int = 5,
    level: Level = "paper",
) -> Spread:
    """Return how much the numbers of some items differ when they are asked for again.

    Every other repeat asks in the opposite order, and no cache is used.

    Args:
        model: Any model that scores given texts; bounds from lists count as values.
        items: Of any families; evenly spaced ones are asked.
        n_items: How many; all, if there are fewer.
        n_repeats: At least 2.
        level: Which spellings count.

    Raises:
        InputError: No items, or fewer than 2 repeats.
    """
    if not items or n_items < 1 or n_repeats < 2:
        raise InputError(
            f"items and 2 or more repeats are needed, got {len(items)} items, n_items={n_items!r} "
            f"and n_repeats={n_repeats!r}"
        )
    chosen = _spell_some(model, items, n_items, level)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    repeats = np.array([_log_masses(model, chosen, step=1 - 2 * (r % 2)) for r in range(n_repeats)])
    sizes = [len(one.options) for one in chosen]
    owner = np.repeat(np.arange(len(chosen)), sizes)
    starts = np.cumsum([0, *sizes[:-1]])
    masses = np.exp(repeats)
    totals = np.add.reduceat(masses, starts, axis=1)[:, owner]
    shares = masses / np.where(totals > 0, totals, 1.0)
    possible = np.isfinite(repeats).all(axis=0)
    changed = (repeats != repeats[0]).any(axis=0)
    return Spread(
        log_masses=repeats,
        max_log_mass=float(np.ptp(repeats[:, possible], axis=0).max(initial=0.0)),
        max_mass=float(np.ptp(masses, axis=0).max()),
        max_share=float(np.ptp(shares, axis=0).max()),
        n_items=len(chosen),
        n_changed=len(np.unique(owner[changed])),
        fingerprint=model.info.fingerprint,
        backend=model.info.backend,
        at=started,
    )


def _spell_some(model: LanguageModel, items: Sequence[Item], n: int, level: Level) -> list[Spelled]:
    """Return ``n`` items as ids, evenly spaced; all, if there are fewer."""
    places = np.unique(np.linspace(0, len(items) - 1, min(n, len(items))).round())
    return [spell(model, items[place], level=level) for place in places.astype(int).tolist()]


def _log_masses(
    model: LanguageModel, chosen: Sequence[Spelled], *, step: int
) -> Float[np.ndarray, "M"]:
    """Return the log-mass of each option, asked for in order or in the opposite one."""
    requests = [
        Continuation(prefix=one.context, target=ids)
        for one in chosen
        for own in one.options
        for ids in own
    ]
    answers = evaluate(model, requests[::step])
    values = iter([float(answer.values.sum()) for answer in answers.answers][::step])
    sums = [[next(values) for _ in own] for one in chosen for own in one.options]
    return np.array([log_sum(own) for own in sums])


def check_lists(
    model: LanguageModel,
    context: Context,
    *,
    lengths: Iterable[int] = (5, 20),
    tolerance: float = 0.05,
) -> None:
    """Raise unless the values of a list do not depend on how many tokens it names.

    Args:
        model: With lists of likeliest tokens.
        context: After which they are asked for.
        lengths: Of the lists that are compared.
        tolerance: Nats by which a server may contradict itself about a likely token.

    Raises:
        CapabilityError: Two lists give a token different log-probabilities.
        InputError: Fewer than two lengths.
    """
    wanted = sorted(set(lengths))
    if len(wanted) < 2 or wanted[0] < 1:
        raise InputError(f"two lengths of 1 or more are needed to compare lists, got {wanted!r}")
    ids, _ = encode_context(model, context)
    tops = [evaluate(model, [Top(prefix=ids, k=k)])[0].top for k in wanted]
    lists = [dict(zip(top.pieces, top.log_probs, strict=True)) for top in tops if top is not None]
    for k, longer in zip(wanted[1:], lists[1:], strict=True):
        for piece, value in lists[0].items():
            if piece in longer and abs(longer[piece] - value) > tolerance:
                raise CapabilityError(
                    f"{model.info.name!r} gives {piece!r} {value:.4f} nats in a list of "
                    f"{wanted[0]} and {longer[piece]:.4f} in one of {k}: its values depend on how "
                    "many are asked for; ask its server for raw log-probs"
                )
