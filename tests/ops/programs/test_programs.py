"""Programs against the recursions in Python: products, blocks, dense matrices, compiled functions and batches."""

import gc
import sys
import threading
import weakref
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.embedded import sample
from tests.ops.test_expressions import LEAVES, MODELS, expressions, model
from tests.profiles import tries
from tests.strategies import AXES, OPEN
from tests.user_hinges import with_a_slide

import soacraft as sc
from soacraft import _core
from soacraft.errors import SingularError, StaleError, StateError
from soacraft.model.hinges import examples
from soacraft.model.samples.random_models import random_inertia, random_pose
from soacraft.ops.check import read_back
from soacraft.ops.programs import roads
from soacraft.ops.programs.roads import binding_of, road_of

I = sc.I
NAMES = "H M E_phi R P P_plus D G K tau tau_bar E_psi Upsilon phi phi_tilde psi psi_tilde Omega".split()


def every_hinge(armature=True):
    """A tree of two bases with every built-in hinge, poses in general position; some bodies have armature."""
    mb = sc.Multibody("hinges")
    for k, hinge in enumerate(examples()):
        parent = None if k in (0, 7) else f"body{(k - 1) // 2 if k < 7 else k - 1}"
        inertia, inboard, outboard = random_inertia(k + 1), random_pose(k + 1), random_pose(50 + k)
        body = mb.add_body(f"body{k}", parent, hinge, inertia, inboard, outboard)
        body.add_node("tip", random_pose(90 + k))
        if armature and k % 3 == 0 and hinge.nv:
            body.armature = np.linspace(0.5, 1.0, hinge.nv)
    mb.set_state(*mb.random_state(3))
    return mb


def close(computed, wanted, what="", tolerance=1e-12):
    size = np.abs(wanted).max(initial=0.0)
    np.testing.assert_allclose(computed, wanted, rtol=0.0, atol=tolerance * max(size, 1e-300), err_msg=str(what))


def has_program(expr):
    binding = binding_of(expr)
    return road_of(binding).lowered(expr) is not None


def columns(expr, m=2, seed=0):
    return np.random.default_rng(seed).standard_normal((expr.shape[1], m))


def agree(expr, what="", tolerance=1e-12):
    """Everything that a program gives, with what the recursions give."""
    assert has_program(expr), what
    x = columns(expr)
    wanted = expr.apply(x)
    close(expr * x, wanted, what, tolerance)
    close(expr * x[:, 0], wanted[..., 0], what, tolerance)
    dense = expr.apply(np.eye(expr.shape[1]))
    close(expr.array(), dense, what, tolerance)
    rows, cols = expr.spaces
    for i, j in {(0, 0), (0, len(cols) - 1), (len(rows) - 1, 0), (len(rows) - 1, len(cols) - 1)}:
        block = expr[i, j]
        assert block.shape == (rows.dims[i], cols.dims[j])
        np.testing.assert_allclose(
            block, dense[rows.block(i), cols.block(j)], rtol=0.0, atol=tolerance * np.abs(dense).max(initial=1e-300)
        )


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("name", NAMES)
def test_every_operator_with_every_hinge_and_armature(name, axes):
    s = sc.operators(every_hinge(), axes=axes)
    agree(getattr(s, name), name)
    agree(getattr(s, name).T, name)


@pytest.mark.parametrize("axes", AXES)
def test_pick_off_in_all_axes(axes):
    mb = every_hinge()
    s = sc.operators(mb, axes=axes)
    B = s.B([f"body{k}/tip" for k in (3, 8, 0)])
    for expr in (B, B.T, B.T * s.phi.T * s.H.T, B.T * s.Omega * B):
        agree(expr, expr.text())


@pytest.mark.parametrize("axes", AXES)
def test_sub_graphs_at_their_anchor(axes):
    mb = every_hinge()
    g = mb.subgraph(["body1", "body3", "body4"])
    s = sc.operators(g, axes=axes)
    mass_matrix = s.H * s.phi * s.M * s.phi.T * s.H.T
    for seed in (1, 2):  # the anchor moves with the model
        mb.set_state(*mb.random_state(seed))
        for expr in (s.H, s.M, mass_matrix, mass_matrix.inv):  # only the first two tell where the anchor is
            agree(expr, seed)


@pytest.mark.parametrize("identity", OPEN, ids=lambda identity: identity.name)
def test_both_sides_of_every_identity(identity):
    s = sc.operators(sc.serial_chain(4) if "serial" in identity.conditions else sc.random_tree(5, seed=2))
    for side in (identity.left, identity.right):
        expr = side(s)
        if isinstance(expr, sc.Operator) and expr.rows is not None and next(expr.leaves(), None) is not None:
            assert has_program(expr), expr
            x = columns(expr)
            wanted, size = expr.apply(x), np.abs(x).max() * np.abs(s.phi.array()).max() ** 2 * np.abs(s.M.array()).max()
            np.testing.assert_allclose(np.asarray(expr * x), wanted, rtol=0.0, atol=1e-12 * size)


@pytest.mark.parametrize("name", MODELS)
@tries(25)
@given(data=st.data())
def test_random_expressions(name, data):
    rows, cols = data.draw(st.sampled_from(sorted(LEAVES)))
    drawn = data.draw(expressions(name, rows, cols, 3))
    expr = drawn.expr
    if expr.rows is None:
        return
    x = columns(expr)
    wanted = expr.apply(x)
    np.testing.assert_allclose(np.asarray(expr * x), wanted, rtol=0.0, atol=1e-11 * max(drawn.size, 1e-300))


@pytest.mark.parametrize("name", MODELS)
def test_what_has_a_program(name):
    """All but a dense inverse, in every model: nothing falls back unnoticed."""
    s = model(name)
    for texts in LEAVES.values():
        for text in texts:
            assert has_program(read_back(text, s)), text


def test_embedded_closed_chains():
    s = sample()
    for name in NAMES:
        agree(getattr(s, name), name, 1e-11)
    agree((s.H * s.phi * s.M * s.phi.T * s.H.T).inv, "inverse", 1e-10)


def test_derivatives_take_their_leaves_from_python():
    mb = every_hinge()
    s = sc.operators(mb)
    mass_matrix = s.H * s.phi * s.M * s.phi.T * s.H.T
    for expr in (mass_matrix.diff("body3", 0), mass_matrix.dot(), s.coriolis, s.P.diff("body4", 0)):
        for seed in (1, 2):
            mb.set_state(*mb.random_state(seed))
            x = columns(expr)
            close(expr * x, expr.apply(x), expr.text(), 1e-11)
        v = mb.random_state(9)[1]
        mb.v = v  # another velocity at the same q
        close(expr * x, expr.apply(x), expr.text(), 1e-11)


# -- live, snapshots, stale -------------------------------------------------------------------------------------------


def test_a_live_product_is_answered_by_its_quick_call():
    mb = sc.load("arm7")
    s = sc.operators(mb)
    expr = s.H * s.phi * s.M * s.phi.T * s.H.T
    x = np.ones(7)
    for seed in range(5):
        q, v = mb.random_state(seed)
        mb.set_state(q, v)
        close(expr * x, expr.apply(x[:, None])[:, 0])
        np.testing.assert_array_equal(mb.q, q)
    call = vars(expr)["_call"]
    assert (call.answered, call.passed_on) == (5, 0)


def test_snapshots_keep_their_numbers_while_the_model_moves():
    mb = every_hinge()
    s = sc.operators(mb)
    expr = s.H * s.psi
    q = mb.random_state(5)[0]
    there, x = expr.at(q=q), columns(expr)
    before = np.asarray(there * x)
    mb.set_state(mb.random_state(6)[0])
    np.testing.assert_array_equal(np.asarray(there * x), before)
    mb.set_state(q)
    close(expr * x, before)


def test_states_set_the_quick_way_are_the_state():
    mb = every_hinge()
    q, v = mb.random_state(4)
    twin = every_hinge()
    mb.set_state(q, v)
    twin.set_state({body.hinge_name: q[mb.q_slice(body)] for body in mb.bodies if body.hinge.nq}, v.tolist())
    np.testing.assert_array_equal(mb.q, twin.q)
    np.testing.assert_array_equal(mb.v, twin.v)
    np.testing.assert_array_equal(mb.vdot, np.zeros(mb.nv))
    assert mb.current is mb.current
    configuration = mb.current.configuration
    mb.set_state(v=2 * v)
    assert mb.current.configuration is configuration
    mb.set_state(q.copy(), 2 * v)
    assert mb.current.configuration is configuration


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_refused_states_leave_the_state_as_it_was(bad):
    mb = sc.load("arm7")
    q, v = mb.random_state(1)
    mb.set_state(q, v)
    wrong = v.copy()
    wrong[3] = bad
    with pytest.raises(StateError, match="must be finite"):
        mb.set_state(2 * q, wrong)
    np.testing.assert_array_equal(mb.q, q)


def test_a_quaternion_far_from_unit_is_refused():
    mb = sc.load("anymal_b")
    q, _ = mb.random_state(1)
    before = mb.q.copy()
    q[:4] *= 1.001
    with pytest.raises(StateError, match="not a unit quaternion"):
        mb.set_state(q)
    np.testing.assert_array_equal(mb.q, before)


def test_an_expression_is_stale_after_a_structural_change():
    mb = sc.serial_chain(3)
    s = sc.operators(mb)
    expr = s.H * s.phi
    expr * np.ones(18)
    mb.add_body("more", "link1", sc.Pin((1, 0, 0)), sc.Inertia(1.0))
    mb.remove("link3")
    assert mb.nv == 3  # as many dofs as before, and another tree
    mb.set_state(np.ones(3))
    with pytest.raises(StaleError, match="structural change"):
        expr * np.ones(18)


def test_what_has_no_inertia_is_named():
    mb = sc.serial_chain(3)
    mb.add_body("bare", "link3", sc.Pin((1, 0, 0)))
    s = sc.operators(mb)
    with pytest.raises(SingularError, match="'bare'"):
        s.psi * np.ones(24)
    close(s.phi * np.ones(24), s.phi.apply(np.ones((24, 1)))[:, 0])


def test_overflow_is_refused():
    mb = sc.serial_chain(3)
    s = sc.operators(mb)
    with pytest.raises(StateError, match="not finite"):
        s.phi * s.M * (s.phi.T * np.full(18, 1e307))


@pytest.mark.parametrize(
    "x", [np.ones(17), np.ones((17, 2)), np.full(18, np.nan), np.ones(18, dtype=bool), np.ones((2, 3, 4))]
)
def test_wrong_vectors_are_refused_as_ever(x):
    s = sc.operators(sc.serial_chain(3))
    with pytest.raises((sc.errors.SpaceError, StateError)):
        s.phi * x


def test_columns_that_are_not_contiguous():
    s = sc.operators(sc.serial_chain(3))
    x = np.arange(72.0).reshape(18, 4)
    close(s.phi * x[:, ::2], s.phi.apply(x[:, ::2]))
    close(s.phi * x[::-1, 0], s.phi.apply(x[::-1, :1])[:, 0])


def test_a_name_defined_anew_has_its_new_meaning():
    s = sc.operators(sc.serial_chain(3))
    x = np.ones((18, 1))
    for meaning in (s.M + s.R, s.P):
        X = sc.define("X_of_mine", meaning)
        close(sc.diag_of(X * X) * x, (meaning * meaning).apply(x))
        close(X * x, meaning.apply(x))
        del X
        gc.collect()


def test_a_model_and_its_programs_are_collected():
    def used():
        mb = sc.serial_chain(3)
        s = sc.operators(mb)
        expr = s.H * s.phi * s.M * s.phi.T * s.H.T
        expr * np.ones(3), expr.inv * np.ones(3), s.P[0, 0], expr.at(q=np.ones(3)) * np.ones(3)
        expr.compile()(np.zeros(3), None, np.ones(3))
        return weakref.ref(mb), weakref.ref(mb.layout)

    refs = used()
    gc.collect()
    assert [ref() for ref in refs] == [None, None]


# -- functions of the state -------------------------------------------------------------------------------------------


def batch_of(mb, count):
    return np.array([mb.random_state(seed)[0] for seed in range(count)])


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("name", [*NAMES, "H*psi*M*psi.T*H.T", "(I - H*psi*K).inv", "(H*phi*(M + R)*phi.T*H.T).inv"])
def test_compiled_functions_and_batches(name, axes):
    """Eleven states: full packs of every instruction set and a rest."""
    mb = every_hinge()
    expr = read_back(name, sc.operators(mb, axes=axes))
    f, Q = expr.compile(), batch_of(mb, 11)
    X = np.random.default_rng(1).standard_normal((len(Q), expr.shape[1]))
    both = [expr.at(q=q).apply(np.stack([x, X[0]], axis=1)) for q, x in zip(Q, X, strict=True)]
    wanted = [columns[:, 0] for columns in both]
    close(f(Q, None, X), wanted, name, 1e-11)
    close(f(Q, None, X[0]), [columns[:, 1] for columns in both], name, 1e-11)
    close(f(Q[4], None, X[4]), wanted[4], name, 1e-11)
    close(f(Q[4]), expr.at(q=Q[4]).apply(np.eye(expr.shape[1])), name, 1e-11)
    close(expr.at(q=Q) * X, wanted, name, 1e-11)
    assert f._quick.passed_on == 0
    assert f._quick.answered == 4


def test_one_state_in_doubt_of_a_batch_is_named():
    """The second lane of a pack, and the last state of the rest."""
    mb = sc.Multibody("gimbal")
    mb.add_body("ball", hinge=sc.Gimbal(), inertia=sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    s = sc.operators(mb)
    f = (s.H * s.phi * (2 * s.M) * s.phi.T * s.H.T).inv.compile()
    Q = np.tile([0.1, 0.2, 0.3], (9, 1))
    fine = f(Q, None, np.ones(3))
    assert np.isfinite(fine).all()
    for bad in (1, 8):
        locked = Q.copy()
        locked[bad, 1] = np.pi / 2
        with pytest.raises(SingularError, match=rf"state {bad}\b"):
            f(locked, None, np.ones(3))


def test_batches_of_users_own_hinges_and_plain_models():
    mb = with_a_slide()
    mb.set_state(np.array([0.1, 0.2, 0.3, 0.4]))
    s = sc.operators(mb)
    for name in NAMES:
        agree(getattr(s, name), name)
    mass_matrix = s.H * s.phi * s.M * s.phi.T * s.H.T
    Q = np.random.default_rng(0).standard_normal((5, 4))
    x = np.ones(4)
    for expr in (mass_matrix, mass_matrix.inv):  # the first is never in doubt, so that no state is computed by itself
        wanted = [expr.at(q=q).apply(x[:, None])[:, 0] for q in Q]
        close(expr.compile()(Q, None, x), wanted, tolerance=1e-11)
        close(expr.at(q=Q) * x, wanted, tolerance=1e-11)
        close(roads.columns(expr.at(q=Q), x[:, None])[..., 0], wanted, tolerance=1e-11)  # by the program, not Python


def test_as_many_states_as_entries():
    """A square of numbers is a block of vectors or one for each state: Python says which."""
    mb = sc.load("arm7")
    s = sc.operators(mb)
    expr = s.H * s.phi * s.M * s.phi.T * s.H.T
    f, Q = expr.compile(), batch_of(mb, 8)
    X = np.random.default_rng(2).standard_normal((8, 7))
    f(Q, None, X)
    assert (f._quick.answered, f._quick.passed_on) == (1, 0)
    close(f(Q[:7], None, X[:7]), np.asarray(expr.at(q=Q[:7]) * X[:7]))
    assert (f._quick.answered, f._quick.passed_on) == (1, 1)


def test_the_whole_batch_takes_part_in_products_of_factors():
    """A product of twelve factors: registers are used again and again."""
    mb = sc.random_tree(6, seed=8)
    s = sc.operators(mb)
    parts = [s.phi, s.M, s.phi.T, s.tau_bar, s.psi, s.P, s.psi.T, s.Upsilon, s.E_phi, s.R, I - s.E_psi, s.phi_tilde]
    agree(reduce(lambda x, y: x * y, parts), "twelve factors", 1e-11)
    agree(sum(parts[1:], parts[0]), "twelve terms", 1e-11)


def test_classes_of_the_users_own_are_asked_for_their_products():
    class Doubled(type(sc.operators(sc.serial_chain(1)).M)):
        def apply(self, x):
            return 2 * super().apply(x)

    s = sc.operators(sc.serial_chain(3))
    x = np.ones(18)
    s.M * x, (s.phi * s.M) * x
    M2 = Doubled(s.binding, s.M.what)
    close(M2 * x, 2 * np.asarray(s.M * x))
    close((s.phi * M2) * x, 2 * np.asarray((s.phi * s.M) * x))


# -- threads ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["product", "derivative", "dense", "block"])
def test_results_belong_to_one_state_while_another_thread_sets_it(name):
    mb = sc.random_tree(4, seed=1)
    s = sc.operators(mb)
    mass_matrix = s.H * s.phi * s.M * s.phi.T * s.H.T
    x = np.ones(mb.nv)
    compute = {
        "product": lambda: np.asarray(mass_matrix * x),
        "derivative": lambda: np.asarray(mass_matrix.dot() * x),
        "dense": lambda: mass_matrix.array(),
        "block": lambda: s.Omega[0, 3],
    }[name]
    states = [mb.random_state(seed) for seed in range(2)]
    wanted = []
    for state in states:
        mb.set_state(*state)
        wanted.append(compute())
    stop, turns = threading.Event(), 0

    def turn():
        nonlocal turns
        while not stop.is_set():
            mb.set_state(*states[turns % 2])
            turns += 1

    setter = threading.Thread(target=turn)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    setter.start()
    try:
        found = []
        while len(found) < 150 or turns < 50:  # until the other thread had its turns too
            found.append(compute())
    finally:
        stop.set()
        setter.join()
        sys.setswitchinterval(interval)
    for one in found[:: 1 + len(found) // 300]:
        assert any(np.allclose(one, good, rtol=1e-9, atol=1e-12) for good in wanted), name


@pytest.mark.parametrize("axes", AXES)
def test_an_axis_through_the_origin(axes):
    """What is zero in exact arithmetic is rounding in fused products; the diagonal of Omega is judged by its sizes."""
    axis = np.array([0.3, -1.1, 0.7])
    axis /= np.linalg.norm(axis)
    mb = sc.Multibody("through the origin")
    mb.add_body("carrier", None, sc.Weld(), sc.Inertia(1.0), inboard=sc.Pose(translation=tuple(0.37 * axis)))
    mb.add_body("wheel", "carrier", sc.Pin(tuple(axis)), sc.Inertia(1.0, (0.1, 0.2, 0.3)))
    mb.set_state(np.array([0.8]))
    s = sc.operators(mb, axes=axes)
    assert sc.verify(lambda s: sc.diag_of(s.Omega), lambda s: s.Upsilon, on=s).ok


# -- what a plan refuses ----------------------------------------------------------------------------------------------


def plan_of_two():
    """A plan of two nodes, of 6 and 6 rows with one dof each, whose blocks are given; spaces 0 (body) and 1 (hinge)."""
    plan = _core.plan(*(np.array(x, dtype=np.int64) for x in ([0, 1], [-1, 0], [0, 6, 12], [0, 1, 2])))
    plan.blocks_given()
    return plan


COMBINE = 6


@pytest.mark.parametrize(
    ("registers", "step"),
    [
        ([0, 0], (COMBINE, -1, 0, 0, 1, 1.0, 1.0)),
        ([0, 0, 0], (COMBINE, -1, 0, -1, 1, 1.0, 0.0)),
    ],
)
def test_steps_that_a_program_takes(registers, step):
    _core.program(plan_of_two(), registers, [step], [])


@pytest.mark.parametrize(
    ("registers", "steps", "text"),
    [
        ([1, 0, 0], [(0, 2, 0, -1, 2, 1.0, 0.0)], "spaces 0 and 1 differ"),
        ([1, 0, 0], [(1, 1, 0, -1, 2, 1.0, 0.0), (COMBINE, -1, 2, 0, 1, 1.0, 1.0)], "spaces 1 and 0 differ"),
        ([0, 0, 0], [(COMBINE, -1, 2, -1, 1, 1.0, 0.0)], "a step names a register that holds nothing"),
        ([0, 0, 0], [(COMBINE, -1, 0, 2, 1, 1.0, 1.0)], "a step names a register that holds nothing"),
        ([0, 0], [(COMBINE, -1, 0, -2, 1, 1.0, 1.0)], "a step names a register that holds nothing"),
        ([0, 0], [(COMBINE, -1, -1, -1, 1, 1.0, 0.0)], "a step names a register that holds nothing"),
        ([0, 0], [(COMBINE, -1, 2, -1, 1, 1.0, 0.0)], "a step names a register that holds nothing"),
        ([0, 0], [(COMBINE, -1, 0, 2, 1, 1.0, 1.0)], "a step names a register that holds nothing"),
        ([0, 0], [(COMBINE, -1, 0, -1, 0, 1.0, 0.0)], "a step names a register that holds nothing"),
        ([0, 0], [(COMBINE, -1, 0, -1, 2, 1.0, 0.0)], "a step names a register that holds nothing"),
        ([0, 0], [(7, 0, 0, -1, 1, 1.0, 0.0)], "a step names a register that holds nothing"),
    ],
)
def test_steps_that_a_program_refuses(registers, steps, text):
    with pytest.raises(ValueError, match=text):
        _core.program(plan_of_two(), registers, steps, [])


def test_fields_that_a_plan_refuses():
    plan = plan_of_two()
    for field in (-1, 3):  # there are A, H and M
        with pytest.raises(ValueError, match=f"there is no field {field}"):
            plan.inverse(field)
    P = plan.riccati(0, 1, 2)
    assert plan.past_hinge(P) == plan.past_hinge(P)
    for field in (2, P + 1, P + 2):
        with pytest.raises(ValueError, match=f"field {field} is no P of a Riccati equation"):
            plan.past_hinge(field)
    with pytest.raises(ValueError, match="a product is taken from a block that is not there"):
        plan.remainder(2, 0, 2)  # M - E M: E M is off the diagonal
    both = plan.sum(1.0, 2, False, 1.0, 0, False)  # M + E: E M has two terms there
    with pytest.raises(ValueError, match="two products are taken from one block"):
        plan.remainder(both, both, both)


@pytest.mark.parametrize("place", [2, 3])
@pytest.mark.parametrize("wrong", [[], [0, 6], [0, 6, 12, 18]])
def test_plans_have_a_slice_for_every_node(place, wrong):
    """Two nodes have three ends of slices."""
    given = [np.array(x, dtype=np.int64) for x in ([0, 1], [-1, 0], [0, 6, 12], [0, 1, 2])]
    assert _core.plan(*given) is not None
    given[place] = np.array(wrong, dtype=np.int64)
    with pytest.raises(ValueError, match="has one entry more than there are slices"):
        _core.plan(*given)


def test_a_program_needs_what_its_fields_are_made_of():
    """Each alone: of A, H and M, the fields 0, 1 and 2, those that a field is made of are given."""
    plan = plan_of_two()
    made = [plan.sum(1.0, field, False, 2.0, field, False) for field in range(3)]
    programs = [_core.program(plan, [0, 0], [], [field]) for field in (*made, plan.riccati(0, 1, 2))]
    assert [sorted(_core.numbers(plan).missing(program)) for program in programs] == [[0], [1], [2], [0, 1, 2]]


def test_where_a_state_has_quaternions():
    """Up to the end of q; those that are not there are refused, and so are sizes below zero."""
    for nq, at in ((4, 0), (5, 1)):
        assert not _core.store(nq, 3, np.array([at]), 0).ready
    for nq, at in ((3, 0), (4, 1), (4, -1)):
        with pytest.raises(ValueError, match="a quaternion is not within q"):
            _core.store(nq, 3, np.array([at]), 0)
    for nq, nv in ((-1, 0), (0, -1)):
        with pytest.raises(ValueError, match="sizes are not negative"):
            _core.store(nq, nv, np.zeros(0, dtype=np.int64), 0)


def test_a_state_is_set_where_its_quaternions_are_unit():
    """Wherever they are in q; else nothing is set, and Python says what is wrong."""
    store, v = _core.store(11, 9, np.array([1, 7]), 0), np.zeros(9)
    q = np.array([5.0, 0.6, 0, 0, 0.8, 7, 9, 0, 1, 0, 0])
    store.put(q, v, v)
    for at, unit in ((0, True), (1, False), (4, False), (5, True), (6, True), (7, False), (8, False), (10, False)):
        other = q.copy()
        other[at] += 0.1
        stamp = store.stamp
        assert store.set(other, None, None) is unit
        assert (store.stamp != stamp) is unit
        np.testing.assert_array_equal(store.state()[1], other if unit else q)
        store.put(q, v, v)
