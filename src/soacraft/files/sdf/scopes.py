"""Links, joints and frames of an SDF model by their names, with nested and included models.

A name inside the model `hand` of the model `arm` is `hand::finger` seen from `arm`, as in SDF; the outermost model adds
nothing, unless a world has several, or has joints and frames itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from soacraft.errors import ModelFileError
from soacraft.files.sdf.source import Source
from soacraft.files.xml_tree import Element, fail, shorten
from soacraft.spatial import Array, Pose

WORLD = "world"
MODEL = "__model__"
#: Links, joints, frames and models of one file.
MOST = 100_000


@dataclass(eq=False)
class Item:
    """A link, joint, frame or model: where it is written, its pose, and what that is relative to."""

    kind: str
    element: Element
    scope: str
    pose: Pose = field(default_factory=Pose)
    relative_to: str = ""
    attached_to: str = ""
    """Carrier of a frame, child of a joint, canonical link of a model."""
    parent: str = ""
    """Parent of a joint."""
    placement: str = ""
    """Frame of a model that `pose` places; '' for the model's frame."""
    static: bool = False


@dataclass
class Scopes:
    """Elements by scoped name."""

    source: Source
    items: dict[str, Item] = field(default_factory=dict)
    gravity: Array | None = None
    name: str = ""

    def find(self, scope: str, name: str, where: Element) -> str:
        """The scoped name that a name written in a scope means."""
        if name in (WORLD, f"{scope}{WORLD}"):
            return WORLD
        full = f"{scope}{name}"
        if full in self.items:
            return full
        names = [each[len(scope) :] for each in self.items if each.startswith(scope)]
        raise fail(where, f"there is no link, joint or frame {shorten(name)!r} here; there are {_few(names)}.")

    def add(self, name: str, item: Item) -> None:
        """Keep an item; a second of its name is refused."""
        if name in self.items:
            raise fail(item.element, f"there is a {self.items[name].kind} of the name {shorten(name)!r} already.")
        if len(self.items) >= MOST:
            raise fail(item.element, f"makes the model too large to read: more than {MOST} links, joints and frames.")
        self.items[name] = item


def gather(source: Source, root: Element, path: Path) -> Scopes:
    """Read the elements of the file; models of a world share one model."""
    scopes = Scopes(source)
    world = source.child(root, "world")
    models = [each for each in (world or root).children if each.tag in ("model", "include")]
    if not models:
        raise fail(world or root, "has no <model>; a model needs at least one.")
    if world is not None:
        source.use(world, "name")
        scopes.name = world.attributes.get("name", "")
        gravity = source.child(world, "gravity")
        if gravity is not None:
            scopes.gravity = source.numbers(gravity, 3)
    scopes.add(MODEL, Item("model", root, "", attached_to=WORLD))
    ties = [] if world is None else [each for each in world.children if each.tag in ("joint", "frame")]
    several = len(models) > 1 or bool(ties)
    for each in models:
        _lenient_model(scopes, each, "several" if several else "only", path)
    for each in ties:
        _inside(scopes, each, "", scopes.name, [path])
    called = (item.element.attributes.get("name", "") for item in scopes.items.values() if item.kind == "model")
    scopes.name = scopes.name or next(filter(None, called), "model")
    return scopes


def _lenient_model(scopes: Scopes, element: Element, place: str, path: Path) -> None:
    """A model of the file; with `lenient` one that is included and not there is a line of the report."""
    uri = scopes.source.child(element, "uri") if element.tag == "include" else None
    try:
        _model(scopes, element, "", place, [path])
    except ModelFileError as problem:
        if uri is None or problem.where is not uri:
            raise
        scopes.source.go_on(problem, uri)


def _model(scopes: Scopes, element: Element, outer: str, place: str, files: Sequence[Path]) -> None:
    """A <model>, or one that is included. `place`: "only" model of the file, one of "several", or "nested"."""
    source = scopes.source
    source.use(element)
    name, pose, static, merge = "", source.child(element, "pose"), None, False
    placement = source.child(element, "placement_frame")
    body, frame = element, source.attribute(element, "placement_frame")
    if element.tag == "include":
        uri = source.child(element, "uri")
        if uri is None:
            raise fail(element, "needs a <uri>.")
        inside, path = source.included(uri, files)
        files = [*files, path]
        merge = source.attribute(element, "merge") in ("true", "1")
        called, fixed = source.child(element, "name"), source.child(element, "static")
        name = source.text(called) if called is not None else ""
        static = None if fixed is None else source.text(fixed) in ("true", "1")
        models = [each for each in inside.children if each.tag == "model"]
        if len(models) != 1:
            raise fail(uri, f"an included file has one <model>, this one {len(models)}.")
        body = models[0]
        source.use(body)
        if pose is None:
            pose = source.child(body, "pose")
        if placement is None:
            frame = frame or source.attribute(body, "placement_frame")
    name = name or source.name(body)
    source.use(body, "name")
    if "::" in name:
        raise fail(element, f'the name {shorten(name)!r} of a model must not hold "::".')
    scope = outer if place == "only" or merge else f"{outer}{name}::"
    fixed = source.child(body, "static")
    if static is None:
        static = fixed is not None and source.text(fixed) in ("true", "1")
    elif fixed is not None:
        source.use(fixed)
    static = static or scopes.items[f"{outer}{MODEL}"].static
    placed = source.text(placement) if placement is not None else frame
    canonical = source.attribute(body, "canonical_link")
    item = Item("model", body, outer, source.pose(pose), _relative(source, pose), canonical, static=static,
               placement=f"{scope}{placed}" if placed else "")  # fmt: skip
    if place == "only":
        scopes.items[MODEL] = item
    elif not merge:
        scopes.add(f"{scope}{MODEL}", item)
        scopes.add(f"{outer}{name}", Item("alias", body, scope, relative_to=MODEL, attached_to=MODEL))
    for child in body.children:
        _inside(scopes, child, scope, name, files)
    if element is not body:
        for child in element.children:
            if child.tag in ("plugin", "experimental_params"):
                source.record(child, name)


def _inside(scopes: Scopes, child: Element, scope: str, model: str, files: Sequence[Path]) -> None:
    source = scopes.source
    if child.tag in ("model", "include"):
        _model(scopes, child, scope, "nested", files)
    elif child.tag in ("link", "frame", "joint"):
        source.use(child)
        name, pose = source.name(child), source.child(child, "pose")
        item = Item(child.tag, child, scope, source.pose(pose), _relative(source, pose))
        if child.tag == "frame":
            item.attached_to = source.attribute(child, "attached_to") or MODEL
            item.relative_to = item.relative_to or item.attached_to
        elif child.tag == "joint":
            source.use(child, "type")
            item.parent, item.attached_to = (_end(source, child, tag) for tag in ("parent", "child"))
            item.relative_to = item.relative_to or item.attached_to
        else:
            item.static = scopes.items[f"{scope}{MODEL}"].static if f"{scope}{MODEL}" in scopes.items else False
        scopes.add(f"{scope}{name}", item)
    elif child.tag in ("plugin", "gripper", "experimental_params"):
        source.record(child, model)


def _end(source: Source, joint: Element, tag: str) -> str:
    end = source.child(joint, tag)
    text = "" if end is None else source.text(end)
    if end is None or not text:
        raise fail(joint, f"needs a <{tag}> with the name of a link or a frame.")
    return text


def _relative(source: Source, pose: Element | None) -> str:
    """The frame a pose is relative to: `relative_to`, before SDF 1.7 `frame`; '' for the default."""
    if pose is None:
        return ""
    return source.attribute(pose, "relative_to") or source.attribute(pose, "frame")


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(repr(shorten(name)) for name in names[:6] if name != MODEL)
    return f"{shown}, ..." if len(names) > 6 else shown or "none"
