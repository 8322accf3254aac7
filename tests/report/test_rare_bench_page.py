"""The page of a comparison: numbers of the summaries, what is best, what a zero does."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import rare_cases as make
from page_parts import Page

from likely.core.jsonio import dumps, encode
from likely.rare.bench.plan import BenchConfig
from likely.rare.bench.summary import summarise, summarise_decades, targets_of, truth_noise
from likely.report import rare_bench_page as module
from likely.report.display import signed, small
from likely.report.figures.rare.loss_alpha import loss_against_alpha
from likely.report.rare_bench_page import bench_page

METHODS = ("naive", "itgis", "qld")
CONFIG = BenchConfig(methods=METHODS, budget=4096, seeds=2, reference="itgis")
HOSTILE = "</script><img src=x onerror=alert(1)>"
MODELS = ("tiny-1l", "tiny-2l")
ROWS = make.rows(METHODS, MODELS, laws=("hex",), per_decade=1, seeds=2, text=HOSTILE)


@pytest.fixture(scope="module")
def summaries():
    return summarise(ROWS)


def page_of(rows, summaries, *, is_drawn=False):
    with pytest.MonkeyPatch.context() as patch:
        if not is_drawn:
            patch.setattr(module, "_figures", lambda rows, arm: ())
        html = bench_page(rows, summaries, CONFIG)
    page = Page(html)
    (body,) = ["".join(texts) for tag, _, texts in page.elements if tag == "main"]
    return html, page, re.sub(r"\s+", " ", body)


@pytest.fixture(scope="module")
def both(summaries):
    return page_of(ROWS, summaries)


def tables(page):
    """Return each table of methods by caption: rows of (name, cells, looks)."""
    found = []
    for tag, attributes, texts in page.elements:
        if tag == "table" and "methods" in (attributes.get("class") or ""):
            found.append([])
        elif tag == "caption":
            found[-1].append("".join(texts))
        elif tag == "tr" and found:
            found[-1].append([])
        elif tag in ("td", "th") and found and isinstance(found[-1][-1], list):
            found[-1][-1].append(("".join(texts), (attributes.get("class") or "").split()))
    return [
        (caption, {row[0][0]: row[1:] for row in rows if row[0][0] not in ("Method", "Targets of")})
        for caption, *rows in found
    ]


def test_numbers_are_those_of_the_summaries(both, summaries):
    (caption, errors), (_, logs), (_, spb) = tables(both[1])[1:4]
    assert caption == "Errors and cost"
    assert [row[8][0] for row in logs.values()][:3] == ["–"] * 3  # four targets are too few to fit
    for one in summaries:
        if one.arm != "calls" or len(one.models) == 1:
            continue
        name = one.method + (" *" if one.method == "qld" else "")
        assert errors[name][0][0] == f"{100 * one.zero_rate:.0f} %"
        assert errors[name][5][0] == "4,096"
        mean = one.losses["logMSE"].mean
        assert logs[name][0][0] == ("∞" if math.isinf(mean) else module._number(mean))
        for at, loss in ((2, one.losses["logMSE"]), (5, one.losses["IS"])):
            assert logs[name][at][0] == module._number(loss.median)
            rest = loss.mean_without_zeros
            assert logs[name][at + 1][0] == ("–" if rest is None else module._number(rest))
        mean = one.losses["SPB 1.5"].mean
        assert float(spb[name][1][0].replace(",", "")) == pytest.approx(mean, rel=6e-3)


def test_zeros_are_infinite_where_they_are_and_left_out_where_it_is_said(both):
    (_, errors), (_, logs), _ = tables(both[1])[1:4]
    assert errors["naive"][1][0] == "−∞"
    assert [logs["naive"][k][0] for k in (0, 4)] == ["∞", "∞"]
    assert "∞" not in [logs["naive"][k][0] for k in (3, 6)]
    assert "one zero makes logMSE and IS infinite (∞)" in both[2]


def test_the_best_is_marked_where_methods_are_comparable(both):
    (_, errors), (_, logs), (_, spb) = tables(both[1])[1:4]
    assert "best" in logs["itgis"][0][1]
    assert "best" in spb["itgis"][1][1]
    for k in (1, 3, 6, 7):  # errors of it, zeros left out, and the fit that knows the truth
        assert not any("best" in row[k][1] for row in logs.values())
    for k in range(2, 9):
        assert not any("best" in row[k][1] for row in errors.values())
    assert not any("best" in look for _, look in spb["best constant"])


def test_methods_with_other_targets_have_no_best():
    rows = [r for r in ROWS if r["method"] != "qld" or r["token"] != 0]
    _, page, body = page_of(rows, summarise(rows))
    own = tables(page)[1:5]
    assert not any("best" in look for _, table in own for row in table.values() for _, look in row)
    assert "Not comparable." in body


def test_too_low_a_coverage_is_a_doubt(summaries):
    low = [replace(one, coverage=0.5) for one in summaries]
    errors = tables(page_of(ROWS, low)[1])[1][1]
    assert all("doubt" in row[3][1] for row in errors.values())
    full = [replace(one, coverage=0.95) for one in summaries]
    errors = tables(page_of(ROWS, full)[1])[1][1]
    assert not any("doubt" in row[3][1] for row in errors.values())


def test_each_arm_has_tables_of_all_models_and_of_each(both):
    _, page, body = both
    assert len(tables(page)) == 2 * (3 * 3 + 2)
    assert "Equal calls" in body
    assert "the time that itgis took for 4,096" in body


def test_the_method_of_the_least_loss_is_named_of_all_models_and_of_each(both, summaries):
    caption, found = tables(both[1])[0]
    assert caption == "The method of the least loss, and that loss (the best constant’s)"
    assert list(found) == ["tiny-1l, tiny-2l", "tiny-1l", "tiny-2l"]
    for models, cells in found.items():
        own = [s for s in summaries if (s.arm, ", ".join(s.models)) == ("calls", models)]
        for k, loss in enumerate(("logMSE", "SPB 1", "SPB 1.5", "SPB 2", "SPB 2.5")):
            best = min(own, key=lambda one: one.losses[loss].mean)
            assert cells[k][0].startswith(best.method)
            text, look = cells[k]
            value, constant = (float(x.strip("()")) for x in text.split()[-2:])
            assert value == pytest.approx(best.losses[loss].mean, rel=6e-3)
            assert ("doubt" in look) == (value > constant)
        assert cells[5][0] == "–"


def test_a_least_loss_above_the_best_constant_is_a_doubt():
    rows = [{**row, "log_prob": row["log_prob"] - 14.0} for row in ROWS if row["method"] == "itgis"]
    found = tables(page_of(rows, summarise(rows))[1])[0][1]
    assert all("doubt" in look for _, look in found["tiny-1l"][:5])


def test_a_loss_left_out_stands_beside_constants_that_leave_each_target_out():
    rows = make.rows(("itgis",), ("tiny-1l",), laws=("hex",), per_decade=2, seeds=1, text="x")
    q = np.array([own[0]["truth"] for own in targets_of(rows).values()])
    ratio = (len(q) - 1) * q / (q.sum() - q)  # to the mean of the others
    left_out = np.mean(ratio - np.log(ratio) - 1)
    (cells,) = tables(page_of(rows, summarise(rows))[1])[0][1].values()
    text, look = cells[5]
    value, constant = (float(x.strip("()")) for x in text.split()[-2:])
    assert constant == pytest.approx(left_out, rel=6e-3)
    assert ("doubt" in look) == (value > left_out)


def test_methods_stand_in_the_order_of_one_loss(both, summaries):
    own = [s for s in summaries if s.arm == "calls" and len(s.models) == 2]
    order = [s.method for s in sorted(own, key=lambda one: one.losses["SPB 1.5"].mean)]
    for _, table in tables(both[1])[1:5]:
        assert [name.rstrip(" *") for name in table][: len(order)] == order


def test_decades_have_bias_and_zeros_of_each_method(both):
    caption, found = tables(both[1])[4]
    assert caption == "Decade by decade: bias in decades (share of zeros)"
    decades = {d.low: d for d in summarise_decades(ROWS, CONFIG.decades) if d.arm == "calls"
               and d.method == "itgis"}  # fmt: skip
    shown = [text for text, _ in found["itgis"]]
    assert len(shown) == len(decades) == 4
    for text, low in zip(shown, sorted(decades), strict=True):
        assert text == f"{signed(decades[low].bias)} ({100 * decades[low].zero_rate:.0f} %)"
    assert "−∞ (100 %)" in [text for text, _ in found["naive"]]
    heads = [texts for _, texts in both[1].with_class("num")]
    assert any("10⁻⁹ to 10⁻⁸" in text and "2 targets" in text for text in heads)


def test_costs_are_told_of_a_target_and_of_a_run(both, summaries):
    errors = tables(both[1])[1][1]
    whole = next(one for one in summaries if one.method == "itgis" and len(one.models) == 2)
    assert [errors["itgis"][k][0] for k in (5, 7)] == ["4,096", f"{4 * 4096:,}"]
    assert [errors["itgis"][k][0] for k in (6, 8)] == ["1.00", "4.00"]
    assert whole.run_seconds == 4.0


def test_what_the_truths_rest_on_is_said(both):
    assert "rest on 40 random beginnings" in both[2]
    assert f"logMSE of {truth_noise(ROWS):.3g} from them" in both[2]


def test_methods_that_take_longer_than_the_time_given_are_named():
    rows = [{**r, "seconds": 3.0 if r["method"] == "qld" else 1.0} for r in ROWS]
    body = page_of(rows, summarise(rows))[2]
    assert body.count("qld 3.00 times it") == 1  # in the arm of equal seconds alone
    assert "Over time" not in page_of(ROWS, summarise(ROWS))[2]


def test_the_run_whose_levels_are_kept_is_drawn():
    found = make.split()
    kept = dumps({"runs": 8, "levels": list(found.levels)})
    rows = [dict(row) for row in ROWS if row["arm"] == "calls"]
    rows[-1]["levels"] = kept
    _, page, body = page_of(rows, [s for s in summarise(ROWS) if s.arm == "calls"])
    (image,) = [a for tag, a, _ in page.elements if tag == "img"]
    assert image["alt"].startswith("R4  One run, level by level")
    assert "One run of splitting" in body


def test_an_arm_has_its_figures_and_the_places_that_change(summaries):
    rows = [row for row in ROWS if row["arm"] == "calls" and row["model"] == "tiny-1l"]
    chosen = [one for one in summaries if (one.arm, one.models) == ("calls", ("tiny-1l",))]
    _, page, body = page_of(rows, chosen, is_drawn=True)
    images = [a for tag, a, _ in page.elements if tag == "img"]
    assert [a["alt"].split(";")[0] for a in images] == [
        "R1  Estimate against truth, equal calls", "R2  Loss against alpha, equal calls",
        "R3  Bias and spread, equal calls",
    ]  # fmt: skip
    assert all(a["src"].startswith("data:image/svg+xml;base64,") for a in images)
    n_flips = (loss_against_alpha(rows).data["kind"] == "flip").sum()
    assert f"Where methods change places: {n_flips}" in body
    assert "Equal seconds" not in body


def test_targets_stand_with_their_truth_and_mean_estimates(both):
    _, page, body = both
    cells = [content for _, content in page.with_class("num")]
    assert "3.16 × 10⁻⁹" in cells
    assert "0" in cells
    own = [row for row in ROWS if row["token"] == 0 and row["arm"] == "calls"]
    logs = [r["log_prob"] for r in own if r["method"] == "itgis" and r["model"] == "tiny-2l"]
    assert small(math.log(sum(map(math.exp, logs)) / len(logs))) in cells
    assert HOSTILE.replace(" ", "␣") in body


def test_hostile_text_shows_as_text(both, summaries):
    html, page, _ = both
    assert "<img src=x" not in html
    data = page.data()["bench"]
    assert [one["method"] for one in data["summaries"]] == [one.method for one in summaries]
    assert data["summaries"][0]["bias"] == encode(summaries[0].bias)


def test_a_comparison_without_targets_says_so():
    _, page, _ = page_of([], [])
    (lead,) = page.with_class("lead")
    assert "nothing was compared" in lead[1]
    assert not page.with_class("methods")
