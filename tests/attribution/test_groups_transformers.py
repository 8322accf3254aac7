"""Groups and contrasts on kept keys and values are those of whole sequences read anew."""

import numpy as np
import pytest

from likely import attribution
from likely.attribution.case import frame_case
from likely.attribution.eligible import Eligible
from likely.attribution.opening import Opening
from likely.attribution.prior import NextLaws
from likely.attribution.tree import TreeSearch
from likely.core.branches import EngineStem
from likely.core.model import Settings
from likely.models.branching import ModelStem

PROMPT, RESPONSE, OTHER = (40, 7, 19, 63, 22), (11, 30, 5), (8,)
ALLOWED = (3, 7, 19, 22, 40, 63)


def evidence(model, stem, group, response):
    case = frame_case(model, PROMPT, response, context=(2,), positions=group)
    exclude = sorted(set(range(model.info.n_vocab)) - set(ALLOWED))
    opening = Opening(
        laws=NextLaws(model, stem), case=case,
        eligible=Eligible(model, case, rule="all", exclude=exclude), seed=0,
    )  # fmt: skip
    search, _ = opening.tree(group, (response, OTHER), is_guided=False)
    assert isinstance(search, TreeSearch)
    search.exhaust()
    return [search.evidence(kind) for kind in (0, 1)]


@pytest.mark.parametrize("memory", [1 << 29, 1])
@pytest.mark.parametrize("group", [(1, 2), (0, 3), (3, 4), (2,)])
@pytest.mark.parametrize("kind", ["gpt2", "window"])
def test_the_tree_reads_what_whole_sequences_would(kind, group, memory, request):
    model = request.getfixturevalue(kind)
    text = (2, *PROMPT, *RESPONSE[:-1])
    kept = model.stem(text, settings=Settings(memory=memory))
    assert isinstance(kept, ModelStem)
    found = evidence(model, kept, group, RESPONSE)
    wanted = evidence(model, EngineStem(model, text), group, RESPONSE)
    for one, other in zip(found, wanted, strict=True):
        assert len(one.tokens) == len(ALLOWED) ** len(group)
        order, same = (np.lexsort(x.tokens.T) for x in (one, other))
        assert np.array_equal(one.tokens[order], other.tokens[same])
        for name in ("log_prior", "log_prompt", "log_response"):
            assert getattr(one, name)[order] == pytest.approx(getattr(other, name)[same], abs=1e-5)


def test_adaptive_groups_and_contrasts_near_the_exact_ones(gpt2, monkeypatch):
    monkeypatch.setattr("likely.attribution.adaptive.FIRST_SIZE", 400.0)
    options = {"context": (2,), "groups": [(1, 2)]}
    exact = attribution.contrast(gpt2, PROMPT, RESPONSE, OTHER, method="exact", **options)
    found = attribution.contrast(
        gpt2, PROMPT, RESPONSE, OTHER, tolerance=0.2, budget=1e9, **options
    )
    one, other = exact.places[0].difference, found.places[0].difference
    assert found.places[0].method == "adaptive"
    assert other.low - 0.2 <= one.value <= other.high + 0.2
    assert found.cost.token_evaluations < 0.5 * exact.cost.token_evaluations
