"""Derivatives of the constrained forward dynamics, against differences of the dynamics."""

import numpy as np
import pytest
from hypothesis import given
from tests.loops.by_name import by_name
from tests.loops.cases import (
    CLOSING,
    EVERY_CLOSING,
    HOLONOMIC,
    FourBar,
    Z,
    close,
    closed_graphs,
    comparable,
    dense,
    force_of,
    library,
    near,
    project,
    rod,
    row_of_four_bars,
    tie,
)
from tests.profiles import tries

import soacraft as sc
from soacraft.errors import LoopError, StateError
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.tasks import states_of
from soacraft.loops import forward_dynamics_derivatives
from soacraft.loops.derivatives import at_task
from soacraft.model.samples.random_models import random_inertia, random_pose

SOLVERS = [sc.loops.TreeAugmented, sc.loops.FullyAugmented, sc.loops.ConstraintEmbedding]


def difference(f, h):
    """The derivative of f(t) at 0, central differences of order four."""
    return (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)


def unstabilised(mb, q, v, force):
    """vdot and multipliers off the closures too, where nothing pulls them shut."""
    loose = sc.loops.TreeAugmented(mb, tolerance=1e6)
    loose._theta = Constraints(mb, mb.state()).theta
    result = loose.forward_dynamics(q, v, force)
    return np.concatenate([result.vdot, *(np.ravel(x) for x in result.multipliers.values())])


def derived(d):
    """The derivatives of vdot and multipliers, one below the other."""
    loops = [[np.atleast_2d(x[i]) for x in d.multipliers.values()] for i in range(3)]
    return [np.concatenate([x, *below]) for x, below in zip(d, loops, strict=True)]


def check(mb, tolerance=1e-7, h=1e-4):
    """All derivatives along a random direction in the tree, against differences of the unstabilised map."""
    q, v, force = mb.q, mb.v, force_of(mb)
    found = derived(forward_dynamics_derivatives(sc.loops.TreeAugmented(mb), q, v, force))
    moves = [
        lambda x: unstabilised(mb, mb.integrate(q, x), v, force),
        lambda x: unstabilised(mb, q, v + x, force),
        lambda x: unstabilised(mb, q, v, force + x),
    ]
    e = np.random.default_rng(6).standard_normal(mb.nv)
    for columns, f in zip(found, moves, strict=True):
        near(columns @ e, difference(lambda t, f=f: f(t * e), h), tolerance)


def along_closures(mb, make=sc.loops.TreeAugmented, tolerance=1e-7, h=1e-3):
    """vdot and multipliers along a motion that stays closed: d/dt f(q(t), v(t)) = dq qdot + dv vdot."""
    q, v, force = mb.q, mb.v, force_of(mb)
    s = make(mb)
    d = forward_dynamics_derivatives(s, q, v, force)
    rng = np.random.default_rng(7)
    curve = sc.loops.ConstraintEmbedding(mb)
    step, change = rng.standard_normal(len(curve.independent(q))), rng.standard_normal(mb.nv)

    def state(t):
        moved = curve.advance(q, by_name(curve, q, t * step))
        return moved, curve.project_velocity(moved, v + t * change)

    def answer(t):
        result = s.forward_dynamics(*state(t), force)
        return np.concatenate([result.vdot, *(np.ravel(x) for x in result.multipliers.values())])

    in_q, in_v, _ = derived(d)
    moved = difference(lambda t: mb.difference(q, state(t)[0]), h), difference(lambda t: state(t)[1], h)
    near(in_q @ moved[0] + in_v @ moved[1], difference(answer, h), tolerance)


def rank_is_full(mb):
    reference = dense(mb, force_of(mb))
    return reference.rank == Constraints(mb, mb.state()).size and reference.condition < 1e4


def arms(hinge):
    """Two arms that hold each other by a hinge."""
    mb, rng = sc.Multibody("arms"), np.random.default_rng(3)
    left = [sc.Universal((1, 0, 0), (0, 1, 0)), sc.Spherical(), sc.Gimbal()]
    for arm, kinds in (("left", left), ("right", [sc.Spherical(), sc.Planar()])):
        parent = None
        for i, kind in enumerate(kinds):
            parent = mb.add_body(f"{arm}{i}", parent, kind, random_inertia(rng), random_pose(rng))
    mb.set_state(*mb.random_state(4))
    close(mb, "grip", mb.frame("left2").add_node("start", random_pose(rng)), "right1", hinge, 5)
    mb.v = project(mb, mb.v)
    return mb


# -- along every dof of the tree ----------------------------------------------------------------------------------


@pytest.mark.parametrize("hinge", EVERY_CLOSING, ids=lambda x: type(x).__name__)
def test_every_closing_hinge(hinge):
    mb = arms(hinge)
    assert rank_is_full(mb)
    check(mb)


@tries(20)
@given(mb=closed_graphs(max_bodies=4, max_loops=2, hinges=HOLONOMIC))
def test_random_closed_graphs(mb):
    """Along all dofs; with redundant rows, which contradict each other off the closures, along v and the force."""
    comparable(mb, force_of(mb))
    if rank_is_full(mb):
        check(mb, h=1e-4 / (1.0 + np.abs(mb.v).max()))
        return
    q, v, force = mb.q, mb.v, force_of(mb)
    s = sc.loops.TreeAugmented(mb)
    _, dv, dforce = forward_dynamics_derivatives(s, q, v, force)
    e = np.random.default_rng(6).standard_normal(mb.nv)
    near(dv @ v, difference(lambda t: s.forward_dynamics(q, v + t * v, force).vdot, 1e-2), 1e-7)
    near(dforce @ e, difference(lambda t: s.forward_dynamics(q, v, force + t * e).vdot, 1e-2), 1e-7)


def test_couplings():
    mb = arms(sc.Spherical())
    tie(mb, "cam", ["left0.0", "right1.2"], [(1.0, 0.3, 0.2), (-0.7, 0.1, 0.0, 0.4)])
    mb.v = project(mb, mb.v)
    assert rank_is_full(mb)
    check(mb)


def test_a_closure_to_the_inertial_frame_feels_no_gravity():
    mb = sc.Multibody("held", gravity=(1.0, -2.0, -9.0))
    rng = np.random.default_rng(1)
    mb.add_body("upper", None, sc.Spherical(), random_inertia(rng), random_pose(rng))
    mb.add_body("lower", "upper", sc.Spherical(), random_inertia(rng), random_pose(rng))
    mb.set_state(*mb.random_state(2))
    close(mb, "rail", mb.root.add_node("rail", random_pose(rng)), "lower", sc.Prismatic((1, 2, 3)), 3)
    mb.v = project(mb, mb.v)
    assert rank_is_full(mb)
    check(mb)


def test_the_four_bar_and_the_five_bar_with_a_ball_for_a_pin():
    mb = FourBar().build(0.7, hinge=sc.Spherical())
    mb.v = project(mb, np.ones(3))
    along_closures(mb)
    check_planar(FourBar().build(0.7))
    check_planar(library("five_bar"))


def check_planar(mb):
    """Rows out of the plane repeat each other along every dof, so differences of vdot exist along all of them."""
    mb.v = project(mb, np.ones(mb.nv))
    q, v, force = mb.q, mb.v, force_of(mb)
    dq, dv, _ = forward_dynamics_derivatives(sc.loops.TreeAugmented(mb), q, v, force)
    in_q = [difference(lambda t: unstabilised(mb, mb.integrate(q, t * e), v, force), 1e-3) for e in np.eye(mb.nv)]  # noqa: B023
    in_v = [difference(lambda t: unstabilised(mb, q, v + t * e, force), 1e-3) for e in np.eye(mb.nv)]  # noqa: B023
    near(dq, np.transpose(in_q)[: mb.nv], 1e-7)
    near(dv, np.transpose(in_v)[: mb.nv], 1e-7)


# -- along motions that stay closed -------------------------------------------------------------------------------


@pytest.mark.parametrize("make", SOLVERS, ids=lambda x: x.__name__)
def test_redundant_rows(make):
    mb = FourBar().build(0.7)
    mb.v = project(mb, np.ones(3))
    along_closures(mb, make)
    along_closures(library("robotiq_2f85"), make)


def test_a_row_of_four_bars():
    mb = row_of_four_bars(3)
    mb.set_state(mb.q + 0.3 * np.array([1 if x.name.startswith("crank") else -1 for x in mb.bodies]), mb.v)
    along_closures(mb)


def test_cassie():
    along_closures(library("cassie"), h=1e-5)


def test_the_hybrid():
    mb = row_of_four_bars(2)
    along_closures(mb, lambda x: sc.loops.ConstraintEmbedding(x, embed=["loop0"]))


# -- what else ----------------------------------------------------------------------------------------------------


def test_the_solvers_agree_and_batches_work():
    mb = arms(sc.Universal((1, 0, 0), (0, 0, 1)))
    force = force_of(mb)
    found = [derived(forward_dynamics_derivatives(make(mb), mb.q, mb.v, force)) for make in SOLVERS]
    for other in found[1:]:
        for x, y in zip(found[0], other, strict=True):
            near(y, x)
    both = forward_dynamics_derivatives(SOLVERS[0](mb), mb.q, mb.v, np.stack([force, 0 * force]))
    assert both.dq.shape == (2, mb.nv, mb.nv)
    assert both.multipliers["grip"][1].shape == (2, 6, mb.nv)
    near(both.dq[0], found[0][0][: mb.nv])
    near(both.dforce, both.dforce.mT)


def test_external_forces():
    mb = arms(sc.Spherical())
    f_ext = {"left1": sc.Wrench((1, 2, 3), (4, 5, 6), expressed_in="right1"), "left2/start": np.arange(6.0)}
    s = sc.loops.TreeAugmented(mb)
    loose = sc.loops.TreeAugmented(mb, tolerance=1e6)
    dq = forward_dynamics_derivatives(s, mb.q, mb.v, 0 * mb.v, f_ext).dq
    e = np.linspace(-1.0, 1.0, mb.nv)
    slope = difference(
        lambda t: loose.forward_dynamics(mb.integrate(mb.q, t * e), mb.v, 0 * mb.v, f_ext).vdot, 1e-4
    )
    near(dq @ e, slope, 1e-7)


def test_refusals():
    mb = sc.Multibody("ball")
    mb.add_body("ball", None, sc.RollingBall(0.5), sc.Inertia.sphere(1.0, 0.5))
    with pytest.raises(StateError, match=r"derivatives of 'ball': hinge 'ball' .* is nonholonomic"):
        forward_dynamics_derivatives(sc.loops.TreeAugmented(mb), mb.q, mb.v, mb.v)
    four = FourBar().build(0.7)
    with pytest.raises(LoopError, match=r"loop 'ring' of 'four_bar' is open by .* q = s.assemble\(q\)"):
        forward_dynamics_derivatives(sc.loops.TreeAugmented(four), four.q + 0.1, four.v, four.v)


def test_a_tree_without_loops():
    mb = sc.load("double_pendulum")
    q, v, force = np.array([0.3, -0.5]), np.array([1.0, 2.0]), np.array([0.1, 0.2])
    for make in SOLVERS:
        d = forward_dynamics_derivatives(make(mb), q, v, force)
        assert d.multipliers == {}
        for x, y in zip(d, sc.dynamics.forward_dynamics_derivatives(mb, q, v, force), strict=True):
            near(x, y)


def tilted_slider(scale):
    """A slider-crank whose last pin is tilted by what the digits of a file leave: a row that is small, not zero."""
    mb, half = sc.Multibody("slider_crank"), sc.Pose(translation=(scale, 0, 0))
    mb.add_body("crank", None, sc.Pin(Z), rod(1.0, scale))
    mb.add_body("rod", "crank", sc.Pin((np.sin(3e-7), 0, 1)), rod(1.0, scale), half).add_node("end", half)
    mb.add_body("slider", None, sc.Prismatic((1, 0, 0)), rod(1.0, scale))
    mb.q = [0.7, -1.4, 2.0 * scale * np.cos(0.7)]
    close(mb, "ring", "slider", "rod", sc.Pin(Z))
    return mb


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
def test_units_make_no_difference(scale):
    """Forces in all units: dvdot/dforce has those of an inverse mass matrix."""
    found = {}
    for size in (1.0, scale):
        mb, unit, rest = tilted_slider(size), np.array([size, size, 1.0]), np.zeros(3)
        dforce = forward_dynamics_derivatives(sc.loops.TreeAugmented(mb), mb.q, rest, rest).dforce
        found[size] = unit[:, None] * dforce * unit
    near(found[scale], found[1.0], 1e-6)  # the row that is small pulls by as much


# -- compiled ------------------------------------------------------------------------------------------------------


def in_python(s, q, v, force, f_ext=None):
    """The derivatives by the functions of Python, whatever compiled code would say."""
    p = s._read("forward_dynamics_derivatives", q=q, v=v, force=force, f_ext=f_ext)
    ((state, one, forces),) = states_of(p)
    return at_task(s, s._task(state, one["force"], forces, {}, passive=True))[0]


def same(found, wanted, tolerance):
    for x, y in zip(derived(found), derived(wanted), strict=True):
        near(x, y, tolerance)


def test_compiled_code_answers_as_python():
    """On random closed graphs, redundant rows and couplings too; springs act in all of them."""
    asked, answered = [], []

    @tries(40)
    @given(mb=closed_graphs(max_bodies=5, max_loops=2, hinges=HOLONOMIC))
    def compare(mb):
        comparable(mb, force_of(mb))
        s = sc.loops.TreeAugmented(mb)
        q, v, force = np.array(mb.q), np.array(mb.v), force_of(mb)
        forward_dynamics_derivatives(s, q, v, force)
        if s._augmented() is None:
            return
        asked.append(mb)
        call = s._augmented().derivatives
        before = call.answered
        found = forward_dynamics_derivatives(s, q, v, force)
        if call.answered > before:
            answered.append(mb)
            same(found, in_python(s, q, v, force), 1e-7)

    compare()
    assert len(answered) > 0.8 * len(asked) > 8


@pytest.mark.parametrize("hinge", [x for x in CLOSING if x.holonomic], ids=lambda x: type(x).__name__)
def test_every_closing_hinge_is_compiled(hinge):
    mb = arms(hinge)
    q, v, force = np.array(mb.q), np.array(mb.v), force_of(mb)
    for make in (sc.loops.TreeAugmented, sc.loops.ConstraintEmbedding):
        s = make(mb)
        forward_dynamics_derivatives(s, q, v, force)
        found = forward_dynamics_derivatives(s, q, v, force)
        assert s._augmented().derivatives.answered == 1
        same(found, in_python(s, q, v, force), 1e-10)


def test_a_robot_with_redundant_loops_is_compiled():
    """cassie: four balls that close plane loops, two rows of which repeat others; a batch, forces on bodies."""
    mb = library("cassie")
    s, rng = sc.loops.TreeAugmented(mb), np.random.default_rng(4)
    v = s.project_velocity(mb.q, rng.standard_normal(mb.nv))
    force = rng.standard_normal((3, mb.nv))
    push = {mb.bodies[5].name: (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)}
    found = forward_dynamics_derivatives(s, mb.q, v, force, push)
    assert s.forward_dynamics(mb.q, v, force[0]).rank == 10
    for i in range(3):
        wanted = in_python(s, mb.q, v, force[i], push)
        near(found.dq[i], wanted.dq, 1e-9)
        near(found.dv[i], wanted.dv, 1e-9)
        near(found.dforce[i], wanted.dforce, 1e-9)
        for name, three in wanted.multipliers.items():
            near(np.array([x[i] for x in found.multipliers[name]]), np.array(three), 1e-9)
    elsewhere = {mb.bodies[5].name: sc.Wrench((1.0, 2.0, 3.0), (4.0, 5.0, 6.0), expressed_in=mb.root)}
    wanted = in_python(s, mb.q, v, force[0], elsewhere)
    same(forward_dynamics_derivatives(s, mb.q, v, force[0], elsewhere), wanted, 1e-12)


def test_derivatives_follow_parameters_and_leave_doubt_to_python():
    mb = FourBar().build(0.7)
    s, force = sc.loops.TreeAugmented(mb), np.array([1.0, 0.0, 0.0])
    q, v = np.array(mb.q), np.zeros(3)
    forward_dynamics_derivatives(s, q, v, force)
    mb.bodies[1].inertia = sc.Inertia(9.0, (0.1, 0.2, 0.0), np.eye(3))
    same(forward_dynamics_derivatives(s, q, v, force), in_python(sc.loops.TreeAugmented(mb), q, v, force), 1e-11)
    forward_dynamics_derivatives(s, q, v, force)
    assert s._augmented().derivatives.answered == 1
    with pytest.raises(LoopError, match="is open by"):
        forward_dynamics_derivatives(s, q + 0.1, v, force)
    with pytest.raises(StateError, match="force of 'four_bar' must be finite"):
        forward_dynamics_derivatives(s, q, v, force * np.nan)
