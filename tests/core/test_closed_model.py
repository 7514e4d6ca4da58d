"""`_core.closed_model`, the compiled form of a closed chain: what makes no sense is refused, and nothing crashes."""

import threading
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest

import soacraft as sc
from soacraft import _core
from soacraft.kinematics import compiled as module
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding, TreeAugmented
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.hinges.base import pose_of
from soacraft.model.samples.random_models import random_inertia, random_pose
from soacraft.model.tree.closures import coordinate_names

REFUSED = (ValueError, TypeError)
NAMES = ("tree", "closure_whole", "closure_real", "hinge_whole", "hinge_real", "term_whole", "term_real", "offsets",
         "sizes", "units")  # fmt: skip
ARRAYS = NAMES[1:]
TREE_AUGMENTED, CONSTRAINT_EMBEDDING = range(2)


def mechanism():
    """Bodies closed by a ball, a pin, a universal joint to the ground and a plane, two of them coupled; the last is
    in no loop."""
    mb = sc.Multibody("all", gravity=(1.0, -2.0, -9.0))
    hinges = [
        sc.Free(),
        sc.Pin((1, 2, 3)),
        sc.Spherical(),
        sc.Pin((0, 1, 0)),
        sc.Universal((1, 0, 0), (0, 1, 0)),
        sc.Pin((0, 0, 1)),
    ]
    for k, (parent, hinge) in enumerate(zip([None, "0", "1", "1", "3", "4"], hinges, strict=True)):
        mb.add_body(f"{k}", parent, hinge, random_inertia(k + 1), random_pose(k + 1))
    mb.q = mb.random_state(3)[0]
    ties = [sc.Spherical(), sc.Pin((1, 1, 0)), sc.Universal((1, 0, 0), (0, 1, 0)), sc.Planar()]
    for i, (a, b, hinge) in enumerate(zip(["2", "0", "inertial", "3"], ["4", "2", "0", "2"], ties, strict=True)):
        end = mb.pose(b).inv @ mb.pose(a) @ pose_of(hinge, np.asarray(hinge.neutral(), dtype=float))
        mb.close_loop(f"loop{i}", a, mb.body(b).add_node(f"end{i}", sc.Pose(end.rotation, end.translation)), hinge)
    at = coordinate_names(mb)
    dofs = mb.bodies[1].name, mb.bodies[3].name
    x, y = (mb.q[at[name]] for name in dofs)
    mb.couple("gear", {dofs[0]: (1.0, 0.3), dofs[1]: (-0.5,)}, x + 0.3 * x**2 - 0.5 * y)
    return mb


@pytest.fixture(scope="module")
def good():
    """A model, the arguments its compiled form was made from, and what its solvers told it."""
    mb, told = mechanism(), []

    def remember(*given, **named):
        told.append({**dict(zip(NAMES, given, strict=True)), **named})
        return _core.closed_model(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_core", SimpleNamespace(closed_model=remember, closed_call=_core.closed_call))
        solvers = [TreeAugmented(mb), ConstraintEmbedding(mb)]
    groups = [(group.members, group.ties) for group in solvers[1].groups]
    compiled = solvers[1]._compiled
    of_element = np.full(compiled._tree.count, -1, dtype=np.int64)
    for number, (members, _) in enumerate(groups):
        for k in members:
            of_element[compiled._tree.hinge_elements(k)] = number
    of_tie = {name: number for number, (_, ties) in enumerate(groups) for name in ties}
    inside = [np.array([of_tie[x.name] for x in some], dtype=np.int64) for some in (mb.loops, mb.couplings)]
    solvers[1].forward_dynamics(mb.q, np.zeros(mb.nv), np.zeros(mb.nv))
    mask = np.ones(mb.nv, dtype=np.int64)
    mask[solvers[1]._source.independent(mb.q)] = 0
    given = told[0]
    return SimpleNamespace(mb=mb, given=given, groups=(of_element, *inside), mask=mask, nv=mb.nv, nq=mb.nq)


def made(good, **changed):
    """A model that has been told everything."""
    core = _core.closed_model(**{**good.given, **changed})
    tell(core, good)
    return core


def tell(core, good):
    core.set_gravity(np.array(good.mb.gravity, dtype=float))
    core.set_theta(np.zeros(good.given["coordinates"]))
    core.set_reference(np.ones(core.size))
    core.set_groups(*good.groups)
    core.set_dependent(good.mask)


def state(good, count=3):
    """Arguments of `run` but for the method: nothing moves."""
    q = np.tile(good.mb.q, (count, 1))
    width = 6 * len(good.mb.loops) + len(good.mb.couplings) + 2
    return [q, np.zeros((count, good.nv)), np.ones((count, good.nv)), None, np.empty((count, good.nv)),
            np.empty((count, width)), np.zeros(count, dtype=np.int64), 1]  # fmt: skip


def row_outputs(good, core):
    loops, size = len(good.mb.loops), core.size
    tied = size - len(good.mb.couplings)
    lengths = (good.given["coordinates"], 6 * loops, 6 * tied, 9 * loops, *(size,) * 4, 6 * tied, 6 * tied)
    return tuple(np.full(n, np.nan) for n in (*lengths, size * good.nv))


def exercise(core, good):
    """Use all of a model, whatever it makes of it."""
    for setting in (
        lambda: core.set_gravity(np.array([0.0, 0.0, -9.8])),
        lambda: core.set_reference(np.ones(core.size)),
        lambda: core.set_groups(*good.groups),
        lambda: core.set_dependent(good.mask),
    ):
        with suppress(*REFUSED):
            setting()
    for method in (TREE_AUGMENTED, CONSTRAINT_EMBEDDING):
        for threads in (1, 2):
            with suppress(*REFUSED):
                core.run(method, *state(good)[:-1], threads)
    q, v = good.mb.q, np.full(good.nv, 0.1)
    theta = np.full(good.given["coordinates"], 0.2)
    with suppress(*REFUSED):
        core.rows(q, v, theta, row_outputs(good, core))
    with suppress(*REFUSED):
        core.impulse(q, v, theta, np.ones(core.size), np.empty(good.nv))


def test_the_good_model_is_good(good):
    """What follows is about a model that works: both solvers agree with the rows and each other."""
    core, found = made(good), []
    for method in (TREE_AUGMENTED, CONSTRAINT_EMBEDDING):
        given = state(good)
        core.run(method, *given)
        assert given[6].tolist() == [1, 1, 1]
        found.append(given[4])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-9)
    outs = row_outputs(good, core)
    assert core.rows(good.mb.q, np.zeros(good.nv), np.zeros(good.given["coordinates"]), outs)
    G = Constraints(good.mb, good.mb.state()).jacobian()
    found = outs[-1].reshape(G.shape)
    np.testing.assert_allclose(found.T @ found, G.T @ G, atol=1e-12)  # rows of a closure may be turned
    dv, rows = np.empty(good.nv), found @ np.arange(1.0, good.nv + 1)
    Q, at, rhs = outs[2].reshape(-1, 6), 0, []
    for loop in good.mb.loops:
        size = 6 - loop.hinge.nv
        rhs.append(Q[at : at + size].T @ rows[at : at + size])
        at += size
    rhs = np.concatenate([*rhs, rows[at:]])
    assert core.impulse(good.mb.q, np.zeros(good.nv), np.zeros(good.given["coordinates"]), rhs, dv)
    np.testing.assert_allclose(found @ dv, -rows, atol=1e-9)


# -- making one ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_another_form(good, name):
    x = good.given[name]
    other = np.float64 if x.dtype == np.int64 else np.int64
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), dtype=x.dtype)[..., ::2]
    bad = [None, 5, "x", x.tolist(), x[None], np.array(1, dtype=x.dtype), x.ravel() if x.ndim == 2 else x[:, None]]
    bad += [x.astype(dtype) for dtype in (other, np.float32, x.dtype.newbyteorder(), complex, object)]
    bad += [] if wide.flags.c_contiguous else [wide]
    bad += [np.asfortranarray(x)] if x.ndim == 2 and min(x.shape) > 1 else []
    bad += [x[..., :-1].copy(), np.concatenate([x, x[..., :1]], axis=-1)] if x.ndim == 2 and name != "term_real" else []
    bad += [np.concatenate([x, x[:1]])] if x.ndim == 2 and name.endswith("real") else []
    bad += [x[:-1].copy()] if name.endswith("real") else []
    for y in bad:
        with pytest.raises(REFUSED):
            made(good, **{name: y})


#: By array: columns of numbers that must be in a range.
INDICES = [
    *(("closure_whole", column) for column in (0, 1, 2, 3, 4, 5, 6, 7, 8)),
    *(("hinge_whole", column) for column in (0, 1)),
    *(("term_whole", column) for column in (0, 1, 2, 3)),
]


@pytest.mark.parametrize(("name", "column"), INDICES)
@pytest.mark.parametrize("value", [-(2**63), -(2**31), -2, 64, 2**31, 2**32 + 1, 2**62, 2**63 - 6, 2**63 - 1])
def test_indices_out_of_range(good, name, column, value):
    for row in range(len(good.given[name])):
        changed = good.given[name].copy()
        changed[row, column] = value
        with pytest.raises(ValueError, match=r"is not one of this tree|is no screw|is on another element"):
            made(good, **{name: changed})


def test_numbers_of_coordinates(good):
    enough = good.given["coordinates"]
    for count in (-1, -(2**63), 0, 1, enough - 1, 2**62, 2**64, 1.5, None, "4", np.array([enough])):
        with pytest.raises(REFUSED):
            made(good, coordinates=count)
    for tolerance in (None, "1", [1e-6]):
        with pytest.raises(REFUSED):
            made(good, closed=tolerance)
    for tolerance in (np.nan, -1.0, 0.0):  # then nothing is on its closures
        given = state(good)
        made(good, closed=tolerance).run(TREE_AUGMENTED, *given)
        assert not given[6].any() or tolerance == 0.0


@pytest.mark.parametrize("tree", [None, 5, "tree", object(), np.zeros(3)])
def test_no_tree(good, tree):
    with pytest.raises((*REFUSED, RuntimeError)):
        made(good, tree=tree)
    with pytest.raises((*REFUSED, RuntimeError)):
        made(good, tree=made(good))
    with pytest.raises(TypeError):
        _core.ClosedModel()


def test_closures_on_another_tree(good):
    """Elements and bodies that a smaller tree does not have."""
    small = sc.random_tree(2, 1, [sc.Pin((0, 0, 1))])
    with pytest.raises(ValueError, match="is not one of this tree"):
        made(good, tree=CompiledModel.of(small.layout).kernels, units=np.ones(2))


# -- telling it ----------------------------------------------------------------------------------------------------


def test_settings_of_another_form(good):
    core = made(good)
    sizes = {"set_gravity": 3, "set_theta": good.given["coordinates"], "set_reference": core.size}
    for name, size in sizes.items():
        tell_it = getattr(core, name)
        shapes = [np.zeros(n) for n in (size + 1, size - 1, (1, size), 0)]
        others = [np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.int64), np.zeros(2 * size)[::2]]
        for bad in (None, 1.0, "x", [0.0] * size, *shapes, *others):
            with pytest.raises(REFUSED):
                tell_it(bad)
        for odd in (np.nan, np.inf, -1.0, 1e308, 5e-324):
            tell_it(np.full(size, odd))
            exercise(core, good)
        tell(core, good)


def test_groups_of_another_form(good):
    core = made(good)
    for i in range(3):
        x = good.groups[i]
        for bad in (None, 5, x.tolist(), x.astype(float), x.astype(np.int32), x[:-1].copy(), np.append(x, 0), x[None]):
            with pytest.raises(REFUSED):
                core.set_groups(*(bad if i == j else y for j, y in enumerate(good.groups)))
        for value in (-2, -(2**63), 2**31, 2**63 - 1, len(good.groups[0]) + 1):
            with pytest.raises(ValueError, match="out of range"):
                core.set_groups(*(np.full_like(y, value) if i == j else y for j, y in enumerate(good.groups)))
    for bad in (None, 5, good.mask.astype(float), good.mask[:-1].copy(), good.mask[None], good.mask + 1, -good.mask):
        with pytest.raises(REFUSED):
            core.set_dependent(bad)
    loose = good.mask.copy()
    loose[-1] = 1  # of the body that no closure ties
    with pytest.raises(ValueError, match="more dependent dofs than rows"):
        core.set_dependent(loose)
    with pytest.raises(ValueError, match="method 1 is not ready"):
        core.run(CONSTRAINT_EMBEDDING, *state(good))
    core.set_dependent(good.mask)
    given = state(good)
    core.run(CONSTRAINT_EMBEDDING, *given)
    assert given[6].all()
    new = _core.closed_model(**good.given)
    with pytest.raises(ValueError, match="there are no groups"):
        new.set_dependent(good.mask)
    for method in (TREE_AUGMENTED, CONSTRAINT_EMBEDDING):
        with pytest.raises(ValueError, match=f"method {method} is not ready"):
            new.run(method, *state(good))


def test_any_groups(good):
    """Groups at random are refused, or give answers that stand or do not."""
    rng, taken = np.random.default_rng(0), 0
    for _ in range(300):
        core = made(good)
        groups = [x.copy() for x in good.groups]
        for x in groups:
            change = rng.random(len(x)) < 0.3
            x[change] = rng.integers(-1, len(good.groups[0]) + 1, change.sum())
        mask = np.where(rng.random(good.nv) < 0.2, 1 - good.mask, good.mask)
        try:
            core.set_groups(*groups)
            core.set_dependent(mask)
        except ValueError:
            with pytest.raises(ValueError, match="not ready"):
                core.run(CONSTRAINT_EMBEDDING, *state(good))
            continue
        taken += 1
        core.run(CONSTRAINT_EMBEDDING, *state(good))
        core.run(TREE_AUGMENTED, *state(good))
    assert taken


# -- running it ----------------------------------------------------------------------------------------------------


def test_runs_of_another_form(good):
    core = made(good)
    wanted = state(good)
    core.run(TREE_AUGMENTED, *wanted)
    for method in (-1, 2, 2**40, None, "x", 0.5):
        with pytest.raises(REFUSED):
            core.run(method, *state(good))
    for i in range(7):
        x = state(good)[i]
        x = np.zeros((3, 6 * len(good.mb.bodies))) if x is None else x
        bad = [5, "x", x.tolist(), x.astype(np.float32), x[None], x[..., :-1].copy(), np.concatenate([x, x], axis=-1)]
        bad += [np.concatenate([x, x]), np.repeat(x, 2, axis=-1)[..., ::2], x[:0].copy()]
        bad += [None] if i != 3 else []
        if i >= 4:
            bad.append(x.copy())
            bad[-1].flags.writeable = False
        for y in bad:
            with pytest.raises(REFUSED):
                core.run(TREE_AUGMENTED, *(y if i == j else z for j, z in enumerate(state(good))))
    for threads in (None, "2", 1.5, 2**70):
        with pytest.raises(REFUSED):
            core.run(TREE_AUGMENTED, *state(good)[:-1], threads)
    for threads in (-(2**63), -1, 0, 1, 7, 2**63 - 1):
        given = state(good)
        core.run(TREE_AUGMENTED, *given[:-1], threads)
        assert np.array_equal(given[4], wanted[4])
        assert np.array_equal(given[5], wanted[5])


@pytest.mark.parametrize("method", [TREE_AUGMENTED, CONSTRAINT_EMBEDDING])
def test_numbers_that_are_no_states(good, method):
    """They do not stand, or are finite."""
    core, rng = made(good), np.random.default_rng(0)
    for value in (np.nan, np.inf, -np.inf, 1e308, -1e200, 1e20, 5e-324, 0.0):
        for i in range(4):
            for part in (1.0, 0.3):
                given = state(good)
                given[3] = np.zeros((3, 6 * len(good.mb.bodies)))
                given[i][rng.random(given[i].shape) < part] = value
                core.run(method, *given)
                assert set(given[6].tolist()) <= {0, 1}
                stands = given[6].astype(bool)
                assert np.isfinite(given[4][stands]).all()
                assert np.isfinite(given[5][stands]).all()
                assert np.isfinite(value) or not stands.all()


def test_rows_and_impulses_of_another_form(good):
    core = made(good)
    q, v, theta = good.mb.q, np.zeros(good.nv), np.zeros(good.given["coordinates"])
    outs, dv = row_outputs(good, core), np.empty(good.nv)
    rhs = np.ones(6 * len(good.mb.loops) + len(good.mb.couplings))
    fixed = dv.copy()
    fixed.flags.writeable = False

    def bad(x):
        return (None, 5, x.tolist(), x[:-1].copy(), np.append(x, 0.0), x[None], x.astype(np.float32), np.zeros((0,)))

    for i, x in enumerate((q, v, theta)):
        for y in bad(x):
            given = [y if i == j else z for j, z in enumerate((q, v, theta))]
            with pytest.raises(REFUSED):
                core.rows(*given, outs)
            with pytest.raises(REFUSED):
                core.impulse(*given, rhs, dv)
    for i in range(len(outs)):
        for y in bad(outs[i]):
            with pytest.raises(REFUSED):
                core.rows(q, v, theta, tuple(y if i == j else z for j, z in enumerate(outs)))
    for y in (None, 5, (), outs[:-1], (*outs, dv), list(outs)):
        with pytest.raises(REFUSED):
            core.rows(q, v, theta, y)
    for y in bad(rhs):
        with pytest.raises(REFUSED):
            core.impulse(q, v, theta, y, dv)
    for y in (*bad(dv), fixed):
        with pytest.raises(REFUSED):
            core.impulse(q, v, theta, rhs, y)
    assert not _core.closed_model(**good.given).impulse(q, v, theta, rhs, dv)  # it does not know the reference
    for odd in (np.nan, np.inf, 1e308):
        core.rows(np.full_like(q, odd), np.full_like(v, odd), np.full_like(theta, odd), outs)
        assert not core.impulse(np.full_like(q, odd), v, theta, rhs, dv)
    assert core.rows(q, v, theta, outs)


def test_calls_of_another_form(good):
    core = made(good)

    def fallback(*given, **named):
        return "Python", len(given), sorted(named)

    class Answer:
        pass

    source = ["here"]
    fine = (core, 0, {}, fallback, Answer, source)
    derived = type("Derived", (Answer,), {})
    others = [(None, 5, "x", object()), (-1, 2, None), (None, []), (None, 5),
              (None, 5, print, int, np.ndarray, derived), (None, {}, [], [1, 2], (1,))]  # fmt: skip
    for i, bad in enumerate(others):
        for x in bad:
            with pytest.raises(REFUSED):
                _core.closed_call(*fine[:i], x, *fine[i + 1 :])
    forces = {}
    call = _core.closed_call(core, TREE_AUGMENTED, forces, fallback, Answer, source)
    given = state(good)
    core.run(TREE_AUGMENTED, *given)
    one = [x[0].copy() for x in given[:3]]
    found = call(*one)
    vdot, rest = found.vdot, found._rest
    assert type(found) is Answer
    assert found._source == "here"
    assert np.array_equal(vdot, given[4][0])
    assert np.array_equal(rest, [*given[5][0], *one[0]])
    assert call() == ("Python", 0, [])
    assert call(*one, None) == ("Python", 4, [])
    assert call(*one[:2], force=one[2]) == ("Python", 2, ["force"])
    assert call(*one[:2], one[2][:-1].copy()) == ("Python", 3, [])
    assert call(*one[:2], None) == ("Python", 3, [])
    assert call(one[0] + 0.1, *one[1:]) == ("Python", 3, [])
    forces["someone"] = 1
    assert call(*one) == ("Python", 3, [])
    forces.clear()
    core.unready(TREE_AUGMENTED)
    assert call(*one) == ("Python", 3, [])
    for number in (-1, 2, None):
        with pytest.raises(REFUSED):
            core.unready(number)
    tell(core, good)
    assert np.array_equal(call(*one).vdot, vdot)
    source[0] = "there"
    assert call(*one)._source == "there"
    source.clear()
    assert call(*one) == ("Python", 3, [])


def test_what_wrap_raises_comes_through(good):
    class Answer:
        def __setattr__(self, name, value):
            raise KeyError("wrapped")

    call = _core.closed_call(made(good), TREE_AUGMENTED, {}, print, Answer, [None])
    for _ in range(3):
        with pytest.raises(KeyError, match="wrapped"):
            call(*(x[0].copy() for x in state(good)[:3]))


def test_times(good):
    core = made(good)
    q, v, force = (x[0].copy() for x in state(good)[:3])
    assert core.time(TREE_AUGMENTED, q, v, force, 3) > 0.0
    assert core.time(TREE_AUGMENTED, q + 0.1, v, force, 3) < 0.0
    for bad in ((2, q, v, force, 1), (0, q[:-1].copy(), v, force, 1), (0, q, None, force, 1), (0, q, v, force, None)):
        with pytest.raises(REFUSED):
            core.time(*bad)


# -- anything at all -----------------------------------------------------------------------------------------------

WHOLE = [-(2**63), -(2**31), -7, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 10, 40, 2**31, 2**40, 2**62, 2**63 - 4, 2**63 - 1]
REAL = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, -1e308, 5e-324, 1e-200, 2.0]


@pytest.mark.parametrize("seed", range(4))
def test_corrupted_arrays(good, seed):
    """Some numbers of the arrays of a good model at random: it is refused, or can be used without harm."""
    rng, taken = np.random.default_rng(seed), 0
    for _ in range(200):
        changed = {}
        for name in rng.choice(ARRAYS, rng.integers(1, 4), replace=False):
            x = changed[name] = good.given[name].copy()
            for _ in range(rng.integers(1, 4)):
                values = WHOLE if x.dtype == np.int64 else REAL
                x.flat[rng.integers(x.size)] = values[rng.integers(len(values))]
        if rng.random() < 0.1:
            changed["coordinates"] = int(rng.integers(-1, 3 * good.given["coordinates"]))
        try:
            core = _core.closed_model(**{**good.given, **changed})
        except ValueError:
            continue
        taken += 1
        if "coordinates" not in changed:
            core.set_theta(rng.standard_normal(good.given["coordinates"]))
        exercise(core, good)
    assert taken >= 20


def test_changes_while_batches_run(good):
    """What is told to a model waits for the batches under way."""
    core = made(good)
    wanted = state(good)
    core.run(CONSTRAINT_EMBEDDING, *wanted)
    done, wrong, stood = threading.Event(), [], []

    def change():
        while not done.is_set():
            core.set_groups(*good.groups)
            core.set_dependent(good.mask)
            core.set_theta(np.zeros(good.given["coordinates"]))
            core.set_reference(np.ones(core.size))

    def work():
        for _ in range(150):
            given = state(good, 40)
            try:
                core.run(CONSTRAINT_EMBEDDING, *given[:-1], 2)
            except ValueError as error:
                if "not ready" not in str(error):
                    wrong.append(error)
                continue
            stands = given[6].astype(bool)
            stood.append(stands.sum())
            if not np.array_equal(given[4][stands], np.tile(wanted[4][0], (stands.sum(), 1))):
                wrong.append(given[4])

    team = [threading.Thread(target=work) for _ in range(2)]
    other = threading.Thread(target=change)
    for one in (*team, other):
        one.start()
    for one in team:
        one.join()
    done.set()
    other.join()
    assert not wrong
    assert sum(stood) > 0
