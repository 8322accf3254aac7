import pytest
from formulas import graph_table, truth_table

from likely.errors import InputError
from likely.logic.circuits.graph import check_graph, model_counts, smooth
from likely.logic.circuits.nnf import read_nnf
from likely.logic.parser import parse

# (1 or 2) and 3, free variable 4: or(1, and(-1, 2)) and 3.
C2D = """c made by hand
nnf 7 6 4
L 1
L -1
L 2
A 2 1 2
O 1 2 0 3
L 3
A 2 4 5
"""
D4 = """o 1 0
a 2 0
o 3 0
t 4 0
f 5 0
1 2 3 0
2 3 0
3 4 1 0
3 4 -1 2 0
"""
FORMULA = "(v1 | v2) & v3"
NAMES = ["v1", "v2", "v3", "v4"]


@pytest.fixture
def write(tmp_path):
    def written(text):
        path = tmp_path / "circuit.nnf"
        path.write_text(text)
        return path

    return written


@pytest.mark.parametrize(("text", "kind", "n"), [(C2D, "c2d", 4), (D4, "d4", 3)])
def test_a_file_has_the_truth_table_of_its_formula(write, text, kind, n):
    read = read_nnf(write(text))
    assert (read.format, read.is_proven) == (kind, True)
    check_graph(read.graph)
    assert graph_table(read.graph) == truth_table(parse(FORMULA), NAMES[:n])


@pytest.mark.parametrize("text", [C2D, D4])
@pytest.mark.parametrize("n", [4, 6])
def test_variables_that_the_file_does_not_name_are_free(write, text, n):
    graph = read_nnf(write(text), n_vars=n).graph
    assert model_counts(smooth(graph))[0] == 3 * 2 ** (n - 3)


def test_a_xor_of_d4_is_read_with_its_root_below_other_numbers(write):
    text = "t 7 0\no 3 0\n3 7 1 -2 0\n3 7 -1 2 0\n"
    assert graph_table(read_nnf(write(text)).graph) == truth_table(parse("v1 ^ v2"), NAMES[:2])


@pytest.mark.parametrize(
    ("text", "n_models"),
    [
        ("nnf 1 0 2\nA 0\n", 4),
        ("nnf 1 0 2\nO 0 0\n", 0),
        ("nnf 1 0 2\nL -2\n", 2),
        ("t 1 0\n", 4),
        ("o 1 0\nf 2 0\n1 2 0\n", 0),
        ("o 1 0\nt 2 0\n1 2 -1 -2 0\n", 1),
    ],
)
def test_constants_and_single_literals_are_circuits(write, text, n_models):
    assert model_counts(smooth(read_nnf(write(text), n_vars=2).graph))[0] == n_models


def test_a_node_with_two_parents_is_read_once(write):
    text = "o 1 0\no 2 0\nt 3 0\n1 2 1 0\n1 2 -1 0\n2 3 2 0\n2 3 -2 3 0\n"
    graph = read_nnf(write(text)).graph
    assert graph_table(graph) == truth_table(parse("v2 | v3"), NAMES[:3])


def test_many_variables_are_trusted_and_say_so(write):
    literals = " ".join(str(i) for i in range(1, 31))
    read = read_nnf(write(f"o 1 0\nt 2 0\n1 2 {literals} 0\n1 2 -1 0\n"))
    assert not read.is_proven
    assert model_counts(smooth(read.graph))[0] == 1 + 2**29


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("nnf 3 2 2\nL 1\nL 2\nO 0 2 0 1\n", r"nnf, line 4: at most one child .* \[1, 2\]"),
        ("o 1 0\nt 2 0\n1 2 1 0\n1 2 2 0\n", r"nnf, line 1: at most one child"),
        ("nnf 3 2 1\nL 1\nL -1\nA 2 0 1\n", "line 4: .* share the variable 1"),
        ("a 1 0\no 2 0\nt 3 0\n1 2 2 0\n2 3 1 0\n2 3 -1 2 0\n", "line 4: .* variable 2"),
        ("o 1 0\nt 2 0\n1 2 1 -1 0\n", "line 3: .* share the variable 1"),
        ("nnf 2 0 2\nL 1\n", "line 1: .* cut off"),
        ("nnf 1 0\nL 1\n", "line 1: .*nodes edges variables"),
        ("nnf 1 0 2\nL 3\n", "line 2: .*literal up to 2"),
        ("nnf 2 1 2\nL 1\nA 2 0\n", "line 3: .*got 'A 2 0'"),
        ("nnf 2 1 2\nA 1 1\nL 1\n", "line 2: children are nodes above"),
        ("nnf 1 0 2\nX 1\n", "line 2: "),
        ("nnf 1 0 2\nL one\n", "line 2: integers were expected, got 'one'"),
        ("o 1 0\no 1 0\n", "line 2: the node 1 is there already"),
        ("o 1 0\n1 2 0\n", r"line 2: no line declares the nodes \[2\]"),
        ("o 1 0\nt 2 0\n1 2 1\n", "line 3: .*got '1 2 1'"),
        ("o 1 0\na 2 0\n1 2 0\n2 1 0\n", "needs one node that is no child"),
        ("o 1 0\na 2 0\na 3 0\n1 2 0\n2 3 0\n3 2 0\n", "line 6: the node 2 is below itself"),
        ("o 2 0\no 3 0\nt 4 0\n2 4 1 0\n3 4 2 0\n", r"to be the root; got \[2, 3\]"),
        ("hello\n", "line 1: "),
        ("", "needs one node"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(write, text, match):
    with pytest.raises(InputError, match=match):
        read_nnf(write(text))


def test_a_file_that_is_missing_or_has_more_variables_than_said_is_refused(write, tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        read_nnf(tmp_path / "nowhere.nnf")
    with pytest.raises(InputError, match="4 variables, but n_vars is 2"):
        read_nnf(write(C2D), n_vars=2)
