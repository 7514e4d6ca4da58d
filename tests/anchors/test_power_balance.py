"""Power: the kinetic energy grows by T.v, with gravity the sum of kinetic and potential; for every kind of hinge."""

import numpy as np
import pytest
from tests.anchors.reference import (
    AXES,
    com_frames,
    forward,
    kinetic_energy,
    mass_matrix,
    motion,
    potential_energy,
    rate,
)
from tests.strategies import EVERY_HINGE

import soacraft as sc
from soacraft.model import random_tree

KINDS = {type(hinge).__name__: hinge for hinge in EVERY_HINGE}
GRAVITY = (1.0, -2.0, -9.0)


def tree_of(hinge, gravity, seed=1):
    """Five bodies on hinges of one kind and two more on pins, in a random state."""
    mb = random_tree(5, seed=seed, hinges=[hinge], branching=0.3, gravity=gravity)
    tip = random_tree(2, seed=seed + 1, hinges=[sc.Pin((0.3, 0.5, -0.8))])
    for body, parent in zip(tip.bodies, ("body2", "body5"), strict=True):
        mb.add_body(f"pin {body.name}", parent, body.hinge, body.inertia, body.inboard, body.outboard)
    rng = np.random.default_rng(seed)
    q, v = mb.random_state(rng)
    mb.set_state(q, v, rng.standard_normal(mb.nv))
    com_frames(mb)
    return mb


@pytest.mark.parametrize("gravity", [(0, 0, 0), GRAVITY], ids=["no gravity", "gravity"])
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("kind", KINDS)
def test_force_that_a_motion_asks_for(kind, axes, gravity):
    mb = tree_of(KINDS[kind], gravity)
    power = sc.operators(mb, axes=axes).T.dot(mb.v)
    states = motion(mb)
    gained = rate(kinetic_energy(mb, states) + potential_energy(mb, states))
    np.testing.assert_allclose(power, gained, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("kind", KINDS)
def test_motion_that_a_force_makes(kind, axes):
    mb = tree_of(KINDS[kind], GRAVITY, seed=3)
    T = np.random.default_rng(3).standard_normal(mb.nv)
    mb.vdot = forward(sc.operators(mb, axes=axes), T)
    states = motion(mb)
    gained = rate(kinetic_energy(mb, states) + potential_energy(mb, states))
    scale = kinetic_energy(mb) * (1.0 + np.abs(mb.v).max())
    np.testing.assert_allclose(T @ mb.v, gained, rtol=1e-8, atol=1e-9 * scale)


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("kind", KINDS)
def test_kinetic_energy_by_the_mass_matrix(kind, axes):
    """v* Mcal v / 2 and V* M V / 2 are the energies of the bodies summed."""
    mb = tree_of(KINDS[kind], GRAVITY, seed=5)
    ops = sc.operators(mb, axes=axes)
    np.testing.assert_allclose(0.5 * mb.v @ mass_matrix(ops) @ mb.v, kinetic_energy(mb), rtol=1e-12)
    np.testing.assert_allclose(0.5 * ops.V.dot(ops.M * ops.V), kinetic_energy(mb), rtol=1e-12)
