"""Tables of one model and of four, from policies whose numbers are known."""

import number_frames as make
import pandas as pd
import pytest

from likely.report.figures.calibration import Tables

MODELS = {"sharp": ("noisy_higher", 1.0), "firsty": ("first", 0.8), "flat": ("flat", 0.6),
          "right": ("calibrated", 1.0)}  # fmt: skip


def tables_of(models, *, pairs=(), bounds=False):
    items = make.two_option_items(make.COLOURS[:4], n_pairs=4)
    frames, options = [], []
    for i, name in enumerate(models):
        policy, mass = MODELS[name]
        frames.append(make.with_policy(items, policy, model=name, mass=mass))
        integers, own = make.integer_tables(name, seed=i, n_starts=3)
        frames.append(integers)
        options.append(own)
    frame = pd.concat(frames, ignore_index=True)
    named = frame[frame["family"] == "colors"]
    return Tables(
        frame=make.with_bounds(frame) if bounds else frame,
        estimates=make.estimates_of(frame),
        baselines=make.baselines_of(frame),
        cells=make.cells_of(named),
        strengths=make.strengths_of(models),
        frequency=make.frequency_of(named),
        options=pd.concat(options, ignore_index=True),
        pairs=pairs,
    )


@pytest.fixture(scope="session")
def one():
    return tables_of(["sharp"])


@pytest.fixture(scope="session")
def four():
    return tables_of(list(MODELS), pairs=(("flat", "sharp"),), bounds=True)


@pytest.fixture(scope="session")
def three():
    return tables_of(list(MODELS)[:3], bounds=True)


@pytest.fixture(scope="session")
def two():
    return tables_of(["sharp", "flat"], pairs=(("flat", "sharp"),), bounds=True)
