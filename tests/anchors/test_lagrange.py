"""Lagrange's equations: C = dMcal/dt v - d(v* Mcal v / 2)/dq + dU/dq, where v is the rate of q.

The derivative of H (universal, gimbal, planar, screws) is on the left only, in the bias of the hinge.
"""

import numpy as np
import pytest
from tests.anchors.reference import (
    AXES,
    bias_force,
    com_frames,
    mass_matrix,
    motion,
    potential_energy,
    rate,
    tangent_rate,
)

import soacraft as sc
from soacraft.model import random_tree
from soacraft.model.hinges import examples

TRUE = [hinge for hinge in examples() if hinge.nq == hinge.nv > 0]
TURNING = [hinge for hinge in TRUE if not hinge.constant_H]


def lagrange(mb):
    def energy(states):
        return 0.5 * np.einsum("i,...ij,j->...", mb.v, mass_matrix(sc.operators(states)), mb.v)

    com_frames(mb)
    Mdot = rate(mass_matrix(sc.operators(motion(mb, np.zeros(mb.nv)))))
    weight = tangent_rate(mb, lambda states: potential_energy(mb, states))
    return Mdot @ mb.v - tangent_rate(mb, energy) + weight


def test_the_turning_hinges_are_there():
    assert {type(hinge).__name__ for hinge in TURNING} == {"Universal", "Gimbal", "Planar", "Screws"}


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("hinge", TURNING, ids=lambda hinge: type(hinge).__name__)
def test_hinges_whose_H_turns(hinge, axes):
    mb = random_tree(3, seed=4, hinges=[hinge], branching=0.5)
    np.testing.assert_allclose(bias_force(sc.operators(mb, axes=axes)), lagrange(mb), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_trees(seed):
    mb = random_tree(8, seed=seed, hinges=TRUE, bases=1 + seed % 2, gravity=(1.0, -2.0, -9.0))
    expected = lagrange(mb)
    for axes in AXES:
        scale = 1.0 + np.abs(expected).max()
        np.testing.assert_allclose(bias_force(sc.operators(mb, axes=axes)), expected, rtol=0, atol=1e-9 * scale)
