"""Leave-one-out: how much less likely the response is with one token gone. Unit: nats."""

from dataclasses import dataclass

from likely.attribution.baselines.method import Facts, Found, Task
from likely.attribution.removal import Deletion, Fixed, Removal, replacement_token
from likely.core.estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionMethod:
    """The token is taken out, and all that follow move one place up.

    The score is ``log Pr(response | prompt) - log Pr(response | prompt without the token)``, and
    ``inf`` where the response is impossible without it.

    Sources:
        Li, Monroe and Jurafsky (2016), "Understanding neural networks through representation
        erasure".
    """

    def run(self, task: Task) -> Found:
        """Return the scores, all of them exact."""
        return _leave_one_out(task, Deletion(), {})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacementMethod:
    """A fixed token stands in the token's place, and no other moves.

    Attributes:
        token: An id or a text of one token; see `likely.attribution.removal.replacement_token` for
            what None takes. A position that holds this very token has score 0.
    """

    token: int | str | None = None

    def run(self, task: Task) -> Found:
        """Return the scores, all of them exact."""
        token = replacement_token(task.model, self.token)
        return _leave_one_out(task, Fixed(token=token), {"token": token})


def _leave_one_out(task: Task, removal: Removal, diagnostics: Facts) -> Found:
    found = task.without([frozenset({i}) for i in task.case.positions], removal)
    whole, *without = found.log_probs.tolist()
    return Found(
        estimates=tuple(
            Estimate.exact(whole - each, unit="nats", method=removal.name) for each in without
        ),
        log_response=whole,
        removal=removal.name,
        diagnostics=diagnostics,
        cost=found.cost,
    )
