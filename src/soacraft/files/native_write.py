"""A model as the objects of the native format."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from soacraft.errors import ModelFileError
from soacraft.files import schema
from soacraft.files.modal_arrays import ORTHONORMAL
from soacraft.files.native_modal import SideFiles, first_users, kept_report, modal_of, node_name, own_state
from soacraft.model import Body, Bushing, Closure, Curve, Entry, Frame, Multibody
from soacraft.model import hinges as kinds
from soacraft.model.modal import ModalData
from soacraft.model.tree.frames.frame import Carrier
from soacraft.spatial import Array, Inertia, Pose, Wrench

#: The classes of hinges the format knows, with their objects.
_KNOWN: tuple[type[kinds.Hinge], ...] = (*kinds.HINGES, *kinds.UNCOMPILED)
HINGES: dict[type[kinds.Hinge], type[schema.Hinge]] = {kind: getattr(schema, kind.__name__) for kind in _KNOWN}

_NO_BOUND = {"lower": -np.inf, "upper": np.inf, "velocity": np.inf, "effort": np.inf}


def model_of(mb: Multibody, side: SideFiles | None = None) -> schema.Model:
    """The whole model; what cannot be said in the format is refused by name. Large arrays go to the side files."""
    number = {name: i for i, name in enumerate(mb._tree.bodies)}
    users = first_users(mb._tree.bodies.values())
    report = kept_report(mb.import_report)
    return schema.Model(
        format=schema.FORMAT,
        name=mb.name,
        gravity=_numbers(mb.gravity),
        root=_root(mb, number),
        modal=tuple(modal_of(body.name, body.modal, side) for body in users.values() if body.modal is not None),
        bodies=tuple(_body(mb, body, number, users) for body in mb._tree.bodies.values()),
        forces=tuple(_force(frame, wrench) for frame, wrench in mb.acting_forces.items()),
        loops=tuple(_loop(loop) for loop in mb.loops),
        couplings=tuple(
            schema.Coupling(x.name, dict(x.terms), x.offset, x.active, dict(x.attributes)) for x in mb.couplings
        ),
        tendons=tuple(
            schema.Tendon(x.name, dict(x.terms), _law(x.stiffness), _law(x.damping), x.rest, dict(x.attributes))
            for x in mb.tendons
        ),
        springs=tuple(
            schema.Spring(
                x.name, tuple(n.full_name for n in x.nodes), _law(x.stiffness), _law(x.damping), x.rest,
                dict(x.attributes),
            )
            for x in mb.springs
        ),
        bushings=tuple(map(_bushing, mb.bushings)),
        actuators=tuple(schema.Actuator(x.name, x.kind, dict(x.gears), dict(x.attributes)) for x in mb.actuators),
        keyframes=tuple(
            schema.Keyframe(x.name, _numbers(x.q), _numbers(x.v), dict(x.attributes)) for x in mb.keyframes
        ),
        materials=tuple(schema.Material(x.name, x.rgba, x.texture, dict(x.attributes)) for x in mb.materials),
        records=tuple(schema.Record(x.kind, x.name, dict(x.attributes)) for x in mb.records),
        import_report=None if report is None else tuple(map(_entry, report.entries)),
    )


def _root(mb: Multibody, number: dict[str, int]) -> schema.Root | None:
    root = schema.Root(_nodes(mb.root), _geometries(mb.root), _children(mb.root, number))
    return None if root == schema.Root() else root


def _body(mb: Multibody, body: Body, number: dict[str, int], users: dict[int, Body]) -> schema.Body:
    what = f"body {body.name!r}"
    q, v, vdot = own_state(mb, body)
    return schema.Body(
        name=body.name,
        parent=body.parent.name,
        hinge=hinge_of(body.hinge, f"hinge {body.hinge_name!r}"),
        hinge_name=None if body.hinge_name == body.name else body.hinge_name,
        inertia=_inertia(body.inertia) if body.modal is None else None,
        modal=None if body.modal is None else users[id(body.modal)].name,
        hinge_node=node_name(body._held, body.modal),
        parent_node=node_name(body._rides, _modal_of_carrier(body.parent)),
        inboard=_pose(body.inboard, f"inboard of {what}"),
        outboard=_pose(body.outboard, f"outboard of {what}"),
        armature=_unless_zero(body.armature),
        passive=_passive(body),
        gravity_compensation=body.gravity_compensation or None,
        limits=_limits(body),
        nodes=_nodes(body),
        geometries=_geometries(body),
        children=_children(body, number),
        q=None if _same_bits(q, np.concatenate([body.hinge.neutral(), np.zeros(len(body._own))])) else _numbers(q),
        v=_unless_zero(v),
        vdot=_unless_zero(vdot),
    )


def hinge_of(hinge: kinds.Hinge, what: str) -> Any:
    """The object of a built-in hinge; a class of the user's own is refused."""
    maker = HINGES.get(type(hinge))
    if maker is None:
        raise ModelFileError(
            f"{what} is a {type(hinge).__name__}, a class of your own, which a model file cannot hold; the format "
            f"knows {', '.join(kind.__name__ for kind in HINGES)}."
        )
    return maker(**{name: _plain(value) for name, value in hinge.parameters().items()})


def _plain(value: Any) -> Any:
    """A parameter of a hinge as numbers and tuples."""
    array = np.asarray(value, dtype=np.float64)
    return float(array) if array.ndim == 0 else tuple(_plain(row) for row in array)


def _passive(body: Body) -> schema.Passive | None:
    passive = body.passive
    rest = None if passive.rest is None else _numbers(passive.rest)
    written = schema.Passive(rest=rest, **{name: _unless_zero(getattr(passive, name)) for name in passive.by_dof})
    return None if written == schema.Passive() else written


def _limits(body: Body) -> schema.Limits | None:
    limits = body.limits
    bounds = {name: _bounds(getattr(limits, name), name, body) for name in _NO_BOUND}
    return schema.Limits(**bounds) if any(x is not None for x in bounds.values()) else None


def _bounds(x: Array, name: str, body: Body) -> tuple[float | None, ...] | None:
    none = _NO_BOUND[name]
    if (x == -none).any():
        raise ModelFileError(
            f"{name} of the limits of hinge {body.hinge_name!r} is {-none}, which no motion can meet and a model file "
            f"cannot hold; give a number, or {none} for no limit."
        )
    return None if (x == none).all() else tuple(None if y == none else float(y) for y in x)


def _inertia(inertia: Inertia) -> schema.Inertia | None:
    moment = None if _same_bits(inertia.moment, np.zeros((3, 3))) else _plain(inertia.moment)
    written = schema.Inertia(inertia.mass, _unless_zero(inertia.com), moment)
    return None if written.com is None and moment is None and _same_bits(np.array(inertia.mass), 0.0) else written


def _pose(pose: Pose, what: str) -> schema.Pose | None:
    R, p = pose.rotation, pose.translation
    gap = float(np.abs(R.T @ R - np.eye(3)).max())
    if not gap <= ORTHONORMAL:
        raise ModelFileError(
            f"{what} has a rotation that is off orthonormal by {gap:.3g}, more than the {ORTHONORMAL:g} a model file "
            "may have; make it again with Pose(pose.rotation, pose.translation)."
        )
    written = schema.Pose(None if _same_bits(R, np.eye(3)) else _plain(R), _unless_zero(p))
    return None if written == schema.Pose() else written


def _nodes(carrier: Carrier) -> tuple[schema.Node, ...]:
    data = _modal_of_carrier(carrier)
    return tuple(
        schema.Node(x.name, _pose(x.pose, f"the pose of node {x.full_name!r}"), node_name(x.modal_node, data), x.role)
        for x in carrier.nodes
    )


def _modal_of_carrier(carrier: Carrier) -> ModalData | None:
    return carrier.modal if isinstance(carrier, Body) else None


def _geometries(carrier: Carrier) -> tuple[schema.Geometry, ...]:
    return tuple(
        schema.Geometry(
            name=x.name,
            kind=x.kind,
            size=x.size,
            pose=_pose(x.pose, f"the pose of geometry {x.name!r} of {carrier.name!r}"),
            role=x.role,
            rgba=x.rgba,
            material=x.material,
            mesh=x.mesh,
            attributes=dict(x.attributes),
        )
        for x in carrier.geometries
    )


def _children(carrier: Carrier, number: dict[str, int]) -> tuple[str, ...] | None:
    """The order of attachment, where it is not that in which the bodies were added."""
    attached = tuple(child.name for child in carrier.children)
    return None if list(attached) == sorted(attached, key=number.__getitem__) else attached


def _force(frame: Frame, wrench: Wrench) -> schema.Force:
    axes = wrench.expressed_in
    name = None if axes is None else axes.full_name
    return schema.Force(frame.full_name, _numbers(wrench.moment), _numbers(wrench.force), name)


def _law(x: float | Curve) -> float | schema.Curve:
    return schema.Curve(_numbers(x.x), _numbers(x.y), x.kind) if isinstance(x, Curve) else x


def _bushing(x: Bushing) -> schema.Bushing:
    rest = _pose(x.rest, f"rest of bushing {x.name!r}")
    K, D = (tuple(tuple(row) for row in m.tolist()) for m in (x.stiffness, x.damping))
    return schema.Bushing(x.name, x.a.full_name, x.b.full_name, K, D, rest, dict(x.attributes))


def _loop(loop: Closure) -> schema.Loop:
    hinge = hinge_of(loop.hinge, f"the hinge of loop {loop.name!r}")
    return schema.Loop(loop.name, loop.a.full_name, loop.b.full_name, hinge, loop.active, dict(loop.attributes))


def _entry(entry: Entry) -> schema.Entry:
    return msgspec.convert(entry, schema.Entry)


def _numbers(x: Array) -> Any:
    return tuple(x.tolist())


def _unless_zero(x: Array) -> Any:
    return None if _same_bits(x, np.zeros(x.shape)) else _numbers(x)


def _same_bits(x: Any, y: Any) -> bool:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    return a.shape == b.shape and a.tobytes() == b.tobytes()
