"""The short constructors of the introduction, of the slides and of the architecture paper."""

from __future__ import annotations

from typing import Any

from soacraft.algebra.expressions.nodes import I as IDENTITY
from soacraft.pycraft.bound import bound
from soacraft.pycraft.classes import (
    BStarClass,
    EPhiClass,
    EPsiClass,
    HClass,
    HStarClass,
    IdClass,
    MClass,
    SPOClass,
    SPOStarClass,
)
from soacraft.pycraft.matrices import SpatialIdentity, SpatialMatrixOperator, wrap
from soacraft.pycraft.vectors import SpatialVector

#: The identity of whatever its neighbour is, as the slides and the architecture paper print it.
I = Spatial_I = SpatialIdentity(None, IDENTITY)


def H(g: Any = None) -> SpatialMatrixOperator:
    """H."""
    return HClass(g)


def HStar(g: Any = None) -> SpatialMatrixOperator:
    """H*."""
    return HStarClass(g)


def M(g: Any = None) -> SpatialMatrixOperator:
    """M."""
    return MClass(g)


def Id(g: Any = None) -> SpatialMatrixOperator:
    """The identity."""
    return IdClass(g)


def Phi(g: Any = None) -> SpatialMatrixOperator:
    """phi."""
    return SPOClass(EPhiClass(g))


def PhiStar(g: Any = None) -> SpatialMatrixOperator:
    """phi*."""
    return SPOStarClass(EPhiClass(g))


def Psi(g: Any = None) -> SpatialMatrixOperator:
    """psi."""
    return SPOClass(EPsiClass(g))


def K(g: Any = None) -> SpatialMatrixOperator:
    """K = E_phi G (Eq. 24)."""
    return wrap(bound(g).K)  # type: ignore[no-any-return]


def D(g: Any = None) -> SpatialMatrixOperator:
    """D = H P H* (Eq. 24)."""
    return wrap(bound(g).D)  # type: ignore[no-any-return]


def Dinv(g: Any = None) -> SpatialMatrixOperator:
    """D^-1."""
    return D(g).inverse()


def D_Inverse(g: Any = None) -> SpatialMatrixOperator:
    """D^-1, as the slides have it."""
    return D(g).inverse()


def BStar(g: Any, nodes: Any) -> SpatialMatrixOperator:
    """B* of nodes, or of a node by its number."""
    return BStarClass(g, nodes)


def Thetadot(g: Any = None) -> SpatialVector:
    """The generalized velocities."""
    return SpatialVector.of(bound(g).v)


def Thetadoubledot(g: Any = None) -> SpatialVector:
    """The generalized accelerations."""
    return SpatialVector.of(bound(g).vdot)


def Betadot(g: Any = None) -> SpatialVector:
    """The generalized accelerations, the rates of the generalized velocities beta."""
    return SpatialVector.of(bound(g).vdot)


def V(g: Any = None) -> SpatialVector:
    """The velocities of the bodies (Eq. 5)."""
    return SpatialVector.of(bound(g).V)


def a(g: Any = None) -> SpatialVector:
    """The velocity-dependent accelerations (Eq. 17)."""
    return SpatialVector.of(bound(g).a)


def b(g: Any = None) -> SpatialVector:
    """The gyroscopic forces, less gravity and external forces (Eq. 17)."""
    return SpatialVector.of(bound(g).b)


def T(g: Any = None) -> SpatialVector:
    """The generalized forces that the generalized accelerations ask for (Eq. 17)."""
    return SpatialVector.of(bound(g).T)
