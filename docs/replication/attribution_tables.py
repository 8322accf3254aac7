"""Write the tables of attribution.md from the results saved beside it.

    python docs/replication/attribution_tables.py             # put the tables into the page
    python docs/replication/attribution_tables.py --check     # fail if the page is stale

attribution_runs.py makes attribution-smollm2.json. Every number of a run that the page shows, and
every outcome, is made here; what is written by hand there has published numbers alone.
"""

import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pages import settle, table

HERE = Path(__file__).parent
PAGE = HERE / "attribution.md"
RESULT = HERE / "attribution-smollm2.json"

HELD, NOT_HELD, OPEN, NOT_RUN = "held", "**not held**", "cannot be told", "not run"
N_PROMPTS = 7
OFTEN = 15 / 35
"""Prompts of tuned models in the source whose highest token is the first one or a label."""
SMALL, LARGE = 0.1, 1.0
"""Scores that the source calls small and large, nats."""
DETERMINED = 0.9
"""Probability given all the rest from which a token counts as determined."""
LABELS = {"context", "sentence", "passage", "pass", "age", "question", "answer"}
METHODS = {
    "attribution": "Bayes' rule", "deletion": "deletion", "replacement": "replacement by a space",
    "context_cite": "ContextCite", "shapley": "Shapley", "gradient_x_input": "gradient × input",
    "integrated_gradients": "integrated gradients",
}  # fmt: skip
END_OF_TEXT = "<|endoftext|>"
"""What stood between texts in SmolLM2's first training; the BOS of the tuned model opens a turn."""
AFTER_BOS, SAME_RESPONSE = "P6 after the BOS", "P6 with that response"
"""Controls: P6 after the model's BOS, with a response that stops; and that one without the BOS."""
REMOVALS = ("deletion", "replacement", "marginal")
PUBLISHED = HERE.parents[1] / "tests" / "attribution" / "published_gpt2.json"
"""The authors' scores of gpt2 for the same prompts, to put beside."""


class Number(NamedTuple):
    """A number and the ends of its interval, both itself if it is exact."""

    value: float
    low: float
    high: float


def number(stored: object) -> Number:
    """Return what was stored: a number, or value and ends."""
    if isinstance(stored, list):
        return Number(*map(float, stored))
    return Number(*[float(stored)] * 3)  # type: ignore[arg-type]


def numbers(stored: Sequence[object]) -> list[Number]:
    """Return a column."""
    return [number(one) for one in stored]


def mean(found: Sequence[Number]) -> Number:
    """Return the mean of independent estimates; their intervals are added in quadrature."""
    n = len(found)
    value = math.fsum(one.value for one in found) / n
    below = math.sqrt(math.fsum((one.value - one.low) ** 2 for one in found)) / n
    above = math.sqrt(math.fsum((one.high - one.value) ** 2 for one in found)) / n
    return Number(value, value - below, value + above)


def spread(found: Number, digits: int = 2, *, sign: bool = True) -> str:
    """Return a number with its interval, if it has one."""
    plus = "+" if sign else ""
    value, low, high = (f"{x + 0.0:{plus}.{digits}f}" for x in found)
    return value if found.low == found.high else f"{value} [{low}, {high}]"


def shown(text: str) -> str:
    """Return a token as code, its blanks visible."""
    quoted = text.replace("\n", "⏎").replace("`", "'")
    return f"`{quoted}`" if quoted.strip() else f"`'{quoted}'`"


class Prompt:
    """What was found about one prompt."""

    def __init__(self, name: str, entry: dict) -> None:
        self.name = name
        self.entry = entry
        self.own: dict = entry["attribution"]
        self.scores = numbers(self.own["score"])
        self.text: list[str] = self.own["text"]

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def order(self) -> list[int]:
        """Places by score, the highest first."""
        return sorted(range(len(self)), key=lambda i: -self.scores[i].value)

    def column(self, name: str) -> list[Number]:
        """Return estimates of the places."""
        return numbers(self.own[name])

    def token(self, i: int) -> str:
        """Return a token with its score."""
        return f"{shown(self.text[i])} {spread(self.scores[i])}"

    def is_format(self, i: int) -> bool:
        """Return whether a token is a label, a quotation mark, colon or blank, or the first."""
        text = self.text[i].strip()
        is_mark = re.fullmatch(r"[\"“”:_.?!]*[\"“”:_][\"“”:_.?!]*", text) is not None
        return i == 0 or is_mark or text.lower() in LABELS

    def is_within_word(self, i: int) -> bool:
        """Return whether a token goes on with a word that the one before it began."""
        return (
            i > 0
            and re.match(r"['’]?[A-Za-z]", self.text[i]) is not None
            and re.search(r"[A-Za-z]$", self.text[i - 1]) is not None
        )

    def is_determined(self, i: int) -> bool:
        """Return whether all the rest tells a token."""
        return number(self.own["surprisal"][i]).value < -math.log(DETERMINED)

    def baseline(self, method: str) -> list[Number]:
        """Return the scores of another method."""
        return numbers(self.entry["baselines"]["scores"][method]["values"])

    def standing(self, i: int) -> str:
        """Return whether a token has the highest score: yes, no, or open."""
        others = [one for k, one in enumerate(self.scores) if k != i]
        if all(self.scores[i].low > one.high for one in others):
            return "yes"
        return "no" if any(one.low > self.scores[i].high for one in others) else "open"


# Tables of the runs.


def runs(prompts: Sequence[Prompt]) -> str:
    """Return a row a prompt: its response, its scores in short, what they took."""
    rows = []
    for one in prompts:
        own, order = one.own, one.order
        middle = sorted(score.value for score in one.scores)
        median = (middle[(len(one) - 1) // 2] + middle[len(one) // 2]) / 2
        rows.append(
            (
                one.name, len(one), shown(own["response"]), f"{own['log_response']:.2f}",
                one.token(order[0]), one.token(order[-1]), f"{median + 0.0:+.2f}",
                f"{sum(own['converged'])} of {len(one)}",
            )
        )  # fmt: skip
    head = ("", "m", "response", "A", "highest", "lowest", "median", "within the tolerance")
    return table(head, rows)


def costs(prompts: Sequence[Prompt]) -> str:
    """Return what the runs took, beside the authors' procedure."""
    rows = []
    for one in prompts:
        own = one.own
        times = own["reference_cost"] / own["token_evaluations"]
        rows.append(
            (
                one.name, len(one), own["n_response"], f"{own['token_evaluations']:,}",
                f"{own['reference_cost']:,}", f"{times:.0f}", f"{own['seconds']:.0f}",
                f"{own['noise']:.1e}",
            )
        )  # fmt: skip
    head = ("", "m", "R", "token evaluations", "authors' procedure", "one in", "seconds",
            "noise, nats")  # fmt: skip
    return table(head, rows)


def unsure(prompts: Sequence[Prompt]) -> str:
    """Return the positions that are not known to the tolerance, the widest first."""
    found = [
        (one, i, (one.scores[i].high - one.scores[i].low) / 2)
        for one in prompts
        for i, known in enumerate(one.own["converged"])
        if not known
    ]
    if not found:
        return "Every score is known to the tolerance."
    found.sort(key=lambda row: -row[2])
    n_all = sum(map(len, prompts))
    bins = [(0.02, "0.02"), (0.05, "0.05"), (0.1, "0.1"), (0.5, "0.5")]
    counts = ", ".join(
        f"{sum(half > limit for _, _, half in found)} over {name}" for limit, name in bins
    )
    rows = [
        (
            one.name, i, shown(one.text[i]), spread(one.scores[i]), f"{half:.2f}",
            spread(one.column("context_entropy")[i], sign=False), one.own["n_candidates"][i],
        )
        for one, i, half in found[:12]
    ]  # fmt: skip
    head = ("", "place", "token", "score", "half-width", "context entropy", "candidates")
    first = (
        f"{len(found)} of {n_all} positions have the flag; half-widths in nats: {counts}. "
        f"The widest:\n\n"
    )
    return first + table(head, rows)


# The findings, one by one.


class Outcome(NamedTuple):
    """What came of a finding, and from how many of the prompts that it is about."""

    claim: str
    here: str
    verdict: str
    n: int
    of: int = N_PROMPTS


def findings(prompts: Sequence[Prompt]) -> list[Outcome]:
    """Return the eight findings in the order of the source's numbers."""
    return [
        sparse(prompts), positive(prompts), more(prompts), mars(prompts), formats(prompts),
        narrower(prompts), pieces(prompts), distinct(prompts),
    ]  # fmt: skip


def share(scores: Sequence[Number], test: Callable[[float, float], bool | None]) -> Number:
    """Return the share of scores of which a test is true, with what it is at least and at most."""
    n = len(scores)
    value = sum(test(score.value, score.value) is True for score in scores)
    sure = sum(test(score.low, score.high) is True for score in scores)
    possible = sum(test(score.low, score.high) is not False for score in scores)
    return Number(value / n, sure / n, possible / n)


def is_small(low: float, high: float) -> bool | None:
    """Return whether a score in an interval is surely small, surely not, or None."""
    if low > -SMALL and high < SMALL:
        return True
    return False if low >= SMALL or high <= -SMALL else None


def is_large(low: float, high: float) -> bool | None:
    """Return the same of a large score."""
    return True if low > LARGE else False if high <= LARGE else None


def is_negative(low: float, high: float) -> bool | None:
    """Return the same of one that is clearly negative."""
    return True if high < -SMALL else False if low >= -SMALL else None


def percent(found: Number) -> str:
    """Return a share with its ends."""
    value, low, high = (f"{x:.0%}" for x in found)
    return value if found.low == found.high else f"{value} [{low}, {high}]"


def sparse(prompts: Sequence[Prompt]) -> Outcome:
    """Most scores are small."""
    claim = "56 to 72 % of positions have a score within ±0.1; 4 to 19 % over 1 nat"
    scores = [score for one in prompts for score in one.scores]
    small, large = share(scores, is_small), share(scores, is_large)
    verdict = HELD if small.low >= 0.56 else NOT_HELD if small.high < 0.56 else OPEN
    here = f"{percent(small)} within ±0.1; {percent(large)} over 1 nat"
    return Outcome(claim, here, verdict, len(prompts))


def positive(prompts: Sequence[Prompt]) -> Outcome:
    """The mean score is positive."""
    means = {one.name: mean(one.scores) for one in prompts}
    n_over = sum(found.low > 0 for found in means.values())
    n_under = sum(found.high < 0 for found in means.values())
    verdict = HELD if n_over == len(means) else NOT_HELD if n_under > len(means) / 2 else OPEN
    here = f"surely positive for {n_over} of {len(means)} prompts, surely negative for {n_under}"
    claim = "the mean score of a prompt is positive in 55 of 56 cells of model and prompt"
    return Outcome(claim, here, verdict, len(prompts))


def top_token(prompts: Sequence[Prompt], name: str, token: str) -> tuple[Prompt, int, str] | None:
    """Return the last place of a token in a prompt, and whether it is the highest."""
    for one in prompts:
        if one.name == name and token in one.text:
            place = len(one) - 1 - one.text[::-1].index(token)
            return one, place, one.standing(place)
    return None


STANDING = {"yes": "the highest score", "no": "not the highest", "open": "among the highest"}


def more(prompts: Sequence[Prompt]) -> Outcome:
    """` more` is the top token of P3."""
    claim = "P3: ` more` has the highest score in all 8 models, 2.6 to 8.2 nats"
    found = top_token(prompts, "P3", " more")
    if found is None:
        return Outcome(claim, "–", NOT_RUN, 0, 1)
    one, place, standing = found
    here = f"{one.token(place)}, {STANDING[standing]}; response {shown(one.own['response'])}"
    return Outcome(claim, here, {"yes": HELD, "no": NOT_HELD, "open": OPEN}[standing], 1, 1)


def mars(prompts: Sequence[Prompt]) -> Outcome:
    """` Mars` is the top token of P6 where the answer used it."""
    claim = (
        "P6: ` Mars` has the highest score in 5 of 8 models, 4.1 to 9.6 nats, and a negative one "
        "where the answer ignores the premise"
    )
    found = top_token(prompts, "P6", " Mars")
    if found is None:
        return Outcome(claim, "–", NOT_RUN, 0, 1)
    one, place, standing = found
    here = f"{one.token(place)}, {STANDING[standing]}"
    if one.order[0] != place:
        here += f" (that is {one.token(one.order[0])})"
    here += f"; response {shown(one.own['response'])}"
    return Outcome(claim, here, {"yes": HELD, "no": NOT_HELD, "open": OPEN}[standing], 1, 1)


def formats(prompts: Sequence[Prompt]) -> Outcome:
    """Labels, their marks and first tokens have the largest scores."""
    claim = (
        "the first token or a label (`Context`, `Sentence`, ...) has the highest score in 15 of "
        "35 cells of tuned models, 1 of 21 of base ones"
    )
    n = len(prompts)
    tops = [
        {one.standing(i) for i in range(len(one)) if one.is_format(i)} - {"no"} for one in prompts
    ]
    n_sure, n_possible = sum("yes" in top for top in tops), sum(bool(top) for top in tops)
    _, part, expected = format_shares(prompts)
    counted = f"{n_sure}" if n_sure == n_possible else f"{n_sure} to {n_possible}"
    here = (
        f"{counted} of {n} prompts; such tokens are {expected:.0%} of all and have {part:.0%} of "
        "the positive score"
    )
    verdict = HELD if n_sure >= OFTEN * n else NOT_HELD if n_possible < OFTEN * n else OPEN
    return Outcome(claim, here, verdict, n)


def format_shares(prompts: Sequence[Prompt]) -> tuple[int, float, float]:
    """Return how many format tokens there are, and their part of score and of tokens."""
    own = [
        (one.is_format(i), max(0.0, one.scores[i].value))
        for one in prompts
        for i in range(len(one))
    ]
    n = sum(is_format for is_format, _ in own)
    total = math.fsum(score for _, score in own)
    return n, math.fsum(score for is_format, score in own if is_format) / total, n / len(own)


def laws(one: Prompt) -> tuple[dict, dict] | None:
    """Return what was found with substitutes from q^r and from q, if both are there."""
    found = one.entry.get("replacement_qr"), one.entry.get("replacement_q")
    return found if all(found) else None  # type: ignore[return-value]


def entropies(prompts: Sequence[Prompt], kind: str) -> tuple[Number, Number] | None:
    """Return the mean entropies over all positions; ends of bounds are averaged, not added up."""
    both = [found for one in prompts if (found := laws(one))]
    if not both:
        return None
    columns = ([x for found in both for x in numbers(found[k][kind])] for k in (0, 1))
    means = [
        Number(*(math.fsum(end) / len(end) for end in zip(*column, strict=True)))
        for column in columns
    ]
    return means[0], means[1]


def ratio(over: Number, under: Number) -> Number:
    """Return one over the other, at worst at either end."""

    def part(x: float, y: float) -> float:
        return x / y if y else math.inf

    return Number(
        part(over.value, under.value), part(over.low, under.high), part(over.high, under.low)
    )


def narrower(prompts: Sequence[Prompt]) -> Outcome:
    """Substitutes chosen by q^r have less replacement entropy."""
    claim = "replacement entropy with q^r is 0.39 to 0.64 of that with q"
    found = entropies(prompts, "count_entropy")
    if found is None:
        return Outcome(claim, "–", NOT_RUN, 0)
    part = ratio(*found)
    if part.low >= 1.0:
        verdict = NOT_HELD
    elif part.high >= 1.0:
        verdict = OPEN
    else:
        verdict = "held in direction, less than there" if part.low > 0.64 else HELD
    n = sum(laws(one) is not None for one in prompts)
    return Outcome(claim, f"{spread(part, sign=False)} over {n_replaced(prompts)}", verdict, n)


def n_replaced(prompts: Sequence[Prompt]) -> str:
    """Return how many positions have substitutes tried under both laws."""
    done = [one for one in prompts if laws(one)]
    return f"{sum(map(len, done))} positions"


def within(prompts: Sequence[Prompt]) -> Iterator[tuple[Prompt, int]]:
    """Yield the places that go on with a word."""
    for one in prompts:
        for i in range(len(one)):
            if one.is_within_word(i):
                yield one, i


def pieces(prompts: Sequence[Prompt]) -> Outcome:
    """Pieces within a word have scores near 0, and the bound says why."""
    claim = "pieces within a word, and other determined tokens, have scores of about 0"
    determined = [one.scores[i] for one in prompts for i in range(len(one)) if one.is_determined(i)]
    if not determined:
        return Outcome(claim, f"no token has q over {DETERMINED}", OPEN, len(prompts))
    low, high = (end(score.value for score in determined) for end in (min, max))
    surely = all(is_small(score.low, score.high) is True for score in determined)
    clearly_not = any(is_small(score.low, score.high) is False for score in determined)
    places = list(within(prompts))
    n_known = sum(one.is_determined(i) for one, i in places)
    here = (
        f"{len(determined)} tokens have q over {DETERMINED}, with scores from {low:+.2f} to "
        f"{high:+.2f}"
    )
    if places:
        here += f"; of {len(places)} pieces within a word {n_known} are such"
    verdict = HELD if surely else NOT_HELD if clearly_not else OPEN
    return Outcome(claim, here, verdict, len(prompts))


def distinct(prompts: Sequence[Prompt]) -> Outcome:
    """Drawn responses nearly all differ at top-p 0.4."""
    claim = (
        "gpt2: 200 of 200 responses differ at top-p 0.4 for 6 of 7 prompts; one alone at 0.1 (P2)"
    )
    counts = [
        (cut["n_distinct"], cut["n"])
        for one in prompts
        for cut in one.entry.get("stability", {}).get("cuts", [])
        if cut["top_p"] == 0.4
    ]
    if not counts:
        return Outcome(claim, "–", NOT_RUN, 0)
    n_all = sum(found == n for found, n in counts)
    low, high = min(counts)[0], max(counts)[0]
    each = f"{low}" if low == high else f"{low} to {high}"
    here = f"{n_all} of {len(counts)} prompts; {each} of 200 differ"
    verdict = HELD if n_all > len(counts) / 2 else NOT_HELD
    return Outcome(claim, here, verdict, len(counts))


def finding_table(prompts: Sequence[Prompt]) -> str:
    """Return claims, what came out, and outcomes."""
    rows = [
        (i, found.claim, found.here, found.verdict, f"{found.n} of {found.of}")
        for i, found in enumerate(findings(prompts), start=1)
    ]
    return table(("", "the source", "SmolLM2", "outcome", "prompts run"), rows)


def published(name: str) -> list[Number]:
    """Return the authors' scores of gpt2 for a prompt."""
    return numbers(json.loads(PUBLISHED.read_text("utf-8"))["prompts"][name]["AS"])


def sparse_table(prompts: Sequence[Prompt]) -> str:
    """Return shares of small, large and negative scores by prompt, and gpt2's."""
    tests = (is_small, is_large, is_negative)
    rows = []
    for label, own in [*((one.name, [one]) for one in prompts), ("all", prompts)]:
        ours = [score for one in own for score in one.scores]
        theirs = [score for one in own for score in published(one.name)]
        rows.append(
            (
                label, len(ours), *(percent(share(ours, test)) for test in tests),
                len(theirs), *(percent(share(theirs, test)) for test in tests),
            )
        )  # fmt: skip
    kinds = ("within ±0.1", "over 1", "under −0.1")
    return table(("", "m", *kinds, "gpt2's m", *(f"gpt2: {kind}" for kind in kinds)), rows)


def mean_table(prompts: Sequence[Prompt]) -> str:
    """Return the mean score of each prompt, what its top tenth has of it, and gpt2's."""
    rows = []
    for one in prompts:
        rest = sorted(one.scores, key=lambda score: -score.value)[top_tenth(one.scores)[0] :]
        n_top, part = top_tenth(one.scores)
        theirs = published(one.name)
        rows.append(
            (
                one.name, spread(mean(one.scores), 3), spread(mean(theirs), 3),
                spread(mean(one.column("information")), 3, sign=False), n_top, part,
                top_tenth(theirs)[1], spread(mean(rest), 3),
                sum(score.high < 0 for score in one.scores),
                sum(score.low > 0 for score in one.scores),
            )
        )  # fmt: skip
    head = ("", "mean score", "gpt2's", "mean KL(q^r ‖ q)", "top tenth: tokens",
            "its part of the sum", "gpt2's part", "mean without it", "surely < 0",
            "surely > 0")  # fmt: skip
    return table(head, rows)


def top_tenth(scores: Sequence[Number]) -> tuple[int, str]:
    """Return how many tokens the top tenth is, at least one, and its part of the sum."""
    values = sorted((score.value for score in scores), reverse=True)
    n, total = max(1, len(values) // 10), math.fsum(values)
    return n, f"{math.fsum(values[:n]) / total:.0%}" if total > 0 else "–"


def token_table(prompts: Sequence[Prompt], name: str, k: int | None = None) -> str:
    """Return the tokens of a prompt with what else might stand there; the highest k if given."""
    found = [one for one in prompts if one.name == name]
    if not found:
        return NOT_RUN.capitalize() + "."
    one = found[0]
    said = f"Response {shown(one.own['response'])}, A {one.own['log_response']:.2f}.\n\n"
    places = range(len(one)) if k is None else one.order[:k]
    surprisals, entropy = one.column("surprisal"), one.column("context_entropy")
    after = one.column("response_entropy")
    rows = [
        (
            i, shown(one.text[i]), spread(one.scores[i]), spread(surprisals[i], sign=False),
            spread(entropy[i], sign=False), spread(after[i], sign=False),
            others(one.own["substitutes"][i]), others(one.own["substitutes_response"][i]),
        )
        for i in places
    ]  # fmt: skip
    head = ("", "token", "score", "−log q", "H(q)", "H(q^r)", "likeliest under q", "under q^r")
    return said + table(head, rows)


def parts(prompts: Sequence[Prompt], name: str) -> str:
    """Return which response tokens the highest scores of a prompt come from."""
    found = [one for one in prompts if one.name == name]
    if not found:
        return NOT_RUN.capitalize() + "."
    own = found[0].own
    rows = []
    for i, row in own["rows"].items():
        order = sorted(range(len(row)), key=lambda t: -abs(row[t]))[:4]
        rest = math.fsum(row) - math.fsum(row[t] for t in order)
        cells = ", ".join(
            f"{shown(own['response_pieces'][t])} {round(row[t], 2) + 0.0:+.2f}" for t in order
        )
        rows.append((found[0].token(int(i)), cells, f"{round(rest, 2) + 0.0:+.2f}"))
    return table(("token", "from the response's", "from all others"), rows)


def others(found: Sequence[Sequence]) -> str:
    """Return substitutes with their probabilities."""
    return ", ".join(f"{shown(text)} {prob:.2f}" for text, prob, _ in found)


def top_table(prompts: Sequence[Prompt]) -> str:
    """Return the three highest tokens of each prompt, and what format tokens carry."""
    rows = []
    for one in prompts:
        n, share, expected = format_shares([one])
        cells = [one.token(i) + (" (format)" if one.is_format(i) else "") for i in one.order[:3]]
        rows.append((one.name, *cells, f"{n} of {len(one)}", f"{expected:.0%}", f"{share:.0%}"))
    head = ("", "highest", "second", "third", "format tokens", "of the tokens",
            "of the positive score")  # fmt: skip
    return table(head, rows)


def replacement_table(prompts: Sequence[Prompt]) -> str:
    """Return what substitutes do, by prompt and law."""
    done = [one for one in prompts if laws(one)]
    if not done:
        return NOT_RUN.capitalize() + "."
    rows = []
    for name, group in [*((one.name, [one]) for one in done), ("all", done)]:
        for key, label in (("replacement_q", "q"), ("replacement_qr", "q^r")):
            own = [one.entry[key] for one in group]
            size = [n for found in own for n in found["n_set"]]
            tried = [n for found in own for n in found["n_tried"]]
            means = [plain_mean(x for found in own for x in numbers(found[kind]))
                     for kind in ("count_entropy", "weighted_entropy", "stability")]  # fmt: skip
            same = [
                number(n).value / k
                for found in own
                for n, k in zip(found["n_reproducing"], found["n_set"], strict=True)
            ]
            rows.append(
                (
                    name, label, len(size), f"{sorted(size)[len(size) // 2]} / {max(size)}",
                    f"{sum(n == 1 for n in size) / len(size):.0%}",
                    sum(k < n for n, k in zip(size, tried, strict=True)),
                    sum(not x for found in own for x in found["reached"]),
                    *(spread(x, sign=False) for x in means),
                    f"{math.fsum(same) / len(same):.2f}",
                )
            )  # fmt: skip
    head = ("", "set by", "positions", "set: median / largest", "of one", "cut", "short of 90 %",
            "count entropy", "weighted entropy", "stability", "reproducing")  # fmt: skip
    return table(head, rows)


def plain_mean(found: Iterator[Number]) -> Number:
    """Return the mean of bounds: ends are averaged, since nothing says that errors cancel."""
    columns = list(zip(*found, strict=True))
    return Number(*(math.fsum(column) / len(column) for column in columns))


def ratio_lines(prompts: Sequence[Prompt]) -> str:
    """Return the ratios of both entropies, and how much of the sets' room each takes."""
    lines = []
    for kind, label in (("count_entropy", "count"), ("weighted_entropy", "weighted")):
        found = entropies(prompts, kind)
        if found is None:
            return NOT_RUN.capitalize() + "."
        over, under = found
        lines.append(
            f"* {label} entropy: {spread(over, sign=False)} with q^r, {spread(under, sign=False)} "
            f"with q, ratio {spread(ratio(over, under), sign=False)}"
        )
    for key, label in (("replacement_qr", "q^r"), ("replacement_q", "q")):
        own = [one.entry[key] for one in prompts if laws(one)]
        room = [math.log(n) for found in own for n in found["n_set"]]
        count = [x.value for found in own for x in numbers(found["count_entropy"])]
        if not sum(room):
            continue
        lines.append(
            f"* sets by {label}: mean log size {math.fsum(room) / len(room):.2f}, of which the "
            f"count entropy takes {math.fsum(count) / math.fsum(room):.0%}"
        )
    return "\n".join(lines)


def within_table(prompts: Sequence[Prompt]) -> str:
    """Return the pieces within a word beside the bound on their scores."""
    rows = []
    for one, i in within(prompts):
        surprisal = one.column("surprisal")[i]
        rows.append(
            (
                one.name, shown(one.text[i - 1] + "|" + one.text[i]),
                f"{math.exp(-surprisal.value):.4f}", spread(surprisal, 3, sign=False),
                spread(one.scores[i], 3), f"{math.exp(-one.own['left_surprisal'][i]):.4f}",
            )
        )  # fmt: skip
    if not rows:
        return "None."
    head = ("", "piece", "q", "bound −log q", "score", "left prior w")
    return table(head, rows)


def stability_table(prompts: Sequence[Prompt]) -> str:
    """Return how drawn responses vary."""
    rows = [
        (
            one.name, cut["top_p"], f"{cut['n_distinct']} of {cut['n']}",
            spread(number(cut["entropy"]), sign=False), f"{cut['count_entropy'] + 0.0:.3f}",
            f"{number(cut['greedy_prob']).value:.3g}",
            f"{shown(cut['modal_text'][:80])} {cut['modal_count']}×",
        )
        for one in prompts
        for cut in one.entry.get("stability", {}).get("cuts", [])
    ]  # fmt: skip
    if not rows:
        return NOT_RUN.capitalize() + "."
    head = ("", "top-p", "distinct", "entropy of the law", "of counts", "greedy response",
            "most frequent")  # fmt: skip
    return table(head, rows)


def correlation_table(prompts: Sequence[Prompt]) -> str:
    """Return the rank correlation of every method with the scores by Bayes' rule."""
    done = [one for one in prompts if "baselines" in one.entry]
    if not done:
        return NOT_RUN.capitalize() + "."
    rows = []
    for method in list(METHODS)[1:]:
        cells = []
        for one in done:
            (test,) = (
                x for x in one.entry["baselines"]["tests"]
                if (x["label"], x["removal"]) == (method, "deletion")
            )  # fmt: skip
            found = test["correlation"]
            flags = one.entry["baselines"]["scores"][method]["flags"]
            mark = " *" if flags else ""
            cells.append("–" if found is None else spread(number(found)) + mark)
        rows.append((METHODS[method], *cells))
    return table(("", *(f"{one.name} (m = {len(one)})" for one in done)), rows)


def determined_table(prompts: Sequence[Prompt]) -> str:
    """Return how large scores are at determined tokens and at others, by method."""
    done = [one for one in prompts if "baselines" in one.entry]
    if not done:
        return NOT_RUN.capitalize() + "."
    known = [one.is_determined(i) for one in done for i in range(len(one))]
    if not any(known):
        return f"No token of these prompts has q over {DETERMINED}."
    rows = []
    for method, label in METHODS.items():
        scores = [
            abs(score.value)
            for one in done
            for score in (one.scores if method == "attribution" else one.baseline(method))
        ]
        sums = [
            [score for score, is_known in zip(scores, known, strict=True) if is_known is which]
            for which in (True, False)
        ]
        rows.append((label, *(f"{math.fsum(x) / len(x):.2f}" for x in sums)))
    head = ("", f"determined ({sum(known)} tokens)", f"others ({len(known) - sum(known)})")
    return table(head, rows)


def best_methods(prompts: Sequence[Prompt], averaged: Sequence[dict]) -> str:
    """Return which scores do best under each removal."""
    tests = faithfulness(prompts, averaged)
    lines = []
    for removal in REMOVALS:
        own = {label: tests[label, removal][0] for label in METHODS if (label, removal) in tests}
        if not own:
            continue
        low = min(own, key=lambda label: number(own[label]["deletion_log_area"]).value)
        high = max(own, key=lambda label: number(own[label]["insertion_log_area"]).value)
        lines.append(
            f"* taken out by {removal}: lowest deletion area {METHODS[low]}, highest insertion "
            f"area {METHODS[high]}"
        )
    return "\n".join(lines) if lines else NOT_RUN.capitalize() + "."


def faithfulness(
    prompts: Sequence[Prompt], averaged: Sequence[dict]
) -> dict[tuple[str, str], tuple[dict, int]]:
    """Return numbers by method and removal: means, or one prompt's, with how many it is of."""
    found = {(x["label"], x["removal"]): (x, x["n"]) for x in averaged}
    for one in prompts:
        for test in one.entry.get("baselines", {}).get("tests", []):
            found.setdefault((test["label"], test["removal"]), (test, 1))
    return found


def faithfulness_table(prompts: Sequence[Prompt], averaged: Sequence[dict]) -> str:
    """Return how faithful each method is under each removal: means, or one prompt's numbers."""
    tests = faithfulness(prompts, averaged)
    numbers_of = (
        ("deletion_log_area", True), ("insertion_log_area", True), ("drop_1", True),
        ("drop_3", True),
    )  # fmt: skip
    rows = []
    for removal in REMOVALS:
        for method, label in METHODS.items():
            if (method, removal) in tests:
                test, n = tests[method, removal]
                cells = [
                    "–" if test.get(name) is None else spread(number(test[name]), sign=sign)
                    for name, sign in numbers_of
                ]
                rows.append((removal, label, n, *cells))
    if not rows:
        return NOT_RUN.capitalize() + "."
    head = ("tokens taken out by", "scores", "prompts", "deletion log area (low is good)",
            "insertion log area (high is good)", "drop of the top 1, nats", "of the top 3",
    )  # fmt: skip
    return table(head, rows)


def variant_table(prompts: Sequence[Prompt]) -> str:
    """Return how far the source's ways of computing would move A."""
    rows = []
    for one in prompts:
        own = one.entry.get("variants")
        if own is None:
            continue
        again = own["read_anew"]
        rows.append(
            (
                one.name, f"{one.own['log_response']:.3f}",
                "same ids" if again is None else f"{again:+.2f}", f"{own['twice']:+.3f}",
                f"{own['bos_response']:+.2f}", f"{own['bos_prompt']:+.2f}",
                f"{own['bfloat16_response']:+.3f}", f"{own['bfloat16_prompt']:+.3f}",
                f"{one.own['noise']:.1e}", shown(own["chat_response"]),
            )
        )  # fmt: skip
    if not rows:
        return NOT_RUN.capitalize() + "."
    head = ("", "A", "A, response read anew from its text", "A, a second `<|endoftext|>`",
            r"A after the BOS", "prompt's log-probability after it", "A in bfloat16",
            "prompt's log-probability in bfloat16", "A in a batch of candidates",
            "response under the chat template")  # fmt: skip
    return table(head, rows)


def spanned(values: Sequence[float]) -> str:
    """Return the range of values."""
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return low if low == high else f"{low} to {high}"


def before_table(prompts: Sequence[Prompt]) -> str:
    """Return what the BOS costs the prompts."""
    costs = [-one.entry["variants"]["bos_prompt"] for one in prompts if "variants" in one.entry]
    if not costs:
        return NOT_RUN.capitalize() + "."
    n_less = sum(cost > 0 for cost in costs)
    return (
        f"{n_less} of {len(costs)} prompts are less likely after the BOS than after "
        f"`{END_OF_TEXT}`, by {spanned(costs)} nats."
    )


def last_place(prompts: Sequence[Prompt]) -> str:
    """Return log D at the last position, which is 0 where no candidate is missing."""
    found = [one.column("log_prompt_likelihood")[-1] for one in prompts]
    excluded = max(one.own["excluded_mass"] for one in prompts)
    cells = ", ".join(f"{one.name} {spread(x, 4)}" for one, x in zip(prompts, found, strict=True))
    return (
        f"log D at the last position, which must be 0: {cells}. Largest prior mass of ids that "
        f"were no candidates: {excluded:.1e}."
    )


def tables(result: dict) -> dict[str, str]:
    """Return the tables by the name that the page calls them by."""
    every = [Prompt(name, entry) for name, entry in result["prompts"].items()]
    prompts = [one for one in every if one.name not in (AFTER_BOS, SAME_RESPONSE)]
    return {
        "findings": finding_table(prompts),
        "runs": runs(prompts),
        "unsure": unsure(prompts),
        "costs": costs(prompts),
        "sparse": sparse_table(prompts),
        "means": mean_table(prompts),
        "p3": token_table(prompts, "P3", 5),
        "p6": token_table(prompts, "P6"),
        "bos": token_table(every, AFTER_BOS),
        "parts": parts(prompts, "P6"),
        "before": before_table(prompts),
        "same": token_table(every, SAME_RESPONSE),
        "tops": top_table(prompts),
        "replacement": replacement_table(prompts),
        "ratios": ratio_lines(prompts),
        "within": within_table(prompts),
        "stability": stability_table(prompts),
        "correlations": correlation_table(prompts),
        "determined": determined_table(prompts),
        "faithfulness": faithfulness_table(prompts, result["faithfulness"]),
        "best": best_methods(prompts, result["faithfulness"]),
        "variants": variant_table(prompts),
        "last": last_place(prompts),
    }


def main(arguments: Sequence[str]) -> None:
    """Do what the arguments say."""
    settle(PAGE, tables(json.loads(RESULT.read_text("utf-8"))), arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
