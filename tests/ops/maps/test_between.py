"""Maps between trees of one system: axes, sub-graphs, another base, other armature; laws of motion, force and power."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.strategies import HINGES, parents, rigid_trees

import soacraft as sc
from soacraft.analysis import reroot
from soacraft.errors import ModelError, SpaceError, StaleError, StateError
from soacraft.ops import between


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def jacobian(s):
    return s.phi.T * s.H.T


def same(left, right):
    found = sc.verify(left, right)
    assert found.ok, found


def close(x, y, tolerance=1e-10):
    x, y = np.asarray(x), np.asarray(y)
    np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * (1 + np.abs(y).max(initial=0)))


def check_motions(a, b):
    """Every motion of a as one of b: velocities, power of forces, and the sides of the operator identity."""
    m = between(a, b)
    same(jacobian(b) * m.hinge, m.body * jacobian(a))
    rng = np.random.default_rng(3)
    v, f = rng.standard_normal(a.hinge.size), rng.standard_normal(b.body.size)
    V_a, V_b = (np.asarray(V) for V in (jacobian(a) * v, jacobian(b) * (m.hinge * v)))
    close(m.body * V_a, V_b)
    power = np.asarray(m.body.T * f) @ V_a
    assert abs(f @ V_b - power) <= 1e-11 * (1 + np.abs(f) @ np.abs(V_b))
    return m


@tries(5)
@given(mb=rigid_trees(), axes=st.permutations(["body", "inertial", "origin"]))
def test_axes(mb, axes):
    for body in mb.bodies[::2]:
        body.armature = np.full(body.hinge.nv, 0.3)
    a, b = (sc.operators(mb, axes=x) for x in axes[:2])
    m = check_motions(a, b)
    same(mass_matrix(a), mass_matrix(b))  # the hinge space has no axes
    same(m.body * a.phi.T, b.phi.T * m.body)
    same(a.M, m.body.T * b.M * m.body)
    close(m.body * a.V, b.V)
    back = between(b, a)
    assert (back.body * m.body).is_identity()


@tries(5)
@given(mb=rigid_trees(parents(2, 6)), data=st.data())
def test_sub_graphs(mb, data):
    root = data.draw(st.sampled_from(mb.bodies))
    inside = [root]
    for body in mb.bodies:
        if body.parent in inside and data.draw(st.booleans()):
            inside.append(body)
    g = mb.subgraph(inside)
    axes = data.draw(st.sampled_from(["body", "inertial", "origin"]))
    a, b = sc.operators(g, axes=axes), sc.operators(mb, axes=data.draw(st.sampled_from([axes, "body"])))
    m = check_motions(a, b)
    onto = between(b, a)
    assert (onto.hinge * m.hinge).is_identity()
    assert (onto.body * m.body).is_identity()
    b = sc.operators(mb, axes=axes)  # in the same axes the operators of the sub-graph are cut out of the model's
    S, E = between(b, a).hinge, between(b, a).body
    if a is b or len(inside) == len(mb.bodies):
        return
    same(a.phi, E * b.phi * E.T)
    same(a.H, S * b.H * E.T)
    same(mass_matrix(a), S * b.H * b.phi * E.T * E * b.M * E.T * E * b.phi.T * b.H.T * S.T)


@tries(5)
@given(tree=parents(2, 6), seed=st.integers(1, 99), data=st.data())
def test_another_base(tree, seed, data):
    turning = [hinge for hinge in HINGES if hinge.holonomic]
    mb = sc.Multibody("floating")
    rng = np.random.default_rng(seed)
    for k, p in enumerate(tree):
        hinge = sc.Free() if k == 0 else data.draw(st.sampled_from(turning))
        mb.add_body(
            f"b{k}", f"b{max(p, 0)}" if k else None, hinge, sc.Inertia(1.0 + rng.random(), rng.random(3), np.eye(3)),
            sc.Pose(np.eye(3), rng.random(3)), sc.Pose(np.eye(3), rng.random(3)),
        )
    q, v = mb.random_state(seed)
    mb.set_state(q, v, rng.standard_normal(mb.nv))
    other = reroot(mb, data.draw(st.sampled_from(mb.bodies[1:])).name)
    a, b = sc.operators(mb), sc.operators(other)
    m = check_motions(a, b)
    same(mass_matrix(a), m.hinge.T * mass_matrix(b) * m.hinge)
    close(m.hinge * mb.v, other.v, 1e-9)
    close(np.asarray(m.hinge * mb.vdot) + np.asarray(m.x0), other.vdot, 1e-8)
    assert (between(b, a).hinge * m.hinge).is_identity()


def test_armature():
    """Rotors are entries of a body's velocity: without them the mass matrix loses their inertia and nothing else."""
    mb = sc.load("arm7")
    mb.q, mb.v = np.linspace(-0.8, 0.9, 7), np.linspace(0.3, -0.4, 7)
    bare = mb.copy()
    for body in bare.bodies:
        body.armature = [0.0]
    for i, body in enumerate(mb.bodies):
        body.armature = [0.1 * i]
    a, b = sc.operators(mb), sc.operators(bare)
    assert (a.body.size, b.body.size) == (48, 42)
    m, back = check_motions(a, b), check_motions(b, a)
    rotors = a.diagonal("J", 0.1 * np.arange(7))
    same(mass_matrix(a), m.hinge.T * mass_matrix(b) * m.hinge + rotors)
    close(back.body * b.V, a.V)


def test_a_proof_through_axes_and_a_sub_graph():
    mb = sc.load("biped")
    mb.q = mb.random_state(2)[0]
    body, inertial = sc.operators(mb), sc.operators(mb, axes="inertial")
    T = between(body, inertial).body
    assert sc.prove(T.T * inertial.phi * T, body.phi)
    assert sc.prove(body.H * T.T * inertial.phi, inertial.H * T * body.phi * T.T)
    g = mb.subgraph([mb.bodies[1].name, *(c.name for c in mb.bodies if c.parent is mb.bodies[1])])
    part, m = sc.operators(g), between(body, g)
    S, E = m.hinge, m.body
    found = sc.prove(part.H * part.phi, S * body.H * E.T * E * body.phi * E.T)
    assert found, found
    assert "sub-graph" in str(found)


def test_without_a_map_it_is_an_error_that_names_the_cure():
    mb = sc.load("arm7")
    tree, folded = sc.operators(mb), sc.operators(sc.aggregate(mb, ["link3", "link4"]))
    cure = r"cannot be mixed; bind both to the same one, or put a map between them: sc\.ops\.between\(a, b\)\."
    with pytest.raises(SpaceError, match=cure):
        tree.H * folded.phi
    with pytest.raises(SpaceError, match=r"same axes=\.\.\., or put a map between them: sc\.ops\.between\(a, b\)\."):
        tree.H * sc.operators(mb, axes="inertial").phi
    with pytest.raises(SpaceError, match=r"or map between them with sc\.ops\.between\(a, b\)\."):
        sc.prove(tree.D, sc.operators(mb.state()).D)


def test_what_cannot_be_mapped_is_refused():
    mb = sc.load("arm7")
    s, plain = sc.operators(mb), sc.operators(sc.serial_chain(3))
    with pytest.raises(ModelError, match=r"no map is known between 'arm7' and 'chain': they must be of one system"):
        between(s, plain)
    with pytest.raises(ModelError, match="Between two sub-graphs go through their model"):
        between(mb.subgraph(["link2", "link3"]), mb.subgraph(["link3", "link4"]))
    with pytest.raises(ModelError, match="no map is known"):
        between(s, sc.operators(s.sko))
    with pytest.raises(ModelError, match="operators\\(\\) takes a Multibody"):
        between(s, 3)
    m = between(s, sc.operators(mb, axes="origin"))
    with pytest.raises(SpaceError, match="leave on= out"):
        sc.verify(m.body, m.body, on=mb)
    with pytest.raises(SpaceError, match="Xb maps between two models and has no derivative"):
        m.body.diff("link3")
    with pytest.raises(SpaceError, match="cannot be compiled: it must be of one Multibody"):
        m.body.compile()


def test_both_must_be_in_one_pose():
    mb = sc.load("quadrotor_arm")
    other = reroot(mb, "hand")
    m = between(mb, other)
    m.hinge.array()
    np.testing.assert_allclose(m.x0, np.zeros(other.nv), atol=1e-12)  # at rest
    other.v = np.ones(other.nv)
    with pytest.raises(StateError, match=r"x0 of a map is for models that move alike, but body '\w+' moves otherwise"):
        m.x0  # noqa: B018
    q = other.q.copy()
    q[-1] += 0.1
    other.q = q
    with pytest.raises(StateError, match=r"models in one pose, but body '\w+' is .* m and .* rad elsewhere"):
        m.hinge.array()
    snapshot = sc.operators(mb.state(q=mb.integrate(mb.q, np.full(mb.nv, 0.2))))
    m = between(snapshot, sc.operators(mb, axes="inertial"))
    with pytest.raises(StateError, match=r"(?s)but the hinge of 'hull' is at .*: bind both to one state\."):
        m.body.array()


def test_a_motion_that_the_other_does_not_allow_is_refused():
    mb = sc.serial_chain(2)
    other = sc.serial_chain(2)
    other.reattach("link2", "link1", sc.Weld(), other.body("link2").inboard)
    with pytest.raises(ModelError, match="that the hinge of 'link2' in the second does not allow"):
        between(mb, other).hinge.array()
    assert between(other, mb).hinge.array().shape == (2, 1)


def test_it_follows_the_state_and_the_structure():
    mb = sc.load("arm7")
    body, origin = sc.operators(mb), sc.operators(mb, axes="origin")
    T = between(body, origin).body
    before = T.array()
    mb.q = np.full(7, 0.4)
    assert np.abs(T.array() - before).max() > 0.1
    same(origin.phi.T * T, T * body.phi.T)
    at = T.at(q=np.zeros(7))
    np.testing.assert_allclose(at.array(), before, atol=1e-14)
    again = pickle.loads(pickle.dumps(T))
    np.testing.assert_allclose(again.array(), T.array(), atol=0)
    mb.add_body("more", "link7", sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    with pytest.raises(StaleError):
        T.array()


def test_batches():
    mb = sc.load("arm7")
    q = np.linspace(-1, 1, 21).reshape(3, 7)
    a, b = sc.operators(mb.state(q=q)), sc.operators(mb.state(q=q), axes="inertial")
    T = between(a, b).body
    assert T.array().shape == (3, 42, 42)
    same(b.phi.T * T, T * a.phi.T)
