"""Comparison of two models bit for bit, with the places of the differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from soacraft.files.file_names import whole_name
from soacraft.files.modal_arrays import parts_of
from soacraft.files.native_modal import first_users, kept_report, node_name, own_state
from soacraft.model import Multibody
from soacraft.model.hinges import Hinge
from soacraft.model.tree.frames.frame import Body, Carrier, Frame
from soacraft.spatial import Inertia, Pose, Wrench

Fact = tuple[str, Any]


def same(a: Multibody, b: Multibody) -> list[str]:
    """Differences between two models, state and order included; empty when they are equal bit for bit. O(n).

    >>> from soacraft.model import serial_chain
    >>> same(serial_chain(2), serial_chain(2))
    []
    >>> other = serial_chain(2)
    >>> other.q = [0.0, 0.5]
    >>> same(serial_chain(2), other)
    ["body 'link2': q: [0.0] and [0.5]"]
    """
    ours, theirs = dict(_facts(a)), dict(_facts(b))
    places = [place for place in dict.fromkeys([*ours, *theirs]) if _differ(ours, theirs, place)]
    if places:  # names of files may be relative to two folders, and lead to the same files
        facts, whole2 = dict(_facts(a, a.mesh_folder)), dict(_facts(b, b.mesh_folder))
        places = [place for place in places if _differ(facts, whole2, place)]
    return [f"{place}: {_shown(ours, place)} and {_shown(theirs, place)}" for place in places]


def _differ(ours: dict[str, Any], theirs: dict[str, Any], place: str) -> bool:
    return place not in ours or place not in theirs or _bits(ours[place]) != _bits(theirs[place])


def _facts(mb: Multibody, home: Path | None = None) -> Iterator[Fact]:
    """Values of a model, place by place; names of files as absolute paths where their folder is given."""
    yield "name", mb.name
    yield "gravity", mb.gravity
    yield "order of the bodies", list(mb._tree.bodies)
    yield "bodies", [body.name for body in mb.bodies]
    yield from _carried(mb.root, "the inertial frame", home)
    users = first_users(mb._tree.bodies.values())
    for body in users.values():
        yield from _modal(body)
    for body in mb.bodies:
        yield from _body(mb, body, f"body {body.name!r}")
        yield f"body {body.name!r}: modal data of", None if body.modal is None else users[id(body.modal)].name
        yield from _carried(body, f"body {body.name!r}", home)
    yield "forces", [(frame, wrench) for frame, wrench in mb.acting_forces.items()]
    for kind in ("loops", "couplings", "tendons", "springs", "bushings", "actuators", "keyframes", "records"):
        yield kind, list(getattr(mb, kind))
    yield "materials", [replace(x, texture=whole_name(x.texture, home)) for x in mb.materials]
    report = kept_report(mb.import_report)
    yield "import report", None if report is None else list(report.entries)


def _modal(body: Body) -> Iterator[Fact]:
    assert body.modal is not None
    arrays, texts = parts_of(body.modal)
    for name, x in {**arrays, **texts}.items():
        yield f"modal data of {body.name!r}: {name}", x


def _body(mb: Multibody, body: Body, what: str) -> Iterator[Fact]:
    for name in (
        "hinge", "hinge_name", "inertia", "inboard", "outboard", "armature", "passive", "gravity_compensation",
        "limits",
    ):  # fmt: skip
        yield f"{what}: {name}", getattr(body, name)
    yield f"{what}: parent", body.parent.name
    yield f"{what}: hinge node", node_name(body._held, body.modal)
    yield f"{what}: node of the parent", node_name(body._rides, getattr(body.parent, "modal", None))
    for name, x in zip(("q", "v", "vdot"), own_state(mb, body), strict=True):
        yield f"{what}: {name}", x


def _carried(carrier: Carrier, what: str, home: Path | None) -> Iterator[Fact]:
    yield f"{what}: children", [child.name for child in carrier.children]
    data = getattr(carrier, "modal", None)
    yield f"{what}: nodes", [(x.name, x.pose, node_name(x.modal_node, data), x.role) for x in carrier.nodes]
    yield f"{what}: geometries", [replace(x, mesh=whole_name(x.mesh, home)) for x in carrier.geometries]


def _bits(value: Any) -> Any:
    """A value as something that compares equal only when every bit and every type is."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, float):
        return "float", value.hex()
    if isinstance(value, Frame):
        return value.full_name
    if isinstance(value, Hinge):
        return type(value), _bits(value.parameters())
    if isinstance(value, Pose):
        return _bits([value.rotation, value.translation])
    if isinstance(value, Inertia):
        return _bits([value.mass, value.com, value.moment])
    if isinstance(value, Wrench):
        return _bits([np.asarray(value), value.expressed_in])
    if isinstance(value, Mapping):
        return [(key, _bits(each)) for key, each in value.items()]
    if isinstance(value, tuple | list):
        return type(value).__name__, [_bits(each) for each in value]
    names = getattr(value, "fields", None) or getattr(value, "__dataclass_fields__", None)
    if names is not None:
        return type(value), [_bits(getattr(value, name)) for name in names]
    return type(value), value


def _shown(facts: dict[str, Any], place: str) -> str:
    if place not in facts:
        return "nothing"
    value = facts[place]
    text = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    return text if len(text) <= 100 else text[:97] + "..."
