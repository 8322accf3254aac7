"""Plans: every node once, stored before it is needed, and seen by exactly its extensions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.core.plan import (
    CostModel,
    Pass,
    cut_rows,
    draft_plan,
    finish_plan,
    fit_cost,
    make_plan,
)
from likely.core.trie import build_trie

sequences = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12), min_size=1, max_size=12)
methods = st.sampled_from(["tree", "cache", "full"])


def _replay(trie, plan):
    """Run a plan's bookkeeping: what each slot holds, and what each place attends to."""
    held = {}
    seen = {}
    for step in plan.passes:
        mask = step.mask(trie)
        for b, row in enumerate(step.nodes.tolist()):
            past = [held.get(slot) for slot in step.past_slots[b].tolist() if slot >= 0]
            assert past == [node for node in step.past_nodes[b].tolist() if node >= 0]
            keys = [*step.past_nodes[b].tolist(), *row]
            for t, node in enumerate(row):
                if node >= 0:
                    found = [k for k, ok in zip(keys, mask[b, t], strict=True) if ok and k >= 0]
                    seen.setdefault(node, []).append(sorted(found))
        rows, columns = step.kept_places
        held |= zip(step.kept_slots.tolist(), step.nodes[rows, columns].tolist(), strict=True)
    return seen


@given(sequences, methods, st.integers(1, 9), st.integers(1, 4), st.booleans())
def test_every_node_attends_to_exactly_its_own_path(ids, method, row_tokens, batch_rows, stem):
    trie, _ = build_trie(ids)
    plan = make_plan(trie, method=method, row_tokens=row_tokens, batch_rows=batch_rows, stem=stem)
    seen = _replay(trie, plan)
    assert sorted(seen) == list(range(len(trie)))
    for node, times in seen.items():
        assert all(found == trie.path(node).tolist() for found in times)
        assert method == "full" or len(times) == 1


@given(sequences, st.integers(1, 9), st.integers(1, 4), st.booleans())
def test_reuse_evaluates_as_many_tokens_as_the_trie_has_nodes(ids, row_tokens, batch_rows, stem):
    trie, _ = build_trie(ids)
    for method in ("tree", "cache"):
        plan = make_plan(
            trie, method=method, row_tokens=row_tokens, batch_rows=batch_rows, stem=stem
        )
        assert plan.n_tokens == len(trie)
        assert all(step.nodes.shape[0] <= batch_rows for step in plan.passes)
        assert all(step.nodes.shape[1] <= row_tokens for step in plan.passes)


@given(sequences, methods, st.integers(1, 9), st.integers(1, 4), st.booleans())
def test_the_drafts_peak_is_what_the_plan_needs(ids, method, row_tokens, batch_rows, stem):
    trie, _ = build_trie(ids)
    rows = cut_rows(trie, method=method, row_tokens=row_tokens, stem=stem)
    draft = draft_plan(trie, rows, method=method, batch_rows=batch_rows)
    plan = finish_plan(draft)
    assert plan.n_slots == draft.peak_slots
    assert draft.shapes == [(*p.nodes.shape, p.past_nodes.shape[1]) for p in plan.passes]


def test_a_long_text_keeps_its_path_and_no_more():
    trie, _ = build_trie([range(100)])
    plan = make_plan(trie, method="tree", row_tokens=10, batch_rows=1)
    assert (len(plan.passes), plan.n_slots) == (10, 90)


def test_finished_branches_give_their_slots_back():
    trie, _ = build_trie([[b, *range(50)] for b in range(20)])
    plan = make_plan(trie, method="cache", row_tokens=10, batch_rows=1)
    assert plan.n_slots <= 50


def test_behind_a_stem_all_other_rows_go_in_one_pass():
    trie, _ = build_trie([[1, 2, 3, b, *range(8)] for b in range(10)])
    plan = make_plan(trie, method="tree", row_tokens=12, batch_rows=99, stem=True)
    assert plan.passes[0].nodes.shape[0] == 1
    assert len(plan.passes) == 2
    assert plan.n_tokens == len(trie)


def test_whole_sequences_need_no_mask_and_branches_do():
    trie, _ = build_trie([[1, 2, 3], [1, 2, 4]])
    full = make_plan(trie, method="full", row_tokens=1, batch_rows=2)
    tree = make_plan(trie, method="tree", row_tokens=9, batch_rows=1)
    assert all(step.is_plain(trie) for step in full.passes)
    assert not any(step.is_plain(trie) for step in tree.passes)


def test_a_window_hides_what_lies_too_far_back():
    trie, _ = build_trie([range(6)])
    [step] = make_plan(trie, method="tree", row_tokens=9, batch_rows=1).passes
    assert step.mask(trie, window=2)[0].sum(axis=1).tolist() == [1, 2, 2, 2, 2, 2]


def test_padding_attends_to_itself_so_that_no_row_is_empty():
    step = Pass(
        nodes=np.array([[0, -1, -1]]),
        past_slots=np.empty((1, 0), dtype=np.int64),
        past_nodes=np.empty((1, 0), dtype=np.int64),
        kept_places=np.empty((2, 0), dtype=np.int64),
        kept_slots=np.empty(0, dtype=np.int64),
    )
    trie, _ = build_trie([[7]])
    assert step.mask(trie)[0].tolist() == np.eye(3, dtype=bool).tolist()


def test_the_cost_fit_recovers_the_costs_that_made_the_times():
    truth = CostModel(per_call=0.02, per_token=1e-3, per_pair=4e-7)
    shapes = [(32, 32), (256, 256), (256, 1024), (512, 512)]
    seconds = [truth.seconds([(1, new, keys - new)]) for new, keys in shapes]
    found = fit_cost(shapes, np.array(seconds))
    for name in ("per_call", "per_token", "per_pair"):
        assert getattr(found, name) == pytest.approx(getattr(truth, name), rel=1e-6)
