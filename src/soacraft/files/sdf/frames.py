"""Poses of the frames of an SDF model with all joints at zero, and the link that carries each."""

from __future__ import annotations

from soacraft.files.sdf.scopes import MODEL, WORLD, Item, Scopes
from soacraft.files.xml_tree import fail
from soacraft.spatial import Pose


class Frames:
    """Poses and carriers of all names of a model. Without recursion: a chain of frames may be long. O(n)."""

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes
        self._poses: dict[str, Pose] = {WORLD: Pose()}
        self._carriers: dict[str, str] = {WORLD: WORLD}

    def pose(self, name: str) -> Pose:
        """The pose of a name in the world.

            X(name) = X(what it is relative to) pose;    of a placed model  X = X(outer) pose X(model, placed)^-1
        """
        chain: list[str] = []
        while name not in self._poses:
            if name in chain:
                ring = _ring(chain, name)
                raise fail(self._item(name).element, f"frames are relative to each other in a circle: {ring}.")
            chain.append(name)
            name = self._base(name)
        at = self._poses[name]
        for each in reversed(chain):
            item = self._item(each)
            at = at @ item.pose
            if item.kind == "model" and item.placement:
                at = at @ self._inside(each, item).inv
            self._poses[each] = at
        return at

    def carrier(self, name: str) -> str:
        """The link that carries a name, `world` for what does not move."""
        chain: list[str] = []
        while name not in self._carriers:
            item = self._item(name)
            if item.kind == "link":
                self._carriers[name] = name
                break
            if name in chain:
                raise fail(item.element, f"frames are attached to each other in a circle: {_ring(chain, name)}.")
            chain.append(name)
            name = self._held(name, item)
        for each in chain:
            self._carriers[each] = self._carriers[name]
        return self._carriers[name]

    def _item(self, name: str) -> Item:
        return self._scopes.items[name]

    def _base(self, name: str) -> str:
        """Name of the frame that the pose of a name is relative to."""
        item = self._item(name)
        if name == MODEL:
            return WORLD
        if item.relative_to:
            return self._scopes.find(item.scope, item.relative_to, item.element)
        return f"{item.scope}{MODEL}"

    def _held(self, name: str, item: Item) -> str:
        if item.kind == "model":
            scope = name[: -len(MODEL)]
            if item.attached_to and item.attached_to != WORLD:
                return self._scopes.find(scope, item.attached_to, item.element)
            links = (each for each, x in self._scopes.items.items() if x.kind == "link" and each.startswith(scope))
            return next(links, WORLD)
        return self._scopes.find(item.scope, item.attached_to, item.element)

    def _inside(self, name: str, item: Item) -> Pose:
        """The pose of the frame that places a model, in the model's own frame."""
        scope, at, steps = name[: -len(MODEL)], item.placement, 0
        if at not in self._scopes.items:
            raise fail(item.element, f"its placement frame {at[len(scope) :]!r:.80} is not in it.")
        pose = Pose()
        while at != name:
            pose = self._item(at).pose @ pose
            at, steps = self._base(at), steps + 1
            if steps > len(self._scopes.items) or at == WORLD:
                raise fail(item.element, "its placement frame must be placed relative to the model itself.")
        return pose


def _ring(chain: list[str], name: str) -> str:
    return " -> ".join(repr(each)[:80] for each in [*chain[chain.index(name) :][:6], name])
