"""`_core.ClosedSolver`, made from a tree and a plan: what makes no sense is refused, and nothing crashes."""

import dataclasses
import threading
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest

import soacraft as sc
from soacraft import _core
from soacraft.kinematics.compiled import CompiledClosures
from soacraft.kinematics.plan import CONSTRAINT_EMBEDDING, FULLY_AUGMENTED, ROWS, TREE_AUGMENTED
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.hinges.base import pose_of
from soacraft.model.samples.random_models import random_inertia, random_pose
from soacraft.model.tree.parts.closures import coordinate_names

REFUSED = (ValueError, TypeError)
ARRAYS = ("closure_whole", "closure_real", "hinge_whole", "hinge_real", "term_whole", "term_real", "offsets", "sizes",
          "units", "body_parents", "body_dofs")  # fmt: skip
METHODS = (TREE_AUGMENTED, CONSTRAINT_EMBEDDING, FULLY_AUGMENTED)


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
    """A model, its compiled tree, and all that its plans have, by name; those of the closures are among them."""
    mb = mechanism()
    solver = ConstraintEmbedding(mb)
    solver.forward_dynamics(mb.q, np.zeros(mb.nv), np.zeros(mb.nv))
    plan, tree = solver._chosen.compiled.plan, CompiledModel.of(mb.layout)
    assert plan.method == CONSTRAINT_EMBEDDING
    size = CompiledClosures.of(mb).size
    given = {x.name: getattr(plan, x.name) for x in dataclasses.fields(plan)} | {"compliance": np.ones(size)}
    given |= {x.name: getattr(plan.closures, x.name) for x in dataclasses.fields(plan.closures)}
    given |= {x.name: getattr(plan.groups, x.name) for x in dataclasses.fields(plan.groups)}
    given |= {x.name: getattr(plan.tolerances, x.name) for x in dataclasses.fields(plan.tolerances)}
    return SimpleNamespace(mb=mb, tree=tree.kernels, given=given, size=size, nv=mb.nv, nq=mb.nq)


def plan_of(good, **changed):
    """A plan with some things otherwise."""
    flat = {**good.given, **changed}
    inside = {name: SimpleNamespace(**flat) for name in ("closures", "tolerances", "groups") if name not in changed}
    return SimpleNamespace(**{**flat, **inside})


def made(good, method=TREE_AUGMENTED, tree=None, **changed):
    return _core.ClosedSolver(good.tree if tree is None else tree, plan_of(good, method=method, **changed))


def state(good, count=3):
    """Arguments of `run`: nothing moves."""
    q = np.tile(good.mb.q, (count, 1))
    width, turns = 6 * len(good.mb.loops) + len(good.mb.couplings) + 2, good.given["coordinates"]
    return [q, np.zeros((count, good.nv)), np.ones((count, good.nv)), None, np.zeros(turns), np.empty((count, good.nv)),
            np.empty((count, width)), np.empty((count, turns)), np.zeros(count, dtype=np.int64), 1]  # fmt: skip


VDOT, REST, FINE = 5, 6, 8  # places in them


def row_outputs(good, core):
    loops, size = len(good.mb.loops), core.size
    tied = size - len(good.mb.couplings)
    lengths = (good.given["coordinates"], 6 * loops, 6 * tied, 9 * loops, *(size,) * 4, 6 * tied, 6 * tied)
    moves = (good.nv, good.nv, loops * good.nv, loops * good.nv, 1)
    return tuple(np.full(n, np.nan) for n in (*lengths, size * good.nv, *moves))


def exercise(core, good):
    """Use all of a solver, whatever it makes of it."""
    for threads in (1, 2):
        with suppress(*REFUSED):
            core.run(*state(good)[:-1], threads)
    q, v = good.mb.q, np.full(good.nv, 0.1)
    theta = np.full(good.given["coordinates"], 0.2)
    with suppress(*REFUSED):
        core.rows(q, v, theta, row_outputs(good, core))
    with suppress(*REFUSED):
        core.impulse(q, v, theta, np.ones(core.size), np.empty(good.nv))
    with suppress(*REFUSED):
        core.is_closed(q, v, v, theta, True)
    with suppress(*REFUSED):
        core.compliance(q, theta, np.empty(core.size))


def test_the_good_model_is_good(good):
    """What follows is about a model that works: both solvers agree with the rows and each other."""
    found = []
    for method in METHODS:
        given = state(good)
        made(good, method).run(*given)
        assert given[FINE].tolist() == [1, 1, 1]
        found.append(given[VDOT])
    core = made(good)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-9)
    outs = row_outputs(good, core)
    assert core.rows(good.mb.q, np.zeros(good.nv), np.zeros(good.given["coordinates"]), outs)
    G = Constraints(good.mb, good.mb.state()).jacobian()
    found = outs[10].reshape(G.shape)
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
        made(good, closed=tolerance).run(*given)
        assert not given[FINE].any() or tolerance == 0.0


@pytest.mark.parametrize("tree", [None, 5, "tree", object(), np.zeros(3)])
def test_no_tree(good, tree):
    with pytest.raises(REFUSED):
        _core.ClosedSolver(tree, plan_of(good))
    with pytest.raises(REFUSED):
        _core.ClosedSolver(made(good), plan_of(good))
    with pytest.raises(TypeError):
        _core.ClosedSolver()


@pytest.mark.parametrize("plan", [None, 5, {}, SimpleNamespace()])
def test_no_plan(good, plan):
    with pytest.raises(REFUSED, match="a plan needs method"):
        _core.ClosedSolver(good.tree, plan)


def test_plans_that_lack_something(good):
    """Every field that is read by name is missed by name, and no other."""
    needed = {TREE_AUGMENTED: ("compliance",), CONSTRAINT_EMBEDDING: ("groups", "dependent"), ROWS: (),
              FULLY_AUGMENTED: ("compliance",)}  # fmt: skip
    for method, own in needed.items():
        for name in ("closures", "tolerances", "gravity", "method", *own):
            plan = plan_of(good, method=method)
            delattr(plan, name)
            with pytest.raises(ValueError, match=f"a plan needs {name}"):
                _core.ClosedSolver(good.tree, plan)
        plan = plan_of(good, method=method)
        for name in {"compliance", "groups", "dependent"} - set(own):
            delattr(plan, name)
        assert _core.ClosedSolver(good.tree, plan).size == good.size


def test_a_solver_cannot_be_changed(good):
    core = made(good)
    for name in ("size", "outdated", "plan", "set_gravity"):
        with pytest.raises(AttributeError):
            setattr(core, name, 1)
    rows = made(good, ROWS)
    for use in (lambda: rows.run(*state(good)), lambda: _core.closed_call(rows, {}, print, SimpleNamespace, 1)):
        with pytest.raises(ValueError, match="it solves nothing"):
            use()


def test_closures_on_another_tree(good):
    """Elements and bodies that a smaller tree does not have."""
    small = sc.random_tree(2, 1, [sc.Pin((0, 0, 1))])
    with pytest.raises(ValueError, match="is not one of this tree"):
        made(good, tree=CompiledModel.of(small.layout).kernels, units=np.ones(2), body_parents=np.array([-1, 0]),
             body_dofs=np.array([0, 1, 2]))  # fmt: skip


# -- choices -------------------------------------------------------------------------------------------------------


def test_choices_of_another_form(good):
    for name, method in (("gravity", TREE_AUGMENTED), ("compliance", TREE_AUGMENTED), ("units", CONSTRAINT_EMBEDDING),
                         ("compliance", FULLY_AUGMENTED), ("units", FULLY_AUGMENTED)):  # fmt: skip
        size = len(good.given[name])
        shapes = [np.zeros(n) for n in (size + 1, size - 1, (1, size), 0)]
        others = [np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.int64), np.zeros(2 * size)[::2]]
        for bad in (None, 1.0, "x", [0.0] * size, *shapes, *others):
            with pytest.raises(REFUSED):
                made(good, method, **{name: bad})
        for odd in (np.nan, np.inf, -1.0, 1e308, 5e-324):
            exercise(made(good, method, **{name: np.full(size, odd)}), good)
    for method in (-1, 4, 2**40, None, "x", 0.5):
        with pytest.raises(REFUSED):
            made(good, method)


def test_groups_of_another_form(good):
    names = ("of_element", "of_closure", "of_coupling")
    for name in names:
        x = good.given[name]
        for bad in (None, 5, x.tolist(), x.astype(float), x.astype(np.int32), x[:-1].copy(), np.append(x, 0), x[None]):
            with pytest.raises(REFUSED):
                made(good, CONSTRAINT_EMBEDDING, **{name: bad})
        for value in (-2, -(2**63), 2**31, 2**63 - 1, len(good.given["of_element"]) + 1):
            with pytest.raises(ValueError, match="out of range"):
                made(good, CONSTRAINT_EMBEDDING, **{name: np.full_like(x, value)})
    mask = good.given["dependent"]
    for bad in (None, 5, mask.astype(float), mask[:-1].copy(), mask[None], mask + 1, -mask):
        with pytest.raises(REFUSED):
            made(good, CONSTRAINT_EMBEDDING, dependent=bad)
    loose = mask.copy()
    loose[-1] = 1  # of the body that no closure ties
    with pytest.raises(ValueError, match="more dependent dofs than rows"):
        made(good, CONSTRAINT_EMBEDDING, dependent=loose)


def test_any_groups(good):
    """Groups at random are refused, or give answers that hold or do not."""
    rng, taken = np.random.default_rng(0), 0
    for _ in range(300):
        groups = {name: good.given[name].copy() for name in ("of_element", "of_closure", "of_coupling")}
        for x in groups.values():
            change = rng.random(len(x)) < 0.3
            x[change] = rng.integers(-1, len(good.given["of_element"]) + 1, change.sum())
        mask = good.given["dependent"]
        mask = np.where(rng.random(good.nv) < 0.2, 1 - mask, mask)
        with suppress(ValueError):
            core = made(good, CONSTRAINT_EMBEDDING, dependent=mask, **groups)
            taken += 1
            core.run(*state(good))
    assert taken


# -- running it ----------------------------------------------------------------------------------------------------


def test_runs_of_another_form(good):
    core = made(good)
    wanted = state(good)
    core.run(*wanted)
    for i in range(9):
        x = state(good)[i]
        x = np.zeros((3, 6 * len(good.mb.bodies))) if x is None else x
        bad = [5, "x", x.tolist(), x.astype(np.float32), x[None], x[..., :-1].copy(), np.concatenate([x, x], axis=-1)]
        bad += [np.concatenate([x, x]), np.repeat(x, 2, axis=-1)[..., ::2], x[:0].copy()]
        bad += [None] if i != 3 else []
        if i >= VDOT:
            bad.append(x.copy())
            bad[-1].flags.writeable = False
        for y in bad:
            with pytest.raises(REFUSED):
                core.run(*(y if i == j else z for j, z in enumerate(state(good))))
    for threads in (None, "2", 1.5, 2**70):
        with pytest.raises(REFUSED):
            core.run(*state(good)[:-1], threads)
    for threads in (-(2**63), -1, 0, 1, 7, 2**63 - 1):
        given = state(good)
        core.run(*given[:-1], threads)
        assert np.array_equal(given[VDOT], wanted[VDOT])
        assert np.array_equal(given[REST], wanted[REST])


@pytest.mark.parametrize("method", METHODS)
def test_numbers_that_are_no_states(good, method):
    """They do not stand, or are finite."""
    core, rng = made(good, method), np.random.default_rng(0)
    for value in (np.nan, np.inf, -np.inf, 1e308, -1e200, 1e20, 5e-324, 0.0):
        for i in range(4):
            for part in (1.0, 0.3):
                given = state(good)
                given[3] = np.zeros((3, 6 * len(good.mb.bodies)))
                given[i][rng.random(given[i].shape) < part] = value
                core.run(*given)
                assert set(given[FINE].tolist()) <= {0, 1}
                stands = given[FINE].astype(bool)
                assert np.isfinite(given[VDOT][stands]).all()
                assert np.isfinite(given[REST][stands]).all()
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
    with pytest.raises(ValueError, match="needs a plan of tree-augmented dynamics"):
        made(good, CONSTRAINT_EMBEDDING).impulse(q, v, theta, rhs, dv)
    for odd in (np.nan, np.inf, 1e308):
        core.rows(np.full_like(q, odd), np.full_like(v, odd), np.full_like(theta, odd), outs)
        assert not core.impulse(np.full_like(q, odd), v, theta, rhs, dv)
    assert core.rows(q, v, theta, outs)


class Answer:
    """What results have."""

    __slots__ = ("_loads", "_numbers", "_passive", "_source", "_theta", "vdot")


def test_calls_of_another_form(good):
    core = made(good)

    def fallback(*given, **named):
        return "Python", len(given), sorted(named)

    fine = (core, {}, fallback, Answer, "here")
    derived = type("Derived", (Answer,), {})
    fewer = type("Fewer", (), {"__slots__": Answer.__slots__[:-1]})
    wraps = (None, 5, print, int, np.ndarray, derived, fewer, SimpleNamespace)
    others = [(None, 5, "x", object()), (None, []), (None, 5), wraps, (None,)]
    for i, bad in enumerate(others):
        for x in bad:
            with pytest.raises(REFUSED):
                _core.closed_call(*fine[:i], x, *fine[i + 1 :])
    forces = {}
    call = _core.closed_call(core, forces, fallback, Answer, "here")
    given = state(good, 1)
    core.run(*given)
    one = [*(x[0].copy() for x in given[:3]), given[4], True]
    found = call(*one)
    assert type(found) is Answer
    assert found._source == "here"
    assert np.array_equal(found.vdot, given[VDOT][0])
    assert np.array_equal(np.frombuffer(found._numbers), [*given[REST][0], *one[0], *one[1]])
    assert (found._loads, found._passive, call(*one[:4], False)._passive) == (None, True, False)
    assert np.array_equal(found._theta, given[7][0])
    assert call() == ("Python", 0, [])
    assert call(*one, None) == ("Python", 6, [])
    assert call(*one[:4], passive=True) == ("Python", 4, ["passive"])
    still = np.full(len(good.mb.loops) + len(good.mb.couplings), -1)
    none = np.zeros(0)
    for driven, rates in ((still, []), (still, None), ([-1], none), (None, none), (still[:0], np.zeros(1))):
        assert call(*one, driven, rates) == ("Python", 7, [])
    assert call(*one[:2], one[2][:-1].copy(), *one[3:]) == ("Python", 5, [])
    for i in range(5):
        assert call(*one[:i], None, *one[i + 1 :]) == ("Python", 5, [])
    assert call(one[0] + 0.1, *one[1:]) == ("Python", 5, [])
    forces["someone"] = 1
    assert call(*one) == ("Python", 5, [])
    forces.clear()
    assert np.array_equal(call(*one).vdot, found.vdot)


def test_a_class_of_results_without_a_slot_is_named(good):
    class Plain:
        pass

    with pytest.raises(ValueError, match="the class of results must have the slot vdot"):
        _core.closed_call(made(good), {}, print, Plain, 1)


def test_times(good):
    core = made(good)
    q, v, force = (x[0].copy() for x in state(good)[:3])
    theta = np.zeros(good.given["coordinates"])
    assert core.time(q, v, force, theta, 3) > 0.0
    assert core.time(q + 0.1, v, force, theta, 3) < 0.0
    for bad in ((q[:-1].copy(), v, force, theta, 1), (q, None, force, theta, 1), (q, v, force, theta[:-1].copy(), 1),
                (q, v, force, theta, None)):  # fmt: skip
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
        for method in METHODS:
            with suppress(ValueError):
                core = made(good, method, **changed)
                taken += 1
                exercise(core, good)
    assert taken >= 20


def test_threads_share_a_solver(good):
    """Batches run without Python's lock, and single calls meanwhile: nothing of a solver changes."""
    for method in METHODS:
        core, wrong = made(good, method), []
        wanted, single = state(good), state(good, 1)
        core.run(*wanted), core.run(*single)

        call = _core.closed_call(core, {}, lambda *given: None, Answer, "here")

        def work(core=core, call=call, wanted=wanted, single=single, wrong=wrong):
            one = state(good)
            for _ in range(60):
                given = state(good, 40)
                core.run(*given[:-1], 2)
                vdot = call(*(x[0] for x in one[:3]), one[4], True).vdot
                if not given[FINE].all() or not (given[VDOT] == wanted[VDOT][0]).all():
                    wrong.append(given[VDOT])
                if not np.array_equal(vdot, single[VDOT][0]):
                    wrong.append(vdot)

        team = [threading.Thread(target=work) for _ in range(3)]
        for one in team:
            one.start()
        for one in team:
            one.join()
        assert not wrong
