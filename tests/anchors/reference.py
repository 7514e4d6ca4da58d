"""What the anchors are held against: positions, cross products and differences, no spatial algebra."""

from functools import cached_property

import numpy as np
from scipy.integrate import solve_ivp
from tests.model.differences import FIRST, OFFSETS, SECOND, STEP

import soacraft as sc
from soacraft.model import random_pose

AXES = ("body", "inertial", "origin")
DOWN = np.array([0.0, 0.0, -9.81])


# -- the equations of motion as operator expressions -----------------------------------------------------------


def mass_matrix(ops):
    """H phi M phi* H* (000 Eq. 1)."""
    return (ops.H * ops.phi * ops.M * ops.phi.T * ops.H.T).array()


def bias_force(ops):
    """C = H phi (b + M phi* a) (000 Eq. 17)."""
    return np.asarray(ops.H * (ops.phi * (ops.b + ops.M * (ops.phi.T * ops.a))))


def forward(ops, T):
    """vdot for the generalized force T, in O(n) (000 Eq. 31)."""
    return accelerations(ops)(T)


def accelerations(ops):
    """The same as a function of T at the state that the operators are at."""
    H, psi, K, P, D = ops["H psi K P D"]
    factor, K_T, psi_T = (sc.I - H * psi * K).T, K.T, psi.T

    def vdot(T):
        T, a, b = ops.vector(ops.hinge, T), ops.a, ops.b
        return np.asarray(factor * (D.inv * (T - H * (psi * (K * T + P * a + b)))) - K_T * (psi_T * a))

    return vdot


def fly(mb, times, T=None, tolerance=1e-12):
    """q and v at the given times, from the current state, with the accelerations of `forward`."""
    T, start, vdot = np.zeros(mb.nv) if T is None else T, (mb.q, mb.v), accelerations(sc.operators(mb))

    def rates(_, x):
        q, v = unit_quaternions(mb, x[: mb.nq]), x[mb.nq :]
        mb.set_state(q, v)
        return np.concatenate([mb.qdot(q, v), vdot(T)])

    within = {"rtol": tolerance, "atol": 0.01 * tolerance}
    path = solve_ivp(rates, (0.0, times[-1]), np.concatenate(start), "DOP853", t_eval=times, **within)
    assert path.success, path.message
    mb.set_state(*start)
    return np.array([unit_quaternions(mb, q) for q in path.y[: mb.nq].T]), path.y[mb.nq :].T


def unit_quaternions(mb, q):
    """q with every quaternion, which an integrator lets drift by its tolerance, at unit length."""
    q = np.array(q)
    for body in mb.bodies:
        if body.hinge.nq > body.hinge.nv:
            part = q[mb.q_slice(body)][:4]
            part /= np.linalg.norm(part)
    return q


# -- shifts by cross products, in inertial axes ------------------------------------------------------------------


def velocity_at(V, l):
    """The velocity [w; v + w x l] of a point at l from where [w; v] is."""
    w, v = V[:3], V[3:]
    return np.concatenate([w, v + np.cross(w, l)])


def force_at(f, l):
    """[n; F] as felt at a point from which l leads to where it acts: [n + l x F; F]."""
    n, F = f[:3], f[3:]
    return np.concatenate([n + np.cross(l, F), F])


def turned(R, x):
    """Both halves of a spatial vector turned by R."""
    return np.concatenate([R @ x[:3], R @ x[3:]])


def velocity_from(mb, axes, frame, V):
    """A velocity in a representation as [w; v of the frame's origin] in inertial axes."""
    pose = mb.pose(frame)
    if axes == "body":
        return turned(pose.rotation, V)
    return V if axes == "inertial" else velocity_at(V, pose.translation)


def force_from(mb, axes, frame, f):
    """A force in a representation as [moment about the frame's origin; force] in inertial axes."""
    pose = mb.pose(frame)
    if axes == "body":
        return turned(pose.rotation, f)
    return f if axes == "inertial" else force_at(f, -pose.translation)


# -- bodies made of points -------------------------------------------------------------------------------------


def cloud(rng, count=5):
    """Masses (count) and places (count, 3) of points in general position."""
    return rng.uniform(0.2, 1.0, count), rng.uniform(-0.4, 0.4, (count, 3))


def add_cloud(mb, name, parent, hinge, rng, inboard=None, outboard=None):
    """A body of a few point masses, each with a node of its own; poses random unless given."""
    masses, places = cloud(rng)
    inertia = sum((sc.Inertia.point(m, at) for m, at in zip(masses, places, strict=True)), start=sc.Inertia())
    inboard = random_pose(rng) if inboard is None else inboard
    outboard = random_pose(rng) if outboard is None else outboard
    body = mb.add_body(name, parent, hinge, inertia, inboard, outboard)
    for i, at in enumerate(places):
        body.add_node(f"p{i}", sc.Pose(translation=at))
    return masses


class Cloud:
    """A tree whose bodies are clouds of points: masses and positions by way of `mb.pose` alone."""

    def __init__(self, hinges, seed, parents=None, gravity=(1.0, -2.0, -9.0)):
        rng = np.random.default_rng(seed)
        self.mb = sc.Multibody("cloud", gravity=gravity)
        self.masses = {}
        for k, hinge in enumerate(hinges):
            p = (int(rng.integers(k)) if k else -1) if parents is None else parents[k]
            self.masses[f"b{k}"] = add_cloud(self.mb, f"b{k}", None if p < 0 else f"b{p}", hinge, rng)
        q, v = self.mb.random_state(rng)
        self.mb.set_state(q, v, rng.standard_normal(self.mb.nv))

    @property
    def m(self):
        """All masses (points)."""
        return np.concatenate([self.masses[body.name] for body in self.mb.bodies])

    def positions(self, state=None, bodies=None):
        """Where the points (of some bodies) are, (..., points, 3)."""
        names = [body.name for body in (self.mb.bodies if bodies is None else bodies)]
        nodes = [f"{name}/p{i}" for name in names for i in range(len(self.masses[name]))]
        return np.stack([self.mb.pose(node, state=state).translation for node in nodes], axis=-2)

    @cached_property
    def jacobian(self):
        """dr/dq in the tangent sense, (points, 3, nv), by differences of positions."""
        return tangent_rate(self.mb, self.positions)

    def mass_matrix(self):
        """sum m J* J."""
        J = self.jacobian
        return np.einsum("p,pij,pik->jk", self.m, J, J)

    def velocities(self):
        return rate(self.positions(motion(self.mb)))

    def accelerations(self, vdot=None):
        """d^2 r/dt^2 at the state's v and the given vdot (default zero), by differences of positions."""
        vdot = np.zeros(self.mb.nv) if vdot is None else vdot
        return second_rate(self.positions(motion(self.mb, vdot)))

    def force(self, vdot=None):
        """The generalized force for vdot: sum m J* (rddot - g). C for vdot = 0."""
        return np.einsum("p,pij,pi->j", self.m, self.jacobian, self.accelerations(vdot) - self.mb.gravity)


# -- differences -----------------------------------------------------------------------------------------------


def motion(mb, vdot=None):
    """Nine states on a motion with the current v and the given vdot (default: the state's) at the middle one.

    q(t) = integrate(q, v t + vdot t^2 / 2); quasi-velocities differ from v + vdot t only from t^2 on.
    """
    vdot = mb.vdot if vdot is None else vdot
    t = STEP * OFFSETS[:, None]
    return mb.state(mb.integrate(mb.q, t * mb.v + 0.5 * t**2 * vdot), mb.v + t * vdot, vdot)


def rate(values):
    """d/dt at the middle of nine values."""
    return np.tensordot(FIRST, np.asarray(values), 1) / STEP


def second_rate(values):
    """d^2/dt^2 at the middle of nine values."""
    return np.tensordot(SECOND, np.asarray(values), 1) / STEP**2


def tangent_rate(mb, f):
    """The derivatives of f(state) along each velocity, in the last axis, at v and vdot held."""
    steps = STEP * OFFSETS[:, None, None] * np.eye(mb.nv)
    values = f(mb.state(mb.integrate(mb.q, steps)))
    return np.moveaxis(rate(values), 0, -1)


# -- momentum and energy, body by body -------------------------------------------------------------------------


def com_frames(mb):
    """A node at every centre of mass (added once), with the body it is on."""
    for body in mb.bodies:
        if "com" not in {node.name for node in body.nodes}:
            body.add_node("com", sc.Pose(translation=body.inertia.com))
    return [(body, f"{body.name}/com") for body in mb.bodies]


def momentum(mb, state=None):
    """[angular; linear] about the inertial origin: sum of c x m v + J w and of m v."""
    total = 0.0
    for body, com in com_frames(mb):
        m, (w, v, c, J) = body.inertia.mass, _moving(mb, body, com, state)
        angular = np.cross(c, m * v) + (J @ w[..., None])[..., 0]
        total = total + np.concatenate([angular, m * v], axis=-1)
    return total


def kinetic_energy(mb, state=None):
    """sum of m v.v / 2 + w.J w / 2."""
    total = 0.0
    for body, com in com_frames(mb):
        w, v, _, J = _moving(mb, body, com, state)
        total = total + 0.5 * body.inertia.mass * np.sum(v * v, -1) + 0.5 * np.sum(w * (J @ w[..., None])[..., 0], -1)
    return total


def potential_energy(mb, state=None):
    """-sum of m g.c."""
    return -sum(body.inertia.mass * mb.pose(com, state=state).translation @ mb.gravity for body, com in com_frames(mb))


def _moving(mb, body, com, state):
    """Angular velocity, velocity and place of the centre of mass, moment about it, in inertial axes."""
    pose, velocity = mb.pose(com, state=state), mb.velocity(com, state=state)
    R = pose.rotation
    return velocity.angular, velocity.linear, pose.translation, R @ body.inertia.moment @ R.mT
