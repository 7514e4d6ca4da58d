"""`reload`: a system takes over what is different in its file; of one that runs, parameters alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import msgspec

from soacraft.errors import SystemFileError
from soacraft.files.native import same
from soacraft.fingerprint import changes
from soacraft.markup import Text
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.components.component import Component
from soacraft.sim.components.registry import PartClass
from soacraft.sim.files.reader import load_system, system_path
from soacraft.sim.files.writer import frame_table
from soacraft.sim.forces.loads import Load
from soacraft.sim.identity import of_load
from soacraft.sim.systems.description import SystemData, describe
from soacraft.sim.systems.settings import put_params, refuse_other_signals

if TYPE_CHECKING:
    from soacraft.sim.systems.plants.plant import Mount, Plant
    from soacraft.sim.systems.system import System

_OF_PART = ("every", "offset", "at", "convert", "active")
_WHOLE = ("name", "integrator", "rtol", "step", "max_step", "t", "seed")


def reload(
    system: System,
    path: str | PathLike[str],
    classes: Iterable[PartClass],
    forces: Mapping[str, Sequence[Load]] | None,
    roots: Sequence[str | PathLike[str]],
) -> Text:
    """Read a system file again: all of it, or nothing; the changes as a text."""
    file = system_path(path)
    own_classes = {type(x.component) for x in system.diagram.parts.values()} | {
        type(x.assembly) for x in system.diagram.built.values()
    }
    classes_by_name = {x.__name__: x for x in [*own_classes, *classes]}
    loads = {name: x.forces for name, x in system.diagram.plants.items()} if forces is None else forces
    links = {name: x.component for name, x in system.diagram.parts.items() if "interface" in vars(x.component)}
    other = load_system(file, classes_by_name.values(), loads, roots, links)
    params, rest = _changes(system, other)
    if system.board.build.propagator is None:
        other.check()
        _take_over(system, other)
        return _told([*params.values(), *rest])
    fixed = [*rest]
    for key, line in params.items():
        part, new = system.diagram.parts[key[0]], other.diagram.parts[key[0]].component.p
        fault = refuse_other_signals(part, new, f"{key[0]}.{key[1]}")
        fixed += [f"{line} ({fault})"] if fault else []
    if fixed:
        lines = "\n".join(f"  {x}" for x in fixed[:50])
        raise SystemFileError(
            f"{file}: the system {system.name!r} is at t = {system.t:.9g} s, and this cannot change once it runs:\n"
            f"{lines}\nNothing was changed. Load it as another system, with sim.load_system."
        )
    for name in dict.fromkeys(name for name, _ in params):
        put_params(system, name, other.diagram.parts[name].component.p)
    return _told(list(params.values()))


def _told(lines: list[str]) -> Text:
    return Text("\n".join(lines) or "nothing changed")


def _changes(old: System, new: System) -> tuple[dict[tuple[str, str], str], list[str]]:
    """Parameters that are others, by component and name, and all else that is."""
    a, b = describe(old, documents=False), describe(new, documents=False)
    rest = [f"{x}: {getattr(a, x)!r} -> {getattr(b, x)!r}" for x in _WHOLE if getattr(a, x) != getattr(b, x)]
    rest += _plants(old, new, a, b)
    x, y = ({path: frame_table(z) for path, z in s._frames.items()} for s in (old, new))
    rest += [f"{path}: another frame" for path in sorted({*x, *y}) if x.get(path) != y.get(path)]
    rest += [
        f"{path}: another sequence"
        for path in sorted({*a.sequences, *b.sequences})
        if a.sequences.get(path) != b.sequences.get(path)
    ]
    params: dict[tuple[str, str], str] = {}
    for path in sorted({*a.parts, *b.parts}):
        if path not in a.parts or path not in b.parts:
            rest.append(f"{path}: {'added' if path in b.parts else 'taken away'}")
            continue
        was, now = a.parts[path], b.parts[path]
        one, two = old.diagram.parts[path].component, new.diagram.parts[path].component
        if type(one) is not type(two):
            rest.append(f"{path}: {was.type} -> {now.type}")
            continue
        rest += [f"{path}: another {what}" for what in _OF_PART if _differ(was, now, what)]
        for name, before, after in _fields(one, two):
            params[path, name] = f"{path}.{name}: {before!r:.60} -> {after!r:.60}"
    rest += [f"connection {x} taken away" for x in _wires(a) if x not in _wires(b)]
    rest += [f"connection {x} added" for x in _wires(b) if x not in _wires(a)]
    for what in ("exports", "groups", "starts"):
        p, q = getattr(a, what), getattr(b, what)
        rest += [f"{what}: {key}: {p.get(key)!r:.60} -> {q.get(key)!r:.60}" for key in sorted({*p, *q})
                 if p.get(key) != q.get(key)]  # fmt: skip
    rest += [f"solve_loops: {a.loops!r:.60} -> {b.loops!r:.60}"] if a.loops != b.loops else []
    return params, rest


def _differ(x: Any, y: Any, name: str) -> bool:
    return bool(getattr(x, name) != getattr(y, name))


def _fields(a: Component, b: Component) -> list[tuple[str, Any, Any]]:
    one, two = msgspec.structs.asdict(a.p), msgspec.structs.asdict(b.p)
    return [(name, one[name], two[name]) for name in one if msgspec.to_builtins(one[name], enc_hook=list)
            != msgspec.to_builtins(two[name], enc_hook=list)]  # fmt: skip


def _wires(data: SystemData) -> list[str]:
    return [f"{x.source} -> {x.target}{', converted' if x.convert else ''}" for x in data.wires]


def _plants(old: System, new: System, a: SystemData, b: SystemData) -> list[str]:
    differences = []
    for path in sorted({*a.plants, *b.plants}):
        if path not in a.plants or path not in b.plants:
            differences.append(f"{path}: {'added' if path in b.plants else 'taken away'}")
            continue
        x, y = a.plants[path], b.plants[path]
        differences += [f"{path}: another {what}" for what in ("solver", "forces") if _differ(x, y, what)]
        if old.board.build.propagator is not None and not _differ(x, y, "forces"):
            differences += _forces(old.diagram.plants[path], new.diagram.plants[path])
        differences += _model(
            path, old.diagram.plants[path].mb, new.diagram.plants[path].mb, old.board.build.propagator is None
        )
    return differences


def _forces(old: Plant, new: Plant) -> list[str]:
    """Force elements that have the names of before and act otherwise."""
    pairs = [(a, b) for a, b in zip(old.forces, new.forces, strict=True) if a is not b]
    changed = [(a.name, changes(of_load(a).entries, of_load(b).entries)) for a, b in pairs]
    return [f"{old.path}: another force {name!r}: {why}" for name, why in changed if why]


def _model(path: str, a: Multibody, b: Multibody, state: bool) -> list[str]:
    """Differences between two models; of their states too if these are those of the start."""
    if (a.nq, a.nv) != (b.nq, b.nv):
        return [f"{path}: a model of {a.nv} dofs -> one of {b.nv}"]
    if state:
        return [f"{path}: {x}" for x in same(a, b)[:20]]
    q, v, vdot = b.q, b.v, b.vdot
    try:
        b.set_state(a.q, a.v, a.vdot)
        return [f"{path}: {x}" for x in same(a, b)[:20]]
    finally:
        b.set_state(q, v, vdot)


def _take_over(system: System, other: System) -> None:
    """Be as another that has not begun either. Plants whose models are the same stay the objects that they are."""
    plants = dict(other.diagram.plants)
    for path, plant in other.diagram.plants.items():
        before = system.diagram.plants.get(path)
        if before is not None and not same(before.mb, plant.mb) and (before.solver, before.forces) == (
            plant.solver, plant.forces,
        ):  # fmt: skip
            plants[path] = before

    def moved(mount: Mount) -> Mount:
        return mount._replace(plant=plants[mount.plant.path])

    parts = {
        path: x if x.mount is None else x._replace(mount=moved(x.mount)) for path, x in other.diagram.parts.items()
    }
    built = {path: x if x.at is None else x._replace(at=moved(x.at)) for path, x in other.diagram.built.items()}
    system.become(other, other.diagram.changed(parts=parts, built=built, plants=plants))
