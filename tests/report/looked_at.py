"""What a page is like in a browser: what it loads and says, whether it fits, how it looks."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A page with all its parts unfolded: requests and complaints, and what sticks out."""

    noise: list[str]
    fits: bool
    overflowing: list[str]
    height: int
    ground: str


def look_at(browser, address, *, width, scheme):
    """Return what an address is like, ``width`` pixels wide, in a light or a dark scheme."""
    context = browser.new_context(
        viewport={"width": width, "height": 844}, color_scheme=scheme, device_scale_factor=1
    )
    page = context.new_page()
    noise = []
    page.on("console", lambda message: noise.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: noise.append(f"error: {error}"))
    page.on("dialog", lambda dialog: noise.append(f"dialog: {dialog.message}"))
    page.on("requestfailed", lambda request: noise.append(f"failed: {request.url}"))
    page.on("request", lambda request: noise.append(request.url))
    page.goto(address)
    for summary in page.query_selector_all("summary"):
        summary.click()
    page.wait_for_load_state("networkidle")
    found = Look(
        noise=noise,
        fits=page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"),
        overflowing=page.evaluate(
            """[...document.querySelectorAll("main > section > *, header > *")]
             .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML)"""
        ),
        height=page.evaluate("document.scrollingElement.scrollHeight"),
        ground=page.evaluate("getComputedStyle(document.body).backgroundColor"),
    )
    context.close()
    return found
