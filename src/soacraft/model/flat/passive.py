"""The forces that a model itself has: springs and dampers in hinges, tendons and between nodes, gravity compensation.

    force = -stiffness (q - rest) - damping v             of a hinge, dof by dof           (`body.passive`)
    force = -c tension                                    of a tendon, L = sum of c q      (`mb.add_tendon`)
    force = J* [0; -compensation m g]                     at the centre of mass of a body  (`body.gravity_compensation`)
    force = J* f                                          of springs between nodes         (`soacraft.model.flat.links`)

The tension is that of `soacraft.model.flat.laws`. q - rest is in the tangent
sense: a rotation vector for a spherical hinge; for a free one the rotation vector, and R* (p - p_rest).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.flat import laws, links
from soacraft.model.flat.layout import Layout
from soacraft.model.flat.realize import times
from soacraft.model.flat.structure import Structure
from soacraft.model.hinges import Free, Spherical
from soacraft.model.hinges.base import Hinge, difference_of, has_coordinates, integrate_of
from soacraft.model.modal.bodies import WithModes
from soacraft.model.states.coordinates import Forces
from soacraft.model.tree.frames.frame import Body, Node
from soacraft.spatial.checks import Array, number_text
from soacraft.spatial.differences import STENCIL
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import quaternion_to_matrix, skew
from soacraft.spatial.transforms import log_rate
from soacraft.spatial.wrench import Wrench

if TYPE_CHECKING:
    from soacraft.model.states.state import State



def refuse_rolling(layout: Layout) -> None:
    """Raise `ModelError` for a spring in a nonholonomic hinge."""
    body = layout.sprung_in_vain
    if body is not None:
        raise ModelError(
            f"hinge {body.hinge_name!r} ({body.hinge!r}) has a spring (stiffness "
            f"{number_text(body.passive.stiffness)}), but it is nonholonomic: its position is not a function of its "
            "dofs, so there is no displacement along them. Give it no stiffness; damping is fine. Dynamics with "
            "passive=False leaves springs and dampers out."
        )


# -- forces along dofs --------------------------------------------------------------------------------------------


def along_dofs(layout: Layout, q: Array, v: Array) -> Array:
    """The forces of springs and dampers, (..., nv). O(n)."""
    refuse_rolling(layout)
    force = np.zeros((*np.broadcast_shapes(q.shape[:-1], v.shape[:-1]), layout.nv))
    for k in layout.sprung:
        body, at, where = layout.bodies[k], layout.hinge_q[k], layout.hinge_v[k]
        passive = body.passive
        force[..., where] -= passive.damping * v[..., where]
        if passive.stiffness.any():
            force[..., where] -= passive.stiffness * displacement(body, q[..., at])
    for tendon, at_q, at_v, c in layout.pulls:
        length, rate = q[..., at_q] @ c, v[..., at_v] @ c
        force[..., at_v] -= laws.tension(tendon, length, rate)[..., None] * c
    return force


def along_dofs_derivatives(layout: Layout, q: Array, v: Array) -> tuple[Array, Array]:
    """The derivatives of `along_dofs` along the dofs and in v, (..., nv, nv) each."""
    refuse_rolling(layout)
    shape = (*np.broadcast_shapes(q.shape[:-1], v.shape[:-1]), layout.nv, layout.nv)
    dq, dv = np.zeros(shape), np.zeros(shape)
    for k in layout.sprung:
        body, at, where = layout.bodies[k], layout.hinge_q[k], layout.hinge_v[k]
        passive = body.passive
        dv[..., where, where] -= np.diag(passive.damping)
        if passive.stiffness.any():
            dq[..., where, where] -= passive.stiffness[:, None] * displacement_rate(body, q[..., at])
    for tendon, at_q, at_v, c in layout.pulls:
        stiffness, damping = laws.slopes(tendon, q[..., at_q] @ c, v[..., at_v] @ c)
        rows, columns = at_v[:, None], at_v
        dq[..., rows, columns] -= stiffness[..., None, None] * np.outer(c, c)
        dv[..., rows, columns] -= damping[..., None, None] * np.outer(c, c)
    return dq, dv


def energy_along_dofs(layout: Layout, q: Array) -> Array:
    """k |q - rest|^2 / 2, summed over hinges and tendons, (...)."""
    refuse_rolling(layout)
    total = np.zeros(q.shape[:-1])
    for k in layout.sprung:
        body = layout.bodies[k]
        if body.passive.stiffness.any():
            total += 0.5 * displacement(body, q[..., layout.hinge_q[k]]) ** 2 @ body.passive.stiffness
    for tendon, at_q, _, c in layout.pulls:
        total += laws.energy(tendon, q[..., at_q] @ c)
    return total


def displacement(body: Body, q: Array) -> Array:
    """q - rest of a hinge in the tangent sense (..., nv)."""
    hinge, rest = body.hinge, rest_of(body)
    if not isinstance(hinge, Free):
        return difference_of(hinge, rest, q)
    turn = difference_of(Spherical(), rest[:4], q[..., :4])
    travel = times(quaternion_to_matrix(q[..., :4]).mT, q[..., 4:] - rest[4:])
    return np.concatenate([turn, travel], axis=-1)


def displacement_rate(body: Body, q: Array) -> Array:
    """Derivative of `displacement` along the dofs, (..., nv, nv).

    I for true coordinates; the rate of the rotation vector for a spherical hinge; [[., 0], [u~, I]] for a free one
    with the travel u.
    """
    hinge = body.hinge
    if has_coordinates(hinge) and type(hinge).difference is Hinge.difference:
        return np.eye(hinge.nv)
    if not isinstance(hinge, Spherical | Free):
        return _differences(body, q)
    u = displacement(body, q)
    turn = log_rate(u[..., :3])
    if isinstance(hinge, Spherical):
        return turn
    rate = np.zeros((*u.shape[:-1], 6, 6))
    rate[..., :3, :3], rate[..., 3:, :3], rate[..., 3:, 3:] = turn, skew(u[..., 3:]), np.eye(3)
    return rate


def rest_of(body: Body) -> Array:
    """Coordinates at which the springs of a hinge are relaxed."""
    rest = body.passive.rest
    return np.asarray(body.hinge.neutral(), dtype=np.float64) if rest is None else rest


def _differences(body: Body, q: Array) -> Array:
    """Rate of the displacement for a hinge of the user's own: central differences along `integrate`."""
    hinge, columns = body.hinge, []
    for e in np.eye(hinge.nv):
        total = np.zeros((*q.shape[:-1], hinge.nv))
        for i, weight in STENCIL:
            step = np.broadcast_to(i * hinge.difference_step * e, (*q.shape[:-1], hinge.nv))
            ahead, behind = (displacement(body, integrate_of(hinge, q, x)) for x in (step, -step))
            total += weight * (ahead - behind)
        columns.append(total / hinge.difference_step)
    return np.stack(columns, axis=-1)


# -- forces on bodies ---------------------------------------------------------------------------------------------


def compensation(graph: Structure) -> Forces:
    """-compensation m g at the centre of mass of each body that has it, in inertial axes."""
    return tuple(
        (
            Node(body, "center of mass", Pose(translation=body.inertia.com)),
            Wrench(np.zeros(3), -body.gravity_compensation * body.inertia.mass * graph.gravity, graph.root),
        )
        for body in graph.layout.compensated
    )


def springs_and_dampers(state: State) -> Array:
    """All but gravity compensation as one generalized force, (..., nv). O(n)."""
    c = state.configuration
    force = along_dofs(c.layout, c.q, state.motion.v)
    return force + links.along_dofs(state) if c.layout.has_links else force


def passive_force(state: State) -> Array:
    """All of them as one generalized force, (..., nv). O(n)."""
    c = state.configuration
    layout = c.layout
    force = springs_and_dampers(state)
    pulls = compensation(state.graph)
    if not pulls:
        return force
    f = np.zeros((*c.world[0].shape[:-3], layout.n, 6))
    for frame, wrench in pulls:
        assert isinstance(frame.carrier, Body)
        f[..., layout.index[frame.carrier], :] += state.force_on_body(frame, np.asarray(wrench), wrench.expressed_in)
    return force + c.projected(WithModes(f, {}))


def has_passive(graph: Structure) -> bool:
    """True if the model itself has springs, dampers, tendons or gravity compensation; elastic bodies aside."""
    layout = graph.layout
    return bool(layout.sprung or layout.tendons or layout.has_links or layout.compensated)
