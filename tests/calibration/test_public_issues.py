"""What public issues of other libraries ask of ours: each row is held by the tests it names.

 1  EleutherAI/lm-evaluation-harness #1053, #1297, #3336, PR #4055: a token spans the join
      tests/calibration/test_public_issues.py::test_an_option_that_joins_its_context_is_kept_and_flagged
      tests/calibration/data_sets/test_linting.py::test_a_token_over_the_join_is_an_error_where_the_wording_asks_for_that_spelling
 2  lm-evaluation-harness #704, #1645, #1625: scores change with the batch
      tests/calibration/test_scoring.py::test_scores_do_not_depend_on_the_batch
      tests/calibration/test_scoring.py::test_batches_on_a_network_agree_to_rounding
 3  lm-evaluation-harness #3333, #3295, #1455: BOS twice or not at all
      tests/calibration/test_public_issues.py::test_every_prefix_of_a_run_has_one_bos_and_at_its_start
      tests/calibration/test_chats.py::test_bos_stands_first_and_once_whatever_the_template_writes
      tests/report/test_card.py::test_card_shows_first_ids_and_pieces_of_the_sample
 4  lm-evaluation-harness #2346: a delimiter where the chat template already parts
      tests/calibration/test_public_issues.py::test_bare_and_spaced_answers_both_count_and_each_is_told
      tests/calibration/test_chats.py::test_a_question_holds_wrapper_and_stem_and_the_option_opens_the_turn
 5  lm-evaluation-harness #2715, #4063: a cache gives one model the scores of another
      tests/calibration/test_scoring.py::test_two_models_on_one_cache_keep_their_own_numbers
 6  lm-evaluation-harness #3275, #1196, #2326, huggingface/lighteval #1093: no prompt log-probs
      tests/calibration/access/test_routes.py::test_a_server_without_prompt_log_probs_is_read_by_bias_or_bounds
      tests/calibration/access/test_routes.py::test_a_model_that_tells_nothing_is_refused_with_all_reasons
      tests/calibration/access/test_partial.py::test_bounds_hold_the_truth_of_any_full_distribution
      tests/calibration/access/test_biasing.py::test_masses_by_bias_are_those_of_whole_rows
      tests/calibration/access/test_sampling.py::test_estimates_hold_the_truth_that_rows_tell
 7  lm-evaluation-harness PR #2921, huggingface/sentence-transformers #3894,
    genlm/genlm-backend PR #66: a softmax in 16 bit
      tests/laws/test_scoring_cases.py::test_o13_a_row_normalised_in_float64_has_mass_one_where_half_precision_has_not
      tests/laws/test_scoring_cases_hf.py::test_o13_rows_of_16_bit_weights_have_mass_one
      tests/calibration/test_rescoring.py::test_differences_are_the_largest_of_log_shares_and_of_total_variations
 8  kanishkamisra/minicons #78, #51, #29: NaN, a dropped first token, another choice of BOS
      tests/calibration/test_scoring.py::test_nan_names_the_item
      tests/calibration/test_public_issues.py::test_an_option_of_one_token_after_one_token_has_its_whole_probability
      tests/calibration/test_public_issues.py::test_the_choice_of_bos_is_in_the_record_and_changes_what_is_read
 9  huggingface/lighteval #1170, PRs #1171, #1180, #1290: padding counted as tokens
      tests/calibration/test_public_issues.py::test_options_of_any_number_and_length_share_a_batch_without_padding
      tests/calibration/test_metrics.py::test_masses_of_other_items_are_refused
10  sgl-project/sglang #523: averages over tokens favour long options
      tests/calibration/test_scoring.py::test_o44_sums_and_not_means_decide_and_every_spelling_counts
      tests/calibration/test_metrics.py::test_shares_follow_sums_and_not_means_of_log_probabilities
11  vllm-project/vllm #9453, #44319: log-probs that depend on temperature or on how many are asked
      tests/models/test_server.py::test_log_probs_after_temperature_are_refused_o21
      tests/calibration/access/test_routes.py::test_lists_whose_values_depend_on_their_length_are_refused
12  vllm-project/vllm #3251, #8268, #13105, #25262, PR #42245: prompt log-probs and prefix caching
      tests/models/test_server.py::test_scores_do_not_depend_on_order_or_company
      tests/calibration/access/test_routes.py::test_an_unsteady_model_is_told_by_how_much
13  stanford-crfm/helm #1469, #1497, #2444: log-probs that are all 0, or none
      tests/calibration/test_scoring.py::test_scores_that_are_all_zero_are_no_scores
      tests/calibration/test_scoring.py::test_scores_that_are_all_equal_are_no_scores
      tests/calibration/test_evaluation.py::test_a_summary_names_the_model_and_the_best_constant
14  scipy/scipy #15832, PythonOT/POT #138, #114, #429: laws passed as positions, lengths, sums
      tests/stats/test_wasserstein.py::test_two_laws_are_no_positions
      tests/stats/test_wasserstein.py::test_lengths_sums_and_places_are_checked
      tests/stats/test_wasserstein.py::test_laws_end_to_end_in_any_order_of_their_outcomes
15  EFS-OpenSource/calibration-framework #25, #37, Lightning-AI/torchmetrics #3510: the last bin
      tests/stats/test_reliability.py::test_a_forecast_of_1_falls_in_the_last_bin
      tests/stats/test_reliability.py::test_known_probabilities_need_no_draws
16  rspeer/wordfreq #87, allenai/infinigram-api #2, PR #64, allenai/wimbd #23: counts of numbers
      tests/calibration/analyses/test_frequencies.py::test_counts_are_read_with_their_kind
      tests/calibration/analyses/test_frequencies.py::test_counts_are_matches_with_no_digit_on_either_side
17  UKGovernmentBEIS/inspect_ai #111, #1786: each user writes a scorer of log-probs
      tests/calibration/test_public_issues.py::test_any_model_of_the_protocol_has_the_metrics_ready
      tests/calibration/test_study.py::test_records_are_strict_json_and_keep_their_meaning
18  lm-evaluation-harness #1396, #337, #942, ml-explore/mlx-lm PR #1855: off by one, normalisation
      tests/calibration/test_public_issues.py::test_a_token_of_an_option_is_read_from_the_row_before_it
      tests/laws/test_scoring_cases.py::test_o09_every_path_scores_a_token_from_the_row_before_it
19  lm-evaluation-harness #2418, PR #3604, vllm #5234: each option runs the whole prompt again
      tests/calibration/test_scoring.py::test_each_prefix_is_evaluated_once_in_a_batch
      tests/calibration/test_public_issues.py::test_four_spellings_of_two_options_cost_one_context
"""

import ast
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from questions import answering, hashed, question

import likely
from likely.calibration import evaluate, score_items
from likely.core.model import Capability

ROOT = Path(__file__).parents[2]
FEW = 100
LETTERS = [*"abcdefgqABCDEFG ", "~"]


class Watched:
    """A model that keeps the prefixes it was asked to evaluate, and tells rows by nothing else."""

    def __init__(self, table, *, capabilities=None):
        self._table, self.tokenizer, self.prefixes = table, table.tokenizer, []
        self.info = table.info
        if capabilities is not None:
            self.info = replace(table.info, capabilities=frozenset(capabilities))

    def evaluate(self, work, sink):
        self.prefixes += [work.trie.prefix(int(node)) for node in work.pair_nodes]
        self._table.evaluate(work, sink)


def test_every_row_names_tests_that_there_are():
    rows = re.split(r"^ ?(?=\d+  )", __doc__, flags=re.MULTILINE)[1:]
    assert [int(row.split()[0]) for row in rows] == list(range(1, 20))
    for row in rows:
        named = re.findall(r"^\s+(tests/\S+)::(test_\w+)$", row, flags=re.MULTILINE)
        assert named, row
        for path, name in named:
            tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_an_option_that_joins_its_context_is_kept_and_flagged():
    table = hashed([*LETTERS, "qa"])
    items = [question("q", ["a", "b"], lead=""), question("g", ["a", "b"], lead="", number=1)]
    found = evaluate(table, items, level="exact", n_resamples=FEW)
    assert len(found.frame) == 2
    assert [sorted(flags) for flags in found.scored.flags] == [["boundary_merge"], []]
    assert found.n_flagged == {"boundary_merge": 1}
    index, bos = table.tokenizer.index, table.info.bos_id
    mass = np.exp(found.scored.masses.log_mass).reshape(2, 2)
    for i, letter in enumerate("qg"):
        row = np.exp(table.row([bos, index[letter]]))
        assert mass[i].tolist() == pytest.approx([row[index["a"]], row[index["b"]]], abs=1e-12)


def test_every_prefix_of_a_run_has_one_bos_and_at_its_start():
    model = Watched(hashed(LETTERS))
    items = [question(text, ["bad", "cab"], number=i) for i, text in enumerate(("q", "ab", "fag"))]
    evaluate(model, items, n_resamples=FEW)
    assert model.prefixes
    for prefix in model.prefixes:
        assert [at for at, token in enumerate(prefix) if token == model.info.bos_id] == [0]


def test_bare_and_spaced_answers_both_count_and_each_is_told():
    law = {"a": 0.1, " a": 0.2, "A": 0.0, " A": 0.1, "b": 0.3, " b": 0.1, "B": 0.1, " B": 0.0}
    found = evaluate(answering({"Q": law}), [question("Q", ["a", "b"])], n_resamples=FEW)
    assert np.exp(found.scored.masses.log_mass).tolist() == pytest.approx([0.4, 0.5])
    assert found.to_dict()["surface_shares"] == pytest.approx(
        {"bare": 4 / 9, "spaced": 3 / 9, "bare_capitalised": 1 / 9, "spaced_capitalised": 1 / 9,
         "other": 0.0}
    )  # fmt: skip
    assert found.to_dict()["policy"]["level"] == "paper"


def test_an_option_of_one_token_after_one_token_has_its_whole_probability():
    law = {"Q": {"a": 0.25, "b": 0.5}}
    found = score_items(answering(law), [question("Q", ["a", "b"], lead="")], level="exact")
    assert np.exp(found.masses.log_mass).tolist() == pytest.approx([0.25, 0.5], abs=1e-12)


def test_the_choice_of_bos_is_in_the_record_and_changes_what_is_read():
    table = hashed(LETTERS)
    items = [question("q", ["a", "b"], number=i) for i in range(2)]
    found = {
        bos: evaluate(table, items, bos=bos, n_resamples=FEW) for bos in ("auto", "always", "never")
    }
    assert [e.to_dict()["policy"]["bos"] for e in found.values()] == list(found)
    auto, always, never = (e.scored.masses.log_mass for e in found.values())
    np.testing.assert_array_equal(auto, always)  # as the tokenizer is set
    assert (auto != never).all()


def test_options_of_any_number_and_length_share_a_batch_without_padding():
    table = hashed(LETTERS)
    items = [
        question("q", ["a", "bb", "ccc"], number=1),
        question("qq", ["deed", "a"], number=2),
        question("abcq", ["ab", "c", "gag", "fade", "d"], number=3),
    ]
    together = score_items(table, items)
    alone = [score_items(table, [item]) for item in items]
    assert together.masses.offsets.tolist() == [0, 3, 5, 10]
    np.testing.assert_allclose(
        together.masses.log_mass,
        np.concatenate([scored.masses.log_mass for scored in alone]),
        atol=1e-12,
    )
    assert together.n_surfaces.tolist() == [4 * n for n in (3, 2, 5)]


def test_any_model_of_the_protocol_has_the_metrics_ready():
    table = hashed(LETTERS)
    least = Watched(table, capabilities=[Capability.CONTINUATION])
    items = [question("q", ["a", "bb"]), question("g", ["a", "bb"], number=1)]
    ours, theirs = (evaluate(model, items, n_resamples=FEW).frame for model in (table, least))
    for metric in ("pm", "wd01", "entropy_gap", "kl"):
        np.testing.assert_allclose(ours[metric], theirs[metric], atol=1e-12)


def test_a_token_of_an_option_is_read_from_the_row_before_it():
    rows = {
        "q": {"a": 0.2, "b": 0.8},
        "a": {"a": 0.1, "b": 0.9},
        "b": {"a": 0.6, "b": 0.4},
        "<s>": {"q": 1.0},
    }
    model = likely.TableModel(["q", "a", "b"], lambda context: rows[context[-1]])
    item = question("q", ["ab", "ba"], lead="")
    found = score_items(model, [item], level="exact").masses
    assert np.exp(found.log_mass).tolist() == pytest.approx([0.2 * 0.9, 0.8 * 0.6], abs=1e-12)


def test_four_spellings_of_two_options_cost_one_context():
    model = hashed(LETTERS)
    item = question("abcdefg", ["a", "b"])
    found = score_items(model, [item])
    bos, letters, space = 1, 7, 1  # options after a space are read behind the space
    assert found.cost.token_evaluations == bos + letters + space
