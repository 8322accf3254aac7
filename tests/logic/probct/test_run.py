"""ProbCT end to end on table models: what knows scores, what knows nothing does not."""

import json
import math
from dataclasses import replace

import pytest
from beliefs import all_events, believer, ignorant

import likely
from likely.core.streams import generator
from likely.errors import InputError, UnknownNameError
from likely.logic.probct import run as probct
from likely.logic.probct.controls import CONTROLS
from likely.logic.probct.suites import load_family
from likely.logic.theory import Theory

N_ROWS, N_WORDS = 6, 100


def family(name, nouns):
    """A tiny family: two claims of literals and two of pairs, in two wordings."""
    return Theory.from_rows(
        [
            {"id": f"{name[0]}{i}", "thing": noun, "good": f"{noun}good", "bad": f"{noun}bad"}
            for i, noun in enumerate(nouns)
        ],
        name=name,
        events={
            "a": {"frame": "pos", "answer": "{good}"}, "b": {"frame": "pos", "answer": "{bad}"},
            "c": {"frame": "neg", "answer": "{good}"}, "d": {"frame": "neg", "answer": "{bad}"},
        },
        theories={"known": "a", "denied": "!b", "same": "a <-> d", "differ": "a ^ c"},
        packs=[
            {"id": p, "frames": {"pos": f"{p} {{thing}} is", "neg": f"{p} {{thing}} is not"}}
            for p in ("Any", "One")
        ],
        targets=["good", "bad"], content=["thing", "good", "bad"],
        conditionals={"leads": {"if": "a", "then": "!b"}},
    )  # fmt: skip


NOUNS = [f"{onset}{vowel}q" for onset in "bcd" for vowel in "ae"]
TOYS = {
    "first": family("first", NOUNS),
    "second": family("second", ["guv", "gov"]),
}
VERSIONS = [TOYS["first"], *(control(TOYS["first"], seed=0) for control in CONTROLS.values())]


def gold(instance, key):
    """What one believes who knows the rows of the families, and nothing of the controls'."""
    if not instance.id.startswith(("first/", "second/")):
        return 0.15
    return 0.6 if key in "ad" else 0.02


def some_level(instance, key):
    """What one believes who answers at random, by the context and answer alone."""
    event = instance.events[key]
    return float(generator(0, event.context, *event.answers).uniform(0.02, 0.24))


@pytest.fixture(scope="module", autouse=True)
def tiny_families():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probct, "load_family", TOYS.__getitem__)
        yield


def ran(model, **more):
    settings = {"families": ["first"], "n_permutations": 20, "n_resamples": 100, **more}
    return probct.run(model, **settings)


@pytest.fixture(scope="module")
def knowing(tiny_families):
    return ran(believer(VERSIONS, gold), also=("identity", "closed"))


@pytest.fixture(scope="module")
def knowing_nothing(tiny_families):
    return ran(ignorant(VERSIONS, N_WORDS), also=())


@pytest.fixture(scope="module")
def guessing(tiny_families):
    return ran(believer(VERSIONS, some_level), controls=["nonsense"], also=(), n_permutations=100)


def test_every_family_control_claim_and_rescaling_has_a_line(knowing):
    assert knowing.rescalings == ("duel", "identity", "closed")
    keys = {(x.family, x.control, x.claim, x.rescaling) for x in knowing.lines}
    wanted = {
        ("first", control, claim, label)
        for control in ("none", *CONTROLS)
        for claim in (None, "known", "denied", "same", "differ")
        for label in knowing.rescalings
    }
    assert keys == wanted
    assert len(knowing.lines) == len(wanted)
    assert {line.n_rows for line in knowing.lines} == {N_ROWS}


def test_items_are_those_of_the_suite_and_rows_of_the_frame_are_all(knowing):
    n_items = N_ROWS * 2 * 4
    assert knowing.n_items == n_items
    frame = knowing.to_frame()
    assert len(frame) == n_items * 3 * len(knowing.rescalings)
    assert not frame.duplicated(["item", "rescaling"]).any()
    own = frame[(frame["control"] == "none") & (frame["rescaling"] == "duel")]
    mean = own["chance_corrected"].mean()
    assert knowing.line("first").chance_corrected.value == pytest.approx(mean)


def test_a_line_is_asked_for_by_name(knowing):
    line = knowing.line("first", "same", rescaling="closed", control="nonsense")
    assert (line.family, line.control, line.claim, line.rescaling) == (
        "first", "nonsense", "same", "closed",
    )  # fmt: skip
    assert knowing.line("first").rescaling == "duel"
    with pytest.raises(UnknownNameError, match=r"did you mean.*first none same duel"):
        knowing.line("first", "sam")


def test_the_document_is_strict_json_and_names_the_versions_of_the_suite(knowing):
    read = json.loads(knowing.to_json(), parse_constant=pytest.fail)
    assert read["digests"] == {"first": TOYS["first"].digest}
    assert read["n_items"] == knowing.n_items
    assert len(read["lines"]) == len(knowing.lines)
    assert read["lines"][0]["chance_corrected"]["value"] == (
        knowing.lines[0].chance_corrected.value
    )
    assert {finding["name"] for finding in read["findings"]} >= {"H3", "H5", "H6", "H8"}
    assert read["cost"]["token_evaluations"] == knowing.cost.token_evaluations


def test_one_pass_evaluates_each_prefix_once(knowing):
    # a table model takes each context here as one token behind <s>, and one-token answers
    contexts = {event.context for _, _, event in all_events(VERSIONS)}
    assert knowing.cost.token_evaluations == len(contexts) + 1


def test_who_knows_scores_and_controls_do_not(knowing):
    own = knowing.line("first").chance_corrected
    assert own.low > 0.2
    for control in CONTROLS:
        assert own.low > knowing.line("first", control=control).chance_corrected.high


def test_all_rescalings_agree_with_the_beliefs_where_those_are_raw(knowing):
    line = knowing.line("first", "differ", rescaling="identity")
    assert line.prob.value == pytest.approx(0.6 * 0.98 + 0.4 * 0.02)
    assert line.kept.value == 1.0
    control = knowing.line("first", "differ", rescaling="identity", control="shuffled")
    assert control.prob.value == pytest.approx(2 * 0.15 * 0.85)


def test_who_finds_all_words_alike_is_at_chance_on_literals(knowing_nothing):
    # a duel with N equals is won with 1/2, and with 1/N against itself: S = 1/N for a literal
    for control in ("none", *CONTROLS):
        for claim, expected in (
            ("known", 1.0 / N_WORDS), ("denied", -1.0 / N_WORDS), ("same", N_WORDS**-2),
        ):  # fmt: skip
            line = knowing_nothing.line("first", claim, control=control)
            assert line.chance_corrected.value == pytest.approx(expected)


def test_who_finds_all_words_alike_has_no_null_to_beat(knowing_nothing):
    assert {line.null_z for line in knowing_nothing.lines} == {None}


def test_who_answers_at_random_is_null_everywhere(guessing):
    # |z| > 4 has a chance below 1e-4 for one line
    z = {
        (line.control, line.claim): line.null_z
        for line in guessing.lines
        if line.null_z is not None
    }
    assert set(z) == {(c, claim) for c in ("none", "nonsense") for claim in ("same", "differ")}
    assert max(abs(x) for x in z.values()) < 4.0


def test_a_seed_decides_everything_and_controls_move_no_number_of_the_suite(guessing):
    model = believer(VERSIONS, some_level)
    same, other = (
        ran(model, controls=(), also=(), n_permutations=100, seed=seed) for seed in (0, 1)
    )
    assert same.lines == tuple(line for line in guessing.lines if line.control == "none")
    assert same.findings == guessing.findings
    assert other.lines != same.lines


def test_without_controls_only_the_families_are_read_each_once():
    model = believer(list(TOYS.values()), gold)
    result = ran(model, families=["first", "second", "first"], controls=(), also=())
    assert set(result.evaluations) == {("first", "none"), ("second", "none")}
    assert result.rescalings == ("duel",)
    assert result.n_items == (N_ROWS + 2) * 2 * 4
    assert result.to_frame()["control"].unique().tolist() == ["none"]


def test_names_that_are_not_there_are_refused():
    model = believer(VERSIONS[:1], gold)
    with pytest.raises(UnknownNameError, match=r"control.*'nonsens'.*nonsense"):
        ran(model, controls=["nonsens"])
    with pytest.raises(UnknownNameError, match="duel"):
        ran(model, rescaling="duell")
    with pytest.raises(InputError, match="at least one family"):
        ran(model, families=[])


@pytest.mark.real
def test_a_family_runs_on_the_embedded_model(monkeypatch):
    whole = load_family("negation")
    few = replace(whole, rows=whole.rows[-2:])
    monkeypatch.setattr(probct, "load_family", lambda name: few)
    result = probct.run(
        likely.load("smollm2"), families=["negation"], controls=["nonsense"], n_permutations=10,
        n_resamples=100,
    )  # fmt: skip
    assert result.line("negation", "Ts", control="nonsense").n_rows == 2
    assert all(math.isfinite(line.chance_corrected.value) for line in result.lines)
    assert 50 < result.cost.token_evaluations < 1000
