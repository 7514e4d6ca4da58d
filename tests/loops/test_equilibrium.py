"""Equilibrium of closed chains: closed forms, potential energy, and no acceleration; refusals."""

import numpy as np
import pytest
from scipy.optimize import brentq
from tests.loops.cases import FourBar, library, near
from tests.loops.test_derivatives import SOLVERS, arms

import soacraft as sc
from soacraft.errors import SingularError, StateError
from soacraft.loops import equilibrium


@pytest.mark.parametrize("make", SOLVERS, ids=lambda x: x.__name__)
def test_a_four_bar_hangs_where_its_lagrangian_rests(make):
    bar = FourBar()
    rest = brentq(lambda x: bar.acceleration(x, 0.0, 0.0), -2.5, -0.5)
    mb = bar.build(rest + 0.4)
    eq = equilibrium(make(mb))
    near(mb.state(eq.q).q_of("crank"), [rest], 1e-9)
    assert len(eq.free) == 1
    assert np.abs(eq.residual).max() < 1e-9


@pytest.mark.parametrize("hinge", [sc.Universal((1, 0, 0), (0, 0, 1)), sc.Spherical(), sc.Gimbal(), sc.Pin((1, 1, 0))])
def test_springs_of_any_hinge_come_to_rest(hinge):
    mb = arms(hinge)
    for body in mb.bodies:
        body.passive = sc.Passive(stiffness=400.0, rest=mb.q_of(body), damping=1.0)
    s = sc.loops.TreeAugmented(mb)
    eq = equilibrium(s, f_ext={mb.bodies[-1].name: sc.Wrench((1, 0, 2), (3, 1, 0), expressed_in=mb.root)})
    assert np.abs(eq.moved).max() > 1e-3
    zero = np.zeros(mb.nv)
    f_ext = {mb.bodies[-1].name: sc.Wrench((1, 0, 2), (3, 1, 0), expressed_in=mb.root)}
    assert np.abs(s.forward_dynamics(eq.q, zero, zero, f_ext).vdot).max() < 1e-7


def test_fixed_dofs_stay_and_an_open_start_is_closed():
    mb = library("five_bar")
    for body in mb.bodies:
        body.passive = sc.Passive(stiffness=50.0)
    s = sc.loops.TreeAugmented(mb)
    name = mb.dof_names[0]
    q = s.assemble(mb.q)
    eq = equilibrium(s, fixed=[name], q=np.array(q) + 1e-3)
    assert abs(eq.moved[0]) < 1e-14
    assert len(eq.free) == len(s.independent(q)) - 1
    near(s.assemble(eq.q), eq.q, 1e-10)


def test_free_dofs_are_those_not_fixed_and_the_force_is_what_holds_the_tree():
    """Two of the three ways to move of a five-bar, said in three ways; the force of the result by the tree alone."""
    mb = library("five_bar")
    for body in mb.bodies:
        body.passive = sc.Passive(stiffness=50.0)
    s = sc.loops.TreeAugmented(mb)
    q, zero, push = s.assemble(mb.q), np.zeros(mb.nv), np.linspace(1.0, -2.0, mb.nv)
    stay, *others = mb.dof_names
    eq = equilibrium(s, fixed=[stay], force=push, q=q)
    again = equilibrium(s, free=others, force=push, q=q)
    near(again.q, eq.q, 1e-12)
    fewer = equilibrium(s, free=mb.dof_names[:-1], fixed=[stay], force=push, q=q)
    assert (len(eq.free), len(again.free), len(fewer.free)) == (2, 2, 1)
    near(fewer.moved[[0, -1]], [0.0, 0.0], 1e-12)
    for found in (eq, fewer):
        near(found.force, sc.dynamics.inverse_dynamics(mb, found.q, zero, zero, ignore_loops=True), 1e-9)
    X = s.velocity_map(eq.q)
    hold = float(X[0] @ X.T @ (eq.force - push) / (X[0] @ X[0]))  # the force that the fixed dof takes
    assert abs(hold) > 1e-2
    assert np.abs(s.forward_dynamics(eq.q, zero, push + hold * np.eye(mb.nv)[0]).vdot).max() < 1e-6


def test_what_is_refused():
    mb = library("five_bar")
    mb.gravity = (0, 0, 0)
    s = sc.loops.TreeAugmented(mb)
    with pytest.raises(SingularError, match=r"equilibrium of 'five_bar': the stiffness is singular at the start"):
        equilibrium(s)
    with pytest.raises(StateError, match=r"no dof is free\. Its closures and fixed= hold all of them"):
        equilibrium(s, fixed=s.independent(s.assemble(mb.q)))
    with pytest.raises(StateError, match="equilibrium takes one state of a closed chain, got a batch"):
        equilibrium(s, q=np.stack([mb.q, mb.q]))
