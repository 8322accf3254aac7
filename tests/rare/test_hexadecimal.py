"""Tokens of random hexadecimal strings: closed forms, every cut of short strings, long strings."""

import itertools
import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from byte_pairs import byte_pair_model

import likely
from likely.core.streams import generator
from likely.errors import InputError
from likely.rare import hexadecimal
from likely.rare.hexadecimal import (
    DIGITS,
    count_in_random_string,
    exact_chain,
    hexadecimal_chain,
    published_chain,
)

MERGES = (
    "e d", "a d", "a c", "c e", "ac e", "d e", "f f", "de f", "b a", "ad ed", "e a", "ff a",
    "c ed", "a b", "ab c", "ed ad", "b c",
)  # fmt: skip


def letters_merge():
    """Digits alone and words of letters, as in the tokenizers of small transformers."""
    return byte_pair_model(DIGITS, MERGES, digits_alone=True)


def table(tokens):
    return likely.TableModel(tokens, dict, bos=None)


def at(chain, text):
    return chain.strings.index(text)


@pytest.mark.parametrize("chain_of", [exact_chain, published_chain])
def test_a_prefix_code_has_independent_tokens_as_likely_as_their_characters(chain_of):
    tokens = [*DIGITS[:-1], *(f"f{one}" for one in DIGITS)]
    chain = chain_of(table(tokens))
    expected = [16.0 ** -len(one) for one in chain.strings]
    np.testing.assert_allclose(chain.stationary, expected, rtol=1e-13)
    np.testing.assert_allclose(chain.transitions, [expected] * len(tokens), rtol=1e-13)
    assert chain.growth == pytest.approx(1.0, abs=1e-14)
    assert chain.is_exact


def test_one_merge_has_the_shares_that_runs_of_a_letter_give():
    """Runs of exactly n times "a" begin at a share (15/16)² 16^-n of all characters.

    A run is cut into floor(n/2) times "aa" and, if n is odd, one "a" at its end. Sums over n give
    1/272 "aa" and 15/272 "a" a character; the 15 other digits come 15/16 times.
    """
    chain = exact_chain(byte_pair_model(DIGITS, ["a a"]))
    n_tokens = 15 / 16 + 16 / 272
    assert chain.stationary[at(chain, "aa")] == pytest.approx(1 / 272 / n_tokens, rel=1e-12)
    assert chain.stationary[at(chain, "a")] == pytest.approx(15 / 272 / n_tokens, rel=1e-12)
    assert chain.stationary[at(chain, "0")] == pytest.approx(1 / 16 / n_tokens, rel=1e-12)
    assert chain.transitions[at(chain, "a"), at(chain, "a")] == 0.0
    assert chain.transitions[at(chain, "a"), at(chain, "aa")] == 0.0  # "aaa" is cut "aa", "a"
    assert chain.transitions[at(chain, "aa"), at(chain, "a")] == pytest.approx(15 / 256, rel=1e-12)
    np.testing.assert_allclose(chain.transitions.sum(axis=1), 1.0, rtol=1e-12)


def test_the_published_formula_lets_tokens_follow_that_never_do():
    """In the same case: "aa" after "a" gets 1/256 over 15/16 + 1/256, and the shares are wrong."""
    chain = published_chain(byte_pair_model(DIGITS, ["a a"]))
    a, aa = at(chain, "a"), at(chain, "aa")
    assert chain.transitions[a, a] == 0.0
    assert chain.transitions[a, aa] == pytest.approx((1 / 256) / (15 / 16 + 1 / 256), rel=1e-13)
    before = (15 / 16) + (1 / 16) * (15 / 16) + 1 / 256  # other digits, then "a", then "aa"
    assert chain.transitions[aa, a] == pytest.approx((1 / 16) * (15 / 16) / before, rel=1e-13)
    assert chain.transitions[0, aa] == pytest.approx((1 / 256) / before, rel=1e-13)
    truth = (1 / 272) / (15 / 16 + 16 / 272)
    assert chain.stationary[aa] / truth > 1.05


def test_continuations_count_once_and_only_the_shortest():
    """After "1", "a" may go on to "ab" or "abc": "b" covers both. "2a" is a token by itself."""
    tokens = [*DIGITS, "ab", "abc", "2a", "2ab"]
    chain = published_chain(table(tokens))
    row = chain.transitions[at(chain, "1")]
    assert row[at(chain, "a")] / row[at(chain, "9")] == pytest.approx(15 / 16, rel=1e-13)
    assert row[at(chain, "ab")] / row[at(chain, "9")] == pytest.approx((1 - 1 / 16) / 16, rel=1e-13)
    assert chain.transitions[at(chain, "2"), at(chain, "a")] == 0.0


def test_neighbours_decide_how_a_byte_pair_tokenizer_cuts_every_short_string():
    model = letters_merge()
    chain = exact_chain(model)
    ids = dict(zip(chain.strings, range(len(chain.strings)), strict=True))
    allowed = chain.transitions > 0.0

    def walks(text, last=None):
        if not text:
            yield ()
        for size in range(1, len(text) + 1):
            token = ids.get(text[:size])
            if token is not None and (last is None or allowed[last, token]):
                yield from ((token, *rest) for rest in walks(text[size:], token))

    for letters in itertools.product("abcdef", repeat=4):
        text = "".join(letters)
        own = model.tokenizer.encode(text).tokens
        assert [tuple(chain.tokens[one] for one in walk) for walk in walks(text)] == [own]


def test_walks_of_each_length_are_as_many_as_strings():
    chain = exact_chain(letters_merge())
    sizes = np.array([len(one) for one in chain.strings])
    allowed = (chain.transitions > 0.0).astype(np.int64)
    ends = [np.where(sizes == n, 1, 0) for n in range(13)]  # walks of n characters, by last token
    for n in range(1, 13):
        for k in range(1, min(n, sizes.max() + 1)):
            ends[n] = ends[n] + np.where(sizes == k, ends[n - k] @ allowed, 0)
    assert [int(one.sum()) for one in ends[1:]] == [16**n for n in range(1, 13)]


def test_the_exact_chain_agrees_with_a_long_string_and_the_published_one_does_not():
    """Counts of a chain are normal with variance n (2 π Z − π − π²), Z the fundamental matrix."""
    model = letters_merge()
    exact, published = exact_chain(model), published_chain(model)
    counts = count_in_random_string(model, exact, n_characters=200_000, rng=generator(1, "hex"))
    n, share, size = counts.sum(), exact.stationary, len(counts)
    fundamental = np.linalg.inv(np.eye(size) - exact.transitions + np.outer(np.ones(size), share))
    variance = n * (2 * share * np.diag(fundamental) - share - share**2)
    assert (variance > 0).all()
    z = (counts - n * share) / np.sqrt(variance)
    assert np.abs(z).max() < 5  # one in 50,000 for the 33 together
    z_published = (counts - n * published.stationary) / np.sqrt(variance)
    assert np.abs(z_published).max() > 6
    assert np.abs(published.stationary - exact.stationary).sum() / 2 > 0.003
    assert exact.is_exact
    assert hexadecimal_chain(model).stationary.tolist() == exact.stationary.tolist()


def test_the_shares_give_the_characters_of_a_token():
    """A string of n characters has n / (mean length of a token) tokens, by renewal."""
    chain = exact_chain(byte_pair_model(DIGITS, ["a a"]))
    mean = math.fsum(
        len(one) * share for one, share in zip(chain.strings, chain.stationary, strict=True)
    )
    assert 1 / mean == pytest.approx(15 / 16 + 16 / 272, rel=1e-12)


def exact_shares(chain, weights):
    """Return the shares of a chain as fractions: left times right eigenvector of its pairs."""
    size = len(weights)
    pairs = [
        [weights[j] if chain.transitions[i, j] > 0.0 else Fraction(0) for j in range(size)]
        for i in range(size)
    ]
    turned = [[row[j] for row in pairs] for j in range(size)]
    right, left = fixed_point(pairs), fixed_point(turned)
    products = [one * other for one, other in zip(left, right, strict=True)]
    return [one / sum(products) for one in products]


def fixed_point(matrix):
    """Return the vector with sum 1 that a matrix of fractions leaves as it is."""
    size = len(matrix)
    rows = [[int(i == j) - matrix[i][j] for j in range(size)] + [Fraction(0)] for i in range(size)]
    rows[-1] = [Fraction(1)] * (size + 1)
    for column in range(size):
        at = next(i for i in range(column, size) if rows[i][column] != 0)
        rows[column], rows[at] = rows[at], rows[column]
        head = rows[column] = [one / rows[column][column] for one in rows[column]]
        for i in range(size):
            if i != column and rows[i][column] != 0:
                factor = rows[i][column]
                rows[i] = [x - factor * y for x, y in zip(rows[i], head, strict=True)]
    found = [row[-1] for row in rows]
    image = [sum(x * y for x, y in zip(row, found, strict=True)) for row in matrix]
    assert image == found  # also in the row that gave way to the sum
    return found


def test_shares_are_the_fractions_that_they_stand_for():
    """To the last digit of sixteen; those of the law to twelve, cut as the fractions are."""
    chain = exact_chain(letters_merge())
    exact = exact_shares(chain, [Fraction(1, 16 ** len(one)) for one in chain.strings])
    found = chain.stationary.tolist()
    assert max(abs(Fraction(x) / y - 1) for x, y in zip(found, exact, strict=True)) < 2**-50
    twelve = Context(prec=12)
    shares = [twelve.divide(Decimal(x.numerator), Decimal(x.denominator)) for x in exact]
    whole = math.fsum(map(float, shares))
    expected = [math.log(float(one) / whole) for one in shares]
    np.testing.assert_allclose(chain.support.log_probs, expected, rtol=1e-15)


@pytest.mark.parametrize("chain_of", [exact_chain, published_chain])
def test_last_digits_of_another_processor_change_no_law(chain_of, monkeypatch):
    """Products of matrices and solutions are off by 1e-12 at random, much for a machine."""
    model = letters_merge()
    law = chain_of(model).support
    rng = np.random.default_rng(0)

    def shaken(own):
        def find(matrix):
            found = own(matrix)
            noise = 1.0 + 1e-12 * rng.standard_normal(len(matrix))
            return (found[0] * noise, found[1]) if isinstance(found, tuple) else found * noise

        return find

    for name in ("_leading", "_stationary"):
        monkeypatch.setattr(hexadecimal, name, shaken(getattr(hexadecimal, name)))
    for _ in range(20):
        again = chain_of(model).support
        np.testing.assert_array_equal(again.log_probs, law.log_probs)


def test_where_neighbours_do_not_decide_the_eigenvalue_says_so_and_the_published_chain_is_taken():
    """The longest match takes "abc", although "a", "b" and "b", "c" may be neighbours."""
    model = table([*DIGITS, "abc"])
    chain = exact_chain(model)
    assert chain.growth > 1.0 + 1e-5
    assert not chain.is_exact
    taken = hexadecimal_chain(model)
    assert not taken.is_exact
    assert taken.stationary.tolist() == published_chain(model).stationary.tolist()


def test_a_tokenizer_that_puts_a_space_before_a_text_is_asked_inside_a_text():
    model = byte_pair_model([*DIGITS, "\n"], ["a a", "_ a", "_ 0"], space_first=True)
    chain = exact_chain(model)
    assert set(chain.strings) == {*DIGITS, "aa"}
    assert chain.stationary[at(chain, "aa")] == pytest.approx(
        1 / 272 / (15 / 16 + 16 / 272), rel=1e-12
    )


def test_tokens_that_the_tokenizer_never_gives_are_left_out():
    """ "abc" is listed before its merges, but no merge leads to it."""
    model = byte_pair_model([*DIGITS, "abc"], ["a b"])
    assert set(exact_chain(model).strings) == {*DIGITS, "ab"}


@pytest.mark.parametrize("text", ["no digits here", "0123456789abcde"])
def test_a_tokenizer_without_all_digits_is_refused_in_one_line(text):
    model = table(sorted(set(text) | {"x", "fx"}))
    with pytest.raises(InputError, match=r"rare\.independent") as caught:
        hexadecimal_chain(model)
    assert "\n" not in str(caught.value)
