"""Derivatives of operators of flexible trees along hinge dofs, modes and the velocity, against differences."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from tests.model.modal.trees import flexible_tree

import soacraft as sc
from soacraft.errors import ModelError
from soacraft.model.hinges import examples

HOLONOMIC = tuple(hinge for hinge in examples() if hinge.holonomic)
NAMES = "E_phi phi phi_tilde H M R P P_plus D G K tau tau_bar E_psi psi psi_tilde Upsilon Omega".split()


def tree(seed, hinges=HOLONOMIC):
    return flexible_tree((-1, 0, 0, 1, 3), seed, hinges, modes=(2, 0, 1))


def directions(mb):
    """A hinge dof and a mode of each flexible body, in the middle and at the base."""
    found = []
    for body in mb.bodies:
        nv = body.hinge.nv
        found += [(body.name, nv - 1)] if nv else []
        found += [(body.name, nv + body.modal.n - 1)] if body.modal is not None else []
    return found


def products(s, node):
    mass = s.H * s.phi * s.M * s.phi.T * s.H.T
    J = s.B(node).T * s.phi.T * s.H.T
    return [mass, (s.I - s.H * s.psi * s.K).T * s.D.inv * (s.I - s.H * s.psi * s.K), J, s.B(node), J * mass.inv * J.T]


def against_differences(mb, axes, names, chosen):
    s = sc.operators(mb, axes=axes)
    node = next(f"{body.name}/tip" for body in reversed(mb.bodies) if body.modal is not None)
    for x in (*(getattr(s, name) for name in names), *products(s, [node, "body0/root"])):
        for direction in (*chosen, ()):
            report = sc.check_derivative(x, *direction)
            assert report.ok, (report, axes)


@pytest.mark.parametrize("axes", ["body", "inertial", "origin"])
def test_operators_against_differences(axes):
    mb = tree(0)
    modes = [(x, j) for x, j in directions(mb) if j >= mb[x].hinge.nv]
    against_differences(mb, axes, "E_phi H M P G Upsilon".split(), [("body3", 0), modes[-1]])


@pytest.mark.slow
@pytest.mark.parametrize("axes", ["body", "inertial", "origin"])
@pytest.mark.parametrize("seed", range(3))
def test_every_operator_along_every_kind_of_dof(seed, axes):
    mb = tree(seed)
    against_differences(mb, axes, NAMES, directions(mb))


def test_dot_is_the_sum_over_all_dofs():
    mb = tree(1, (sc.Pin((0, 0.6, 0.8)), sc.Prismatic((1, 0, 0))))
    s = sc.operators(mb)
    mass = s.H * s.phi * s.M * s.phi.T * s.H.T
    total = np.zeros((mb.nv, mb.nv))
    for body, where in zip(mb.bodies, mb.layout.v_slices, strict=True):
        for j, rate in enumerate(mb.v[where]):
            total += rate * mass.diff(body.name, j).array()
    np.testing.assert_allclose(mass.dot().array(), total, rtol=0, atol=1e-11)


def test_names_text_and_copies():
    mb = flexible_tree((-1, 0), 0, (sc.Pin((0, 0, 1)),), modes=(2,))
    s = sc.operators(mb)
    name = mb.dof_names[1]
    assert repr(s.M.diff("body0", 1)) == f"dM('body0', 1) : body[{s.M.shape[0]}] <- body[{s.M.shape[0]}]"
    np.testing.assert_array_equal(s.M.diff(name).array(), s.M.diff("body0", 1).array())
    assert s.M.dot().text() == "dM_v"
    other = copy.deepcopy(s.phi.diff("body0", 1))
    np.testing.assert_array_equal(other.array(), s.phi.diff("body0", 1).array())
    batch = s.phi.diff("body0", 1).at(q=np.stack([mb.q, mb.neutral()]))
    np.testing.assert_allclose(batch.array()[0], s.phi.diff("body0", 1).array(), rtol=0, atol=1e-13)


def test_along_hinges_it_is_x_and_along_modes_not():
    mb = flexible_tree((-1, 0, 1), 0, (sc.Pin((0, 0, 1)),), modes=(2,))
    s = sc.operators(mb)
    assert s.phi.diff("body1").text() == "phi_tilde * X('body1') * phi"
    assert s.phi.diff("body1", 1).text() == "phi * dE_phi('body1', 1) * phi"
    with pytest.raises(ModelError, match="X belongs to rigid bodies"):
        s.X("body1", 1)
    assert sc.check_derivative(s.phi.diff("body1"), "body2").ok  # twice along hinges
    with pytest.raises(ModelError, match=r"cannot be differentiated again.*flexible bodies give first derivatives"):
        s.M.diff("body1", 1).diff("body1", 2)
    with pytest.raises(ModelError, match=r"cannot be differentiated again.*flexible bodies give first derivatives"):
        s.phi.diff("body1").diff("body1", 1)
