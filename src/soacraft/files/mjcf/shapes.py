"""Sites as nodes, geoms as geometry, materials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from soacraft.errors import ModelError
from soacraft.files.mjcf.bodies import Build
from soacraft.files.mjcf.joints import pose_of
from soacraft.files.mjcf.meshes import MeshTable
from soacraft.files.xml_tree import Element
from soacraft.model import Geometry, Material

_KINDS = {
    "PLANE": "plane", "HFIELD": "heightfield", "SPHERE": "sphere", "CAPSULE": "capsule", "ELLIPSOID": "ellipsoid",
    "CYLINDER": "cylinder", "BOX": "box", "MESH": "mesh",
}  # fmt: skip
_HIDDEN_GROUP = 3
#: Larger meshes that are in the file itself are kept by their name alone.
_MOST_CORNERS = 20_000
_RARE = ("fluid", "adhesion")
_KEPT = "friction condim contype conaffinity group margin gap solref solimp solmix priority".split()


def add_sites(build: Build) -> None:
    """A node for each site; its role is that of a sensor or an actuator there."""
    compiled, model = build.compiled, build.compiled.model
    roles = _roles(build)
    elements = compiled.elements(compiled.spec.sites)
    for site in range(int(model.nsite)):
        carrier = build.carriers[int(model.site_bodyid[site])]
        file_name, element = compiled.name("SITE", site), elements.get(site)
        name = build.node_name(carrier, file_name, f"site{site}")
        if file_name.strip() and name != file_name and element is not None:
            build.walk.tell(element, "converted", "name", f"{file_name!r} is called {name!r}", key="body/site")
        try:
            node = carrier.add_node(
                name, pose_of(model.site_pos[site], model.site_quat[site]), role=roles.get(site, "")
            )
        except ModelError as problem:
            raise build.refused(element, problem) from None
        build.sites[site] = node.full_name


def _roles(build: Build) -> dict[int, str]:
    """The sites at which actuators push, or else sensors measure."""
    model, mujoco = build.compiled.model, build.compiled.mujoco
    numbers = {build.compiled.name("SITE", i): i for i in range(int(model.nsite))}
    measured_sites = [str(x.attributes.get("site", "")) for x in build.walk.records if x.kind == "sensor"]
    measured = [numbers[name] for name in measured_sites if name in numbers]
    pushed = np.asarray(model.actuator_trnid)[np.asarray(model.actuator_trntype) == int(mujoco.mjtTrn.mjTRN_SITE)]
    return dict.fromkeys(measured, "sensor") | dict.fromkeys(pushed.reshape(-1, 2)[:, 0].tolist(), "actuator")


def add_materials(build: Build) -> None:
    """The materials with their colours, and the names of their textures with the files of those that have one."""
    compiled, model = build.compiled, build.compiled.model
    for number in range(int(model.nmat)):
        name = compiled.name("MATERIAL", number) or f"material{number}"
        attributes: dict[str, Any] = {
            field: float(getattr(model, f"mat_{field}")[number])
            for field in ("emission", "specular", "shininess", "reflectance", "metallic", "roughness")
            if hasattr(model, f"mat_{field}")
        }
        rgba = tuple(float(x) for x in model.mat_rgba[number])
        texture = build.walk.textures.get(name, "")
        if texture:
            attributes["texture"] = texture
        file = build.walk.texture_files.get(texture, "")
        build.mb.add_material(Material(name, rgba, file, attributes))  # type: ignore[arg-type]


def add_geometries(build: Build, meshes: MeshTable) -> None:
    """A geometry for each geom, and one line in the report when some can touch."""
    compiled, model = build.compiled, build.compiled.model
    elements, paired = compiled.elements(compiled.spec.geoms), paired_geoms(model)
    fields = compiled.elements(compiled.spec.hfields)
    for geom in range(int(model.ngeom)):
        carrier = build.carriers[int(model.geom_bodyid[geom])]
        try:
            shape = carrier.add_geometry(_geometry(build, geom, meshes, carrier.name, geom in paired, fields))
            build.geometries[geom] = f"{carrier.name}/{shape.name}"
            if "surfacespin" in shape.attributes and (element := elements.get(geom)) is not None:
                note = "the surface slides; that it turns is kept, not simulated"
                build.walk.tell(element, "recorded", "surfacevel", note, True, key="body/geom")
        except ModelError as problem:
            raise build.refused(elements.get(geom), problem) from None
    if "CONTACT" not in build.off and can_touch(model):
        build.walk.tell(
            build.walk.document.root, "recorded", note="some shapes can touch: sc.sim.Contact lets them",
            key="body/geom",
        )  # fmt: skip


def paired_geoms(model: Any) -> set[int]:
    """The geoms of <pair>: they touch, whatever their masks say."""
    return {int(x) for x in (*model.pair_geom1, *model.pair_geom2)}


def can_touch(model: Any) -> bool:
    """True if two shapes on different bodies may meet."""
    if int(model.npair):
        return True
    types, affinities = np.asarray(model.geom_contype), np.asarray(model.geom_conaffinity)
    where = np.asarray(model.body_weldid)[np.asarray(model.geom_bodyid)]
    kinds = {(int(t), int(a), int(b)) for t, a, b in zip(types, affinities, where, strict=True) if t or a}
    masks = list(kinds)[:2000]
    return any((t & c) or (u & a) for t, a, b in masks for u, c, d in masks if b != d)


def _geometry(
    build: Build, geom: int, meshes: MeshTable, owner: str, paired: bool, fields: Mapping[int, Element | None]
) -> Geometry:
    compiled, model, mujoco = build.compiled, build.compiled.model, build.compiled.mujoco
    kind = _KINDS.get(mujoco.mjtGeom(int(model.geom_type[geom])).name.removeprefix("mjGEOM_"), "other")
    pose = pose_of(model.geom_pos[geom], model.geom_quat[geom])
    attributes: dict[str, Any] = {field: np.array(getattr(model, f"geom_{field}")[geom]).tolist() for field in _KEPT}
    for field in _RARE:
        value = getattr(model, f"geom_{field}", None)
        if value is not None and np.any(value[geom]):
            attributes[field] = np.array(value[geom]).tolist()
    slide, spin = _surface(model, geom)
    if slide.any():
        attributes["surfacevel"] = slide.tolist()
    if spin.any():
        attributes["surfacespin"] = spin.tolist()
    size, mesh, data = sizes_of(kind, model.geom_size[geom]), "", int(model.geom_dataid[geom])
    if kind == "mesh" and data >= 0:
        asset = compiled.name("MESH", data)
        mesh, size = meshes.get(asset, ("", (1.0, 1.0, 1.0)))
        attributes["mesh"] = asset
        pose = pose @ pose_of(model.mesh_pos[data], model.mesh_quat[data]).inv  # MuJoCo centres meshes
        if not mesh:
            size = (1.0, 1.0, 1.0)
            attributes |= _inline(model, data)
    if kind == "heightfield" and data >= 0:
        size, attributes["hfield"] = tuple(float(x) for x in model.hfield_size[data]), compiled.name("HFIELD", data)
        mesh = build.walk.height_files.get(id(fields.get(data)), "")
    material = int(model.geom_matid[geom])
    name = compiled.name("GEOM", geom)
    return Geometry(
        build.names.take(f"geometry of {owner}", name, f"geom{geom}"), kind, size, pose, _role(model, geom, paired),
        tuple(float(x) for x in model.geom_rgba[geom]),  # type: ignore[arg-type]
        "" if material < 0 else compiled.name("MATERIAL", material), mesh, attributes,
    )  # fmt: skip


def _inline(model: Any, data: int) -> dict[str, Any]:
    """The corners and triangles of a mesh that is in the file itself, in the axes of the file."""
    first, faces = int(model.mesh_vertadr[data]), int(model.mesh_faceadr[data])
    corners, triangles = int(model.mesh_vertnum[data]), int(model.mesh_facenum[data])
    if corners > _MOST_CORNERS or triangles > 2 * _MOST_CORNERS:
        return {}
    at = pose_of(model.mesh_pos[data], model.mesh_quat[data])
    points = np.asarray(model.mesh_vert[first : first + corners], dtype=np.float64) @ at.rotation.T + at.translation
    face = np.asarray(model.mesh_face[faces : faces + triangles])
    return {"vertex": points.ravel().tolist(), "face": face.ravel().tolist()}


def _surface(model: Any, geom: int) -> tuple[Any, Any]:
    """The velocity of a surface that moves, along its axes and about them."""
    values = getattr(model, "geom_surfacevel", None)
    both = np.zeros(6) if values is None else np.resize(np.append(values[geom], np.zeros(6)), 6)
    return both[:3], both[3:]


def sizes_of(kind: str, size: Any) -> tuple[float, ...]:
    """MuJoCo's half sizes as ours.

    >>> sizes_of("capsule", (0.1, 0.5, 0)), sizes_of("plane", (0, 0, 1))
    ((0.1, 1.0), ())
    """
    a, b, c = (float(x) for x in size)
    if kind == "plane":
        return (2 * a, 2 * b) if a and b else ()
    sizes = {"sphere": (a,), "capsule": (a, 2 * b), "cylinder": (a, 2 * b), "box": (2 * a, 2 * b, 2 * c)}
    return sizes.get(kind, (a, b, c))


def _role(model: Any, geom: int, paired: bool) -> str:
    """Shapes that touch nothing are for the eye; shapes in a group that viewers hide are for contact."""
    if not model.geom_contype[geom] and not model.geom_conaffinity[geom] and not paired:
        return "visual"
    return "collision" if model.geom_group[geom] >= _HIDDEN_GROUP else "both"
