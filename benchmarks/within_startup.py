"""Time to the first word: help, import and load, each in a process of its own, best of five."""

import subprocess
import sys
import time

CASES = {
    "likely --help": (["-m", "likely", "--help"], 0.3),
    "import likely": (["-c", "import likely"], 0.2),
    'import likely and likely.load("smollm2")': (
        ["-c", "import likely; likely.load('smollm2')"],
        5.0,
    ),
}


def main() -> None:
    """Print one line a case; the bare interpreter is the floor."""
    floor = _best(["-c", "pass"])
    print(f"start-up: bare interpreter {floor:.3f} s")
    for name, (arguments, goal) in CASES.items():
        print(f"start-up: {name} {_best(arguments):.3f} s (goal under {goal})")


def _best(arguments: list[str], repeats: int = 5) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


if __name__ == "__main__":
    main()
