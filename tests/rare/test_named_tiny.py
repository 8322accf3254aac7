"""The named distributions on the tokenizer and the corpora of this package."""

import os
import subprocess
import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from byte_pairs import TokensOnly

import likely
from likely import rare
from likely.core.streams import generator
from likely.models.hf_tokenizer import HfTokenizer
from likely.rare import corpus
from likely.rare.hexadecimal import count_in_random_string, exact_chain, published_chain

LENGTHS = {
    "hex": 33, "camel": 33, "indent": 34, "ifelse": 34, "caps": 23, "english": 26, "spanish": 25,
    "icl": 30,
}  # fmt: skip


@pytest.fixture(scope="module")
def tiny():
    """The tokenizer of the tiny models, on no model."""
    folder = files("likely.models").joinpath("tiny", "2l")
    return TokensOnly(HfTokenizer.load(str(folder)))


@pytest.fixture
def few_documents(monkeypatch):
    """Corpora of 60 documents each: all of them take seconds to cut into tokens."""
    own = corpus.load
    monkeypatch.setattr(
        corpus, "load", lambda name: replace(own(name), documents=own(name).documents[:60])
    )


@pytest.mark.usefixtures("few_documents")
@pytest.mark.parametrize("name", rare.DISTRIBUTIONS.names())
def test_each_distribution_has_its_places_in_tokens_of_the_tiny_models(tiny, name):
    law = rare.distribution(name, tiny)
    assert law.length == LENGTHS[name]
    assert law.supports[0].tokens.tolist() == [tiny.info.bos_id]
    drawn = law.sample(200, rng=np.random.default_rng(0))
    assert np.isfinite(law.log_prob(drawn)).all()
    if name != "hex":
        assert law.details["documents"] == 60
        masses = [value for key, value in law.details.items() if key.endswith("mass")]
        assert masses
        assert all(0.0 < mass <= 1.0 for mass in masses)
    assert max(map(len, rare.describe(law, tiny).summary().splitlines())) < 250


def test_the_exact_chain_of_hexadecimal_tokens_agrees_with_a_long_string(tiny):
    """Counts of a chain are normal with variance n (2 π Z − π − π²), Z the fundamental matrix."""
    chain = exact_chain(tiny)
    assert chain.growth == pytest.approx(1.0, abs=1e-12)
    assert len(chain.strings) == 48
    counts = count_in_random_string(tiny, chain, n_characters=400_000, rng=generator(0, "tiny"))
    n, share, size = counts.sum(), chain.stationary, len(counts)
    fundamental = np.linalg.inv(np.eye(size) - chain.transitions + np.outer(np.ones(size), share))
    variance = n * (2 * share * np.diag(fundamental) - share - share**2)
    assert np.abs((counts - n * share) / np.sqrt(variance)).max() < 5  # one in 36,000 for the 48
    published = published_chain(tiny).stationary
    assert np.abs(published - share).sum() / 2 == pytest.approx(0.00985, abs=1e-4)
    assert (np.abs(counts - n * published) / np.sqrt(variance)).max() > 10


@pytest.mark.parametrize("core", ["Nehalem", "Sandybridge", "Haswell"])
def test_the_law_of_hexadecimal_tokens_is_the_same_on_every_processor(tiny, core):
    """OpenBLAS takes what another processor would run; other libraries do not heed the name."""
    code = (
        "import likely; from likely import rare; "
        "print(rare.distribution('hex', likely.load('tiny-2l')).fingerprint)"
    )
    place = str(Path(likely.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "OPENBLAS_CORETYPE": core, "PYTHONPATH": place},
    )  # fmt: skip
    assert done.stdout.split() == [rare.distribution("hex", tiny).fingerprint]
