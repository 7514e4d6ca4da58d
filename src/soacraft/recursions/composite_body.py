"""Composite body inertias."""

from __future__ import annotations

from soacraft.model.flat.sko import SKOModel
from soacraft.recursions.lyapunov import forward_lyapunov
from soacraft.recursions.types import Stacked


def composite_body(sko: SKOModel) -> Stacked:
    """Composite body inertias, tips to base (000 Eq. 19, 004 Eq. 20 and Algorithm 4.1). O(n).

        R(k) = sum over children j of  A(k,j) R(j) A*(k,j)  +  M(k)
    """
    return forward_lyapunov(sko, sko.A, [sko.M(k) for k in sko.nodes])
