"""Quantities that can be differentiated along parameters: each from the sweep of `tangent`, with q, v and vdot
constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from soacraft.analysis.parametric.tangent import (
    Directions,
    Tangent,
    directions,
    inward,
    node_twists,
    origin_rate,
    outward,
)
from soacraft.analysis.parametric.vocabulary import Found
from soacraft.dynamics.arguments import read_nodes, read_passive, read_problem
from soacraft.dynamics.forces import forward_dynamics
from soacraft.dynamics.inertias import mass_matrix_inverse, mass_matrix_solve
from soacraft.dynamics.nodes import jacobian
from soacraft.dynamics.problem import Problem
from soacraft.dynamics.system import center_of_mass
from soacraft.errors import ModelError, StateError
from soacraft.model.flat import links
from soacraft.model.flat.realize import times
from soacraft.model.states.kinematics import pose_of_frame
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import skew


def _problem(
    graph: Graph, options: dict[str, Any], q: Any, v: Any = None, vdot: Any = None, forces: Found = ()
) -> Problem:
    """A problem with q, v and vdot, zero where not given; for derivatives of forces along `forces`, with what acts."""
    if not graph.layout.rigid:
        flexible = next(body.name for body in graph.bodies if body._own)
        raise ModelError(
            f"parameter_derivatives: {flexible!r} of {graph.name!r} is flexible, and these are derivatives of rigid "
            "bodies; give a function of the model: its derivatives are taken by differences."
        )
    zero = np.zeros(graph.nv)
    p = read_problem(
        "parameter_derivatives", graph, q=q, v=zero if v is None else v, vdot=zero if vdot is None else vdot,
        f_ext=options["f_ext"] if forces else None, stored=bool(forces), ignore_loops=options["ignore_loops"],
    )  # fmt: skip
    if forces:
        p.passive = read_passive("parameter_derivatives", graph, options["passive"])  # compensation changes with mass
        if p.passive and p.layout.has_links:
            _refuse_moved_links(graph, forces)
            p.forces += links.forces(p.state)
    return p


def _refuse_moved_links(graph: Graph, parameters: Found) -> None:
    """Raise `StateError` where springs between nodes would be stretched by a change of geometry."""
    moving = next((x.name for x in parameters if x.kind in ("inboard", "outboard", "axis", "pose")), None)
    if moving is not None:
        raise StateError(
            f"parameter_derivatives: {moving!r} moves the ends of springs or bushings between nodes of {graph.name!r}, "
            "whose change is not known here. Pass passive=False to leave them out, or give a function of the model: "
            "its derivatives are taken by differences."
        )


def _swept(p: Problem, parameters: Found) -> tuple[Directions, Tangent]:
    d = directions(p, parameters)
    return d, outward(p, d)


def _generalized_force(p: Problem, parameters: Found) -> Array:
    d, t = _swept(p, parameters)
    return inward(p, d, t)


def _inverse_dynamics(graph: Graph, parameters: Found, options: dict[str, Any], q: Any, v: Any, vdot: Any) -> Array:
    return _generalized_force(_problem(graph, options, q, v, vdot, parameters), parameters)


def _bias_force(graph: Graph, parameters: Found, options: dict[str, Any], q: Any, v: Any) -> Array:
    return _generalized_force(_problem(graph, options, q, v, forces=parameters), parameters)


def _gravity_force(graph: Graph, parameters: Found, options: dict[str, Any], q: Any) -> Array:
    p = _problem(graph, options, q)
    if p.state.motion.base is not None:
        raise StateError(
            f"parameter_derivatives of gravity_force: {graph.name!r} has a moving anchor, whose acceleration is not "
            "separated from gravity here; take the sub-graph with anchor='rest'."
        )
    return _generalized_force(p, parameters)


def _forward_dynamics(graph: Graph, parameters: Found, options: dict[str, Any], q: Any, v: Any, force: Any) -> Array:
    """-Mcal^-1 dT at the vdot of the force."""
    vdot = forward_dynamics(graph, q, v, force, options["f_ext"], passive=options["passive"],
                            ignore_loops=options["ignore_loops"])  # fmt: skip
    dT = _inverse_dynamics(graph, parameters, options, q, v, vdot)
    return -_solved(graph, q, dT, options)


def _solved(graph: Graph, q: Any, columns: Array, options: dict[str, Any]) -> Array:
    """Mcal^-1 times columns (..., nv, c)."""
    first = np.moveaxis(columns, -1, 0)
    return np.moveaxis(mass_matrix_solve(graph, q, first, ignore_loops=options["ignore_loops"]), 0, -1)


def _mass_matrix(graph: Graph, parameters: Found, options: dict[str, Any], q: Any) -> Array:
    """The force of each unit acceleration at rest, less that of gravity."""
    p = _problem(graph, options, q)
    units = np.concatenate([np.eye(graph.nv), np.zeros((1, graph.nv))])
    dT = _generalized_force(_problem(graph, options, p.full("q")[..., None, :], vdot=units), parameters)
    return np.moveaxis(dT[..., :-1, :, :] - dT[..., -1:, :, :], -3, -2)


def _mass_matrix_inverse(graph: Graph, parameters: Found, options: dict[str, Any], q: Any) -> Array:
    """-Mcal^-1 dMcal Mcal^-1."""
    inverse = mass_matrix_inverse(graph, q, ignore_loops=options["ignore_loops"])
    d = _mass_matrix(graph, parameters, options, q)
    return -np.asarray(np.einsum("...ij,...jkc,...kl->...ilc", inverse, d, inverse))


def _log_det_mass_matrix(graph: Graph, parameters: Found, options: dict[str, Any], q: Any) -> Array:
    """tr(Mcal^-1 dMcal)."""
    inverse = mass_matrix_inverse(graph, q, ignore_loops=options["ignore_loops"])
    return np.asarray(np.einsum("...ij,...jic->...c", inverse, _mass_matrix(graph, parameters, options, q)))


def _jacobian(graph: Graph, parameters: Found, options: dict[str, Any], q: Any, nodes: Any) -> Array:
    """The velocity of the nodes for each unit velocity, less that at rest."""
    frames = read_nodes("parameter_derivatives", graph, nodes)
    units = np.concatenate([np.eye(graph.nv), np.zeros((1, graph.nv))])
    p = _problem(graph, options, _problem(graph, options, q).full("q")[..., None, :], units)
    d, t = _swept(p, parameters)
    rows = [node_twists(p, d, t, frame, p.state.motion.V, t.V)[1] for frame in frames]
    dV = np.concatenate(rows, axis=-2)
    return np.moveaxis(dV[..., :-1, :, :] - dV[..., -1:, :, :], -3, -2)


def _compliance(graph: Graph, parameters: Found, options: dict[str, Any], q: Any, nodes: Any) -> Array:
    """d (J Mcal^-1 J*) = dJ X + (dJ X)* - X* dMcal X with X = Mcal^-1 J*."""
    J = jacobian(graph, q, nodes)
    X = _solved(graph, q, np.asarray(J).mT, options)
    one = np.einsum("...ajc,...jb->...abc", _jacobian(graph, parameters, options, q, nodes), X)
    inner = np.einsum("...ja,...jkc,...kb->...abc", X, _mass_matrix(graph, parameters, options, q), X)
    return np.asarray(one + np.swapaxes(one, -2, -3) - inner)


def _node_motion(
    graph: Graph, parameters: Found, options: dict[str, Any], q: Any, v: Any, vdot: Any, nodes: Any
) -> tuple[Array, Array, Array]:
    frames = read_nodes("parameter_derivatives", graph, nodes)
    p = _problem(graph, options, q, v, vdot)
    d, t = _swept(p, parameters)
    places, velocities, accelerations = [], [], []
    for frame in frames:
        V, dV = node_twists(p, d, t, frame, p.state.motion.V, t.V)
        alpha, dalpha = node_twists(p, d, t, frame, p.state.alpha, t.alpha)
        zero = np.zeros((*t.D.shape[:-2], 6))
        places.append(node_twists(p, d, t, frame, zero, t.D)[1] + _own_place(p, d, frame))
        velocities.append(dV)
        accelerations.append(origin_rate(V, dV, alpha, dalpha))
    return np.stack(places, axis=-3), np.stack(velocities, axis=-3), np.stack(accelerations, axis=-3)


def _own_place(p: Problem, d: Directions, frame: Any) -> Array:
    """The displacement of a node in its body, in inertial axes."""
    if frame not in d.nodes:
        return np.zeros((6, d.pi.shape[-1]))
    R = pose_of_frame(p.state, frame)[0]
    return np.concatenate([R @ d.nodes[frame][:3], R @ d.nodes[frame][3:]], axis=-2)


def _kinetic_energy(graph: Graph, parameters: Found, options: dict[str, Any], q: Any, v: Any) -> Array:
    """V* M dV + V* dM V / 2 + v* dJ v / 2."""
    p = _problem(graph, options, q, v)
    d, t = _swept(p, parameters)
    V, vs = p.state.motion.V, p.given["v"]
    P = times(p.layout.M, V)
    total = np.einsum("...na,...nac->...c", P, t.V) + 0.5 * np.einsum("...nac,...na->...c", _momenta(d, V), V)
    return np.asarray(total + 0.5 * np.einsum("...v,vc->...c", vs * vs, d.dofs["armature"]))


def _momenta(d: Directions, V: Array) -> Array:
    """dM V of every body for each direction, (..., n, 6, c)."""
    m, h, J = d.pi[:, 0], d.pi[:, 1:4], d.pi[:, 4:]
    full = J[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(len(J), 3, 3, -1)
    w, u = V[..., :3], V[..., 3:]
    angular = np.einsum("nabc,...nb->...nac", full, w) - skew(u) @ h  # (m c) x u
    linear = m[:, None, :] * u[..., None] + skew(w) @ h  # w x (m c)
    return np.concatenate([angular, linear], axis=-2)


def _first_moments(p: Problem, d: Directions, t: Tangent) -> Array:
    """d sum m (position of the centre), inertial axes, (..., 3, c)."""
    R, place = p.state.configuration.world
    m = np.array([body.inertia.mass for body in p.layout.bodies])
    c = np.array([body.inertia.com for body in p.layout.bodies])
    # p + R c moves by R (D_v + D_w x c)
    moved_by = R @ (m[:, None, None] * (t.D[..., 3:, :] - skew(c) @ t.D[..., :3, :]) + d.pi[:, 1:4])
    return np.asarray((moved_by + place[..., None] * d.pi[:, :1]).sum(axis=-3))


def _potential_energy(graph: Graph, parameters: Found, options: dict[str, Any], q: Any) -> Array:
    """-g . d sum m c."""
    p = _problem(graph, options, q)
    return np.asarray(np.einsum("a,...ac->...c", p.graph.gravity, -_first_moments(p, *_swept(p, parameters))))


def _center_of_mass(graph: Graph, parameters: Found, options: dict[str, Any], q: Any) -> Array:
    """(d sum m c - (sum dm) c) / sum m."""
    c = center_of_mass(graph, q)  # refuses a model without mass
    p = _problem(graph, options, q)
    d, t = _swept(p, parameters)
    mass = sum(body.inertia.mass for body in p.layout.bodies)
    return np.asarray((_first_moments(p, d, t) - c[..., None] * d.pi[:, 0].sum(axis=0)) / mass)


#: Quantities in which forces that act on bodies have a part.
WITH_FORCES = ("inverse_dynamics", "forward_dynamics", "bias_force")
#: Quantities with known derivatives: the arguments of the function, and the function that gives them.
QUANTITIES: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    "inverse_dynamics": (("q", "v", "vdot"), _inverse_dynamics),
    "forward_dynamics": (("q", "v", "force"), _forward_dynamics),
    "bias_force": (("q", "v"), _bias_force),
    "gravity_force": (("q",), _gravity_force),
    "mass_matrix": (("q",), _mass_matrix),
    "mass_matrix_inverse": (("q",), _mass_matrix_inverse),
    "log_det_mass_matrix": (("q",), _log_det_mass_matrix),
    "jacobian": (("q", "nodes"), _jacobian),
    "operational_space_compliance": (("q", "nodes"), _compliance),
    "node_motion": (("q", "v", "vdot", "nodes"), _node_motion),
    "kinetic_energy": (("q", "v"), _kinetic_energy),
    "potential_energy": (("q",), _potential_energy),
    "center_of_mass": (("q",), _center_of_mass),
}
