"""Base class of hinges, and the functions by which the model layer calls them.

A hinge lets its outboard frame move relative to its inboard frame. To write one, derive from `Hinge`, set
`nq` and `nv`, and give `neutral()`, `pose(q)` and `H_T(q)`; if nq differs from nv, also `qdot`, `integrate`
and `difference`. Everything else has a default. `check_hinge(hinge)` then finds mistakes.

Batches. A hinge with `batched = False` (the default) only ever gets a single q of shape (nq,). One with
`batched = True` (all the built-in ones) takes q of shape (..., nq) and answers with the same leading axes.
The model layer never calls a hinge's methods itself but uses `pose_of(hinge, q)`, `H_T_of(hinge, q)`, and so
on: they loop over the batch where needed (`over_batch`) and refuse results of the wrong type or shape.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from soacraft.errors import ModelError, StateError
from soacraft.model.hinges.results import (
    checked_array,
    checked_pair,
    checked_pose,
    checked_single,
    lead_of,
    tail_of,
)
from soacraft.model.hinges.text import same_value, value_text
from soacraft.model.hinges.watched import Watched, ask
from soacraft.spatial import Array, Pose, finite
from soacraft.spatial.differences import STENCIL


class Hinge(Watched, ABC):
    """A hinge: coordinates q (nq), velocities v (nv), a pose, and the map from v to the relative velocity.

        V_relative = H_T(q) v          outboard frame and axes, [angular; linear]

    Derivatives with respect to the configuration are in the tangent (nv) sense: along `integrate(q, t e_j)`.

    >>> class Slider(Hinge):
    ...     nq = nv = 1
    ...     def neutral(self): return np.zeros(1)
    ...     def pose(self, q): return Pose(translation=(q[0], 0, 0))
    ...     def H_T(self, q): return np.array([[0], [0], [0], [1], [0], [0]])
    >>> H_T_of(Slider(), np.zeros((5, 1))).shape
    (5, 6, 1)
    """

    _cures: ClassVar = {
        **dict.fromkeys(
            ("damping", "stiffness", "friction"), "springs and dampers are the body's: body.passive = sc.Passive(...)"
        ),
        **dict.fromkeys(("lower", "upper", "limits", "effort"), "limits are the body's: body.limits = sc.Limits(...)"),
        "armature": "it is the body's: body.armature",
        "name": "hinge_name= of mb.add_body and mb.reattach names a hinge",
        "*": "hinges do not change: make a new one and attach the body by it with mb.reattach(body, parent, hinge)",
    }

    nq: int
    """Number of coordinates."""
    nv: int
    """Number of velocities (degrees of freedom)."""
    holonomic: bool = True
    """False if the velocities are not the rates of nv coordinates; `difference` then refuses."""
    batched: bool = False
    """True if the methods take leading batch axes."""
    constant_H: bool = False
    """True if `H_T` does not depend on q; its derivatives are then zero."""
    neutral_is_identity: bool = True
    """True if `pose(neutral())` is the identity."""
    difference_step: float = 2e-3
    """Step of the central differences (order six) behind the default `dH` and `dbias`."""

    # -- a hinge must have these ----------------------------------------------------------------------------

    @abstractmethod
    def neutral(self) -> Array:
        """The coordinates of the neutral configuration (nq)."""

    @abstractmethod
    def pose(self, q: Any) -> Pose:
        """The pose of the outboard frame seen from the inboard frame."""

    @abstractmethod
    def H_T(self, q: Any) -> Array:
        """The hinge map `H*` (6, nv), in the outboard frame and axes."""

    # -- the rest has defaults ------------------------------------------------------------------------------

    def dH(self, q: Any) -> Array:
        """The derivatives of `H_T`, (nv, 6, nv): `dH[j]` is along velocity j. Default: zero if `constant_H`,
        otherwise central differences (order six) along `integrate`."""
        q = np.asarray(q, dtype=np.float64)
        if self.constant_H or self.nv == 0:
            return np.zeros((*q.shape[:-1], self.nv, 6, self.nv))
        return np.stack(self._differences(lambda x: np.asarray(self.H_T(x), dtype=np.float64), q), axis=-3)

    def derivative_of_H_T(self, q: Any, dofs: tuple[int, ...]) -> Array:
        """The derivative of `H_T` along velocity dofs[0], of that along dofs[1], and so on, (6, nv). The order counts
        where velocities are not the rates of coordinates. Default: from `dH`, beyond it central differences (order
        six) along `integrate`; zero if `constant_H`."""
        q = np.asarray(q, dtype=np.float64)
        if not dofs:
            return np.asarray(self.H_T(q), dtype=np.float64)
        if self.constant_H:
            return np.zeros((*q.shape[:-1], 6, self.nv))
        if len(dofs) == 1:
            return np.asarray(self.dH(q), dtype=np.float64)[..., dofs[0], :, :]
        inner = [np.eye(self.nv)[dofs[-1]]]
        return self._differences(lambda x: self.derivative_of_H_T(x, dofs[:-1]), q, inner)[0]

    def H_T_varies(self, dofs: tuple[int, ...]) -> bool:
        """True if `derivative_of_H_T` along these dofs can be other than zero. Default: unless `constant_H`."""
        return not self.constant_H and self.nv > 0

    def bias(self, q: Any, v: Any) -> Array:
        """The velocity-dependent acceleration `Hdot* v = sum_j dH[j] v v_j` (6)."""
        v = np.asarray(v, dtype=np.float64)
        if self.constant_H or self.nv == 0:
            return np.zeros((*lead_of(np.asarray(q), v), 6))
        return np.asarray(np.einsum("...jkm,...m,...j->...k", self.dH(q), v, v))

    def dbias(self, q: Any, v: Any) -> tuple[Array, Array]:
        """The derivatives of `bias` in the tangent sense and in v, (6, nv) each. Default: the first by
        central differences (order six) of `bias`, the second from `dH`; zero if `constant_H`."""
        q, v = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
        if self.constant_H or self.nv == 0:
            zero = np.zeros((*lead_of(q, v), 6, self.nv))
            return zero, zero.copy()
        dH = self.dH(q)
        in_q = np.stack(self._differences(lambda x: self.bias(x, v), q), axis=-1)
        in_v = np.einsum("...jkm,...m->...kj", dH, v) + np.einsum("...mkj,...m->...kj", dH, v)
        return in_q, in_v

    def qdot(self, q: Any, v: Any) -> Array:
        """The rates of the coordinates (nq) for velocities v. Default, for nq = nv: v itself."""
        self._vector_space("qdot")
        lead = lead_of(np.asarray(q), np.asarray(v))
        return np.array(np.broadcast_to(v, (*lead, self.nv)), dtype=np.float64)

    def integrate(self, q: Any, dv: Any) -> Array:
        """The coordinates reached from q by the velocity dv in unit time. Default, for nq = nv: q + dv."""
        self._vector_space("integrate")
        return np.asarray(q, dtype=np.float64) + np.asarray(dv, dtype=np.float64)

    def difference(self, q0: Any, q1: Any) -> Array:
        """The velocity dv (nv) with `integrate(q0, dv) = q1`. Default, for nq = nv: q1 - q0."""
        self._vector_space("difference")
        return np.asarray(q1, dtype=np.float64) - np.asarray(q0, dtype=np.float64)

    def place(self, pose: Pose) -> Array:
        """The coordinates (nq) at which the outboard frame is nearest to a pose, given where it cannot get there along
        its velocities: a nonholonomic hinge that is to close a loop needs it. Others are asked for `H_T` instead.
        """
        raise ModelError(
            f"{self!r} does not say where it is: to close a loop by a nonholonomic hinge, give {type(self).__name__} a "
            "method place(pose) that returns its coordinates nearest to a pose."
        )

    def normalize(self, q: Any, what: str = "q") -> Array:
        """A checked copy of coordinates (..., nq); quaternions near unit are made unit, others refused."""
        return finite(q, (..., self.nq), what, StateError)

    def random(self, rng: np.random.Generator) -> Array:
        """Random coordinates (nq), away from singular configurations of the hinge."""
        return self.integrate(self.neutral(), rng.uniform(-1.0, 1.0, self.nv))

    def random_of(self, rng: np.random.Generator, length: float) -> Array:
        """Random coordinates (nq) with travels of about a length: in a small mechanism a metre is far."""
        lengths = np.array([length if letter == "m" else 1.0 for letter in self.coordinate_units])
        return np.asarray(checked_array(self, "random", self.random(rng), ()) * lengths)

    @property
    def dof_units(self) -> str:
        """The unit of each dof, one letter: r where it turns, m where it only travels (no angular part of `H_T` at the
        neutral coordinates). Sizes are compared within a unit.
        """
        H = H_T_of(self, np.asarray(self.neutral(), dtype=np.float64))
        return "".join("r" if column[:3].any() else "m" for column in H.T)

    @property
    def coordinate_units(self) -> str:
        """The unit of each coordinate, one letter: m for a length. Default, for nq = nv: those of the dofs."""
        return self.dof_units if self.nq == self.nv else "x" * self.nq

    def parameters(self) -> dict[str, Any]:
        """Arguments of `__init__`, read from the attributes of the same names; used to print and to compare."""
        names = _parameter_names(type(self))
        if all(hasattr(self, n) for n in names):
            return {n: getattr(self, n) for n in names}
        return self.__getstate__()

    def __repr__(self) -> str:
        parts = [f"{name}={value_text(value)}" for name, value in self.parameters().items()]
        return f"{type(self).__name__}({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = self.parameters(), other.parameters()
        return mine.keys() == theirs.keys() and all(same_value(x, theirs[n]) for n, x in mine.items())

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))

    # -- inside ---------------------------------------------------------------------------------------------

    def _vector_space(self, method: str) -> None:
        if self.nq != self.nv:
            raise ModelError(f"{type(self).__name__} has nq = {self.nq} and nv = {self.nv}, so it must "
                             f"define {method}(); the default is for nq = nv")

    def _differences(self, f: Callable[[Array], Array], q: Array, along: Any = None) -> list[Array]:
        """The derivatives of f(q) along each velocity, or those given, by central differences of order six."""
        derivatives = []
        for direction in np.eye(self.nv) if along is None else along:
            total: Any = 0.0
            for k, weight in STENCIL:
                step = k * self.difference_step * direction
                step = np.broadcast_to(step, (*q.shape[:-1], self.nv))
                ahead, behind = f(self.integrate(q, step)), f(self.integrate(q, -step))
                total = total + weight * (ahead - behind)
            derivatives.append(total / self.difference_step)
        return derivatives


# -- calls that are safe for every hinge and every batch ----------------------------------------------------


@lru_cache(maxsize=256)
def _parameter_names(kind: type[Hinge]) -> tuple[str, ...]:
    """The names of what `__init__` of a hinge takes."""
    parameters = inspect.signature(kind).parameters.items()
    return tuple(n for n, p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))


def pose_of(hinge: Hinge, q: Array) -> Pose:
    """`hinge.pose(q)` for q (..., nq); a `Pose` with the same leading axes.

    >>> from soacraft.model.hinges import Pin
    >>> pose_of(Pin((0, 0, 1)), np.zeros((5, 1))).batch_shape
    (5,)
    """
    if hinge.batched:
        return checked_pose(hinge, ask(hinge, hinge.pose, q), q.shape[:-1])
    result: Pose = over_batch(hinge, "pose", q)
    return result


def H_T_of(hinge: Hinge, q: Array) -> Array:
    """`hinge.H_T(q)`: (..., 6, nv).

    >>> from soacraft.model.hinges import Planar
    >>> H_T_of(Planar(), np.zeros((5, 3))).shape
    (5, 6, 3)
    """
    return _call(hinge, "H_T", q)


def dH_of(hinge: Hinge, q: Array) -> Array:
    """`hinge.dH(q)`: (..., nv, 6, nv).

    >>> from soacraft.model.hinges import Planar
    >>> dH_of(Planar(), np.zeros((5, 3))).shape
    (5, 3, 6, 3)
    """
    return _call(hinge, "dH", q)


def derivative_of_H_T_of(hinge: Hinge, q: Array, dofs: tuple[int, ...]) -> Array:
    """`hinge.derivative_of_H_T(q, dofs)`: (..., 6, nv).

    >>> from soacraft.model.hinges import Planar
    >>> derivative_of_H_T_of(Planar(), np.zeros((5, 3)), (2, 2)).shape
    (5, 6, 3)
    """
    if hinge.batched:
        return checked_array(hinge, "derivative_of_H_T", ask(hinge, hinge.derivative_of_H_T, q, dofs), q.shape[:-1])
    out = np.empty((*q.shape[:-1], 6, hinge.nv))
    for index in np.ndindex(*q.shape[:-1]):
        one = ask(hinge, hinge.derivative_of_H_T, q[index].copy(), dofs)
        out[index] = checked_single(hinge, "derivative_of_H_T", one)
    return out


def bias_of(hinge: Hinge, q: Array, v: Array) -> Array:
    """`hinge.bias(q, v)`: (..., 6).

    >>> from soacraft.model.hinges import Planar
    >>> bias_of(Planar(), np.zeros(3), np.array([1.0, 0, 2.0])) + 0.0
    array([ 0.,  0.,  0.,  0., -2.,  0.])
    """
    return _call(hinge, "bias", q, v)


def dbias_of(hinge: Hinge, q: Array, v: Array) -> tuple[Array, Array]:
    """`hinge.dbias(q, v)`: two arrays (..., 6, nv).

    >>> from soacraft.model.hinges import Planar
    >>> in_q, in_v = dbias_of(Planar(), np.zeros((5, 3)), np.zeros((5, 3)))
    >>> in_q.shape, in_v.shape
    ((5, 6, 3), (5, 6, 3))
    """
    if hinge.batched:
        return checked_pair(hinge, ask(hinge, hinge.dbias, q, v), lead_of(q, v))
    result: tuple[Array, Array] = over_batch(hinge, "dbias", q, v)
    return result


def place_of(hinge: Hinge, pose: Pose) -> Array:
    """`hinge.place(pose)`: (nq).

    >>> from soacraft.model.hinges import RollingBall
    >>> place_of(RollingBall(0.5), Pose(translation=(1, 2, 9)))
    array([0., 0., 0., 1., 1., 2.])
    """
    return np.asarray(checked_single(hinge, "place", ask(hinge, hinge.place, pose)))


def has_coordinates(hinge: Hinge) -> bool:
    """True if each velocity of a hinge is the rate of one coordinate.

    >>> from soacraft.model.hinges import Pin, Spherical
    >>> has_coordinates(Pin((0, 0, 1))), has_coordinates(Spherical())
    (True, False)
    """
    return hinge.nq == hinge.nv and hinge.holonomic and type(hinge).qdot is Hinge.qdot


def qdot_of(hinge: Hinge, q: Array, v: Array) -> Array:
    """`hinge.qdot(q, v)`: (..., nq).

    >>> from soacraft.model.hinges import Spherical
    >>> qdot_of(Spherical(), Spherical().neutral(), np.array([0.0, 0, 2.0]))
    array([0., 0., 1., 0.])
    """
    return _call(hinge, "qdot", q, v)


def integrate_of(hinge: Hinge, q: Array, dv: Array) -> Array:
    """`hinge.integrate(q, dv)`: (..., nq).

    >>> from soacraft.model.hinges import Pin
    >>> integrate_of(Pin((0, 0, 1)), np.array([0.5]), np.array([0.25]))
    array([0.75])
    """
    return _call(hinge, "integrate", q, dv)


def difference_of(hinge: Hinge, q0: Array, q1: Array) -> Array:
    """`hinge.difference(q0, q1)`: (..., nv).

    >>> from soacraft.model.hinges import Pin
    >>> difference_of(Pin((0, 0, 1)), np.array([0.5]), np.array([0.75]))
    array([0.25])
    """
    return _call(hinge, "difference", q0, q1)


def normalize_of(hinge: Hinge, q: Array, what: str = "q") -> Array:
    """`hinge.normalize(q, what)`: (..., nq). `what` is the name used in the error.

    >>> from soacraft.model.hinges import Spherical
    >>> normalize_of(Spherical(), np.array([0, 0, 0, 1.0000005]))
    array([0., 0., 0., 1.])
    """
    if hinge.batched:
        return checked_array(hinge, "normalize", ask(hinge, hinge.normalize, q, what), np.shape(q)[:-1])
    q = finite(q, (..., hinge.nq), what, StateError)
    out = np.empty(q.shape)
    for index in np.ndindex(*q.shape[:-1]):
        out[index] = checked_array(hinge, "normalize", ask(hinge, hinge.normalize, q[index], what), ())
    return out


def over_batch(hinge: Hinge, method: str, *args: Array) -> Any:
    """A method of a hinge that takes single configurations, called for each entry of the leading axes.

    Every result must have the right type and shape and be finite; otherwise the `ModelError` names hinge and
    method. Cost: one Python call for each entry.

    >>> from soacraft.model.hinges import Pin
    >>> over_batch(Pin((0, 0, 1)), "H_T", np.zeros((2, 3, 1))).shape
    (2, 3, 6, 1)
    """
    args = tuple(np.asarray(a, dtype=np.float64) for a in args)
    call = getattr(hinge, method)
    lead = lead_of(*args)
    if not lead:
        return checked_single(hinge, method, ask(hinge, call, *args))
    full = [np.broadcast_to(a, (*lead, a.shape[-1])) for a in args]
    entries = {index: checked_single(hinge, method, ask(hinge, call, *(a[index].copy() for a in full)))
               for index in np.ndindex(*lead)}
    if method == "pose":
        R, p = np.empty((*lead, 3, 3)), np.empty((*lead, 3))
        for index, pose in entries.items():
            R[index], p[index] = pose.rotation, pose.translation
        return Pose.unchecked(R, p)
    if method == "dbias":
        pair = np.empty((2, *lead, 6, hinge.nv))
        for index, (in_q, in_v) in entries.items():
            pair[(0, *index)], pair[(1, *index)] = in_q, in_v
        return pair[0], pair[1]
    out = np.empty((*lead, *tail_of(hinge, method)))
    for index, value in entries.items():
        out[index] = value
    return out


def _call(hinge: Hinge, method: str, *args: Array) -> Array:
    if hinge.batched:
        return checked_array(hinge, method, ask(hinge, getattr(hinge, method), *args), lead_of(*args))
    result: Array = over_batch(hinge, method, *args)
    return result
