"""Circuits that other compilers wrote: `.nnf` files of c2d and of d4. Unit: none."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from likely.errors import InputError
from likely.logic.circuits.graph import N_ENUMERATED, Graph, GraphBuilder, find_overlap


@dataclass(frozen=True, slots=True, kw_only=True)
class NnfFile:
    """A circuit read from a file.

    Attributes:
        graph: The circuit; column i is the file's variable i + 1.
        format: Which compiler's format the file is in.
        is_proven: Whether at most one child of each "or" was proven to hold, by enumeration. With
            more than 16 variables random assignments were tried, and the file is trusted beyond.
    """

    graph: Graph
    format: Literal["c2d", "d4"]
    is_proven: bool


def read_nnf(path: str | Path, *, n_vars: int | None = None) -> NnfFile:
    """Return the circuit in a `.nnf` file.

    c2d begins with ``nnf nodes edges variables``, and has one node a line, the root last:
    ``L literal``, ``A n children``, ``O decision n children``. d4 has lines ``o|a|t|f node 0`` for
    or, and, true and false, and ``parent child literals 0`` for edges; its root is the node that
    is no child.

    Args:
        path: The file.
        n_vars: How many variables there are; as many as the file speaks of if None. d4 does not
            write down variables that do not matter.

    Raises:
        InputError: The file is unreadable, is in neither format, or its circuit is not
            decomposable and deterministic; the message has the line.

    Sources:
        Darwiche (2004), "New advances in compiling CNF into decomposable negation normal form";
        Lagniez and Marquis (2017), "An improved decision-DNNF compiler".
    """
    text = _File(name=str(path), lines=_read(path))
    is_c2d = bool(text.lines) and text.lines[0][1][0] == "nnf"
    nodes, root, n_found = _parse_c2d(text) if is_c2d else _parse_d4(text)
    n = n_found if n_vars is None else n_vars
    if n < n_found:
        raise InputError(f"{path} has {n_found} variables, but n_vars is {n_vars!r}")
    builder = GraphBuilder(n)
    order = _children_first(nodes, root, text)
    ids = _convert(nodes, order, builder, text)
    graph = builder.graph(ids[root])
    if find_overlap(graph) is not None:
        _explain_overlap(nodes, order, builder, ids, text)
    return NnfFile(
        graph=graph, format="c2d" if is_c2d else "d4", is_proven=graph.n_vars <= N_ENUMERATED
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    name: str
    lines: list[tuple[int, list[str]]]

    def error(self, line: int, text: str) -> InputError:
        return InputError(f"{self.name}, line {line}: {text}")

    def integers(self, line: int, words: Iterable[str]) -> list[int]:
        words = list(words)
        try:
            return [int(word) for word in words]
        except ValueError:
            raise self.error(line, f"integers were expected, got {' '.join(words)!r}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edge:
    """A child of a node with the literals that stand beside it; no child is true."""

    child: int | None
    literals: list[int]
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    kind: Literal["and", "or"]
    line: int
    edges: list[_Edge] = field(default_factory=list)


_Nodes = dict[int, _Node]


def _read(path: str | Path) -> list[tuple[int, list[str]]]:
    """Return the numbered lines in words, without comments and empty ones."""
    try:
        text = Path(path).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"an .nnf file is a readable text file, but {path}: {error}") from None
    lines = ((i + 1, line.split()) for i, line in enumerate(text.splitlines()))
    return [(i, words) for i, words in lines if words and words[0] != "c"]


def _parse_c2d(text: _File) -> tuple[_Nodes, int, int]:
    line, header = text.lines[0]
    counts = text.integers(line, header[1:])
    if len(counts) != 3:
        raise text.error(line, f"'nnf nodes edges variables' was expected, got {header!r}")
    n_nodes, n_edges, n_vars = counts
    nodes: _Nodes = {}
    for line, words in text.lines[1:]:
        nodes[len(nodes)] = _parse_c2d_node(text, line, words, known=len(nodes), n_vars=n_vars)
    found = (
        len(nodes),
        sum(edge.child is not None for node in nodes.values() for edge in node.edges),
    )
    if found != (n_nodes, n_edges) or not nodes:
        raise text.error(
            text.lines[0][0],
            f"the header promises {n_nodes} nodes and {n_edges} edges, the file has {found[0]} "
            f"and {found[1]}; is it cut off?",
        )
    return nodes, len(nodes) - 1, n_vars


def _parse_c2d_node(text: _File, line: int, words: list[str], *, known: int, n_vars: int) -> _Node:
    kind, numbers = words[0], text.integers(line, words[1:])
    if kind == "L" and len(numbers) == 1 and 1 <= abs(numbers[0]) <= n_vars:
        return _Node(kind="and", line=line, edges=[_Edge(child=None, literals=numbers, line=line)])
    skipped = {"A": 1, "O": 2}.get(kind)
    if skipped is None or len(numbers) < skipped or len(numbers) - skipped != numbers[skipped - 1]:
        raise text.error(
            line,
            f"'L literal' with a literal up to {n_vars}, 'A n children' or 'O variable n "
            f"children' was expected, got {' '.join(words)!r}",
        )
    children = numbers[skipped:]
    if any(not 0 <= child < known for child in children):
        raise text.error(
            line, f"children are nodes above this one (0 to {known - 1}), got {children}"
        )
    edges = [_Edge(child=child, literals=[], line=line) for child in children]
    return _Node(kind="and" if kind == "A" else "or", line=line, edges=edges)


def _parse_d4(text: _File) -> tuple[_Nodes, int, int]:
    nodes: _Nodes = {}
    edges: list[tuple[int, _Edge]] = []
    for line, words in text.lines:
        kind = words[0] if words[0] in _D4_KINDS else None
        numbers = text.integers(line, words if kind is None else words[1:])
        if numbers[-1:] != [0] or len(numbers) < (3 if kind is None else 2) or 0 in numbers[:-1]:
            raise text.error(
                line,
                "'o|a|t|f node 0' or 'parent child literals 0' of d4 (or 'nnf ...' of c2d at the "
                f"top) was expected, got {' '.join(words)!r}",
            )
        if kind is None:
            edges.append((numbers[0], _Edge(child=numbers[1], literals=numbers[2:-1], line=line)))
        elif numbers[0] in nodes:
            raise text.error(line, f"the node {numbers[0]} is there already")
        else:
            # An "and" of nothing is true, an "or" of nothing false.
            nodes[numbers[0]] = _Node(kind="and" if kind in "at" else "or", line=line)
    for parent, edge in edges:
        missing = {parent, edge.child} - set(nodes)
        if missing:
            raise text.error(edge.line, f"no line declares the nodes {sorted(missing, key=str)}")
        nodes[parent].edges.append(edge)
    n_vars = max((abs(literal) for _, edge in edges for literal in edge.literals), default=0)
    return nodes, _d4_root(nodes, text), n_vars


_D4_KINDS = frozenset("oatf")


def _d4_root(nodes: _Nodes, text: _File) -> int:
    children = {edge.child for node in nodes.values() for edge in node.edges}
    free = [i for i in nodes if i not in children]
    # Constants that nothing leads to may be left over; d4 numbers its root 1.
    roots = [i for i in free if nodes[i].edges] or free
    if len(roots) == 1 or 1 in roots:
        return 1 if 1 in roots else roots[0]
    raise InputError(f"{text.name} needs one node that is no child, to be the root; got {roots}")


def _children_first(nodes: _Nodes, root: int, text: _File) -> list[int]:
    order: dict[int, None] = {}
    open_nodes: set[int] = set()
    stack = [root]
    while stack:
        i = stack[-1]
        if i in order or i in open_nodes:
            order[stack.pop()] = None
            open_nodes.discard(i)
            continue
        open_nodes.add(i)
        for edge in nodes[i].edges:
            if edge.child in open_nodes:
                raise text.error(edge.line, f"the node {edge.child} is below itself")
            if edge.child is not None and edge.child not in order:
                stack.append(edge.child)
    return list(order)


def _convert(nodes: _Nodes, order: list[int], builder: GraphBuilder, text: _File) -> dict[int, int]:
    """Return the graph's id of each node, having checked that no conjunction shares a variable."""
    ids: dict[int, int] = {}
    parts: dict[int, list[int]] = {}
    masks: dict[int, int] = {}
    for i in order:
        node = nodes[i]
        shared = _find_shared(node, masks)
        if shared is not None:
            line, variable = shared
            raise text.error(line, f"the parts of a conjunction share the variable {variable}")
        masks[i] = 0
        elements: list[tuple[int, int]] = []
        conjoined: list[int] = []
        for edge in node.edges:
            masks[i] |= _mask(edge, masks)
            beside = [builder.literal(abs(x) - 1, positive=x > 0) for x in edge.literals]
            conjoined += beside + ([] if edge.child is None else [ids[edge.child]])
            # A conjunction below a disjunction becomes an element instead of a node of its own.
            below = [] if edge.child is None else parts[edge.child]
            first, *rest = [*beside, *below] or [builder.true]
            elements.append((first, builder.conjoin(rest)))
        ids[i] = builder.conjoin(conjoined) if node.kind == "and" else builder.add(elements)
        parts[i] = conjoined if node.kind == "and" else [ids[i]]
    return ids


def _mask(edge: _Edge, masks: dict[int, int]) -> int:
    mask = 0 if edge.child is None else masks[edge.child]
    for literal in edge.literals:
        mask |= 1 << (abs(literal) - 1)
    return mask


def _find_shared(node: _Node, masks: dict[int, int]) -> tuple[int, int] | None:
    """Return the line and a variable that two parts of a conjunction share, or None."""
    seen = 0
    for edge in node.edges:
        if node.kind == "or":
            seen = 0
        parts = [1 << (abs(literal) - 1) for literal in edge.literals]
        for part in [*parts, 0 if edge.child is None else masks[edge.child]]:
            if seen & part:
                return edge.line, (seen & part).bit_length()
            seen |= part
    return None


def _explain_overlap(
    nodes: _Nodes, order: list[int], builder: GraphBuilder, ids: dict[int, int], text: _File
) -> None:
    for i in order:
        found = find_overlap(builder.graph(ids[i]))
        if found is not None:
            true = [column + 1 for column in found[1]]
            raise text.error(
                nodes[i].line,
                "at most one child of an 'or' may hold, but two do where exactly the variables "
                f"{true!r} are true; compile to a deterministic circuit",
            )
