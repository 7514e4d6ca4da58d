"""The names of parameters, and their values: "link3.mass", "link3.inboard", "elbow.axis", "link7/tool.pose", ...

    of a body     mass         (1)    centre and moment about it stay
                  com          (3)    the centre of mass in the body frame; mass and moment about it stay
                  moment       (6)    about the centre of mass: xx, xy, xz, yy, yz, zz
                  inertia     (10)    m, m c, and J about the body frame; in these inverse dynamics is linear
                  inboard      (6)    the pose of the inboard hinge frame in the parent: rotation vector, translation
                  outboard     (6)    the pose of the body frame in the outboard hinge frame, likewise
    of a hinge    axis         (3)    its direction in the parent's axes; the point it goes through stays
                  armature, damping, stiffness   (nv)
    of a node     pose         (6)    in its body, likewise

One number of several is named too: `link3.com_x`, `link3.moment_xy`, `link3.mc_x`, `link3.J_xx`, `link3.inboard_x` (a
length), `link3.inboard_rx` (an angle), `elbow.axis_x`, `hip.armature_0`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import ModelError, SoacraftError, near
from soacraft.model.hinges import Cylindrical, Helical, Pin, Prismatic
from soacraft.model.tree.frames.frame import Node
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.names import find_body, find_hinge
from soacraft.model.tree.parts.properties import Passive, read_armature
from soacraft.spatial.checks import Array, finite, number_text
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import exp, log

#: The inertial parameters of a body.
TEN = ("m", "mc_x", "mc_y", "mc_z", "J_xx", "J_xy", "J_xz", "J_yy", "J_yz", "J_zz")
_XYZ = ("x", "y", "z")
_PAIRS = ("xx", "xy", "xz", "yy", "yz", "zz")
_POSE = ("rx", "ry", "rz", "x", "y", "z")
#: The names of the numbers of each kind; those of a hinge's dofs are numbered.
KINDS: dict[str, tuple[str, ...]] = {
    "mass": ("mass",),
    "com": tuple(f"com_{x}" for x in _XYZ),
    "moment": tuple(f"moment_{x}" for x in _PAIRS),
    "inertia": TEN,
    "inboard": tuple(f"inboard_{x}" for x in _POSE),
    "outboard": tuple(f"outboard_{x}" for x in _POSE),
    "axis": tuple(f"axis_{x}" for x in _XYZ),
    "pose": tuple(f"pose_{x}" for x in _POSE),
}
PER_DOF = ("armature", "damping", "stiffness")
_OF_HINGES = ("axis", *PER_DOF)
_WITH_AXIS = (Pin, Prismatic, Helical, Cylindrical)
#: Kinds that say the same in other numbers: of one body only one side of a pair may be given.
_SAME = ((("mass", "com", "moment"), ("inertia",)), (("inboard", "outboard"), ("axis",)))
_OF_ONE_NUMBER = {name: (kind, i) for kind, names in KINDS.items() for i, name in enumerate(names)}
_ROWS, _COLUMNS = np.triu_indices(3)


class Parameter(NamedTuple):
    """One number of a model: entry `number` of what `kind` has of a body or node."""

    name: str
    kind: str
    owner: Any
    number: int


#: Several of them.
Found = tuple[Parameter, ...]


def read_parameters(function: str, g: Graph, wanted: Any) -> Found:
    """The numbers that names stand for, in their order; refused are unknown names and numbers given twice."""
    names = [wanted] if isinstance(wanted, str) else list(wanted) if isinstance(wanted, Iterable) else [wanted]
    if not all(isinstance(name, str) for name in names):
        raise ModelError(
            f"parameters of {function} are names such as 'link3.mass' or 'link3.inboard', got {wanted!r:.60}."
        )
    parameters = tuple(parameter for name in names for parameter in _one(function, g, name))
    if not parameters:
        raise ModelError(f"{function}: no parameters are given; name some, such as 'link3.mass' or 'link3.inboard'.")
    _refuse_twice(function, parameters)
    return parameters


def _one(function: str, g: Graph, name: str) -> list[Parameter]:
    """The numbers of one name."""
    owner, _, tail = name.rpartition(".")
    kind, number = _kind(tail)
    if not owner or kind is None:
        cure = near(tail, dict.fromkeys([*KINDS, *PER_DOF, *_OF_ONE_NUMBER]), "kinds are")
        raise ModelError(f"{function}: parameter {name!r} is not a body, hinge or node, a dot and a kind{cure}")

    def error(text: str) -> ModelError:
        return ModelError(f"{function}: parameter {name!r}: {text}")

    frame: Any
    if kind == "pose":
        frame = g.frame(owner)
        if not isinstance(frame, Node):
            raise error(f"{owner!r} is no node; a body is placed by its inboard and its outboard.")
    else:
        frame = (find_hinge if kind in _OF_HINGES else find_body)(g, owner, error)
    names = _numbers(kind, frame)
    if kind == "axis" and not isinstance(frame.hinge, _WITH_AXIS):
        raise error(
            f"{frame.hinge!r} has not one axis; turn it by 'inboard' and 'outboard' of {frame.name!r}."
        )
    if number is not None and number >= len(names):
        raise error(f"the hinge has {len(names)} dofs.")
    if not names:
        raise error("the hinge has no dofs.")
    called = frame.hinge_name if kind in _OF_HINGES else frame.full_name
    chosen = range(len(names)) if number is None else [number]
    return [Parameter(f"{called}.{names[i]}", kind, frame, i) for i in chosen]


def _kind(tail: str) -> tuple[str | None, int | None]:
    """The kind, and the number of one of its entries."""
    if tail in KINDS or tail in PER_DOF:
        return tail, None
    if tail in _OF_ONE_NUMBER:
        return _OF_ONE_NUMBER[tail]
    kind, _, number = tail.rpartition("_")
    return (kind, int(number)) if kind in PER_DOF and number.isdecimal() else (None, None)


def _numbers(kind: str, frame: Any) -> tuple[str, ...]:
    """Names of the numbers of a kind."""
    if kind not in PER_DOF:
        return KINDS[kind]
    nv: int = frame.hinge.nv
    return (kind,) if nv == 1 else tuple(f"{kind}_{i}" for i in range(nv))


def _refuse_twice(function: str, parameters: Found) -> None:
    seen: dict[tuple[str, int, int], str] = {}
    kinds: dict[tuple[int, str], str] = {}
    for name, kind, owner, number in parameters:
        key = (kind, id(owner), number)
        if key in seen:
            raise ModelError(f"{function}: parameter {name!r} is given twice.")
        seen[key] = kinds[id(owner), kind] = name
    for (owner_id, kind), name in kinds.items():
        for one, other in _SAME:
            clash = next((kinds[owner_id, k] for k in other if kind in one and (owner_id, k) in kinds), None)
            if clash is not None:
                raise ModelError(f"{function}: parameters {name!r} and {clash!r} set the same thing; give one of them.")


# -- values -----------------------------------------------------------------------------------------------------------


def values_of(parameters: Found) -> Array:
    """The values that parameters have now."""
    return np.array([_values(x.kind, x.owner)[x.number] for x in parameters])


def _values(kind: str, frame: Any) -> Array:
    """All numbers of a kind."""
    if kind == "inertia":
        return ten_of(frame.inertia)
    if kind == "moment":
        return np.asarray(frame.inertia.moment[_ROWS, _COLUMNS])
    if kind in ("mass", "com"):
        return np.atleast_1d(getattr(frame.inertia, kind))
    if kind == "axis":
        return np.asarray(frame.inboard.rotation @ frame.hinge.axis)
    if kind == "armature":
        return np.asarray(frame.armature)
    if kind in PER_DOF:
        return np.broadcast_to(getattr(frame.passive, kind), frame.hinge.nv)
    pose = getattr(frame, kind)
    return np.concatenate([log(pose.rotation), pose.translation])


def ten_of(inertia: Inertia) -> Array:
    """m, m c and J about the body frame."""
    J = inertia.matrix()[:3, :3]
    return np.array([inertia.mass, *(inertia.mass * inertia.com), *J[_ROWS, _COLUMNS]])


def inertia_of(pi: Array) -> Inertia:
    """The inertia with the ten parameters; refused where no body has it."""
    m, first = float(pi[0]), pi[1:4]
    if m <= 0.0 and (m < 0.0 or pi.any()):
        raise ModelError(f"the mass must be positive, got {number_text(m)}")
    c = first / m if m > 0.0 else first
    J = symmetric(pi[4:])
    return Inertia(m, c, J - m * (float(c @ c) * np.eye(3) - np.outer(c, c)))


def symmetric(x: Array) -> Array:
    """The matrix with the entries xx, xy, xz, yy, yz, zz."""
    J = np.empty((3, 3))
    J[_ROWS, _COLUMNS] = J[_COLUMNS, _ROWS] = x
    return J


#: Attribute of a body or node that is set for parameters of these kinds; for others it has their name.
_SET = {"mass": "inertia", "com": "inertia", "moment": "inertia", "damping": "passive", "stiffness": "passive"}


def write(function: str, parameters: Found, values: Array) -> None:
    """Give parameters other values: all of them, or none where one is refused."""
    wanted: dict[tuple[int, str], tuple[Any, dict[str, dict[int, float]]]] = {}
    for (_, kind, owner, number), value in zip(parameters, values.tolist(), strict=True):
        _, new = wanted.setdefault((id(owner), _SET.get(kind, kind)), (owner, {}))
        new.setdefault(kind, {})[number] = value
    edits = [edit for (_, what), (owner, new) in wanted.items() for edit in _edits(function, what, owner, new)]
    for owner, name, value in edits:
        setattr(owner, name, value)


def _edits(function: str, what: str, owner: Any, new: dict[str, dict[int, float]]) -> list[tuple[Any, str, Any]]:
    """Edits that set the new numbers: (object, attribute, value)."""
    try:
        x = {kind: _replaced(_values(kind, owner), numbers) for kind, numbers in new.items()}
        if what == "inertia":
            return [(owner, "inertia", inertia_of(x["inertia"]) if "inertia" in x else _inertia(owner.inertia, x))]
        if what == "passive":
            p = owner.passive
            old = {"stiffness": p.stiffness, "damping": p.damping, "friction": p.friction, "rest": p.rest}
            return [(owner, "passive", Passive(**(old | x)))]
        if what == "axis":
            return _turned_axis(owner, x["axis"])
        if what == "armature":
            read_armature(x["armature"], owner.hinge, f"hinge {owner.hinge_name!r}")
            return [(owner, "armature", x["armature"])]
        turned = any(number < 3 for number in new[what])
        R = exp(x[what][:3]) if turned else getattr(owner, what).rotation
        return [(owner, what, Pose(R, x[what][3:]))]
    except SoacraftError as error:
        raise ModelError(f"{function}: {what} of {owner.full_name!r}: {error}") from error


def _inertia(old: Inertia, x: dict[str, Array]) -> Inertia:
    moment = symmetric(x["moment"]) if "moment" in x else old.moment
    return Inertia(float(x["mass"][0]) if "mass" in x else old.mass, x.get("com", old.com), moment)


def _turned_axis(body: Any, b: Array) -> list[tuple[Any, str, Any]]:
    """Both hinge frames turned alike: inboard exp(w~), exp(-w~) outboard is the hinge with the axis exp(w~) axis."""
    R, a = body.inboard.rotation, body.hinge.axis
    length = float(np.linalg.norm(b))
    if length == 0.0:
        raise ModelError("an axis must not be zero.")
    turn = _between(a, R.T @ b / length)
    return [
        (body, "inboard", Pose(R @ turn, body.inboard.translation)),
        (body, "outboard", Pose(turn.T, np.zeros(3)) @ body.outboard),
    ]


def _between(a: Array, b: Array) -> Array:
    """The shortest turn that takes one unit vector to another."""
    w, c = np.cross(a, b), float(a @ b)
    s = float(np.linalg.norm(w))
    if s == 0.0:
        across = np.cross(a, np.eye(3)[int(np.argmin(np.abs(a)))])
        return np.eye(3) if c > 0.0 else exp(np.pi * across / np.linalg.norm(across))
    return exp(np.arctan2(s, c) / s * w)


def _replaced(x: Array, new: dict[int, float]) -> Array:
    x = np.array(x)
    x[list(new)] = list(new.values())
    return x


# -- for users --------------------------------------------------------------------------------------------------------


def set_parameters(g: Graph, names: Any, values: Any) -> None:
    """Give named parameters other values. Handles, states and operators of the model follow, as after any edit of a
    parameter; the first armature of a hinge changes its structure. All are set, or none where one is refused.

    >>> import soacraft as sc
    >>> from soacraft.analysis import parameters, set_parameters
    >>> mb = sc.load("double_pendulum")
    >>> set_parameters(mb, ["lower.mass", "lower.inboard_x"], [2.5, 0.1])
    >>> mb["lower"].inertia.mass, mb["lower"].inboard.translation[0]
    (2.5, np.float64(0.1))
    >>> parameters(mb, "lower.com")
    array([ 0.,  0., -1.])
    """
    if not isinstance(g, Graph):
        raise ModelError(f"set_parameters takes a Multibody or a sub-graph of one, got {g!r:.80}.")
    parameters = read_parameters("set_parameters", g, names)
    write("set_parameters", parameters, finite(values, (len(parameters),), "values of set_parameters"))
