"""What the scoring functions return: exact ids, pieces and log-probabilities. Unit: nats."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from likely.core.estimate import Cost
from likely.core.jsonio import dumps
from likely.core.logspace import entropy, log1mexp, logsumexp
from likely.core.model import Tokenizer
from likely.core.text.spans import Span, Word, group_words
from likely.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The log-probability of one continuation.

    Attributes:
        log_prob: Nats, the sum over the scored tokens, in float64. With the flag ``censored`` it
            is an upper bound: some token lay outside what the server told. With the flag
            ``nothing_scored`` it is the empty sum and says nothing.
        tokens: Ids of the continuation exactly as scored.
        pieces: Their text.
        token_log_probs: Nats for each token; None where it is not scored (nothing stood before
            it), never 0.
        censored: For each token whether its value is only an upper bound.
        context_tokens: Ids before the continuation exactly as evaluated, BOS included.
        flags: What happened on the way, such as ``boundary_merge``, ``whitespace_moved``,
            ``first_token_not_scored``, ``double_bos``, ``censored``.
    """

    log_prob: float
    tokens: tuple[int, ...]
    pieces: tuple[str, ...]
    token_log_probs: tuple[float | None, ...]
    censored: tuple[bool, ...]
    context_tokens: tuple[int, ...]
    flags: frozenset[str]

    @property
    def n_scored(self) -> int:
        """How many tokens are scored."""
        return sum(x is not None for x in self.token_log_probs)

    @property
    def bounds(self) -> tuple[float, float]:
        """The interval that surely holds the log-probability; a point unless ``censored``."""
        return (-math.inf if any(self.censored) else self.log_prob, self.log_prob)

    @property
    def mean_log_prob(self) -> float:
        """Nats a scored token.

        Raises:
            InputError: No token is scored.
        """
        if not self.n_scored:
            raise InputError("no token is scored, so there is no mean; give a context or a BOS")
        return self.log_prob / self.n_scored

    @property
    def perplexity(self) -> float:
        """``exp(-mean_log_prob)``, ``inf`` where that is too large for a float."""
        return perplexity(self.mean_log_prob)

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "log_prob": self.log_prob,
            "n_scored": self.n_scored,
            "tokens": self.tokens,
            "pieces": self.pieces,
            "token_log_probs": self.token_log_probs,
            "censored": self.censored,
            "context_tokens": self.context_tokens,
            "flags": self.flags,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores(Sequence[Score]):
    """The scores of one call, in the order asked, with what they cost together."""

    items: tuple[Score, ...]
    cost: Cost

    def __getitem__(self, index: int) -> Score:  # type: ignore[override]  # no slices: cost is whole
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Score]:
        return iter(self.items)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row a score; ``log_prob_low`` is ``-inf`` for a censored one."""
        import pandas as pd

        return pd.DataFrame(
            {
                "continuation": ["".join(score.pieces) for score in self.items],
                "log_prob": [score.log_prob for score in self.items],
                "log_prob_low": [score.bounds[0] for score in self.items],
                "n_scored": [score.n_scored for score in self.items],
                "n_tokens": [len(score.tokens) for score in self.items],
                "flags": [",".join(sorted(score.flags)) for score in self.items],
            }
        )

    def to_json(self) -> str:
        """Return strict JSON of all scores and the cost."""
        return dumps(
            {"scores": [score.to_dict() for score in self.items], "cost": self.cost.to_dict()}
        )

    def summary(self) -> str:
        """Return a line a score for a person."""
        lines = []
        for score in self.items:
            sign = "<=" if any(score.censored) else ""
            flags = f"  [{', '.join(sorted(score.flags))}]" if score.flags else ""
            text = "".join(score.pieces)
            value = f"{sign}{score.log_prob:.4f} nats" if score.n_scored else "not scored"
            lines.append(f"{value}  {text!r}{flags}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenProb:
    """One token of a next-token row; ``log_prob`` in nats."""

    token: int
    piece: str
    log_prob: float

    @property
    def prob(self) -> float:
        """The probability."""
        return math.exp(self.log_prob)


@dataclass(frozen=True, slots=True, kw_only=True)
class NextToken:
    """The whole next-token distribution after one context.

    Attributes:
        log_probs: Shape ``(V,)``, float64 nats, normalised over all rows of the output layer.
        context_tokens: Ids of the context exactly as evaluated.
        n_tokens: Ids from here up to V are rows of the output layer that no token uses.
        flags: What happened on the way.
        cost: Of the call that gave this row.
    """

    log_probs: Float[np.ndarray, "V"]
    context_tokens: tuple[int, ...]
    n_tokens: int
    flags: frozenset[str]
    cost: Cost
    tokenizer: Tokenizer = field(repr=False)

    def log_prob(self, token: str | int) -> float:
        """Return the log-probability of one token, given as its text or its id.

        Raises:
            InputError: The text is not exactly one token, or the id is out of range.
        """
        if isinstance(token, str):
            ids = self.tokenizer.encode(token).tokens if token else ()
            if len(ids) != 1:
                pieces = [self.tokenizer.decode([i]) for i in ids]
                raise InputError(f"{token!r} is {len(ids)} tokens, {pieces}; use likely.score")
            token = ids[0]
        if not 0 <= token < len(self.log_probs):
            raise InputError(f"token id {token} is out of range 0..{len(self.log_probs) - 1}")
        return float(self.log_probs[token])

    def top(self, k: int = 10) -> tuple[TokenProb, ...]:
        """Return the ``k`` likeliest tokens, likeliest first; equal ones by id."""
        order = np.lexsort((np.arange(len(self.log_probs)), -self.log_probs))[:k]
        return tuple(
            TokenProb(
                token=int(i),
                piece=self.tokenizer.decode([int(i)]) if i < self.n_tokens else "",
                log_prob=float(self.log_probs[i]),
            )
            for i in order
        )

    @property
    def entropy(self) -> float:
        """Shannon entropy, nats."""
        return float(entropy(self.log_probs))

    @property
    def effective_support(self) -> float:
        """``exp(entropy)``: how many equally likely tokens would be as uncertain."""
        return math.exp(self.entropy)

    @property
    def unused_mass(self) -> float:
        """Probability of ids that no token uses."""
        return float(np.exp(logsumexp(self.log_probs[self.n_tokens :])))

    def masked(self) -> "NextToken":
        """Return the row renormalised over the ids that the tokenizer has.

        The default everywhere is to keep unused ids in the normaliser, as the model has them.
        """
        log_probs = np.full_like(self.log_probs, -np.inf)
        log_rest = log1mexp(np.array(min(0.0, float(logsumexp(self.log_probs[self.n_tokens :])))))
        log_probs[: self.n_tokens] = self.log_probs[: self.n_tokens] - log_rest
        return NextToken(
            log_probs=log_probs,
            context_tokens=self.context_tokens,
            n_tokens=self.n_tokens,
            flags=self.flags | {"unused_masked"},
            cost=self.cost,
            tokenizer=self.tokenizer,
        )

    def to_frame(self, k: int = 100) -> "pd.DataFrame":
        """Return the ``k`` likeliest tokens, a row each."""
        import pandas as pd

        top = self.top(k)
        return pd.DataFrame(
            {
                "token": [t.token for t in top],
                "piece": [t.piece for t in top],
                "log_prob": [t.log_prob for t in top],
                "prob": [t.prob for t in top],
            }
        )

    def to_dict(self, k: int = 10) -> dict[str, object]:
        """Return the summary figures and the ``k`` likeliest tokens for strict JSON."""
        return {
            "context_tokens": self.context_tokens,
            "entropy": self.entropy,
            "effective_support": self.effective_support,
            "unused_mass": self.unused_mass,
            "top": [
                {"token": t.token, "piece": t.piece, "log_prob": t.log_prob} for t in self.top(k)
            ],
            "flags": self.flags,
            "cost": self.cost.to_dict(),
        }

    def to_json(self, k: int = 10) -> str:
        """Return `to_dict` as strict JSON."""
        return dumps(self.to_dict(k))

    def summary(self, k: int = 5) -> str:
        """Return a few lines for a person."""
        lines = [f"{t.prob:8.4f}  {t.piece!r}" for t in self.top(k)]
        lines.append(
            f"entropy {self.entropy:.3f} nats, effective support {self.effective_support:.1f}"
        )
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextScore:
    """How a model reads a text: the log-probability of each token after those before it.

    Attributes:
        text: The text.
        tokens: Ids of the text, without a BOS that the policy added.
        pieces: Their text.
        token_log_probs: Nats; None where a token is not scored (nothing stood before it).
        entropies: Nats of the distribution that each token was drawn from, if asked for.
        spans: Character span of each token; tokens of one character share its span.
        byte_spans: Byte span of each token in the UTF-8 text.
        context_tokens: What stood before the text, such as a BOS.
        censored: For each token whether its value is only an upper bound.
        window: Tokens of a window, or None if the text fitted.
        stride: Tokens that each window moved on, or None.
        flags: What happened on the way, such as ``windowed`` or ``first_token_not_scored``.
        cost: What it took.
    """

    text: str
    tokens: tuple[int, ...]
    pieces: tuple[str, ...]
    token_log_probs: tuple[float | None, ...]
    entropies: tuple[float | None, ...] | None
    spans: tuple[Span, ...]
    byte_spans: tuple[Span, ...]
    context_tokens: tuple[int, ...]
    censored: tuple[bool, ...]
    window: int | None
    stride: int | None
    flags: frozenset[str]
    cost: Cost

    @property
    def log_prob(self) -> float:
        """Sum over the scored tokens, nats; an upper bound with the flag ``censored``."""
        return math.fsum(x for x in self.token_log_probs if x is not None)

    @property
    def n_scored(self) -> int:
        """How many tokens are scored."""
        return sum(x is not None for x in self.token_log_probs)

    @property
    def mean_log_prob(self) -> float:
        """Nats a scored token.

        Raises:
            InputError: No token is scored.
        """
        if not self.n_scored:
            raise InputError("no token is scored, so there is no mean; use bos='always'")
        return self.log_prob / self.n_scored

    @property
    def perplexity(self) -> float:
        """``exp(-mean_log_prob)``, ``inf`` where that is too large for a float."""
        return perplexity(self.mean_log_prob)

    def words(self) -> tuple[Word, ...]:
        """Return the words with their log-probabilities, which add up to the text's own."""
        return group_words(self.text, self.spans, self.token_log_probs)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row a token; null where it is not scored."""
        import pandas as pd

        columns: dict[str, object] = {
            "token": self.tokens,
            "piece": self.pieces,
            "start": [start for start, _ in self.spans],
            "stop": [stop for _, stop in self.spans],
            "log_prob": pd.array(self.token_log_probs, dtype="Float64"),
        }
        if self.entropies is not None:
            columns["entropy"] = pd.array(self.entropies, dtype="Float64")
        return pd.DataFrame(columns)

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "text": self.text,
            "log_prob": self.log_prob,
            "n_scored": self.n_scored,
            "n_tokens": len(self.tokens),
            "tokens": self.tokens,
            "pieces": self.pieces,
            "spans": self.spans,
            "byte_spans": self.byte_spans,
            "token_log_probs": self.token_log_probs,
            "entropies": self.entropies,
            "context_tokens": self.context_tokens,
            "window": self.window,
            "stride": self.stride,
            "flags": self.flags,
            "cost": self.cost.to_dict(),
        }

    def to_json(self) -> str:
        """Return `to_dict` as strict JSON."""
        return dumps(self.to_dict())

    def summary(self) -> str:
        """Return two lines for a person."""
        unscored = len(self.tokens) - self.n_scored
        left_out = f", {unscored} left out" if unscored else ""
        line = f"{self.log_prob:.4f} nats over {self.n_scored} tokens{left_out}"
        if self.n_scored:
            line += f"; {-self.mean_log_prob:.4f} nats a token, perplexity {self.perplexity:.4g}"
        return line


def perplexity(mean_log_prob: float) -> float:
    """Return ``exp(-mean_log_prob)``, ``inf`` above what a float can hold.

    >>> perplexity(-1000.0)
    inf
    """
    try:
        return math.exp(-mean_log_prob)
    except OverflowError:
        return math.inf
