"""The functions of `soacraft.dynamics` for models that couplings alone tie (`dynamics.coupled` says what they mean)."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from soacraft import dynamics
from soacraft.dynamics.arguments import read_nodes, read_problem
from soacraft.dynamics.delivery import read_out
from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.inertia import inverse_of_compliance
from soacraft.dynamics.table import TABLE
from soacraft.errors import LoopError, StateError
from soacraft.loops.derivatives import forward_dynamics_derivatives
from soacraft.loops.embedding.solver import ConstraintEmbedding
from soacraft.loops.linearize import ClosedLinearization, linearize
from soacraft.model.flat.layout import Layout
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array

Given = dict[str, Any]


def coupled_dynamics(function: Callable[..., Any], g: Graph, *args: Any, **kwargs: Any) -> Any:
    """One of the functions of dynamics, of a graph that couplings tie."""
    name, bound = function.__name__, signature(function).bind(g, *args, **kwargs)
    bound.apply_defaults()
    options = {key: x for key, x in list(bound.arguments.items())[1:] if key not in ("out", "threads", "ignore_loops")}
    if name in _AS_TREE:
        return function(g, *args, **(kwargs | {"ignore_loops": True}))
    if options.pop("modes", "given") != "given" and g.layout.flexible:
        raise StateError(
            f"{name} of {g.name!r} has modes='given' alone, since couplings tie its dofs; mixed_dynamics with the "
            "hinges prescribed and no force along the modes gives the rest."
        )
    read = {key: x for key, x in options.items() if key not in ("expressed_in", "node_forces", "allow_singular")}
    out = bound.arguments.get("out")
    p = read_problem(name, g, stored=TABLE[name].stored, ignore_loops=True, **_read(g, name, read))
    read_out(p, out, TABLE[name].tails(p))
    result = _FUNCTIONS[name](solver_of(g), options)
    several = result if isinstance(result, tuple) else (result,)
    for target, x in zip(p.out, several, strict=True):
        if target is not None:
            target[...] = x
    return result if out is None else out


def _read(g: Graph, name: str, arguments: Given) -> Given:
    """Arguments as they are read, for their shapes."""
    if "nodes" in arguments:
        arguments["nodes"] = read_nodes(name, g, arguments["nodes"])
    return arguments


def coupled_linearize(g: Graph, q: Any, v: Any, force: Any, f_ext: Any, *, passive: bool) -> ClosedLinearization:
    """`analysis.linearize` of a graph that couplings tie."""
    return linearize(solver_of(g), q, v, force, f_ext, passive=passive)


def solver_of(g: Graph) -> ConstraintEmbedding:
    """The solver of a graph, made once for its structure."""
    if g.layout not in _solvers:
        _solvers[g.layout] = ConstraintEmbedding(g)
    return _solvers[g.layout]


_solvers: WeakKeyDictionary[Layout, ConstraintEmbedding] = WeakKeyDictionary()


# -- the functions --------------------------------------------------------------------------------------------------


def _inverse_dynamics(s: ConstraintEmbedding, x: Given) -> Array:
    p = s._read("inverse_dynamics", q=x["q"], v=x["v"], vdot=x["vdot"])  # all dofs, whatever their number
    return s.inverse_dynamics(p.full("q"), p.full("v"), p.full("vdot"), f_ext=x["f_ext"], passive=x["passive"])


def _compensating_force(s: ConstraintEmbedding, x: Given) -> Array:
    force = dynamics.compensating_force(s.graph, x["q"], x["node_forces"], ignore_loops=True)
    p = s._read("compensating_force", q=np.broadcast_to(x["q"], (*force.shape[:-1], s.graph.nq)))
    each = zip(s._reductions(p), force.reshape(-1, s.graph.nv), strict=True)
    return np.reshape([r.placed(r.X.T @ T, "all") for r, T in each], force.shape)


def _log_det(s: ConstraintEmbedding, x: Given) -> Any:
    return np.linalg.slogdet(s.mass_matrix(x["q"]))[1]


def _operational_space_inertia(s: ConstraintEmbedding, x: Given) -> Array:
    C = s.operational_space_compliance(x["q"], x["nodes"], x["expressed_in"])
    nodes = read_nodes("operational_space_inertia", s.graph, x["nodes"])
    p = Problem("operational_space_inertia", s.graph, {}, nodes=nodes, allow_singular=x["allow_singular"])
    return inverse_of_compliance(p, C)


def _times(matrix: Array, x: Any) -> Array:
    return np.squeeze(matrix @ np.asarray(x, dtype=np.float64)[..., None], -1)


def _inverse_dynamics_derivatives(s: ConstraintEmbedding, x: Given) -> tuple[Array, ...]:
    if not all(c.linear for c in s.graph.couplings if c.active):
        raise LoopError(
            f"inverse_dynamics_derivatives: couplings of {s.graph.name!r} are not linear, and how they change along "
            "the dofs is not known here. Take forward_dynamics_derivatives, or ignore_loops=True for the tree alone."
        )
    tree = dynamics.inverse_dynamics_derivatives(
        s.graph, x["q"], x["v"], x["vdot"], x["f_ext"], passive=x["passive"], ignore_loops=True
    )
    q = np.reshape(x["q"], (-1, s.graph.nq))[0]  # linear couplings have one X
    r = next(s._reductions(s._read("inverse_dynamics_derivatives", q=q)))
    E = np.eye(s.graph.nv)[:, r.independent] @ r.X.T
    return E @ tree[0], E @ tree[1], s.mass_matrix(x["q"], "all")


#: Functions that do not depend on couplings: forces through hinges, and inertias of outboard bodies.
_AS_TREE = frozenset({"interbody_forces", "composite_inertia"})

_FUNCTIONS: dict[str, Callable[[ConstraintEmbedding, Given], Any]] = {
    "forward_dynamics": lambda s, x: s.forward_dynamics(
        x["q"], x["v"], x["force"], x["f_ext"], passive=x["passive"]
    ).vdot,
    "inverse_dynamics": _inverse_dynamics,
    "mixed_dynamics": lambda s, x: s.mixed_dynamics(
        x["q"], x["v"], x["force"], x["vdot"], x["prescribed"], x["f_ext"], passive=x["passive"]
    ),
    "bias_force": lambda s, x: s.bias_force(x["q"], x["v"], x["f_ext"], "all", passive=x["passive"]),
    "gravity_force": lambda s, x: s.gravity_force(x["q"], "all"),
    "compensating_force": _compensating_force,
    "mass_matrix": lambda s, x: s.mass_matrix(x["q"], "all"),
    "mass_matrix_inverse": lambda s, x: s.mass_matrix_inverse(x["q"], "all"),
    "mass_matrix_multiply": lambda s, x: _times(s.mass_matrix(x["q"], "all"), x["x"]),
    "mass_matrix_solve": lambda s, x: _times(s.mass_matrix_inverse(x["q"], "all"), x["x"]),
    "log_det_mass_matrix": _log_det,
    "operational_space_compliance": lambda s, x: s.operational_space_compliance(x["q"], x["nodes"], x["expressed_in"]),
    "operational_space_inertia": _operational_space_inertia,
    "inverse_dynamics_derivatives": _inverse_dynamics_derivatives,
    "forward_dynamics_derivatives": lambda s, x: tuple(
        forward_dynamics_derivatives(s, x["q"], x["v"], x["force"], x["f_ext"], passive=x["passive"])
    ),
}
