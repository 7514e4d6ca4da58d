"""Small models and features of runs, to be combined: a tree, a closed chain, a flexible body, each with one feature.

The closed chain and the flexible body have twins: rigid trees of the same motion, which share none of their equations.
A parallelogram moves as one pendulum. A rod whose tip travels along it by one mode is a rod with a sprung slider.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import soacraft as sc
from soacraft import sim
from soacraft.model.modal import ModalData, ModalNode

Y = sc.Pin((0, 1, 0))
#: Of a ball at the end of each model.
RADIUS = 0.05
#: The force on the first dof, in N m.
PUSH = 0.4


def bar(mass, x, z):
    """A body whose centre is at (x, 0, z)."""
    return sc.Inertia(mass, (x, 0, z), 0.02 * mass * np.eye(3))


def floor(mb, height):
    mb.root.add_geometry(sc.Geometry("floor", "plane", pose=sc.Pose(translation=(0, 0, height))))


def ball(body, at=(0.0, 0.0, 0.0)):
    body.add_geometry(sc.Geometry("ball", "sphere", (RADIUS,), sc.Pose(translation=at)))


def tree() -> sc.Multibody:
    """A double pendulum."""
    mb = sc.Multibody("tree", gravity=(0, 0, -9.81))
    floor(mb, -0.99)
    mb.add_body("first", None, Y, bar(1.0, 0, -0.25))
    ball(mb.add_body("second", "first", Y, bar(0.8, 0, -0.25), sc.Pose(translation=(0, 0, -0.5))), (0, 0, -0.5))
    mb.set_state([0.5, -0.2], [-1.5, 0.5])
    return mb


#: Mass and centre of crank, coupler and rocker of the parallelogram, the length of its cranks and of its coupler.
LINKS, CRANK, COUPLER = ((1.0, 0.3), (0.7, 0.25), (0.6, 0.2)), 0.6, 0.8


def chain() -> sc.Multibody:
    """A parallelogram, whose coupler does not turn."""
    (m, c), (m_coupler, c_coupler), (m_rocker, c_rocker) = LINKS
    mb = sc.Multibody("closed chain", gravity=(0, 0, -9.81))
    floor(mb, -0.6)
    mb.add_body("first", None, Y, bar(m, 0, -c))
    coupler = mb.add_body("coupler", "first", Y, bar(m_coupler, c_coupler, 0), sc.Pose(translation=(0, 0, -CRANK)))
    rocker = mb.add_body("rocker", None, Y, bar(m_rocker, 0, -c_rocker), sc.Pose(translation=(COUPLER, 0, 0)))
    ball(coupler, (0.5 * COUPLER, 0, 0))
    coupler.add_node("end", sc.Pose(translation=(COUPLER, 0, 0)))
    rocker.add_node("end", sc.Pose(translation=(0, 0, -CRANK)))
    mb.close_loop("loop", "coupler/end", "rocker/end", Y)
    mb.set_state([0.5, -0.5, 0.5], [-1.5, 1.5, -1.5])
    return mb


def pendulum() -> sc.Multibody:
    """The parallelogram as one body."""
    (m, c), (m_coupler, _), (m_rocker, c_rocker) = LINKS
    mass = m + m_coupler + m_rocker
    centre = (m * c + m_coupler * CRANK + m_rocker * c_rocker) / mass
    about_pivot = m * c**2 + m_coupler * CRANK**2 + m_rocker * c_rocker**2 + 0.02 * (m + m_rocker)
    mb = sc.Multibody("pendulum", gravity=(0, 0, -9.81))
    floor(mb, -0.6)
    moment = (about_pivot - mass * centre**2) * np.eye(3)
    at = sc.Pose(translation=(0.5 * COUPLER, 0, 0))
    ball(mb.add_body("first", None, Y, sc.Inertia(mass, (0, 0, -centre), moment), at), (0, 0, -CRANK))
    mb.set_state([0.5], [-1.5])
    return mb


#: Mass of the rod and of its tip, the distance of the tip, its stiffness and damping.
ROD, TIP, REACH, STIFFNESS, DAMPING = 1.0, 0.5, 0.7, 400.0, 0.8


def flexible() -> sc.Multibody:
    """A rod whose tip travels along it by one mode; a ball is on the tip."""
    corners = 0.1 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    r = np.concatenate([corners + np.array([0, 0, z]) for z in (-0.3, -REACH)])
    m = np.repeat([ROD / 8, TIP / 8], 8)
    phi = np.zeros((16, 3, 1))
    phi[8:, 2, 0] = -1.0
    moments = dict(
        mass=ROD + TIP, first=m @ r, second=np.einsum("k,ka,kb->ab", m, r, r), p=np.einsum("k,kaj->ja", m, phi),
        N=np.einsum("k,ka,kbj->jab", m, r, phi), Q=np.einsum("k,kai,kbj->ijab", m, phi, phi),
        M=np.einsum("k,kai,kaj->ij", m, phi, phi),
    )  # fmt: skip
    along = np.array([[0.0], [0.0], [-1.0]])
    tip = ModalNode(sc.Pose(translation=(0, 0, -REACH)), along, np.zeros((3, 1)))
    mb = sc.Multibody("flexible", gravity=(0, 0, -9.81))
    floor(mb, -0.7)
    data = ModalData(**moments, K=[[STIFFNESS]], D=[[DAMPING]], nodes={"tip": tip})
    mb.add_body("first", None, Y, modal=data)
    ball(mb.add_body("foot", "first/tip", sc.Weld(), sc.Inertia(0.0, (0, 0, 0), np.zeros((3, 3)))))
    mb.set_state([0.5, 0.01], [-1.5, 0.1])
    return mb


def sprung() -> sc.Multibody:
    """The rod and its tip as two bodies."""
    mb = sc.Multibody("sprung", gravity=(0, 0, -9.81))
    floor(mb, -0.7)
    cube = 0.02 * np.eye(3)  # of eight points at the corners of a cube of 0.2, by mass
    mb.add_body("first", None, Y, sc.Inertia(ROD, (0, 0, -0.3), ROD * cube))
    at = sc.Pose(translation=(0, 0, -REACH))
    tip = mb.add_body("tip", "first", sc.Prismatic((0, 0, -1)), sc.Inertia(TIP, (0, 0, 0), TIP * cube), at)
    tip.passive = sc.Passive(stiffness=STIFFNESS, damping=DAMPING)
    ball(tip)
    mb.set_state([0.5, 0.01], [-1.5, 0.1])
    return mb


MODELS: dict[str, Callable[[], sc.Multibody]] = {"tree": tree, "closed chain": chain, "flexible": flexible}
#: Rigid trees of the same motion, and how many of the first coordinates are the same.
TWINS: dict[str, tuple[Callable[[], sc.Multibody], int]] = {"closed chain": (pendulum, 1), "flexible": (sprung, 2)}


#: The time of a run, its steps, those with contact, and the period of an environment.
END, STEP, TOUCHING_STEP, EVERY = 0.1, 0.005, 0.0025, 0.05
#: Forces on the first dof, in N m: of two runs, two states, two environments.
PUSHES = (0.4, -0.2)
KP, KD, LAG = 6.0, 0.7, 0.2


def along_first(force: float, nv: int) -> np.ndarray:
    return force * np.eye(nv)[0]


def motion(t: float) -> tuple[float, float, float]:
    """A motion of the first dof that begins where all models do, with their rate."""
    return 0.5 - np.sin(1.5 * t), -1.5 * np.cos(1.5 * t), 2.25 * np.sin(1.5 * t)


def servo(q: float, v: float, target: float = 0.2) -> float:
    return KP * (target - q) - KD * v


#: Where the force of an event begins to act on the first dof, and how large it is.
LEVEL, KICK = 0.45, 3.0


class Turning(sim.Component):
    """The motion of the first dof."""

    @sim.output(shape=(3,), to="motion")
    def motion(t):
        return np.array(motion(t))


class Servo(sim.Component):
    """A servo that a user writes in Python."""

    q = sim.In("rad")
    v = sim.In("rad/s")

    @sim.output("N m", to="force")
    def force(q, v):
        return servo(q, v)


class Kick(sim.Component):
    """A force that begins at a crossing."""

    q = sim.In("rad")
    on = sim.Discrete(start=0.0)

    @sim.output("N m", to="force")
    def force(on):
        return KICK * on

    @sim.crossing()
    def passes(q):
        return q - LEVEL

    @sim.jump(on, at=passes)
    def begin():
        return 1.0


# -- features ------------------------------------------------------------------------------------------------------


class Feature(NamedTuple):
    """A feature of a run: as it is added to a propagator, to a system around a plant, and to the reference."""

    to_propagator: Callable[[sim.Propagator], None] | None
    """None where it is of systems alone."""
    to_system: Callable[[sim.System], None]
    to_reference: Callable[[sim.Propagator], None]
    loads: Callable[[], list[Any]] = list
    """The force elements of a plant."""
    touches: bool = False
    drives: bool = True
    """Whether a stepper may drive the first dof besides."""


def added(*makers: Callable[[], Any]) -> Feature:
    """Force elements."""

    def to_propagator(p: sim.Propagator) -> None:
        p.add(*(make() for make in makers))

    touches = any(isinstance(make(), sim.Contact) for make in makers)
    return Feature(to_propagator, lambda s: None, to_propagator, lambda: [make() for make in makers], touches)


def prescribe(p: sim.Propagator) -> None:
    p.prescribe("first", motion)


def control(p: sim.Propagator) -> None:
    """A function for the control of the first dof, besides the number that it has."""
    push = p._acting.controls["first"].number
    p.control("first", lambda t, state: push + servo(state.q[0], state.v[0]))


def push_by_function(p: sim.Propagator) -> None:
    p.add(lambda t, state: along_first(servo(state.q[0], state.v[0]), len(state.v)))


def lagging(t: float) -> float:
    """A target of 1 through a filter of first order."""
    return 1.0 - float(np.exp(-t / LAG))


def follow_target(p: sim.Propagator) -> None:
    p.add(lambda t, state: along_first(servo(state.q[0], state.v[0], lagging(t)), len(state.v)))


def follow_filter(s: sim.System) -> None:
    s.add("target", sim.Constant(value=1.0))
    s.add("filter", sim.LowPass(time_constant=LAG))
    s.add("servo", sim.PD(kp=KP, kd=KD))
    s.add("motor", sim.Force(), at=s.plants["body"].dof("first"))
    for source, target in (("target.y", "filter.u"), ("filter.y", "servo.target"), ("body.q[first]", "servo.measured"),
                           ("body.v[first]", "servo.rate"), ("servo.command", "motor.command")):  # fmt: skip
        s.connect(source, target)


def with_part(part: type[sim.Component], *inputs: str) -> Callable[[sim.System], None]:
    """A component at the first dof."""

    def to_system(s: sim.System) -> None:
        own = part.__name__.lower()
        s.add(f"own/{own}", part(), at=s.plants["body"].dof("first"))
        for name in inputs:
            s.connect(f"body.{name}[first]", f"own/{own}.{name}")

    return to_system


def kick(p: sim.Propagator) -> None:
    """An event whose action changes the number of a control."""
    push = p._acting.controls["first"].number
    p.event("passes", lambda t, state: state.q[0] - LEVEL, action=lambda t, state: p.control("first", push + KICK))


def kick_as_time(p: sim.Propagator) -> None:
    """The same without an event: the time at which it happens is that of a run before."""
    other = sim.Propagator(p.mb.copy(), integrator="dop853", rtol=1e-10)
    other.control("first", p._acting.controls["first"].number)
    other.event("passes", lambda t, state: state.q[0] - LEVEL, stop=True)
    other.run(END)
    p.add(lambda t, state: along_first(KICK if t >= other.t else 0.0, len(state.v)), breaks=[other.t])


FEATURES = {
    "contact": added(lambda: sim.Contact(friction=0.2, restitution=0.3, tolerance=1e-12)),
    "stops": added(lambda: sim.JointLimit("first", lower=LEVEL, upper=1.0, restitution=0.4)),
    "friction": added(lambda: sim.HingeFriction("first", coulomb=25.0)),
    "prescribed": Feature(prescribe, with_part(Turning), prescribe),
    "components": Feature(None, follow_filter, follow_target),
    "Python control": Feature(control, with_part(Servo, "q", "v"), push_by_function, drives=False),
    "events": Feature(kick, with_part(Kick, "q"), kick_as_time),
}


def how(feature: str) -> dict[str, Any]:
    """The method of a run and its step."""
    if FEATURES[feature].touches:
        return {"integrator": "moreau", "step": TOUCHING_STEP}
    return {"integrator": "rk4", "step": STEP}


def propagator(model: str, feature: str, push: float, **other: Any) -> sim.Propagator:
    p = sim.Propagator(MODELS[model](), **(other or how(feature)))
    p.control("first", push)
    return p


def system(model: str, feature: str, push: float | None = None, *more: str) -> sim.System:
    """A system of a model and a feature, or several; without a push the drive at the first dof waits for one."""
    s = sim.System("combined", **how(feature))
    features = [FEATURES[x] for x in (feature, *more)]
    plant = s.add("body", sim.Plant(MODELS[model](), forces=[load for x in features for load in x.loads()]))
    s.add("drive", sim.Force(), at=plant.dof("first"))
    if push is not None:
        s.add("push", sim.Constant(value=push))
        s.connect("push.y", "drive.command")
    for x in features:
        x.to_system(s)
    return s
