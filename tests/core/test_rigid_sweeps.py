"""The compiled inverse and forward dynamics: batches and threads to the last bit, what quick calls pass on to Python,
and what becomes of handles."""

import gc
import sys
import tracemalloc
import weakref

import numpy as np
import pytest

import soacraft as sc
from soacraft import _core
from soacraft import dynamics as dyn
from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference import REFERENCE
from soacraft.errors import StaleError, StateError
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.samples.random_models import random_inertia, random_pose

SWEEPS = ("inverse_dynamics", "forward_dynamics")
LAST = {"inverse_dynamics": "vdot", "forward_dynamics": "force"}
GRAVITY = (1.5, -2.0, -9.0)
PINS = [sc.Pin((1, 2, 3)), sc.Pin((0, 1, 0)), sc.Pin((1, 0, 0))]


def with_rotors(mb):
    """Armature on two bodies of three, and another on each dof."""
    for k, body in enumerate(mb.bodies):
        if k % 3:
            body.armature = 0.1 * np.arange(k, k + body.hinge.nv)
    return mb


TREES = {
    "one pin": lambda: sc.random_tree(1, 1, PINS, gravity=GRAVITY),
    "pins": lambda: sc.random_tree(9, 2, PINS, 0.5, gravity=GRAVITY),
    "every hinge": lambda: sc.random_tree(20, 3, branching=0.6, bases=2, gravity=GRAVITY),
    "a chain": lambda: sc.random_tree(12, 4, branching=0.0, gravity=GRAVITY),
    "rotors": lambda: with_rotors(sc.random_tree(20, 5, branching=0.6, bases=2, gravity=GRAVITY)),
}


def some(mb, count, seed=0):
    """States and forces or accelerations."""
    rng = np.random.default_rng(seed)
    q = np.stack([mb.random_state(rng)[0] for _ in range(count)])
    return q, rng.standard_normal((count, mb.nv)), rng.standard_normal((count, mb.nv))


def base_of(mb):
    return np.concatenate([np.zeros(9), -mb.gravity])


def kernel(mb, name, q, v, x, *, pull=None, base=None, threads=1, count=None):
    """What a kernel writes for a batch."""
    out = np.full((len(v) if count is None else count, mb.nv), np.nan)
    base = base_of(mb) if base is None else base
    assert CompiledModel.of(mb.layout).kernels.run(name, q, v, x, pull, base, (out,), threads)
    return out


def reference(mb, name, q, v, x, forces=()):
    """What the reference engine says."""
    given = {"q": q, "v": v, LAST[name]: x}
    return REFERENCE.run(Problem(name, mb, given, forces, np.broadcast_shapes(q.shape[:-1], v.shape[:-1])))[0]


def close(found, wanted, tolerance=1e-11):
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * max(1.0, np.abs(wanted).max(initial=0.0)))


def ways(mb, name):
    """The kernel itself, and the quick call of a handle; both take a batch and threads."""
    call = getattr(sc.Dynamics(mb), name)
    assert isinstance(call, _core.Call)
    return [
        lambda q, v, x, threads=1: kernel(mb, name, q, v, x, threads=threads),
        lambda q, v, x, threads=1: call(q, v, x, threads=threads),
    ]


# -- batches -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("tree", TREES)
def test_against_the_reference(name, tree):
    mb = TREES[tree]()
    q, v, x = some(mb, 11)
    wanted = reference(mb, name, q, v, x)
    for way in ways(mb, name):
        close(way(q, v, x), wanted, 1e-10)


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("tree", TREES)
def test_threads_do_not_change_a_bit(name, tree):
    mb = TREES[tree]()
    kernel_way, call_way = ways(mb, name)
    for count in (1, 2, 7, 20, 61):
        q, v, x = some(mb, count)
        whole = kernel_way(q, v, x)
        for threads in (1, 2, 3, 7):
            assert np.array_equal(kernel_way(q, v, x, threads), whole)
            assert np.array_equal(call_way(q, v, x, threads), whole)
        assert np.array_equal(call_way(q, v, x, None), whole)
        assert np.array_equal(getattr(dyn, name)(mb, q, v, x, threads=3), whole)


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("tree", TREES)
def test_splits_do_not_change_a_bit(name, tree):
    """Every size from 1 to 20 from every start near the width of a register, and the tails."""
    mb = TREES[tree]()
    count = 29
    q, v, x = some(mb, count)
    for way in ways(mb, name):
        whole = way(q, v, x)
        for size in range(1, 21):
            for start in (0, 1, 3, 5, 8, count - size):
                part = slice(start, start + size)
                assert np.array_equal(way(q[part], v[part], x[part]), whole[part])


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("lane", [0, 3, 7, 8, 15, 18])
@pytest.mark.parametrize("angle", [1e6, -1e12, 1e300])
def test_a_huge_angle_leaves_the_other_states_alone(name, lane, angle):
    mb = TREES["pins"]()
    q, v, x = some(mb, 19)
    far = q.copy()
    far[lane, 2] = angle
    others = np.arange(len(q)) != lane
    for way in ways(mb, name):
        near, found = way(q, v, x), way(far, v, x)
        assert np.array_equal(found[others], near[others])
        close(found[lane], reference(mb, name, far[lane], v[lane], x[lane]), 1e-10)


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("angle", [1e6, -1e12, 1e300])
def test_a_huge_angle_of_a_single_state(name, angle):
    mb = TREES["pins"]()
    q, v, x = (each[0] for each in some(mb, 1))
    q[2] = angle
    close(getattr(sc.Dynamics(mb), name)(q, v, x), reference(mb, name, q, v, x), 1e-10)


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("tree", TREES)
def test_a_single_state_is_a_state_of_the_batch(name, tree):
    mb = TREES[tree]()
    q, v, x = some(mb, 10)
    call = getattr(sc.Dynamics(mb), name)
    whole = call(q, v, x)
    for i in range(10):
        one = call(q[i], v[i], x[i])
        close(one, whole[i])
        assert np.array_equal(call(q[i], v[i], x[i], threads=3), one)
    assert (call.answered, call.passed_on) == (21, 0)


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("alike", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)])
def test_one_row_for_all_states(name, alike):
    mb = TREES["every hinge"]()
    given = list(some(mb, 13))
    full = [np.ascontiguousarray(np.broadcast_to(y[0], y.shape)) if i in alike else y for i, y in enumerate(given)]
    short = [y[0] if i in alike else y for i, y in enumerate(given)]
    wanted = kernel(mb, name, *full)
    for threads in (1, 3):
        assert np.array_equal(kernel(mb, name, *short, threads=threads, count=13), wanted)
        assert np.array_equal(getattr(sc.Dynamics(mb), name)(*short, threads=threads), wanted)


@pytest.mark.parametrize("name", SWEEPS)
def test_an_empty_batch(name):
    mb = TREES["pins"]()
    q, v, x = (y[:0] for y in some(mb, 1))
    assert getattr(sc.Dynamics(mb), name)(q, v, x).shape == (0, mb.nv)
    assert kernel(mb, name, q, v, x).shape == (0, mb.nv)


@pytest.mark.parametrize("name", SWEEPS)
def test_batches_with_several_axes(name):
    mb = TREES["every hinge"]()
    q, v, x = some(mb, 12)
    call = getattr(sc.Dynamics(mb), name)
    folded = call(q.reshape(3, 4, -1), v.reshape(3, 4, -1), x.reshape(3, 4, -1))
    assert np.array_equal(folded.reshape(12, -1), call(q, v, x))


# -- forces on the bodies and a base that moves ------------------------------------------------------------------------


def test_pull():
    """Forces on the bodies, in their axes about their origins: less to be done by the hinges, J* times them."""
    mb = TREES["every hinge"]()
    d, n = sc.Dynamics(mb), len(mb.bodies)
    q, v, x = some(mb, 11)
    pull = np.random.default_rng(1).standard_normal((11, n, 6))
    flat = pull.reshape(11, -1)
    J = [d.jacobian(q, body, expressed_in="node") for body in mb.bodies]
    done = sum(np.einsum("...ij,...i->...j", J[k], pull[:, k]) for k in range(n))
    inverse = kernel(mb, "inverse_dynamics", q, v, x, pull=flat)
    close(inverse, kernel(mb, "inverse_dynamics", q, v, x) - done)
    close(kernel(mb, "forward_dynamics", q, v, x, pull=flat), kernel(mb, "forward_dynamics", q, v, x + done), 1e-9)
    for name in SWEEPS:
        whole = kernel(mb, name, q, v, x, pull=flat)
        for threads in (2, 3, 7):
            assert np.array_equal(kernel(mb, name, q, v, x, pull=flat, threads=threads), whole)
        assert np.array_equal(kernel(mb, name, q[3:8], v[3:8], x[3:8], pull=flat[3:8]), whole[3:8])
        same = np.tile(flat[0], (11, 1))
        assert np.array_equal(kernel(mb, name, q, v, x, pull=flat[0]), kernel(mb, name, q, v, x, pull=same))


def test_base():
    """A tree on a carrier that moves, and the same tree on a free body with that motion: its v and its vdot."""
    alone, carried = sc.Multibody("alone", (0, 0, 0)), sc.Multibody("carried", (0, 0, 0))
    rng = np.random.default_rng(2)
    carried.add_body("carrier", None, sc.Free(), random_inertia(rng))
    for k, hinge in enumerate([sc.Pin((1, 2, 3)), sc.Spherical(), sc.Universal((1, 0, 0), (0, 1, 0)), sc.Free()]):
        rest = hinge, random_inertia(rng), random_pose(rng), random_pose(rng)
        alone.add_body(f"{k}", f"{k - 1}" if k % 3 else None, *rest)
        carried.add_body(f"{k}", f"{k - 1}" if k % 3 else "carrier", *rest)
    q, v, x = some(alone, 9)
    velocity, vdot = rng.standard_normal((2, 6))
    base = np.concatenate([velocity, vdot])
    found = kernel(alone, "inverse_dynamics", q, v, x, base=base)
    joined = [
        np.hstack([np.tile(first, (9, 1)), y])
        for first, y in ((np.array([0, 0, 0, 1.0, 0, 0, 0]), q), (velocity, v), (vdot, x))
    ]
    close(found, kernel(carried, "inverse_dynamics", *joined)[:, 6:])
    close(kernel(alone, "forward_dynamics", q, v, found, base=base), x, 1e-9)
    for threads in (2, 3, 7):
        assert np.array_equal(kernel(alone, "inverse_dynamics", q, v, x, base=base, threads=threads), found)


@pytest.mark.parametrize("name", SWEEPS)
def test_base_as_gravity(name):
    """A base that accelerates upwards is gravity; none given is that of the handle."""
    mb = TREES["pins"]()
    q, v, x = some(mb, 5)
    sc.Dynamics(mb)
    out = np.empty((5, mb.nv))
    assert CompiledModel.of(mb.layout).kernels.run(name, q, v, x, None, None, (out,))
    assert np.array_equal(out, kernel(mb, name, q, v, x))
    weightless = kernel(mb, name, q, v, x, base=np.zeros(12))
    sign = 1 if name == "inverse_dynamics" else -1
    weight = dyn.gravity_force(mb, q)
    close(out - weightless, sign * (weight if sign > 0 else dyn.mass_matrix_solve(mb, q, weight)), 1e-10)


# -- what quick calls pass on ------------------------------------------------------------------------------------------


class Own(np.ndarray):
    """A subclass."""


def strided(x):
    wide = np.full((*x.shape[:-1], 2 * x.shape[-1]), np.nan)
    wide[..., ::2] = x
    return wide[..., ::2]


def unaligned(x):
    raw = bytearray(x.nbytes + 1)
    found = np.frombuffer(raw, dtype=np.float64, count=x.size, offset=1).reshape(x.shape)
    found[...] = x
    return found


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


FORMS = {
    "lists": lambda x: x.tolist(),
    "tuples": lambda x: tuple(x.tolist()),
    "strided": strided,
    "reversed": lambda x: np.ascontiguousarray(x[..., ::-1])[..., ::-1],
    "Fortran order": np.asfortranarray,
    "unaligned": unaligned,
    "big endian": lambda x: x.astype(">f8"),
    "long double": lambda x: x.astype(np.longdouble),
    "masked": lambda x: np.ma.masked_array(x),
    "subclass": lambda x: x.view(Own),
    "read-only": read_only,
}


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [None, 5])
def test_inputs_of_any_form(name, form, count):
    mb = TREES["every hinge"]()
    given = some(mb, 5) if count else [y[0] for y in some(mb, 1)]
    call = getattr(sc.Dynamics(mb), name)
    wanted = call(*given)
    for i in range(3):
        for found in (
            call(*(FORMS[form](y) if i == j else y for j, y in enumerate(given))),
            call(*map(FORMS[form], given)),
        ):
            assert type(found) is np.ndarray
            close(found, wanted)


@pytest.mark.parametrize("name", SWEEPS)
def test_float32_and_whole_numbers(name):
    mb = TREES["pins"]()
    q, v, x = (np.round(4 * y[0]) for y in some(mb, 1))
    call = getattr(sc.Dynamics(mb), name)
    wanted = call(q, v, x)
    for dtype in (np.float32, np.float16, np.int64, np.int8):
        close(call(q.astype(dtype), v, x), wanted)
        close(call(q.astype(dtype), v.astype(dtype), x.astype(dtype)), wanted)


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("count", [None, 5])
def test_refused_inputs(name, count):
    mb = TREES["every hinge"]()
    given = some(mb, 5) if count else [y[0] for y in some(mb, 1)]
    call = getattr(sc.Dynamics(mb), name)
    for i in range(3):
        y = given[i]
        hole, endless = y.copy(), y.copy()
        hole[..., -1], endless[..., 0] = np.nan, np.inf
        bad = [
            hole,
            endless,
            y[..., :-1].copy(),
            np.array(1.0),
            np.float64(1.0),
            None,
            "q",
            y + 1j,
            y.astype(str),
            y.astype(object),
        ]
        for one in bad:
            with pytest.raises(StateError):
                call(*(one if i == j else z for j, z in enumerate(given)))
    if count:
        with pytest.raises(StateError):
            call(given[0], given[1][:4].copy(), given[2])


@pytest.mark.parametrize("name", SWEEPS)
def test_masked_entries_are_no_numbers(name):
    mb = TREES["pins"]()
    q, v, x = (y[0] for y in some(mb, 1))
    with pytest.raises(StateError):
        getattr(sc.Dynamics(mb), name)(np.ma.masked_array(q, np.arange(len(q)) == 1), v, x)


def test_a_single_dof_is_not_a_number_without_axes():
    mb = TREES["one pin"]()
    d = sc.Dynamics(mb)
    for name in SWEEPS:
        with pytest.raises(StateError):
            getattr(d, name)(np.array(0.5), np.array(1.0), np.array(1.0))


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("count", [None, 5])
def test_out(name, count):
    mb = TREES["every hinge"]()
    given = some(mb, 5) if count else [y[0] for y in some(mb, 1)]
    call = getattr(sc.Dynamics(mb), name)
    wanted = call(*given)
    shape = wanted.shape
    for out in (np.full(shape, np.nan), np.full(shape, np.nan).view(Own), np.full((3, *shape), np.nan)[1]):
        assert call(*given, out=out) is out
        close(np.asarray(out), wanted)
    assert np.array_equal(call(*given, out=None), wanted)
    bad = [read_only(wanted), strided(wanted), unaligned(wanted), wanted.astype(np.float32), wanted.astype(">f8")]
    bad += [np.empty((*shape, 1)), np.empty(shape[-1] + 1), wanted.tolist(), np.array(1.0), 0, (np.empty(shape),)]
    bad += [np.asfortranarray(wanted)] if count else []
    for out in bad:
        before = np.array(out, copy=True) if isinstance(out, np.ndarray) else None
        with pytest.raises(StateError, match="out"):
            call(*given, out=out)
        assert before is None or np.array_equal(out, before, equal_nan=True)


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("count", [None, 5])
def test_out_over_an_input(name, count):
    """The same array, and one that lies across two inputs."""
    mb = TREES["pins"]()
    given = some(mb, 5) if count else [y[0] for y in some(mb, 1)]
    call = getattr(sc.Dynamics(mb), name)
    wanted = call(*given)
    for i in range(3):
        copies = [y.copy() for y in given]
        assert call(*copies, out=copies[i]) is copies[i]
        close(copies[i], wanted)
    size = wanted.size
    for shift in (1, size // 2, size - 1):
        together = np.concatenate([given[1].ravel(), given[2].ravel()])
        v, x = (y.reshape(wanted.shape) for y in (together[:size], together[size:]))
        out = together[shift : shift + size].reshape(wanted.shape)
        assert call(given[0], v, x, out=out) is out
        close(out, wanted)


@pytest.mark.parametrize("name", SWEEPS)
def test_out_over_the_one_row_for_all(name):
    mb = TREES["pins"]()
    q, v, x = some(mb, 5)
    call = getattr(sc.Dynamics(mb), name)
    wanted = call(q, v[0].copy(), x)
    out = np.empty_like(x)
    for row in (0, 2, 4):
        out[row] = v[0]
        assert call(q, out[row], x, out=out) is out
        close(out, wanted)


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("threads", [0, -1, True, False, 1.5, 2.0, "2", np.float64(2.0), np.nan, [2]])
@pytest.mark.parametrize("count", [None, 5])
def test_refused_threads(name, threads, count):
    mb = TREES["pins"]()
    given = some(mb, 5) if count else [y[0] for y in some(mb, 1)]
    with pytest.raises(StateError, match="threads"):
        getattr(sc.Dynamics(mb), name)(*given, threads=threads)


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("threads", [None, 1, np.int64(2), np.uint8(3), 1000])
def test_threads(name, threads):
    mb = TREES["pins"]()
    q, v, x = some(mb, 11)
    call = getattr(sc.Dynamics(mb), name)
    assert np.array_equal(call(q, v, x, threads=threads), call(q, v, x))
    close(call(q[0], v[0], x[0], threads=threads), call(q[0], v[0], x[0]))  # numpy's numbers go to Python: rounding


@pytest.mark.parametrize("name", SWEEPS)
def test_more_threads_than_fit_in_a_word(name):
    mb = TREES["pins"]()
    q, v, x = some(mb, 11)
    call = getattr(sc.Dynamics(mb), name)
    assert np.array_equal(call(q, v, x, threads=2**63), call(q, v, x))


@pytest.mark.parametrize("name", SWEEPS)
def test_arguments_by_name(name):
    mb = TREES["every hinge"]()
    last = LAST[name]
    for given in (some(mb, 4), [y[0] for y in some(mb, 1)]):
        q, v, x = given
        call = getattr(sc.Dynamics(mb), name)
        wanted = call(q, v, x)
        out = np.empty_like(wanted)
        close(call(q=q, v=v, **{last: x}), wanted)
        close(call(q, v=v, **{last: x}), wanted)
        close(call(q, v, **{last: x}, threads=2), wanted)
        assert call(**{last: x}, v=v, q=q, out=out) is out
        close(out, wanted)
        close(call(q, v, x, None), wanted)
        close(call(q, v, x, f_ext={}), wanted)
        for wrong in (lambda: call(q, v), lambda: call(q, v, x, q=q), lambda: call(q, v, x, ouput=out), lambda: call()):  # noqa: B023
            with pytest.raises(TypeError):
                wrong()


@pytest.mark.parametrize("name", SWEEPS)
def test_quaternions_that_are_not_of_unit_length(name):
    """They are what the method makes of them, in one state of a batch or alone."""
    mb = sc.random_tree(4, 1, [sc.Spherical(), sc.Free()], 0.5, gravity=GRAVITY)
    q, v, x = some(mb, 9)
    call = getattr(sc.Dynamics(mb), name)
    near = q.copy()
    near[3, mb.bodies[0].q_slice][:4] *= 1 + 1e-9
    far = q.copy()
    far[3, mb.bodies[0].q_slice][:4] *= 3.0
    for given in (near, far):
        for rows in (slice(None), 3):
            try:
                wanted = getattr(dyn, name)(mb, given[rows], v[rows], x[rows])
            except StateError:
                with pytest.raises(StateError):
                    call(given[rows], v[rows], x[rows])
            else:
                close(call(given[rows], v[rows], x[rows]), wanted)


# -- what becomes of handles -------------------------------------------------------------------------------------------


def test_a_structural_change_ends_a_handle():
    mb = TREES["pins"]()
    q, v, x = some(mb, 4)
    d = sc.Dynamics(mb)
    calls = [getattr(d, name) for name in SWEEPS]
    for call in calls:
        call(q, v, x)
    mb.add_body("more", mb.bodies[-1], sc.Pin((0, 0, 1)), sc.Inertia.sphere(1.0, 0.1))
    for call in (*calls, *(getattr(d, name) for name in SWEEPS)):
        for given in ((q, v, x), (q[0], v[0], x[0])):
            with pytest.raises(StaleError):
                call(*given)
            with pytest.raises(StaleError):
                call(*given, out=np.empty_like(given[2]))
    q, v, x = some(mb, 4)
    for name in SWEEPS:
        close(getattr(sc.Dynamics(mb), name)(q, v, x), reference(mb, name, q, v, x), 1e-10)


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("axes", [None, "inertial"])
def test_forces_of_the_model(name, axes):
    mb = TREES["every hinge"]()
    q, v, x = some(mb, 5)
    call = getattr(sc.Dynamics(mb), name)
    body = next(body for body in reversed(mb.bodies) if body.nodes)
    node = body.nodes[0]
    wrench = sc.Wrench((1.0, 2.0, 3.0), (4.0, 5.0, 6.0), axes) if axes else np.arange(1.0, 7.0)
    for given in ((q, v, x), (q[0], v[0], x[0])):
        free = call(*given)
        pulled = call(*given, {node: wrench})
        assert np.abs(free - pulled).max() > 1e-3
        mb.set_force(node, wrench)
        found, out = call(*given), np.empty_like(free)
        close(found, pulled)
        assert call(*given, out=out) is out
        assert np.array_equal(out, found)
        close(getattr(sc.Dynamics(mb), name)(*given), pulled)
        mb.clear_forces()
        assert np.array_equal(call(*given), free)
        mb.set_force(node, wrench)
        mb.set_force(node, None)
        assert np.array_equal(call(*given), free)


class MyPin(sc.Pin):
    """A pin that turns twice as far as it says."""

    def pose(self, q):
        return super().pose(q * 2.0)


class SamePin(sc.Pin):
    """A pin that says itself where it is."""

    def pose(self, q):
        return super().pose(q)


@pytest.mark.parametrize("name", SWEEPS)
def test_a_hinge_of_the_users_own_is_not_compiled(name):
    def arm(kind):
        mb, rng = sc.Multibody("arm", GRAVITY), np.random.default_rng(7)
        for k in range(4):
            hinge = kind((1.0, k, 2.0)) if k in (1, 3) else sc.Pin((0, 1, k))
            mb.add_body(f"{k}", f"{k - 1}" if k else None, hinge, random_inertia(rng), random_pose(rng))
        return mb

    own, same, plain = arm(MyPin), arm(SamePin), arm(sc.Pin)
    assert CompiledModel.of(own.layout) is None
    assert CompiledModel.of(same.layout) is None
    assert CompiledModel.of(plain.layout) is not None
    q, v, x = some(plain, 6)
    turned = q.copy()
    turned[:, [1, 3]] *= 2.0
    calls = [getattr(sc.Dynamics(mb), name) for mb in (own, same, plain)]
    assert [isinstance(call, _core.Call) for call in calls] == [False, False, True]
    close(calls[1](q, v, x), calls[2](q, v, x), 1e-10)
    close(calls[0](q, v, x), calls[2](turned, v, x), 1e-10)
    close(calls[0](q[0], v[0], x[0]), calls[2](turned[0], v[0], x[0]), 1e-10)


@pytest.mark.parametrize("name", SWEEPS)
def test_a_call_keeps_what_it_needs(name):
    mb = TREES["every hinge"]()
    q, v, x = some(mb, 5)
    handle = sc.Dynamics(mb)
    wanted = handle.graph is mb and getattr(handle, name)(q, v, x)
    call = getattr(handle, name)
    del mb
    gc.collect()
    assert np.array_equal(getattr(handle, name)(q, v, x), wanted)
    del handle
    gc.collect()
    assert np.array_equal(call(q, v, x), wanted)
    close(call(q.tolist(), v, x), wanted)
    close(call(q[0], v[0], x[0]), wanted[0])


def test_models_and_handles_go():
    """Nothing is left of a model with its handles, used or not, stale or not."""
    gone = []
    for i in range(20):
        mb = TREES["every hinge"]()
        q, v, x = some(mb, 2)
        handles = [sc.Dynamics(mb) for _ in range(3)]
        for name in SWEEPS:
            getattr(handles[0], name)(q, v, x)
            getattr(handles[1], name)(q[0].tolist(), v[0], x[0])
        handles[0].jacobian(q[0], mb.bodies[-1])
        handles[0].poses(q[0])
        if i % 2:
            mb.set_force(mb.bodies[-1], np.ones(6))
            mb.add_body("more", None, sc.Free(), sc.Inertia.sphere(1.0, 0.1))
        gone += [weakref.ref(y) for y in (mb, mb.layout, *handles)]
        del mb, handles
    gc.collect()
    assert [ref() for ref in gone if ref() is not None] == []


def test_calls_do_not_leak():
    """References to the arguments, results, out and the fallback are given back."""
    mb = TREES["pins"]()
    d = sc.Dynamics(mb)
    q, v, x = (y[0] for y in some(mb, 1))
    rows, out = some(mb, 6), np.empty(mb.nv)

    def work(times):
        for _ in range(times):
            for name in SWEEPS:
                call = getattr(d, name)
                call(q, v, x)
                call(q, v, x, out=out)
                call(*rows)
                call(q.tolist(), v, x)
                with pytest.raises(StateError):
                    call(q, v, x, out=q[:1])

    work(5)
    counts = [sys.getrefcount(y) for y in (q, v, x, out, *rows)]
    gc.collect()
    tracemalloc.start()
    try:
        work(5)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        work(50)
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert [sys.getrefcount(y) for y in (q, v, x, out, *rows)] == counts
    assert after - before < 20_000
