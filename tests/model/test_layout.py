"""`Layout`: every body is a node with a size and with slices of q and v, of which its hinge has a part.

A body with coordinates of its own that have neither inertia nor weights moves as the rigid one: what is computed of the
rest must be what the rigid model gives.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ModelError
from soacraft.model.flat.compiled import CompiledModel

OWN = {"beam": ("mode0", "mode1"), "ball": ("mode0",), "hand": ("bend",)}
#: Where the hinges have their numbers: seven and one, two of the beam itself, four (three), one of the ball itself.
HINGE_Q = [*range(8), *range(10, 14)]
HINGE_V = [*range(7), *range(9, 12)]
OWN_Q, OWN_V = [8, 9, 14, 15], [7, 8, 12, 13]


def tree() -> sc.Multibody:
    mb = sc.Multibody("arm")
    place = sc.Pose(translation=(0.3, 0.1, 0.0))
    rod = sc.Inertia(2.0, (0.1, 0.2, 0.3), np.diag([0.3, 0.4, 0.5]))
    mb.add_body("hull", None, sc.Free(), rod)
    mb.add_body("beam", "hull", sc.Pin((0, 0, 1)), rod, place, hinge_name="root")
    mb.add_body("ball", "beam", sc.Spherical(), rod, place, place).armature = 0.1
    mb.add_body("hand", "ball", sc.Weld(), rod, place).add_node("tip", place)
    mb["root"].passive = sc.Passive(stiffness=3.0, damping=0.2)
    return mb


def with_own(mb: sc.Multibody) -> sc.Multibody:
    """The same, where some bodies have coordinates besides those of their hinges."""
    with mb._edits.lock:
        mb._edits.structure()
        for name, own in OWN.items():
            mb.body(name)._own = own
    return mb


@pytest.fixture
def pair() -> tuple[sc.Multibody, sc.Multibody]:
    """The rigid model and the one with own coordinates, at the same random state of the hinges."""
    rigid, mb = tree(), with_own(tree())
    mb.set_state(*mb.random_state(3))
    mb.vdot = np.linspace(-1.0, 1.0, mb.nv)
    rigid.set_state(mb.q[HINGE_Q], mb.v[HINGE_V], mb.vdot[HINGE_V])
    return rigid, mb


def test_a_rigid_body_has_what_its_hinge_has():
    layout = tree().layout
    assert layout.rigid
    assert layout.hinge_q is layout.q_slices
    assert layout.hinge_v is layout.v_slices
    assert layout.dims == (6, 6, 9, 6)
    assert layout.own.q.size == layout.own.v.size == 0


def test_sizes_and_slices_are_those_of_nodes():
    mb = with_own(tree())
    layout = mb.layout
    assert (mb.nq, mb.nv) == (16, 14)
    assert layout.q_slices == (slice(0, 7), slice(7, 10), slice(10, 15), slice(15, 16))
    assert layout.v_slices == (slice(0, 6), slice(6, 9), slice(9, 13), slice(13, 14))
    assert layout.hinge_q == (slice(0, 7), slice(7, 8), slice(10, 14), slice(15, 15))
    assert layout.hinge_v == (slice(0, 6), slice(6, 7), slice(9, 12), slice(13, 13))
    assert (layout.own.q.tolist(), layout.own.v.tolist()) == (OWN_Q, OWN_V)
    assert layout.dims == (6, 8, 6 + 1 + 3, 7)
    assert sorted(np.concatenate([group.q_index.ravel() for group in layout.groups])) == HINGE_Q
    assert sorted(np.concatenate([group.v_index.ravel() for group in layout.groups])) == HINGE_V
    assert layout.units.body == ("rrrmmm", "rrrmmmxx", "rrrmmmxrrr", "rrrmmmx")
    assert layout.units.hinge == ("rrrmmm", "rxx", "rrrx", "x")
    assert repr(mb) == "Multibody 'arm': 4 bodies, 14 dofs"
    assert CompiledModel.of(layout) is None


def test_own_coordinates_have_names():
    mb = with_own(tree())
    assert mb.dof_names == (
        *(f"hull.{i}" for i in range(6)), "root", "beam.mode0", "beam.mode1", "ball.0", "ball.1", "ball.2",
        "ball.mode0", "hand.bend",
    )  # fmt: skip
    assert (mb.q_slice("root"), mb.q_slice("beam"), mb.v_slice("beam")) == (slice(7, 8), slice(7, 8), slice(6, 7))
    assert (mb.q_slice("beam.mode1"), mb.v_slice("beam.mode1")) == (slice(9, 10), slice(8, 9))
    assert (mb.q_slice("hand.bend"), mb.v_slice("hand.bend")) == (slice(15, 16), slice(13, 14))
    assert (mb.q_slice("ball"), mb.v_slice("ball.1")) == (slice(10, 14), slice(10, 11))
    mb.set_state({"beam.mode1": 0.25, "root": 0.5}, {"ball.mode0": 2.0})
    assert (mb.q[9], mb.q[7], mb.v[12]) == (0.25, 0.5, 2.0)
    with pytest.raises(ModelError, match=r"'arm' has no dof, hinge or body 'beam.mode2'.*did you mean.*'beam.mode1'"):
        mb.v_slice("beam.mode2")


def test_own_coordinates_are_added_and_subtracted(pair):
    rigid, mb = pair
    q, dv = np.array(mb.q), np.linspace(-0.5, 0.8, mb.nv)
    moved = mb.integrate(q, dv)
    np.testing.assert_allclose(moved[HINGE_Q], rigid.integrate(q[HINGE_Q], dv[HINGE_V]), rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(moved[OWN_Q], q[OWN_Q] + dv[OWN_V])
    np.testing.assert_allclose(mb.difference(q, moved), dv, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(mb.qdot()[OWN_Q], mb.v[OWN_V])
    np.testing.assert_allclose(mb.qdot()[HINGE_Q], rigid.qdot(), rtol=1e-13, atol=1e-14)
    for J, sign in zip(mb.integrate_jacobians(q, dv) + mb.difference_jacobians(q, moved), (1, 1, -1, 1), strict=True):
        np.testing.assert_array_equal(J[np.ix_(OWN_V, OWN_V)], sign * np.eye(4))
        assert not J[np.ix_(OWN_V, HINGE_V)].any()
        assert not J[np.ix_(HINGE_V, OWN_V)].any()
    assert (mb.neutral()[HINGE_Q] == rigid.neutral()).all()
    assert not mb.neutral()[OWN_Q].any()


def test_frames_move_as_those_of_the_rigid_model(pair):
    rigid, mb = pair
    for ask in ("velocity", "acceleration"):
        np.testing.assert_array_equal(getattr(mb, ask)("hand/tip"), getattr(rigid, ask)("hand/tip"))
    np.testing.assert_array_equal(mb.pose("hand/tip").as_matrix(), rigid.pose("hand/tip").as_matrix())
    v = mb.v
    own, rotors = mb.body_velocities()[2][6:7], mb.body_velocities()[2][7:]
    assert (own.tolist(), rotors.tolist()) == ([v[12]], v[9:12].tolist())
    assert mb.body_velocities()[1][6:].tolist() == v[7:9].tolist()


@pytest.mark.parametrize("axes", ["body", "inertial", "origin"])
def test_operators_have_the_sizes_of_the_nodes(pair, axes):
    """The mass matrix of the hinges is that of the rigid model; coordinates without inertia have none."""
    rigid, mb = pair
    wanted = sc.dynamics.mass_matrix(rigid, rigid.q)
    H, phi, M = sc.operators(mb, "H phi M", axes=axes)
    assert (H.shape, M.shape) == ((14, 31), (31, 31))
    massmat = H * phi * M * phi.T * H.T
    size = np.abs(wanted).max()
    for given in (massmat.array(), np.stack([massmat * e for e in np.eye(mb.nv)], axis=-1)):
        np.testing.assert_allclose(given[np.ix_(HINGE_V, HINGE_V)], wanted, rtol=0, atol=1e-13 * size)
        assert not given[OWN_V].any()
        assert not given[:, OWN_V].any()


def test_inverse_dynamics_energy_and_springs_are_of_the_hinges(pair):
    rigid, mb = pair
    force = sc.dynamics.inverse_dynamics(mb, mb.q, mb.v, mb.vdot)
    wanted = sc.dynamics.inverse_dynamics(rigid, rigid.q, rigid.v, rigid.vdot)
    np.testing.assert_allclose(force[HINGE_V], wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())
    assert not force[OWN_V].any()
    assert sc.dynamics.kinetic_energy(mb, mb.q, mb.v) == pytest.approx(
        sc.dynamics.kinetic_energy(rigid, rigid.q, rigid.v), rel=1e-13
    )
    passive = sc.dynamics.passive_force(mb, mb.q, mb.v)
    np.testing.assert_allclose(passive[HINGE_V], sc.dynamics.passive_force(rigid, rigid.q, rigid.v), rtol=1e-13)
    assert not passive[OWN_V].any()
    derivatives = sc.dynamics.inverse_dynamics_derivatives(mb, mb.q, mb.v, mb.vdot)[:2]
    of_rigid = sc.dynamics.inverse_dynamics_derivatives(rigid, rigid.q, rigid.v, rigid.vdot)[:2]
    for given, rate in zip(derivatives, of_rigid, strict=True):
        np.testing.assert_allclose(given[np.ix_(HINGE_V, HINGE_V)], rate, rtol=0, atol=1e-12 * np.abs(rate).max())
        assert not given[OWN_V].any()
        assert not given[:, OWN_V].any()


def test_tendons_and_couplings_may_pull_at_own_coordinates():
    mb = with_own(tree())
    mb.add_tendon("string", {"root": 1.0, "hand.bend": -2.0}, stiffness=5.0)
    mb.couple("gear", {"beam.mode0": 1.0, "beam.mode1": -3.0})
    q = mb.neutral()
    q[7], q[15] = 0.2, 0.5
    force = sc.dynamics.passive_force(mb, q, np.zeros(mb.nv))
    assert force[6] == pytest.approx(-3.0 * 0.2 + 5.0 * 0.8)
    assert force[13] == pytest.approx(-2.0 * 5.0 * 0.8)
    q, v = mb.random_state(1, limits=True)
    assert q[8] == pytest.approx(3.0 * q[9], rel=1e-12)
    assert v[7] == pytest.approx(3.0 * v[8], rel=1e-12)
    with pytest.raises(ModelError, match=r"dof 'hand\.bend' is part of tendon 'string'"):
        mb.remove("hand")


def test_edits_copies_and_parts_keep_own_coordinates(pair):
    _, mb = pair
    own = mb.q[OWN_Q].tolist()
    mb.add_keyframe(sc.Keyframe("now", mb.q, mb.v))
    part = mb.subgraph(["ball", "hand"])
    assert (part.nq, part.nv, part.q.tolist()) == (6, 5, mb.q[10:].tolist())
    part.q = part.integrate(part.q, np.ones(5))
    assert mb.q[[14, 15]].tolist() == [own[2] + 1.0, own[3] + 1.0]
    mb.set_state(mb.keyframes["now"].q)
    for twin in (mb.copy(), pickle.loads(pickle.dumps(mb))):
        assert twin.dof_names == mb.dof_names
        assert (twin.q.tolist(), twin.v.tolist()) == (mb.q.tolist(), mb.v.tolist())
    mb["root"].passive = sc.Passive()
    mb.reattach("beam", "hull", sc.Universal((1, 0, 0), (0, 1, 0)))
    assert mb.dof_names[6:10] == ("root.0", "root.1", "beam.mode0", "beam.mode1")
    assert mb.q[7:11].tolist() == [0.0, 0.0, *own[:2]]
