"""The closed chains of the benchmarks, by name: "row 10", "arm 10", "row 10, pins", "cassie", "Stewart platform".

Bodies are added branch by branch, so that Pinocchio numbers them alike. Rows and arms are closed by balls, which
Pinocchio has too, or by pins. States stand 1 ms apart on a motion that keeps the loops closed, as a simulation meets
them.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

import soacraft as sc

Z = (0.0, 0.0, 1.0)
STEWART = Path(__file__).parents[1] / "examples" / "09_stewart_platform.py"
#: The four-bar in a joint of the arm: the lengths of crank and rocker, and between their pivots; crank and rocker stand
#: upright when the arm is straight.
CRANK, ROCKER, BASE = 0.15, 0.2, 0.3
COUPLER = float(np.hypot(BASE, ROCKER - CRANK))
#: From a joint of the arm to the next, which is turned by a quarter about the link.
LINK = 0.5
ACROSS = ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0))
STEP = 1e-3

States = list[tuple[np.ndarray, np.ndarray]]


def build(name: str) -> sc.Multibody:
    """A model by its name, closed and moving."""
    if name == "cassie":
        mb = sc.load("cassie")
        for body in mb.bodies:
            body.passive = sc.Passive()  # Pinocchio has no springs
    elif name == "Stewart platform":
        mb = runpy.run_path(str(STEWART))["stewart_platform"]()
    else:
        kind, size, hinge = _family(name)
        mb = {"row": row, "arm": arm}[kind](size, hinge)
    mb.set_state(*states(mb, name, 1)[0])
    return mb


def states(mb: sc.Multibody, name: str, count: int) -> States:
    """Coordinates and velocities on one motion, 1 ms apart."""
    if name in ("cassie", "Stewart platform"):
        return _followed(mb, count)
    kind, size, _ = _family(name)
    state = {"row": row_state, "arm": arm_state}[kind]
    return [state(size, STEP * i) for i in range(count)]


def _family(name: str) -> tuple[str, int, sc.Hinge]:
    kind, _, rest = name.partition(" ")
    size, _, closed = rest.partition(", ")
    return kind, int(size), sc.Pin(Z) if closed == "pins" else sc.Spherical()


def _followed(mb: sc.Multibody, count: int) -> States:
    """The model assembled near its neutral coordinates, and moved along a velocity that its closures allow."""
    solver = sc.loops.TreeAugmented(mb)
    q, v = mb.neutral(), 0.3 * np.random.default_rng(0).standard_normal(mb.nv)
    found: States = []
    for _ in range(count):
        q = solver.assemble(q)
        v = solver.project_velocity(q, v)
        found.append((q, v))
        q = mb.integrate(q, STEP * v)
    return found


def rod(mass: float, length: float) -> sc.Inertia:
    """A thin uniform rod along x from its frame."""
    moment = mass * length**2 / 12
    return sc.Inertia(mass, (length / 2, 0, 0), np.diag([1e-3 * moment, moment, moment]))


def _along(x: float) -> sc.Pose:
    return sc.Pose(translation=(x, 0.0, 0.0))


# -- a row of four-bars -------------------------------------------------------------------------------------------


def row(n: int, hinge: sc.Hinge) -> sc.Multibody:
    """n four-bars side by side, neighbours share a crank: 2n+1 rods of 1 m and 1 kg (IFToMM's N four-bars)."""
    mb = sc.Multibody(f"row {n}", gravity=(0, -9.81, 0))
    for i in range(n + 1):
        mb.add_body(f"crank{i}", None, sc.Pin(Z), rod(1.0, 1.0), _along(i)).add_node("tip", _along(1))
        if i < n:
            coupler = mb.add_body(f"coupler{i}", f"crank{i}", sc.Pin(Z), rod(1.0, 1.0), _along(1))
            coupler.add_node("tip", _along(1))
    for i in range(n):
        mb.close_loop(f"loop{i}", f"crank{i + 1}/tip", f"coupler{i}/tip", hinge)
    return mb


def row_state(n: int, t: float) -> tuple[np.ndarray, np.ndarray]:
    """All cranks in parallel, couplers level."""
    signs = np.resize([1.0, -1.0], 2 * n + 1)
    return (1.2 - t) * signs, -signs


# -- an arm with a four-bar in every joint ------------------------------------------------------------------------


def arm(n: int, hinge: sc.Hinge) -> sc.Multibody:
    """n links in a row; each is turned by a crank on the link before, through a coupler to a horn on it."""
    mb = sc.Multibody(f"arm {n}")
    base: sc.Body | None = None
    for i in range(n):
        joint = sc.Pose() if base is None else sc.Pose(ACROSS, (LINK, 0.0, 0.0))
        crank = mb.add_body(f"crank{i}", base, sc.Pin(Z), rod(0.3, CRANK), joint @ _along(-BASE))
        crank.add_node("tip", _along(CRANK))
        coupler = mb.add_body(f"coupler{i}", crank, sc.Pin(Z), rod(0.5, COUPLER), _along(CRANK))
        base = mb.add_body(f"link{i}", base, sc.Pin(Z), rod(1.0, LINK), joint)
        horn = base.add_node("horn", sc.Pose(translation=(0.0, ROCKER, 0.0)))
        mb.close_loop(f"loop{i}", horn, coupler.add_node("tip", _along(COUPLER)), hinge)
    return mb


def arm_state(n: int, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Cranks turn at 0.5 rad/s, forwards and backwards in turn."""
    joints = [_joint_state(1.2, t, 0.5 * (-1.0) ** i) for i in range(n)]
    return np.concatenate([q for q, _ in joints]), np.concatenate([v for _, v in joints])


def _joint_state(start: float, t: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Angles of crank, coupler and link, and their rates; the horn stands above."""
    crank = start + rate * t
    elbow = -BASE + CRANK * np.exp(1j * crank)
    along = (COUPLER**2 - ROCKER**2 + abs(elbow) ** 2) / (2 * abs(elbow))
    tip = elbow - elbow / abs(elbow) * (along + 1j * np.sqrt(COUPLER**2 - along**2))
    moves = 1j * np.array([elbow + BASE, tip - elbow, -tip])  # of the ring, for a unit turn of each of its bars
    coupler, horn = np.linalg.solve([moves[1:].real, moves[1:].imag], [-moves[0].real, -moves[0].imag])
    q = [crank, np.angle(tip - elbow) - crank, np.angle(tip) - np.pi / 2]
    return np.array(q), rate * np.array([1.0, coupler - 1.0, horn])
