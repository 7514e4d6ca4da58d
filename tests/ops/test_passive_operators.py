"""`sc.operators(..., passive=True)`: vectors answer to the springs and dampers of a model, as named functions do."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import ModelError
from soacraft.ops.namespace import operators_of


def sprung(seed=3):
    """A tree of pins with springs and dampers of its own, one body with gravity compensation."""
    mb = sc.random_tree(5, seed=seed, hinges=[sc.Pin((0, 0, 1)), sc.Prismatic((1, 0, 0))])
    for i, body in enumerate(mb.bodies):
        body.passive = sc.Passive(stiffness=20.0 + i, damping=3.0)
    mb.bodies[-1].gravity_compensation = 0.5
    q, v = mb.random_state(1)
    mb.set_state(q, v, np.linspace(-1, 1, mb.nv))
    return mb


MODELS = {"own": sprung(), "h1": sc.load("h1"), "panda": sc.load("panda")}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("numbering", [None, "tip"])
def test_vectors_are_those_of_dynamics(name, numbering):
    mb = MODELS[name]
    q, v = mb.random_state(seed=4)
    vdot, force = np.linspace(-1, 1, mb.nv), np.linspace(2, -3, mb.nv)
    s = sc.operators(mb.state(q, v), force=force, passive=True, numbering=numbering)

    def same(x, wanted):
        np.testing.assert_allclose(x.in_model_order, wanted, rtol=1e-7, atol=1e-8 * np.abs(wanted).max())

    same(s.vdot, dyn.forward_dynamics(mb, q, v, force))
    same(s.T, force)
    same(s.C, dyn.bias_force(mb, q, v))
    t = sc.operators(mb.state(q, v, vdot), passive=True, numbering=numbering)
    same(t.T, dyn.inverse_dynamics(mb, q, v, vdot))
    same(t.f - sc.operators(mb.state(q, v, vdot), numbering=numbering).f, 0.0 * t.f.in_model_order)
    bare = sc.operators(mb.state(q, v), force=force)
    same(bare.vdot, dyn.forward_dynamics(mb, q, v, force, passive=False))
    assert np.abs(np.asarray(bare.vdot) - dyn.forward_dynamics(mb, q, v, force)).max() > 1e-3


def test_equation_31_with_what_acts():
    """vdot = (I - H psi K)* nu - K* psi* a, nu = D^-1 eps, eps = T + passive - H z."""
    mb = sprung()
    s = sc.operators(mb, force=np.ones(mb.nv), passive=True)
    acting = s.T + s.passive
    z = s.psi * (s.K * acting + s.P * s.a + s.b)
    np.testing.assert_allclose(s.z, z, atol=1e-9)
    np.testing.assert_allclose(s.eps, acting - s.H * z, atol=1e-9)
    np.testing.assert_allclose(s.nu, s.D.inv * (acting - s.H * z), atol=1e-9)


def test_it_stays_with_snapshots_and_copies():
    mb = sprung()
    q, v = mb.random_state(5)
    s = sc.operators(mb, force=np.ones(mb.nv), passive=True)
    wanted = dyn.forward_dynamics(mb, q, v, np.ones(mb.nv))
    at = s.M.at(q=q, v=v).binding
    np.testing.assert_allclose(operators_of(at).vdot, wanted, rtol=1e-9)
    now = np.asarray(s.vdot)
    for other in (copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        np.testing.assert_allclose(other.vdot, now, rtol=1e-9)


def test_a_closed_chain():
    mb = sc.load("five_bar")
    mb.q = sc.loops.TreeAugmented(mb).assemble(mb.q)
    for body in mb.bodies:
        body.passive = sc.Passive(stiffness=5.0, damping=1.0)
    ce = sc.loops.ConstraintEmbedding(mb)
    mb.v = ce.expand(mb.q, dict.fromkeys(ce.independent(mb.q), 0.7))
    force = np.linspace(-1, 1, mb.nv)
    r = ce.forward_dynamics(mb.q, mb.v, force)
    s = sc.operators(ce, force=force, passive=True)
    np.testing.assert_allclose(s.vdot, r.vdot_independent, rtol=1e-7, atol=1e-9)
    assert np.abs(np.asarray(sc.operators(ce, force=force).vdot) - r.vdot_independent).max() > 1e-3
    np.testing.assert_allclose(s.C, ce.bias_force(mb.q, mb.v), rtol=1e-7, atol=1e-9)


def test_a_force_of_the_size_of_T_by_name_and_of_the_tree():
    """Operators of a closed chain take their own T back: it has the entries of the independent dofs."""
    mb = sc.load("five_bar")
    mb.q = sc.loops.TreeAugmented(mb).assemble(mb.q)
    ce = sc.loops.ConstraintEmbedding(mb)
    force = np.linspace(-1, 2, mb.nv)
    tree = sc.operators(ce, force=force)
    for given in (tree.T, np.asarray(tree.T)):
        s = sc.operators(ce, force=given)
        np.testing.assert_allclose(s.vdot, tree.vdot, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(s.T, tree.T, rtol=1e-12)
        np.testing.assert_allclose(s.binding.at(q=mb.q).given_force, tree.T, rtol=1e-12)
    by_name = {"mot1": 2.0}
    one = np.zeros(mb.nv)
    one[mb.v_slice("mot1")] = 2.0
    np.testing.assert_allclose(sc.operators(ce, force=by_name).vdot, sc.operators(ce, force=one).vdot, rtol=1e-12)
    with pytest.raises(sc.errors.StateError, match=r"force of 'five_bar' has 6 entries, got 4"):
        sc.operators(ce, force=np.ones(4))
    with pytest.raises(sc.errors.LoopError, match="take one force of 6 entries, not a batch"):
        sc.operators(ce, force=np.ones((2, 3)))


def test_repr_says_what_is_left_out():
    mb = sprung()
    left_out = "`passive`, are left out; sc.operators(..., passive=True) has them in T, C, z, eps, nu and vdot"
    assert repr(sc.operators(mb)).endswith(left_out)
    assert repr(sc.operators(mb, passive=True)).endswith("`passive`, in T, C, z, eps, nu and vdot")
    assert "springs" not in repr(sc.operators(sc.load("arm7")))
    assert "springs" not in repr(sc.operators(sc.random_sko(3, seed=1)))
    ends = {
        "damper": lambda x: setattr(x.bodies[0], "passive", sc.Passive(damping=1.0)),
        "compensation": lambda x: setattr(x.bodies[0], "gravity_compensation", 1.0),
        "spring": lambda x: x.add_spring("s", "link1", "link5", stiffness=3.0),
        "tendon": lambda x: x.add_tendon("t", {"link1": 1.0, "link2": -1.0}, stiffness=3.0),
    }
    for make in ends.values():
        arm = sc.load("arm7")
        make(arm)
        assert left_out in repr(sc.operators(arm))
    with pytest.raises(ModelError, match="passive of operators must be True or False, got 'yes'"):
        sc.operators(mb, passive="yes")


def test_a_derivative_takes_what_an_index_takes():
    """`X.diff(3)` is that of the body of `X[3, 3]`, in every numbering."""
    mb = sc.load("arm7")
    mb.q = np.linspace(0.1, 0.7, 7)
    for numbering in (None, "tip"):
        s = sc.operators(mb, numbering=numbering)
        massmat = s.H * s.phi * s.M * s.phi.T * s.H.T
        for k in (1, 3, np.int64(5)):
            name = s.hinge.labels[s.hinge.index(k)]
            np.testing.assert_array_equal(massmat.diff(k).array(), massmat.diff(name).array())
            np.testing.assert_array_equal(s.X(k).array(), s.X(name).array())
    massmat = sc.dynamics.mass_matrix
    h, e = 1e-4, np.eye(7)[3]
    slope = (8 * (massmat(mb, mb.q + h * e) - massmat(mb, mb.q - h * e))
             - (massmat(mb, mb.q + 2 * h * e) - massmat(mb, mb.q - 2 * h * e))) / (12 * h)  # fmt: skip
    s = sc.operators(mb)
    np.testing.assert_allclose((s.H * s.phi * s.M * s.phi.T * s.H.T).diff(3).array(), slope, atol=1e-9)
    assert s.phi.diff(-1).text() == s.phi.diff("link7").text()
    with pytest.raises(sc.errors.SpaceError, match=r"hinge\[7\] has 7 blocks, there is no number 9"):
        s.phi.diff(9)
    ce = sc.loops.ConstraintEmbedding(bar := sc.load("robotiq_2f85"))
    bar.q = sc.loops.TreeAugmented(bar).assemble(bar.q)
    e = sc.operators(ce)
    k = next(k for k, n in enumerate(e.hinge.dims) if n)
    assert e.phi.diff(k, 1).text() == e.phi.diff(e.hinge.labels[k], 1).text()
