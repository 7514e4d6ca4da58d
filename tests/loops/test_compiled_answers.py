"""Compiled solvers of closed chains give the answers of Python: random graphs, robots, forces."""


from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loops.cases import (
    FourBar,
    Z,
    close,
    closed_graphs,
    comparable,
    dense,
    force_of,
    generalized,
    library,
    near,
    project,
    rod,
    row_of_four_bars,
    tie,
)
from tests.loops.compiled_cases import (
    ALL,
    KNOWN,
    MODELS,
    by_the_last_bit,
    compiled,
    equal,
    in_python,
    moved,
    one_compiled,
    ready,
    rows_in_python,
    same,
    without_compiled,
)
from tests.profiles import tries
from tests.strategies import SEEDS

import soacraft as sc
from soacraft.kinematics.compiled import CompiledClosures
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.sizes import sizes_of
from soacraft.loops import ConstraintEmbedding, TreeAugmented
from soacraft.loops.schur import Compliance
from soacraft.model.samples.random_models import random_inertia, random_pose

# -- answers -------------------------------------------------------------------------------------------------------


def with_rotors(mb):
    for k, body in enumerate(mb.bodies):
        if k % 3 != 1:
            body.armature = 0.1 * np.arange(k + 1, k + 1 + body.hinge.nv)
    return mb


@pytest.mark.parametrize("kind", ALL)
def test_answers_on_random_closed_graphs(kind):
    """Any hinges in the tree and in the loops, rotors, polynomial couplings, redundant rows; nearly all in C++."""
    asked, answered, repeating = [], [], []

    @tries(20)
    @given(closed_graphs(closing=KNOWN), SEEDS, st.booleans())
    def check(mb, seed, rotors):
        mb = with_rotors(mb) if rotors else mb
        force = force_of(mb, seed)
        comparable(mb, force)
        solver = kind(mb)
        if solver._compiled is None:
            assert not mb.nv
            return
        wanted = in_python(solver, mb.q, mb.v, force)
        found, fine = one_compiled(solver, mb.q, mb.v, force)
        asked.append(mb)
        if fine:
            answered.append(mb)
            same(mb, found, wanted)
            assert found.residual < 1e-9
            if wanted.rank < Constraints(mb, mb.state()).size:
                repeating.append(mb)

    check()
    assert len(answered) >= 0.8 * len(asked)
    assert len(repeating) >= 0.2 * len(asked)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("model", MODELS)
def test_answers_on_models_of_the_library(kind, model):
    mb = MODELS[model]()
    solver = ready(mb, kind)
    q, v, force = moved(mb, 6)
    found, fine = compiled(solver, q, v, force)
    assert fine.all()
    for i in np.flatnonzero(fine):
        mb.set_state(q[i], v[i])
        wanted = in_python(solver, q[i], v[i], force[i])
        tolerance = 1e-9
        if model == "delta":  # its rods are so light that the last bit of q shows in the forces of Python
            tolerance += 10.0 * by_the_last_bit(solver, q[i], v[i], force[i], wanted)
        same(mb, found[i], wanted, tolerance)


def hinges_of_several_dofs():
    """A free body, a ball and a cross, with rotors, that carry geared pins and close loops."""
    mb = sc.Multibody("several")
    hinges = (sc.Free(), sc.Spherical(), sc.Universal((1, 0, 0), (0, 1, 0)), sc.Pin(Z), sc.Pin((0, 1, 0)))
    for k, (hinge, parent) in enumerate(zip(hinges, (None, "b0", "b1", "b2", "b2"), strict=True)):
        mb.add_body(f"b{k}", parent, hinge, random_inertia(k + 1), random_pose(k + 1), random_pose(k + 7))
    with_rotors(mb).set_state(*mb.random_state(3))
    close(mb, "ball", "inertial", "b3", sc.Spherical(), 1)
    close(mb, "cross", "b0", "b4", sc.Universal((0, 0, 1), (1, 0, 0)), 2)
    tie(mb, "gear", ["b3", "b4"], [(1.0,), (-1.5, 0.2)])
    mb.v = project(mb, mb.v)
    assert np.abs(mb.v).min() > 1e-3  # all of it moves
    return mb


@pytest.mark.parametrize("kind", ALL)
def test_hinges_of_several_dofs_with_rotors_and_gears(kind):
    """Balls, crosses and a free body, in the tree and in the loops, against a dense solution of the same rows."""
    mb = hinges_of_several_dofs()
    force = force_of(mb, 4)
    found, fine = one_compiled(ready(mb, kind), mb.q, mb.v, force)
    assert fine
    with rows_in_python():
        wanted = dense(mb, force)
        near(found.vdot, wanted.vdot)
        near(generalized(mb, found), wanted.constraint_force)


@pytest.mark.parametrize("model", [*MODELS, "several"])
def test_what_rounding_of_rows_is_measured_by(model):
    """The compliance of each row before anything cancels, by sweeps in C++ and by Python's."""
    mb = (MODELS | {"several": hinges_of_several_dofs})[model]()
    solver = ready(mb, TreeAugmented)
    state = mb.state(mb.q, np.zeros(mb.nv))
    wanted = Compliance(solver._rows(state), mb.sko(state)).reference
    np.testing.assert_allclose(solver._compiled.compliance(mb.q, solver._turns), wanted, rtol=1e-9)


def slider_crank():
    mb = sc.Multibody("slider crank")
    mb.add_body("crank", None, sc.Pin(Z), rod(1.0, 0.3))
    mb.add_body("rod", "crank", sc.Pin(Z), rod(1.0, 0.8), sc.Pose(translation=(0.3, 0, 0)))
    mb.add_body("slider", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
    mb.q = [0.5, -0.7, 0.4]
    close(mb, "pin", "slider", "rod", sc.Pin(Z))
    return mb


@pytest.mark.parametrize("model", [*MODELS, "slider"])
def test_sizes_of_rows_and_dofs_are_those_of_python(model):
    """How far each dof turns and slides what is closed."""
    mb = (MODELS | {"slider": slider_crank})[model]()
    one = Constraints(mb, mb.state())
    assert one.arrays is not None
    with rows_in_python():
        other = Constraints(mb, mb.state())
    assert other.arrays is None
    found, wanted = sizes_of(one), sizes_of(other)
    np.testing.assert_allclose(found.dofs, wanted.dofs, rtol=1e-12)
    np.testing.assert_allclose(np.sort(found.rows), np.sort(wanted.rows), rtol=1e-12)
    np.testing.assert_array_equal(found.moved, wanted.moved)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("model", MODELS)
def test_calls_are_answered_by_compiled_code(kind, model):
    """Where compiled code goes wrong its residual does, and Python answers instead: right, but slowly. The dofs of a
    delta robot of 17 cm serve in lengths of the model; in metres, pivots of its slides seem small.
    """
    mb = MODELS[model]()
    solver = ready(mb, kind)
    call = solver._chosen.call
    for state in zip(*moved(mb, 2), strict=True):
        solver.forward_dynamics(*state)
        solver.forward_dynamics(*state, passive=False)
    assert (call.answered, call.passed_on) == (4, 0)


@pytest.mark.parametrize("hinges", [(sc.Cylindrical(Z), sc.Pin(Z)), (sc.Pin(Z), sc.Spherical())])
@pytest.mark.parametrize("kind", ALL)
def test_multipliers_are_the_least_beside_rows_that_hold_nothing(kind, hinges):
    """The turning rows of a planar closure on a slide have no compliance: small relative to them is not small."""
    mb = sc.Multibody("least", gravity=(0, -9.81, 0))
    mb.add_body("slide", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    ahead = sc.Pose(translation=(1, 0, 0))
    tree = sc.Universal((1, 0, 0), (0, 1, 0))
    mb.add_body("arm", "slide", tree, sc.Inertia(1.0, (0.1, 0.2, 0.3), np.eye(3)), ahead)
    for seed, hinge in enumerate(hinges, 1):
        close(mb, f"loop{seed}", "inertial", "arm", hinge, seed)
    close(mb, "dead", "inertial", "slide", sc.Planar())
    force = np.ones(3)
    solver = ready(mb, kind)
    found, fine = one_compiled(solver, mb.q, np.zeros(3), force)
    assert fine
    rows = Constraints(mb, mb.state())
    G = rows.jacobian()
    least = np.linalg.pinv(-G.T, rcond=1e-9) @ generalized(mb, found)
    for loop, (name, where) in zip(rows.loops, rows.places, strict=True):
        near(found.multipliers[name], loop.wrench(least[where]))


@pytest.mark.parametrize("masses", [(1.5, 2e-6, 0.7), (1e6, 1.0, 1e-6), (1e-4, 1e4, 1e-4)], ids=str)
@pytest.mark.parametrize("kind", ALL)
def test_unequal_masses_are_answered_to_rounding(kind, masses):
    """What the first solution leaves is solved for again, until it is rounding: the closed form to twelve digits."""
    bars = FourBar(masses=masses)
    mb = bars.build(0.7)
    v = ready(mb, TreeAugmented).project_velocity(mb.q, np.array([1.0, 0.0, 0.0]))
    found, fine = one_compiled(ready(mb, kind), mb.q, v, np.array([1.0, 0.0, 0.0]))
    assert fine
    assert found.vdot[0] == pytest.approx(bars.acceleration(0.7, v[0], 1.0), rel=1e-12)


def test_closures_in_parallel_share_the_load_next_to_an_embedded_tree():
    """Of two equal closures, kept as rows next to an embedded loop, each carries half: multipliers of least norm."""
    mb = row_of_four_bars(2)
    mb.close_loop("twin", "crank2/tip", "coupler1/tip", sc.Pin(Z))
    force = force_of(mb, 2)
    solver = ConstraintEmbedding(mb, embed=["loop0"])
    solver.forward_dynamics(mb.q, mb.v, force)
    found, fine = one_compiled(solver, mb.q, mb.v, force)
    assert fine
    one, other = (found.multipliers[name] for name in ("loop1", "twin"))
    assert np.abs(one).max() > 0.1
    near(one, other, 1e-12)
    with rows_in_python():
        near(found.vdot, dense(mb, force).vdot)


@pytest.mark.parametrize("heavy", [1e-12, 1.0, 1e12])
def test_each_closure_next_to_an_embedded_tree_is_judged_by_its_own_compliance(heavy):
    """Three equal four-bars, one embedded, one of other masses: all fall by the closed form."""
    bars, mb = FourBar(), sc.Multibody("bars", gravity=(0, -9.81, 0))
    beta, gamma = bars.angles(0.7)
    for i, scale in enumerate((1.0, 1.0, heavy)):
        at = [sc.Pose(translation=(x, 0, i)) for x in (0.0, bars.ground)]
        along = [sc.Pose(translation=(x, 0, 0)) for x in (bars.crank, bars.coupler, bars.rocker)]
        m = scale * np.array(bars.masses)
        mb.add_body(f"crank{i}", None, sc.Pin(Z), rod(m[0], bars.crank), at[0])
        coupler = mb.add_body(f"coupler{i}", f"crank{i}", sc.Pin(Z), rod(m[1], bars.coupler), along[0])
        rocker = mb.add_body(f"rocker{i}", None, sc.Pin(Z), rod(m[2], bars.rocker), at[1])
        mb.close_loop(f"ring{i}", rocker.add_node("end", along[2]), coupler.add_node("end", along[1]), sc.Pin(Z))
    mb.q = [0.7, beta - 0.7, gamma] * 3
    solver, rest = ConstraintEmbedding(mb, embed=["ring0"]), np.zeros(9)
    solver.forward_dynamics(mb.q, rest, rest)
    found, fine = one_compiled(solver, mb.q, rest, rest)
    assert fine
    near(found.vdot[::3], bars.acceleration(0.7, 0.0, 0.0), 1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_a_projected_velocity_is_that_of_python(model):
    mb = MODELS[model]()
    solver = ready(mb, TreeAugmented)
    v = np.random.default_rng(2).standard_normal((3, mb.nv))
    with mock.patch.object(CompiledClosures, "move", autospec=True, side_effect=CompiledClosures.move) as move:
        found = solver.project_velocity(mb.q, v)
    assert move.call_count == 1
    with rows_in_python():
        near(found, without_compiled(TreeAugmented(mb)).project_velocity(mb.q, v))


# -- forces --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("axes", [None, "inertial"])
def test_external_and_stored_forces(kind, axes):
    mb = library("five_bar")
    solver = ready(mb, kind)
    twin = without_compiled(kind(mb))
    q, v, force = moved(mb, 4)
    body = mb.bodies[-1]
    node = body.add_node("somewhere", random_pose(3)) if not body.nodes else body.nodes[0]
    moment, push = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    wrench = sc.Wrench(moment, push, axes) if axes else np.concatenate([moment, push])
    several = np.arange(24.0).reshape(4, 6)
    for rows in (slice(None), 2):
        state = q[rows], v[rows], force[rows]
        free = solver.forward_dynamics(*state)
        pulled = solver.forward_dynamics(*state, {node: wrench})
        near(pulled.vdot, twin.forward_dynamics(*state, {node: wrench}).vdot, 1e-11)
        for name, x in twin.forward_dynamics(*state, {node: wrench}).multipliers.items():
            near(pulled.multipliers[name], x, 1e-10)
        assert np.abs(pulled.vdot - free.vdot).max() > 1e-3
        mb.set_force(node, wrench)
        near(solver.forward_dynamics(*state).vdot, pulled.vdot, 1e-13)
        near(solver.forward_dynamics(*state, {body: np.ones(6)}).vdot,
             twin.forward_dynamics(*state, {body: np.ones(6)}).vdot, 1e-11)  # fmt: skip
        mb.clear_forces()
        assert equal(solver.forward_dynamics(*state), free)
    found = solver.forward_dynamics(q, v, force, {body: several})
    near(found.vdot, twin.forward_dynamics(q, v, force, {body: several}).vdot, 1e-11)
    assert np.abs(found.vdot[0] - free.vdot[0]).max() > 1e-3


def test_what_compiled_rows_say_of_no_state_and_of_other_parameters():
    """A state that is no numbers, and one of a model that changed since, are left to Python."""
    mb = FourBar().build(0.7)
    solver = ready(mb, TreeAugmented)
    at, rest, theta = solver._compiled, np.zeros(3), solver._turns
    assert at.is_closed(mb.q, rest, rest, theta, True)
    assert not at.core.compliance(np.full(3, np.nan), theta, np.ones(at.core.size))
    mb.bodies[0].inertia = sc.Inertia(2.0, (0.1, 0, 0), np.eye(3))
    assert not at.is_closed(mb.q, rest, rest, theta, True)
    assert at.compliance(mb.q, theta) is None
