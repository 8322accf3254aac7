"""The response's log-probability as a function of prompt embeddings. Unit: nats."""

import time
from dataclasses import replace
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int

from likely.attribution.baselines.method import Task
from likely.core.estimate import Cost
from likely.core.model import TRANSFORMERS_MODELS, Settings
from likely.errors import CapabilityError, NumericalError

_BYTES = 40  # of one logit: itself, in float64, normalised, and the gradients of these
_GAP = {"float64": 1e-8, "float32": 1e-3}
_HALF_GAP = 0.5


@runtime_checkable
class Differentiable(Protocol):
    """A model whose logits have gradients."""

    def embed(self, tokens: Int[torch.Tensor, "B T"]) -> Float[torch.Tensor, "B T D"]:
        """Return the input embeddings of ids."""
        ...

    def logits(
        self, *, tokens: torch.Tensor | None = None, embeddings: torch.Tensor | None = None
    ) -> Float[torch.Tensor, "B T V"]:
        """Return logits of sequences given as ids or as embeddings."""
        ...


class Differentiated:
    """Log-probability of a response by the embeddings of the asked positions of its prompt.

    Args:
        task: Its model has gradients, its response at least one token.

    Attributes:
        point: Shape ``(1, n, D)``: embeddings of the asked positions as they are.
        rows: How many points go through the model at once.
        gap: How far the log-probability by embeddings is from that by ids, nats; 0 but for
            rounding.
        n_backward: Token positions that were differentiated.

    Raises:
        CapabilityError: The model says that it has gradients and lacks what they take.
        NumericalError: Embeddings given from outside are not read like those of ids.
    """

    def __init__(self, task: Task) -> None:
        model, case = task.model, task.case
        if not isinstance(model, Differentiable):
            raise CapabilityError(
                f"{model.info.name!r} has no embed() or logits() with gradients; those that have: "
                f"{TRANSFORMERS_MODELS}"
            )
        self.model = model
        self._started = time.perf_counter()
        self._spent = Cost()
        self.n_backward = 0
        ids = torch.tensor([[*case.stem, *case.response[:-1]]])
        self._first = len(case.stem) - 1
        self._columns = torch.tensor([len(case.context) + i for i in case.positions])
        self._whole = model.embed(ids)
        ids = ids.to(self._whole.device)
        self._targets = torch.tensor(case.response, device=self._whole.device)
        self.point = self._whole[:, self._columns]
        settings = task.settings or Settings()
        row_bytes = _BYTES * ids.shape[1] * task.model.info.n_vocab
        self.rows = max(1, settings.memory // row_bytes)
        with torch.no_grad():
            by_ids = self._log_prob(model.logits(tokens=ids))
            by_embeddings = self(self.point)
        self._spent += Cost(token_evaluations=ids.shape[1], model_calls=1)
        self.gap = float((by_ids - by_embeddings).abs())
        limit = _GAP.get(task.model.info.dtype, _HALF_GAP)
        if not self.gap <= limit * max(1.0, float(by_ids.abs())):
            raise NumericalError(
                f"{task.model.info.name!r} gives {float(by_ids)!r} nats for ids and "
                f"{float(by_embeddings)!r} for their embeddings, so gradients by embeddings would "
                "be of another function; use a method without gradients"
            )

    def __call__(self, points: Float[torch.Tensor, "B n D"]) -> Float[torch.Tensor, "B"]:
        """Return the log-probability for each row of embeddings, float64."""
        embeddings = self._whole.expand(len(points), -1, -1).clone()
        embeddings[:, self._columns] = points
        found = self._log_prob(self.model.logits(embeddings=embeddings))
        n_tokens = embeddings.shape[0] * embeddings.shape[1]
        self._spent += Cost(token_evaluations=n_tokens, model_calls=1)
        if found.requires_grad:
            self.n_backward += n_tokens
        return found

    @property
    def cost(self) -> Cost:
        """All forward passes so far, and the seconds since the start, backward passes included."""
        return replace(self._spent, seconds=time.perf_counter() - self._started)

    def baseline(self, token: int | None) -> Float[torch.Tensor, "1 n D"]:
        """Return the embedding of a token at every asked position, or zeros."""
        if token is None:
            return torch.zeros_like(self.point)
        return self.model.embed(torch.tensor([[token]])).expand_as(self.point).clone()

    def _log_prob(self, logits: Float[torch.Tensor, "B T V"]) -> Float[torch.Tensor, "B"]:
        rows = logits[:, self._first :].double().log_softmax(dim=-1)
        index = self._targets.expand(len(rows), -1)[..., None]
        found: torch.Tensor = rows.gather(-1, index)[..., 0].sum(dim=-1)
        return found


def differentiate(
    function: Differentiated, point: Float[torch.Tensor, "1 n D"]
) -> tuple[float, Float[torch.Tensor, "1 n D"]]:
    """Return the value and the gradient at a point, float64."""
    at = point.detach().clone().requires_grad_(True)
    value = function(at)
    [gradient] = torch.autograd.grad(value.sum(), at)
    return float(value.detach()), gradient.double()
