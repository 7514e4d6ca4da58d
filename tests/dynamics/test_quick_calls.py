"""Quick calls of functions and handles: what they answer is what the reference engine says, and it was they who
answered; what they are not sure of goes to Python, which explains."""

import gc
import pickle
import weakref

import numpy as np
import pytest
from tests.dynamics.calls import CALLS, GRAVITY, arguments, arrays, close, keyword, pick, reference_alone, tree_for
from tests.dynamics.springs import sprung

import soacraft as sc
from soacraft import analysis
from soacraft import dynamics as dyn
from soacraft.dynamics.table import TABLE
from soacraft.errors import ModelError, SingularError, StaleError, StateError

KERNELS = sorted(row.name for row in TABLE.values() if row.kernel)
FORCED = [name for name in KERNELS if "f_ext" in TABLE[name].given]
every = pytest.mark.parametrize("name", KERNELS)


@pytest.fixture(scope="module", autouse=True)
def which_engine():
    """The chosen one only: the reference engine is what it is compared with."""


def function(name):
    return getattr(analysis if TABLE[name].module == "analysis" else dyn, name)


def model(name, seed=3):
    """A tree with every hinge it may have, armature, springs, and a body welded to the ground."""
    mb = tree_for(name, seed)
    mb.add_body("pedestal", inertia=sc.Inertia(2.0, (0.1, 0.2, 0.3), np.diag([0.3, 0.4, 0.5])), hinge=sc.Weld())
    mb.bodies[4].armature = 0.3
    sprung(mb, 5, compensated=False)
    if name == "operational_space_inertia":
        mb = sc.load("arm7")
    return mb


def plain(mb, name, batch, seed=1):
    """Arguments that a quick call takes, without forces."""
    given = arguments(mb, seed, batch) if name != "operational_space_inertia" else {}
    if not given:
        rng = np.random.default_rng(seed)
        given = {"q": rng.uniform(-1, 1, (*batch, 7)), "nodes": "link7/tool"}
    return [given[x] for x in TABLE[name].given if x not in ("f_ext", "expressed_in")]


def counts(mb, name):
    call = mb.layout.calls[name]
    return call.answered, call.passed_on


def same(found, wanted, tolerance=1e-10):
    for ours, theirs in zip(arrays(found), arrays(wanted), strict=True):
        close(ours, theirs, tolerance)


@every
@pytest.mark.parametrize("batch", [(), (11,)])
def test_the_quick_call_answers_as_the_reference_does(name, batch):
    mb = model(name)
    args = plain(mb, name, batch)
    found = function(name)(mb, *args)
    assert counts(mb, name) == (1, 0)
    with reference_alone():
        wanted = function(name)(mb, *args)
    same(found, wanted)
    by_name = dict(zip((x for x in TABLE[name].given if x not in ("f_ext", "expressed_in")), args, strict=True))
    same(function(name)(mb, **by_name), found, 0.0)
    out = tuple(np.empty(x.shape) for x in arrays(found))
    same(function(name)(mb, *args, out=out if len(out) > 1 else out[0], threads=2), found, 0.0)
    same(out, found, 0.0)
    assert counts(mb, name) == (3, 0)
    if hasattr(sc.Dynamics, name):
        handle = sc.Dynamics(mb)
        same(getattr(handle, name)(*args), found, 0.0)
        assert (getattr(handle, name).answered, getattr(handle, name).passed_on) == (1, 0)


@every
def test_a_state_of_a_batch_does_not_depend_on_the_others(name):
    mb = model(name)
    args = plain(mb, name, (9,))
    whole = tuple(arrays(function(name)(mb, *args)))
    for i in (0, 3, 8):
        rows = [x[i] if isinstance(x, np.ndarray) and x.dtype == float else x for x in args]
        same(function(name)(mb, *rows), tuple(x[i] for x in whole), 1e-12)
    for threads in (2, 5):
        same(function(name)(mb, *args, threads=threads), whole, 0.0)


@every
def test_a_bad_row_after_the_first_is_refused_and_out_is_left_alone(name):
    mb = model(name)
    args = plain(mb, name, (4,))
    shapes = [x.shape for x in arrays(function(name)(mb, *args))]
    for i, x in enumerate(args):
        if not isinstance(x, np.ndarray) or x.dtype != float:
            continue
        bad = [*args[:i], x.copy(), *args[i + 1 :]]
        bad[i][2, -1] = np.nan
        out = tuple(np.full(shape, 7.0) for shape in shapes)
        with pytest.raises(StateError, match="must be finite"):
            function(name)(mb, *bad, out=out if len(out) > 1 else out[0])
        assert all((y == 7.0).all() for y in out)


# -- forces ----------------------------------------------------------------------------------------------------------


def own_axes(forces):
    """The same wrenches, all in the axes of their nodes."""
    return {node: sc.Wrench(np.asarray(w)[..., :3], np.asarray(w)[..., 3:]) for node, w in forces.items()}


@pytest.mark.parametrize("name", FORCED)
@pytest.mark.parametrize("batch", [(), (5,)])
def test_wrenches_in_any_axes(name, batch):
    mb = model(name)
    given = arguments(mb, 4, batch)
    forces = own_axes(given["f_ext"]) if TABLE[name].holonomic else given["f_ext"]
    args = plain(mb, name, batch, 4)
    for told in ({"f_ext": forces}, {"f_ext": dict(list(forces.items())[:1])}):
        before = counts(mb, name)[0] if name in mb.layout.calls else 0
        found = function(name)(mb, *args, **told)
        assert counts(mb, name) == (before + 1, 0)
        with reference_alone():
            same(found, function(name)(mb, *args, **told), 1e-9)
    same(function(name)(mb, *args, forces), function(name)(mb, *args, f_ext=forces), 0.0)
    one = pick(given, 1) if batch else given
    if batch:  # one wrench for all states
        forces = own_axes(one["f_ext"]) if TABLE[name].holonomic else one["f_ext"]
        found = function(name)(mb, *args, forces)
        with reference_alone():
            same(found, function(name)(mb, *args, forces), 1e-9)


@pytest.mark.parametrize("name", FORCED)
def test_stored_forces(name):
    mb = model(name)
    args = plain(mb, name, ())
    handle = sc.Dynamics(mb)
    mb.set_force(mb.bodies[2], [1.0, 2, 3, 4, 5, 6])
    if not TABLE[name].holonomic:
        mb.set_force("body5/tip", sc.Wrench((1, 2, 3), (4, 5, 6), expressed_in="inertial"))
    found = getattr(handle, name)(*args)
    assert getattr(handle, name).passed_on == 0
    with reference_alone():
        same(found, function(name)(mb, *args), 1e-9)
    both = function(name)(mb, *args, {mb.bodies[3]: np.ones(6)})
    with reference_alone():
        same(both, function(name)(mb, *args, {mb.bodies[3]: np.ones(6)}), 1e-9)
    mb.clear_forces()
    bare = getattr(handle, name)(*args)
    with reference_alone():
        same(bare, function(name)(mb, *args), 1e-9)


def test_a_wrench_on_what_is_welded_to_the_ground_moves_nothing():
    mb = model("forward_dynamics")
    args = plain(mb, "forward_dynamics", ())
    same(dyn.forward_dynamics(mb, *args, {"pedestal": np.ones(6)}), dyn.forward_dynamics(mb, *args), 0.0)
    assert counts(mb, "forward_dynamics") == (2, 0)


@pytest.mark.parametrize(
    ("forces", "kind", "text"),
    [
        ({"nobody": np.zeros(6)}, ModelError, "has no frame 'nobody'"),
        ({"inertial": np.zeros(6)}, ModelError, "moves nothing"),
        ({"link7": [0, 0, 0, 0, 0, np.nan]}, StateError, "the wrench at 'link7'"),
        ({"link7": [1, 2, 3]}, StateError, "the wrench at 'link7'"),
        ({"link7": sc.Wrench((1, 2, 3), (4, 5, 6), expressed_in="nobody")}, ModelError, "has no frame 'nobody'"),
        ({("link7",): np.zeros(6)}, ModelError, "give a frame of .* or its name"),
        (7, StateError, "external forces are given as"),
    ],
)
def test_wrenches_that_are_refused(forces, kind, text):
    mb, q = sc.load("arm7"), np.full(7, 0.3)
    out = np.full(7, 3.0)
    with pytest.raises(kind, match=text):
        dyn.forward_dynamics(mb, q, q, q, forces, out=out)
    with pytest.raises(kind, match=text):
        sc.Dynamics(mb).forward_dynamics(q, q, q, f_ext=forces, out=out)
    assert (out == 3.0).all()


@pytest.mark.parametrize("form", [list, tuple, np.array])
def test_a_wrench_is_six_numbers_in_any_row(form):
    """M vdot = f + J* w - bias, answered without Python."""
    mb, q = sc.load("arm7"), np.full(7, 0.3)
    w = [1.0, 2, -3.0, 4, 5.0, -6]
    found = dyn.forward_dynamics(mb, q, q, q, {"link7": form(w)})
    assert counts(mb, "forward_dynamics") == (1, 0)
    close(found, dyn.forward_dynamics(mb, q, q, q + dyn.jacobian(mb, q, "link7", expressed_in="link7").T @ w), 1e-11)


def test_a_wrench_is_read_from_what_out_shares_memory_with():
    mb, q = sc.load("arm7"), np.full((6, 7), 0.3)
    memory = np.random.default_rng(0).standard_normal(6 * 7)
    forces = {"link7/tool": memory[:36].reshape(6, 6)}
    wanted = dyn.forward_dynamics(mb, q, q, q, {"link7/tool": forces["link7/tool"].copy()})
    found = dyn.forward_dynamics(mb, q, q, q, forces, out=memory.reshape(6, 7))
    close(found, wanted, 1e-13)


def test_many_wrenches():
    mb = sc.random_tree(30, 2, gravity=GRAVITY)
    rng = np.random.default_rng(1)
    q, v, f = *mb.random_state(rng), rng.standard_normal(mb.nv)
    q, v = np.array(q), np.array(v)
    axes = [None, "inertial", mb.bodies[3], "body7"]
    forces = {b: sc.Wrench(*rng.standard_normal((2, 3)), expressed_in=axes[i % 4]) for i, b in enumerate(mb.bodies)}
    found = dyn.forward_dynamics(mb, q, v, f, forces)
    assert counts(mb, "forward_dynamics") == (1, 0)
    with reference_alone():
        same(found, dyn.forward_dynamics(mb, q, v, f, forces), 1e-9)


# -- nodes, masks, results -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in KERNELS if "nodes" in TABLE[name].given])
def test_nodes_by_name_or_themselves_one_or_several(name):
    mb = model("jacobian") if name != "operational_space_inertia" else sc.load("arm7")
    node = next(node for body in mb.bodies[::-1] for node in body.nodes)
    given = arguments(mb, 1)
    numbers = [np.ascontiguousarray(given[x]) for x in TABLE[name].vectors]
    same(function(name)(mb, *numbers, node), function(name)(mb, *numbers, (node.full_name,)), 0.0)
    same(function(name)(mb, *numbers, [node.body]), function(name)(mb, *numbers, node.body.name, "inertial"), 0.0)
    assert counts(mb, name)[1] == 0
    with pytest.raises(ModelError, match="is on the inertial frame, which does not move"):
        function(name)(mb, *numbers, "inertial")
    with pytest.raises(ModelError, match="has no frame 'nobody'"):
        function(name)(mb, *numbers, [node, "nobody"])


@pytest.mark.parametrize("seed", range(6))
def test_any_dofs_may_be_prescribed(seed):
    """Also inside a hinge; all of them; none."""
    mb = model("mixed_dynamics", seed)
    rng = np.random.default_rng(seed)
    q, v = map(np.array, mb.random_state(rng))
    force, vdot = rng.standard_normal((2, mb.nv))
    for mask in (rng.random(mb.nv) < 0.5, np.ones(mb.nv, bool), np.zeros(mb.nv, bool)):
        found = dyn.mixed_dynamics(mb, q, v, force, vdot, mask)
        with reference_alone():
            same(found, dyn.mixed_dynamics(mb, q, v, force, vdot, mask), 1e-9)
        same(dyn.inverse_dynamics(mb, q, v, found[0]), found[1], 1e-9)
    assert counts(mb, "mixed_dynamics") == (3, 0)
    same(found[0], dyn.forward_dynamics(mb, q, v, force), 1e-9)


def test_a_free_dof_without_inertia_is_named():
    mb = sc.Multibody()
    mb.add_body("bare", hinge=sc.Pin((0, 0, 1)))
    mb.add_body("tip", "bare", sc.Pin((0, 0, 1)))
    x = np.zeros(2)
    vdot, force = dyn.mixed_dynamics(mb, x, x, x, np.ones(2), np.array([True, True]))
    assert (vdot == 1.0).all()
    assert (force == 0.0).all()
    with pytest.raises(SingularError, match="'tip'"):
        dyn.mixed_dynamics(mb, x, x, x, x, np.array([True, False]))


@pytest.mark.parametrize("name", ["velocities", "accelerations"])
def test_motions_answer_to_nodes_as_they_were(name):
    mb = model(name)
    args = plain(mb, name, ())
    given = [x.copy() for x in args]
    found = function(name)(mb, *given)
    wanted = np.array(found["body5/tip"])
    for x in given:
        x[:] = 0.0  # the result belongs to the state it was computed for
    close(found["body5/tip"], wanted, 0.0)
    with reference_alone():
        close(function(name)(mb, *args)["body5/tip"], wanted)
    close(pickle.loads(pickle.dumps(found))["body5/tip"], wanted, 0.0)
    motion = dyn.node_motion(mb, *(*args, args[1])[:3], "body5/tip")
    close((motion.velocity if name == "velocities" else motion.acceleration)[0], wanted, 1e-12)


def test_the_centre_of_mass_of_a_part_whose_base_is_welded_to_what_moves():
    """sum m c / sum m, wherever the body is that the part is welded to."""
    mb = sc.Multibody("crane")
    mb.add_body("cart", None, sc.Free(), sc.Inertia(1.0))
    mb.add_body("post", "cart", sc.Weld(), sc.Inertia(2.0, (0.1, 0.2, 0.3)), sc.Pose(translation=(0.5, 0, 0)))
    mb.add_body("arm", "post", sc.Pin((0, 0, 1)), sc.Inertia(3.0, (1.0, 0, 0)), sc.Pose(translation=(0, 0.4, 0)))
    mb.set_state(*mb.random_state(1))
    centres = [mb.pose(body) @ sc.Pose(translation=body.inertia.com) for body in mb.bodies[1:]]
    wanted = (2.0 * centres[0].translation + 3.0 * centres[1].translation) / 5.0
    close(dyn.center_of_mass(mb.subgraph(["post", "arm"]), np.array(mb.q[-1:])), wanted, 1e-14)


def test_one_number_is_a_scalar():
    mb, q = sc.load("arm7"), np.full(7, 0.1)
    for found in (dyn.kinetic_energy(mb, q, q), dyn.potential_energy(mb, q, out=np.empty(()))):
        assert isinstance(found, np.float64)


def test_the_operational_space_where_it_is_singular():
    mb = sc.load("arm7")
    with pytest.raises(SingularError, match="has rank 3 of 6"):
        dyn.operational_space_inertia(mb, np.zeros(7), "link7/tool")
    found = dyn.operational_space_inertia(mb, np.zeros(7), "link7/tool", allow_singular=True)
    assert np.linalg.matrix_rank(found) == 3
    assert counts(mb, "operational_space_inertia") == (0, 2)


# -- edits -----------------------------------------------------------------------------------------------------------


def test_an_edit_ends_the_calls_of_a_model():
    mb, q = sc.load("arm7"), np.full(7, 0.3)
    before = dyn.forward_dynamics(mb, q, q, q)
    handle = sc.Dynamics(mb)
    mb.gravity = (0, 0, 0)
    after = dyn.forward_dynamics(mb, q, q, q)
    assert np.abs(after - before).max() > 1.0
    close(after, dyn.forward_dynamics(mb.copy(), q, q, q), 0.0)
    node = mb["link7/tool"]
    J = dyn.jacobian(mb, q, node)
    node.pose = sc.Pose(translation=(0.0, 0.0, 1.0))
    assert np.abs(dyn.jacobian(mb, q, node) - J).max() > 0.1
    mb.remove("link7")
    with pytest.raises(StaleError):
        handle.forward_dynamics(q, q, q)
    assert dyn.forward_dynamics(mb, q[:6], q[:6], q[:6]).shape == (6,)


EDITS = {
    "inertia": lambda mb: setattr(mb.bodies[3], "inertia", sc.Inertia(3.0, (0.1, 0.0, 0.2), np.eye(3))),
    "inertia of what is welded to the ground": lambda mb: setattr(mb.bodies[-1], "inertia", sc.Inertia(7.0, (1, 2, 3))),
    "inboard pose": lambda mb: setattr(mb.bodies[2], "inboard", sc.Pose(translation=(0.3, 0.2, 0.1))),
    "outboard pose": lambda mb: setattr(mb.bodies[2], "outboard", sc.Pose(translation=(0.0, 0.2, 0.1))),
    "armature": lambda mb: setattr(mb.bodies[4], "armature", 0.7),
    "springs": lambda mb: setattr(mb.bodies[1], "passive", sc.Passive(damping=2.0)),
    "gravity": lambda mb: setattr(mb, "gravity", (0.5, 1.0, 2.0)),
    "pose of a node": lambda mb: setattr(mb[f"{mb.bodies[-2].name}/tip"], "pose", sc.Pose(translation=(0.5, 0, 0))),
}


@pytest.mark.parametrize("edit", EDITS)
def test_after_an_edit_the_next_number_is_that_of_a_new_model(edit):
    """Of a model whose calls were all made before."""
    mb = model("inverse_dynamics_derivatives")

    def numbers(g):
        given = arguments(g, 1, (3,)) | {"nodes": f"{mb.bodies[-2].name}/tip"}
        for name in KERNELS:
            args = [given[x] for x in TABLE[name].given if x not in ("f_ext", "expressed_in")]
            yield name, function(name)(g, *args, **keyword(name))

    before = dict(numbers(mb))
    EDITS[edit](mb)
    wanted = dict(numbers(mb.copy()))
    for name, found in numbers(mb):
        same(found, wanted[name], 1e-12)
    pairs = (zip(arrays(before[name]), arrays(wanted[name]), strict=True) for name in KERNELS)
    assert any(not np.array_equal(x, y) for pair in pairs for x, y in pair)


def test_a_model_is_freed_with_its_calls():
    mb = sc.load("arm7")
    q, alive = np.zeros(7), weakref.ref(mb)
    dyn.jacobian(mb, q, "link7/tool")
    mb.integrate(q, q)
    found = dyn.velocities(mb, q, q)
    del mb, found
    gc.collect()
    assert alive() is None


def test_hinges_of_the_users_own_are_left_to_python():
    class Own(sc.Pin):
        pass

    mb = sc.serial_chain(2, Own((0, 0, 1)))
    same(dyn.mass_matrix(mb, np.zeros(2)), dyn.mass_matrix(sc.serial_chain(2, sc.Pin((0, 0, 1))), np.zeros(2)), 1e-12)
    assert not hasattr(mb.layout.calls["mass_matrix"], "answered")


def test_a_name_that_a_function_does_not_have_is_an_error_of_python():
    mb, q = sc.load("arm7"), np.zeros(7)
    for name, extra in (("mass_matrix", {"passive": True}), ("passive_force", {"passive": False}), ("poses", {"v": q})):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            function(name)(mb, *plain(mb, name, ()), **extra)
    with pytest.raises(TypeError, match="multiple values"):
        dyn.mass_matrix(mb, q, q=q)


def test_every_function_of_the_calls_is_here():
    assert set(KERNELS) > set(CALLS) - {
        "interbody_forces", "compensating_force", "centroidal_momentum_matrix", "composite_inertia"
    }  # fmt: skip


@pytest.mark.parametrize("size", [6, 8])
def test_a_mask_of_another_length_is_refused(size):
    """Contiguous and of truth values, as the quick call takes them, but not one for each dof."""
    mb = sc.load("arm7")
    q, v = mb.random_state(1)
    given = (q, v, np.zeros(7), np.zeros(7))
    handle = sc.Dynamics(mb)
    handle.mixed_dynamics(*given, np.ones(7, dtype=bool))
    with pytest.raises(sc.errors.SoacraftError):
        handle.mixed_dynamics(*given, np.ones(size, dtype=bool))


def test_an_inverse_is_computed_where_the_rank_is_sure():
    """Towards the stretched arm; sure is tr C tr C^-1 < 1e11, where turns and travels are scaled by the largest."""
    d, eye = sc.Dynamics(sc.load("arm7")), np.eye(6)
    sides = []
    for q in np.geomspace(0.1, 1e-5, 20)[:, None] * [0.1, 0.5, 0.2, 1.0, 0.3, 0.7, 0.4]:
        C = d.operational_space_compliance(q, "link7/tool")
        scale = np.repeat([np.diag(C)[:3].max(), np.diag(C)[3:].max()], 3) ** -0.5
        scaled = scale[:, None] * C * scale
        bound = 1e-11 * np.trace(scaled) * np.trace(np.linalg.inv(scaled))
        passed_on = d.operational_space_inertia.passed_on
        Lambda = d.operational_space_inertia(q, "link7/tool")
        close(Lambda / scale @ (scale[:, None] * C), eye, 1e-3)
        if not 0.9 < bound < 1.1:
            sides.append(bound < 1.0)
            assert (d.operational_space_inertia.passed_on == passed_on) == sides[-1]
    assert {*sides} == {True, False}
