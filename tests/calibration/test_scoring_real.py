"""The embedded model on items, against a plain loop over the library's own forward."""

import numpy as np
import pytest

import likely
from likely.calibration.data_sets.family import build
from likely.calibration.scoring import score_items

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.real

N_ITEMS = 40


@pytest.fixture(scope="module")
def model():
    return likely.load("smollm2")


@pytest.fixture(scope="module")
def items():
    everything = build("colors", preset="smoke")
    return [everything[i] for i in range(0, len(everything), len(everything) // N_ITEMS)][:N_ITEMS]


@pytest.fixture(scope="module")
def scored(model, items):
    return score_items(model, items)


def plain_log_mass(model, items):
    """Return the log mass of each option by the module's forward alone, contexts by their length.

    Each spelling is split behind its context; those of more than one token take rows of their own.
    """
    split = model.tokenizer.inner
    rows = Rows(model.module)
    found = []
    for item in items:
        own = split(item.context, add_special_tokens=False)["input_ids"]
        for option in item.options:
            total = []
            for form in (option.label, option.label.capitalize()):
                for text in (form, " " + form):
                    whole = split(item.context + text, add_special_tokens=False)["input_ids"]
                    is_apart = whole[: len(own)] == own
                    alone = split(text, add_special_tokens=False)["input_ids"]
                    target = whole[len(own) :] if is_apart else alone
                    total.append((tuple(own), tuple(target)))
            found.append(total)
    rows.run(
        {own + target[:i] for forms in found for own, target in forms for i in range(len(target))}
    )
    return [
        np.logaddexp.reduce(
            [
                sum(rows.values[own + target[:i]][token] for i, token in enumerate(target))
                for own, target in forms
            ]
        )
        for forms in found
    ]


class Rows:
    """Next-token rows of whole sequences, those of one length in one forward, without any cache."""

    def __init__(self, module):
        self.module, self.values = module.eval(), {}

    def run(self, sequences):
        by_length = {}
        for ids in sorted(set(sequences)):
            by_length.setdefault(len(ids), []).append(ids)
        for group in by_length.values():
            with torch.inference_mode():
                logits = self.module(torch.tensor(group), use_cache=False, logits_to_keep=1).logits
            log_probs = torch.log_softmax(logits[:, -1].double(), dim=-1).numpy()
            self.values |= dict(zip(group, log_probs, strict=True))


def test_masses_are_those_of_a_plain_loop(model, items, scored):
    wanted = plain_log_mass(model, items)
    assert scored.masses.log_mass == pytest.approx(wanted, abs=1e-4)


def test_options_have_some_of_the_probability_and_never_all_and_more(items, scored):
    pm = np.add.reduceat(np.exp(scored.masses.log_mass), scored.masses.offsets[:-1])
    assert ((pm > 0) & (pm <= 1)).all()
    assert np.exp(scored.log_other) == pytest.approx(1 - pm, abs=1e-9)
    assert scored.shares.sum(axis=1) == pytest.approx(np.ones(len(items)), abs=1e-9)
    assert len(scored) == len(items) == N_ITEMS
    assert scored.masses.is_exact.all()


def test_the_same_run_gives_the_same_numbers_and_another_batch_nearly_so(model, items, scored):
    once, again = (score_items(model, items[:2]).masses.log_mass for _ in range(2))
    assert again == pytest.approx(once, abs=1e-6)
    assert once == pytest.approx(scored.masses.log_mass[:4], abs=1e-4)


@pytest.mark.parametrize("chat", ["answer", "prefill"])
def test_chats_are_scored_with_no_bos_doubled(model, items, chat):
    scored = score_items(model, items[:2], chat=chat)
    assert not any("double_bos" in flags for flags in scored.flags)
    assert np.isfinite(scored.masses.log_mass).all()
