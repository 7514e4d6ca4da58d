"""What every analysis has in common: what it takes, what it refuses, loops, batches, `out`."""

import inspect
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from tests.analysis.cases import armed
from tests.dynamics.calls import close, subtree, tree

import soacraft as sc
from soacraft import analysis
from soacraft.errors import LoopError, ModelError, StaleError, StateError

CALLS = {
    "mass_matrix_gradient": "q",
    "christoffel": "q",
    "coriolis_matrix": "q v",
    "log_det_mass_matrix": "q",
    "log_det_gradient": "q",
    "fixman_potential": "q",
    "fixman_force": "q",
    "linearize": "q v force",
    "operational_space": "q nodes",
    "diagonalize": "q v",
    "generalized_jacobian": "q nodes",
    "disturbance_jacobian": "q nodes passive",
    "underactuated": "q v passive",
    "jacobian_gradient": "q nodes",
    "manipulability": "q nodes",
    "parameter_regressor": "q v vdot",
    "forward_dynamics_sensitivity": "q v force",
    "base_parameters": "",
}
#: With tests of their own.
OTHERS = {
    "equilibrium", "identify", "measures", "modes", "optimize", "parameter_derivatives", "parameter_names",
    "parameters", "reroot", "set_parameters",
}  # fmt: skip
BATCHED = ("q", "v", "vdot", "force")
WITH_OUT = ("mass_matrix_gradient", "coriolis_matrix", "log_det_gradient")

every = pytest.mark.parametrize("function", CALLS)
of_q = pytest.mark.parametrize("function", [name for name in CALLS if CALLS[name]])


def floating():
    """A free base for the generalized Jacobian; true coordinates outboard of it."""
    hinges = [hinge for hinge in analysis_hinges() if not isinstance(hinge, sc.Free | sc.Spherical)]
    mb = sc.Multibody("model", (1.0, -2.0, -9.0))
    mb.add_body("base", None, sc.Free(), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    for body in sc.random_tree(6, 3, hinges).bodies:
        parent = body.parent.name if isinstance(body.parent, sc.Body) else "base"
        twin = mb.add_body(body.name, parent, body.hinge, body.inertia, body.inboard, body.outboard)
        twin.add_node("tip", sc.Pose(translation=(0.1, 0.2, 0.3)))
    return mb


def analysis_hinges():
    return [sc.Pin((1, 2, 3)), sc.Prismatic((0, 1, 1)), sc.Gimbal(np.eye(3)), sc.Cylindrical((0, 1, 0))]


def model_for(function):
    if function == "christoffel":
        return sc.random_tree(5, 2, analysis_hinges(), name="model")
    if function == "generalized_jacobian":
        return floating()
    return armed(tree(1, n=8, holonomic=True, name="model"))


def arguments(g, batch=(), seed=0):
    rng = np.random.default_rng(seed)
    several = [g.random_state(rng)[0] for _ in range(int(np.prod(batch)))]
    given = {name: rng.standard_normal((*batch, g.nv)) for name in BATCHED[1:]}
    nodes = [g.bodies[-1].name, g.bodies[-2].name]
    return given | {"q": np.reshape(several, (*batch, g.nq)), "nodes": nodes, "passive": [0, 2]}


def call(function, g, given, **extra):
    positional = [given[name] for name in CALLS[function].split() if (function, name) != ("underactuated", "passive")]
    if function == "underactuated":
        extra["passive"] = given["passive"]
    if function == "operational_space":
        extra["allow_singular"] = True
    return getattr(analysis, function)(g, *positional, **extra)


def arrays(result):
    """The arrays of a result by name."""
    if not is_dataclass(result):
        return {"result": np.asarray(result)}
    found = {field.name: getattr(result, field.name) for field in fields(result)}
    found.pop("units", None)  # words
    for name in [name for name, x in found.items() if isinstance(x, dict)]:
        found |= {f"{name}[{body}]": x for body, x in found.pop(name).items()}
    return {name: np.asarray(x) for name, x in found.items() if not isinstance(x, tuple) and not name.startswith("_")}


def same(found, wanted, tolerance=1e-9):
    found, wanted = arrays(found), arrays(wanted)
    assert found.keys() == wanted.keys()
    for name, x in found.items():
        ours, theirs = (np.nan_to_num(y, nan=-1.0, posinf=1e9) for y in (x, wanted[name]))
        close(ours, theirs, tolerance)


def test_every_function_is_here():
    functions = {name for name in analysis.__all__ if inspect.isfunction(getattr(analysis, name))}
    assert functions == set(CALLS) | OTHERS
    for name in analysis.__all__:
        text = inspect.getdoc(getattr(analysis, name))
        assert text, name
        if name in CALLS:
            assert ">>>" in text, name
            assert "O(" in text or name.startswith("fixman_potential"), name


@every
def test_batches(function):
    g = model_for(function)
    if not CALLS[function]:
        return
    given = arguments(g, (2, 3))
    found = call(function, g, given)
    for index in ((0, 0), (1, 2)):
        one = {name: x[index] if name in BATCHED else x for name, x in given.items()}
        picked = {name: x[index] for name, x in arrays(found).items()}
        wanted = arrays(call(function, g, one))
        for name, x in picked.items():
            ours, theirs = (np.nan_to_num(y, nan=-1.0, posinf=1e9) for y in (x, wanted[name]))
            close(ours, theirs, 1e-9)


@every
def test_other_things_than_models(function):
    g = model_for(function)
    for thing in (None, "arm7", g.layout):
        with pytest.raises(ModelError, match=f"{function} takes a Multibody or a sub-graph of one, got"):
            call(function, thing, arguments(g))


@every
def test_loops_are_refused(function):
    g = model_for(function)
    wanted = call(function, g, arguments(g))
    g.close_loop("ring", g.bodies[0], g.bodies[-1], sc.Spherical())
    first, second = [body.hinge_name for body in g.bodies if body.hinge.nq == 1][:2]
    g.couple("gear", {first: 1.0, second: -2.0})
    with pytest.raises(LoopError) as error:
        call(function, g, arguments(g))
    assert str(error.value) == (
        f"{function}: 'model' has loop 'ring' and coupling 'gear', which the tree alone does not know. Pass "
        "ignore_loops=True for the tree without them, or solve with them: sc.loops.ConstraintEmbedding(mb)."
    )
    same(call(function, g, arguments(g), ignore_loops=True), wanted, 1e-12)
    with pytest.raises(LoopError, match=f"ignore_loops of {function} must be True or False, got 'yes'"):
        call(function, g, arguments(g), ignore_loops="yes")


@of_q
def test_states_that_are_none(function):
    g = model_for(function)
    for bad, text in ((np.zeros(g.nq + 1), "has"), (np.full(g.nq, np.nan), "must be"), ("home", "has")):
        with pytest.raises(StateError, match=f"^q of ('model'|hinge '.*') {text}"):
            call(function, g, arguments(g) | {"q": bad})
    for name in CALLS[function].split():
        if name in ("v", "vdot", "force"):
            with pytest.raises(StateError, match=f"^{name} of 'model' has {g.nv} entries"):
                call(function, g, arguments(g) | {name: np.zeros(g.nv - 1)})


@every
def test_a_stale_sub_graph(function):
    mb = armed(tree(1, n=8, holonomic=True, bases=1))
    g = subtree(mb)
    given = arguments(g)
    mb.add_body("more", None, sc.Pin((0, 0, 1)))
    with pytest.raises(StaleError, match="was made before a structural change of the model"):
        call(function, g, given)


@pytest.mark.parametrize("function", WITH_OUT)
def test_results_in_place(function):
    g = model_for(function)
    given = arguments(g, (3,))
    wanted = call(function, g, given)
    out = np.empty(wanted.shape)
    assert call(function, g, given, out=out, threads=2) is out
    np.testing.assert_array_equal(out, wanted)
    with pytest.raises(StateError, match=f"out of {function} must be a writeable C-contiguous float64 array of shape"):
        call(function, g, given, out=np.empty(3))
    with pytest.raises(StateError, match=f"threads of {function} must be a whole number of at least 1"):
        call(function, g, given, threads=0)


@pytest.mark.parametrize("function", ["operational_space", "jacobian_gradient", "manipulability"])
def test_nodes_that_are_none(function):
    g = model_for(function)
    with pytest.raises(ModelError, match="'model' has no frame 'hand'"):
        call(function, g, arguments(g) | {"nodes": "hand"})
