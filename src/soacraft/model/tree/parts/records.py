"""Parts of a model beside its mechanics: geometry, materials, actuators, keyframes, and plain records.

They are kept, listed, copied and saved; the dynamics functions do not look at them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.tree.arguments import read_pose
from soacraft.spatial.checks import Array, finite, frozen, number_text
from soacraft.spatial.pose import Pose

Value = str | float | int | bool | tuple[Any, ...]
Attributes = Mapping[str, Value]

KINDS = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "plane", "mesh", "heightfield", "other")
ROLES = ("visual", "collision", "both")
_SIZES = {"box": (3,), "sphere": (1,), "cylinder": (2,), "capsule": (2,), "ellipsoid": (3,), "plane": (0, 2)}


def read_attributes(given: Any, what: str) -> Attributes:
    """Names with texts, numbers, truth values, or tuples of those; read-only.

    >>> read_attributes({"gain": 2.0, "range": [0, 1]}, "the attributes")
    mappingproxy({'gain': 2.0, 'range': (0, 1)})
    """
    if given is None:
        return MappingProxyType({})
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise ModelError(f"{what} must be a mapping from names to values, got {given!r:.60}.")
    return MappingProxyType({key: _value(value, f"{key!r} in {what}") for key, value in given.items()})


def make_attributes(given: Any, what: str) -> Attributes:
    """The attributes of a closure or coupling."""
    return read_attributes(given, f"the attributes of {what}")


def _value(value: Any, what: str) -> Value:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, str | bool | int):
        return value
    if isinstance(value, np.bool_ | np.integer):
        plain: bool | int = value.item()
        return plain
    if isinstance(value, float | np.floating):
        if not np.isfinite(value):
            raise ModelError(f"{what} must be finite, got {float(value)!r}.")
        return float(value)
    if isinstance(value, tuple | list):
        several = tuple(_value(each, what) for each in value)
        numbers = [isinstance(each, int | float) and not isinstance(each, bool) for each in several]
        if any(numbers) and any(isinstance(each, bool) for each in several):
            raise ModelError(f"{what} must be numbers or truth values, got both: {value!r:.60}.")
        return several
    raise ModelError(f"{what} must be a text, a number, a truth value or a tuple of those, got {value!r:.60}.")


def read_text(value: Any, what: str, empty: bool = False) -> str:
    """A text; not an empty one unless allowed."""
    if not isinstance(value, str) or (not empty and not value.strip()):
        raise ModelError(f"{what} must be a {'' if empty else 'non-empty '}string, got {value!r:.60}.")
    return value


def read_numbers(value: Any, what: str) -> Array:
    """One number or several, as a vector.

    >>> read_numbers(2, "the gains"), read_numbers([1, 2], "the gains")
    (array([2.]), array([1., 2.]))
    """
    several = isinstance(value, list | tuple) or getattr(value, "ndim", 0) > 0
    return finite(value if several else [value], (None,), what)


def read_rgba(value: Any, what: str) -> tuple[float, float, float, float] | None:
    """Four numbers, or None."""
    if value is None:
        return None
    r, g, b, a = finite(value, (4,), f"rgba of {what}").tolist()
    return r, g, b, a


class Plain:
    """Copies and pickles of frozen dataclasses: read-only mappings go as dictionaries and come back read-only."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: dict(x) if isinstance(x, MappingProxyType) else x for name, x in vars(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, x in state.items():
            kept = MappingProxyType(x) if isinstance(x, dict) else frozen(x) if isinstance(x, np.ndarray) else x
            object.__setattr__(self, name, kept)


class _Record(Plain):
    """Frozen dataclasses compare by value; their mappings make them unhashable by value, so they hash by name."""

    name: str

    def __hash__(self) -> int:
        return hash((type(self), self.name))


@dataclass(frozen=True)
class Geometry(_Record):
    """A shape fixed on a body or on the inertial frame.

    `size`: box (x, y, z edges), sphere (radius,), cylinder and capsule (radius, length of the straight part along z),
    ellipsoid (three radii), plane (normal z; () or (x, y)), mesh (scale x, y, z; the file in `mesh`).

    >>> Geometry("palm", "box", (0.1, 0.2, 0.02), role="collision").kind
    'box'
    """

    name: str
    kind: str
    size: tuple[float, ...] = ()
    pose: Pose = field(default_factory=Pose)
    role: str = "both"
    rgba: tuple[float, float, float, float] | None = None
    material: str = ""
    mesh: str = ""
    attributes: Attributes = field(default_factory=dict)

    def __post_init__(self) -> None:
        what = f"geometry {self.name!r}"
        read_text(self.name, "the name of a geometry", empty=True)
        if self.kind not in KINDS:
            raise ModelError(f"the kind of {what} must be one of {', '.join(KINDS)}; got {self.kind!r:.60}.")
        if self.role not in ROLES:
            raise ModelError(f"the role of {what} must be 'visual', 'collision' or 'both', got {self.role!r:.60}.")
        _set(self, size=_read_size(self.size, self.kind, what), pose=read_pose(self.pose, f"the pose of {what}"),
             rgba=read_rgba(self.rgba, what),
             material=read_text(self.material, f"the material of {what}", empty=True),
             mesh=read_text(self.mesh, f"the mesh of {what}", empty=True),
             attributes=read_attributes(self.attributes, f"the attributes of {what}"))  # fmt: skip

    __hash__ = _Record.__hash__


def _read_size(given: Any, kind: str, what: str) -> tuple[float, ...]:
    several = not isinstance(given, tuple | list) or len(given) > 0
    size: tuple[float, ...] = tuple(read_numbers(given, f"size of {what}").tolist()) if several else ()
    wanted = _SIZES.get(kind)
    if wanted is not None and len(size) not in wanted:
        numbers = " or ".join(map(str, wanted)) + (" number" if wanted == (1,) else " numbers")
        raise ModelError(f"size of {what} ({kind}) must have {numbers}, got {len(size)}.")
    if wanted is not None and min(size, default=0.0) < 0.0:
        raise ModelError(f"size of {what} ({kind}) must not be negative, got {number_text(size)}.")
    return size


@dataclass(frozen=True)
class Material(_Record):
    """A named colour or texture."""

    name: str
    rgba: tuple[float, float, float, float] | None = None
    texture: str = ""
    attributes: Attributes = field(default_factory=dict)

    def __post_init__(self) -> None:
        what = f"material {self.name!r}"
        _set(self, name=read_text(self.name, "the name of a material"), rgba=read_rgba(self.rgba, what),
             texture=read_text(self.texture, f"the texture of {what}", empty=True),
             attributes=read_attributes(self.attributes, f"the attributes of {what}"))  # fmt: skip

    __hash__ = _Record.__hash__


@dataclass(frozen=True)
class Actuator(_Record):
    """Drive of dofs: `gears` is the force on each dof for a unit of actuator force.

    >>> Actuator("motor1", "motor", {"elbow": 100.0}).gears["elbow"]
    100.0
    """

    name: str
    kind: str
    gears: Mapping[str, float] = field(default_factory=dict)
    attributes: Attributes = field(default_factory=dict)

    def __post_init__(self) -> None:
        what = f"actuator {self.name!r}"
        read_text(self.name, "the name of an actuator")
        if not isinstance(self.gears, Mapping):
            raise ModelError(f"the gears of {what} must be a mapping from dofs to numbers, got {self.gears!r:.60}.")
        given = {dof: finite(gear, (), f"the gear of {what} for {dof!r}") for dof, gear in self.gears.items()}
        gears = {str(getattr(dof, "hinge_name", dof)): float(gear) for dof, gear in given.items()}  # a body: its hinge
        _set(self, kind=read_text(self.kind, f"the kind of {what}"), gears=MappingProxyType(gears),
             attributes=read_attributes(self.attributes, f"the attributes of {what}"))  # fmt: skip

    __hash__ = _Record.__hash__


@dataclass(frozen=True)
class Keyframe(_Record):
    """A named state: q (nq) and v (nv) of the whole model."""

    name: str
    q: Array
    v: Array
    attributes: Attributes = field(default_factory=dict)

    def __post_init__(self) -> None:
        what = f"keyframe {self.name!r}"
        _set(self, name=read_text(self.name, "the name of a keyframe"),
             q=frozen(finite(self.q, (None,), f"q of {what}")), v=frozen(finite(self.v, (None,), f"v of {what}")),
             attributes=read_attributes(self.attributes, f"the attributes of {what}"))  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Keyframe)
            and self.name == other.name
            and np.array_equal(self.q, other.q)
            and np.array_equal(self.v, other.v)
            and self.attributes == other.attributes
        )

    __hash__ = _Record.__hash__


@dataclass(frozen=True)
class Record(_Record):
    """Element of a file that is kept unchanged and not simulated: a sensor, a camera, a contact pair."""

    kind: str
    name: str
    attributes: Attributes = field(default_factory=dict)

    def __post_init__(self) -> None:
        _set(self, kind=read_text(self.kind, "the kind of a record"),
             name=read_text(self.name, "the name of a record", empty=True),
             attributes=read_attributes(self.attributes, f"the attributes of {self.kind} {self.name!r}"))  # fmt: skip

    __hash__ = _Record.__hash__


def _set(record: Any, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(record, name, value)
