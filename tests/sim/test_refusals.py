"""What a propagator and its forces are given wrongly: errors of the package that name the thing, the value and the
cure. Nothing ends in an error of numpy or of Python itself, and nothing is left half done."""

import numpy as np
import pytest
from tests.sim.combinations import flexible

import soacraft as sc
from soacraft.errors import ModelError, ModelFileError, SoacraftError, StateError

RAGGED = [[1.0, 2.0], [3.0]]
WORDS = ("x", None, RAGGED, [1.0, 2.0], 1j, {}, True, np.nan)


def pendulum():
    mb = sc.load("double_pendulum")
    return mb, sc.sim.Propagator(mb)


def drive(u):
    _, p = pendulum()
    p.control("upper", u)
    p.advance_to(0.001)


@pytest.mark.parametrize("value", WORDS, ids=repr)
def test_controls(value):
    with pytest.raises(StateError, match=r"the control of 'upper' must"):
        drive(value)
    with pytest.raises(StateError, match=r"the control of 'upper' at t = .* must (be|have)"):
        drive(lambda t, state: value)


@pytest.mark.parametrize("name", [3, ["upper"], None])
def test_names_that_are_none(name):
    mb, p = pendulum()
    with pytest.raises(StateError, match="a control is of an actuator or a dof, by its name; got"):
        p.control(name, 1.0)
    with pytest.raises(StateError, match=r"an event has a name by which run.events lists it; got"):
        p.event(name, lambda t, state: 1.0)
    with pytest.raises(ModelError, match="has no dof"):
        p.prescribe(name, None)
    with pytest.raises(ModelError, match="has no dof"):
        p.add(sc.sim.JointLimit(name))
    with pytest.raises(StateError, match="there is no integrator"):
        sc.sim.Propagator(mb, integrator=name)


def test_functions_that_do_not_take_a_time_and_a_state():
    """They are refused where they are given, and nothing is kept of them."""
    _, p = pendulum()

    def push(t):
        return [0.0, 0.0]

    end = r" is called as f\(t, state\), but it takes \(t\): too many positional arguments\."
    for what, give in {
        "the force 'push'": lambda: p.add(push),
        "the control of 'upper'": lambda: p.control("upper", push),
        "the callback of every": lambda: p.every(0.1, push),
        "event 'e'": lambda: p.event("e", push),
        "the action of event 'e'": lambda: p.event("e", lambda t, state: 1.0, action=push),
    }.items():
        with pytest.raises(StateError, match=f"^{what}{end}"):
            give()
    p.add(lambda *given: None)
    run = p.advance_to(0.01)
    assert "push" not in run.forces
    assert not run.events


def test_a_force_of_another_size():
    _, p = pendulum()
    p.add(lambda t, state: np.zeros(3))
    with pytest.raises(StateError, match=r"must have shape \(2,\), got shape \(3,\)\. A force is \{node"):
        p.advance_to(0.01)


@pytest.mark.parametrize("side", ["lower", "upper"])
@pytest.mark.parametrize("value", [x for x in WORDS if x is not None], ids=repr)
def test_limits(side, value):
    with pytest.raises(StateError, match=f"{side} of the limit of upper must"):
        sc.sim.JointLimit("upper", **{side: value})


def test_a_limit_on_one_side():
    _, p = pendulum()
    p.add(sc.sim.JointLimit("upper", lower=-np.inf, upper=1.0))
    p.advance_to(0.001)


@pytest.mark.parametrize("value", [x for x in WORDS if x is not True], ids=repr)
def test_events(value):
    _, p = pendulum()
    with pytest.raises(StateError, match=r"the function of event 'e' must (give one number|be finite), got"):
        p.event("e", lambda t, state: value)
    with pytest.raises(StateError, match="direction of event 'e' must be -1, 0 or 1"):
        p.event("e", lambda t, state: 1.0, np.array([1, 0]))
    p.event("e", lambda t, state: np.array(1.0))


@pytest.mark.parametrize("value", WORDS, ids=repr)
def test_motions(value):
    _, p = pendulum()
    with pytest.raises(StateError, match=r"must give three numbers, \(coordinate, rate, acceleration\); at t = 0 s it"):
        p.prescribe("upper", lambda t: value)


@pytest.mark.parametrize("path", [3, [], {}, b"run.h5", 1.5, True])
def test_paths_of_logs(path):
    _, p = pendulum()
    with pytest.raises(StateError, match=r"log= takes a path, as text or as an object of pathlib; got"):
        p.advance_to(0.1, log=path)
    assert p.t == 0.0
    with pytest.raises(StateError, match=r"sc.sim.read takes a path, as text or as an object of pathlib"):
        sc.sim.read(path)
    with pytest.raises(ModelFileError, match="there is no log"):
        sc.sim.read("no such file.h5")


ATTRIBUTES = {
    "ctrlrange of actuator 'm'": [{"ctrlrange": x} for x in ("x", [1.0], [1.0, 2.0, 3.0], RAGGED, 5.0, [2.0, 1.0])],
    "forcerange of actuator 'm'": [{"forcerange": x} for x in ("x", [[1.0, 2.0]], [3.0, 1.0])],
    "gainprm of actuator 'm'": [{"gainprm": x} for x in ("x", RAGGED, [], [[1.0]])],
    "biasprm of actuator 'm'": [{"biastype": "affine", "biasprm": x} for x in ("x", RAGGED, [])],
    "actuator 'm' of 'double_pendulum' has biastype": [{"biastype": x} for x in (3, ["affine"], "muscle")],
}


@pytest.mark.parametrize(("text", "attributes"), [(text, x) for text, all_ in ATTRIBUTES.items() for x in all_])
def test_attributes_of_actuators(text, attributes):
    mb, _ = pendulum()
    mb.add_actuator(sc.Actuator("m", "general", {"upper": 1.0}, attributes))
    p = sc.sim.Propagator(mb)
    with pytest.raises(ModelError, match=text):
        p.control("m", 1.0)


@pytest.mark.parametrize("threads", ["x", 0, -1, 1.5, True])
def test_threads_of_a_rollout(threads):
    p = sc.sim.Propagator(sc.load("double_pendulum"), integrator="rk4", step=0.01)
    with pytest.raises(StateError, match="threads of rollout must be a whole number of at least 1"):
        p.rollout([0.1, 0.2], [0.0, 0.0], threads=threads)


@pytest.mark.parametrize("parameters", [3, None, {"upper.mass": 1}])
def test_parameters_of_a_rollout(parameters):
    p = sc.sim.Propagator(sc.load("double_pendulum"), integrator="rk4", step=0.01)
    with pytest.raises(ModelError, match=r"parameters of a rollout are a list of names such as 'link3.mass'"):
        p.rollout_derivatives([0.1, 0.2], [0.0, 0.0], parameters=parameters)


@pytest.mark.parametrize("value", WORDS, ids=repr)
def test_springs_of_a_model(value):
    """Lengths, matrices and tables: refused by name, and the model stays as it was."""
    mb, _ = pendulum()
    version = mb.version
    for given in ({"stiffness": value}, {"damping": value}):
        with pytest.raises(ModelError, match=r"of bushing 'b' must"):
            mb.add_bushing("b", "inertial", "lower", **({"stiffness": 1.0} | given))
        with pytest.raises(ModelError, match=r"of spring 's' must"):
            mb.add_spring("s", "inertial", "lower", **given)
    if value != [1.0, 2.0]:  # a range in which it is slack
        with pytest.raises(ModelError, match=r"the length of spring 's' must"):
            mb.add_spring("s", "inertial", "lower", 1.0, value)
        with pytest.raises(ModelError, match=r"the rest length of tendon 't' must"):
            mb.add_tendon("t", {"upper": 1.0}, 1.0, rest=value)
    assert mb.version == version
    assert len(mb.springs) == len(mb.bushings) == len(mb.tendons) == 0


@pytest.mark.parametrize("value", WORDS, ids=repr)
def test_curves(value):
    curve = sc.Curve([0.0, 1.0], [0.0, 2.0])
    if value is not None and value != [1.0, 2.0]:
        with pytest.raises(ModelError, match=r"x of a curve must|two points or more"):
            sc.Curve(value, [1.0, 2.0])
    with pytest.raises(ModelError, match="a curve is 'cubic' or 'linear' between its points, got kind="):
        sc.Curve([0.0, 1.0], [0.0, 1.0], kind=np.array([value], dtype=object))
    for ask in (curve, curve.slope, curve.integral) if value != [1.0, 2.0] else ():
        with pytest.raises(SoacraftError, match=r"where (a|the slope of a|the integral of a) curve is asked for must"):
            ask(value)


@pytest.mark.parametrize("load", [sc.sim.HingeFriction, lambda dof: sc.sim.JointLimit(dof, lower=-1.0, upper=1.0)])
def test_elastic_modes_have_no_dry_friction_and_no_limits(load):
    mb = flexible()
    p = sc.sim.Propagator(mb)
    with pytest.raises(ModelError, match=r"dof 'first\.mode0' of 'flexible' is an elastic mode, and "):
        p.add(load("first.mode0"))
    assert not p.run(0.01).forces
