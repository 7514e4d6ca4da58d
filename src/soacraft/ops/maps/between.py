"""`sc.ops.between(a, b)`: the map between two SKO models of one system."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from soacraft.algebra.expressions.nodes import Identity, product
from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.spaces.vectors import StackedVector
from soacraft.errors import ModelError
from soacraft.model.states.state import State
from soacraft.model.tree.graph import Graph
from soacraft.ops.binding import Bound, GraphBinding
from soacraft.ops.maps.graphs import AxesMap, NamedMap, SubGraphMap
from soacraft.ops.maps.leaves import MapLeaf, ModelMap
from soacraft.ops.namespace import Operators, operators

#: A step of the way: a map, and whether it is taken backwards, by its left inverse.
Step = tuple[ModelMap, bool]


class Between:
    """The map from motions of one SKO model to motions of another, as operators. Made by `sc.ops.between(a, b)`."""

    def __init__(self, a: Bound, b: Bound, steps: list[Step]) -> None:
        self._a, self._b, self._steps = a, b, steps

    @property
    def hinge(self) -> Operator:
        """Xt, hinge space of b <- hinge space of a: v_b = Xt v_a, and T_a = Xt* T_b for generalized forces."""
        return self._product("hinge")

    @property
    def body(self) -> Operator:
        """Xb, body space of b <- body space of a: V_b = Xb V_a, and f_a = Xb* f_b for forces on bodies."""
        return self._product("body")

    def _product(self, part: str) -> Operator:
        found = [_operator(step, part) for step in reversed(self._steps)]
        factors = [x for x in found if not isinstance(x, Identity)]
        return reduce(product, factors) if factors else Identity(getattr(self._a, part))

    @property
    def x0(self) -> StackedVector:
        """vdot_b = Xt vdot_a + x0: what b accelerates by while vdot_a is zero, at the current state."""
        x = np.zeros(self._a.hinge.size)
        for step in self._steps:
            x = np.asarray(_operator(step, "hinge") * x) if np.any(x) else np.zeros(_target(step).hinge.size)
            x = x if step[1] else x + step[0].x0()
        return StackedVector(self._b.hinge, x)

    def __repr__(self) -> str:
        a, b = self._a, self._b
        axes = ["" if x.axes is None else f" in {x.axes} axes" for x in (a, b)]
        spaces = f"{b.hinge} <- {a.hinge}, {b.body} <- {a.body}"
        return f"motions of {a.owner}{axes[0]} as motions of {b.owner}{axes[1]}: {spaces}"


def between(a: Any, b: Any) -> Between:
    """The map from an SKO model a to an SKO model b of the same system (004 section 2.3), as operators:

        v_b = Xt v_a,    V_b = Xb V_a,    vdot_b = Xt vdot_a + x0,    T_a = Xt* T_b,    f_a = Xb* f_b

    so that, where every motion of a is a motion of b,

        phi_b* H_b* Xt = Xb phi_a* H_a*,    Mcal_a = Xt* Mcal_b Xt  where  M_a = Xb* M_b Xb

    a and b are `Operators` (or what `sc.operators` takes): a tree in body, inertial or origin axes; compound bodies of
    it (constraint embedding, `sc.aggregate`); a sub-graph; a model of bodies of the same names in the same places, told
    from another base (`analysis.reroot`) or with other armature. The other way round, from a tree to its embedded form
    or to a sub-graph, the map picks off: it holds for the motions that b has, and is the left inverse of
    `between(b, a)`. Both must be in one pose when numbers are taken, or `StateError` says which body is not. O(n) for a
    product; O(n^2) once in a pose for another base.

    `sc.verify` and `sc.prove` take expressions with maps; operators of two models without a map between stay an error.

    >>> import soacraft as sc
    >>> mb = sc.load("arm7")
    >>> tree, folded = sc.operators(mb), sc.operators(sc.aggregate(mb, ["link3", "link4"]))
    >>> Xt = sc.ops.between(folded, tree).hinge
    >>> mass = [s.H * s.phi * s.M * s.phi.T * s.H.T for s in (tree, folded)]
    >>> bool(sc.prove(mass[1], Xt.T * mass[0] * Xt))
    True
    >>> sc.ops.between(folded, tree)
    motions of 'arm7' with compound bodies as motions of 'arm7' in body axes: hinge[7] <- hinge[7], body[42] <- body[42]
    """
    one, other = _binding(a), _binding(b)
    return Between(one, other, _way(one, other))


def _binding(model: Any) -> Bound:
    if isinstance(model, Operators):
        return model.binding
    graph = isinstance(model, (Graph, State))
    found: Operators = operators(model, ignore_loops=True) if graph else operators(model)
    return found.binding


def _way(a: Bound, b: Bound) -> list[Step]:
    """Steps from a to the tree of its bodies, on to the tree of the bodies of b, and on to b."""
    start, end = _tree_of(a, b), _tree_of(b, a)
    if start is None or end is None:
        raise _unknown(a, b)
    if a is not start and b is not end and (start.owner, start.snapshot) == (end.owner, end.snapshot):
        end = start
    steps: list[Step] = [] if a is start else [(a.into_tree(start), False)]  # type: ignore[union-attr]
    steps += _trees(start, end)
    return steps if b is end else [*steps, (b.into_tree(end), True)]  # type: ignore[union-attr]


def _tree_of(s: Bound, other: Bound) -> GraphBinding | None:
    """The tree of its bodies in body axes: `other` itself where it is that."""
    if isinstance(s, GraphBinding):
        return s
    compound: Any = s
    if not callable(getattr(s, "into_tree", None)):
        return None
    graph: Graph = compound.system.graph
    if isinstance(other, GraphBinding) and other.graph is graph and other.axes == "body":
        return other
    return GraphBinding(graph, compound.snapshot, f_ext=compound.f_ext)


def _trees(a: GraphBinding, b: GraphBinding) -> list[Step]:
    """Steps between trees: of one model, through its axes; of two models, through body axes."""
    if a.identity() == b.identity():
        return []
    mine, theirs = set(a.graph.bodies), set(b.graph.bodies)
    if mine == theirs:
        return [(AxesMap(a, b), False)]
    if mine < theirs:
        near = _in_axes(a, b.axes)
        return [*_trees(a, near), (SubGraphMap(near, b), False)]
    if theirs < mine:
        near = _in_axes(a, b.axes)
        return [*_trees(a, near), (SubGraphMap(b, near), True)]
    if set(a.body.labels) != set(b.body.labels) or mine & theirs:
        raise _unknown(a, b)
    first, last = _in_axes(a, "body"), _in_axes(b, "body")
    return [*_trees(a, first), (NamedMap(first, last), False), *_trees(last, b)]


def _in_axes(s: GraphBinding, axes: str | None) -> GraphBinding:
    return s if s.axes == axes else GraphBinding(s.graph, s.snapshot, axes or "body", s.f_ext)


def _unknown(a: Bound, b: Bound) -> ModelError:
    return ModelError(
        f"no map is known between {a.owner} and {b.owner}: they must be of one system, in other axes, with compound "
        "bodies, one a sub-graph of the other, or with bodies of the same names. Between two sub-graphs go through "
        "their model: between(mb, second).hinge * between(first, mb).hinge."
    )


def _target(step: Step) -> Bound:
    return step[0].a if step[1] else step[0].b


def _operator(step: Step, part: str) -> Operator:
    """The operator of a step in the hinge or the body space; the identity where a hinge space stays as it is."""
    numbers, backwards = step
    if part == "hinge" and numbers.a.hinge == numbers.b.hinge:
        return Identity(numbers.a.hinge)
    if not backwards:
        return MapLeaf(numbers, part)
    isometry = numbers.hinge_isometry if part == "hinge" else numbers.body_isometry
    return MapLeaf(numbers, part).T if isometry else MapLeaf(numbers, f"left_{part}")
