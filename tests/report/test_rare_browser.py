"""The pages of rare events in a browser: nothing is loaded, nothing sticks out."""

import pytest
import rare_cases as make
from looked_at import look_at

from likely.core.jsonio import dumps
from likely.rare.bench.plan import BenchConfig
from likely.rare.bench.summary import summarise
from likely.rare.event import Event
from likely.report.rare_bench_page import bench_page
from likely.report.rare_page import rare_page

pytestmark = pytest.mark.browser

LONG = "</script><img src=x onerror=alert(1)>" + "x" * 300


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Write a page of each kind; return their addresses."""
    folder = tmp_path_factory.mktemp("rare")
    several = Event(name=f"{LONG} by 2 nats", steps=((1,), (2,)), above=2.0)
    found = [
        make.estimate(0.91, 0.88, 0.93, token=0), make.zero(name=LONG, warnings=(LONG,)),
        make.estimate(1e-250, 0.0, 1.0, event=several), make.split(), make.split(runs=(0.0, 1e-9)),
    ]  # fmt: skip
    methods = ("naive", "itgis")
    rows = make.rows(methods, ("tiny-1l",), laws=("hex",), seeds=1, arms=("calls",), text=LONG)
    rows[-1]["levels"] = dumps({"runs": 8, "levels": list(make.levels_of_run())})
    config = BenchConfig(methods=methods, budget=64, arms=("calls",))
    (folder / "bench.html").write_text(bench_page(rows, summarise(rows), config))
    (folder / "estimates.html").write_text(rare_page(found, make.truth()))
    return {path.stem: path.as_uri() for path in folder.iterdir()}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1100])
@pytest.mark.parametrize("kind", ["estimates", "bench"])
def test_page_is_quiet_and_fits(browser, pages, kind, width, scheme):
    seen = look_at(browser, pages[kind], width=width, scheme=scheme)
    assert [one for one in seen.noise if not one.startswith("data:image/svg+xml")] == [pages[kind]]
    assert seen.fits
    assert not seen.overflowing
    assert seen.height < 16000
