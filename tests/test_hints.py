"""Words of other libraries lead to ours: in modules, of models, as arguments. Each hint names what exists."""

import inspect
import re
from functools import reduce

import pytest

import soacraft as sc
from soacraft import hints
from soacraft.errors import UnknownAttributeError
from soacraft.hints import ARGUMENT, GRAPH, MODULE, hint, hinted

CALLS = {
    "load": sc.load,
    "add_body": sc.Multibody.add_body,
    "inverse_kinematics": sc.inverse_kinematics,
    "Propagator": sc.sim.Propagator.__init__,
    "advance_to": sc.sim.Propagator.advance_to,
    "System": sc.sim.System.__init__,
    "run": sc.sim.System.run,
    "forward_dynamics": sc.dynamics.forward_dynamics,
    "inverse_dynamics": sc.dynamics.inverse_dynamics,
    "jacobian": sc.dynamics.jacobian,
}


@pytest.mark.parametrize("table", [MODULE, GRAPH], ids=["module", "graph"])
def test_what_hints_name_exists(table):
    mb = sc.load("arm7")
    for word, ours in table.items():
        names = re.findall(r"\b(sc|mb|body)\.([\w.]*\w)", ours)
        assert names or ours in ("len(mb)", "nothing: a Multibody may be used at once"), (word, ours)
        for root, path in names:
            start = {"sc": sc, "mb": mb, "body": mb.bodies[0]}[root]
            parts = path.split(".")
            assert reduce(getattr, parts[:1] if root != "sc" else parts, start) is not None


def test_calls_in_hints_take_the_arguments_they_show():
    for ours in {*MODULE.values(), *GRAPH.values()}:
        for path, arguments in re.findall(r"\bsc\.([\w.]+)\(([^(){}]*)\)", ours):
            function = reduce(getattr, path.split("."), sc)
            shown = [x.strip() for x in arguments.split(",") if x.strip()]
            keywords = {x.partition("=")[0]: 0 for x in shown if "=" in x}
            inspect.signature(function).bind(*[x for x in shown if "=" not in x], **keywords)


def test_every_function_of_a_state_is_found_from_the_model():
    for name in sc.dynamics.__all__:
        if name.islower() and name in {"mass_matrix", "forward_dynamics", "inverse_dynamics", "jacobian", "bias_force",
                                       "gravity_force", "center_of_mass", "kinetic_energy", "momentum"}:  # fmt: skip
            assert GRAPH[name.replace("_", "")].startswith(f"sc.dynamics.{name}(")


def test_arguments_are_those_of_our_functions():
    taken = {name for call in CALLS.values() for name in inspect.signature(call).parameters}
    assert {ours.partition("=")[0] for ours in ARGUMENT.values()} <= taken


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Revolute", "; here it is sc.Pin(axis)"),
        ("JointModelFreeFlyer", "; here it is sc.Free()"),
        ("MjModel", "; here it is sc.Multibody(name), or sc.load(file)"),
        ("MultibodyPlant", "; here it is sc.Multibody(name), or sc.load(file)"),
        ("rnea", "; here it is sc.dynamics.inverse_dynamics(mb, q, v, vdot)"),
        ("Multibdy", "; did you mean 'Multibody'?"),
        ("xyzzy", ""),
    ],
)
def test_names_of_the_package(name, text):
    with pytest.raises(AttributeError) as refusal:
        getattr(sc, name)
    assert str(refusal.value) == f"module 'soacraft' has no attribute {name!r}{text}"


@pytest.mark.parametrize("module", ["dynamics", "sim", "contact", "analysis", "robot", "loops", "flexible", "view"])
def test_names_of_its_rooms(module):
    with pytest.raises(AttributeError, match=rf"^module 'soacraft\.{module}' has no attribute 'crba'; here it is sc\."):
        _ = getattr(sc, module).crba
    assert not hasattr(getattr(sc, module), "_nothing")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mass_matrix", "; here it is sc.dynamics.mass_matrix(mb, q)"),
        ("qpos", "; here it is mb.q"),
        ("joints", "; here it is mb.bodies, each with its hinge"),
        ("CalcMassMatrix", "; here it is sc.dynamics.mass_matrix(mb, q)"),
        ("gravty", "; did you mean 'gravity'?"),
        ("xyzzy", ""),
    ],
)
def test_attributes_of_models(name, text):
    mb = sc.load("arm7")
    for graph, called in ((mb, "Multibody 'arm7'"), (mb.subgraph(["link1", "link2"]), None)):
        with pytest.raises(UnknownAttributeError) as refusal:
            getattr(graph, name)
        assert str(refusal.value).endswith(f" has no attribute {name!r}{text}")
        assert called is None or str(refusal.value).startswith(called)
        assert getattr(graph, name, None) is None
        assert not hasattr(graph, f"_{name}")


def test_an_error_inside_a_property_is_its_own():
    class Arm(sc.Multibody):
        @property
        def reach(self):
            return self.nothing_of_the_kind

    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = Arm("arm").reach


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda mb: sc.sim.Propagator(mb, dt=0.1), "; here it is step=, the length of a step in seconds"),
        (lambda mb: sc.sim.System("s", timestep=0.1), "; here it is step=, the length of a step in seconds"),
        (lambda mb: sc.sim.Propagator(mb).advance_to(t_final=1.0), "; here it is t=, the time to go to"),
        (lambda mb: sc.dynamics.forward_dynamics(mb, mb.q, mb.v, tau=mb.v), "; here it is force="),
        (lambda mb: sc.dynamics.inverse_dynamics(mb, mb.q, mb.v, qdd=mb.v), "; here it is vdot="),
        (lambda mb: sc.load("arm7", floating_base=True), "; here it is root=sc.Free()"),
        (lambda mb: mb.add_body("x", joint=sc.Weld()), "; here it is hinge="),
        (lambda mb: sc.dynamics.mass_matrix(mb, mb.q, dt=0.1), ""),  # which has no step=
        (lambda mb: sc.load("arm7", xyzzy=1), ""),
    ],
)
def test_arguments(call, text):
    mb = sc.load("arm7")
    before = len(mb)
    with pytest.raises(TypeError) as refusal:
        call(mb)
    assert re.search(rf"got an unexpected keyword argument '\w+'{re.escape(text)}$", str(refusal.value))
    assert len(mb) == before


def test_other_errors_pass_as_they_are():
    def work(step=None):
        raise TypeError("of another kind")

    with pytest.raises(TypeError, match=r"^of another kind$"):
        hinted(work)()
    assert hint("", {}) == ""
    assert inspect.signature(hinted(work)) == inspect.signature(work)
    assert hints.hinted(work).__name__ == "work"
