"""`check`: each finding on a model with that one fault, none on a sound one; never a change, never an exception."""

import sys
from functools import partial

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ModelError, StaleError
from soacraft.health import CHECKS, Finding, HealthReport, check
from soacraft.health.motion import smallest_inertias
from soacraft.health.ties import nearest
from soacraft.model import (
    Actuator,
    Geometry,
    Limits,
    Material,
    Multibody,
    Passive,
    ReportBuilder,
    random_pose,
    random_tree,
    serial_chain,
)
from soacraft.model.hinges import Free, Pin, Planar, Prismatic, RollingBall, Spherical, Universal, Weld, examples
from soacraft.spatial import Inertia, Pose


def arm():
    """A sound arm: a pin, a universal hinge, a ball, with bodies of some size."""
    mb = Multibody("arm")
    hinges = (Pin((0, 0, 1)), Universal((1, 0, 0), (0, 1, 0)), Spherical())
    for name, parent, hinge in zip(("one", "two", "three"), (None, "one", "two"), hinges, strict=True):
        box = Inertia.box(2.0, (0.1, 0.2, 0.4)).transformed(Pose(translation=(0, 0, 0.2)))
        mb.add_body(name, parent, hinge, box, Pose(translation=(0, 0, 0.4)))
    mb["three"].add_node("tip", Pose(translation=(0, 0, 0.4)))
    return mb


def found(mb, subject):
    """The findings on one subject."""
    return [x for x in check(mb) if x.subject == subject]


def only(mb):
    report = check(mb)
    assert len(report) == 1, report
    return report.findings[0]


# -- sound models -------------------------------------------------------------------------------------------------


def test_a_sound_model_has_no_findings():
    report = check(arm())
    assert report.findings == ()
    assert report.ok
    assert report
    assert repr(report) == "'arm': 0 errors, 0 warnings, 0 notes"


@pytest.mark.parametrize("name", [facts.name for facts in sc.models()])
def test_built_in_models_have_no_errors(name):
    report = check(sc.load(name))
    assert report.ok, report


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_have_no_errors(seed):
    report = check(random_tree(8, seed=seed))
    assert report.ok, report


class Turn(Pin):
    """A hinge of one's own, so that the reference engine runs."""


def test_armature_springs_and_stored_forces_keep_the_balance():
    mb = arm()
    mb.reattach("one", None, Turn((0, 0, 1)))
    mb["one"].armature, mb["three"].armature = 3.0, [0.1, 0.2, 0.3]
    mb["two"].passive = Passive(stiffness=5.0, damping=1.0)
    mb.set_force("three/tip", [1, 2, 3, 40, 50, 60])
    assert check(mb).findings == ()


def test_sub_graphs():
    mb = random_tree(12, seed=4, branching=0.3)
    mb.set_force(mb.bodies[-1], [1, 2, 3, 4, 5, 6])
    root = next(body for body in mb.bodies if 2 < len(list(body.subtree())) < 8)
    names = [body.name for body in mb.bodies if body in set(root.subtree())]
    for anchor in ("rest", "moving"):
        g = mb.subgraph(names, anchor)
        report = check(g)
        assert report.ok, report
        assert report.name == g.name
    inside = next(body for body in root.subtree() if body.hinge.nv == 1)
    outside = next(body for body in mb.bodies if body.name not in names and body.hinge.nv == 1)
    inside.limits = outside.limits = Limits(lower=2, upper=1)
    assert [x.subject for x in check(mb.subgraph(names)).errors] == [f"dof {inside.hinge_name!r}"]


def test_the_model_is_not_changed():
    mb = arm()
    mb.set_state(*mb.random_state(3), np.arange(6.0))
    mb.set_force("three/tip", [1, 2, 3, 4, 5, 6])
    mb.close_loop("hook", "inertial", "three/tip", Spherical())
    before = mb.version, mb.current, dict(mb.acting_forces), mb.loops, tuple(mb.bodies)
    check(mb)
    assert (mb.version, mb.current, dict(mb.acting_forces), mb.loops, tuple(mb.bodies)) == before


@pytest.mark.parametrize("given", [3, None, "arm", Pin((0, 0, 1)), sc.random_sko(3)], ids=lambda x: type(x).__name__)
def test_what_is_no_model(given):
    with pytest.raises(ModelError) as error:
        check(given)
    assert str(error.value) == f"check takes a Multibody or a sub-graph of one, got {given!r:.60}."


def test_a_stale_sub_graph():
    mb = arm()
    g = mb.subgraph(["one"])
    mb.remove("three")
    with pytest.raises(StaleError):
        check(g)


def test_models_without_bodies_or_dofs():
    mb = Multibody("empty")
    assert only(mb) == Finding("note", "'empty'", 0.0, "has no bodies", "add some with mb.add_body(...)")
    mb.add_body("block", None, Weld(), Inertia.sphere(1.0, 0.1))
    assert check(mb).findings == ()


# -- masses, moments, units ---------------------------------------------------------------------------------------


def test_a_massless_tip_has_nothing_to_move():
    mb = arm()
    mb.add_body("flag", "three", Pin((0, 1, 0)), hinge_name="vane")
    finding = only(mb)
    assert finding == Finding(
        "error",
        "hinge 'vane' of 'flag'",
        0.0,
        "has no inertia to move",
        "give mass or moment to its body or to one outboard of it, give it armature, or weld it",
    )
    assert not check(mb)
    mb["flag"].armature = 0.1
    assert "has no inertia" not in repr(check(mb))


def test_every_hinge_without_inertia_is_named():
    mb = arm()
    for name in ("a", "b"):
        mb.add_body(name, "three", Pin((0, 1, 0)))
        mb.add_body(f"{name}2", name, Pin((1, 0, 0)))
    subjects = [x.subject for x in check(mb).errors if "no inertia" in x.text]
    assert subjects == ["hinge 'a'", "hinge 'a2'", "hinge 'b'", "hinge 'b2'"]


def test_a_hinge_that_is_singular_at_some_states_only():
    """A point mass on two pins: with the elbow at a quarter turn it lies on the axis of the first pin."""
    mb = Multibody("polar")
    mb.add_body("yaw", None, Pin((0, 0, 1)))
    mb.add_body("pitch", "yaw", Pin((0, 1, 0)), Inertia.point(1.0, (1, 0, 0)))
    assert [x.subject for x in check(mb).errors] == []
    mb.q = [0.0, np.pi / 2]
    (error,) = check(mb).errors
    assert (error.subject, error.text) == ("hinge 'yaw'", "has no inertia to move at the current state")


def test_gimbal_lock_is_called_so():
    mb = Multibody("neck")
    mb.add_body("head", None, sc.Gimbal(), Inertia(1.0, (0.1, 0.2, 0.3), np.diag([1.0, 1.5, 2.0])))
    assert [x.subject for x in check(mb).errors] == []
    mb.q = [0.3, np.pi / 2, 0.1]
    (error,) = check(mb).errors
    assert (error.subject, error.text) == ("hinge 'head'", "is in gimbal lock at the current state")
    assert error.cure == "keep away from it, or use a spherical hinge"


@pytest.mark.parametrize("seed", range(4))
def test_hinge_inertias_against_the_mass_matrix(seed):
    """D(k) of a base hinge is the Schur complement of its dofs, the inertia with locked hinges the diagonal block."""
    mb = serial_chain(5)
    mb.q = mb.random_state(seed)[0]
    M = sc.dynamics.mass_matrix(mb, mb.q)
    relative = smallest_inertias(mb.sko())
    assert relative[0] == pytest.approx(1.0 / (np.linalg.inv(M)[0, 0] * M[0, 0]), rel=1e-9)
    assert relative[4] == pytest.approx(1.0)


def test_massless_bodies():
    mb = arm()
    mb["two"].inertia = Inertia()
    assert only(mb) == Finding(
        "note",
        "body 'two'",
        0.0,
        "is massless between two hinges, and moves only with the bodies outboard of it",
        "nothing to do when it only joins hinges",
    )
    mb["two"].inertia = Inertia(0.0, (0, 0, 0), np.eye(3))
    finding = only(mb)
    assert (finding.severity, finding.text) == ("warning", "has a moment of inertia and no mass")
    mb = arm()
    mb.add_body("frame", "three", Weld())
    assert check(mb).findings == ()


@pytest.mark.parametrize(
    ("moments", "severity", "text"),
    [
        ((0.1, 0.2, 0.5), "error", "the principal moments 0.1 + 0.2 < 0.5 (the last about (0, 0, 1))"),
        ((0.1, 0.5, 0.2), "error", "the principal moments 0.1 + 0.2 < 0.5 (the last about (0, 1, 0))"),
        ((0.1, 0.2, 0.301), "warning", "the principal moments 0.1 + 0.2 < 0.301 (the last about (0, 0, 1))"),
        ((0.1, 0.2, 0.3), None, None),
        ((0.0, 0.2, 0.2), None, None),
    ],
)
def test_the_triangle_inequality(moments, severity, text):
    mb = arm()
    mb["two"].inertia = Inertia(1.0, (0, 0, 0), np.diag(moments))
    if severity is None:
        assert check(mb).findings == ()
        return
    finding = only(mb)
    assert (finding.severity, finding.subject) == (severity, "body 'two'")
    assert finding.text == f"{text} break the triangle inequality, so no mass distribution has them"
    assert finding.value == pytest.approx(max(moments) - (sum(moments) - max(moments)))


def test_moments_of_random_bodies_are_real():
    for seed in range(20):
        points = np.random.default_rng(seed).standard_normal((4, 3))
        mb = Multibody("cloud")
        mb.add_body("cloud", None, Free(), sum(Inertia.point(1.0, x) for x in points))
        assert check(mb).findings == ()


def test_masses_of_another_unit():
    mb = arm()
    mb["one"].inertia = Inertia.box(2e6, (0.1, 0.2, 0.4))
    finding = only(mb)
    assert (finding.severity, finding.subject, finding.value) == ("warning", "body 'one'", 2e6)
    assert finding.text == "its mass is 1e+06 times the usual mass of 2 kg in the model"
    mb["one"].inertia = Inertia.box(1e-9, (0.1, 0.2, 0.4))
    assert "its mass is 5e-10 times" in found(mb, "body 'one'")[0].text


def test_masses_of_another_unit_in_a_small_model():
    mb = Multibody("two")
    mb.add_body("one", None, Pin((0, 0, 1)), Inertia.box(1.0, (0.1, 0.2, 0.4)))
    mb.add_body("two", "one", Pin((0, 1, 0)), Inertia.box(1e6, (0.1, 0.2, 0.4)), inboard=Pose(translation=(0, 0, 1)))
    assert only(mb).text == "its mass is 1e+06 times the usual mass of 1 kg in the model"


@pytest.mark.parametrize(("density", "warns"), [(22_590.0, False), (7_850_000.0, True)])
def test_a_body_denser_than_any_metal(density, warns):
    """A ball of osmium is the densest there can be; one of steel in grams is not."""
    radius = 0.1
    ball = Inertia.sphere(density * 4 / 3 * np.pi * radius**3, radius)
    mb = Multibody("ball")
    mb.add_body("ball", None, Pin((1, 0, 0)), ball, inboard=Pose(translation=(0, 0, 1)))
    if not warns:
        assert not list(check(mb))
        return
    finding = only(mb)
    gyration = radius * np.sqrt(0.4)
    assert (finding.severity, finding.value) == ("warning", pytest.approx(ball.mass / gyration**3))
    how = f"its {ball.mass:.4g} kg have a radius of gyration of {gyration:.4g} m"
    assert finding.text == f"{how}, denser than any metal"


def test_a_whole_model_in_millimetres():
    mb = Multibody("arm")
    for name, parent in (("one", None), ("two", "one")):
        at = Pose(translation=(0, 0, 333))
        mb.add_body(name, parent, Pin((0, 1, 0)), Inertia.box(2.0, (50, 50, 300)), inboard=at)
    finding = only(mb)
    assert (finding.severity, finding.text) == ("note", "two of its frames are 333 m apart")


def test_a_hinge_without_inertia_is_named_once():
    """A point on the axis: the mass matrix is not quite singular, and its inverse is refused."""
    mb = arm()
    mb.add_body("point", "three", Pin((1, 0, 0)), Inertia.point(1.0, (0.3, 0, 0)))
    (error,) = check(mb).errors
    assert error.subject == "hinge 'point'"


def test_lengths_of_another_unit():
    mb = arm()
    mb["one"].inertia = Inertia(2.0, (0, 0, 200.0), mb["one"].inertia.moment)
    finding = only(mb)
    assert finding.severity == "warning"
    assert finding.text == "its centre of mass is 200 m from its frame, 500 times any other distance"


def test_moments_of_another_unit():
    mb = arm()
    true = mb["two"].inertia
    mb["two"].inertia = Inertia(true.mass, true.com, true.moment * 1e6)
    finding = only(mb)
    radius = 1e3 * np.sqrt((0.2**2 + 0.4**2) / 12)
    assert finding.value == pytest.approx(radius)
    assert finding.text == f"its radius of gyration is {radius:.4g} m in a model of 1.4 m"
    mb["two"].inertia = Inertia(true.mass, true.com, true.moment * 1e-9)
    assert only(mb).severity == "note"


@pytest.mark.parametrize(
    ("gravity", "severity", "text"),
    [
        ((0, 0, -9806.65), "warning", "is far stronger than on a planet"),
        ((0, 0, -1e-6), "note", "is very weak and not zero"),
        ((0, 0, 9.81), "note", "points up along z"),
        ((0, 0, 0), None, None),
        ((0, -9.81, 0), None, None),
        ((0, 0, -1.62), None, None),
    ],
)
def test_gravity(gravity, severity, text):
    mb = arm()
    mb.gravity = gravity
    assert [(x.severity, x.text) for x in check(mb)] == ([] if severity is None else [(severity, text)])


# -- names and records --------------------------------------------------------------------------------------------


def test_names_that_are_easily_mistaken():
    mb = arm()
    mb.add_body("ONE", "three", Weld())
    mb.add_body("t wo", "three", Weld(), hinge_name="fix")
    mb.add_body("end ", "three", Weld(), hinge_name="end")
    mb["three"].add_node("TIP")
    warned = {x.subject: x.text for x in check(mb).warnings}
    alike = "differs from {!r} in capitals or blanks only"
    assert warned == {
        "body 'ONE'": alike.format("one"),
        "hinge 'ONE'": alike.format("one"),
        "body 't wo'": alike.format("two"),
        "body 'end '": "its name has blanks at an end or characters that do not print",
        "on body 'three' node 'TIP'": alike.format("tip"),
    }


def test_names_that_stand_for_two_things():
    mb = arm()
    mb.add_body("four", "three", Pin((0, 1, 0)), Inertia.sphere(1.0, 0.1), hinge_name="two.0")
    mb.add_body("five", "three", Weld(), hinge_name="four")
    report = check(mb)
    assert [(x.severity, x.subject) for x in report] == [("error", "dof 'two.0'"), ("note", "hinge 'four'")]
    assert report.errors[0].text == "2 dofs have this name, so couplings and actuators cannot tell them apart"
    assert report.notes[0].text == "the hinge of body 'five' has the name of another body"


def test_a_body_that_hangs_from_nothing():
    mb = arm()
    del mb["one"]._children["two"]
    errors = [x for x in check(mb).errors if x.text == "is not connected to the inertial frame"]
    assert [(x.subject, x.value) for x in errors] == [("body 'two'", "one"), ("body 'three'", "two")]


def test_records_that_point_nowhere():
    mb = arm()
    mb.add_actuator(Actuator("idle", "motor", {"one": 0.0}))
    mb.add_actuator(Actuator("pull", "motor", attributes={"tendon": "t"}))
    mb.add_actuator(Actuator("good", "motor", {"one": 2.0}))
    mb.add_material(Material("red"))
    mb["one"].add_geometry(Geometry("ball", "sphere", 1.0, material="blue"))
    mb["one"].add_geometry(Geometry("case", "mesh", material="red"))
    mb.root.add_geometry(Geometry("floor", "plane", material="green"))
    assert {x.subject: (x.severity, x.text) for x in check(mb)} == {
        "actuator 'idle'": ("warning", "drives nothing"),
        "geometry 'ball' on 'one'": ("warning", "names the material 'blue', which the model does not have"),
        "geometry 'case' on 'one'": ("warning", "is a mesh without a file"),
        "geometry 'floor' on 'inertial'": ("warning", "names the material 'green', which the model does not have"),
    }
    assert [x.subject for x in check(mb.subgraph(["two"]))] == []


def test_an_actuator_of_a_dof_that_is_not_there():
    mb = arm()
    mb._attachments.actuators["ghost"] = Actuator("ghost", "motor", {"knee": 1.0})
    assert only(mb) == Finding(
        "error", "actuator 'ghost'", "knee", "drives 'knee', which is no dof of the model", "correct its gears"
    )


def test_what_an_import_lost():
    mb, build = arm(), ReportBuilder("arm.xml")
    build.add("tendon/spatial", "ignored", name="t1", note="is not simulated", dynamic=True)
    build.add("tendon/spatial", "ignored", name="t2", note="is not simulated", dynamic=True)
    build.add("visual", "ignored", note="is for another program")
    build.add("visual/mesh", "recorded", name="hull", note="file not found")
    mb.import_report = build.done()
    assert [(x.severity, x.subject, x.value) for x in check(mb)] == [
        ("warning", "element 'tendon/spatial'", 2.0),
        ("note", "meshes", 1.0),
    ]


# -- limits and springs -------------------------------------------------------------------------------------------


def test_limits_that_contradict_each_other():
    mb = arm()
    mb["one"].limits = Limits(lower=1, upper=-1, velocity=-2)
    mb["two"].limits = Limits(lower=[-np.inf, np.inf], upper=np.inf, effort=[1, -3])
    assert {(x.severity, x.subject, x.text) for x in check(mb)} == {
        ("error", "dof 'one'", "the lower limit 1 is above the upper limit -1"),
        ("error", "dof 'one'", "the velocity limit -2 is negative"),
        ("error", "dof 'two.1'", "the lower limit inf is above the upper limit inf"),
        ("error", "dof 'two.1'", "the effort limit -3 is negative"),
    }


def test_coordinates_outside_of_limits():
    mb = arm()
    mb["one"].limits = Limits(lower=0.5, upper=1.0)
    finding = only(mb)
    assert (finding.severity, finding.text) == ("warning", "the current coordinate 0 is outside its limits 0.5 to 1")
    mb.set_state(q=[0.7, 0, 0, 0, 0, 0, 1])
    finding = only(mb)
    assert (finding.severity, finding.text) == ("note", "the neutral coordinate 0 is outside its limits 0.5 to 1")
    mb.set_state(q=[1.5, 0, 0, 0, 0, 0, 1])
    assert [(x.severity, x.value) for x in check(mb)] == [("warning", 1.5), ("note", 0.0)]


def test_the_limit_of_a_ball_is_an_angle():
    mb = arm()
    mb["three"].limits = Limits(lower=0, upper=0.5)
    assert check(mb).findings == ()
    mb.set_state(q=[0, 0, 0, 0, np.sin(0.4), 0, np.cos(0.4)])
    finding = only(mb)
    assert finding.subject == "hinge 'three'"
    assert finding.text == "the current rotation 0.8 exceeds its limit 0.5"


def test_limits_of_zero_come_in_one_note():
    mb = arm()
    mb["one"].limits = mb["two"].limits = Limits(velocity=0, effort=5)
    assert only(mb) == Finding(
        "note",
        "dof 'one' and 2 more",
        0.0,
        "the velocity limit is zero, which allows none",
        "leave it out for no limit",
    )


def test_springs_that_push_the_wrong_way():
    mb = arm()
    mb["two"].passive = Passive(stiffness=[1, -2], damping=[-3, 4], friction=-5)
    assert [(x.severity, x.subject, x.value) for x in check(mb)] == [
        ("error", "dof 'two.0'", -3.0),
        ("error", "dof 'two.0'", -5.0),
        ("error", "dof 'two.1'", -5.0),
        ("warning", "dof 'two.1'", -2.0),
    ]


def test_tendons_that_push_the_wrong_way():
    mb = arm()
    mb.add_tendon("cable", {"one": 1.0}, stiffness=-2.0, damping=-3.0)
    assert [(x.severity, x.subject, x.value) for x in check(mb)] == [
        ("error", "tendon 'cable'", -3.0),
        ("warning", "tendon 'cable'", -2.0),
    ]


# -- closures and couplings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hinge", "expected"),
    [
        (Weld(), (0.5, 0.0)),
        (Spherical(), (0.5, 0.0)),
        (Prismatic((0, 1, 0)), (0.3, 0.0)),
        (Planar(), (0.0, 0.0)),
        (Pin((0, 0, 1)), (0.5, 0.0)),
    ],
    ids=repr,
)
def test_the_distance_to_what_a_hinge_can_reach(hinge, expected):
    assert nearest(hinge, Pose(translation=(0.3, 0.4, 0.0))) == pytest.approx(expected, abs=1e-7)


def test_the_angle_to_what_a_hinge_can_reach():
    tilted = Pose.from_rpy(0.25, 0, 0) @ Pose.from_rpy(0, 0, 2.5)
    assert nearest(Pin((0, 0, 1)), tilted) == pytest.approx((0.0, 0.25), abs=1e-7)
    assert nearest(Weld(), Pose.from_rpy(0, 0.5, 0)) == pytest.approx((0.0, 0.5), abs=1e-12)


@pytest.mark.parametrize("hinge", [h for h in examples() if h.holonomic], ids=lambda h: type(h).__name__)
def test_what_a_hinge_can_reach_is_closed(hinge):
    for seed in range(5):
        q = hinge.random(np.random.default_rng(seed))
        assert max(nearest(hinge, hinge.pose(q))) < 1e-6


def test_open_loops():
    mb = arm()
    mb.root.add_node("hook", Pose(translation=(0.3, 0, 1.6 + 0.4)))
    mb.close_loop("rope", "inertial/hook", "three/tip", Spherical())
    finding = only(mb)
    assert (finding.severity, finding.subject) == ("warning", "loop 'rope'")
    assert finding.value == pytest.approx(0.5)
    assert finding.text == "is open at the current coordinates, by 0.5 m and 0 rad"
    mb.remove_loop("rope")
    mb.close_loop("rope", "inertial/hook", "three/tip", Spherical(), active=False)
    assert check(mb).findings == ()


def test_a_loop_closed_at_one_state_only():
    mb = arm()
    mb.set_state(mb.random_state(5)[0])
    mb.root.add_node("hook", Pose(translation=mb.pose("three/tip").translation))
    mb.close_loop("rope", "inertial/hook", "three/tip", Spherical())
    finding = only(mb)
    assert finding.severity == "note"
    assert finding.text.startswith("is open at the neutral coordinates, by ")
    mb.set_state(mb.random_state(6)[0])
    finding = only(mb)
    assert finding.severity == "warning"
    assert finding.text.startswith("is open at the neutral and the current coordinates, by ")


def test_a_rolling_closure_is_left_to_the_user():
    mb = arm()
    mb.close_loop("roll", "inertial", "three", RollingBall(radius=0.1))
    assert only(mb).severity == "note"


def test_open_couplings():
    mb = arm()
    mb.couple("good", {"one": 1, "two.0": -2})
    mb.couple("curve", {"one": (1, 2, 3)}, offset=-0.25)
    finding = only(mb)
    assert (finding.subject, finding.value) == ("coupling 'curve'", 0.25)
    assert finding.text == "is open at the current coordinates, by 0.25"
    x = -0.5
    mb.set_state(q=[x, x / 2, 0, 0, 0, 0, 1])
    finding = only(mb)
    assert finding.text == "is open at the neutral and the current coordinates, by 0.25"
    mb.remove_coupling("curve")
    mb.couple("curve", {"one": (1, 2, 3)}, offset=x + 2 * x**2 + 3 * x**3)
    assert [(x.severity, x.subject) for x in check(mb)] == [("note", "coupling 'curve'")]


# -- hinges of one's own ------------------------------------------------------------------------------------------


class Track(sc.Hinge):
    """A carriage on a round track; `sign` -1 makes H_T disagree with the pose."""

    nq = nv = 1

    def __init__(self, radius, sign=1):
        self.radius, self.sign = radius, sign

    def neutral(self):
        return np.zeros(1)

    def pose(self, q):
        r = self.radius
        return Pose(translation=(-r, 0, 0)) @ Pose.from_rpy(0, 0, q[0]) @ Pose(translation=(r, 0, 0))

    def H_T(self, q):
        return np.array([[0], [0], [1], [0], [self.sign * self.radius], [0]])


class Broken(Track):
    def pose(self, q):
        raise ZeroDivisionError("no track")


def tilted_track(hinge):
    mb = Multibody("track")
    mb.add_body("cart", None, hinge, Inertia.sphere(2.0, 0.1), random_pose(3))
    mb.add_body("arm", "cart", Pin((0, 1, 0)), Inertia.box(1.0, (0.5, 0.1, 0.1)), random_pose(4))
    return mb


def test_a_right_hinge_of_ones_own():
    assert check(tilted_track(Track(2.0))).findings == ()


def test_a_hinge_whose_map_does_not_fit_its_pose():
    report = check(tilted_track(Track(2.0, -1)))
    assert not report.ok
    named = [x for x in report.errors if x.subject == "hinge 'cart'"]
    assert named
    assert all(x.text.startswith("Track: ") for x in named)
    assert [x.subject for x in report.errors if x not in named] == ["power balance"]


def test_a_hinge_that_fails_is_reported():
    report = check(tilted_track(Broken(2.0)))
    texts = [x.text for x in report.errors]
    assert "Broken failed: no track" in texts
    assert "the check of it ended with ZeroDivisionError: no track" in texts


def test_a_closure_with_a_failing_hinge_is_reported():
    mb = arm()
    mb.close_loop("loop", "inertial", "three", Broken(1.0))
    assert {x.subject for x in check(mb).errors} == {"loop 'loop'", "loops and couplings"}


def test_numbers_that_overflow_are_reported():
    mb = arm()
    mb["one"].inertia = Inertia(1e308, (0.9, 0, 0))
    report = check(mb)
    assert not report.ok


def test_our_own_mistakes_are_not_taken_for_the_models(monkeypatch):
    def wrong(graph):
        raise KeyError("a slip")

    monkeypatch.setitem(CHECKS, "tree", wrong)
    with pytest.raises(KeyError):
        check(arm())
    assert "the check of it ended with KeyError: 'a slip'" in [x.text for x in check(tilted_track(Track(1.0)))]


def test_errors_of_our_family_become_findings(monkeypatch):
    def wrong(graph):
        yield Finding("note", "first", 0.0, "is kept", "none")
        raise ModelError("body 'x' is odd.")

    monkeypatch.setitem(CHECKS, "tree", wrong)
    assert list(check(arm())) == [
        Finding(
            "error",
            "tree",
            "ModelError",
            "the check of it ended with ModelError: body 'x' is odd",
            "correct what it names, then check again",
        ),
        Finding("note", "first", 0.0, "is kept", "none"),
    ]


# -- mass matrix and power ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "change", "text"),
    [
        ("mass_matrix", lambda M: M + np.triu(M, 1) * 1e-6, "is not symmetric at a random state"),
        ("mass_matrix", lambda M: M * (1 + 1e-6), "does not give what inverse dynamics gives at a random state"),
        ("mass_matrix_inverse", lambda M: M * (1 + 1e-6), "times its inverse is not the identity at a random state"),
        (
            "forward_dynamics",
            lambda x: x * (1 + 1e-5),
            "forward dynamics does not undo inverse dynamics at a random state",
        ),
    ],
)
def test_a_fault_in_the_dynamics_is_seen(monkeypatch, function, change, text):
    true = getattr(sc.dynamics, function)
    monkeypatch.setattr(sc.dynamics, function, lambda *a, **k: change(true(*a, **k)))
    assert text in [x.text for x in check(arm()).errors]


@pytest.mark.parametrize("function", ["kinetic_energy", "potential_energy", "forward_dynamics"])
def test_a_fault_in_the_energies_is_seen(monkeypatch, function):
    true = getattr(sc.dynamics, function)
    monkeypatch.setattr(sc.dynamics, function, lambda *a, **k: true(*a, **k) * (1 + 1e-4))
    assert "power balance" in [x.subject for x in check(arm()).errors]


def test_large_models_are_checked_without_their_mass_matrix():
    report = check(serial_chain(450))
    assert report.ok
    assert [(x.subject, x.value) for x in report] == [("mass matrix", 450.0)]


def calls_in(work):
    """How many functions are called."""
    count = 0

    def note(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_the_work_grows_with_the_number_of_bodies():
    """A body more is some hundred calls more: 12,000 bodies are two seconds."""
    once, twice = (calls_in(partial(check, serial_chain(n))) for n in (450, 900))
    assert twice - once < 450 * 400


def test_the_poses_are_computed_once_for_all_loops():
    def configurations(loops):
        mb = random_tree(20, seed=1)
        for k in range(loops):
            mb.close_loop(f"loop{k}", mb.bodies[k], mb.bodies[k + 5], Weld())
        before = mb.counters["configuration"]
        check(mb)
        return mb.counters["configuration"] - before

    assert configurations(12) == configurations(1)


def test_a_nearly_singular_mass_matrix():
    mb = arm()
    mb.add_body(
        "dust", "three", Pin((0, 1, 0)), Inertia(1e-8, (0, 0, 0), np.eye(3) * 1e-16), Pose(translation=(0, 0, 1))
    )
    mb.add_body("rock", "dust", Prismatic((1, 0, 0)), Inertia(3e-13, (0, 0, 0), np.eye(3) * 1e-16))
    mb.add_body("slab", "rock", Prismatic((1, 0, 1e-7)), Inertia(1.0, (0, 0, 0), np.eye(3)))
    warned = [x for x in check(mb).warnings if x.subject == "mass matrix"]
    assert [x.text.split(":")[0] for x in warned] == ["is nearly singular at a random state"]


# -- the report ---------------------------------------------------------------------------------------------------


def test_the_report_as_text_and_html():
    report = HealthReport(
        "arm",
        [
            Finding("note", "gravity", 0.0, "is <none>", "nothing to do"),
            Finding("error", "dof 'a'", 1.23456, "is odd", "mend it"),
            Finding("warning", "body 'long name'", "x", "is strange", "look at it"),
        ],
    )
    assert [x.severity for x in report] == ["error", "warning", "note"]
    assert [len(x) for x in (report.errors, report.warnings, report.notes)] == [1, 1, 1]
    assert len(report) == 3
    assert not report.ok
    assert not report
    assert repr(report).splitlines() == [
        "'arm': 1 error, 1 warning, 1 note",
        "error    dof 'a'           1.235  is odd; mend it.",
        "warning  body 'long name'  x      is strange; look at it.",
        "note     gravity           0      is <none>; nothing to do.",
    ]
    html = report._repr_html_()
    assert "is &lt;none&gt;; nothing to do." in html
    assert html.count("<tr>") == 4


def test_an_unknown_severity():
    with pytest.raises(ModelError) as error:
        HealthReport("arm", [Finding("fatal", "", 0.0, "", "")])
    assert str(error.value) == "the severity of a finding must be 'error', 'warning' or 'note', got 'fatal'."
