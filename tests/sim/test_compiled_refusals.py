"""`_core.advance` reads no number outside of what it is given: what does not fit is refused by name."""

import numpy as np
import pytest
from tests.sim.test_closed import four_bar
from tests.sim.test_order import tree

import soacraft as sc
from soacraft.sim import compiled


class Stopped(Exception):
    """Raised in place of the first compiled call."""


def first_call(monkeypatch, go):
    """What is given to the first compiled call of a run."""
    calls = []

    class Core:
        @staticmethod
        def advance(*call):
            calls.append(call)
            raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(compiled, "_core", Core)
        with pytest.raises(Stopped):
            go()
    return list(calls[0])


def call_of(monkeypatch, mb, method, solver="auto"):
    """What a run would give to the compiled call, with a control on the first dof."""
    p = sc.sim.Propagator(mb, solver, integrator=method, rtol=1e-8, step=None if method == "dop853" else 0.004)
    p.control(mb.dof_names[0], ([0.01, 0.02], [0.0, 1.0]))
    return first_call(monkeypatch, lambda: p.advance_to(0.02))


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
    ("rk4", "track", lambda x: x._replace(entries=x.entries[:-1].copy()), "forces has length"),
    ("rk4", "track", lambda x: x._replace(entries=x.entries - 1), "an entry of forces is out of range"),
    ("rk4", "track", lambda x: x._replace(entries=x.entries + 9), "an entry of forces is out of range"),
    ("rk4", "track", lambda x: x._replace(entries=x.entries.astype(np.int32)), "entries must be .* int64 array"),
    ("rk4", "track", lambda x: x._replace(errors=np.zeros((len(x.errors), 2))), "errors has length 2, not 1"),
    ("rk4", "track", lambda x: x._replace(openings=np.zeros((1, 1))), "openings has length 1, not"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "part", "change", "text"), REFUSED)
def test_what_does_not_fit_is_refused(method, part, change, text, monkeypatch):
    mb = tree([sc.Pin((0, 1, 0)), sc.Prismatic((1, 0, 0)), sc.Pin((1, 0, 0))])
    call = call_of(monkeypatch, mb, method)
    written = call[5][1:]  # behind the entries of forces, which are read
    for array in written:
        array.fill(7)
    call[PARTS[part]] = change(call[PARTS[part]])
    with pytest.raises(ValueError, match=text):
        compiled._core.advance(*call)
    assert all((array == 7).all() for array in written)


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


def touching_call(monkeypatch):
    """The same of a step with contact; one dof has limits, none dry friction."""
    mb = tree([sc.Pin((0, 1, 0)), sc.Prismatic((1, 0, 0))])
    mb.root.add_geometry(sc.Geometry("floor", "plane", pose=sc.Pose(translation=(0, 0, -9.0))))
    mb.bodies[1].add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    mb.bodies[0].limits = sc.Limits(-3.0, 3.0)
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.004)
    p.add(sc.sim.Contact())
    return first_call(monkeypatch, lambda: p.advance_to(0.02))


WHOLE = np.zeros(0, dtype=np.int64)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"scene": None}, "scene must be a ContactScene"),
        ({"body": np.array([-2, 1])}, "body has an entry -2 out of range"),
        ({"body": np.array([-1, 2])}, "body has an entry 2 out of range"),
        ({"body": np.array([-1])}, "body has length 1, not 2"),
        ({"stop_dofs": np.array([2])}, "stop_dofs has an entry 2 out of range"),
        ({"stop_dofs": np.array([-1])}, "stop_dofs has an entry -1 out of range"),
        ({"stop_dofs": WHOLE}, "stop_places has length 1, not 0"),
        ({"stop_places": np.array([2])}, "stop_places has an entry 2 out of range"),
        ({"limits": np.zeros((2, 2))}, "limits has length 2, not 1"),
        ({"dry_dofs": np.array([0])}, "dry has length 0, not 1"),
        ({"far": np.zeros(1)}, "far has length 1, not 2"),
        ({"tolerance": 0.0}, "tolerance must be positive"),
    ],
)
def test_contacts_that_do_not_fit_are_refused(fields, text, monkeypatch):
    call = touching_call(monkeypatch)
    call[1] = call[1]._replace(contact=call[1].contact._replace(**fields))
    with pytest.raises(ValueError, match=text):
        compiled._core.advance(*call)


def test_tables_of_surfaces_that_do_not_fit_are_refused(monkeypatch):
    call = touching_call(monkeypatch)
    touch = call[1].contact
    groups = len(touch.rows)
    for rows, friction in (
        (touch.rows[:, :-1], touch.friction),
        (np.vstack([touch.rows, touch.rows[:1]]), touch.friction),
        (touch.rows, touch.friction[:, :-1]),
        (touch.rows, touch.friction[:, :, :-1]),
    ):
        other = touch._replace(rows=np.ascontiguousarray(rows), friction=np.ascontiguousarray(friction))
        call[1] = call[1]._replace(contact=other)
        with pytest.raises(ValueError, match=f"rows and friction must be of {groups} groups"):
            compiled._core.advance(*call)
    call[1] = call[1]._replace(contact=touch._replace(rows=np.full_like(touch.rows, 2)))
    with pytest.raises(ValueError, match="a contact has 1, 3, 4 or 6 rows, not 2"):
        compiled._core.advance(*call)


def test_plans_that_do_not_fit_are_refused(monkeypatch):
    mb = sc.load("pendulum")
    s = sc.sim.System("s", integrator="rk4", step=0.004)
    s.add("arm", sc.sim.Plant(mb))
    s.add("push", sc.sim.Constant(value=1.0))
    made = first_call(monkeypatch, lambda: s.run(0.02))
    call = list(made)
    call[1] = call[1]._replace(plan=3)
    with pytest.raises(ValueError, match="plan must be a SystemPlan"):
        compiled._core.advance(*call)
    call = list(made)
    call[1] = call[1]._replace(method=3, tableau=None)
    with pytest.raises(ValueError, match="the plan is of another tree or method"):
        compiled._core.advance(*call)
