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


DTYPES = [torch.bfloat16, torch.float32]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_vocab", [5, 97, 1024, 1500])
@pytest.mark.parametrize("scale", [0.05, 0.5, 5.0])
def test_the_screened_best_is_the_best(n_vocab, scale, dtype):
    read = readout(n_vocab, scale=scale)
    screen, unit = Screen(read, dtype=dtype), units(700)
    logits = unit.double() @ read.weight.double().T + read.bias.double()
    rounding = 50 * 2.0**-24 * (48**0.5 * float(read.weight.norm(dim=1).max()) + 5.0)
    some = torch.randint(n_vocab, (700, 2), generator=torch.Generator().manual_seed(2))
    for without in (None, some):
        exact = logits if without is None else logits.scatter(1, without, -torch.inf)
        values, ids, is_level = screen.best(unit, without=without)
        best = exact.amax(dim=1)
        torch.testing.assert_close(values.double(), best, rtol=0, atol=rounding)
        assert (exact.gather(1, ids[:, None])[:, 0] >= best - rounding).all()
        assert not is_level.any()


def test_answers_do_not_depend_on_the_rough_logits_nor_on_company():
    read, unit = readout(1500), units(700)
    found = [Screen(read, dtype=dtype).best(unit) for dtype in DTYPES]
    for half, single in zip(*found, strict=True):
        assert torch.equal(half, single)
    screen = Screen(read)
    values, ids, _ = found[0]
    assert torch.equal(screen.logits(unit, ids), values)
    for row in (0, 1, 699):
        assert torch.equal(screen.best(unit[row : row + 1])[0], values[row : row + 1])
    assert screen.dtype in DTYPES


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_slack_bounds_what_rounding_does(dtype):
    read = readout(900)
    screen, unit = Screen(read, dtype=dtype), units(300)
    rough = screen.rough(unit)[:, :900].double()
    exact = unit.double() @ read.weight.double().T + read.bias.double()
    tops = rough.amax(dim=1)
    slack = screen.slack(unit, tops.float()).double()
    at_stake = rough >= (tops - slack)[:, None]
    error = torch.where(at_stake, (rough - exact).abs(), 0.0).amax(dim=1)
    assert (error <= slack / 2).all()
    if dtype == torch.bfloat16:
        assert (error >= slack / 40).any()  # the bound is not idle


@pytest.mark.parametrize("width", [265, 269, 273])
def test_weights_that_rounding_pulls_apart_are_told_in_order(width):
    # 1 + 2^-8 is half-way between two numbers of bfloat16: one token is rounded down in every
    # place and the other up, by more than a nat together; the first is better by a little.
    little = 2.0**-14
    weight = torch.zeros(32, width)
    weight[5], weight[9] = 1.0 + 2.0**-8 - little, 1.0 + 2.0**-8 + little
    weight[9, 0] -= 3.0 * width * little
    read = Readout(weight=weight, bias=torch.zeros(32), is_centred=False, epsilon=0.0)
    unit = torch.ones(3, width)
    screen = Screen(read, dtype=torch.bfloat16)
    rough = screen.rough(unit)
    assert (rough[:, 9] > rough[:, 5]).all()
    assert screen.winners(unit).tolist() == [5, 5, 5]


@pytest.mark.parametrize("dtype", DTYPES)
def test_near_ties_are_told_apart_and_ties_are_nobodys(dtype):
    read = readout(64)
    weight = read.weight.clone()
    weight[10] = weight[40]  # the same but for a bias too small for half precision
    bias = read.bias.clone()
    bias[40] = bias[10] + 1e-4
    near = Screen(Readout(weight=weight, bias=bias, is_centred=False, epsilon=0.0), dtype=dtype)
    unit = units(400)
    found = near.best(unit)[1]
    assert (found == 40).any()
    assert not (found == 10).any()
    bias[40] = bias[10]
    level = Screen(Readout(weight=weight, bias=bias, is_centred=False, epsilon=0.0), dtype=dtype)
    _, ids, is_level = level.best(unit)
    assert (is_level == (found == 40)).all()
    assert (level.winners(unit) == torch.where(is_level, -1, ids)).all()
