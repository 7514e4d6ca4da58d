"""The compiled engine: named algorithms on the kernels of `_core`, for graphs of built-in hinges, rigid or flexible.

Calls that no kernel computes - other functions, a hinge without inertia to move, numbers that overflow - go to the
reference engine, which computes the result or raises the error.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference import REFERENCE
from soacraft.dynamics.reference.inertia import inverse_of_compliance
from soacraft.dynamics.table import TABLE
from soacraft.model.flat.compiled import CompiledModel, kernel_table, passive_in_python
from soacraft.model.modal.bodies import report_turns
from soacraft.model.modal.deformation import Deformation
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.subgraph import SubGraph
from soacraft.spatial.checks import Array

#: A batch with fewer states times bodies than this runs on one thread unless told otherwise.
WORTH_A_THREAD = 20_000

_CORES = os.cpu_count() or 1
_PASSIVE_ALONE = ("passive_force", "passive_energy")
#: Prescribed dofs up to which mixed dynamics of a flexible tree is made of kernels, a solve for each.
FEW_PRESCRIBED = 100
#: Functions made of two kernels where the bodies are flexible.
OPERATIONAL = ("operational_space_compliance", "operational_space_inertia")


class Compiled:
    """Runs the kernels of one compiled model."""

    def __init__(self, model: CompiledModel) -> None:
        self.model = model

    def run(self, p: Problem) -> tuple[Any, ...]:
        """The results, from a kernel where there is one."""
        kernel = kernel_table(self.model.flexible).get(p.function)
        if self.model.flexible:
            report_turns(p.layout, Deformation(p.layout, p.given["q"]))
        result = self._run(p, kernel) if kernel is not None and suits(p, kernel["parts"]) else None
        if kernel is None and self.model.flexible:
            made_of = {**dict.fromkeys(OPERATIONAL, self._operational), "mixed_dynamics": self._mixed}
            result = made_of[p.function](p) if p.function in made_of else None
        return REFERENCE.run(p) if result is None else result

    def _operational(self, p: Problem) -> tuple[Array, ...] | None:
        """J Mcal^-1 J* of a flexible tree by the kernels of both, a solve for each row of J; or its inverse."""
        kernels = kernel_table(flexible=True)
        if not suits(p, kernels["jacobian"]["parts"]):
            return None
        rows_of_nodes = self._run(replace(p, function="jacobian", out=()), kernels["jacobian"])
        if rows_of_nodes is None:
            return None
        J, q = rows_of_nodes[0], p.given["q"]
        arguments = {"q": q if q.ndim == 1 else p.full("q")[..., None, :], "x": J}
        rows = replace(p, function="mass_matrix_solve", given=arguments, batch=J.shape[:-1], nodes=(), out=())
        solved = self._run(rows, kernels["mass_matrix_solve"])
        if solved is None:
            return None
        C = J @ solved[0].mT
        C = 0.5 * (C + C.mT)
        return (C if p.function == OPERATIONAL[0] else inverse_of_compliance(p, C),)

    def _mixed(self, p: Problem) -> tuple[Array, ...] | None:
        """Mixed dynamics of a flexible tree: forward dynamics without the forces at the prescribed dofs, and then those
        that give them their accelerations, T_p = (S Mcal^-1 S*)^-1 (vdot_p - S vdot)."""
        kernels, held = kernel_table(flexible=True), p.prescribed
        assert held is not None
        columns = int(held.sum())
        if not 0 < columns <= FEW_PRESCRIBED or not suits(p, kernels["forward_dynamics"]["parts"]):
            return None
        force = np.where(held, 0.0, p.full("force"))
        arguments = {"q": p.given["q"], "v": p.given["v"], "force": force}
        free = self._run(
            replace(p, function="forward_dynamics", given=arguments, prescribed=None, out=()),
            kernels["forward_dynamics"],
        )
        q = p.given["q"]
        arguments = {"q": q if q.ndim == 1 else p.full("q")[..., None, :], "x": np.eye(p.nv)[held]}
        rows = replace(
            p, function="mass_matrix_solve", given=arguments, batch=(*p.batch, columns), forces=(), passive=False,
            prescribed=None, out=(),
        )  # fmt: skip
        inverse = self._run(rows, kernels["mass_matrix_solve"])
        if free is None or inverse is None:
            return None
        vdot, X, wanted = free[0], inverse[0], p.full("vdot")
        pull = np.linalg.solve(X[..., held], (wanted - vdot)[..., held][..., None])[..., 0]
        vdot = np.where(held, wanted, vdot + np.einsum("...ij,...i->...j", X, pull))
        force[..., held] = pull
        return vdot, force

    def _run(self, p: Problem, kernel: dict[str, tuple[str, ...]]) -> tuple[Array, ...] | None:
        count, row, parts = math.prod(p.batch), TABLE[p.function], kernel["parts"]
        names = iter(row.vectors)
        inputs = [None if axes == "0" else self._rows(p, next(names), count) for axes in kernel["inputs"]]
        q, v, x, y = (*inputs, None, None, None)[:4]
        pull = pull_of(p, count, self.model.flexible_bodies) if p.forces else None
        base, place = base_of(p, "gravity" in parts, "v" in row.vectors), place_of(p)
        tails = row.tails(p)
        to = [
            np.empty((*p.batch, *tail)) if out is None else out
            for tail, out in zip(tails, p.out or (None,) * len(tails), strict=True)
        ]
        rows = tuple(x.reshape(count, math.prod(tail)) for x, tail in zip(to, tails, strict=True))
        if any(np.may_share_memory(x, y) for x in inputs if x is not None for y in rows):
            rows = tuple(np.empty(x.shape) for x in rows)
        frames = np.concatenate([self.model.frame(p.layout, node) for node in p.nodes]) if "nodes" in parts else None
        passive = p.passive or p.function in _PASSIVE_ALONE
        keep = any(out is not None for out in p.out)
        fine = self.model.kernels.run(
            p.function, q, v, x, pull, base, rows, p.threads or self._threads(count), frames, passive, keep,
            y, p.prescribed, place,
        )  # fmt: skip
        return tuple(x.reshape(y.shape) for x, y in zip(rows, to, strict=True)) if fine else None

    def _threads(self, count: int) -> int:
        return min(_CORES, 1 + count * self.model.count // WORTH_A_THREAD)

    @staticmethod
    def _rows(p: Problem, name: str, count: int) -> Array:
        """One row for each state, or one for all."""
        x = p.given[name]
        return np.ascontiguousarray(x if x.ndim == 1 else p.full(name).reshape(count, x.shape[-1]))


def suits(p: Problem, parts: tuple[str, ...]) -> bool:
    """True if a kernel computes the same: results in inertial axes; forces in the axes of their nodes where they turn
    with them, and at nodes that do not deform; at least one node; passive forces of hinges and tendons alone.
    """
    if p.expressed_in != "inertial" or ("nodes" in parts and not p.nodes):
        return False
    if p.function in _PASSIVE_ALONE and passive_in_python(p.layout):
        return False
    if p.passive and p.layout.flexible and p.layout.has_links:
        return False
    if "forces in own axes" not in parts:
        return True
    return all(w.expressed_in is None and frame.modal_node is None for frame, w in p.forces)


def pull_of(p: Problem, count: int, order: Sequence[int] = ()) -> Array:
    """External forces on each body, in its axes, then those on the modes of flexible ones: (count, 6 n + modes)."""
    pull, layout = np.zeros((*p.batch, p.n, 6)), p.layout
    modes = {k: np.zeros((*p.batch, layout.modal(k).n)) for k in layout.flexible}
    for frame, wrench in p.forces:
        k = layout.index[frame.carrier]  # type: ignore[index]
        pull[..., k, :] += p.state.force_on_body(frame, np.asarray(wrench), wrench.expressed_in)
        if k in modes:
            modes[k] += p.state.force_on_modes(frame, np.asarray(wrench), wrench.expressed_in)
    rows = [pull.reshape(count, 6 * p.n), *(modes[k].reshape(count, -1) for k in order)]
    return np.ascontiguousarray(np.concatenate(rows, axis=1))


def base_of(p: Problem, gravity: bool, moving: bool) -> Array:
    """Velocity and acceleration of the parent of the base bodies, in its axes; gravity as an acceleration upwards."""
    base, anchored = np.zeros(12), isinstance(p.graph, SubGraph)
    if gravity:
        base[9:] = -(p.state.configuration.base[0].mT @ p.graph.gravity) if anchored else -p.graph.gravity
    motion = p.state.motion.base if anchored and moving else None
    if motion is not None:
        base[:6] = motion[0]
        base[6:] += motion[1]
    return base


def place_of(p: Problem) -> Array | None:
    """Rotation and translation of the parent of the base bodies; None for the inertial frame."""
    if not isinstance(p.graph, SubGraph):
        return None
    R, x = p.state.configuration.base
    return np.concatenate([R.ravel(), x])


def compiled_engine(graph: Graph) -> Compiled | None:
    """The engine of a graph, made once for its structure; None when it has a hinge of the user's own."""
    model = CompiledModel.any_of(graph.layout)
    return None if model is None else Compiled(model)
