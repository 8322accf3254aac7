"""Training on a random model: what a step sees, what it moves, and how scores are summed up."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
import torch

import likely
from likely.errors import InputError, LikelyWarning
from likely.logic.events.scoring import score_events
from likely.logic.instances import instances
from likely.logic.learning import kl_anchor
from likely.logic.theory import Theory
from likely.logic.training import (
    TrainingConfig,
    anchor_chunks,
    claim_scores,
    iter_training,
    split_rows,
)

EXAMPLE = Path(__file__).parents[2] / "examples" / "learn_constraints.py"

THEORY = Theory.from_text("""
name: letters
rows:
  - {id: r1, word: sky, answer: C}
  - {id: r2, word: sea, answer: D}
  - {id: r3, word: sun, answer: E}
  - {id: r4, word: dew, answer: F}
events:
  a: {context: "The {word} is", spellings: [" {answer}", "{answer}"]}
  b: {context: "The {word} is not", spellings: ["{answer}"]}
theories:
  swap: "a & !b"
  differ: "a ^ b"
  fresh: {rules: {r: "a -> b"}, where: "id == 'r1'"}
""")
TEXT = "The old house on the hill has a red door and two windows."


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    """Keep torch to one thread: on small tensors, several cost time on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def model(random_gpt2_folder):
    """A model of its own, whose weights may change."""
    return likely.load(f"hf:{random_gpt2_folder}")


def config(**options):
    return TrainingConfig(
        **({"claims": ("swap",), "steps": 3, "optimiser": "sgd", "learning_rate": 0.05} | options)
    )


def run(model, theory=THEORY, anchor=(), **options):
    rng = likely.generator(0, "training")
    return list(iter_training(model, instances(theory), config(**options), anchor=anchor, rng=rng))


def log_odds_of(model, name="minp"):
    """Return the log-odds of a and b for each row, shape (4, 2), as scoring has them."""
    items = instances(THEORY)
    events = [item.events[key] for item in items for key in ("a", "b")]
    return score_events(model, events, [name]).log_odds[name].reshape(-1, 2)


def log_sigmoid(x):
    return -np.logaddexp(0.0, -x)


def test_a_step_sees_the_loss_and_slope_of_the_scores(model):
    odds = log_odds_of(model)
    (record,) = run(model, steps=1, batch_items=4)
    losses = -log_sigmoid(odds[:, 0]) - log_sigmoid(-odds[:, 1])
    assert record.loss == pytest.approx(losses.mean(), abs=1e-5)
    p = np.exp(log_sigmoid(odds))
    slopes = (1 - p[:, 0]) ** 2 + p[:, 1] ** 2
    assert record.slope_norm_squared == pytest.approx(slopes.mean(), abs=1e-5)
    assert record.divergence is None


@pytest.mark.parametrize("optimiser", ["sgd", "adamw"])
def test_training_satisfies_the_claim_better(model, optimiser):
    rate = {"sgd": 0.05, "adamw": 1e-3}[optimiser]
    records = run(model, steps=12, optimiser=optimiser, learning_rate=rate, batch_items=4)
    assert records[-1].loss < records[0].loss / 2


def test_the_same_seed_gives_the_same_steps(random_gpt2_folder):
    first, second = (run(likely.load(f"hf:{random_gpt2_folder}")) for _ in range(2))
    assert first == second


def test_all_items_come_before_one_comes_again(model):
    torch.manual_seed(0)
    rng = likely.generator(0, "training")
    order = rng.permutation(4)
    expected = [-log_sigmoid(a) - log_sigmoid(-b) for a, b in log_odds_of(model)[order]]
    records = run(model, steps=4, batch_items=1, learning_rate=1e-12)
    assert [record.loss for record in records] == pytest.approx(expected, abs=1e-5)


def test_an_anchor_starts_at_zero_and_holds_the_model_back(random_gpt2_folder):
    moved = {}
    for weight in (0.0, 30.0):
        model = likely.load(f"hf:{random_gpt2_folder}")
        anchor = anchor_chunks(model, TEXT)
        records = run(model, steps=10, anchor=anchor, anchor_weight=weight, batch_items=4)
        with torch.no_grad():
            logits = model.logits(tokens=anchor[0].tokens[None])[0]
        moved[weight] = float(kl_anchor(logits, anchor[0].log_probs))
        if weight:
            assert records[0].divergence == pytest.approx(0.0, abs=1e-9)
            assert records[-1].divergence > 0.0
    assert 0.0 < moved[30.0] < moved[0.0] / 2


def test_an_anchor_is_the_whole_text_in_pieces(model):
    chunks = anchor_chunks(model, TEXT, chunk_tokens=10)
    ids = model.tokenizer.encode(TEXT).tokens
    bos = [] if model.info.bos_id is None or not model.info.adds_bos else [model.info.bos_id]
    assert [t for chunk in chunks for t in chunk.tokens.tolist()] == (bos + list(ids))[
        : sum(len(chunk.tokens) for chunk in chunks)
    ]
    for chunk in chunks:
        assert chunk.log_probs.exp().sum(dim=1).tolist() == pytest.approx([1.0] * len(chunk.tokens))


def test_an_anchor_without_text_is_refused(model):
    with pytest.raises(InputError, match="give anchor_chunks"):
        run(model, anchor_weight=1.0)
    with pytest.raises(InputError, match="two tokens or more, got 'A'"):
        anchor_chunks(model, "A")


def test_claims_that_no_item_has_are_refused(model):
    with pytest.raises(InputError, match=r"none of the 4 items has the claims \['other'\]"):
        run(model, claims=("other",))


def test_items_that_lack_a_claim_are_left_out(model):
    (score,) = claim_scores(model, THEORY, ["fresh"], rescalings=["duel"])
    assert score.n_items == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "at least one step"),
        ({"batch_items": 0}, "at least one step"),
        ({"learning_rate": 0.0}, "learning rate above 0"),
        ({"anchor_weight": -1.0}, "at least 0"),
    ],
)
def test_a_config_out_of_range_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        config(**options)


def test_training_on_pure_consistency_warns(model):
    with pytest.warns(LikelyWarning, match="says nothing of single events"):
        run(model, claims=("differ",), steps=1)


def test_scores_are_corrected_for_chance(model):
    found = claim_scores(model, THEORY, ["swap", "differ"])
    assert [(s.claim, s.rescaling) for s in found] == [
        ("swap", "duel"), ("swap", "minp"), ("differ", "duel"), ("differ", "minp"),
    ]  # fmt: skip
    for score in found:
        odds = log_odds_of(model, score.rescaling)
        a, b = (np.exp(log_sigmoid(odds[:, i])) for i in (0, 1))
        prob = a * (1 - b) if score.claim == "swap" else a * (1 - b) + b * (1 - a)
        bits = {"swap": 2, "differ": 1}[score.claim]
        chance = 2.0**-bits
        assert score.bits == pytest.approx(bits)
        assert score.prob == pytest.approx(prob.mean())
        assert score.chance_corrected == pytest.approx(((prob - chance) / (1 - chance)).mean())
        assert score.share == pytest.approx(np.log2(prob / chance).sum() / (bits * len(prob)))


def numbered(n):
    rows = [{"id": f"r{i}", "word": f"word{i}"} for i in range(n)]
    events = {"a": {"context": "The {word} is", "answer": "C"}}
    return Theory.from_rows(rows, name="numbered", events=events, theories={"t": "a"})


@pytest.mark.parametrize(("n", "every", "expected"), [(7, 3, {2, 5}), (6, 2, {1, 3, 5})])
def test_a_split_is_by_row(n, every, expected):
    train, held_out = split_rows(numbered(n), every=every)
    kept, tested = ({item.row for item in instances(part)} for part in (train, held_out))
    assert tested == {f"r{i}" for i in expected}
    assert not kept & tested
    assert kept | tested == {f"r{i}" for i in range(n)}


@pytest.mark.parametrize("every", [0, 1, 5])
def test_a_split_with_an_empty_side_is_refused(every):
    with pytest.raises(InputError, match="leaves one side empty"):
        split_rows(numbered(4), every=every)


def example():
    spec = importlib.util.spec_from_file_location("learn_constraints", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::likely.errors.LikelyWarning")
def test_literals_are_learned_at_once_and_agreement_is_not(capsys):
    script = example()
    runs = script.symmetry(steps=3, optimiser="sgd", learning_rate=1e-3)
    for name, run in runs.items():
        assert run["slope_norm_squared"] == pytest.approx(script.SLOPES[name], abs=0.05)
        assert len(run["prob_agree"]) == 4
        assert run["prob_agree"][0] == pytest.approx(0.5, abs=0.01)
    gains = {name: run["loss"][0] - run["loss"][-1] for name, run in runs.items()}
    assert gains["literals"] > 20 * gains["iff"] > 0.0
    assert "a<->b" in capsys.readouterr().out


def test_the_joined_rule_is_equivalent_to_both_literals():
    from likely.logic.circuits.compile import compile

    assert compile("((a <-> b) & a) <-> (a & b)").is_tautology
    assert math.isclose(compile("(a <-> b) & a").count(), 1)
