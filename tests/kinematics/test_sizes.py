"""Rank relative to what rows are before they cancel: in all units, for axes parallel but for the digits of a file."""

import numpy as np
import pytest
from hypothesis import given
from tests.loops.cases import FourBar, Z, close, closed_graphs, comparable, rod, row_of_four_bars
from tests.profiles import tries
from tests.strategies import keep

import soacraft as sc
from soacraft.errors import LoopError
from soacraft.kinematics import report
from soacraft.kinematics.independent import choose
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.sizes import sizes_of
from soacraft.kinematics.tolerances import RANK
from soacraft.loops import FullyAugmented, TreeAugmented


def chosen(mb):
    rows = Constraints(mb, mb.state())
    return choose(rows.jacobian(), sizes_of(rows))


def four_bar(scale=1.0, tilt=0.0, theta=0.9):
    """The pin of the coupler tilted, closed where it is."""
    lengths = [scale * x for x in (0.4, 1.1, 0.9, 1.0)]
    beta, gamma = FourBar(*lengths).angles(theta)
    along = [sc.Pose(translation=(x, 0, 0)) for x in lengths]
    mb = sc.Multibody("four_bar")
    mb.add_body("crank", None, sc.Pin(Z), rod(1.0, lengths[0]))
    mb.add_body("coupler", "crank", sc.Pin((np.sin(tilt), 0, np.cos(tilt))), rod(1.0, lengths[1]), along[0])
    mb.add_body("rocker", None, sc.Pin(Z), rod(1.0, lengths[2]), along[3]).add_node("end", along[2])
    mb.q = [theta, beta - theta, gamma]
    close(mb, "ring", "rocker/end", "coupler", sc.Pin(Z))
    return mb


def slider_crank(scale):
    mb = sc.Multibody("slider_crank")
    half = sc.Pose(translation=(scale, 0, 0))
    mb.add_body("crank", None, sc.Pin(Z), rod(1.0, scale))
    mb.add_body("rod", "crank", sc.Pin(Z), rod(1.0, scale), half).add_node("end", half)
    mb.add_body("slider", None, sc.Prismatic((1, 0, 0)), rod(1.0, scale))
    mb.q = [0.7, -1.4, 2.0 * scale * np.cos(0.7)]
    mb.close_loop("ring", "slider", "rod/end", sc.Pin(Z))
    return mb


@pytest.mark.parametrize("make", [four_bar, slider_crank])
def test_units_make_no_difference(make):
    """From micrometres to kilometres: the same rank, the same dofs, the same rows."""
    reference = chosen(make(1.0))
    assert (reference.rank, len(reference.redundant)) == (2, 3)
    for scale in (1e-6, 1e-3, 1e3, 1e6):
        found = chosen(make(scale))
        assert found.rank == 2
        assert found.independent.tolist() == reference.independent.tolist()
        assert found.redundant.tolist() == reference.redundant.tolist()
        assert found.smallest == pytest.approx(reference.smallest, rel=1e-6)
        assert found.condition == pytest.approx(reference.condition, rel=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("tilt", "rank"), [(1e-4, 3), (3e-7, 2), (3e-8, 2), (1e-10, 2)])
def test_axes_that_are_parallel_but_for_digits(scale, tilt, rank):
    """A pin tilted by 1e-4 locks the four-bar; by what the digits of a file leave, it moves."""
    mb = four_bar(scale, tilt)
    found = report(mb)
    assert (found.rank, found.mobility) == (rank, 3 - rank)
    assert found.near_singular == (rank == 3) or scale > 1.0  # of a kilometre, this opens by more than micrometres


@pytest.mark.parametrize("tilt", [1e-4, 1e-5, 3e-7, 3e-8, 1e-10])
def test_the_solvers_count_as_the_report_does(tilt):
    mb = four_bar(1.0, tilt)
    rest = np.zeros(3)
    ranks = {S(mb).forward_dynamics(mb.q, rest, rest).rank for S in (TreeAugmented, FullyAugmented)}
    assert ranks == {report(mb).rank}


@tries(30)
@given(closed_graphs())
def test_scaled_rows_are_at_most_one(mb):
    """Each entry is judged relative to what it is made of."""
    rows = Constraints(mb, mb.state())
    G = sizes_of(rows).scaled(rows.jacobian())
    assert np.abs(G).max(initial=0.0) <= 1.0 + 1e-12
    comparable(mb, np.zeros(mb.nv))
    values = np.linalg.svd(G, compute_uv=False) if G.size else np.zeros(0)
    keep(not ((values > 1e-9) & (values < 1e-4)).any())
    assert chosen(mb).rank == TreeAugmented(mb).forward_dynamics(mb.q, mb.v, np.zeros(mb.nv)).rank


@pytest.mark.parametrize("far", [0.0, 1e4])
def test_axes_through_one_point(far):
    """A spherical four-bar: all frames in its centre, where no arm is left; slides are redundant, wherever it is."""
    mb = sc.Multibody("spherical")
    body = sc.Inertia(1.0, (0.1, 0.1, 0.1), np.eye(3))
    start = sc.Pose(translation=(far, -far, far))
    for i in range(3):
        turn = sc.Pose.from_rpy(0.5 + 0.1 * i, 0.3, 0.1)
        mb.add_body(f"link{i}", f"link{i - 1}" if i else None, sc.Pin(Z), body, turn if i else start @ turn)
    mb.q = [0.4, -0.7, 0.9]
    mb.root.add_node("centre", start)
    close(mb, "ring", "inertial/centre", "link2", sc.Pin(Z))
    found = chosen(mb)
    assert (found.rank, found.redundant.tolist()) == (2, [2, 3, 4])


def test_a_closure_between_bodies_that_cannot_move_apart():
    """All its rows are rounding, and none counts."""
    mb = sc.serial_chain(2)
    mb.add_body("tool", "link2", sc.Weld(), sc.Inertia(1.0, (0.1, 0, 0), np.eye(3)), sc.Pose.from_rpy(0.3, 0.2, 0.1))
    close(mb, "twice", "link2", "tool", sc.Pin(Z))
    mb.q = [0.3, 0.4]
    found = chosen(mb)
    assert (found.rank, len(found.redundant), found.smallest) == (0, 5, 1.0)


def test_a_long_row_keeps_its_rank():
    found = chosen(row_of_four_bars(60))
    assert found.rank == 120
    assert found.smallest > 1e-2


def test_couplings_of_turns_and_slides():
    """A rack of micrometres per radian counts as well as one of metres."""
    for ratio in (1e-6, 1.0, 1e6):
        mb = sc.Multibody("rack")
        mb.add_body("pinion", None, sc.Pin(Z), rod(1.0, 1.0))
        mb.add_body("rack", None, sc.Prismatic((1, 0, 0)), rod(1.0, 1.0))
        mb.couple("teeth", {"pinion": ratio, "rack": -1.0}, 0.0)
        assert chosen(mb).rank == 1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_lengths_that_overflow():
    mb = slider_crank(1.0)
    with pytest.raises(LoopError, match="the closures of 'slider_crank' are too large to work with: lengths at"):
        sizes_of(Constraints(mb, mb.state([0.7, -1.4, 1e308])))


def test_the_threshold():
    assert choose(np.diag([1.0, 1.01 * RANK])).rank == 2
    assert choose(np.diag([1.0, 0.99 * RANK])).rank == 1
    assert choose(np.full((2, 2), 1e-17)).rank == 0
    assert choose(np.zeros((0, 3))).rank == 0
