"""Two arms take a wheel from its hub, carry it and put it down, by an estimate of its pose (Jain 2013, Fig. 4).

The wheel hangs on the hub by contact. The hands go where the estimate says, grasp the wheel by impacts, one of which
closes a loop, and share its weight. A camera corrects the estimate ten times a second, on the way as well. The wheel is
let go where the stand carries it.
"""

import sys

import numpy as np

import soacraft as sc
from soacraft import sim

HANDS = {"left": 1.0, "right": -1.0}  # and the side of the wheel on which each is
TIPS = [f"{side}.link7/hand" for side in HANDS]
RADIUS, WIDTH, BORE, MASS = 0.22, 0.16, 0.05, 6.0
HUB, STAND = np.array([0.60, 0.0, 0.70]), np.array([0.42, 0.0, 0.30])  # of the middle of the wheel
PEG = 0.035
GAP, AWAY = 0.003, 0.08  # between a hand and the tyre, when it takes it and before
OFFSET = np.array([0.03, -0.02, 0.04, 0.025, 0.03, -0.02])  # of the first estimate: a turn in rad, a way in m
NOISE = np.array([0.008, 0.008, 0.008, 0.003, 0.003, 0.003])  # of one picture
STEP, TICK = 0.002, 0.004


def model():
    """The arms, the wheel on its hub, and the stand."""
    mb = sc.Multibody("tyre change")
    for side, s in HANDS.items():
        mb.add_model(sc.load("iiwa14"), inboard=sc.Pose(translation=(0.0, 0.35 * s, 0.0)), prefix=f"{side}.")
        hand = mb[f"{side}.link7"]
        hand.add_node("hand", sc.Pose(translation=(0.0, 0.0, 0.12)))
        hand.add_geometry(sc.Geometry("pad", "box", (0.08, 0.08, 0.02), sc.Pose(translation=(0.0, 0.0, 0.11))))
    wheel = mb.add_body("wheel", hinge=sc.Free(), inertia=sc.Inertia.cylinder(MASS, RADIUS, WIDTH, axis=(1, 0, 0)))
    tyre = sc.Geometry("tyre", "cylinder", (RADIUS, WIDTH), sc.Pose.from_rpy(0.0, np.pi / 2, 0.0), role="visual")
    wheel.add_geometry(tyre)
    for i in range(8):  # a ring with eight sides, around a bore with eight sides
        size = (WIDTH, 2.0 * RADIUS * np.tan(np.pi / 8), RADIUS - BORE)
        turned = sc.Pose.from_rpy(np.pi / 4 * i, 0.0, 0.0) @ sc.Pose(translation=(0.0, 0.0, (RADIUS + BORE) / 2))
        wheel.add_geometry(sc.Geometry(f"side {i}", "box", size, turned, role="collision"))
    peg = sc.Pose.from_rpy(0.0, np.pi / 2, 0.0, HUB + [0.04, 0.0, BORE - PEG])
    mb.root.add_geometry(sc.Geometry("hub", "cylinder", (PEG, 0.2), peg))
    mb.root.add_geometry(sc.Geometry("stand", "box", (0.3, 0.3, 0.04), sc.Pose(translation=STAND - [0, 0, RADIUS + 0.02])))
    return mb


def numbers(T):
    """A pose as a signal: its quaternion [x, y, z, w] and position."""
    return np.concatenate([T.as_quaternion(), T.translation])


def pose(x):
    """The pose of a signal; of one that has no value yet that of the inertial frame."""
    return sc.Pose.from_quaternion(x[:4], x[4:]) if np.any(x[:4]) else sc.Pose()


def apart(T, goal):
    """Turn and way from a pose to another one, [angular; linear] in inertial axes."""
    turn = sc.spatial.log(goal.rotation @ T.rotation.T)
    return np.concatenate([turn, goal.translation - T.translation])


def moved(T, by):
    """The pose after a turn and a way in inertial axes."""
    return sc.Pose(sc.spatial.exp(by[:3]) @ T.rotation, T.translation + by[3:])


def grip(side, gap):
    """The pose of a hand on the wheel, so far from the tyre: it looks along the axis of the wheel's side."""
    s = HANDS[side]
    return sc.Pose.from_rpy(s * np.pi / 2, 0.0, 0.0, (0.0, s * (RADIUS + gap), 0.0))


class Camera(sim.Component):
    """Pictures of the wheel, from which its pose is read, with noise."""

    position = sim.In("m", shape=3, of="position")
    rotation = sim.In(shape=(3, 3), of="rotation")

    @sim.output(shape=7)
    def seen(position, rotation, noise):
        return numbers(moved(sc.Pose(rotation, position), NOISE * noise[:6]))

    @sim.output("s")
    def taken(t):
        return t


class Estimator(sim.Component):
    """The pose of the wheel: it goes with the left hand that holds it, and each picture corrects it by P / (P + 1)."""

    class Params(sim.Params):
        first: tuple[float, ...]

    position = sim.In("m", shape=3)
    rotation = sim.In(shape=(3, 3))
    seen = sim.In(shape=7)
    taken = sim.In("s")
    held = sim.In()
    wheel = sim.Discrete(shape=7, start=lambda p: p.first)
    hand = sim.Discrete(shape=7)
    corrected = sim.Discrete("s", start=-1.0)
    P = sim.Discrete(start=50.0)  # variance, in that of a picture

    @sim.output(shape=7)
    def estimate(wheel, hand, position, rotation, held):
        return numbers(carried(wheel, hand, position, rotation, held))

    @sim.update(wheel)
    def wheel_next(wheel, hand, position, rotation, held, seen, taken, corrected, P):
        T = carried(wheel, hand, position, rotation, held)
        return numbers(T if taken == corrected else moved(T, P / (P + 1.0) * apart(T, pose(seen))))

    @sim.update(hand)
    def hand_next(position, rotation):
        return numbers(sc.Pose(rotation, position))

    @sim.update(corrected)
    def corrected_next(taken):
        return taken

    @sim.update(P)
    def P_next(P, taken, corrected):
        return P if taken == corrected else P / (P + 1.0) + 0.01


def carried(wheel, hand, position, rotation, held):
    """The estimate of the last tick, moved as the left hand was since then where that holds the wheel."""
    return sc.Pose(rotation, position) @ pose(hand).inv @ pose(wheel) if held else pose(wheel)


class Planner(sim.Component):
    """Smooth motions for each stage: of the distance of the hands from the tyre, and of the wheel once it is held."""

    class Params(sim.Params):
        wheel: tuple[float, ...]
        pace: float = 1.0
        first: float = 0.15

    stage = sim.In()
    estimate = sim.In(shape=7)
    present = sim.Discrete()
    since = sim.Discrete("s")
    start = sim.Discrete(shape=7, start=lambda p: p.wheel)
    gap_start = sim.Discrete("m", start=lambda p: p.first)

    @sim.output(shape=19)
    def wheel(p, t, present, since, start):
        """Pose, twist and acceleration."""
        return motion_of_wheel(STAGES[int(present)], (t - since) * p.pace, p.pace, start)

    @sim.output(shape=2)
    def gap(p, t, present, since, gap_start):
        """And its rate."""
        stage = STAGES[int(present)]
        s, rate, _ = smooth((t - since) * p.pace / stage.seconds)
        change = stage.gap - gap_start
        return np.array([gap_start + s * change, rate * change * p.pace / stage.seconds])

    @sim.update(present)
    def present_next(stage):
        return stage

    @sim.update(since)
    def since_next(t, stage, present, since):
        return since if stage == present else t

    @sim.update(start)
    def start_next(p, t, stage, present, since, start, estimate):
        if not STAGES[int(stage)].holds or not STAGES[int(present)].holds:
            return estimate
        if stage == present:
            return start
        return motion_of_wheel(STAGES[int(present)], (t - since) * p.pace, p.pace, start)[:7]

    @sim.update(gap_start)
    def gap_next(stage, present, gap_start):
        return gap_start if stage == present else STAGES[int(present)].gap


class Stage:
    """A stage: seconds, the gap of the hands at its end, and where the wheel is brought (nan: where it is)."""

    def __init__(self, name, seconds, gap, to=None, up=0.0):
        self.name, self.seconds, self.gap, self.holds = name, seconds, gap, to is not None
        self.to, self.up = (None if to is None else np.array(to)), up


NAN = np.nan
STAGES = (
    Stage("reach", 1.6, AWAY),
    Stage("close", 0.6, GAP),
    Stage("lift", 0.5, GAP, to=(NAN, NAN, NAN), up=0.015),
    Stage("pull", 1.0, GAP, to=(STAND[0], NAN, NAN)),
    Stage("carry", 1.4, GAP, to=(*STAND[:2], STAND[2] + 0.02)),
    Stage("lower", 1.2, GAP, to=(NAN, NAN, STAND[2] - 0.02)),
    Stage("leave", 0.8, AWAY),
)  # fmt: skip


def smooth(s):
    """A rise from 0 to 1 with its first two derivatives, which begin and end at 0."""
    s = min(max(s, 0.0), 1.0)
    return s**3 * (10 - 15 * s + 6 * s**2), 30 * s**2 * (1 - s) ** 2, 60 * s * (1 - s) * (1 - 2 * s)


def motion_of_wheel(stage, t, pace, start):
    """Where the wheel should be in a stage: pose, twist and acceleration. It is turned straight on the way."""
    T = pose(start)
    if not stage.holds:
        return np.concatenate([start, np.zeros(12)])
    to = np.where(np.isnan(stage.to), T.translation, stage.to) + [0.0, 0.0, stage.up]
    way = apart(T, sc.Pose(translation=to))
    s, rate, bend = smooth(t / stage.seconds)
    each = pace / stage.seconds
    return np.concatenate([numbers(moved(T, s * way)), rate * each * way, bend * each**2 * way])


class Arms(sim.Component):
    """The law of both arms, computed with a model of their own: accelerations of the hands, which follow the estimate
    of the wheel, and of the wheel once they hold it; then half of the force that it needs is each hand's.

        vdot = J^+ (a - dJ/dt v) + (1 - J^+ J) (kp (rest - q) - kd v),   T = T_g(q, v, vdot) + J* f
    """

    class Params(sim.Params):
        rest: tuple[float, ...]
        kp: float = 100.0
        kd: float = 20.0

    q = sim.In(shape="nq", of="q")
    v = sim.In(shape="nv", of="v")
    estimate = sim.In(shape=7)
    wheel = sim.In(shape=19)
    gap = sim.In(shape=2)
    held = sim.In()

    @sim.output(shape="nv", to="generalized_force")
    def force(p, q, v, estimate, wheel, gap, held):
        own_q, own_v, T = np.concatenate([q[:14], estimate]), np.concatenate([v[:14], np.zeros(6)]), pose(estimate)
        R, at, twist, drift = sc.dynamics.node_motion(OWN, own_q, own_v, np.zeros(20), TIPS)
        J = sc.dynamics.jacobian(OWN, own_q, TIPS)[:, :14]
        a, f = np.zeros((2, 6)), np.zeros((2, 6))
        if held:
            arms = at - T.translation
            w = twist[0, :3]
            moves = np.concatenate([w, twist[0, 3:] - np.cross(w, arms[0])])
            b = wheel[13:] + p.kp * apart(T, pose(wheel[:7])) + p.kd * (wheel[7:13] - moves)
            inertia = T.rotation @ OWN["wheel"].inertia.moment @ T.rotation.T
            moment = inertia @ b[:3] + np.cross(w, inertia @ w)
            push = MASS * (b[3:] - OWN.gravity)
            for i, arm in enumerate(arms):
                a[i] = *b[:3], *(b[3:] + np.cross(b[:3], arm) + np.cross(w, np.cross(w, arm)))
                f[i] = *(moment / 2 - np.cross(arm, push / 2)), *(push / 2)
        else:
            for i, side in enumerate(HANDS):
                goal = T @ grip(side, gap[0])
                moves = np.array([0.0, 0.0, 0.0, *(-gap[1] * goal.rotation[:, 2])])
                a[i] = p.kp * apart(sc.Pose(R[i], at[i]), goal) + p.kd * (moves - twist[i])
        back = np.linalg.pinv(J, rcond=1e-3)
        vdot, idle = back @ (a - drift).ravel(), 0.2 * p.kp * (np.array(p.rest) - q[:14]) - p.kd * v[:14]
        vdot = np.append(vdot + idle - back @ (J @ idle), np.zeros(6))
        force = sc.dynamics.inverse_dynamics(OWN, own_q, own_v, vdot)[:14] + J.T @ f.ravel()
        return np.append(force, np.zeros(len(v) - 14))


OWN = model()  # of the law: what the arms know of themselves and of the wheel


def rest_of(wheel, gap):
    """Coordinates of the arms with both hands so far from a wheel."""
    rb = sc.robot.Robot(OWN)
    found = []
    for side in HANDS:
        arm = rb.limb(side, "inertial", f"{side}.link7/hand")
        seed = np.array([0.3, 1.0, -0.5, -1.4, 1.9, -1.2, 0.6]) * ([1] * 7 if side == "left" else [-1, 1, -1, 1, -1, 1, -1])
        r = arm.ik(wheel @ grip(side, gap), near=seed, free=("rz",))
        assert r.found, r.why
        found.append(r.q)
    return np.concatenate(found)


def build(pace=1.0, first=0.15, seed=1):
    """The system: the wheel on its hub, the arms beside the place where it is thought to be."""
    mb = model()
    thought = moved(sc.Pose(translation=HUB), OFFSET)
    rest = rest_of(thought, first)
    mb.set_state(np.concatenate([rest, numbers(sc.Pose(translation=HUB))]), np.zeros(mb.nv))
    s = sim.System("tyre change", integrator="moreau", step=STEP, seed=seed)
    world = s.add("world", sim.Plant(mb, forces=[sim.Contact(friction=0.6)]))
    for name in ("stage", "held"):
        s.add(name, sim.Constant(value=0.0))
    s.add("camera", Camera(), at=world.node("wheel"), every=0.1)
    s.add("estimator", Estimator(first=tuple(numbers(thought).tolist())), every=TICK)
    s.add("planner", Planner(pace=pace, first=first, wheel=tuple(numbers(thought).tolist())), every=TICK)
    s.add("arms", Arms(rest=tuple(rest.tolist())), at=world, every=TICK)
    s.connect("camera.seen", "estimator.seen")
    s.connect("camera.taken", "estimator.taken")
    s.connect(f"world.position[{TIPS[0]}]", "estimator.position")
    s.connect(f"world.rotation[{TIPS[0]}]", "estimator.rotation")
    s.connect("held.y", "*.held")
    s.connect("stage.y", "planner.stage")
    s.connect("estimator.estimate", "*.estimate")
    s.connect("planner.wheel", "arms.wheel")
    s.connect("planner.gap", "arms.gap")
    names = [x.name for x in STAGES]
    steps = [sim.Transition(x.name, y, after=x.seconds / pace) for x, y in zip(STAGES, names[1:], strict=False)]
    steps[5] = sim.Transition("lower", "leave", when="world.contact_force[wheel,inertial/stand][2] > 15")
    actions = {x: [sim.Action("set", name="stage.value", value=float(i))] for i, x in enumerate(names)}
    holds = [f"{side}.link7" for side in HANDS]
    actions["lift"] += [sim.Action("capture", plant="world", body="wheel", parent=x, mounted="follow") for x in holds]
    actions["lift"] += [sim.Action("set", name="held.value", value=1.0)]
    actions["leave"] += [sim.Action("release", plant="world", body="wheel", parent=x, mounted="follow") for x in holds]
    actions["leave"] += [sim.Action("set", name="held.value", value=0.0)]
    s.add("mission", sim.Sequence(names, steps, actions))
    return s


if __name__ == "__main__":
    s = build()
    import time
    t0 = time.time()
    for t in np.arange(0.2, 8.1, 0.2):
        run = s.run(t)
        mb = s.plants["world"].mb
        print(round(t, 2), s.phase("mission"), round(time.time() - t0, 1), mb.pose("wheel").translation.round(4), [mb.pose(x, relative_to="wheel").translation.round(4) for x in TIPS], pose(s.states["estimator.wheel"]).translation.round(4), np.abs(run.signals["arms.force"][-1]).max().round(1))
    print(s.changes)
