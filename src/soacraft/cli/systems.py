"""`soacraft sim run | show | check FILE`: systems from their files."""

from __future__ import annotations

import argparse
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soacraft.errors import SystemFileError, WiringError

if TYPE_CHECKING:
    from soacraft.sim import System


def add_parser(verbs: Any) -> None:
    """Let the command line take the verb."""
    sim = verbs.add_parser("sim", help="systems of components, from their files: sim run | show | check FILE")
    acts = sim.add_subparsers(dest="act", metavar="ACT", required=True)
    run = acts.add_parser("run", help="carry a system through time, and say what came of it")
    run.add_argument("-t", "--time", type=float, required=True, metavar="SECONDS", help="the time to run to")
    run.add_argument("--until", metavar="CROSSING", help="stop at this crossing")
    run.add_argument("--log", metavar="FILE.h5", help="write a log")
    run.add_argument("--checkpoint", metavar="FILE.h5", help="write a checkpoint at the end")
    run.add_argument("--signals", action="append", metavar="PATTERN", help="what is recorded (default: all)")
    run.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter, as motor.R=1.2")
    run.add_argument("--pace", type=float, help="how fast, relative to the clock on the wall (default: as it can)")
    run.add_argument("--serve", action="store_true", help="let programs of this machine follow and pause it")
    show = acts.add_parser("show", help="the parts, signals and schedule of a system")
    show.add_argument("--port", metavar="NAME", help="what one port is, and what it depends on")
    show.add_argument("--mermaid", action="store_true", help="the diagram in the language of Mermaid")
    check = acts.add_parser("check", help="look for faults of wiring; status 1 when there are some")
    for act in (run, show, check):
        act.add_argument("file", metavar="FILE", help="a system file, .toml or .json")
        act.add_argument(
            "--classes", action="append", default=[], metavar="FILE.py",
            help="a program with classes of components or assemblies, which is run; can be given several times",
        )  # fmt: skip
        act.add_argument(
            "--root", action="append", default=[], metavar="FOLDER", help="a folder in which model files may be"
        )


def do(parsed: argparse.Namespace) -> int:
    """Run a command; the exit status."""
    # the simulation takes long to load
    from soacraft.sim import load_system

    s = load_system(parsed.file, classes_of(parsed.classes), roots=parsed.root)
    return {"run": run, "show": show, "check": check}[parsed.act](s, parsed)


def classes_of(files: list[str]) -> list[Any]:
    """The classes of components and assemblies that programs define. They are run, as Python runs a module."""
    # the simulation takes long to load
    from soacraft.sim import Assembly, Component

    kinds = []
    for i, file in enumerate(files):
        if not Path(file).is_file():
            raise SystemFileError(f"--classes {file}: there is no such file.")
        spec = spec_from_file_location(f"soacraft_classes_{i}", file)
        if spec is None or spec.loader is None:
            raise SystemFileError(f"--classes {file}: a program of Python is needed, with the suffix .py.")
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        in_module = [x for x in vars(module).values() if isinstance(x, type) and issubclass(x, Component | Assembly)]
        kinds += [x for x in in_module if x.__module__ == module.__name__]
    return kinds


def run(s: System, parsed: argparse.Namespace) -> int:
    """Run it, and print the run, its balance and its events."""
    for text in parsed.set:
        set_parameter(s, text)
    served = s.serve() if parsed.serve else None
    try:
        if served is not None:
            host, port = served.address
            print(f"served at {host}:{port}, token {served.token}", flush=True)
        result = s.run(
            parsed.time, log=parsed.log, until=parsed.until, signals=parsed.signals or "**", progress=True,
            pace=parsed.pace, checkpoint=parsed.checkpoint,
        )  # fmt: skip
    finally:
        if served is not None:
            served.close()
    print(result)
    if result.stopped_by:
        print(f"stopped by {result.stopped_by}")
    for x in result.events[:20]:
        print(f"t = {x.t:.9g} s: {x.name}")
    if len(result.events) > 20:
        print(f"... {len(result.events) - 20} more events")
    if result.work:
        print(result.check())
    for path in (parsed.log, parsed.checkpoint):
        if path is not None:
            print(f"wrote {path}")
    return 0


def set_parameter(s: System, text: str) -> None:
    """Set a parameter from "name=value"; a value is a number, true or false, a list of numbers, else a text."""
    # takes long to load, and only this needs it
    import msgspec

    name, sign, value = text.partition("=")
    if not sign:
        raise WiringError(f"--set {text:.60}: write NAME=VALUE, as motor.R=1.2.")
    try:
        read = msgspec.json.decode(value)
    except msgspec.DecodeError:
        read = value
    s.params[name.strip()] = read


def show(s: System, parsed: argparse.Namespace) -> int:
    """Print what it is made of."""
    if parsed.port:
        print(s.explain(parsed.port))
    elif parsed.mermaid:
        print(s.to_mermaid())
    else:
        print(f"{s!r}\n\n{s.tree()}\n\nsignals\n{s.signals()}\n\nschedule\n{s.schedule()}")
    return 0


def check(s: System, parsed: argparse.Namespace) -> int:
    """Say whether it is wired as it should be."""
    try:
        s.check()
    except WiringError as error:
        print(error)
        return 1
    print(f"the system {s.name!r} has no fault: {len(s._parts)} components, {len(s._wires)} connections")
    return 0
