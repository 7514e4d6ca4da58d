"""Checks at a random state that any right model passes: inertias to move, the mass matrix, the balance of power."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from soacraft import dynamics as dyn
from soacraft.errors import SingularError
from soacraft.health.names import hinge_subject, whole
from soacraft.health.report import Finding
from soacraft.model import Graph, SKOModel, SubGraph
from soacraft.model.sizes.scale import scale_of, scaled_random_state
from soacraft.model.states.gimbal_lock import is_locked
from soacraft.recursions._backend import beyond_doubt
from soacraft.recursions.articulated_body import SMALLEST
from soacraft.spatial.checks import Array
from soacraft.spatial.differences import STENCIL

DENSE = 400  # dofs; above that the mass matrix is not formed
NOTHING = 1e-20  # of the inertia of all that is outboard
_STEP = 1e-3  # of the model's time
LEAST_BENT, MARGIN = 2.0**-14, 0.25  # of the bending of random states
_EPS = float(np.finfo(float).eps)


def check_hinge_inertias(graph: Graph) -> Iterator[Finding]:
    """Hinges with nothing to move, at the neutral, the current and a random state."""
    if not graph.nv:
        return
    states = ("neutral", "current", "random")
    q = np.stack([graph.layout.neutral(), graph.current.q, drawn_state(graph, 0).q])
    if all(beyond_doubt(graph.sko(graph.state(q=each))) for each in q):
        return
    for k, relative in smallest_inertias(graph.sko(graph.state(q=q))).items():
        body, coordinates = graph.bodies[k], q[:, graph.layout.hinge_q[k]]
        lost = [i for i, x in enumerate(np.broadcast_to(relative, (3,))) if x <= SMALLEST]
        locked = [i for i in lost if is_locked(body.hinge, coordinates[i])]
        for which, text, cure in (
            (locked, "is in gimbal lock", "keep away from it, or use a spherical hinge"),
            ([i for i in lost if i not in locked], "has no inertia to move",
             "give mass or moment to its body or to one outboard of it, give it armature, or weld it"),
        ):  # fmt: skip
            where = "" if len(which) == 3 else f" at the {' and the '.join(states[i] for i in which)} state"
            if which:
                yield Finding("error", hinge_subject(body), float(np.min(relative)), text + where, cure)


def smallest_inertias(sko: SKOModel) -> dict[int, Array]:
    """The smallest eigenvalue of D(k) relative to H(k) R(k) H*(k), by node with dofs (004 Eq. 31-33). O(n).

    As `articulated_body`, but it goes on past hinges without inertia.

    >>> from soacraft.model import serial_chain
    >>> from soacraft.model.hinges import Pin
    >>> mb = serial_chain(1)
    >>> flag = mb.add_body("flag", "link1", Pin((0, 0, 1)))
    >>> [float(x) for x in smallest_inertias(mb.sko()).values()]
    [1.0, 0.0]
    """
    A, H, M = sko.A, sko.H, sko.M
    R: dict[int, Array] = {}
    P_plus: dict[int, Array] = {}
    smallest: dict[int, Array] = {}
    for k in sko.tips_to_base():
        R[k] = M(k) + sum(A(k, j) @ R[j] @ A(k, j).mT for j in sko.children(k))
        P = M(k) + sum(A(k, j) @ P_plus[j] @ A(k, j).mT for j in sko.children(k))
        P_plus[k] = P
        if sko.nvs[k]:
            HP = H(k) @ P
            locked = np.einsum("...ij,...jk,...ik->...i", H(k), R[k], H(k))
            moves = locked > NOTHING * (np.abs(H(k)) @ np.sqrt(sko.sizes(k, R[k]))[..., None])[..., 0] ** 2
            s = np.sqrt(np.where(moves, locked, 1.0))[..., None]
            D = HP @ H(k).mT / (s * s.mT)
            smallest[k] = np.linalg.eigvalsh(D)[..., 0] * moves.all(axis=-1)
            P_plus[k] = P - (HP / s).mT @ np.linalg.pinv(D, rcond=SMALLEST, hermitian=True) @ (HP / s)
    return dict(sorted(smallest.items()))


def bench(graph: Graph) -> Graph:
    """Graph with these bodies at the same place without stored forces, on an anchor at rest."""
    mb, pushed = whole(graph), bool(whole(graph).acting_forces)
    if pushed:
        mb = mb.copy()
        mb.clear_forces()
    if isinstance(graph, SubGraph):
        return mb.subgraph([body.name for body in graph.bodies]) if pushed or graph.anchor_moves else graph
    return mb


def check_mass_matrix(graph: Graph) -> Iterator[Finding]:
    """The mass matrix at a random state: positive definite, its inverse, and inverse and forward dynamics with it;
    springs and dampers left out."""
    g, nv, subject = bench(graph), graph.nv, "mass matrix"
    if not nv or nv > DENSE:
        if nv:
            text = f"is not formed for more than {DENSE} dofs, so its identities were not checked"
            yield Finding("note", subject, float(nv), text, "check parts of the model with mb.subgraph(...)")
        return
    q, v, w = _drawn(g)
    M = dyn.mass_matrix(g, q, ignore_loops=True)
    if not np.diag(M).min() > 0.0:
        return  # a hinge without inertia, named by its own check
    s = np.sqrt(np.diag(M))
    eigenvalues = np.linalg.eigvalsh(M / np.outer(s, s))
    condition = float(eigenvalues[-1] / eigenvalues[0]) if eigenvalues[0] > 0.0 else np.inf
    cure = "run check_hinge on hinges of your own, and look at the masses"
    if condition > 1e12:
        text = f"is nearly singular at a random state: its scaled condition number is {condition:.2g}"
        yield Finding("warning", subject, condition, text, "look for bodies with next to no inertia")
        return
    T = dyn.inverse_dynamics(g, q, v, w, passive=False, ignore_loops=True)
    try:
        vdot = dyn.forward_dynamics(g, q, v, T, passive=False, ignore_loops=True)
        product = M @ dyn.mass_matrix_inverse(g, q, ignore_loops=True) - np.eye(nv)
    except SingularError:
        return  # named by the check of hinge inertias
    bias = dyn.bias_force(g, q, v, passive=False, ignore_loops=True)
    again = dyn.inverse_dynamics(g, q, v, vdot, passive=False, ignore_loops=True)
    size = float(np.max((np.abs(M) @ np.abs(w) + np.abs(bias) + np.abs(T)) / s))
    rounding = 1e4 * _EPS * condition
    for what, gap, allowed in (
        ("is not symmetric", np.abs((M - M.T) / s[:, None] / s).max(), 1e-12),
        ("times its inverse is not the identity", np.abs(product / s[:, None] * s).max(), 1e-9 + rounding),
        ("does not give what inverse dynamics gives", np.abs((M @ w + bias - T) / s).max() / size, 1e-9),
        ("forward dynamics does not undo inverse dynamics", np.abs((again - T) / s).max() / size, 1e-9 + rounding),
    ):  # fmt: skip
        if not gap <= allowed:
            yield Finding("error", subject, float(gap), f"{what} at a random state", cure)


def check_power(graph: Graph) -> Iterator[Finding]:
    """The rate of kinetic and potential energy along the motion is the power v . force of a random force, less what the
    damping of modes takes; springs and dampers left out."""
    g = bench(graph)
    if not g.nv:
        return
    q, v, w = _drawn(g)
    force = dyn.inverse_dynamics(g, q, v, w, passive=False, ignore_loops=True)
    try:
        vdot = dyn.forward_dynamics(g, q, v, force, passive=False, ignore_loops=True)
    except SingularError:
        return  # named by the check of hinge inertias
    step = _STEP * scale_of(g).time
    t = step * np.array([sign * k for k, _ in STENCIL for sign in (1, -1)])[:, None]
    Q, V = g.integrate(q, t * v), v + t * vdot
    energies = (dyn.kinetic_energy(g, Q, V, ignore_loops=True), dyn.potential_energy(g, Q, ignore_loops=True))
    weights = np.array([sign * w for _, w in STENCIL for sign in (1, -1)]) / step
    rates = [float(weights @ E) for E in energies]
    power = float(v @ force) - _modal_loss(g, v)
    gap = abs(sum(rates) - power)
    size = sum(map(abs, rates)) + float(np.abs(v) @ np.abs(force))
    rounding = 1e3 * _EPS * sum(float(np.abs(E).max()) for E in energies) / step
    if not gap <= 1e-8 * size + rounding:
        text = f"at a random state energy changes by {sum(rates):.6g} W, the force gives {power:.6g} W"
        cure = "a hinge whose H_T does not fit its pose does this: run check_hinge on hinges of your own"
        yield Finding("error", "power balance", gap, text, cure)


def _modal_loss(g: Graph, v: Array) -> float:
    """The power that the damping of modes takes, sum of etad* D etad."""
    loss = 0.0
    for k in g.layout.flexible:
        D, rate = g.layout.modal(k).D, v[g.layout.hinge_v[k].stop : g.layout.v_slices[k].stop]
        assert D is not None
        loss += float(rate @ D @ rate)
    return loss


class Drawn(NamedTuple):
    """A random state, the part of their bending that flexible bodies have in it, and those that have less than all."""

    q: Array
    v: Array
    vdot: Array
    part: float
    bent_less: tuple[int, ...]


def drawn_state(graph: Graph, seed: int) -> Drawn:
    """A random state in the model's own scale, in which no flexible body is bent so far that terms of second order take
    its inertia from it."""
    q, v, vdot = scaled_random_state(graph, seed)
    if not any(graph.layout.modal(k).geometric for k in graph.layout.flexible):
        return Drawn(q, v, vdot, 1.0, ())
    straight, modes, part = q.copy(), graph.layout.own.q, 1.0
    straight[modes] = 0.0
    there = {k for k, x in smallest_inertias(graph.sko(graph.state(q=straight))).items() if x > SMALLEST}

    def lost(at: Array) -> tuple[int, ...]:
        now, parents = smallest_inertias(graph.sko(graph.state(q=at))), graph.layout.parents
        outboard = np.zeros(len(parents), dtype=bool)  # of a hinge that has no inertia left, its own body included
        for k, parent in enumerate(parents):
            outboard[k] = (k in there and now[k] <= SMALLEST) or (parent >= 0 and outboard[parent])
        return tuple(k for k in graph.layout.flexible if outboard[k])

    first = lost(q)
    while part > LEAST_BENT and lost(q):
        part *= 0.5
        q[modes] *= 0.5
    if first:  # with a margin
        part *= MARGIN
        q[modes] *= MARGIN
    return Drawn(q, v, vdot, part, first)


def _drawn(g: Graph) -> tuple[Array, Array, Array]:
    """A random q, v and vdot in the model's own scale; slow enough for differences on long chains."""
    x = drawn_state(g, 1)
    v = x.v.copy()
    v[g.layout.own.v] *= x.part
    return x.q, v / max(1.0, np.sqrt(g.nv) / 4.0), x.vdot
