"""Packages are found as a robot's own tools find them; nothing outside the folders that may be read is."""

import pytest

import soacraft as sc
from soacraft.files.packages import Packages
from soacraft.files.places import NOT_FOUND, OUTSIDE, Places

MANIFEST = """<?xml version="1.0"?>
<?xml-model href="http://download.ros.org/schema/package_format3.xsd" schematypens="http://www.w3.org/2001/XMLSchema"?>
<package format="3"><name> {} </name><version>1.0.0</version></package>"""


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(name, raising=False)


def package(folder, name, *files, manifest=True):
    """A package with files in it; its folder need not have its name."""
    folder.mkdir(parents=True, exist_ok=True)
    if manifest:
        (folder / "package.xml").write_text(MANIFEST.format(name))
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    return folder


def mesh(home, text, *roots):
    """What the model keeps of a mesh, and the note of the report."""
    home.mkdir(parents=True, exist_ok=True)
    shape = f"<visual><geometry><mesh filename='{text}'/></geometry></visual>"
    (home / "robot.urdf").write_text(f"<robot name='r'><link name='a'>{shape}</link></robot>")
    mb = sc.load(home / "robot.urdf", mesh_roots=roots)
    notes = [x.note for x in mb.import_report.entries if x.attribute == "filename" and x.status != "used"]
    return mb["a"].geometries[0].mesh, "".join(notes)


def test_the_package_that_a_file_is_in(tmp_path):
    root = package(tmp_path / "checkout-1.2", "arm_description", "meshes/a.stl", "urdf/parts/b.stl")
    assert mesh(root / "urdf", "package://arm_description/meshes/a.stl") == (str(root / "meshes" / "a.stl"), "")
    assert mesh(root / "urdf", "package://arm_description/urdf/parts/b.stl") == ("parts/b.stl", "")
    assert mesh(root / "urdf", "package://arm_description/meshes/none.stl")[1] == NOT_FOUND


def test_a_folder_of_the_name_without_a_manifest(tmp_path):
    root = package(tmp_path / "arm_description", "", "meshes/a.stl", manifest=False)
    assert mesh(root / "robots" / "urdf", "package://arm_description/meshes/a.stl") == (str(root / "meshes/a.stl"), "")


def test_packages_next_to_the_files_own_and_in_its_workspace(tmp_path):
    src = tmp_path / "ws" / "src"
    own = package(src / "arm", "arm")
    package(src / "hand", "hand", "a.stl")
    package(src / "grippers" / "jaw_folder", "jaw", "a.stl")
    package(tmp_path / "ws" / "other" / "eye", "eye", "a.stl")
    assert mesh(own / "urdf", "package://hand/a.stl") == (str(src / "hand" / "a.stl"), "")
    assert mesh(own / "urdf", "package://jaw/a.stl") == (str(src / "grippers" / "jaw_folder" / "a.stl"), "")
    name, note = mesh(own / "urdf", "package://eye/a.stl")
    assert (name, note.partition(";")[0]) == ("package://eye/a.stl", "package 'eye' not found")


def test_a_sibling_needs_a_manifest(tmp_path):
    """A folder that is no package is not read because a file names it."""
    own = package(tmp_path / "arm", "arm")
    package(tmp_path / "private", "", "a.stl", manifest=False)
    assert mesh(own / "urdf", "package://private/a.stl")[0] == "package://private/a.stl"


def test_the_environment_names_packages(tmp_path, monkeypatch):
    ros = package(tmp_path / "opt" / "repository" / "ur_description", "ur_description", "a.stl")
    itself = package(tmp_path / "mine", "my_robot", "b.stl")
    share = package(tmp_path / "install" / "kit" / "share" / "kit", "kit", "c.stl")
    home = tmp_path / "home"
    assert mesh(home, "package://ur_description/a.stl")[0] == "package://ur_description/a.stl"
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"{tmp_path / 'opt'}:relative:{itself}:{tmp_path / 'absent'}:")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "install" / "kit"))
    assert mesh(home, "package://ur_description/a.stl") == (str(ros / "a.stl"), "")
    assert mesh(home, "package://my_robot/b.stl") == (str(itself / "b.stl"), "")
    assert mesh(home, "package://kit/c.stl") == (str(share / "c.stl"), "")


def test_mesh_roots_come_before_the_environment(tmp_path, monkeypatch):
    package(tmp_path / "old" / "arm", "arm", "a.stl")
    new = package(tmp_path / "new" / "arm", "arm", "a.stl")
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "old"))
    for root in (tmp_path / "new", new):
        assert mesh(tmp_path / "home", "package://arm/a.stl", root) == (str(new / "a.stl"), "")
    package(tmp_path / "old" / "arm", "arm", "b.stl")
    assert mesh(tmp_path / "home", "package://arm/b.stl", new) == (str(tmp_path / "old" / "arm" / "b.stl"), "")


def test_links_stay_inside_the_folders_that_may_be_read(tmp_path, monkeypatch):
    source = package(tmp_path / "source" / "arm", "arm", "a.stl")
    share = package(tmp_path / "install" / "share" / "arm", "arm")
    (share / "a.stl").symlink_to(source / "a.stl")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "install"))
    assert mesh(tmp_path / "home", "package://arm/a.stl") == ("package://arm/a.stl", OUTSIDE)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "source"))
    assert mesh(tmp_path / "home", "package://arm/a.stl") == (str(source / "a.stl"), "")


@pytest.mark.parametrize("text", ["package://arm/../secret.stl", "package://arm//etc/hosts", "package://../secret.stl"])
def test_a_path_does_not_leave_its_package(text, tmp_path):
    own = package(tmp_path / "arm", "arm")
    (tmp_path / "secret.stl").touch()
    assert mesh(own / "urdf", text) == (text, OUTSIDE)


def test_a_manifest_that_is_none_counts_as_none(tmp_path):
    own = package(tmp_path / "arm", "arm", "a.stl")
    for data in (b"", b"\xff\xfe", b"<name></name>", b"<name>" + b"x" * 70_000):
        (own / "package.xml").write_bytes(data)
        assert Packages([own]).find("arm") == [own]
        assert Packages([own]).find("other") == []


def test_what_cannot_be_a_path(tmp_path):
    places = Places(tmp_path)
    assert places.find("").fault.startswith("names no file")
    assert places.find("x" * 5000).fault.startswith("names no file")
    assert places.find("a" * 300).fault.startswith(("cannot be followed", NOT_FOUND))
    assert places.find("ftp://host/a.stl").fault == "ftp:// is not fetched"
    (tmp_path / "round").symlink_to(tmp_path / "round")
    assert places.find("round/a.stl").path is None
