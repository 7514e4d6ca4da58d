"""`Changes`: the edits that make one robot equal another, bit by bit. Plain data, also as bytes."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import numpy as np

from soacraft.errors import ModelError, ModelFileError
from soacraft.files.native import refuse_bulk, refuse_parts
from soacraft.files.native_read import Reader
from soacraft.files.xml_tree import MAX_BYTES
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.tree.frames.frame import Carrier
from soacraft.model.tree.joining.becoming import become
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.changes.difference import difference, patched
from soacraft.robot.changes.document import Document, document_of, holds_of, version_of
from soacraft.robot.changes.shapes import Digests, ShapeData, data_of, digest_of, shape_of
from soacraft.robot.grasping.holds import Holds
from soacraft.robot.interfaces import Bearer

if TYPE_CHECKING:
    from soacraft.contact.geometry.shapes import Shape
    from soacraft.model.tree.parts.records import Geometry

#: Number of versions whose documents a robot remembers.
REMEMBERED = 16
_STATE = {"q", "v", "vdot"}
#: Fields of a body that are set without a change of structure, by the names of the format and of `Body`.
_SET = {"inertia", "inboard", "outboard", "armature", "passive", "limits", "gravity_compensation"}

Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class Changes(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The way from one version of a robot to another; `Robot.changes` makes it, `Robot.apply` does it."""

    format: Literal["soacraft-changes/1"]
    since: Digest
    """The version that it leads from."""
    version: Digest
    """The version that it leads to."""
    difference: list[Any] | None
    shapes: dict[Digest, ShapeData] = {}
    """Shapes of objects, by digest: those that the earlier version does not have."""

    def to_bytes(self) -> bytes:
        """JSON; what is too large to be read again is a `ModelFileError`."""
        data = msgspec.json.encode(self)
        if len(data) > MAX_BYTES:
            largest = max((len(msgspec.json.encode(x)) for x in self.shapes.values()), default=0)
            raise ModelFileError(
                f"changes of {len(data)} bytes are too large to be read again, at most {MAX_BYTES} are; the largest "
                f"shape of an object takes {largest}. Give the robot objects of coarser shapes, or apply the changes "
                "as they are, in this process."
            )
        return data

    @classmethod
    def from_bytes(cls, data: bytes) -> Changes:
        """Read what `to_bytes` gave; what is none, or too large, is a `ModelFileError`."""
        if not isinstance(data, bytes):
            raise ModelFileError(f"changes are read from bytes, got {data!r:.60}.")
        if len(data) > MAX_BYTES:
            raise ModelFileError(f"changes of {len(data)} bytes are too large: at most {MAX_BYTES} are read.")
        refuse_bulk(data, "changes")
        try:
            return _DECODER.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ModelFileError(f"changes cannot be read: {str(error)[:200]}.") from None

    def __repr__(self) -> str:
        what = "nothing" if self.difference is None else f"{len(self.to_bytes())} bytes"
        return f"Changes from {self.since[:8]} to {self.version[:8]}: {what}"


_DECODER = msgspec.json.Decoder(Changes)


class Memory:
    """The documents of the last versions of a robot that were read."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Document] = OrderedDict()
        self._digests = Digests()

    def now(self, rb: Bearer) -> tuple[str, Document]:
        """The version and the document of a robot as it is."""
        document = document_of(rb, self._digests)
        version = version_of(document)
        CompiledModel.any_of(rb.mb.layout)  # up to date, so that the next call goes the same way in every such robot
        self._known[version] = document
        self._known.move_to_end(version)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return version, document

    def changes(self, rb: Bearer, since: Any) -> Changes:
        """Changes since a version of the robot."""
        if not isinstance(since, str) or not re.fullmatch("[0-9a-f]{64}", since):
            raise ModelError(f"since is a version, as rb.version gave it: 64 hexadecimal digits, got {since!r:.80}.")
        if since not in self._known:
            raise ModelError(
                f"the robot {rb.mb.name!r} does not know its version {since[:8]}: it remembers the last {REMEMBERED} "
                "that rb.version gave, or that were applied. Read rb.version more often, or copy the robot again."
            )
        old = self._known[since]
        version, new = self.now(rb)
        stored, digests = rb._kept_shapes(), {x.digest for x in old.shapes}
        shapes = {x.digest: data_of(x.name, stored[x.body, x.part][1]) for x in new.shapes if x.digest not in digests}
        return Changes("soacraft-changes/1", since, version, difference(_plain(old), _plain(new)), shapes)

    def apply(self, rb: Bearer, changes: Any) -> str:
        """Make a robot equal another, or do not change it; the version it then has."""
        if isinstance(changes, bytes):
            changes = Changes.from_bytes(changes)
        if not isinstance(changes, Changes):
            raise ModelError(f"rb.apply takes Changes, or the bytes of them, got {changes!r:.60}.")
        version, present = self.now(rb)
        if version != changes.since:
            raise ModelError(
                f"the changes lead from version {changes.since[:8]}, and the robot {rb.mb.name!r} is at "
                f"{version[:8]}: bring it there first, or ask for the changes since its own version."
            )
        if changes.difference is None:
            return version
        wanted = _read(patched(_plain(present), changes.difference))
        if version_of(wanted) != changes.version:
            raise ModelFileError(
                f"the changes do not lead to the version {changes.version[:8]} that they name: they are damaged, or of "
                "another version of soacraft."
            )
        before, holds, limbs, count = rb.mb.copy(), rb._holds, dict(rb._limbs), rb.mb.version
        shapes, previous = _shapes(rb, present, wanted, changes.shapes), rb._shapes
        try:
            _do(rb, changes.difference, wanted)
            if shapes is not None:
                rb._shapes = _placed(rb.mb, wanted, shapes)
            reached = self.now(rb)[0]
            if reached != changes.version:
                raise ModelError(
                    f"the changes were done, and the robot {rb.mb.name!r} is at {reached[:8]} instead of "
                    f"{changes.version[:8]}: it is left as it was."
                )
        except Exception:
            become(rb.mb, before)
            rb._holds, rb._limbs, rb._shapes = holds, limbs, previous
            holds.rebound(count)
            raise
        return changes.version


def _plain(document: Document) -> Any:
    return msgspec.json.decode(msgspec.json.encode(document))


def _read(plain: Any) -> Document:
    try:
        document = msgspec.json.decode(msgspec.json.encode(plain), type=Document)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ModelFileError(f"changes cannot be read: {str(error)[:200]}.") from None
    refuse_parts(document.model, "changes")
    return document


def _shapes(rb: Bearer, present: Document, wanted: Document, sent: dict[str, ShapeData]) -> dict[str, Shape] | None:
    """The shapes that a document names, by digest: those that a robot has, and those that were told; None where they
    stay."""
    if wanted.shapes == present.shapes:
        return None
    stored = rb._kept_shapes()
    shapes = {x.digest: stored[x.body, x.part][1] for x in present.shapes}
    for x in wanted.shapes:
        if x.digest in shapes:
            continue
        if x.digest not in sent or digest_of(sent[x.digest]) != x.digest:
            raise ModelFileError(f"changes cannot be read: they lack the shape of {x.name!r:.60}, or it is damaged.")
        shapes[x.digest] = shape_of(x.name, sent[x.digest])
    return shapes


def _placed(mb: Multibody, wanted: Document, shapes: dict[str, Shape]) -> dict[tuple[str, str], tuple[Geometry, Shape]]:
    """Shapes for the geometries that a document names."""
    placed = {}
    for x in wanted.shapes:
        on: Carrier | None = mb.root if x.body == mb.root.name else mb._tree.bodies.get(x.body)
        geometry = None if on is None else on._geometries.get(x.part)
        if geometry is None:
            raise ModelFileError(
                f"changes do not fit: they have the shape of {x.name!r:.60}, which is not in the model."
            )
        placed[x.body, x.part] = geometry, shapes[x.digest]
    return placed


def _do(rb: Bearer, change: list[Any], wanted: Document) -> None:
    """Give a robot what its new document says, in place where no structure changes."""
    mb, kinds = rb.mb, _kinds(change)
    if kinds is not None and kinds <= _STATE:
        _set_state(mb, wanted)
    elif kinds is None or kinds:
        built = Reader(wanted.model, "changes").build()
        if kinds is None or not kinds <= _STATE | _SET | {"gravity"}:
            become(mb, built)
        else:
            _set_parameters(mb, built, change)
            _set_state(mb, wanted)
    if change[0] == "=" or not {"holds", "order"}.isdisjoint((*change[1], *change[2])):
        rb._holds = Holds.told_by(mb, holds_of(wanted), wanted.order)
    old = {name: x.ends for name, x in rb._limbs.items()}
    limbs = {}
    for x in wanted.limbs:
        ends = x.base, x.tips[0] if len(x.tips) == 1 else list(x.tips)
        limbs[x.name] = rb._limbs[x.name] if old.get(x.name) == ends else rb.limb(x.name, *ends)
    rb._limbs = limbs


def _kinds(change: list[Any]) -> set[str] | None:
    """Fields of bodies that change, and `gravity`; None where any other part of the model changes."""
    if change[0] != "{" or "model" in change[2]:
        return None
    model = change[1].get("model")
    if model is None:
        return set()
    if model[0] != "{" or model[2] or not set(model[1]) <= {"bodies", "gravity"}:
        return None
    kinds = {"gravity"} & set(model[1])
    bodies = model[1].get("bodies")
    if bodies is None:
        return kinds
    if bodies[0] != "[" or bodies[1] is not None:
        return None
    for item in bodies[2].values():
        if item[0] != "{":
            return None
        kinds |= {*item[1], *item[2]}
    return kinds


def _set_state(mb: Multibody, wanted: Document) -> None:
    """q, v and vdot of all bodies; hinges that say none are neutral and at rest."""
    of = {x.name: x for x in wanted.model.bodies}
    q, v, vdot = [], [], []
    for body in mb.bodies:
        x, modes = of[body.name], len(body._own)
        q.append(np.concatenate([body.hinge.neutral(), np.zeros(modes)]) if x.q is None else np.array(x.q))
        v.append(np.zeros(body.hinge.nv + modes) if x.v is None else np.array(x.v))
        vdot.append(np.zeros(body.hinge.nv + modes) if x.vdot is None else np.array(x.vdot))
    mb.set_state(*(np.concatenate([np.zeros(0), *x]) for x in (q, v, vdot)))


def _set_parameters(mb: Multibody, built: Multibody, change: list[Any]) -> None:
    model = change[1]["model"][1]
    if "gravity" in model:
        mb.gravity = built.gravity
    for name, item in model.get("bodies", ["[", None, {}])[2].items():
        body, other = mb.body(name), built.body(name)
        for field in sorted({*item[1], *item[2]} & _SET):
            setattr(body, field, getattr(other, field))
