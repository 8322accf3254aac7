"""What is told of a model's ways, costs and steadiness is what then happens."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hidden_colours import BLUE, GOLD, RED, colours, spelled
from hidden_colours import item as two_colours

import likely
from likely.calibration.access import routes as access
from likely.calibration.access.biasing import BiasedRows, biased_masses
from likely.calibration.access.routes import (
    best_route,
    check_lists,
    estimate_calls,
    repeat_spread,
    routes,
)
from likely.calibration.access.spellings import spell
from likely.core.model import Capability, TopTokens
from likely.errors import CapabilityError, InputError

PROBE = "The draw is red"

ITEM = two_colours("red", "blue")


class Wrapped:
    """A table that gives continuations and lists, with numbers changed on the way."""

    def __init__(self, model, capabilities, change=lambda top, k: top, noise=0.0):
        self.model, self.change, self.noise = model, change, noise
        self.info = replace(model.info, capabilities=frozenset(capabilities))
        self.tokenizer = model.tokenizer
        self.n_asked = 0

    def evaluate(self, work, sink):
        self.n_asked += 1
        for node in work.top_nodes.tolist():
            top = BiasedRows(self.model).top_with_bias(work.trie.prefix(node), {}, k=work.top_k)
            sink.put_top(node, self.change(top, work.top_k))
        for pair, (node, token) in enumerate(
            zip(work.pair_nodes.tolist(), work.pair_targets.tolist(), strict=True)
        ):
            value = self.model.row(work.trie.prefix(node))[token]
            sink.put_pairs(np.array([pair]), np.array([value - self.noise * self.n_asked]))


def states(model, **options):
    return {route.name: route.state for route in routes(model, **options)}


def test_a_local_model_has_every_way_and_takes_the_exact_one():
    model = colours()
    assert set(states(model).values()) == {"open"}
    assert best_route(model).name == "exact"


def test_a_server_s_ways_are_those_that_it_proves(loopback, connect):
    loopback.serve(colours(), "vllm")
    model = connect(top_k=5)
    assert states(model) == {
        "exact": "open", "top-k": "open", "bias": "untried", "sampling": "open",
    }  # fmt: skip
    assert states(model, context="The draw is")["bias"] == "open"


def test_a_server_without_prompt_log_probs_is_read_by_bias_or_bounds(loopback, connect):
    loopback.serve(colours(), "openai", lasting=["echo_ignored"])
    model = connect(top_k=5)
    assert states(model)["exact"] == "closed"
    assert best_route(model, context="The draw is").name == "bias"
    assert best_route(model).name == "top-k"
    loopback.serve(colours(), "openai", lasting=["echo_ignored", "before_bias"])
    route = {r.name: r for r in routes(model, context="The draw is")}["bias"]
    assert route.state == "closed"
    assert "from before the bias" in route.summary()
    assert best_route(model, context="The draw is").name == "top-k"


def test_a_model_that_tells_nothing_is_refused_with_all_reasons():
    mute = Wrapped(colours(), [])
    with pytest.raises(CapabilityError, match=r"scores no given text.*lists no.*no bias.*no texts"):
        best_route(mute)


def test_bias_calls_are_those_that_are_made_when_all_is_hidden():
    model = colours()

    class Counted:
        def __init__(self):
            self.sent = []

        def top_with_bias(self, prefix, bias, *, k):
            self.sent.append(len(prefix))
            return BiasedRows(model).top_with_bias(prefix, bias, k=k)

    # "red" and "blue" are listed among the 4 likeliest or come into view at the first bias
    lists, one = Counted(), spell(model, ITEM, level="exact")
    estimate = estimate_calls(model, [ITEM], route="bias", level="exact", k=4)
    found = biased_masses(lists, [one], tokenizer=model.tokenizer, k=4)
    assert estimate.n_calls >= found.n_calls == len(lists.sent)
    assert estimate.n_calls - found.n_calls == 1  # both were listed


def test_calls_of_lists_and_paths_are_those_that_are_made(loopback, connect):
    state = loopback.serve(colours(), "vllm")
    model = connect(top_k=5)
    n_before = state.hits["/v1/completions"]
    likely.score_answers(model, [ITEM.context], {"red": RED, "blue": [" blue", "blue", " Blue"]})
    made = state.hits["/v1/completions"] - n_before
    estimate = estimate_calls(model, [ITEM], route="exact")
    assert made == 7
    assert estimate.n_calls == 8  # with "Blue", which is impossible here
    assert estimate.prompt_tokens == 8 * 2
    assert estimate_calls(model, [ITEM], route="top-k").n_calls == 1


def test_samples_cost_what_they_are_told_to():
    model = colours()
    estimate = estimate_calls(
        model, [ITEM] * 7, route="sampling", n_samples=100, draws=50, max_tokens=3, n_counted=2
    )
    assert (estimate.n_calls, estimate.prompt_tokens) == (14, 14)
    assert (estimate.generated_tokens, estimate.n_counted) == (2100, 2)
    assert estimate.summary().startswith("sampling: 14 requests, 14 tokens sent, 2,100 written")


def test_each_beginning_of_a_long_surface_is_a_list_of_its_own():
    model = colours()
    one = spelled(model, RED, BLUE, GOLD)
    lengths, _ = access._requests(one, "top-k", k=4, n_requests=1, n_written=1)
    assert sorted(lengths) == [1, 2]
    lengths, _ = access._requests(one, "bias", k=4, n_requests=1, n_written=1)
    assert sorted(lengths) == [1] * 4 + [2] * 2


def test_a_steady_model_has_no_spread():
    spread = repeat_spread(colours(), [ITEM] * 3)
    assert (spread.n_items, spread.n_changed) == (3, 0)
    assert (spread.max_log_mass, spread.max_mass, spread.max_share) == (0.0, 0.0, 0.0)
    assert spread.log_masses.shape == (5, 6)
    assert np.exp(spread.log_masses[0, :2]) == pytest.approx([0.1201003, 0.03], abs=1e-6)


def test_an_unsteady_model_is_told_by_how_much():
    model = Wrapped(colours(), [Capability.CONTINUATION], noise=0.01)
    spread = repeat_spread(model, [ITEM] * 30, n_repeats=3)
    assert (spread.n_items, spread.n_changed) == (20, 20)
    assert spread.max_log_mass == pytest.approx(0.02)
    assert spread.max_mass == pytest.approx(0.1201003 * (math.exp(-0.01) - math.exp(-0.03)))
    assert spread.max_share == pytest.approx(0.0, abs=1e-12)  # all options moved alike
    assert "20 of 20 items changed over 3 repeats" in spread.summary()
    assert spread.to_dict()["n_repeats"] == 3
    assert spread.at.endswith("+00:00")


def test_lists_whose_values_depend_on_their_length_are_refused():
    def spread_over_list(top, k):
        shift = math.log(math.fsum(math.exp(x) for x in top.log_probs))
        return TopTokens(
            tokens=top.tokens, pieces=top.pieces,
            log_probs=tuple(x - shift for x in top.log_probs),
            log_prob_elsewhere=top.log_prob_elsewhere, log_mass_elsewhere=top.log_mass_elsewhere,
        )  # fmt: skip

    lists = [Capability.TOP_TOKENS]
    check_lists(Wrapped(colours(), lists), "The draw is", lengths=(2, 5))
    with pytest.raises(CapabilityError, match="depend on how many are asked for"):
        check_lists(Wrapped(colours(), lists, spread_over_list), "The draw is", lengths=(2, 5))


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: estimate_calls(m, [], route="exact"),
        lambda m: estimate_calls(m, [ITEM], route="bias", k=1),
        lambda m: repeat_spread(m, []),
        lambda m: repeat_spread(m, [ITEM], n_repeats=1),
        lambda m: check_lists(m, "The draw is", lengths=(5,)),
    ],
)
def test_nothing_to_ask_is_refused(ask):
    with pytest.raises(InputError):
        ask(colours())
