"""Numbers of a result by their names: residuals, multipliers, ranks, of loops and couplings together."""

import numpy as np
import pytest
from tests.loops.cases import FourBar, near, row_of_four_bars

import soacraft as sc
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented
from soacraft.loops.results import Result

SOLVERS = [TreeAugmented, FullyAugmented, ConstraintEmbedding]


def geared_bars():
    """Two four-bars in a row, a third pendulum and a fourth geared to the first crank in two ways."""
    mb = row_of_four_bars(2)
    for name in ("third", "fourth"):
        mb.add_body(name, None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0.1, 0, 0), np.eye(3)))
        mb.couple(f"gear of {name}", {name: 1.0, "crank0": -2.0}, float(-2.0 * mb.q_of("crank0")[0]))
    return mb


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_the_residual_is_the_larger_of_that_of_closures_and_that_of_motion(shape):
    mb = geared_bars()
    s = TreeAugmented(mb)
    r = s.forward_dynamics(np.broadcast_to(mb.q, (*shape, mb.nq)), np.zeros(mb.nv), np.zeros(mb.nv))
    rest, forces = np.array(r._rest), 6 * len(mb.loops) + len(mb.couplings)
    rest[..., forces], rest[..., forces + 1] = 3e-10, 5e-10
    first = Result(r.vdot, rest, r._source)
    rest = np.array(rest)
    rest[..., forces] = 7e-10
    second = Result(r.vdot, rest, r._source)
    for found, values in ((first, (3e-10, 5e-10, 5e-10)), (second, (7e-10, 5e-10, 7e-10))):
        numbers = found.residual_of_closures, found.residual_of_motion, found.residual
        assert all(np.shape(x) == shape for x in numbers)
        assert [float(np.max(x)) for x in numbers] == list(values)


@pytest.mark.parametrize("kind", SOLVERS)
def test_multipliers_of_loops_and_couplings_are_what_the_tree_lacks(kind):
    """Mcal vdot + C - force = the push of every closure by its name: wrenches at frames, and -p' lambda along dofs."""
    mb = geared_bars()
    s, zero = kind(mb), np.zeros(mb.nv)
    force = np.linspace(-1.0, 1.0, mb.nv)
    r = s.forward_dynamics(mb.q, zero, force)
    assert list(r.multipliers) == [x.name for x in (*mb.loops, *mb.couplings)]
    pushes = []
    for x in mb.loops:
        wrench, arm = r.multipliers[x.name], mb.pose(x.b).translation - mb.pose(x.a).translation
        assert np.abs(arm).max() < 1e-9  # a pin: the frames have one origin
        pushes += [(x.b, sc.Wrench(wrench[:3], wrench[3:], expressed_in=x.a)),
                   (x.a, sc.Wrench(-wrench[:3], -wrench[3:], expressed_in=x.a))]  # fmt: skip
    on_bodies = [(frame, push) for frame, push in pushes if frame.carrier is not mb.root]
    needed = sc.dynamics.inverse_dynamics(mb, mb.q, zero, r.vdot, f_ext=on_bodies, ignore_loops=True)
    for x in mb.couplings:
        for dof, ratio in ((x.name.removeprefix("gear of "), 1.0), ("crank0", -2.0)):
            needed[mb.dof_names.index(dof)] += ratio * r.multipliers[x.name]
    near(needed, force, 1e-8)


def test_redundant_rows_of_a_batch_are_those_of_any_state():
    """A parallelogram in line, where a row more repeats others, first, then in general position, and the other way."""
    bar = FourBar(crank=0.4, coupler=1.0, rocker=0.4, ground=1.0)
    inline, bent = np.zeros(3), np.array([0.5, -0.5, 0.5])
    mb = bar.build(0.5)
    s = TreeAugmented(mb)
    alone = [s.forward_dynamics(x, np.zeros(3), np.zeros(3)) for x in (inline, bent)]
    assert alone[0].rank < alone[1].rank
    names = set(alone[0].redundant) | set(alone[1].redundant)
    assert len(names) > len(alone[1].redundant)
    for order in ([0, 1], [1, 0]):
        q = np.stack([(inline, bent)[i] for i in order])
        batch = TreeAugmented(mb).forward_dynamics(q, np.zeros(3), np.zeros(3))
        assert batch.rank.tolist() == [alone[i].rank for i in order]
        assert set(batch.redundant) == names
        for i, k in enumerate(order):
            sizes = np.linalg.svd(Constraints(mb, mb.state((inline, bent)[k])).jacobian(), compute_uv=False)
            assert int((sizes > 1e-9 * sizes[0]).sum()) == batch.rank[i]
