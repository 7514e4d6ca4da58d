"""The printed classes: their kinship, their constructors, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import pycraft
from soacraft.errors import SpaceError
from soacraft.pycraft import *


@pytest.fixture
def g():
    mb = sc.random_tree(5, seed=1)
    return mb


def test_every_printed_name_is_there():
    printed = """SpatialVector SpatialMatrixOperator SpatialSquareMatrixOperator SpatialDiagonalMatrixOperator IdClass
        HStarClass HClass MClass SKOClass EPhiClass SKOStarClass SPOClass SPOStarClass BStarClass PClass EPsiClass
        H_iClass Hs_iClass Hd_iClass H Phi PhiStar HStar M Id Psi K Dinv Thetadot BStar""".split()
    assert sorted(pycraft.__all__) == sorted(printed)
    for name in printed:
        assert getattr(pycraft, name).__doc__


def test_classes_derive_as_printed(g):
    assert isinstance(HClass(g), HStarClass)
    assert isinstance(HClass(g), SpatialDiagonalMatrixOperator)
    assert isinstance(EPhiClass(g), SKOClass)
    assert isinstance(EPsiClass(g), SKOClass)
    assert isinstance(SPOClass(EPhiClass(g)), SpatialSquareMatrixOperator)
    assert issubclass(SpatialDiagonalMatrixOperator, SpatialSquareMatrixOperator)
    assert not isinstance(BStarClass(g, g.bodies[0]), SpatialSquareMatrixOperator)


def test_axes_are_the_papers(g):
    assert HClass(g).operator.cols.axes == "inertial"
    np.testing.assert_array_equal(MClass(g).asArray(), sc.operators(g, "M", axes="inertial").array())


def test_a_kernel_of_ones_own(g):
    """SPOClass of any kernel operator is its 1-resolvent."""
    ephi, H, P = EPhiClass(g), HClass(g), PClass(g)
    taubar = IdClass(g) - P * H.transpose() * (H * P * H.transpose()).inverse() * H
    kernel = SKOClass(ephi * taubar)
    assert (SPOClass(kernel) - Psi(g)).isZero()
    assert (SPOStarClass(kernel) - Psi(g).getTranspose()).isZero()


def test_what_is_no_kernel_is_refused(g):
    with pytest.raises(SpaceError, match=r"a kernel operator such as EPhiClass\(g\) is wanted, got MClass M"):
        SPOClass(MClass(g))
    with pytest.raises(SpaceError, match="a kernel operator"):
        SKOStarClass(np.eye(3))


def test_sub_graphs_do_not_mix(g):
    part = g.subgraph([g.bodies[0]])
    with pytest.raises(SpaceError, match="different models or sub-graphs cannot be mixed"):
        H(g) * Phi(part)


def test_spatial_vector(g):
    T = SpatialVector(g, np.arange(g.nv, dtype=float))
    assert T.space.kind == "hinge"
    V = SpatialVector(g, np.zeros(6 * len(g)))
    assert V.space.kind == "body"
    np.testing.assert_array_equal(V[g.bodies[1]], np.zeros(6))
    np.testing.assert_allclose(np.asarray(Dinv(g) * T), Dinv(g).asArray() @ np.arange(g.nv))
    with pytest.raises(SpaceError, match="is wanted, got shape"):
        SpatialVector(g, np.zeros(3))
    free = sc.random_tree(2, seed=0, hinges=[sc.Free()])
    assert SpatialVector(free, np.zeros(12), space="body").space.kind == "body"


def test_arithmetic(g):
    X = 2 * MClass(g) - MClass(g)
    np.testing.assert_allclose((-X).asArray(), -MClass(g).asArray())
    assert "2*M - M" in repr(X)


def test_on_an_sko_model():
    model = sc.random_sko(6, seed=3)
    factor = Id(model) - H(model) * Psi(model) * K(model)
    massmat = H(model) * Phi(model) * M(model) * PhiStar(model) * HStar(model)
    assert (massmat * factor.getTranspose() * Dinv(model) * factor).isIdentity()
