"""Margins of activations for events, with most of the vocabulary ruled out. Unit: nats.

A margin is what the best winner leads by over the best of all other tokens. Against any few of the
others it can only be larger, so an activation that falls short of a floor against the tokens that
won before falls short of it for good; the whole vocabulary is asked for the rest. Where a bound is
enough, those tokens alone are asked.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int

from likely.rare.event import Event
from likely.rare.network import Readout
from likely.rare.screening import Screen

_RIVALS = 256  # of an event that are tried first


class MarginScores:
    """The margins of states for the events of runs that advance together.

    Args:
        readout: The output layer.
        events: Of one step each; `runs` says which is whose.
        runs: Shape ``(R,)``: the event of each run.

    Attributes:
        n_scored: States that were scored so far, against some tokens or all.
        n_whole: Those of them that were scored against the whole vocabulary.
    """

    def __init__(
        self, readout: Readout, events: Sequence[Event], runs: Int[np.ndarray, "R"]
    ) -> None:
        self.readout = readout
        self.events = events
        self.runs = runs
        self.n_scored = 0
        self.n_whole = 0
        self._screen = Screen(readout)
        self._rivals: list[dict[int, int]] = [{} for _ in events]  # id to how often it was best
        self._settled: list[Int[torch.Tensor, "k"]] = []

    def __call__(
        self,
        states: Float[np.ndarray, "n D"],
        run: Int[np.ndarray, "n"],
        floor: Float[np.ndarray, "n"],
    ) -> Float[np.ndarray, "n"]:
        """Return the score of each state, `Event.scores` of its margin, exact where >= floor.

        Args:
            states: Before the final norm.
            run: Whose they are.
            floor: Elsewhere any number below the floor may come.

        Returns:
            Shape ``(n,)``; the event happens where it is 0 or more.
        """
        self.n_scored += len(states)
        with torch.inference_mode():
            unit = self.readout.normed(torch.from_numpy(states)).float()
            found = np.empty(len(states))
            kinds = self.runs[run]
            for kind in np.unique(kinds):
                rows = np.flatnonzero(kinds == kind)
                found[rows] = self._of_event(int(kind), unit[torch.from_numpy(rows)], floor[rows])
        return found

    def settle(self) -> None:
        """Fix the tokens that `upper` knows of: for each event those that were best so far."""
        self._settled = [torch.tensor(sorted(one), dtype=torch.int64) for one in self._rivals]

    def upper(
        self, states: Float[np.ndarray, "n D"], run: Int[np.ndarray, "n"]
    ) -> Float[np.ndarray, "n"]:
        """Return the score of each state by its margin over the tokens that were settled.

        Args:
            states: Before the final norm.
            run: Whose they are.

        Returns:
            Shape ``(n,)``; infinite where none is settled.
        """
        self.n_scored += len(states)
        with torch.inference_mode():
            unit = self.readout.normed(torch.from_numpy(states)).float()
            found = np.full(len(states), np.inf)
            kinds = self.runs[run]
            for kind in np.unique(kinds):
                ids, event = self._settled[kind], self.events[kind]
                if len(ids):
                    rows = np.flatnonzero(kinds == kind)
                    mine = unit[torch.from_numpy(rows)]
                    lead = self._own(mine, event) - self._logits(mine, ids).amax(dim=1)
                    found[rows] = event.scores(lead.double().numpy())
        return found

    def runner_up(
        self, states: Float[np.ndarray, "n D"], run: Int[np.ndarray, "n"]
    ) -> Int[np.ndarray, "n"]:
        """Return for each state the best token that is no winner of its event."""
        with torch.inference_mode():
            unit = self.readout.normed(torch.from_numpy(states)).float()
            found = np.empty(len(states), dtype=np.int64)
            kinds = self.runs[run]
            for kind in np.unique(kinds):
                rows = np.flatnonzero(kinds == kind)
                chosen = unit[torch.from_numpy(rows)]
                without = torch.tensor(self.events[kind].winners).expand(len(rows), -1)
                found[rows] = self._screen.best(chosen, without=without)[1].numpy()
        return found

    def _of_event(
        self, kind: int, unit: Float[torch.Tensor, "n D"], floor: Float[np.ndarray, "n"]
    ) -> Float[np.ndarray, "n"]:
        event, rivals = self.events[kind], self._rivals[kind]
        winners = torch.tensor(event.winners)
        own = self._own(unit, event)
        found = np.full(len(unit), np.inf)
        if rivals:
            against = self._logits(unit, torch.tensor(list(rivals))).amax(dim=1)
            found = event.scores((own - against).double().numpy())
        rest = np.flatnonzero(found >= floor)
        if len(rest):
            self.n_whole += len(rest)
            at = torch.from_numpy(rest)
            best, ids, _ = self._screen.best(unit[at], without=winners.expand(len(rest), -1))
            found[rest] = event.scores((own[at] - best).double().numpy())
            self._remember(rivals, ids.numpy())
        return found

    def _own(self, unit: Float[torch.Tensor, "n D"], event: Event) -> Float[torch.Tensor, "n"]:
        """Return the best winner's logit, by the same sum as rivals' so that ties are ties."""
        columns = [self._screen.logits(unit, torch.full((len(unit),), t)) for t in event.winners]
        return torch.stack(columns).amax(dim=0)

    def _logits(
        self, unit: Float[torch.Tensor, "n D"], ids: Int[torch.Tensor, "k"]
    ) -> Float[torch.Tensor, "n k"]:
        return torch.addmm(self.readout.bias[ids], unit, self.readout.weight[ids].T)

    def _remember(self, rivals: dict[int, int], ids: Int[np.ndarray, "m"]) -> None:
        """Keep the tokens that were best, the most frequent of them if they become too many."""
        for token, times in zip(*np.unique(ids, return_counts=True), strict=True):
            rivals[int(token)] = rivals.get(int(token), 0) + int(times)
        if len(rivals) > 2 * _RIVALS:
            kept = sorted(rivals, key=rivals.__getitem__, reverse=True)[:_RIVALS]
            for token in set(rivals) - set(kept):
                del rivals[token]
