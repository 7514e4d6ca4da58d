"""Inverse dynamics as a linear function of the inertial parameters, and what can be known of them.

Each body has ten: its mass m, the first moment m c, and the moments of inertia J about the origin of the body frame,

    pi(k) = (m, m c_x, m c_y, m c_z, J_xx, J_xy, J_xz, J_yy, J_yz, J_zz)

and with a = dv/dt - g of its origin, its spatial force is linear in them,

    force  = m a + (wdot~ + w~ w~) m c,     moment = (m c)~ a + L(wdot) J + w~ L(w) J
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.analysis.finite import refusing_overflow
from soacraft.analysis.parametric.vocabulary import TEN, read_parameters, ten_of, values_of
from soacraft.dynamics.arguments import check_loops, read_graph, read_passive, read_problem
from soacraft.dynamics.forces import forward_dynamics
from soacraft.dynamics.inertias import mass_matrix_solve
from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.blocks import columns, vector
from soacraft.dynamics.reference.inverse import along_dofs
from soacraft.errors import ModelError, StateError
from soacraft.model.flat.passive import compensation
from soacraft.model.flat.realize import times
from soacraft.model.sizes.scale import scale_of, scaled_random_state
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.graph import Graph
from soacraft.recursions import gather, newton_euler
from soacraft.results import refuse_large
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.rotations import cross, skew

#: A part of a base parameter that is smaller, in units of the model, is rounding.
NO_PART = 1e-12
#: Remainders of columns that differ by less, relative to the larger, tie.
TIE = 1e-6
#: Accuracy of the forces by base parameters at states they were not found from, relative to the largest.
SEEN = 1e-7


@refusing_overflow()
def parameters(g: Graph, names: Any = None) -> Array:
    """The inertial parameters of all n rigid bodies, (10 n): m, m c and J about the body frame, body by body; or the
    values of named parameters, such as "link3.mass" or "link3.inboard" (`soacraft.analysis.parametric.vocabulary`).

    >>> import soacraft as sc
    >>> from soacraft.analysis import parameters
    >>> parameters(sc.load("pendulum"))[:5]
    array([ 1.,  0.,  0., -1.,  1.])
    >>> parameters(sc.load("pendulum"), ["bob.mass", "bob.inboard_x"])
    array([1., 0.])
    """
    graph = read_graph("parameters", g)
    if names is not None:
        return values_of(read_parameters("parameters", graph, names))
    return np.concatenate([np.zeros(0), *(ten_of(body.inertia) for body in rigid_bodies(graph))])


def rigid_bodies(g: Graph) -> list[Body]:
    """The bodies with ten parameters: all but flexible ones, whose inertia is that of their modal data."""
    return [body for body in g.bodies if body.modal is None]


def parameter_names(g: Graph, names: Any = None) -> tuple[str, ...]:
    """Names for the entries of `parameters(g, names)`: `body.m`, `body.mc_x`, ... for all inertial parameters.

    >>> import soacraft as sc
    >>> from soacraft.analysis import parameter_names
    >>> parameter_names(sc.load("pendulum"))[:5]
    ('bob.m', 'bob.mc_x', 'bob.mc_y', 'bob.mc_z', 'bob.J_xx')
    >>> parameter_names(sc.load("pendulum"), "bob.com")
    ('bob.com_x', 'bob.com_y', 'bob.com_z')
    """
    graph = read_graph("parameter_names", g)
    if names is not None:
        return tuple(x.name for x in read_parameters("parameter_names", graph, names))
    return tuple(f"{body.name}.{name}" for body in rigid_bodies(graph) for name in TEN)


@dataclass(frozen=True, eq=False)
class Regressor:
    """`force = matrix @ parameters + offset`; the offset holds armature, external forces and flexible bodies."""

    matrix: Array
    """Y (..., nv, 10 n)."""
    offset: Array
    """(..., nv)."""
    names: tuple[str, ...]

    def __repr__(self) -> str:
        nv, count = self.matrix.shape[-2:]
        batch = "" if self.matrix.ndim == 2 else f", batch {self.matrix.shape[:-2]}"
        return f"Regressor: {nv} dofs, {count} parameters{batch}"


@refusing_overflow()
def parameter_regressor(
    g: Graph, q: Any, v: Any, vdot: Any, f_ext: Any = None, *, passive: bool = True, ignore_loops: bool = False
) -> Regressor:
    """Inverse dynamics, linear in the inertial parameters: T = Y(q, v, vdot) pi + offset. O(n depth).

        T(i) = sum over bodies k outboard of i of  H(i) phi(i,k) A(k) pi(k)

    with A(k) (6 x 10) from the velocity and acceleration of body k. Gravity is part of Y, without the compensated part;
    armature, external forces, springs, dampers and flexible bodies, which have no such parameters, are the offset.
    `passive=False` leaves springs, dampers and compensation out. Of a closed chain give its solver, such as
    `sc.loops.ConstraintEmbedding(mb)`: Y and offset are then X* of those of the tree, for the forces along its
    independent dofs.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft.analysis import parameter_regressor, parameters
    >>> mb = sc.load("double_pendulum")
    >>> r = parameter_regressor(mb, [0.3, 0.4], [1.0, 2.0], [0.5, 0.1])
    >>> r
    Regressor: 2 dofs, 20 parameters
    >>> bool(np.allclose(r.matrix @ parameters(mb), sc.dynamics.inverse_dynamics(mb, [0.3, 0.4], [1, 2], [0.5, 0.1])))
    True
    """
    if callable(getattr(g, "velocity_map", None)):
        return _of_closed_chain(g, q, v, vdot, f_ext, passive)
    p = read_problem("parameter_regressor", g, q=q, v=v, vdot=vdot, f_ext=f_ext, stored=True, ignore_loops=ignore_loops)
    p.passive = read_passive("parameter_regressor", p.graph, passive)  # compensation grows with mass: no offset
    return Regressor(_matrix(p), _offset(p), parameter_names(g))


def _of_closed_chain(solver: Any, q: Any, v: Any, vdot: Any, f_ext: Any, passive: bool) -> Regressor:
    """X* Y and X* offset: the forces of closures have no part in them."""
    X = np.asarray(solver.velocity_map(q))
    tree = parameter_regressor(solver.graph, q, v, vdot, f_ext, passive=passive, ignore_loops=True)
    return Regressor(X.mT @ tree.matrix, times(X.mT, tree.offset), tree.names)


def _matrix(p: Problem) -> Array:
    """Y, up the path of each rigid body."""
    m, A = p.linear, force_maps(p)
    rigid = [p.layout.index[body] for body in rigid_bodies(p.graph)]
    shape = (*p.batch, p.nv, 10 * len(rigid))
    refuse_large(shape, f"the regressor of {p.graph.name!r}", "Take a sub-graph, or the batch in parts.")
    Y = np.zeros(shape)
    for i, k in enumerate(rigid):
        X, j, here = np.zeros((*A.shape[:-3], m.dims[k], 10)), k, slice(10 * i, 10 * i + 10)
        X[..., :6, :] = A[..., k, :, :]
        while True:
            Y[..., p.layout.v_slices[j], here] = m.H(j) @ X
            if m.parent(j) < 0:
                break
            X, j = m.A(m.parent(j), j) @ X, m.parent(j)
    return Y


def force_maps(p: Problem) -> Array:
    """A(k) by body, (..., n, 6, 10): M alpha + b without external forces, with gravity compensation, is A(k) pi(k)."""
    V = p.state.motion.V
    w, alpha = V[..., :3], p.state.alpha
    R = p.state.configuration.world[0]
    carried = np.array([body.gravity_compensation if p.passive else 0.0 for body in p.layout.bodies])
    a = alpha[..., 3:] + cross(w, V[..., 3:]) - (1.0 - carried)[:, None] * times(R.mT, p.graph.gravity)
    wdot = alpha[..., :3]
    shape = np.broadcast_shapes(a.shape, wdot.shape, w.shape)
    A = np.zeros((*shape[:-1], 6, 10))
    A[..., 3:, 0] = a
    A[..., 3:, 1:4] = skew(wdot) + skew(w) @ skew(w)
    A[..., :3, 1:4] = -skew(a)
    A[..., :3, 4:] = _of_moments(wdot) + skew(w) @ _of_moments(w)
    return A


def _of_moments(w: Array) -> Array:
    """L(w) with J w = L(w) (J_xx, J_xy, J_xz, J_yy, J_yz, J_zz), (..., 3, 6)."""
    x, y, z = w[..., 0], w[..., 1], w[..., 2]
    o = np.zeros_like(x)
    rows = ((x, y, z, o, o, o), (o, x, o, y, z, o), (o, o, x, o, y, z))
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _offset(p: Problem) -> Array:
    """J_a vdot, what flexible bodies take, less what external forces, springs and dampers do."""
    offset = np.zeros((*p.batch, p.nv)) - along_dofs(p)
    vdot, flexible = p.given["vdot"], p.layout.flexible
    for J, dofs in zip(p.layout.armature, p.layout.hinge_v, strict=True):
        if J is not None:
            offset[..., dofs] += J * vdot[..., dofs]
    forces = p.forces
    if p.passive and flexible:
        forces += tuple(x for x in compensation(p.graph) if p.layout.index[x[0].carrier] in flexible)  # type: ignore[index]
    if not forces and not flexible:
        return offset
    m = p.linear
    pulls = [np.zeros((*p.batch, dim, 1)) for dim in p.layout.dims]
    for frame, wrench in forces:
        k, applied = p.layout.index[frame.carrier], (frame, np.asarray(wrench), wrench.expressed_in)  # type: ignore[index]
        pulls[k][..., :6, 0] -= p.state.force_on_body(*applied)
        if k in flexible:
            pulls[k][..., 6 : 6 + p.layout.modal(k).n, 0] -= p.state.force_on_modes(*applied)
    if flexible:
        sko = p.state.sko("body")
        alpha = newton_euler(sko, columns(p, vdot)).alpha
        for k in flexible:
            rotors = 6 + p.layout.modal(k).n  # those are above
            pulls[k][..., :rotors, :] += (sko.M(k) @ alpha[k] + sko.b(k)[..., None])[..., :rotors, :]
    f = gather(m, m.A, pulls)
    return np.asarray(offset + vector(p, {k: m.H(k) @ f[k] for k in m.nodes}))


@refusing_overflow()
def forward_dynamics_sensitivity(
    g: Graph, q: Any, v: Any, force: Any, f_ext: Any = None, *, passive: bool = True, ignore_loops: bool = False
) -> Array:
    """Derivatives of forward dynamics along the inertial parameters: dvdot/dpi (..., nv, 10 n). O(n depth + nv n).

        dvdot/dpi = -Mcal^-1 Y(q, v, vdot)     at the vdot of the force

    Springs, dampers and gravity compensation act as in `dynamics.forward_dynamics`.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft.analysis import forward_dynamics_sensitivity
    >>> forward_dynamics_sensitivity(sc.load("pendulum"), [np.pi / 2], [0.0], [0.0]).shape
    (1, 10)
    """
    check_loops("forward_dynamics_sensitivity", read_graph("forward_dynamics_sensitivity", g), ignore_loops)
    vdot = forward_dynamics(g, q, v, force, f_ext, passive=passive, ignore_loops=ignore_loops)
    Y = parameter_regressor(g, q, v, vdot, f_ext, passive=passive, ignore_loops=ignore_loops).matrix
    columns_first = np.moveaxis(Y, -1, 0)
    return -np.moveaxis(mass_matrix_solve(g, q, columns_first, ignore_loops=ignore_loops), 0, -1)


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Parameters that forces can determine: `basis @ parameters` are the base parameters; no other combination can be
    seen.
    """

    independent: tuple[str, ...]
    """The parameters that lead the base parameters."""
    columns: npt.NDArray[np.intp]
    """Numbers of these parameters in `parameters(g)`."""
    basis: Array
    """(rank, 10 n): the base parameters as combinations of all; the identity in `columns`."""
    values: Array
    """The base parameters of the model."""

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.independent)

    def __repr__(self) -> str:
        return f"{self.rank} base parameters of {self.basis.shape[1]}, led by {', '.join(self.independent[:4])}, ..."


@refusing_overflow()
def base_parameters(
    g: Graph, samples: int | None = None, seed: int = 0, tolerance: float = 1e-10, *, ignore_loops: bool = False
) -> BaseParameters:
    """The combinations of inertial parameters that the forces of this model depend on. O(samples nv (10 n)^2).

    The regressor at random states has their number as its rank; orthogonalization with column pivoting finds the
    leading columns, Y[:, rest] = Y[:, columns] X, so the base parameters are pi[columns] + X pi[rest]. States, forces
    and parameters are in units of the model's own length and time, so yours do not matter: a remainder of a column
    below `tolerance` of the largest column is zero.

    >>> import soacraft as sc
    >>> from soacraft.analysis import base_parameters
    >>> base_parameters(sc.load("pendulum")).rank       # the moment about the axis and two first moments
    3
    """
    check_loops("base_parameters", read_graph("base_parameters", g), ignore_loops)
    count = 10 * len(rigid_bodies(g))
    if not g.nv:
        raise ModelError(f"{g.name!r} has no dofs, so no force depends on its parameters.")
    enough = 4 + 2 * (count // g.nv + 1)
    if samples is not None and (isinstance(samples, bool) or not isinstance(samples, int) or samples < 1):
        raise StateError(f"samples of base_parameters must be a whole number of at least 1, got {samples!r:.60}.")
    small = float(finite(tolerance, (), "tolerance of base_parameters", StateError))
    if not 0.0 < small < 1.0:
        raise StateError(f"tolerance of base_parameters must be between 0 and 1, got {small:g}.")
    rng = np.random.default_rng(seed)
    Y, units = _sampled(g, rng, samples or enough), np.tile(_parameter_units(g), count // 10)
    leading, basis = combinations(Y, small)
    names, rank = parameter_names(g), len(leading)
    other = _sampled(g, rng, enough)
    if not np.allclose(other[:, leading] @ basis, other, rtol=0.0, atol=SEEN * np.abs(other).max(initial=1e-300)):
        raise StateError(
            f"base_parameters of {g.name!r}: the {rank} combinations seen in {samples or enough} states do not give "
            "the forces in others; take more samples, or another tolerance."
        )
    basis = units[leading][:, None] * basis / units
    return BaseParameters(tuple(names[i] for i in leading), leading, basis, basis @ parameters(g))


def combinations(Y: Array, small: float, most: int | None = None) -> tuple[npt.NDArray[np.intp], Array]:
    """The leading columns of Y without units, and how all columns depend on them: Y = Y[:, leading] basis."""
    leading = _leading_columns(Y, small)[:most]
    Q = np.linalg.qr(Y[:, leading])[0]
    basis = np.linalg.solve(Q.T @ Y[:, leading], Q.T @ Y)
    basis[np.abs(basis) < NO_PART] = 0.0
    basis[:, leading] = np.eye(len(leading))
    return leading, np.asarray(basis, dtype=np.float64)


def _leading_columns(Y: Array, small: float) -> npt.NDArray[np.intp]:
    """Columns that all others depend on, the largest remainder first, until it is `small` relative to the first. Of
    columns that tie, as those of a symmetric arm do, the first leads.
    """
    rest, Q = Y.copy(), np.zeros((len(Y), 0))
    leading: list[int] = []
    first = float(np.linalg.norm(Y, axis=0).max(initial=0.0))
    while True:
        norms = np.linalg.norm(rest, axis=0)
        largest = float(norms.max(initial=0.0))
        if largest <= small * first:
            return np.array(leading, dtype=np.intp)
        j = int(np.flatnonzero(norms >= (1.0 - TIE) * largest)[0])
        q = rest[:, j] - Q @ (Q.T @ rest[:, j])
        q /= np.linalg.norm(q)
        Q = np.column_stack([Q, q])
        rest -= np.outer(q, q @ rest)
        rest[:, j] = 0.0
        leading.append(j)


def _parameter_units(g: Graph) -> Array:
    """Units of the ten parameters of a body, for a unit of mass: one, the model's length, its square."""
    L = scale_of(g).length
    return np.array([1.0] + 3 * [L] + 6 * [L * L])


def _sampled(g: Graph, rng: np.random.Generator, count: int) -> Array:
    """The regressors of random states, one below the other, without units: lengths and times are those of the model."""
    states = [scaled_random_state(g, rng) for _ in range(count)]
    q, v, vdot = (np.array([state[i] for state in states]) for i in range(3))
    Y = parameter_regressor(g, q, v, vdot, ignore_loops=True).matrix
    L, t = scale_of(g)
    force = (L / t) ** 2 / scale_of(g).of("".join(g.layout.units.hinge))
    Y, ten = np.asarray(Y / force[:, None]), _parameter_units(g)
    return Y.reshape(-1, Y.shape[-1]) * np.tile(ten, Y.shape[-1] // len(ten))
