"""Velocities and accelerations of all bodies."""

from __future__ import annotations

from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.turning import turned
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import cross


def velocities(p: Problem) -> Array:
    """V(k) = phi*(p,k) V(p) + H*(k) v(k)."""
    return turned(p, p.state.motion.V)


def accelerations(p: Problem) -> Array:
    """[d omega/dt; d^2 p/dt^2] = [alpha_w; alpha_v + w x v], from alpha(k) = phi* alpha(p) + H* vdot + a."""
    V = p.state.motion.V
    rate = p.state.alpha.copy()
    rate[..., 3:] += cross(V[..., :3], V[..., 3:])
    return turned(p, rate)
