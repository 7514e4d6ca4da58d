"""Models whose bodies stand in one order or another, and the calls of robots and runs that read their vectors.

Each function of calls gives {public name: call}; what follows a comma in a name tells calls of one function apart.
"""

from __future__ import annotations

import numpy as np

import soacraft as sc
from soacraft import robot, sim

# -- models -----------------------------------------------------------------------------------------------------------

TREE = {"hip": (None, (0, 0, 1)), "arm": ("hip", (0, 1, 0)), "leg": ("hip", (1, 0, 0)), "foot": ("leg", (0, 1, 0))}
BAR = {"crank": (None, 0.0), "coupler": ("crank", 1.0), "rocker": (None, 2.0)}
WALKER = {"trunk": (None, 0.0), "left": ("trunk", 0.2), "right": ("trunk", -0.2)}
PLANAR = ("one", "two", "three", "four")
#: Another order of the bodies; those of a chain have one order alone.
SWAPPED = {"tree": ("hip", "leg", "foot", "arm"), "bar": ("rocker", "crank", "coupler"),
           "walker": ("trunk", "right", "left")}  # fmt: skip


def tree(names=tuple(TREE), prefix=""):
    """A branching arm, its bodies added in this order."""
    mb = sc.Multibody("tree")
    for name in names:
        (parent, axis), i = TREE[name], 1 + sorted(TREE).index(name)
        inertia = sc.Inertia(0.5 * i, (0.1 * i, 0.02, 0.03), 0.01 * i * np.eye(3))
        above = None if parent is None else prefix + parent
        body = mb.add_body(prefix + name, above, sc.Pin(axis), inertia, sc.Pose(translation=(0.3, 0.1 * i, 0.0)))
        body.add_node("tip", sc.Pose(translation=(0.2, 0.0, 0.1)))
        body.add_geometry(sc.Geometry("skin", "sphere", (0.01 * i,), role="collision"))
    return mb


def bar(names=tuple(BAR), prefix=""):
    """A parallelogram with links of 1, 2 and 1 m."""
    mb = sc.Multibody("bar")
    for name in names:
        parent, x = BAR[name]
        inertia = sc.Inertia(1.0 + len(name), (0.4, 0.05, 0), 0.1 * np.eye(3))
        above = None if parent is None else prefix + parent
        mb.add_body(prefix + name, above, sc.Pin((0, 0, 1)), inertia, sc.Pose(translation=(x, 0, 0)))
    ends = [mb[prefix + name].add_node("end", sc.Pose(translation=(length, 0, 0)))
            for name, length in (("coupler", 2.0), ("rocker", 1.0))]  # fmt: skip
    mb.close_loop("ring", *ends, sc.Pin((0, 0, 1)))
    return mb


def walker(names=tuple(WALKER), prefix=""):
    """A trunk that moves freely on two legs; a third point of the trunk touches the ground."""
    mb = sc.Multibody("walker")
    for name in names:
        parent, y = WALKER[name]
        hinge = sc.Free() if parent is None else sc.Pin((0, 1, 0))
        above = None if parent is None else prefix + parent
        inertia = sc.Inertia.box(3.0 + len(name), (0.2, 0.1, 0.3))
        body = mb.add_body(prefix + name, above, hinge, inertia, sc.Pose(translation=(0.0, y, 0.0)))
        body.add_node("tip", sc.Pose(translation=(-0.4 if parent is None else 0.3, 0.0, -0.5)))
    return mb


def planar(names=PLANAR, prefix=""):
    """A chain of four links in a plane, with one dof more than a pose asks for."""
    mb, above = sc.Multibody("planar", gravity=(0, -9.81, 0)), None
    for name in names:
        at = sc.Pose(translation=(0.0 if above is None else 0.5, 0, 0))
        above = mb.add_body(prefix + name, above, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0.25, 0, 0), 0.1 * np.eye(3)), at)
        above.limits = sc.Limits(-2.0, 2.0, effort=50.0)
        above.add_node("tip", sc.Pose(translation=(0.5, 0, 0)))
    return mb


MAKE = {"tree": tree, "bar": bar, "walker": walker, "planar": planar}
STATE = {
    "tree": ({"hip": 0.3, "arm": -0.5, "leg": 0.8, "foot": 0.4}, {"hip": 1.0, "arm": 0.5, "leg": -0.7, "foot": 0.2}),
    "bar": ({"crank": 0.7, "coupler": -0.7, "rocker": 0.7}, {"crank": 0.9, "coupler": -0.9, "rocker": 0.9}),
    "walker": (
        {"trunk": [0.0, 0.6, 0.0, 0.8, 0.1, 0.2, 0.9], "left": 0.3, "right": -0.2},
        {"trunk": [0.1, 0.2, -0.1, 0.3, 0.0, 0.1], "left": 0.5, "right": -0.4},
    ),
    "planar": (dict(zip(PLANAR, (0.3, -0.5, 0.8, 0.4), strict=True)),
               dict(zip(PLANAR, (1.0, 0.5, -0.7, 0.2), strict=True))),
}  # fmt: skip


def at_state(kind, names=None, prefix=""):
    """A model at its state, which is the same by name whatever the order of its bodies."""
    mb = MAKE[kind](prefix=prefix) if names is None else MAKE[kind](names, prefix)
    q, v = ({prefix + name: x for name, x in part.items()} for part in STATE[kind])
    mb.set_state(q, v)
    return mb


def rows(x, *factors):
    """Multiples of a vector, a row each, that know its order as states of a batch do."""
    made = np.multiply.outer(factors, np.asarray(x)).view(type(x))
    made.order = x.order
    return made


def of_motion(q, v):
    """A motion at three times, (t, q, v, vdot)."""
    return [0.0, 0.1, 0.2], rows(q, 1.0, 1.1, 1.2), rows(v, 1.0, 1.1, 1.2), rows(v, 1.0, 1.0, 1.0)


def with_cup(mb):
    """A robot that holds a cup in its foot; the cup has no dof of its own, so that vectors are those of the tree."""
    held = mb.copy()
    held.add_body("cup", None, sc.Free(), sc.Inertia.sphere(0.4, 0.05))
    rb = robot.Robot(held)
    rb.attach("cup", "foot")
    return rb


# -- robots -----------------------------------------------------------------------------------------------------------


def of_laws(mb, q, v):
    rb, here, still = robot.Robot(mb), np.array(mb.q), np.zeros(4)
    limb, goal = rb.limb("leg", "inertial", "foot/tip"), mb.pose("foot/tip")
    law = robot.lqr(rb, here)
    t = [0.0, 0.1, 0.2]
    knots = (np.tile(here, (3, 1)), np.zeros((3, 4)), np.zeros((3, 4)))
    path = robot.lqr_path(rb, t, *knots)
    return {
        "robot.computed_torque": lambda: robot.computed_torque(rb, q, v, (q, v, v), 1.0, 1.0),
        "robot.computed_torque, the target alone": lambda: robot.computed_torque(rb, here, still, (q, v, v), 1.0, 1.0),
        "robot.computed_torque, gains": lambda: robot.computed_torque(
            rb, here, still, (1.1 * here, np.ones(4), still), 2.0 + v, 3.0 + v),
        "robot.decoupled": lambda: robot.decoupled(rb, q, v, 2.0),
        "robot.decoupled, the place alone": lambda: robot.decoupled(rb, here, still, 2.0, q_d=1.1 * q, kp=3.0),
        "robot.decoupled, gains": lambda: robot.decoupled(
            rb, here, np.ones(4), 2.0 + v, q_d=1.1 * here, kp=3.0 + v, nudot=v),
        "robot.feed_forward": lambda: robot.feed_forward(rb, q, v, v),
        "robot.friction": lambda: robot.friction(rb, v, viscous=1.0),
        "robot.friction, coefficients": lambda: robot.friction(rb, np.ones(4), viscous=2.0 + v, coulomb=3.0 + v),
        "robot.gravity": lambda: robot.gravity(rb, q),
        "robot.impedance": lambda: robot.impedance(rb, limb, q, v, goal, np.ones(6), 2.0, 3.0),
        "robot.operational_space": lambda: robot.operational_space(rb, limb, q, v, [1.0], v, rows=[3]).force,
        "robot.operational_space, null alone": lambda: robot.operational_space(
            rb, limb, here, still, [1.0], v, rows=[3]).force,
        "robot.lqr": lambda: robot.lqr(rb, q).K,
        "robot.Regulator.__call__": lambda: law(1.1 * q, v),
        "robot.lqr_path": lambda: robot.lqr_path(rb, *of_motion(q, v)).K,
        "robot.lqr_path, the force alone": lambda: robot.lqr_path(rb, t, *knots[:2], force=v).force,
        "robot.PathRegulator.__call__": lambda: path(0.05, 1.1 * q, v),
        "robot.components.LQR": lambda: robot.components.LQR(robot=rb, q0=q).p.q0,
        "robot.components.LQR, the velocity": lambda: robot.components.LQR(robot=rb, q0=here, v0=v).p.v0,
        "robot.components.PathLQR": lambda: robot.components.PathLQR(
            robot=rb, times=t, path_q=rows(q, 1.0, 1.0, 1.0), path_v=knots[1], path_vdot=knots[2]).p.path_q,
        "robot.components.PathLQR, velocities": lambda: robot.components.PathLQR(
            robot=rb, times=t, path_q=knots[0], path_v=rows(v, 1.0, 1.0, 1.0), path_vdot=knots[2]).p.path_v,
        "robot.components.PathLQR, accelerations": lambda: robot.components.PathLQR(
            robot=rb, times=t, path_q=knots[0], path_v=knots[1], path_vdot=rows(v, 1.0, 1.0, 1.0)).p.path_vdot,
    }  # fmt: skip


def of_objects(mb, q, v):
    rb, hold = with_cup(mb), robot.Holding(mb, "arm", ["foot/tip"])
    two = robot.Holding(mb, "arm", ["foot/tip", "hip/tip"], transmits="force")
    here, speed = np.array(mb.q), np.array(mb.v)
    # the acceleration of the cup at accelerations of one, which the arm can give
    still = sc.dynamics.jacobian(rb.mb, here, "cup") @ np.ones(4)
    a = still + sc.dynamics.jacobian_dot_v(rb.mb, here, speed, "cup")
    tips = [robot.Fingertip((x, 0, 0), (-x, 0, 0), friction=0.8, limit=50.0, torsion=0.1) for x in (-0.05, 0.05)]
    return {
        "robot.Robot.reactions": lambda: rb.reactions("cup", q=q, v=v, vdot=v).wrenches["foot"],
        "robot.Robot.reactions, by the force": lambda: rb.reactions("cup", force=v).wrenches["foot"],
        "robot.Robot.strength": lambda: rb.strength("cup", tips, q=q, v=v, vdot=v)["foot"].margin,
        "robot.Robot.strength, by the force": lambda: rb.strength("cup", tips, force=v)["foot"].margin,
        "robot.Holding": lambda: robot.Holding(mb, "arm", ["foot/tip"], q).J,
        "robot.Holding.share": lambda: hold.share([1, 2, 3, 4, 5, 6], v).force,
        "robot.Holding.share, weights": lambda: two.share(two.A @ np.ones(6), np.ones(4), 2.0 + v).f,
        "robot.carry": lambda: robot.carry(rb, "cup", ["foot"], q, v, a).force,
        "robot.carry, accelerations alone": lambda: robot.carry(
            rb, "cup", ["foot"], here, np.zeros(4), still, vdot=v).force,
        "robot.carry, weights": lambda: robot.carry(rb, "cup", ["foot"], here, speed, a, weight=2.0 + v).force,
    }  # fmt: skip


def of_limbs(mb, q, v):
    """A limb with two tips has all hinges of the model, so that its vectors are those of the model."""
    rb = robot.Robot(mb)
    both = rb.limb("both", "inertial", ["arm/tip", "foot/tip"])
    goal = both.pose(np.array(mb.q))
    return {
        "robot.Limb.pose": lambda: both.pose(q).translation,
        "robot.Limb.true_pose": lambda: both.true_pose(q).translation,
        "robot.Limb.placed": lambda: both.placed(q),
        "robot.Limb.of_robot": lambda: both.of_robot(q),
        "robot.Limb.jacobian": lambda: both.jacobian(q),
        "robot.Limb.columns": lambda: both.columns(q),
        "robot.Limb.apart": lambda: both.apart(np.zeros(4), q),
        "robot.Limb.manipulability": lambda: both.manipulability(q).singular_values,
        "robot.Limb.read_q": lambda: both.read_q(q, (4,)),
        "robot.Limb.torques": lambda: both.torques(q, np.ones((2, 6))),
        "robot.task_error": lambda: robot.task_error(both, 1.1 * q, goal),
        "robot.Limb.ik": lambda: both.ik({"foot/tip": mb.pose("foot/tip")}, near=q).q,
    }


def of_chains(mb, q, v):
    """A limb of one tip has all hinges of a chain."""
    rb, here = robot.Robot(mb), np.array(mb.q)
    arm = rb.limb("arm", "inertial", "four/tip")
    goal, path = arm.pose(here), arm.pose(np.stack([here, here + 0.01]))
    axes = ("rx", "ry", "z")
    return {
        "robot.Limb.ik": lambda: arm.ik(goal, near=q).q,
        "robot.Limb.follow": lambda: arm.follow(path, near=q).q,
        "robot.Limb.self_motion": lambda: arm.self_motion(q, most=3),
        "robot.study.payload": lambda: robot.study.payload(arm, rows(q, 1.0)).most,
        "robot.study.payload, velocities": lambda: robot.study.payload(arm, here[None], v=rows(v, 1.0)).most,
        "robot.study.payload, accelerations": lambda: robot.study.payload(arm, here[None], vdot=rows(v, 1.0)).most,
        "robot.study.singularities": lambda: robot.study.singularities(arm, rows(q, 1.0, 1.1), near=0.0).smallest,
        "robot.study.largest_reach": lambda: robot.study.largest_reach(
            arm, goal, (1, 0, 0), near=q, high=0.01, samples=2, free=axes).most,
    }  # fmt: skip


def of_motions(mb, q, v):
    rb, here, still = robot.Robot(mb), np.array(mb.q), np.zeros(4)
    limits = robot.MotionLimits.of(rb, velocity=9.0, acceleration=99.0, jerk=999.0)
    tracker, way = robot.Tracker(rb, 0.01, limits), np.stack([here, here + 0.1])
    rest = tracker.rest(here)
    return {
        "robot.minimum_jerk": lambda: robot.minimum_jerk(rb, here, q, 1.0).at(0.5)[0],
        "robot.minimum_jerk, the start": lambda: robot.minimum_jerk(rb, q, 1.1 * here, 1.0).at(0.5)[0],
        "robot.spline": lambda: robot.spline(rb, rows(q, 1.0, 1.1, 1.3), [0.0, 1.0, 2.0]).at(0.5)[0],
        "robot.spline, velocities": lambda: robot.spline(rb, way, [0.0, 1.0], start=v, end=v).at(0.3)[0],
        "robot.polyline": lambda: robot.polyline(rb, rows(q, 1.0, 1.1, 1.3), 1.0, blend=0.2).at(0.5)[0],
        "robot.time_optimal": lambda: robot.time_optimal(rb, rows(q, 1.0, 1.1), limits, grid=20).at(0.02)[0],
        "robot.MotionLimits.of": lambda: robot.MotionLimits.of(rb, velocity=2.0 + v).velocity,
        "robot.Tracker.rest": lambda: tracker.rest(q).q,
        "robot.Tracker.step": lambda: tracker.step(rest, 1.1 * q).q,
        "robot.Tracker.step, the state": lambda: tracker.step((q, still, still), 1.1 * here).q,
        "robot.Tracker.step, velocities": lambda: tracker.step((here, 0.1 * v, still), 1.1 * here, v=0.1 * v).q,
        "robot.Tracker.step, accelerations": lambda: tracker.step((here, still, v), here, vdot=0.1 * v).q,
    }


def of_estimates(mb, q, v):
    rb, here, still = robot.Robot(mb), np.array(mb.q), np.zeros(4)
    made = robot.MomentumObserver(rb, 10.0)
    made.update(here, still, np.ones(4), 0.01)
    known = robot.StateFilter(rb, here, still)
    seen = mb.pose("foot/tip", state=mb.state(here + np.array([[0.01], [0.02]])))

    def observed(*state):
        watch = robot.MomentumObserver(rb, 10.0, *state)
        return watch.update(here, still, np.ones(4), 0.01)

    def begun(*state):
        watch = robot.MomentumObserver(rb, 10.0)
        watch.reset(*state)
        return watch.update(here, still, np.ones(4), 0.01)

    def measured(x, **options):
        watch = robot.StateFilter(rb, here, still)
        watch.measure_dofs(x, 0.1, **options)
        return watch.q + watch.v

    return {
        "robot.MomentumObserver": lambda: observed(q, v),
        "robot.MomentumObserver, gains": lambda: robot.MomentumObserver(rb, 10.0 + v).update(
            here, still, np.ones(4), 0.01),
        "robot.MomentumObserver.reset": lambda: begun(q, v),
        "robot.MomentumObserver.update": lambda: robot.MomentumObserver(rb, 10.0).update(q, v, v, 0.01),
        "robot.MomentumObserver.wrench": lambda: made.wrench("foot/tip", q).wrench,
        "robot.StateFilter": lambda: robot.StateFilter(rb, q, v).predict(still, 0.01),
        "robot.StateFilter.predict": lambda: (known.predict(v, 0.01), known.v)[1],
        "robot.StateFilter.measure_dofs": lambda: measured(1.1 * q),
        "robot.StateFilter.measure_dofs, rates": lambda: measured(v, rates=True),
        "robot.Robot.predict": lambda: rb.predict(q, v, horizon=0.02, step=0.01).q,
        "robot.Robot.predict, the force": lambda: rb.predict(here, still, v, horizon=0.02, step=0.01).q,
        "robot.Robot.predict, a law": lambda: rb.predict(
            here, still, lambda t, *state: v, horizon=0.02, step=0.01).q,
        "robot.estimate_offsets": lambda: robot.estimate_offsets(rb, "foot/tip", rows(q, 1.0, 1.1), seen).values,
        "robot.estimate_payload": lambda: robot.estimate_payload(
            rb, "foot", {"q": rows(q, 1.0, 1.1), "v": v, "vdot": v, "force": v}).mass,
        "robot.estimate_payload, the force": lambda: robot.estimate_payload(
            rb, "foot", {"q": np.stack([here, 1.1 * here]), "force": v}).mass,
    }  # fmt: skip


def of_tasks(mb, q, v):
    rb, here = robot.Robot(mb), np.array(mb.q)
    hand = robot.Reaching(sc.Position("foot/tip", mb.pose("foot/tip").translation + 0.01))
    posture = robot.Posture(1.1 * here, level=1)
    plan, acceleration = rb.velocity_plan([hand, posture]), np.full(4, 3.0)

    def aimed(goal):
        made = rb.velocity_plan([posture])
        made.aim(posture, goal)
        return made.step(here, 0.01).v

    kinds = (hand, posture, robot.CenterOfMass((1, 0, 0)), robot.Contact("foot/tip"), robot.Momentum(),
             robot.LookAt("foot/tip", (1, 2, 3)), robot.Relative("arm/tip", "foot/tip", sc.Pose()),
             robot.Distance(robot.World(rb), least=0.1))  # fmt: skip
    rows_of_tasks = {
        f"robot.{type(x).__name__}.wanted": lambda x=x: np.column_stack([x.wanted(mb, q).J, x.wanted(mb, q).left])
        for x in kinds
    }
    return rows_of_tasks | {
        "robot.Robot.velocity": lambda: rb.velocity([hand, posture], q, 0.01).v,
        "robot.Robot.velocity, from a velocity": lambda: rb.velocity(
            [hand], here, 0.01, v=v, acceleration=acceleration).v,
        "robot.Robot.velocity, largest accelerations": lambda: rb.velocity(
            [hand], here, 0.01, v=0.0 * here, acceleration=2.0 + v).v,
        "robot.Robot.velocity_plan": lambda: rb.velocity_plan([robot.Posture(1.1 * q)]).step(here, 0.01).v,
        "robot.VelocityPlan.step": lambda: plan.step(q, 0.01).v,
        "robot.VelocityPlan.step, from a velocity": lambda: plan.step(here, 0.01, v, acceleration).v,
        "robot.VelocityPlan.reference": lambda: plan.reference(q, 0.01).v,
        "robot.VelocityPlan.shortfall": lambda: list(plan.shortfall(q, 0.01).values()),
        "robot.VelocityPlan.aim": lambda: aimed(1.1 * q),
        "robot.Posture": lambda: rb.velocity([robot.Posture(1.1 * q)], here, 0.01).v,
        "robot.Posture, its rate": lambda: rb.velocity([robot.Posture(here, rate=v)], here, 0.01).v,
        "robot.Posture.wanted, its place": lambda: robot.Posture(1.1 * q).wanted(mb, here).left,
        "robot.Robot.reach": lambda: rb.reach([hand], q, starts=1, steps=20).q,
        "robot.Robot.reach, a posture": lambda: rb.reach([robot.Posture(1.1 * q)], here, starts=1, steps=5).q,
    }


def of_stances(mb, q, v):
    rb, corners = robot.Robot(mb), [[x, y, 0.0] for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    stands = robot.stance(rb, np.array(mb.q), ["foot", "arm"], corners=corners)
    contacts = robot.study.Contacts(["foot", "arm"], corners=corners)
    ground = (0, 0, -9.0)
    return {
        "robot.stance": lambda: robot.stance(rb, q, ["foot", "arm"], corners=corners).points,
        "robot.Stance.tip_over": lambda: stands.tip_over(0.1 * v, 0.1 * v)[0],
        "robot.foot_forces": lambda: robot.foot_forces(stands, v, v).force,
        "robot.ground_wrench": lambda: robot.ground_wrench(mb, q, v, v),
        "robot.zero_moment_point": lambda: robot.zero_moment_point(mb, q, 0.1 * v, 0.1 * v),
        "robot.capture_point": lambda: robot.capture_point(mb, q, v, ground),
        "robot.study.Contacts.at": lambda: contacts.at(rb, q).points,
        "robot.study.Contacts.carried": lambda: contacts.carried(rb, q, v, v, np.ones(4, dtype=bool))[1],
    }


def of_worlds(mb, q, v):
    rb, here = robot.Robot(mb), np.array(mb.q)
    world, room = robot.World(rb), robot.World(robot.Robot(sc.serial_chain(1)))
    room.add("door", model=mb)
    crowded = robot.World(rb)
    crowded.add("ball", sc.contact.Sphere(0.02), mb.pose("foot"))
    return {
        "robot.World.collides": lambda: crowded.collides(q),
        "robot.World.distances": lambda: world.distances(q).distance,
        "robot.World.touching": lambda: len(crowded.touching(q)),
        "robot.World.edge": lambda: crowded.edge(0.5 * here, q).part,
        "robot.World.edge, the start": lambda: crowded.edge(0.5 * q, here).part,
        "robot.World.edges": lambda: crowded.edges(rows(q, 0.5), rows(q, 1.0)).part,
        "robot.World.set_state": lambda: (room.set_state("door", q), room.item("door").model.q)[1],
        "robot.plan": lambda: robot.plan(world, q, 1.1 * here).path,
        "robot.plan, the goal": lambda: robot.plan(world, here, 1.1 * q).path,
    }


def of_studies(mb, q, v):
    rb, study = robot.Robot(mb), robot.study
    motion, plain = of_motion(q, v), of_motion(mb.q, mb.v)
    down = np.ones((3, 1), dtype=bool)
    efforts = dict.fromkeys(mb.dof_names, 1e3)
    feet = study.Contacts([(3.0, 3, -9), (-3, 3, -9), (3, -3, -9), (-3, -3, -9)])
    margins = study.Margins(rb, lambda x: study.Operation(q, v, v), efforts=efforts)
    return {
        "robot.study.sizing": lambda: study.sizing(rb, motion).torque,
        "robot.study.gait": lambda: study.gait(rb, motion, ["foot/tip"], down).torque,
        "robot.study.gait, recorded torques": lambda: study.gait(
            rb, plain, ["foot/tip"], down, torque=rows(v, 1.0, 1.1, 1.2)).torque,
        "robot.study.largest_payload": lambda: study.largest_payload(
            rb, "foot", q, v=v, vdot=v, high=1.0, samples=2, efforts=efforts).margins,
        "robot.study.largest_speed": lambda: study.largest_speed(
            rb, motion, high=2.0, samples=2, efforts=efforts).margins,
        "robot.study.largest_speed, efforts": lambda: study.largest_speed(
            rb, plain, high=2.0, samples=2, efforts=1e3 + v).margins,
        "robot.study.largest_slope": lambda: study.largest_slope(
            rb, q, (1, 0, 0), high=0.1, samples=2, contacts=feet, efforts=efforts).margins,
        "robot.study.mass_properties": lambda: study.mass_properties(rb, q).com,
        "robot.study.Move": lambda: study.sequence(rb, [study.Move(1.1 * q)], simulate=False).path,
        "robot.study.Operation": lambda: margins(0.0)["torque"][0],
        "robot.ros.joint_state": lambda: [robot.ros.joint_state(rb, q, v, v)[x]
                                          for x in ("position", "velocity", "effort")],
        "robot.ros.joint_trajectory": lambda: [
            x[name] for x in robot.ros.joint_trajectory(rb, *motion, force=motion[2])["points"]
            for name in ("positions", "velocities", "accelerations", "effort")
        ],
    }  # fmt: skip


def of_walkers(mb, q, v):
    """A free base, whose velocities are not rates of coordinates."""
    rb, here = robot.Robot(mb), np.array(mb.q)
    feet, still = ["left/tip", "right/tip", "trunk/tip"], np.zeros(8)
    stands = robot.stance(rb, here, feet)

    def estimator(unit, q, v):
        return robot.BaseEstimator(rb, unit, feet[:2], q=q, v=v)

    def corrected(x):
        made = estimator("trunk", here, still)
        made.correct(np.r_[here[:7], 0.0, 0.0], feet[:1])
        return made.correct(x, feet[:1])

    return {
        "robot.BaseEstimator": lambda: estimator("left/tip", q, v).velocity,
        "robot.BaseEstimator.correct": lambda: corrected(q),
        "robot.BaseEstimator.state": lambda: np.concatenate(estimator("trunk", here, still).state(q, v)),
        "robot.feed_forward": lambda: robot.feed_forward(rb, q, v, v),
        "robot.foot_forces": lambda: robot.foot_forces(stands, v, v).force,
        "robot.ground_wrench": lambda: robot.ground_wrench(mb, q, v, v),
        "robot.minimum_jerk": lambda: robot.minimum_jerk(rb, here, q, 1.0).at(0.5)[0],
        "robot.Robot.velocity": lambda: rb.velocity(
            [robot.Posture(here)], q, 0.01, v=v, acceleration=np.full(8, 3.0)).v,
        "robot.MomentumObserver.update": lambda: robot.MomentumObserver(rb, 10.0).update(q, v, v, 0.01),
        "robot.StateFilter": lambda: robot.StateFilter(rb, q, v).predict(v, 0.01),
    }


# -- runs -------------------------------------------------------------------------------------------------------------


def of_runs(mb, q, v):
    here, still = np.array(mb.q), np.zeros(4)

    def propagator():
        return sim.Propagator(mb.copy(), integrator="rk4", step=0.01)

    def pushed():
        p = propagator()
        p.add(lambda t, state: v)
        return p.advance_to(0.02).q

    def stepped(q, v, u):
        step = propagator().stepper()
        step.set_state(q, v)
        step.u = u
        step(2)
        return np.array(step.q)

    made = propagator().rollout_derivatives(here, still, None, 2)
    return {
        "sim.Propagator.rollout": lambda: propagator().rollout(q, v, v, 2)[0],
        "sim.Propagator.rollout, the force alone": lambda: propagator().rollout(here, still, v, 2)[0],
        "sim.Propagator.rollout_derivatives": lambda: propagator().rollout_derivatives(q, v, v, 2).A,
        "sim.Propagator.rollout_derivatives, the force alone": lambda: propagator().rollout_derivatives(
            here, still, v, 2).A,
        "sim.Sensitivity.forward": lambda: made.forward(force=v),
        "sim.Propagator.add": pushed,
        "sim.Stepper.set_state": lambda: stepped(q, v, still),
        "sim.Stepper.u": lambda: stepped(here, still, v),
    }  # fmt: skip
