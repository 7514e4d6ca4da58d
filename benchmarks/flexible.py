"""Flexible bodies by modes: forward and inverse dynamics of chains, by the number of bodies and of modes; next to rigid
chains, to rigid segments in Pinocchio, and to Exudyn.

A link is a tube of 1 m, clamped at its pin, with its first vibrations; each hangs on the tip of the one before. "per
dof" is the time of a chain over its dofs, divided by that of the rigid chain of as many bodies in the same run. A batch
runs on one thread. Steps in time are those of RK4 of a free body; Exudyn 1.13 was measured once, on another day, with
the same number of modes: one step of its implicit integrator. The slider-crank with an elastic rod is that of the test
set for initial value problems, a tenth of a second by RK4.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any

import elastic_crank
import numpy as np
import pinocchio as pin
from growth import table
from measure import Work, growth, microseconds
from peer import PinocchioChain

import soacraft as sc
from soacraft import flexible as fx
from soacraft.model.modal import ModalData

SIZES, QUICK_SIZES = (10, 100, 1000), (2, 4)
MODES, QUICK_MODES = (0, 3, 6, 12, 24, 48), (0, 3, 6)
#: States in a batch, at most so many bodies times states.
BATCH, WORK = 256, 4000
#: Microseconds of an implicit step of Exudyn 1.13 for one free body, by modes.
EXUDYN = {6: 17.0, 12: 44.0, 24: 153.0, 48: 737.0}
#: Rigid segments in each plane that have the first three bending frequencies of a link within 0.5 %.
SEGMENTS = 24
STEPS = 1000
NAMES = ("forward_dynamics", "inverse_dynamics")


@dataclass
class Row:
    """One chain: microseconds of a call, of a state in a batch, and the time per dof relative to the rigid chain."""

    bodies: int
    modes: int
    dofs: int
    forward: float
    inverse: float
    forward_in_batch: float
    inverse_in_batch: float
    forward_per_dof: float = 1.0
    inverse_per_dof: float = 1.0


@cache
def link(modes: int) -> ModalData:
    """A clamped tube with its first vibrations and a node at its tip."""
    fe = fx.beam(1.0, fx.Tube(0.05, 0.002), fx.Elastic(70e9, 0.33, 2700.0), elements=24)
    fe.interface("root", at=(0, 0, 0))
    fe.interface("tip", at=(1, 0, 0))
    return fx.reduce(fe, ["root", "tip"], method="fixed", modes=modes, geometric=True)


def chain(bodies: int, modes: int) -> sc.Multibody:
    """Links on pins about z and y by turns, flexible or rigid."""
    mb = sc.Multibody("chain")
    rigid = link(3).inertia
    for k in range(bodies):
        hinge, before = sc.Pin(((0, 0, 1), (0, 1, 0))[k % 2]), f"link{k - 1}"
        if modes:
            mb.add_body(f"link{k}", f"{before}/tip" if k else None, hinge, modal=link(modes))
        else:
            at = sc.Pose(translation=(1, 0, 0)) if k else None
            mb.add_body(f"link{k}", before if k else None, hinge, rigid, at)
    return mb


def state(mb: sc.Multibody, batch: tuple[int, ...] = ()) -> list[np.ndarray]:
    """q with small deformations, v and a vector over the dofs."""
    rng = np.random.default_rng(0)
    q, v, x = (rng.standard_normal((*batch, n)) for n in (mb.nq, mb.nv, mb.nv))
    q[..., mb.layout.own.q] *= 1e-6
    v[..., mb.layout.own.v] *= 1e-4
    return [q, v, x]


def chains(sizes: tuple[int, ...], modes: tuple[int, ...], rounds: int) -> list[Row]:
    """All rows; a round meets all modes of one size."""
    rows: list[Row] = []
    for n in sizes:
        jobs: dict[tuple[int, str, bool], Work] = {}
        count = max(8, min(BATCH, WORK // n))
        calls = {}
        for m in modes:
            mb = chain(n, m)
            for name in NAMES:
                calls[m, name] = call = getattr(sc.Dynamics(mb), name)
                jobs[m, name, False] = partial(call, *state(mb), out=np.empty(mb.nv))
                jobs[m, name, True] = partial(call, *state(mb, (count,)), out=np.empty((count, mb.nv)), threads=1)
        t = microseconds(jobs, rounds)
        for m in modes:
            if any(calls[m, name].passed_on for name in NAMES):
                raise RuntimeError(f"a chain of {n} bodies with {m} modes was not computed by the kernel")
            forward, inverse = (t[m, name, False] for name in NAMES)
            row = Row(n, m, n * (1 + m), forward, inverse, *(t[m, name, True] / count for name in NAMES))
            plain = rows[-modes.index(m)] if m else row
            row.forward_per_dof = row.forward / row.dofs / (plain.forward / plain.dofs)
            row.inverse_per_dof = row.inverse / row.dofs / (plain.inverse / plain.dofs)
            rows.append(row)
    return rows


def steps(modes: tuple[int, ...], rounds: int) -> dict[int, float]:
    """Microseconds of an RK4 step of one free body, by modes."""
    jobs: dict[int, Work] = {}
    for m in modes:
        mb = sc.Multibody("free")
        mb.add_body("body", None, sc.Free(), modal=link(m))
        fastest = np.sqrt(np.linalg.eigvals(np.linalg.solve(link(m).M, link(m).K)).real.max())
        h = 1e-9 * max(1, round(1e8 / fastest))  # steps of whole nanoseconds
        jobs[m] = partial(_run_of, mb, h)
    return {m: t / STEPS for m, t in microseconds(jobs, rounds).items()}


def _run_of(mb: sc.Multibody, h: float) -> object:
    return sc.sim.Propagator(mb, integrator="rk4", step=h).advance_to(STEPS * h)


def segments(rounds: int) -> dict[str, float]:
    """Forward dynamics of one link: six modes on a pin, and rigid segments on pairs of pins in Pinocchio."""
    mb = sc.Multibody("segments")
    for k in range(SEGMENTS):
        at = sc.Pose(translation=(1.0 / SEGMENTS, 0, 0)) if k else None
        mb.add_body(f"y{k}", f"z{k - 1}" if k else None, sc.Pin((0, 1, 0)), None, at)
        mb.add_body(f"z{k}", f"y{k}", sc.Pin((0, 0, 1)), sc.Inertia(0.03, (0.02, 0, 0), 1e-5 * np.eye(3)))
    peer, (q, v, x) = PinocchioChain(mb), state(mb)
    modal = chain(1, 6)
    call, one, to = sc.Dynamics(modal).forward_dynamics, state(modal), np.empty(modal.nv)
    return microseconds(
        {
            "modal link": lambda: call(*one, out=to),
            "segments in Pinocchio": lambda: pin.aba(peer.model, peer.data, q, v, x),
        },
        rounds,
    )


def slider_crank(rounds: int) -> dict[str, float]:
    """Seconds that 0.1 s of the slider-crank with an elastic rod take, and the error of its slider at the end."""
    mb = elastic_crank.slider_crank()
    start = np.array(mb.q), np.array(mb.v)

    def run() -> None:
        mb.set_state(*start)
        sc.sim.Propagator(mb, integrator="rk4", step=1e-5).run(elastic_crank.T)

    seconds = 1e-6 * microseconds({"run": run}, rounds)["run"]
    q, _ = elastic_crank.published(mb)
    return {"seconds": seconds, "error": abs(float(q[2]) - elastic_crank.END[2])}


def run(quick: bool) -> dict[str, Any]:
    sizes, modes, rounds = (QUICK_SIZES, QUICK_MODES, 1) if quick else (SIZES, MODES, 5)
    return {
        "chains": [asdict(row) for row in chains(sizes, modes, rounds)],
        "steps": {str(m): t for m, t in steps(modes[2:], rounds).items()},
        "exudyn": {str(m): t for m, t in EXUDYN.items()},
        "segments": segments(rounds),
        "slider_crank": slider_crank(rounds),
    }


def by_modes(rows: list[Row], bodies: int) -> float:
    """The exponent of forward dynamics of chains of so many bodies in the number of modes, from 6 on."""
    own = [x for x in rows if x.bodies == bodies and x.modes >= 6]
    return growth([x.modes for x in own], [x.forward for x in own]) if len(own) > 1 else float("nan")


def summary(result: dict[str, Any], facts: dict[str, str]) -> str:
    """The few figures for the page of benchmarks: one length of chain by modes, and the peers."""
    rows = [Row(**row) for row in result["chains"]]
    bodies = sorted({x.bodies for x in rows})[1]
    own = [x for x in rows if x.bodies == bodies]
    flexible = [x for x in rows if x.modes == 6]
    of_bodies = growth([x.bodies for x in flexible], [x.forward for x in flexible])
    lines = {
        "forward dynamics, µs": [f"{x.forward:,.0f}" for x in own],
        "inverse dynamics, µs": [f"{x.inverse:,.0f}" for x in own],
        "forward, per dof": [f"{x.forward_per_dof:.2f}" for x in own],
        "inverse, per dof": [f"{x.inverse_per_dof:.2f}" for x in own],
    }
    known = [m for m in result["steps"] if m in result["exudyn"]]
    steps = ", ".join(f"{result['steps'][m]:.1f} ({result['exudyn'][m]:.0f})" for m in known)
    link, segments = result["segments"]["modal link"], result["segments"]["segments in Pinocchio"]
    where = f"{facts['processor']}, {facts['cores']} cores, {facts['instruction set']}, Python {facts['Python']}"
    packages = dict(x.split() for x in facts["packages"].split(", "))
    body = [[name, *cells] for name, cells in lines.items()]
    return (
        f"Flexible bodies: a chain of {bodies:,} links by the modes of each, and the time per dof over that of the "
        f"rigid chain in the same run.\n\n{table(['modes', *(str(x.modes) for x in own)], body, 1)}\n\n"
        f"Forward dynamics grows with the power {of_bodies:.2f} of the bodies at 6 modes, and "
        f"{by_modes(rows, bodies):.2f} of the modes from 6 to {own[-1].modes}. An RK4 step of a free body of "
        f"{', '.join(known)} modes takes {steps} µs; in brackets an implicit step of Exudyn 1.13, measured on "
        f"another day. An elastic link of six modes is {segments / link:.0f} times as fast as {SEGMENTS} rigid "
        f"segments in each plane in Pinocchio.\n\n"
        f"`{facts['command']}`, {facts['date']}, {where}, Pinocchio {packages['pin']}. More "
        "chains are in [flexible](flexible.md)."
    )


def text(result: dict[str, Any]) -> str:
    rows = [Row(**row) for row in result["chains"]]
    lines = [
        "| bodies | modes | dofs | forward | per dof | inverse | per dof | forward in a batch | inverse in a batch |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for x in rows:
        batch = f"{x.forward_in_batch:.2f} ({x.forward / x.forward_in_batch:.1f} times)"
        other = f"{x.inverse_in_batch:.2f} ({x.inverse / x.inverse_in_batch:.1f} times)"
        lines.append(
            f"| {x.bodies} | {x.modes} | {x.dofs} | {x.forward:.2f} | {x.forward_per_dof:.2f} | {x.inverse:.2f} | "
            f"{x.inverse_per_dof:.2f} | {batch} | {other} |"
        )
    lines += ["", "Microseconds; \"per dof\" relative to the rigid chain.", ""]
    for m in sorted({x.modes for x in rows}):
        own = [x for x in rows if x.modes == m]
        grown = growth([x.bodies for x in own], [x.forward for x in own])
        lines.append(f"- {m} modes: forward dynamics grows with the number of bodies to the power {grown:.2f}")
    for n in sorted({x.bodies for x in rows}):
        words = f"forward dynamics grows with the number of modes from 6 to {max(x.modes for x in rows)}"
        lines.append(f"- {n} bodies: {words} to the power {by_modes(rows, n):.2f}")
    lines += ["", "| modes | RK4 step of a free body | Exudyn's implicit step |", "| --- | --- | --- |"]
    lines += [f"| {m} | {t:.2f} | {result['exudyn'].get(m, '')} |" for m, t in result["steps"].items()]
    own, peer = result["segments"]["modal link"], result["segments"]["segments in Pinocchio"]
    lines += [
        "",
        f"One link with six modes: {own:.2f}; {SEGMENTS} rigid segments in each plane in Pinocchio: {peer:.2f}, "
        f"{peer / own:.1f} times as long.",
    ]
    if crank := result.get("slider_crank"):
        lines += [
            "",
            f"A slider-crank with an elastic rod of four modes: {crank['seconds']:.2f} s for 0.1 s in 10,000 steps of "
            f"RK4; the slider is {crank['error']:.1g} m from its published place.",
        ]
    return "\n".join(lines)
