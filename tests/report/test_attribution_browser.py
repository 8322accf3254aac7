import pytest
from attributed_models import exact, hostile, loose, many, translator

from likely.attribution import contrast
from likely.report.attribution_page import attribution_page
from likely.report.contrast_page import contrast_page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attributions")
    made = {"exact": exact(), "hostile": hostile(), "loose": loose()}
    made["long"] = many(made["exact"], 300)
    for name, found in made.items():
        (folder / f"{name}.html").write_text(attribution_page(found), encoding="utf-8")
    two = contrast(translator(), "say red", " rouge.", " and", groups=[(0, 1), (1,)])
    (folder / "contrast.html").write_text(contrast_page(two), encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in (*made, "contrast")}


@pytest.fixture
def opened(browser, pages):
    """Open pages; what they say to the console, or ask of the network, fails the test."""
    contexts = []
    noise = []
    asked = []

    def open_page(kind, *, width=1100, scheme="light", **options):
        context = browser.new_context(
            viewport={"width": width, "height": 844}, color_scheme=scheme, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: noise.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: noise.append(f"error: {error}"))
        page.on("dialog", lambda dialog: noise.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(pages[kind])
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert noise == []
    assert set(asked) <= {url for url in pages.values()}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1100])
@pytest.mark.parametrize("kind", ["exact", "hostile", "loose", "long", "contrast"])
def test_page_is_quiet_and_fits(opened, kind, width, scheme):
    page = opened(kind, width=width, scheme=scheme)
    for summary in page.query_selector_all("summary"):
        summary.click()
    page.locator("#t1").click()
    box = page.locator("#popup").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    assert page.evaluate("document.scrollingElement.scrollHeight") < 16000
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(252, 252, 250)", "dark": "rgb(20, 22, 26)"}[scheme]


def test_pointing_at_a_token_shows_its_numbers_and_its_share_in_the_response(opened):
    page = opened("exact")
    popup = page.locator("#popup")
    assert popup.is_hidden()
    page.locator("#t1").hover()
    text = popup.inner_text()
    for part in ("␣red", "+0.633", "exact", "Context entropy, H(q)", "1.030", "␣blue", "94.1 %"):
        assert part in text
    said = page.locator("#response-heat .said")
    assert "up2" in said.nth(0).get_attribute("class")
    assert "up" not in said.nth(1).get_attribute("class")
    page.mouse.move(5, 5)
    popup.wait_for(state="hidden")
    assert "up2" not in said.nth(0).get_attribute("class")


def test_a_tap_keeps_the_card_and_a_tap_elsewhere_closes_it(opened):
    page = opened("exact", width=390, has_touch=True, is_mobile=True)
    page.locator("#t1").tap()
    page.wait_for_timeout(250)
    popup = page.locator("#popup")
    assert popup.is_visible()
    box = popup.bounding_box()
    assert box["y"] + box["height"] == pytest.approx(844, abs=1)
    token = page.locator("#t1").bounding_box()
    assert token["y"] + token["height"] <= box["y"]  # the card does not lie on the token
    page.locator("h1").tap()
    assert popup.is_hidden()


def test_everything_can_be_reached_by_keys(opened):
    page = opened("exact")
    page.locator("#t0").focus()
    assert page.locator("#popup .head code").inner_text() == "say"
    page.keyboard.press("ArrowRight")
    assert page.locator("#popup .head code").inner_text() == "␣red"
    assert page.evaluate("document.activeElement.id") == "t1"
    assert "score +0.63 nats" in page.locator("#t1").get_attribute("aria-label")
    page.keyboard.press("Escape")
    assert page.locator("#popup").is_hidden()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("#response-heat [aria-pressed=true]").count() == 1


def test_a_token_of_the_response_colours_the_prompt_by_its_share(opened):
    page = opened("exact")
    red = page.locator("#t1")
    assert "up2" in red.get_attribute("class")
    page.locator("#response-heat .said").nth(1).click()  # the full stop owes nothing to "red"
    assert "up" not in red.get_attribute("class")
    assert "token 2 of the response" in page.locator("#status").inner_text()
    page.locator("#response-heat .said").nth(1).click()
    assert "up2" in red.get_attribute("class")


def test_buttons_change_what_colours_the_prompt(opened):
    page = opened("exact")
    page.get_by_role("button", name="context entropy").click()
    assert "s2" in page.locator("#t1").get_attribute("class")
    assert page.locator(".legend.depth").is_visible()
    assert page.locator(".legend.lean").is_hidden()
    page.get_by_role("button", name="surprisal").click()
    assert "s1" in page.locator("#t1").get_attribute("class")  # log 2
    page.get_by_role("button", name="score", exact=True).click()
    assert "up2" in page.locator("#t1").get_attribute("class")
    assert page.locator(".legend.lean").is_visible()


def test_the_table_sorts_by_number_and_comes_in_pages(opened):
    page = opened("long")
    page.locator("#numbers summary").click()
    rows = page.locator("#numbers tbody tr:visible")
    assert rows.count() == 100
    page.locator("#numbers .pager button", has_text="Next").click()
    assert rows.first.locator("td").first.inner_text() == "100"
    head = page.locator("#numbers thead button", has_text="Score").first
    head.click()
    shown = rows.locator("td:nth-child(3)").all_inner_texts()
    scores = [float(text.replace("−", "-")) for text in shown]
    assert scores == sorted(scores, reverse=True)
    assert max(scores) == pytest.approx(0.633)
    head.click()
    assert rows.first.locator("td:nth-child(3)").inner_text() in ("0.000", "−0.000")


def test_without_its_script_the_page_still_says_everything(browser, pages):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pages["exact"])
    for summary in page.query_selector_all("summary"):
        summary.click()
    text = page.inner_text("main")
    assert page.locator("#views-bar").is_hidden()
    assert page.locator("#t1").get_attribute("title") == "1 · ␣red · score +0.63 nats, exact"
    context.close()
    for part in ("+0.633", "1.030", "94.1 %", "+0.63"):
        assert part in text


def test_print_shows_every_row_and_no_controls(opened):
    page = opened("long")
    page.locator("#numbers summary").click()
    page.emulate_media(media="print")
    assert page.locator("#numbers tbody tr:visible").count() == 300
    assert page.locator("#numbers .pager").is_hidden()
    assert page.locator("#views-bar").is_hidden()


def test_a_contrast_shows_both_responses_and_every_token_of_a_group(opened):
    page = opened("contrast")
    page.locator("#t0").hover()
    text = page.locator("#popup").inner_text()
    for part in ("positions 0,1", "Difference", "Score, the other", "Given the rest of the prompt"):
        assert part in text
    assert page.locator("#prompt-heat .on").count() == 2
    said = page.locator("#response-heat .said")
    assert said.count() == 3
    page.mouse.move(5, 5)
    said.nth(2).click()
    assert "token 1 of the other" in page.locator("#status").inner_text()
    page.get_by_role("button", name="score for the other").click()
    assert "other response alone" in page.locator("#status").inner_text()
