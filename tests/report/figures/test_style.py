import itertools

import pytest

from likely.report.figures.style import PALETTE, colour, ink_on, lighten, marker, panel_sheet


def luminance(shade):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shade]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("shade", PALETTE)
@pytest.mark.parametrize("share", [0.25, 0.5, 0.75, 1.0])
def test_text_on_a_shade_has_the_contrast_of_wcag_aa(shade, share):
    ground = lighten(shade, share)
    assert contrast(lighten(ink_on(ground), 1.0), ground) >= 4.2


def dichromat(shade, kind):
    """Simulate a missing cone: Viénot, Brettel and Mollon (1999), in linear RGB."""
    r, g, b = ((c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4) for c in shade)
    if kind == "protan":
        mix = 0.11238 * r + 0.88762 * g
        return mix, mix, 0.00401 * r - 0.00401 * g + b
    mix = 0.29275 * r + 0.70725 * g
    return mix, mix, -0.02234 * r + 0.02234 * g + b


@pytest.mark.parametrize("kind", ["protan", "deutan"])
def test_the_first_four_colours_stay_apart_without_a_cone(kind):
    seen = [dichromat(lighten(shade, 1.0), kind) for shade in PALETTE[:4]]
    for one, other in itertools.combinations(seen, 2):
        assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 > 0.1


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("n_columns", [2, 3])
def test_each_column_of_panels_has_its_shared_axis_named_below_the_lowest(n, n_columns):
    figure, panels = panel_sheet(
        "", "", n, each_in=2.0, foot_in=0.3, n_columns=n_columns, shared_x="x", shared_y="y"
    )
    assert len(panels) == n
    assert [axes for axes in figure.axes if axes.axison] == panels
    for i, axes in enumerate(panels):
        is_lowest, is_left = i + n_columns >= n, i % n_columns == 0
        assert axes.get_xlabel() == ("x" if is_lowest else "")
        assert axes.xaxis.get_tick_params()["labelbottom"] == is_lowest
        assert axes.get_ylabel() == ("y" if is_left else "")
        assert axes.yaxis.get_tick_params().get("labelleft", True) == is_left


def test_panels_that_share_no_axis_all_have_numbers_and_no_names():
    _, panels = panel_sheet("title", "note", 5, each_in=2.0, foot_in=0.3)
    for axes in panels:
        assert axes.get_xlabel() == axes.get_ylabel() == ""
        assert axes.xaxis.get_tick_params().get("labelbottom", True)


def test_colour_and_shape_together_name_up_to_64_series():
    looks = {(colour(i), marker(i)) for i in range(64)}
    assert len(looks) == 64
