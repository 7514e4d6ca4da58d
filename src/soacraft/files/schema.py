"""The native model format `soacraft-model/1`: the fields of the JSON.

Each class is one kind of JSON object; a field it does not know is refused. A field that may be left out has a default,
and is left out where the model has that default bit for bit.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

FORMAT: Final = "soacraft-model/1"

Vector = tuple[float, float, float]
Matrix = tuple[Vector, Vector, Vector]
Numbers = tuple[float, ...]
Color = tuple[float, float, float, float]
Bounds = Annotated[tuple[float | None, ...], Meta(description="One entry for each dof; null where there is no bound.")]
Attributes = Annotated[dict[str, Any], Meta(description="Texts, numbers, truth values, and arrays of those, by name.")]


class Object(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A JSON object of the format."""


# -- hinges: one object for each kind, told apart by "kind" --------------------------------------------------


class Hinge(Object, tag_field="kind"):
    """A hinge; its other fields are what its class takes."""


class Weld(Hinge, tag="Weld"):
    """No motion."""


class Pin(Hinge, tag="Pin"):
    """A turn about an axis."""

    axis: Vector


class Prismatic(Hinge, tag="Prismatic"):
    """A slide along an axis."""

    axis: Vector


class Helical(Hinge, tag="Helical"):
    """A screw thread; pitch in metres per radian."""

    axis: Vector
    pitch: float


class Cylindrical(Hinge, tag="Cylindrical"):
    """A turn about and a slide along one axis."""

    axis: Vector


class Universal(Hinge, tag="Universal"):
    """Two turns in a row."""

    axis: Vector
    axis2: Vector


class Gimbal(Hinge, tag="Gimbal"):
    """Three turns in a row, about the rows of axes."""

    axes: Matrix


class Planar(Hinge, tag="Planar"):
    """Slides along x and y, then a turn about z."""


class Spherical(Hinge, tag="Spherical"):
    """Any turn about a point."""


class Free(Hinge, tag="Free"):
    """Any motion."""


class RollingBall(Hinge, tag="RollingBall"):
    """A ball that rolls without slipping on a plane."""

    radius: float
    normal: Vector


class RollingDisc(Hinge, tag="RollingDisc"):
    """A thin disc that rolls on its rim without slipping on a plane."""

    radius: float
    axis: Vector
    normal: Vector


class RollingEllipsoid(Hinge, tag="RollingEllipsoid"):
    """An ellipsoid that rolls without slipping on a plane."""

    semi_axes: Vector
    normal: Vector


class KnifeEdge(Hinge, tag="KnifeEdge"):
    """A blade that does not move across."""

    across: Vector


class Screws(Hinge, tag="Screws"):
    """A product of screws [angular; linear]."""

    screws: Annotated[tuple[tuple[float, float, float, float, float, float], ...], Meta(max_length=6)]


AnyHinge = (
    Weld | Pin | Prismatic | Helical | Cylindrical | Universal
    | Gimbal | Planar | Spherical | Free | RollingBall | RollingDisc | RollingEllipsoid | KnifeEdge | Screws
)  # fmt: skip


# -- frames, bodies and what they carry ----------------------------------------------------------------------


class Pose(Object):
    """Pose of a frame: rows of its rotation matrix (the identity if left out), and its origin (zero if left out)."""

    rotation: Matrix | None = None
    translation: Vector | None = None


class Inertia(Object):
    """Mass, centre of mass in the body frame (zero if left out), rows of the moment about it (zero if left out)."""

    mass: float
    com: Vector | None = None
    moment: Matrix | None = None


class Node(Object):
    """A frame fixed on a body; `on` is the node of its modal data that it moves with, `pose` that of no deformation;
    `role` says what it is for, such as "sensor" or "actuator"."""

    name: str
    pose: Pose | None = None
    on: str | None = None
    role: str = ""


class Geometry(Object):
    """A shape fixed on a body."""

    name: str
    kind: str
    size: Numbers = ()
    pose: Pose | None = None
    role: str = "both"
    rgba: Color | None = None
    material: str = ""
    mesh: str = ""
    attributes: Attributes = {}


class Limits(Object):
    """Bounds of a hinge."""

    lower: Bounds | None = None
    upper: Bounds | None = None
    velocity: Bounds | None = None
    effort: Bounds | None = None


class Passive(Object):
    """Springs, dampers and dry friction of a hinge, one number for each dof; zero if left out.

    `rest` has the coordinates at which the springs are relaxed, the neutral ones if left out. `static` is the friction
    at rest, `friction` if left out, and `stribeck_speed` the speed at which the difference is gone.
    """

    stiffness: Numbers | None = None
    damping: Numbers | None = None
    friction: Numbers | None = None
    rest: Numbers | None = None
    static: Numbers | None = None
    stribeck_speed: Numbers | None = None


class Array(Object):
    """Numbers of an array of any shape, the last index first to change."""

    shape: tuple[int, ...]
    values: Numbers


class Modal(Object):
    """The modes of flexible bodies, by the name of the first body that has them.

    `arrays` are those of `soacraft.model.modal.ModalData` by name: mass, first, second, p, N, Q, M, K, D, S, T, points,
    shapes; node0.R, .l, .gam, .lam, .gam2, .lam2 of the first of `nodes` and so on; fe.R, ... of all `fe_nodes`;
    recovery0 of the first of `recovery`. Those that are not here are in `file`, an .npz file in the folder of the model
    with this SHA-256.
    """

    name: str
    arrays: dict[str, Array] = {}
    file: str | None = None
    sha256: str | None = None
    modes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    fe_nodes: tuple[str, ...] = ()
    recovery: tuple[str, ...] = ()


class Body(Object):
    """Body with the hinge between it and its parent, the state of that hinge, and of the modes after it.

    `hinge_name` is the body's name if left out, `q` the neutral coordinates, `v` and `vdot` zero. `children` is there
    where the bodies on it were attached in another order than that of the file. A flexible body has the name of its
    `modal` data instead of an inertia; `hinge_node` is the node of them that its hinge holds. `parent_node` is the node
    of a flexible parent's modal data that the hinge is on. Poses are those of no deformation.
    """

    name: str
    parent: str
    hinge: AnyHinge
    hinge_name: str | None = None
    inertia: Inertia | None = None
    modal: str | None = None
    hinge_node: str | None = None
    parent_node: str | None = None
    inboard: Pose | None = None
    outboard: Pose | None = None
    armature: Numbers | None = None
    passive: Passive | None = None
    gravity_compensation: float | None = None
    limits: Limits | None = None
    nodes: tuple[Node, ...] = ()
    geometries: tuple[Geometry, ...] = ()
    children: tuple[str, ...] | None = None
    q: Numbers | None = None
    v: Numbers | None = None
    vdot: Numbers | None = None


class Root(Object):
    """Parts on the inertial frame."""

    nodes: tuple[Node, ...] = ()
    geometries: tuple[Geometry, ...] = ()
    children: tuple[str, ...] | None = None


# -- the rest of a model -------------------------------------------------------------------------------------


class Force(Object):
    """An external force that acts at a frame, in the axes of another (its own if left out)."""

    at: str
    moment: Vector
    force: Vector
    expressed_in: str | None = None


class Material(Object):
    """A named colour or texture."""

    name: str
    rgba: Color | None = None
    texture: str = ""
    attributes: Attributes = {}


class Loop(Object):
    """A loop closure: frame b may move relative to frame a only as the hinge allows."""

    name: str
    a: str
    b: str
    hinge: AnyHinge
    active: bool = True
    attributes: Attributes = {}


class Coupling(Object):
    """Coordinates tied to each other: the sum over dofs of c1 q + c2 q^2 + ... is the offset."""

    name: str
    terms: dict[str, Numbers]
    offset: float
    active: bool = True
    attributes: Attributes = {}


class Curve(Object):
    """A function through points (x, y): "cubic", monotone between them, or "linear"; straight beyond them."""

    x: Numbers
    y: Numbers
    kind: Literal["cubic", "linear"] = "cubic"


class Tendon(Object):
    """A spring and a damper along the sum of c q over dofs; slack in the range `rest`. Curves give the force over the
    sum, and over its rate."""

    name: str
    terms: dict[str, float]
    stiffness: float | Curve
    damping: float | Curve
    rest: tuple[float, float]
    attributes: Attributes = {}


class Spring(Object):
    """A spring and a damper along the line through nodes; slack in the range `rest` of its length. Curves give the
    force over the length, and over its rate."""

    name: str
    nodes: tuple[str, ...]
    stiffness: float | Curve
    damping: float | Curve
    rest: tuple[float, float]
    attributes: Attributes = {}


class Bushing(Object):
    """Six stiffnesses and dampings between the nodes a and b, turns first; at rest at the pose `rest` of b in a."""

    name: str
    a: str
    b: str
    stiffness: tuple[tuple[float, ...], ...]
    damping: tuple[tuple[float, ...], ...]
    rest: Pose | None = None
    attributes: Attributes = {}


class Actuator(Object):
    """Drive of dofs; the gear of each."""

    name: str
    kind: str
    gears: dict[str, float] = {}
    attributes: Attributes = {}


class Keyframe(Object):
    """A named state of the whole model."""

    name: str
    q: Numbers
    v: Numbers
    attributes: Attributes = {}


class Record(Object):
    """Element of a file that is kept and not simulated."""

    kind: str
    name: str
    attributes: Attributes = {}


class Entry(Object, array_like=True):
    """A line of the import report, as an array."""

    file: str
    line: int
    element: str
    name: str
    attribute: str
    status: Literal["used", "converted", "repaired", "recorded", "ignored"]
    note: str
    dynamic: bool


class Model(Object):
    """A whole model. Bodies are in the order they were added; a parent may come after its children."""

    format: Literal["soacraft-model/1"]
    name: str
    gravity: Vector
    root: Root | None = None
    modal: tuple[Modal, ...] = ()
    bodies: tuple[Body, ...] = ()
    forces: tuple[Force, ...] = ()
    loops: tuple[Loop, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    tendons: tuple[Tendon, ...] = ()
    springs: tuple[Spring, ...] = ()
    bushings: tuple[Bushing, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    keyframes: tuple[Keyframe, ...] = ()
    materials: tuple[Material, ...] = ()
    records: tuple[Record, ...] = ()
    import_report: tuple[Entry, ...] | None = None


class Header(msgspec.Struct):
    """Header of a file, with its version."""

    format: str


def json_schema() -> dict[str, Any]:
    """The JSON schema of the format (draft 2020-12).

    >>> json_schema()["$defs"]["Pin"]["required"]
    ['kind', 'axis']
    """
    return msgspec.json.schema(Model)
