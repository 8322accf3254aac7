"""Random formulas for the tests of this study."""

from hypothesis import strategies as st

from likely.logic.formula import FALSE, TRUE, Formula, var


def formulas(*names, max_leaves=12):
    """Return a strategy of ground formulas of every kind over the names."""
    leaves = st.sampled_from([*(var(name) for name in names), TRUE, FALSE])
    return st.recursive(leaves, _grown, max_leaves=max_leaves)


def _grown(parts):
    several = st.lists(parts, min_size=2, max_size=4).map(tuple)
    some = st.lists(parts, min_size=1, max_size=4).map(tuple)
    bounds = st.tuples(st.integers(0, 4), st.one_of(st.none(), st.integers(0, 4))).filter(
        lambda b: b[1] is None or b[0] <= b[1]
    )
    return st.one_of(
        parts.map(lambda part: ~part),
        st.builds(Formula, st.sampled_from(["and", "or", "xor"]), several),
        st.tuples(parts, parts).map(lambda pair: Formula("implies", pair)),
        st.tuples(parts, parts).map(lambda pair: Formula("iff", pair)),
        st.builds(Formula, st.sampled_from(["all_equal", "odd", "even"]), some),
        st.builds(lambda ops, b: Formula("card", ops, low=b[0], high=b[1]), some, bounds),
    )
