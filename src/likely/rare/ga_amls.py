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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from likely.errors import InputError, UnknownNameError
from likely.rare.activations import Activations, collect
from likely.rare.last_place import collect_by_last_place, serves
from likely.rare.margin_scores import MarginScores
from likely.rare.method import Task
from likely.rare.network import Readout
from likely.rare.prior.fit import PRIORS, fit_prior
from likely.rare.prior.grouped_fit import fit_grouped
from likely.rare.prior.options import FitOptions
from likely.rare.prior.protocol import FitRecord, Latent
from likely.rare.result import Found, Quantity, Spent
from likely.rare.splitting.bulk import with_bulk
from likely.rare.splitting.config import Mode, SplittingConfig
from likely.rare.splitting.doubling import Doubling, double_steps
from likely.rare.splitting.drive import Streams, split
from likely.rare.splitting.kernels import KERNELS
from likely.rare.splitting.records import Splitting
from likely.rare.splitting_answer import splitting_answer

STARTS = ("prior", "empirical")
AUTO, LAST_PLACE = "auto", "last_place"


@dataclass(frozen=True, slots=True, kw_only=True)
class GaAmls:
    """Splits the probability of each event under a law fitted to activations.

    Attributes:
        prior: Law that is fitted. ``last_place``: given the token of the last place that varies,
            whose own law is known; it needs independent places and four inputs for each such
            token. ``student``, ``gaussian``, ``student_mixture``, ``gaussian_mixture`` or
            ``marginals``: of all states alike. ``auto``: ``last_place`` where it can be fitted and
            the kernel can move it, else ``student``.
        kernel: How particles move: ``aug``, ``aug_separate``; and for a law of all states
            ``mala_radial``, or ``mala`` to see it fail.
        mode: ``two_stage`` (unbiased), ``adaptive``, ``clones`` or ``last_particle``.
        start: ``prior``: the estimate is all of the fitted law. ``empirical``: the share of the
            sample at the last level that a hundred activations reach, times the law's tail beyond.
        n_particles: Of each run.
        survival: Share that reaches the next level.
        n_steps: Kernel steps at each level.
        n_replicates: Independent runs, besides the pilot.
        n_components: Of a mixture; of ``last_place``, shapes that tokens may have.
        ridge: Added to the scale matrix, as a share of its mean diagonal.
        drop_null: Whether a law of all states leaves out directions without variance.
        check_steps: Whether the runs are made once more with twice the steps at each level; the
            diagnostics then tell by how many nats this changes the estimate.

    Raises:
        InputError: An option is unusable.
    """

    name: ClassVar[str] = "ga-amls"
    quantity: ClassVar[Quantity] = "activations"

    prior: str = AUTO
    kernel: str = "aug"
    mode: Mode = "two_stage"
    start: str = "prior"
    n_particles: int = 400
    survival: float = 0.5
    n_steps: int = 5
    n_replicates: int = 4
    n_components: int = 4
    ridge: float = 1e-5
    drop_null: bool = False
    check_steps: bool = False

    def __post_init__(self) -> None:
        kinds = (AUTO, LAST_PLACE, *PRIORS)
        if self.prior not in kinds:
            raise UnknownNameError.among("prior", self.prior, kinds)
        if self.kernel not in KERNELS:
            raise UnknownNameError.among("kernel", self.kernel, KERNELS)
        if self.prior == LAST_PLACE and not self._moves_groups:
            raise InputError(
                f"prior='last_place' needs the kernel 'aug' or 'aug_separate' and no drop_null, "
                f"got the kernel {self.kernel!r} and drop_null={self.drop_null!r}"
            )
        self._config(level=0.95)
        if self.start not in STARTS:
            raise InputError(f"a start is one of {list(STARTS)}, got {self.start!r}")
        for name, wanted in (
            ("start='empirical'", self.start == "empirical"),
            ("check_steps=True", self.check_steps),
        ):
            if wanted and self.mode != "two_stage":
                raise InputError(f"{name} needs mode='two_stage', got {self.mode!r}")

    @property
    def _moves_groups(self) -> bool:
        """Whether the kernel can move a law that has no density, of all coordinates."""
        return self.kernel in ("aug", "aug_separate") and not self.drop_null

    def run(self, task: Task) -> tuple[Found, ...]:
        """Return the probability of each event under the fitted law, from one fit for all."""
        fit = self.fitted(task)
        margins = fit.activations.margins(task.events)
        share = fit.spent.divided(len(task.events))
        began = time.perf_counter()
        results = self.split(task, fit)
        twice = self._doubled(task, fit, results) if self.check_steps else ()
        seconds = (time.perf_counter() - began) / len(results)
        return tuple(
            self._found(
                one, double, fit, event.scores(column),
                share + Spent(scores=_n_scored(one, double), seconds=seconds),
            )
            for one, double, column, event in zip(
                results, twice or [None] * len(results), margins.T, task.events, strict=True
            )
        )  # fmt: skip

    def fitted(self, task: Task) -> "Fitted":
        """Return the states of the inputs and the law that is fitted to them."""
        kind = self.prior
        if kind == AUTO:
            kind = LAST_PLACE if self._moves_groups and serves(task) else "student"
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
            activations.states, kind=kind, ridge=self.ridge, drop_null=self.drop_null,
            n_components=self.n_components,
        )  # fmt: skip
        seconds = time.perf_counter() - began
        return Fitted(activations=activations, prior=prior, weights=None, seconds=seconds)

    def split(self, task: Task, fit: "Fitted") -> tuple[Splitting, ...]:
        """Return the splitting of each event under a law that was fitted."""
        return split(
            _scorer(task, fit), fit.prior, self._config(level=task.level),
            n_targets=len(task.events), streams=self._streams(task),
        )  # fmt: skip

    def _doubled(
        self, task: Task, fit: "Fitted", results: Sequence[Splitting]
    ) -> tuple[Doubling, ...]:
        config = self._config(level=task.level)
        scorer = _scorer(task, fit)
        return double_steps(scorer, fit.prior, results, config, streams=self._streams(task))

    def _config(self, *, level: float) -> SplittingConfig:
        return SplittingConfig(
            mode=self.mode, kernel=self.kernel, n_particles=self.n_particles,
            survival=self.survival, n_steps=self.n_steps, n_replicates=self.n_replicates,
            level=level, runner_up=True,
        )  # fmt: skip

    def _streams(self, task: Task) -> Streams:
        return lambda target, part: task.stream(task.events[target], self.name, part)

    def _found(
        self,
        result: Splitting,
        double: Doubling | None,
        fit: "Fitted",
        scores: Float[np.ndarray, "n"],
        spent: Spent,
    ) -> Found:
        if all(run.levels for run in result.runs):
            result = with_bulk(result, scores, weights=fit.weights)
        record, warnings = fit.prior.record, []
        hybrid = result.hybrid if self.start == "empirical" else None
        if self.start == "empirical" and hybrid is None:
            why = (
                "runs that all reach the event at levels that they share are needed"
                if result.bulk else "no level that the sample reaches"
            )  # fmt: skip
            warnings.append(f"{why}: the whole is the fitted law's")
        if record is not None and not record.converged:
            warnings.append(f"the fit of the law did not settle in {record.n_iterations} passes")
        return splitting_answer(
            result, spent=spent, hybrid=hybrid, warnings=warnings,
            diagnostics={**_of_prior(record), **_of_bulk(result), **_of_double(double)},
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


def _scorer(task: Task, fit: Fitted) -> MarginScores:
    """Return margins in single precision, one event for each run."""
    readout = fit.activations.readout
    single = Readout(
        weight=readout.weight.float(), bias=readout.bias.float(),
        is_centred=readout.is_centred, epsilon=readout.epsilon,
    )  # fmt: skip
    return MarginScores(single, task.events, np.arange(len(task.events)))


def _n_scored(result: Splitting, double: Doubling | None) -> int:
    return result.n_scored + (0 if double is None else double.doubled.n_scored)


def _of_double(double: Doubling | None) -> dict[str, float]:
    """Return what twice the steps changed, as far as there is a ratio."""
    if double is None or double.log_ratio is None:
        return {}
    found = {"double_steps_log_ratio": double.log_ratio}
    return found if double.error is None else {**found, "double_steps_error": double.error}


def _of_prior(record: FitRecord | None) -> dict[str, float | int | str]:
    if record is None:
        return {}
    of = "_given_token" if record.kind == LAST_PLACE else ""
    found: dict[str, float | int | str] = {
        "prior": record.kind,
        f"prior_mean_log_likelihood{of}": record.mean_log_likelihood,
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
