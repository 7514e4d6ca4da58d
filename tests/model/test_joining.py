"""A model taken into another one is the model built there body by body: bit for bit in dynamics, with all it has."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.strategies import SEEDS, pose, rigid_trees

import soacraft as sc
from soacraft.errors import ModelError, SingularError, StaleError
from soacraft.files.native import to_json
from soacraft.model.samples.random_models import random_inertia, random_pose

GRAVITY = (0.0, 0.0, -9.81)


# -- the parts, each built by the same calls alone and on the robot -------------------------------------------------


def build_arm(mb, parent=None, at=None, name=""):
    at = sc.Pose() if at is None else at
    up = parent
    for k, hinge in enumerate((sc.Pin((0, 0, 1)), sc.Universal((1, 0, 0), (0, 1, 0)), sc.Pin((0, 1, 0)))):
        inboard = at @ sc.Pose(translation=(0, 0, 0.1)) if k == 0 else random_pose(10 + k)
        body = mb.add_body(f"{name}link{k}", up, hinge, random_inertia(20 + k), inboard, random_pose(30 + k))
        body.add_node("tool", random_pose(40 + k))
        up = body
    mb.body(f"{name}link1").armature = [0.01, 0.02]
    mb.body(f"{name}link2").passive = sc.Passive(stiffness=3.0, damping=0.2)
    mb.body(f"{name}link0").gravity_compensation = 0.25
    mb.body(f"{name}link2").limits = sc.Limits(-1.0, 2.0, 3.0, 4.0)


def build_gripper(mb, parent=None, at=None, name=""):
    at = sc.Pose() if at is None else at
    palm = mb.add_body(f"{name}palm", parent, sc.Weld(), random_inertia(50), at)
    for side, axis in (("a", (0, 1, 0)), ("b", (0, -1, 0))):
        mb.add_body(f"{name}finger_{side}", palm, sc.Prismatic(axis), random_inertia(51), random_pose(52))
    mb.couple(f"{name}mirror", {f"{name}finger_a": 1.0, f"{name}finger_b": -1.0})
    mb.add_tendon(f"{name}spring", {f"{name}finger_a": 2.0}, stiffness=5.0, rest=0.1)


def build_door(mb, parent=None, at=None, name=""):
    at = sc.Pose() if at is None else at
    leaf = mb.add_body(f"{name}leaf", parent, sc.Pin((0, 0, 1)), random_inertia(60), at, hinge_name=f"{name}jamb")
    leaf.passive = sc.Passive(damping=0.4)
    mb.add_body(f"{name}handle", leaf, sc.Pin((1, 0, 0)), random_inertia(61), random_pose(62)).add_node("grip")


def alone(build, name):
    mb = sc.Multibody(name, GRAVITY)
    build(mb)
    return mb


def torso():
    mb = sc.Multibody("robot", GRAVITY)
    mb.add_body("torso", None, sc.Free(), random_inertia(1))
    return mb


def assembled_and_built():
    """Two arms, a gripper and a door, by `add_model` and body by body."""
    left, right, hand, there = (random_pose(k) for k in (2, 3, 4, 5))
    joined, built = torso(), torso()
    arm = alone(build_arm, "arm")
    joined.add_model(arm, "torso", sc.Weld(), left, prefix="left_")
    joined.add_model(arm, "torso", None, right, prefix="right_")
    joined.add_model(alone(build_gripper, "gripper"), "left_link2", sc.Weld(), hand, prefix="left_grip_")
    joined.add_model(alone(build_door, "door"), None, None, there, prefix="door_")
    build_arm(built, "torso", left, "left_")
    build_arm(built, "torso", right, "right_")
    build_gripper(built, "left_link2", hand, "left_grip_")
    build_door(built, None, there, "door_")
    return joined, built


def same_bits(x, y):
    return np.asarray(x).tobytes() == np.asarray(y).tobytes()


def test_two_arms_a_gripper_and_a_door_are_those_built_body_by_body():
    joined, built = assembled_and_built()
    assert joined.dof_names == built.dof_names
    assert to_json(joined) == to_json(built)
    q, v = built.random_state(7)
    force = np.random.default_rng(8).standard_normal(built.nv)
    q, v = sc.loops.ConstraintEmbedding(built).project(q, v)
    for function, arguments in (
        (sc.dynamics.mass_matrix, (q,)), (sc.dynamics.bias_force, (q, v)), (sc.dynamics.passive_force, (q, v)),
        (sc.dynamics.inverse_dynamics, (q, v, force)), (sc.dynamics.forward_dynamics, (q, v, force)),
    ):  # fmt: skip
        kind = {} if function is sc.dynamics.passive_force else {"ignore_loops": True}
        assert same_bits(function(joined, *arguments, **kind), function(built, *arguments, **kind)), function.__name__
    for solver in (sc.loops.TreeAugmented, sc.loops.ConstraintEmbedding, sc.loops.FullyAugmented):
        ours, theirs = (solver(mb).forward_dynamics(q, v, force) for mb in (joined, built))
        assert same_bits(ours.vdot, theirs.vdot), solver.__name__
    ours, theirs = (sc.dynamics.jacobian(mb, q, "door_handle/grip", ignore_loops=True) for mb in (joined, built))
    assert same_bits(ours, theirs)


@pytest.mark.parametrize("solver", [sc.loops.TreeAugmented, sc.loops.ConstraintEmbedding])
def test_a_gripper_of_loops_on_an_arm_is_the_one_built_there(solver):
    gripper, at = sc.load("robotiq_2f85"), sc.Pose(translation=(0, 0, 0.1))
    joined, built = alone(build_arm, "arm"), alone(build_arm, "arm")
    joined.add_model(gripper, "link2", sc.Weld(), at, prefix="hand_")
    new = "hand_".__add__
    for body in gripper.bodies:
        base = body.parent is gripper.root
        inboard, parent = (at @ body.inboard, "link2") if base else (body.inboard, new(body.parent.name))
        twin = built.add_body(
            new(body.name), parent, body.hinge, body.inertia, inboard, body.outboard, new(body.hinge_name)
        )
        twin.armature, twin.passive = body.armature, body.passive
        for node in body.nodes:
            twin.add_node(node.name, node.pose)
    for x in gripper.loops:
        built.close_loop(new(x.name), new(x.a.full_name), new(x.b.full_name), x.hinge, x.active)
    for c in gripper.couplings:
        built.couple(new(c.name), {new(dof): term for dof, term in c.terms.items()}, c.offset, c.active)
    for t in gripper.tendons:
        built.add_tendon(new(t.name), {new(dof): c for dof, c in t.terms.items()}, t.stiffness, t.damping, t.rest)
    q, v = np.zeros(built.nq), np.zeros(built.nv)
    q[:4], v[:4] = (0.3, -0.2, 0.5, 0.1), (1.0, 2.0, -1.0, 0.5)
    ours, theirs = solver(joined), solver(built)
    q, v = solver(built).project(q, v)
    force = np.linspace(-1.0, 1.0, built.nv)
    assert len(joined.loops) == 2
    assert same_bits(ours.forward_dynamics(q, v, force).vdot, theirs.forward_dynamics(q, v, force).vdot)


# -- any models ---------------------------------------------------------------------------------------------------


@tries(5)
@given(rigid_trees(), rigid_trees(), SEEDS, st.data())
def test_drawn_models_combined(host, other, seed, data):
    """Each base body hangs on the parent where the other's inertial frame is; states and dynamics go with it."""
    parent, at = data.draw(st.sampled_from(host.bodies)), pose(seed)
    bodies = [(x.name, x.parent.name, x.hinge, x.inertia, x.inboard, x.outboard, x.nodes[0].pose) for x in other.bodies]
    state = [np.concatenate(pair) for pair in ((host.q, other.q), (host.v, other.v), (host.vdot, other.vdot))]
    built = host.copy()
    for name, up, hinge, inertia, inboard, outboard, tip in bodies:
        base = up == "inertial"
        inboard = at @ inboard if base else inboard
        up = parent.name if base else f"x_{up}"
        built.add_body(f"x_{name}", up, hinge, inertia, inboard, outboard).add_node("tip", tip)
    made = host.add_model(other, parent, inboard=at, prefix="x_")
    assert [x.name for x in made] == [f"x_{x[0]}" for x in bodies]
    assert [x.name for x in host.bodies] == [x.name for x in built.bodies]
    for now, then in zip((host.q, host.v, host.vdot), state, strict=True):
        assert same_bits(now, then)
    force = np.ones(built.nv)
    answers = [_vdot_or_error(mb, state[0], state[1], force) for mb in (host, built)]
    assert answers[0] == answers[1]


def _vdot_or_error(mb, q, v, force):
    try:
        return sc.dynamics.forward_dynamics(mb, q, v, force).tobytes()
    except SingularError as problem:
        return type(problem)


# -- all that a model has -----------------------------------------------------------------------------------------


def full_model():
    """A model with something of every kind that a model can have."""
    mb = sc.Multibody("full", GRAVITY)
    build_arm(mb)
    mb.root.add_node("dock", random_pose(70))
    mb.root.add_geometry(sc.Geometry("floor", "plane", material="steel"))
    mb.add_material(sc.Material("steel", (0.1, 0.2, 0.3, 1.0), "steel.png"))
    mb.body("link2").add_geometry(sc.Geometry("shell", "mesh", mesh="shell.stl", attributes={"joint": "link2"}))
    mb.close_loop("ring", "inertial", "link2/tool", sc.Spherical(), active=False, attributes={"site1": "tool"})
    mb.close_loop("hook", "inertial/dock", "link1/tool", sc.Spherical())
    mb.couple("gear", {"link0": 1.0, "link2": -2.0}, attributes={"dependent": "link2"})
    mb.add_tendon("cable", {"link1.0": 1.0}, 2.0, 0.1, (0.0, 0.2), {"joint": "link1.0"})
    mb.add_spring("bungee", "inertial", "link2/tool", 3.0, 0.2, 0.1, ["link1/tool"], {"site": "tool"})
    mb.add_bushing("mount", "inertial/dock", "link1/tool", [1, 2, 3, 4, 5, 6], 0.1, random_pose(8))
    mb.add_actuator(sc.Actuator("motor", "motor", {"link0": 50.0}, {"joint": "link0", "class": "link0"}))
    mb.add_record(sc.Record("sensor", "gyro", {"site": "tool", "type": "gyro"}))
    mb.add_record(sc.Record("exclude", "", {"body1": "link0", "body2": "link1"}))
    mb.add_record(sc.Record("group", "arm", {"joints": ("link0", "link1"), "chains": (("link0", "link2"),)}))
    mb.add_record(sc.Record("tendon", "rope", {"children": (("site", "site=tool"), ("pulley", "divisor=2"))}))
    mb.set_state(*mb.random_state(3), np.arange(1.0, 5.0))
    mb.add_keyframe(sc.Keyframe("home", mb.q, mb.v, {"time": 2.0}))
    mb.set_force("link2/tool", sc.Wrench((1, 2, 3), (4, 5, 6), expressed_in="inertial"))
    mb.set_force("link1", (1, 2, 3, 4, 5, 6))
    return mb


def test_nothing_is_dropped_on_the_way_into_an_empty_model():
    mb, empty = full_model(), sc.Multibody("full", GRAVITY)
    empty.add_model(mb)
    assert to_json(empty) == to_json(mb)
    assert to_json(mb.copy()) == to_json(mb)


def test_what_is_at_the_frames_of_a_hinge_that_changes_is_refused():
    other = sc.Multibody("o")
    other.add_body("base", None, sc.Free(), sc.Inertia(1.0, (0, 0, 0), np.eye(3)), random_pose(1), random_pose(2))
    other.root.add_node("w", random_pose(3))
    other.add_spring("s", "inertial/w", "base/outboard", 3.0)
    host = torso()
    before = to_json(host)
    with pytest.raises(ModelError, match=r"is at 'base/outboard', a frame of a hinge that changes\. Put a node there"):
        host.add_model(other, "torso", sc.Pin((0, 1, 0)))
    other.add_body("arm", "base", sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)), random_pose(4))
    with pytest.raises(ModelError, match="is at 'base/outboard', a frame of a hinge that changes"):
        sc.analysis.reroot(other, "arm")
    assert to_json(host) == before


def test_what_would_be_on_one_body_is_refused_before_anything_changes():
    other = sc.Multibody("o")
    other.add_body("b", None, sc.Weld(), sc.Inertia(1.0, (0, 0, 0), np.eye(3))).add_node("t")
    other.root.add_node("p", random_pose(3))
    other.add_spring("s", "inertial/p", "b/t", 3.0)
    host = torso()
    before = to_json(host)
    with pytest.raises(ModelError, match="is between its inertial frame and 'b', which become one body"):
        host.add_model(other, "torso", sc.Pin((0, 0, 1)))
    assert to_json(host) == before


def test_names_are_prefixed_and_so_is_what_mentions_them():
    mb, other = torso(), full_model()
    mb.add_model(other, "torso", None, random_pose(5), prefix="x_")
    assert {*mb._tree.bodies} == {"torso", "x_link0", "x_link1", "x_link2"}
    assert mb["torso/x_dock"].pose.is_close(random_pose(5) @ random_pose(70))
    assert mb["torso"].geometries["x_floor"].material == "x_steel"
    assert mb.materials["x_steel"].texture == "steel.png"
    assert mb["x_link2"].geometries["shell"].attributes["joint"] == "x_link2"
    ring, hook = mb.loops["x_ring"], mb.loops["x_hook"]
    assert (ring.a.full_name, ring.b.full_name, ring.active) == ("torso/x_inertial", "x_link2/tool", False)
    assert ring.attributes["site1"] == "x_tool"
    assert (hook.a.full_name, hook.active) == ("torso/x_dock", True)
    assert dict(mb.couplings["x_gear"].terms) == {"x_link0": (1.0,), "x_link2": (-2.0,)}
    assert mb.couplings["x_gear"].attributes["dependent"] == "x_link2"
    assert dict(mb.tendons["x_cable"].terms) == {"x_link1.0": 1.0}
    bungee, mount = mb.springs["x_bungee"], mb.bushings["x_mount"]
    assert [x.full_name for x in bungee.nodes] == ["torso/x_inertial", "x_link1/tool", "x_link2/tool"]
    assert bungee.attributes["site"] == "x_tool"
    assert (mount.a.full_name, mount.b.full_name) == ("torso/x_dock", "x_link1/tool")
    motor = mb.actuators["x_motor"]
    assert dict(motor.gears) == {"x_link0": 50.0}
    assert dict(motor.attributes) == {"joint": "x_link0", "class": "link0"}
    said = {record.name: dict(record.attributes) for record in mb.records}
    assert said == {
        "x_gyro": {"site": "x_tool", "type": "gyro"},
        "x_": {"body1": "x_link0", "body2": "x_link1"},
        "x_arm": {"joints": ("x_link0", "x_link1"), "chains": (("x_link0", "x_link2"),)},
        "x_rope": {"children": (("site", "site=x_tool"), ("pulley", "divisor=2"))},
    }
    home = mb.keyframes["x_home"]
    assert same_bits(home.q, np.concatenate([mb.neutral()[:7], other.keyframes["home"].q]))
    forces = {frame.full_name: wrench for frame, wrench in mb.acting_forces.items()}
    assert forces["x_link2/tool"].expressed_in.full_name == "torso/x_inertial"
    assert forces["x_link1"].expressed_in is None
    assert mb["x_link0"].gravity_compensation == 0.25
    assert mb["x_link2"].limits == other["link2"].limits
    assert mb["x_link2"].passive == other["link2"].passive
    assert same_bits(mb["x_link1"].armature, other["link1"].armature)


def test_a_model_added_twice_to_itself_and_what_was_before_is_stale():
    mb = alone(build_door, "door")
    state, H = mb.state(), sc.operators(mb, "H")
    mb.add_model(mb, "handle", prefix="second_")
    mb.add_model(mb, None, prefix="third_")
    assert len(mb.bodies) == 8
    assert mb["third_second_leaf"].parent.name == "third_handle"
    with pytest.raises(StaleError):
        H * np.ones(12)
    with pytest.raises(StaleError):
        mb.pose("leaf", state=state)


# -- how it hangs -------------------------------------------------------------------------------------------------


def test_a_model_that_floats_hangs_by_the_hinge_that_is_given():
    cart = sc.Multibody("cart", GRAVITY)
    hull = cart.add_body("hull", None, sc.Free(), sc.Inertia(2.0), sc.Pose(translation=(0, 0, 1)), random_pose(3))
    cart.root.add_node("floor")
    cart.add_keyframe(sc.Keyframe("away", cart.random_state(1)[0], np.zeros(6)))
    mb, at = torso(), random_pose(4)
    mb.add_model(cart, "torso", sc.Prismatic((1, 0, 0)), at, prefix="c_")
    body = mb["c_hull"]
    assert (repr(body.hinge), body.inboard, body.parent.name) == ("Prismatic(axis=(1, 0, 0))", at, "torso")
    assert body.outboard.is_close(hull.inboard @ hull.outboard)
    assert mb["torso/c_floor"].pose.is_close(at)
    assert same_bits(mb.keyframes["c_away"].q, mb.neutral())  # the state of the hinge that went
    kept = torso()
    kept.add_model(cart, "torso", None, at, prefix="c_")
    assert isinstance(kept["c_hull"].hinge, sc.Free)


def test_a_welded_base_moves_with_all_that_was_fixed_on_the_inertial_frame():
    arm = sc.Multibody("arm", GRAVITY)
    base = arm.add_body("base", None, sc.Weld(), sc.Inertia(1.0), random_pose(2), random_pose(3))
    arm.add_body("link", base, sc.Pin((0, 1, 0)), sc.Inertia(1.0), random_pose(6))
    arm.root.add_node("mark", random_pose(7))
    rail, at = torso(), random_pose(4)
    rail.add_model(arm, "torso", sc.Prismatic((0, 1, 0)), at, prefix="a_")
    rail.set_state({"a_base": 0.6, "a_link": 0.3})
    slid = rail.pose("torso") @ at @ sc.Pose(translation=(0, 0.6, 0))
    arm.set_state({"link": 0.3})
    assert rail.pose("a_base/a_mark").is_close(slid @ random_pose(7))
    assert rail.pose("a_link").is_close(slid @ arm.pose("link"))


# -- refusals: by text, and nothing has changed ---------------------------------------------------------------------


def refused(mb, *arguments, **named):
    before = to_json(mb), mb.version
    with pytest.raises(ModelError) as caught:
        mb.add_model(*arguments, **named)
    assert (to_json(mb), mb.version) == before
    return str(caught.value)


def test_names_that_meet_are_refused_all_at_once():
    mb = full_model()
    text = refused(mb, full_model(), prefix="")
    assert "'full' already has" in text
    assert "frame 'link0', frame 'link1'" in text
    assert "prefix='full_'" in text
    body, other = mb.add_body("b/tip", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0)), sc.Multibody("o", GRAVITY)
    other.add_body("b", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0)).add_node("tip")
    assert "1 name of model 'o' with prefix '': frame 'b/tip'" in refused(mb, other)
    for add, kind in (
        (lambda x: x.add_actuator(sc.Actuator("n", "motor")), "actuator 'n'"),
        (lambda x: x.add_material(sc.Material("n", texture=x.name)), "material 'n'"),
        (lambda x: x.add_keyframe(sc.Keyframe("n", x.q, x.v)), "keyframe 'n'"),
        (lambda x: x.root.add_geometry(sc.Geometry("n", "plane")), "geometry 'n'"),
        (lambda x: x.root.add_node("n"), "frame 'inertial/n'"),
    ):
        one, two = sc.Multibody("one", GRAVITY), sc.Multibody("two", GRAVITY)
        add(one), add(two)
        assert kind in refused(one, two)
    assert body.name == "b/tip"


def test_hinges_that_would_be_lost_are_refused_with_the_cure():
    mb = torso()
    text = refused(mb, alone(build_door, "door"), "torso", sc.Prismatic((1, 0, 0)), prefix="d_")
    assert "'leaf' by Pin(axis=(0, 0, 1)), and not one body that is welded or free" in text
    assert "mount = mb.add_body('mount', 'torso', Prismatic(axis=(1, 0, 0)))" in text
    floats = sc.Multibody("floats", GRAVITY)
    floats.add_body("hull", None, sc.Free(), sc.Inertia(1.0)).passive = sc.Passive(damping=1.0)
    assert "hinge 'hull' of model 'floats' has armature, springs" in refused(mb, floats, "torso", sc.Weld())
    floats["hull"].passive = sc.Passive()
    floats.add_actuator(sc.Actuator("thrust", "motor", {"hull.5": 1.0}))
    assert "dof 'hull.5' of model 'floats' would go with its free hinge" in refused(mb, floats, "torso", sc.Weld())


def test_what_comes_to_a_welded_base_meets_its_own_names():
    arm = sc.Multibody("arm", GRAVITY)
    arm.add_body("base", None, sc.Weld(), sc.Inertia(1.0)).add_node("x_mark")
    arm.root.add_node("mark")
    assert "frame 'x_base/x_mark'" in refused(torso(), arm, "torso", sc.Pin((0, 0, 1)), prefix="x_")


def test_what_is_no_model_is_refused():
    mb = torso()
    assert "mb.extract(body) gives a subtree as one" in refused(mb, mb.subgraph(["torso"]), prefix="x")
    assert "the prefix of a model that is added must be a string, got 3" in refused(mb, torso(), prefix=3)
    assert "inboard of model 'robot' must be a Pose" in refused(mb, torso(), None, None, (0, 0, 1))
    assert "belongs to the inertial frame" in refused(mb, _named("ial"), prefix="inert")


def _named(name):
    mb = sc.Multibody("one", GRAVITY)
    mb.add_body(name, None, sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    return mb


# -- what is said -------------------------------------------------------------------------------------------------


def test_other_gravity_and_sizes_are_said():
    mb, door = alone(build_arm, "arm"), alone(build_door, "door")
    mb.add_model(door, prefix="a_")
    assert mb.import_report is None
    door.gravity = (0, 0, -1.62)
    mb.add_model(door, prefix="b_")
    line = mb.import_report.not_simulated[0]
    assert line.note == "gravity is (0, 0, -1.62) there; that of 'arm', (0, 0, -9.81), acts"
    assert tuple(mb.gravity) == GRAVITY
    large = sc.Multibody("mm", GRAVITY)
    large.add_body("rod", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0)).add_node("tip", sc.Pose(translation=(4e3, 0, 0)))
    mb.add_model(large, prefix="c_")
    assert "if one has other units, convert it first" in mb.import_report.entries[-1].note


def test_names_of_meshes_lead_to_the_same_files(tmp_path):
    mb, other = full_model(), full_model()
    mb.mesh_folder, other.mesh_folder = tmp_path / "one", tmp_path / "two"
    mb.add_model(other, prefix="x_")
    assert mb["link2"].geometries["shell"].mesh == "shell.stl"
    assert Path(mb["x_link2"].geometries["shell"].mesh) == (tmp_path / "two" / "shell.stl").resolve()
    assert Path(mb.materials["x_steel"].texture) == (tmp_path / "two" / "steel.png").resolve()
    empty = torso()
    empty.add_model(other, "torso", prefix="x_")
    assert (empty.mesh_folder, empty["x_link2"].geometries["shell"].mesh) == (other.mesh_folder, "shell.stl")
    mb.add_model(full_model(), prefix="y_")
    assert "no folder is known there for the names of meshes" in mb.import_report.entries[-1].note
