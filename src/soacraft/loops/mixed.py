"""Mixed dynamics of closed chains by compiled code: each prescribed dof is a driven coupling behind the closures.

    vdot_i = given,   its row of Gc is e_i,   its multiplier is minus the force that it takes

In: a problem with forces and accelerations, the prescribed dofs, what drives closures. Out: vdot and the force of each
state, and where they hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from soacraft.dynamics.compiled import pull_of
from soacraft.dynamics.problem import Problem
from soacraft.kinematics.compiled import CompiledClosures
from soacraft.kinematics.tasks import PRESCRIBED, Drives
from soacraft.spatial.checks import Array


def mixed(
    plan: CompiledClosures, theta: Array, p: Problem, dofs: Sequence[int], drives: Sequence[Drives]
) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """vdot and force, (count, nv) each, and where they hold, for a plan with these dofs prescribed."""
    count = math.prod(p.batch)
    q, v, force, vdot = (x.reshape(count, x.shape[-1]) for x in map(p.full, ("q", "v", "force", "vdot")))
    acting = np.array(force)
    acting[:, dofs] = 0.0
    names = plan.plan.closures.couplings[len(plan.plan.closures.couplings) - len(dofs) :]
    assert all(name.startswith(PRESCRIBED) for name in names)
    told = [
        {**one, **{name: (v[n, [i]], vdot[n, [i]]) for name, i in zip(names, dofs, strict=True)}}
        for n, one in enumerate(drives)
    ]
    pull = pull_of(p, count) if p.forces else None
    found, rest, _, fine = plan.run(q, v, acting, pull, theta, None, p.passive, plan.driven(told))
    end = plan.plan.closures.forces
    acting[:, dofs] = -rest[:, end - len(dofs) : end]
    return found, acting, fine
