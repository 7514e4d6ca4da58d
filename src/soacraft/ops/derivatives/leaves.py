"""The leaves of derivatives: X, W, dH, the W of nodes, and B_hat of the Coriolis matrix.

All but dH are linear in a stacked vector x that an expression gives, such as s = H* w or V = phi* H* w:

    X(k) = crf(x(k)),   W(k) = diag(w~, w~) in inertial axes, crf(x(k)) in origin axes,   B_hat(k) f = crf(f) x(k)

so a derivative of a leaf is the same leaf of the derivative of x, and there is no end to differentiating.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial, reduce
from itertools import product as pairs
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.descriptions.printing import before_dot
from soacraft.algebra.expressions.operator import DIAGONAL, Binding, Leaf, Operator, Pattern
from soacraft.algebra.spaces.blocks import Blocks
from soacraft.model.flat.axes import check_axes, velocity_map
from soacraft.model.flat.realize import times
from soacraft.model.hinges.base import derivative_of_H_T_of
from soacraft.model.states.kinematics import modal_block, pose_of_frame
from soacraft.ops.binding import GraphBinding
from soacraft.ops.derivatives import questions
from soacraft.ops.derivatives.directions import AnchorMotion, Direction, Source, Unit, direction_of
from soacraft.ops.leaves import BlockLeaf, DerivedLeaf
from soacraft.ops.named import named_of
from soacraft.spatial.rotations import skew
from soacraft.spatial.transforms import crf

Array = npt.NDArray[np.float64]
Entries = dict[tuple[int, int], Array]
Step = tuple[str | None, int]
Delta = Callable[[Operator], Operator | None]

SPACES = {"X": ("body", "body"), "W": ("body", "body"), "W_nd": ("node", "node"), "B_hat": ("body", "body"),
          "dH": ("hinge", "body")}  # fmt: skip
SOURCES = {"X": "G1", "W": "G1", "W_nd": "G17", "B_hat": "Coriolis matrix", "dH": "G3"}


class SensitivityLeaf(BlockLeaf):
    """A block-diagonal leaf of a derivative. `terms` are what it is the sum of; none: it is zero."""

    binding: GraphBinding
    terms: Sequence[Any]

    def __init__(self, binding: GraphBinding, kind: str, path: tuple[Step, ...], nodes: tuple[str, ...]) -> None:
        self.binding, self.kind, self.path, self.nodes = binding, kind, path, nodes
        spaces = {"body": binding.body, "hinge": binding.hinge}
        node = binding.node_space(nodes) if nodes else None
        self.rows, self.cols = (node if where == "node" else spaces[where] for where in SPACES[kind])
        self.name, self.latex_name = self._names()
        self.source = SOURCES[kind]
        self.claims = frozenset({"block_diagonal"} if self.rows == self.cols else ())

    def _names(self) -> tuple[str, str]:
        ops = named_of(self.binding)
        first, *more = (ops.direction(*step) for step in self.path)
        listed = [repr(list(self.nodes))] if self.nodes else []
        name = self.kind if first.body is not None or self.kind == "B_hat" else f"{self.kind}_v"
        call = ", ".join([*listed, *([first.call] if first.call else [])])
        words = {"W_nd": r"W_{\mathrm{nd}}", "B_hat": r"\hat{B}", "dH": r"\partial H"}.get(self.kind, self.kind)
        verbs = ("diff", "dot") if self.binding.axes == "body" else ("along", "along")
        text = name + (f"({call})" if call else "")
        text += "".join(f".{verbs[u.body is None]}({u.call})" for u in more)
        return text, f"[{words}]_{{{'; '.join(u.latex for u in (first, *more))}}}"

    def __reduce__(self) -> tuple[Any, ...]:
        return make, (self.binding, self.kind, self.path, self.nodes)

    # -- numbers --------------------------------------------------------------------------------------------------

    def sources(self) -> list[Source]:
        """The vectors it is made with."""
        raise AssertionError("each kind has its vectors")

    def changes(self) -> dict[Hashable, Callable[[], object]]:
        moving = [source for source in self.sources() if source.moving]
        own = super().changes()
        return own | {(id(self.binding), source): partial(source.token, self.binding) for source in moving}

    def _once(self, what: str, work: Callable[[], Any]) -> Any:
        """Value stored for as long as the numbers stay: in the memo of the configuration, if it depends on nothing
        else.
        """
        moving = any(source.moving for source in self.sources())
        return self.cached(what, work) if moving else self.kept(what, work)

    def pattern(self) -> Pattern:
        return DIAGONAL if self.terms else frozenset()

    # -- relatives ------------------------------------------------------------------------------------------------

    def bound_to(self, binding: Binding) -> Leaf:
        ops = named_of(binding)  # type: ignore[arg-type]
        first, *more = (direction_of(ops, *step) for step in self.path)
        found: Any = first.leaf(self.kind, *(ops.binding.nodes(list(self.nodes)) if self.nodes else ()))
        for u in more:
            found = found.extended(u)
        leaf: Leaf = found
        return leaf

    def extended(self, u: Direction) -> SensitivityLeaf:
        """Leaf of one derivative more."""
        return make(self.binding, self.kind, (*self.path, u.step), self.nodes)

    def derived(self, u: Direction, delta: Delta) -> Sequence[Any]:
        """The terms of the derivative along u, the turning of the axes left out; `delta` does so for operators."""
        raise AssertionError("each kind says how its terms change")


class TwistLeaf(SensitivityLeaf):
    """X, W, W_nd and B_hat: terms are pairs (operator, vector), and x is the sum of their products."""

    terms: list[tuple[Operator, Source]]

    def start(self) -> list[tuple[Operator, Source]]:
        s = named_of(self.binding)
        source = s.direction(*self.path[0]).source
        if self.kind == "X":
            return [(s.H.T, source)]
        if self.kind == "B_hat":
            return [(s.M * s.phi.T * s.H.T, source)]
        if self.binding.axes == "body":
            return []
        turning: list[tuple[Operator, Source]] = [(s.phi.T * s.H.T, source)]
        if self.path[0][0] is None and self.binding.state.motion.base is not None:
            turning.append((s.I.with_space(s.body), AnchorMotion()))
        return turning

    def derived(self, u: Direction, delta: Delta) -> list[tuple[Operator, Source]]:
        found: list[tuple[Operator, Source]] = []
        for operator, source in self.terms:
            change, rate = delta(operator), source.rate(u)
            found += [] if change is None else [(change, source)]
            found += [] if rate is None else [(operator, rate)]
            found += [(operator * u.W.T, source)] if source.of_bodies else []
        return found

    def sources(self) -> list[Source]:
        return [source for _, source in self.terms]

    def _moved(self) -> list[int]:
        """The nodes with a non-zero block."""
        tree = self.binding.graph.layout.tree
        body = self.path[0][0]
        if body is None:
            return list(range(tree.n))
        i = self.binding.graph.index(body)
        return [i] if self.kind == "X" else [k for k in range(tree.n) if tree.path(i, k) is not None]

    def entries(self) -> Entries:
        if not self.terms:
            return {}
        parts = [operator.apply(source.columns(self.binding)) for operator, source in self.terms]
        x, body = sum(parts[1:], parts[0])[..., 0], self.binding.body
        moved = self._moved()
        blocks = self._matrix(x[..., body.offsets[moved][:, None] + np.arange(6)])
        at = {k: blocks[..., i, :, :] for i, k in enumerate(moved)}
        if self.kind == "W_nd":
            return self._of_nodes(at)
        return {(k, k): padded(block, body.dims[k], body.dims[k]) for k, block in at.items()}

    def _of_nodes(self, at: dict[int, Array]) -> Entries:
        """The turning of the bodies of nodes, and what modes turn a node by on its body."""
        state, source = self.binding.state, named_of(self.binding).direction(*self.path[0]).source
        flex, found = state.configuration.flex, Entries()
        for i, name in enumerate(self.nodes):
            frame = self.binding.graph.frame(name)
            k = self.binding.graph.node_block(name, state, "body")[0]
            if k not in at:
                continue
            found[i, i] = at[k]
            if flex is not None and frame.modal_node is not None and len(self.path) == 1:
                rate = flex.rates(source.columns(self.binding)[..., 0], k)
                turn = times(pose_of_frame(state, frame)[0], times(modal_block(state, frame), rate)[..., :3])
                found[i, i] = at[k] + crf(np.concatenate([turn, np.zeros_like(turn)], axis=-1))
        return found

    def _matrix(self, x: Array) -> Array:
        """The blocks of vectors (..., m, 6)."""
        if self.kind == "B_hat":
            return momentum_cross(x)
        if self.kind == "W_nd" or (self.kind == "W" and self.binding.axes == "inertial"):
            x = np.concatenate([x[..., :3], np.zeros_like(x[..., 3:])], axis=-1)
        return crf(x)


class HingeRateLeaf(SensitivityLeaf):
    """dH: terms are tuples of vectors; each gives the derivative of H in body axes along all its vectors in turn."""

    terms: list[tuple[Source, ...]]

    def start(self) -> list[tuple[Source, ...]]:
        return self._kept_terms([(named_of(self.binding).direction(*self.path[0]).source,)])

    def derived(self, u: Direction, delta: Delta) -> list[tuple[Source, ...]]:
        found: list[tuple[Source, ...]] = []
        for sources in self.terms:
            found.append((*sources, u.source))
            for i, source in enumerate(sources):
                rate = source.rate(u)
                found += [] if rate is None else [(*sources[:i], rate, *sources[i + 1 :])]
        return self._kept_terms(found)

    def _kept_terms(self, terms: list[tuple[Source, ...]]) -> list[tuple[Source, ...]]:
        return [sources for sources in terms if self._moved(sources)]

    def _moved(self, sources: tuple[Source, ...]) -> frozenset[int]:
        """The nodes whose hinge maps change along all the vectors."""
        bodies = self.binding.graph.bodies
        moved = frozenset.intersection(*(source.nodes(self.binding) for source in sources))
        units = tuple(source.j for source in sources if isinstance(source, Unit))
        hinges = {k: bodies[k].hinge for k in moved if bodies[k].hinge.nv}
        return frozenset(k for k, x in hinges.items() if (x.H_T_varies(units) if units else not x.constant_H))

    def sources(self) -> list[Source]:
        return [source for sources in self.terms for source in sources]

    def entries(self) -> Entries:
        axes, world = check_axes(self.binding.axes), self.binding.state.configuration.world
        T, dims = velocity_map(axes, world), self.binding.body.dims
        total: dict[int, Array] = {}
        for sources in self.terms:
            for k, change in self._changes(sources):
                total[k] = total[k] + change if k in total else change
        turned = ((k, (T[..., k, :, :] @ total[k]).mT) for k in sorted(total))
        return {(k, k): padded(block, self.spaces[0].dims[k], dims[k]) for k, block in turned}

    def _changes(self, sources: tuple[Source, ...]) -> list[tuple[int, Array]]:
        """The derivative of H*(k) in body axes by node k: hinges of a kind at once."""
        layout, q = self.binding.graph.layout, self.binding.state.configuration.q
        vectors, moved = [source.columns(self.binding)[..., 0] for source in sources], self._moved(sources)
        found = []
        for group in layout.groups:
            mine = np.array([i for i, k in enumerate(group.bodies) if k in moved], dtype=np.intp)
            if mine.size:
                weights = [x[..., group.v_index[mine]] for x in vectors]
                change = _along(group.hinge, q[..., group.q_index[mine]], sources, weights)
                flex = self.binding.state.configuration.flex
                to_body = layout.to_body if flex is None else flex.to_body
                change = to_body[..., group.bodies[mine], :, :] @ change
                found += [(int(k), change[..., i, :, :]) for i, k in enumerate(group.bodies[mine])]
        return found


def _along(hinge: Any, q: Array, sources: tuple[Source, ...], weights: list[Array]) -> Array:
    """sum over dofs of w1_j w2_l ... d_l d_j H_T; a unit vector picks its own dof."""
    dofs = [[source.j] if isinstance(source, Unit) else list(range(hinge.nv)) for source in sources]
    total: Any = 0.0
    for chosen in pairs(*dofs):
        factor = reduce(np.multiply, [w[..., j] for w, j in zip(weights, chosen, strict=True)])
        total = total + factor[..., None, None] * derivative_of_H_T_of(hinge, q, chosen)
    return np.asarray(total)


def padded(block: Array, rows: int, cols: int) -> Array:
    """The block in the corner of one with zeros for rotors."""
    if block.shape[-2:] == (rows, cols):
        return block
    wide = np.zeros((*block.shape[:-2], rows, cols))
    wide[..., : block.shape[-2], : block.shape[-1]] = block
    return wide


def momentum_cross(x: Array) -> Array:
    """The matrix X with crf(s) x = X s: -[[n~, f~], [f~, 0]] for x = [n; f]."""
    X = np.zeros((*x.shape, 6))
    X[..., :3, :3] = -skew(x[..., :3])
    X[..., :3, 3:] = X[..., 3:, :3] = -skew(x[..., 3:])
    return X


def make(binding: GraphBinding, kind: str, path: tuple[Step, ...], nodes: tuple[str, ...] = ()) -> SensitivityLeaf:
    """A leaf of the first direction of the path, differentiated along the others."""
    known = named_of(binding).sensitivities
    key = (kind, path, nodes)
    if key not in known:
        leaf: Any = (HingeRateLeaf if kind == "dH" else TwistLeaf)(binding, kind, path, nodes)
        if len(path) == 1:
            leaf.terms = leaf.start()
        else:
            u = named_of(binding).direction(*path[-1])
            leaf.terms = make(binding, kind, path[:-1], nodes).derived(u, questions.change_along(u))
        known[key] = leaf
    found: SensitivityLeaf = known[key]
    return found


class ZeroLeaf(DerivedLeaf):
    """The derivative of an expression that does not change: zero, in its spaces."""

    def __init__(self, expr: Operator) -> None:
        super().__init__(expr)
        self.expr = expr
        self.rows, self.cols = expr.spaces
        self.name, self.latex_name, self.source = f"0*{before_dot(expr)}", "0", "it does not change"
        self.claims = frozenset({"symmetric", "block_diagonal"} if self.rows == self.cols else ())

    def pattern(self) -> Pattern:
        return frozenset()

    def blocks(self) -> Blocks:
        return Blocks(*self.spaces, {})

    def apply(self, x: Array) -> Array:
        return self.blocks().apply(x)

    def apply_T(self, x: Array) -> Array:
        return self.blocks().apply_T(x)


questions.sensitivity.register(GraphBinding, make)
