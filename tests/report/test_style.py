import re
from importlib.resources import files

import pytest

STYLE = files("likely.report").joinpath("templates/style.css").read_text(encoding="utf-8")


def palette(theme):
    """Return the colours of a theme by the name of their variable."""
    light, dark = re.findall(r":root \{(.*?)\}", STYLE, flags=re.S)
    return dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", light if theme == "light" else dark))


def luminance(colour):
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_the_contrast_of_wcag_aa_on_every_shade(theme):
    colours = palette(theme)
    pairs = [(f"i{n}", f"s{n}") for n in range(1, 7)]
    pairs += [(name, "paper") for name in ("ink", "soft", "first", "second", "bad")]
    pairs += [("ink", "wash"), ("soft", "wash")]
    inks = ("ink", "i2", "i4", "i5")
    pairs += [(ink, f"{side}{n}") for side in ("up", "down") for n, ink in enumerate(inks, start=1)]
    for text, ground in pairs:
        assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_shades_move_away_from_the_paper_in_lightness_alone(theme):
    colours = palette(theme)
    steps = [luminance(colours[name]) for name in ("paper", *(f"s{n}" for n in range(1, 7)))]
    if theme == "light":
        steps = steps[::-1]
    assert steps == sorted(steps)
    assert len(set(steps)) == 7


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("side", ["up", "down"])
def test_shades_of_scores_move_away_from_the_paper_on_both_sides(theme, side):
    colours = palette(theme)
    steps = [luminance(colours[name]) for name in ("paper", *(f"{side}{n}" for n in range(1, 5)))]
    if theme == "light":
        steps = steps[::-1]
    assert steps == sorted(steps)
    assert len(set(steps)) == 5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_shades_of_scores_are_as_far_on_one_side_as_on_the_other(theme):
    colours = palette(theme)
    for n in range(1, 5):
        assert contrast(colours[f"up{n}"], colours[f"down{n}"]) < 1.25


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_inks_of_scores_are_those_of_the_style(theme):
    for n, ink in enumerate(("ink", "i2", "i4", "i5"), start=1):
        for side in ("up", "down"):
            rule = rf"\.{side}{n} \{{ background: var\(--{side}{n}\); color: var\(--{ink}\)"
            assert re.search(rule, STYLE)


def test_underlines_grow_with_the_shade():
    widths = [float(re.search(rf"\.s{n} \{{.*?inset 0 -([\d.]+)px", STYLE)[1]) for n in range(1, 7)]
    assert widths == sorted(set(widths))
