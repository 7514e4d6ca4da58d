"""Handlers' helpers for assets: files are located and checked; only meshes that give an inertia are ever read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from soacraft.files.lenient import hinted
from soacraft.files.mjcf.documents import attached_path, read_document
from soacraft.files.mjcf.guards import MAX_RESOLUTION, bounded
from soacraft.files.mjcf.moments import moment_of, nearest_moment, text_of
from soacraft.files.mjcf.walk import MeshFile, Walk
from soacraft.files.places import Spot
from soacraft.files.xml_tree import Element, fail, shorten

Changes = Mapping[str, str | None]
_TEXTURE_FILES = ("file", "fileback", "filedown", "filefront", "fileleft", "fileright", "fileup")


def mesh(element: Element, walk: Walk) -> Changes:
    """A mesh gets a file name of ours; whether it is read is decided when the bodies are known."""
    bounded(element, "params", MAX_RESOLUTION)
    if "file" not in element.attributes:
        return {}
    spot = walk.asset(element, walk.meshdir)
    path = PurePosixPath(element.attributes["file"].replace("\\", "/"))
    name = f"mesh{len(walk.meshes)}{_suffix(path)}"
    walk.meshes[name] = MeshFile(spot, element)
    stem = path.stem
    return {"file": name, "name": element.attributes.get("name", stem)}


def _suffix(path: PurePosixPath) -> str:
    """The suffix of a mesh in the name that MuJoCo is given."""
    return path.suffix.lower() if path.suffix[1:].isalnum() else ""


def _look(element: Element, walk: Walk, folder: str, attribute: str = "file") -> Spot | None:
    """Look for a file that is kept by its name; what is wrong with it is a line of the report."""
    if attribute not in element.attributes:
        return None
    spot = walk.asset(element, folder, attribute)
    if spot.fault:
        walk.tell(element, "recorded", attribute, spot.fault)
    return spot


def hfield(element: Element, walk: Walk) -> Changes:
    """The heights are kept by name, and their file where it is; MuJoCo gets a flat field of the same size."""
    spot = _look(element, walk, walk.meshdir)
    if spot is not None:
        walk.height_files[id(element)] = spot.name
    walk.record(element, "heightfield")
    name = PurePosixPath(element.attributes.get("file", "").replace("\\", "/")).stem
    return {"nrow": "2", "ncol": "2", "name": element.attributes.get("name", name)}


def texture(element: Element, walk: Walk) -> None:
    """A texture is kept by its name."""
    spots = [_look(element, walk, walk.texturedir, attribute) for attribute in _TEXTURE_FILES]
    if spots[0] is not None:
        stem = PurePosixPath(element.attributes["file"].replace("\\", "/")).stem
        walk.texture_files[element.attributes.get("name", stem)] = spots[0].name
    walk.record(element, "texture")


def skin(element: Element, walk: Walk) -> None:
    """A skin is kept by its name."""
    _look(element, walk, walk.meshdir)
    walk.record(element, "skin")


def material(element: Element, walk: Walk) -> None:
    """The texture of a material, by the material's name."""
    layers = [child.attributes.get("texture", "") for child in element.children if child.tag == "layer"]
    walk.textures[element.attributes.get("name", "")] = element.attributes.get("texture", next(iter(layers), ""))


def option(element: Element, walk: Walk) -> None:
    """Options are kept; whose gravity counts is known when MuJoCo has put the models together."""
    walk.record(element, "option")
    if "gravity" in element.attributes:
        walk.gravities.append(element)


_FLAGS = {
    "actuation": ("disable", "actuators act all the same"),
    "clampctrl": ("disable", "controls are cut to their ranges all the same"),
    "limit": ("disable", "limits act all the same in sc.sim.Contact"),
    "override": ("enable", "the numbers of contact are those of the shapes all the same"),
}
"""Flags that change the motion and are not simulated, with the value that does and what happens instead."""


def flag(element: Element, walk: Walk) -> None:
    """Flags are kept; those that would change the motion are told of."""
    recorded("flag")(element, walk)
    for name, (value, note) in _FLAGS.items():
        if name in element.attributes:
            changes = element.attributes[name].strip() == value
            walk.tell(element, "recorded", name, note if changes else "as it is usually", changes)


def model(element: Element, walk: Walk) -> Changes:
    """A model to attach is read and walked over as the main one is."""
    path = attached_path(element, walk.document)
    if path in walk.opened:
        raise fail(element, f"{path.name!r} attaches itself.")
    document = read_document(path, walk.files, element)
    inner, key = walk.inner(document, path), walk.key
    root = inner.run()
    name = f"model{len(walk.models)}.xml"  # after those it attaches itself
    walk.models[name] = root
    walk.key = key
    label = element.attributes.get("name", document.root.attributes.get("model", path.stem))
    walk.weights[label] = inner.cost
    return {"file": name, "name": label, "content_type": None}


def inertial(element: Element, walk: Walk) -> Changes:
    """A diagonal inertia with negative entries: refused, or with `lenient` the nearest that a body can have."""
    J = moment_of("diaginertia", element.attributes.get("diaginertia", ""))
    if J is None or (J >= 0.0).all():
        return {}
    body = walk.carriers[-1] if walk.carriers else ""
    text = element.attributes["diaginertia"]
    problem = fail(element, f'diaginertia="{shorten(text)}" of body {body!r:.80} must not be negative.')
    near = text_of("diaginertia", nearest_moment(J))
    if not walk.lenient:
        raise hinted(problem)
    walk.tell(element, "repaired", "diaginertia", f"{problem.fault} With lenient it is {near}", dynamic=True)
    return {"diaginertia": near}


def recorded(kind: str) -> Callable[[Element, Walk], None]:
    """Keep the element as it is written, with its tag, and the body it is on."""

    def keep(element: Element, walk: Walk) -> None:
        more = {"type": element.tag} if kind == "sensor" else {}
        if walk.carriers:
            more["body"] = walk.carriers[-1]
        walk.record(element, kind, **more)

    return keep
