"""What quick calls of closed chains take, and what they pass on to Python."""

import inspect
import sys

import numpy as np
import pytest
from tests.loops.cases import (
    close,
    library,
    near,
    project,
)
from tests.loops.compiled_cases import (
    ALL,
    SOLVERS,
    equal,
    moved,
    ready,
    without_compiled,
)

import soacraft as sc
from soacraft.errors import LoopError, ModelError, StateError
from soacraft.loops import FullyAugmented
from soacraft.model.samples.random_models import random_inertia, random_pose

# -- what calls pass on --------------------------------------------------------------------------------------------


class Own(np.ndarray):
    """A subclass."""


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


FORMS = {
    "lists": lambda x: x.tolist(),
    "float32": lambda x: x.astype(np.float32),
    "big endian": lambda x: x.astype(">f8"),
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "Fortran order": np.asfortranarray,
    "subclass": lambda x: x.view(Own),
    "read-only": read_only,
}


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [None, 3])
def test_inputs_of_any_form(kind, form, count):
    """The forces in any form; coordinates and velocities too, but for float32, which leaves the closures."""
    mb = library("robotiq_2f85")
    solver = ready(mb, kind)
    q, v, force = moved(mb, 3)
    force = np.round(8 * force) / 8  # the same number in float32
    state = (q, v, force) if count else (q[0], v[0], force[0])
    wanted = solver.forward_dynamics(*state)
    changed = [FORMS[form](x) for x in state]
    near(solver.forward_dynamics(state[0], state[1], changed[2]).vdot, wanted.vdot, 1e-13)
    if form != "float32":
        r = solver.forward_dynamics(*changed)
        near(r.vdot, wanted.vdot, 1e-13)
        assert type(r.vdot) is np.ndarray
        assert r.rank is not None


@pytest.mark.parametrize("kind", SOLVERS)
def test_refusals_read_as_those_of_a_solver_in_python(kind):
    mb = library("robotiq_2f85")
    solver, plain = ready(mb, kind), FullyAugmented(mb)
    state = [x[0] for x in moved(mb, 1)]

    def text(one, given, **named):
        with pytest.raises((StateError, LoopError, ModelError, TypeError)) as error:
            one.forward_dynamics(*given, **named)
        return type(error.value), str(error.value).replace(type(one).__name__, "it")

    for i in range(3):
        y = state[i]
        hole, endless = y.copy(), y.copy()
        hole[-1], endless[0] = np.nan, np.inf
        shapes = (y[:-1].copy(), np.append(y, 0.0), np.zeros((2, 0)), np.float64(1))
        for bad in (hole, endless, *shapes, None, "q", y + 1j):
            given = [bad if i == j else x for j, x in enumerate(state)]
            assert text(solver, given) == text(plain, given)
    forces = ({"U": 5}, {"U": {"nobody": (0, 0)}}, {"f_ext": {"nobody": np.ones(6)}})
    for named in ({"threads": 0}, {"threads": 1.5}, *forces):
        assert text(solver, state, **named) == text(plain, state, **named)
    assert text(solver, state[:2])[0] is text(solver, [*state, None, None, None, None])[0] is TypeError
    assert text(solver, state, forces=1)[0] is TypeError
    assert equal(solver.forward_dynamics(*state), solver.forward_dynamics(*state))


@pytest.mark.parametrize("kind", SOLVERS)
def test_quaternions_that_are_not_of_unit_length(kind):
    mb = sc.Multibody("ball", gravity=(0, -9.81, 0))
    for name in ("one", "two"):
        mb.add_body(name, None, sc.Spherical(), random_inertia(3), random_pose(len(name)))
    close(mb, "rod", "one", "two", sc.Spherical())
    solver, plain = ready(mb, kind), FullyAugmented(mb)
    q, v, force = mb.q, project(mb, np.arange(6.0)), np.arange(6.0)
    for factor in (1.0, 1.0 + 1e-9, 1.0 + 5e-7, 3.0):
        for rows in ((), (2, 1)):
            turned = np.tile(q * factor, (*rows, 1)) if rows else q * factor
            if factor < 2.0:
                wanted = plain.forward_dynamics(turned, v, force).vdot
                near(solver.forward_dynamics(turned, v, force).vdot, wanted)
                continue
            for each in (plain, solver):
                with pytest.raises(StateError, match="has norm 3; normalise it first"):
                    each.forward_dynamics(turned, v, force)


@pytest.mark.parametrize("kind", SOLVERS)
def test_keywords_and_driven_closures(kind):
    mb = library("robotiq_2f85")
    solver, twin = ready(mb, kind), without_compiled(kind(mb))
    q, v, force = (x[0] for x in moved(mb, 1))
    wanted = solver.forward_dynamics(q, v, force)
    for found in (
        solver.forward_dynamics(q=q, v=v, force=force),
        solver.forward_dynamics(q, v, force=force),
        solver.forward_dynamics(q, v, force, None, None, None),
        solver.forward_dynamics(q, v, force, f_ext={}, U={}, threads=3),
    ):
        assert equal(found, wanted)
    name = mb.couplings[0].name
    still = solver.forward_dynamics(q, v, force, U={name: (0.0, 0.0)})
    near(still.vdot, wanted.vdot)
    drives = {name: (0.0, 0.7)}
    driven = solver.forward_dynamics(q, v, force, U=drives)
    near(driven.vdot, twin.forward_dynamics(q, v, force, U=drives).vdot, 1e-12)
    assert np.abs(driven.vdot - wanted.vdot).max() > 1e-3
    near(solver.forward_dynamics(q, v, force).vdot, wanted.vdot, 1e-13)


# -- the method itself ---------------------------------------------------------------------------------------------


def steps_of_python(function):
    """What a function calls in Python, by name."""
    called = []

    def watch(frame, event, _):
        if event == "call":
            called.append(frame.f_code.co_name)

    sys.setprofile(watch)
    try:
        found = function()
    finally:
        sys.setprofile(None)
    return found, called[1:]  # the first is the function itself


@pytest.mark.parametrize("kind", ALL)
def test_a_single_state_takes_no_step_of_python(kind):
    mb = library("five_bar")
    solver = ready(mb, kind)
    state = tuple(x[0] for x in moved(mb, 1))
    bound = solver.forward_dynamics
    forms = (lambda: solver.forward_dynamics(*state), lambda: solver.forward_dynamics(*state, None, None, None),
             lambda: solver.forward_dynamics(*state, f_ext=None, U=None, threads=None, passive=False),
             lambda: kind.forward_dynamics(solver, *state), lambda: bound(*state))  # fmt: skip
    for form in forms:
        found, called = steps_of_python(form)
        assert called == []
        near(found.vdot, ready(mb, kind).forward_dynamics(*state).vdot)
    assert "forward_dynamics" not in vars(solver)
    assert not solver.forward_dynamics(*state, passive=False)._passive


def test_arguments_given_twice_or_to_nothing_are_refused_as_those_of_a_function():
    mb = library("five_bar")
    solver = ready(mb, SOLVERS[0])
    state = tuple(x[0] for x in moved(mb, 1))
    with pytest.raises(TypeError, match="multiple values for argument 'f_ext'"):
        solver.forward_dynamics(*state, None, f_ext=None)
    with pytest.raises(TypeError, match="unexpected keyword argument 'forces'"):
        solver.forward_dynamics(*state, forces=None)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'force'"):
        solver.forward_dynamics(*state[:2])
    with pytest.raises(AttributeError, match="'int' object has no attribute '_chosen'"):
        SOLVERS[0].forward_dynamics(1, *state)
    assert str(inspect.signature(solver.forward_dynamics)).startswith("(q: 'Any', v: 'Any', force: 'Any', f_ext")
