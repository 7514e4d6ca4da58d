"""Motion in time, on one thread: steps next to MuJoCo's, runs next to scipy around Pinocchio, closed chains, energies.

Steps of the classical Runge-Kutta method are those of `p.rollout` and `mujoco.rollout`, from the same states, with
MuJoCo's constraints, contacts and sensors off; `difference` is that of the last joint angles. Whole runs are those of
`p.advance_to`, with energies, work and dense output recorded for every step. Then forward dynamics with springs
between nodes. Last, what calls of a stepper and of the user's functions cost besides (`calls.py`).
"""

from __future__ import annotations

from typing import Any

import calls
import held
import models
import mujoco
import numpy as np
import sim_chains
import sim_runs
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
    return {
        "rows": [measured(name, count, steps, quick) for name in names for count, steps in sizes],
        "double pendulum": sim_runs.double_pendulum(quick),
        "cassie": sim_runs.cassie(quick),
        "energy": sim_runs.long_run(quick),
        "springs": springs.run(quick),
        "chains": sim_chains.run(quick),
        "chain_steps": sim_chains.steps(quick),
        "steppers": calls.steppers(quick),
        "functions": calls.functions(quick),
        "held": held.run(quick),
    }


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
    """The tables of a result."""
    parts = [steps_text(result), pendulum_text(result), cassie_text(result), energy_text(result)]
    parts += [springs.text(result["springs"]), sim_chains.text(result["chains"])]
    if "chain_steps" in result:  # these are younger than some results
        parts.append(sim_chains.steps_text(result["chain_steps"]))
    if "steppers" in result:
        parts += [calls.steppers_text(result["steppers"]), calls.functions_text(result["functions"])]
    if "held" in result:
        parts.append(held.text(result["held"]))
    return "\n\n".join(parts)


def steps_text(result: dict[str, Any]) -> str:
    """Steps next to MuJoCo's."""
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
    return f"## Runge-Kutta steps of {STEP} s\n\n{table(head, rows, 1)}"


def pendulum_text(result: dict[str, Any]) -> str:
    """A double pendulum to an accuracy."""
    found = result["double pendulum"]
    rows = [[x["by"], f"{x['rtol']:.0e}", f"{x['error']:.1e}", f"{x['us'] / 1e3:.2f}"] for x in found["rows"]]
    ratio = found["rows"][1]["us"] / found["rows"][0]["us"]
    return (
        f"## Double pendulum to {found['end']:g} s, error at most {sim_runs.ACCURACY:g} rad\n\n"
        "Both by the method of Dormand and Prince of order eight, each with the loosest tolerance, in powers of ten, "
        f"that gives the accuracy. soacraft is {ratio:.1f} times as fast.\n\n"
        f"{table(['by', 'rtol', 'error, rad', 'ms'], rows, 1)}"
    )


def cassie_text(result: dict[str, Any]) -> str:
    """Steps on closures."""
    found = result["cassie"]
    last = next(x["us"] for x in found["rows"] if x["by"] == "Pinocchio")
    rows = [
        [x["by"], f"{x['us']:.1f}", f"{last / x['us']:.1f}", f"{x['opening']:.0e}", f"{x['difference']:.0e}"]
        for x in found["rows"]
    ]
    return (
        f"## Cassie with its loops: {found['steps']} Runge-Kutta steps of {found['h']:g} s\n\n"
        "Both project the end of every step; both are compiled, all "
        "steps in one call. Pinocchio's `constraintDynamics` is called in a loop of Python, without stabilization. How "
        "far loops are open at the end is in radians or lengths of the loop; differences of coordinates are to CE.\n\n"
        f"{table(['by', 'us a step', 'times as fast', 'open by', 'difference'], rows, 1)}"
    )


def energy_text(result: dict[str, Any]) -> str:
    """Energies over many steps."""
    found = result["energy"]
    rows = [
        [x["by"], f"{x['h']:.3g}", f"{x['us']:.2f}", *(f"{x['errors'][i]:.1e}" for i in (0, 4, 9))]
        for x in found["rows"]
    ]
    return (
        f"## Energy of a double pendulum over {found['steps']:,} variational steps, {found['span']:g} s\n\n"
        "At equal cost: the steps of a method are as much shorter as they are cheaper than those of the first row. The "
        "largest error of the energy, relative to the largest kinetic energy, in the first, the fifth and the last "
        "tenth.\n\n"
        f"{table(['by', 'step, s', 'us a step', 'first tenth', 'fifth', 'last'], rows, 1)}"
    )


def summary(result: dict[str, Any], facts: dict[str, str]) -> str:
    """The few figures for the page of benchmarks."""
    rows = [
        [f"{x['model']}, {x['states']:,} states, RK4", "MuJoCo", f"{x['us']['MuJoCo'] / x['us']['soacraft']:.1f}"]
        for x in result["rows"]
    ]
    ours, theirs = result["double pendulum"]["rows"]
    to = f"double pendulum to {result['double pendulum']['end']:g} s, error below {sim_runs.ACCURACY:g} rad"
    rows.append([to, "scipy around Pinocchio", f"{theirs['us'] / ours['us']:.1f}"])
    by = {x["by"]: x["us"] for x in result["cassie"]["rows"]}
    ratio = f"{by['Pinocchio'] / by['CE']:.1f}"
    rows.append(["cassie on its loops, RK4 by CE", "`constraintDynamics` in a loop of Python", ratio])
    where = f"{facts['processor']}, {facts['cores']} cores, {facts['instruction set']}, Python {facts['Python']}"
    return (
        "Motion in time, on one thread: how many times as fast as the peer, for the same steps or the same "
        "accuracy.\n\n"
        f"{table(['work', 'peer', 'times as fast'], rows, 2)}\n\n"
        f"`{facts['command']}`, {facts['date']}, {where}. Energies over a million steps, and how far loops "
        "are open, are on the page of [simulation](simulation.md)."
    )
