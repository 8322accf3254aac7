"""Windows: every id but the first is scored once, within the window."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.core.text.windows import plan_windows
from likely.errors import InputError


@given(st.data(), st.integers(0, 200), st.integers(1, 60))
def test_each_id_is_scored_once_and_no_window_holds_too_much(data, n_ids, window):
    stride = data.draw(st.none() | st.integers(1, window))
    windows = plan_windows(n_ids, window=window, stride=stride)
    assert [i for w in windows for i in range(w.first, w.stop)] == list(range(1, n_ids))
    moved = stride or max(1, window // 2)
    for w in windows:
        assert 0 <= w.start < w.first < w.stop <= n_ids
        assert w.stop - 1 - w.start <= window  # the last id is scored and never evaluated
        if w.first > 1:
            assert w.stop - w.first <= moved
            assert w.first - w.start >= window - moved + 1
    if windows:
        assert windows[0].start == 0


@pytest.mark.parametrize(("window", "stride"), [(0, None), (4, 0), (4, 5), (-1, 1)])
def test_sizes_out_of_range_are_refused(window, stride):
    with pytest.raises(InputError):
        plan_windows(10, window=window, stride=stride)
