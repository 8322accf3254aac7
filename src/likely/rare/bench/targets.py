"""Which tokens are estimated: some of every decade of probability, by the truth. Unit: prob."""

from dataclasses import dataclass

from likely.core.model import LanguageModel
from likely.core.streams import generator
from likely.rare.bench.plan import BenchConfig
from likely.rare.ground_truth import Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchTarget:
    """A token whose probability is known.

    Attributes:
        token: Id.
        text: What it stands for.
        truth: Its probability.
        low: Lower end of the truth's own interval, at 95 %.
        high: Upper end.
        stems: Stems with a hit that the truth rests on.
    """

    token: int
    text: str
    truth: float
    low: float
    high: float
    stems: int


def choose_targets(
    model: LanguageModel, truth: Truth, config: BenchConfig, *, seed: int
) -> tuple[BenchTarget, ...]:
    """Return targets of every decade, drawn at random among those that are known well enough.

    Args:
        model: Whose tokens they are.
        truth: Of one law of inputs.
        config: How many of which decades.
        seed: Of the draw.
    """
    chosen: list[int] = []
    edges = zip(config.decades, config.decades[1:], strict=False)
    for i, (low, high) in enumerate(edges):
        known = truth.tokens_between(low, high, n_stems=config.n_stems)
        rng = generator(seed, "rare", "bench", truth.law, truth.fingerprint, i)
        chosen += rng.permutation(known)[: config.per_decade].tolist()
    return tuple(bench_target(model, truth, token) for token in chosen)


def bench_target(model: LanguageModel, truth: Truth, token: int) -> BenchTarget:
    """Return a token with what a truth says of it."""
    low, high = truth.interval(token)
    return BenchTarget(
        token=token,
        text=model.tokenizer.decode([token]),
        truth=float(truth.probs[token]),
        low=low,
        high=high,
        stems=int(truth.counts.stems[token]),
    )
