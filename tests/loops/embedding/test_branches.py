"""Steps near poses where branches meet: four-bars whose links are nearly those of a change point, against their closed
form (Freudenstein), and those that truly pass it."""

import numpy as np
import pytest
from tests.loops.cases import FourBar, near, row_of_four_bars
from tests.loops.test_motion import counts, in_python, ready

from soacraft.errors import ConvergenceError
from soacraft.kinematics.compiled import ADVANCE

#: Coupler, rocker and ground of cranks of length 1, by a number: parallelograms, kites, and any that may lie flat.
CHANGE_POINTS = (lambda b: (b, 1.0, b), lambda b: (1.0, b, b), lambda b: (b, 1.7, b - 0.7))


def nearly_flat(rng, off):
    """A four-bar within a part of a change point, before the flat pose, and whether it gets past it at all."""
    links = np.array(CHANGE_POINTS[rng.integers(3)](rng.uniform(1.2, 3.0)))
    bars = FourBar(1.0, *(links * (1.0 + off * rng.uniform(-1.0, 1.0, 3))))
    start, step = rng.choice([-1.0, 1.0]) * np.array([-rng.uniform(0.05, 0.45), 0.5])
    with np.errstate(invalid="ignore"):
        way = np.array([bars.angles(start + part * step) for part in np.linspace(0.0, 1.0, 400)])
    return bars, start, step, way


def off_the_branch(bars, q):
    beta, gamma = bars.angles(q[0])
    off = np.array([q[1] - beta + q[0], q[2] - gamma])
    return np.abs((off + np.pi) % (2 * np.pi) - np.pi).max()


@pytest.mark.parametrize(("compiled", "count"), [(True, 16), (False, 6)])
def test_half_a_radian_past_a_change_point_stays_on_its_branch(compiled, count):
    """Links within 0.3 % of it: branches come as near as a few degrees to each other, where they turn off sharply. The
    way straight on is the other branch, and where the crank cannot pass it is one that it cannot reach."""
    rng, passed, refused = np.random.default_rng(4), 0, 0
    while passed < count:
        bars, start, step, way = nearly_flat(rng, 3e-3)
        blocked = np.isnan(way).any()
        if np.isnan(way[0]).any() or (blocked and refused == 2):
            continue
        mb = bars.build(start)
        s = ready(mb, independent=["crank"])
        s = s if compiled else in_python(s)
        if blocked:
            with pytest.raises(ConvergenceError, match=r"of 'four_bar' cannot be (found|followed)"):
                s.advance(mb.q, np.array([step]))
            refused += 1
            continue
        q = s.advance(mb.q, np.array([step]))
        assert q[0] == pytest.approx(start + step, abs=1e-14)
        assert off_the_branch(bars, q) < 1e-8
        passed += 1
        if compiled:
            assert counts(s, ADVANCE) == (1, 0)
    assert refused == 2


@pytest.mark.parametrize("off", [1e-5, 1e-8])
def test_branches_that_come_very_near_are_told_apart(off):
    """A rocker longer than that of a parallelogram: the crank turns round, the branches are the root of that apart."""
    bars = FourBar(1.0, 2.0, 1.0 + off, 2.0)
    mb = bars.build(-0.2)
    for s in (ready(mb, independent=["crank"]), in_python(ready(mb, independent=["crank"]))):
        assert off_the_branch(bars, s.advance(mb.q, np.array([0.5]))) < 1e-8


@pytest.mark.parametrize("count", [1, 2, 8])
@pytest.mark.parametrize(("start", "step"), [(-0.25, 0.5), (0.2, -0.5), (-1e-4, 3e-4), (np.pi - 0.1, 0.25)])
def test_branches_that_cross_are_passed(count, start, step):
    """Parallelograms, one or many at once: their flat pose is closed, and the way straight on is theirs."""
    mb = row_of_four_bars(count)
    along = np.array([1.0 if name.startswith("crank") else -1.0 for name in mb.dof_names])
    for s in (ready(mb, independent=["crank0"]), in_python(ready(mb, independent=["crank0"]))):
        near(s.advance(start * along, np.array([step])), (start + step) * along, 1e-11)


def test_dependent_dofs_past_a_singular_pose_are_refused():
    """From the crank moved by some tenths of a radian, and the others off: the loop may close on either side, and does
    on that where the end of the coupler is."""
    rng, kept, refused = np.random.default_rng(1), 0, 0
    while kept < 20:
        bars, start, step, way = nearly_flat(rng, 3e-3)
        if np.isnan(way).any():
            continue
        mb = bars.build(start)

        def side(q, bars=bars):
            coupler = bars.coupler * np.exp(1j * (q[0] + q[1]))
            return np.sign((np.conj(coupler) * (np.exp(1j * q[0]) + coupler - bars.ground)).imag)

        q = mb.q + np.array([rng.uniform(0.1, 0.5) * step, *rng.uniform(-0.2, 0.2, 2)])
        for s in (ready(mb, independent=["crank"]), in_python(ready(mb, independent=["crank"]))):
            try:
                assert side(s.complete(q)) == side(q)
                kept += 1
            except ConvergenceError as error:
                refused += "for these independent ones are past a singular pose, a step of 0." in str(error)
    assert refused >= 2
