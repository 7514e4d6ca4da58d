"""Armature in the kernels: against the reference engine, the definition, closed forms, MuJoCo and Pinocchio."""

from unittest.mock import patch

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.dynamics.calls import CALLS, DERIVATIVES, GRAVITY, ROWS, arguments, arrays, call, close, reference_alone
from tests.peers.agreement import TOLERANCE, distance
from tests.peers.kinds import KINDS, tree
from tests.peers.peers import PEERS
from tests.profiles import tries

import soacraft as sc
from soacraft import _core
from soacraft.dynamics import compiled
from soacraft.errors import SingularError
from soacraft.model.hinges import examples

HINGES = {type(hinge).__name__: hinge for hinge in examples()}
SINGULAR = {"operational_space_inertia"}  # left to Python where nodes cannot move in all directions
FUNCTIONS = sorted({row.name for row in ROWS if row.kernel} - SINGULAR)
SAME_TANGENTS = [kind for kind in KINDS if kind not in ("planar", "rolling ball")]
BARE = {
    "pin": sc.Pin((1.0, 2.0, 3.0)),
    "slide": sc.Prismatic((0.0, 1.0, 0.0)),
    "helical": sc.Helical((0.0, 0.0, 1.0), 0.3),
    "screws": sc.Screws([(0.0, 0.0, 2.5, 0.1, 0.2, 0.3), (0.0, 0.0, 0.0, 0.0, 3.0, 0.0)]),
    "spherical": sc.Spherical(),
    "free": sc.Free(),
    "rolling": sc.RollingBall(0.3),
}


@pytest.fixture(scope="module", autouse=True)
def which_engine():
    """The chosen one only: the reference engine is what it is compared with."""


class Nobody:
    """A reference engine that must not be asked."""

    def run(self, problem):
        raise AssertionError(f"no kernel answered {problem.function}")


def by_kernels(function, g, given, **extra):
    """What the kernels answer, all by themselves."""
    with patch.object(compiled, "REFERENCE", Nobody()):
        return arrays(call(function, g, given, **extra))


def arm(mb, seed, none=0.3):
    """Give bodies armature, some of their dofs none; all of it, (nv,)."""
    rng = np.random.default_rng(seed)
    for body in mb.bodies:
        nv = body.hinge.nv
        if nv and rng.random() >= none:
            body.armature = 10.0 ** rng.uniform(-3, 1, nv) * (rng.random(nv) < 0.8)
    return np.concatenate([body.armature for body in mb.bodies])


# -- the reference engine ----------------------------------------------------------------------------------------------


@st.composite
def graphs(draw, holonomic):
    """A tree with armature, its hinges, branching and bases drawn, or all that hangs from one of its bodies."""
    names = [name for name, hinge in HINGES.items() if hinge.holonomic or not holonomic]
    hinges = [HINGES[name] for name in draw(st.lists(st.sampled_from(names), min_size=2, max_size=9))]
    seed, branching = draw(st.integers(0, 1000)), draw(st.sampled_from([0.0, 0.5, 1.0]))
    mb = sc.random_tree(len(hinges), seed, hinges, branching=branching, bases=draw(st.integers(1, 2)), gravity=GRAVITY)
    arm(mb, seed)
    inner = [body for body in mb.bodies if body.parent is not mb.root and len(list(body.subtree())) > 1]
    for body in mb.bodies:
        body.add_node("mark", sc.Pose(translation=(0.1, 0.2, 0.3)))
    body = draw(st.sampled_from([None, *inner]))
    if body is None:
        return mb
    return mb.subgraph(list(body.subtree()), anchor=draw(st.sampled_from(["rest", "moving"])))


@given(data=st.data(), count=st.sampled_from([None, 1, 2, 8, 9, 17]), seed=st.integers(0, 100))
@tries(30)
def test_engines_agree(data, count, seed):
    """Every function on each graph that is drawn; derivatives where all of its hinges are holonomic."""
    holonomic = data.draw(st.booleans())
    g = data.draw(graphs(holonomic))
    given = arguments(g, seed, () if count is None else (count,))
    if not data.draw(st.booleans()):
        given |= {"f_ext": None}
    for function in FUNCTIONS if holonomic else sorted({*FUNCTIONS} - {*DERIVATIVES}):
        note(function)
        found = arrays(call(function, g, given))
        with reference_alone():
            wanted = arrays(call(function, g, given))
        for ours, theirs in zip(found, wanted, strict=True):
            close(ours, theirs)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_kernels_answer(function, seed):
    """Batches, single states and quick calls, without a word of the reference engine."""
    hinges = [hinge for hinge in examples() if hinge.holonomic]
    mb = sc.random_tree(25, seed, hinges, branching=0.6, bases=2, gravity=GRAVITY)
    arm(mb, seed)
    mb.bodies[-1].add_node("mark", sc.Pose(translation=(0.1, 0.2, 0.3)))
    given = arguments(mb, seed) | {"f_ext": None}
    if function == "jacobian":
        given["nodes"] = given["nodes"][0]
    found = by_kernels(function, mb, given)
    with reference_alone():
        wanted = arrays(call(function, mb, given))
    quick = getattr(sc.Dynamics(mb), function)
    names = [name for name in CALLS[function].split() if name != "f_ext"]
    with patch.object(compiled, "REFERENCE", Nobody()):
        again = arrays(quick(*(given[name] for name in names)))
    for ours, also, theirs in zip(found, again, wanted, strict=True):
        close(ours, theirs, 1e-9)
        close(also, theirs, 1e-9)


# -- the definition ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [None, 11])
@pytest.mark.parametrize("seed", range(4))
def test_armature_adds_to_the_mass_matrix(count, seed):
    """T += J vdot, and the diagonal of the mass matrix += J; bias and its derivatives stay."""
    mb = sc.random_tree(14, seed, [h for h in examples() if h.holonomic], branching=0.5, bases=2, gravity=GRAVITY)
    given = arguments(mb, seed, () if count is None else (count,)) | {"f_ext": None}
    plain = {name: by_kernels(name, mb, given) for name in ("mass_matrix", "inverse_dynamics", "bias_force")}
    dq, dv, _ = by_kernels("inverse_dynamics_derivatives", mb, given)
    J = arm(mb, seed, none=0.0)
    M = plain["mass_matrix"][0] + np.diag(J)
    assert np.array_equal(by_kernels("mass_matrix", mb, given)[0], M)
    close(by_kernels("inverse_dynamics", mb, given)[0], plain["inverse_dynamics"][0] + J * given["vdot"], 1e-14)
    assert np.array_equal(by_kernels("bias_force", mb, given)[0], plain["bias_force"][0])
    mine = by_kernels("inverse_dynamics_derivatives", mb, given)
    assert np.array_equal(mine[0], dq)
    assert np.array_equal(mine[1], dv)
    close(mine[2], M, 1e-12)
    X = by_kernels("mass_matrix_inverse", mb, given)[0]
    close(X @ M, np.broadcast_to(np.eye(mb.nv), M.shape), 1e-9)
    vdot = by_kernels("forward_dynamics", mb, given)[0]
    close(by_kernels("inverse_dynamics", mb, given | {"vdot": vdot})[0], given["force"])
    at_vdot = by_kernels("inverse_dynamics_derivatives", mb, given | {"vdot": vdot})
    forward = by_kernels("forward_dynamics_derivatives", mb, given)
    for ours, d in zip(forward[:2], at_vdot[:2], strict=True):
        close(M @ ours, -d, 1e-9)
    close(forward[2], X, 1e-9)


def test_armature_taken_away_is_gone():
    mb = sc.random_tree(9, 1, gravity=GRAVITY)
    given = arguments(mb, 1) | {"f_ext": None}
    before = by_kernels("forward_dynamics", mb, given)[0]
    arm(mb, 1)
    assert not np.array_equal(by_kernels("forward_dynamics", mb, given)[0], before)
    for body in mb.bodies:
        body.armature = 0.0
    assert np.array_equal(by_kernels("forward_dynamics", mb, given)[0], before)


# -- closed forms ------------------------------------------------------------------------------------------------------


def test_pendulum():
    """(m l^2 + J) qddot = T - m g l sin q."""
    mb = sc.load("pendulum")
    mb.bodies[0].armature = 0.25
    g = 9.81
    mb.gravity = (0.0, 0.0, -g)
    q, T = np.linspace(-3.0, 3.0, 13)[:, None], np.full((13, 1), 0.7)
    wanted = (T - g * np.sin(q)) / 1.25
    close(sc.Dynamics(mb).forward_dynamics(q, np.zeros((13, 1)), T), wanted, 1e-14)
    close(sc.Dynamics(mb).forward_dynamics(q[3], np.zeros(1), T[3]), wanted[3], 1e-14)


@pytest.mark.parametrize("kind", BARE)
@pytest.mark.parametrize("count", [None, 9])
def test_massless_bodies_move_by_their_armature(kind, count):
    """A bare hinge: vdot = T / J, whatever its velocity; without armature on one dof it has nothing to move."""
    mb = sc.Multibody("bare", GRAVITY)
    body = mb.add_body("rotor", None, BARE[kind])
    J = 0.1 * np.arange(1, body.hinge.nv + 1)
    body.armature = J
    given = arguments_of(mb, count)
    close(by_kernels("forward_dynamics", mb, given)[0], given["force"] / J, 1e-13)
    for function in ("mass_matrix", "mass_matrix_inverse"):
        M = np.diag(J if function == "mass_matrix" else 1 / J)
        close(by_kernels(function, mb, given)[0], np.broadcast_to(M, (*given["q"].shape[:-1], *M.shape)), 1e-13)
    if body.hinge.holonomic:
        dq, dv, dT = by_kernels("forward_dynamics_derivatives", mb, given)
        assert not dq.any()
        assert not dv.any()
        close(dT, np.broadcast_to(np.diag(1 / J), dT.shape), 1e-13)
    J = J.copy()
    J[-1] = 0.0
    body.armature = J
    with pytest.raises(SingularError):
        call("forward_dynamics", mb, given)


@pytest.mark.parametrize("kind", BARE)
def test_a_massless_tip_on_a_moving_arm(kind):
    """No force passes through the hinge of a massless tip: J vdot = T, and the arm moves as if it were alone."""
    alone, both = sc.Multibody("alone", GRAVITY), sc.Multibody("both", GRAVITY)
    inertia = sc.Inertia.box(2.0, (0.1, 0.2, 0.3))
    for mb in (alone, both):
        mb.add_body("arm", None, sc.Gimbal(), inertia, outboard=sc.Pose(translation=(0.3, 0.0, 0.1)))
    tip = both.add_body("tip", "arm", BARE[kind])
    tip.armature = 0.4
    given = arguments_of(both, 9)
    short = {name: x[:, : alone.nq if name == "q" else 3] for name, x in given.items() if x is not None}
    carried = call("forward_dynamics", alone, short | {"f_ext": None})
    found = by_kernels("forward_dynamics", both, given)[0]
    close(found[:, :3], carried)
    close(found[:, 3:], given["force"][:, 3:] / 0.4, 1e-12)


def arguments_of(mb, count):
    rng = np.random.default_rng(3)
    lead = () if count is None else (count,)
    q = np.array([mb.random_state(rng)[0] for _ in range(count or 1)]).reshape(*lead, mb.nq)
    v, vdot, force = rng.standard_normal((3, *lead, mb.nv))
    return {"q": q, "v": v, "vdot": vdot, "force": force, "f_ext": None}


@pytest.mark.parametrize("J", [1e-12, 1e-6, 1e6, 1e12])
@pytest.mark.parametrize("seed", range(3))
def test_rotors_of_any_size(J, seed):
    """Inverse dynamics gives the force back."""
    mb = sc.random_tree(12, seed, gravity=GRAVITY)
    for body in mb.bodies:
        body.armature = J
    given = arguments(mb, seed) | {"f_ext": None}
    vdot = by_kernels("forward_dynamics", mb, given)[0]
    back = by_kernels("inverse_dynamics", mb, given | {"vdot": vdot})[0]
    close(back, given["force"], 1e-9)


# -- other programs ----------------------------------------------------------------------------------------------------


def same_armature(mb, peer, seed):
    """Armature for a tree and its peer: where one velocity w of the peer is n v, J = n^2 times that of w.

    MuJoCo's free joint and ours have other linear velocities: rotors are on its turns only.
    """
    rng = np.random.default_rng(seed)
    theirs = np.zeros(len(peer.N))
    for body in mb.bodies:
        free = isinstance(body.hinge, sc.Free)
        turns = 3 if free else body.hinge.nv
        J = np.zeros(body.hinge.nv)
        if turns:
            J[:turns] = rng.uniform(0.1, 2.0, turns)
            body.armature = J
        for i, column in enumerate(range(mb.nv)[body.v_slice][:turns]):
            single = [row for row in np.flatnonzero(peer.N[:, column]) if np.count_nonzero(peer.N[row]) == 1]
            theirs[single[0]] = J[i] / peer.N[single[0], column] ** 2
    return theirs


def with_armature(name, mb, seed):
    """The peer of a tree, both with armature, at the state of the tree."""
    q, v = mb.q, mb.v
    peer = PEERS[name](mb)
    theirs = same_armature(mb, peer, seed)
    mb.set_state(q, v)
    if name == "MuJoCo":
        peer.model.dof_armature[:] = theirs
        mujoco.mj_forward(peer.model, peer.data)
    else:
        peer.model.armature = theirs
    return peer


@pytest.mark.parametrize("name", ["MuJoCo", "Pinocchio, chains"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_hinge_in_other_programs(name, kind):
    mb = tree([kind, "pin x"] if kind != "weld" else ["pin x", "weld"], 6, seed=2, bases=2)
    check_peer(mb, with_armature(name, mb, 2))


@pytest.mark.parametrize("name", ["MuJoCo", "Pinocchio, chains"])
@pytest.mark.parametrize("seed", range(4))
def test_trees_in_other_programs(name, seed):
    mb = tree(KINDS, 20, seed, bases=1 + seed % 2)
    check_peer(mb, with_armature(name, mb, seed))


def check_peer(mb, peer):
    rng = np.random.default_rng(0)
    d, q, v = sc.Dynamics(mb), mb.q, mb.v
    assert isinstance(d.forward_dynamics, _core.Call)
    force, vdot = 10.0 * rng.standard_normal(mb.nv), rng.standard_normal(mb.nv)
    M, two = peer.mass_matrix(), np.stack([q, q])
    assert distance(d.mass_matrix(q), M) <= TOLERANCE
    assert distance(d.mass_matrix(two)[1], M) <= TOLERANCE
    assert distance(d.bias_force(q, v), peer.bias()) <= TOLERANCE
    assert distance(d.inverse_dynamics(q, v, vdot), peer.inverse(vdot)) <= TOLERANCE
    for ours in (d.forward_dynamics(q, v, force), d.forward_dynamics(two, v, force)[1]):
        assert distance(ours, peer.forward(force)) <= TOLERANCE
    assert distance(d.mass_matrix_inverse(q), np.linalg.inv(M)) <= 10 * TOLERANCE


@pytest.mark.parametrize("seed", range(4))
def test_derivatives_in_pinocchio(seed):
    """Of a tree whose products of turns and slides are chains, so that w = N v with N constant."""
    mb = tree(SAME_TANGENTS, 15, seed, branching=0.8, bases=1 + seed % 2)
    peer = with_armature("Pinocchio, chains", mb, seed)
    model, data, N, N_inv = peer.model, peer.data, peer.N, peer.N_inv
    force = 10.0 * np.random.default_rng(seed).standard_normal(mb.nv)
    pin.computeABADerivatives(model, data, peer.q, peer.w, N_inv.T @ force)
    for found, one in (
        (sc.Dynamics(mb).forward_dynamics_derivatives(mb.q, mb.v, force), ...),
        (sc.Dynamics(mb).forward_dynamics_derivatives(np.stack([mb.q, mb.q]), mb.v, force), 1),
    ):
        for ours, theirs in zip(found, (data.ddq_dq, data.ddq_dv), strict=False):
            assert distance(ours[one], N_inv @ theirs @ N) <= TOLERANCE
