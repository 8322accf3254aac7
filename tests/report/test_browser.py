import pytest
from looked_at import look_at
from measured_policies import measured
from report_models import HOSTILE, TopOnly, bigram_model, hostile_model
from small_suite import model, put_in_place

from likely import report
from likely.report.passage import Passage, load_passage
from likely.report.sections.calibration import CalibrationSection
from likely.report.sections.reading import ReadingSection

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Write one page of each kind of model; return their addresses."""
    folder = tmp_path_factory.mktemp("pages")
    full = load_passage("full").text
    evil = ReadingSection(passage=Passage(text="".join(HOSTILE * 3), source=HOSTILE[0]))
    report.build(hostile_model(), sections=["card", "self-check", evil]).write(
        folder / "hostile.html"
    )
    numbers = CalibrationSection(measure=lambda model, items, job: measured("first"))
    report.build(bigram_model(full), sections=[numbers]).write(folder / "numbers.html")
    with pytest.MonkeyPatch.context() as patch:
        put_in_place(patch)
        report.build(bigram_model(full), preset="full").write(folder / "plain.html")
        report.build(TopOnly(bigram_model(full), k=3)).write(folder / "partial.html")
        report.build(model(), preset="full", sections=["logic"]).write(folder / "beliefs.html")
    return {path.stem: path.as_uri() for path in folder.iterdir()}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("kind", ["plain", "partial", "hostile", "beliefs", "numbers"])
def test_page_is_quiet_and_fits(browser, pages, kind, width, scheme):
    seen = look_at(browser, pages[kind], width=width, scheme=scheme)
    assert seen.noise == [pages[kind]]
    assert seen.fits
    assert not seen.overflowing
    assert seen.height < 16000  # a column that is squeezed to nothing makes a very long page
    assert seen.ground == {"light": "rgb(252, 252, 250)", "dark": "rgb(20, 22, 26)"}[scheme]


def test_policy_stops_what_a_section_should_not_have_written(browser, tmp_path):
    """The policy is a second wall: a body that is trusted by mistake loads and runs nothing."""

    class Careless:
        name, title, order = "careless", "Careless", 1

        def build(self, model, job):
            source = (
                "<script>document.title = 'ran'</script>"
                '<img src="http://127.0.0.1:9/x.png" onerror="document.title = \'ran\'">'
            )
            body = report.render_source(source)
            return report.Section(name=self.name, title=self.title, body=body, data={})

    path = tmp_path / "careless.html"
    report.build(bigram_model("a b"), sections=[Careless()]).write(path)
    page = browser.new_page()
    answered = []
    page.on("response", lambda response: answered.append(response.url))
    page.goto(path.as_uri())
    title = page.title()
    page.close()
    assert title != "ran"
    assert answered == [path.as_uri()]
