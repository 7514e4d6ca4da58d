"""Reading MJCF, MuJoCo's model format, through `mujoco.MjSpec`.

    walk      our own walk over the XML: checks, reports every element and attribute, makes the text for MuJoCo
    engine    MuJoCo parses and compiles that text: defaults, frames, inertias and angles are resolved by it
    bodies, shapes, contacts, cameras, ties, tendons, transmissions, drives
              the compiled numbers become a `Multibody`

Coordinates are q = qpos - ref, so that q = 0 is the configuration that the file draws; see `joints`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from soacraft.errors import ModelFileError, SoacraftError
from soacraft.files.lenient import hinted
from soacraft.files.mjcf.bodies import Build, add_bodies
from soacraft.files.mjcf.cameras import add_cameras
from soacraft.files.mjcf.contacts import add_contacts
from soacraft.files.mjcf.documents import Files, existing, read_document
from soacraft.files.mjcf.drives import add_actuators, add_keyframes
from soacraft.files.mjcf.engine import Compiled, compile_spec, load_mujoco, parse, quietly
from soacraft.files.mjcf.handlers import HANDLERS
from soacraft.files.mjcf.mending import MOST, mend
from soacraft.files.mjcf.meshes import MeshTable, settle_meshes, tell_meshes
from soacraft.files.mjcf.shapes import add_geometries, add_materials, add_sites
from soacraft.files.mjcf.tendons import add_tendons
from soacraft.files.mjcf.ties import add_ties
from soacraft.files.mjcf.transmissions import tell_ranges
from soacraft.files.mjcf.walk import Given, Walk
from soacraft.files.xml_tree import fail, numbers
from soacraft.model import Multibody, ReportBuilder
from soacraft.spatial.checks import number_text

__all__ = ["HANDLERS", "read_mjcf"]


def read_mjcf(path: Path | str, *, mesh_roots: Sequence[Path | str] = (), lenient: bool = False) -> Multibody:
    """The model of an MJCF file; `mb.import_report` says what became of each element and attribute.

    Files are taken from the model's folder and from `mesh_roots` alone. With `lenient`, plugins, and parts that MuJoCo
    refuses and the bodies do not depend on, are lines of the report.

    >>> from tempfile import TemporaryDirectory
    >>> text = "<mujoco><worldbody><body name='lid'><joint/><geom size='1'/></body></worldbody></mujoco>"
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "box.xml"
    ...     _ = path.write_text(text)
    ...     mb = read_mjcf(path)
    >>> mb, mb.dof_names, mb.import_report.lost
    (Multibody 'box': 1 body, 1 dof, ('lid',), ())
    """
    path = existing(path)
    files = Files(tuple(existing(root) for root in mesh_roots), "include" in HANDLERS, lenient=lenient)
    document = read_document(path, files, str(path))
    mujoco = load_mujoco(str(path))
    walk = Walk(document, files, ReportBuilder(str(path)), HANDLERS, opened=(path.resolve(),), lenient=lenient)
    for element, fault in files.absent:
        walk.tell(element, "ignored", note=fault, dynamic=True, key="include")
        walk.tell(element, "ignored", "file", fault, True, key="include")
    root = walk.run()
    with quietly(mujoco) as warnings:
        compiled, meshes = _compiled(mujoco, walk, root, str(path))
    for text in dict.fromkeys(warnings):
        walk.tell(document.root, "recorded", note=f"MuJoCo warns: {' '.join(text.split())}", key="mujoco")
    try:
        mb = _build(walk, compiled, meshes, path)
    except SoacraftError as problem:
        from_file = str(problem).startswith((str(path), *(str(seen) for _, seen in document.included)))
        raise (problem if from_file else fail(document.root, str(problem))) from None
    mb.import_report, mb.mesh_folder = walk.report.done(), document.folder
    mb.mesh_roots = tuple(document.places.elsewhere)
    return mb


def _compiled(mujoco: Any, walk: Walk, root: Given, file: str) -> tuple[Compiled, MeshTable]:
    """MuJoCo's model; with `lenient`, of the remaining elements when it refuses a part that the bodies do not depend
    on.
    """
    tries = MOST if walk.lenient else 0
    while True:
        try:
            spec, lines = parse(mujoco, root, walk.models, file)
            meshes, fates = settle_meshes(mujoco, spec, walk, lines)
            compiled = compile_spec(mujoco, spec, lines, file)
        except ModelFileError as problem:
            mended = mend(walk, [root, *walk.models.values()], problem)
            if tries == 0 or not mended:
                raise hinted(problem) if mended and not walk.lenient else problem from None
            tries -= 1
            continue
        tell_meshes(walk, fates)
        return compiled, meshes


def _add_gravity(build: Build) -> None:
    """Set gravity as MuJoCo settled it; each <option> with another value gets a line in the report."""
    walk, gravity = build.walk, build.compiled.model.opt.gravity.tolist()
    build.mb.gravity = [0.0] * 3 if "GRAVITY" in build.off else gravity
    for element in walk.gravities:
        if np.allclose(numbers(element, "gravity", None), gravity, rtol=1e-12, atol=0.0):
            walk.tell(element, "used", "gravity", key="option")
        else:
            walk.tell(element, "ignored", "gravity", f"the model has {number_text(gravity)}", True, key="option")


def _build(walk: Walk, compiled: Compiled, meshes: MeshTable, path: Path) -> Multibody:
    name = walk.document.root.attributes.get("model", "").strip() or path.stem
    mb = Multibody(name)
    build = Build(mb, compiled, walk)
    add_bodies(build)
    _add_gravity(build)
    add_sites(build)
    add_cameras(build)
    add_materials(build)
    add_geometries(build, meshes)
    add_contacts(build)
    add_ties(build)
    add_tendons(build)
    add_actuators(build)
    tell_ranges(build)
    add_keyframes(build)
    for record in walk.records:
        mb.add_record(record)
    return mb


def __dir__() -> list[str]:
    return __all__
