"""The compiled object of velocity steps refuses what does not fit, before it looks at any of it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import soacraft as sc
from soacraft import _core
from soacraft import robot as rob
from soacraft.model.flat.compiled import CompiledModel
from soacraft.robot.whole_body.tasks import Wanted
from soacraft.robot.whole_body.tolerances import LevelTolerances


def parts(**other):
    """What makes an object for a chain of two: a point at the tip, and a posture."""
    mb = sc.serial_chain(2)
    whole = np.array([[1, 0, 0, 0, 1, -1], [6, 1, 0, 0, -1, -1]], dtype=np.int64)
    real = np.zeros((2, 47))
    real[:, [0, 4, 8, 12, 16, 20, 24, 28, 32]] = 1.0
    real[:, 39:41] = 1.0
    far = np.full(2, np.inf)
    given = {
        "model": CompiledModel.of(mb.layout).kernels, "tasks_whole": whole, "tasks_real": real,
        "postures": np.zeros((1, 2)), "rates": np.zeros((1, 2)), "place": np.arange(2), "lower": -far, "upper": far,
        "fastest": far, "unit": np.ones(2), "length": 1.0, "mass": 2.0, "tolerances": LevelTolerances(),
    }  # fmt: skip
    return {**given, **other}


def changed(x, at, to):
    y = np.array(x)
    y[at] = to
    return y


def test_what_fits_is_taken():
    to = np.empty(2 + 2 + 4)
    core = _core.Velocity(**parts())
    assert core.step(np.array([0.1, 0.2]), 0.01, to, True, 1.0, None, None, None, None, None, None)
    assert np.isfinite(to).all()
    assert not core.step(np.array([np.nan, 0.2]), 0.01, to, True, 1.0, None, None, None, None, None, None)
    assert not core.step(np.array([0.1, 0.2]), np.inf, to, True, 1.0, None, None, None, None, None, None)


@pytest.mark.parametrize(
    ("name", "at", "to", "text"),
    [
        ("tasks_whole", (0, 4), 2, "a task is on element 2"),
        ("tasks_whole", (0, 4), -2, "a task is on element -2"),
        ("tasks_whole", (0, 5), 9, "a task is on element 9"),
        ("tasks_whole", (0, 0), 9, "there is no task of kind 9"),
        ("tasks_whole", (1, 1), 3, "levels are numbered from 0 on"),
        ("tasks_whole", (0, 3), 8, "a task picks directions by 3 bits"),
        ("tasks_real", (0, 39), 0.0, "a task needs a positive weight"),
        ("tasks_real", (0, 40), -1.0, "a task needs a positive weight"),
        ("tasks_real", (0, 3), np.nan, "numbers of a task must be finite"),
        ("postures", (0, 0), np.inf, "postures must be finite"),
        ("place", 0, 2, "place has an entry 2 out of range"),
        ("unit", 0, 0.0, "limits and units of dof 0"),
        ("fastest", 1, -1.0, "limits and units of dof 1"),
        ("lower", 1, np.nan, "limits and units of dof 1"),
    ],
)
def test_one_number_that_is_wrong_is_refused(name, at, to, text):
    made = parts()
    with pytest.raises(ValueError, match=text):
        _core.Velocity(**{**made, name: changed(made[name], at, to)})


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({"length": 0.0}, "the length of a model must be positive"),
        ({"length": np.inf}, "the length of a model must be positive"),
        ({"mass": -1.0}, "the length of a model must be positive, its mass not negative"),
        ({"tasks_real": np.zeros((1, 47))}, "a task has 6 and 47 numbers"),
        ({"postures": np.zeros((1, 3))}, "postures do not fit the model"),
        ({"postures": np.zeros((0, 2)), "rates": np.zeros((0, 2))}, "a posture is missing"),
        ({"upper": np.ones(3)}, "limits and units must have 2 entries"),
        (
            {"tolerances": SimpleNamespace(**{**vars(LevelTolerances()), "sees": 0.0})},
            "sees of a plan must be positive",
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused(other, text):
    with pytest.raises(ValueError, match=text):
        _core.Velocity(**parts(**other))


def test_rows_and_goals_that_do_not_fit_are_refused():
    core, q, to = _core.Velocity(**parts()), np.array([0.1, 0.2]), np.empty(8)
    rows = np.zeros((1, 2)), np.zeros(1), np.ones(1), np.zeros(1)

    def step(counts, given=None, kept=None, out=to):
        return core.step(q, 0.01, out, True, 1.0, None, None, counts, given, kept, None)

    with pytest.raises(ValueError, match="q and to must have 2 and 8 entries"):
        step(None, out=np.empty(7))
    with pytest.raises(ValueError, match="counts of given rows"):
        step(np.array([1]), rows)
    with pytest.raises(ValueError, match="the arrays of kept rows do not fit each other"):
        step(None, None, (np.zeros((1, 3)), *rows[1:]))
    with pytest.raises(ValueError, match="sizes of kept rows must be positive"):
        step(None, None, (*rows[:2], np.zeros(1), rows[3]))
    with pytest.raises(ValueError, match="there is no task 2 with a goal"):
        core.aim(2, np.zeros(12))
    with pytest.raises(ValueError, match="the goal of task 0 has 12 finite numbers"):
        core.aim(0, np.full(12, np.nan))


def test_two_rows_that_cannot_both_be_kept_give_way_in_compiled_code():
    """A slide is to go at least 1 and at most -1/2: it goes 1/4, and each is missed by 3/4."""
    mb = sc.Multibody("slide")
    mb.add_body("a", hinge=sc.Prismatic((1, 0, 0)), inertia=sc.Inertia(1.0))

    class Kept(rob.Task):
        kept, side, least = True, 1.0, 1.0

        def wanted(self, mb, q):
            return Wanted(np.array([[self.side]]), np.array([-self.least]), "kept")

    class Other(Kept):
        side, least = -1.0, 0.5

    step = rob.Robot(mb).velocity([Kept(gain=1.0), Other(gain=1.0), rob.Posture([0.3])], [0.0], 0.01)
    assert step.v[0] == pytest.approx(0.25, abs=1e-6)
    assert all(x == pytest.approx(0.75, abs=1e-6) for name, x in step.left.items() if name.startswith("kept"))
