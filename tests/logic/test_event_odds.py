"""Log-odds with gradients: the numbers of scoring, and slopes of central differences."""

import pytest
import torch

import likely
from likely.errors import InputError
from likely.logic.event_odds import event_log_odds
from likely.logic.events import rescaling
from likely.logic.events.event import Event
from likely.logic.events.scoring import score_events

SMOOTH = ("identity", "ratio_soft", "duel", "minp", "epsilon", "eta", "nucleus", "typical")
EVENTS = (
    Event(id="one token", context="The sky is", spellings=(" C",)),
    Event(id="merged", context="The sky is", spellings=("C", "D", " C")),
    Event(id="three tokens", context="world", answers=("be",)),
    Event(id="two words", context="The sky is", answers=("Answer", "An")),
    Event(id="across the join", context="A", spellings=("n",)),
    Event(id="longer context", context="The sky is an", answers=("Answer",)),
)


@pytest.fixture(scope="module")
def exact(random_gpt2_folder):
    """A model of its own in double precision, for differences of 1e-6."""
    model = likely.load(f"hf:{random_gpt2_folder}")
    model.module.double()
    return model


@pytest.mark.parametrize("name", SMOOTH)
def test_the_numbers_are_those_of_scoring(gpt2, name):
    found = event_log_odds(gpt2, EVENTS, name).tolist()
    scores = score_events(gpt2, EVENTS, [name], clamp=None)
    assert found == pytest.approx(scores.log_odds[name].tolist(), abs=1e-5)
    assert "multi_token" in scores.flags[2]
    assert "boundary_merge" in scores.flags[4]


@pytest.mark.parametrize("batch_tokens", [1, 20, 10_000])
def test_batches_change_no_number(exact, batch_tokens):
    expected = event_log_odds(exact, EVENTS, "duel")
    found = event_log_odds(exact, EVENTS, "duel", batch_tokens=batch_tokens)
    assert torch.allclose(found, expected, rtol=0.0, atol=1e-10)


def test_each_prefix_goes_through_the_model_once(exact, monkeypatch):
    seen = []
    forward = exact.logits

    def count(*, tokens):
        seen.append(tuple(tokens.shape))
        return forward(tokens=tokens)

    monkeypatch.setattr(exact, "logits", count)
    alone = Event(id="a", context="The sky is", spellings=(" C",))
    other = Event(id="b", context="The sky is", spellings=("D",))
    event_log_odds(exact, [alone, other, alone])
    assert len(seen) == 1
    assert seen[0][0] == 1  # one row: all three events end the same context


@pytest.mark.parametrize("name", ["duel", "minp", "identity", "eta"])
@pytest.mark.parametrize("place", [("transformer.h.0.mlp.c_fc.weight", (3, 5)),
                                   ("transformer.wte.weight", (40, 2))])  # fmt: skip
def test_gradients_agree_with_central_differences_in_one_weight(exact, name, place):
    which, index = place
    weight = exact.module.get_parameter(which)
    exact.module.zero_grad()
    event_log_odds(exact, EVENTS, name).sum().backward()
    slope = float(weight.grad[index])
    step = 1e-6
    sums = []
    for sign in (1.0, -1.0):
        with torch.no_grad():
            weight[index] += sign * step
            sums.append(float(event_log_odds(exact, EVENTS, name).sum()))
            weight[index] -= sign * step
    exact.module.zero_grad()
    assert slope == pytest.approx((sums[0] - sums[1]) / (2 * step), rel=1e-5, abs=1e-7)


def test_dropout_is_off_and_training_flags_stay(random_gpt2_folder):
    model = likely.load(f"hf:{random_gpt2_folder}")
    model.module.train()
    first, second = (event_log_odds(model, EVENTS, "duel").detach() for _ in range(2))
    assert torch.equal(first, second)
    assert model.module.training


@pytest.mark.parametrize("name", ["tail", "rank", "ratio", "closed", "pmi"])
def test_rescalings_without_a_gradient_of_the_row_are_refused(gpt2, name):
    with pytest.raises(InputError, match="train on 'minp'"):
        event_log_odds(gpt2, EVENTS, name)


def test_a_rescaling_may_have_parameters(gpt2):
    cold = event_log_odds(gpt2, EVENTS, rescaling("minp", tau=0.5)).tolist()
    warm = event_log_odds(gpt2, EVENTS, rescaling("minp", tau=1.0)).tolist()
    assert cold[0] == pytest.approx(2 * warm[0])


def test_no_events_are_refused(gpt2):
    with pytest.raises(InputError, match="got no events"):
        event_log_odds(gpt2, [])


def test_an_unusable_event_is_named(gpt2, toy_bytes):
    with pytest.raises(InputError, match="event 'a': an answer"):
        event_log_odds(gpt2, [Event(id="a", context="The", answers=(" sky",))])
    with pytest.raises(InputError, match="event 'a'"):
        event_log_odds(toy_bytes, [Event(id="a", context="", spellings=("b",))])
