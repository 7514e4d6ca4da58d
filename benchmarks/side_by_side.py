"""One model in soacraft, Pinocchio and MuJoCo: the same results first, then times in interleaved rounds.

What is timed is kept as text, so that the tables can show it. States go round in a list: no call sees that of the call
before. Peers reuse their data and get contiguous arrays in their own order, made beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
from in_mujoco import InMujoco
from in_pinocchio import InPinocchio, bytes_needed
from measure import Loop, shortest
from models import build

import soacraft as sc
from soacraft.dynamics import Dynamics

States = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Row:
    """One piece of work: how soacraft and Pinocchio are called.

    `other` is another form of Pinocchio's call, which is faster on some models. `square`: results of nv^2 numbers.
    """

    name: str
    ours: str
    pinocchio: str
    read: Callable[[InPinocchio, Any], tuple[np.ndarray, ...]]
    other: str = ""
    square: bool = False
    batch: bool = False


COMPARED = ("7-dof arm", "humanoid", "chain 100", "chain 500")
ROWS = (
    Row("forward dynamics", "d.forward_dynamics(q, v, x, out=out)", "pin.aba(model, data, q, v, x)",
        InPinocchio.dofs, other="pin.aba(model, data, q, v, x, WORLD)"),
    Row("inverse dynamics", "d.inverse_dynamics(q, v, x, out=out)", "pin.rnea(model, data, q, v, x)",
        InPinocchio.dofs),
    Row("mass matrix", "d.mass_matrix(q, out=out)", "pin.crba(model, data, q)",
        InPinocchio.symmetric, other="pin.crba(model, data, q, WORLD)", square=True),
    Row("inverse of the mass matrix", "d.mass_matrix_inverse(q, out=out)", "pin.computeMinverse(model, data, q)",
        InPinocchio.symmetric, square=True),
    Row("Jacobian of one node", "d.jacobian(q, node, out=out)", "pin.computeFrameJacobian(model, data, q, frame, AXES)",
        InPinocchio.jacobian),
    Row("poses of all bodies", "d.poses(q, out=out)",
        "pin.forwardKinematics(model, data, q); pin.updateFramePlacements(model, data)",
        InPinocchio.poses, other="pin.framesForwardKinematics(model, data, q)"),
    Row("inverse-dynamics derivatives", "d.inverse_dynamics_derivatives(q, v, x, out=out)",
        "pin.computeRNEADerivatives(model, data, q, v, x)", InPinocchio.derivatives, square=True),
    Row("forward-dynamics derivatives", "d.forward_dynamics_derivatives(q, v, x, out=out)",
        "pin.computeABADerivatives(model, data, q, v, x)", InPinocchio.derivatives, square=True),
    Row("forward dynamics, batch", "d.forward_dynamics(Q, V, X, threads=1, out=out)",
        "pin.abaInParallel(1, pool, Q, V, X, out)", InPinocchio.batch, batch=True),
    Row("inverse dynamics, batch", "d.inverse_dynamics(Q, V, X, threads=1, out=out)",
        "pin.rneaInParallel(1, pool, Q, V, X, out)", InPinocchio.batch, batch=True),
)  # fmt: skip
MUJOCO = "mujoco.mj_setState(model, data, s, parts); mujoco.mj_forward(model, data)"

#: Results must agree to this, relative to their largest number, before anything is timed.
AGREE = 1e-8
#: Results of nv^2 numbers, and MuJoCo with its work of nv^3, up to these numbers of dofs.
LARGEST_SQUARE = LARGEST_IN_MUJOCO = 1000
#: Beyond so many dofs MuJoCo, which factors a mass matrix, may differ by more: then residuals are compared.
LONG = 500
#: Of the memory that is free, a peer may take this part.
SHARE = 0.8


class Timed:
    """A statement with the names it uses."""

    def __init__(self, statement: str, states: Iterable[Any], each: str = "q, v, x", **names: Any) -> None:
        self.statement, self.states, self.each, self.names = statement, list(states), each, names

    def at(self, k: int) -> Any:
        """What the statement's first call returns at state k."""
        scope = {**self.names, "state": self.states[k]}
        exec(f"{self.each} = state\nfound = {self.statement}", scope)
        return scope["found"]

    def loop(self) -> Loop:
        """The statement in a loop over the states, without a call around it."""
        scope = {**self.names, "islice": islice, "states": cycle(self.states)}
        exec(f"def loop(n):\n    for {self.each} in islice(states, n):\n        {self.statement}\n", scope)
        made: Loop = scope["loop"]
        return made


def random_states(mb: sc.Multibody, count: int, seed: int = 0) -> States:
    """Angles within a turn, normally distributed velocities and third vectors; one state in a row."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(-np.pi, np.pi, (count, mb.nq))
    if isinstance(mb.bodies[0].hinge, sc.Free):
        turn = rng.standard_normal((count, 4))
        q[:, :4] = turn / np.linalg.norm(turn, axis=1, keepdims=True)
    return q, rng.standard_normal((count, mb.nv)), rng.standard_normal((count, mb.nv))


class Ours:
    """The statements of soacraft on one model."""

    def __init__(self, mb: sc.Multibody, states: States, batch: States) -> None:
        self.states = one_by_one(states)
        node = mb.bodies[-1].nodes[0].full_name
        self.names = {"d": Dynamics(mb), "node": node, **dict(zip("QVX", batch, strict=True))}

    def timed(self, row: Row, reuse: bool) -> Timed:
        """The row's call, into arrays that are used again or returning new ones."""
        new = Timed(row.ours.replace(", out=out", ""), self.states, **self.names)
        if not reuse:
            return new
        out = parts(new.at(0))
        return Timed(row.ours, self.states, **self.names, out=out[0] if len(out) == 1 else out)


class Theirs:
    """The statements of Pinocchio on one model."""

    def __init__(self, mb: sc.Multibody, states: States, batch: States) -> None:
        self.peer = peer = InPinocchio(mb)
        self.states = one_by_one(peer.inputs(*states))
        columns = [np.asfortranarray(x.T) for x in peer.inputs(*batch)]
        self.out = np.zeros_like(columns[1])
        self.names = {
            "pin": pin, "model": peer.model, "data": peer.data, "pool": peer.pool, "frame": peer.frame, "out": self.out,
            "AXES": pin.LOCAL_WORLD_ALIGNED, "WORLD": pin.Convention.WORLD, **dict(zip("QVX", columns, strict=True)),
        }  # fmt: skip

    def timed(self, statement: str) -> Timed:
        return Timed(statement, self.states, **self.names)

    def found(self, row: Row, timed: Timed, k: int) -> tuple[np.ndarray, ...]:
        """The result of a row at state k, as soacraft's."""
        found = timed.at(k)
        return row.read(self.peer, self.out if row.batch else found)


def one_by_one(states: States) -> list[States]:
    """Separate arrays for each state."""
    return [(q.copy(), v.copy(), x.copy()) for q, v, x in zip(*states, strict=True)]


def parts(found: Any) -> tuple[np.ndarray, ...]:
    """The arrays a call of soacraft returned."""
    if isinstance(found, np.ndarray | tuple):
        return found if isinstance(found, tuple) else (found,)
    return found.rotation, found.translation


def measure(name: str, quick: bool = False) -> dict[str, Any]:
    """All rows on one model; the result is plain data."""
    mb = build(name)
    count, batch = (3, 16) if quick else (64, 4096) if mb.nv <= LARGEST_SQUARE else (8, 256)
    states, many = random_states(mb, count), random_states(mb, batch, seed=1)
    rows = [row for row in ROWS if not row.square or mb.nv <= LARGEST_SQUARE]
    notes: list[str] = []
    ours = Ours(mb, states, many)
    theirs = Theirs(mb, states, many) if _room_for_pinocchio(mb.nv, notes) else None
    loops: dict[tuple[str, str], Loop] = {}
    apart: dict[str, float] = {}
    for row in rows:
        mine = {"reused": ours.timed(row, reuse=True), "new": ours.timed(row, reuse=False)}
        peer = {} if theirs is None else {"Pinocchio": theirs.timed(row.pinocchio)}
        if theirs is not None and row.other:
            peer["other"] = theirs.timed(row.other)
        apart[row.name] = _apart(name, row, mine, peer, theirs, range(1 if row.batch else 2))
        loops |= {(row.name, key): timed.loop() for key, timed in (mine | peer).items()}
    if theirs is None:
        apart[ROWS[0].name] = require(_residual(ours), f"forward dynamics of {name}, put into inverse dynamics")
        notes.append("The difference is that of inverse dynamics of forward dynamics from the forces given.")
    if mb.nv <= LARGEST_IN_MUJOCO:
        loops["forward dynamics", "MuJoCo"] = _in_mujoco(name, mb, ours, notes).loop()
    else:
        notes.append(f"MuJoCo is left out: its work for {mb.nv:,} bodies in a row grows as their cube.")
    rounds, at_least = (1, 1e-5) if quick else (15, 2e-3)
    times = shortest(loops, rounds, at_least, patience=2.0)
    for row in (row for row in rows if row.batch):
        times |= {key: t / batch for key, t in times.items() if key[0] == row.name}
    found = [{"name": row.name, "difference": apart[row.name]} for row in rows]
    for entry in found:
        entry |= {key: t for (of, key), t in times.items() if of == entry["name"]}
    return {"model": name, "bodies": len(mb), "dofs": mb.nv, "batch": batch, "notes": notes, "rows": found}


def _apart(
    model: str, row: Row, mine: dict[str, Timed], peer: dict[str, Timed], theirs: Theirs | None, states: range
) -> float:
    """The largest difference between any two ways to one result; too large a one is an error."""
    apart = []
    for k in states:
        first, *others = [parts(timed.at(k)) for timed in mine.values()]
        first = tuple(x.copy() for x in first)
        if theirs is not None:
            others += [theirs.found(row, timed, k) for timed in peer.values()]
        apart += [difference(x, y) for other in others for x, y in zip(first, other, strict=True)]
    return require(float(np.max(apart)), f"{row.name} of {model}")


def _residual(ours: Ours) -> float:
    """Without a peer: how far inverse dynamics of forward dynamics is from the forces given, relative to the largest
    force in the balance (the bias of a spinning chain of 10,000 bodies is 1e11 times the force given).
    """
    q, v, x = ours.states[0]
    d = ours.names["d"]
    gap = np.max(np.abs(d.inverse_dynamics(q, v, d.forward_dynamics(q, v, x)) - x))
    return float(gap / max(np.max(np.abs(x)), np.max(np.abs(d.bias_force(q, v)))))


def difference(x: np.ndarray, y: np.ndarray) -> float:
    """The largest difference, relative to the largest number."""
    assert x.shape == y.shape, f"shapes {x.shape} and {y.shape}"
    return float(np.max(np.abs(x - y)) / max(np.max(np.abs(y)), 1e-300))


def require(apart: float, what: str, limit: float = AGREE) -> float:
    if not apart <= limit:
        raise ArithmeticError(f"{what}: results differ by {apart:.1e}, more than {limit:.0e}; nothing was timed.")
    return apart


def _in_mujoco(name: str, mb: sc.Multibody, ours: Ours, notes: list[str]) -> Timed:
    peer = InMujoco(mb)
    states = [peer.inputs(*state) for state in ours.states]
    timed = Timed(MUJOCO, states, "s", mujoco=mujoco, model=peer.model, data=peer.data, parts=peer.parts)
    forward = ours.timed(ROWS[0], reuse=False)
    for k in range(2):
        timed.at(k)
        q, v, force = ours.states[k]
        mine, others = forward.at(k), peer.accelerations(q, v)
        if difference(mine, others) > AGREE and mb.nv > LONG:
            notes.append(_by_residual(name, peer, mine, others, force))
        else:
            require(difference(mine, others), f"forward dynamics of {name} in MuJoCo")
    return timed


def _by_residual(name: str, peer: InMujoco, mine: np.ndarray, others: np.ndarray, force: np.ndarray) -> str:
    """On a long chain rounding alone sets results apart; then MuJoCo's inverse dynamics judges both."""
    apart, (left, right) = difference(mine, others), (peer.residual(vdot, force) for vdot in (mine, others))
    said = (
        f"Accelerations of {name} differ from MuJoCo's by {apart:.0e}: put into MuJoCo's inverse dynamics, soacraft's "
        f"miss the forces by {left:.0e}, its own by {right:.0e}."
    )
    if left > 10 * right:
        raise ArithmeticError(f"{said} Nothing was timed.")
    return said


def _room_for_pinocchio(nv: int, notes: list[str]) -> bool:
    """Whether Pinocchio's data fits into the memory that is free; if not, a note says so."""
    need, free = bytes_needed(nv), available_memory()
    if need <= SHARE * free:
        return True
    notes.append(
        f"Pinocchio is left out: its Data for {nv:,} dofs takes {need / 1e9:,.0f} GB; {free / 1e9:.0f} GB are free."
    )
    return False


def available_memory() -> float:
    """Bytes that can be had without swapping; 2 GB where the system does not say."""
    path = Path("/proc/meminfo")
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.startswith("MemAvailable:"):
            return 1024.0 * int(line.split()[1])
    return 2e9
