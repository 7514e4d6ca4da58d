"""Every identity on trees with armature: on drawn dofs, and on all of them."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.identities.test_identities import TOL, allowed, wrong
from tests.profiles import tries
from tests.strategies import AXES, OPEN, keep, parents, rigid_trees

import soacraft as sc


def give(mb, chosen, seed=0):
    """Rotors on the chosen dofs of each hinge; the state is kept."""
    rng = np.random.default_rng(seed)
    state = mb.q.copy(), mb.v.copy(), mb.vdot.copy()
    for body in mb.bodies:
        if body.hinge.nv:
            body.armature = rng.uniform(0.1, 2.0, body.hinge.nv) * [chosen() for _ in range(body.hinge.nv)]
    mb.set_state(*state)
    return mb


@st.composite
def armed(draw, axes, trees):
    """The operators of a drawn tree with armature on drawn dofs."""
    mb = draw(rigid_trees(trees))
    return sc.operators(give(mb, lambda: draw(st.booleans()), draw(st.integers(0, 9))), axes=axes)


def armature(mb):
    return np.concatenate([np.zeros(0), *(body.armature for body in mb.bodies)])


@pytest.mark.parametrize("axes", AXES)
@tries(8)
@given(data=st.data())
def test_identities_hold_on_trees(axes, data):
    s = data.draw(armed(axes, parents(max_size=6)))
    keep()
    assert wrong(s, [identity for identity in sc.identities() if allowed(identity, s)]) == {}


@pytest.mark.parametrize("axes", AXES)
@tries(4)
@given(data=st.data())
def test_identities_hold_on_serial_chains(axes, data):
    s = data.draw(armed(axes, parents(min_size=2, max_size=6, serial=True)))
    keep()
    assert wrong(s, OPEN) == {}


@cache
def rotors_on_every_dof(axes):
    """The operators of a tree with two bases and of a chain."""
    trees = [sc.random_tree(13, 5, bases=2), sc.random_tree(6, 4, branching=0.0)]
    return [sc.operators(give(mb, lambda: True), axes=axes) for mb in trees]


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("identity", OPEN, ids=lambda identity: identity.name)
def test_each_identity_with_rotors_on_every_dof(identity, axes):
    places = [s for s in rotors_on_every_dof(axes) if allowed(identity, s)]
    found = sc.verify(identity.left, identity.right, on=places, tolerance=TOL)
    assert found.ok, found


@pytest.mark.parametrize("axes", AXES)
def test_the_mass_matrix_gains_the_armature(axes):
    mb = sc.random_tree(13, 5, bases=2)
    s = sc.operators(mb, axes=axes)
    without = (s.H * s.phi * s.M * s.phi.T * s.H.T).array()
    T = np.asarray(s.T)
    give(mb, lambda: True)
    s = sc.operators(mb, axes=axes)
    massmat, J = s.H * s.phi * s.M * s.phi.T * s.H.T, armature(mb)
    np.testing.assert_allclose(massmat.array(), without + np.diag(J), atol=1e-12)
    np.testing.assert_allclose(massmat.inv.array(), np.linalg.inv(without + np.diag(J)), atol=1e-9)
    np.testing.assert_allclose(s.T, T + J * mb.vdot, atol=1e-10)
    assert all(sc.check_operator(getattr(s, name)).ok for name in ("H", "M", "phi", "P", "D", "psi", "Omega"))


@pytest.mark.parametrize("axes", AXES)
def test_compiled_expressions(axes):
    """Those that go to kernels, against the sweeps."""
    mb = give(sc.random_tree(13, 5, bases=2), lambda: True)
    s = sc.operators(mb, axes=axes)
    massmat, B = s.H * s.phi * s.M * s.phi.T * s.H.T, s.B([mb.bodies[0].nodes[0], mb.bodies[-1].nodes[0]])
    x = np.linspace(-1.0, 1.0, mb.nv)
    for expr in (massmat, massmat.inv):
        np.testing.assert_allclose(expr.compile()(mb.q), expr.array(), atol=1e-9)
        np.testing.assert_allclose(expr.compile()(mb.q, None, x), expr * x, atol=1e-9)
    compliance = B.T * s.Omega * B
    np.testing.assert_allclose(compliance.compile()(mb.q), compliance.array(), atol=1e-9)


@pytest.mark.parametrize("axes", AXES)
def test_a_node_with_armature_is_larger(axes):
    """Its velocity is [V; v], its force [f; J vdot], and a pick-off sees the body's part."""
    mb = give(sc.random_tree(6, 2, [sc.Pin((1, 2, 3)), sc.Spherical(), sc.Weld()]), lambda: True)
    plain = sc.random_tree(6, 2, [sc.Pin((1, 2, 3)), sc.Spherical(), sc.Weld()])
    s, bare = sc.operators(mb, axes=axes), sc.operators(plain, axes=axes)
    assert s.body.dims == tuple(6 + body.hinge.nv for body in mb.bodies)
    for body in mb.bodies:
        own, where = body.name, body.v_slice
        for name, below in (("V", mb.v), ("alpha", mb.vdot), ("f", armature(mb) * mb.vdot)):
            part = getattr(s, name)[own]
            np.testing.assert_allclose(part[:6], getattr(bare, name)[own], atol=1e-10)
            np.testing.assert_allclose(part[6:], below[where], atol=1e-12)
        assert not np.asarray(s.V_plus[own][6:]).any()
    nodes = [node.full_name for body in mb.bodies for node in body.nodes]
    J, J_bare = ((x.B(nodes).T * x.phi.T * x.H.T).array() for x in (s, bare))
    np.testing.assert_allclose(J, J_bare, atol=1e-12)
