"""Newton-Euler inverse dynamics."""

from __future__ import annotations

from typing import NamedTuple

from soacraft.model.flat.sko import SKOModel
from soacraft.recursions.gather import gather
from soacraft.recursions.scatter import scatter
from soacraft.recursions.types import Blocks, Stacked


class NewtonEuler(NamedTuple):
    """The generalized force, the interbody forces and the accelerations, by node, as columns."""

    T: Stacked
    f: Stacked
    alpha: Stacked


def newton_euler(sko: SKOModel, vdot: Blocks) -> NewtonEuler:
    """Inverse dynamics (004 Eq. 10, Algorithm 3.1). O(n).

        base to tips:   alpha(k) = A*(p(k),k) alpha(p(k)) + H*(k) vdot(k) + a(k)
        tips to base:   f(k) = sum over children j of  A(k,j) f(j)  +  M(k) alpha(k) + b(k),   T(k) = H(k) f(k)
    """
    alpha = scatter(sko, sko.A, [sko.H(k).mT @ vdot[k] + sko.a(k)[..., None] for k in sko.nodes])
    f = gather(sko, sko.A, [sko.M(k) @ alpha[k] + sko.b(k)[..., None] for k in sko.nodes])
    return NewtonEuler({k: sko.H(k) @ f[k] for k in sko.nodes}, f, alpha)
