"""Going on from stored keys and values gives the states and slopes of whole inputs."""

import pytest
import torch

from likely.errors import CapabilityError


@pytest.mark.parametrize("norm", ["before", "after"])
def test_states_and_slopes_are_those_of_whole_inputs(gpt2, norm):
    ids = torch.arange(3 * 9).view(3, 9) * 7 % gpt2.info.n_tokens
    whole = gpt2.embed(ids).requires_grad_(True)
    expected = gpt2.last_states(embeddings=whole, norm=norm)
    (slopes,) = torch.autograd.grad(expected.square().sum(), whole)
    _, stored = gpt2.last_states_onward(gpt2.embed(ids), [], norm=norm)
    assert len(stored) == 2
    assert stored[0][0].shape[2] == 9
    assert not stored[0][0].requires_grad
    for start in (0, 1, 5, 8):
        before = [(keys[:, :, :start], values[:, :, :start]) for keys, values in stored]
        rest = gpt2.embed(ids[:, start:]).requires_grad_(True)
        states, grown = gpt2.last_states_onward(rest, before, norm=norm)
        torch.testing.assert_close(states, expected, atol=2e-5, rtol=0)
        (found,) = torch.autograd.grad(states.square().sum(), rest)
        torch.testing.assert_close(found, slopes[:, start:], atol=1e-4, rtol=1e-3)
        torch.testing.assert_close(grown[1][1], stored[1][1], atol=2e-5, rtol=0)


def test_a_window_of_attention_does_not_go_on(window):
    assert not window.keeps_keys
    with pytest.raises(CapabilityError, match="use last_states"):
        window.last_states_onward(window.embed(torch.zeros(1, 3, dtype=torch.long)), [])
