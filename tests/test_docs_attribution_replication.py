"""What the page on the replication of attribution shows is what the saved results say."""

import importlib
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from doc_blocks import DOCS

import likely
from likely import attribution
from likely.core.jsonio import dumps

FOLDER = DOCS / "replication"
PAGE = (FOLDER / "attribution.md").read_text(encoding="utf-8")
FROM_THE_SOURCE = {
    "0.1", "0.02", "0.9", "0.042", "5.298", "0.093", "0.56", "0.099", "9.25", "64.7", "92.1",
    "0.105", "0.4", "2605.21726",
}  # fmt: skip
"""Numbers that the page has in its text: published ones, options of the run, and log 200."""


@pytest.fixture(scope="module")
def scripts():
    """Return the three scripts as modules: tables, compact, runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        names = ("attribution_tables", "attribution_compact", "attribution_runs")
        yield [importlib.import_module(name) for name in names]


@pytest.fixture(scope="module")
def tables(scripts):
    return scripts[0]


def test_the_tables_of_the_page_are_those_of_the_saved_results():
    command = [sys.executable, str(FOLDER / "attribution_tables.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_table_that_is_made_has_its_place_on_the_page(tables):
    made = tables.tables(json.loads(tables.RESULT.read_text("utf-8")))
    assert sorted(made) == sorted(re.findall(r"<!-- table (\w+) -->", PAGE))


def test_the_text_written_by_hand_has_no_number_of_a_run():
    by_hand = re.sub(r"<!-- table \w+ -->\n.*?<!-- end -->", "", PAGE, flags=re.S)
    found = set(re.findall(r"(?<![\w.])\d+\.\d+", by_hand))
    assert found <= FROM_THE_SOURCE, found - FROM_THE_SOURCE


def test_the_saved_results_are_small_and_of_the_page_s_prompts(tables):
    raw = tables.RESULT.read_bytes()
    assert len(raw) < 300_000
    texts = json.loads((FOLDER / "attribution-prompts.json").read_text("utf-8"))["prompts"]
    result = json.loads(raw)
    assert result["model"] == "smollm2"
    for name, entry in result["prompts"].items():
        own = entry["attribution"]
        assert own["prompt"] == texts[name.split()[0]]
        assert "".join(own["text"]) == own["prompt"]
        assert "".join(own["response_pieces"]) == own["response"]
        for place, row in own["rows"].items():
            score = own["score"][int(place)]
            value = score[0] if isinstance(score, list) else score
            assert sum(row) == pytest.approx(value, abs=1e-3)


def test_what_is_said_of_the_token_before_the_prompt_is_so(tables):
    result = json.loads(tables.RESULT.read_text("utf-8"))["prompts"]
    bos, same = (
        tables.Prompt(name, result[name]) for name in (tables.AFTER_BOS, tables.SAME_RESPONSE)
    )
    mars = bos.text.index(" Mars")
    assert (bos.standing(mars), bos.order[0] != mars) == ("no", True)
    assert same.order[0] == mars
    assert same.scores[mars].low > max(x.value for i, x in enumerate(same.scores) if i != mars)
    for token in (" did", " Einstein"):
        place = bos.text.index(token)
        assert not bos.is_determined(place)
        assert same.is_determined(place)
    assert sum(same.own["converged"]) > sum(bos.own["converged"])
    small = [sum(abs(x.value) < tables.SMALL for x in one.scores) for one in (bos, same)]
    assert small[0] < small[1] > len(same) / 2


# The rules of the outcomes, on made-up scores.


def made_up(tables, name, scores, text=None, surprisal=None, **more):
    """Return a prompt with scores, each a number or (value, low, high)."""
    n = len(scores)
    return tables.Prompt(
        name,
        {
            "attribution": {
                "score": [list(x) if isinstance(x, tuple) else x for x in scores],
                "text": text or [f" t{i}" for i in range(n)],
                "surprisal": surprisal or [5.0] * n,
                "response": " closely",
            },
            **more,
        },
    )


@pytest.mark.parametrize(
    ("scores", "verdict"),
    [
        ([0.0] * 6 + [2.0] * 4, "held"),
        ([0.0] * 5 + [2.0] * 5, "**not held**"),
        ([0.0] * 5 + [2.0] * 4 + [(0.0, -1.0, 1.0)], "cannot be told"),
    ],
)
def test_scores_are_sparse_where_enough_are_surely_small(tables, scores, verdict):
    assert tables.sparse([made_up(tables, "P0", scores)]).verdict == verdict


@pytest.mark.parametrize(
    ("scores", "verdict"),
    [
        ([0.5, -0.1], "held"),
        ([0.1, -0.5], "**not held**"),
        ([(0.5, -3.0, 4.0), 0.0], "cannot be told"),
    ],
)
def test_means_are_positive_where_their_intervals_are(tables, scores, verdict):
    assert tables.positive([made_up(tables, "P0", scores)]).verdict == verdict


def test_the_interval_of_a_mean_adds_errors_in_quadrature(tables):
    found = tables.mean([tables.Number(1.0, 0.7, 1.3), tables.Number(3.0, 2.6, 3.4)])
    assert found == pytest.approx((2.0, 1.75, 2.25))


@pytest.mark.parametrize(
    ("scores", "verdict"),
    [
        ([0.0, 1.0, (3.0, 2.5, 3.5)], "held"),
        ([0.0, 4.0, (3.0, 2.5, 3.5)], "**not held**"),
        ([0.0, (2.0, 1.0, 3.0), (3.0, 2.5, 3.5)], "cannot be told"),
    ],
)
def test_a_token_is_the_highest_if_its_interval_is(tables, scores, verdict):
    p3 = made_up(tables, "P3", scores, [" check", " it", " more"])
    p6 = made_up(tables, "P6", scores, ["What", " visit", " Mars"])
    assert (tables.more([p3]).verdict, tables.mars([p6]).verdict) == (verdict, verdict)
    assert tables.more([p6]).verdict == "not run"
    first = made_up(tables, "P0", scores[::-1], ["Context", ":", " Tim"])
    assert tables.formats([first]).verdict == (verdict if verdict != "**not held**" else "held")
    last = made_up(tables, "P0", scores, ["Tim", " was", " nervous"])
    assert tables.formats([last]).verdict == "**not held**"


def test_format_tokens_are_the_first_one_labels_and_their_marks(tables):
    text = ["Tim", " Sentence", ":", ' "', "The", '."', "?", "'", " ____", ",", " passages"]
    one = made_up(tables, "P0", [0.0] * len(text), text)
    assert [one.is_format(i) for i in range(len(text))] == [
        True, True, True, True, False, True, False, False, True, False, False,
    ]  # fmt: skip


def test_pieces_within_a_word_go_on_with_letters(tables):
    text = [" Cass", "ini", " didn", "'t", " '", "it", "'", " door", "knob", ".", "The"]
    one = made_up(tables, "P0", [0.0] * len(text), text)
    inside = [text[i] for i in range(len(text)) if one.is_within_word(i)]
    assert inside == ["ini", "'t", "knob"]


@pytest.mark.parametrize(
    ("score", "verdict"),
    [(0.01, "held"), (-0.4, "**not held**"), ((0.0, -0.2, 0.1), "cannot be told")],
)
def test_determined_tokens_are_judged_by_their_scores(tables, score, verdict):
    one = made_up(tables, "P0", [score, 3.0], [" Cass", "ini"], [0.05, 5.0])
    found = tables.pieces([one])
    assert found.verdict == verdict
    assert "1 tokens have q over 0.9" in found.here
    assert "of 1 pieces within a word 0 are such" in found.here


def replaced(entropies):
    return {"count_entropy": entropies, "n_set": [4] * len(entropies)}


@pytest.mark.parametrize(
    ("with_response", "without", "verdict"),
    [
        ([0.2, 0.3], [0.5, 0.5], "held"),
        ([0.4, 0.4], [0.5, 0.5], "held in direction, less than there"),
        ([0.6, 0.4], [0.5, 0.5], "**not held**"),
        ([0.2, [0.3, 0.1, 0.9]], [0.5, 0.5], "cannot be told"),
    ],
)
def test_the_ratio_of_entropies_is_judged_by_its_bounds(tables, with_response, without, verdict):
    one = made_up(
        tables, "P0", [0.0, 0.0],
        replacement_qr=replaced(with_response), replacement_q=replaced(without),
    )  # fmt: skip
    assert tables.narrower([one]).verdict == verdict
    assert tables.narrower([made_up(tables, "P0", [0.0])]).verdict == "not run"


@pytest.mark.parametrize(("n_distinct", "verdict"), [(200, "held"), (199, "**not held**")])
def test_responses_all_differ_or_not(tables, n_distinct, verdict):
    cuts = [{"top_p": 0.1, "n_distinct": 1, "n": 200},
            {"top_p": 0.4, "n_distinct": n_distinct, "n": 200}]  # fmt: skip
    one = made_up(tables, "P0", [0.0], stability={"cuts": cuts})
    assert tables.distinct([one]).verdict == verdict


# The runs, on a small model of text of its own.

WORDS = ["What", " year", " is", " it", "?", " 1", " 2"]


def law(before):
    if before[-1] == "?":
        first = 0.7 if " year" in before else 0.4
        return {" 1": first, " 2": 0.9 - first, "?": 0.1}
    if before[-1] not in WORDS:
        return dict.fromkeys(WORDS, 1.0 / 7.0)
    follows = WORDS[(WORDS.index(before[-1]) + 1) % 7]
    return {word: (1.0 + (word == follows)) / 8.0 for word in WORDS}


def test_every_stage_of_a_run_is_made_once_and_ends_in_the_small_result(
    scripts, tmp_path, monkeypatch
):
    tables, compact, runs = scripts
    model = likely.TableModel(WORDS, law, name="years")
    texts = {"P6": "What year is it?"}
    monkeypatch.setattr(likely, "load", lambda spec, **options: model)
    prompts, out = tmp_path / "prompts.json", tmp_path / "out.json"
    prompts.write_text(json.dumps({"prompts": texts}))
    monkeypatch.setattr(runs, "PROMPTS", prompts)
    arguments = [
        "--work", str(tmp_path / "work"), "--out", str(out), "--generate", "2", "--prompts", "P6",
        "--model", "years", "--stages", "attribution", "replacement", "stability",
    ]  # fmt: skip
    runs.main(arguments)
    first = out.read_bytes()
    files = {file: file.stat().st_mtime_ns for file in (tmp_path / "work").iterdir()}
    names = {file.name for file in files}
    assert names == {
        "P6.attribution.json", "P6.attribution.npz", "P6.replacement-q.json",
        "P6.replacement-qr.json", "P6.stability.json",
    }  # fmt: skip
    runs.main(arguments)
    assert out.read_bytes() == first
    assert files == {file: file.stat().st_mtime_ns for file in (tmp_path / "work").iterdir()}
    saved = tmp_path / "work" / "P6.attribution.json"
    later = saved.stat().st_mtime_ns + 10**12
    os.utime(saved, ns=(later, later))
    assert list(compact.compact(tmp_path / "work", texts)["prompts"]["P6"]) == ["attribution"]
    result = json.loads(first)
    own = result["prompts"]["P6"]
    exact = attribution.attribute(model, texts["P6"], generate=2, method="exact", kept=None)
    found = [tables.number(x) for x in own["attribution"]["score"]]
    assert [x.value for x in found] == pytest.approx(exact.scores.tolist(), abs=1e-4)
    tried = attribution.replacement(model, exact, max_tokens=2)
    assert own["replacement_q"]["count_entropy"] == pytest.approx(
        [x.count_entropy.value for x in tried], abs=1e-4
    )
    made = tables.tables(result)
    assert made["p6"].startswith(f"Response {tables.shown(exact.case.response_text)}, A ")
    assert made["correlations"] == made["p3"] == "Not run."


def test_sets_and_costs_of_replacement_are_foreseen(scripts):
    runs = scripts[2]
    model = likely.TableModel(WORDS, law, name="years")
    exact = attribution.attribute(model, "What year is it?", generate=2, method="exact", kept=None)
    for given in (False, True):
        tried = attribution.replacement(model, exact, max_tokens=2, given_response=given)
        sizes, cost = runs.replacement_cost(exact, given, 256, 2)
        assert sizes == [one.n_set for one in tried]
        assert cost > 0
    small, less = runs.replacement_cost(exact, False, 1, 2)
    assert (small, less < cost) == (runs.replacement_cost(exact, False, 256, 2)[0], True)


def test_another_run_does_not_write_over_the_page_s_results(scripts, tmp_path):
    with pytest.raises(SystemExit, match="give --out FILE of its own"):
        scripts[2].main(["--work", str(tmp_path), "--generate", "2"])
    with pytest.raises(SystemExit, match="unknown prompt 'P9'"):
        scripts[2].main(["--work", str(tmp_path), "--prompts", "P9"])


def test_a_score_is_stored_short_and_exact_ones_as_one_number(scripts):
    slim = scripts[1].slim
    exact = likely.Estimate.exact(1 / 3, unit="nats", method="exact")
    assert slim(exact) == 0.33333
    wide = likely.Estimate(
        value=1 / 3, low=0.0, high=np.inf, level=0.95, unit="nats", method="adaptive"
    )
    assert dumps(slim(wide)) == '[0.33333, 0.0, "inf"]'


def test_the_controls_change_the_context_and_nothing_else(scripts, monkeypatch):
    tables, _, runs = scripts
    monkeypatch.setattr(runs, "END_OF_TEXT", " 2")
    model = likely.TableModel(WORDS, law, name="years")
    asked = runs.parse(["--work", "unused", "--generate", "3"])
    names = ("P6", tables.AFTER_BOS, tables.SAME_RESPONSE)
    main, bos, same = (runs.framed(model, name, "What year is it?", asked) for name in names)
    assert main.context == same.context == (WORDS.index(" 2"),) != bos.context
    assert main.prompt == bos.prompt == same.prompt
    assert bos.response == same.response
    assert (len(main.response), len(bos.response)) == (3, 3)


def test_responses_go_on_through_the_end_of_the_text(scripts, monkeypatch):
    runs = scripts[2]
    words = [*WORDS, "</s>"]

    def ending(before):
        if before[-1] == "?":
            return {"</s>": 1.0}
        return {" 1": 1.0} if before[-1] == "</s>" else {"?": 1.0}

    model = likely.TableModel(words, ending, name="ends", eos="</s>")
    asked = runs.parse(["--work", "unused", "--generate", "3"])
    main, bos = (runs.framed(model, name, "What?", asked) for name in ("P6", runs.AFTER_BOS))
    assert [words[i] for i in main.response] == ["</s>", " 1", "?"]
    assert [words[i] for i in bos.response] == ["</s>"]
