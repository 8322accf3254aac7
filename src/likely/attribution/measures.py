"""Every number of one place as a function of its evidence. Unit: nats.

With w the prior of a candidate, a the probability of the rest of the prompt after it and b that of
the response, x = w a and y = w a b, D and N their sums: q = x / D is what the rest of the prompt
says about the place, q^r = y / N what the response adds to that. The score of the actual token is
``log b - log N + log D``, which is ``log q^r - log q``: the pointwise mutual information of token
and response, given the rest.

Sources:
    Shilpika and others (2026), arXiv 2605.21726, for the score; the influences are derivatives of
    the plug-in estimators by the weights of the candidates, for the delta method.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from likely.attribution.evidence import Evidence
from likely.attribution.intervals import two_outcomes
from likely.attribution.thinning import Thinned
from likely.core.estimate import Estimate, estimate_names
from likely.core.logspace import logsumexp
from likely.errors import InputError

_LOG_2 = float(np.log(2.0))


@dataclass(frozen=True)
class Sample:
    """The candidates that were evaluated to one point, and the two sums over them.

    Attributes:
        thinned: Their chances.
        log_x: Shape ``(n,)``: log w a.
        log_b: Shape ``(n,)``: log of the response's probability up to the point.
    """

    thinned: Thinned
    log_x: Float[np.ndarray, "n"]
    log_b: Float[np.ndarray, "n"]

    @cached_property
    def log_weight(self) -> Float[np.ndarray, "n"]:
        """Log of one over the chance."""
        return np.asarray(np.log(self.thinned.weight))

    @cached_property
    def log_d(self) -> float:
        """Log of the estimate of D."""
        return float(logsumexp(self.log_x + self.log_weight))

    @cached_property
    def log_n(self) -> float:
        """Log of the estimate of N."""
        return float(logsumexp(self.log_x + self.log_b + self.log_weight))

    @cached_property
    def log_q(self) -> Float[np.ndarray, "n"]:
        """Log of the posterior given the rest of the prompt, of each candidate."""
        return self.log_x - self.log_d

    @cached_property
    def log_q_response(self) -> Float[np.ndarray, "n"]:
        """Log of the posterior given the response too."""
        return np.asarray(self.log_x + self.log_b - self.log_n)

    @cached_property
    def q(self) -> Float[np.ndarray, "n"]:
        """The posterior given the rest of the prompt."""
        return np.asarray(np.exp(self.log_q))

    @cached_property
    def q_response(self) -> Float[np.ndarray, "n"]:
        """The posterior given the response too."""
        return np.asarray(np.exp(self.log_q_response))

    def mean(self, law: Float[np.ndarray, "n"], values: Float[np.ndarray, "n"]) -> float:
        """Return the estimated sum of ``law * values``, where what has no probability adds 0."""
        return float(np.sum(self.thinned.weight * _times(law, values)))


def _times(
    law: Float[np.ndarray, "..."], values: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """Return the product, 0 where the law is 0, whatever the value."""
    return np.where(law > 0.0, law, 0.0) * np.where(law > 0.0, values, 0.0)


def _gap(
    log_p: Float[np.ndarray, "..."], log_q: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """Return ``log_p - log_q``, 0 where p is 0: what has no probability adds nothing."""
    log_p, log_q = np.broadcast_arrays(log_p, log_q)
    return np.asarray(np.subtract(log_p, log_q, out=np.zeros(log_p.shape), where=log_p > -np.inf))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """What is known about one place.

    Attributes:
        score: The attribution score, log Pr(r | prompt) - log Pr(r | rest).
        interventional: log Pr(r | prompt) - log sum_v w b: as if the token were put there by
            hand, so that the rest of the prompt says nothing about it. Another quantity.
        context_entropy: Of q.
        response_entropy: Of q^r.
        entropy_change: Of q less that of q^r; one response may make it negative.
        information: KL(q^r || q), what the response says about the place.
        reverse_information: KL(q || q^r).
        jensen_shannon: Of q and q^r, at most log 2.
        left_surprisal: -log w of the actual token: given what stands before it.
        surprisal: -log q of the actual token: given all the rest of the prompt.
        response_surprisal: -log q^r of it.
        log_prompt_likelihood: log D.
        log_response_rest: log(N / D), the response's log-probability given the rest.
        matrix: Shape ``(R,)``: share of each response token in the score; they sum to it.
        matrix_error: Shape ``(R,)``: standard errors.
        entropy_trace: Shape ``(R + 1,)``: entropy of the posterior after t response tokens.
        information_trace: Shape ``(R + 1,)``: its divergence from q.
        omitted_context: Estimated share of q that was not evaluated to the end.
        omitted_response: Estimated share of q^r.
    """

    score: Estimate
    interventional: Estimate
    context_entropy: Estimate
    response_entropy: Estimate
    entropy_change: Estimate
    information: Estimate
    reverse_information: Estimate
    jensen_shannon: Estimate
    left_surprisal: float
    surprisal: Estimate
    response_surprisal: Estimate
    log_prompt_likelihood: Estimate
    log_response_rest: Estimate
    matrix: Float[np.ndarray, "R"]
    matrix_error: Float[np.ndarray, "R"]
    entropy_trace: Float[np.ndarray, "T"]
    information_trace: Float[np.ndarray, "T"]
    omitted_context: float
    omitted_response: float

    @classmethod
    def estimates(cls) -> tuple[str, ...]:
        """Return the names of the fields that are estimates."""
        return estimate_names(cls)


def measure(evidence: Evidence, *, level: float, method: str, missed: float = 0.0) -> Measures:
    """Return every number of one place.

    Args:
        evidence: Of the place, the actual candidate first and evaluated for sure.
        level: Coverage of intervals.
        method: How the candidates were chosen.
        missed: Share of a posterior that no draw may have met. A rare candidate that none has met
            leaves no trace in a standard error, so no interval is narrower than what this share
            would change: log D by the share, an entropy by that of having it or not, a score, where
            it is taken from N and D alike, by half of it.

    Raises:
        InputError: The prompt or the response is impossible, so that nothing can be said.
    """
    return measuring(evidence, level=level, method=method, missed=missed).run()


def _done(evidence: Evidence) -> Bool[np.ndarray, "n"]:
    return evidence.inclusion > 0.0


def measuring(evidence: Evidence, *, level: float, method: str, missed: float = 0.0) -> "Measuring":
    """Return what computes the numbers of one place; see `measure`."""
    return Measuring(evidence, final_sample(evidence), _prompt(evidence), level, method, missed)


def final_sample(evidence: Evidence) -> Sample:
    """Return the candidates that were evaluated to the end of the response."""
    done = _done(evidence)
    lineage = evidence.lineage
    return Sample(
        Thinned(
            evidence.inclusion[done],
            evidence.prompt_inclusion[done],
            evidence.resolution,
            None if lineage is None else lineage.take(np.flatnonzero(done)),
        ),
        evidence.log_prior[done] + evidence.log_prompt[done],
        evidence.log_response[done].sum(axis=1),
    )


def _prompt(evidence: Evidence) -> Sample:
    n_seen = int((~_done(evidence)).sum())  # to the end of the prompt, and not further
    chance = evidence.prompt_inclusion
    # All of them may be there by chance: then D is their sum as estimated, and not for sure.
    is_whole = evidence.omitted.n == n_seen and bool(np.all(chance == 1.0))
    return Sample(
        Thinned(chance, chance, 0.0 if is_whole else evidence.resolution, evidence.lineage),
        evidence.log_prior + evidence.log_prompt,
        np.zeros(len(evidence.log_prior)),
    )


@dataclass(frozen=True)
class Measuring:
    """Computes the numbers of one place.

    Attributes:
        evidence: Of the place.
        final: The candidates that were evaluated to the end of the response.
        prompt: Those that were evaluated to the end of the prompt.
        level: Coverage of intervals.
        method: How the candidates were chosen.
        missed: As `measure` takes it.
    """

    evidence: Evidence
    final: Sample
    prompt: Sample
    level: float
    method: str
    missed: float

    def check(self) -> None:
        """Raise unless prompt and response are possible; see `measure`."""
        final, evidence = self.final, self.evidence
        if final.log_x[0] == -np.inf:
            raise InputError(
                f"the prompt is impossible at position {evidence.places[0]}: the model gives what "
                "stands there, or what comes after it, no probability"
            )
        if final.log_b[0] == -np.inf:
            raise InputError(
                "the response is impossible after this prompt, so no token made it likely: "
                f"its log-probability is {float(final.log_b[0])!r}"
            )

    def run(self) -> Measures:
        """Return every number."""
        self.check()
        final, evidence = self.final, self.evidence
        matrix, errors = self._matrix()
        entropies, informations = self._traces()
        return Measures(
            score=self.score(),
            interventional=self._interventional(),
            context_entropy=self._entropy(self.prompt, response=False),
            response_entropy=self._entropy(final, response=True),
            entropy_change=self._entropy_change(),
            information=self._information(),
            reverse_information=self._reverse_information(),
            jensen_shannon=self._jensen_shannon(),
            left_surprisal=-float(evidence.log_prior[0]),
            surprisal=self._estimate(
                -float(self.prompt.log_q[0]), self.prompt.q, sample=self.prompt, low=0.0
            ),
            response_surprisal=self._estimate(
                -float(final.log_q_response[0]), final.q_response, low=0.0
            ),
            log_prompt_likelihood=self._estimate(
                self.prompt.log_d, self.prompt.q, sample=self.prompt, high=0.0
            ),
            log_response_rest=self._against_d(final.log_n - self._log_d, sign=-1.0, high=0.0),
            matrix=matrix,
            matrix_error=errors,
            entropy_trace=entropies,
            information_trace=informations,
            omitted_context=self._omitted(final.log_x, final.log_d),
            omitted_response=self._omitted(final.log_x + final.log_b, final.log_n),
        )

    def _estimate(
        self,
        value: float,
        influence: Float[np.ndarray, "n"],
        *,
        earlier: Float[np.ndarray, "n"] | None = None,
        sample: Sample | None = None,
        least: float | None = None,
        low: float = -np.inf,
        high: float = np.inf,
    ) -> Estimate:
        thinned = (sample or self.final).thinned
        return thinned.estimate(
            value, influence, earlier=earlier, level=self.level, method=self.method,
            least=self.missed if least is None else least, low=low, high=high,
        )  # fmt: skip

    @cached_property
    def _lean(self) -> float:
        """How far D is taken from the candidates of N, and not from all read to the prompt's end.

        Where a candidate's q and q^r go together, errors of D and N from the same candidates
        cancel; where the response singles out a few, the larger sample is better. The weight
        between both, in [0, 1], is the one of least estimated variance.
        """
        final = self.final
        variance = final.thinned.stage_variance
        most = float(np.sum(variance * final.q**2))
        both = float(np.sum(variance * final.q * final.q_response))
        most = max(most, float(np.expm1(final.log_d - self.prompt.log_d)) ** 2)
        return min(1.0, both / most) if most > 0.0 else 1.0

    @cached_property
    def _log_d(self) -> float:
        """Log of D for the score."""
        return self.prompt.log_d + self._lean * (self.final.log_d - self.prompt.log_d)

    def score(self) -> Estimate:
        """Return the attribution score, if `check` passes."""
        return self._against_d(float(self.final.log_b[0]) - self.final.log_n + self._log_d)

    def forecast(self, factor: float) -> float:
        """Return the standard error of the score to expect of a round ``factor`` times as large."""
        final = self.final
        return final.thinned.forecast(
            self._lean * final.q - final.q_response,
            earlier=final.q - final.q_response,
            factor=factor,
        )

    def _against_d(self, value: float, *, sign: float = 1.0, high: float = np.inf) -> Estimate:
        """Return an estimate that is ``sign * (log D - log N)`` up to what is known."""
        final = self.final
        return self._estimate(
            value,
            sign * (self._lean * final.q - final.q_response),
            earlier=sign * (final.q - final.q_response),
            least=self.missed / 2.0,
            high=high,
        )

    def _interventional(self) -> Estimate:
        done = _done(self.evidence)
        log_w = self.evidence.log_prior[done] + self.final.log_weight
        total = float(logsumexp(log_w + self.final.log_b))
        mass = float(logsumexp(log_w))
        put, prior = (
            np.exp(log_w + self.final.log_b - total - self.final.log_weight),
            np.exp(log_w - mass - self.final.log_weight),
        )
        return self._estimate(float(self.final.log_b[0]) - total + mass, prior - put)

    def _entropy(self, sample: Sample, *, response: bool) -> Estimate:
        law, log_law = (
            (sample.q_response, sample.log_q_response) if response else (sample.q, sample.log_q)
        )
        value = max(0.0, -sample.mean(law, log_law))
        influence = _times(law, 1.0 - log_law - value)
        return self._estimate(
            value, influence, sample=sample, least=two_outcomes(min(0.5, self.missed)), low=0.0
        )

    def _entropy_change(self) -> Estimate:
        final = self.final
        before, after = (
            -final.mean(final.q, final.log_q),
            -final.mean(final.q_response, final.log_q_response),
        )
        influence = _times(final.q, 1.0 - final.log_q - before) - _times(
            final.q_response, 1.0 - final.log_q_response - after
        )
        least = two_outcomes(min(0.5, self.missed))
        return self._estimate(before - after, influence, least=least)

    def _information(self) -> Estimate:
        final = self.final
        gain = _gap(final.log_q_response, final.log_q)
        value = max(0.0, final.mean(final.q_response, gain))
        influence = _times(final.q_response, gain - value - 1.0) + final.q
        return self._estimate(value, influence, low=0.0)

    def _reverse_information(self) -> Estimate:
        final = self.final
        if np.any((final.log_q > -np.inf) & (final.log_q_response == -np.inf)):
            infinite = float("inf")
            return Estimate.exact(infinite, unit="nats", method=self.method)
        loss = _gap(final.log_q, final.log_q_response)
        value = max(0.0, final.mean(final.q, loss))
        influence = _times(final.q, loss - value - 1.0) + final.q_response
        return self._estimate(value, influence, low=0.0)

    def _jensen_shannon(self) -> Estimate:
        final = self.final
        middle = np.logaddexp(final.log_q, final.log_q_response) - _LOG_2
        first, second = _gap(final.log_q, middle), _gap(final.log_q_response, middle)
        of_q, of_r = final.mean(final.q, first), final.mean(final.q_response, second)
        influence = 0.5 * (_times(final.q, first - of_q) + _times(final.q_response, second - of_r))
        value = min(_LOG_2, max(0.0, 0.5 * (of_q + of_r)))
        return self._estimate(value, influence, low=0.0, high=_LOG_2)

    @cached_property
    def _after(self) -> Float[np.ndarray, "T n"]:
        """Log of y after each number of response tokens, 0 to R."""
        done = _done(self.evidence)
        steps = np.cumsum(self.evidence.log_response[done].T, axis=0)
        return np.vstack([self.final.log_x, self.final.log_x + steps])

    @cached_property
    def _log_sums(self) -> Float[np.ndarray, "T"]:
        return logsumexp(self._after + self.final.log_weight)

    def _matrix(self) -> tuple[Float[np.ndarray, "R"], Float[np.ndarray, "R"]]:
        """Return how much of the score each response token accounts for, and its error."""
        matrix = self.evidence.log_response[0] - np.diff([self._log_d, *self._log_sums[1:]])
        laws = np.exp(self._after - self._log_sums[:, None])
        errors = []
        for t, after in enumerate(laws[1:]):
            lean = self._lean if t == 0 else 1.0
            moved = self.final.thinned.spread(lean * laws[t] - after, earlier=laws[t] - after)
            errors.append(moved.error if self.final.thinned.resolution else 0.0)
        return matrix, np.array(errors, dtype=np.float64)

    def _traces(self) -> tuple[Float[np.ndarray, "T"], Float[np.ndarray, "T"]]:
        logs = self._after - self._log_sums[:, None]
        laws, weight = np.exp(logs), self.final.thinned.weight
        entropies = np.maximum(0.0, -np.sum(weight * _times(laws, logs), axis=1))
        gains = _gap(logs, self.final.log_q)
        return entropies, np.maximum(0.0, np.sum(weight * laws * gains, axis=1))

    def _omitted(self, log_terms: Float[np.ndarray, "n"], log_total: float) -> float:
        """Return the estimated share of candidates that were not evaluated to the end."""
        seen = float(logsumexp(log_terms))
        return max(0.0, -float(np.expm1(min(0.0, seen - log_total))))
