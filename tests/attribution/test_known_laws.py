"""Laws whose every number is known in closed form, or by an algorithm of another kind."""

import math

import numpy as np
import pytest
from attribution_truth import chain, enumerated, lse, random_table, table_rows

import likely
from likely.attribution import attribute, frame_case

TRANSITION = ((0.7, 0.3), (0.2, 0.8))


def _exact(model, prompt, response, **options):
    return attribute(model, prompt, response, method="exact", **options)


def _entropy(*probs):
    return -sum(p * math.log(p) for p in probs)


@pytest.fixture(scope="module")
def two_states():
    return _exact(chain(TRANSITION, (0.5, 0.5)), "aa", "a")


def test_two_states_scores(two_states):
    assert two_states.scores == pytest.approx([0.0, math.log(0.7 / 0.55)], abs=1e-12)
    assert two_states.scores[1] == pytest.approx(0.2411621, abs=5e-8)
    assert two_states.log_response == pytest.approx(math.log(0.7), abs=1e-12)


def test_two_states_posteriors(two_states):
    first, second = two_states.substitutes(1, k=3)
    assert (first.text, second.text) == ("a", "b")
    assert (first.prob, second.prob) == pytest.approx((0.7, 0.3), abs=1e-12)
    assert (first.prob_response, second.prob_response) == pytest.approx(
        (0.49 / 0.55, 0.06 / 0.55), abs=1e-12
    )
    assert second.score == pytest.approx(math.log(0.2 / 0.55), abs=1e-12)


def test_two_states_entropies_and_information(two_states):
    found = two_states.at(1).measures
    assert found.context_entropy.value == pytest.approx(0.6108643, abs=5e-8)
    assert found.response_entropy.value == pytest.approx(0.3446104, abs=5e-8)
    assert found.information.value == pytest.approx(0.1044970, abs=5e-8)
    assert found.entropy_change.value == pytest.approx(0.6108643 - 0.3446104, abs=1e-7)
    assert found.left_surprisal == pytest.approx(-math.log(0.7), abs=1e-12)
    assert found.surprisal.value == pytest.approx(-math.log(0.7), abs=1e-12)
    assert found.response_surprisal.value == pytest.approx(-math.log(0.49 / 0.55), abs=1e-12)


def test_two_states_mutual_information_is_the_mean_over_what_could_have_been():
    model = chain(TRANSITION, (0.5, 0.5))
    mean = 0.0
    for token, w in (("a", 0.7), ("b", 0.3)):
        for response in "ab":
            b = TRANSITION["ab".index(token)]["ab".index(response)]
            mean += w * b * _exact(model, "a" + token, response).scores[1]
    assert mean == pytest.approx(0.1104131, abs=5e-8)


def test_two_states_with_a_hole_between():
    found = _exact(chain(TRANSITION, (0.5, 0.5)), "aab", "b", positions=[1])
    assert [s.prob for s in sorted(found.substitutes(1), key=lambda s: s.text)] == pytest.approx(
        [7 / 15, 8 / 15], abs=1e-12
    )
    # The response depends on the last token alone.
    assert found.scores == pytest.approx([0.0], abs=1e-12)
    assert found.at(1).measures.log_prompt_likelihood.value == pytest.approx(math.log(0.45))


def test_what_is_put_there_by_hand_ignores_the_rest_of_the_prompt():
    # In (a, x, b) then r, the response depends on b alone; in (x, b) on b alone as well.
    # With a law of order 2 the two scores differ: w, a and b of both candidates are given here.
    laws = {
        "a": {"a": 0.7, "b": 0.3}, "b": {"a": 0.4, "b": 0.6},
        "aa": {"a": 0.9, "b": 0.1}, "ab": {"a": 0.2, "b": 0.8},
        "ba": {"a": 0.5, "b": 0.5}, "bb": {"a": 0.3, "b": 0.7},
    }  # fmt: skip

    def law(before):
        text = "".join(before[1:])[-2:]
        return laws.get(text, {"a": 0.5, "b": 0.5})

    model = likely.TableModel(["a", "b"], law)
    found = _exact(model, "ab", "a").at(0).measures
    w, a, b = (0.5, 0.5), (0.3, 0.6), (0.2, 0.3)
    n, d = (
        sum(x * y * z for x, y, z in zip(w, a, b, strict=True)),
        sum(x * y for x, y in zip(w, a, strict=True)),
    )
    assert found.score.value == pytest.approx(math.log(0.2 / (n / d)), abs=1e-12)
    by_hand = sum(x * z for x, z in zip(w, b, strict=True))
    assert found.interventional.value == pytest.approx(math.log(0.2 / by_hand), abs=1e-12)
    assert found.interventional.value != pytest.approx(found.score.value, abs=0.01)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_token_before_the_memory_of_the_law_has_no_score(order):
    rng = np.random.default_rng(order)
    rows = {}

    def law(before):
        key = before[-order:]
        if key not in rows:
            rows[key] = rng.dirichlet(np.ones(3))
        return dict(zip("abc", rows[key].tolist(), strict=True))

    prompt, response = "abcabca", "cbab"
    found = _exact(likely.TableModel(list("abc"), law), prompt, response)
    n_before = len(prompt) - order
    np.testing.assert_allclose(found.scores[:n_before], 0.0, atol=1e-12)
    assert (np.abs(found.scores[n_before:]) > 1e-4).all()
    # and the share of a response token that the position cannot reach is 0 as well
    for mu in range(n_before, len(prompt)):
        out_of_reach = max(0, mu + order + 1 - len(prompt))
        np.testing.assert_allclose(found.matrix[mu, out_of_reach:], 0.0, atol=1e-12)


def test_independent_tokens_say_nothing_about_one_another():
    unigram = {"a": 0.5, "b": 0.3, "c": 0.2}
    found = _exact(likely.TableModel(list("abc"), lambda before: unigram), "abca", "cab")
    np.testing.assert_allclose(found.scores, 0.0, atol=1e-12)
    entropy = _entropy(0.5, 0.3, 0.2)
    np.testing.assert_allclose(found.context_entropy, entropy, atol=1e-12)
    np.testing.assert_allclose(found.response_entropy, entropy, atol=1e-12)
    np.testing.assert_allclose(found.matrix, 0.0, atol=1e-12)
    for substitute in found.substitutes(2):
        assert substitute.prob == pytest.approx(unigram[substitute.text], abs=1e-12)
        assert substitute.prob_response == pytest.approx(substitute.prob, abs=1e-12)


@pytest.mark.parametrize("n_vocab", [3, 8, 40])
def test_a_copied_token_has_the_score_of_its_being_copied(n_vocab):
    slip = 0.1
    names = [chr(0x4E00 + i) for i in range(n_vocab)]
    uniform = dict.fromkeys(names, 1 / n_vocab)

    def law(before):
        if len(before) != 4:
            return uniform
        other = dict.fromkeys(names, slip / (n_vocab - 1))
        return other | {before[1]: 1.0 - slip}

    model = likely.TableModel(names, law)
    found = _exact(model, names[1] + names[0] + names[2], names[1])
    assert found.scores == pytest.approx([math.log(n_vocab * (1 - slip)), 0.0, 0.0], abs=1e-12)
    rest = found.at(0).measures.log_response_rest.value
    assert rest == pytest.approx(-math.log(n_vocab), abs=1e-12)
    slipped = _exact(model, names[1] + names[0] + names[2], names[2])
    assert slipped.scores[0] == pytest.approx(math.log(n_vocab * slip / (n_vocab - 1)), abs=1e-12)


def exclusive_or():
    """Return the table of two fair bits and then their exclusive or."""

    def law(before):
        if len(before) == 3:
            same = before[1] == before[2]
            return {"0": 1.0 if same else 0.0, "1": 0.0 if same else 1.0}
        return {"0": 0.5, "1": 0.5}

    return likely.TableModel(["0", "1"], law)


def repeated(names):
    """Return the table of a token that comes three times."""
    uniform = dict.fromkeys(names, 1 / len(names))
    return likely.TableModel(
        names, lambda before: uniform if len(before) == 1 else {before[1]: 1.0}
    )


@pytest.mark.parametrize("prompt", ["00", "01", "10", "11"])
def test_each_of_two_bits_is_worth_one_bit_to_their_exclusive_or(prompt):
    response = str(int(prompt[0]) ^ int(prompt[1]))
    found = _exact(exclusive_or(), prompt, response)
    assert found.scores == pytest.approx([math.log(2.0)] * 2, abs=1e-12)
    assert found.context_entropy == pytest.approx([math.log(2.0)] * 2, abs=1e-12)
    assert found.response_entropy == pytest.approx([0.0] * 2, abs=1e-12)


def test_a_token_that_is_said_twice_is_not_missed():
    found = _exact(repeated(list("abcde")), "cc", "c")
    assert found.scores == pytest.approx([0.0, 0.0], abs=1e-12)
    assert found.context_entropy == pytest.approx([0.0, 0.0], abs=1e-12)
    once = _exact(repeated(list("abcde")), "c", "c")
    assert once.scores == pytest.approx([math.log(5.0)], abs=1e-12)


def test_impossible_candidates_raise_no_warning():
    _exact(exclusive_or(), "01", "1")
    _exact(repeated(list("abc")), "cc", "c")


class Hidden:
    """A hidden Markov model, whose sequences forward and backward sums weigh."""

    def __init__(self, n_states, n_tokens, seed):
        rng = np.random.default_rng(seed)
        self.start = rng.dirichlet(np.ones(n_states))
        self.move = rng.dirichlet(np.full(n_states, 0.5), size=n_states)
        self.emit = rng.dirichlet(np.full(n_tokens, 0.5), size=n_states)
        self.names = [chr(ord("a") + i) for i in range(n_tokens)]

    def table(self):
        """Return it as a table: the law of the next token by forward filtering."""

        def law(before):
            state = self.start
            for piece in before[1:]:
                state = state * self.emit[:, self.names.index(piece)]
                state = (state / state.sum()) @ self.move
            probs = state @ self.emit
            return dict(zip(self.names, (probs / probs.sum()).tolist(), strict=True))

        return likely.TableModel(self.names, law)

    def log_prob(self, text):
        """Return the log-probability of a text in which ``?`` is any token, by backward sums."""
        state, total = np.ones(len(self.start)), 0.0
        for i in range(len(text) - 1, -1, -1):
            if text[i] != "?":
                state = state * self.emit[:, self.names.index(text[i])]
            state = self.move @ state if i else self.start * state
            total += math.log(state.sum())
            state = state / state.sum()
        return total


@pytest.mark.parametrize(("n_prompt", "n_response"), [(1, 1), (6, 3), (40, 25)])
def test_a_hidden_markov_model_by_forward_and_backward_sums(n_prompt, n_response):
    hidden = Hidden(3, 5, seed=n_prompt)
    rng = np.random.default_rng(n_prompt)
    text = "".join(rng.choice(hidden.names, n_prompt + n_response))
    prompt, response = text[:n_prompt], text[n_prompt:]
    positions = sorted({0, n_prompt // 2, n_prompt - 2, n_prompt - 1} & set(range(n_prompt)))
    found = _exact(hidden.table(), prompt, response, positions=positions)
    whole = hidden.log_prob(prompt + response) - hidden.log_prob(prompt)
    assert found.log_response == pytest.approx(whole, abs=1e-10)
    for mu, score in zip(positions, found.scores, strict=True):
        holed = prompt[:mu] + "?" + prompt[mu + 1 :]
        rest = hidden.log_prob(holed + response) - hidden.log_prob(holed)
        assert score == pytest.approx(whole - rest, abs=1e-10)
        share = [
            hidden.log_prob(prompt + response[: t + 1]) - hidden.log_prob(prompt + response[:t])
            - hidden.log_prob(holed + response[: t + 1]) + hidden.log_prob(holed + response[:t])
            for t in range(n_response)
        ]  # fmt: skip
        np.testing.assert_allclose(found.at(mu).measures.matrix, share, atol=1e-10)


def test_the_enumeration_that_tests_rest_on_agrees_with_the_joint_law():
    model = random_table(3, seed=9)
    case = frame_case(model, "abc", "ca")
    truth = enumerated(table_rows(model), case, 1, n_tokens=3)

    def joint(ids):
        return sum(model.row(ids[:i])[ids[i]] for i in range(1, len(ids)))

    start = case.context
    with_hole = [joint((*start, 0, v, 2, 2, 0)) for v in range(3)]
    without = [joint((*start, 0, v, 2)) for v in range(3)]
    rest = lse(np.array(with_hole)) - lse(np.array(without))
    own = joint((*start, 0, 1, 2, 2, 0)) - joint((*start, 0, 1, 2))
    assert truth.numbers()["score"] == pytest.approx(own - rest, abs=1e-12)
    assert truth.numbers()["log_response_rest"] == pytest.approx(rest, abs=1e-12)
