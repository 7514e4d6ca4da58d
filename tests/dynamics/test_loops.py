"""Loop closures and couplings: which functions answer with them, which refuse, and what `ignore_loops` does."""

import inspect

import numpy as np
import pytest
from tests.dynamics.calls import CALLS, arguments, arrays, call, close, shared_tree, tree_for

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import LoopError, StaleError

# Right for any q and v that agree with the loops: kinematics, and sums over bodies or hinges.
ANSWERS = {
    "poses", "velocities", "accelerations", "node_motion", "jacobian", "jacobian_dot_v", "center_of_mass", "momentum",
    "centroidal_momentum_matrix", "kinetic_energy", "potential_energy", "passive_energy", "passive_force",
}  # fmt: skip
# What is carried by which hinge, what moves under which force, and what is outboard of what, depends on the loops.
REFUSES = {
    "inverse_dynamics", "forward_dynamics", "mixed_dynamics", "bias_force", "gravity_force", "interbody_forces",
    "compensating_force", "mass_matrix", "mass_matrix_inverse", "mass_matrix_multiply", "mass_matrix_solve",
    "log_det_mass_matrix", "composite_inertia", "operational_space_compliance", "operational_space_inertia",
    "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
}  # fmt: skip

every = pytest.mark.parametrize("function", sorted(CALLS))
refusing = pytest.mark.parametrize("function", sorted(REFUSES))
answering = pytest.mark.parametrize("function", sorted(ANSWERS))


def tie(mb, active=True):
    """Close a loop between the ends of the tree, and gear two coordinates."""
    mb.close_loop("ring", mb.bodies[0], mb.bodies[-1], sc.Spherical(), active=active)
    first, second = [body.hinge_name for body in mb.bodies if body.hinge.nq == 1][:2]
    mb.couple("gear", {first: 1.0, second: -2.0}, active=active)
    return mb


def tied(function):
    return tie(tree_for(function, 1))


def text(function, g, what="loop 'ring' and coupling 'gear'"):
    return (
        f"{function}: {g.name!r} has {what}, which the tree alone does not know. Pass ignore_loops=True for the "
        "tree without them, or solve with them: sc.loops.ConstraintEmbedding(mb)."
    )


def same(found, wanted, tolerance=1e-11):
    for ours, theirs in zip(arrays(found), arrays(wanted), strict=True):
        close(ours, theirs, tolerance)


def test_every_function_is_on_one_of_the_lists():
    assert not ANSWERS & REFUSES
    assert set(CALLS) == ANSWERS | REFUSES


@every
def test_the_keyword(function):
    for what in (getattr(dyn, function), getattr(dyn.Dynamics, function)):
        found = inspect.signature(what).parameters["ignore_loops"]
        assert found.kind is found.KEYWORD_ONLY
        assert found.default is False


@refusing
@pytest.mark.parametrize("batch", [(), (2,)], ids=["one", "batch"])
def test_refused(function, batch):
    g = tied(function)
    with pytest.raises(LoopError) as error:
        call(function, g, arguments(g, 2, batch))
    assert str(error.value) == text(function, g)


@answering
def test_answered(function):
    g = tied(function)
    given = arguments(g, 2)
    wanted = call(function, shared_tree(function), given)
    same(call(function, g, given), wanted)
    same(call(function, g, given, ignore_loops=True), wanted)


@refusing
@pytest.mark.parametrize("batch", [(), (3,)], ids=["one", "batch"])
def test_ignored(function, batch):
    """With out= and threads= too."""
    g, bare = tied(function), shared_tree(function)
    given = arguments(g, 2, batch)
    wanted = call(function, bare, {name: on(bare, value) for name, value in given.items()})
    same(call(function, g, given, ignore_loops=True), wanted)
    out = tuple(np.empty(x.shape) for x in arrays(wanted))
    same(call(function, g, given, ignore_loops=np.True_, threads=2, out=out if len(out) > 1 else out[0]), wanted)
    same(out, wanted)


def on(mb, forces):
    """Forces at the frames of the same names of another model."""
    if not isinstance(forces, dict):
        return forces
    moved = {}
    for node, wrench in forces.items():
        if isinstance(wrench, sc.Wrench):
            axes = getattr(wrench.expressed_in, "full_name", wrench.expressed_in)
            wrench = sc.Wrench(wrench.moment, wrench.force, expressed_in=axes)
        moved[getattr(node, "full_name", node)] = wrench
    return moved


@every
def test_anything_but_true_and_false_is_refused(function):
    g = shared_tree(function)
    given = arguments(g, 2)
    for bad in (None, 1, "yes", np.array([True, False])):
        with pytest.raises(LoopError) as error:
            call(function, g, given, ignore_loops=bad)
        assert str(error.value) == f"ignore_loops of {function} must be True or False, got {bad!r}."


@refusing
def test_what_is_inactive_or_taken_out_is_not_refused(function):
    g, bare = tie(tree_for(function, 1), active=False), shared_tree(function)
    given = arguments(bare, 2)
    wanted = call(function, bare, given)
    given = {name: on(g, value) for name, value in given.items()}
    same(call(function, g, given), wanted)
    g = tied(function)
    g.remove_loop("ring")
    g.remove_coupling("gear")
    same(call(function, g, given), wanted)


@refusing
def test_a_sub_graph_has_the_loops_inside_it(function):
    mb = sc.serial_chain(5)
    for body in mb.bodies:
        body.add_node("middle")
    mb.close_loop("ring", "link2", "link4", sc.Spherical())
    mb.couple("gear", {"link1": 1, "link5": 1})
    for bodies, what in (
        (("link2", "link3", "link4"), "loop 'ring'"),
        (("link1", "link2", "link3"), None),
        (("link3", "link4", "link5"), None),
    ):
        g = mb.subgraph([mb[name] for name in bodies])
        given = arguments(g, 2)
        if what is None:
            call(function, g, given)
            continue
        with pytest.raises(LoopError) as error:
            call(function, g, given)
        assert str(error.value) == text(function, g, what)
        call(function, g, given, ignore_loops=True)


# -- the handle -----------------------------------------------------------------------------------------------


def method(d, function, given, **extra):
    extra |= {"allow_singular": True} if function == "operational_space_inertia" else {}
    return getattr(d, function)(*(given[name] for name in CALLS[function].split()), **extra)


def plain(given):
    """Arguments that a quick call would take."""
    return given | {"f_ext": None, "nodes": given["nodes"][0]}


@refusing
def test_the_handle_refuses(function):
    g = tied(function)
    given = arguments(g, 2)
    d = dyn.Dynamics(g)
    for _ in range(2):
        with pytest.raises(LoopError) as error:
            method(d, function, given)
        assert str(error.value) == text(function, g)
    wanted = call(function, g, given, ignore_loops=True)
    same(method(d, function, given, ignore_loops=True), wanted)
    d = dyn.Dynamics(g, ignore_loops=True)
    same(method(d, function, given), wanted)
    with pytest.raises(LoopError) as error:
        method(d, function, given, ignore_loops=False)
    assert str(error.value) == text(function, g)


@every
def test_quick_calls_of_the_handle(function):
    """Those without external forces, at one state and at many."""
    g = tied(function)
    names = [name for name in CALLS[function].split() if name != "f_ext"]
    for batch in ((), (3,)):
        given = plain(arguments(g, 2, batch)) | {"node_forces": {}}
        args = [given[name] for name in names]
        extra = {"allow_singular": True} if function == "operational_space_inertia" else {}
        wanted = getattr(dyn, function)(g, *args, **extra, ignore_loops=True)
        for told in (dyn.Dynamics(g), dyn.Dynamics(g, ignore_loops=True)):
            same(getattr(told, function)(*args, **extra, ignore_loops=True), wanted)
        for _ in range(2):  # the second call of a Jacobian knows its node
            same(getattr(told, function)(*args, **extra), wanted)
        if function in REFUSES:
            with pytest.raises(LoopError):
                getattr(dyn.Dynamics(g), function)(*args, **extra)
            with pytest.raises(LoopError):
                getattr(told, function)(*args, **extra, ignore_loops=False)
        else:
            same(getattr(dyn.Dynamics(g), function)(*args, **extra), wanted)


@every
def test_a_loop_closed_after_the_handle_was_made(function):
    g = tree_for(function, 1)
    given = arguments(g, 2)
    for told in (dyn.Dynamics(g), dyn.Dynamics(g, ignore_loops=True)):
        method(told, function, given)
    tie(g)
    with pytest.raises(StaleError, match="was made before a structural change"):
        method(told, function, given)


def test_the_handle_checks_what_it_is_told():
    with pytest.raises(LoopError) as error:
        dyn.Dynamics(sc.load("pendulum"), ignore_loops="no")
    assert str(error.value) == "ignore_loops of Dynamics must be True or False, got 'no'."
    with pytest.raises(LoopError, match=r"^ignore_loops of mass_matrix must be True or False, got 0\.$"):
        dyn.Dynamics(sc.load("pendulum")).mass_matrix(np.zeros(1), ignore_loops=0)
