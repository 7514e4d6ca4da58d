"""Mixed dynamics of closed chains by compiled code: each prescribed dof is a driven coupling behind the closures.

    vdot_i = given,   its row of Gc is e_i,   its multiplier is minus the force that it takes

In: forces and accelerations, the prescribed dofs, what drives closures. Out: vdot and the force of each state, and
where they hold. The answer depends on no solver, so all of them take this one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.dynamics.compiled import pull_of
from soacraft.dynamics.problem import Problem
from soacraft.kinematics.compiled import CompiledClosures
from soacraft.kinematics.tasks import Drives
from soacraft.loops.results import Result
from soacraft.spatial.checks import Array


class Prescribed:
    """The compiled form for some prescribed dofs."""

    def __init__(self, plan: CompiledClosures, dofs: Sequence[int]) -> None:
        self.plan, self.dofs, self._count = plan, np.array(dofs, dtype=np.intp), len(dofs)
        closures = plan.plan.closures
        self._names, self._end = closures.couplings[len(closures.couplings) - self._count :], closures.forces
        self._nv = len(closures.units)
        self._nowhere = np.full(len(closures.loops) + len(closures.couplings), -1, dtype=np.int64)
        self._call = plan.call(Result, self)

    def at_once(
        self, theta: Array, p: Problem, drives: Sequence[Drives]
    ) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
        """vdot and force of all states, (count, nv) each, and where they hold."""
        count = math.prod(p.batch)
        q, v, force, vdot = (x.reshape(count, x.shape[-1]) for x in map(p.full, ("q", "v", "force", "vdot")))
        acting = np.array(force)
        acting[:, self.dofs] = 0.0
        motions = [
            {**one, **{name: (v[n, [i]], vdot[n, [i]]) for name, i in zip(self._names, self.dofs, strict=True)}}
            for n, one in enumerate(drives)
        ]
        q, v = np.ascontiguousarray(q), np.ascontiguousarray(v)
        pull = pull_of(p, count, self.plan.flexible_bodies) if p.forces else None
        answer, rest, _, fine = self.plan.run(q, v, acting, pull, theta, None, p.passive, self.plan.driven(motions))
        acting[:, self.dofs] = -rest[:, self._end - self._count : self._end]
        return answer, acting, fine

    def one(
        self, q: Any, v: Any, force: Any, vdot: Any, theta: Array, passive: bool, U: Any = None
    ) -> tuple[Array, Array, Array | None] | None:
        """vdot and force of one state, from plain arrays, and the coordinates of closures' hinges where they are
        followed; None for what must be read with care, and where compiled code is not sure.
        """
        shape = (self._nv,)
        if not all(type(x) is np.ndarray and x.dtype == np.float64 and x.shape == shape for x in (v, force, vdot)):
            return None
        if not math.isfinite(float(force @ force)) or not math.isfinite(float(vdot @ vdot)):
            return None
        place, rates = self._nowhere.copy(), np.zeros(0)
        if U is not None:
            drives = self.plan.driven_plainly(U)
            if drives is None or drives[0][len(place) - self._count :].max() >= 0:
                return None
            place, rates = drives
        place[len(place) - self._count :] = len(rates) + 2 * np.arange(self._count)
        acting, motion = force.copy(), np.empty((self._count, 2))
        acting[self.dofs] = 0.0
        motion[:, 0], motion[:, 1] = v[self.dofs], vdot[self.dofs]
        result = self._call(q, v, acting, theta, passive, place, np.concatenate([rates, motion.ravel()]))
        if result is None:
            return None
        acting[self.dofs] = -result._rest[self._end - self._count : self._end]
        return result.vdot, acting, result._theta


def key_of(dofs: Any) -> Any:
    """Key of plain masks and names of dofs; None for others."""
    if type(dofs) is np.ndarray and dofs.dtype == np.bool_ and dofs.ndim == 1:
        return dofs.tobytes()
    if type(dofs) in (list, tuple) and all(type(x) is str for x in dofs):
        return tuple(dofs)
    return None
