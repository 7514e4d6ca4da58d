"""`pickle` and `copy.deepcopy` of robots, worlds, contacts and runs: they work with the same answers, or are refused in
words. The slow test walks through everything that examples of the documentation make."""

from __future__ import annotations

import contextlib
import copy
import doctest
import importlib
import io
import pickle
import pkgutil
import warnings

import numpy as np
import pytest
from tests.robot.changes.test_changes import bits, shop

import soacraft as sc
from soacraft import sim
from soacraft.errors import SoacraftError, StaleError, StateError

WAYS = {"pickle": lambda x: pickle.loads(pickle.dumps(x)), "deepcopy": copy.deepcopy}
REST = np.array([0.0, 0.3, 0.0, -1.5, 0.0, 2.0, 0.8])


def panda():
    rb = sc.robot.Robot(sc.load("panda"))
    rb.limb("arm", "inertial", "link7")
    return rb


def table():
    w = sc.robot.World(panda())
    w.add("table", sc.contact.Box(0.5, 1.0, 0.1), sc.Pose(translation=(0.7, 0, 0.2)))
    w.pad("table", 0.01)
    w.collides(REST)
    return w


def two_hands():
    rb = shop()
    rb.limb("left", "inertial", "left1")
    rb.grasp("box", ["left1/hand", "right1/hand"])
    return rb


def corrected():
    """One whose memory of what was done has closures in it."""
    rb = two_hands()
    rb.update_attachment("box", rb.mb.pose("box", "left1/hand"), "left1/hand")
    return rb


def velocity_plan():
    rb = sc.robot.Robot(sc.serial_chain(3))
    hand = sc.robot.Reaching(sc.Position("link3/tip", (2.0, 0.0, -1.0)), gain=20.0)
    plan = rb.velocity_plan([hand])
    plan.aim(hand, (2.0, 0.0, -1.5))  # a copy keeps the goal that was given last
    return plan


def tracker():
    rb = panda()
    return sc.robot.Tracker(rb, 0.01, sc.robot.MotionLimits.of(rb, velocity=2.0, acceleration=10.0, jerk=100.0))


def pushed(contact):
    """A box that falls on a floor."""
    mb = sc.Multibody("box")
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    box = mb.add_body("box", None, sc.Free(), sc.Inertia(1.0, (0.0, 0.0, 0.0), np.eye(3)))
    box.add_geometry(sc.Geometry("skin", "box", (1.0, 1.0, 1.0)))
    mb.set_state([0, 0, 0, 1, 0, 0, 0.6], np.zeros(6))
    p = sim.Propagator(mb, integrator="moreau", step=0.01)
    p.add(contact)
    return p.advance_to(0.3)


def closure():
    return sc.load("five_bar").loops[0]


def system():
    s = sim.System("swing", integrator="rk4", step=0.1)
    s.add("bob", sim.Plant(sc.load("pendulum")))
    return s


#: What is copied -> (how it is made, its numbers).
THINGS = {
    "robot after a grasp by two hands": (two_hands, lambda rb: [rb.mb.q, len(bits(rb)), *sorted(rb.held["box"])]),
    "robot": (panda, lambda rb: [rb["arm"].pose(REST).translation, rb.mb.nv]),
    "limb that was given anew": (
        lambda: (rb := panda(), rb["arm"], rb.limb("arm", "inertial", "link6"))[1],
        lambda x: [x.pose(REST).translation, x.tip.full_name],
    ),
    "limb": (lambda: panda()["arm"], lambda x: [x.pose(REST).translation, x.ik(x.pose(REST)).found]),
    "world": (table, lambda w: [w.collides(REST), *w.objects, w.distances(REST, within=1.0).distance]),
    "distances": (
        lambda: table().distances(REST, within=1.0),
        lambda d: [d.distance, d.gradient, d.smooth, d.normal, d.state],
    ),
    "velocity plan": (velocity_plan, lambda p: [p.step(np.array([0.1, 0.2, 0.3]), 0.01).v]),
    "tracker": (tracker, lambda x: [x.step(x.rest(REST), REST + 0.1).q, x.dt]),
    "contact": (sim.Contact, lambda x: [x.name]),
    "contact that has acted": (lambda: (x := sim.Contact(), pushed(x))[0], lambda x: [x.name]),
    "run with contact": (lambda: pushed(sim.Contact()), lambda run: [run.q, run.v, run.energy]),
    "scene": (lambda: sc.contact.Scene(sc.load("panda")), lambda s: [s.distances(REST, within=0.2).distance]),
    "run of a system": (
        lambda: (s := system(), s.add("sine", sim.Sine(frequency=2.0)), s.run(0.3))[2],
        lambda run: [run.q, run.v, run.energy, run.signals["sine.y"]],
    ),
    "run of a model": (
        lambda: sim.Propagator(sc.load("pendulum")).advance_to(0.3),
        lambda run: [run.q, run.at(0.15).q, run.has_dense_output],
    ),
    "robot that has corrected what two hands hold": (corrected, lambda rb: [rb.mb.q, rb.undo(), rb.mb.q]),
    "closure": (closure, lambda x: [x.name, x.a.full_name, x.a.graph.q]),
    "parameters of a component": (lambda: sim.Gain(gain=2.0).p, lambda p: [p.gain]),
    "component": (lambda: sim.PD(kp=1.0, kd=2.0), lambda x: [x.p.kp, x.p.kd, repr(x)]),
    "layout of packets": (
        lambda: sim.Layout("board", {"angle": "rad"}), lambda x: [x.size, x.pack(1, 2, (0.5,))],
    ),
    "plant alone": (lambda: sim.Plant(sc.load("pendulum")), lambda x: [x.mb.q]),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("thing", THINGS)
def test_a_copy_gives_the_same(thing, way):
    make, numbers = THINGS[thing]
    first = make()
    other = WAYS[way](first)
    assert type(other) is type(first)
    for a, b in zip(numbers(first), numbers(other), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


REFUSED = {
    "system": (system, r"a System is not copied or pickled: .* s\.save\(path\) and sim\.load_system, or by s\.check"),
    "propagator": (
        lambda: sim.Propagator(sc.load("pendulum")),
        r"a Propagator is not copied or pickled: .* sc\.sim\.Propagator\(mb\.copy\(\)\), or write p\.checkpoint",
    ),
    "plant in a system": (lambda: system()._plants["bob"], "a System is not copied or pickled"),
    "link": (
        lambda: sim.SharedMemory("board", {"angle": "rad"}, {"torque": "N m"}),
        "a SharedMemory is not copied or pickled: it is a link to another program; make another where it is needed",
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("thing", REFUSED)
def test_what_is_not_copied_says_so(thing, way):
    make, text = REFUSED[thing]
    first = make()
    with contextlib.ExitStack() as stack:
        if thing == "link":
            stack.enter_context(first)
        with pytest.raises(StateError, match=text):
            WAYS[way](first)


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_of_a_world_follows_its_own_robot(way):
    """Changes of the model are heard by the copy, and not of the first."""
    w = table()
    other = WAYS[way](w)
    assert other.robot is not w.robot
    other.robot.mb["link7"].add_geometry(sc.Geometry("ball", "sphere", (5.0,)))
    assert other.collides(REST)
    assert not w.collides(REST)


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_of_a_robot_lets_go_and_follows_edits(way):
    rb = two_hands()
    other = WAYS[way](rb)
    other.ungrasp("box")
    assert other.held == {}
    assert rb.held == {"box": ("left1/hand", "right1/hand")}
    assert other["left"].robot is other


@pytest.mark.parametrize("way", WAYS)
def test_a_closure_copied_before_its_model_is_the_one_of_the_copy(way):
    first = closure()
    other = WAYS[way](first)
    mb = other.a.graph
    assert mb.loops[0] is other
    assert sc.loops.TreeAugmented(mb).assemble(mb.q).shape == (mb.nq,)


def test_a_stale_plan_is_not_copied():
    plan = velocity_plan()
    plan._mb.remove("link3")
    for way in WAYS.values():
        with pytest.raises(StaleError):
            way(plan)


#: Python's own words about functions and classes that a user typed within others: no copy of ours could have them.
OF_USERS = ("Can't pickle <function <lambda>", "Can't pickle <function", "Can't pickle <class")


def examples():
    """Objects of our classes that the examples of all modules make."""
    for x in pkgutil.walk_packages(sc.__path__, "soacraft."):
        if x.ispkg or x.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(x.name)
        except ImportError:
            continue
        for test in doctest.DocTestFinder().find(module):
            runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
                runner.run(test, clear_globs=False, out=lambda _: None)
            for name, value in test.globs.items():
                if vars(module).get(name) is not value and type(value).__module__.startswith("soacraft."):
                    yield f"{test.name}: {name}", value
            test.globs.clear()


@pytest.mark.slow
def test_nothing_that_examples_make_has_a_raw_error():
    faults, seen = [], set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, value in examples():
            for way, act in WAYS.items():
                try:
                    act(value)
                except SoacraftError:
                    pass
                except Exception as wrong:
                    if not str(wrong).startswith(OF_USERS):
                        faults.append(f"{name} ({type(value).__name__}), {way}: {type(wrong).__name__}: {wrong}")
            seen.add(type(value))
    assert not faults, "\n".join(faults)
    assert len(seen) > 150
