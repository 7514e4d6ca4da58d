"""Steps in time: the classical Runge-Kutta method without contact, next to MuJoCo's, one state and a batch.

Both take the same steps of the same model from the same states, on one thread, looped in compiled code: `p.rollout` and
`mujoco.rollout`, with MuJoCo's constraints, contacts and sensors off. `difference` is that of the last joint angles.
Then forward dynamics with springs between nodes.
"""

from __future__ import annotations

from typing import Any

import models
import mujoco
import numpy as np
import springs
from growth import table
from in_mujoco import InMujoco
from measure import microseconds
from mujoco import rollout as mujoco_rollout

import soacraft as sc

STEP = 1e-3


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    sizes = [(1, 3), (8, 2)] if quick else [(1, 500), (4096, 5)]
    names = ("7-dof arm", "humanoid")
    rows = [measured(name, count, steps, quick) for name in names for count, steps in sizes]
    return {"rows": rows, "springs": springs.run(quick)}


def measured(name: str, count: int, steps: int, quick: bool) -> dict[str, Any]:
    """Microseconds of one step of one state, of both."""
    mb = models.build(name)
    peer = InMujoco(mb)
    peer.model.opt.integrator, peer.model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, STEP
    rng = np.random.default_rng(0)
    v = 0.3 * rng.standard_normal((count, mb.nv))
    q = np.array([mb.integrate(mb.neutral(), 0.3 * x) for x in rng.standard_normal((count, mb.nv))])
    nothing = np.zeros(mb.nv)
    # a full state of MuJoCo begins with the time
    size = peer.model.nq + peer.model.nv
    states = np.array([[0.0, *peer.inputs(a, b, nothing)[:size]] for a, b in zip(q, v, strict=True)])
    p = sc.sim.Propagator(mb, integrator="rk4", step=STEP)

    def ours() -> Any:
        return p.rollout(q, v, steps=steps, threads=1)

    def theirs() -> Any:
        return mujoco_rollout.rollout(peer.model, peer.data, states, nstep=steps)[0]

    joints = mb.nq - (7 if isinstance(mb.bodies[0].hinge, sc.Free) else 0)
    last = theirs()[:, -1, 1 + peer.model.nq - joints : 1 + peer.model.nq]
    difference = float(np.abs(ours()[0][:, -1, mb.nq - joints :] - last).max())
    times = microseconds({"soacraft": ours, "MuJoCo": theirs}, 1 if quick else 3)
    per_step = {key: t / (count * steps) for key, t in times.items()}
    return {"model": name, "dofs": mb.nv, "states": count, "steps": steps, "us": per_step, "difference": difference}


def text(result: dict[str, Any]) -> str:
    """The table of a result."""
    rows = [
        [
            x["model"],
            str(x["states"]),
            f"{x['us']['soacraft']:.2f}",
            f"{x['us']['MuJoCo']:.2f}",
            f"{x['us']['MuJoCo'] / x['us']['soacraft']:.1f}",
            f"{x['difference']:.0e}",
        ]
        for x in result["rows"]
    ]
    head = ["model", "states", "us a step", "MuJoCo us a step", "times as fast", "difference"]
    steps = f"## Runge-Kutta steps of {STEP} s\n\n{table(head, rows, 1)}"
    return f"{steps}\n\n{springs.text(result['springs'])}"
