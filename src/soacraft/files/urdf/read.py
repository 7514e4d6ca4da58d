"""`read_urdf`: a URDF file as a `Multibody`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from soacraft.files.places import Places
from soacraft.files.urdf import handlers
from soacraft.files.urdf.build import build
from soacraft.files.urdf.expand import urdf_text
from soacraft.files.urdf.finish import check_size, check_ties, finish
from soacraft.files.urdf.reading import Reading
from soacraft.files.urdf.topology import topology
from soacraft.files.xml_tree import fail, read_xml
from soacraft.model import Multibody
from soacraft.model.hinges import Hinge, Weld


def read_urdf(
    path: str | Path,
    *,
    root: Hinge | None = None,
    merge_fixed: bool = False,
    mesh_roots: Sequence[str | Path] = (),
    lenient: bool = False,
) -> Multibody:
    """The model of a URDF file, with `mb.import_report`. Time and memory are linear in the size of the file.

    The root link is attached to the inertial frame by `root` (default: `Weld()`). Fixed joints are bodies on a `Weld`;
    with `merge_fixed` their links become nodes of the body they are fixed on, which takes their inertia. Meshes are
    looked for, never opened, in the file's folder, in `mesh_roots` and in packages. A `robot.yaml` next to the file
    gives loop closures and actuators. A `.xacro` file is first expanded by the package `xacro`. Gravity is the default
    of `Multibody`. With `lenient`, local faults are lines of the report.

    >>> import tempfile
    >>> text = "<robot name='rod'><link name='rod'><inertial><mass value='2'/>" \\
    ...        "<inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial></link></robot>"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "rod.urdf").write_text(text)
    ...     mb = read_urdf(Path(folder, "rod.urdf"))
    >>> mb, mb.body("rod")
    (Multibody 'rod': 1 body, 0 dofs, body 'rod' on 'inertial' by Weld())
    """
    path = Path(path)
    hinge = Weld() if root is None else root
    data, file = urdf_text(path)
    robot = read_xml(data, file)
    if robot.tag != "robot":
        raise fail(robot, "the root element of a URDF file is <robot>.")
    files = Places(path.parent, [Path(each) for each in mesh_roots])
    r = Reading(file, files, handlers.HANDLERS, handlers.QUIET, lenient)
    r.walk(robot, "robot", None)
    check_size(r, robot)
    check_ties(r)
    built = build(r, topology(r, robot), robot, hinge, merge_fixed)
    finish(built)
    if (path.parent / "robot.yaml").is_file():
        # each format loads its own reader or writer
        from soacraft.files.urdf.robot_yaml import read_robot_yaml

        read_robot_yaml(built, path.parent / "robot.yaml")
    built.mb.import_report, built.mb.mesh_folder = r.report.done(), files.home
    built.mb.mesh_roots = tuple(files.elsewhere)
    return built.mb
