"""A bias on hidden tokens gives the masses that whole rows give, or the server is refused."""

import math

import numpy as np
import pytest
from hidden_colours import BLUE, GOLD, RED, colours, item, spelled, truth

import likely
from likely.calibration.access import biasing
from likely.calibration.access.biasing import BiasedLists, BiasedRows, biased_masses, check_bias
from likely.calibration.access.spellings import Spelled, spell
from likely.core.model import TopTokens
from likely.errors import CapabilityError, InputError

PROBE = "The draw is red"


@pytest.mark.parametrize("k", [2, 3, 5, 13])
def test_masses_by_bias_are_those_of_whole_rows(k):
    model = colours()
    items = [spelled(model, RED, BLUE), spelled(model, GOLD, RED, BLUE)]
    found = biased_masses(BiasedRows(model), items, tokenizer=model.tokenizer, k=k)
    wanted = np.concatenate([truth(model, one) for one in items])
    assert found.masses.offsets.tolist() == [0, 2, 5]
    assert found.masses.log_mass == pytest.approx(wanted, abs=1e-12)
    assert found.masses.log_mass_low == pytest.approx(wanted, abs=1e-12)


def test_masses_by_bias_are_those_of_scored_answers():
    model = colours()
    one = spell(model, item("red", "blue"))
    found = biased_masses(BiasedRows(model), [one], tokenizer=model.tokenizer, k=4)
    scores = likely.score_answers(model, ["The draw is"], ["red", "blue"])
    wanted = [scores[0].log_prob(label) for label in ("red", "blue")]
    assert found.masses.log_mass == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("bias", [1.0, 7.0, 30.0])
def test_the_same_bias_on_all_options_keeps_their_ratios(bias):
    model = colours()
    one = spelled(model, RED, BLUE)
    tokens = [ids[0] for surfaces in one.options for ids in surfaces]
    plain, raised = (
        BiasedRows(model).top_with_bias(one.context, dict.fromkeys(tokens, b), k=13)
        for b in (0.0, bias)
    )
    values = [
        np.array([top.log_probs[top.tokens.index(t)] for t in tokens if t != tokens[2 + 4]])
        for top in (plain, raised)
    ]
    assert np.diff(values[0]) == pytest.approx(np.diff(values[1]), abs=1e-9)


def test_an_impossible_option_keeps_a_bound_and_never_a_zero():
    model = colours()
    one = spelled(model, (" red",), ("Blue",))
    found = biased_masses(BiasedRows(model), [one], tokenizer=model.tokenizer, k=3)
    assert found.masses.log_mass_low.tolist()[1] == -math.inf
    assert -math.inf < found.masses.log_mass[1] < -biasing.MOST_BIAS
    assert not found.masses.is_exact[0]


def test_a_listed_option_costs_no_call_beyond_the_list():
    model = colours()
    one = spelled(model, (" red",), (" blue",))
    found = biased_masses(BiasedRows(model), [one], tokenizer=model.tokenizer, k=4)
    assert found.n_calls == 3  # the probe's two and the list
    hidden = spelled(model, (" red",), ("blue",))
    found = biased_masses(BiasedRows(model), [hidden], tokenizer=model.tokenizer, k=4)
    assert found.n_calls == 4


class Rounded:
    """Lists whose values have few digits."""

    def __init__(self, model, digits):
        self.exact, self.digits = BiasedRows(model), digits

    def top_with_bias(self, prefix, bias, *, k):
        top = self.exact.top_with_bias(prefix, bias, k=k)
        return TopTokens(
            tokens=top.tokens, pieces=top.pieces,
            log_probs=tuple(round(x, self.digits) for x in top.log_probs),
            log_prob_elsewhere=top.log_prob_elsewhere, log_mass_elsewhere=top.log_mass_elsewhere,
        )  # fmt: skip


@pytest.mark.parametrize("digits", [1, 2, 4])
def test_rounding_of_the_values_is_part_of_the_ends(digits):
    model = colours()
    one = spelled(model, RED, BLUE, GOLD)
    lists = Rounded(model, digits)
    assert isinstance(lists, BiasedLists)
    found = biased_masses(
        lists, [one], tokenizer=model.tokenizer, k=3, rounding=0.5 * 10.0**-digits
    )
    wanted = truth(model, one)
    assert np.all(found.masses.log_mass_low <= wanted)
    assert np.all(found.masses.log_mass >= wanted)
    width = found.masses.log_mass - found.masses.log_mass_low
    assert np.all(width <= 6.01 * 10.0**-digits)  # three values a step, two steps for gold


def test_lists_by_text_bound_what_may_hide_behind_a_short_text():
    model = likely.TableModel(["x", "yes", "no", "é"], lambda context: LAW, bos=None)
    one = Spelled(context=(0,), options=(((1,),), ((2,),), ((0,),)))

    class ByText(Rounded):
        def top_with_bias(self, prefix, bias, *, k):
            top = self.exact.top_with_bias(prefix, bias, k=k)
            return TopTokens(
                tokens=(None,) * len(top.tokens), pieces=top.pieces, log_probs=top.log_probs,
                log_prob_elsewhere=top.log_prob_elsewhere,
                log_mass_elsewhere=top.log_mass_elsewhere,
            )  # fmt: skip

    found = biased_masses(ByText(model, 0), [one], tokenizer=model.tokenizer, k=2)
    assert np.exp(found.masses.log_mass[:2]) == pytest.approx([0.6, 0.01])
    assert found.masses.log_mass_low[2] == pytest.approx(math.log(LAW["x"]))
    assert found.masses.log_mass[2] >= found.masses.log_mass_low[2]


LAW = {"yes": 0.6, "x": 0.3, "no": 0.01, "é": 0.09}


@pytest.mark.parametrize("dialect", ["vllm", "openai", "llama.cpp"])
def test_masses_over_the_wire_are_those_of_whole_rows(loopback, connect, dialect):
    table = colours()
    loopback.serve(table, dialect)
    model = connect(top_k=5)
    assert isinstance(model, BiasedLists)
    items = [spelled(table, RED, BLUE), spelled(table, GOLD, RED)]
    found = biased_masses(model, items, tokenizer=model.tokenizer, k=5, at_once=2)
    wanted = np.concatenate([truth(table, one) for one in items])
    tolerance = 1e-6 if dialect == "llama.cpp" else 1e-9  # its probabilities are float32
    assert found.masses.log_mass == pytest.approx(wanted, abs=tolerance)
    assert found.masses.log_mass_low == pytest.approx(wanted, abs=tolerance)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("before_bias", "from before the bias"),
        ("half_bias", "moved by 1.0000 nats"),
        ("no_bias", "refuses a logit bias"),
    ],
)
def test_servers_on_which_a_bias_is_of_no_use_are_refused(loopback, connect, fault, message):
    table = colours()
    loopback.serve(table, "vllm", lasting=[fault])
    model = connect(top_k=5)
    one = spelled(table, RED, BLUE)
    with pytest.raises(CapabilityError, match=message):
        biased_masses(model, [one], tokenizer=model.tokenizer, k=5)


def test_lists_that_are_too_short_are_refused(loopback, connect):
    loopback.serve(colours(), "vllm")
    model = connect(top_k=3)
    with pytest.raises(CapabilityError, match="at most 3 likeliest tokens, 4 were"):
        model.top_with_bias((12,), {}, k=4)


def test_a_certain_token_leaves_nothing_to_try_the_bias_on():
    model = likely.TableModel(["a", "b"], lambda context: {"a": 1.0}, bos=None)

    class OneEntry(Rounded):
        def top_with_bias(self, prefix, bias, *, k):
            return self.exact.top_with_bias(prefix, bias, k=1)

    with pytest.raises(CapabilityError, match="takes two listed tokens"):
        check_bias(OneEntry(model, 3), (0,), tokenizer=model.tokenizer)


def test_nothing_to_bias_is_refused():
    model = colours()
    with pytest.raises(InputError, match="at least 1 item"):
        biased_masses(BiasedRows(model), [], tokenizer=model.tokenizer, k=5)


def test_surfaces_follow_the_level():
    model = colours()
    one = spell(model, item("red", "blue"), level="exact")
    assert [[model.tokenizer.decode(ids) for ids in own] for own in one.options] == [
        [" red"], [" blue"],
    ]  # fmt: skip
