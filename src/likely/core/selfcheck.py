"""How far one model's numbers move where they must not: `self_check`. Unit: nats a token.

Batch size, order, cached prefixes and splits of a text change no probability. What they change is
rounding: nothing worth a thought in float32, and in 16 bit the noise that this check measures.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from likely.core.engine import ROW_TOLERANCE
from likely.core.estimate import Cost
from likely.core.jsonio import dumps
from likely.core.model import Capability, LanguageModel, Settings, require
from likely.core.probe import Measured, Probe
from likely.core.streams import generator
from likely.core.text.encode import with_bos
from likely.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

LIMITS = {"float64": 1e-9, "float32": 1e-4, "float16": 0.05, "bfloat16": 0.5}
"""Largest difference that passes, nats a token, by dtype of the weights."""

TEXTS = (
    "The sky is",
    "The sky is blue, and the sea under it is green.",
    "The capital of France is Paris; the capital of Italy is Rome. 1 + 1 = 2.",
    "Hello, world",
)
"""What is read if no texts are given and the tokenizer knows their characters."""

_MADE_UP = (2, 3, 9, 17)  # lengths in ids of the texts for a tokenizer that cannot read TEXTS
_LEAST = 2  # ids of a sequence: one to stand before, one to score


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """One law and how nearly the model keeps it.

    Attributes:
        name: The law.
        what: What was compared with what.
        largest_difference: Nats a token; ``inf`` for NaN, or impossible against possible.
        limit: The largest difference that passes.
        n: How many numbers were compared.
    """

    name: str
    what: str
    largest_difference: float
    limit: float
    n: int

    @property
    def passed(self) -> bool:
        """Whether the difference is within the limit."""
        return self.largest_difference <= self.limit

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "name": self.name,
            "what": self.what,
            "largest_difference": self.largest_difference,
            "limit": self.limit,
            "passed": self.passed,
            "n": self.n,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCheck:
    """What `self_check` found.

    Attributes:
        model: Name of the model.
        dtype: Of its weights; 16-bit weights have wide limits.
        rows: One for each law that could be measured.
        left_out: Laws that could not, because the model lacks a capability.
        cost: What it took.
    """

    model: str
    dtype: str
    rows: tuple[CheckRow, ...]
    left_out: tuple[str, ...]
    cost: Cost

    @property
    def passed(self) -> bool:
        """Whether every law that was measured holds."""
        return all(row.passed for row in self.rows)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row a law."""
        import pandas as pd

        return pd.DataFrame([row.to_dict() for row in self.rows])

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "model": self.model,
            "dtype": self.dtype,
            "passed": self.passed,
            "rows": [row.to_dict() for row in self.rows],
            "left_out": self.left_out,
            "cost": self.cost.to_dict(),
        }

    def to_json(self) -> str:
        """Return `to_dict` as strict JSON."""
        return dumps(self.to_dict())

    def summary(self) -> str:
        """Return a line a law for a person."""
        lines = [f"{self.model} ({self.dtype}), largest difference in nats a token"]
        for row in self.rows:
            verdict = "ok  " if row.passed else "FAIL"
            numbers = f"{row.largest_difference:9.3g} (limit {row.limit:.3g})"
            lines.append(f"{verdict} {row.name:<18} {numbers}  {row.what}, n={row.n}")
        if self.left_out:
            lines.append(f"not measured on this model: {', '.join(self.left_out)}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Law:
    name: str
    what: str
    measure: Callable[[Probe], Measured]
    needs: Capability = Capability.CONTINUATION


_LAWS = (
    _Law(
        name="batch size",
        what="alone against two, three and all in one call",
        measure=Probe.batch_size,
    ),
    _Law(
        name="batch order",
        what="in other company, forwards against backwards",
        measure=Probe.batch_order,
    ),
    _Law(
        name="cached prefix",
        what="method 'cache' against the full forward",
        measure=lambda probe: probe.method("cache"),
        needs=Capability.SHARED_PREFIX,
    ),
    _Law(
        name="tree attention",
        what="method 'tree' against the full forward",
        measure=lambda probe: probe.method("tree"),
        needs=Capability.SHARED_PREFIX,
    ),
    _Law(
        name="split of a text",
        what="the rest after each cut against the whole text",
        measure=Probe.split,
    ),
    _Law(
        name="repeatability",
        what="the same call twice",
        measure=Probe.repeat,
    ),
    _Law(
        name="row normaliser",
        what="log of the sum of each next-token row against 0",
        measure=Probe.row_normaliser,
        needs=Capability.NEXT_TOKEN,
    ),
    _Law(
        name="row against pair",
        what="a token's score against its place in the whole row",
        measure=Probe.row_against_pair,
        needs=Capability.NEXT_TOKEN,
    ),
    _Law(
        name="deterministic mode",
        what="bit for bit, alone against in company",
        measure=Probe.deterministic,
    ),
)


def self_check(
    model: LanguageModel,
    *,
    texts: Sequence[str] | None = None,
    settings: Settings | None = None,
    tolerance: float | None = None,
) -> SelfCheck:
    """Return how far the model's numbers move with batch, order, cache and split.

    Args:
        model: Any model that gives continuations.
        texts: What is read, cut to the model's context; by default a few short texts, or made-up
            ids where the tokenizer cannot read those. Beginnings and ends are also crossed, so
            that prefixes are shared.
        settings: How to evaluate; ``method`` and ``deterministic`` are varied by the check.
        tolerance: The limit in nats a token; by default `LIMITS` of the dtype. The row normaliser
            keeps the limit of the engine, and deterministic mode 0.

    Raises:
        CapabilityError: The model gives no continuation scores.
        InputError: No text has two tokens.
        NumericalError: The model gives NaN.

    >>> import likely
    >>> coin = likely.TableModel(["H", "T"], lambda context: {"H": 0.5, "T": 0.5})
    >>> likely.self_check(coin).passed
    True
    """
    require(model, Capability.CONTINUATION)
    probe = Probe(model, check_sequences(model, texts), settings or Settings())
    has = model.info.capabilities
    rows = tuple(_row(law, probe, tolerance) for law in _LAWS if law.needs in has)
    return SelfCheck(
        model=model.info.name,
        dtype=model.info.dtype,
        rows=rows,
        left_out=tuple(law.name for law in _LAWS if law.needs not in has),
        cost=probe.cost,
    )


def _row(law: _Law, probe: Probe, tolerance: float | None) -> CheckRow:
    measured = law.measure(probe)
    dtype = probe.model.info.dtype
    if law.name == "deterministic mode":
        limit = 0.0
    elif law.name == "row normaliser":
        limit = ROW_TOLERANCE.get(dtype, ROW_TOLERANCE["float32"])
    else:
        limit = LIMITS.get(dtype, LIMITS["bfloat16"]) if tolerance is None else tolerance
    return CheckRow(
        name=law.name, what=law.what, limit=limit,
        largest_difference=measured.largest, n=measured.n,
    )  # fmt: skip


def check_sequences(
    model: LanguageModel, texts: Sequence[str] | None
) -> tuple[tuple[int, ...], ...]:
    """Return the distinct id sequences that a check reads: the texts, and the texts crossed.

    Args:
        model: For its tokenizer, BOS and context limit.
        texts: Or None for the default ones.

    Raises:
        InputError: No sequence has two ids.
    """
    limit = model.info.max_tokens
    read = [with_bos(model, ids, bos="auto")[0][:limit] for ids in _ids(model, texts)]
    read = [ids for ids in read if len(ids) >= _LEAST]
    if not read:
        raise InputError(
            f"a check needs a text of at least {_LEAST} tokens that {model.info.name!r} can "
            f"hold, got {texts!r}"
        )
    crossed = [
        (*one[: (len(one) + 1) // 2], *other[1:])[:limit]
        for one, other in zip(read, [*read[1:], read[0]], strict=True)
    ]
    return tuple(dict.fromkeys([*read, *crossed]))


def _ids(model: LanguageModel, texts: Sequence[str] | None) -> list[tuple[int, ...]]:
    encode = model.tokenizer.encode
    if texts is not None:
        return [encode(text).tokens for text in texts]
    try:
        return [encode(text).tokens for text in TEXTS]
    except InputError:
        return [model.tokenizer.encode(text).tokens for text in made_up_texts(model)]


def made_up_texts(model: LanguageModel) -> tuple[str, ...]:
    """Return short texts of the tokenizer's own pieces, the same on each call."""
    info = model.info
    rng = generator(0, "self-check")
    plain = [t for t in range(info.n_tokens) if t not in (info.bos_id, info.eos_id)]
    return tuple(
        model.tokenizer.decode([plain[i] for i in rng.integers(0, len(plain), size=n)])
        for n in _MADE_UP
    )
