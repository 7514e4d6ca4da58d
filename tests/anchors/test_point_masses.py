"""Newton's law for points: Mcal = sum m J* J and C = sum m J* (rddot - g), from positions and differences alone."""

import numpy as np
import pytest
from tests.anchors.reference import AXES, Cloud, bias_force, forward, mass_matrix
from tests.strategies import EVERY_HINGE

import soacraft as sc
from soacraft.model import random_tree

KINDS = {type(hinge).__name__: hinge for hinge in EVERY_HINGE}
SERIAL, FORK = [-1, 0, 1], [-1, 0, 0]


def close(found, expected, digits=1e-10):
    """Relative to the largest entry: the differences know no better."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=digits * (1.0 + np.abs(expected).max()))


@pytest.mark.parametrize("parents", [SERIAL, FORK], ids=["serial", "fork"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_hinge(kind, parents):
    """The hinge on the inertial frame and on a moving body, with a pin besides."""
    cloud = Cloud([KINDS[kind], KINDS[kind], sc.Pin((0.2, -0.5, 0.7))], seed=2, parents=parents)
    C, Mcal, T = cloud.force(), cloud.mass_matrix(), cloud.force(cloud.mb.vdot)
    for axes in AXES:
        ops = sc.operators(cloud.mb, axes=axes)
        close(mass_matrix(ops), Mcal)
        close(bias_force(ops), C)
        close(np.asarray(ops.T), T)


@pytest.mark.parametrize("seed", range(4))
def test_trees_with_every_hinge(seed):
    order = np.random.default_rng(seed).permutation(len(KINDS))
    cloud = Cloud([list(KINDS.values())[i] for i in order], seed)
    C, Mcal, T = cloud.force(), cloud.mass_matrix(), cloud.force(cloud.mb.vdot)
    for axes in AXES:
        ops = sc.operators(cloud.mb, axes=axes)
        close(mass_matrix(ops), Mcal)
        close(bias_force(ops), C, digits=1e-9)
        close(np.asarray(ops.T), T, digits=1e-9)
        close(forward(ops, T), cloud.mb.vdot, digits=1e-8)  # Mcal^-1 magnifies the error of T


@pytest.mark.parametrize("seed", range(6))
def test_C_is_the_same_in_all_axes(seed):
    """a, b, phi, H and M all differ; C, the mass matrix and the accelerations do not."""
    mb = random_tree(16, seed=seed, bases=1 + seed % 2, gravity=(1.0, -2.0, -9.0))
    body, inertial, origin = (sc.operators(mb, axes=axes) for axes in AXES)
    assert not np.allclose(body.a, inertial.a)
    assert not np.allclose(body.b, inertial.b)
    assert not np.allclose(inertial.b, origin.b)
    T = np.random.default_rng(seed).standard_normal(mb.nv)
    for other in (inertial, origin):
        for quantity in (mass_matrix, bias_force, lambda ops: forward(ops, T), lambda ops: np.asarray(ops.T)):
            close(quantity(other), quantity(body), digits=1e-11)
