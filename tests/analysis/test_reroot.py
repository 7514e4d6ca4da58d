"""Another base, the same mechanics: poses, velocities, accelerations, energy, momentum; and back again."""

import numpy as np
import pytest
from tests.analysis.cases import armed
from tests.dynamics.calls import GRAVITY, close

import soacraft as sc
from soacraft import analysis, dynamics
from soacraft.analysis import reroot
from soacraft.errors import ModelError
from soacraft.model.hinges import examples

TURNABLE = [hinge for hinge in examples() if hinge.holonomic]


def floating(seed=1, hinges=TURNABLE, n=None, branching=0.4):
    """A free base, and a hinge of every kind that can be turned around outboard of it."""
    n = len(hinges) if n is None else n
    rest = sc.random_tree(n, seed, hinges, branching, gravity=GRAVITY)
    mb = sc.Multibody("floating", GRAVITY)
    base = mb.add_body("base", None, sc.Free(), sc.Inertia(2.0, (0.1, 0.2, -0.1), np.diag([0.3, 0.4, 0.5])),
                       sc.Pose.from_rpy(0.3, 0.2, 0.1, translation=(1, 2, 3)), hinge_name="floats")  # fmt: skip
    base.add_node("mark", sc.Pose(translation=(0.1, 0.2, 0.3)))
    for body in rest.bodies:
        parent = "base" if body.parent is rest.root else body.parent.name
        twin = mb.add_body(body.name, parent, body.hinge, body.inertia, body.inboard, body.outboard)
        twin.add_node("tip", sc.Pose.from_rpy(0.1, 0.5, 0.2, translation=(0.3, 0.1, -0.2)))
    q, v = mb.random_state(seed)
    mb.set_state(q, v, np.random.default_rng(seed).standard_normal(mb.nv))
    return mb


def same_motion(one, other, tolerance=1e-11):
    """Poses, velocities, accelerations of all bodies; energy and momentum."""
    names = [body.name for body in one.bodies]
    for kind, given in (("poses", 1), ("velocities", 2), ("accelerations", 3)):
        found, wanted = (
            getattr(dynamics, kind)(mb, *(mb.q, mb.v, mb.vdot)[:given]) for mb in (other, one)
        )
        for name in names:
            if kind == "poses":
                close(found[name].rotation, wanted[name].rotation, tolerance)
                close(found[name].translation, wanted[name].translation, tolerance)
            else:
                close(np.asarray(found[name]), np.asarray(wanted[name]), tolerance)
    for kind in ("kinetic_energy", "momentum"):
        found, wanted = (np.asarray(getattr(dynamics, kind)(mb, mb.q, mb.v)) for mb in (other, one))
        close(found, wanted, tolerance)
    found, wanted = (dynamics.potential_energy(mb, mb.q) for mb in (other, one))
    close(found, wanted, tolerance)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_body_as_base(seed):
    mb = floating(seed)
    for body in mb.bodies:
        other = reroot(mb, body)
        assert [x.name for x in other.root.children] == [body.name]
        assert {x.hinge_name for x in other.bodies} == {x.hinge_name for x in mb.bodies}
        same_motion(mb, other)
        same_motion(mb, reroot(other, "base"))


@pytest.mark.parametrize("hinge", TURNABLE, ids=lambda hinge: type(hinge).__name__)
def test_each_hinge_turned_twice_is_itself(hinge):
    mb = floating(1, [hinge], 2, branching=0.0)
    back = reroot(reroot(mb, "body2"), "base")
    same_motion(mb, back)
    np.testing.assert_allclose(back.v, mb.v, atol=1e-12)
    for body in mb.bodies:
        twin = back.body(body.name)
        assert twin.hinge.nv == body.hinge.nv
        close(np.asarray(twin.inertia.matrix()), np.asarray(body.inertia.matrix()), 1e-15)


def test_forces_cause_the_same_accelerations():
    """Under gravity and forces on nodes, with dofs driven as before: forward dynamics of both."""
    mb = floating(2)
    mb.set_force("base/mark", sc.Wrench((1, 2, 3), (4, 5, 6)))
    mb.set_force("body5/tip", sc.Wrench((1, 0, -1), (2, 1, 0), expressed_in="body2"))
    for body in mb.bodies[1:]:
        if not isinstance(body.hinge, sc.Spherical | sc.Free) and body.hinge.nv:
            body.armature = 0.1 + np.arange(body.hinge.nv)
    torque = np.zeros(mb.nv)
    for i, body in enumerate(mb.bodies[1:]):
        if not isinstance(body.hinge, sc.Spherical | sc.Free):
            torque[body.v_slice] = i + np.arange(body.hinge.nv)
    mb.vdot = dynamics.forward_dynamics(mb, mb.q, mb.v, torque)
    for name in ("body4", "body9", "body11"):
        other = reroot(mb, name)
        same_motion(mb, other)
        turned = {x.hinge_name: x for x in other.bodies}
        forces = np.zeros(other.nv)
        for body in mb.bodies[1:]:
            twin = turned[body.hinge_name]
            part = torque[body.v_slice]
            forces[twin.v_slice] = part if twin.name == body.name else part[::-1]
        vdot = dynamics.forward_dynamics(other, other.q, other.v, forces)
        close(vdot, other.vdot, 1e-10)
        assert other.acting_forces.keys() != set()


def test_rerooting_the_base_is_a_copy():
    mb = floating(1)
    other = reroot(mb, "base")
    assert other is not mb
    np.testing.assert_array_equal(other.q, mb.q)
    assert str(other.tree()) == str(mb.tree())


def test_the_model_is_left_alone():
    mb = floating(1)
    before, text = mb.q.copy(), str(mb.tree())
    reroot(mb, "body7")
    np.testing.assert_array_equal(mb.q, before)
    assert str(mb.tree()) == text


def test_generalized_jacobian_does_not_depend_on_the_base():
    """The zero-momentum velocity of a node, for the same rates of the hinges between."""
    mb = floating(4, [sc.Pin((1, 2, 3)), sc.Prismatic((0, 1, 1)), sc.Helical((1, 0, 0), 0.2)], 5)
    other = reroot(mb, "body4")
    ours = analysis.generalized_jacobian(mb, mb.q, "body2/tip")
    theirs = analysis.generalized_jacobian(other, other.q, "body2/tip")
    names, there = mb.dof_names[6:], other.dof_names[6:]
    close(theirs[:, [there.index(name) for name in names]], ours, 1e-11)


def test_what_the_model_holds_comes_along():
    hinges = [sc.Pin((0, 0, 1)), sc.Gimbal(np.eye(3)), sc.Spherical(), sc.Prismatic((1, 0, 0))]
    mb = floating(1, hinges, 4, branching=0.0)
    by_kind = {type(body.hinge): body for body in mb.bodies}
    pin, gimbal, ball = (by_kind[kind] for kind in (sc.Pin, sc.Gimbal, sc.Spherical))
    gimbal.armature = [0.1, 0.2, 0.3]
    gimbal.passive = sc.Passive([1, 2, 3], [4, 5, 6], [7, 8, 9], [0.1, 0.2, 0.3])
    gimbal.limits = sc.Limits([-1, -2, -3], [1, 2, 3], [4, 5, 6], [7, 8, 9])
    ball.armature, ball.passive, ball.limits = 0.4, sc.Passive(damping=0.3), sc.Limits(upper=1.0)
    dofs = mb.dof_names[gimbal.v_slice]
    mb.close_loop("ring", "body1/tip", "body4/tip", sc.Spherical())
    mb.couple("gear", {dofs[0]: 1.0, pin.hinge_name: -2.0}, 0.25)
    mb.add_actuator(sc.Actuator("motor", "motor", {dofs[2]: 5.0}))
    mb.add_keyframe(sc.Keyframe("start", mb.q, mb.v))
    mb.add_material(sc.Material("steel", (0.5, 0.5, 0.5, 1.0)))
    mb.add_record(sc.Record("sensor", "imu", {"site": "base/mark"}))
    gimbal.add_geometry(sc.Geometry("shape", "sphere", (0.1,)))
    other = reroot(mb, "body4")
    twin = next(body for body in other.bodies if body.hinge_name == gimbal.hinge_name)
    assert twin.name != gimbal.name
    np.testing.assert_array_equal(twin.armature, [0.3, 0.2, 0.1])
    assert twin.passive == sc.Passive([3, 2, 1], [6, 5, 4], [9, 8, 7], [0.3, 0.2, 0.1])
    assert twin.limits == sc.Limits([-3, -2, -1], [3, 2, 1], [6, 5, 4], [9, 8, 7])
    twin = next(body for body in other.bodies if body.hinge_name == ball.hinge_name)
    np.testing.assert_array_equal(twin.armature, 0.4)
    assert repr(other.loops["ring"]) == repr(mb.loops["ring"])
    assert other.couplings["gear"].terms == {dofs[2]: (1.0,), pin.hinge_name: (-2.0,)}
    assert other.actuators["motor"].gears == {dofs[0]: 5.0}
    np.testing.assert_allclose(other.keyframes["start"].q, other.q, atol=1e-14)
    np.testing.assert_allclose(other.keyframes["start"].v, other.v, atol=1e-14)
    assert other.materials["steel"] == mb.materials["steel"]
    assert other.records[0] == mb.records[0]
    assert [x.name for x in other.body(gimbal.name).geometries] == ["shape"]
    spring = -gimbal.passive.stiffness * (mb.q[gimbal.q_slice] - gimbal.passive.rest)
    spring -= gimbal.passive.damping * mb.v[gimbal.v_slice]
    twin = next(body for body in other.bodies if body.hinge_name == gimbal.hinge_name)
    close(dynamics.passive_force(other, other.q, other.v)[twin.v_slice], spring[::-1], 1e-13)


def test_hinges_off_the_path_keep_everything():
    """Only hinges that are turned around lose what cannot be told of them."""
    mb = sc.Multibody("star", (0, 0, 0))
    inertia = sc.Inertia(1.0, (0, 0, 0), np.eye(3))
    mb.add_body("base", None, sc.Free(), inertia)
    mb.add_body("arm", "base", sc.Pin((0, 0, 1)), inertia)
    for name, hinge in (("ball", sc.Spherical()), ("loose", sc.Free()), ("rolls", sc.RollingBall(0.3))):
        body = mb.add_body(name, "base", hinge, inertia)
        body.armature = np.arange(1.0, 1.0 + hinge.nv)
        body.passive = sc.Passive(damping=np.arange(hinge.nv))
        body.limits = sc.Limits(velocity=np.arange(1.0, 1.0 + hinge.nv))
    mb.body("ball").passive = sc.Passive(stiffness=[1, 2, 3], rest=[0, 0, 1, 0])
    mb.add_actuator(sc.Actuator("motor", "motor", {"ball.1": 2.0}))
    other = reroot(mb, "arm")
    for name in ("ball", "loose", "rolls"):
        body, twin = mb.body(name), other.body(name)
        np.testing.assert_array_equal(twin.armature, body.armature)
        assert (twin.passive, twin.limits) == (body.passive, body.limits)
    assert other.actuators["motor"].gears == {"ball.1": 2.0}


def spoiled(**changes):
    """base - ball - end, the middle hinge with something on it."""
    mb = sc.Multibody("spoiled", (0, 0, 0))
    inertia = sc.Inertia(1.0, (0, 0, 0), np.eye(3))
    mb.add_body("base", None, sc.Free(), inertia)
    mb.add_body("ball", "base", changes.pop("hinge", sc.Spherical()), inertia)
    mb.add_body("end", "ball", sc.Pin((0, 0, 1)), inertia)
    for name, value in changes.items():
        setattr(mb.body("ball"), name, value)
    return mb


@pytest.mark.parametrize(
    "changes",
    [
        {"armature": [1.0, 2.0, 3.0]},
        {"passive": sc.Passive(stiffness=1.0)},
        {"passive": sc.Passive(damping=[1.0, 0.0, 0.0])},
        {"passive": sc.Passive(friction=[0.0, 0.0, 1.0])},
        {"limits": sc.Limits(velocity=[1.0, 2.0, 3.0])},
        {"hinge": sc.Free(), "armature": 1.0},
        {"hinge": sc.Free(), "limits": sc.Limits(effort=1.0)},
    ],
)
def test_what_a_turned_hinge_cannot_have(changes):
    mb = spoiled(**changes)
    with pytest.raises(ModelError) as error:
        reroot(mb, "end")
    assert str(error.value) == (
        f"reroot: hinge 'ball' ({mb.body('ball').hinge!r}) would be turned around, but has springs, or armature, "
        "dampers, friction or limits that are not the same in all directions, which the turned hinge cannot have; "
        "take them away first."
    )


def test_refusals():
    mb = spoiled()
    with pytest.raises(ModelError, match=r"reroot takes a Multibody, got .*; a sub-graph has its own anchor"):
        reroot(mb.subgraph(["ball", "end"]), "end")
    with pytest.raises(ModelError, match="reroot is for a free-floating model: one base body on a Free"):
        reroot(sc.load("arm7"), "link3")
    with pytest.raises(ModelError, match="'spoiled' has no body or hinge 'arm'"):
        reroot(mb, "arm")
    rolling = spoiled(hinge=sc.RollingBall(0.5))
    with pytest.raises(ModelError) as error:
        reroot(rolling, "end")
    assert str(error.value) == (
        "reroot: the hinge RollingBall(radius=0.5, normal=(0, 0, 1)) of 'ball' cannot be turned around."
    )
    mb.add_actuator(sc.Actuator("thruster", "motor", {"base.4": 1.0}))
    with pytest.raises(ModelError) as error:
        reroot(mb, "end")
    assert str(error.value) == (
        "reroot: actuator 'thruster' drives 'base.4', a dof that has other axes from another base; take the "
        "actuator away first."
    )
    held = spoiled()
    held.body("base").passive = sc.Passive(damping=1.0)
    with pytest.raises(ModelError) as error:
        reroot(held, "end")
    assert str(error.value) == (
        "reroot: the free hinge 'base' has armature, springs, dampers, friction or limits, which hold 'base' alone; "
        "take them away first."
    )


def test_a_spherical_hinge_with_even_rotors():
    """Armature that is the same about all axes goes with the turned hinge."""
    mb = armed(spoiled(armature=0.7))
    mb.body("base").armature = 0.0
    mb.set_state(*mb.random_state(1))
    force = np.zeros(mb.nv)
    mb.vdot = dynamics.forward_dynamics(mb, mb.q, mb.v, force)
    other = reroot(mb, "end")
    close(dynamics.forward_dynamics(other, other.q, other.v, force), other.vdot, 1e-11)
