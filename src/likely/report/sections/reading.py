"""How the model reads a text: surprisal, entropy, and what it expected. Unit: bits, from nats."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from likely.core.estimate import Cost
from likely.core.model import Capability, LanguageModel
from likely.core.results import TextScore
from likely.core.scoring import next_tokens, surprisal, top_tokens
from likely.errors import CapabilityError, InputError
from likely.report import chart
from likely.report.candidates import (
    Choice,
    Expectation,
    choose_positions,
    from_row,
    from_top,
    prefix_of,
)
from likely.report.display import surprisal_bits, to_bits
from likely.report.heatmap import EDGES_BITS, cut_pieces
from likely.report.passage import Passage, load_passage
from likely.report.render import render
from likely.report.section import Job, Section
from likely.report.totals import add_up

_N_CANDIDATES = 6
_N_EACH = {"smoke": 2, "full": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """The figure of surprisal and entropy by position, as paths for the page.

    Attributes:
        frame: Its box; values in bits.
        stems: One upright line a scored token, as high as its surprisal.
        loose: The same for tokens of which only a bound is known, as high as the bound.
        cut: The same for tokens of probability 0, which are cut at the top.
        stair: Entropy, or an empty path where it is not known.
        marks: The chosen positions.
        supports: Effective support at each value tick that the vocabulary can reach.
    """

    frame: chart.Frame
    stems: str
    loose: str
    cut: str
    stair: str
    marks: tuple[chart.Tick, ...]
    supports: tuple[chart.Tick, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingSection:
    """A text as the model reads it.

    Attributes:
        passage: What it reads; the preset's own passage by default.
    """

    passage: Passage | None = None
    name: str = "reading"
    title: str = "How it reads a text"
    order: int = 30

    def build(self, model: LanguageModel, job: Job) -> Section:
        """Return the section; what the model cannot give is said in its place."""
        passage = self.passage or load_passage(job.preset)
        try:
            text = _read(model, passage, job)
        except (CapabilityError, InputError) as error:
            return self._notice(passage, str(error))
        if not text.n_scored:
            return self._notice(passage, "no token of it has anything before it, so none is scored")
        choices = choose_positions(text, n_each=_N_EACH[job.preset])
        expectations, cost = _expect(model, text, choices, job)
        pieces, tail = cut_pieces(text)
        totals = add_up(text)
        body = render(
            "reading.html",
            problem=None,
            passage=passage,
            text=text,
            totals=totals,
            pieces=pieces,
            tail=tail,
            edges=EDGES_BITS,
            curves=_draw(text, choices, n_vocab=model.info.n_vocab),
            expectations=expectations,
        )
        data = {
            "source": passage.source,
            "totals": totals.to_dict(),
            "text": text.to_dict() | {"censored": text.censored},
            "positions": [item.to_dict() for item in expectations],
        }
        return Section(
            name=self.name, title=self.title, body=body, data=data, cost=text.cost + cost
        )

    def _notice(self, passage: Passage, problem: str) -> Section:
        return Section(
            name=self.name,
            title=self.title,
            body=render("reading.html", problem=problem, passage=passage),
            data={"source": passage.source, "problem": problem},
        )


def _read(model: LanguageModel, passage: Passage, job: Job) -> TextScore:
    return surprisal(
        model,
        passage.text,
        window=model.info.max_tokens,
        with_entropy=Capability.NEXT_TOKEN in model.info.capabilities,
        cache=job.cache,
        meter=job.meter,
    )


def _expect(
    model: LanguageModel, text: TextScore, choices: Sequence[Choice], job: Job
) -> tuple[tuple[Expectation, ...], Cost]:
    """Return what the model expected at each chosen position; nothing if it cannot say."""
    prefixes = [prefix_of(text, choice) for choice in choices]
    if Capability.NEXT_TOKEN in model.info.capabilities:
        rows = next_tokens(model, prefixes, cache=job.cache, meter=job.meter)
        pairs = zip(choices, rows, strict=True)
        return tuple(from_row(text, c, row, k=_N_CANDIDATES) for c, row in pairs), rows[0].cost
    if Capability.TOP_TOKENS not in model.info.capabilities:
        return (), Cost()
    found = []
    cost = Cost()
    for choice, prefix in zip(choices, prefixes, strict=True):
        top, spent = top_tokens(model, prefix, _N_CANDIDATES)
        found.append(from_top(text, choice, top, n_vocab=model.info.n_vocab))
        cost = cost + spent
    return tuple(found), cost


def _draw(text: TextScore, choices: Sequence[Choice], *, n_vocab: int) -> Curves:
    heights = [surprisal_bits(x) for x in text.token_log_probs]
    entropies: list[float | None] = [None] * len(heights)
    if text.entropies is not None:
        entropies = [None if h is None else to_bits(h) for h in text.entropies]
    frame = chart.Frame.around(heights, entropies)
    told = [None if bound else x for x, bound in zip(heights, text.censored, strict=True)]
    bounds = [x if bound else None for x, bound in zip(heights, text.censored, strict=True)]
    return Curves(
        frame=frame,
        stems=chart.stems([None if x == math.inf else x for x in told], frame),
        loose=chart.stems(bounds, frame),
        cut=chart.stems([x if x == math.inf else None for x in told], frame),
        stair=chart.steps(entropies, frame),
        marks=tuple(
            chart.Tick(
                percent=frame.percent(choice.index), value=choice.index + 1.0, label=choice.letter
            )
            for choice in choices
        ),
        supports=tuple(
            chart.Tick(percent=tick.percent, value=2.0**tick.value, label=_support(tick.value))
            for tick in frame.value_ticks()
            if 2.0**tick.value <= n_vocab
        ),
    )


def _support(bits: float) -> str:
    support = 2.0**bits
    return f"{support:.3g}" if support < 100.0 else f"{support:,.0f}"


READING = ReadingSection()
