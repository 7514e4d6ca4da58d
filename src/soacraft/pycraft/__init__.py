"""Names of the papers: code printed in the PyCraft paper, its slides and the architecture paper runs unchanged.

Thin names for `sc.operators(g, axes="inertial")`: the classes of section 3 (`HClass`, `EPhiClass`, `SPOClass`, ...),
their methods (`asArray`, `getTranspose`, `inverse`, `isZero`, `LyapunovRecursion`, ...), and the short constructors of
the introduction and of the slides (`H(g)`, `Phi(g)`, `Dinv(g)`, ...). `X.operator` is the soacraft operator inside.
`g` is a multibody, a sub-graph, a state, an SKO model, or a system with compound bodies (`sc.aggregate`,
`sc.loops.ConstraintEmbedding`); or operators bound already, such as
`sc.operators(g, axes="inertial", ignore_loops=True)` for the tree of a model with loops. Without an argument a
constructor takes the model that was named last.

>>> import soacraft as sc
>>> from soacraft.pycraft import *
>>> g = sc.load("arm7")
>>> MassMatrix = H(g) * Phi(g) * M(g) * PhiStar(g) * HStar(g)
>>> InnovFactorInv = Id(g) - H(g) * Psi(g) * K(g)
>>> MassMatrixInv = InnovFactorInv.getTranspose() * Dinv(g) * InnovFactorInv
>>> (MassMatrix * MassMatrixInv).isIdentity()
True
"""

from soacraft.pycraft.classes import (
    BStarClass,
    EPhiClass,
    EPsiClass,
    HClass,
    HStarClass,
    IdClass,
    MClass,
    PClass,
    SKOClass,
    SKOStarClass,
    SPOClass,
    SPOStarClass,
)
from soacraft.pycraft.matrices import (
    SpatialDiagonalMatrixOperator,
    SpatialMatrixOperator,
    SpatialSquareMatrixOperator,
    Trace,
)
from soacraft.pycraft.sensitivities import H_iClass, Hd_iClass, Hs_iClass
from soacraft.pycraft.short import (
    Betadot,
    BStar,
    D,
    D_Inverse,
    Dinv,
    H,
    HStar,
    I,
    Id,
    K,
    M,
    Phi,
    PhiStar,
    Psi,
    Spatial_I,
    T,
    Thetadot,
    Thetadoubledot,
    V,
    a,
    b,
)
from soacraft.pycraft.vectors import SpatialVector

__all__ = [
    "BStar", "BStarClass", "Betadot", "D", "D_Inverse", "Dinv", "EPhiClass", "EPsiClass", "H", "HClass", "HStar",
    "HStarClass", "H_iClass", "Hd_iClass", "Hs_iClass", "I", "Id", "IdClass", "K", "M", "MClass", "PClass", "Phi",
    "PhiStar", "Psi", "SKOClass", "SKOStarClass", "SPOClass", "SPOStarClass", "SpatialDiagonalMatrixOperator",
    "SpatialMatrixOperator", "SpatialSquareMatrixOperator", "SpatialVector", "Spatial_I", "T", "Thetadot",
    "Thetadoubledot", "Trace", "V", "a", "b",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
