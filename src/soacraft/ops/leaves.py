"""The leaves of operator expressions on SKO models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions.instant import at_one_instant
from soacraft.algebra.expressions.nodes import Identity
from soacraft.algebra.expressions.once import once
from soacraft.algebra.expressions.operator import Binding, Leaf, Operator, Pattern, allowed
from soacraft.algebra.spaces.blocks import Blocks
from soacraft.algebra.spaces.space import Space
from soacraft.algebra.spaces.tree import Tree
from soacraft.algebra.values.measure import magnitude
from soacraft.ops.binding import Bound
from soacraft.ops.named import named_of
from soacraft.ops.table import MADE_OF, Propagator, Sparse, rounding_of_P
from soacraft.recursions._backend import PackedBlocks, Sweeps
from soacraft.recursions.types import Weights

Array = npt.NDArray[np.float64]


class BoundLeaf(Leaf):
    """A leaf with numbers from a binding, kept in the memo of its configuration."""

    binding: Bound

    @at_one_instant
    def kept(self, kind: str, work: Callable[[], Any]) -> Any:
        """Value computed once for a configuration."""
        memo = self.binding.sko().memo
        key = f"{kind} of {self.name}"
        if key not in memo:
            memo[key] = work()
        return memo[key]


class BlockLeaf(BoundLeaf):
    """A leaf given by its non-zero blocks, which are packed once for the products with vectors."""

    def entries(self) -> Mapping[tuple[int, int], Array]:
        """The non-zero blocks."""
        raise AssertionError("each kind computes its blocks")

    def _once(self, kind: str, work: Callable[[], Any]) -> Any:
        """Value stored for as long as the numbers stay."""
        return self.kept(kind, work)

    def blocks(self) -> Blocks:
        rows, cols = self.spaces
        found: Blocks = self._once("blocks", lambda: Blocks(rows, cols, self.entries()))
        return found

    def _apply(self, x: Array, transposed: bool) -> Array:
        blocks = self.blocks()
        if blocks.batch:
            return blocks.apply_T(x) if transposed else blocks.apply(x)
        packed: PackedBlocks = self._once("packed", lambda: PackedBlocks(*self.spaces, blocks.entries))
        return packed.apply(x, transposed)

    def apply(self, x: Array) -> Array:
        return self._apply(x, False)

    def apply_T(self, x: Array) -> Array:
        return self._apply(x, True)


class SparseLeaf(BlockLeaf):
    """An operator of the table: H, M, E_phi, P, D, K, ..."""

    def __init__(self, binding: Bound, what: Sparse) -> None:
        self.binding, self.what = binding, what
        self.name, self.latex_name, self.source, self.claims = what.name, what.latex, what.source, what.claims
        self.rows = binding.hinge if what.rows == "hinge" else binding.body
        self.cols = binding.hinge if what.cols == "hinge" else binding.body

    def pattern(self) -> Pattern:
        return frozenset(self.what.pattern)

    def entries(self) -> Mapping[tuple[int, int], Array]:
        return self.what.entries(self.binding.sko())

    def magnitude(self) -> Blocks:
        s = named_of(self.binding)
        if self.name == "P":
            return rounding_of_P(s).blocks().magnitude.bounded()  # type: ignore[no-any-return]
        made_of = MADE_OF.get(self.name)
        return super().magnitude() if made_of is None else magnitude(made_of(s))

    def bound_to(self, binding: Binding) -> Leaf:
        return SparseLeaf(binding, self.what)  # type: ignore[arg-type]


class PickOffLeaf(BoundLeaf):
    """B: forces at nodes to forces on their bodies; B.T picks off node velocities (000 Eq. 12)."""

    source = "000 Eq. 12"
    latex_name = r"\mathcal{B}"

    def __init__(self, binding: Bound, nodes: Any) -> None:
        self.binding, self.nodes = binding, binding.nodes(nodes)
        self.name = f"B({list(self.nodes)!r})"
        self.rows, self.cols = binding.body, binding.node_space(self.nodes)

    def pattern(self) -> Pattern:
        return frozenset("s")

    def blocks(self) -> Blocks:
        rows, cols = self.spaces
        found: Blocks = self.kept("blocks", lambda: Blocks(rows, cols, self.binding.pick_off(self.nodes)))
        return found

    def apply(self, x: Array) -> Array:
        return self.blocks().apply(x)

    def apply_T(self, x: Array) -> Array:
        return self.blocks().apply_T(x)

    def bound_to(self, binding: Binding) -> Leaf:
        return PickOffLeaf(binding, list(self.nodes))  # type: ignore[arg-type]


class PropagatorLeaf(BoundLeaf):
    """phi, psi and their tilde forms: products are gathers and scatters, blocks are products along a path."""

    kernel: Operator

    def __init__(self, binding: Bound, what: Propagator, kernel: Operator) -> None:
        self.binding, self.what, self.kernel = binding, what, kernel
        self.name, self.latex_name, self.source = what.name, what.latex, what.source
        self.rows = self.cols = binding.body

    def sweeps(self) -> Sweeps:
        """The packed weights of the kernel operator."""
        tree, space = self.binding.sko().tree, self.spaces[0]
        found: Sweeps = self.kept("sweeps", lambda: Sweeps(tree, space, edges_of(tree, self.kernel.blocks())))
        return found

    def pattern(self) -> None:
        return None

    def blocks(self) -> Blocks:
        raise AssertionError("the blocks of a propagator reach along whole paths")

    def sweep(self, transposed: bool) -> str:
        return "scatter" if transposed else "gather"

    def apply(self, x: Array) -> Array:
        return self.sweeps().gather(x, self.what.tilde)

    def apply_T(self, x: Array) -> Array:
        return self.sweeps().scatter(x, self.what.tilde)

    def bound_to(self, binding: Binding) -> Leaf:
        return PropagatorLeaf(binding, self.what, self.kernel.with_leaves(lambda leaf: leaf.bound_to(binding)))  # type: ignore[arg-type]


class DefinedLeaf(BoundLeaf):
    """A name for an expression: Omega."""

    def __init__(self, name: str, latex: str, meaning: Operator, claims: frozenset[str], source: str) -> None:
        self.name, self.latex_name, self.meaning, self.claims, self.source = name, latex, meaning, claims, source
        self.binding = next(meaning.leaves()).binding  # type: ignore[assignment]
        self.depth = allowed(meaning.depth + 1)
        self.rows, self.cols = meaning.spaces

    def definition(self) -> Operator:
        return self.meaning

    def pattern(self) -> Pattern | None:
        return self.meaning.pattern()

    def blocks(self) -> Blocks:
        return self.meaning.blocks()

    def apply(self, x: Array) -> Array:
        return self.meaning.apply(x)

    def apply_T(self, x: Array) -> Array:
        return self.meaning.apply_T(x)

    def bound_to(self, binding: Binding) -> Leaf:
        meaning = self.meaning.with_leaves(lambda leaf: leaf.bound_to(binding))
        return DefinedLeaf(self.name, self.latex_name, meaning, self.claims, self.source)


class BoundIdentity(Identity):
    """The identity of a space of one model: what remains of an expression in which everything cancels.

    It is bound as the leaf it takes its space from, so it can be differentiated, compiled and set to other states.
    """

    def __init__(self, neighbour: Leaf, of_rows: bool) -> None:
        super().__init__(neighbour.rows if of_rows else neighbour.cols)
        self.neighbour, self.of_rows = neighbour, of_rows

    def leaves(self) -> Iterator[Leaf]:
        yield self.neighbour

    def with_leaves(self, change: Callable[[Leaf], Operator]) -> Operator:
        changed = change(self.neighbour)
        return BoundIdentity(changed, self.of_rows) if isinstance(changed, Leaf) else super().with_leaves(change)


def bound_identity(expr: Operator, leaves: Iterable[Leaf]) -> Operator:
    """An expression made of identities alone, bound as those of the leaves that have its space."""
    if isinstance(expr, Identity):
        neighbours = ((leaf, space is leaf.rows) for leaf in leaves for space in leaf.spaces if space == expr.rows)
        return next((BoundIdentity(*leaf) for leaf in neighbours), expr)
    return expr.with_parts(tuple(bound_identity(part, leaves) for part in expr.parts()))


class DerivedLeaf(Leaf):
    """An operator computed from the numbers of others: its leaves are theirs."""

    def __init__(self, *args: Operator) -> None:
        self.args, self.depth = args, allowed(1 + max(arg.depth for arg in args))
        self.binding = next(leaf.binding for arg in args for leaf in arg.leaves())

    def leaves(self) -> Iterator[Leaf]:
        for arg in self.args:
            yield from arg.leaves()

    def with_leaves(self, change: Callable[[Leaf], Operator]) -> Operator:
        return type(self)(*(arg.with_leaves(change) for arg in self.args))

    @once
    def key(self) -> tuple[Any, ...]:
        return (type(self).__name__, *(arg.key() for arg in self.args))

    def bound_to(self, binding: Binding) -> Leaf:
        return type(self)(*(arg.with_leaves(lambda leaf: leaf.bound_to(binding)) for arg in self.args))


def edges_of(tree: Tree, blocks: Blocks) -> list[Array | None]:
    """A(p(k), k) by k from the blocks of a kernel operator."""
    return [blocks.block(p, k) if (p := tree.parents[k]) >= 0 else None for k in range(tree.n)]


def weights_of(blocks: Blocks) -> Weights:
    """A(p, k) as a function."""
    return blocks.block


def tree_of(space: Space) -> Tree:
    """The tree of a hinge or body space."""
    assert space.tree is not None
    return space.tree
