"""`sc.check_derivative`: right derivatives pass, wrong ones fail, in any units."""

import sys

import numpy as np
import pytest
from tests.scales.scaled import NINE, scaled

import soacraft as sc
from soacraft.errors import ModelError, SpaceError, StateError


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


@pytest.mark.parametrize("axes", ["body", "inertial", "origin"])
def test_every_hinge_and_the_velocity(axes):
    mb = sc.load("hinges")
    mb.set_state(*mb.random_state(3))
    s = sc.operators(mb, axes=axes)
    for expr in (mass_matrix(s), s.phi):
        assert sc.check_derivative(expr).ok
    for body in mb.bodies[:: 1 if axes == "body" else 4]:
        if body.hinge.nv:
            assert sc.check_derivative(s.H * s.phi * s.M, body, body.hinge.nv - 1).ok, body


def test_a_wrong_derivative_fails(monkeypatch):
    mb = sc.load("arm7")
    mb.set_state(*mb.random_state(1))
    s = sc.operators(mb)
    module = sys.modules["soacraft.ops.check_derivative"]
    right = module.differentiated
    monkeypatch.setattr(module, "differentiated", lambda expr, step: right(expr, step) * (1 + 1e-5))
    report = sc.check_derivative(mass_matrix(s), "link3")
    assert not report
    assert 1e-7 < report.error < 1e-4
    assert "FAILS" in repr(report)


@pytest.mark.parametrize("units", NINE[1:4], ids=str)
def test_in_any_units(units):
    mb = sc.random_tree(4, seed=2)
    mb.set_state(*mb.random_state(1))
    s = sc.operators(scaled(mb, units))
    for body in mb.bodies[1:3]:
        if body.hinge.nv:
            assert sc.check_derivative(mass_matrix(s), body.name), body
    assert sc.check_derivative(s.P)


def test_the_report_holds_both():
    mb = sc.load("arm7")
    mb.set_state(*mb.random_state(1))
    s = sc.operators(mb)
    report = sc.check_derivative(mass_matrix(s), "link3")
    np.testing.assert_allclose(report.exact, mass_matrix(s).diff("link3").array())
    np.testing.assert_allclose(report.differences, report.exact, atol=1e-9)
    assert "derivative of H*phi*M*phi.T*H.T along ('link3')" in repr(report)


def test_refusals():
    s = sc.operators(sc.load("arm7"))
    with pytest.raises(SpaceError, match="check_derivative takes an operator"):
        sc.check_derivative(3)
    with pytest.raises(StateError, match="step of differences must be positive"):
        sc.check_derivative(s.phi, "link3", step=0.0)
    with pytest.raises(StateError, match="takes one state"):
        sc.check_derivative(s.phi.at(q=np.zeros((2, 7))), "link3")
    mb = sc.load("five_bar")
    solver = sc.loops.ConstraintEmbedding(mb)
    mb.q = solver.assemble(mb.q)
    closed = sc.operators(solver)
    with pytest.raises(ModelError, match="has closures that its dofs must agree with"):
        sc.check_derivative(closed.phi)
