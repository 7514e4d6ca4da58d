"""Where robots of the library begin: within their limits, loops closed, feet on the floor; and their keyframes."""

import numpy as np
import pytest
from tests.files.mjcf.peer import MODELS

import soacraft as sc
from soacraft.errors import StateError

NAMES = [x.name for x in sc.models()]
FREE = "anymal_b a1 h1 cassie husky strandbeest".split()


@pytest.mark.parametrize("name", NAMES)
def test_within_limits_at_rest_and_closed(name):
    mb = sc.load(name)
    for body in mb.bodies:
        if body.hinge.nq == body.hinge.nv:
            q = mb.q[mb.q_slice(body)]
            assert (q >= body.limits.lower - 1e-12).all(), body.hinge_name
            assert (q <= body.limits.upper + 1e-12).all(), body.hinge_name
    assert not mb.v.any()
    for loop in mb.loops:
        if loop.active:
            apart = mb.pose(loop.a).translation - mb.pose(loop.b).translation
            # what a hinge of the loop lets slide does not count; those of the library turn alone
            assert np.linalg.norm(apart) < 1e-9, loop.name
    for coupling in mb.couplings:
        q = dict(zip(mb.dof_names, mb.q, strict=True))
        total = sum(np.polyval([*reversed(np.atleast_1d(r)), 0.0], q[dof]) for dof, r in coupling.terms.items())
        assert total == pytest.approx(coupling.offset, abs=1e-9)


@pytest.mark.parametrize("name", FREE)
def test_feet_are_on_the_floor(name):
    """The lowest corner of all shapes, from the poses of the shapes and their sizes, is at z = 0, or as far above as
    its margin, where contact begins."""
    mb, low = sc.load(name), []
    for body in mb.bodies:
        for shape in body.geometries:
            if shape.role == "visual" or shape.kind == "mesh":
                continue
            pose = mb.pose(body) @ shape.pose
            z, a = pose.rotation[2], pose.translation[2] - shape.attributes.get("margin", 0.0)
            if shape.kind == "box":
                low.append(a - 0.5 * np.abs(z) @ shape.size)
            elif shape.kind == "sphere":
                low.append(a - shape.size[0])
            elif shape.kind == "capsule":
                low.append(a - shape.size[0] - 0.5 * shape.size[1] * abs(z[2]))
            elif shape.kind == "cylinder":
                low.append(a - shape.size[0] * np.hypot(z[0], z[1]) - 0.5 * shape.size[1] * abs(z[2]))
            else:
                assert shape.kind == "ellipsoid"
                low.append(a - np.linalg.norm(z * shape.size))
    assert min(low) == pytest.approx(0.0, abs=1e-7)


def test_a_humanoid_without_shapes_of_its_feet_has_its_lowest_frame_there():
    mb = sc.load("simple_humanoid")
    frames = [*mb.bodies, *(node for body in mb.bodies for node in body.nodes)]
    assert min(mb.pose(x).translation[2] for x in frames) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "file"),
    [("a1", "unitree_a1/a1.xml"), ("cassie", "agility_cassie/cassie.xml"), ("iiwa14", "kuka_iiwa_14/iiwa14.xml"),
     ("panda", "franka_emika_panda/panda_nohand.xml"), ("ur5e", "universal_robots_ur5e/ur5e.xml")],
)  # fmt: skip
def test_keyframes_of_the_authors_are_there(name, file):
    mb, source = sc.load(name), sc.load(MODELS / file)
    mb.set_state("home")
    np.testing.assert_array_equal(mb.q, source.keyframes["home"].q)
    assert mb.keyframes["home"].attributes.keys() == source.keyframes["home"].attributes.keys()


def test_a_state_by_the_name_of_a_keyframe():
    mb = sc.load("double_pendulum")
    mb.add_keyframe(sc.Keyframe("swing", [0.1, 0.2], [0.3, 0.4]))
    mb.set_state("swing")
    np.testing.assert_array_equal([*mb.q, *mb.v], [0.1, 0.2, 0.3, 0.4])
    mb.set_state("swing", v=[0.0, 1.0])
    np.testing.assert_array_equal([*mb.q, *mb.v], [0.1, 0.2, 0.0, 1.0])
    with pytest.raises(StateError, match=r"'double_pendulum' has no keyframe 'swin'; did you mean 'swing'\?"):
        mb.set_state("swin")
    np.testing.assert_array_equal([*mb.q, *mb.v], [0.1, 0.2, 0.0, 1.0])
    with pytest.raises(StateError, match=r"'pendulum' has no keyframe 'home'; it has none: add one with mb.add_keyf"):
        sc.load("pendulum").set_state("home")


def test_keyframes_survive_the_file_of_our_own(tmp_path):
    mb = sc.load("a1")
    sc.save(mb, tmp_path / "a1.json")
    again = sc.load(tmp_path / "a1.json")
    again.set_state("home")
    np.testing.assert_array_equal(again.q, mb.keyframes["home"].q)
