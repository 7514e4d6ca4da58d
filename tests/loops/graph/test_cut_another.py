"""`sc.loops.recut`: another hinge of a loop is cut, and every body stands, moves and accelerates as before."""

import inspect
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loops.cases import (
    CLOSING,
    EVERY_CLOSING,
    FourBar,
    close,
    closed_graphs,
    comparable,
    library,
    near,
    project,
    tie,
)
from tests.profiles import tries
from tests.strategies import HINGES

import soacraft as sc
from soacraft.errors import LoopError, ModelError
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented, recut
from soacraft.model.samples.random_models import random_inertia, random_pose

SOLVERS = (TreeAugmented, FullyAugmented, ConstraintEmbedding)
Z = (0, 0, 1)
#: A hinge that is turned around must know its inverse; one that closes a loop must not be free.
TURNABLE = [hinge for hinge in HINGES if hinge.holonomic]


# -- what both models must agree in -----------------------------------------------------------------------------------


def pushed(mb, seed=1):
    """The model with a force on every body, in the body's axes."""
    rng = np.random.default_rng(seed)
    for body in mb.bodies:
        mb.set_force(body, sc.Wrench(*rng.standard_normal((2, 3))))
    return mb


def driven(mb, free=(), seed=2):
    """Generalized forces on all hinges but those named."""
    force = np.random.default_rng(seed).standard_normal(mb.nv)
    for body in mb.bodies:
        if body.hinge_name in free:
            force[body.v_slice] = 0.0
    return force


def carried(mb, other, force):
    """The generalized forces that do the same work in the model cut elsewhere: T* v = T'* v'."""
    old, found = {body.hinge_name: body for body in mb.bodies}, np.zeros(other.nv)
    for twin in other.bodies:
        if twin.hinge_name not in old:
            continue
        body = old[twin.hinge_name]
        T = force[body.v_slice]
        if twin.name != body.name:  # turned around: b moves on a as a did on b, seen from there
            pose = body.hinge.pose(mb.q[body.q_slice])
            if isinstance(body.hinge, sc.Spherical):
                T = -pose.rotation @ T
            elif isinstance(body.hinge, sc.Free):
                T = -np.linalg.inv(sc.spatial.adjoint(pose.rotation, pose.translation)).T @ T
            else:
                T = T[::-1]
        found[twin.v_slice] = T
    return found


def same_bodies(mb, other, tolerance=1e-9):
    """Poses and velocities of every body."""
    for body in mb.bodies:
        near(other.pose(body.name).as_matrix(), mb.pose(body.name).as_matrix(), tolerance)
    names = [body.name for body in other.bodies]
    near(other.state().motion.V[[names.index(body.name) for body in mb.bodies]], mb.state().motion.V, tolerance)


def accelerations(mb, solver, force):
    """Those of all bodies, by name, in body axes."""
    alpha = mb.state(vdot=solver(mb).forward_dynamics(mb.q, mb.v, force).vdot).alpha
    return {body.name: alpha[k] for k, body in enumerate(mb.bodies)}


def same_accelerations(mb, other, force, solvers=SOLVERS, tolerance=1e-9):
    """Those of every body, by each solver on either model."""
    for solver in solvers:
        wanted = accelerations(mb, solver, force)
        found = accelerations(other, solver, carried(mb, other, force))
        near(np.stack([found[name] for name in wanted]), np.stack(list(wanted.values())), tolerance)


def hinges_of(mb, loop):
    """The hinges on the way around a loop."""
    paths = []
    for body in (mb.loops[loop].a.carrier, mb.loops[loop].b.carrier):
        paths.append([])
        while isinstance(body, sc.Body):
            paths[-1].append(body)
            body = body.parent
    return [body.hinge_name for body in {*paths[0]} ^ {*paths[1]}]


# -- any hinge ---------------------------------------------------------------------------------------------------------


def two_arms(seed, special, where, closing):
    """A moving base with two arms of two bodies, closed between their ends; `special` is the hinge of one body."""
    rng = np.random.default_rng(seed)
    mb = sc.Multibody("arms")
    mb.add_body("base", None, sc.Free(), random_inertia(rng), random_pose(rng))
    for side in ("left", "right"):
        for i, usual in ((1, sc.Spherical()), (2, sc.Planar())):
            name, parent = f"{side}{i}", "base" if i == 1 else f"{side}1"
            hinge = special if name == where else usual
            body = mb.add_body(name, parent, hinge, random_inertia(rng), random_pose(rng), random_pose(rng))
            body.add_node("tip", random_pose(rng))
    mb.add_body("beside", "left2", sc.Pin(Z), random_inertia(rng), random_pose(rng))
    mb.set_state(*mb.random_state(seed))
    close(mb, "ring", "left2/tip", "right2", closing, seed)
    mb.v = project(mb, mb.v)
    return pushed(mb)


@pytest.mark.parametrize("hinge", TURNABLE, ids=lambda hinge: type(hinge).__name__)
@pytest.mark.parametrize("where", ["left2", "right2"])
def test_any_hinge_on_the_way_around(hinge, where):
    """It is cut, turned around or left alone, according to which is cut."""
    mb = two_arms(3, hinge, where, sc.Pin(Z))
    comparable(mb, driven(mb))
    assert sorted(hinges_of(mb, "ring")) == ["left1", "left2", "right1", "right2"]
    for name in hinges_of(mb, "ring"):
        if mb.body(name).hinge.nv == 6:
            with pytest.raises(LoopError) as refusal:
                recut(mb, "ring", name)
            text = f"recut: hinge {name!r} (Free()) leaves all six freedoms: cut, it closes nothing."
            assert str(refusal.value) == text
            continue
        other = recut(mb, "ring", name)
        assert [loop.name for loop in other.loops] == [name]
        assert {body.hinge_name for body in other.bodies} == {body.hinge_name for body in mb.bodies} - {name} | {"ring"}
        same_bodies(mb, other)
        same_accelerations(mb, other, driven(mb, free=[name]))


@pytest.mark.parametrize("hinge", EVERY_CLOSING, ids=lambda hinge: type(hinge).__name__)
def test_any_hinge_as_the_old_closure(hinge):
    mb = two_arms(5, sc.Spherical(), "left1", hinge)
    comparable(mb, driven(mb))
    for name in hinges_of(mb, "ring"):
        if name.startswith("left") and not hinge.holonomic:
            with pytest.raises(ModelError) as refusal:
                recut(mb, "ring", name)
            assert str(refusal.value) == f"recut: the hinge {hinge!r} of loop 'ring' cannot be turned around."
            continue
        other = recut(mb, "ring", name)
        same_bodies(mb, other)
        same_accelerations(mb, other, driven(mb, free=[name]))


def test_a_rolling_ball_is_cut_and_not_turned():
    mb = two_arms(3, sc.RollingBall(0.4), "left1", sc.Spherical())
    other = recut(mb, "ring", "left1")
    same_bodies(mb, other)
    same_accelerations(mb, other, driven(mb, free=["left1"]))
    mb = two_arms(3, sc.RollingBall(0.4), "left2", sc.Spherical())
    with pytest.raises(ModelError) as refusal:
        recut(mb, "ring", "left1")
    assert str(refusal.value) == (
        "recut: the hinge RollingBall(radius=0.4, normal=(0, 0, 1)) of 'left2' cannot be turned around."
    )


@tries(12)
@given(data=st.data())
def test_random_graphs(data):
    """Loops that share bodies or repeat each other, with couplings; every hinge of every loop that can be cut."""
    mb = pushed(data.draw(closed_graphs(2, 5, 2, hinges=TURNABLE, closing=[h for h in CLOSING if h.holonomic])))
    comparable(mb, driven(mb))
    coupled = {dof.partition(".")[0] for coupling in mb.couplings for dof in coupling.terms}
    for loop in mb.loops:
        for name in hinges_of(mb, loop.name):
            if name in coupled or mb.body(name).hinge.nv == 6:
                with pytest.raises((ModelError, LoopError), match=r"must stay in the tree|leaves all six freedoms"):
                    recut(mb, loop, name)
                continue
            other = recut(mb, loop, name)
            same_bodies(mb, other)
            same_accelerations(mb, other, driven(mb, free=[name]))


# -- mechanisms --------------------------------------------------------------------------------------------------------


def plain(mb, hinge):
    """The model without what a closure cannot have at this hinge."""
    body = next(body for body in mb.bodies if body.hinge_name == hinge)
    body.armature, body.passive, body.limits = 0.0, sc.Passive(), sc.Limits()
    for actuator in mb.actuators:
        if hinge in actuator.gears:
            mb.remove_actuator(actuator)
    for coupling in mb.couplings:
        if hinge in coupling.terms:
            mb.remove_coupling(coupling)
    return mb


@pytest.mark.parametrize(("name", "count"), [("five_bar", 6), ("robotiq_2f85", 8), ("delta", 21)])
def test_every_hinge_of_every_loop_of_a_robot(name, count):
    robot = library(name)
    cases = [(loop.name, hinge) for loop in robot.loops for hinge in hinges_of(robot, loop.name)]
    assert len(cases) == count
    for i, (loop, hinge) in enumerate(cases):
        mb = pushed(plain(robot.copy(), hinge))
        other = recut(mb, loop, hinge)
        same_bodies(mb, other)
        solvers = SOLVERS if count < 10 else [SOLVERS[i % 3]]
        same_accelerations(mb, other, driven(mb, free=[hinge]), solvers)


@pytest.mark.parametrize("hinge", ["crank", "coupler", "rocker"])
def test_a_four_bar_cut_anywhere_has_the_acceleration_of_lagrange(hinge):
    """The crank's acceleration in closed form: without it as a hinge of the tree, from that of its body."""
    bar = FourBar()
    mb = bar.build(0.7)
    mb.v = ConstraintEmbedding(mb, independent=["crank"]).expand(mb.q, [1.3])
    other = recut(mb, "ring", hinge)
    assert [body.hinge_name for body in other.bodies] != [body.hinge_name for body in mb.bodies]
    for solver in SOLVERS:
        near(accelerations(other, solver, np.zeros(3))["crank"][2], bar.acceleration(0.7, 1.3, 0.0))


def test_cutting_back_gives_the_model_there_was():
    mb = two_arms(3, sc.Gimbal(np.eye(3)), "left2", sc.Universal((1, 0, 0), (0, 1, 0)))
    for name in hinges_of(mb, "ring"):
        back = recut(recut(mb, "ring", name), name, "ring")
        same_bodies(mb, back, 1e-12)
        for body in mb.bodies:
            near(back.v[back.v_slice(body.name)], mb.v[body.v_slice], 1e-12)
        assert {x.name: (x.parent.name, x.hinge_name) for x in back.bodies} == {
            x.name: (x.parent.name, x.hinge_name) for x in mb.bodies
        }
        assert [loop.name for loop in back.loops] == ["ring"]
        frames = {back.loops["ring"].a.full_name, back.loops["ring"].b.full_name}
        assert frames == {"left2/tip", "right2/ring_end"}


def test_accelerations_of_the_state_come_along():
    mb = two_arms(3, sc.Spherical(), "left2", sc.Cylindrical(Z))
    mb.vdot = TreeAugmented(mb).forward_dynamics(mb.q, mb.v, np.zeros(mb.nv)).vdot
    for name in hinges_of(mb, "ring"):
        other = recut(mb, "ring", name)
        names = [body.name for body in other.bodies]
        near(other.state().alpha[[names.index(body.name) for body in mb.bodies]], mb.state().alpha)


# -- what comes along --------------------------------------------------------------------------------------------------


def test_what_the_model_holds_comes_along():
    mb = two_arms(3, sc.Gimbal(np.eye(3)), "left2", sc.Spherical())
    arm = mb.body("left2")
    arm.armature = [0.1, 0.2, 0.3]
    arm.passive = sc.Passive([1, 2, 3], [4, 5, 6], [7, 8, 9], [0.1, 0.2, 0.3])
    arm.limits = sc.Limits([-1, -2, -3], [1, 2, 3])
    mb.body("right2").armature = [0.4, 0.5, 0.6]
    tie(mb, "gear", ["left2.0", "beside"], [(1.0,), (-2.0,)])
    mb.close_loop("idle", "base", "beside", sc.Pin(Z), active=False, attributes={"of": "a file"})
    mb.add_actuator(sc.Actuator("motor", "motor", {"left2.2": 5.0}))
    mb.v = project(mb, mb.v)
    mb.add_keyframe(sc.Keyframe("start", mb.q, mb.v))
    mb.add_keyframe(sc.Keyframe("open", mb.neutral(), 0 * mb.v))
    mb.add_material(sc.Material("steel", (0.5, 0.5, 0.5, 1.0)))
    mb.add_record(sc.Record("sensor", "imu", {"site": "base"}))
    arm.add_geometry(sc.Geometry("shape", "sphere", (0.1,)))
    mb.root.add_node("mark", sc.Pose(translation=(1, 2, 3)))
    other = recut(mb, "ring", "left1")
    turned = next(body for body in other.bodies if body.hinge_name == "left2")
    assert (turned.name, turned.parent.name, other.body("left2").hinge_name) == ("left1", "left2", "ring")
    np.testing.assert_array_equal(turned.armature, [0.3, 0.2, 0.1])
    assert turned.passive == sc.Passive([3, 2, 1], [6, 5, 4], [9, 8, 7], [0.3, 0.2, 0.1])
    np.testing.assert_array_equal(np.stack([turned.limits.lower, turned.limits.upper]), [[-3, -2, -1], [3, 2, 1]])
    np.testing.assert_array_equal(other.body("right2").armature, [0.4, 0.5, 0.6])
    assert not other.body("left2").armature.any()
    assert other.couplings["gear"].terms == {"left2.2": (1.0,), "beside": (-2.0,)}
    assert repr(other.loops["idle"]) == repr(mb.loops["idle"])
    assert other.loops["idle"].attributes == {"of": "a file"}
    assert other.loops.names == ("idle", "left1")
    assert other.actuators["motor"].gears == {"left2.0": 5.0}
    assert (other.materials[0], other.records[0]) == (mb.materials[0], mb.records[0])
    assert [x.name for x in other.body("left2").geometries] == ["shape"]
    assert other.frame("inertial/mark").pose == mb.frame("inertial/mark").pose
    assert {frame.full_name for frame in other.acting_forces} == {frame.full_name for frame in mb.acting_forces}
    same_bodies(mb, other)
    same_accelerations(mb, other, driven(mb, free=["left1"]))
    near(other.keyframes["start"].q, other.q, 1e-12)
    near(other.keyframes["start"].v, other.v, 1e-12)
    open_one = other.keyframes["open"].q  # all hinges as they were, the old closure's where it fits best
    near(open_one[other.q_slice("right2")], mb.neutral()[mb.q_slice("right2")], 1e-15)
    near(open_one[other.q_slice("left1")], np.zeros(3), 1e-15)


def test_the_model_is_left_alone():
    mb = two_arms(3, sc.Spherical(), "left2", sc.Pin(Z))
    before, text, version = mb.q.copy(), str(mb.tree()), mb.version
    recut(mb, mb.loops["ring"], mb.body("left1"))
    np.testing.assert_array_equal(mb.q, before)
    assert (str(mb.tree()), mb.version) == (text, version)


def test_nodes_are_made_once():
    """The ends of the new closure are the bodies' own frames where these stand there, and nodes that do."""
    mb = FourBar().build(0.7)
    assert repr(recut(mb, "ring", "crank").loops[0]) == "loop 'crank': 'crank' on 'inertial' by Pin(axis=(0, 0, 1))"
    other = recut(mb, "ring", "coupler")
    assert repr(other.loops[0]) == "loop 'coupler': 'coupler' on 'crank/end' by Pin(axis=(0, 0, 1))"
    mb.body("crank").remove_node("end")
    mb.body("crank").add_node("coupler", sc.Pose(translation=(9, 9, 9)))
    other = recut(mb, "ring", "coupler")
    assert repr(other.loops[0]) == """loop 'coupler': 'coupler' on "crank/coupler'" by Pin(axis=(0, 0, 1))"""


# -- refusals ----------------------------------------------------------------------------------------------------------


def refusal(mb, loop="ring", hinge="left1", kind=ModelError):
    with pytest.raises(kind) as error:
        recut(mb, loop, hinge)
    return str(error.value)


def test_unknown_names_are_refused():
    mb = two_arms(3, sc.Spherical(), "left2", sc.Pin(Z))
    assert refusal(mb, "rung") == "there is no loop 'rung'; did you mean 'ring'?"
    assert refusal(mb, hinge="left3") == (
        "recut: 'arms' has no hinge or body 'left3'; did you mean 'left2' or 'left1'? "
        "sc.loops.cut(mb).loop(name) gives the hinges of a loop."
    )
    assert refusal(mb, hinge=7).startswith("recut: give a body, hinge or dof of 'arms', or its name, ")
    assert refusal(mb.subgraph(["left1"])).startswith("recut takes a Multibody, got SubGraph 'arms[left1]'")
    for name in ("base", "beside"):
        assert refusal(mb, hinge=name, kind=LoopError) == (
            f"recut: hinge {name!r} is not on loop 'ring', which goes by 'left2', 'left1', 'right1', 'right2'."
        )


def test_a_loop_that_is_open_is_refused():
    mb = two_arms(3, sc.Spherical(), "left2", sc.Pin(Z))
    q, v = mb.q.copy(), mb.v.copy()
    mb.v = v + 0.1
    assert refusal(mb, kind=LoopError).startswith("recut: loop 'ring' of 'arms' opens at ")
    mb.set_state(mb.integrate(q, np.full(mb.nv, 0.1)), v)
    text = refusal(mb, kind=LoopError)
    assert text.startswith("recut: loop 'ring' of 'arms' is open by ")
    assert text.endswith(
        " rad, so its bodies cannot all stay as they are. Close it first: s.assemble(q), "
        "s.project_velocity(q, v) of a solver s."
    )
    mb.remove_loop("ring")
    mb.close_loop("ring", "left2/tip", "right2", sc.Pin(Z), active=False)
    assert refusal(mb, kind=LoopError) == "recut: loop 'ring' of 'arms' is inactive; it closes nothing."


@pytest.mark.parametrize(
    "numbers",
    [{"armature": 0.1}, {"passive": sc.Passive(damping=0.1)}, {"limits": sc.Limits(effort=3.0)}],
    ids=lambda numbers: next(iter(numbers)),
)
def test_what_a_closure_cannot_have_is_refused(numbers):
    mb = two_arms(3, sc.Spherical(), "left2", sc.Pin(Z))
    for name, value in numbers.items():
        setattr(mb.body("left1"), name, value)
    assert refusal(mb) == (
        "recut: hinge 'left1' has armature, springs, dampers, friction or limits, which a closure cannot have; take "
        "them away first."
    )
    assert recut(mb, "ring", "right1").loops.names == ("right1",)


def test_what_a_turned_hinge_cannot_have_is_refused():
    mb = two_arms(3, sc.Spherical(), "left2", sc.Pin(Z))
    mb.body("left2").armature = [1.0, 2.0, 3.0]
    assert refusal(mb).startswith("recut: hinge 'left2' (Spherical()) would be turned around, but has springs, or")
    mb.body("left2").armature = 0.0
    mb.add_actuator(sc.Actuator("motor", "motor", {"left2.1": 1.0}))
    assert refusal(mb) == (
        "recut: actuator 'motor' drives 'left2.1', a dof that has other axes once its hinge is reversed; "
        "take the actuator away first."
    )


def test_couplings_and_actuators_of_the_cut_hinge_are_refused():
    mb = two_arms(3, sc.Planar(), "left2", sc.Pin(Z))
    tie(mb, "gear", ["left2.0", "right2.1"], [(1.0,), (2.0,)])
    mb.add_actuator(sc.Actuator("motor", "motor", {"right1.2": 1.0}))
    assert refusal(mb, hinge="right2") == (
        "recut: dof 'right2.1' is part of coupling 'gear', so hinge 'right2' must stay in the tree."
    )
    assert refusal(mb, hinge="right1") == (
        "recut: actuator 'motor' drives 'right1.2', so hinge 'right1' must stay in the tree."
    )


def test_names_that_would_be_there_twice_are_refused():
    mb = FourBar().build(0.7)
    mb.couple("crank", {"rocker": 1.0}, mb.q[2], active=False)
    assert refusal(mb, hinge="crank") == (
        "recut: 'four_bar' has a hinge and a loop or coupling of the name 'crank'; rename one."
    )
    mb.add_body("flag", "crank", sc.Pin(Z), hinge_name="ring")
    assert refusal(mb, hinge="rocker") == (
        "recut: 'four_bar' has a hinge and a loop of the name 'ring'; rename one."
    )


def test_a_long_ring_is_turned_around_without_deep_calls():
    n = 400
    mb = sc.serial_chain(n)
    mb.root.add_node("end", sc.Pose(translation=(n, 0, 0)))
    mb.close_loop("ring", "inertial/end", f"link{n}/tip", sc.Pin((0, 1, 0)))
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(len(inspect.stack(0)) + 200)
        other = recut(mb, "ring", "link1")
    finally:
        sys.setrecursionlimit(limit)
    assert [body.name for body in other.bodies] == [f"link{k}" for k in range(n, 0, -1)]
