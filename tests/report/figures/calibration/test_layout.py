import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from likely.report.display import fixed
from likely.report.figures.calibration.layout import place_rows, rows_of
from likely.report.figures.style import shorten


@given(st.lists(st.sampled_from("abcd"), unique=True, min_size=1), st.integers(1, 4))
def test_no_two_rows_share_a_place_and_spans_hold_their_rows(families, n_models):
    models = [f"m{i}" for i in range(n_models)]
    rows = place_rows([(f, m) for f in families for m in models])
    places = [*rows.at.values(), *rows.heads.values()]
    assert len(set(places)) == len(places)
    assert min(b - a for a, b in zip(sorted(places), sorted(places)[1:], strict=False)) >= 1.0 \
        if len(places) > 1 else True  # fmt: skip
    assert max(places) <= rows.n - 1.0
    for (family, _), y in rows.at.items():
        top, bottom = rows.spans[family]
        assert top < y < bottom
    assert bool(rows.heads) == (n_models > 1)


def test_the_rows_of_a_table_stand_where_its_pairs_do_in_its_own_order():
    table = pd.DataFrame({"family": ["dice", "colors", "dice"], "model": ["one", "two", "two"]})
    rows = rows_of(table)
    assert rows == place_rows([("dice", "one"), ("colors", "two"), ("dice", "two")])
    backwards = table.iloc[::-1]
    assert rows.places(backwards) == [
        rows.at[("dice", "two")], rows.at[("colors", "two")], rows.at[("dice", "one")],
    ]  # fmt: skip


@given(st.text(max_size=80), st.integers(4, 40))
def test_a_shortened_name_keeps_its_ends_and_fits(name, width):
    short = shorten(name, width)
    assert len(short) <= width
    assert short == name or (name.startswith(short.split("…")[0]) and "…" in short)


def test_numbers_have_a_true_minus_sign_and_no_negative_zero():
    assert [fixed(x) for x in (-0.5, -0.001, 1.0)] == ["−0.50", "0.00", "1.00"]
