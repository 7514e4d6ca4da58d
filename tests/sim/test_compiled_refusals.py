"""`_core.advance` reads no number outside of what it is given: what does not fit is refused by name."""

import numpy as np
import pytest
from tests.sim.test_closed import four_bar
from tests.sim.test_order import tree

import soacraft as sc
from soacraft.sim import compiled


class Stopped(Exception):
    """Raised in place of the first compiled call."""


def call_of(monkeypatch, mb, method, solver="auto"):
    """What a run would give to the compiled call, with a control on the first dof."""
    given = []

    class Core:
        @staticmethod
        def advance(*call):
            given.append(call)
            raise Stopped

    p = sc.sim.Propagator(mb, solver, integrator=method, rtol=1e-8, step=None if method == "dop853" else 0.004)
    p.control(mb.dof_names[0], ([0.01, 0.02], [0.0, 1.0]))
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "_core", Core)
        with pytest.raises(Stopped):
            p.advance_to(0.02)
    return list(given[0])


PARTS = {"setting": 1, "course": 2, "track": 5}
FAR = 2**62


def other_tableau(setting, **fields):
    return setting._replace(tableau=setting.tableau._replace(**fields))


#: By method: the part of the call, its change, what the error says. A state is q, v and three works: 9 numbers.
REFUSED = [
    ("rk4", "setting", lambda x: x._replace(method=-1), "there is no such method"),
    ("rk4", "setting", lambda x: x._replace(method=99), "there is no such method"),
    ("rk4", "setting", lambda x: x._replace(method=x.method + 1), "there is no such method"),
    ("verlet", "setting", lambda x: x._replace(method=0), "there is no such method"),
    ("verlet", "setting", lambda x: x._replace(method=6), "there is no such method"),
    ("dop853", "setting", lambda x: x._replace(method=6), "there is no such method"),
    ("rk4", "setting", lambda x: x._replace(held=np.zeros((3, 3))), "held has length 3, not"),
    ("rk4", "setting", lambda x: x._replace(held=np.zeros((1, 2))), "held has length 2, not 3"),
    ("rk4", "setting", lambda x: x._replace(starts=np.array([0, 0])), "load 0 has no knots"),
    ("rk4", "setting", lambda x: x._replace(starts=np.array([-1, 2])), "load 0 has no knots"),
    ("rk4", "setting", lambda x: x._replace(starts=np.array([0, 3])), "load 0 has no knots"),
    ("rk4", "setting", lambda x: x._replace(starts=np.array([0])), "starts has length 1, not 2"),
    ("rk4", "setting", lambda x: x._replace(values=np.zeros(1)), "values has length 1, not 2"),
    ("rk4", "setting", lambda x: x._replace(rows=np.zeros((1, 9))), "rows has length 9, not 3"),
    ("rk4", "setting", lambda x: x._replace(lengths=np.zeros((2, 3))), "lengths has length 2, not 1"),
    ("rk4", "setting", lambda x: x._replace(laws=np.zeros((1, 7))), "laws has length 7, not 8"),
    ("rk4", "setting", lambda x: x._replace(unit=np.ones(2)), "unit has length 2, not 3"),
    ("rk4", "setting", lambda x: x._replace(forces=None), "forces and frames must be dicts"),
    ("rk4", "setting", lambda x: x._replace(frames=[]), "forces and frames must be dicts"),
    ("rk4", "setting", lambda x: other_tableau(x, b=np.zeros(0)), "a tableau has a stage or more"),
    ("rk4", "setting", lambda x: other_tableau(x, A=np.zeros((4, 3))), "A has length 3, not 4"),
    ("rk4", "setting", lambda x: other_tableau(x, c=np.zeros(3)), "c has length 3, not 4"),
    ("dop853", "setting", lambda x: other_tableau(x, E5=x.tableau.E5[:-1]), "E5 has length 12, not 13"),
    ("dop853", "setting", lambda x: other_tableau(x, E5=x.tableau.E5[:-2]), "E5 has length 11, not 13"),
    ("dop853", "setting", lambda x: other_tableau(x, E3=np.zeros(11)), "E3 has length 11, not 13"),
    ("dop853", "setting", lambda x: other_tableau(x, A_extra=np.zeros((3, 15))), "A_extra has length 15, not 16"),
    ("dop853", "setting", lambda x: other_tableau(x, D=x.tableau.D[:, :-1].copy()), "D has length 15, not 16"),
    ("rk4", "course", lambda x: x._replace(now=FAR), "a course goes from its origin on"),
    ("rk4", "course", lambda x: x._replace(goal=FAR), "a course goes from its origin on"),
    ("rk4", "course", lambda x: x._replace(origin=-FAR), "a course goes from its origin on"),
    ("rk4", "course", lambda x: x._replace(origin=x.now + 1), "a course goes from its origin on"),
    ("rk4", "course", lambda x: x._replace(step=0), "a course needs a step"),
    ("rk4", "course", lambda x: x._replace(step=FAR), "a course needs a step"),
    ("dop853", "course", lambda x: x._replace(rtol=0.0), "a course needs a step"),
    ("dop853", "course", lambda x: x._replace(rtol=np.nan), "a course needs a step"),
    ("dop853", "course", lambda x: x._replace(length=0.0), "a course needs a step"),
    ("rk4", "track", lambda x: x._replace(X=x.X[:, :-1].copy()), "X has length 8, not 9"),
    ("rk4", "track", lambda x: x._replace(W=x.W[:-1].copy()), "W has length"),
    ("rk4", "track", lambda x: x._replace(F=np.zeros((len(x.F), 1))), "F has length 1, not 9"),
    ("rk4", "track", lambda x: x._replace(forces=x.forces[:, :-1].copy()), "forces has length"),
    ("rk4", "track", lambda x: x._replace(errors=np.zeros((len(x.errors), 2))), "errors has length 2, not 1"),
    ("rk4", "track", lambda x: x._replace(openings=np.zeros((1, 1))), "openings has length 1, not"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "part", "change", "text"), REFUSED)
def test_what_does_not_fit_is_refused(method, part, change, text, monkeypatch):
    mb = tree([sc.Pin((0, 1, 0)), sc.Prismatic((1, 0, 0)), sc.Pin((1, 0, 0))])
    call = call_of(monkeypatch, mb, method)
    for array in call[5]:
        array.fill(7)
    call[PARTS[part]] = change(call[PARTS[part]])
    with pytest.raises(ValueError, match=text):
        compiled._core.advance(*call)
    assert all((array == 7).all() for array in call[5] if part != "track")


@pytest.mark.parametrize(("at", "name"), [(3, "x"), (4, "w")])
def test_states_and_rates_of_another_length_are_refused(at, name, monkeypatch):
    call = call_of(monkeypatch, sc.load("double_pendulum"), "rk4")
    for other in (call[at][:-1].copy(), np.append(call[at], 0.0)):
        with pytest.raises(ValueError, match=f"{name} has length {len(other)}, not {len(call[at])}"):
            compiled._core.advance(*call[:at], other, *call[at + 1 :])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda chain, other: chain._replace(solver=other.solver), "solver is of another tree"),
        (lambda chain, other: chain._replace(mover=other.mover), "mover is of another tree"),
        (lambda chain, other: chain._replace(solver=None), "solver must be a ClosedSolver"),
        (lambda chain, other: chain._replace(theta=np.zeros(99)), "theta has length 99"),
    ],
)
def test_chains_that_do_not_fit_are_refused(change, text, monkeypatch):
    call, other = (call_of(monkeypatch, four_bar(), "rk4", "ta") for _ in range(2))
    call[1] = call[1]._replace(chain=change(call[1].chain, other[1].chain))
    with pytest.raises(ValueError, match=text):
        compiled._core.advance(*call)
