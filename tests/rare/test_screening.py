"""Winners found in half precision first are the winners, ties and near ties included."""

import pytest
import torch

from likely.rare.network import Readout
from likely.rare.screening import Winners


def readout(n_vocab, *, scale=0.5, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return Readout(
        weight=torch.randn(n_vocab, 48, generator=draw) * scale,
        bias=torch.randn(n_vocab, generator=draw),
        is_centred=False,
        epsilon=1e-6,
    )


def units(n, *, seed=1):
    states = torch.randn(n, 48, generator=torch.Generator().manual_seed(seed))
    return states / states.square().mean(dim=1, keepdim=True).sqrt()


@pytest.mark.parametrize("n_vocab", [5, 97, 1024, 1500])
@pytest.mark.parametrize("scale", [0.05, 0.5, 5.0])
def test_screened_winners_are_the_winners(n_vocab, scale):
    winners, unit = Winners(readout(n_vocab, scale=scale)), units(700)
    torch.testing.assert_close(winners.screened(unit), winners.whole(unit))


def test_the_slack_bounds_what_rounding_does():
    read = readout(900)
    winners, unit = Winners(read), units(300)
    rough = torch.addmm(
        winners.bias.to(torch.bfloat16), unit.to(torch.bfloat16), read.weight.T.to(torch.bfloat16)
    )
    error = (rough.double() - (unit.double() @ read.weight.double().T + read.bias.double())).abs()
    assert error.max() <= winners.slack / 2
    assert error.max() >= winners.slack / 40  # the bound is not idle


def test_near_ties_are_told_apart_and_ties_are_nobodys():
    read = readout(64)
    weight = read.weight.clone()
    weight[10] = weight[40]  # the same but for a bias too small for half precision
    bias = read.bias.clone()
    bias[40] = bias[10] + 1e-4
    near = Winners(Readout(weight=weight, bias=bias, is_centred=False, epsilon=0.0))
    unit = units(400)
    found = near.screened(unit)
    assert (found == 40).any()
    assert not (found == 10).any()
    bias[40] = bias[10]
    level = Winners(Readout(weight=weight, bias=bias, is_centred=False, epsilon=0.0))
    assert ((level.screened(unit) == -1) == (found == 40)).all()
