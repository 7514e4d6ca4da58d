"""System files that are damaged: every field, models by name, next to the file and in it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import soacraft as sc
from soacraft import sim
from soacraft.files.native import to_json


class Servo(sim.Assembly):
    """A controller and a motor."""

    class Params(sim.Params):
        kp: float = 10.0

    def build(self, p, at):
        self.add("control", sim.PID(kp=p.kp), rate=500)
        self.add("motor", sim.Motor(R=1.0, L=5e-3, k=0.05, n=20.0), at=at)
        self.connect("control.command", "motor.voltage")
        self.export("target", "control.target")
        self.export("measured", "control.measured")


CLASSES = (Servo,)
BESIDE = {"pendulum.json": to_json(sc.load("pendulum"))}


def full_system(folder: Path) -> sim.System:
    """A system that uses every field of the format."""
    mb = sc.load("double_pendulum")
    mb.q = [0.1, 0.2]
    own = sc.Multibody("own", mb.gravity)
    body = own.add_body("bar", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0.5, 0, 0)))
    body.add_node("tip", sc.Pose(translation=(1, 0, 0)))
    s = sim.System("full", integrator="rk4", step=1e-3, rtol=1e-8, t=0.5, seed=3)
    arm = s.add("arm", sim.Plant(mb, solver="tree"))
    bar = s.add("bar", sim.Plant(own))
    s.add("file", sim.Plant(sc.load(folder / "pendulum.json")))
    s.add("upper", Servo(kp=5.0), at=arm.dof("upper"))
    s.add("lower", Servo(), at=arm.dof("lower"))
    s.replace("lower/motor", sim.Motor(R=2.0, L=5e-3, k=0.05))  # so that its parts are listed
    s.add("wave", sim.Sine(frequency=0.5), rate=3, offset=0.1)
    s.add("slow", sim.SampleHold(), every="2/7")
    s.add("jet", sim.Thruster(), at=bar.node("bar/tip"))
    s.add("rpm", sim.Constant(value=30.0, unit="rpm"))
    s.add("speed", sim.Gain(gain=0.5))
    s.add("sum", sim.Sum(sign_b=0.25))
    s.add_frame("camera", "bar:bar/tip", sc.Pose(translation=(0, 0, 0.5)))
    s.add_frame("belt", pose="place.y")
    s.add("place", sim.Constant(value=(0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 3.0)))
    s.connect("wave.y", "slow.u")
    s.connect("slow.y", "*.target")
    s.connect("arm.q[upper]", "upper.measured")
    s.connect("arm.q[lower]", "lower.measured")
    s.connect("rpm.y", "speed.u", convert=True)
    s.connect("speed.y", "sum.a")
    s.connect("sum.y", "sum.b")
    s.connect("sum.y", "jet.thrust")
    s.solve_loop("sum.y")
    s.states["upper/motor.current"] = 0.25
    return s


def system_texts() -> list[bytes]:
    """The full system and a small one, as TOML and as JSON."""
    small = sim.System("small")
    small.add("wave", sim.Sine(frequency=0.5))
    found = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, data in BESIDE.items():
            (folder / name).write_bytes(data)
        full = full_system(folder)
        for s in (full, small):
            for suffix in ("toml", "json"):
                file = folder / f"system.{suffix}"
                s.save(file, {"file": "pendulum.json"} if s is full else None)
                found.append(file.read_bytes())
                file.unlink()
    return found
