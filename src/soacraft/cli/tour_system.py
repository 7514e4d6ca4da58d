"""`soacraft tour system`: a satellite from its file to a log and a picture, each step with its check."""

from __future__ import annotations

import shlex
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.rule import Rule

import soacraft as sc
from soacraft import sim

FILE = Path(__file__).parent / "satellite" / "satellite.toml"
#: Seconds of the motion.
_END = 60.0


class Attitude(sim.Component):
    """Turns a body to a rotation vector, by torques on wheels. With the error R.T R_target, of vector e:

    torque on the wheels = -(kp e - kd R.T w),    w in inertial axes
    """

    class Params(sim.Params, frozen=True):
        target: tuple[float, float, float]
        kp: float
        kd: float

    rotation = sim.In("", shape=(3, 3))
    rate = sim.In(shape=(3,))

    @sim.output("N m", shape=(3,))
    def torque(p: Any, rotation: Any, rate: Any) -> Any:
        """Towards the target, damped."""
        back = np.swapaxes(rotation, -1, -2)
        E = back @ turned(p.target)
        e = 0.5 * np.stack([E[..., 2, 1] - E[..., 1, 2], E[..., 0, 2] - E[..., 2, 0], E[..., 1, 0] - E[..., 0, 1]], -1)
        return -(p.kp * e - p.kd * (back @ rate[..., None])[..., 0])


def turned(vector: Any) -> Any:
    """The matrix of a rotation vector (Rodrigues)."""
    angle = float(np.linalg.norm(vector))
    x, y, z = np.asarray(vector) / (angle or 1.0)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)


def tour_system(console: Console | None = None, folder: Path | None = None) -> int:
    """Walk through a system; 0 when every check passed, 1 otherwise. A folder that is named keeps log and picture."""
    console = Console(highlight=False) if console is None else console
    if folder is not None:
        return _walk(console, folder)
    with tempfile.TemporaryDirectory(prefix="soacraft-tour-") as temporary:
        return _walk(console, Path(temporary))


def _walk(console: Console, folder: Path) -> int:
    failed = 0

    def check(what: str, good: bool) -> None:
        nonlocal failed
        failed += not good
        console.print(f"  {'✓' if good else '✗'} {what}", soft_wrap=True, markup=False)

    console.print(Rule("a satellite, from its file", align="left", style="cyan"))
    console.print(FILE.read_text(encoding="utf-8"), markup=False)
    s = sim.load_system(FILE, classes=[Attitude])
    console.print(str(s.tree()), markup=False)
    s.check()
    console.print("  ✓ all inputs are filled, units and shapes agree, no loop", markup=False)
    s.save(folder / "again.toml", models={"craft": str(FILE.with_name("satellite.json"))})
    again = sim.load_system(folder / "again.toml", classes=[Attitude], roots=[FILE.parent])
    check("saved and loaded it is the same system", str(again.tree()) == str(s.tree()))

    console.print(Rule("a minute of motion, logged", align="left", style="cyan"))
    logged = find_spec("h5py") is not None
    log = folder / "run.h5"
    run = s.run(_END, log=log if logged else None, progress=True)
    console.print(repr(run), markup=False)
    console.print(str(run.check()), markup=False)
    work = sum(run.work[f"wheel_{axis}.force"] for axis in "xyz")
    gap = float(np.abs(work - (run.energy - run.energy[0])).max())
    check(f"the work of the wheels is the change of energy: {gap:.1e} of {run.energy.max():.2g} J",
          gap < 1e-7 * run.energy.max())  # fmt: skip
    mb = sc.load(FILE.with_name("satellite.json"))
    h = np.array([np.asarray(sc.dynamics.momentum(mb, q, v)) for q, v in zip(run.q[::100], run.v[::100], strict=True)])
    speeds = float(np.abs(run.v[:, 6:]).max())
    check(f"no momentum comes from within: {np.abs(h).max():.1e} while a wheel has {0.02 * speeds:.2g} N m s",
          bool(np.abs(h).max() < 1e-9 * speeds))  # fmt: skip
    mb.set_state(run.q[-1], run.v[-1])
    away = np.linalg.norm(np.asarray(mb.pose("hub").rotation) - turned(s.params["attitude.target"]))
    check(f"it looks where it should, to {away:.1e}", bool(away < 1e-3))
    if logged:
        back = sim.read(log)
        good = np.array_equal(back.q, run.q) and np.array_equal(
            back.signals["attitude.torque"], run.signals["attitude.torque"]
        )
        check(f"{log.name} ({log.stat().st_size} bytes) reads back", good)
    else:
        console.print("  no log is written: pip install 'soacraft[sim]' for h5py", markup=False)

    console.print(Rule("its picture", align="left", style="cyan"))
    picture = folder / "satellite.png"
    sc.view.scene(mb, (run.t, run.q)).image(picture, t=float(run.t[-1]), azimuth=-25.0, zoom=1.5)
    size = picture.stat().st_size
    check(f"{picture.name} ({size} bytes) has the satellite at t = {_END:g} s", size > 1000)
    console.print(_next(), markup=False, soft_wrap=True)
    return 1 if failed else 0


def _next() -> str:
    """Commands to go on with, on the files of the tour."""
    files = shlex.join([str(FILE), "--classes", str(Path(__file__)), "--root", str(FILE.parent)])
    return f"""
Where to go next:
  soacraft sim show {files}
  soacraft sim run --time 60 {files}
In Python: import soacraft as sc; help(sc.sim.System)
"""
