"""`check_model` and `self_check`: sound models pass, each fake breaks the law it is made for."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import likely
from likely.core.model import Capability, Encoding
from likely.errors import CapabilityError, ContractError, InputError
from likely.testing import check_model

TEXTS = ("ab", "abba", "aabbabab", "b")


def law(context):
    """Probabilities that depend on the last two tokens and the length, so that slips show."""
    weights = [1.0 + len(context) % 3, 2.0 if context[-1] == "a" else 0.5, 1.0]
    weights[2] += context[-2:].count("b")
    total = sum(weights)
    return dict(zip(("a", "b", "ab"), (w / total for w in weights), strict=True))


class Fake:
    """A table model with a hook between it and the sink."""

    def __init__(self, *, info=None, tokenizer=None):
        self.table = likely.TableModel(["a", "b", "ab"], law, name=type(self).__name__)
        self._info = replace(self.table.info, **(info or {}))
        self._tokenizer = tokenizer or self.table.tokenizer
        self.n_calls = 0

    @property
    def info(self):
        return self._info

    @property
    def tokenizer(self):
        return self._tokenizer

    def pairs(self, work, log_probs):
        return log_probs

    def rows(self, work, rows):
        return rows

    def evaluate(self, work, sink):
        self.n_calls += 1
        trie = work.trie
        table = np.array([self.table.row(trie.prefix(node)) for node in range(len(trie))])
        if len(work.pair_nodes):
            right = table[work.pair_nodes, work.pair_targets]
            sink.put_pairs(np.arange(len(right)), self.pairs(work, right))
        if len(work.row_nodes):
            sink.put_rows(work.row_nodes, self.rows(work, table[work.row_nodes]))
        sink.spend(tokens=len(trie), calls=1, seconds=0.0)


class OffByOneTargets(Fake):
    def pairs(self, work, log_probs):
        table = [self.table.row(work.trie.prefix(int(node))) for node in work.pair_nodes]
        return np.array(
            [row[work.trie.token[n]] for row, n in zip(table, work.pair_nodes, strict=True)]
        )


class LateRows(Fake):
    def pairs(self, work, log_probs):
        before = np.maximum(work.trie.parent[work.pair_nodes], 0)
        table = [self.table.row(work.trie.prefix(int(node))) for node in before]
        return np.array([row[t] for row, t in zip(table, work.pair_targets, strict=True)])


class RunningTotals(Fake):
    """Adds the score of the token before to each score."""

    def pairs(self, work, log_probs):
        trie = work.trie
        heads = [trie.prefix(int(node)) for node in work.pair_nodes]
        earlier = [self.table.row(ids[:-1])[ids[-1]] if ids[1:] else 0.0 for ids in heads]
        return log_probs + np.array(earlier)


class BatchDependent(Fake):
    def pairs(self, work, log_probs):
        return log_probs * (1.0 + 1e-6 * (len(work.trie.leaves()) - 1))


class PaddingLeaks(Fake):
    """Wrong for whatever is shorter than the longest of its call."""

    def pairs(self, work, log_probs):
        trie = work.trie
        reach = np.array([trie.depth[n : trie.stop[n]].max() for n in work.pair_nodes])
        return np.where(reach < trie.depth.max(), 1.01 * log_probs, log_probs)


class StaleCache(Fake):
    def pairs(self, work, log_probs):
        return log_probs * 1.01 if work.settings.method == "cache" else log_probs


class SiblingsSeen(Fake):
    def pairs(self, work, log_probs):
        return log_probs * 1.01 if work.settings.method == "tree" else log_probs


class DependsOnCut(Fake):
    def pairs(self, work, log_probs):
        is_cut = len(work.trie.leaves()) == 1 and len(work.pair_nodes) < len(work.trie)
        return log_probs * 1.01 if is_cut else log_probs


class ChangesOnRepeat(Fake):
    """Gives other numbers when it is asked the same thing twice running."""

    last = None

    def pairs(self, work, log_probs):
        ids = (work.trie.token, work.pair_nodes, work.pair_targets)
        asked = (*(array.tobytes() for array in ids), work.settings)
        is_repeat, self.last = asked == self.last, asked
        return log_probs * 1.01 if is_repeat else log_probs


class DropoutOn(Fake):
    def pairs(self, work, log_probs):
        return log_probs * (1.0 + 0.001 * (self.n_calls % 2))


class DriftsWhenDeterministic(Fake):
    def pairs(self, work, log_probs):
        drifts = work.settings.deterministic
        return log_probs * (1.0 + 1e-15 * self.n_calls) if drifts else log_probs


class UnnormalisedRows(Fake):
    def rows(self, work, rows):
        return rows + 1e-6


class WindowsDoubled(Fake):
    """Counts twice what follows a beginning other than the BOS."""

    def pairs(self, work, log_probs):
        first = np.array([work.trie.prefix(int(node))[0] for node in work.pair_nodes])
        return np.where(first == self.info.bos_id, log_probs, 2 * log_probs)


class GivesNan(Fake):
    def pairs(self, work, log_probs):
        return np.full_like(log_probs, np.nan)


class LeavesOut(Fake):
    def evaluate(self, work, sink):
        sink.spend(tokens=len(work.trie), calls=1, seconds=0.0)


class UnaskedHidden(Fake):
    def evaluate(self, work, sink):
        super().evaluate(work, sink)
        if len(work.row_nodes):
            sink.put_hidden(work.row_nodes, np.zeros((len(work.row_nodes), 2)))


class OtherTokenizer:
    """The table's tokenizer with one method replaced."""

    def __init__(self, **methods):
        table = likely.TableModel(["a", "b", "ab"], law).tokenizer
        for name in ("encode", "decode", "token_bytes", "render_chat"):
            setattr(self, name, methods.get(name, getattr(table, name)))


def drops_last(text):
    whole = likely.TableModel(["a", "b", "ab"], law).tokenizer.encode(text)
    return Encoding(tokens=whole.tokens[:-1], byte_spans=whole.byte_spans[:-1])


def shifted_spans(text):
    whole = likely.TableModel(["a", "b", "ab"], law).tokenizer.encode(text)
    spans = tuple((start + 1, stop + 1) for start, stop in whole.byte_spans)
    return Encoding(tokens=whole.tokens, byte_spans=spans)


def test_a_sound_table_keeps_the_contract():
    check_model(Fake(), texts=TEXTS)
    check_model(likely.TableModel(["a", "b", "ab"], law))
    check_model(likely.TableModel(["a", "b", "ab"], law, bos=None))
    check_model(likely.TableModel(["a", "b", "ab"], law, max_tokens=3), texts=TEXTS)


@pytest.mark.parametrize(
    ("fake", "broken"),
    [
        (OffByOneTargets, "row against pair"),
        (LateRows, "row against pair"),
        (RunningTotals, "row against pair"),
        (BatchDependent, "batch size"),
        (PaddingLeaks, "batch size"),
        (StaleCache, "cached prefix"),
        (SiblingsSeen, "tree attention"),
        (DependsOnCut, "split of a text"),
        (DropoutOn, "batch size"),
        (ChangesOnRepeat, "repeatability"),
        (DriftsWhenDeterministic, "deterministic mode"),
        (UnnormalisedRows, "row normaliser"),
        (WindowsDoubled, "counted once"),
        (GivesNan, "finite numbers"),
        (LeavesOut, "finite numbers"),
        (UnaskedHidden, "answers"),
    ],
)
def test_each_fault_breaks_its_law(fake, broken):
    with pytest.raises(ContractError, match=f"^({broken}):"):
        check_model(fake(), texts=TEXTS)


@pytest.mark.parametrize(
    "methods",
    [
        {"encode": drops_last},
        {"encode": shifted_spans},
        {"decode": lambda tokens: "?"},
        {"token_bytes": lambda token: b"?"},
    ],
)
def test_ids_that_do_not_spell_the_text_break_the_contract(methods):
    with pytest.raises(ContractError, match=r"^same ids:"):
        check_model(Fake(tokenizer=OtherTokenizer(**methods)), texts=TEXTS)


@pytest.mark.parametrize(
    "info",
    [
        {"n_tokens": 9},
        {"bos_id": 4},
        {"eos_id": -1},
        {"bos_id": None, "adds_bos": True},
    ],
)
def test_information_that_contradicts_itself_breaks_the_contract(info):
    with pytest.raises(ContractError, match=r"^information:"):
        check_model(Fake(info=info), texts=TEXTS)


def test_an_id_past_the_tokenizer_breaks_the_contract():
    with pytest.raises(ContractError, match="past n_tokens=2"):
        check_model(Fake(info={"n_tokens": 2}), texts=TEXTS)


@pytest.mark.parametrize("shift", [-1, 1])
def test_windows_that_skip_or_repeat_a_token_are_found(monkeypatch, shift):
    from likely.core.text.windows import plan_windows

    def broken(n_ids, *, window, stride=None):
        first, *rest = plan_windows(n_ids, window=window, stride=stride)
        moved = [replace(w, first=w.first + shift) for w in rest]
        return (first, *(w for w in moved if w.first < w.stop))

    monkeypatch.setattr("likely.core.scoring.plan_windows", broken)
    monkeypatch.setattr("likely.testing.plan_windows", broken)
    with pytest.raises(ContractError, match=r"^counted once:"):
        check_model(Fake(), texts=TEXTS)


def test_a_tolerance_is_the_callers():
    check_model(BatchDependent(), texts=TEXTS, tolerance=1e-3)
    with pytest.raises(ContractError, match="more than 1e-07"):
        check_model(BatchDependent(), texts=TEXTS, tolerance=1e-7)


def test_self_check_measures_every_law_and_tells_its_cost():
    check = likely.self_check(Fake(), texts=TEXTS)
    assert [row.name for row in check.rows] == [
        "batch size", "batch order", "cached prefix", "tree attention", "split of a text",
        "repeatability", "row normaliser", "row against pair", "deterministic mode",
    ]  # fmt: skip
    assert check.passed
    assert check.left_out == ()
    assert all(row.n > 0 for row in check.rows)
    assert check.cost.token_evaluations > 0
    parsed = json.loads(check.to_json(), parse_constant=pytest.fail)
    assert parsed["passed"] is True
    assert list(check.to_frame()["name"]) == [row.name for row in check.rows]
    assert check.summary().count("ok  ") == len(check.rows)


def test_self_check_reports_the_size_of_a_fault_and_does_not_raise():
    check = likely.self_check(UnnormalisedRows(), texts=TEXTS)
    failed = [row for row in check.rows if not row.passed]
    assert not check.passed
    assert {row.name for row in failed} == {"row normaliser", "row against pair"}
    assert failed[0].largest_difference == pytest.approx(1e-6, rel=1e-6)
    assert "FAIL row normaliser" in check.summary()


def test_rows_with_nan_are_infinitely_wrong():
    class NanRows(Fake):
        def rows(self, work, rows):
            return np.where(np.arange(len(rows))[:, None] == 1, np.nan, rows)

    row = next(r for r in likely.self_check(NanRows(), texts=TEXTS).rows if "norm" in r.name)
    assert row.largest_difference == math.inf
    assert not row.passed


@pytest.mark.parametrize(("dtype", "passes"), [("float32", False), ("bfloat16", True)])
def test_the_limits_are_those_of_the_dtype(dtype, passes):
    class Noisy(Fake):
        def pairs(self, work, log_probs):
            return log_probs - 0.01 * (len(work.trie.leaves()) > 1)

    assert likely.self_check(Noisy(info={"dtype": dtype}), texts=TEXTS).passed is passes


def test_laws_that_need_a_missing_capability_are_left_out_by_name():
    only = {"capabilities": frozenset({Capability.CONTINUATION})}
    check = likely.self_check(Fake(info=only), texts=TEXTS)
    assert check.left_out == (
        "cached prefix", "tree attention", "row normaliser", "row against pair",
    )  # fmt: skip
    assert "not measured on this model: cached prefix" in check.summary()
    check_model(Fake(info=only), texts=TEXTS)
    with pytest.raises(CapabilityError):
        likely.self_check(Fake(info={"capabilities": frozenset()}), texts=TEXTS)


def test_a_check_needs_something_to_read():
    with pytest.raises(InputError, match="at least 2 tokens"):
        likely.self_check(likely.TableModel(["a", "b"], law, bos=None), texts=["a", "b"])
