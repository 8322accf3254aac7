"""Mean cross-entropy of a linear output layer, in nats, without ever holding all logits."""

import torch

_ROWS = 512  # logits of so many positions are held at once: what stays near the processor


class _MeanCrossEntropy(torch.autograd.Function):
    """Computes the gradients in the forward pass, part by part."""

    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx,
        states: torch.Tensor,
        weight: torch.Tensor,
        targets: torch.Tensor,
    ) -> torch.Tensor:
        n = len(states)
        half_states, half_weight = states.bfloat16(), weight.bfloat16()
        to_states, to_weight = torch.empty_like(states), torch.zeros_like(weight)
        total = torch.zeros((), dtype=torch.float64)
        for start in range(0, n, _ROWS):
            part = slice(start, start + _ROWS)
            chosen = targets[part, None]
            probs = torch.log_softmax((half_states[part] @ half_weight.T).float(), -1)
            total -= probs.gather(1, chosen).sum(dtype=torch.float64)
            probs = probs.exp_()
            probs.scatter_add_(1, chosen, torch.full_like(chosen, -1, dtype=probs.dtype))
            error = probs.bfloat16()
            to_states[part] = (error @ half_weight).float()
            to_weight += (error.T @ half_states[part]).float()
        ctx.save_for_backward(to_states / n, to_weight / n)
        return (total / n).float()

    @staticmethod
    def backward(
        ctx: torch.autograd.function.FunctionCtx, gradient: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, None]:
        to_states, to_weight = ctx.saved_tensors  # type: ignore[attr-defined]
        return gradient * to_states, gradient * to_weight, None


def mean_cross_entropy(
    states: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor:
    """Return the mean of ``-log_softmax(states @ weight.T)[target]``; products are in bfloat16.

    Args:
        states: Shape ``(N, D)``, float32.
        weight: Shape ``(V, D)``, float32.
        targets: Shape ``(N,)``, ids.

    Returns:
        A scalar, nats, with gradients for `states` and `weight`.
    """
    loss: torch.Tensor = _MeanCrossEntropy.apply(states, weight, targets)  # type: ignore[no-untyped-call]
    return loss
