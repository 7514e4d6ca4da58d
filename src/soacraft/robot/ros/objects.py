"""Objects of a world as `moveit_msgs/msg/CollisionObject`, in both directions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import ConvexHull as Qhull

from soacraft.arguments import whole_number
from soacraft.contact.geometry.meshes import ConvexHull, TriangleMesh
from soacraft.contact.geometry.shapes import Box, Cylinder, Plane, Shape, Sphere
from soacraft.errors import ModelError, StateError
from soacraft.results import finite_or_refused
from soacraft.robot.ros.places import header, place, read_header, read_place
from soacraft.robot.world.world import World
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import axes_along

ADD, REMOVE, APPEND, MOVE = range(4)
_BOX, _SPHERE, _CYLINDER = 1, 2, 3


def collision_object(
    name: str, shapes: Any, pose: Pose | None = None, frame: str = "", *, operation: int = ADD, stamp: float = 0.0
) -> dict[str, Any]:
    """A CollisionObject: shapes as `World.add` takes them, with their poses in the object; the object's pose in the
    frame of that name. Spheres, boxes, cylinders, planes, hulls and meshes can be written; others are refused.

    >>> import soacraft as sc
    >>> sc.robot.ros.collision_object("cup", sc.contact.Cylinder(0.04, 0.1))["primitives"][0]["dimensions"]
    array([0.1 , 0.04])
    """
    whole_number(operation, "operation, 0 (add), 1 (remove), 2 (append) or 3 (move),", ADD, MOVE, StateError)
    if not isinstance(name, str) or not name:
        raise StateError(f"an object has a name, got {name!r:.60}.")
    message: dict[str, Any] = {
        "header": header(frame, stamp), "pose": place(Pose() if pose is None else pose), "id": name,
        "primitives": [], "primitive_poses": [], "meshes": [], "mesh_poses": [], "planes": [], "plane_poses": [],
        "operation": operation,
    }  # fmt: skip
    parts = {} if shapes is None else {"shape": shapes} if isinstance(shapes, Shape) else shapes
    if not isinstance(parts, dict):
        raise StateError(f"object {name!r} must be a shape, or {{name: (shape, pose)}}, got {parts!r:.60}.")
    for part, value in parts.items():
        shape, at = value if isinstance(value, tuple | list) and len(value) == 2 else (value, Pose())
        kind, content = _told(f"{name}/{part}", shape)
        message[f"{kind}s" if kind != "mesh" else "meshes"].append(content)
        message[f"{kind}_poses"].append(place(at))
    return message


def read_collision_object(world: World, message: dict[str, Any]) -> str:
    """Apply a CollisionObject to a world: add an object (one of that name is replaced), remove it, append shapes
    to it, or move it; the name. Its frame is a body or node of the robot, or empty or "world" for the inertial one;
    an object on a body moves with it. What was said of an object (`hide`, `pad`, `allow`, `detail`) still holds when it
    is replaced. Where something is refused, the world stays as it was."""
    if not isinstance(world, World):
        raise ModelError(f"a CollisionObject is read into a World, got {world!r:.60}.")
    frame, _ = read_header(message)
    name = message.get("id")
    if not isinstance(name, str) or not name:
        raise StateError(f"the object has no id: {name!r:.60}.")
    what = whole_number(message.get("operation", ADD), f"the operation of object {name!r}", ADD, MOVE, StateError)
    on = None if frame in ("", "world", "inertial") else frame
    if what == REMOVE:
        world.remove(name)
        return name
    at = read_place(message["pose"], f"object {name!r}") if message.get("pose") is not None else Pose()
    if what == MOVE:
        was = world.item(name)
        if _frame(world, on) != was.on:
            raise StateError(f"object {name!r} is on {was.on!r}, and the message moves it in {frame!r:.60}.")
        world.move(name, at if on == was.frame else _placed(world, was.frame).inv @ _placed(world, on, at))
        return name
    shapes: dict[str, Any] = _shapes(name, message)
    if name not in world.objects:
        world.add(name, shapes, at, on)
        return name
    before = world.item(name)
    if what == APPEND:
        if _frame(world, on) != before.on:
            raise StateError(f"object {name!r} is on {before.on!r}, and the message appends in {frame!r:.60}.")
        stored = before.parts
        inner = before.pose.inv @ _placed(world, on, at)
        shapes = {**stored, **{_unused(part, stored): (s, inner @ x) for part, (s, x) in shapes.items()}}
        at, on = _placed(world, before.frame).inv @ before.pose, before.frame
    world.replace(name, shapes, at, on, folder=before.folder if what == APPEND else None)
    return name


def _frame(world: World, on: str | None) -> str | None:
    """The body that an object in that frame is on."""
    carrier = None if on is None else world.robot.mb.frame(on).carrier
    return None if carrier is None or carrier is world.robot.mb.root else carrier.name


def _placed(world: World, on: str | None, at: Pose | None = None) -> Pose:
    """A pose in a frame, or that of the frame itself, in the body that carries it."""
    place = Pose() if at is None else at
    return place if on is None else world.robot.mb.frame(on).offset @ place


def _unused(part: str, taken: Any) -> str:
    fresh, i = part, 2
    while fresh in taken:
        fresh, i = f"{part} {i}", i + 1
    return fresh


def _told(name: str, shape: Any) -> tuple[str, dict[str, Any]]:
    """List that a shape goes to, and its fields there."""
    if isinstance(shape, Box):
        return "primitive", {"type": _BOX, "dimensions": shape.size}
    if isinstance(shape, Sphere):
        return "primitive", {"type": _SPHERE, "dimensions": shape.size}
    if isinstance(shape, Cylinder):
        return "primitive", {"type": _CYLINDER, "dimensions": shape.size[::-1]}
    if isinstance(shape, Plane):
        return "plane", {"coef": np.array([0.0, 0.0, 1.0, 0.0])}
    if isinstance(shape, ConvexHull | TriangleMesh):
        triangles = shape.triangles if isinstance(shape, TriangleMesh) else _outward(shape.vertices)
        points = [{"x": float(x), "y": float(y), "z": float(z)} for x, y, z in shape.vertices]
        corners = [{"vertex_indices": np.asarray(t, dtype=np.uint32)} for t in triangles]
        return "mesh", {"vertices": points, "triangles": corners}
    raise StateError(f"shape {name!r} is a {type(shape).__name__}, which a CollisionObject cannot hold.")


def _outward(points: Array) -> Any:
    """The triangles of a convex hull, counter-clockwise seen from outside."""
    hull = Qhull(points)
    a, b, c = (points[hull.simplices[:, i]] for i in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    return np.where(inward[:, None], hull.simplices[:, ::-1], hull.simplices)


def _shapes(name: str, message: dict[str, Any]) -> dict[str, tuple[Shape, Pose]]:
    shapes: dict[str, tuple[Shape, Pose]] = {}
    for kind, plural, read in _LISTS:
        items, poses = _list(message, plural, name), _list(message, f"{kind}_poses", name)
        if len(items) != len(poses):
            raise StateError(f"object {name!r} has {len(items)} {plural} and {len(poses)} poses of them.")
        for i, (item, pose) in enumerate(zip(items, poses, strict=True)):
            if not isinstance(item, dict):
                raise StateError(f"{kind} {i} of object {name!r} is no message: {item!r:.60}.")
            shape, turn = read(item, f"{kind} {i} of object {name!r}")
            shapes[f"{kind}{i}"] = shape, read_place(pose, f"{kind} {i} of object {name!r}") @ turn
    if not shapes:
        raise StateError(f"object {name!r} has no shapes.")
    return shapes


def _list(message: dict[str, Any], name: str, of: str) -> list[Any]:
    content = message.get(name)
    if content is not None and not isinstance(content, list | tuple):
        raise StateError(f"{name!r} of {of!r} must be a list, got {content!r:.60}.")
    return list(content or ())


def _primitive(item: dict[str, Any], what: str) -> tuple[Shape, Pose]:
    kind = item.get("type")
    size = finite(item.get("dimensions", ()), (None,), f"dimensions of {what}", StateError)
    counts = {_BOX: 3, _SPHERE: 1, _CYLINDER: 2}
    if isinstance(kind, bool) or not isinstance(kind, int) or kind not in counts:
        raise StateError(f"{what} is of type {kind!r:.40}; a box (1), a sphere (2) and a cylinder (3) are read.")
    if len(size) != counts[kind]:
        raise StateError(f"{what} must have {counts[kind]} dimensions, got {len(size)}.")
    if kind == _BOX:
        return Box(*size), Pose()
    return (Sphere(size[0]) if kind == _SPHERE else Cylinder(size[1], size[0])), Pose()


def _mesh(item: dict[str, Any], what: str) -> tuple[Shape, Pose]:
    vertices, triangles = _list(item, "vertices", what), _list(item, "triangles", what)
    if not vertices or not triangles or not all(isinstance(x, dict) for x in (*vertices, *triangles)):
        raise StateError(f"{what} must have vertices and triangles, messages all.")
    points = finite([[p.get(k, 0.0) for k in "xyz"] for p in vertices], (None, 3), f"vertices of {what}", StateError)
    corners = finite([t.get("vertex_indices", ()) for t in triangles], (None, 3), f"triangles of {what}", StateError)
    if (corners % 1.0).any() or (corners < 0.0).any() or (corners >= len(points)).any():
        raise StateError(f"triangles of {what} must be numbers of its {len(points)} vertices.")
    return TriangleMesh(points, corners.astype(np.int64)), Pose()


def _plane(item: dict[str, Any], what: str) -> tuple[Shape, Pose]:
    """a x + b y + c z + d = 0, with the outside where it is positive."""
    a = finite(item.get("coef", ()), (4,), f"coef of {what}", StateError)
    largest = float(np.abs(a[:3]).max())
    if not largest > 0.0:
        raise StateError(f"{what} has no normal.")
    with np.errstate(over="ignore"):
        a = finite_or_refused(a / largest, f"coef of {what}")  # no overflow or underflow in the norm
    size = float(np.linalg.norm(a[:3]))
    normal = a[:3] / size
    return Plane(), Pose(rotation=np.roll(axes_along(normal), -1, axis=0).T, translation=-a[3] / size * normal)


_LISTS = (("primitive", "primitives", _primitive), ("mesh", "meshes", _mesh), ("plane", "planes", _plane))
