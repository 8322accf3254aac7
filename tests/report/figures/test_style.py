import itertools

import pytest

from likely.report.figures.style import PALETTE, colour, ink_on, lighten, marker


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


def test_colour_and_shape_together_name_up_to_64_series():
    looks = {(colour(i), marker(i)) for i in range(64)}
    assert len(looks) == 64
