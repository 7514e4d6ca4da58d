"""Derivatives by central differences of order four, along `graph.integrate`; all dofs in one batch of states."""

import numpy as np

import soacraft as sc
from soacraft.ops.table import NAMES

STEP = 1e-3
OFFSETS, WEIGHTS = np.array([-2.0, -1.0, 1.0, 2.0]) * STEP, np.array([1.0, -8.0, 8.0, -1.0]) / (12 * STEP)


def stencil(f):
    """The derivative of f(t) at t = 0."""
    return sum(w * f(t) for w, t in zip(WEIGHTS, OFFSETS, strict=True))


def dofs(graph):
    """(body, number in its hinge, number in v) of every dof."""
    slices = [(body, graph.v_slice(body)) for body in graph.bodies]
    return [(body, i - at.start, i) for body, at in slices for i in range(at.start, at.stop)]


def along_dofs(graph, expr, which):
    """The derivatives of an expression along several dofs, (dofs, rows, cols), from one batch of states."""
    steps = np.eye(graph.nv)[which][:, None, :] * OFFSETS[:, None]
    moved = graph.integrate(graph.q, steps)
    values = expr.at(q=moved.reshape(-1, graph.nq)).array()
    return np.einsum("s,dsij->dij", WEIGHTS, values.reshape(len(which), len(OFFSETS), *values.shape[-2:]))


def along_states(expr, **states):
    """The derivative of an expression along states at the offsets, in one batch."""
    return np.einsum("s,sij->ij", WEIGHTS, expr.at(**states).array())


def along_velocity(graph, expr):
    """The time derivative with constant velocities: vdot = 0."""
    return along_states(expr, q=graph.integrate(graph.q, OFFSETS[:, None] * graph.v))


def hinges():
    """The model with every hinge, in a random state."""
    mb = sc.load("hinges")
    mb.set_state(*mb.random_state(4))
    return mb


def rotors():
    """A biped with armature at some hinges, in a random state."""
    mb = sc.load("biped")
    for body in mb.bodies[1:6]:
        body.armature = np.linspace(0.1, 0.3, body.hinge.nv)
    mb.set_state(*mb.random_state(5))
    return mb


def gap(x, y):
    """The largest difference, relative to the largest entry, or to one where that is smaller."""
    return float(np.max(np.abs(x - y), initial=0.0) / max(1.0, np.max(np.abs(y), initial=0.0)))


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def expressions(s, nodes):
    """Every leaf, and expressions of every kind."""
    B = s.B(nodes)
    return {
        **{name: getattr(s, name) for name in NAMES},
        "B": B,
        "Jacobian": B.T * s.phi.T * s.H.T,
        "mass matrix": mass_matrix(s),
        "its inverse": mass_matrix(s).inv,
        "compliance of nodes": B.T * s.Omega * B,
        "innovations factor": s.I - s.H * s.psi * s.K,
        "transposes, multiples and inverses": 2.5 * s.phi.T.inv - s.psi.T * s.tau_bar.T / 3,
        "powers": s.phi**3 - s.E_phi**2 + s.phi**0,
        "nested sums": (s.phi + s.M * (s.phi_tilde - s.I)) * s.M,
        "products that mix forces and velocities": s.P * s.P + s.M * s.phi + 2 * s.I,
        "Lyapunov solutions": s.E_psi.lyapunov(s.M) - s.E_phi.lyapunov(s.P, s.E_psi),
        "backward Lyapunov solution": s.E_phi.T.lyapunov(s.Upsilon),
        "block diagonal": sc.diag_of(s.phi * s.M * s.phi.T) + sc.diag_of(s.phi.T * s.Upsilon * s.phi),
    }


def every_hinge(seed=2):
    """A branched tree with a hinge of each kind."""
    mb = sc.random_tree(len(sc.HINGES) + 1, seed=seed)
    assert {type(body.hinge) for body in mb.bodies} == set(sc.HINGES)
    return mb


def with_armature(seed=3):
    """Every second body with dofs has rotors."""
    mb = every_hinge(seed)
    for i, body in enumerate(body for body in mb.bodies if body.hinge.nv):
        if i % 2 == 0:
            body.armature = np.linspace(0.2, 0.5, body.hinge.nv)
    return mb


def part(anchor="rest", seed=5):
    """A branched sub-graph on a moving body."""
    mb = sc.random_tree(14, seed=seed)
    root = next(body for body in mb.bodies if len(body.children) > 1 and body.parent is not mb.root)
    return mb.subgraph(list(root.subtree()), anchor=anchor)


def some_nodes(graph):
    """The body frame of the first body, and nodes further out."""
    names = [graph.bodies[0].name, graph.bodies[-1].name]
    return names + [node.full_name for body in graph.bodies for node in body.nodes][:2]
