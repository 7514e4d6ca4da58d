"""Closing loops and projecting velocities."""

import re
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import least_squares
from tests.loops.cases import HOLONOMIC, LIBRARY, FourBar, Z, closed_graphs, near, project, row_of_four_bars
from tests.loops.compiled_cases import KNOWN
from tests.profiles import tries
from tests.strategies import SEEDS, keep

import soacraft as sc
from soacraft import _core
from soacraft import dynamics as dyn
from soacraft.errors import LoopError, StateError
from soacraft.kinematics.assemble import _assemble
from soacraft.kinematics.bounds import Bounds
from soacraft.kinematics.compiled import rows_of
from soacraft.kinematics.rows import Constraints
from soacraft.loops import FullyAugmented, TreeAugmented

FOUR_BAR = FourBar()


def left_open(mb, q):
    return np.abs(Constraints(mb, mb.state(q=q)).residual).max(initial=0.0)


@tries(10)
@given(closed_graphs(max_loops=2, hinges=HOLONOMIC), SEEDS)
def test_a_configuration_nearby_closes(mb, seed):
    """Away from a closed configuration by a little it closes again."""
    start = mb.integrate(mb.q, 0.02 * np.random.default_rng(seed).standard_normal(mb.nv))
    assert left_open(mb, TreeAugmented(mb).assemble(start)) < 1e-9


@pytest.mark.parametrize("name", LIBRARY)
def test_models_of_the_library_close(name):
    mb = sc.load(name)
    before = np.array(mb.q)
    q = TreeAugmented(mb).assemble(mb.q)
    assert left_open(mb, q) < 1e-10
    assert np.array_equal(mb.q, before)


@pytest.mark.parametrize("theta", [-2.0, 0.3, 1.0, 2.5])
def test_a_four_bar_closes_at_the_crank_angle_given(theta):
    """On the branch it starts from: the coupler's end above."""
    mb = FOUR_BAR.build(1.0)
    start = FOUR_BAR.build(theta).q + np.array([0.0, 0.2, -0.1])
    q = TreeAugmented(mb).assemble(start, fixed=["crank"])
    beta, gamma = FOUR_BAR.angles(theta)
    near(q, [theta, beta - theta, gamma], 1e-9)
    assert q[0] == start[0]


def test_the_answer_is_the_nearest_closed_configuration():
    """No closed configuration along the one freedom of a four-bar is nearer."""
    mb = FOUR_BAR.build(0.9)
    start = mb.q + np.array([0.1, -0.2, 0.15])
    q = TreeAugmented(mb).assemble(start)
    mb.q = q
    along = project(mb, np.ones(3))
    assert abs(along @ (start - q)) < 1e-6 * np.linalg.norm(along)


def test_a_closed_configuration_stays():
    mb = row_of_four_bars(3)
    near(TreeAugmented(mb).assemble(mb.q), mb.q, 1e-12)


def test_a_batch_is_assembled_one_by_one():
    mb = FOUR_BAR.build(0.9)
    starts = np.array(mb.q) + 0.05 * np.random.default_rng(0).standard_normal((2, 2, 3))
    solver = TreeAugmented(mb)
    q = solver.assemble(starts)
    assert q.shape == (2, 2, 3)
    near(q[1, 0], solver.assemble(starts[1, 0]), 1e-9)


def test_a_mechanism_stretched_straight_still_closes():
    """All bodies along one line pull straight at the gap; the tries nearby bend it."""
    mb = sc.serial_chain(3)
    mb.close_loop("ring", "inertial", "link3/tip", sc.Spherical())
    q = TreeAugmented(mb).assemble([0.0, 0.0, 0.0])
    assert left_open(mb, q) < 1e-10


def test_couplings_are_assembled_too():
    mb = sc.serial_chain(2)
    mb.couple("gear", {"link1": 1, "link2": (-2.0, 0.3)}, offset=0.4)
    q = TreeAugmented(mb).assemble([0.1, 0.2], fixed="link1")
    near(q[0] - 2.0 * q[1] + 0.3 * q[1] ** 2, 0.4, 1e-11)
    assert q[0] == 0.1


def test_a_ball_is_put_on_its_plane_wherever_that_is_near():
    """An arm of two rods holds a ball of 0.2 m; what forbids it to slip is no part of where it may be."""
    mb = sc.serial_chain(2)  # pins about y, along x
    mb.root.add_node("floor", sc.Pose(translation=(0, 0, -1.0)))
    mb.close_loop("contact", "inertial/floor", "link2/tip", sc.RollingBall(0.2))
    start = np.array([0.3, 0.4])
    q = TreeAugmented(mb).assemble(start)
    near(np.sin(q[0]) + np.sin(q[0] + q[1]), 0.8, 1e-11)
    height = np.array([np.cos(q[0]) + np.cos(q[0] + q[1]), np.cos(q[0] + q[1])])  # its rates
    step = q - start
    assert abs(step[0] * height[1] - step[1] * height[0]) < 1e-6  # across the curve of closed ones: the nearest


# -- limits --------------------------------------------------------------------------------------------------------


def limited(lower, upper, name="crank"):
    mb = FOUR_BAR.build(0.9)
    mb[name].limits = sc.Limits(lower, upper)
    return mb


@pytest.mark.parametrize(("lower", "upper"), [(1.2, 2.0), (-1.0, 0.4), (0.5, 1.5)])
def test_the_nearest_within_limits(lower, upper):
    """Along the one freedom of a four-bar, against all crank angles that the limits allow."""
    mb = limited(lower, upper)
    start = FOUR_BAR.build(0.9).q + np.array([0.0, 0.2, -0.1])
    q = TreeAugmented(mb).assemble(start, limits=True)
    assert lower <= q[0] <= upper
    assert left_open(mb, q) < 1e-10
    angles = np.linspace(lower, upper, 4001)
    turns = [(x, *FOUR_BAR.angles(x)) for x in angles]
    away = [np.linalg.norm([x - start[0], beta - x - start[1], gamma - start[2]]) for x, beta, gamma in turns]
    assert abs(q[0] - angles[np.argmin(away)]) < 1e-3 * (upper - lower)
    assert np.linalg.norm(q - start) <= min(away) + 1e-9


def test_limits_are_left_alone_unless_asked_for():
    mb = limited(1.2, 2.0)
    near(TreeAugmented(mb).assemble(mb.q), mb.q, 1e-12)


@tries(8)
@given(closed_graphs(max_loops=2, hinges=[sc.Pin(Z), sc.Prismatic(Z), sc.Spherical()]), SEEDS)
def test_random_graphs_close_within_limits(mb, seed):
    """Limits around a closed configuration, a start outside."""
    rng = np.random.default_rng(seed)
    for body, where in zip(mb.bodies, mb.layout.q_slices, strict=True):
        if isinstance(body.hinge, sc.Spherical):
            angle = 2.0 * np.arccos(min(1.0, abs(mb.q[where][3])))
            body.limits = sc.Limits(0.0, angle + 0.01)
        else:
            body.limits = sc.Limits(mb.q[where][0] - 0.01 * rng.random(), mb.q[where][0] + 0.01 * rng.random())
    start = mb.integrate(mb.q, 0.05 * rng.standard_normal(mb.nv))
    q = TreeAugmented(mb).assemble(start, limits=True)
    assert left_open(mb, q) < 1e-9
    near(Bounds(mb, np.zeros(mb.nv, bool), limits=True).inside(q), q, 1e-12)


def test_limits_in_the_way_are_named():
    mb = limited(0.0, 0.1, "coupler")
    mb["rocker"].limits = sc.Limits(0.0, 0.1)
    with pytest.raises(LoopError, match=r"loop 'ring' stays open by 0\.\d+ m and \S+ rad, with limits reached at "
                       r"'coupler', 'rocker'\. Start from another q0, or pass limits=False\.$"):  # fmt: skip
        TreeAugmented(mb).assemble(mb.q, limits=True)


def test_bad_limits():
    mb = limited(1.2, 2.0)
    with pytest.raises(StateError, match=re.escape("dof 'crank' is fixed at 0.9, outside its limits 1.2 to 2; fix it")):
        TreeAugmented(mb).assemble(mb.q, fixed=["crank"], limits=True)
    with pytest.raises(StateError, match="limits of assemble must be True or False, got 'all'"):
        TreeAugmented(mb).assemble(mb.q, limits="all")


# -- what cannot close ---------------------------------------------------------------------------------------------


def test_a_loop_out_of_reach_is_named_with_its_gap():
    """Two rods of 1 m cannot reach a point at 2.5 m: half a metre is left."""
    mb = sc.serial_chain(2)
    mb.root.add_node("far", sc.Pose(translation=(2.5, 0, 0)))
    mb.close_loop("reach", "inertial/far", "link2/tip", sc.Spherical())
    with pytest.raises(LoopError, match=r"^'chain' cannot be assembled from here: at the nearest approach loop 'reach' "
                       r"stays open by 0\.5\d* m and \S+ rad\. Start from another q0\.$"):  # fmt: skip
        TreeAugmented(mb).assemble([0.3, -0.4])


def test_what_is_fixed_is_named():
    mb = FOUR_BAR.build(0.9)
    with pytest.raises(LoopError, match=r"loop 'ring' stays open by 0\.\d+ m and .* Let some of the fixed dofs go "
                       r"\('crank', 'coupler'\), or start from another q0\."):  # fmt: skip
        TreeAugmented(mb).assemble(mb.q + np.array([0.3, 0.4, 0.0]), fixed=["crank", "coupler"])


@pytest.mark.parametrize(
    ("q", "fixed", "text"),
    [
        ([0.0, np.nan, 0.0], [], "must be finite: entry 1, of hinge 'coupler', is nan"),
        ([0.0, 0.0], [], "q of 'four_bar' has 3 entries, got 2"),
        ([0.0, 0.0, 0.0], ["handle"], "fixed dofs: 'four_bar' has no dof, hinge or body 'handle'; it has 'crank', "),
        ([0.0, 0.0, 0.0], ["crank", "crank"], "the fixed dofs of 'four_bar' name 'crank' twice"),
    ],
)
def test_bad_arguments(q, fixed, text):
    with pytest.raises(StateError, match=re.escape(text)):
        TreeAugmented(FOUR_BAR.build(0.9)).assemble(q, fixed)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_left_open_is_the_least_there_is(seed):
    """Two rods and a frame: against a search from many starts by other means."""
    rng = np.random.default_rng(seed)
    mb = sc.serial_chain(3)
    mb.root.add_node("far", sc.Pose(translation=(3.5 + rng.random(), 0.3, rng.standard_normal())))
    mb.close_loop("reach", "inertial/far", "link3/tip", sc.Spherical())

    def gap(q):
        return Constraints(mb, mb.state(q=q)).residual

    least = min(least_squares(gap, x).cost for x in rng.uniform(-3, 3, (10, 3)))
    with pytest.raises(LoopError) as raised:
        TreeAugmented(mb).assemble(rng.uniform(-1, 1, 3))
    told = float(re.search(r"stays open by (\S+) m", str(raised.value))[1])
    assert told == pytest.approx(np.sqrt(2.0 * least), rel=1e-2)


# -- velocities ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", ["mass", "plain"])
@tries(10)
@given(closed_graphs(), SEEDS)
def test_projected_velocities_are_allowed_and_nearest(weight, mb, seed):
    """Gc v = 0, what was taken away is orthogonal to what is allowed, and an allowed velocity stays."""
    v = np.random.default_rng(seed).standard_normal(mb.nv)
    tree, full = (S(mb).project_velocity(mb.q, v, weight=weight) for S in (TreeAugmented, FullyAugmented))
    G = Constraints(mb, mb.state()).jacobian()
    W = dyn.mass_matrix(mb, mb.q, ignore_loops=True) if weight == "mass" else np.eye(mb.nv)
    for found in (tree, full):
        near(G @ found, np.zeros(len(G)), 1e-8)
        other = project(mb, np.ones(mb.nv))
        assert abs(other @ W @ (v - found)) < 1e-7 * (1.0 + np.abs(W).max(initial=0.0))
    near(TreeAugmented(mb).project_velocity(mb.q, mb.v, weight=weight), mb.v, 1e-8)


def test_an_impulse_takes_the_least_energy_away():
    mb = FOUR_BAR.build(0.9)
    v = np.array([1.0, 0.0, 0.0])
    energy = {weight: dyn.kinetic_energy(mb, mb.q, v - TreeAugmented(mb).project_velocity(mb.q, v, weight=weight))
              for weight in ("mass", "plain")}  # fmt: skip
    assert energy["mass"] < energy["plain"]


def test_projection_refuses_an_open_loop_and_a_weight_it_does_not_know():
    mb = FOUR_BAR.build(0.9)
    with pytest.raises(LoopError, match=r"loop 'ring' of 'four_bar' is open by 0\.\d+ m and"):
        TreeAugmented(mb).project_velocity(mb.q + np.array([0.1, 0, 0]), [1.0, 0, 0])
    with pytest.raises(StateError, match="weight of project_velocity must be 'mass' or 'plain', got 'soft'"):
        TreeAugmented(mb).project_velocity(mb.q, [1.0, 0, 0], weight="soft")


def test_turns_of_a_closure_are_counted():
    """A helical closure on a screw of many turns: followed from call to call, it stays closed beyond half a turn."""
    mb = sc.Multibody("screw")
    mb.add_body("nut", None, sc.Cylindrical(Z), sc.Inertia(1.0, (0.1, 0, 0), np.eye(3)))
    mb.close_loop("thread", "inertial", "nut", sc.Helical(Z, 0.01))
    solver = TreeAugmented(mb)
    for angle in np.linspace(0.0, 20.0, 60):
        r = solver.forward_dynamics([angle, 0.01 * angle], [1.0, 0.01], [0.0, 0.0])
        assert r.rank == 1
    near(solver._theta["thread"], [20.0], 1e-12)


# -- compiled ------------------------------------------------------------------------------------------------------


def in_python():
    """Compiled code is sure of nothing."""
    return mock.patch("soacraft.kinematics.assemble._compiled",
                      lambda q, *rest: (np.array(q), np.zeros(len(q), dtype=bool)))  # fmt: skip


def nothing_in_python():
    """What compiled code leaves fails."""
    return mock.patch("soacraft.kinematics.assemble._assemble", side_effect=AssertionError("left to Python"))


def test_compiled_assembly_of_random_closed_graphs_is_that_of_python():
    """Any hinges, shared bodies, couplings, redundant rows, fixed dofs: the same configuration, and one that closes."""
    asked, sure = [], []

    @tries(25)
    @given(closed_graphs(closing=KNOWN, hinges=HOLONOMIC), SEEDS, st.sampled_from([0.01, 0.1]), st.booleans())
    def check(mb, seed, size, holding):
        rows = rows_of(mb)
        keep(rows is not None)
        rng = np.random.default_rng(seed)
        q0 = mb.integrate(mb.q, size * rng.standard_normal(mb.nv) / Constraints(mb, mb.state()).measure.dofs)
        free = rng.random(mb.nv) < (0.8 if holding else 2.0)
        for body in mb.bodies:
            free[body.v_slice] |= body.hinge.nq != body.hinge.nv
        bounds = Bounds(mb, ~free, limits=False)
        asked.append(mb)
        theta = Constraints(mb, mb.state()).theta
        (found,), (fine,) = rows.assemble(q0[None], rows.guess(theta), bounds.free, bounds.allowed)
        if not fine:
            assert np.array_equal(found, q0)
            return
        sure.append(mb)
        wanted = _assemble(bounds, mb.current.replace(q=q0, v=np.zeros(mb.nv)), theta, 1e-6)
        assert Constraints(mb, mb.state(q=found), theta).opening <= 1e-11
        assert np.array_equal(mb.difference(q0, found)[~free], np.zeros(mb.nv)[~free])
        here, there = (bounds.units * mb.difference(q0, x) for x in (found, wanted))
        near(np.linalg.norm(here), np.linalg.norm(there), 1e-8)
        near(bounds.units * mb.difference(wanted, found), np.zeros(mb.nv), 1e-5)  # distances are flat at the nearest

    check()
    assert len(sure) >= 0.5 * len(asked)


@pytest.mark.parametrize("name", ["five_bar", "cassie", "robotiq_2f85", "strandbeest"])
def test_compiled_assembly_of_robots(name):
    """The answers of Python, alone and in a batch, and nothing is left to it."""
    mb = sc.load(name)
    s, rng = TreeAugmented(mb), np.random.default_rng(1)
    q = s.assemble(mb.q)
    starts = np.array([mb.integrate(q, 0.02 * rng.standard_normal(mb.nv)) for _ in range(3)])
    with nothing_in_python():
        found = s.assemble(starts)
        assert np.array_equal(s.assemble(starts[1]), found[1])
        assert np.array_equal(s.assemble(starts[:, None])[:, 0], found)
    with in_python():
        wanted = s.assemble(starts[0])
    near(mb.difference(wanted, found[0]), np.zeros(mb.nv), 1e-8)


def test_limits_in_the_way_are_left_to_python():
    """Inside them compiled code answers; where a step would leave them it does not, and the answer keeps them."""
    mb = FourBar().build(0.9)
    s, start = TreeAugmented(mb), mb.q + np.array([0.05, 0.0, 0.0])
    with nothing_in_python():
        free = s.assemble(start)
    body = mb.body("crank")
    body.limits = sc.Limits(-10.0, free[0] + 1e-3)
    with nothing_in_python():
        assert np.array_equal(TreeAugmented(mb).assemble(start, limits=False), free)
    body.limits = sc.Limits(-10.0, free[0] - 1e-2)
    q = TreeAugmented(mb).assemble(start, limits=True)
    assert q[0] <= free[0] - 1e-2 + 1e-12
    assert Constraints(mb, mb.state(q=q)).opening < 1e-9


def test_a_batch_says_which_state_cannot_be_assembled():
    mb = FourBar().build(0.9)
    far = mb.q + np.array([0.0, 0.1, 0.0])
    with pytest.raises(LoopError, match=r"^in state 1 of the batch: 'four_bar' cannot be assembled from here: "):
        TreeAugmented(mb).assemble(np.array([mb.q, far]), fixed=["coupler", "crank", "rocker"])


def test_compiled_assembly_refuses_arrays_that_do_not_fit():
    mb = FourBar().build(0.9)
    core, n = rows_of(mb).core, np.zeros(1, dtype=np.int64)
    low, high = np.full(3, -9.0), np.full(3, 9.0)
    good = dict(q=mb.q[None], theta=rows_of(mb).guess({}), free=np.arange(3), lower=low, upper=high,
                place=np.arange(3), nearest=True, q_out=np.empty((1, 3)), fine=n)  # fmt: skip
    _core.closed_assemble(core, **good)
    assert n == 1
    for name, bad, text in [
        ("q", np.zeros((1, 2)), r"q must be \(1, 3\)"),
        ("theta", np.zeros(7), "theta has length 7, not 1"),
        ("free", np.array([3]), "free has an entry 3 out of range"),
        ("free", np.arange(4) % 3, "free has more than 3 entries"),
        ("place", np.array([0, 1, 3]), "place has an entry 3 out of range"),
        ("place", np.array([0, 1]), "place must have 3 entries"),
        ("lower", np.zeros(2), "lower must have 3 entries"),
        ("q_out", np.zeros((2, 3)), r"q_out must be \(1, 3\)"),
    ]:
        with pytest.raises(ValueError, match=text):
            _core.closed_assemble(core, **good | {name: bad})
