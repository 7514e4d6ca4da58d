"""Springs and dampers: against MuJoCo, closed forms, and as minus the gradient of an energy."""

import mujoco
import numpy as np
import pytest
from tests.dynamics.calls import arguments, close, subtree, tree
from tests.peers.kinds import tree as tree_of
from tests.peers.to_mujoco import NQ, NW, InMujoco, coordinates, joints_of, rows

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import ModelError
from soacraft.model import Passive
from soacraft.model.hinges import examples

HOLONOMIC = [hinge for hinge in examples() if hinge.holonomic and hinge.nv]


def alike(nv, values):
    """One stiffness for the turns and one for the travels of a spherical or free hinge, any for the others."""
    return values if nv in (1, 2) else np.repeat(values[: -(-nv // 3)], 3)[:nv]


def sprung(mb, seed=0):
    """Springs and dampers on every hinge, relaxed at drawn coordinates."""
    rng = np.random.default_rng(seed)
    for body in mb.bodies:
        nv = body.hinge.nv
        k = alike(nv, rng.uniform(1.0, 5.0, nv))
        rest = body.hinge.random(rng) if rng.random() < 0.7 else None
        body.passive = Passive(k, rng.uniform(0.1, 1.0, nv), friction=0.3, rest=rest)
    return mb


def rest_of(body):
    return body.hinge.neutral() if body.passive.rest is None else body.passive.rest


@pytest.mark.parametrize("kinds", [["pin"], ["prismatic"], ["spherical"], ["free"], ["pin", "spherical", "prismatic"]],
                         ids="+".join)  # fmt: skip
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_against_mujoco(kinds, seed):
    """A free joint of MuJoCo has one stiffness, and one damping of its travels, along axes other than ours."""
    bases = 4 if "free" in kinds else 2
    mb = sprung(tree_of(kinds, 4 if "free" in kinds else 8, seed, bases=bases), seed)
    for body in mb.bodies:
        own = body.passive
        damping = own.damping if body.hinge.nv < 6 else [*own.damping[:3], *[own.damping[3]] * 3]
        body.passive = Passive(own.stiffness[0], damping, rest=own.rest)
    peer = InMujoco(mb)
    for body in mb.bodies:
        kinds_of = [kind for kind, _ in joints_of(body)]
        where = [peer.model.joint(f"{body.name}.{i}") for i in range(len(kinds_of))]
        at = rows((x.qposadr[0], NQ[k]) for x, k in zip(where, kinds_of, strict=True))
        own = rows((x.dofadr[0], NW[k]) for x, k in zip(where, kinds_of, strict=True))
        peer.model.qpos_spring[at] = coordinates(body, kinds_of, rest_of(body), np.zeros(body.hinge.nv)).q
        peer.model.jnt_stiffness[[x.id for x in where]] = body.passive.stiffness[0]
        c = body.passive.damping
        peer.model.dof_damping[own] = np.concatenate([c[3:], c[:3]]) if len(c) == 6 else c
    mujoco.mj_forward(peer.model, peer.data)
    spring, damper = peer.N.T @ peer.data.qfrc_spring, peer.N.T @ peer.data.qfrc_damper
    close(dyn.passive_force(mb, mb.q, np.zeros(mb.nv)), spring)
    close(dyn.passive_force(mb, mb.q, mb.v), spring + damper)
    close(spring + damper, peer.N.T @ peer.data.qfrc_passive)
    assert np.abs(spring).min() > 1e-3


def energy(body, q):
    """k |q - rest|^2 / 2, from the pose for turns and travels about any axis, from the coordinates for the others."""
    hinge, k, rest = body.hinge, body.passive.stiffness, rest_of(body)
    if not isinstance(hinge, sc.Spherical | sc.Free):
        return 0.5 * np.sum(k * (q - rest) ** 2)
    here, there = hinge.pose(q), hinge.pose(rest)
    angle = np.arccos(np.clip((np.trace(there.rotation.T @ here.rotation) - 1) / 2, -1, 1))
    travel = here.translation - there.translation
    return 0.5 * k[0] * angle**2 + (0.5 * k[-1] * travel @ travel if isinstance(hinge, sc.Free) else 0.0)


@pytest.mark.parametrize("hinge", HOLONOMIC, ids=lambda hinge: type(hinge).__name__)
def test_a_spring_is_minus_the_gradient_of_its_energy(hinge):
    mb = sprung(sc.random_tree(2, 3, [hinge]), 1)
    force, step = dyn.passive_force(mb, mb.q, np.zeros(mb.nv)), 1e-3

    def total(q):
        return sum(energy(body, q[body.q_slice]) for body in mb.bodies)

    slope = np.zeros(mb.nv)
    for j, direction in enumerate(np.eye(mb.nv)):
        for k, weight in ((-2, 1), (-1, -8), (1, 8), (2, -1)):
            slope[j] += weight * total(mb.integrate(mb.q, k * step * direction)) / (12 * step)
    close(force, -slope, 1e-8)


def test_closed_forms():
    mb = sc.load("double_pendulum")
    assert not dyn.passive_force(mb, [0.1, 0.2], [1.0, 2.0]).any()
    mb["upper"].passive = Passive(stiffness=3.0, rest=[0.5])
    mb["lower"].passive = Passive(damping=0.25)
    close(dyn.passive_force(mb, [0.1, 0.2], [1.0, 2.0]), [-3.0 * (0.1 - 0.5), -0.25 * 2.0], 1e-15)
    mb["upper"].passive = Passive()
    close(dyn.passive_force(mb, [0.1, 0.2], [1.0, 2.0]), [0.0, -0.5], 1e-15)


def test_a_turned_free_hinge_is_pulled_back_along_the_line_to_its_rest():
    """In outboard axes: turned by a quarter about z, its own -y is the inboard x."""
    mb = sc.Multibody("box")
    mb.add_body("box", None, sc.Free(), sc.Inertia.box(1.0, (1, 1, 1))).passive = Passive(stiffness=2.0)
    half = np.sqrt(0.5)
    found = dyn.passive_force(mb, [0, 0, half, half, 3.0, 0, 0], np.zeros(6))
    close(found, [0, 0, -2.0 * np.pi / 2, 0, 2.0 * 3.0, 0], 1e-14)


def test_the_energy_of_a_spring_on_one_dof():
    mb = sc.load("pendulum")
    mb["bob"].passive = Passive(stiffness=3.0, rest=[0.5])
    assert dyn.passive_energy(mb, [0.1]) == pytest.approx(0.5 * 3.0 * 0.4**2, rel=1e-14)


def test_the_energy_of_a_free_hinge_that_only_travels():
    """k x^2 / 2 along each of its axes."""
    mb, x = sc.Multibody("box"), np.array([0.3, -0.2, 0.5])
    body = mb.add_body("box", None, sc.Free(), sc.Inertia.box(1.0, (1, 1, 1)))
    for k in np.eye(3):
        body.passive = Passive(stiffness=[0, 0, 0, *k])
        assert dyn.passive_energy(mb, [0, 0, 0, 1, *x]) == pytest.approx(0.5 * k @ x**2, rel=1e-14)


def test_each_dof_has_its_own_stiffness():
    mb = sc.Multibody("ball")
    mb.add_body("ball", None, sc.Spherical(), sc.Inertia.sphere(1.0, 0.1)).passive = Passive([1.0, 2.0, 3.0])
    turn = np.array([0.3, -0.2, 0.5])
    close(dyn.passive_force(mb, mb.integrate(mb.neutral(), turn), np.zeros(3)), -turn * [1, 2, 3], 1e-14)


def test_it_acts_unless_it_is_left_out():
    """A pendulum of 1 kg at 1 m, held by a spring and damped."""
    mb = sc.load("pendulum")
    bare = dyn.forward_dynamics(mb, [0.4], [1.0], [0.0])
    close(bare, [-9.81 * np.sin(0.4)], 1e-15)
    mb["bob"].passive = Passive(stiffness=5.0, damping=0.3)
    close(dyn.forward_dynamics(mb, [0.4], [1.0], [0.0], passive=False), bare, 1e-15)
    close(dyn.forward_dynamics(mb, [0.4], [1.0], [0.0]) - bare, [-5.0 * 0.4 - 0.3], 1e-14)


def test_batches_sub_graphs_and_rotors():
    mb = tree(5, holonomic=True, bases=1)
    sprung(mb)
    x = arguments(mb, 1, (4,))
    whole = dyn.passive_force(mb, x["q"], x["v"])
    for i in range(4):
        close(whole[i], dyn.passive_force(mb, x["q"][i], x["v"][i]), 1e-14)
    close(dyn.passive_force(mb, x["q"][0], x["v"]), np.stack([dyn.passive_force(mb, x["q"][0], v) for v in x["v"]]))
    g = subtree(mb)
    where = np.concatenate([np.arange(mb.nv)[body.v_slice] for body in g.bodies])
    at = np.concatenate([np.arange(mb.nq)[body.q_slice] for body in g.bodies])
    close(dyn.passive_force(g, x["q"][:, at], x["v"][:, where]), whole[:, where], 1e-14)
    d, out = dyn.Dynamics(mb), np.empty((4, mb.nv))
    assert d.passive_force(x["q"], x["v"], out=out) is out
    for body in mb.bodies:
        body.armature = 0.5
    close(dyn.passive_force(mb, x["q"], x["v"]), out, 1e-14)


def test_a_spring_in_a_rolling_ball_is_refused():
    mb = sc.Multibody("table")
    ball = mb.add_body("ball", None, sc.RollingBall(0.1), sc.Inertia.sphere(1.0, 0.1))
    ball.passive = Passive(damping=0.5)
    close(dyn.passive_force(mb, mb.neutral(), [1.0, 2.0, 3.0]), [-0.5, -1.0, -1.5], 1e-15)
    ball.passive = Passive(stiffness=[0, 0, 2.0])
    with pytest.raises(ModelError) as error:
        dyn.passive_force(mb, mb.neutral(), np.zeros(3))
    assert str(error.value) == (
        f"hinge 'ball' ({ball.hinge!r}) has a spring (stiffness (0, 0, 2)), but it is nonholonomic: its position is "
        "not a function of its dofs, so there is no displacement along them. Give it no stiffness; damping is fine. "
        "Dynamics with passive=False leaves springs and dampers out."
    )
