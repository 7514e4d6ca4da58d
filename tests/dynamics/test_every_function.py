"""What is promised of every function: batches, out=, threads=, the handle, errors."""

import numpy as np
import pytest
from tests.dynamics.calls import (
    BATCHED,
    CALLS,
    SOLVES,
    arguments,
    arrays,
    call,
    close,
    names_of,
    pick,
    public_functions,
    shared_tree,
    subtree,
    tree,
    tree_for,
)

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.dynamics import sko
from soacraft.errors import ModelError, SingularError, StaleError, StateError

FUNCTIONS = sorted(CALLS)
every = pytest.mark.parametrize("function", FUNCTIONS)


def test_the_table_is_complete():
    assert public_functions() == set(CALLS)
    methods = {name for name in vars(dyn.Dynamics) if not name.startswith("_")} - {"graph"}
    assert methods == set(CALLS)


# -- batches ------------------------------------------------------------------------------------------------


@every
def test_a_batch_is_a_loop(function):
    g = shared_tree(function)
    given = arguments(g, 2, (2, 3))
    together = arrays(call(function, g, given))
    for i in np.ndindex(2, 3):
        alone = arrays(call(function, g, pick(given, i)))
        for ours, theirs in zip(together, alone, strict=True):
            close(ours[i], theirs, 1e-12)


@every
def test_a_batch_of_a_sub_graph(function):
    g = subtree(tree_for(function, 5, bases=1), anchor="moving")
    given = arguments(g, 3, (2,))
    together = arrays(call(function, g, given))
    for i in range(2):
        for ours, theirs in zip(together, arrays(call(function, g, pick(given, i))), strict=True):
            close(ours[i], theirs, 1e-12)


@every
def test_leading_axes_broadcast(function):
    """Any one argument may have the batch alone."""
    g = shared_tree(function)
    one, many = arguments(g, 2), arguments(g, 3, (4,))
    for name in names_of(function):
        found = arrays(call(function, g, one | {name: many[name]}))
        for i in (0, 3):
            alone = arrays(call(function, g, one | {name: many[name][i]}))
            for ours, theirs in zip(found, alone, strict=True):
                close(ours[i], theirs, 1e-12)


@pytest.mark.parametrize("function", [name for name in FUNCTIONS if "f" in CALLS[name] and "_f" in CALLS[name]])
def test_forces_may_have_the_batch_alone(function):
    g = shared_tree(function)
    one, many = arguments(g, 2), arguments(g, 3, (4,))
    found = arrays(call(function, g, one | {name: many[name] for name in ("f_ext", "node_forces")}))
    for ours in found:
        assert ours.shape[0] == 4
    forces = pick(many, 3)["f_ext"]
    alone = arrays(call(function, g, one | {"f_ext": forces, "node_forces": forces}))
    for ours, theirs in zip(found, alone, strict=True):
        close(ours[3], theirs, 1e-12)


@every
def test_an_empty_batch(function):
    g = shared_tree(function)
    shapes = [x.shape for x in arrays(call(function, g, arguments(g, 2)))]
    for found, shape in zip(arrays(call(function, g, arguments(g, 2, (0,)))), shapes, strict=True):
        assert found.shape == (0, *shape)


@every
def test_batches_that_do_not_fit_are_refused(function):
    g = shared_tree(function)
    given, other = arguments(g, 2, (3,)), arguments(g, 2, (4,))
    names = names_of(function)
    if len(names) < 2:
        return
    with pytest.raises(StateError, match=r"the leading \(batch\) axes do not agree: q \(3, "):
        call(function, g, given | {names[1]: other[names[1]]})


@every
def test_a_model_without_bodies_or_dofs(function):
    empty, stuck = sc.Multibody("empty"), sc.Multibody("stuck")
    stuck.add_body("block", None, sc.Weld(), sc.Inertia.box(1.0, (1, 1, 1))).add_node("corner")
    given = dict.fromkeys(BATCHED, np.zeros(0)) | {"prescribed": [], "nodes": [], "f_ext": None, "node_forces": {}}
    for g in (empty, stuck):
        if g is empty and function in ("center_of_mass", "centroidal_momentum_matrix"):
            with pytest.raises(SingularError, match="'empty' has no mass, so it has no centre of mass"):
                call(function, g, given)
            continue
        for x in arrays(call(function, g, given)):
            assert np.isfinite(x).all()


# -- out= and threads= --------------------------------------------------------------------------------------


def targets(result):
    """Arrays for `out=` like those of a result, filled with NaN."""
    like = [np.full(x.shape, np.nan) for x in arrays(result)]
    return like[0] if len(like) == 1 else tuple(like)


@every
@pytest.mark.parametrize("batch", [(), (3,)], ids=["one", "batch"])
def test_out(function, batch):
    g = shared_tree(function)
    given = arguments(g, 2, batch)
    wanted = call(function, g, given)
    out = targets(wanted)
    found = call(function, g, given, out=out)
    places = out if isinstance(out, tuple) else (out,)
    for ours, theirs, place in zip(arrays(found), arrays(wanted), places, strict=True):
        np.testing.assert_array_equal(place, theirs)
        np.testing.assert_array_equal(ours, theirs)
        assert np.shares_memory(ours, place) or not place.ndim


def test_out_may_be_an_argument():
    mb = tree(1)
    x = arguments(mb, 2)
    wanted = dyn.forward_dynamics(mb, x["q"], x["v"], x["force"])
    force = x["force"].copy()
    assert dyn.forward_dynamics(mb, x["q"], x["v"], force, out=force) is force
    np.testing.assert_array_equal(force, wanted)


def test_results_are_new_and_writeable():
    for function in FUNCTIONS:
        g = shared_tree(function)
        given = arguments(g, 2)
        first, second = arrays(call(function, g, given)), arrays(call(function, g, given))
        for a, b in zip(first, second, strict=True):
            assert not np.shares_memory(a, b)
            assert a.ndim == 0 or (a.flags.writeable and a.flags.c_contiguous)


BAD_OUT = [
    (lambda: [0.0, 0.0], "list of length 2"),
    (lambda: 3, "int"),
    (lambda: np.zeros(2, dtype=np.float32), "float32"),
    (lambda: np.zeros(2, dtype=">f8"), ">f8"),
    (lambda: np.zeros(3), "shape (3,)"),
    (lambda: np.zeros((1, 2)), "shape (1, 2)"),
    (lambda: np.broadcast_to(np.zeros(2), (2,)), "one that is read-only"),
    (lambda: np.zeros(4)[::2], "one with strides (16,)"),
]


@pytest.mark.parametrize(("out", "got"), BAD_OUT, ids=[got for _, got in BAD_OUT])
def test_bad_out_is_refused(out, got):
    mb, zero = sc.serial_chain(2), np.zeros(2)
    with pytest.raises(StateError) as error:
        dyn.inverse_dynamics(mb, zero, zero, zero, out=out())
    assert str(error.value) == (
        f"out of inverse_dynamics must be a writeable C-contiguous float64 array of shape (2,), got {got}."
    )


def test_bad_out_for_several_results():
    mb, zero = sc.serial_chain(2), np.zeros(2)
    with pytest.raises(StateError) as error:
        dyn.mixed_dynamics(mb, zero, zero, zero, zero, [0], out=np.zeros(2))
    assert str(error.value) == "out of mixed_dynamics must be 2 arrays of shapes (2,), (2,), got ndarray."
    with pytest.raises(StateError, match=r"out\[1\] of mixed_dynamics must be .* got shape \(3,\)"):
        dyn.mixed_dynamics(mb, zero, zero, zero, zero, [0], out=(np.zeros(2), np.zeros(3)))
    both = np.zeros(2)
    with pytest.raises(StateError) as error:
        dyn.mixed_dynamics(mb, zero, zero, zero, zero, [0], out=(both, both))
    assert str(error.value) == "out[0] and out[1] of mixed_dynamics share memory; give separate arrays."


@every
def test_threads(function):
    g = shared_tree(function)
    given = arguments(g, 2, (3,))
    for threads in (None, 1, 2, np.int64(2)):
        call(function, g, given, threads=threads)
    for bad in (0, -1, 1.0, True, "2"):
        with pytest.raises(StateError) as error:
            call(function, g, given, threads=bad)
        text = f"threads of {function} must be a whole number of at least 1, or None; got {bad!r}."
        assert str(error.value) == text


# -- errors -------------------------------------------------------------------------------------------------


@every
def test_every_array_is_checked(function):
    g = shared_tree(function)
    given = arguments(g, 2)
    for name in names_of(function):
        x, size = given[name], len(given[name])
        holed = x.copy()
        holed[-1] = np.nan
        hinge = [body for body in g.bodies if (body.hinge.nq if name == "q" else body.hinge.nv)][-1].hinge_name
        wanted = f"{name} of 'random tree' has {size} entries, got"
        for bad, text in (
            (np.append(x, 0.0), f"{wanted} {size + 1}; by hinge: "),
            (x[:-1], f"{wanted} {size - 1}; by hinge: "),
            (0.0, f"{wanted} 0.0; by hinge: "),
            (None, f"{wanted} None; by hinge: "),
            (holed, f"{name} of 'random tree' must be finite: entry {size - 1}, of hinge {hinge!r}, is nan."),
            (x + 0j, f"{name} of 'random tree' must be real numbers, got complex numbers"),
            (["a"] * size, f"{name} of 'random tree' must be real numbers, got text"),
            ([[0.0], [0.0, 1.0]], f"{name} of 'random tree' must be an array of {size} real numbers, got ragged rows"),
        ):
            with pytest.raises(StateError) as error:
                call(function, g, given | {name: bad})
            assert text in str(error.value)


@every
def test_quaternions(function):
    """Within 1e-6 of unit they are normalised, beyond refused."""
    g = shared_tree(function)
    given = arguments(g, 2)
    body = next(body for body in g.bodies if isinstance(body.hinge, sc.Spherical))
    where = g.q_slice(body)
    near, far = given["q"].copy(), given["q"].copy()
    near[where] *= 1 + 9e-7
    far[where] *= 1 + 2e-6
    found, wanted = arrays(call(function, g, given | {"q": near})), arrays(call(function, g, given))
    for ours, theirs in zip(found, wanted, strict=True):
        close(ours, theirs, 1e-11)
    with pytest.raises(StateError, match=f"q of hinge {body.hinge_name!r}"):
        call(function, g, given | {"q": far})


@every
def test_what_is_not_a_graph_is_refused(function):
    g = shared_tree(function)
    given = arguments(g, 2)
    for bad in (None, 3, "arm", g.state()):
        with pytest.raises(ModelError, match=f"^{function} takes a Multibody or a sub-graph of one, got "):
            call(function, bad, given)


@pytest.mark.parametrize("function", sorted({*CALLS} - {*sko.FUNCTIONS}))
def test_an_sko_model_has_the_functions_that_need_its_blocks_alone(function):
    g = shared_tree(function)
    with pytest.raises(ModelError, match=f"^{function} is not for SKO models, whose nodes have no frames"):
        call(function, g.sko(), arguments(g, 2))


@every
def test_a_stale_sub_graph_is_refused(function):
    mb = tree_for(function, 5, bases=1)
    g = subtree(mb)
    given = arguments(g, 2)
    mb.add_body("late", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    with pytest.raises(StaleError, match="was made before a structural change"):
        call(function, g, given)


@pytest.mark.parametrize("function", sorted(SOLVES))
@pytest.mark.parametrize("hinge", [sc.Pin((0, 0, 1)), sc.Free(), sc.Spherical()], ids=["pin", "free", "spherical"])
def test_a_massless_tip_is_named(function, hinge):
    mb = tree_for(function, 1, n=5)
    mb.add_body("feather", mb.bodies[-1], hinge)
    with pytest.raises(SingularError, match=r"the hinge of 'feather' has no inertia to move: .* Give mass or moment"):
        call(function, mb, arguments(mb, 2) | {"prescribed": []})


@pytest.mark.parametrize("function", sorted(set(CALLS) - SOLVES))
def test_others_do_not_mind_a_massless_tip(function):
    mb = tree_for(function, 1, n=5)
    mb.add_body("feather", mb.bodies[-1], sc.Pin((0, 0, 1)))
    for x in arrays(call(function, mb, arguments(mb, 2))):
        assert np.isfinite(x).all()


def test_a_model_without_mass_has_no_centre():
    mb = sc.Multibody("ghost")
    mb.add_body("veil", None, sc.Pin((0, 0, 1)))
    for function in (dyn.center_of_mass, dyn.centroidal_momentum_matrix):
        with pytest.raises(SingularError) as error:
            function(mb, [0.0])
        assert str(error.value) == "'ghost' has no mass, so it has no centre of mass; give a body some."


def test_overflow_is_an_error():
    mb = sc.serial_chain(2)
    with pytest.raises(StateError) as error:
        dyn.bias_force(mb, [0.3, 0.2], [1e200, 1.0])
    assert str(error.value) == (
        "the result of bias_force for 'chain' is not finite: numbers of this size overflow (|q| up to 0.3, |v| up to "
        "1e+200). Check the units and the state."
    )
    with pytest.raises(StateError, match=r"^state 1 of 2: the result of .* is not finite: numbers of this size"):
        dyn.kinetic_energy(mb, [0.3, 0.2], [[1.0, 1.0], [1e200, 1.0]])
    with pytest.raises(StateError, match=r"^state 1 of 2: the result of bias_force"):
        dyn.bias_force(mb, [0.3, 0.2], [[1.0, 1.0], [1e200, 1.0]])
    far = sc.random_tree(3, 1, [sc.Prismatic((1, 0, 0)), sc.Pin((0, 1, 0))], branching=0.0)
    huge = np.full(3, 1e200)
    with pytest.raises(StateError, match=r"the result of forward_dynamics .* is not finite: numbers of this size"):
        dyn.forward_dynamics(far, huge, np.zeros(3), np.zeros(3))


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics", "bias_force", "compensating_force"])
def test_bad_forces(function):
    mb = sc.serial_chain(2)
    given = dict.fromkeys(BATCHED, np.zeros(2))
    for bad, kind, text in (
        (3, StateError, "external forces are given as {node: wrench}, got 3."),
        ({"link2/tip": np.ones(5)}, StateError, "the wrench at 'link2/tip' must have shape (..., 6), got shape (5,)"),
        ({"link2/tip": [0, 0, 0, 0, 0, np.inf]}, StateError, "the wrench at 'link2/tip' must be finite, got inf"),
        ({"inertial": np.ones(6)}, ModelError, "a force at 'inertial' moves nothing"),
        ({"hand": np.ones(6)}, ModelError, "'chain' has no frame 'hand'"),
    ):
        with pytest.raises(kind) as error:
            call(function, mb, given | {"f_ext": bad, "node_forces": bad})
        assert text in str(error.value)
    with pytest.raises(StateError) as error:
        dyn.compensating_force(mb, np.zeros(2), None)
    assert str(error.value) == "compensating_force needs the forces at nodes, {node: wrench}; got None."


@pytest.mark.parametrize("function", [name for name in FUNCTIONS if "nodes" in CALLS[name].split()])
def test_bad_nodes_and_axes(function):
    mb = sc.load("arm7")
    given = dict.fromkeys(BATCHED, np.full(7, 0.3)) | {"nodes": "link7/tool"}
    for bad, text in (
        ("link8", "'arm7' has no frame 'link8'"),
        (3, "give a frame of 'arm7' or its name"),
    ):
        with pytest.raises(ModelError) as error:
            call(function, mb, given | {"nodes": bad})
        assert text in str(error.value)
    with pytest.raises(ModelError, match="'arm7' has no frame 'body'"):
        call(function, mb, given, expressed_in="body")
    with pytest.raises(ModelError) as error:
        call(function, mb, given, expressed_in=3)
    assert str(error.value) == (
        f"expressed_in of {function} must be 'inertial', 'node' or a frame of 'arm7', got 3."
    )


# -- the handle ---------------------------------------------------------------------------------------------


@every
def test_the_handle_gives_the_same(function):
    """To rounding: a single call may take a kernel of its own."""
    g = shared_tree(function)
    given = arguments(g, 2)
    d = dyn.Dynamics(g)
    args = [given[name] for name in CALLS[function].split()]
    extra = {"allow_singular": True} if function == "operational_space_inertia" else {}
    method = getattr(d, function)
    wanted = call(function, g, given)
    for ours, theirs in zip(arrays(method(*args, **extra)), arrays(wanted), strict=True):
        close(ours, theirs, 1e-11)
    out = targets(wanted)
    method(*args, **extra, out=out, threads=1)
    for ours, theirs in zip(out if isinstance(out, tuple) else (out,), arrays(wanted), strict=True):
        close(ours, theirs, 1e-11)
    of_class = vars(dyn.Dynamics)[function]
    assert of_class.__name__ == function
    assert getattr(dyn, function).__doc__.splitlines()[0] in of_class.__doc__


def test_a_stale_handle():
    mb = sc.serial_chain(2)
    d = dyn.Dynamics(mb)
    assert repr(d) == "Dynamics of Multibody 'chain': 2 bodies, 2 dofs"
    assert d.graph is mb
    mb.add_body("more", "link2", sc.Pin((0, 1, 0)), sc.Inertia(2.0))
    with pytest.raises(StaleError) as error:
        d.mass_matrix([0, 0])
    assert str(error.value) == (
        "this handle of 'chain' was made before a structural change of the model; make a new one with sc.Dynamics(...)."
    )
    with pytest.raises(ModelError, match="Dynamics takes a Multibody or a sub-graph of one, got 3"):
        dyn.Dynamics(3)


def test_the_handle_follows_the_forces_of_the_model():
    mb = sc.load("quadrotor_arm")
    d = dyn.Dynamics(mb)
    x = arguments(mb, 4)
    state = (x["q"], x["v"])
    for wrench in (None, sc.Wrench((1, 2, 3), (4, 5, 6), expressed_in="inertial"), np.arange(6.0), None):
        mb.set_force("hand/grip", wrench)
        close(d.forward_dynamics(*state, x["force"]), dyn.forward_dynamics(mb, *state, x["force"]), 1e-11)
        close(d.inverse_dynamics(*state, x["vdot"]), dyn.inverse_dynamics(mb, *state, x["vdot"]), 1e-11)
        close(d.bias_force(*state), dyn.bias_force(mb, *state), 1e-11)
        close(d.gravity_force(x["q"]), dyn.gravity_force(mb, x["q"]), 1e-11)
    mb.gravity = (0.0, 0.0, 1.0)
    close(d.forward_dynamics(*state, x["force"]), dyn.forward_dynamics(mb.copy(), *state, x["force"]), 1e-11)
    mb.add_body("more", "hand", sc.Pin((0, 1, 0)), sc.Inertia(2.0))
    with pytest.raises(StaleError, match="this handle of 'quadrotor_arm' was made before a structural change"):
        d.forward_dynamics(*state, x["force"])


@every
def test_the_handle_checks_quaternions(function):
    g = shared_tree(function)
    d, given = dyn.Dynamics(g), arguments(g, 2)
    where = g.q_slice(next(body for body in g.bodies if isinstance(body.hinge, sc.Free)))
    extra = {"allow_singular": True} if function == "operational_space_inertia" else {}
    wanted = arrays(call(function, g, given))
    for size, good in ((1 + 9e-7, True), (1 - 9e-7, True), (1 + 2e-6, False), (0.0, False)):
        q = given["q"].copy()
        q[where.start : where.start + 4] *= size
        args = [(given | {"q": q})[name] for name in CALLS[function].split()]
        if good:
            for ours, theirs in zip(arrays(getattr(d, function)(*args, **extra)), wanted, strict=True):
                close(ours, theirs, 1e-10)
        else:
            with pytest.raises(StateError, match="q of hinge"):
                getattr(d, function)(*args, **extra)


def test_a_handle_of_a_sub_graph_follows_its_anchor():
    mb = tree(5, bases=1)
    g = subtree(mb, anchor="moving")
    d, x = dyn.Dynamics(g), arguments(g, 3)
    seen = []
    for seed in (1, 2):
        mb.set_state(*mb.random_state(seed))
        seen.append(d.forward_dynamics(x["q"], x["v"], x["force"]))
        close(seen[-1], dyn.forward_dynamics(g, x["q"], x["v"], x["force"]), 1e-11)
    assert np.abs(seen[0] - seen[1]).max() > 1e-3
