"""Objects of a world: shapes, scans and models with hinges, that stand around a robot or move with a body of it."""

from __future__ import annotations

from os import PathLike
from typing import Any, Self

from soacraft.arguments import read_path
from soacraft.attributes import Strict
from soacraft.contact.geometry.shapes import Shape
from soacraft.errors import ModelError, near
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.robot import Robot
from soacraft.robot.world.parts import SIZED, Item, as_body, read_parts, read_pose
from soacraft.robot.world.placing import body_names
from soacraft.robot.world.voxels import Voxels
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose


class Objects(Strict):
    """Objects around a robot."""

    def __init__(self, robot: Robot) -> None:
        if not isinstance(robot, Robot):
            raise ModelError(f"a World is around a Robot, got {robot!r:.60}.")
        self._robot = robot
        self._items: dict[str, Item] = {}
        self._given: dict[str, tuple[str, ...]] = {}
        self._changes = 0

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self._robot

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of the objects."""
        return tuple(self._items)

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the objects that were given to the robot, in its model now."""
        mb = self._robot.mb
        return tuple(name for name, bodies in self._given.items() if any(x in mb for x in bodies))

    def add(
        self,
        name: str,
        shape: Any = None,
        pose: Pose | None = None,
        on: Any = None,
        *,
        model: Multibody | None = None,
        folder: str | PathLike[str] | None = None,
    ) -> None:
        """Add an object: a shape, several as `{name: (shape, pose)}`, or a model with hinges, whose state is kept.
        `pose` is in the inertial frame, or in the body or node `on` of the robot, with which it then moves.

        A `Geometry`, as bodies of a loaded model have them, is a shape too, with the pose that it has in itself,
        whatever its role and its masks. A mesh is its hull, unless `detail` says otherwise; its file is in `folder`, by
        default that of the robot's files.

        >>> import soacraft as sc
        >>> w = sc.robot.World(sc.robot.Robot(sc.load("panda")))
        >>> w.add("other", sc.load("ur5e")["forearm_link"].geometries[-1], sc.Pose(translation=(0.5, 0.0, 0.3)))
        >>> w.scene.shapes["other/shape"]
        Capsule(0.038, 0.38)
        """
        if not isinstance(name, str) or not name or "/" in name:
            raise ModelError(f"an object has a name without '/', got {name!r:.60}.")
        item = self._new_item(name, shape, pose, on, model, folder)
        self._refuse_known([name, *body_names(name, model)])
        self._items[name] = item
        self._change()

    def replace(
        self,
        name: str,
        shape: Any,
        pose: Pose | None = None,
        on: Any = None,
        *,
        folder: str | PathLike[str] | None = None,
    ) -> None:
        """Give an object other shapes and another place, as `add` takes them. What was said of it (`hide`, `pad`,
        `allow`, `detail`) still holds.

        >>> import soacraft as sc
        >>> w = sc.robot.World(sc.robot.Robot(sc.load("panda")))
        >>> w.add("cup", sc.contact.Sphere(0.05), sc.Pose(translation=(0.5, 0.0, 0.3)))
        >>> w.replace("cup", sc.contact.Cylinder(0.04, 0.1), w.item("cup").pose)
        >>> w.item("cup").shapes[0][1]
        Cylinder(0.04, 0.1)
        """
        if self._item(name).model is not None:
            raise ModelError(f"object {name!r} is a model with hinges, which shapes do not replace; remove it first.")
        self._items[name] = self._new_item(name, shape, pose, on, None, folder)
        self._change()

    def add_points(self, name: str, points: Any, voxel: float = 0.02) -> None:
        """Add points of a scan (n, 3): the cubes of edge `voxel` that they are in, as one solid. 10^5 points take some
        tenths of a second to add, and a query costs the logarithm of their number."""
        self.add(name, Voxels(points, voxel))

    def remove(self, name: str) -> None:
        """Take an object away."""
        self._item(name)
        del self._items[name]
        self._change()

    def move(self, name: str, pose: Pose) -> None:
        """Put an object elsewhere: the pose is in the frame given to `add`, the inertial one, or the body or node
        that it is on.

        >>> import soacraft as sc
        >>> w = sc.robot.World(sc.robot.Robot(sc.load("panda")))
        >>> _ = w.robot.mb["link7"].add_node("flange", sc.Pose(translation=(0.0, 0.0, 0.1)))
        >>> w.add("tool", sc.contact.Sphere(0.05), on="link7/flange")
        >>> w.move("tool", sc.Pose(translation=(0.0, 0.0, 0.05)))
        >>> w.item("tool").on, float(w.item("tool").pose.translation[2].round(9))
        ('link7', 0.15)
        """
        item = self._item(name)
        place = read_pose(name, pose)
        self._items[name] = item._replace(pose=self._offset(name, item) @ place)
        self._change()

    def set_state(self, name: str, q: Any) -> None:
        """Set the coordinates of the hinges of an object that is a model: how far a door is open."""
        item = self._item(name)
        if item.model is None:
            raise ModelError(f"object {name!r} has no hinges; put it elsewhere with w.move({name!r}, pose).")
        model = item.model.copy()
        model.set_state(q=q)
        self._items[name] = item._replace(model=model)
        self._change()

    def item(self, name: str) -> Item:
        """An object as it was given: shapes with their poses in it, or a model; its pose, the body it is on, and the
        frame that it was put in."""
        return self._item(name)

    def give_to_robot(self, name: str, inertia: Inertia | None = None) -> None:
        """Make an object a part of the robot's model, so that hands can take it: a shape becomes a body of that name
        with a `Free` hinge and the inertia given, in its own frame; a model its bodies, `name.body`. It does not move,
        and its settings (`hide`, `pad`, `allow`, `detail`) still apply.

        While it is not held, it is checked against the robot, not against other objects: a cup may stand on a table.

        >>> import soacraft as sc
        >>> rb = sc.robot.Robot(sc.load("panda"))
        >>> w = sc.robot.World(rb)
        >>> w.add("cup", sc.contact.Cylinder(0.04, 0.1), sc.Pose(translation=(0.5, 0.0, 0.3)))
        >>> w.give_to_robot("cup", sc.Inertia(0.3))
        >>> rb.attach("cup", "link7")
        'cup' held by 'link7' (hung), 0 J lost
        """
        item, mb = self._item(name), self._robot.mb
        if item.on is not None:
            raise ModelError(f"object {name!r} is on {item.on!r} of the robot, which no hand can take it from.")
        stored = self._kept(name, item)
        with self._robot._edits.own():
            if item.model is not None:
                if inertia is not None:
                    raise ModelError(f"object {name!r} is a model, whose bodies have inertias; give none.")
                mb.add_model(item.model, None, None, item.pose, prefix=f"{name}.")
            elif not isinstance(inertia, Inertia):
                raise ModelError(f"object {name!r} needs an Inertia(mass, ...) to be a body, got {inertia!r:.60}.")
            else:
                mb.add_model(as_body(name, item, inertia, mb.gravity), None, None, item.pose)
        self._given[name] = body_names(name, item.model) or (name,)
        shapes = {}
        for (body, part), shape in stored.items():
            geometry = (mb.root if body == mb.root.name else mb[body]).geometries[part]
            if not geometry.mesh or mb.mesh_folder != item.folder:  # files are read in one folder alone
                shapes[body, part] = geometry, shape
        self._robot._shapes = {**self._robot._shapes, **shapes}
        del self._items[name]
        self._change()

    # -- inside --------------------------------------------------------------------------------------------------

    def _new_item(self, name: str, shape: Any, pose: Any, on: Any, model: Any, folder: Any) -> Item:
        """Read the arguments of `add`."""
        if (shape is None) == (model is None):
            raise ModelError(f"object {name!r} is a shape, or a model=...; give one of them.")
        if model is not None and (not isinstance(model, Multibody) or on is not None):
            raise ModelError(
                f"object {name!r}: model= is a Multibody that stands in the inertial frame; got {model!r:.60}."
            )
        mb = self._robot.mb
        place = Pose() if pose is None else read_pose(name, pose)
        frame = None if on is None else mb.frame(on)
        carrier = None
        if frame is not None:
            place, on = frame.offset @ place, None if frame.carrier is mb.root else frame.carrier.name
            carrier = None if frame is mb.root else frame.full_name
        place_of_files = mb.mesh_folder if folder is None else read_path(folder, f"folder of object {name!r}").resolve()
        shapes, records = read_parts(name, shape, place_of_files) if model is None else ((), None)
        if folder is not None and records is None:
            raise ModelError(f"object {name!r} has no geometry whose file could be in folder={folder!r:.60}.")
        return Item(shapes, None if model is None else model.copy(), place, on, carrier, records)

    def _kept(self, name: str, item: Item) -> dict[tuple[str, str], Shape]:
        """The shapes that the robot keeps once it is given the object, by body and name there, where neither a size nor
        a file of it tells them."""
        return {(name, part): shape for part, shape, _ in item.shapes if shape.kind not in SIZED}

    def _take(self, other: Self) -> None:
        """Have the objects of another world."""
        self._items = {name: item.copy() for name, item in other._items.items()}
        self._given = dict(other._given)

    def _offset(self, name: str, item: Item) -> Pose:
        """The pose of the frame that an object was put in, in the body that carries it."""
        mb = self._robot.mb
        if item.frame is None:
            return Pose()
        frame = mb.frame(item.frame) if item.frame in mb else None
        if frame is None or (None if frame.carrier is mb.root else frame.carrier.name) != item.on:
            raise ModelError(
                f"object {name!r} was put on {item.frame!r}, which the robot no longer has: give it another place with "
                f"w.replace({name!r}, shape, pose, on=...)."
            )
        return frame.offset

    def _change(self) -> None:
        """Count a change."""
        self._changes += 1

    def _refuse_known(self, names: list[str]) -> None:
        """Refuse names that objects, their bodies, or something of the robot have: shapes are told by their names."""
        taken = {x for name, item in self._items.items() for x in (name, *body_names(name, item.model))}
        for x in names:
            if x in taken or x in self._robot.mb:
                raise ModelError(f"there is {x!r} already, in the world or on the robot; take another name.")

    def _item(self, name: str) -> Item:
        if not isinstance(name, str):
            raise ModelError(f"give an object by its name, got {name!r:.60}.")
        if name in self._given and name not in self._items:
            raise ModelError(f"object {name!r} was given to the robot: it is in its model, rb.mb.")
        if name not in self._items:
            raise ModelError(f"the world has no object {name!r:.60}{near(str(name), self._items)}")
        return self._items[name]
