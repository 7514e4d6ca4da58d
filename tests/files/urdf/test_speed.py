"""What makes URDF files load quickly gives the same numbers and refusals as the careful way, and is quick."""

from __future__ import annotations

import copy
import pickle
from time import process_time

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ModelError, ModelFileError
from soacraft.files.xml_tree import Element, plain_number, plain_numbers, read_bytes, read_floats, read_xml
from soacraft.model import Entry, ImportReport, ReportBuilder
from soacraft.model.hinges import Pin
from soacraft.spatial.inertia import _plainly_positive

TEXTS = (
    "1", " -2.5e-3 ", "+.5", "5.", "1 2 3", "1\t2\n3", "1e999", "nan", "inf", "-Infinity", "1_000", "0x10", "1e", ".",
    "1,2,3", "", " ", "\u0661", "1\u00a02", "1\u20032", "1\x1f2", "--1", "1" * 1001, "0." + "1" * 998, "$(x)", "1\0",
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("count", [1, 2, 3, None])
def test_numbers_seen_quickly_are_those_read_carefully(text, count):
    quick = plain_numbers(text, count)
    try:
        careful = read_floats(Element("origin", {"xyz": text}, 1, "arm.urdf"), "xyz", text, count)
    except ModelFileError:
        careful = None
    assert quick is None or quick == careful
    if careful and text.isascii() and len(text) <= 1000:
        assert quick == careful
    if count == 1:
        assert plain_number(text) == (None if quick is None else quick[0])


def test_numbers_near_the_largest_are_read_though_their_sum_is_beyond_it(tmp_path):
    assert plain_numbers("6 -6", 2, largest=12.0) == [6.0, -6.0]
    assert plain_numbers("6 -6", 2, largest=11.9) is None
    assert plain_number("-6", largest=6.0) == -6.0
    assert plain_number("-6", largest=5.9) is None
    text = robot(2).replace('<origin xyz="1 0 0"', '<origin xyz="6e99 -6e99 9e99"')
    (path := tmp_path / "far.urdf").write_text(text)
    np.testing.assert_array_equal(sc.load(path).body("l1").inboard.translation, [6e99, -6e99, 9e99])
    path.write_text(text.replace("9e99", "9e100"))
    with pytest.raises(ModelFileError, match="is too large; at most 1e\\+100 can be worked with"):
        sc.load(path)


def test_entries_of_a_report_are_made_when_read_and_then_kept():
    build = ReportBuilder("arm.urdf")
    build.add("robot", "used", "arm", line=1)
    build.add_all("robot/joint", "elbow", 3, ("converted", "turned", False), ["axle"], {"axle": ("ignored", "?", True)})
    report = build.done()
    build.add("robot/link", "used", "late", line=9)
    entries = (
        Entry("arm.urdf", 1, "robot", "arm", "", "used", "", False),
        Entry("arm.urdf", 3, "robot/joint", "elbow", "", "converted", "turned", False),
        Entry("arm.urdf", 3, "robot/joint", "elbow", "axle", "ignored", "?", True),
    )
    assert pickle.loads(pickle.dumps(report)) == report == ImportReport(entries) == copy.deepcopy(report)
    assert report.entries == entries
    assert report.entries is report.entries
    assert len(build.done()) == 4


def test_limits_and_inertias_of_numbers_already_checked_are_those_that_check_them():
    hinge = Pin((0, 0, 1))
    quick, careful = sc.Limits.of_one_dof(-1.0, 2.0, np.inf, 3.0), sc.Limits(-1.0, 2.0, np.inf, 3.0)
    assert quick == careful.sized(hinge, "elbow")
    assert quick.sized(hinge, "elbow") is quick
    assert not quick.upper.flags.writeable
    com, solid = np.array([0.1, 0.2, 0.3]), np.diag([1.0, 2.0, 2.5])
    for moment in (solid, np.diag([1.0, 1.0, 0.0]), np.zeros((3, 3))):
        assert sc.Inertia.of_finite(2.0, com.copy(), moment.copy()) == sc.Inertia(2.0, com, moment)
    made = sc.Inertia.of_finite(2.0, com, solid)
    assert not made.com.flags.writeable
    assert not made.moment.flags.writeable
    for mass, moment in ((-1.0, solid), (1.0, -solid), (1.0, solid + np.triu(np.ones((3, 3)), 1))):
        with pytest.raises(ModelError, match="of an Inertia must"):
            sc.Inertia.of_finite(mass, com, moment)


def test_moments_that_are_plainly_positive_have_positive_eigenvalues():
    rng = np.random.default_rng(0)
    seen = {True: 0, False: 0}
    for _ in range(2000):
        Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        j = 10.0 ** rng.uniform(-9, 0, 3) * rng.choice([1, 1, 1, -1e-9, -1], 3)
        J = (Q * j) @ Q.T * 10.0 ** rng.uniform(-30, 30)
        J = 0.5 * (J + J.T)
        plainly = _plainly_positive(*J.ravel().tolist())
        seen[plainly] += 1
        assert not plainly or np.linalg.eigvalsh(J)[0] > -1e-12 * np.abs(J).max()
    assert min(seen.values()) > 200


def test_angles_one_by_one_turn_as_a_batch_does():
    rpy = np.random.default_rng(1).uniform(-7, 7, (50, 3))
    batch = sc.Pose.from_rpy(*rpy.T)
    for angles, R in zip(rpy.tolist(), batch.rotation, strict=True):
        np.testing.assert_array_max_ulp(sc.Pose.from_rpy(*angles).rotation, R, 2)


def robot(links: int) -> str:
    link = """<link name="l{k}"><inertial><origin xyz="0 0 {k}" rpy="0 0 0"/><mass value="1.5"/>
    <inertia ixx="1" iyy="1.1" izz="1.2" ixy="0" ixz="0.1" iyz="0"/></inertial>
    <visual><origin xyz="0 0 1" rpy="0 0.5 0"/><geometry><box size="1 2 3"/></geometry></visual></link>"""
    joint = """<joint name="j{k}" type="revolute"><parent link="l{p}"/><child link="l{k}"/><axis xyz="0 0 1"/>
    <origin xyz="1 0 0" rpy="0.1 0 0"/><limit lower="-1" upper="1" velocity="2" effort="3"/></joint>"""
    links_text = "".join(link.format(k=k) for k in range(links))
    return f'<robot name="r">{links_text}{"".join(joint.format(k=k, p=k - 1) for k in range(1, links))}</robot>'


def best(call) -> float:
    times = []
    for _ in range(7):
        start = process_time()
        call()
        times.append(process_time() - start)
    return min(times)


def test_a_robot_takes_a_small_multiple_of_the_time_of_its_xml(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(robot(100))
    assert len(sc.load(path)) == 100
    data = read_bytes(path)
    ratio = best(lambda: sc.load(path)) / best(lambda: read_xml(data, "robot.urdf"))
    assert ratio < 14, ratio
