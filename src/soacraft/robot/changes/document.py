"""A robot as a document: its model in the native format, its limbs, the objects it holds, and digests of the shapes
that it keeps for objects. Documents that are equal are of robots that give the same bits; their digest is the version
of a robot.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
import numpy as np

from soacraft.errors import ModelFileError
from soacraft.files import schema
from soacraft.files.native_hinges import hinge_from_plain
from soacraft.files.native_write import hinge_of, model_of
from soacraft.model.tree.joining.restoring import Place
from soacraft.robot.changes.shapes import Digests, ShapeRecord
from soacraft.robot.grasping.fastening import Hold
from soacraft.robot.grasping.joined import Joined
from soacraft.robot.interfaces import Bearer
from soacraft.spatial.pose import Pose

Wrench = tuple[float, float, float, float, float, float]
At = tuple[schema.Matrix, schema.Vector]


class LimbRecord(schema.Object):
    """A limb by the names of its ends."""

    name: str
    base: str
    tips: tuple[str, ...]


class FreeRecord(schema.Object):
    """Hinge of an object when it was free: the hinge, its frames, its coordinates and the pose they gave."""

    hinge: schema.AnyHinge
    hinge_name: str
    inboard: At
    outboard: At
    q: schema.Numbers
    pose: At


class HoldRecord(schema.Object):
    """An object in a hand; `name` is of both."""

    name: str
    object: str
    hand: str
    how: str
    loop: str
    node: str
    hinge: schema.AnyHinge
    impulse: Wrench
    energy_lost: float
    free: FreeRecord | None = None


class Document(schema.Object):
    """A whole robot. `order` is that of the bodies on the inertial frame, with those that were taken from there."""

    model: schema.Model
    limbs: tuple[LimbRecord, ...] = ()
    holds: tuple[HoldRecord, ...] = ()
    order: tuple[str, ...] = ()
    shapes: tuple[ShapeRecord, ...] = ()


def document_of(rb: Bearer, digests: Digests | None = None) -> Document:
    """The document of a robot; what cannot be said, such as a hinge of your own, is refused by name. O(n)."""
    mb = rb.mb
    limbs = []
    for name, x in rb._limbs.items():
        base, tip = x.ends
        limbs.append(LimbRecord(name, base, (tip,) if isinstance(tip, str) else tuple(tip)))
    held, order = rb._holds.told()
    shapes = {at: shape for at, (_, shape) in rb._kept_shapes().items()}
    return Document(model_of(mb), tuple(limbs), tuple(map(_hold, held)), order, (digests or Digests()).records(shapes))


def version_of(document: Document) -> str:
    """The digest of a document: 64 hexadecimal digits of SHA-256."""
    try:
        return hashlib.sha256(msgspec.json.encode(document)).hexdigest()
    except (ValueError, OverflowError) as error:
        raise ModelFileError(f"the robot {document.model.name!r} cannot be written: {error}.") from None


def holds_of(document: Document) -> dict[tuple[str, str], Hold]:
    """Holds of a robot, read from its document."""
    holds = {}
    for x in document.holds:
        place, q, pose = None, np.zeros(0), Pose()
        if x.free is not None:
            inboard, outboard, pose = (_read(y) for y in (x.free.inboard, x.free.outboard, x.free.pose))
            hinge = hinge_from_plain(msgspec.to_builtins(x.free.hinge))
            place = Place("inertial", (), hinge, x.free.hinge_name, inboard, outboard, None, None)
            q = np.array(x.free.q)
        joined = Joined(x.object, x.hand, x.how, x.loop, np.array(x.impulse), x.energy_lost)
        holds[x.object, x.hand] = Hold(joined, hinge_from_plain(msgspec.to_builtins(x.hinge)), x.node, place, q, pose)
    return holds


def _hold(hold: Hold) -> HoldRecord:
    x, free = hold.joined, None
    if hold.place is not None:
        p = hold.place
        hinge: Any = hinge_of(p.hinge, f"hinge {p.hinge_name!r}")
        places = _at(p.inboard), _at(p.outboard), tuple(hold.q.tolist()), _at(hold.pose)
        free = FreeRecord(hinge, p.hinge_name, *places)
    by: Any = hinge_of(hold.hinge, f"the hinge of the grasp of {x.object!r}")
    impulse: Any = tuple(x.impulse.tolist())
    name = f"{x.object} in {x.hand}"
    return HoldRecord(name, x.object, x.hand, x.how, x.loop, hold.node, by, impulse, x.energy_lost, free)


def _at(pose: Pose) -> At:
    R: Any = tuple(tuple(row) for row in pose.rotation.tolist())
    p: Any = tuple(pose.translation.tolist())
    return R, p


def _read(at: At) -> Pose:
    R, p = np.array(at[0]), np.array(at[1])
    if not np.abs(R.T @ R - np.eye(3)).max() < 1e-9:  # of a product of rotations, up to rounding
        raise ModelFileError("changes cannot be read: a rotation in them is none.")
    return Pose.unchecked(R, p)
