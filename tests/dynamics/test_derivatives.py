"""Derivatives against differences of order six along `integrate`, for every hinge; against Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest
from tests.dynamics.calls import GRAVITY, arguments, close, subtree, tree
from tests.model.modal.trees import flexible_tree
from tests.peers.to_pinocchio import InPinocchio
from tests.user_hinges import Crank

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import StateError
from soacraft.model.hinges import examples

HOLONOMIC = [hinge for hinge in examples() if hinge.holonomic]
STENCIL = np.array([[-3, -1 / 60], [-2, 9 / 60], [-1, -45 / 60], [1, 45 / 60], [2, -9 / 60], [3, 1 / 60]])


def differences(f, nv, step):
    """The derivative of f(t e_j) at t = 0 along every direction; f takes a batch of (6, nv) steps."""
    columns = []
    for direction in np.eye(nv):
        values = f(step * STENCIL[:, :1] * direction)
        columns.append(STENCIL[:, 1] @ values / step)
    return np.array(columns).T.reshape(nv, nv)



def check(g, x, step=1e-3, tolerance=1e-8):
    """All six derivatives of one graph at one state."""
    q, v, vdot, force, f_ext = (x[name] for name in ("q", "v", "vdot", "force", "f_ext"))
    dq, dv, dvdot = dyn.inverse_dynamics_derivatives(g, q, v, vdot, f_ext)
    nv = g.nv
    close(dq, differences(lambda s: dyn.inverse_dynamics(g, g.integrate(q, s), v, vdot, f_ext), nv, step), tolerance)
    close(dv, differences(lambda s: dyn.inverse_dynamics(g, q, v + s, vdot, f_ext), nv, step), tolerance)
    close(dvdot, dyn.mass_matrix(g, q))
    dq, dv, dforce = dyn.forward_dynamics_derivatives(g, q, v, force, f_ext)
    step = 0.2 * step
    close(dq, differences(lambda s: dyn.forward_dynamics(g, g.integrate(q, s), v, force, f_ext), nv, step), tolerance)
    close(dv, differences(lambda s: dyn.forward_dynamics(g, q, v + s, force, f_ext), nv, step), tolerance)
    close(dforce, dyn.mass_matrix_inverse(g, q))


@pytest.mark.parametrize("hinge", HOLONOMIC, ids=lambda hinge: type(hinge).__name__)
def test_a_chain_of_one_kind(hinge):
    mb = sc.random_tree(3, 1, [hinge], branching=0.0, gravity=GRAVITY)
    check(mb, arguments(mb, 2))


@pytest.mark.parametrize("hinge", HOLONOMIC, ids=lambda hinge: type(hinge).__name__)
def test_each_hinge_between_pins(hinge):
    """What is inboard and outboard of it moves too, on a branch of its own and on another."""
    mb = sc.random_tree(4, 3, [sc.Pin((1, 2, 3)), hinge, sc.Pin((0, 1, 1)), sc.Prismatic((1, 0, 1))], gravity=GRAVITY)
    check(mb, arguments(mb, 4))


@pytest.mark.parametrize("seed", [1, 2])
def test_trees_of_every_kind(seed):
    mb = tree(seed, n=12, holonomic=True)
    check(mb, arguments(mb, seed))


@pytest.mark.parametrize("anchor", ["rest", "moving"])
def test_sub_graphs(anchor):
    g = subtree(tree(3, n=12, holonomic=True, bases=1), anchor)
    check(g, arguments(g, 5))


def test_stored_forces_are_part_of_it():
    mb = tree(4, n=5, holonomic=True)
    mb.set_force(mb.bodies[3], sc.Wrench((1, 2, 3), (4, 5, 6), expressed_in="inertial"))
    check(mb, arguments(mb, 1) | {"f_ext": None})


def test_a_users_hinge():
    """One that gives its pose and map only: its derivatives come from differences."""

    mb = sc.random_tree(3, 5, [Crank(), sc.Pin((1, 0, 1))], branching=0.0, gravity=GRAVITY)
    check(mb, arguments(mb, 2))


def test_the_linearization_of_a_free_body():
    """A free body without forces: vdot does not depend on where it is, and turns with its momentum."""
    mb = sc.random_tree(1, 2, [sc.Free()], gravity=(0, 0, 0))
    q, v = mb.random_state(3)
    dq, dv, _ = dyn.forward_dynamics_derivatives(mb, q, v, np.zeros(6))
    assert np.abs(dq).max() < 1e-12
    assert np.abs(dv).max() > 0.1


def test_against_pinocchio():
    hinges = [sc.Free(), sc.Pin((1, 2, 3)), sc.Spherical(), sc.Prismatic((0, 1, 2)), sc.Pin((0, 1, 0))]
    mb = sc.random_tree(10, 4, hinges, gravity=GRAVITY)
    peer = InPinocchio(mb)
    N, vdot = peer.N, mb.vdot
    assert not peer.n.any()  # w = N v with a constant N, so the tangent spaces are related by it too
    pin.computeRNEADerivatives(peer.model, peer.data, peer.q, peer.w, N @ vdot)
    dq, dv, _ = dyn.inverse_dynamics_derivatives(mb, mb.q, mb.v, vdot)
    close(dq, N.T @ peer.data.dtau_dq @ N)
    close(dv, N.T @ peer.data.dtau_dv @ N)
    force = 10 * np.random.default_rng(1).standard_normal(mb.nv)
    pin.computeABADerivatives(peer.model, peer.data, peer.q, peer.w, peer.N_inv.T @ force)
    dq, dv, dforce = dyn.forward_dynamics_derivatives(mb, mb.q, mb.v, force)
    close(dq, peer.N_inv @ peer.data.ddq_dq @ N)
    close(dv, peer.N_inv @ peer.data.ddq_dv @ N)
    upper = np.triu(peer.data.Minv)
    close(dforce, peer.N_inv @ (upper + np.triu(upper, 1).T) @ peer.N_inv.T)


@pytest.mark.parametrize("function", ["inverse_dynamics_derivatives", "forward_dynamics_derivatives"])
def test_a_rolling_ball_is_refused(function):
    mb = sc.random_tree(2, 1, [sc.RollingBall(0.5), sc.Pin((1, 0, 0))])
    zero = np.zeros(mb.nv)
    ball = next(body for body in mb.bodies if not body.hinge.holonomic)
    with pytest.raises(StateError) as error:
        getattr(dyn, function)(mb, mb.q, zero, zero)
    assert str(error.value) == (
        f"{function} of 'random tree': hinge {ball.name!r} (RollingBall(radius=0.5, normal=(0, 0, 1))) is "
        "nonholonomic, so its 3 dofs do not span the ways its position can vary and derivatives along dofs alone "
        "would not be the linearization. Take a sub-graph without it, or another hinge; or attach its body by a Free "
        "hinge and close a loop by this one: loops.linearize takes that."
    )


# -- flexible bodies ---------------------------------------------------------------------------------------------------

BRANCHED = (-1, 0, 0, 1, 1, 3, 5)


def pushed(mb, seed):
    """Random rates, forces, and wrenches at deforming nodes: in their own axes, inertial ones, another node's."""
    rng = np.random.default_rng(seed)
    vdot, force = rng.standard_normal((2, mb.nv))
    last = mb.bodies[-1].name
    axes = {f"{last}/tip": None, "body1/root": mb.root, "body3/tip": mb.frame(f"{last}/root"), "body2/tip": None}
    f_ext = {node: sc.Wrench(*rng.standard_normal((2, 3)), expressed_in=x) for node, x in axes.items()}
    return dict(q=np.array(mb.q), v=np.array(mb.v), vdot=vdot, force=force, f_ext=f_ext)


@pytest.mark.parametrize("geometric", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_flexible_trees(seed, geometric):
    mb = flexible_tree(BRANCHED[:5], seed, HOLONOMIC, geometric=geometric)
    check(mb, pushed(mb, seed))


def test_a_sub_graph_that_rides_on_a_deforming_node():
    mb = flexible_tree(BRANCHED, 1, HOLONOMIC)
    g = mb.subgraph([x.name for x in mb["body3"].subtree()], anchor="moving")
    rng = np.random.default_rng(1)
    vdot, force = rng.standard_normal((2, g.nv))
    check(g, dict(q=np.array(g.q), v=np.array(g.v), vdot=vdot, force=force, f_ext=None))


def test_springs_of_hinges_of_flexible_bodies():
    mb = flexible_tree(BRANCHED[:4], 2, HOLONOMIC)
    for body in mb.bodies:
        if body.hinge.nv:
            body.passive = sc.Passive(stiffness=3.0, damping=0.4)
    x = pushed(mb, 3)
    check(mb, x)
    with_springs = dyn.inverse_dynamics_derivatives(mb, x["q"], x["v"], x["vdot"])
    without = dyn.inverse_dynamics_derivatives(mb, x["q"], x["v"], x["vdot"], passive=False)
    assert np.abs(with_springs[0] - without[0]).max() > 1.0


def test_batches_of_flexible_states():
    mb = flexible_tree(BRANCHED[:4], 2, HOLONOMIC)
    states = [mb.random_state(seed) for seed in range(3)]
    Q, V = (np.array(x) for x in zip(*states, strict=True))
    Q[:, mb.layout.own.q] *= 0.2
    force = np.ones(mb.nv)
    all_at_once = dyn.forward_dynamics_derivatives(mb, Q, V, force)
    one = [dyn.forward_dynamics_derivatives(mb, q, v, force) for q, v in zip(Q, V, strict=True)]
    for got, wanted in zip(all_at_once, zip(*one, strict=True), strict=True):
        close(got, np.array(wanted), 1e-10)
