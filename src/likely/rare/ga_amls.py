"""The method ``ga-amls``: splitting under a law that is fitted to activations. Unit: nats.

Inputs are read once, a law is fitted to their last states, and the small probability that a state
of that law makes the event happen is split into a product of larger ones. No input is read again
and no gradient of the model is taken, so a budget is what the fit is made from. Splitting is
unbiased under the fitted law; how far that law misses the true one is checked where the sample can
tell, and no interval covers it beyond.

Source: arXiv 2607.18454, completed and corrected as sections b7 to b10 of the specification say:
levels and step sizes are frozen after a pilot, the share of survivors is counted, and particles
also change their length, without which heavy tails are missed by orders of magnitude.
"""

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from likely.errors import InputError
from likely.rare.activations import Activations, collect
from likely.rare.last_place import collect_by_last_place, serves
from likely.rare.margin_scores import MarginScores
from likely.rare.method import Task
from likely.rare.network import Readout
from likely.rare.prior.fit import fit_prior
from likely.rare.prior.grouped_fit import fit_grouped
from likely.rare.prior.options import FitOptions
from likely.rare.prior.protocol import FitRecord, Latent
from likely.rare.result import Found, Quantity, Spent
from likely.rare.splitting.bulk import with_bulk
from likely.rare.splitting.config import Mode, SplittingConfig
from likely.rare.splitting.drive import split
from likely.rare.splitting.records import Splitting
from likely.rare.splitting_answer import splitting_answer

STARTS = ("prior", "empirical")
LAST_PLACE = "last_place"


@dataclass(frozen=True, slots=True, kw_only=True)
class GaAmls:
    """Splits the probability of each event under a law fitted to activations.

    Attributes:
        prior: Law that is fitted. ``last_place``: given the token of the last place that varies,
            whose own law is known; it needs independent places and four inputs for each such
            token. ``student``, ``gaussian``, ``student_mixture``, ``gaussian_mixture`` or
            ``marginals``: of all states alike. ``auto``: ``last_place`` where it can be fitted,
            else ``student``.
        kernel: How particles move: ``aug``, ``mala_radial``, or ``mala`` to see it fail.
        mode: ``two_stage`` (unbiased), ``adaptive``, ``clones`` or ``last_particle``.
        start: ``prior``: the estimate is all of the fitted law. ``empirical``: the share of the
            sample at the last level that a hundred activations reach, times the law's tail beyond.
        n_particles: Of each run.
        survival: Share that reaches the next level.
        n_steps: Kernel steps at each level.
        n_replicates: Independent runs, besides the pilot.
        n_components: Of a mixture; of ``last_place``, shapes that tokens may have.
        ridge: Added to the scale matrix, as a share of its mean diagonal.

    Raises:
        InputError: An option is unusable.
    """

    name: ClassVar[str] = "ga-amls"
    quantity: ClassVar[Quantity] = "activations"

    prior: str = "auto"
    kernel: str = "aug"
    mode: Mode = "two_stage"
    start: str = "prior"
    n_particles: int = 400
    survival: float = 0.5
    n_steps: int = 5
    n_replicates: int = 4
    n_components: int = 4
    ridge: float = 1e-5

    def __post_init__(self) -> None:
        if self.start not in STARTS:
            raise InputError(f"a start is one of {list(STARTS)}, got {self.start!r}")
        if self.start == "empirical" and self.mode != "two_stage":
            raise InputError(f"start='empirical' needs mode='two_stage', got {self.mode!r}")

    def run(self, task: Task) -> tuple[Found, ...]:
        """Return the probability of each event under the fitted law, from one fit for all."""
        fit = self.fitted(task)
        margins = fit.activations.margins(task.events)
        share = fit.spent.divided(len(task.events))
        began = time.perf_counter()
        results = self.split(task, fit)
        seconds = (time.perf_counter() - began) / len(results)
        return tuple(
            self._found(
                one, fit, column - event.above,
                share + Spent(scores=one.n_scored, seconds=seconds),
            )
            for one, column, event in zip(results, margins.T, task.events, strict=True)
        )  # fmt: skip

    def fitted(self, task: Task) -> "Fitted":
        """Return the states of the inputs and the law that is fitted to them."""
        kind = self.prior
        if kind == "auto":
            kind = LAST_PLACE if serves(task) else "student"
        if kind == LAST_PLACE:
            found = collect_by_last_place(task)
            began = time.perf_counter()
            options = FitOptions(ridge=self.ridge, n_components=self.n_components)
            grouped = fit_grouped(
                found.activations.states, found.groups, found.log_weights, options
            )
            return Fitted(
                activations=found.activations, prior=grouped, weights=found.weights,
                seconds=time.perf_counter() - began,
            )  # fmt: skip
        activations = collect(task)
        began = time.perf_counter()
        prior = fit_prior(
            activations.states, kind=kind, ridge=self.ridge, n_components=self.n_components
        )
        seconds = time.perf_counter() - began
        return Fitted(activations=activations, prior=prior, weights=None, seconds=seconds)

    def split(self, task: Task, fit: "Fitted") -> tuple[Splitting, ...]:
        """Return the splitting of each event under a law that was fitted."""
        config = SplittingConfig(
            mode=self.mode, kernel=self.kernel, n_particles=self.n_particles,
            survival=self.survival, n_steps=self.n_steps, n_replicates=self.n_replicates,
            level=task.level, runner_up=True,
        )  # fmt: skip
        n = len(task.events)
        readout = fit.activations.readout
        single = Readout(
            weight=readout.weight.float(), bias=readout.bias.float(),
            is_centred=readout.is_centred, epsilon=readout.epsilon,
        )  # fmt: skip
        scorer = MarginScores(single, task.events, np.arange(n))
        return split(
            scorer, fit.prior, config, n_targets=n,
            streams=lambda target, part: task.stream(task.events[target], self.name, part),
        )  # fmt: skip

    def _found(
        self, result: Splitting, fit: "Fitted", leads: Float[np.ndarray, "n"], spent: Spent
    ) -> Found:
        if all(run.levels for run in result.runs):
            result = with_bulk(result, leads, weights=fit.weights)
        record, warnings = fit.prior.record, []
        hybrid = result.hybrid if self.start == "empirical" else None
        if self.start == "empirical" and hybrid is None:
            warnings.append("no level that the sample reaches: the whole is the fitted law's")
        if record is not None and not record.converged:
            warnings.append(f"the fit of the law did not settle in {record.n_iterations} passes")
        return splitting_answer(
            result, spent=spent, hybrid=hybrid, warnings=warnings,
            diagnostics={**_of_prior(record), **_of_bulk(result)},
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """States and the law fitted to them.

    Attributes:
        activations: The states.
        prior: The law.
        weights: Shape ``(n,)``, what each state counts for; None for equal shares.
        seconds: That the fit took.
    """

    activations: Activations
    prior: Latent
    weights: Float[np.ndarray, "n"] | None
    seconds: float

    @property
    def spent(self) -> Spent:
        """Return what reading and fitting took."""
        return self.activations.spent + Spent(scores=len(self.activations), seconds=self.seconds)


def _of_prior(record: FitRecord | None) -> dict[str, float | int | str]:
    if record is None:
        return {}
    found: dict[str, float | int | str] = {
        "prior": record.kind,
        "prior_mean_log_likelihood": record.mean_log_likelihood,
    }
    if record.tails:
        found["prior_tail"] = min(record.tails)
    return found


def _of_bulk(result: Splitting) -> dict[str, float]:
    """Return how the fitted law compares with the sample at the last level that this can tell."""
    if not result.bulk:
        return {}
    last = result.bulk[-1]
    found = {"bulk_log_ratio": last.log_prob - last.log_empirical, "bulk_margin": last.level}
    if result.hybrid is not None:
        found["hybrid_log_prob"] = result.hybrid.log_prob
    return found
