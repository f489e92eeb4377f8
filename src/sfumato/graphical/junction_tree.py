"""Junction trees: maximal cliques joined so that every attribute lives in one connected piece.

The tree comes straight from an elimination order: the clique made by an attribute hangs from the clique made
by the first of its neighbours to be eliminated, and their separator is that neighbourhood. Cliques that are
contained in others are merged away. The size of a tree is the sum of the cells of its cliques; it decides
time and memory, so it can be asked for (`cells`, `CellCounter`) without building anything.

Source: Lauritzen and Spiegelhalter (1988); Koller and Friedman (2009), chapter 10.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import field, frozen

from sfumato.graphical.elimination import (
    Graph,
    bits,
    cells_of,
    graph_of,
    is_chordal,
    parts,
    steps,
    steps_within,
)
from sfumato.graphical.layout import cell_count

Clique = tuple[int, ...]


@frozen(kw_only=True)
class JunctionTree:
    """A rooted junction forest over attributes 0..len(sizes)-1, every one of which is in some clique.

    `cliques` are maximal and come parents first; `parents[i]` is the index of the parent of clique i, or -1
    for a root (the largest clique of its part); `separators[i]` is what clique i shares with its parent.
    """

    sizes: tuple[int, ...]
    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]
    separators: tuple[Clique, ...]
    _holders: tuple[tuple[int, ...], ...] = field(init=False, repr=False, eq=False)

    @_holders.default
    def _find_holders(self) -> tuple[tuple[int, ...], ...]:
        holders: list[list[int]] = [[] for _ in self.sizes]
        for index in sorted(range(len(self.cliques)), key=self.clique_cells):
            for attribute in self.cliques[index]:
                holders[attribute].append(index)
        return tuple(map(tuple, holders))

    @property
    def cells(self) -> int:
        """Cells of all cliques together."""
        return sum(map(self.clique_cells, range(len(self.cliques))))

    def clique_cells(self, index: int) -> int:
        """Cells of one clique."""
        return cell_count(self.sizes, self.cliques[index])

    def home(self, clique: Iterable[int]) -> int | None:
        """Index of the smallest clique that contains `clique`; None when there is none."""
        wanted = set(clique)
        if not wanted:
            return 0 if self.cliques else None
        rarest = min(wanted, key=lambda attribute: len(self._holders[attribute]))
        return next((i for i in self._holders[rarest] if wanted.issubset(self.cliques[i])), None)


def junction_tree(sizes: Sequence[int], cliques: Iterable[Sequence[int]]) -> JunctionTree:
    """The junction tree in which every one of `cliques` fits into some clique of the tree.

    `sizes[a]` is the number of codes of attribute a. Attributes in no clique become cliques of their own.
    Raises ValueError for sizes below 1 and attributes out of range.
    """
    counts = check_sizes(sizes)
    graph = graph_of(_checked(counts, cliques))
    for attribute in range(len(counts)):
        graph.setdefault(attribute, 0)
    made, above = _tree_of(steps(counts, graph))
    return _rooted(counts, made, above)


def cells(sizes: Sequence[int], cliques: Iterable[Sequence[int]]) -> int:
    """Cells of `junction_tree(sizes, cliques)`, exactly, allocating nothing.

    For a search that adds one clique after another, `CellCounter` answers faster.
    """
    counts = check_sizes(sizes)
    graph = graph_of(_checked(counts, cliques))
    lonely = sum(size for attribute, size in enumerate(counts) if attribute not in graph)
    return lonely + cells_of(counts, steps(counts, graph))


@frozen(eq=False)
class _Part:
    """One connected part of a growing graph."""

    graph: Graph
    cells: int
    chordal: bool


class CellCounter:
    """Cells of a growing set of cliques.

    `with_clique` and `add` give what `cells` gives. `fits` and `add_within` ask less and are much faster:
    whether a bound is kept. After `add_within` the count may be above that of `cells`, never below.
    Only the parts that a clique touches are looked at, and not even those when it adds no edge, or merely
    ties together parts of which at most one is not chordal (trees are).
    """

    def __init__(self, sizes: Sequence[int], cliques: Iterable[Sequence[int]] = ()) -> None:
        self._sizes = check_sizes(sizes)
        self._parts: dict[int, _Part] = {}
        self._name_of = list(range(len(self._sizes)))
        known = _checked(self._sizes, cliques)
        for graph in parts(graph_of([*known, *((a,) for a in range(len(self._sizes)))])):
            order = steps(self._sizes, graph)
            name = min(graph)
            self._parts[name] = _Part(graph, cells_of(self._sizes, order), is_chordal(graph, order))
            for attribute in graph:
                self._name_of[attribute] = name
        self._cells = sum(part.cells for part in self._parts.values())

    @property
    def cells(self) -> int:
        """Cells of the junction tree of the cliques added so far."""
        return self._cells

    def with_clique(self, clique: Sequence[int]) -> int:
        """Cells if `clique` were added too; nothing changes."""
        (members,) = _checked(self._sizes, [clique])
        return self._cells + self._grown(members)[0]

    def fits(self, clique: Sequence[int], at_most: int) -> bool:
        """Whether there would be `at_most` cells if `clique` were added too; nothing changes."""
        (members,) = _checked(self._sizes, [clique])
        return self._grown_within(members, at_most) is not None

    def add(self, clique: Sequence[int]) -> None:
        """Add `clique` for good."""
        (members,) = _checked(self._sizes, [clique])
        if members:
            self._join(members, self._grown(members))

    def add_within(self, clique: Sequence[int], at_most: int) -> bool:
        """Add `clique` if there are `at_most` cells then; whether it was added."""
        (members,) = _checked(self._sizes, [clique])
        found = self._grown_within(members, at_most)
        if members and found is not None:
            self._join(members, found)
        return found is not None

    def _join(self, members: Clique, grown: tuple[int, bool]) -> None:
        more, chordal = grown
        names = {self._name_of[attribute] for attribute in members}
        largest = max(names, key=lambda name: len(self._parts[name].graph))
        graph, count = self._parts[largest].graph, self._parts[largest].cells + more
        for name in names - {largest}:
            part = self._parts.pop(name)
            count += part.cells
            graph.update(part.graph)
            for attribute in part.graph:
                self._name_of[attribute] = largest
        _tie(graph, members)
        self._parts[largest] = _Part(graph, count, chordal)
        self._cells += more

    def _touched(self, clique: Clique) -> list[_Part]:
        return [self._parts[name] for name in {self._name_of[attribute] for attribute in clique}]

    def _grown(self, clique: Clique) -> tuple[int, bool]:
        """Cells that `clique` adds to the parts that it touches, and whether what it makes is chordal."""
        touched = self._touched(clique)
        known = self._shortcut(clique, touched)
        if known is not None:
            return known
        merged = _merged(touched, clique)
        order = steps(self._sizes, merged)
        return cells_of(self._sizes, order) - sum(part.cells for part in touched), is_chordal(merged, order)

    def _grown_within(self, clique: Clique, at_most: int) -> tuple[int, bool] | None:
        """The same by the first order that keeps `at_most` cells in all; None if none does."""
        touched = self._touched(clique)
        known = self._shortcut(clique, touched)
        if known is not None:
            return known if self._cells + known[0] <= at_most else None
        held = sum(part.cells for part in touched)
        merged = _merged(touched, clique)
        order = steps_within(self._sizes, merged, at_most - self._cells + held)
        if order is None:
            return None
        return cells_of(self._sizes, order) - held, is_chordal(merged, order)

    def _shortcut(self, clique: Clique, touched: Sequence[_Part]) -> tuple[int, bool] | None:
        """The same where it needs no elimination."""
        chordal = all(part.chordal for part in touched)
        if len(touched) <= 1 and all(_is_tied(part.graph, clique) for part in touched):
            return 0, chordal
        if len(touched) == len(set(clique)) and sum(not part.chordal for part in touched) <= 1:
            # The clique meets each part in one attribute: it becomes a clique of the tree as it stands,
            # and what was a clique on its own no longer is.
            alone = sum(part.cells for part in touched if len(part.graph) == 1)
            return cell_count(self._sizes, clique) - alone, chordal
        return None


def _merged(touched: Iterable[_Part], clique: Clique) -> Graph:
    graph: Graph = {}
    for part in touched:
        graph.update(part.graph)
    _tie(graph, clique)
    return graph


def _tie(graph: Graph, clique: Clique) -> None:
    """Join the attributes of `clique` to each other in `graph`, in place."""
    for attribute, neighbours in graph_of([clique]).items():
        graph[attribute] |= neighbours


def _is_tied(graph: Graph, clique: Clique) -> bool:
    return all(not neighbours & ~graph[attribute] for attribute, neighbours in graph_of([clique]).items())


def check_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """`sizes` as a tuple of Python integers; ValueError when one is below 1."""
    counts = tuple(int(size) for size in sizes)
    for attribute, size in enumerate(counts):
        if size < 1:
            raise ValueError(f"attribute {attribute} has size {size}; every size must be at least 1")
    return counts


def _checked(sizes: Sequence[int], cliques: Iterable[Sequence[int]]) -> list[Clique]:
    checked = []
    for clique in cliques:
        members = tuple(int(attribute) for attribute in clique)
        for attribute in members:
            if not 0 <= attribute < len(sizes):
                raise ValueError(f"clique {members} names attribute {attribute}; there are {len(sizes)}")
        checked.append(members)
    return checked


def _tree_of(order: Sequence[tuple[int, int]]) -> tuple[list[Clique], list[int]]:
    """Maximal cliques of an elimination order and the index of what each hangs from (-1: nothing)."""
    place = {attribute: at for at, (attribute, _) in enumerate(order)}
    clique_of = [neighbours | 1 << attribute for attribute, neighbours in order]
    above = [min((place[other] for other in bits(n)), default=-1) for _, n in order]
    stands_for = list(range(len(order)))
    for at, (_, neighbours) in enumerate(order):
        parent = above[at]
        if parent >= 0 and stands_for[parent] == parent and clique_of[parent] == neighbours:
            stands_for[parent] = at
    # A clique can be merged into one that is itself merged further down: follow to the end.
    kept: dict[int, int] = {}
    for at in range(len(order)):
        end = at
        while stands_for[end] != end:
            end = stands_for[end]
        stands_for[at] = end
        if end == at:
            kept[at] = len(kept)
    hangs = [-1] * len(kept)
    for at in range(len(order)):
        parent = above[at]
        if parent >= 0 and stands_for[parent] != stands_for[at]:
            hangs[kept[stands_for[at]]] = kept[stands_for[parent]]
    return [tuple(bits(clique_of[at])) for at in kept], hangs


def _rooted(sizes: tuple[int, ...], cliques: list[Clique], above: list[int]) -> JunctionTree:
    """Root every part at its largest clique and list parents before children."""
    touching: list[list[int]] = [[] for _ in cliques]
    for index, parent in enumerate(above):
        if parent >= 0:
            touching[index].append(parent)
            touching[parent].append(index)
    largest_first = sorted(range(len(cliques)), key=lambda i: (-cell_count(sizes, cliques[i]), cliques[i]))
    position: dict[int, int] = {}
    parents: list[int] = []
    for root in largest_first:
        stack = [] if root in position else [(root, -1)]
        while stack:
            index, parent = stack.pop()
            position[index] = len(parents)
            parents.append(parent)
            fresh = (other for other in touching[index] if other not in position)
            stack.extend((other, position[index]) for other in sorted(fresh, key=lambda i: cliques[i])[::-1])
    ordered: list[Clique] = [()] * len(cliques)
    for index, at in position.items():
        ordered[at] = cliques[index]
    separators = tuple(
        tuple(sorted(set(clique).intersection(ordered[parent]))) if parent >= 0 else ()
        for clique, parent in zip(ordered, parents, strict=True)
    )
    return JunctionTree(sizes=sizes, cliques=tuple(ordered), parents=tuple(parents), separators=separators)
