"""Jacobians of nodes as seen from another frame, which may move: between two hands, from a camera.

    V_rel = [w - w_to; v - v_to - w_to x r],   J_rel = [Jw - Jw_to; Jv - Jv_to + r~ Jw_to],   r from `to` to the node

`soacraft.dynamics.jacobian` and `jacobian_dot_v` have the documentation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.dynamics.arguments import read_axes, read_nodes, read_problem
from soacraft.dynamics.delivery import deliver, read_out, refuse_large_results
from soacraft.dynamics.engine import answer
from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.kinematics import both
from soacraft.dynamics.table import TABLE
from soacraft.model.states.kinematics import pose_of_frame, relative_acceleration
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.frames.moving_frame import MovingFrame, seen_frame
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import skew


def relative_jacobian(
    g: Any, q: Any, nodes: Any, expressed_in: Any, relative_to: Any, out: Any, threads: Any, ignore_loops: Any
) -> Array:
    """The Jacobian of nodes relative to a frame."""
    frames, axes, to = _frames("jacobian", g, nodes, expressed_in, relative_to)
    arguments = {"q": q, "threads": threads, "ignore_loops": ignore_loops}
    rigid = [*frames, *([to] if isinstance(to.carrier, Body) else [])]
    both_ends = read_problem("jacobian", g, nodes=tuple(rigid), expressed_in="inertial", **arguments)
    p = read_problem("jacobian", g, nodes=frames, expressed_in="inertial", **arguments)
    tails = _prepared(p, out)
    J = np.array(answer(both_ends, None))
    with np.errstate(all="ignore"):
        J_to = J[..., -6:, :] if len(rigid) > len(frames) else np.zeros((6, p.nv))
        x_to, rows = pose_of_frame(p.state, to)[1], []
        for i, node in enumerate(frames):
            J_node, r = J[..., 6 * i : 6 * i + 6, :], pose_of_frame(p.state, node)[1] - x_to
            seen = J_node - J_to
            seen[..., 3:, :] += skew(r) @ J_to[..., :3, :]
            rows.append(both(_axes(p, axes, node), seen))
        result = np.concatenate([np.zeros((*p.batch, 0, p.nv)), *rows], axis=-2)
    return _delivered(p, result, tails)


def relative_jacobian_dot_v(
    g: Any, q: Any, v: Any, nodes: Any, expressed_in: Any, relative_to: Any, out: Any, threads: Any, ignore_loops: Any
) -> Array:
    """Accelerations of nodes at vdot = 0, differentiated in a frame."""
    frames, axes, to = _frames("jacobian_dot_v", g, nodes, expressed_in, relative_to)
    still = np.zeros(g.nv)
    p = read_problem(
        "jacobian_dot_v", g, nodes=frames, expressed_in="inertial", q=q, v=v, vdot=still, threads=threads,
        ignore_loops=ignore_loops,
    )  # fmt: skip
    tails, parts = _prepared(p, out), []
    with np.errstate(all="ignore"):
        for node in frames:
            angular, linear = np.broadcast_arrays(*relative_acceleration(p.state, node, to))
            twist = np.broadcast_to(np.concatenate([angular, linear], axis=-1), (*p.batch, 6))
            parts.append(both(_axes(p, axes, node), twist[..., None])[..., 0])
        result = np.concatenate([np.zeros((*p.batch, 0)), *parts], axis=-1)
    return _delivered(p, result, tails)


def _frames(
    function: str, g: Any, nodes: Any, expressed_in: Any, relative_to: Any
) -> tuple[tuple[Frame, ...], Frame | str, Frame]:
    frames = read_nodes(function, g, nodes)
    to = g.root if relative_to is None else seen_frame(g, relative_to)
    if expressed_in is None:
        return frames, "inertial" if to is g.root else to, to
    moving = isinstance(expressed_in, MovingFrame)
    return frames, seen_frame(g, expressed_in) if moving else read_axes(function, g, expressed_in, "node"), to


def _axes(p: Problem, axes: Frame | str, node: Frame) -> Array:
    """The rotation (..., 3, 3) from inertial axes to the axes asked for."""
    if axes == "inertial":
        return np.eye(3)
    return pose_of_frame(p.state, axes if isinstance(axes, Frame) else node)[0].mT


def _prepared(p: Problem, out: Any) -> tuple[tuple[int, ...], ...]:
    tails = TABLE[p.function].tails(p)
    read_out(p, out, tails)
    refuse_large_results(p, tails)
    return tails


def _delivered(p: Problem, result: Array, tails: tuple[tuple[int, ...], ...]) -> Array:
    p.require_steady()
    return deliver(p, (result,), tails)[0]
