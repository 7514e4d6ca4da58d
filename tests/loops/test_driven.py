"""Driven closures, Gc v = U(t): closed-form anchors, differences, batches, projection."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.loops.by_name import by_name
from tests.loops.cases import FourBar, Z, close, near

import soacraft as sc
from soacraft.errors import LoopError, StateError
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented
from soacraft.model.samples.random_models import random_inertia, random_pose

KINDS = (TreeAugmented, FullyAugmented, ConstraintEmbedding)
X, Y = (1, 0, 0), (0, 1, 0)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def slide(speed, along=0):
    """A twist of pure sliding."""
    return np.eye(6)[3 + along] * speed


def followed(s, mb, U, force, end, steps):
    """q and v at the end, by the classical method of fourth order, put back on the closures after every step."""
    q, v, h = np.array(mb.q), np.array(mb.v), end / steps

    def rate(t, dq, dv):
        return v + dv, s.forward_dynamics(*s.project(mb.integrate(q, dq), v + dv, U(t)), force, U=U(t)).vdot

    for i in range(steps):
        t, zero = i * h, np.zeros(mb.nv)
        k1 = rate(t, zero, zero)
        k2 = rate(t + h / 2, h / 2 * k1[0], h / 2 * k1[1])
        k3 = rate(t + h / 2, h / 2 * k2[0], h / 2 * k2[1])
        k4 = rate(t + h, h * k3[0], h * k3[1])
        moved = [h / 6 * (a + 2 * b + 2 * c + d) for a, b, c, d in zip(k1, k2, k3, k4, strict=True)]
        q, v = s.project(mb.integrate(q, moved[0]), v + moved[1], U(t + h))
    return q, v


# -- closed forms -------------------------------------------------------------------------------------------------


def sliders():
    """Two slides on one rail, welded to each other by a closure that is driven."""
    mb = sc.Multibody("sliders", gravity=(0, 0, 0))
    for name, mass in (("left", 2.0), ("right", 0.5)):
        mb.add_body(name, None, sc.Prismatic(X), sc.Inertia(mass))
    mb.close_loop("jack", "left", "right", sc.Weld())
    return mb


def test_a_driven_weld_between_two_slides(kind):
    """The centre of mass moves as the forces say, the distance as the jack says."""
    mb, force, udot = sliders(), np.array([3.0, -1.0]), 0.7
    s = kind(mb)
    U = {"jack": (slide(0.4), slide(udot))}
    r = s.forward_dynamics([0.3, 0.9], [1.0, 1.4], force, U=U)
    common = force.sum() / 2.5
    near(r.vdot, [common - 0.5 / 2.5 * udot, common + 2.0 / 2.5 * udot], 1e-13)
    near(r.multipliers["jack"][3], 0.5 * r.vdot[1] - force[1], 1e-13)
    assert r.rank == 1


def test_a_driven_distance_is_followed(kind):
    """d = 0.6 + 0.2 sin 3t: a jack far from where its closure was closed."""
    mb, force = sliders(), np.array([3.0, -1.0])
    mb.set_state([0.0, 0.6], [0.1, 0.7])
    s = kind(mb)

    def U(t):
        return {"jack": (slide(0.6 * np.cos(3 * t)), slide(-1.8 * np.sin(3 * t)))}

    q, v = followed(s, mb, U, force, 1.0, 20)
    middle = 0.5 * 0.6 / 2.5 + (2.0 * 0.1 + 0.5 * 0.7) / 2.5 + 0.5 * force.sum() / 2.5
    d, rate = 0.6 + 0.2 * np.sin(3.0), 0.6 * np.cos(3.0)
    near(q, [middle - 0.5 / 2.5 * d, middle + 2.0 / 2.5 * d], 1e-6)
    near(v[1] - v[0], rate, 1e-13)


def test_a_conveyor(kind):
    """A crate that a belt carries along x and nothing holds along z."""
    mb = sc.Multibody("belt", gravity=(0, 0, -9.81))
    mb.add_body("crate", None, sc.Free(), sc.Inertia(4.0, (0, 0, 0), np.eye(3)))
    mb.close_loop("belt", "inertial", "crate", sc.Prismatic(Z))
    s = kind(mb)
    mb.set_state([0, 0, 0, 1, 2.0, 0, 0.5], [0, 0, 0, 1.5, 0, 0.3])
    r = s.forward_dynamics(mb.q, mb.v, np.zeros(6), U={"belt": (slide(1.5), slide(0.25))})
    near(r.vdot, [0, 0, 0, 0.25, 0, -9.81], 1e-12)
    near(r.multipliers["belt"], [0, 0, 0, 1.0, 0, 0], 1e-12)
    q, v = followed(s, mb, lambda t: {"belt": (slide(1.5 + 0.25 * t), slide(0.25))}, np.zeros(6), 1.0, 4)
    near(q, [0, 0, 0, 1, 2.0 + 1.5 + 0.125, 0, 0.5 + 0.3 - 9.81 / 2], 1e-12)
    near(v, [0, 0, 0, 1.75, 0, 0.3 - 9.81], 1e-12)


class Governor:
    """A pendulum on a pin along x whose axis is turned about the vertical: x_b stays level.

    I_x theta'' = w^2 (I_y - I_z) sin theta cos theta - m g l sin theta
    """

    mass, l, moment = 1.3, 0.7, np.array([0.9, 0.75, 0.2])

    def build(self, hinge):
        mb = sc.Multibody("governor", gravity=(0, 0, -9.81))
        central = np.diag(self.moment - self.mass * self.l**2 * np.array([1, 1, 0]))
        mb.add_body("bob", None, hinge, sc.Inertia(self.mass, (0, 0, -self.l), central))
        mb.close_loop("shaft", "inertial", "bob", sc.Pin(X))
        return mb

    def acceleration(self, theta, w):
        I, weight = self.moment, self.mass * 9.81 * self.l
        return (w**2 * (I[1] - I[2]) * np.sin(theta) * np.cos(theta) - weight * np.sin(theta)) / I[0]


@pytest.mark.parametrize("theta", [0.0, 0.4, 2.0, -1.1])
def test_a_pin_that_is_turned(kind, theta):
    governor, rate, w, wdot = Governor(), 0.8, 3.1, -0.6
    mb = governor.build(sc.Free())
    U = {"shaft": ([0, 0, w, 0, 0, 0], [0, 0, wdot, 0, 0, 0])}
    c, s = np.cos(theta), np.sin(theta)
    q = [np.sin(theta / 2), 0, 0, np.cos(theta / 2), 0, 0, 0]
    r = kind(mb).forward_dynamics(q, [rate, w * s, w * c, 0, 0, 0], np.zeros(6), U=U)
    turn = [governor.acceleration(theta, w), w * rate * c + wdot * s, -w * rate * s + wdot * c]
    near(r.vdot, [*turn, 0, 0, 0], 1e-12)


def test_a_turned_pendulum_is_followed(kind):
    """Turns about the vertical, the pin and y_b, the last of which the pin forbids; against its own equation."""
    governor, theta, rate, w = Governor(), 0.9, 0.3, 3.1
    mb = governor.build(sc.Gimbal((Z, X, Y)))
    mb.set_state([0.0, theta, 0.0], [w, rate, 0.0])
    U = {"shaft": ([0, 0, w, 0, 0, 0], np.zeros(6))}
    q, v = followed(kind(mb), mb, lambda t: U, np.zeros(3), 0.5, 20)
    exact = solve_ivp(lambda t, x: [x[1], governor.acceleration(x[0], w)], (0, 0.5), [theta, rate], rtol=1e-10)
    near(q, [0.5 * w, exact.y[0, -1], 0.0], 1e-5)
    near(v, [w, exact.y[1, -1], 0.0], 1e-5)


# -- differences --------------------------------------------------------------------------------------------------

FORBIDS = {
    sc.Weld(): [0, 1, 2, 3, 4, 5],
    sc.Pin(Z): [0, 1, 3, 4, 5],
    sc.Prismatic(Z): [0, 1, 2, 3, 4],
    sc.Cylindrical(Z): [0, 1, 3, 4],
    sc.Planar(): [0, 1, 5],
    sc.Spherical(): [3, 4, 5],
    sc.Gimbal(): [3, 4, 5],
    sc.Screws([[0, 0, 0, 1, 0, 0], [0, 0, 0, 1, 1, 0]]): [0, 1, 2, 5],
}
"""The motions in the axes of b that a hinge does not allow."""


def two_bodies(hinge):
    """Two bodies, both free to move, with a closure between two nodes of theirs."""
    mb = sc.Multibody("pair")
    for k in range(2):
        mb.add_body(f"body{k}", None, sc.Free(), random_inertia(k + 1))
    mb.q, mb.v = mb.random_state(3)
    mb["body0"].add_node("start", random_pose(5))
    close(mb, "drive", "body0/start", "body1", hinge, seed=7)
    return mb


@pytest.mark.parametrize("hinge", FORBIDS, ids=lambda x: type(x).__name__)
def test_what_the_hinge_forbids_goes_as_it_is_driven(kind, hinge):
    """After a short while of the accelerations found the twist of b seen from a is still R_ba u(t), and far off the
    hinge as well."""
    mb = two_bodies(hinge)
    rng = np.random.default_rng(1)
    u, udot, force = rng.standard_normal(6), rng.standard_normal(6), rng.standard_normal(12)
    q = mb.integrate(mb.q, 0.3 * rng.standard_normal(12))
    s = kind(mb)
    v = s.project_velocity(q, mb.v, {"drive": (u, udot)})
    vdot = s.forward_dynamics(q, v, force, U={"drive": (u, udot)}).vdot

    def left(t):
        state = mb.state(mb.integrate(q, t * v + 0.5 * t**2 * vdot), v + t * vdot)
        twist = np.asarray(mb.velocity("body1/drive_end", "body0/start", "body1/drive_end", state=state))
        R = mb.pose("body1/drive_end", "body0/start", state=state).rotation
        now = u + t * udot
        return (twist - np.concatenate([R.T @ now[:3], R.T @ now[3:]]))[FORBIDS[hinge]]

    h = 1e-4
    near(left(0.0), 0.0, 1e-12)
    near((left(h) - left(-h)) / (2 * h), 0.0, 2e-6)


@pytest.mark.parametrize("hinge", FORBIDS, ids=lambda x: type(x).__name__)
def test_solvers_agree_on_driven_closures_off_their_hinge(hinge):
    mb = two_bodies(hinge)
    rng = np.random.default_rng(2)
    U = {"drive": (rng.standard_normal(6), rng.standard_normal(6))}
    q, force = mb.integrate(mb.q, 0.3 * rng.standard_normal(12)), rng.standard_normal(12)
    v = TreeAugmented(mb).project_velocity(q, mb.v, U)
    first, *others = [kind(mb).forward_dynamics(q, v, force, U=U) for kind in KINDS]
    for r in others:
        near(r.vdot, first.vdot, 1e-10)
        near(r.multipliers["drive"], first.multipliers["drive"], 1e-9)
        assert r.rank == first.rank == len(FORBIDS[hinge])


@pytest.mark.parametrize(
    "hinge", [sc.Universal(Z, X), sc.Helical(Z, 0.2), sc.Screws([[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, 1, 0]])]
)
def test_hinges_whose_forbidden_motions_turn_are_refused(kind, hinge):
    """A screw alone does not: it is driven."""
    mb = two_bodies(hinge)
    still = (np.zeros(6), np.zeros(6))
    s = kind(mb)
    if isinstance(hinge, sc.Helical):
        assert s.forward_dynamics(mb.q, s.project_velocity(mb.q, mb.v), np.zeros(12), U={"drive": still}).rank == 5
        return
    with pytest.raises(LoopError, match=r"loop 'drive' cannot be driven: the motions that .* forbids turn with its"):
        s.forward_dynamics(mb.q, mb.v, np.zeros(12), U={"drive": still})


# -- batches ------------------------------------------------------------------------------------------------------


def geared():
    """Two slides and a wheel: a jack and a gear, both to be driven."""
    mb = sliders()
    mb.add_body("wheel", "right", sc.Pin(Z), sc.Inertia(0.3, (0, 0.1, 0), 0.2 * np.eye(3)))
    mb.couple("gear", {"left": 2.0, "wheel": -1.0})
    return mb


def test_drives_come_in_batches(kind):
    mb = geared()
    s, rng = kind(mb), np.random.default_rng(4)
    u, udot, x, xdot = (rng.standard_normal(size) for size in ((4, 1), (4, 1), (4,), (4,)))
    along = slide(1.0)
    U = {"jack": (u * along, udot * along), "gear": (x, xdot)}
    one = [{"jack": (u[i] * along, udot[i] * along), "gear": (x[i], xdot[i])} for i in range(4)]
    q, v0, force = [0.1, 0.4, 1.1], rng.standard_normal(3), rng.standard_normal((4, 3))
    v = s.project_velocity(q, v0, U)
    assert v.shape == (4, 3)
    near(v[:, 1] - v[:, 0], u[:, 0], 1e-13)
    near(2 * v[:, 0] - v[:, 2], x, 1e-13)
    r = s.forward_dynamics(q, v, force, U=U)
    vdot, needed = s.mixed_dynamics(q, v, force, np.ones(3), ["left"], U=U)
    pushed = s.inverse_dynamics(q, v, by_name(s, q, [0.7]), U=U)
    closed, projected = s.project(q, v0, U)
    assert closed.shape == (4, 3)
    for i in range(4):
        near(v[i], s.project_velocity(q, v0, one[i]), 1e-13)
        near(r.vdot[i], s.forward_dynamics(q, v[i], force[i], U=one[i]).vdot, 1e-12)
        alone = s.mixed_dynamics(q, v[i], force[i], np.ones(3), ["left"], U=one[i])
        near(vdot[i], alone[0], 1e-12)
        near(needed[i], alone[1], 1e-12)
        near(pushed[i], s.inverse_dynamics(q, v[i], by_name(s, q, [0.7]), U=one[i]), 1e-12)
        near(closed[i], q, 1e-15)
        near(projected[i], v[i], 1e-13)


def test_one_drive_serves_a_batch_and_axes_must_agree(kind):
    mb = geared()
    s, still = kind(mb), np.zeros((2, 3))
    U = {"jack": (np.zeros(6), slide(0.7)), "gear": (0.0, np.array([[1.0], [2.0], [3.0]]))}
    r = s.forward_dynamics([0.1, 0.4, 1.1], still, still, U=U)
    assert r.vdot.shape == (3, 2, 3)
    near(r.vdot[..., 1] - r.vdot[..., 0], np.full((3, 2), 0.7), 1e-13)
    near(2 * r.vdot[..., 0] - r.vdot[..., 2], [[1.0] * 2, [2.0] * 2, [3.0] * 2], 1e-13)
    with pytest.raises(StateError, match=r"axes do not agree: the other arguments \(2, 3\), u of 'gear' \(3, 1\), "):
        s.forward_dynamics(mb.q, still, still, U={"gear": (np.zeros(3), 0.0)})
    with pytest.raises(StateError, match=r"u of 'jack' must have shape \(\.\.\., 6\), got shape \(5,\)"):
        s.forward_dynamics(mb.q, still, still, U={"jack": (np.zeros(5), np.zeros(6))})


# -- projection ---------------------------------------------------------------------------------------------------


def test_projection_closes_the_others_and_leaves_driven_closures_where_they_are(kind):
    """A four-bar beside two slides: its ring closes, the jack keeps its length."""
    mb = FourBar().build(0.8)
    for name in ("left", "right"):
        mb.add_body(name, "crank", sc.Prismatic(X), sc.Inertia(1.0))
    mb.close_loop("jack", "left", "right", sc.Weld())
    s, at = kind(mb), {name: i for i, name in enumerate(mb.dof_names)}
    q, v = np.array(mb.q), np.linspace(0.2, 1.0, mb.nv)
    q[at["right"]] = 0.35
    q = q + 1e-5 * np.arange(mb.nv)
    U = {"jack": (slide(0.9), slide(0.0))}
    closed, moving = s.project(q, v, U)
    near(closed[at["right"]] - closed[at["left"]], q[at["right"]] - q[at["left"]], 1e-9)
    assert s.forward_dynamics(closed, moving, np.zeros(mb.nv), U=U).residual < 1e-10
    near(moving[at["right"]] - moving[at["left"]], 0.9, 1e-12)
