"""How long a job of many batches takes, foretold from those that are done. Unit: tokens."""

from dataclasses import dataclass

from likely.core.engine import Meter


@dataclass
class Forecast:
    """The meter of a whole job whose batches find out their tokens one by one.

    To count the tokens of all items first would mean to split all texts twice; items of one set
    are much alike, so a proportion does.

    Attributes:
        meter: Of the whole job.
        n_items: Of the whole job.
        n_done: Items that are done.
        asked: Tokens that the batches so far asked for.
        told: Tokens that the meter was told to expect.
    """

    meter: Meter
    n_items: int
    n_done: int = 0
    asked: int = 0
    told: int = 0

    def expect(self, tokens: int) -> None:
        """Take note of what a batch needs."""
        self.asked += tokens
        self._tell(max(self.told, self.asked))

    def advance(self, tokens: int) -> None:
        """Move the whole job on."""
        self.meter.advance(tokens)

    def settle(self, n_items: int) -> None:
        """Foretell the rest, now that a batch of so many items is done; exact after the last."""
        self.n_done += n_items
        self._tell(round(self.asked * self.n_items / self.n_done))

    def _tell(self, total: int) -> None:
        if total != self.told:
            self.meter.expect(total - self.told)
            self.told = total
