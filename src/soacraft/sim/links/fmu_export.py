"""A system as an FMU for co-simulation, by pythonfmu (2.0) and pythonfmu3 (3.0)."""

from __future__ import annotations

import inspect
import keyword
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from soacraft.arguments import read_path
from soacraft.errors import LinkError, WiringError, near
from soacraft.sim.components.registry import known_classes
from soacraft.sim.links.fmu_slave import Card, Port
from soacraft.sim.links.held import hold
from soacraft.sim.links.ports import Linked
from soacraft.sim.systems.description import build, describe
from soacraft.sim.systems.system import System

_SCRIPT = '''"""A system of soacraft, for co-simulation."""

from {package} import {base}, {real}, Fmi{version}Causality as Causality

from soacraft.sim.links.fmu_description import TIME, complete
from soacraft.sim.links.fmu_slave import Exported


class {name}({base}):
    author = "soacraft"

    def __init__(self, **given):
        super().__init__(**given)
        self.exported = x = Exported(self.resources)
        self._units = {{}}
        for port in x.inputs:
            self._add(port, Causality.input, lambda n=port.name: x.input(n), lambda v, n=port.name: x.set(n, v))
        for port in x.outputs:
            self._add(port, Causality.output, lambda n=port.name: x.output(n), None)
{independent}
    def _add(self, port, causality, getter, setter):
        self._units[port.name] = port.unit
        variable = {real}(port.name, causality=causality, getter=getter, setter=setter)
        self.register_variable(variable, nested=False)

    def to_xml(self, *options):
        return complete(super().to_xml(*options), self._units)

    def setup_experiment(self, start_time, *_):
        self.exported.begin(start_time)

    def do_step(self, current_time, step_size):
        {done}
'''

#: The time, which an FMU of version 3.0 has as a variable.
_INDEPENDENT = """\
        self._units[TIME] = "s"
        time = Float64(TIME, causality=Causality.independent, variability=Fmi3Variability.continuous,
                       getter=lambda: x.time)
        self.register_variable(time, nested=False)
"""


def to_fmu(
    system: System,
    path: str | PathLike[str],
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    version: int = 2,
) -> Path:
    """Write a system as an FMU; see `System.to_fmu`."""
    target = read_path(path, "to_fmu", LinkError)
    if target.suffix != ".fmu":
        raise LinkError(f"an FMU is a file that ends in .fmu, got {str(path)!r:.80}.")
    if version not in (2, 3):
        raise LinkError(f"an FMU is of version 2 or 3, got {version!r:.40}.")
    builder = _builder(version)
    system.board.refuse_begun("it cannot become an FMU")
    for name, part in system.diagram.parts.items():
        if isinstance(part.component, Linked):
            raise WiringError(f"{name!r} is a link to another program, which cannot be in an FMU.")
    copy = build(
        describe(system), known_classes({type(x.component) for x in system.diagram.parts.values()}), *_loads(system)
    )
    held = hold(copy, inputs)
    copy.check()
    card = Card(
        system=describe(copy),
        classes=[],
        inputs=[y for x in inputs for y in _elements(x, held[x], _signal(copy, f"{held[x].rpartition('.')[0]}.y"))],
        outputs=[y for x in outputs for y in _elements(x, x, _signal(copy, x))],
    )
    files = []
    for kind in sorted({type(x.component) for x in system.diagram.parts.values()}, key=lambda x: x.__name__):
        if known_classes().get(kind.__name__) is not kind or not kind.__module__.startswith("soacraft."):
            card.classes.append((kind.__module__, kind.__name__))
            files += _source(kind)
    name = re.sub(r"\W", "_", copy.name, flags=re.ASCII)
    name = name if name[0].isalpha() else f"system_{name}"
    while _is_taken(name, [module for module, _ in card.classes]):
        name += "_fmu"
    with tempfile.TemporaryDirectory(prefix="soacraft_fmu_") as scratch:
        folder = Path(scratch)
        (folder / "soacraft_system.json").write_bytes(msgspec.json.encode(card))
        (folder / f"{name}.py").write_text(_script(name, version))
        with _undisturbed(folder, name):
            done = builder.build_FMU(
                folder / f"{name}.py", folder / "out", project_files={folder / "soacraft_system.json", *files}
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(done, target)
    return target


def _builder(version: int) -> Any:
    package = {2: "pythonfmu", 3: "pythonfmu3"}[version]
    try:
        return import_module(f"{package}.builder").FmuBuilder
    except ImportError:
        raise LinkError(f"FMUs are made by {package}, which is not installed: pip install 'soacraft[fmi]'.") from None


def _script(name: str, version: int) -> str:
    if version == 2:
        words = {"package": "pythonfmu", "base": "Fmi2Slave", "real": "Real", "independent": ""}
        return _SCRIPT.format(name=name, version=2, done="return self.exported.step(current_time, step_size)", **words)
    words = {"package": "pythonfmu3", "base": "Fmi3Slave", "real": "Float64", "independent": _INDEPENDENT}
    done = "self.exported.step(current_time, step_size)\n        return Fmi3StepResult()"
    text = _SCRIPT.format(name=name, version=3, done=done, **words)
    return text.replace("import Fmi3Slave, ", "import Fmi3Slave, Fmi3StepResult, Fmi3Variability, ")


def _loads(system: System) -> tuple[Any, Any]:
    for path, plant in system.diagram.plants.items():
        if plant.forces:
            raise WiringError(
                f"the plant {path!r} has the force element {plant.forces[0].name!r}, which is no plain data and cannot "
                "be in an FMU; use a component."
            )
    return None, None


def _signal(system: System, key: str) -> Any:
    path, _, name = key.rpartition(".")
    part = system.diagram.parts.get(path)
    if part is not None and name in part.component.interface.outputs:
        return part.signal(name)
    outputs = [f"{x}.{y}" for x, z in system.diagram.parts.items() for y in z.component.interface.outputs]
    raise WiringError(f"there is no output {key!r:.60} for the FMU{near(key, outputs)}")


def _elements(name: str, key: str, signal: Any) -> Iterator[Port]:
    """A port of an FMU for each number of a signal."""
    for at in np.ndindex(*signal.shape):
        place = f"[{','.join(map(str, at))}]" if at else ""
        yield Port(f"{name}{place}", key, tuple(at), signal.unit)


def _source(kind: type) -> list[Path]:
    """The file of a class, which goes into the FMU; that of a package must be installed where the FMU runs."""
    module = kind.__module__
    if module == "__main__" or "<locals>" in kind.__qualname__:
        raise WiringError(
            f"the class {kind.__name__!r} is defined in a script or a function, and an FMU imports it: put it at the "
            "top of a module."
        )
    file = inspect.getsourcefile(kind)
    return [] if "." in module or file is None else [Path(file)]


def _is_taken(name: str, modules: Sequence[str]) -> bool:
    """True for a word of Python, and for a module that can be imported, as those of the classes: the script of the FMU,
    which has this name, would be imported in its place."""
    if keyword.iskeyword(name) or name in {x.partition(".")[0] for x in modules} or name in sys.modules:
        return True
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return True


@contextmanager
def _undisturbed(folder: Path, name: str) -> Iterator[None]:
    """Undo changes of the import path and of the imported modules that the making of an FMU causes."""
    before, imported = list(sys.path), sys.modules.get(name)
    sys.modules.pop(name, None)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path[:] = before
        sys.modules.pop(name, None)
        if imported is not None:
            sys.modules[name] = imported
