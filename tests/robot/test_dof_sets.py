"""Actuated and movable dofs: every public function that chooses or pushes dofs is in a table, and keeps to its set.

A new public function of these rooms fails here until it is in the table; one that pushes or moves dofs needs a call.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from tests.robot.dof_cases import CASES, flexible_arm, flexible_four_bar, humanoid, lid_in_hand

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft import robot as rob
from soacraft.errors import LoopError, ModelError, SoacraftError, StateError

WITH_METHODS = (rob.Robot, rob.World, rob.Limb, rob.VelocityPlan, rob.Tracker, sc.loops.Solver)

#: Public functions that neither push nor choose dofs: they report, convert, hold, or move what the caller gives.
NEITHER = {
    "admittance", "balance_load", "capture_point", "estimate_offsets", "estimate_payload", "grasp_quality",
    "grasp_strength", "ground_wrench", "minimum_jerk", "move_squeeze", "polyline", "spline", "stance",
    "standing_region", "support_polygon", "task_error", "time_optimal", "tip_over", "zero_moment_point",
    "study.footfalls", "study.load", "study.singularities",
    "components.Admittance", "components.Payload",
    "kinematics.report", "loops.aggregate", "loops.cut", "loops.equilibrium", "loops.forward_dynamics_derivatives",
    "loops.geared_sko", "loops.linearize", "loops.modes", "loops.recut", "loops.report",
    *(f"Robot.{x}" for x in (
        "apply", "attach", "changes", "copy", "detach", "grasp", "hand", "limb", "predict", "reactions", "read_srdf",
        "remove_limb", "strength", "undo", "ungrasp")),
    *(f"World.{x}" for x in (
        "add", "add_points", "allow", "body_of", "collides", "copy", "detail", "disallow", "distances", "edge",
        "edges", "give_to_robot", "hide", "item", "move", "pad", "remove", "replace", "scene_on", "scenes_of_robot",
        "set_state", "show", "touching")),
    *(f"Limb.{x}" for x in (
        "apart", "columns", "jacobian", "manipulability", "of_robot", "placed", "pose", "read_q", "torques",
        "true_pose", "use", "use_as")),
    "VelocityPlan.aim", "VelocityPlan.shortfall", "Tracker.rest",
    *(f"Solver.{x}" for x in (
        "bias_force", "binding", "compiled_parts", "constraint_matrix", "driving_parts", "follow", "forward_dynamics",
        "gravity_force", "independent", "inverse_dynamics", "jacobian", "mass_matrix", "mass_matrix_inverse",
        "mixed_dynamics", "operational_space_compliance", "operators", "project", "project_velocity", "sko",
        "velocity_map")),
}  # fmt: skip


def public():
    """Names of the functions, and of the methods of classes that act, in the rooms that choose dofs."""
    found = {x for x in rob.__all__ if inspect.isfunction(getattr(rob, x))}
    found |= {f"study.{x}" for x in rob.study.__all__ if inspect.isfunction(getattr(rob.study, x))}
    found |= {f"components.{x}" for x in rob.components.__all__}
    for room in (sc.kinematics, sc.loops):
        name = room.__name__.rpartition(".")[2]
        found |= {f"{name}.{x}" for x in room.__all__ if inspect.isfunction(getattr(room, x))}
    for kind in WITH_METHODS:
        found |= {f"{kind.__name__}.{x}" for x, f in inspect.getmembers(kind, callable) if not x.startswith("_")}
    return found


# -- calls ------------------------------------------------------------------------------------------------------------


def target(c):
    return (c.q, np.zeros(c.mb.nv), np.full(c.mb.nv, 0.5))


def wish(c):
    return np.full(c.mb.nv, 0.5)


def around(c):
    """A world in which nothing is but the robot."""
    world = rob.World(c.rb)
    if c.mb.name == "five_bar":                                    # its meshes are not here
        for shape in [f"{body.name}/{x}" for body in c.mb.bodies for x in body._geometries if x == "collision"]:
            world.hide(shape)
    return world


def standing(c):
    feet = ["left_ankle_link", "right_ankle_link"] if "left_ankle_link" in c.mb else [c.mb.bodies[0].name]
    return rob.stance(c.rb, c.q, feet, friction=0.7)


def knots(c):
    many = np.ones((3, 1))
    return np.linspace(0.0, 0.2, 3), many * c.q, many * c.v, many * np.zeros(c.mb.nv)


def component(law):
    def force(c):
        made, more = law(c)
        return type(made).force(made.p, *more(c))

    return force


def state(c):
    return c.q, c.v


LAWS = rob.components
#: What pushes dofs: a call that gives the generalized force (..., nv).
ACTUATED = {
    "gravity": lambda c: rob.gravity(c.rb, c.q),
    "friction": lambda c: rob.friction(c.rb, np.ones(c.mb.nv), viscous=1.0, coulomb=2.0),
    "feed_forward": lambda c: rob.feed_forward(c.rb, c.q, c.v, wish(c)),
    "computed_torque": lambda c: rob.computed_torque(c.rb, c.q, c.v, target(c), 25.0, 10.0),
    "decoupled": lambda c: rob.decoupled(c.rb, c.q, c.v, 1.0),
    "operational_space": lambda c: rob.operational_space(
        c.rb, c.limb, c.q, c.v, [0.1], np.ones(c.mb.nv), rows=[3]).force,
    "impedance": lambda c: rob.impedance(
        c.rb, c.limb, c.q, c.v, c.limb.pose(c.q[c.limb.q_places]), np.ones(6), 1.0, 1.0),
    "lqr": lambda c: rob.lqr(c.rb, c.q).force,
    "lqr_path": lambda c: rob.lqr_path(c.rb, *knots(c)).force,
    "foot_forces": lambda c: rob.foot_forces(standing(c), spread=1e-3).force,
    "carry": lambda c: rob.carry(c.rb, "box", ["link7"], c.q, c.v, np.zeros(6)).force,
    "study.sizing": lambda c: rob.study.sizing(c.rb, knots(c)).torque,
    "study.payload": lambda c: rob.study.payload(c.limb, c.q[None, c.limb.q_places]),
    "study.gait": None, "study.limit": None, "study.largest_payload": None, "study.largest_reach": None,
    "study.largest_slope": None, "study.largest_speed": None, "study.sequence": None,
    "components.GravityCompensation": component(lambda c: (LAWS.GravityCompensation(robot=c.rb), lambda c: (c.q,))),
    "components.FrictionCompensation": component(
        lambda c: (LAWS.FrictionCompensation(robot=c.rb, viscous=1.0), lambda c: (np.ones(c.mb.nv),))),
    "components.FeedForward": component(
        lambda c: (LAWS.FeedForward(robot=c.rb), lambda c: (*state(c), wish(c)))),
    "components.ComputedTorque": component(
        lambda c: (LAWS.ComputedTorque(robot=c.rb, kp=9.0, kd=6.0), lambda c: (*state(c), *target(c)))),
    "components.Decoupled": component(
        lambda c: (LAWS.Decoupled(robot=c.rb, damping=1.0), lambda c: (*state(c), c.q, np.zeros(c.mb.nv)))),
    "components.LQR": component(lambda c: (LAWS.LQR(robot=c.rb, q0=c.q), state)),
    "components.PathLQR": component(lambda c: (
        LAWS.PathLQR(robot=c.rb, **dict(zip(("times", "path_q", "path_v", "path_vdot"), knots(c), strict=True))),
        lambda c: (0.1, *state(c)))),
    "components.OperationalSpace": component(
        lambda c: (LAWS.OperationalSpace(robot=c.rb, tip=c.tip, base=c.limb.base.full_name, rows=(3,)),
                   lambda c: (*state(c), np.array([0.1]), np.ones(c.mb.nv)))),
    "components.Impedance": component(
        lambda c: (LAWS.Impedance(robot=c.rb, tip=c.tip, base=c.limb.base.full_name, kp=1.0, kd=1.0),
                   lambda c: (*state(c), np.array([0, 0, 0, 1.0, 0.1, 0.2, 0.3]), np.ones(6)))),
    "components.FeetForces": component(
        lambda c: (LAWS.FeetForces(robot=c.rb, feet=standing(c).feet), lambda c: (*state(c), np.zeros(c.mb.nv)))),
    "components.Carrying": component(
        lambda c: (LAWS.Carrying(robot=c.rb, object="box", hands=("link7",)), lambda c: (*state(c), np.zeros(6)))),
}  # fmt: skip

#: Calls that need other arguments: they take motors from `studies.efforts`, which is checked by itself.
BY_EFFORTS = {x for x, call in ACTUATED.items() if call is None} | {"study.sizing", "study.payload"}

#: Laws that a robot does not have: what is refused, and why.
REFUSED = {
    ("gravity", "humanoid"): "has no motor and needs a force",
    ("decoupled", "flexible"): "needs a motor at every dof of 'flexible arm', and 'beam.mode0' has none",
    ("decoupled", "lid"): "needs a motor at every dof of 'panda', and 'lid' has none",
    ("decoupled", "bars"): "decoupled is for trees",
    ("decoupled", "humanoid"): "needs a motor at every dof",
    ("lqr", "flexible"): "'beam.mode2' has no motor and needs a force of .*: no equilibrium. Bend the flexible bodies",
    ("lqr", "lid"): "'lid' has no motor and needs a force of .*: no equilibrium",
    ("lqr", "bars"): "(cannot|do not) bring it back",              # a knob spins freely: rounding chooses
    ("lqr", "humanoid"): "has no motor and needs a force of .*: no equilibrium",
    ("lqr_path", "flexible"): "'beam.mode2' has no motor and needs a force of .*: no equilibrium. Bend the flexible",
    ("lqr_path", "lid"): "'lid' has no motor and needs a force of .*: no equilibrium",
    ("lqr_path", "humanoid"): "has no motor and needs a force of .*: no equilibrium",
    ("carry", "lid"): "'box' has parts that move by themselves, such as 'lid'",
    ("carry", "flexible"): "has no frame 'box'",
    ("carry", "bars"): "has no frame 'box'",
    ("carry", "humanoid"): "has no frame 'box'",
}
SAME = {"components.GravityCompensation": "gravity", "components.Decoupled": "decoupled", "components.LQR": "lqr",
        "components.PathLQR": "lqr_path", "components.Carrying": "carry"}  # fmt: skip


def aim(c):
    return sc.Position(c.tip, c.mb.pose(c.tip, state=c.mb.state(c.q)).translation + np.array([0.02, 0.03, -0.02]))


def posture(c):
    return rob.Posture(c.mb.integrate(c.q, 0.1 * np.ones(c.mb.nv)), level=1)


def near_goal(c):
    """A configuration of the robot nearby; where loops are, on them."""
    return np.asarray(around(c).sample(3, 1))[0]


def planned(c):
    if c.mb.name == "flexible arm":                                # no bounds on how it moves shapes: refused
        with pytest.raises(StateError, match="an edge needs bounds on how far hinges move things, and body 'beam'"):
            rob.plan(around(c), c.q, near_goal(c), most=20)
        return c.q
    found = rob.plan(around(c), c.q, near_goal(c), most=20)
    return found.path if found.found else c.q


def tracked(c):
    limits = rob.MotionLimits.of(c.rb, velocity=1.0, acceleration=1.0, jerk=1.0)
    tracker = rob.Tracker(c.rb, 0.1, limits)
    assert tracker.dof_names == c.rb.movable
    hinges = zip(c.mb.layout.hinge_q, c.mb.layout.hinge_v, strict=True)
    moves = [q for q, v in hinges if v.stop > v.start and c.mb.dof_names[v.start] in c.rb.movable]
    places = np.concatenate([np.arange(q.start, q.stop) for q in moves])
    goal = c.q[places]
    goal[-1] -= 0.01
    q = c.q.copy()
    q[places] = tracker.step(tracker.rest(c.q[places]), goal).q
    assert q[places[-1]] < c.q[places[-1]]
    return q


#: What chooses dofs: a call that gives configurations (..., nq).
MOVABLE = {
    "Robot.velocity": lambda c: c.mb.integrate(c.q, 0.05 * c.rb.velocity([aim(c), posture(c)], c.q, 0.05).v),
    "Robot.velocity_plan": lambda c: c.mb.integrate(c.q, 0.05 * c.rb.velocity_plan([aim(c)]).step(c.q, 0.05).v),
    "VelocityPlan.step": lambda c: c.mb.integrate(c.q, 0.05 * c.rb.velocity_plan([posture(c)]).step(c.q, 0.05).v),
    "VelocityPlan.reference": lambda c: c.mb.integrate(
        c.q, 0.05 * c.rb.velocity_plan([aim(c)]).reference(c.q, 0.05).v),
    "Robot.reach": lambda c: c.rb.reach([aim(c), posture(c)], c.q, starts=2, steps=40).q,
    "World.sample": lambda c: rob.World(c.rb).sample(0, 4),
    "World.make_allowed": None, "World.check": None, "Robot.grasps": None, "Robot.update_attachment": None,
    "plan": lambda c: planned(c),
    "Limb.ik": lambda c: c.limb.of_robot(c.limb.ik(c.limb.pose(c.q[c.limb.q_places])).q),
    "Limb.solutions": None, "Limb.follow": None, "Limb.self_motion": None, "study.reach_map": None,
    "Tracker.step": tracked, "study.mass_properties": None,
    "kinematics.inverse_kinematics": lambda c: sc.inverse_kinematics(c.mb, [aim(c)], q0=c.q, allow_partial=True).q,
    "Solver.assemble": lambda c: sc.loops.TreeAugmented(c.mb).assemble(
        c.mb.integrate(c.q, np.where([x in c.still for x in c.mb.dof_names], 0.0, 1e-3))) if c.mb.is_closed else c.q,
}  # fmt: skip


# -- the table --------------------------------------------------------------------------------------------------------


def test_every_public_function_is_in_the_table():
    known = [ACTUATED.keys(), MOVABLE.keys(), NEITHER]
    listed = [x for names in known for x in names]
    assert len(listed) == len(set(listed))
    assert public() - set(listed) == set(), "say which dofs these push or choose"
    assert set(listed) - public() == set(), "these are no more"


@pytest.mark.parametrize("case", CASES)
def test_the_two_sets_of_a_robot(case):
    c = CASES[case]()
    assert c.rb.actuated == c.actuated
    assert tuple(x for x in c.mb.dof_names if x not in c.rb.movable) == c.still


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("law", [x for x in ACTUATED if x not in BY_EFFORTS])
def test_laws_push_actuated_dofs_alone(law, case):
    if (law == "foot_forces" and case != "humanoid") or (law == "components.FeetForces" and case != "humanoid"):
        return
    c = CASES[case]()
    text = REFUSED.get((SAME.get(law, law), case))
    if text is not None:
        with pytest.raises(SoacraftError, match=text):
            ACTUATED[law](c)
        return
    force = np.asarray(ACTUATED[law](c))
    assert force.shape[-1] == c.mb.nv
    assert not force[..., c.idle].any()
    assert force[..., ~c.idle].any()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("call", [x for x, f in MOVABLE.items() if f is not None])
def test_kinematics_moves_movable_dofs_alone(call, case):
    c = CASES[case]()
    if call == "Tracker.step" and c.mb.is_closed:                  # its dofs are tied: refused by name
        with pytest.raises(StateError):
            MOVABLE[call](c)
        return
    q = np.asarray(MOVABLE[call](c))
    assert q.shape[-1] == c.mb.nq
    np.testing.assert_array_equal(q[..., c.stays], np.broadcast_to(c.q[c.stays], q[..., c.stays].shape))


def test_samples_of_mass_properties_leave_the_lid():
    """Its centre of mass within the box is the same in all of them; that of the arm is not."""
    c = lid_in_hand()
    seen = rob.study.mass_properties(c.rb, bodies=["box", "lid"], samples=4, frame="box").com
    assert np.ptp(seen, axis=0).max() < 1e-12
    assert np.ptp(rob.study.mass_properties(c.rb, samples=4).com, axis=0).max() > 1e-3


@pytest.mark.parametrize("case", CASES)
def test_studies_have_motors_at_actuated_dofs(case):
    from soacraft.robot.studies.efforts import efforts_of

    c = CASES[case]()
    np.testing.assert_array_equal(efforts_of(c.mb, held=c.rb.held).motors, ~c.idle)


# -- figures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["flexible", "lid", "bars", "humanoid"])
def test_laws_give_their_accelerations_to_the_dofs_with_a_motor(case):
    """By forward dynamics of the robot as it is, where all else goes as it will."""
    c = CASES[case]()
    a = np.where(c.idle, 0.0, np.linspace(-1.0, 1.0, c.mb.nv))
    T = rob.feed_forward(c.rb, c.q, c.v, a)
    np.testing.assert_allclose(c.vdot(T)[~c.idle], a[~c.idle], atol=1e-7 * max(1.0, np.abs(c.vdot(T)).max()))
    T = rob.computed_torque(c.rb, c.q, c.v, target(c), 25.0, 10.0)
    np.testing.assert_allclose(c.vdot(T)[~c.idle], 0.5, atol=1e-7 * max(1.0, np.abs(c.vdot(T)).max()))


def test_velocity_turns_hinges_and_bends_nothing():
    c = flexible_arm()
    step = c.rb.velocity([aim(c)], c.q, 0.05)
    assert step.still == c.still
    assert "still: beam.mode0" in repr(step)
    assert not step.v[c.idle].any()
    assert np.abs(step.v[~c.idle]).max() > 0.05
    assert max(step.left.values()) < 1e-6


def test_reach_finds_by_turning_and_misses_where_hinges_miss():
    c = flexible_arm()
    found = c.rb.reach([aim(c)], c.q)
    assert found.found
    assert found.still == c.still
    far = np.asarray(c.mb.pose(c.tip, state=c.mb.state(c.q)).translation) * 10.0
    assert not c.rb.reach([sc.Position(c.tip, far)], c.q, starts=2, steps=30).found


def test_a_posture_is_one_of_the_movable_dofs():
    c = flexible_arm()
    aimed = c.mb.integrate(c.q, np.full(c.mb.nv, 0.1))             # modes too: they stay, and count for nothing
    found = c.rb.reach([rob.Posture(aimed)], c.q)
    assert found.residual["posture"] < 1e-9
    step = c.rb.velocity([rob.Posture(aimed)], c.q, 0.1)
    assert step.left["posture"] < 1e-9


def test_gravity_is_exact_where_flexible_bodies_rest():
    """At the equilibrium of the modes nothing accelerates; the load is the slope of the weight's energy there."""
    c = flexible_arm()
    bent = sc.analysis.equilibrium(c.mb, fixed=list(c.actuated), q=c.q).q
    T = rob.gravity(c.rb, bent)
    assert np.abs(dyn.forward_dynamics(c.mb, bent, c.v, T)).max() < 1e-8
    weight = dyn.potential_energy
    step = 1e-6 * np.eye(c.mb.nv)[list(c.mb.dof_names).index("fore")]
    slope = (weight(c.mb, c.mb.integrate(bent, step)) - weight(c.mb, c.mb.integrate(bent, -step))) / 2e-6
    assert abs(T[-1] - slope) < 1e-6 * abs(slope)


def test_a_four_bar_that_bends_is_held_by_its_crank():
    """At the equilibrium of the modes, by closed forward dynamics; the law pushes the crank and lets the modes go."""
    mb = flexible_four_bar()
    q = np.array(mb.q)
    q[0], q[1], q[-1] = 0.9, -0.5, 1.0
    rb, s, none = rob.Robot(mb), sc.loops.TreeAugmented(mb), np.zeros(mb.nv)
    bent = sc.loops.equilibrium(s, fixed=["crank"], q=s.assemble(q)).q
    T = rob.gravity(rb, bent, actuated=["crank"])
    assert np.count_nonzero(T) == 1
    assert np.abs(s.forward_dynamics(bent, none, T).vdot).max() < 1e-6
    wanted = np.eye(mb.nv)[0]
    T = rob.computed_torque(rb, bent, none, (bent, none, wanted), 25.0, 10.0, actuated=["crank"])
    assert np.count_nonzero(T) == 1
    vdot = s.forward_dynamics(bent, none, T).vdot
    assert abs(vdot[0] - 1.0) < 1e-6
    assert np.abs(vdot[mb.layout.own.v]).max() > 0.1
    law = rob.lqr(rb, bent, actuated=["crank"])
    assert (law.poles.real < 0.0).all()
    assert not law.K[1:].any()


def test_gravity_with_a_lid_in_the_hand_holds_the_arm():
    """What the motors give holds all their dofs while the lid falls; the lid as a motor was 20 % off at a wrist."""
    c = lid_in_hand()
    T = rob.gravity(c.rb, c.q)
    vdot = dyn.forward_dynamics(c.mb, c.q, c.v, T)
    assert np.abs(vdot[:7]).max() < 1e-9
    assert abs(vdot[7]) > 4.0
    motors = dyn.gravity_force(c.mb, c.q)
    wrong = dyn.forward_dynamics(c.mb, c.q, c.v, np.where(c.idle, 0.0, motors))
    assert np.abs(wrong[:7]).max() > 1.0
    assert abs(motors[5] / T[5] - 1.0) > 0.1
    # a lid that hangs at rest needs nothing, and the load is that of a rigid box
    hanging = sc.analysis.equilibrium(c.mb, free=["lid"], q=c.q).q
    np.testing.assert_allclose(rob.gravity(c.rb, hanging)[:7], dyn.gravity_force(c.mb, hanging)[:7], atol=1e-7)


def test_a_lid_with_a_spring_rests_where_the_spring_holds_it():
    c = lid_in_hand()
    g = dyn.gravity_force(c.mb, c.q)
    c.mb["lid"].passive = sc.Passive(stiffness=2.0, rest=c.q[7] + g[7] / 2.0)
    T = rob.gravity(c.rb, c.q)
    np.testing.assert_allclose(T[:7], g[:7], atol=1e-9)
    assert np.abs(dyn.forward_dynamics(c.mb, c.q, c.v, T)).max() < 1e-8


def test_a_door_in_the_hand_moves_with_the_loop_and_has_no_motor():
    mb = sc.load("panda")
    mb.set_state(q=[0.1, 0.3, 0.2, -1.5, 0.1, 2.0, 0.8])
    mb.add_body("drawer", hinge=sc.Prismatic((1, 0, 0)), inertia=sc.Inertia(1.0, moment=0.1 * np.eye(3)))
    mb.add_body("flap", "drawer", sc.Pin((0, 1, 0)), sc.Inertia(0.2, (0.1, 0, 0), 1e-3 * np.eye(3)))
    rb = rob.Robot(mb)
    rb.attach("drawer", "link7")
    assert rb.actuated == tuple(f"joint{i}" for i in range(1, 8))
    assert "drawer" in rb.movable
    assert "flap" not in rb.movable
    q, v = np.array(mb.q), np.zeros(mb.nv)
    T = rob.gravity(rb, q)
    vdot = sc.loops.TreeAugmented(mb).forward_dynamics(q, v, T).vdot
    assert not T[7:].any()
    assert np.abs(vdot[:8]).max() < 1e-7
    assert abs(vdot[8]) > 1.0
    moved = rb.velocity([sc.Position("drawer", mb.pose("drawer").translation + 0.02 * np.eye(3)[0])], q, 0.1).v
    assert abs(moved[7]) > 1e-3
    assert moved[8] == 0.0


def test_a_four_bar_is_assembled_by_its_hinges():
    """The coupler stays straight: as long as it is, and of zero modes; bend=True lets it bend."""
    mb = flexible_four_bar()
    q = np.array(mb.q)
    q[0], q[1], q[-1] = 0.9, -0.5, 1.0
    for solver in (sc.loops.TreeAugmented, sc.loops.FullyAugmented, sc.loops.ConstraintEmbedding):
        made = solver(mb).assemble(q)
        assert not made[mb.layout.own.q].any()
        assert sc.loops.report(mb, made).closed
        tip, root = (mb.pose(x, state=mb.state(made)).translation for x in ("coupler/tip", "coupler"))
        assert abs(np.linalg.norm(tip - root) - 1.0) < 1e-12
    assert np.abs(sc.loops.TreeAugmented(mb).assemble(q, bend=True)[mb.layout.own.q]).max() > 1e-3
    with pytest.raises(StateError, match="bend of assemble must be True or False, got 'yes'"):
        sc.loops.TreeAugmented(mb).assemble(q, bend="yes")


def test_what_hinges_cannot_close_is_refused_with_the_cure():
    mb = flexible_four_bar()
    q = np.array(mb.q)
    q[0], q[1], q[-1] = 0.9, -0.5, 1.0
    text = (r"cannot be assembled .* Let some of the fixed dofs go \('crank', 'coupler', 'rocker'\).* Flexible bodies "
            r"stay bent as they are in q0, unless bend=True\.")  # fmt: skip
    with pytest.raises(LoopError, match=text):
        sc.loops.TreeAugmented(mb).assemble(q, fixed=["crank", "coupler", "rocker"])


def test_what_never_has_a_motor_cannot_be_named():
    c = flexible_arm()
    with pytest.raises(StateError, match=r"actuated names 'beam\.mode0' of 'flexible arm', an elastic mode"):
        rob.gravity(c.rb, c.q, actuated=c.mb.dof_names)
    c = lid_in_hand()
    with pytest.raises(StateError, match="actuated names 'lid' of 'panda', a dof of what the robot holds"):
        rob.gravity(c.rb, c.q, actuated=[*c.actuated, "lid"])
    with pytest.raises(ModelError, match="limb 'to the lid' has 'lid', a dof of what the robot holds, which it cannot"):
        c.rb.limb("to the lid", "inertial", "lid")
    rock = sc.Multibody("rock")
    rock.add_body("rock", None, sc.Free(), sc.Inertia.sphere(1.0, 0.1))
    with pytest.raises(StateError, match="no dof of 'rock' has a motor: it has no actuators, and no hinge"):
        rob.gravity(rob.Robot(rock), rock.q)


def test_the_base_of_a_humanoid_is_pushed_by_its_feet():
    c = humanoid()
    made = rob.foot_forces(standing(c))
    assert not made.force[c.idle].any()
    assert made.forces.sum(axis=0)[2] == pytest.approx(c.mb.total_mass * 9.81, rel=1e-6)
