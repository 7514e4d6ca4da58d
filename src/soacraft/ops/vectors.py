"""The stacked vectors of the papers, computed from the operators so that their inside can be seen.

    V = phi* H* v,   alpha = phi* (H* vdot + a),   f = phi (M alpha + b),   T = H f          (002; 004 Eq. 1)
    z = psi (K T + P a + b),   eps = T - H z,   nu = D^-1 eps                                 (004 Eq. 58)
    V+ = E_phi* V,   alpha+ = E_phi* alpha,   z+ = z + G eps                                  (001)

A body with armature has more than six numbers in those of bodies: V is [V; v], alpha [alpha; vdot], f [f; J vdot].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from soacraft.algebra.spaces.rounding import measurer, noise
from soacraft.algebra.spaces.space import Space
from soacraft.algebra.spaces.vectors import StackedVector
from soacraft.ops.named import Named

Array = npt.NDArray[np.float64]


def q(s: Named) -> StackedVector:
    """The coordinates of the hinges, theta of the papers (000 Eq. 5): `q["link3"]` are those of one."""
    sizes, data = s.binding.coordinates()
    space = Space("coordinate", s.hinge.labels, sizes, s.binding.owner, tree=s.hinge.tree, numbering=s.hinge.numbering)
    return StackedVector(space, data)


def v(s: Named) -> StackedVector:
    """The generalized velocity."""
    return StackedVector(s.hinge, s.binding.velocity())


def vdot(s: Named) -> StackedVector:
    """The generalized acceleration: the state's, or the answer to the given force (000 Eq. 31)."""
    if s.binding.given_force is None:
        return StackedVector(s.hinge, s.binding.acceleration())
    innovations = nu(s)
    return innovations - s.K.T * (s.psi.T * (s.H.T * innovations + a(s)))


def T(s: Named) -> StackedVector:
    """The generalized force: the given one, or the one that the state's vdot asks for, H f, less what acts by itself in
    operators with `passive=True`."""
    force = s.binding.given_force
    if force is None:
        return s.H * f(s) - passive(s) if s.binding.with_passive else s.H * f(s)
    return StackedVector(s.hinge, np.broadcast_to(force, np.broadcast_shapes(force.shape, s.binding.velocity().shape)))


def passive(s: Named) -> StackedVector:
    """The generalized force of the model's own springs, dampers and gravity compensation. No operator contains it:
    Eq. 31 with T + passive in place of T gives the vdot of `dynamics.forward_dynamics`. Operators made with
    `passive=True` have vectors that answer to T + passive."""
    return StackedVector(s.hinge, s.binding.passive())


def _acting(s: Named) -> StackedVector:
    """All that acts along the dofs: T, with `passive=True` T + passive."""
    return T(s) + passive(s) if s.binding.with_passive else T(s)


def V(s: Named) -> StackedVector:
    """Body velocities, V = phi* H* v (000 Eq. 10); with a moving anchor its velocity is carried along."""
    known = s.binding.body_velocities()
    if known is None:
        return s.phi.T * Delta_V(s)
    stacked = _stack(s, known)
    rng = measurer()
    if rng is None:
        return stacked
    return stacked.with_rounding(noise(s.body, _sizes_of_velocities(s, stacked.in_model_order), rng))


def _sizes_of_velocities(s: Named, data: Array) -> Array:
    """The sizes (..., pieces, 1) of what velocities are computed from: a linear one is an angular one times arms, which
    may cancel.
    """
    sizes = s.body.sizes(data[..., None])
    letters = s.body.letters[s.body.pieces]
    slides = 1 + np.flatnonzero((letters[:-1] == "r") & (letters[1:] == "m"))
    sizes[..., slides, :] += s.binding.longest_arm() * sizes[..., slides - 1, :]
    return sizes


def V_plus(s: Named) -> StackedVector:
    """Velocities on the inboard side of the hinges, V+ = E_phi* V (001)."""
    return V(s) - Delta_V(s)


def Delta_V(s: Named) -> StackedVector:
    """Velocities across the hinges, H* v (001)."""
    return s.H.T * v(s)


def a(s: Named) -> StackedVector:
    """Velocity-dependent accelerations."""
    sko = s.sko
    return _stack(s, [sko.a(k) for k in sko.nodes])


def b(s: Named) -> StackedVector:
    """Gyroscopic forces, less gravity and external forces."""
    sko = s.sko
    return _stack(s, [sko.b(k) for k in sko.nodes])


def alpha(s: Named) -> StackedVector:
    """Body accelerations, alpha = phi* (H* vdot + a) (004 Eq. 1)."""
    return s.phi.T * (s.H.T * vdot(s) + a(s))


def alpha_plus(s: Named) -> StackedVector:
    """Accelerations carried from the parents to the inboard side of the hinges, alpha+ = E_phi* alpha (001)."""
    return s.E_phi.T * alpha(s)


def f(s: Named) -> StackedVector:
    """Interbody forces, f = phi (M alpha + b) (004 Eq. 1)."""
    return s.phi * (s.M * alpha(s) + b(s))


def C(s: Named) -> StackedVector:
    """Coriolis, gyroscopic and gravity forces less external ones, C = H phi (b + M phi* a) (000 Eq. 17), with
    `passive=True` less passive ones: T = Mcal vdot + C."""
    bias = s.H * (s.phi * (b(s) + s.M * (s.phi.T * a(s))))
    return bias - passive(s) if s.binding.with_passive else bias


def z(s: Named) -> StackedVector:
    """z = psi (K T + P a + b) (000 Eq. 31)."""
    return s.psi * (s.K * _acting(s) + s.P * a(s) + b(s))


def eps(s: Named) -> StackedVector:
    """The innovations, eps = T - H z (000 Eq. 31)."""
    return _acting(s) - s.H * z(s)


def z_plus(s: Named) -> StackedVector:
    """z on the inboard side of the hinges, z+ = z + G eps; z = E_phi z+ + P a + b (001)."""
    return z(s) + s.G * eps(s)


def nu(s: Named) -> StackedVector:
    """nu = D^-1 eps (000 Eq. 31)."""
    return s.D.inv * eps(s)


def _stack(s: Named, parts: Sequence[Array]) -> StackedVector:
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in parts)) if parts else ()
    wide = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in parts]
    return StackedVector(s.body, np.concatenate([np.zeros((*batch, 0)), *wide], axis=-1))


VECTORS: dict[str, Callable[[Named], StackedVector]] = {
    "q": q,
    "v": v,
    "vdot": vdot,
    "V": V,
    "V_plus": V_plus,
    "Delta_V": Delta_V,
    "alpha": alpha,
    "alpha_plus": alpha_plus,
    "f": f,
    "T": T,
    "C": C,
    "passive": passive,
    "a": a,
    "b": b,
    "z": z,
    "z_plus": z_plus,
    "eps": eps,
    "nu": nu,
}
