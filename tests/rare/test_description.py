"""A law of inputs on one screen, with entropies that are worked out by hand."""

import math

import numpy as np
import pytest

import likely
from likely import rare
from likely.errors import InputError


def model():
    return likely.TableModel(["a", "b", "c"], dict)


def test_neighbours_with_one_law_are_one_group_and_entropies_add_up():
    half = {"a": 1, "b": 1}
    law = rare.independent([half, {"b": 0.5, "a": 0.5}, {"c": 1}, {"a": 3, "c": 1}], model())
    found = rare.describe(law, model(), n_likeliest=1)
    assert [(g.first, g.last, g.n_tokens) for g in found.groups] == [
        (0, 0, 1), (1, 2, 2), (3, 3, 1), (4, 4, 2),
    ]  # fmt: skip
    last = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert found.groups[1].entropy == pytest.approx(math.log(2))
    assert found.groups[3].entropy == pytest.approx(last)
    assert found.entropy == pytest.approx(2 * math.log(2) + last)
    assert found.groups[3].likeliest == (("a", pytest.approx(0.75)),)
    assert (found.length, found.n_inputs) == (5, 8)


def test_the_entropy_of_a_list_counts_an_input_that_stands_twice_once():
    law = rare.listed([[0, 1], [0, 1], [0, 2], [0, 0]], model(), weights=[1, 2, 1, 4])
    found = rare.describe(law, model())
    expected = -sum(p * math.log(p) for p in (3 / 8, 1 / 8, 4 / 8))
    assert found.entropy == pytest.approx(expected)
    assert [(g.first, g.n_tokens) for g in found.groups] == [(0, 1), (1, 3)]
    assert found.groups[1].likeliest[0] == ("a", pytest.approx(0.5))


def test_places_of_a_list_that_vary_are_one_group_with_their_mean_law():
    law = rare.listed([[2, 0, 1, 2], [2, 1, 1, 2]], model())
    groups = rare.describe(law, model()).groups
    assert [(g.first, g.last, g.n_tokens) for g in groups] == [
        (0, 0, 1),
        (1, 1, 2),
        (2, 2, 1),
        (3, 3, 1),
    ]
    law = rare.listed([[2, 0, 0], [2, 1, 2]], model())
    groups = rare.describe(law, model()).groups
    assert [(g.first, g.last) for g in groups] == [(0, 0), (1, 2)]
    assert groups[1].likeliest == (
        ("a", pytest.approx(0.5)), ("b", pytest.approx(0.25)), ("c", pytest.approx(0.25)),
    )  # fmt: skip


def test_the_summary_has_sizes_places_and_samples():
    law = rare.distribution("hex", likely.TableModel(list("0123456789abcdef"), dict))
    lines = rare.describe(law, likely.TableModel(list("0123456789abcdef"), dict)).summary()
    first, about, *_ = lines.splitlines()
    assert first == "'hex': 33 tokens, 3.4e38 inputs, 88.72 nats"  # 16^32, and 32 log 16
    assert "chain exact" in about
    assert "     1-32  16 tokens, 2.77 nats: '0' 0.062" in lines
    assert "        0  always '<s>'" in lines
    assert lines.count("  '<s>") == 3
    assert max(map(len, lines.splitlines())) <= 100


def test_samples_are_drawn_from_the_law_and_the_same_each_time():
    law = rare.independent([{"a": 1}, {"b": 1, "c": 1}], model(), bos=False)
    found = rare.describe(law, model(), n_samples=40)
    assert set(found.samples) == {"ab", "ac"}
    assert found == rare.describe(law, model(), n_samples=40)


def test_one_input_has_no_entropy_and_no_sign():
    for law in (rare.listed([[1, 2]], model()), rare.independent([{"a": 1}], model(), bos=False)):
        found = rare.describe(law, model(), n_samples=0)
        assert math.copysign(1.0, found.entropy) == 1.0
        assert found.summary().splitlines()[0].endswith("1 inputs, 0.00 nats")
        assert found.samples == ()


@pytest.mark.parametrize(
    ("options", "part"),
    [({"n_likeliest": 0}, "n_likeliest >= 1, got 0"), ({"n_samples": -1}, "n_samples >= 0")],
)
def test_numbers_that_show_nothing_are_refused(options, part):
    with pytest.raises(InputError, match=part):
        rare.describe(rare.listed([[1, 2]], model()), model(), **options)


def test_laws_of_another_kind_are_refused():
    class Other:
        name, length, n_inputs, fingerprint = "other", 1, 1, "x"

        def sample(self, n, *, rng):
            return np.zeros((n, 1), dtype=np.int64)

        def log_prob(self, inputs):
            return np.zeros(len(inputs))

        def iter_inputs(self, *, size):
            yield np.zeros((1, 1), dtype=np.int64), np.zeros(1)

    with pytest.raises(InputError, match="got 'other'"):
        rare.describe(Other(), model())
