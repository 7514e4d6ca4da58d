"""Make the library of models: `python scripts/make_library.py SOURCE_FOLDER [NAME ...]`.

SOURCE_FOLDER holds the model files as they came from their authors, in the folders named below, each with its LICENSE.
Writes `NAME.json`, `licences/NAME.txt` and `index.json` into `src/soacraft/files/library`. Capsules of models whose
files have none are in `scripts/shapes`, made by `scripts/fit_capsules.py`.
"""

from __future__ import annotations

import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import soacraft as sc
from soacraft.files.library import ModelFacts
from soacraft.files.native import write_bytes, write_native
from soacraft.model import Entry, ImportReport

SHAPES = Path(__file__).parent / "shapes"
LIBRARY = Path(__file__).parents[1] / "src" / "soacraft" / "files" / "library"
MENAGERIE = "github.com/google-deepmind/mujoco_menagerie"
PARALLEL = "github.com/Gepetto/example-parallel-robots"


@dataclass(frozen=True)
class Source:
    """Where a model comes from, and whose it is."""

    file: str
    licence: str
    source: str
    description: str
    root: sc.Hinge | None = None
    shapes: str = ""
    """The file in `scripts/shapes` with the capsules of its bodies."""
    apart: str = ""
    """Bodies that need no look for contact, "a b, c d": neighbours whose shapes overlap, and those never in reach."""
    keyframes: str = ""
    """The authors' file with keyframes, where the one without meshes has none."""
    palm: str = ""
    """Of a hand: the body that its fingers are on. Frames to grasp with are nodes of it, from the file's sites."""


#: The pairs of panda.srdf in PyPI's example-robot-data 6.0.0, which has the meshes too.
_PANDA = (
    "link0 link1, link0 link2, link0 link3, link0 link4, link1 link2, link1 link3, link1 link4, link2 link3, "
    "link2 link4, link3 link4, link3 link5, link3 link6, link3 link7, link4 link5, link4 link6, link4 link7, "
    "link5 link6, link5 link7, link6 link7"
)
#: The excludes of iiwa14.xml, which the file without meshes has not.
_IIWA = "base link1, base link2, base link3, link1 link3, link3 link5, link4 link7, link5 link7"

SOURCES = {
    "panda": Source(
        "franka_emika_panda/panda_nohand_nomesh.xml", "Apache-2.0",
        f"{MENAGERIE} franka_emika_panda; capsules fitted to the meshes of PyPI example-robot-data 6.0.0",
        "Franka Emika Panda, an arm of 7 dofs, without its hand.", shapes="panda.json", apart=_PANDA,
        keyframes="franka_emika_panda/panda_nohand.xml",
    ),
    "ur5e": Source(
        "universal_robots_ur5e/ur5e_nomesh.xml", "BSD-3-Clause", f"{MENAGERIE} universal_robots_ur5e",
        "Universal Robots UR5e, an arm of 6 dofs.", keyframes="universal_robots_ur5e/ur5e.xml",
    ),
    "iiwa14": Source(
        "kuka_iiwa_14/iiwa14_nomesh.xml", "BSD-3-Clause", f"{MENAGERIE} kuka_iiwa_14",
        "KUKA LBR iiwa 14, an arm of 7 dofs.", apart=_IIWA, keyframes="kuka_iiwa_14/iiwa14.xml",
    ),
    "simple_humanoid": Source(
        "simple_humanoid/simple_humanoid.urdf", "BSD-2-Clause", "github.com/stack-of-tasks/pinocchio models",
        "A humanoid on a free base.", sc.Free(),
    ),
    "anymal_b": Source(
        "anybotics_anymal_b/anymal_b_nomesh.xml", "BSD-3-Clause", f"{MENAGERIE} anybotics_anymal_b",
        "ANYbotics ANYmal B, a quadruped on a free base.",
    ),
    "a1": Source(
        "unitree_a1/a1_nomesh.xml", "BSD-3-Clause", f"{MENAGERIE} unitree_a1",
        "Unitree A1, a quadruped on a free base.", keyframes="unitree_a1/a1.xml",
    ),
    "h1": Source(
        "unitree_h1/h1_nomesh.xml", "BSD-3-Clause", f"{MENAGERIE} unitree_h1",
        "Unitree H1, a humanoid on a free base.",
    ),
    "cassie": Source(
        "agility_cassie/cassie_nomesh.xml", "MIT", f"{MENAGERIE} agility_cassie",
        "Agility Robotics Cassie, a biped on a free base with loops and springs in its legs.",
        keyframes="agility_cassie/cassie.xml",
    ),
    "shadow_hand": Source(
        "shadow_hand/right_hand_nomesh.xml", "Apache-2.0", f"{MENAGERIE} shadow_hand",
        "Shadow Dexterous Hand, a right hand of 24 dofs.", palm="rh_palm",
    ),
    "robotiq_2f85": Source(
        "robotiq_2f85/2f85_nomesh.xml", "BSD-2-Clause", f"{MENAGERIE} robotiq_2f85",
        "Robotiq 2F-85, a gripper whose fingers are loops.", palm="base",
    ),
    "husky": Source(
        "husky/husky_clean.urdf", "BSD-3-Clause", "PyPI pybullet 3.2.7 pybullet_data/husky",
        "Clearpath Husky, a vehicle with four wheels on a free base.", sc.Free(),
    ),
    "five_bar": Source(
        "parallel_5bar_linkage/robot.urdf", "BSD-3-Clause", f"{PARALLEL} robots/5bar_linkage",
        "A five-bar linkage, one loop.",
    ),
    "delta": Source(
        "parallel_robot_delta/robot.urdf", "BSD-3-Clause", f"{PARALLEL} robots/robot_delta",
        "A delta robot, three loops.",
    ),
    "strandbeest": Source(
        "strandbeest/Strandbeest.urdf", "MIT", "github.com/rdeits/StrandbeestRobot.jl data",
        "Theo Jansen's walker on a free base, with the loops of its legs.", sc.Free(),
    ),
}  # fmt: skip


def make(name: str, source: Source, folder: Path) -> ModelFacts:
    """Write one model and its licence, and give its facts."""
    path = folder / source.file
    mb = sc.load(path, root=source.root).copy(name)
    if source.shapes:
        _put(mb, msgspec.json.decode((SHAPES / source.shapes).read_bytes()))
    for pair in filter(None, source.apart.split(", ")):
        body1, body2 = pair.split()
        mb.add_record(sc.Record("contact exclude", "", {"body1": body1, "body2": body2}))
    if source.keyframes:
        for keyframe in sc.load(folder / source.keyframes).keyframes:
            mb.add_keyframe(keyframe)
    start(mb)
    if source.palm:
        sc.robot.Robot(mb).hand("hand", source.palm)
    mb.import_report, mb.mesh_folder = _named_from(folder, mb.import_report), None  # the meshes do not come along
    write_bytes(LIBRARY / "licences" / f"{name}.txt", _licence(path).encode())
    write_native(mb, LIBRARY / f"{name}.json")
    return ModelFacts(
        name, len(mb), mb.nv, len(mb.loops), len(mb.couplings), source.licence, source.source, source.description
    )


def start(mb: sc.Multibody) -> None:
    """Begin within the limits, with loops closed, and with the lowest point of a robot on a free base at z = 0.

    As the file draws it where that is legal; else at its keyframe "home"; else from the middle of the limits.
    """
    if outside(mb):
        if "home" in mb.keyframes.names:
            mb.set_state("home")
        else:
            mb.set_state({name: 0.5 * (low + high) for name, _, low, high in outside(mb)})
    if len(mb.loops) or len(mb.couplings):
        mb.set_state(sc.loops.TreeAugmented(mb).assemble(mb.q, limits=True))
    mb.set_state(v=np.zeros(mb.nv))
    for body in mb.root.children:
        if isinstance(body.hinge, sc.Free):
            q = np.array(mb.q)
            q[mb.q_slice(body).stop - 1] -= lowest(mb)
            mb.set_state(q)


def outside(mb: sc.Multibody) -> list[tuple[str, float, float, float]]:
    """Dofs beyond their limits: name, coordinate, lower, upper."""
    rows = []
    for body in mb.bodies:
        if body.hinge.nq == body.hinge.nv == 1:
            (x,), (low,), (high,) = mb.q[mb.q_slice(body)], body.limits.lower, body.limits.upper
            if not low <= x <= high:
                rows.append((body.hinge_name, float(x), float(low), float(high)))
    return rows


def lowest(mb: sc.Multibody) -> float:
    """The height at which the first shape touches a floor, or of the lowest frame where no tip has a shape."""
    probe = mb.copy()
    meshes = [f"{x.name}/{y.name}" for x in mb.bodies for y in x.geometries if y.kind == "mesh" and y.role != "visual"]
    probe.root.add_geometry(sc.Geometry("level", "plane", attributes={"contype": 1, "conaffinity": 1}))
    scene = sc.contact.Scene(probe, skip=meshes)
    for name in scene.names:
        if name != "inertial/level":
            scene.include(name, "inertial/level")
    rows = scene.distances(probe.q)
    heights = [float(d) for pair, d in zip(rows.pairs, rows.distance, strict=True) if "inertial/level" in pair]
    frames = [*mb.bodies, *(node for body in mb.bodies for node in body.nodes)]
    shaped = any(name.startswith(f"{x.name}/") for x in mb.bodies if not x.children for name in scene.names)
    return min(heights) if shaped else min(float(mb.pose(x).translation[2]) for x in frames)


def _put(mb: sc.Multibody, shapes: dict[str, list[Any]]) -> None:
    """A capsule on each body, from its radius and its two ends: its z axis goes from one to the other."""
    for name, (radius, *ends) in shapes.items():
        a, b = np.array(ends)
        length = float(np.linalg.norm(b - a))
        z = (b - a) / length
        x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
        x /= np.linalg.norm(x)
        pose = sc.Pose(np.column_stack([x, np.cross(z, x), z]), 0.5 * (a + b))
        mb[name].add_geometry(sc.Geometry("hull", "capsule", (radius, length), pose, rgba=(0.9, 0.91, 0.93, 1.0)))


def _named_from(folder: Path, report: ImportReport | None) -> ImportReport | None:
    """The report with its files named from the folder of the sources."""
    if report is None:
        return None

    def named(entry: Entry) -> Entry:
        file = Path(entry.file)
        return entry._replace(file=file.relative_to(folder).as_posix() if file.is_relative_to(folder) else file.name)

    return ImportReport(named(entry) for entry in report.entries)


def _licence(path: Path) -> str:
    """The LICENSE beside a model file, or the licence in its first comments."""
    beside = path.parent / "LICENSE"
    if beside.exists():
        return beside.read_text()
    found = re.search(r"<!--\s*(Software License Agreement.*?)-->", path.read_text(), re.DOTALL)
    if found is None:
        raise SystemExit(f"{path} has no licence.")
    return found[1].rstrip() + "\n"


def write_index(made: dict[str, ModelFacts]) -> None:
    """Put the facts of new models into the index, in the order of `SOURCES`."""
    index = LIBRARY / "index.json"
    known = msgspec.json.decode(index.read_bytes(), type=list[ModelFacts]) if index.exists() else []
    facts = {x.name: x for x in known} | made
    lines = [msgspec.json.encode(asdict(facts[name])).decode() for name in SOURCES if name in facts]
    write_bytes(index, ("[\n" + ",\n".join(lines) + "\n]\n").encode())


def main(folder: str, *names: str) -> None:
    """Make the models named, all by default."""
    source = Path(folder).resolve()
    made = {name: make(name, SOURCES[name], source) for name in names or SOURCES}
    write_index(made)
    print(sc.files.ModelTable(made.values()))


if __name__ == "__main__":
    main(*sys.argv[1:])
