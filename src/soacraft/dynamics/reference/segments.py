"""The ways from body to body in steps that each have dofs of their own: a hinge on deforming nodes is three of them.

A hinge frame may ride on a node of a flexible parent, and a node of the body itself may hold it. Then the way from the
parent p to the body k goes over the hinge frames O+ and O, which have no mass:

    p -> O+     along the modes of p      S = Pi(O+)              T = pose of O+ on p
    O+ -> O     along the hinge           S = H_O*                T = the hinge's
    O -> k      along the modes of k      S = -X Pi(O)            X = phi*(O,k)

A step with twists S along its dofs carries V, alpha and f as an edge of a rigid tree does, with u = S w, w the rates:

    V = phi* V(in) + u,   alpha = phi* alpha(in) + S wdot - crm(u) V + Sdot w,   f(in) += phi f,   T += S* f

Along its dof j, phi changes by phi crf(S_j), S by dS_j. A hinge between rigid frames is one step, its frames constant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.model.flat.realize import times
from soacraft.model.hinges.base import H_T_of, bias_of, dbias_of, dH_of, pose_of
from soacraft.model.modal.deformation import Deformation
from soacraft.model.modal.node_derivatives import node_rates
from soacraft.model.states.kinematics import pose_in_body
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.spatial.checks import Array
from soacraft.spatial.transforms import crm, phi


class Twists(NamedTuple):
    """S (..., 6, m) of a step, and how it varies: dS (..., m, 6, m) along each dof, the bias Sdot w (..., 6), and the
    derivatives of that along the dofs and in w, (..., 6, m) each. The last four are None where S is constant.
    """

    S: Array
    dS: Array | None = None
    bias: Array | None = None
    bias_q: Array | None = None
    bias_v: Array | None = None


class Segment(NamedTuple):
    """One step: the number of the one before it (-1: the anchor), the body that it ends at (-1: a hinge frame)."""

    inboard: int
    body: int
    dofs: slice
    A: Array
    twists: Twists


def segments(p: Problem) -> list[Segment]:
    """All steps of a tree at a state, base to tips. O(n)."""
    layout, c = p.layout, p.state.configuration
    flex, hinges, steps = c.flex, _hinges(p), []
    last: dict[int, int] = {-1: -1}  # the step that ends at a body
    place = {} if flex is None else _places(p)
    for k in layout.tree.base_to_tips():
        at, twists = last[layout.parents[k]], hinges[k]
        if k in layout.riding:
            assert flex is not None
            R, l = flex.inboard
            parent, node, frame = layout.parents[k], layout.riding[k], layout.bodies[k].inboard
            rates = Twists(*node_rates(node, frame, flex.eta(parent), flex.rates(p.given["v"], parent)))
            steps.append(Segment(at, -1, _modes(p, parent), phi(R[..., k, :, :], l[..., k, :]), rates))
            at = len(steps) - 1
        over = place[k] if k in place else c.A[..., k, :, :]
        steps.append(Segment(at, -1 if k in layout.held else k, layout.hinge_v[k], over, twists))
        if k in layout.held:
            assert flex is not None
            R, l = flex.outboard
            rates = _held(p, flex, k)
            steps.append(Segment(len(steps) - 1, k, _modes(p, k), phi(R[..., k, :, :], l[..., k, :]), rates))
        last[k] = len(steps) - 1
    return steps


def frame_segment(p: Problem, frame: Frame, inboard: int) -> Segment:
    """The step from a body to a frame on it, which has dofs where the body is flexible."""
    A = phi(*pose_in_body(p.state, frame))
    if frame.modal_node is None:
        return Segment(inboard, -1, slice(0, 0), A, Twists(np.zeros((6, 0))))
    flex = p.state.configuration.flex
    assert isinstance(frame.carrier, Body) and flex is not None
    k = p.layout.index[frame.carrier]
    rates = node_rates(frame.modal_node, frame.offset, flex.eta(k), flex.rates(p.given["v"], k))
    return Segment(inboard, -1, _modes(p, k), A, Twists(*rates))


def _modes(p: Problem, k: int) -> slice:
    """Slice of the modal rates of a flexible body in v."""
    return slice(p.layout.hinge_v[k].stop, p.layout.v_slices[k].stop)


def _held(p: Problem, flex: Deformation, k: int) -> Twists:
    """S = -X Pi, dX_i = -crm(S_i) X: dS_i = -crm(S_i) S - X dPi_i, Sdot w = -X Pidot w."""
    node = node_rates(p.layout.held[k], p.layout.bodies[k].outboard.inv, flex.eta(k), flex.rates(p.given["v"], k))
    X = flex.to_body[..., k, :, :]
    S, bias = -X @ node.Pi, -times(X, node.bias)
    dS = -crm(S.mT) @ S[..., None, :, :] - X[..., None, :, :] @ node.dPi
    return Twists(S, dS, bias, crm(bias) @ S - X @ node.bias_q, -X @ node.bias_v)


def _hinges(p: Problem) -> list[Twists]:
    """Steps of the hinges, at the body or, where a node of it holds the hinge, at the hinge's frame."""
    steps = [Twists(np.zeros((6, 0)))] * p.n
    q, v, layout = p.full("q"), p.full("v"), p.layout
    for group, maps in zip(layout.groups, p.state.configuration.maps, strict=True):
        hinge, bodies, own_q, own_v = group.hinge, group.bodies.tolist(), q[..., group.q_index], v[..., group.v_index]
        held = [i for i, k in enumerate(bodies) if k in layout.held]
        to_body, S = layout.to_body[group.bodies], maps
        if held:
            to_body = np.array(to_body)
            to_body[held] = np.eye(6)
            S = to_body @ H_T_of(hinge, own_q)
        parts = [S]
        if not hinge.constant_H:
            parts += [to_body[:, None] @ dH_of(hinge, own_q), times(to_body, bias_of(hinge, own_q, own_v))]
            parts += [to_body @ x for x in dbias_of(hinge, own_q, own_v)]
        axes = (-3, -4, -2, -3, -3)
        for i, k in enumerate(bodies):
            steps[k] = Twists(*(np.take(x, i, axis=axis) for x, axis in zip(parts, axes, strict=False)))
    return steps


def _places(p: Problem) -> dict[int, Array]:
    """phi of the step over a hinge, where it begins or ends at a frame that moves with modes."""
    layout, q, maps = p.layout, p.full("q"), {}
    for group in layout.groups:
        moved = [(i, k) for i, k in enumerate(group.bodies.tolist()) if k in layout.riding or k in layout.held]
        pose = pose_of(group.hinge, q[..., group.q_index]) if moved else None
        for i, k in moved:
            assert pose is not None
            A = phi(pose.rotation[..., i, :, :], pose.translation[..., i, :])
            if k not in layout.riding:
                A = phi(layout.inboard[0][k], layout.inboard[1][k]) @ A
            if k not in layout.held:
                A = A @ phi(layout.outboard[0][k], layout.outboard[1][k])
            maps[k] = A
    return maps
