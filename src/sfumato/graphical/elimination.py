"""Elimination orders: which attributes to sum out first so that the cliques stay small.

A vertex whose neighbours all touch each other is *simplicial*; to eliminate it adds no edge and is never
wrong, so those go first. What is left is split into connected parts, and in each part several greedy rules
(min-fill, min-weight and mixtures) compete; the order with the fewest cells wins. Neighbourhoods are Python
integers used as bit sets, which makes a step cheap up to thousands of attributes.

Source: Koller and Friedman, "Probabilistic Graphical Models" (2009), section 9.4.3; Bodlaender and Koster,
"Treewidth computations I" (2010), on simplicial vertices.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from attrs import frozen

Step = tuple[int, int]
"""An attribute and the bit set of its neighbours at the moment it is eliminated."""

Graph = dict[int, int]


def bits(mask: int) -> Iterator[int]:
    """Positions of the ones of `mask`, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def graph_of(cliques: Iterable[Iterable[int]]) -> Graph:
    """The graph in which the attributes of each clique touch each other."""
    graph: Graph = {}
    for clique in cliques:
        members = tuple(clique)
        mask = 0
        for attribute in members:
            mask |= 1 << attribute
        for attribute in members:
            graph[attribute] = graph.get(attribute, 0) | mask
    for attribute in graph:
        graph[attribute] &= ~(1 << attribute)
    return graph


def weight(mask: int, sizes: Sequence[int]) -> int:
    """Product of the sizes of the attributes in `mask`."""
    product = 1
    while mask:
        low = mask & -mask
        product *= sizes[low.bit_length() - 1]
        mask ^= low
    return product


def parts(graph: Graph) -> list[Graph]:
    """The connected parts of `graph`."""
    left = dict(graph)
    found = []
    while left:
        start = next(iter(left))
        part: Graph = {}
        frontier = 1 << start
        while frontier:
            low = frontier & -frontier
            frontier ^= low
            attribute = low.bit_length() - 1
            neighbours = left.pop(attribute, None)
            if neighbours is None:
                continue
            part[attribute] = neighbours
            frontier |= neighbours
        found.append(part)
    return found


def steps(sizes: Sequence[int], graph: Graph) -> list[Step]:
    """A good elimination order of `graph`, which is left as it was."""
    graph = dict(graph)
    order = _simplicial(graph)
    for part in parts(graph):
        key = tuple((attribute, sizes[attribute], part[attribute]) for attribute in sorted(part))
        order.extend(_contest(key))
    return order


def steps_within(sizes: Sequence[int], graph: Graph, at_most: int) -> list[Step] | None:
    """An elimination order of `graph` whose maximal cliques have `at_most` cells; None if no rule finds one.

    Much faster than `steps`, which is no worse: the first of two rules that succeeds settles it, and a rule
    is given up at the first clique that is too large by itself.
    """
    graph = dict(graph)
    first = _simplicial(graph)
    if any(weight(neighbours, sizes) * sizes[attribute] > at_most for attribute, neighbours in first):
        return None
    for rule in QUICK_RULES:
        rest = _greedy(graph, sizes, rule, at_most + 1)
        if rest is not None and cells_of(sizes, [*first, *rest]) <= at_most:
            return [*first, *rest]
    return None


def cells_of(sizes: Sequence[int], order: Iterable[Step]) -> int:
    """Cells of the maximal cliques that `order` makes.

    A clique is not maximal exactly when it equals the neighbourhood of a vertex that went before.
    """
    total = 0
    swallowed: set[int] = set()
    for attribute, neighbours in order:
        clique = neighbours | 1 << attribute
        if clique not in swallowed:
            total += weight(clique, sizes)
        swallowed.add(neighbours)
    return total


def is_chordal(graph: Graph, order: Iterable[Step]) -> bool:
    """Whether `order` eliminated `graph` without adding an edge."""
    edges = sum(neighbours.bit_count() for neighbours in graph.values()) // 2
    return edges == sum(neighbours.bit_count() for _, neighbours in order)


def _simplicial(graph: Graph) -> list[Step]:
    """Eliminate simplicial vertices from `graph`, in place, until there are none."""
    order: list[Step] = []
    queue = deque(sorted(graph, key=lambda attribute: (graph[attribute].bit_count(), attribute)))
    waiting = set(queue)
    while queue:
        attribute = queue.popleft()
        waiting.discard(attribute)
        neighbours = graph.get(attribute)
        if neighbours is None or _missing(neighbours, graph):
            continue
        order.append((attribute, neighbours))
        _remove(attribute, neighbours, graph)
        for other in bits(neighbours):
            if other not in waiting:
                waiting.add(other)
                queue.append(other)
    return order


def _missing(neighbours: int, graph: Graph) -> bool:
    """Whether two of `neighbours` do not touch."""
    return any(neighbours & ~graph[other] & ~(1 << other) for other in bits(neighbours))


def _missing_edges(neighbours: int, graph: Graph) -> Iterator[tuple[int, int]]:
    """The pairs of `neighbours` that do not touch."""
    for one in bits(neighbours):
        for other in bits(neighbours & ~graph[one] & (-2 << one)):
            yield one, other


def _remove(attribute: int, neighbours: int, graph: Graph) -> None:
    """Take `attribute` out of `graph` and join its neighbours to each other."""
    del graph[attribute]
    for other in bits(neighbours):
        graph[other] = (graph[other] | neighbours) & ~(1 << other) & ~(1 << attribute)


def _fill(attribute: int, graph: Graph, sizes: Sequence[int], *, heavy: bool) -> int:
    """Edges that eliminating `attribute` adds, each worth 1 or, if `heavy`, the cells of its two ends."""
    # Plain loops: this and `weight` are most of the time of an elimination.
    neighbours = left = graph[attribute]
    if heavy:
        return sum(sizes[one] * sizes[other] for one, other in _missing_edges(neighbours, graph))
    missing = -neighbours.bit_count()
    while left:
        low = left & -left
        missing += (neighbours & ~graph[low.bit_length() - 1]).bit_count()
        left ^= low
    return missing // 2


@frozen
class Rule:
    """What a greedy elimination goes by: the lowest `score` of the edges added, the cells of the neighbours
    together, the size of the attribute, and the attribute.
    """

    score: Callable[[int, int, int, int], tuple[int, ...]]
    heavy: bool = False
    """Whether an added edge counts by the cells of its ends."""


FILL_THEN_WEIGHT = Rule(lambda fill, around, size, attribute: (fill, around * size, attribute))
WEIGHT_THEN_FILL = Rule(lambda fill, around, size, attribute: (around * size, fill, attribute))
FILL_THEN_RELIEF = Rule(lambda fill, around, size, attribute: (fill, around, -attribute))
HEAVY_FILL = Rule(lambda fill, around, size, attribute: (fill, around * size, attribute), heavy=True)
RULES = (FILL_THEN_WEIGHT, WEIGHT_THEN_FILL, FILL_THEN_RELIEF, HEAVY_FILL)
QUICK_RULES = RULES[:2]


@lru_cache(maxsize=4096)
def _contest(part: tuple[tuple[int, int, int], ...]) -> tuple[Step, ...]:
    """The best order any rule finds for one connected part (attribute, size, neighbours)."""
    highest = max(attribute for attribute, _, _ in part)
    sizes = [1] * (highest + 1)
    graph: Graph = {}
    for attribute, size, neighbours in part:
        sizes[attribute] = size
        graph[attribute] = neighbours
    best: tuple[Step, ...] = ()
    fewest: int | None = None
    for rule in RULES:
        order = _greedy(graph, sizes, rule, fewest)
        if order is None:
            continue
        cells = cells_of(sizes, order)
        if fewest is None or cells < fewest:
            best, fewest = tuple(order), cells
    return best


def _greedy(graph: Graph, sizes: Sequence[int], rule: Rule, bound: int | None) -> list[Step] | None:
    """Eliminate by the lowest score; None as soon as one clique alone is not below `bound`."""
    graph, heavy = dict(graph), rule.heavy
    fill = {attribute: _fill(attribute, graph, sizes, heavy=heavy) for attribute in graph}
    around = {attribute: weight(neighbours, sizes) for attribute, neighbours in graph.items()}
    scores = {each: rule.score(fill[each], around[each], sizes[each], each) for each in graph}
    order: list[Step] = []
    while scores:
        attribute = min(scores, key=scores.__getitem__)
        neighbours = graph[attribute]
        if bound is not None and around[attribute] * sizes[attribute] >= bound:
            return None
        order.append((attribute, neighbours))
        del scores[attribute]
        changed = neighbours
        for one, other in _missing_edges(neighbours, graph) if fill[attribute] else ():
            # Whatever touches both ends of an edge that is added lacks one edge less.
            ends = graph[one] & graph[other] & ~neighbours & ~(1 << attribute)
            changed |= ends
            value = sizes[one] * sizes[other] if heavy else 1
            for third in bits(ends):
                fill[third] -= value
        _remove(attribute, neighbours, graph)
        for other in bits(neighbours):
            fill[other] = _fill(other, graph, sizes, heavy=heavy)
            around[other] = weight(graph[other], sizes)
        for other in bits(changed):
            scores[other] = rule.score(fill[other], around[other], sizes[other], other)
    return order
