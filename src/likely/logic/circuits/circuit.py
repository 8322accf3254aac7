"""A compiled formula: probabilities, best models and counts over a batch of items. Unit: nats."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from likely.errors import InputError, NumericalError, ShapeError
from likely.logic.circuits.closed_forms import Kernel
from likely.logic.circuits.graph import Graph, GraphBuilder, element_lists, model_counts, smooth
from likely.logic.circuits.layers import Layers
from likely.logic.circuits.semirings import best_model, best_models
from likely.logic.formula import Formula

CHUNK_NUMBERS = 1 << 20
"""Numbers held at a time for a batch: 8 MiB of float64. Fewer cost calls, more miss the cache."""

ACCELERATOR_NUMBERS = 1 << 26
"""The same on an accelerator: 512 MiB. There a call costs more than what it computes on."""

CHUNK_ROWS = 128
"""Items that are taken at a time all the same, so that calls do not cost more than numbers."""

MOST_NUMBERS = 1 << 25
"""Numbers that are never exceeded, 256 MiB of float64, unless a single item needs more."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Unit:
    """One kind of component: how its probability is computed, whatever its variables are called.

    Attributes:
        method: ``and``, ``or``, ``all_equal``, ... for a closed form, ``table``, ``bdd``, ``sdd``
            or ``graph``.
        kernel: From log-odds of shape (n, B) to log P.
        width: How many numbers an item takes in it.
        source: The component as a graph over its n variables, or what compiles it to one.
    """

    method: str
    kernel: Kernel
    width: int
    source: Graph | Callable[[], Graph]

    @cached_property
    def graph(self) -> Graph:
        """The component as a graph over its own variables."""
        return self.source if isinstance(self.source, Graph) else self.source()


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """All components of one kind in a formula; no two share a variable.

    Attributes:
        unit: The kind.
        columns: The variables of each component: one component a column, shape (n, C).
        signs: Whether the unit sees the variable (True) or its negation, shape (n, C).
    """

    unit: Unit
    columns: Int64[np.ndarray, "n C"]
    signs: Bool[np.ndarray, "n C"]

    @property
    def n_components(self) -> int:
        """How many components there are."""
        return int(self.columns.shape[1])

    @cached_property
    def rows(self) -> Int64[Tensor, "m"]:
        """The columns of all components: the first variable of each, then the second, ..."""
        return torch.from_numpy(self.columns.ravel())

    @cached_property
    def factors(self) -> Float[Tensor, "m 1"] | None:
        """What turns the log-odds of the rows into those that the unit sees, if anything."""
        if self.signs.all():
            return None
        return torch.from_numpy(np.where(self.signs.ravel(), 1.0, -1.0))[:, None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Circuit:
    """A formula that is ready to be evaluated on batches: log P is linear in its size.

    Attributes:
        formula: What was compiled, or None if the circuit was read from a file.
        names: The event of each column.
        parts: Independent components of the formula, by kind. A constant has none.
        is_satisfiable: Whether any assignment satisfies the formula. Exact.
    """

    formula: Formula | None
    names: tuple[str, ...]
    parts: tuple[Part, ...]
    is_satisfiable: bool

    @classmethod
    def from_graph(cls, graph: Graph, names: tuple[str, ...]) -> "Circuit":
        """Return a circuit of a graph that comes from elsewhere, such as a ``.nnf`` file.

        Args:
            graph: Decomposable and deterministic; see `check_graph`.
            names: The event of each of its variables.

        Raises:
            ShapeError: There is not one name a variable.
        """
        if len(names) != graph.n_vars or len(set(names)) < len(names):
            raise ShapeError(
                f"the graph needs a different name for each of its {graph.n_vars} variables, "
                f"got {names!r}"
            )
        layers = Layers(graph)
        unit = Unit(method="graph", kernel=layers, width=layers.width, source=graph)
        columns = np.arange(graph.n_vars)[:, None]
        part = Part(unit=unit, columns=columns, signs=np.ones(columns.shape, dtype=np.bool_))
        draft = cls(formula=None, names=names, parts=(part,), is_satisfiable=True)
        count = draft.count()
        if count in (0, 2**graph.n_vars):
            return cls(formula=None, names=names, parts=(), is_satisfiable=count > 0)
        return draft

    @property
    def is_tautology(self) -> bool:
        """Whether every assignment satisfies the formula. Exact."""
        return self.is_satisfiable and not self.parts

    @property
    def method(self) -> str:
        """How log P is computed, such as ``all_equal x2 + bdd``, or ``constant``."""
        texts = [
            part.unit.method + (f" x{part.n_components}" if part.n_components > 1 else "")
            for part in self.parts
        ]
        return " + ".join(texts) or "constant"

    @cached_property
    def graph(self) -> Graph:
        """The whole formula as one graph over the columns; compiled when first asked for.

        Raises:
            BudgetError: A component that has a closed form is too large for a graph.
        """
        if len(self.parts) == 1 and self.parts[0].signs.all() and self.is_satisfiable:
            columns = self.parts[0].columns
            if columns.shape[1] == 1 and list(columns[:, 0]) == list(range(len(self.names))):
                return self.parts[0].unit.graph
        builder = GraphBuilder(len(self.names))
        if not self.is_satisfiable:
            return builder.graph(builder.false)
        roots = [
            _place(builder, part.unit.graph, part.columns[:, c], part.signs[:, c])
            for part in self.parts
            for c in range(part.n_components)
        ]
        return builder.graph(builder.conjoin(roots))

    @property
    def n_nodes(self) -> int:
        """How many inner nodes the graph has."""
        return self.graph.n_inner

    def log_prob(self, log_odds: Float[Tensor, "N n"]) -> Float[Tensor, "N"]:
        """Return log P of the formula under independent events.

        Args:
            log_odds: Of each event, nats, one item a row, float64 or float32. ``-inf`` and
                ``+inf`` are legal. The gradient is ``q - p``: the probability of the event given
                the formula, minus that without.

        Returns:
            Nats; ``-inf`` where the formula cannot hold. There the gradient, which does not
            exist, is 0: look for ``-inf`` before taking a step.

        Raises:
            ShapeError: Not one column a name, or not of a floating dtype.
            NumericalError: A log-odds is NaN.
        """
        self._check(log_odds, what="log-odds")
        if log_odds.requires_grad and torch.is_grad_enabled():
            value: Tensor = _LogProb.apply(log_odds, self)  # type: ignore[no-untyped-call]
            return value
        return self._evaluate(log_odds.detach(), slope=None)

    def log_weight(
        self, log_pos: Float[Tensor, "N n"], log_neg: Float[Tensor, "N n"]
    ) -> Float[Tensor, "N"]:
        """Return the log of the summed weight of all models, with any weights of literals.

        Args:
            log_pos: Log-weight of each event, nats, one item a row; ``-inf`` is legal.
            log_neg: Log-weight of its negation. Both are differentiable.

        Returns:
            Nats. All columns count, those that the formula does not mention too.

        Raises:
            ShapeError: Not one column a name, or not of a floating dtype.
            NumericalError: A weight is NaN or infinite.
        """
        self._check_weights(log_pos, log_neg)
        # A weighted sum is a probability once each variable's two weights sum to 1.
        is_dead = torch.isneginf(log_pos) & torch.isneginf(log_neg)
        log_pos, log_neg = log_pos.masked_fill(is_dead, 0.0), log_neg.masked_fill(is_dead, 0.0)
        total = torch.logaddexp(log_pos, log_neg).sum(1) + self.log_prob(log_pos - log_neg)
        return total.masked_fill(is_dead.any(1), -math.inf)

    def most_probable(
        self, log_pos: Float[Tensor, "N n"], log_neg: Float[Tensor, "N n"]
    ) -> tuple[Float[Tensor, "N"], Bool[Tensor, "N n"]]:
        """Return the log-weight of the heaviest model of each item, and the model.

        Args:
            log_pos: Log-weight of each event, nats, one item a row; ``-inf`` is legal.
            log_neg: Log-weight of its negation.

        Returns:
            Nats, and which events are true. Where no model has any weight ``-inf``, and the
            assignment means nothing.

        Raises:
            ShapeError, NumericalError: As for `log_weight`.
            BudgetError: As for `graph`.
        """
        self._check_weights(log_pos, log_neg)
        best, chosen = [], []
        for rows in self._chunks(log_pos, self._layers.width):
            value, model = best_model(self._layers, *_columns_of(rows, log_pos, log_neg))
            best.append(value)
            chosen.append(model.T)
        return torch.cat(best), torch.cat(chosen)

    def top(
        self, k: int, log_pos: Float[Tensor, "N n"], log_neg: Float[Tensor, "N n"]
    ) -> tuple[Float[Tensor, "N k"], Bool[Tensor, "N k n"]]:
        """Return the log-weights of the ``k`` heaviest models of each item, and the models.

        Args:
            k: How many, at least 1.
            log_pos: Log-weight of each event, nats, one item a row; ``-inf`` is legal.
            log_neg: Log-weight of its negation.

        Returns:
            Nats, falling, and which events are true; ``-inf`` and all false where there are fewer
            models with any weight.

        Raises:
            InputError: ``k`` is below 1.
            ShapeError, NumericalError: As for `log_weight`.
            BudgetError: As for `graph`.
        """
        if k < 1:
            raise InputError(f"top(k, ...) needs k >= 1, got {k!r}")
        self._check_weights(log_pos, log_neg)
        layers = self._smooth_layers
        best, chosen = [], []
        for rows in self._chunks(log_pos, layers.width * k * k):
            values, found = best_models(layers, k, *_columns_of(rows, log_pos, log_neg))
            best.append(values.T)
            chosen.append(found.permute(2, 1, 0))
        return torch.cat(best), torch.cat(chosen)

    def count(self) -> int:
        """Return how many assignments of all columns satisfy the formula, exactly."""
        return self._counts[0]

    def counts(self) -> tuple[int, ...]:
        """Return for each column in how many of the models it is true, exactly."""
        return self._counts[1]

    @cached_property
    def _counts(self) -> tuple[int, tuple[int, ...]]:
        return model_counts(self._smooth_graph)

    @cached_property
    def _smooth_graph(self) -> Graph:
        return smooth(self.graph)

    @cached_property
    def _layers(self) -> Layers:
        return Layers(self.graph)

    @cached_property
    def _smooth_layers(self) -> Layers:
        return Layers(self._smooth_graph)

    def _evaluate(
        self, log_odds: Float[Tensor, "N n"], *, slope: Float[Tensor, "N n"] | None
    ) -> Float[Tensor, "N"]:
        """Return log P a few rows at a time, and add its slope to zeros if they are given."""
        value = log_odds.new_zeros(len(log_odds))
        if not self.is_satisfiable:
            return value.fill_(-math.inf)
        width = sum(part.unit.width * part.n_components for part in self.parts)
        for rows in self._chunks(log_odds, width) if self.parts else ():
            columns = log_odds[rows].T.contiguous()
            slopes = None if slope is None else torch.zeros_like(columns)
            # Rounding may leave a certain formula just above log 1.
            value[rows] = self._evaluate_chunk(columns, slopes).clamp_(max=0.0)
            if slope is not None and slopes is not None:
                slope[rows] = slopes.masked_fill_(torch.isneginf(value[rows]), 0.0).T
        return value

    def _evaluate_chunk(
        self, columns: Float[Tensor, "n B"], slopes: Float[Tensor, "n B"] | None
    ) -> Float[Tensor, "B"]:
        """Return log P, and write its slope where there is room for it."""
        batch = columns.shape[1]
        total = columns.new_zeros(batch)
        for part in self.parts:
            rows = part.rows.to(columns.device)
            factors = None if part.factors is None else part.factors.to(columns)
            chosen = columns.index_select(0, rows)
            if factors is not None:
                chosen *= factors
            value, make_slope = part.unit.kernel(chosen.view(len(part.columns), -1))
            total += value if part.n_components == 1 else value.view(-1, batch).sum(0)
            if slopes is not None:
                slope = make_slope().view(-1, batch)
                slopes[rows] = slope if factors is None else slope * factors
        return total

    def _chunks(self, batch: Float[Tensor, "N n"], width: int) -> Iterator[slice]:
        """Yield slices of rows, so few that what they need stays small, and at least one slice."""
        width = max(1, width)
        numbers = CHUNK_NUMBERS if batch.device.type == "cpu" else ACCELERATOR_NUMBERS
        step = max(1, numbers // width, min(CHUNK_ROWS, MOST_NUMBERS // width))
        for start in range(0, max(1, len(batch)), step):
            yield slice(start, min(start + step, len(batch)))

    def _check(self, log_odds: Tensor, *, what: str) -> None:
        if log_odds.ndim != 2 or log_odds.shape[1] != len(self.names):
            raise ShapeError(
                f"{what} have one column for each of {len(self.names)} events, got shape "
                f"{tuple(log_odds.shape)}; the columns are {self.names[:8]!r}"
            )
        if log_odds.dtype not in (torch.float32, torch.float64):
            raise ShapeError(f"{what} are float64 or float32, got {log_odds.dtype}")
        if torch.isnan(log_odds).any():
            columns = torch.isnan(log_odds).any(0).nonzero().flatten().tolist()
            names = [self.names[column] for column in columns[:8]]
            raise NumericalError(f"{what} must be numbers, got NaN for {names!r}")

    def _check_weights(self, log_pos: Tensor, log_neg: Tensor) -> None:
        if log_pos.shape != log_neg.shape or log_pos.dtype != log_neg.dtype:
            raise ShapeError(
                "both log-weights have one shape and dtype, got "
                f"{tuple(log_pos.shape)} {log_pos.dtype} and "
                f"{tuple(log_neg.shape)} {log_neg.dtype}"
            )
        for weights in (log_pos, log_neg):
            self._check(weights, what="log-weights")
            if torch.isposinf(weights).any():
                raise NumericalError("log-weights must be below +inf, got +inf")


class _LogProb(torch.autograd.Function):
    """log P with its slope taken along: an item's slope is n numbers, its values may be millions.

    The slope is computed while the values of its chunk are at hand, so that no more than a
    chunk's are ever held, whatever the batch.
    """

    @staticmethod
    def forward(ctx: FunctionCtx, log_odds: Tensor, circuit: Circuit) -> Tensor:
        slope = torch.zeros_like(log_odds)
        value = circuit._evaluate(log_odds, slope=slope)
        ctx.save_for_backward(slope)
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None]:
        (slope,) = ctx.saved_tensors  # type: ignore[attr-defined]  # torch adds it at run time
        return grad[:, None] * slope, None


def _columns_of(rows: slice, *tables: Float[Tensor, "N n"]) -> list[Float[Tensor, "n B"]]:
    return [table.detach()[rows].T.contiguous() for table in tables]


def _place(
    builder: GraphBuilder,
    graph: Graph,
    columns: Int64[np.ndarray, "n"],
    signs: Bool[np.ndarray, "n"],
) -> int:
    """Return the root of a copy of the graph over other columns, with some literals swapped."""
    pairs = list(zip(columns.tolist(), signs.tolist(), strict=True))
    ids = [
        *(builder.literal(column, positive=sign) for column, sign in pairs),
        *(builder.literal(column, positive=not sign) for column, sign in pairs),
        builder.true,
        builder.false,
    ]
    for elements in element_lists(graph):
        ids.append(builder.add([(ids[prime], ids[sub]) for prime, sub in elements]))
    return ids[graph.root]
