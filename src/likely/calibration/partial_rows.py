"""What a list of the likeliest tokens tells of the options of an item. Unit: probability."""

import math

import numpy as np

from likely.calibration.tables import PartialRow
from likely.core.answer_scores import AnswerPart, AnswerScore, ContextAnswers
from likely.core.model import TopTokens


def partial_row(answers: ContextAnswers, top: TopTokens) -> PartialRow:
    """Return the known and the possible mass of each option.

    A spelling of several tokens is known if each step lists its token. Where only the first does,
    the product of known steps and bounds is the option's slack; where the first does not, the
    spelling has at most what its first token has.

    Args:
        answers: The options, some of whose spellings are bounds.
        top: The list after the item's context.
    """
    shares = [_option(answer, top) for answer in answers]
    return PartialRow(
        listed=np.array([listed for listed, _, _ in shares]),
        n_unlisted=np.array([n for _, n, _ in shares], dtype=np.int64),
        cap=math.exp(top.log_prob_elsewhere),
        rest=math.exp(top.log_mass_elsewhere),
        slack=np.array([slack for _, _, slack in shares]),
    )


def _option(answer: AnswerScore, top: TopTokens) -> tuple[float, int, float]:
    """Return listed mass, number of unlisted first tokens, and slack."""
    known = [part.log_total for part in answer.parts if not part.is_bound]
    bound = [part for part in answer.parts if part.is_bound]
    unlisted = {part.tokens[0] for part in bound if not _is_listed(part, top)}
    loose = [part.log_total for part in bound if _is_listed(part, top)]
    return math.fsum(map(math.exp, known)), len(unlisted), math.fsum(map(math.exp, loose))


def _is_listed(part: AnswerPart, top: TopTokens) -> bool:
    """Return whether the list may hold the first token; a list of texts may mean another one."""
    return any(
        part.tokens[0] == token if token is not None else part.pieces[0] == piece
        for token, piece in zip(top.tokens, top.pieces, strict=True)
    )
