"""Closed chains: the three solvers and Pinocchio's, growth with the number of loops, batches.

CE is constraint embedding, TA tree-augmented, FA fully augmented. Every family of models is measured in a process of
its own, with one thread; there, rounds of all calls follow one another. Times are minima over the rounds. Before that,
results are compared.
"""

from __future__ import annotations

import time
from itertools import cycle, islice
from typing import Any

import numpy as np
import pinocchio as pin
from child import answer, in_child
from closed_in_pinocchio import ClosedInPinocchio
from closed_models import build, states
from in_pinocchio import bytes_needed
from loops_page import summary, text
from measure import Clock, Loop, shortest
from side_by_side import SHARE, Timed, available_memory, difference, require

import soacraft as sc

__all__ = ["run", "summary", "text"]

SOLVERS = {
    "CE": sc.loops.ConstraintEmbedding,
    "TA": sc.loops.TreeAugmented,
    "FA": sc.loops.FullyAugmented,
}
OURS = "s.forward_dynamics(q, v, x)"
THEIRS = {
    "Pinocchio": "pin.constraintDynamics(model, data, q, v, x, loops, loop_data, settings)",
    "lcaba": "pin.lcaba(model, data, q, v, x, loops, loop_data, lcaba_settings)",
}
DERIVED = "pin.computeConstraintDynamicsDerivatives(model, data, loops, loop_data, settings)"
#: `lcaba` is shown too, where it agrees to this.
LOOSE = 1e-5
ROW, ARM = (1, 2, 10, 40, 200), (1, 2, 5, 10, 20, 40, 80)
QUICK = (1, 2, 3)
SINGLE = ("cassie", "Stewart platform")
BATCHED = ("row 1", "cassie")
#: Different states that go round; a batch holds them again and again.
STATES = 8


def families(quick: bool = False) -> dict[str, list[str]]:
    """The names of the models that are measured together."""
    row, arm = (QUICK, QUICK) if quick else (ROW, ARM)
    return {
        "row": [f"row {n}" for n in row],
        "row, pins": [f"row {n}, pins" for n in row],
        "arm": [f"arm {n}" for n in arm],
        "single": list(SINGLE),
    }


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    named = families(quick)
    tasks: list[list[Any]] = [["measure", names, quick] for names in named.values()]
    tasks += [["batches", 8 if quick else 1000, quick], ["derivatives", quick]]
    found = in_child(__file__, tasks) if quick else [in_child(__file__, [task])[0] for task in tasks]
    families_found = dict(zip(named, found[:-2], strict=True))
    return {"families": families_found, "batches": found[-2], "derivatives": found[-1]}


def measure(names: list[str], quick: bool) -> list[dict[str, Any]]:
    """One forward dynamics of each model by each solver and by Pinocchio."""
    found, loops = [], {}
    for name in names:
        mb = build(name)
        entry: dict[str, Any] = {"model": name, "loops": len(mb.loops), "dofs": mb.nv, "notes": []}
        calls = statements(mb, name, 2 if quick else STATES, entry["notes"])
        entry["difference"] = compared(name, calls)
        loops |= {(name, key): call.loop() for key, (call, _) in calls.items()}
        found.append(entry)
    times = _times(loops, quick)
    for entry in found:
        entry |= {key: t for (name, key), t in times.items() if name == entry["model"]}
    return found


Calls = dict[str, tuple[Timed, ClosedInPinocchio | None]]


def statements(mb: sc.Multibody, name: str, count: int, notes: list[str]) -> Calls:
    """What is timed on one model, by solver: the statement with its states, and the peer that it is Pinocchio's."""
    rng = np.random.default_rng(1)
    given = [(q, v, rng.standard_normal(mb.nv)) for q, v in states(mb, name, count)]
    calls: Calls = {key: (Timed(OURS, given, s=make(mb)), None) for key, make in SOLVERS.items()}
    if any(not isinstance(loop.hinge, sc.Spherical) for loop in mb.loops):
        return calls
    need, free = bytes_needed(mb.nv), available_memory()
    if need > SHARE * free:
        notes.append(f"Pinocchio is left out: its Data takes {need / 1e9:.0f} GB; {free / 1e9:.0f} GB are free.")
        return calls
    peer = ClosedInPinocchio(mb)
    own = [tuple(np.ascontiguousarray(x) for x in peer.inputs(*state)) for state in given]
    kept = ("model", "data", "loops", "loop_data", "settings", "lcaba_settings")
    names = {"pin": pin, **{x: getattr(peer, x) for x in kept}}
    return calls | {key: (Timed(statement, own, **names), peer) for key, statement in THEIRS.items()}


def compared(name: str, calls: Calls) -> dict[str, float]:
    """How far each is from TA, relative to the largest number, at two states; too far is an error."""
    apart = {}
    for key, (call, peer) in calls.items():
        gaps = []
        for k in (0, 1):
            found, wanted = call.at(k), calls["TA"][0].at(k).vdot
            gaps.append(difference(found.vdot if peer is None else peer.dofs(found), wanted))
        apart[key] = require(max(gaps), f"{key} and TA on {name}", **({"limit": LOOSE} if key == "lcaba" else {}))
    return apart


def batches(size: int, quick: bool) -> list[dict[str, Any]]:
    """Many states in one call, by each solver; Pinocchio, which has no call for it, in a loop. Per state.

    A batch may be spread over threads, so this is the time of all threads of the process.
    """
    found: list[dict[str, Any]] = []
    loops: dict[tuple[str, str], Loop] = {}
    for name in BATCHED:
        mb = build(name)
        calls = statements(mb, name, 2 if quick else STATES, [])
        Q, V, X = (np.array(list(islice(cycle(x), size))) for x in zip(*calls["TA"][0].states, strict=True))
        for key, make in SOLVERS.items():
            batch = Timed(OURS, [(Q, V, X)], s=make(mb))
            one = calls[key][0]
            gap = difference(batch.at(0).vdot[:2], np.array([one.at(k).vdot for k in (0, 1)]))
            require(gap, f"a batch and single states by {key} on {name}")
            loops[name, key] = batch.loop()
        loops[name, "Pinocchio"] = _over(calls["Pinocchio"][0].loop(), size)
        found.append({"model": name, "states": size})
    times = _times(loops, quick, time.process_time)
    for entry in found:
        entry |= {key: t / size for (name, key), t in times.items() if name == entry["model"]}
    return found


def derivatives(quick: bool) -> dict[str, Any]:
    """The derivatives of cassie's forward dynamics along q, v and the force, in one call; Pinocchio's take the answer
    of `constraintDynamics`, so both of its calls are timed, one behind the other.
    """
    name = "cassie"
    mb = build(name)
    calls = statements(mb, name, 2 if quick else STATES, [])
    ta, peer = calls["TA"][0], calls["Pinocchio"][1]
    assert peer is not None
    names = {x: getattr(peer, x) for x in ("model", "data", "loops", "loop_data", "settings")}
    both = Timed(f"{THEIRS['Pinocchio']}; {DERIVED}", calls["Pinocchio"][0].states, pin=pin, **names)
    solver = SOLVERS["TA"](mb)
    ours = Timed("derive(s, q, v, x)", ta.states, s=solver, derive=sc.loops.forward_dynamics_derivatives)
    gap = max(derivatives_apart(solver, ours, both, peer, k) for k in (0, 1))
    loops = {(name, "forward dynamics"): ta.loop(), (name, "derivatives"): ours.loop(),
             (name, "constraintDynamics"): calls["Pinocchio"][0].loop(), (name, "both"): both.loop()}  # fmt: skip
    times = {key: t for (_, key), t in _times(loops, quick).items()}
    gap = require(gap, "derivatives of Pinocchio and TA on cassie")
    return {"model": name, "dofs": mb.nv, "difference": gap, **times}


def derivatives_apart(solver: Any, ours: Timed, both: Timed, peer: ClosedInPinocchio, k: int) -> float:
    """The largest relative difference, along motions that the closures allow: elsewhere Pinocchio's rows are others."""
    found, data = ours.at(k), peer.data
    pin.constraintDynamics(peer.model, data, *both.states[k], peer.loops, peer.loop_data, peer.settings)
    pin.computeConstraintDynamicsDerivatives(peer.model, data, peer.loops, peer.loop_data, peer.settings)
    dq, dv, dforce = (peer.square(x) for x in (data.ddq_dq, data.ddq_dv, data.ddq_dtau))
    lin = sc.loops.linearize(solver, *ours.states[k])
    along = (dq @ lin.X + dv @ lin.Y, found.dq @ lin.X + found.dv @ lin.Y)
    pairs = (along, (dv @ lin.X, found.dv @ lin.X), (dforce, found.dforce))
    return max(difference(x, y) for x, y in pairs)


def _over(loop: Loop, size: int) -> Loop:
    return lambda n: loop(n * size)


def _times(
    loops: dict[tuple[str, str], Loop], quick: bool, clock: Clock = time.thread_time
) -> dict[tuple[str, str], float]:
    return shortest(loops, 1, 1e-5, clock=clock) if quick else shortest(loops, 15, patience=2.0, clock=clock)


if __name__ == "__main__":
    answer(measure, batches, derivatives)
