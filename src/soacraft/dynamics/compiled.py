"""The compiled engine: named algorithms on the kernels of `_core`, for graphs of built-in hinges.

What a kernel does not answer - functions it has none for, a hinge without inertia to move, numbers that overflow - goes
to the reference engine, which works it out or says what is wrong.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference import REFERENCE
from soacraft.model.compiled import CompiledModel, kernel_names
from soacraft.model.interface import Graph
from soacraft.model.subgraph import SubGraph
from soacraft.spatial.checks import Array


#: What a kernel is given for a function: its name, its inputs (None: zeros), whether gravity and the anchor, whether
#: external forces take part, and the tails of its results.
@dataclass(frozen=True)
class Use:
    kernel: str
    inputs: tuple[str | None, ...]
    based: bool = False
    pulled: bool = False
    tails: tuple[str, ...] = ("v",)


USES: dict[str, Use] = {
    "inverse_dynamics": Use("inverse_dynamics", ("q", "v", "vdot"), based=True, pulled=True),
    "bias_force": Use("inverse_dynamics", ("q", "v", None), based=True, pulled=True),
    "gravity_force": Use("inverse_dynamics", ("q", None, None), based=True),
    "mass_matrix_multiply": Use("inverse_dynamics", ("q", None, "x")),
    "forward_dynamics": Use("forward_dynamics", ("q", "v", "force"), based=True, pulled=True),
    "mass_matrix_solve": Use("forward_dynamics", ("q", None, "x")),
    "mass_matrix": Use("mass_matrix", ("q",), tails=("vv",)),
    "mass_matrix_inverse": Use("mass_matrix_inverse", ("q",), tails=("vv",)),
    "inverse_dynamics_derivatives": Use(
        "inverse_dynamics_derivatives", ("q", "v", "vdot"), based=True, pulled=True, tails=("vv", "vv", "vv")
    ),
    "forward_dynamics_derivatives": Use(
        "forward_dynamics_derivatives", ("q", "v", "force"), based=True, pulled=True, tails=("vv", "vv", "vv")
    ),
    "mass_matrix_gradient": Use("mass_matrix_gradient", ("q",), tails=("vvv",)),
    "coriolis_matrix": Use("coriolis_matrix", ("q", "v"), tails=("vv",)),
    "log_det_mass_matrix": Use("log_det_mass_matrix", ("q",), tails=("",)),
    "log_det_gradient": Use("log_det_gradient", ("q",)),
    "passive_force": Use("passive_force", ("q", "v")),
    "poses": Use("poses", ("q",), tails=("n33", "n3")),
    "jacobian": Use("jacobian", ("q",), tails=("6v",)),
}

#: A batch with fewer states times bodies than this runs on one thread unless told otherwise.
WORTH_A_THREAD = 20_000

_KERNELS = frozenset(kernel_names())
_CORES = os.cpu_count() or 1
_FROM_ANCHOR = ("poses", "jacobian")  # kernels see a sub-graph from its anchor


class Compiled:
    """Runs the kernels of one compiled model."""

    def __init__(self, model: CompiledModel) -> None:
        self.model = model

    def run(self, p: Problem) -> tuple[Any, ...]:
        """The results, from a kernel where there is one."""
        if p.function == "operational_space_compliance":
            compliance = self._compliance(p)
            return REFERENCE.run(p) if compliance is None else (compliance,)
        use = USES.get(p.function)
        found = self._run(p, use) if use is not None and use.kernel in _KERNELS and self._suits(p, use) else None
        return REFERENCE.run(p) if found is None else found

    def _compliance(self, p: Problem) -> Array | None:
        """Of one state, seen from the inertial frame."""
        if p.batch or not p.nodes or not p.nv or p.expressed_in != "inertial" or isinstance(p.graph, SubGraph):
            return None
        return self.model.compliance(p.layout, p.given["q"], p.nodes)

    def _suits(self, p: Problem, use: Use) -> bool:
        """Whether the kernel means the same: forces of derivatives turn with their body, a Jacobian is of one node, and
        gravity compensation is none of its passive forces."""
        if use.kernel == "jacobian":
            return len(p.nodes) == 1 and p.expressed_in == "inertial"
        if use.kernel == "passive_force":
            return not p.layout.compensated and p.layout.sprung_in_vain is None
        return not use.kernel.endswith("derivatives") or all(w.expressed_in is None for _, w in p.forces)

    def _run(self, p: Problem, use: Use) -> tuple[Array, ...] | None:
        count = math.prod(p.batch)
        zero = np.zeros(p.nv)
        given = [zero if name is None else self._rows(p, name, count) for name in use.inputs]
        q, v, x = (*given, None, None)[:3]
        pull = pull_of(p, count) if use.pulled and p.forces else None
        base = base_of(p, moving="v" in use.inputs) if use.based else np.zeros(12)
        tails = [self._tail(p, tail) for tail in use.tails]
        to = [
            np.empty((*p.batch, *tail)) if out is None else out
            for tail, out in zip(tails, p.out or (None,) * len(tails), strict=True)
        ]
        rows = tuple(x.reshape(count, math.prod(tail)) for x, tail in zip(to, tails, strict=True))
        moved = isinstance(p.graph, SubGraph) and p.function in _FROM_ANCHOR
        if moved or any(np.may_share_memory(x, y) for x in given for y in rows):
            rows = tuple(np.empty(x.shape) for x in rows)
        frame = self.model.frame(p.layout, p.nodes[0]) if use.kernel == "jacobian" else None
        threads = p.threads or self._threads(count)
        passive = p.passive or use.kernel == "passive_force"
        keep = any(out is not None for out in p.out)
        if not self.model.kernels.run(use.kernel, q, v, x, pull, base, rows, threads, frame, passive, keep):
            return None
        found = tuple(x.reshape(y.shape) for x, y in zip(rows, to, strict=True))
        if not moved:
            return found
        with np.errstate(all="ignore"):
            return self._from_anchor(p, found)

    @staticmethod
    def _tail(p: Problem, tail: str) -> tuple[int, ...]:
        sizes = {"v": p.nv, "n": p.n, "3": 3, "6": 6}
        return tuple(sizes[letter] for letter in tail)

    @staticmethod
    def _from_anchor(p: Problem, found: tuple[Array, ...]) -> tuple[Array, ...]:
        """Kernels see a sub-graph from its anchor; poses and Jacobians are asked for in the inertial frame."""
        R0, p0 = p.state.configuration.base
        if p.function == "jacobian":
            J = found[0]
            return (np.concatenate([R0 @ J[..., :3, :], R0 @ J[..., 3:, :]], axis=-2),)
        R, x = found
        return R0 @ R, p0 + (R0 @ x[..., None])[..., 0]

    def _threads(self, count: int) -> int:
        return min(_CORES, 1 + count * self.model.count // WORTH_A_THREAD)

    @staticmethod
    def _rows(p: Problem, name: str, count: int) -> Array:
        """One row for each state, or one for all."""
        x = p.given[name]
        return np.ascontiguousarray(x if x.ndim == 1 else p.full(name).reshape(count, x.shape[-1]))


def pull_of(p: Problem, count: int) -> Array:
    """External forces on each body, in its axes: (count, 6 n)."""
    pull = np.zeros((*p.batch, p.n, 6))
    for frame, wrench in p.forces:
        k = p.layout.index[frame.carrier]  # type: ignore[index]
        pull[..., k, :] += p.state.force_on_body(frame, np.asarray(wrench), wrench.expressed_in)
    return pull.reshape(count, 6 * p.n)


def base_of(p: Problem, moving: bool) -> Array:
    """Velocity and acceleration of what the base bodies hang from, in its axes; gravity as an acceleration upwards."""
    base = np.zeros(12)
    if not isinstance(p.graph, SubGraph):
        base[9:] = -p.graph.gravity
        return base
    R = p.state.configuration.base[0]
    base[9:] = -(R.mT @ p.graph.gravity)
    motion = p.state.motion.base if moving else None
    if motion is not None:
        base[:6] = motion[0]
        base[6:] += motion[1]
    return base


def compiled_engine(graph: Graph) -> Compiled | None:
    """The engine of a graph, made once for its structure; None when it has a hinge of the user's own."""
    model = CompiledModel.of(graph.layout)
    return None if model is None else Compiled(model)
