"""How many tokens must be put in, taken out or exchanged to make one sequence of another."""

from collections.abc import Hashable, Sequence


def edit_distance(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Return the least number of insertions, deletions and exchanges between two sequences.

    Sources:
        Levenshtein (1966); the recursion by rows is Wagner and Fischer (1974).

    >>> edit_distance("kitten", "sitting")
    3
    """
    row = list(range(len(second) + 1))
    for i, mine in enumerate(first, start=1):
        diagonal, row[0] = row[0], i
        for j, theirs in enumerate(second, start=1):
            best = min(row[j] + 1, row[j - 1] + 1, diagonal + (mine != theirs))
            diagonal, row[j] = row[j], best
    return row[-1]
