"""One tolerance for all that judges a loop; states named in batches; what a report says is what it is as a bool."""

import io
import re
import tokenize
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.loops.cases import FourBar, Z, close, rod

import soacraft as sc
from soacraft import _core, inverse_kinematics
from soacraft.errors import ConvergenceError, LoopError, StateError
from soacraft.kinematics import report
from soacraft.kinematics.bounds import Bounds
from soacraft.kinematics.boxes import excluded
from soacraft.kinematics.compiled import CompiledClosures
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.tolerances import Tolerances
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented, recut
from soacraft.model.flat.compiled import CompiledModel

BAR = FourBar()
SOLVERS = (TreeAugmented, ConstraintEmbedding, FullyAugmented)
ZERO = np.zeros(3)


def rounded_bar():
    """A four-bar whose pins are parallel but for the eighth digit of a file: at most poses it closes no better."""
    beta, gamma = BAR.angles(0.9)
    tilt = 3e-8
    mb = sc.Multibody("rounded", gravity=(0, -9.81, 0))
    along = [sc.Pose(translation=(x, 0, 0)) for x in (BAR.crank, BAR.coupler, BAR.rocker, BAR.ground)]
    mb.add_body("crank", None, sc.Pin(Z), rod(1.0, BAR.crank))
    mb.add_body("coupler", "crank", sc.Pin((np.sin(tilt), 0, np.cos(tilt))), rod(1.0, BAR.coupler), along[0])
    mb.add_body("rocker", None, sc.Pin(Z), rod(1.0, BAR.rocker), along[3]).add_node("end", along[2])
    mb.q = [0.9, beta - 0.9, gamma]
    close(mb, "ring", "rocker/end", "coupler", sc.Pin(Z))
    return mb


def opening(mb, q):
    return Constraints(mb, mb.state(q=q)).opening


# -- one tolerance ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SOLVERS)
def test_what_a_file_rounds_is_assembled_and_taken(kind):
    """By default; a tolerance below what the file allows is kept by all that judge."""
    mb = rounded_bar()
    start = np.array([1.4, *mb.q[1:]])
    s, strict = kind(mb), kind(mb, tolerance=1e-10)
    q = s.assemble(start, fixed=["crank"])
    assert 1e-10 < opening(mb, q) < 1e-7
    assert s.forward_dynamics(q, ZERO, ZERO).rank == 2
    assert opening(mb, s.project(q, ZERO)[0]) < 1e-7
    np.testing.assert_allclose(s.assemble(q), q, atol=1e-6)  # it does not move to where the pins agree best
    with pytest.raises(LoopError, match="'rounded' cannot be assembled from here: at the nearest approach loop 'ring'"):
        strict.assemble(start, fixed=["crank"])
    with pytest.raises(LoopError, match=r"is open by \S+ m and \S+ rad; the solver takes 3\.4e-10 m and 1e-10 rad"):
        strict.forward_dynamics(q, ZERO, ZERO)
    with pytest.raises(LoopError, match="too far off its closures to be projected"):
        strict.project(q, ZERO)


def test_embedded_dofs_and_kinematics_keep_it_too():
    mb = rounded_bar()
    s = ConstraintEmbedding(mb, independent=["crank"])
    q = s.advance(mb.q, [0.5])
    assert 1e-10 < opening(mb, q) < 1e-7
    strict = ConstraintEmbedding(mb, independent=["crank"], tolerance=1e-10)
    with pytest.raises(ConvergenceError, match=r"the dependent dofs of 'rounded' cannot be found .* stays open by"):
        strict.advance(mb.q, [0.5])
    with pytest.raises(ConvergenceError, match="cannot be found"):
        strict.complete(q)
    end = {"rocker/end": mb.pose("rocker/end", state=mb.state(q=q)).translation}
    assert inverse_kinematics(mb, end)
    assert inverse_kinematics(mb, end, tolerance=1e-7)
    with pytest.raises(LoopError, match="the loops of 'rounded' did not close from 3 starts"):
        inverse_kinematics(mb, end, fixed={"crank": 1.4}, tolerance=1e-10, starts=3)


def test_report_and_recut_have_the_same():
    mb = rounded_bar()
    mb.q = TreeAugmented(mb).assemble([1.4, *mb.q[1:]], fixed=["crank"])
    assert report(mb)
    assert not report(mb, tolerance=1e-10)
    assert recut(mb, "ring", "rocker").loops
    with pytest.raises(LoopError, match="recut: loop 'ring' of 'rounded' is open by"):
        recut(mb, "ring", "rocker", tolerance=1e-10)
    for bad, text in ((0.0, "must be positive"), (np.nan, "must be finite")):
        with pytest.raises(StateError, match=f"tolerance of report {text}"):
            report(mb, tolerance=bad)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("kind", SOLVERS)
def test_closed_on_both_sides_of_the_tolerance(kind, tolerance):
    """Single states and batches, of a solver that compiled code answers for already; in position and in velocity."""
    mb = BAR.build(0.9)
    s = kind(mb, tolerance=tolerance)
    s.forward_dynamics(mb.q, ZERO, ZERO)
    for part in (0.99, 1.01):
        step = part * tolerance / (opening(mb, mb.q + np.array([0.0, 1e-4, 0.0])) / 1e-4)
        for _ in range(3):  # the opening is not quite linear
            step *= part * tolerance / opening(mb, mb.q + np.array([0.0, step, 0.0]))
        q = mb.q + np.array([0.0, step, 0.0])
        rows = Constraints(mb, mb.state(v=[0.0, 1.0, 0.0]))
        rate = np.sqrt(9.81 / rows.measure.length)
        v = np.array([0.0, part * tolerance * rate / np.abs(rows.speed / rows.units).max(), 0.0])
        calls = [lambda q=q: s.forward_dynamics(q, ZERO, ZERO), lambda v=v: s.forward_dynamics(mb.q, v, ZERO)]
        calls += [lambda q=q: s.forward_dynamics(np.array([mb.q, q]), np.zeros((2, 3)), np.zeros((2, 3)))]
        for call in calls:
            if part < 1.0:
                call()
            else:
                with pytest.raises(LoopError, match=r"is open by|opens at"):
                    call()
        assert bool(report(mb, q, ZERO, tolerance)) == (part < 1.0)


def test_a_model_without_any_length_is_measured_by_where_it_is():
    """Point masses on slides through one point: relative to how far they are out."""
    for far in (1e-7, 1.0, 1e7):
        mb = sc.Multibody("beads")
        for name in ("left", "right"):
            mb.add_body(name, None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
        mb.couple("thread", {"left": 1.0, "right": -1.0})
        s = TreeAugmented(mb)
        assert s.forward_dynamics([far, far * (1 + 1e-8)], [0, 0], [1.0, 0.0]).vdot == pytest.approx([0.5, 0.5])
        with pytest.raises(LoopError, match="coupling 'thread' of 'beads' is off by"):
            s.forward_dynamics([far, far * (1 + 1e-4)], [0, 0], [0, 0])


# -- batches --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SOLVERS)
def test_the_open_state_of_a_batch_is_named(kind):
    mb = BAR.build(0.9)
    s, still = kind(mb), np.zeros((20, 3))
    q = np.tile(mb.q, (20, 1))
    s.forward_dynamics(q, still, still)  # warm
    q[17, 1] += 0.01
    text = r"^in state 17 of the batch: loop 'ring' of 'four_bar' is open by 0\.011 m .* Close it first: q = s\."
    for call in (
        lambda: s.forward_dynamics(q, still, still),
        lambda: s.mixed_dynamics(q, still, still, still, ["crank"]),
        lambda: s.inverse_dynamics(q, still, {"crank": np.zeros((20, 1))}),
        lambda: s.project_velocity(q, still),
    ):
        with pytest.raises(LoopError, match=text):
            call()
    v = still.copy()
    v[3] = 1.0
    with pytest.raises(LoopError, match=r"^in state 3 of the batch: loop 'ring' of 'four_bar' opens at"):
        s.forward_dynamics(np.tile(mb.q, (20, 1)), v, still)
    with pytest.raises(LoopError, match=r"^in state \(3, 2\) of the batch: loop 'ring'"):
        s.forward_dynamics(q.reshape(4, 5, 3), still.reshape(4, 5, 3), still.reshape(4, 5, 3))
    after, fresh = (x.forward_dynamics(mb.q, ZERO, ZERO).vdot for x in (s, kind(mb)))
    np.testing.assert_allclose(after, fresh, rtol=1e-12)


def test_a_state_that_cannot_be_assembled_or_projected_is_named():
    mb = BAR.build(0.9)
    s, q = TreeAugmented(mb), np.tile(mb.q, (4, 1))
    q[2, 0] = 2.5
    with pytest.raises(LoopError, match=r"^in state 2 of the batch: 'four_bar' cannot be assembled from here"):
        s.assemble(q, fixed=["crank", "coupler"])
    q[2] = [0.0, np.pi, 0.0]
    with pytest.raises(LoopError, match=r"^in state 2 of the batch: the state of 'four_bar' is too far off"):
        s.project(q, np.zeros((4, 3)))
    goals = np.tile(mb.pose("crank/end").translation, (3, 1))
    goals[1] *= 2.0
    with pytest.raises(ConvergenceError, match=r"cannot be met in state \(1,\) of the batch: 'crank/end' would"):
        inverse_kinematics(mb, {"crank/end": goals})


# -- bool -----------------------------------------------------------------------------------------------------------


def test_a_report_is_true_where_all_closures_are_met():
    mb = BAR.build(0.9)
    s = TreeAugmented(mb)
    assert report(mb, mb.q, s.project_velocity(mb.q, [1.0, -1.0, 0.0]))
    assert not report(mb, mb.q + np.array([0.0, 1e-4, 0.0]), ZERO)
    assert not report(mb, mb.q, [1.0, 0.0, 0.0])


def test_a_kinematics_result_is_true_where_all_targets_are_met():
    mb = sc.serial_chain(2)
    goals = np.array([[1.0, 0.0, -1.0], [0.5, 0.0, 0.5], [3.0, 0.0, 0.0]])
    found = inverse_kinematics(mb, {"link2/tip": goals}, q0=[0.1, 0.3], allow_partial=True)
    assert not found
    np.testing.assert_array_equal(found.impossible, [False, False, True])
    assert inverse_kinematics(mb, {"link2/tip": goals[:2]}, q0=[0.1, 0.3])
    far = inverse_kinematics(mb, {"link2/tip": goals[2]}, q0=[0.1, 0.3], allow_partial=True)
    assert not far
    assert far.impossible
    assert repr(far).startswith("kinematics: cannot be met ('link2/tip' would have to be 3 m from hinge 'link1'")
    assert far.residual["link2/tip"].distance == pytest.approx(1.0)


def test_a_proof_that_loops_cannot_close_has_the_same():
    """A rocker too long by a thousandth, and all dofs held: it cannot close, unless that much may be open."""
    mb = FourBar().build(0.9)
    mb["rocker"].nodes[0].pose = sc.Pose(translation=(BAR.rocker + 1e-3, 0, 0))
    bounds = Bounds(mb, np.ones(3, dtype=bool), limits=True)
    assert excluded(bounds, mb.current, [])
    assert not excluded(bounds, mb.current, [], closed=1e-2)
    with pytest.raises(LoopError, match="the loops of 'four_bar' cannot close with 'crank', 'coupler', 'rocker' held"):
        inverse_kinematics(mb, {"crank": mb.pose("crank")}, fixed=list(mb.dof_names), starts=2)
    assert inverse_kinematics(mb, {"crank": mb.pose("crank")}, fixed=list(mb.dof_names), tolerance=1e-2, starts=2)


# -- one page ------------------------------------------------------------------------------------------------------

ROOT = Path(sc.__file__).parents[2]
#: Small numbers that judge nothing, by file (or any), with the reason.
NO_TOLERANCES = {
    ("closure_operators.py", 1e-3): "a step from one state to another: how far is told by what closes there",
    (None, 1e-300): "keeps a quotient finite, and is no size of anything",
    ("rolling_hinge.hpp", 1e-6): "where a disc lies flat, by the definition of its hinge",
    ("closure_hinge.hpp", 1e-3): "where a series takes over from a quotient that loses digits: both are right there",
}


def small_numbers(path):
    """Numbers of a thousandth or less in the code of a file, without its comments, docstrings and doctests."""
    text = path.read_text()
    if path.suffix == ".py":
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        words = [x.string for x in tokens if x.type == tokenize.NUMBER]
    else:
        words = re.findall(r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.sub(r"//.*|/\*.*?\*/", "", text))
    values = [float(x) for x in words if re.fullmatch(r"[\d._]*(?:[eE][-+]?\d+)?", x)]
    return [x for x in values if 0.0 < x <= 1e-3]


@pytest.mark.parametrize("folder", ["src/soacraft/kinematics", "src/soacraft/loops", "core/include/soacraft/loops"])
def test_tolerances_are_on_one_page(folder):
    """So that each has a name, a unit and a reason, and Python and C++ have the same."""
    files = [x for x in sorted((ROOT / folder).rglob("*")) if x.suffix in (".py", ".hpp") and x.name != "tolerances.py"]
    assert len(files) > 10
    told = {(x.name, value) for x in files for value in small_numbers(x)}
    assert {x for x in told if x not in NO_TOLERANCES and (None, x[1]) not in NO_TOLERANCES} == set()


def test_small_numbers_are_seen(tmp_path):
    """In code of both languages, however written; not in words about it."""
    (tmp_path / "a.py").write_text('"""1e-9 in words."""\nx = 1e-9  # 1e-8\ny = 0.001\nz = 1e9 + 0.5\n')
    (tmp_path / "a.hpp").write_text("double x = 2.5e-13 * y;  // 1e-4\nint n1e = 3; double z = .0005, w = 1e2;\n")
    assert small_numbers(tmp_path / "a.py") == [1e-9, 1e-3]
    assert small_numbers(tmp_path / "a.hpp") == [2.5e-13, 5e-4]


def test_compiled_code_is_handed_every_tolerance_of_its_plan():
    """A plan without one is refused by name."""
    mb = sc.load("five_bar")
    plan = CompiledClosures.of(mb).plan
    tree = CompiledModel.of(mb.layout)
    for field in fields(Tolerances):
        given = SimpleNamespace(**{x.name: getattr(plan.tolerances, x.name) for x in fields(Tolerances) if x != field})
        with pytest.raises(ValueError, match=f"a plan needs {field.name}"):
            _core.ClosedSolver(tree.kernels, replace(plan, tolerances=given))
