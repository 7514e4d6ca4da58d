"""The named algorithms for SKO models, of constant blocks or of functions (004 section 8): by their operators.

They have the names and the order of arguments that rigid trees have. Functions that need bodies with frames - poses,
centres of mass, gravity - are refused. A model of constant blocks has no coordinates: its q is None or has no entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from soacraft.dynamics.arguments import read_threads
from soacraft.errors import ModelError, SingularError, StateError
from soacraft.model.flat.sko import SKOModel
from soacraft.model.flat.sko_functions import SKOFunctions
from soacraft.ops.namespace import Operators, operators, operators_of
from soacraft.ops.sko_binding import FunctionBinding
from soacraft.order import in_order, order_of
from soacraft.spatial.checks import Array, finite

#: Arguments of trees that mean nothing here.
WITHOUT_MEANING = frozenset({"threads", "ignore_loops", "passive", "allow_singular"})


def of_sko(name: str, m: SKOModel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A named algorithm of an SKO model."""
    function = FUNCTIONS.get(name)
    if function is None:
        raise ModelError(
            f"{name} is not for SKO models, whose nodes have no frames, poses or gravity; there are "
            f"{', '.join(FUNCTIONS)}. Everything else is written in operators: s = sc.operators(model)."
        )
    read_threads(name, kwargs.get("threads"))
    for key in WITHOUT_MEANING - {"threads"}:
        if not isinstance(kwargs.get(key, False), bool | np.bool_):
            raise StateError(f"{key} of {name} must be True or False, got {kwargs[key]!r:.60}.")
    arguments = {key: x for key, x in kwargs.items() if key not in WITHOUT_MEANING}
    out = arguments.pop("out", None)
    try:
        result = function(m, *args, **arguments)
    except TypeError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            raise ModelError(f"{name} of an SKO model: {error}.") from None
        raise
    return result if out is None else _delivered(name, result, out)


def _delivered(name: str, result: Any, out: Any) -> Any:
    x = np.asarray(result)
    if not isinstance(out, np.ndarray) or out.dtype != np.float64 or out.shape != x.shape or not out.flags.writeable:
        raise StateError(f"out of {name} must be a float64 array of shape {x.shape} to write to, got {out!r:.60}.")
    out[...] = x
    return out


def _bound(m: SKOModel, q: Any, v: Any = None, vdot: Any = None, force: Any = None) -> Operators:
    """The operators at a state; of a model of functions all states share one plan."""
    if not isinstance(m, SKOFunctions):
        return operators(m.at(q), v=v, vdot=vdot, force=force)
    w, wdot = (np.zeros(m.nv) if x is None else m.read(name, x) for name, x in (("v", v), ("vdot", vdot)))
    return operators_of(FunctionBinding(m, (m.read("q", q), w, wdot), force))


def _full(x: Any, *inputs: Any) -> Array:
    """A vector for each state of the batch, also where it does not depend on what differs."""
    array = np.asarray(x)
    batch = np.broadcast_shapes(*(np.shape(y)[:-1] for y in inputs if y is not None))
    return array if array.shape[:-1] == batch else np.array(np.broadcast_to(array, (*batch, array.shape[-1])))


def _mass(s: Operators) -> Any:
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def _vector(m: SKOModel, name: str, x: Any) -> Array:
    what = f"{name} of this SKO model"
    return finite(in_order(x, order_of(m.names, m.nvs), what), (..., sum(m.nvs)), what, StateError)


def mass_matrix(m: SKOModel, q: Any = None) -> Array:
    """H A M A* H*, by composite bodies."""
    return np.asarray(_mass(_bound(m, q)).array())


def mass_matrix_inverse(m: SKOModel, q: Any = None) -> Array:
    """(I - H psi K)* D^-1 (I - H psi K)."""
    return np.asarray(_mass(_bound(m, q)).inv.array())


def mass_matrix_multiply(m: SKOModel, q: Any, x: Any) -> Array:
    """The mass matrix times vectors (..., nv)."""
    return _times(_mass(_bound(m, q)), _vector(m, "x", x))


def mass_matrix_solve(m: SKOModel, q: Any, x: Any) -> Array:
    """Solution of the mass matrix times vectors (..., nv)."""
    return _times(_mass(_bound(m, q)).inv, _vector(m, "x", x))


def _times(X: Any, x: Array) -> Array:
    """X x for vectors in the last axis, whatever their leading axes."""
    if x.ndim == 1 or x.shape[:-1] == X.batch:
        return np.asarray(X * x)
    lead = np.broadcast_shapes(x.shape[:-1], X.batch)
    if X.batch:
        return np.asarray(X * np.broadcast_to(x, (*lead, x.shape[-1])))
    flat = np.asarray(X * x.reshape(-1, x.shape[-1]).T)
    return np.ascontiguousarray(flat.T).reshape(*lead, -1)


def log_det_mass_matrix(m: SKOModel, q: Any = None) -> Any:
    """log det of the mass matrix (004 Eq. 53)."""
    return _mass(_bound(m, q)).log_det()


def inverse_dynamics(m: SKOModel, q: Any, v: Any, vdot: Any) -> Array:
    """T = H A (M A* (H* vdot + a) + b) (004 Algorithm 3.1)."""
    return _full(_bound(m, q, v, vdot).T, q, v, vdot)


def forward_dynamics(m: SKOModel, q: Any, v: Any, force: Any) -> Array:
    """vdot by articulated bodies (004 Algorithm 6.1)."""
    return _full(_bound(m, q, v, force=force).vdot, q, v, force)


def mixed_dynamics(m: SKOModel, q: Any, v: Any, force: Any, vdot: Any, prescribed: Any) -> tuple[Array, Array]:
    """All of vdot and of the force, when vdot is given at the prescribed dofs (a mask or numbers) and the force at the
    others; for one state, by the dense mass matrix.
    """
    nv = sum(m.nvs)
    T, a = _vector(m, "force", force), _vector(m, "vdot", vdot)
    if any(np.ndim(x) > 1 for x in (q, v, T, a)):
        raise StateError("mixed_dynamics of an SKO model takes one state, not a batch.")
    mask, chosen = np.zeros(nv, dtype=np.bool_), np.asarray(prescribed)
    if chosen.dtype == np.bool_ and chosen.shape == (nv,):
        mask = chosen
    elif chosen.ndim == 1 and not chosen.size:
        mask[:] = False
    elif chosen.dtype.kind in "iu" and chosen.ndim == 1 and ((chosen >= 0) & (chosen < nv)).all():
        mask[chosen] = True
    else:
        raise StateError(
            f"prescribed must be a mask of {nv} or numbers of dofs from 0 to {nv - 1}, got {prescribed!r:.60}."
        )
    X, C = mass_matrix(m, q), bias_force(m, q, v)
    vdot_all = np.where(mask, a, 0.0)
    free = ~mask
    try:
        vdot_all[free] = np.linalg.solve(X[np.ix_(free, free)], T[free] - C[free] - X[np.ix_(free, mask)] @ a[mask])
    except np.linalg.LinAlgError:
        raise SingularError(
            "mixed_dynamics of an SKO model: dofs that are not prescribed have no inertia to move; prescribe them too."
        ) from None
    return vdot_all, np.where(mask, X @ vdot_all + C, T)


def bias_force(m: SKOModel, q: Any, v: Any) -> Array:
    """C = H A (M A* a + b)."""
    return _full(_bound(m, q, v).C, q, v)


def velocities(m: SKOModel, q: Any, v: Any) -> Any:
    """V = A* H* v, stacked: `V["node"]` is that of one."""
    return _bound(m, q, v).V


def accelerations(m: SKOModel, q: Any, v: Any, vdot: Any) -> Any:
    """alpha = A* (H* vdot + a), stacked."""
    return _bound(m, q, v, vdot).alpha


def interbody_forces(m: SKOModel, q: Any, v: Any, vdot: Any) -> Any:
    """f = A (M alpha + b), stacked."""
    return _bound(m, q, v, vdot).f


def kinetic_energy(m: SKOModel, q: Any, v: Any) -> Any:
    """V* M V / 2."""
    s = _bound(m, q, v)
    V = s.V
    return 0.5 * np.sum(np.asarray(V) * np.asarray(s.M * V), axis=-1)


def jacobian(m: SKOModel, q: Any, nodes: Any) -> Array:
    """B* A* H* of nodes."""
    s = _bound(m, q)
    return np.asarray((s.B(nodes).T * s.phi.T * s.H.T).array())


def jacobian_dot_v(m: SKOModel, q: Any, v: Any, nodes: Any) -> Array:
    """B* A* a: the accelerations of nodes at zero vdot."""
    s = _bound(m, q, v)
    return np.asarray(s.B(nodes).T * (s.phi.T * s.a))


def operational_space_compliance(m: SKOModel, q: Any, nodes: Any) -> Array:
    """B* Omega B of nodes (004 Eq. 60)."""
    s = _bound(m, q)
    B = s.B(nodes)
    return np.asarray((B.T * s.Omega * B).array())


def operational_space_inertia(m: SKOModel, q: Any, nodes: Any) -> Array:
    """The inverse of `operational_space_compliance`."""
    s = _bound(m, q)
    B = s.B(nodes)
    return np.asarray((B.T * s.Omega * B).inv.array())


# -- analyses ---------------------------------------------------------------------------------------------------------


def _dofs(m: SKOModel) -> list[tuple[str, int]]:
    return [(m.names[k], j) for k in m.nodes for j in range(m.nvs[k])]


def _moving(name: str, m: SKOModel) -> SKOFunctions:
    if not isinstance(m, SKOFunctions):
        raise ModelError(
            f"{name} needs coordinates: this SKO model is of constant blocks. Give A, H or M as functions."
        )
    return m


def mass_matrix_gradient(m: SKOModel, q: Any) -> Array:
    """The derivatives of the mass matrix along all dofs, (..., nv, nv, nv)."""
    X = _mass(_bound(_moving("mass_matrix_gradient", m), q))
    nv = sum(m.nvs)
    slopes = [X.diff(*dof).array() for dof in _dofs(m)]
    return np.stack(slopes, axis=-1) if slopes else np.zeros((*X.batch, nv, nv, 0))


def log_det_gradient(m: SKOModel, q: Any) -> Array:
    """d log det Mcal = trace(D^-1 dD) along all dofs."""
    s = _bound(_moving("log_det_gradient", m), q)
    slopes = [(s.D.inv * s.D.diff(*dof)).trace() for dof in _dofs(m)]
    return np.stack(slopes, axis=-1) if slopes else np.zeros((*s.D.batch, 0))


def christoffel(m: SKOModel, q: Any) -> Array:
    """The Christoffel symbols of the first kind, where velocities are rates of coordinates (000 Eq. 38)."""
    if _moving("christoffel", m)._integrate is not None:
        raise ModelError("christoffel: the velocities of this SKO model are not rates of its coordinates (integrate=).")
    d = mass_matrix_gradient(m, q)
    return np.asarray(0.5 * (d + np.swapaxes(d, -1, -2) - np.moveaxis(d, -1, -3)))


def fixman_potential(m: SKOModel, q: Any = None, kT: float = 1.0) -> Any:
    """(kT/2) log det Mcal."""
    return 0.5 * _temperature(kT) * log_det_mass_matrix(m, q)


def fixman_force(m: SKOModel, q: Any, kT: float = 1.0) -> Array:
    """-(kT/2) d log det Mcal."""
    return np.asarray(-0.5 * _temperature(kT) * log_det_gradient(m, q))


def _temperature(kT: Any) -> float:
    value = float(finite(kT, (), "kT", StateError))
    if value < 0.0:
        raise StateError(f"kT must not be negative, got {value:g}.")
    return value


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        mass_matrix, mass_matrix_inverse, mass_matrix_multiply, mass_matrix_solve, log_det_mass_matrix,
        inverse_dynamics, forward_dynamics, mixed_dynamics, bias_force, velocities, accelerations, interbody_forces,
        kinetic_energy, jacobian, jacobian_dot_v, operational_space_compliance, operational_space_inertia,
        mass_matrix_gradient, log_det_gradient, christoffel, fixman_potential, fixman_force,
    )
}  # fmt: skip
