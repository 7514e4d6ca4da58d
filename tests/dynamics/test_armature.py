"""Rotor inertias on dofs: against the same tree without, closed forms, MuJoCo, differences and energy."""

import mujoco
import numpy as np
import pytest
from tests.dynamics.calls import CALLS, arguments, arrays, call, close, nodes_of, pick, subtree, tree, tree_for
from tests.dynamics.test_derivatives import check
from tests.model.differences import along, rate
from tests.peers.kinds import tree as tree_of
from tests.peers.to_mujoco import InMujoco

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import SingularError

# What has nothing to do with rotors: motion of bodies, and forces and momentum of bodies alone.
OF_BODIES = [
    "poses", "velocities", "accelerations", "jacobian", "jacobian_dot_v", "center_of_mass", "potential_energy",
    "momentum", "centroidal_momentum_matrix", "composite_inertia", "bias_force", "gravity_force", "compensating_force",
    "interbody_forces", "passive_force",
]  # fmt: skip


def armed(mb, part=0.6, seed=0):
    """Rotors on a part of the dofs; the state is kept."""
    rng = np.random.default_rng(seed)
    state = mb.q.copy(), mb.v.copy(), mb.vdot.copy()
    for body in mb.bodies:
        nv = body.hinge.nv
        body.armature = rng.uniform(0.1, 2.0, nv) * (rng.random(nv) < part)
    mb.set_state(*state)
    return mb


def armature(g):
    return np.concatenate([body.armature for body in g.bodies])


def graphs(part):
    """Each with and without rotors."""
    yield armed(tree(1), part), tree(1)
    yield armed(tree(2, branching=0.0, bases=1), part), tree(2, branching=0.0, bases=1)
    for anchor in ("rest", "moving"):
        yield subtree(armed(tree(5, bases=1), part), anchor), subtree(tree(5, bases=1), anchor)


@pytest.fixture(params=[0.4, 1.0], ids=["some dofs", "all dofs"], scope="module")
def pairs(request):
    found = list(graphs(request.param))
    assert all(armature(g).any() for g, _ in found)
    return found


def by_name(given):
    """Forces at names, so that they serve both models."""

    def moved(wrench):
        if not isinstance(wrench, sc.Wrench):
            return wrench
        axes = getattr(wrench.expressed_in, "full_name", wrench.expressed_in)
        return sc.Wrench(wrench.moment, wrench.force, expressed_in=axes)

    forces = {getattr(node, "full_name", node): moved(wrench) for node, wrench in given["f_ext"].items()}
    return given | {"f_ext": forces, "node_forces": forces}


def test_against_the_tree_without(pairs):
    for g, bare in pairs:
        x, J = by_name(arguments(g, 3)), armature(g)
        M = call("mass_matrix", bare, x) + np.diag(J)
        close(call("mass_matrix", g, x), M)
        close(call("inverse_dynamics", g, x), call("inverse_dynamics", bare, x) + J * x["vdot"])
        close(call("mass_matrix_multiply", g, x), M @ x["x"])
        close(call("mass_matrix_inverse", g, x), np.linalg.inv(M))
        close(call("mass_matrix_solve", g, x), np.linalg.solve(M, x["x"]))
        close(call("log_det_mass_matrix", g, x), np.linalg.slogdet(M).logabsdet)
        vdot = np.linalg.solve(M, x["force"] - call("bias_force", bare, x))
        close(call("forward_dynamics", g, x), vdot)
        half = 0.5 * np.sum(J * x["v"] ** 2)
        close(call("kinetic_energy", g, x), call("kinetic_energy", bare, x) + half)
        node_J = call("jacobian", bare, x)
        close(call("operational_space_compliance", g, x), node_J @ np.linalg.solve(M, node_J.T))


@pytest.mark.parametrize("function", OF_BODIES)
def test_what_is_of_bodies_alone(pairs, function):
    for g, bare in pairs:
        x = by_name(arguments(g, 4))
        for ours, theirs in zip(arrays(call(function, g, x)), arrays(call(function, bare, x)), strict=True):
            close(ours, theirs, 1e-12)


def test_forward_after_inverse(pairs):
    for g, _ in pairs:
        x = arguments(g, 5, (3,))
        T = call("inverse_dynamics", g, x)
        close(call("forward_dynamics", g, x | {"force": T}), x["vdot"])
        vdot, force = call("mixed_dynamics", g, x)
        close(call("inverse_dynamics", g, x | {"vdot": vdot}), force, 1e-9)
        held = x["prescribed"]
        np.testing.assert_array_equal(vdot[:, held], x["vdot"][:, held])
        np.testing.assert_array_equal(force[:, ~held], x["force"][:, ~held])


@pytest.mark.parametrize("function", sorted(CALLS))
def test_a_batch_is_a_loop(function):
    g = armed(tree_for(function, 1))
    given = arguments(g, 2, (2,))
    together = arrays(call(function, g, given))
    for i in range(2):
        for ours, theirs in zip(together, arrays(call(function, g, pick(given, i))), strict=True):
            close(ours[i], theirs, 1e-12)


@pytest.mark.parametrize("function", sorted(CALLS))
def test_the_handle(function):
    g = armed(tree_for(function, 1))
    given = arguments(g, 2) | {"f_ext": None}
    d = dyn.Dynamics(g)
    extra = {"allow_singular": True} if function == "operational_space_inertia" else {}
    found = getattr(d, function)(*(given[name] for name in CALLS[function].split() if name != "f_ext"), **extra)
    for ours, theirs in zip(arrays(found), arrays(call(function, g, given)), strict=True):
        close(ours, theirs, 1e-11)


# -- derivatives ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [0.4, 1.0])
def test_derivatives_by_differences(part):
    mb = armed(tree(2, n=8, holonomic=True), part)
    check(mb, arguments(mb, 1))


def test_derivatives_of_inverse_dynamics_do_not_see_rotors():
    """J vdot changes with vdot alone."""
    for anchor in ("rest", "moving"):
        g, bare = (subtree(f(tree(3, n=12, holonomic=True, bases=1)), anchor) for f in (armed, lambda mb: mb))
        x = by_name(arguments(g, 5))
        ours, theirs = (call("inverse_dynamics_derivatives", graph, x) for graph in (g, bare))
        close(ours[0], theirs[0])
        close(ours[1], theirs[1])
        close(ours[2], theirs[2] + np.diag(armature(g)))


# -- closed forms ---------------------------------------------------------------------------------------------


def test_a_pendulum_with_a_geared_motor():
    """(m l^2 + n^2 J) qdd = n T_motor - m g l sin q."""
    m, l, g, n, J = 2.0, 0.7, 9.81, 50.0, 3e-4
    mb = sc.Multibody("pendulum", gravity=(0, 0, -g))
    mb.add_body("bob", None, sc.Pin((0, 1, 0)), sc.Inertia.point(m), outboard=sc.Pose(translation=(0, 0, -l)))
    mb["bob"].armature = n**2 * J
    q, v, motor = 0.8, 1.5, 0.2
    qdd = (n * motor - m * g * l * np.sin(q)) / (m * l**2 + n**2 * J)
    close(dyn.forward_dynamics(mb, [q], [v], [n * motor]), [qdd], 1e-14)
    close(dyn.inverse_dynamics(mb, [q], [v], [qdd]), [n * motor], 1e-14)
    close(dyn.mass_matrix(mb, [q]), [[m * l**2 + n**2 * J]], 1e-14)
    close(dyn.kinetic_energy(mb, [q], [v]), 0.5 * m * (l * v) ** 2 + 0.5 * J * (n * v) ** 2, 1e-14)
    dq, _, dforce = dyn.forward_dynamics_derivatives(mb, [q], [v], [n * motor])
    close(dq, [[-m * g * l * np.cos(q) / (m * l**2 + n**2 * J)]], 1e-14)
    close(dforce, [[1 / (m * l**2 + n**2 * J)]], 1e-14)


def test_a_rotor_on_a_base_pin_is_a_ring_on_its_body():
    """What hangs from the inertial frame by a pin turns as its rotor does: the moment about the axis adds up."""
    axis, J = np.array([1.0, 2.0, -2.0]) / 3, 0.8

    def make(ring):
        mb = sc.random_tree(7, 3, [sc.Pin(axis), sc.Planar(), sc.Spherical(), sc.Pin((0, 1, 1))])
        mb.reattach("body1", None, sc.Pin(axis))
        body = mb["body1"]
        if ring:
            about = body.outboard.rotation.T @ axis
            body.inertia = body.inertia + sc.Inertia(0.0, (0, 0, 0), J * np.outer(about, about))
        else:
            body.armature = J
        return mb

    rotor, ring = make(False), make(True)
    x = by_name(arguments(rotor, 3))
    for function in ("mass_matrix", "inverse_dynamics", "forward_dynamics", "kinetic_energy", "mass_matrix_inverse",
                     "forward_dynamics_derivatives", "operational_space_compliance"):  # fmt: skip
        for ours, theirs in zip(arrays(call(function, rotor, x)), arrays(call(function, ring, x)), strict=True):
            close(ours, theirs)


@pytest.mark.parametrize("hinge", [sc.Pin((0, 0, 1)), sc.Spherical(), sc.Free()], ids=["pin", "spherical", "free"])
def test_a_rotor_moves_a_massless_tip(hinge):
    """Its hinge has the inertia of the rotor to move."""
    mb = tree(1, n=4)
    mb.add_body("feather", mb.bodies[-1], hinge).armature = 0.5
    x = arguments(mb, 2) | {"f_ext": None}
    vdot = call("forward_dynamics", mb, x)
    close(vdot[mb.v_slice("feather")], x["force"][mb.v_slice("feather")] / 0.5)
    close(call("inverse_dynamics", mb, x | {"vdot": vdot}), x["force"])
    close(call("mass_matrix", mb, x) @ call("mass_matrix_inverse", mb, x), np.eye(mb.nv))


def test_a_massless_tip_with_rotors_on_some_dofs_is_named():
    mb = tree(1, n=4)
    mb.add_body("feather", mb.bodies[-1], sc.Spherical()).armature = [0.5, 0.0, 0.5]
    with pytest.raises(SingularError, match="the hinge of 'feather' has no inertia to move"):
        call("forward_dynamics", mb, arguments(mb, 2))


# -- MuJoCo, energy ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kinds", [["pin"], ["prismatic"], ["spherical"], ["free"],
                                   ["free", "pin", "spherical", "prismatic", "universal", "cylindrical"]],
                         ids="+".join)  # fmt: skip
@pytest.mark.parametrize("seed", [1, 2])
def test_against_mujoco(kinds, seed):
    """Turns and slides; a free joint's travel has other axes there, so rotors are on its turns only."""
    mb = tree_of(kinds, 8, seed, bases=2)
    armed(mb, 0.8, seed)
    for body in mb.bodies:
        if isinstance(body.hinge, sc.Free):
            body.armature = [*body.armature[:3], 0, 0, 0]
    mb.set_state(mb.q, mb.v, np.random.default_rng(seed).standard_normal(mb.nv))
    peer, J = InMujoco(mb), armature(mb)
    theirs = peer.N_inv.T @ np.diag(J) @ peer.N_inv
    assert not (theirs - np.diag(np.diag(theirs))).any()
    peer.model.dof_armature[:] = np.diag(theirs)
    mujoco.mj_forward(peer.model, peer.data)
    full = np.zeros((peer.model.nv, peer.model.nv))
    mujoco.mj_fullM(peer.model, peer.data, full)
    force = 10 * np.random.default_rng(seed).standard_normal(mb.nv)
    close(dyn.mass_matrix(mb, mb.q), peer.N.T @ full @ peer.N)
    close(dyn.inverse_dynamics(mb, mb.q, mb.v, mb.vdot), peer.inverse(mb.vdot))
    close(dyn.forward_dynamics(mb, mb.q, mb.v, force), peer.forward(force), 1e-9)


@pytest.mark.parametrize("seed", [1, 2])
def test_power_balance(seed):
    """The rate of the energy is the power of the generalized force."""
    mb = armed(tree(seed, bases=1))
    s = along(mb)
    energy = dyn.kinetic_energy(mb, s.q, s.v) + dyn.potential_energy(mb, s.q)
    T = dyn.inverse_dynamics(mb, s.q[4], s.v[4], s.vdot[4])
    close(rate(energy), T @ s.v[4], 1e-8)


def test_a_users_hinge():
    class Slider(sc.Hinge):
        nq = nv = 1
        constant_H = True

        def neutral(self):
            return np.zeros(1)

        def pose(self, q):
            return sc.Pose(translation=(q[0], 0, 0))

        def H_T(self, q):
            return np.array([[0.0], [0], [0], [1], [0], [0]])

    mb = sc.random_tree(4, 1, [Slider(), sc.Pin((0, 1, 0))])
    x, J = arguments(mb, 1), np.array([0.0, 0.3, 0.0, 0.7])
    bare = call("mass_matrix", mb, x)
    for body, own in zip(mb.bodies, J, strict=True):
        body.armature = own
    close(call("mass_matrix", mb, x), bare + np.diag(J))
    T = call("inverse_dynamics", mb, x)
    close(call("forward_dynamics", mb, x | {"force": T}), x["vdot"])


def test_armature_is_taken_up_and_away():
    mb = tree(1)
    x = arguments(mb, 2)
    before = call("mass_matrix", mb, x)
    nodes = nodes_of(mb)
    compliance = dyn.operational_space_compliance(mb, x["q"], nodes)
    d = dyn.Dynamics(mb)
    armed(mb, 1.0)
    with pytest.raises(sc.errors.StaleError, match="this handle of 'random tree' was made before a structural change"):
        d.mass_matrix(x["q"])
    assert np.abs(call("mass_matrix", mb, x) - before).max() > 0.1
    for body in mb.bodies:
        body.armature = 0.0
    np.testing.assert_array_equal(call("mass_matrix", mb, x), before)
    np.testing.assert_array_equal(dyn.operational_space_compliance(mb, x["q"], nodes), compliance)
