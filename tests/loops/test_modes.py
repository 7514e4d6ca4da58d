"""Modes of closed chains: closed forms, and the eigenvalues of linearized motion."""

import numpy as np
import pytest
from tests.loops.cases import FourBar, library, near
from tests.loops.test_derivatives import SOLVERS, arms

import soacraft as sc
from soacraft.errors import StateError
from soacraft.loops import equilibrium, linearize, modes


@pytest.mark.parametrize("make", SOLVERS, ids=lambda x: x.__name__)
def test_a_parallelogram_swings_like_a_pendulum(make):
    length, (m1, m2, m3) = 0.4, (1.5, 2.0, 0.7)
    bar = FourBar(crank=length, coupler=1.0, rocker=length, ground=1.0, masses=(m1, m2, m3))
    mb = bar.build(-1.0)
    mb.q = [-np.pi / 2, np.pi / 2, -np.pi / 2]
    m = modes(make(mb), mb.q)
    stiffness, inertia = 9.81 * length * ((m1 + m3) / 2 + m2), length**2 * ((m1 + m3) / 3 + m2)
    near(2 * np.pi * m.hz, [np.sqrt(stiffness / inertia)], 1e-10)
    assert m.rigid == 0
    crank, coupler = (m.shapes[x.name][3:, 0].real for x in (mb.bodies[0], mb.bodies[1]))
    assert np.abs(coupler).max() > np.abs(crank).max()


@pytest.mark.parametrize("hinge", [sc.Universal((1, 0, 0), (0, 0, 1)), sc.Spherical(), sc.Gimbal(), sc.Pin((1, 1, 0))])
def test_the_rates_are_those_of_the_linearized_motion(hinge):
    mb = arms(hinge)
    for body in mb.bodies:
        body.passive = sc.Passive(stiffness=400.0, rest=mb.q_of(body), damping=1.0)
    s, zero = sc.loops.TreeAugmented(mb), np.zeros(mb.nv)
    q = equilibrium(s).q
    m, wanted = modes(s, q), linearize(s, q, zero, zero).eigenvalues
    ours = np.concatenate([m.eigenvalues, m.eigenvalues[m.eigenvalues.imag > 0].conj()])
    assert len(ours) == len(wanted)
    assert np.abs(ours[:, None] - wanted).min(axis=1).max() < 1e-7 * np.abs(wanted).max()


def test_forces_along_dofs_and_on_bodies_stiffen_a_chain():
    """At the rest that they cause, against the linearized motion under the same forces; without them it is another."""
    mb = arms(sc.Spherical())
    for body in mb.bodies:
        body.passive = sc.Passive(stiffness=400.0, rest=mb.q_of(body), damping=1.0)
    s, zero = sc.loops.TreeAugmented(mb), np.zeros(mb.nv)
    force = np.linspace(-60.0, 90.0, mb.nv)
    push = {"right1": sc.Wrench((10, 0, 20), (60, 40, -50), expressed_in="inertial")}
    q = equilibrium(s, force=force, f_ext=push).q
    wanted = linearize(s, q, zero, force, push).eigenvalues

    def apart(m):
        ours = np.concatenate([m.eigenvalues, m.eigenvalues[m.eigenvalues.imag > 0].conj()])
        assert len(ours) == len(wanted)
        return np.abs(ours[:, None] - wanted).min(axis=1).max() / np.abs(wanted).max()

    assert apart(modes(s, q, force=force, f_ext=push)) < 1e-7
    assert apart(modes(s, q, force=force)) > 1e-4
    assert apart(modes(s, q, f_ext=push)) > 1e-4


def test_a_linkage_without_stiffness_has_rigid_body_modes():
    mb = library("five_bar")
    mb.gravity = (0, 0, 0)
    s = sc.loops.ConstraintEmbedding(mb)
    q = s.assemble(mb.q)
    free = len(s.independent(q))
    assert free == 3
    assert modes(s, q).rigid == free
    assert modes(s, q, fixed=[0]).rigid == free - 1
    with pytest.raises(StateError, match="modes takes one state of a closed chain, got a batch"):
        modes(s, np.stack([q, q]))
