"""Circuits against ProbLog 2.3.0, KLay 0.1.2 and fixed goals: one process, one thread.

Theories of the suite's kind: pairs of events are equal, neighbouring pairs exclude each other.
Both sides take in turn and a ratio is that of medians. Times are processor time of this process, so
that what else runs on the machine weighs less; KLay and likely get the same float64 rows.
"""

import argparse
import importlib
import statistics
import time
import warnings
from collections.abc import Callable, Iterator

import klay
import torch
from problog import get_evaluatable
from problog.program import PrologString
from pysdd.sdd import SddManager, Vtree

from likely.logic.batches import canonical
from likely.logic.circuits.circuit import Circuit
from likely.logic.circuits.compile import compile
from likely.logic.formula import Formula, count_of, var, variables
from likely.logic.instances import instances
from likely.logic.parser import parse
from likely.logic.probct.suites import FAMILIES, load_family

BATCH = 20_000
SMALL_BATCH = 4096
N_EVENTS = 20
TURN = 0.05
"""Seconds of one turn of a batched side."""


def main() -> None:
    """Print one line a claim."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    torch.set_num_threads(1)
    compile_shapes(repeats)
    compile_exactly_one(repeats)
    for n in (4, 10):
        throughput(f"pairs, n = {n}", pairs(n), repeats)
    suite_throughput(repeats)
    against_problog(repeats)
    against_klay(repeats)


def pairs(n: int) -> Formula:
    """Return the theory: pairs are equal, neighbouring pairs not both true."""
    equal = [f"(v{i} <-> v{i + 1})" for i in range(0, n, 2)]
    apart = [f"!(v{i} & v{i + 2})" for i in range(0, n - 2, 2)]
    return parse(" & ".join([*equal, *apart]))


def suite_shapes() -> list[Formula]:
    """Return every formula that a claim, condition or query of a family takes, names apart."""
    found: dict[Formula, None] = {}
    for family in FAMILIES:
        for instance in instances(load_family(family)):
            asked = [claim.formula for claim in instance.claims]
            asked += [part for a, b in instance.conditionals.values() for part in (a, a & ~b)]
            asked += instance.queries.values()
            found |= dict.fromkeys(canonical(formula)[0] for formula in asked)
    return list(found)


def compile_shapes(repeats: int) -> None:
    """Time each shape of the suite and the theory of 20 events, nothing compiled before."""
    formulas = [*suite_shapes(), pairs(N_EVENTS)]
    compile(formulas[0])
    times = [_median(lambda f=f: _compile_cold(f), repeats) for f in formulas]
    worst = max(times)
    largest = max(len(variables(formula)) for formula in formulas[:-1])
    print(
        f"compile: {len(formulas) - 1} shapes of the suite (up to {largest} events) median "
        f"{statistics.median(times[:-1]) * 1e3:.3f} ms, slowest {max(times[:-1]) * 1e3:.3f} ms; "
        f"pairs, n = {N_EVENTS} {times[-1] * 1e3:.3f} ms; goal 1 ms, {1e-3 / worst:.1f} times "
        "what the slowest takes",
        flush=True,
    )


def compile_exactly_one(repeats: int) -> None:
    """Time exactly-one over 1,000 events, nothing compiled before."""
    formula = count_of(*(var(f"v{i}") for i in range(1000)), low=1, high=1)
    seconds = _median(lambda: _compile_cold(formula), repeats)
    print(
        f"compile: exactly one of 1000 {seconds * 1e3:.2f} ms; goal 5 ms, "
        f"{5e-3 / seconds:.1f} times what it takes",
        flush=True,
    )


def _compile_cold(formula: Formula) -> float:
    module = importlib.import_module("likely.logic.circuits.compile")
    module._closed_unit.cache_clear()
    module._compiled_unit.cache_clear()
    return _seconds(lambda: compile(formula))


def throughput(name: str, formula: Formula, repeats: int) -> None:
    """Print items a second with and without gradients."""
    circuit = compile(formula)
    value, both = (_median(run, repeats) for run in _ours(circuit, _rows(circuit, BATCH)))
    print(
        f"evaluate: {name} ({circuit.method}), {BATCH} rows: {_millions(value)} M items/s "
        f"(goal 1.0), with gradients {_millions(both)} M items/s (goal 0.5)",
        flush=True,
    )


def suite_throughput(repeats: int) -> None:
    """Print the slowest shapes of the suite, with and without gradients."""
    shapes = suite_shapes()
    forward, backward = [], []
    for formula in shapes:
        circuit = compile(formula)
        value, both = (_median(run, repeats) for run in _ours(circuit, _rows(circuit, BATCH)))
        forward.append((value, str(formula)))
        backward.append((both, str(formula)))
    slow, slow_both = max(forward), max(backward)
    print(
        f"evaluate: {len(shapes)} shapes of the suite, {BATCH} rows: median "
        f"{_millions(statistics.median(s for s, _ in forward))} M items/s, slowest "
        f"{_millions(slow[0])} ({slow[1]}; goal 1.0); with gradients median "
        f"{_millions(statistics.median(s for s, _ in backward))}, slowest "
        f"{_millions(slow_both[0])} ({slow_both[1]}; goal 0.5)",
        flush=True,
    )


def against_problog(repeats: int) -> None:
    """Print the ratios to ProbLog from the text on, and to its compiled object."""
    circuit = compile(pairs(N_EVENTS))
    rows = _rows(circuit, SMALL_BATCH)
    probs = torch.sigmoid(rows).tolist()
    compiled = get_evaluatable().create_from(PrologString(problog_program(probs[0])))
    atoms = {str(name): node for name, node, *_ in compiled.get_names()}
    weights = [{atoms[f"v{i}"]: p for i, p in enumerate(row)} for row in probs[:200]]
    theirs = [
        _value(get_evaluatable().create_from(PrologString(problog_program(row))).evaluate())
        for row in probs[:5]
    ]
    again = [_value(compiled.evaluate(weights=given)) for given in weights[:5]]
    reference = torch.tensor([theirs, again], dtype=torch.float64).log()
    gap = (reference - circuit.log_prob(rows[:5])).abs().max()
    which = _cycle(probs)

    def from_text() -> float:
        text = problog_program(next(which))
        return _seconds(lambda: get_evaluatable().create_from(PrologString(text)).evaluate())

    def re_evaluated() -> float:
        start = time.process_time()
        for given in weights:
            compiled.evaluate(weights=given)
        return (time.process_time() - start) / len(weights)

    forward, _ = _ours(circuit, rows)
    ours, end_to_end, again_each = _in_turn([forward, from_text, re_evaluated], repeats)
    print(
        f"against ProbLog: n = {N_EVENTS}, an item: likely {ours * 1e6:.2f} us of {SMALL_BATCH} at "
        f"once; from the text on {end_to_end * 1e3:.1f} ms, ratio {end_to_end / ours:.0f} (goal "
        f"10000); its compiled object {again_each * 1e6:.0f} us, ratio {again_each / ours:.0f} "
        f"(goal 100); largest difference {gap:.1e} nats",
        flush=True,
    )


def problog_program(probs: list[float]) -> str:
    """Return the theory of pairs with its probabilities: a rule for each way to break it."""
    n = len(probs)
    lines = [f"{p!r}::v{i}." for i, p in enumerate(probs)]
    for i in range(0, n, 2):
        lines += [f"broken :- v{i}, \\+v{i + 1}.", f"broken :- \\+v{i}, v{i + 1}."]
    lines += [f"broken :- v{i}, v{i + 2}." for i in range(0, n - 2, 2)]
    return "\n".join([*lines, "kept :- \\+broken.", "query(kept)."])


def _value(answer: dict[object, float]) -> float:
    (value,) = answer.values()
    return value


def _cycle(rows: list[list[float]]) -> Iterator[list[float]]:
    while True:
        yield from rows


def against_klay(repeats: int) -> None:
    """Print the ratios to KLay on batches through vmap, with and without gradients."""
    circuit = compile(pairs(N_EVENTS))
    rows = _rows(circuit, SMALL_BATCH)
    modules = {name: klay_module(N_EVENTS, name) for name in ("right", "balanced")}
    tried = {name: _klay(module, rows)[0]() for name, module in modules.items()}
    best = min(tried, key=tried.__getitem__)
    value, both = _ours(circuit, rows)
    their_value, their_both = _klay(modules[best], rows)
    reference = _klay_batch(modules[best])(rows).squeeze(-1)
    gap = (reference - circuit.log_prob(rows)).abs().max()
    repeats = max(3, repeats // 2)
    ours, klay_value = _in_turn([value, their_value], repeats)
    ours_both, klay_both = _in_turn([both, their_both], repeats)
    print(
        f"against KLay: n = {N_EVENTS}, {SMALL_BATCH} rows, {best} vtree, an item: likely "
        f"{ours * 1e6:.2f} us, KLay {klay_value * 1e6:.0f} us, ratio {klay_value / ours:.0f} (goal "
        f"50); with gradients {ours_both * 1e6:.2f} us and {klay_both * 1e6:.0f} us, ratio "
        f"{klay_both / ours_both:.0f} (goal 50); largest difference {gap:.1e} nats",
        flush=True,
    )


def klay_module(n: int, vtree: str) -> torch.nn.Module:
    """Return the theory of pairs as a module of KLay, by way of PySDD."""
    manager = SddManager.from_vtree(Vtree(n, list(range(1, n + 1)), vtree))
    manager.auto_gc_and_minimize_off()
    lit = manager.literal
    node = manager.true()
    for i in range(1, n, 2):
        node = node & ((lit(i) & lit(i + 1)) | (lit(-i) & lit(-i - 1)))
    for i in range(1, n - 2, 2):
        node = node & ~(lit(i) & lit(i + 2))
    circuit = klay.Circuit()
    circuit.add_sdd(node)
    module: torch.nn.Module = circuit.to_torch_module(semiring="log", compile=False)
    return module


def _klay_batch(module: torch.nn.Module) -> Callable[[torch.Tensor], torch.Tensor]:
    batched = torch.vmap(module)
    logsigmoid = torch.nn.functional.logsigmoid
    return lambda rows: batched(logsigmoid(rows), logsigmoid(-rows))


def _klay(
    module: torch.nn.Module, rows: torch.Tensor
) -> tuple[Callable[[], float], Callable[[], float]]:
    return _runs(_klay_batch(module), rows)


def _ours(circuit: Circuit, rows: torch.Tensor) -> tuple[Callable[[], float], Callable[[], float]]:
    return _runs(circuit.log_prob, rows)


def _runs(
    log_prob: Callable[[torch.Tensor], torch.Tensor], rows: torch.Tensor
) -> tuple[Callable[[], float], Callable[[], float]]:
    """Return what takes the seconds an item of values, and of values with gradients.

    Each call takes the rows again and again for `TURN` seconds: what counts is a steady stream.
    """

    def steady(run: Callable[[], object]) -> float:
        start, n = time.process_time(), 0
        while n == 0 or time.process_time() - start < TURN:
            run()
            n += 1
        return (time.process_time() - start) / (n * len(rows))

    def value() -> float:
        with torch.no_grad():
            return steady(lambda: log_prob(rows))

    def both() -> float:
        leaf = rows.clone().requires_grad_()
        return steady(lambda: log_prob(leaf).sum().backward())

    return value, both


def _rows(circuit: Circuit, n: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(n, len(circuit.names), generator=generator, dtype=torch.float64)


def _seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def _median(run: Callable[[], float], repeats: int) -> float:
    run()
    return statistics.median(run() for _ in range(repeats))


def _in_turn(runs: list[Callable[[], float]], repeats: int) -> list[float]:
    """Return the median of each, all of them run once a round."""
    for run in runs:
        run()
    rounds = [[run() for run in runs] for _ in range(repeats)]
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


def _millions(seconds: float) -> str:
    return f"{1e-6 / seconds:.1f}"


if __name__ == "__main__":
    # KLay's vmap says with every layer that it has no rule for batches; that is what is measured.
    warnings.filterwarnings("ignore", message="There is a performance drop")
    main()
