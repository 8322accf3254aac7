"""How far two models of the same weights are apart: is 16-bit good enough for the question asked?

Units: nats and probability.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from likely.calibration.chats import Chat
from likely.calibration.data_sets.items import Item
from likely.calibration.metrics import log_shares, measure
from likely.calibration.scoring import score_items
from likely.calibration.tables import targets
from likely.core.answer_events import WordEnd
from likely.core.estimate import Cost
from likely.core.model import LanguageModel, Settings
from likely.core.streams import generator
from likely.core.text.surfaces import Level
from likely.errors import InputError

N_RESCORED = 200
"""Items that are scored again if nothing else is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The largest differences between two models over some items.

    Attributes:
        model: Name of the one.
        reference: Name of the other.
        n_items: How many items were scored by both.
        n_undefined: Items of which one or both give no option any probability, or bounds alone;
            left out.
        log_share_difference: Nats, of an option's log share of the options' mass; ``inf`` where it
            is impossible to one model alone.
        wd01_difference: Of the total variation between shares and ideal law.
        cost: Of both.
    """

    model: str
    reference: str
    n_items: int
    n_undefined: int
    log_share_difference: float
    wd01_difference: float
    cost: Cost

    def summary(self) -> str:
        """Return one line for a person."""
        left_out = f", {self.n_undefined} left out" if self.n_undefined else ""
        return (
            f"{self.model} and {self.reference} on {self.n_items} items{left_out}: log shares "
            f"differ by at most {self.log_share_difference:.2g} nats, wd01 by at most "
            f"{self.wd01_difference:.2g}"
        )


def agreement(
    model: LanguageModel,
    reference: LanguageModel,
    items: Sequence[Item],
    *,
    n: int = N_RESCORED,
    seed: int = 0,
    level: Level = "paper",
    word_end: WordEnd = "auto",
    chat: Chat = "none",
    wrapper: str | None = None,
    settings: Settings | None = None,
) -> Agreement:
    """Return how far two models are apart on random items.

    Args:
        model: Any model, such as one in 16 bit.
        reference: Another, such as the same weights in 32 bit.
        items: A data set.
        n: Items drawn without replacement; all of them if there are fewer.
        seed: Of the draw.
        level: As in `score_items`.
        word_end: As in `score_items`.
        chat: As in `score_items`.
        wrapper: As in `score_items`.
        settings: How to evaluate.

    Raises:
        InputError: ``n`` below 1, or no items.
        NumericalError: As `score_items`.
    """
    drawn = draw_items(items, n, rng=generator(seed, "calibration", "rescoring"))
    ours, theirs = (
        score_items(
            either, drawn, level=level, word_end=word_end, chat=chat, wrapper=wrapper,
            settings=settings,
        )
        for either in (model, reference)
    )  # fmt: skip
    asked = targets(drawn)
    ours_wd01, theirs_wd01 = (measure(asked, each.masses)["wd01"] for each in (ours, theirs))
    wd01_gaps = np.abs(ours_wd01 - theirs_wd01)
    is_known = ~np.isnan(wd01_gaps)
    return Agreement(
        model=model.info.name,
        reference=reference.info.name,
        n_items=len(drawn),
        n_undefined=int((~is_known).sum()),
        log_share_difference=_largest_gap(
            log_shares(ours.masses), log_shares(theirs.masses), is_known[asked.item_of]
        ),
        wd01_difference=float(wd01_gaps.max(initial=0.0, where=is_known)),
        cost=ours.cost + theirs.cost,
    )


def draw_items(items: Sequence[Item], n: int, *, rng: np.random.Generator) -> list[Item]:
    """Return some items in their order, drawn without replacement; all if there are fewer.

    Raises:
        InputError: ``n`` below 1, or no items.
    """
    if n < 1 or not items:
        raise InputError(f"at least 1 item is scored again, got n={n!r} of {len(items)} items")
    chosen = rng.choice(len(items), size=min(n, len(items)), replace=False)
    return [items[i] for i in sorted(chosen.tolist())]


def _largest_gap(
    ours: Float[np.ndarray, "M"], theirs: Float[np.ndarray, "M"], is_known: Bool[np.ndarray, "M"]
) -> float:
    a, b = ours[is_known], theirs[is_known]
    is_both_impossible = np.isneginf(a) & np.isneginf(b)
    a, b = a[~is_both_impossible], b[~is_both_impossible]
    return float(np.abs(a - b).max(initial=0.0))
