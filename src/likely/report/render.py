"""Templates to HTML: autoescape is on for every value, and a missing value is an error."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from likely.core.jsonio import dumps
from likely.core.logspace import one_in
from likely.core.text.spans import name_positions
from likely.report import chart, display

_UNSAFE_IN_SCRIPT = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def render(template: str, **values: object) -> Markup:
    """Return the HTML of a template file of this package, every value escaped.

    Args:
        template: File name in ``likely/report/templates``.
        values: What it shows.
    """
    return Markup(_environment().get_template(template).render(**values))


def render_source(source: str, **values: object) -> Markup:
    """Return the HTML of a template given as text, every value escaped.

    A section that lives in one file keeps its template there, and begins it with
    ``{% import "parts.html" as parts %}`` for the page's notices, facts and data tables.

    >>> str(render_source("<b>{{ name }}</b>", name="<i>"))
    '<b>&lt;i&gt;</b>'
    """
    return Markup(_environment().from_string(source).render(**values))


def script_json(data: object) -> Markup:
    r"""Return strict JSON that nothing inside can break out of a script element with.

    >>> str(script_json({"token": "</script>"}))
    '{"token": "\\u003c/script\\u003e"}'
    """
    return Markup(dumps(data).translate(_UNSAFE_IN_SCRIPT))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("likely.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "visible": display.visible,
        "flowing": display.flowing,
        "fixed": display.fixed,
        "signed": display.signed,
        "count": display.count,
        "probability": display.probability,
        "share": display.share,
        "small": display.small,
        "one_in": one_in,
        "magnitude": display.magnitude,
        "factor": display.factor,
        "positions": name_positions,
        "bits": display.to_bits,
        "spread": chart.spread,
        "script_json": script_json,
    }
    return environment
