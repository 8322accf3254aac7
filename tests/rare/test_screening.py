"""Winners found in half precision first are the winners, ties and near ties included."""

import pytest
import torch

from likely.rare.network import Readout
from likely.rare.screening import Screen


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
def test_the_screened_best_is_the_best(n_vocab, scale):
    read = readout(n_vocab, scale=scale)
    screen, unit = Screen(read), units(700)
    logits = unit.double() @ read.weight.double().T + read.bias.double()
    rounding = screen.slack * 2**-13  # of float32; half precision does 2^15 times as much
    for without in (None, torch.randint(n_vocab, (700, 2))):
        exact = logits if without is None else logits.scatter(1, without, -torch.inf)
        for values, ids, is_level in (screen.screened(unit, without), screen.whole(unit, without)):
            best = exact.amax(dim=1)
            torch.testing.assert_close(values.double(), best, rtol=0, atol=rounding)
            assert (exact.gather(1, ids[:, None])[:, 0] >= best - rounding).all()
            assert not is_level.any()


def test_the_slack_bounds_what_rounding_does():
    read = readout(900)
    screen, unit = Screen(read), units(300)
    rough = torch.addmm(
        read.bias.to(torch.bfloat16), unit.to(torch.bfloat16), read.weight.T.to(torch.bfloat16)
    )
    error = (rough.double() - (unit.double() @ read.weight.double().T + read.bias.double())).abs()
    assert error.max() <= screen.slack / 2
    assert error.max() >= screen.slack / 40  # the bound is not idle


def test_near_ties_are_told_apart_and_ties_are_nobodys():
    read = readout(64)
    weight = read.weight.clone()
    weight[10] = weight[40]  # the same but for a bias too small for half precision
    bias = read.bias.clone()
    bias[40] = bias[10] + 1e-4
    near = Screen(Readout(weight=weight, bias=bias, is_centred=False, epsilon=0.0))
    unit = units(400)
    found = near.screened(unit)[1]
    assert (found == 40).any()
    assert not (found == 10).any()
    bias[40] = bias[10]
    level = Screen(Readout(weight=weight, bias=bias, is_centred=False, epsilon=0.0))
    values, ids, is_level = level.screened(unit)
    assert (is_level == (found == 40)).all()
    assert (level.winners(unit) == torch.where(is_level, -1, ids)).all()
    torch.testing.assert_close(values, level.whole(unit)[0])
