"""What all later text gains, to the first order, from another token in a place. Unit: nats.

One backward pass of the log-probability of prompt and response by the input embeddings gives the
slope at every place at once: tokens before a place do not depend on what stands there. It is a hint
of which rare tokens fit what comes after, and never a bound; of all candidates it tells little (on
SmolLM2 its rank correlation with the true change is -0.2 to 0.3), of the best ones more.

Source: section B6 of the specification; the linear estimate is that of HotFlip, Ebrahimi and others
(2018), arXiv 1712.06751.
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from likely.core.branches import Spending
from likely.core.model import Capability, LanguageModel, Settings

if TYPE_CHECKING:
    import torch

    from likely.attribution.baselines.differentiable import Differentiable

_BYTES = 20  # of one logit: itself, normalised, and the gradients of these
_IDS = 8192  # whose embeddings are looked up at a time


class Slopes:
    """Slopes at every place of a text.

    Args:
        model: Has gradients.
        gradient: Shape ``(n, D)``: of the text's log-probability by the embedding of each token.
    """

    def __init__(self, model: "Differentiable", gradient: "Float[torch.Tensor, 'n D']") -> None:
        self.model = model
        self.gradient = gradient

    def at(self, place: int, ids: Int[np.ndarray, "V"], actual: int) -> Float[np.ndarray, "V"]:
        """Return what is gained with each id in place of the actual one.

        Args:
            place: In the text, from 0.
            ids: Shape ``(V,)``.
            actual: The id that stands there.
        """
        import torch

        slope = self.gradient[place]
        found = []
        for start in range(0, len(ids), _IDS):
            part = torch.from_numpy(ids[start : start + _IDS].copy())
            found.append((self.model.embed(part[None])[0] @ slope).double().cpu())
        own = self.model.embed(torch.tensor([[actual]]))[0, 0] @ slope
        return np.asarray((torch.cat(found) - float(own)).numpy())


def open_slopes(
    model: LanguageModel, text: Sequence[int], *, settings: Settings | None, spending: Spending
) -> Slopes | None:
    """Return the slopes of a text, or None where the model tells none.

    None too where the logits of the text, with their gradients, do not fit into the memory that
    may be used, and where a gradient is not finite: what is only a hint may be missing.

    Args:
        model: Any.
        text: Ids of context, prompt and response.
        settings: Their ``memory`` bounds the pass.
        spending: Counts the tokens of the pass, each once; its backward half comes on top.
    """
    if Capability.GRADIENTS not in model.info.capabilities:
        return None
    import torch

    from likely.attribution.baselines.differentiable import Differentiable

    memory = (settings or Settings()).memory
    if not isinstance(model, Differentiable) or _BYTES * len(text) * model.info.n_vocab > memory:
        return None
    start = time.perf_counter()
    at = model.embed(torch.tensor([list(text)])).requires_grad_(True)
    rows = model.logits(embeddings=at)[0, :-1].log_softmax(dim=-1)
    targets = torch.tensor(list(text[1:]), device=rows.device)
    [gradient] = torch.autograd.grad(rows.gather(1, targets[:, None]).sum(), at)
    spending.add(len(text), 1, time.perf_counter() - start)
    return Slopes(model, gradient[0]) if bool(torch.isfinite(gradient).all()) else None
