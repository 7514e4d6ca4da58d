"""Forces of closures on bodies, and what drives closures in batches."""

import numpy as np
import pytest
from tests.loops.cases import FourBar, near, row_of_four_bars
from tests.loops.flexible_cases import drawn

import soacraft as sc
from soacraft import dynamics
from soacraft.errors import LoopError
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.tasks import body_forces


@pytest.mark.parametrize("seed", range(4))
def test_forces_of_closures_on_flexible_and_rigid_bodies_are_those_of_the_rows(seed):
    """Wrenches on the bodies push the dofs, modes among them, by -Gc* lambda: what inverse dynamics needs less."""
    mb = drawn(seed)
    rows, zero = Constraints(mb, mb.state()), np.zeros(mb.nv)
    multipliers = np.random.default_rng(seed).standard_normal(rows.size)
    for _, where in rows.places[len(rows.loops) :]:
        multipliers[where] = 0.0  # couplings push dofs, not bodies
    forces = body_forces(rows, multipliers)
    assert any(frame.carrier.modal is not None for frame, _ in forces)
    without, under = (
        dynamics.inverse_dynamics(mb, mb.q, zero, zero, f_ext=x, ignore_loops=True) for x in ((), forces)
    )
    near(without - under, -rows.jacobian().T @ multipliers, 1e-9)


@pytest.mark.parametrize("kind", [sc.loops.TreeAugmented, sc.loops.FullyAugmented, sc.loops.ConstraintEmbedding])
def test_drives_and_forces_with_axes_of_their_own(kind):
    """Rates (2, 1, 6) of a loop, a wrench (3, 6) and one state make a batch (2, 3), each as it is alone."""
    mb = FourBar().build(0.7)
    rng, zero = np.random.default_rng(2), np.zeros(3)
    allowed = np.array([0, 0, 0, 1.0, 1.0, 0])  # in the plane, along the links
    udot, push = rng.standard_normal((2, 1, 6)) * allowed, rng.standard_normal((3, 6))
    s = kind(mb)
    for _ in range(2):  # the first call chooses, the next one is compiled
        batch = s.forward_dynamics(mb.q, zero, zero, {"coupler": push}, U={"ring": (np.zeros(6), udot)})
        assert batch.vdot.shape == (2, 3, 3)
        assert batch.rank.shape == batch.condition.shape == batch.residual.shape == (2, 3)
        for i, j in np.ndindex(2, 3):
            alone = kind(mb).forward_dynamics(
                mb.q, zero, zero, {"coupler": push[j]}, U={"ring": (np.zeros(6), udot[i, 0])}
            )
            near(batch.vdot[i, j], alone.vdot, 1e-9)
            near(batch.multipliers["ring"][i, j], alone.multipliers["ring"], 1e-8)
            assert batch.rank[i, j] == alone.rank
            assert batch.condition[i, j] == pytest.approx(alone.condition, rel=1e-9)


def test_ranks_and_conditions_of_a_batch_are_those_of_its_states():
    """Four configurations in axes (2, 2), each as it is alone."""
    bar = FourBar()
    states = np.reshape([bar.build(theta).q for theta in (0.4, 0.9, 1.7, 2.9)], (2, 2, 3))
    s = sc.loops.TreeAugmented(bar.build(0.4))
    r = s.forward_dynamics(states, np.zeros(3), np.zeros(3))
    alone = [[s.forward_dynamics(q, np.zeros(3), np.zeros(3)) for q in row] for row in states]
    assert len({round(float(x), 6) for x in r.condition.ravel()}) == 4
    near(r.condition, [[x.condition for x in row] for row in alone], 1e-9)
    assert r.rank.tolist() == [[2, 2], [2, 2]]


def test_a_refused_state_of_a_batch_is_named_by_all_its_axes():
    mb = row_of_four_bars(2)
    q = np.tile(mb.q, (2, 3, 1))
    q[1, 2, 0] += 0.3
    with pytest.raises(LoopError, match=r"^in state \(1, 2\) of the batch: loop '\w+' of 'row'"):
        sc.loops.TreeAugmented(mb).forward_dynamics(q, np.zeros(mb.nv), np.zeros(mb.nv))
