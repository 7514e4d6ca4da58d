"""`from_model`: components for the actuators and sensors that a model has from its file, with a report."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.closures import coordinate_names
from soacraft.model.tree.parts.import_report import Entry, ImportReport
from soacraft.model.tree.parts.records import Actuator, Record
from soacraft.sim.forces.drives import Law
from soacraft.sim.library.algebra import Express, Gain, Sum
from soacraft.sim.library.drives import Drive, WideDrive
from soacraft.sim.library.sources import Constant
from soacraft.sim.sensor_values import measured
from soacraft.sim.systems.assembly import Assembly

_FAR = 1e300


class Planned(NamedTuple):
    """A device of a model: its name in the system, and what builds it into an assembly."""

    name: str
    build: Callable[[Assembly, str], None]


def from_model(mb: Multibody) -> FromModel:
    """Components for the actuators and sensors of a model, as an assembly that is mounted at its plant:
    `s.add("devices", sim.from_model(mb), at=plant)`. `made.report` lists what was used and what was not, and why.

    An actuator is a `Drive` (on several dofs a `WideDrive`) whose control is the port `<actuator>`. A sensor gives the
    port `<sensor>`: of joints, of frames in inertial axes, and gyro, velocimeter and accelerometer (which feels
    gravity) in the axes of their site; without noise. O(actuators + sensors).

    >>> import soacraft as sc
    >>> from soacraft import sim
    >>> mb = sc.load("ur5e")
    >>> s = sim.System("robot", integrator="rk4", step=1e-3)
    >>> arm, devices = s.add("arm", sim.Plant(mb)), sim.from_model(mb)
    >>> handle = s.add("devices", devices, at=arm)
    >>> handle.elbow, len(devices.report.used)
    ('devices.elbow', 6)
    """
    if not isinstance(mb, Multibody):
        raise ModelError(f"from_model takes a Multibody, got {mb!r:.80}.")
    assembly = FromModel()
    assembly._report = ImportReport(_plan(mb)[1])
    return assembly


class FromModel(Assembly):
    """The devices of the model of the plant that it is mounted at; made by `from_model`."""

    _report = ImportReport()

    @property
    def report(self) -> ImportReport:
        """Elements of the model that were used and that were not, and why."""
        return self._report

    def build(self, p: Any, at: Any) -> None:
        """Add a component for each device."""
        planned, entries = _plan(self._plant().mb)
        self._report = ImportReport(entries)
        for x in planned:
            x.build(self, x.name)


def _plan(mb: Multibody) -> tuple[list[Planned], list[Entry]]:
    planned: list[Planned] = []
    entries: list[Entry] = []
    taken: set[str] = set()

    def tell(kind: str, name: str, status: str, note: str = "", attribute: str = "") -> None:
        entries.append(Entry(mb.name, 0, kind, name, attribute, status, note, False))

    def named(kind: str, given: str) -> str:
        name = re.sub(r"[^\w-]", "_", given) or kind
        name = name if re.match(r"[A-Za-z_]", name) else f"{kind}_{name}"
        free = next(x for i in range(len(taken) + 1) if (x := name if not i else f"{name}_{i + 1}") not in taken)
        taken.add(free)
        return free

    for actuator in mb.actuators:
        try:
            build = _actuator(mb, actuator)
        except ModelError as why:
            tell("actuator", actuator.name, "ignored", str(why))
            continue
        name = named("actuator", actuator.name)
        planned.append(Planned(name, build))
        tell("actuator", actuator.name, "used", "" if name == actuator.name else f"is called {name!r}")
    for record in mb.records:
        if record.kind != "sensor":
            continue
        plan = _sensor(mb, record)
        if isinstance(plan, str):
            tell("sensor", record.name, "ignored", plan)
            continue
        name = named("sensor", record.name or str(record.attributes.get("type", "sensor")))
        planned.append(Planned(name, plan))
        tell("sensor", record.name, "used", "" if name == record.name else f"is called {name!r}")
        if record.attributes.get("noise"):
            noise = record.attributes["noise"]
            tell("sensor", record.name, "ignored", f"put a sim.Sensor(deviation={noise}) behind it", "noise")
    return planned, entries


def _actuator(mb: Multibody, actuator: Actuator) -> Callable[[Assembly, str], None]:
    """Function that builds a drive; a `ModelError` for a law that is not known."""
    law = Law(mb, actuator)
    gain, b0, b1, b2, *ranges = (float(x) for x in np.clip(law.numbers, -_FAR, _FAR))
    parameters = dict(zip(("lower_control", "upper_control", "lower", "upper"), ranges, strict=True))
    parameters |= {"gain": gain, "b0": b0, "b1": b1, "b2": b2}
    gears = dict(actuator.gears)

    def build(made: Assembly, name: str) -> None:
        plant = made._plant()
        if len(gears) == 1:
            ((dof, gear),) = gears.items()
            made.add(name, Drive(gear=gear, **parameters), at=plant.dof(dof))
            if b1 and dof in coordinate_names(plant.mb):
                made.connect(f"{plant.q}[{dof}]", f"{name}.position")
        else:
            made.add(name, WideDrive(row=tuple(law.row.tolist()), length=tuple(law.length.tolist()), **parameters))
            made.connect(plant.q, f"{name}.q")
            made.connect(plant.v, f"{name}.v")
            made.connect(f"{name}.force", f"{plant.path}.force")
        made.export(name, f"{name}.control")

    return build


def _sensor(mb: Multibody, record: Record) -> Callable[[Assembly, str], None] | str:
    """Function that builds a sensor, or the reason why there is none."""
    what = measured(mb, record)
    if isinstance(what, str):
        return what
    if what.in_site:
        return _in_site(what.port, what.of, tuple(mb.gravity.tolist()) if what.feels_gravity else None)
    return _plain(f"{what.port}[{what.of}]", None if what.is_joint else 3)


def _plain(port: str, size: int | None) -> Callable[[Assembly, str], None]:
    def build(made: Assembly, name: str) -> None:
        made.add(name, Gain(gain=1.0, size=size))
        made.connect(f"{made._plant().path}.{port}", f"{name}.u")
        made.export(name, f"{name}.y")

    return build


def _in_site(port: str, frame: str, gravity: tuple[float, ...] | None) -> Callable[[Assembly, str], None]:
    def build(made: Assembly, name: str) -> None:
        path = made._plant().path
        source = f"{path}.{port}[{frame}]"
        made.add(name, Express(source="inertial", target=f"{path}:{frame}", inverse=True))
        if gravity is not None:  # what a mass on springs feels: a - g
            made.add(f"{name}_gravity", Constant(value=gravity))
            made.add(f"{name}_felt", Sum(sign_b=-1.0, size=3))
            made.connect(source, f"{name}_felt.a")
            made.connect(f"{name}_gravity.y", f"{name}_felt.b")
            source = f"{name}_felt.y"
        made.connect(source, f"{name}.u")
        made.connect(f"{path}.rotation[{frame}]", f"{name}.rotation")
        made.export(name, f"{name}.y")

    return build
