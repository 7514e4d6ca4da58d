"""The energy that the damping of elastic modes takes along a run: it acts in the dynamics themselves, like modal
stiffness, and no force of the run has its work.

    d/dt work = - etadot* D etadot        integrated over each step, by Gauss's rule
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from soacraft.sim.integrators.methods import METHODS
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.model.flat.layout import Layout
    from soacraft.sim.runs.run import Run

Integers = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]

#: The name of its work in `Run.check`.
MODAL_DAMPING = "modal damping"
#: Points in a step: exact to order 12, beyond dense output, and for cubic velocities.
_DENSE, _CUBIC = 6, 4


def modal_damping_work(run: Run) -> Array | None:
    """The work of modal damping from the first row of a run on, (rows); None where no mode is damped or the steps of
    the run are not known. Steps in which contacts press are left out: the work of contact has all that is not that of
    another force. O(rows)."""
    damped = _damped(run)
    if damped is None:
        return None
    dofs, D = damped
    h, lost = np.diff(run.t), np.zeros(len(run.t))
    pressed = np.zeros(len(h), dtype=bool)
    if "contact" in run.work:
        pressed = np.diff(run.work["contact"]) != 0.0
    steps = np.flatnonzero((h > 0.0) & ~pressed)
    if len(steps):
        rate, weights = _velocities(run, steps, dofs, np.concatenate([[False], pressed[:-1]])[steps])
        lost[steps + 1] = h[steps] * (np.einsum("spi,ij,spj->sp", rate, D, rate) @ weights)
    return np.asarray(-np.cumsum(lost))


def _damped(run: Run) -> tuple[Integers, Array] | None:
    """The dofs of modes and their damping, None where there is none."""
    dense = run._dense
    problem = getattr(dense[0][1], "problem", None) if dense else None
    if problem is None or problem.mb.nv != run.v.shape[1] or not problem.mb.layout.flexible:
        return None
    layout: Layout = problem.mb.layout
    blocks = [np.asarray(layout.modal(k).D) for k in layout.flexible]
    if not any(x.any() for x in blocks):
        return None
    dofs = np.concatenate(
        [np.arange(layout.hinge_v[k].stop, layout.v_slices[k].stop, dtype=np.intp) for k in layout.flexible]
    )
    D = np.zeros((len(dofs), len(dofs)))
    at = 0
    for block in blocks:
        D[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    return dofs, D


def _velocities(run: Run, steps: Integers, dofs: Integers, after_impulses: Bools) -> tuple[Array, Array]:
    """The velocities of modes at points within steps, (steps, points, dofs), and the weights of the points. Adaptive
    methods have dense output; between rows of others velocities are cubic, from their accelerations. After a step with
    impulses these are means over it, which tell nothing of the next."""
    method = METHODS.get(run.integrator)
    adaptive = method is not None and method.adaptive
    nodes, weights = np.polynomial.legendre.leggauss(_DENSE if adaptive else _CUBIC)
    theta, weights = 0.5 * (1.0 + nodes), 0.5 * weights
    t, h = run.t[steps], np.diff(run.t)[steps]
    if adaptive:
        rows = [[run.at(float(a + x * b)).v[dofs] for x in theta] for a, b in zip(t, h, strict=True)]
        return np.array(rows), weights
    v0, v1, a0, a1 = (x[i][:, None, dofs] for x in (run.v, run.vdot) for i in (steps, steps + 1))
    s, dt = theta[None, :, None], h[:, None, None]
    a0 = np.where(after_impulses[:, None, None], 2.0 * (v1 - v0) / dt - a1, a0)
    fall, rise = 1.0 - s, s
    ends = fall**2 * (1.0 + 2.0 * s) * v0 + rise**2 * (3.0 - 2.0 * s) * v1
    return np.asarray(ends + dt * (fall**2 * s * a0 - rise**2 * fall * a1)), weights
