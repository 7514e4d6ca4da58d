"""Closed chains to try solvers on, and a dense reference that shares nothing with them but the rows."""

import re
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import strategies as st
from tests.strategies import EVERY_HINGE, HINGES, SEEDS, keep, parents, pose, rigid_trees

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.kinematics.rows import Constraints
from soacraft.model.hinges.base import pose_of
from soacraft.model.tree.parts.closures import coordinate_names

CLOSING = [hinge for hinge in HINGES if hinge.nv < 6]
EVERY_CLOSING = [hinge for hinge in EVERY_HINGE if hinge.nv < 6]
HOLONOMIC = [hinge for hinge in HINGES if hinge.holonomic]
LIBRARY = ("cassie", "robotiq_2f85", "five_bar", "delta")
#: Solvers are compared where the compliance of the closures on its range is better conditioned than this.
CONDITION = 1e6


# -- states -------------------------------------------------------------------------------------------------------


def close(mb, name, a, b, hinge, seed=0):
    """Close a loop at the current configuration: a node on body b at the pose of frame a times a random hinge pose."""
    q = hinge.neutral() if seed == 0 else hinge.random(np.random.default_rng(seed))
    end = mb.pose(b).inv @ mb.pose(a) @ pose_of(hinge, np.asarray(q, dtype=float))
    node = mb.body(b).add_node(f"{name}_end", sc.Pose(end.rotation, end.translation))
    return mb.close_loop(name, a, node, hinge)


def tie(mb, name, dofs, ratios):
    """Couple coordinates with an offset that holds at the current configuration."""
    at = coordinate_names(mb)
    offset = sum(np.polynomial.Polynomial((0.0, *c))(mb.q[at[dof]]) for dof, c in zip(dofs, ratios, strict=True))
    return mb.couple(name, dict(zip(dofs, ratios, strict=True)), offset)


def project(mb, v):
    """The velocity nearest to v that the closures allow, by plain least squares."""
    G = Constraints(mb, mb.state(v=v)).jacobian()
    return v - np.linalg.pinv(G, rcond=1e-9) @ (G @ v)


@st.composite
def closed_graphs(
    draw, min_bodies=2, max_bodies=6, max_loops=3, couplings=True, hinges=HINGES, closing=CLOSING, min_loops=1
):
    """A random tree of any hinges with random closures of any hinge, in a closed state; loops share bodies at will."""
    mb = draw(rigid_trees(parents(min_bodies, max_bodies), hinges))
    frames = ["inertial", *(body.name for body in mb.bodies)]
    for i in range(draw(st.integers(min_loops, max_loops))):
        b = draw(st.sampled_from(frames[1:]))
        a = draw(st.sampled_from([x for x in frames if x != b]))
        hinge, seed = draw(st.sampled_from(closing)), draw(SEEDS)
        start = mb.frame(a).add_node(f"start{i}", pose(draw(SEEDS)))
        close(mb, f"loop{i}", start, b, hinge, seed)
    known = sorted(coordinate_names(mb))
    if couplings and len(known) > 1 and draw(st.booleans()):
        pair = draw(st.lists(st.sampled_from(known), min_size=2, max_size=3, unique=True))
        tie(mb, "gear", pair, [(1.0,), (-1.5, 0.2), (0.5,)][: len(pair)])
    mb.v = project(mb, mb.v)
    return mb


def force_of(mb, seed=1):
    return np.random.default_rng(seed).standard_normal(mb.nv)


def library(name, seed=0):
    """A model of the library, assembled, with a velocity that its closures allow."""
    mb = sc.load(name)
    solver = sc.loops.TreeAugmented(mb)
    q = solver.assemble(mb.q)
    v = solver.project_velocity(q, 0.3 * np.random.default_rng(seed).standard_normal(mb.nv))
    mb.set_state(q, v)
    return mb


# -- a dense reference --------------------------------------------------------------------------------------------


@dataclass
class Dense:
    """What a dense least-squares solution of the KKT system gives."""

    vdot: np.ndarray
    constraint_force: np.ndarray
    rank: int
    condition: float
    contradiction: float
    """What the rows that repeat others leave, relative to the rest: no acceleration satisfies them all."""


def dense(mb, force, f_ext=None, Udot=0.0):
    """min |vdot - vdot_f| in the metric of the mass matrix with Gc vdot = Udot - Gcdot v, by dense linear algebra."""
    rows = Constraints(mb, mb.state())
    G = rows.jacobian()
    G[np.abs(G).max(axis=1, initial=0.0) < 1e-12] = 0.0
    M = dyn.mass_matrix(mb, mb.q, ignore_loops=True)
    C = dyn.bias_force(mb, mb.q, mb.v, f_ext, ignore_loops=True)
    if not mb.nv:
        return Dense(np.zeros(0), np.zeros(0), 0, 1.0, 0.0)
    L = np.linalg.cholesky(M)
    free = np.linalg.solve(M, force - C)
    Y = np.linalg.solve(L, G.T).T
    scale = 1.0 / np.maximum(np.linalg.norm(Y, axis=1), 1e-7 * np.linalg.norm(Y) + 1e-300)
    U, s, V = np.linalg.svd(scale[:, None] * Y, full_matrices=False)
    rank = int(np.sum(s > 1e-7 * max(s[0], 1e-6))) if len(s) else 0
    left = scale * (G @ free + rows.gamma - Udot)
    step = V[:rank].T @ ((U[:, :rank].T @ left) / s[:rank])
    values = np.linalg.eigvalsh(Y @ Y.T)[::-1][:rank] if rank else np.ones(1)
    vdot = free - np.linalg.solve(L.T, step)
    condition = float(values[0] / values[-1]) if values[-1] > 0.0 else np.inf
    off = np.abs(G @ vdot + rows.gamma - Udot).max(initial=0.0) / max(1.0, np.abs(rows.gamma).max(initial=0.0))
    return Dense(vdot, -L @ step, rank, condition, float(off))


def comparable(mb, force):
    """The dense reference, for a drawn graph that is conditioned well enough; others are discarded and counted.

    So are singular poses with a motion that no acceleration continues: two closures may meet in one point when drawn.
    """
    reference = dense(mb, force)
    largest = max(1.0, np.abs(reference.vdot).max(initial=0.0))
    keep(reference.condition < CONDITION and reference.contradiction < 1e-9 * largest)
    return reference


def generalized(mb, result):
    """-Gc* lambda from the multipliers of a result, through the Jacobians of the loops' frames."""
    T = np.zeros(mb.nv)
    rows = Constraints(mb, mb.state())
    for loop in rows.loops:
        wrench, a, b = result.multipliers[loop.name], loop.closure.a, loop.closure.b
        R = np.asarray(mb.pose(a).rotation)
        moment, push = R @ wrench[:3], R @ wrench[3:]
        arm = np.asarray(mb.pose(b).translation) - np.asarray(mb.pose(a).translation)
        for frame, f in ((b, [*moment, *push]), (a, [*(-moment - np.cross(arm, push)), *(-push)])):
            if isinstance(frame.carrier, sc.Body):
                T += dyn.jacobian(mb, mb.q, frame, expressed_in="inertial").T @ np.array(f)
    for row in rows.couplings:
        for i, rate in row.rates.items():
            T[i] -= rate * result.multipliers[row.name]
    return T


def near(x, y, tolerance=1e-9):
    """Whether two arrays agree relative to the largest of 1 and their entries."""
    scale = max(1.0, np.abs(y).max(initial=0.0))
    assert np.abs(np.asarray(x) - y).max(initial=0.0) <= tolerance * scale


# -- mechanisms ---------------------------------------------------------------------------------------------------

Z = (0, 0, 1)


def rod(mass, length):
    """A thin uniform rod along x from its frame."""
    moment = mass * length**2 / 12.0
    return sc.Inertia(mass, (length / 2, 0, 0), np.diag([1e-3 * moment, moment, moment]))


@dataclass
class FourBar:
    """A planar four-bar in the xy plane, gravity along -y: crank from (0, 0), rocker from (ground, 0)."""

    crank: float = 0.4
    coupler: float = 1.1
    rocker: float = 0.9
    ground: float = 1.0
    masses: tuple = (1.5, 2.0, 0.7)

    def angles(self, theta):
        """The directions of coupler and rocker for a crank angle; the coupler's end stands above."""
        elbow = self.crank * np.exp(1j * theta)
        span = self.ground - elbow
        d = abs(span)
        along = (self.coupler**2 - self.rocker**2 + d**2) / (2 * d)
        end = elbow + span / d * (along + 1j * np.sqrt(self.coupler**2 - along**2))
        return np.angle(end - elbow), np.angle(end - self.ground)

    def build(self, theta, cut="coupler", hinge=None):
        """The model at a crank angle. `cut`: which of the hinges coupler-rocker ("coupler"), rocker-ground
        ("rocker") and crank-coupler ("elbow") closes the loop."""
        beta, gamma = self.angles(theta)
        mb = sc.Multibody("four_bar", gravity=(0, -9.81, 0))
        far = sc.Pose(translation=(self.ground, 0, 0))
        m1, m2, m3 = self.masses
        along = [sc.Pose(translation=(x, 0, 0)) for x in (self.crank, self.coupler, self.rocker)]
        close_by = sc.Pin(Z) if hinge is None else hinge
        crank = mb.add_body("crank", None, sc.Pin(Z), rod(m1, self.crank))
        crank.add_node("end", along[0])
        if cut == "coupler":
            mb.add_body("coupler", "crank", sc.Pin(Z), rod(m2, self.coupler), along[0]).add_node("end", along[1])
            mb.add_body("rocker", None, sc.Pin(Z), rod(m3, self.rocker), far).add_node("end", along[2])
            mb.close_loop("ring", "rocker/end", "coupler/end", close_by)
            q = [theta, beta - theta, gamma]
        elif cut == "rocker":
            mb.add_body("coupler", "crank", sc.Pin(Z), rod(m2, self.coupler), along[0])
            mb.add_body("rocker", "coupler", sc.Pin(Z), rod(m3, self.rocker), along[1], along[2].inv)
            mb.root.add_node("pivot", far)
            mb.close_loop("ring", "inertial/pivot", "rocker", close_by)
            q = [theta, beta - theta, gamma - beta]
        else:
            mb.add_body("rocker", None, sc.Pin(Z), rod(m3, self.rocker), far)
            mb.add_body("coupler", "rocker", sc.Pin(Z), rod(m2, self.coupler), along[2], along[1].inv)
            mb.close_loop("ring", "crank/end", "coupler", close_by)
            q = [theta, gamma, beta - gamma]
        mb.q = q
        return mb

    def acceleration(self, theta, rate, torque):
        """thetadd by Lagrange in the crank angle alone: J thetadd + J'/2 rate^2 + V' = torque."""
        beta, gamma = self.angles(theta)
        l1, l2, l3 = self.crank, self.coupler, self.rocker
        turn = np.exp(1j * np.array([theta, beta, gamma]))
        A = np.array([[(1j * l2 * turn[1]).real, -(1j * l3 * turn[2]).real],
                      [(1j * l2 * turn[1]).imag, -(1j * l3 * turn[2]).imag]])  # fmt: skip
        rhs = -1j * l1 * turn[0]
        b1, g1 = np.linalg.solve(A, [rhs.real, rhs.imag])
        rhs = l1 * turn[0] + l2 * b1**2 * turn[1] - l3 * g1**2 * turn[2]
        b2, g2 = np.linalg.solve(A, [rhs.real, rhs.imag])
        first, second = np.array([1.0, b1, g1]), np.array([0.0, b2, g2])
        base1 = np.array([0.0, 1j * l1 * turn[0], 0.0])
        base2 = np.array([0.0, -l1 * turn[0], 0.0])
        half = 0.5 * np.array([l1, l2, l3])
        c1 = base1 + 1j * half * first * turn
        c2 = base2 + half * (1j * second - first**2) * turn
        m = np.array(self.masses)
        I = m * np.array([l1, l2, l3]) ** 2 / 12.0
        J = np.sum(m * abs(c1) ** 2 + I * first**2)
        J1 = 2.0 * np.sum(m * (c1.conjugate() * c2).real + I * first * second)
        return (torque - 0.5 * J1 * rate**2 - 9.81 * np.sum(m * c1.imag)) / J


def row_of_four_bars(n, hinge=None):
    """N four-bars of the IFToMM benchmark: 2N+1 rods of 1 m and 1 kg, cranks upright, couplers level."""
    mb = sc.Multibody("row", gravity=(0, -9.81, 0))
    tip = sc.Pose(translation=(1, 0, 0))
    for i in range(n + 1):
        at = sc.Pose(translation=(i, 0, 0))
        mb.add_body(f"crank{i}", None, sc.Pin(Z), rod(1.0, 1.0), at).add_node("tip", tip)
    for i in range(n):
        mb.add_body(f"coupler{i}", f"crank{i}", sc.Pin(Z), rod(1.0, 1.0), tip).add_node("tip", tip)
        mb.close_loop(f"loop{i}", f"crank{i + 1}/tip", f"coupler{i}/tip", sc.Pin(Z) if hinge is None else hinge)
    mb.q = [np.pi / 2 if body.name.startswith("crank") else -np.pi / 2 for body in mb.bodies]
    mb.v = [-1.0 if body.name.startswith("crank") else 1.0 for body in mb.bodies]
    return mb


def refused(call, error, text):
    """A call raises this error, and says this and nothing more."""
    with pytest.raises(error) as raised:
        call()
    assert re.fullmatch(text, str(raised.value)), str(raised.value)
